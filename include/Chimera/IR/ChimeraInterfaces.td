//===- ChimeraInterfaces.td - Targets and micro kernels ----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two seams at which a back end meets the passes: a target says what the
// machine can do, and a micro kernel says how one block is computed on it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERAINTERFACES
#define CHIMERA_IR_CHIMERAINTERFACES

include "mlir/IR/Interfaces.td"

def Chimera_TargetAttrInterface : AttrInterface<"TargetAttrInterface"> {
  let cppNamespace = "::chimera";
  let description = [{
    A description of hardware. The model reads its figures; the passes ask it
    for the micro kernels that implement a schedule.
  }];
  let methods = [
    InterfaceMethod<[{
      The figures of the machine for contractions of `elementType`. Fails if the
      target has no unit for that type.
    }], "::llvm::FailureOr<::chimera::model::Machine>", "getMachine",
      (ins "::mlir::Type":$elementType)>,
    InterfaceMethod<[{
      The implementation of micro kernels with the given register tile, or null
      if there is no back end for the target: blocks are then to keep their
      naive semantics.
    }], "::chimera::MicroKernelAttrInterface", "getMicroKernel",
      (ins "const ::chimera::model::RegisterTile &":$registerTile)>,
    InterfaceMethod<[{
      The triple of the compiler that turns LLVM IR into code, in LLVM's syntax.
      Empty: that of the machine we run on.
    }], "::llvm::StringRef", "getTriple", (ins)>,
    InterfaceMethod<[{
      The processor, as LLVM names it. Empty: the one we run on.
    }], "::llvm::StringRef", "getCpu", (ins)>,
    InterfaceMethod<"The features, as in `+avx2,+fma`.",
      "::llvm::StringRef", "getCpuFeatures", (ins)>
  ];
}

def Chimera_MicroKernelAttrInterface
    : AttrInterface<"MicroKernelAttrInterface"> {
  let cppNamespace = "::chimera";
  let description = [{
    One way to compute a `chimera.micro_kernel` on some hardware. Kernels of a
    back end are attributes; their emission is attached by the back end as an
    external model, so that the dialect needs no back end.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimension of the kernel's iteration space that must be contiguous in
      every operand that it indexes, or nothing if any layout will do.
    }], "::std::optional<unsigned>", "getContiguousDim",
      (ins "::mlir::Operation *":$op)>,
    InterfaceMethod<[{
      Replaces the `chimera.micro_kernel` `op`, whose operands are memrefs, by code that computes the same.
      Fails without changing anything if the kernel does not cover `op`; the
      caller then falls back on the naive semantics.
    }], "::llvm::LogicalResult", "emit",
      (ins "::mlir::RewriterBase &":$rewriter, "::mlir::Operation *":$op)>
  ];
}

#endif // CHIMERA_IR_CHIMERAINTERFACES
