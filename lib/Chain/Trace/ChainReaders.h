//===- ChainReaders.h - Two ways to read a chain ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What turns the body of a chain into a problem of the model, and looks for
// what keeps code from being generated from it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CHAIN_TRACE_CHAINREADERS_H
#define CHIMERA_LIB_CHAIN_TRACE_CHAINREADERS_H

#include "Chimera/Chain/ChainAnalysis.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Why a chain cannot be read, and which operation is the cause.
struct Complaint {
  mlir::Operation *op = nullptr;
  std::string text;

  /// Says of `cause` that `reason`, and fails.
  llvm::LogicalResult raise(mlir::Operation *cause, const llvm::Twine &reason) {
    op = cause;
    text = reason.str();
    return llvm::failure();
  }
};

/// Reads chains whose operators are contractions and convolutions with index
/// expressions, and elementwise operations, reductions along rows, reshapes,
/// transposes, broadcasts and zero padding between them.
///
/// Dimensions of one element are left out, unless the reader `keepsUnits`,
/// which takes a chain that moves no data.
llvm::FailureOr<ChainAnalysis> readChain(ChainOp chain, bool keepsUnits,
                                         Complaint &complaint);

/// Fills in what code generation has to know of the operators of `analysis`, or
/// says why there can be none.
void findLoweringObstacle(ChainOp chain, ChainAnalysis &analysis);

/// Chooses the vector and the row loop of `op`, whose accesses are known:
/// vectors run along the last dimension of the output, which is contiguous;
/// register rows along the longest other dimension that the vector operand does
/// not have, of which one of unknown size is short.
void chooseKernelLoops(const model::ChainProblem &problem, model::Operator &op);

/// Adds to the epilogue of `to` the vector instructions per vector of results
/// that `op` takes: one per arithmetic operation, and the length of the usual
/// polynomial for a function. Exponentials are counted by themselves.
void addInstructions(mlir::linalg::LinalgOp op, model::Operator &to);

/// Puts what is planned for in the place of placeholders (see OpenSizes.h), and
/// says which loops are open.
void planSizes(ChainOp chain, model::ChainProblem &problem);

} // namespace chimera

#endif // CHIMERA_LIB_CHAIN_TRACE_CHAINREADERS_H
