//===- ChainAnalysis.cpp - A chain as the model's problem -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ChainAnalysis.h"

#include "Trace/ChainReaders.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/IR/Relu.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

/// Names the loop that vectors of `op` run along last where windows move along
/// them: neighbouring windows are neighbours in memory, and can be read where
/// they are.
static void endWithVectors(model::Operator &op) {
  for (model::Access &input : op.inputs) {
    if (input.indices.empty())
      continue;
    auto &terms = input.indices.back().terms;
    auto *along = llvm::find(terms, model::Term{op.vectorLoop, /*factor=*/1});
    if (along != terms.end())
      std::rotate(along, along + 1, terms.end());
  }
}

/// The iterations of a loop that rows of registers can count on: an open one
/// may have any number, even if it is planned for many.
static int64_t getCertainExtent(const model::Loop &loop) {
  constexpr int64_t ofOpen = 4;
  return loop.isOpen ? ofOpen : loop.extent;
}

void chimera::chooseKernelLoops(const model::ChainProblem &problem,
                                model::Operator &op) {
  auto isRead = [&](model::LoopId loop) {
    return llvm::any_of(op.inputs, [&](const model::Access &input) {
      return input.hasLoop(loop);
    });
  };
  SmallVector<model::LoopId> loops;
  for (const model::Index &index : op.output.indices)
    loops.push_back(index.terms[0].loop);
  while (loops.size() > 1 && !isRead(loops.back()))
    loops.pop_back();
  op.vectorLoop = op.rowLoop = loops.pop_back_val();
  // Rows use a vector again that does not depend on them.
  auto usesVectorsAgain = [&](model::LoopId loop) {
    return llvm::any_of(op.inputs, [&](const model::Access &input) {
      return input.hasLoop(op.vectorLoop) && !input.hasLoop(loop);
    });
  };
  int64_t longest = 1;
  for (model::LoopId loop : llvm::reverse(loops)) {
    if (!usesVectorsAgain(loop) || !isRead(loop))
      continue;
    if (int64_t extent = getCertainExtent(problem.loops[loop]);
        extent > longest) {
      longest = extent;
      op.rowLoop = loop;
    }
  }
  endWithVectors(op);
}

void chimera::addInstructions(linalg::LinalgOp op, model::Operator &to) {
  constexpr int64_t functionCost = 20;
  for (Operation &nested : op.getBlock()->without_terminator()) {
    bool isFunction = isa<math::MathDialect>(nested.getDialect()) &&
                      !isa<math::AbsFOp, math::FmaOp>(nested);
    if (isa<math::ExpOp, math::Exp2Op>(nested))
      ++to.epilogueExponentials;
    else
      to.epilogueCost += isFunction ? functionCost : 1;
    to.routeInstructions +=
        isa<arith::TruncFOp>(nested) || getReluOperand(&nested);
  }
}

/// Reads `chain` and says whether code can be generated from it. The planner
/// does without dimensions of one element, but code needs a loop for each
/// dimension.
static FailureOr<ChainAnalysis> read(ChainOp chain, Complaint &complaint) {
  FailureOr<ChainAnalysis> analysis =
      readChain(chain, /*keepsUnits=*/false, complaint);
  if (failed(analysis))
    return failure();
  findLoweringObstacle(chain, *analysis);
  // Padding between operators is a matter of indices.
  auto moves = [](Operation &op) {
    return isMove(&op) && !isa<tensor::PadOp>(op);
  };
  if (analysis->obstacle != LoweringObstacle::UnitDimension ||
      llvm::any_of(chain.getBody().front(), moves))
    return analysis;
  FailureOr<ChainAnalysis> whole =
      readChain(chain, /*keepsUnits=*/true, complaint);
  if (failed(whole))
    return analysis;
  findLoweringObstacle(chain, *whole);
  if (isLowerable(*whole))
    return whole;
  // A loop would do for the dimension, so something else is in the way.
  analysis->obstacle = whole->obstacle;
  analysis->obstacleOp = whole->obstacleOp;
  return analysis;
}

void chimera::planSizes(ChainOp chain, model::ChainProblem &problem) {
  OpenSizes open(chain);
  if (open.empty())
    return;
  auto plan = [&](int64_t &size) { size = open.getPlanned(size); };
  for (model::Loop &loop : problem.loops) {
    loop.isOpen = open.isOpen(loop.extent);
    plan(loop.extent);
  }
  for (model::Tensor &tensor : problem.tensors) {
    llvm::for_each(tensor.shape, plan);
    llvm::for_each(tensor.strides, plan);
  }
}

/// The same with the sizes that are planned for.
static FailureOr<ChainAnalysis> readPlanned(ChainOp chain,
                                            Complaint &complaint) {
  FailureOr<ChainAnalysis> analysis = read(chain, complaint);
  if (failed(analysis))
    return failure();
  analysis->typedProblem = analysis->problem;
  planSizes(chain, analysis->problem);
  for (auto [typed, planned] :
       llvm::zip_equal(analysis->typedProblem.loops, analysis->problem.loops))
    typed.isOpen = planned.isOpen;
  return analysis;
}

FailureOr<ChainAnalysis> chimera::analyzeChain(ChainOp chain, bool emitErrors) {
  Complaint complaint;
  FailureOr<ChainAnalysis> analysis = readPlanned(chain, complaint);
  if (failed(analysis) && emitErrors) {
    InFlightDiagnostic diagnostic = chain.emitError("cannot plan the chain: ")
                                    << complaint.text;
    if (complaint.op != chain)
      diagnostic.attachNote(complaint.op->getLoc())
          << "see '" << complaint.op->getName() << "'";
  }
  return analysis;
}

FailureOr<ChainAnalysis> chimera::analyzeChain(ChainOp chain,
                                               std::string &reason) {
  Complaint complaint;
  FailureOr<ChainAnalysis> analysis = readPlanned(chain, complaint);
  if (failed(analysis))
    reason = "'" + complaint.op->getName().getStringRef().str() +
             "': " + complaint.text;
  return analysis;
}

NumberTypes chimera::getNumberTypes(ChainOperator op) {
  return {getElementTypeOrSelf(op.contraction.getDpsInputs().front()),
          getElementTypeOrSelf(op.contraction->getResult(0)),
          getElementTypeOrSelf(op.result)};
}

bool chimera::isLowerable(const ChainAnalysis &analysis) {
  return analysis.obstacle == LoweringObstacle::None;
}
