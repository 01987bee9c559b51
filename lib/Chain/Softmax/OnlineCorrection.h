//===- OnlineCorrection.h - Can softmax be corrected? -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An epilogue may reduce along the rows of what it finishes and use the result
// for the whole row. Whoever reads it then waits for the row, unless what is
// read is exp(x - r) times or over factors of the row: when another part of the
// row changes r or a factor, what was summed up so far is off by a factor only,
// and is rescaled (online softmax). This says which of both it is, from the
// scalar bodies alone.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CHAIN_SOFTMAX_ONLINECORRECTION_H
#define CHIMERA_LIB_CHAIN_SOFTMAX_ONLINECORRECTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// True for the least finite number of f32 or less, as masks put in the place
/// of scores. A maximum is below it only if all of the row is masked.
inline bool isLowest(double number) { return number <= -3.4e38; }

/// How a value depends on reductions along the row.
enum class RowKind {
  /// The same number everywhere.
  Constant,
  /// Positive or negative zero.
  Zero,
  /// Differs by element, with no reduction in it.
  Element,
  /// Depends on the row alone, through reductions that need only be updated, or
  /// rescaled, when more of the row is seen.
  Row,
  /// A truth value: whether an element is the lowest number, as masks make it,
  /// or whether it is another.
  Lowest,
  NotLowest,
  /// A truth value of the row: whether it holds anything but the lowest number.
  /// As long as it does not, it adds nothing to what is summed up.
  EmptyRow,
  /// An element with a value of its row added.
  Shifted,
  /// An element times a factor of its row, such as exp(x - r) / s.
  Scaled,
  /// Anything else.
  Other
};

/// True for what depends on the row alone.
inline bool isRow(RowKind kind) {
  return kind == RowKind::Row || kind == RowKind::EmptyRow;
}

/// The kind of each result of `op`, whose operands are of kind `kindOf`; an
/// operation with reduction loops reduces along the row.
llvm::SmallVector<RowKind>
classifyResults(mlir::linalg::LinalgOp op,
                llvm::function_ref<RowKind(mlir::OpOperand &)> kindOf);

} // namespace chimera

#endif // CHIMERA_LIB_CHAIN_SOFTMAX_ONLINECORRECTION_H
