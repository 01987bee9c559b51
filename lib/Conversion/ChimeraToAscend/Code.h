//===- Code.h - Writing the program of a core -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowering of every kind of micro kernel needs: arithmetic on sizes
// and offsets, addresses, flags, and the instructions themselves.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CODE_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CODE_H

#include "Chimera/Ascend/Ascend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace chimera::ascend {

/// Rows and columns of a fractal, and the columns of a group.
inline constexpr int64_t fractal = 16;
/// Bytes of a block, the unit of bursts and of vector strides.
inline constexpr int64_t blockBytes = 32;
/// Most repeats of one instruction.
inline constexpr int64_t maxRepeat = 255;

/// What both sides of a tile of `type` are multiples of on chip: bytes that are
/// multiplied have fractals of as many columns as a block has of them, and come
/// in squares, and so do the columns of their sums.
inline int64_t sideOf(mlir::Type type) {
  return type.isInteger(8) || type.isInteger(32) ? blockBytes : fractal;
}

inline int64_t padToFractal(int64_t extent) {
  return llvm::divideCeil(extent, fractal) * fractal;
}

/// A builder with short names; all numbers are of index type.
class Code {
public:
  Code(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value number(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value number(mlir::OpFoldResult value);
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::SubIOp>(loc, a, b);
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::MulIOp>(loc, a, number(b));
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::MulIOp>(loc, a, b);
  }
  mlir::Value div(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::DivSIOp>(loc, a, number(b));
  }
  mlir::Value rem(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::RemSIOp>(loc, a, number(b));
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::MinSIOp>(loc, a, b);
  }
  mlir::Value max(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::MaxSIOp>(loc, a, number(b));
  }
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return div(add(a, number(b - 1)), b);
  }
  /// What is left of `whole` from `first`, a multiple of `size`, on, but at
  /// most `size`.
  mlir::Value part(mlir::Value whole, mlir::Value first, int64_t size);
  /// Fractals that hold `extent` rows or columns, and what they extend to.
  mlir::Value fractals(mlir::Value extent) { return ceilDiv(extent, fractal); }
  mlir::Value padded(mlir::Value extent) {
    return mul(fractals(extent), fractal);
  }

  mlir::Value address(Memory memory, mlir::Type type, mlir::Value bytes) {
    return AddressOp::create(
        builder, loc, PtrType::get(builder.getContext(), memory, type), bytes);
  }
  mlir::Value offset(mlir::Value base, mlir::Value elements);

  /// A loop from `lower` in steps of `step`.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// What is emitted from now on runs if `count` is more than none.
  void goOnIfAny(mlir::Value count);

  void copy(CopyKind kind, mlir::Value destination, mlir::Value source,
            mlir::Value bursts, mlir::Value length, mlir::Value firstDistance,
            mlir::Value secondDistance, bool hasRelu = false) {
    CopyOp::create(builder, loc, kind, destination, source, bursts, length,
                   firstDistance, secondDistance, hasRelu);
  }
  void setFlag(Pipe from, Pipe to, mlir::Value event) {
    SetFlagOp::create(builder, loc, from, to, event);
  }
  void waitFlag(Pipe from, Pipe to, mlir::Value event) {
    WaitFlagOp::create(builder, loc, from, to, event);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CODE_H
