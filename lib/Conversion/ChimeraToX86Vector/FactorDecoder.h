//===- FactorDecoder.h - Vectors of quantized factors -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes become numbers when they are loaded; zero and scale, which many of them
// share, are applied to the sum of their products:
//
//   sum of factor * (number - zero) * scale
//     = scale * (sum of factor * number - zero * sum of factor)
//
// Codes of a few bits lie side by side in words. A vector of words gives as
// many vectors of numbers. A field in the middle of its word is the number
// times a power of two: where a few rows are multiplied, that is taken from a
// copy of them, made before, together with their sums, rather than by a shift.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FACTORDECODER_H
#define CHIMERA_LIB_CONVERSION_FACTORDECODER_H

#include "BodyEmitter.h"

#include "Chimera/IR/ProductBody.h"

namespace chimera {

/// True if a factor of `op`, a contraction, is quantized.
bool isQuantized(MicroKernelOp op);

class FactorDecoder : public BodyEmitter {
public:
  /// `op` is a contraction with a quantized factor.
  FactorDecoder(mlir::OpBuilder &builder, MicroKernelOp op,
                const VectorFigures &figures, llvm::ArrayRef<int64_t> extents);

  /// True if vectors of codes along the last dimension of the output can be
  /// decoded, and each of them has one zero and one scale for all rows.
  bool isCovered();

  bool hasZero() const { return product.zero != nullptr; }
  /// True if numbers are not all that there is to a factor.
  bool hasSharedParts() const { return product.zero || product.scale; }
  /// The operands that zero and scale are computed from.
  llvm::SmallVector<unsigned> getSharedOperands() const;
  /// True if zero or scale change along `dim`.
  bool isGroup(unsigned dim);
  /// The dimension along which fields of a word lie.
  std::optional<unsigned> getFieldDim() const;

  /// The numbers that the vector `codes`, at `point`, stands for.
  mlir::Value decode(mlir::Value codes, llvm::ArrayRef<mlir::Value> point,
                     LaneCount count);
  /// The numbers in `field` of the vector `words`, too large by a power of two.
  mlir::Value decodeInPlace(mlir::Value words, int64_t field);

  /// Rows of the other factor as decodeInPlace needs them, and the sum of each
  /// over a group; null if they have not been prepared. Elements that are
  /// digits have, for each word, those of one place after the other, first of
  /// the even fields; a group's sums of digits times `units` are its products.
  struct PreparedRows {
    mlir::Value elements, sums, units;
    /// The dimensions that the sums have.
    llvm::SmallVector<unsigned> dims;
  };
  /// Prepares rows at `point`, where `inner` are the dimensions that a group
  /// extends over, the fields last. Leaves out what would take too much room,
  /// or cannot be loaded by vectors.
  PreparedRows prepareRows(llvm::ArrayRef<mlir::Value> point,
                           llvm::ArrayRef<unsigned> inner);
  /// The same as digits, where dot products of bytes can multiply them.
  PreparedRows prepareDigits(llvm::ArrayRef<mlir::Value> point,
                             llvm::ArrayRef<unsigned> inner);
  /// The digits at `place` of the even or the odd fields of the word at
  /// `point`, in every lane; and such fields of `words`.
  mlir::Value loadDigits(const PreparedRows &rows,
                         llvm::ArrayRef<mlir::Value> point, bool isOdd,
                         int64_t place);
  mlir::Value selectFields(mlir::Value words, bool isOdd);
  /// The sums of products of the group at `point`, of the sums for each place.
  mlir::Value combineDigits(const PreparedRows &rows,
                            llvm::ArrayRef<mlir::Value> point,
                            llvm::ArrayRef<mlir::Value> sums);
  /// The prepared element, and the sum, at `point`, in every lane.
  mlir::Value loadElement(const PreparedRows &rows,
                          llvm::ArrayRef<mlir::Value> point);
  mlir::Value loadSum(const PreparedRows &rows,
                      llvm::ArrayRef<mlir::Value> point);

  /// The factors of a panel of `vectors` vectors at `point`, decoded: in a
  /// buffer whose dimensions are `groups`, along which zeros and scales change,
  /// then `inner`, the fields last, then columns. Null if they would take too
  /// much room.
  mlir::Value decodePanel(llvm::ArrayRef<mlir::Value> point,
                          llvm::ArrayRef<unsigned> groups,
                          llvm::ArrayRef<unsigned> inner, int64_t vectors,
                          llvm::function_ref<LaneCount(int64_t)> lanesOf);
  /// Vector `vector` of such a panel, which has `dims`, at `point`.
  mlir::Value loadFactors(mlir::Value panel, llvm::ArrayRef<unsigned> dims,
                          llvm::ArrayRef<mlir::Value> point, int64_t vector);

  /// The vectors of zeros and scales at `point`; null if there are none.
  mlir::Value loadZero(llvm::ArrayRef<mlir::Value> point, LaneCount count);
  mlir::Value loadScale(llvm::ArrayRef<mlir::Value> point, LaneCount count);

private:
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape, llvm::StringRef purpose,
                       int64_t most, mlir::Type type);
  PreparedRows allocateRows(llvm::ArrayRef<unsigned> inner, mlir::Type type);
  bool mayUseDigits(llvm::ArrayRef<unsigned> inner);
  mlir::Value findLargest(llvm::SmallVector<mlir::Value> here,
                          llvm::ArrayRef<unsigned> inner);
  mlir::Value loadWords(llvm::ArrayRef<mlir::Value> here, LaneCount count);
  void forEachPair(llvm::SmallVectorImpl<mlir::Value> &here,
                   llvm::ArrayRef<unsigned> inner,
                   llvm::SmallVectorImpl<mlir::Value> &carried,
                   llvm::function_ref<llvm::SmallVector<mlir::Value>(
                       LaneCount, mlir::ValueRange)>
                       body);
  std::pair<mlir::Value, mlir::Value> findUnits(mlir::Value largest);
  mlir::Value splitIntoDigits(mlir::Value numbers, mlir::Value scale);
  /// The power of two by which decodeInPlace makes numbers too large.
  int64_t getExcess(int64_t field) const;
  mlir::Value emitPart(mlir::Value part, llvm::ArrayRef<mlir::Value> point,
                       LaneCount count, Values values);
  static llvm::SmallVector<unsigned> getOperands(mlir::Value part);
  static llvm::SmallVector<mlir::Value> pick(llvm::ArrayRef<mlir::Value> point,
                                             llvm::ArrayRef<unsigned> dims);

  ProductBody product;
  std::optional<BitField> field;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FACTORDECODER_H
