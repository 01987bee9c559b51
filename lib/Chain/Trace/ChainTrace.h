//===- ChainTrace.h - What computes and what is read ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first half of reading a general chain. An operand is traced back through
// whatever merely moves data, to an input of the chain or to what an operation
// computed; on the way the index of each of its dimensions is rewritten, so
// that transposes, broadcasts, reshapes and padding end up in the access.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CHAIN_TRACE_CHAINTRACE_H
#define CHIMERA_LIB_CHAIN_TRACE_CHAINTRACE_H

#include "Trace/ChainReaders.h"
#include "Trace/Dimensions.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// The index into one dimension of a tensor: dimensions times factors, those
/// that have more than one value.
struct Position {
  llvm::SmallVector<std::pair<DimId, int64_t>, 2> terms;
  int64_t offset = 0;
  /// It runs over the whole tensor dimension, one by one.
  bool isPlain = false;

  bool isUnit() const { return terms.empty() && offset == 0; }
  DimId getDim() const { return terms.front().first; }
};
using Positions = llvm::SmallVector<Position>;

/// A tensor that is read, after tracing.
struct Use {
  mlir::Value root;
  Positions positions;
};

/// What computes a value of the body: an operator or a part of its epilogue.
struct Step {
  mlir::linalg::LinalgOp op;
  /// The operator it belongs to.
  unsigned owner = 0;
  bool isOperator = false;
  /// The dimension of each loop.
  llvm::SmallVector<DimId> dims;
  /// What it reads: inputs, then what it starts from.
  llvm::SmallVector<Use> uses;
  /// The operand of each use.
  llvm::SmallVector<mlir::OpOperand *> operands;

  /// The interface's queries are not const.
  mlir::linalg::LinalgOp getOp() const { return op; }
};

/// A dimension of what one step makes, as another reads it.
struct Reading {
  unsigned producer = 0, reader = 0;
  /// Whether it is a factor of an operator.
  bool isFactor = false;
  DimId written = 0;
  Position read;
};

/// The operations of a chain that compute, in program order.
struct ChainTrace {
  std::vector<Step> steps;
  /// The steps that are operators.
  llvm::SmallVector<unsigned> operators;
  std::vector<Reading> readings;
  Dimensions dimensions;
  /// Dimensions of one element are loops like others.
  bool keepsUnits = false;
  /// The step that computes a value.
  llvm::DenseMap<mlir::Value, unsigned> stepOf;

  const Step *getStep(mlir::Value root) const {
    auto it = stepOf.find(root);
    return it == stepOf.end() ? nullptr : &steps[it->second];
  }
  const Step &getOperator(unsigned index) const {
    return steps[operators[index]];
  }
  /// The dimensions of `operand` in terms of the loops of `step`.
  Positions getPositions(const Step &step, mlir::OpOperand &operand) const;
  /// The dimensions of `result` in terms of the loops of the step that makes
  /// it.
  Positions getResultPositions(const Step &step, mlir::Value result) const;
};

/// Traces the body of `chain`, which moves no data if it `keepsUnits`.
/// Dimensions are cut into parts at the end.
llvm::FailureOr<ChainTrace> traceChain(ChainOp chain, bool keepsUnits,
                                       Complaint &complaint);

/// Decides which dimensions of different operators are the same loop.
void uniteDimensions(ChainTrace &trace);

} // namespace chimera

#endif // CHIMERA_LIB_CHAIN_TRACE_CHAINTRACE_H
