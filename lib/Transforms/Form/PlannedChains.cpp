//===- PlannedChains.cpp - Chains that the model plans --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Such a chain may have several results, among them intermediates. What reads
// one of them before the last operator moves behind the chain.
//
//===----------------------------------------------------------------------===//

#include "Form/PlannedChains.h"

#include "Form/DecomposeSoftmax.h"
#include "Form/PlannedGroup.h"

#include "Chimera/Chain/ChainAnalysis.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

#include <set>

using namespace mlir;
using namespace chimera;

/// Makes `linalg.generic` of elementwise operations on tensors and of softmax.
static LogicalResult normalize(ChainOp chain) {
  if (failed(decomposeSoftmax(chain)))
    return failure();
  RewritePatternSet patterns(chain.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  return applyPatternsGreedily(chain.getBody(), std::move(patterns));
}

/// True if a loop of more than one iteration concerns all operators: they have
/// it, or what is read of their results depends on it.
static bool concernsAll(const model::ChainProblem &problem,
                        model::LoopId loop) {
  std::set<model::LoopId> affected = {loop};
  for (const model::Operator &op : llvm::reverse(problem.operators)) {
    for (const model::Operator &reader : problem.operators)
      for (const model::Access &input : reader.inputs) {
        if (input != op.output.tensor)
          continue;
        for (auto [read, written] :
             llvm::zip_equal(input.indices, op.output.indices))
          if (llvm::any_of(read.terms, [&](const model::Term &term) {
                return affected.count(term.loop);
              }))
            affected.insert(written.terms[0].loop);
      }
    if (llvm::none_of(op.loops,
                      [&](model::LoopId own) { return affected.count(own); }))
      return false;
  }
  return true;
}

/// True if there is a loop that all operators can run in. Two alone may share
/// what one produces and the other reduces: vector-matrix products have no
/// more.
static bool hasCommonLoop(const model::ChainProblem &problem) {
  for (model::LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if ((!problem.isReduction(loop) || problem.operators.size() == 2) &&
        concernsAll(problem, loop))
      return true;
  return false;
}

/// The operations before `chain` that need one of `values`, directly or through
/// each other, in program order.
static llvm::SetVector<Operation *> findEarlyReaders(ValueRange values,
                                                     ChainOp chain) {
  Operation *first = chain;
  for (Value value : values)
    for (Operation *user : value.getUsers())
      if (Operation *beside = chain->getBlock()->findAncestorOpInBlock(*user);
          beside && beside->isBeforeInBlock(first))
        first = beside;
  llvm::SetVector<Operation *> readers;
  for (Operation *op = first; op != chain; op = op->getNextNode()) {
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    if (llvm::any_of(read, [&](Value value) {
          return llvm::is_contained(values, value) ||
                 readers.contains(value.getDefiningOp());
        }))
      readers.insert(op);
  }
  return readers;
}

/// The chain of `group` as it stands, or null with the reason.
static ChainOp tryChain(const PlannedGroup &group, size_t numOperators,
                        std::string &reason) {
  ChainOp chain = cloneIntoChain(group.getOperations(), group.getExports());
  FailureOr<ChainAnalysis> analysis = failure();
  if (succeeded(normalize(chain)))
    analysis = analyzeChain(chain, reason);
  if (succeeded(analysis) && analysis->operators.size() == numOperators) {
    // What reads the chain's results has to come after it.
    bool areMovable = llvm::all_of(findEarlyReaders(group.getExports(), chain),
                                   isMemoryEffectFree);
    if (areMovable && hasCommonLoop(analysis->problem))
      return chain;
    reason = getText(areMovable ? MissedReason::NoCommonLoop
                                : MissedReason::SideEffects)
                 .str();
  }
  chain.erase();
  return nullptr;
}

std::string PlannedChains::findReason(OperatorList operators) const {
  PlannedGroup group(operators);
  if (!group.isValid())
    return group.getReason().str();
  std::string reason;
  ChainOp chain = tryChain(group, operators.size(), reason);
  if (!chain)
    return reason;
  chain.erase();
  return "";
}

std::string PlannedChains::commit(OperatorList operators) const {
  std::string reason;
  for (size_t length : PlannedGroup(operators).getTailLengths()) {
    PlannedGroup group(operators);
    group.takeTail(length);
    ChainOp chain = tryChain(group, operators.size(), reason);
    if (!chain)
      continue;
    group.replaceExports(chain.getResults());
    Operation *last = chain;
    for (Operation *reader : findEarlyReaders(chain.getResults(), chain)) {
      reader->moveAfter(last);
      last = reader;
    }
    return "";
  }
  return reason;
}
