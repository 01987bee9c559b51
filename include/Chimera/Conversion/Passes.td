//===- Passes.td - Conversions of back ends ----------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_PASSES
#define CHIMERA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertChimeraToX86VectorPass : Pass<"convert-chimera-to-x86vector"> {
  let summary = "Emit micro kernels as vector code";
  let description = [{
    Replaces every `chimera.micro_kernel` on memrefs by loops over register
    tiles with vector loads, broadcasts and FMAs. Extents that a kernel lists
    are specialised, edges are masked; a kernel that its implementation does not
    cover is lowered by its naive semantics, with a missed remark.

    Example: see `test/Conversion/ChimeraToX86Vector/contraction.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def LimitUnrollingPass : Pass<"chimera-limit-unrolling"> {
  let summary = "Tell LLVM which loops are not to be unrolled";
  let description = [{
    Loops over tiles, and loops whose bodies hold a register tile already, gain
    nothing from LLVM's unrolling, which takes a third of the time to compile to
    find that out. They get `loop_annotation`, which the conversion of `scf.for`
    to control flow hands on to LLVM. Small innermost loops, such as elementwise
    ones, are left to LLVM.

    Example: see `test/Conversion/limit-unrolling.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // CHIMERA_CONVERSION_PASSES
