//===- MaskIntegers.cpp - Parts of vectors of bf16 as integers ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without AVX-512 no instruction loads or stores a part of a vector of 16 bits,
// so LLVM takes elements one by one. One of bf16 it widens to f32 and rounds
// again, by a function that is not there where a program is loaded.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/TypeSwitch.h"

namespace chimera {
#define GEN_PASS_DEF_MASKINTEGERSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The vector of integers with the bits of `type`; null if that is no vector of
/// bf16.
static VectorType getIntegers(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || !vector.getElementType().isBF16())
    return VectorType();
  return VectorType::get(vector.getShape(),
                         IntegerType::get(type.getContext(), 16),
                         vector.getScalableDims());
}

static void loadIntegers(LLVM::MaskedLoadOp load) {
  VectorType integers = getIntegers(load.getRes().getType());
  if (!integers)
    return;
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Value otherwise = load.getPassThru();
  if (otherwise)
    otherwise = LLVM::BitcastOp::create(builder, loc, integers, otherwise);
  Value loaded = LLVM::MaskedLoadOp::create(
      builder, loc, integers, load.getData(), load.getMask(), otherwise,
      load.getAlignmentAttr(), load.getNontemporalAttr());
  Value floats =
      LLVM::BitcastOp::create(builder, loc, load.getRes().getType(), loaded);
  load.getRes().replaceAllUsesWith(floats);
  load.erase();
}

static void storeIntegers(LLVM::MaskedStoreOp store) {
  VectorType integers = getIntegers(store.getValue().getType());
  if (!integers)
    return;
  OpBuilder builder(store);
  store.getValueMutable().assign(LLVM::BitcastOp::create(
      builder, store.getLoc(), integers, store.getValue()));
}

namespace {
struct MaskIntegersPass
    : chimera::impl::MaskIntegersPassBase<MaskIntegersPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<LLVM::MaskedLoadOp>(loadIntegers)
          .Case<LLVM::MaskedStoreOp>(storeIntegers);
    });
  }
};
} // namespace
