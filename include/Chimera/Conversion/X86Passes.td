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

def SplitMaskedMovesPass : Pass<"chimera-split-masked-moves", "::mlir::ModuleOp"> {
  let summary = "Move parts of vectors in pieces where masks are slow";
  let description = [{
    Without AVX-512, `llvm.intr.masked.store` of the first lanes of a vector
    becomes stores of a power of two of them each: seven lanes are four, two and
    one. `llvm.intr.masked.load` does so if lanes are narrower than 32 bits. Other
    masks, and those that are not constant, stay. Works on the LLVM dialect.

    Example: see `test/Conversion/ChimeraToX86Vector/split-masked-moves.mlir`.
    From

    ```mlir
    %mask = llvm.mlir.constant(dense<[true, true, true, false]> : vector<4xi1>) : vector<4xi1>
    llvm.intr.masked.store %x, %p, %mask {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
    ```

    comes

    ```mlir
    %0 = llvm.shufflevector %x, %x [0, 1] : vector<4xf32>
    llvm.store %0, %p {alignment = 4 : i64} : vector<2xf32>, !llvm.ptr
    %1 = llvm.mlir.constant(2 : i64) : i64
    %2 = llvm.extractelement %x[%1 : i64] : vector<4xf32>
    %3 = llvm.getelementptr inbounds %p[2] : (!llvm.ptr) -> !llvm.ptr, f32
    llvm.store %2, %3 {alignment = 4 : i64} : f32, !llvm.ptr
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine that runs the code: a name, host, dlti, or a file "
           "(machine.mlir)">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CHIMERA_CONVERSION_X86_PASSES
