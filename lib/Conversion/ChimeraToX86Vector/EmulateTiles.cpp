//===- EmulateTiles.cpp - Instructions of AMX as calls --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs for AMX have to be tested on machines without it: each instruction
// becomes the call of a function of the host that does the same.
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace chimera {
#define GEN_PASS_DEF_EMULATETILESPASS
#include "Chimera/Conversion/X86Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Declares `name` as a function that takes what `instruction` does.
static LLVM::LLVMFuncOp declare(ModuleOp module, StringRef name,
                                LLVM::CallIntrinsicOp instruction) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()),
      llvm::to_vector(instruction.getArgs().getTypes()));
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

namespace {
struct EmulateTilesPass
    : chimera::impl::EmulateTilesPassBase<EmulateTilesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([&](LLVM::CallIntrinsicOp instruction) {
      StringRef name = instruction.getIntrin();
      if (llvm::none_of(kTilePrefixes, [&](StringRef prefix) {
            return name.starts_with(prefix);
          }))
        return;
      name.consume_front("llvm.x86.");
      LLVM::LLVMFuncOp function =
          declare(module, ("chimera_" + name).str(), instruction);
      OpBuilder builder(instruction);
      LLVM::CallOp::create(builder, instruction.getLoc(), function,
                           instruction.getArgs());
      instruction.erase();
    });
  }
};
} // namespace
