//===- ChainAnalysis.h - A chain as the model's problem ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the body of a `chimera.chain` and says which independent loops it has,
// which tensors they index and which operations compute them. Dimensions of
// different operators that index the same dimension of an intermediate are the
// same loop.
//
// The body has to be in the form that `chimera-form-chains` leaves:
//  - contractions: one output, projected permutation maps, a body that
//    multiplies the inputs and adds to the output, starting from a zero
//    `linalg.fill`;
//  - after each at most one elementwise `linalg.generic`, all parallel, with
//  the
//    identity as output map, reading the contraction with the identity map and
//    anything else with a projected permutation;
//  - constants and `tensor.empty`.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_CHAINANALYSIS_H
#define CHIMERA_TRANSFORMS_CHAINANALYSIS_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/Problem.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// One contraction of a chain with what follows it.
struct ChainOperator {
  mlir::linalg::LinalgOp contraction;
  /// The elementwise operation on its result; null if there is none.
  mlir::linalg::GenericOp epilogue;
  /// The loop of each dimension of the contraction's iteration space.
  llvm::SmallVector<model::LoopId> loops;
  /// The loop of each dimension of the epilogue's iteration space.
  llvm::SmallVector<model::LoopId> epilogueLoops;

  /// The value later operators read.
  mlir::Value getResult() {
    return epilogue ? epilogue->getResult(0) : contraction->getResult(0);
  }
};

/// A chain with the correspondence between its IR and the model's problem.
///
/// Every use of a tensor by an operator is a tensor of the problem, so a value
/// that two operators read may stand for two. Operator i of the problem is
/// operators[i]; its inputs are those of the contraction in order, its epilogue
/// the shaped inputs of the epilogue in order, the contraction left out.
struct ChainAnalysis {
  model::ChainProblem problem;
  llvm::SmallVector<ChainOperator> operators;
  /// The value of each tensor of the problem: a block argument for inputs, the
  /// result of the operator (after the epilogue) for the others.
  llvm::SmallVector<mlir::Value> tensors;
};

/// Analyses `chain`. On failure says on `chain` why its body is not in the form
/// above, if `emitErrors` is set.
llvm::FailureOr<ChainAnalysis> analyzeChain(ChainOp chain,
                                            bool emitErrors = true);

/// A contraction as `analyzeChain` takes it, apart from its accumulator.
bool isSupportedContraction(mlir::linalg::LinalgOp op);

/// An elementwise operation as `analyzeChain` takes it after a contraction.
bool isSupportedElementwise(mlir::linalg::LinalgOp op);

/// True if `value` is a tensor filled with positive zero.
bool isZeroFill(mlir::Value value);

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_CHAINANALYSIS_H
