//===- ChainBuilder.cpp - Chains of given operators -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is tried on a clone, with as much of what follows it as goes well.
// Chains that code is generated from are brought into that form. One that is
// planned may have several results, among them intermediates: what reads one of
// them before the last operator moves behind the chain.
//
//===----------------------------------------------------------------------===//

#include "Form/ChainBuilder.h"

#include "Form/GiveRows.h"
#include "Form/JoinRows.h"
#include "Form/MissedReason.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Model/ChainLimits.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace chimera;

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

/// True if there is a loop that all operators can run in. It is parallel for
/// all, unless it `mayBeReduced`: vector-matrix products have no more than the
/// loop that one produces and the next reduces.
static bool hasCommonLoop(const model::ChainProblem &problem,
                          bool mayBeReduced) {
  for (model::LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if ((mayBeReduced || !problem.isReduction(loop)) &&
        concernsAll(problem, loop))
      return true;
  return false;
}

linalg::LinalgOp ChainBuilder::findPartner(linalg::LinalgOp reader) const {
  return isCompiled() ? findSoftmaxProducer(reader) : linalg::LinalgOp();
}

double ChainBuilder::getMostRatio() const {
  return isCompiled() ? std::numeric_limits<double>::infinity()
                      : model::mostWorkRatio;
}

/// What keeps `chain` from standing for `group`, if anything.
std::string ChainBuilder::check(ChainOp chain, const ChainGroup &group) const {
  std::string reason;
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, reason);
  if (failed(analysis) && !isCompiled())
    return reason;
  size_t numOperators = group.getNumOperators();
  if (failed(analysis) || analysis->operators.size() != numOperators ||
      (isCompiled() &&
       getObstacle(*analysis, support) != LoweringObstacle::None))
    return missed::notNormalized.str();
  // What reads the chain's results has to come after it.
  if (!llvm::all_of(findEarlyReaders(group.getExports(), chain),
                    isMemoryEffectFree))
    return missed::sideEffects.str();
  bool areVectors =
      llvm::all_of(analysis->problem.operators, [](const model::Operator &op) {
        return op.output.indices.size() == 1;
      });
  bool mayBeReduced = isCompiled() ? areVectors : numOperators == 2;
  return numOperators == 1 || hasCommonLoop(analysis->problem, mayBeReduced)
             ? ""
             : missed::noCommonLoop.str();
}

/// Builds the chain of `group` beside the original operations.
std::string ChainBuilder::build(const ChainGroup &group,
                                FormedChain &formed) const {
  if (!group.getReason().empty())
    return group.getReason().str();
  ChainOp chain = group.clone();
  bool isNormal =
      isCompiled() ? succeeded(normalizeBody(chain, support)) &&
                         succeeded(joinRows(chain, group.getExports(), support))
                   : succeeded(generalizeElementwise(chain));
  if (!isNormal || (!isCompiled() && failed(orderReductions(chain)))) {
    chain.erase();
    return missed::notNormalized.str();
  }
  if (isCompiled() && support.needsRows)
    giveRows(chain);
  formed = isCompiled() ? moveBoundaryOut(chain)
                        : FormedChain{chain, {chain}, chain.getResults()};
  std::string reason = check(formed.chain, group);
  if (!reason.empty())
    formed.erase();
  return reason;
}

/// The same with the first of `tailLengths` that makes a chain.
std::string ChainBuilder::build(ChainGroup &group, ArrayRef<size_t> tailLengths,
                                FormedChain &formed) const {
  std::string reason;
  for (size_t length : tailLengths) {
    group.takeTail(length);
    reason = build(group, formed);
    if (reason.empty())
      break;
  }
  return reason;
}

std::string ChainBuilder::findReason(OperatorList operators) const {
  ChainGroup group(operators, form, support);
  SmallVector<size_t> tailLengths = {0};
  if (group.hasSoftmax())
    tailLengths = group.getTailLengths();
  FormedChain formed;
  std::string reason = build(group, tailLengths, formed);
  if (reason.empty())
    formed.erase();
  return reason;
}

std::string ChainBuilder::commit(OperatorList operators) const {
  ChainGroup group(operators, form, support);
  FormedChain formed;
  std::string reason = build(group, group.getTailLengths(), formed);
  if (!reason.empty())
    return reason;
  group.replaceExports(formed.results);
  Operation *last = formed.operations.back();
  for (Operation *reader : findEarlyReaders(formed.results, formed.chain)) {
    reader->moveAfter(last);
    last = reader;
  }
  return "";
}
