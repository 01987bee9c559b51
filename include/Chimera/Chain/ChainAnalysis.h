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
// A chain that can be planned may hold contractions and convolutions of any
// type, elementwise operations and reductions along rows (softmax), reshapes,
// transposes, broadcasts and zero padding between them, and yield several
// results. Code is generated from chains in a narrower form, which
// `chimera-form-chains` brings them into where it can:
//  - contractions of f32, or of narrower floats into sums in f32: one output,
//    projected permutation maps, a body that multiplies the inputs and adds to
//    the output, starting from a zero `linalg.fill`; or convolutions, which
//    differ in that inputs of the chain are indexed by sums of loops, where the
//    target has code for windows;
//  - after each at most one elementwise `linalg.generic`, all parallel, with
//    the identity as output map, reading the contraction with the identity map
//    and anything else with a projected permutation;
//  - between two of them, after the elementwise operation, the operations of a
//    softmax in the form of Softmax.h, whose sum and maximum the second
//    one's elementwise operation may read;
//  - constants and `tensor.empty`; one result, that of the last operator.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_CHAINANALYSIS_H
#define CHIMERA_CHAIN_CHAINANALYSIS_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Model/Problem.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Why no code is generated from a chain that can be planned.
enum class LoweringObstacle {
  None,
  /// An operator is no contraction or convolution of floats with sums in f32.
  Operator,
  /// An operator reads through windows, and kernels do not.
  Windows,
  /// Vectors of an operator run along an intermediate at a stride.
  Stride,
  /// There are no micro kernels for the types of its numbers.
  ElementType,
  /// A dimension of an operator or a tensor has one element.
  UnitDimension,
  /// A tensor is reshaped, transposed or padded between operators.
  Movement,
  /// An operation is not one of linalg, or reads what is neither an input of
  /// the chain nor made by its operators.
  Operation,
  /// A contraction does not start from zero.
  Accumulator,
  /// What follows a contraction is not one elementwise operation on its result.
  Epilogue,
  /// Rows are reduced otherwise than by a softmax that one contraction reads.
  Rows,
  /// An operator reads an intermediate by other loops than it is made in, and
  /// others do not read it through the same windows; or some read an input
  /// through windows, and others otherwise.
  Loops,
  /// A window on an intermediate lies in padding altogether.
  Padding,
  /// The chain yields something else than the result of its last operator.
  Results
};

/// The obstacle in words, to follow "no code is generated from the chain: ".
llvm::StringRef getText(LoweringObstacle obstacle);

/// The same with the types that products with code can be of.
std::string getText(LoweringObstacle obstacle, const OperatorSupport &support);

/// One contraction or convolution of a chain with what follows it. Of chains
/// that cannot be lowered only `contraction` and `result` are known: a
/// dimension may be several loops, an epilogue several operations.
struct ChainOperator {
  mlir::linalg::LinalgOp contraction;
  /// The elementwise operation on its result; null if there is none.
  mlir::linalg::GenericOp epilogue;
  /// A softmax on what then is the score: its maximum along rows, exponential
  /// and sum along rows. Null if there is none. The exponential in a narrower
  /// type, if that is what is read.
  mlir::linalg::GenericOp maximum, exponential, sum, narrowed;
  /// The value later operators read.
  mlir::Value result;
  /// The loop of each dimension of the contraction's iteration space.
  llvm::SmallVector<model::LoopId> loops;
  /// The loop of each dimension of the epilogue's iteration space.
  llvm::SmallVector<model::LoopId> epilogueLoops;

  mlir::Value getResult() const { return result; }
};

/// The types of what `op` multiplies and adds up, and of its result.
NumberTypes getNumberTypes(ChainOperator op);

/// A chain with the correspondence between its IR and the model's problem.
///
/// Every use of a tensor by an operator is a tensor of the problem, so a value
/// that two operators read may stand for two. Operator i of the problem is
/// operators[i]; its inputs are those of the contraction in order, its epilogue
/// the shaped inputs of the epilogue in order, the contraction left out.
struct ChainAnalysis {
  model::ChainProblem problem;
  /// The same with the sizes that types have: placeholders where the problem
  /// has what is planned for (see OpenSizes.h).
  model::ChainProblem typedProblem;
  llvm::SmallVector<ChainOperator> operators;
  /// The value of each tensor of the problem: a block argument for inputs, the
  /// result of a row reduction for states, the result of the operator (after
  /// the epilogue) for the others.
  llvm::SmallVector<mlir::Value> tensors;
  /// Why no code can be generated from the chain as it is, and which operation
  /// is the cause.
  LoweringObstacle obstacle = LoweringObstacle::None;
  mlir::Operation *obstacleOp = nullptr;
};

/// True if the chain is in the form that code is generated from.
bool isLowerable(const ChainAnalysis &analysis);

/// Why no code is generated from the chain on a target that has code for what
/// `support` says. What is narrower than sums has to be of a type that is
/// multiplied, too.
LoweringObstacle getObstacle(const ChainAnalysis &analysis,
                             const OperatorSupport &support);

/// True if some index of `access` is no plain loop.
bool hasWindows(const model::Access &access);

/// Analyses `chain`. On failure says on `chain` why it cannot be planned, if
/// `emitErrors` is set.
llvm::FailureOr<ChainAnalysis> analyzeChain(ChainOp chain,
                                            bool emitErrors = true);

/// The same without a diagnostic: `reason` says why, on failure.
llvm::FailureOr<ChainAnalysis> analyzeChain(ChainOp chain, std::string &reason);

/// Writes `problem` line by line: loops with extents, tensors with roles and
/// shapes, operators with the expressions that access tensors.
void printProblem(llvm::raw_ostream &os, const model::ChainProblem &problem);

} // namespace chimera

#endif // CHIMERA_CHAIN_CHAINANALYSIS_H
