//===- SplitChain.h - Cut a chain into several ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SCHEDULE_SPLITCHAIN_H
#define CHIMERA_LIB_TRANSFORMS_SCHEDULE_SPLITCHAIN_H

#include "Chimera/Chain/ChainAnalysis.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace chimera {

/// Neighbouring operators of a chain: `begin` and those behind it up to, and
/// without, `end`.
struct OperatorRange {
  unsigned begin = 0, end = 0;

  unsigned size() const { return end - begin; }
  bool has(unsigned op) const { return begin <= op && op < end; }
};

/// Cuts a chain into chains of neighbouring operators. What moves data between
/// operators goes with the one that reads it.
class ChainSplitter {
public:
  ChainSplitter(ChainOp chain, const ChainAnalysis &analysis);

  /// The results of operators in `range` that others, or the chain's users,
  /// read.
  llvm::SmallVector<mlir::Value> getResults(OperatorRange range);

  /// Replaces the chain by one chain for each of the ranges, which cover it.
  llvm::SmallVector<ChainOp> split(llvm::ArrayRef<OperatorRange> ranges);

private:
  using OperationSet = llvm::SetVector<mlir::Operation *>;
  using ValueSet = llvm::SetVector<mlir::Value>;

  bool isResult(mlir::Value value) const;
  void collect(mlir::Value value, OperatorRange range, OperationSet &operations,
               ValueSet &inputs) const;
  llvm::SmallVector<unsigned> getCutSoftmaxes(OperatorRange range);
  void cloneOutside(mlir::OpBuilder &builder, mlir::Value value);
  void cloneSum(mlir::OpBuilder &builder, ChainOperator op);
  ChainOp isolate(mlir::OpBuilder &builder, OperatorRange range);
  void replaceYields(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Operation *>
  inOrder(const OperationSet &operations) const;

  ChainOp chain;
  const ChainAnalysis &analysis;
  /// What the chain's inputs and the results of operators are outside.
  mlir::IRMapping outside;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SCHEDULE_SPLITCHAIN_H
