//===- Tiles.cpp - The instructions of AMX --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

static void call(OpBuilder &builder, Location loc, const Twine &name,
                 ArrayRef<unsigned> tiles, ValueRange others = {}) {
  SmallVector<Value> operands;
  for (unsigned tile : tiles)
    operands.push_back(LLVM::ConstantOp::create(
        builder, loc, builder.getI8Type(), builder.getI8IntegerAttr(tile)));
  llvm::append_range(operands, others);
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr("llvm.x86." + name), operands);
}

/// `address` as a pointer and `stride` as a number.
static SmallVector<Value> asOperands(OpBuilder &builder, Location loc,
                                     Value address, Value stride) {
  Type number = builder.getI64Type();
  Value bits = arith::IndexCastOp::create(builder, loc, number, address);
  return {
      LLVM::IntToPtrOp::create(
          builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), bits),
      arith::IndexCastOp::create(builder, loc, number, stride)};
}

void chimera::configureTiles(OpBuilder &builder, Location loc, Value pointer) {
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr(kTileConfiguration), pointer);
}

void chimera::releaseTiles(OpBuilder &builder, Location loc) {
  call(builder, loc, "tilerelease", {});
}

void chimera::zeroTile(OpBuilder &builder, Location loc, unsigned tile) {
  call(builder, loc, "tilezero", tile);
}

void chimera::loadTile(OpBuilder &builder, Location loc, unsigned tile,
                       Value address, Value stride) {
  call(builder, loc, "tileloadd64", tile,
       asOperands(builder, loc, address, stride));
}

void chimera::storeTile(OpBuilder &builder, Location loc, unsigned tile,
                        Value address, Value stride) {
  call(builder, loc, "tilestored64", tile,
       asOperands(builder, loc, address, stride));
}

void chimera::multiplyTiles(OpBuilder &builder, Location loc, Type factor,
                            unsigned sums, unsigned lhs, unsigned rhs,
                            std::array<bool, 2> areUnsigned) {
  std::string name = factor.isBF16() ? "tdpbf16ps" : "tdpfp16ps";
  if (factor.isInteger()) {
    name = "tdpb";
    for (bool isUnsigned : areUnsigned)
      name += isUnsigned ? "u" : "s";
    name += "d";
  }
  call(builder, loc, name, {sums, lhs, rhs});
}
