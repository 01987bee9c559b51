//===- X86Passes.td - Conversions of x86 CPUs --------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_X86_PASSES
#define CHIMERA_CONVERSION_X86_PASSES

include "mlir/Pass/PassBase.td"

def EmulateTilesPass : Pass<"chimera-emulate-tiles", "::mlir::ModuleOp"> {
  let summary = "Call functions for the instructions of AMX";
  let description = [{
    Each instruction on tiles, `llvm.x86.X`, becomes the call of a function
    `chimera_X` with its operands, which the host has: `chimera-run` computes what
    the instructions do, so that code for AMX can be tested without it.

    Example: see `test/Conversion/ChimeraToX86Vector/emulate-tiles.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ShareTileSizesPass : Pass<"chimera-share-tile-sizes", "::mlir::func::FuncOp"> {
  let summary = "Tell the tiles of AMX their sizes once for many kernels";
  let description = [{
    Kernels on tiles begin with `ldtilecfg`, which takes as long as a product of
    32 x 64 x 32, and end with `tilerelease`. This pass runs where loops are still
    structured and threads have their regions. In each stretch of code that one
    thread runs without calls, the sizes that the innermost loops set are set once
    in front. Kernels with the same sizes of the registers that they name lose
    their instructions; those with others put the common ones back in place of
    their release.

    Example: see `test/Conversion/ChimeraToX86Vector/share-tile-sizes.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def RequestTilesPass : Pass<"chimera-request-tiles", "::mlir::ModuleOp"> {
  let summary = "Ask the system for the tiles of AMX where code uses them";
  let description = [{
    Public functions whose code uses tiles, or that call one, begin with a call that
    asks Linux for the room of tile registers, the first time (`arch_prctl`). Where
    it says no, the call ends with a message.

    Example: see `test/Conversion/ChimeraToX86Vector/request-tiles.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

#endif // CHIMERA_CONVERSION_X86_PASSES
