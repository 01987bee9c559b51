//===- Elementwise.h - Element by element, in registers ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation that works element by element becomes vector operations on the
// parts of its operands that each thread holds. What it reduces along rows, the
// maximum and the sum of a softmax, is reduced by each thread for its columns
// and then by the four threads that share a row.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_ELEMENTWISE_H
#define CHIMERA_LIB_CONVERSION_ELEMENTWISE_H

#include "FloatFunctions.h"
#include "Fragments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace chimera {

/// An operand: in registers, in global memory, or one number for all elements.
struct ElementwiseOperand {
  std::optional<Fragment> fragment;
  std::optional<GlobalTile> tile;
  mlir::Value scalar;
  mlir::AffineMap map;
};

/// The columns of a tile: in units of mma.sync, those that always exist, and
/// those that do here; the last is null if that is the same.
struct ColumnRange {
  int64_t tiles = 1, least = 0;
  mlir::Value present;
  /// Warps that have a part of the columns each, and the first of this one's;
  /// null if there is one warp.
  int64_t sharers = 1;
  mlir::Value first;
};

class ElementwiseBuilder {
public:
  /// `operands` are those of `op`, in order. With `isRows` it works on numbers
  /// of rows, and there are no columns.
  ElementwiseBuilder(KernelBuilder &kernel, mlir::linalg::GenericOp op,
                     llvm::MutableArrayRef<ElementwiseOperand> operands,
                     bool isRows, const ColumnRange &columns)
      : kernel(kernel), op(op), operands(operands), isRows(isRows),
        columns(columns), functions(kernel.builder, kernel.loc) {}

  /// The results, in order. Fails, with a reason, on operations without a
  /// vector form.
  llvm::FailureOr<llvm::SmallVector<Fragment>> run(Refusal &refusal);

private:
  /// A result: what the body yields or, if it is reduced along rows, the
  /// operation that combines it with `element`.
  struct Output {
    mlir::Operation *combiner = nullptr;
    mlir::Value element;
    mlir::TypedAttr neutral;
  };
  using Parts = llvm::SmallVector<mlir::Value>;

  llvm::LogicalResult fail(const llvm::Twine &why) {
    return refused.set(op, why);
  }
  llvm::LogicalResult readOutputs();
  llvm::LogicalResult readCombiner(unsigned index, Output &output);

  unsigned rowDim() { return op.getNumLoops() - (isRows ? 1 : 2); }
  mlir::VectorType typeOf(mlir::Type element) const;
  mlir::Value makeVector(mlir::Value value);
  mlir::Value spreadRows(mlir::Value rows);
  mlir::Value loadPart(const ElementwiseOperand &operand, int64_t row,
                       int64_t column);
  mlir::Value getIndices(unsigned dim, int64_t row, int64_t column);
  bool mapConstant(mlir::Value value, mlir::IRMapping &mapping);
  llvm::LogicalResult mapOperation(mlir::Operation &nested,
                                   mlir::IRMapping &mapping);
  mlir::Value mapFunction(mlir::Operation &nested, mlir::IRMapping &mapping);
  mlir::Value makeNumber(double number);
  mlir::Value makeWord(int64_t value);
  bool isOfRow(mlir::Value value);
  mlir::Value createShiftedExp(mlir::math::ExpOp exponential,
                               mlir::IRMapping &mapping);
  llvm::FailureOr<Parts> mapPart(int64_t row, int64_t column);
  bool keepsTilesApart();
  llvm::LogicalResult mapRowTile(int64_t row,
                                 llvm::MutableArrayRef<Fragment> results);
  llvm::SmallVector<Fragment> createResults();
  llvm::LogicalResult mapAll(llvm::MutableArrayRef<Fragment> results);

  struct Range {
    mlir::Value least, most;
  };
  std::optional<Range> rangeOf(mlir::Value value);
  mlir::Value holdsEverywhere(mlir::Value condition);
  mlir::Value findWholeTile();
  llvm::LogicalResult mapByTiles(mlir::Value whole,
                                 llvm::MutableArrayRef<Fragment> results);

  mlir::Value exclude(const Output &output, mlir::Value part, int64_t column);
  mlir::Value combine(const Output &output, mlir::Value left,
                      mlir::Value right);
  mlir::Value reduceRows(const Output &output, mlir::Value part);
  mlir::Value getColumn(int64_t column, int64_t place);
  mlir::Value getScratch(int64_t part, mlir::Value sharer, int64_t rowTile,
                         int64_t half);
  void combineSharers(llvm::MutableArrayRef<Fragment> results);

  KernelBuilder &kernel;
  mlir::linalg::GenericOp op;
  llvm::MutableArrayRef<ElementwiseOperand> operands;
  bool isRows;
  ColumnRange columns;
  FloatFunctions functions;
  llvm::SmallVector<Output, 2> outputs;
  /// Selections that take the first in the tile that code is made for.
  llvm::SmallPtrSet<mlir::Operation *, 2> assumed;
  Refusal refused;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_ELEMENTWISE_H
