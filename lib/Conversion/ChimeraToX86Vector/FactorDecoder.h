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
// many vectors of numbers; a field in the middle of its word is the number
// times a power of two, which is taken from the other factor where that costs
// less than a shift.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_FACTORDECODER_H
#define CHIMERA_LIB_CONVERSION_FACTORDECODER_H

#include "BodyEmitter.h"

#include "Chimera/IR/ProductBody.h"

namespace chimera {

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
  /// True if zero or scale change along `dim`.
  bool isGroup(unsigned dim);
  /// The dimension along which fields of a word lie.
  std::optional<unsigned> getFieldDim() const;

  /// The numbers that the vector `codes`, at `point`, stands for.
  mlir::Value decode(mlir::Value codes, llvm::ArrayRef<mlir::Value> point,
                     LaneCount count);
  /// The power of two by which the numbers of decodeInPlace are too large, in
  /// field `field` of a word.
  int64_t getExcess(int64_t field) const;
  /// The numbers in `field` of the vector `words`, that many times too large.
  mlir::Value decodeInPlace(mlir::Value words, int64_t field);

  /// The vectors of zeros and scales at `point`; null if there are none.
  mlir::Value loadZero(llvm::ArrayRef<mlir::Value> point, LaneCount count);
  mlir::Value loadScale(llvm::ArrayRef<mlir::Value> point, LaneCount count);

private:
  mlir::Value emitPart(mlir::Value part, llvm::ArrayRef<mlir::Value> point,
                       LaneCount count, Values values);
  static llvm::SmallVector<unsigned> getOperands(mlir::Value part);

  ProductBody product;
  std::optional<BitField> field;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_FACTORDECODER_H
