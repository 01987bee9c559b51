//===- ChimeraInterfaces.td - Targets and micro kernels ----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two seams at which a back end meets the passes: a target says what the
// machine can do, and a micro kernel says how one block is computed on it. Which
// micro kernels there are is the business of a registry, see MicroKernels.h.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERAINTERFACES
#define CHIMERA_IR_CHIMERAINTERFACES

include "mlir/IR/Interfaces.td"

def Chimera_TargetAttrInterface : AttrInterface<"TargetAttrInterface"> {
  let cppNamespace = "::chimera";
  let description = [{
    A description of hardware: the figures that the model reads, and the names
    by which compilers know it.
  }];
  let methods = [
    InterfaceMethod<[{
      The figures of the machine for contractions of `elementType`. Fails if the
      target has no unit for that type.
    }], "::llvm::FailureOr<::chimera::model::Machine>", "getMachine",
      (ins "::mlir::Type":$elementType)>,
    InterfaceMethod<[{
      The figures that do not depend on what is multiplied: memories, cores,
      threads and what the vector unit computes element by element.
    }], "::chimera::model::Machine", "getCommonFigures", (ins)>,
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
    One way to compute a `chimera.micro_kernel` on some hardware. Kernels are
    attributes; their emission is attached by whoever brings them as an external
    model, so that the dialect needs no back end.

    An implementation says what it takes and wants, and emits code for extents
    that are known. What all have in common is done for it: operands come in the
    layout it asks for, code is chosen by the extents at run time, blocks are cut
    into tiles if it has tiles of one size only, and what it declines goes to the
    next kernel, in the end to the naive semantics. `op` is a
    `chimera.micro_kernel` everywhere.
  }];
  let methods = [
    InterfaceMethod<[{
      True if there are kernels of `kind` for operands with these element types,
      inputs first.
    }], "bool", "supports",
      (ins "::chimera::MicroKernelKind":$kind,
           "::llvm::ArrayRef<::mlir::Type>":$types)>,
    InterfaceMethod<[{
      The type in which contractions of `factor` are multiplied: wider if the
      kernel widens what it loads. Plans are for the target's unit for that type.
    }], "::mlir::Type", "getMultipliedType", (ins "::mlir::Type":$factor), "",
      [{ return factor; }]>,
    InterfaceMethod<[{
      The tiles that contractions are offered on and what they cost. A kernel
      that offers tiles is used where the plan has chosen one of them; a kernel
      that offers none takes register tiles of any size, whose cost the model
      knows from the target, and is used wherever it is the first to do so.
    }], "::llvm::SmallVector<::chimera::model::KernelShape>", "getShapes",
      (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
      True if the kernel computes `op`, whatever its extents. The operands of
      `op` may be tensors or memrefs.
    }], "bool", "isLegal", (ins "::mlir::Operation *":$op), "",
      [{ return true; }]>,
    InterfaceMethod<[{
      The layout that operand `operand` of `op` must have. Dimensions are those
      of `op`.
    }], "::chimera::OperandLayout", "getLayout",
      (ins "::mlir::Operation *":$op, "unsigned":$operand)>,
    InterfaceMethod<[{
      The extents that code is emitted for, one per dimension of `op`, dynamic
      where any will do; nothing if any will do for all.
    }], "::llvm::SmallVector<int64_t>", "getTile",
      (ins "::mlir::Operation *":$op), "", [{ return {}; }]>,
    InterfaceMethod<[{
      True if code can be emitted for an extent of dimension `dim` of `op` that is
      not known: `emit` gets it as dynamic where it is.
    }], "bool", "takesAnyExtent",
      (ins "::mlir::Operation *":$op, "unsigned":$dim), "",
      [{ (void)op; (void)dim; return false; }]>,
    InterfaceMethod<[{
      True if code can be emitted for any extents of the dimensions that `op` says
      are open: `emit` gets these as dynamic, in code that runs where the extents
      are none of those listed.
    }], "bool", "takesOpenExtents",
      (ins "::mlir::Operation *":$op), "", [{ (void)op; return false; }]>,
    InterfaceMethod<[{
      Emits code that computes `op`, whose operands are memrefs, for `extents`,
      which are known for each dimension, unless `takesAnyExtent` or
      `takesOpenExtents` say otherwise, and those of `getTile` where that has some.
      `context` says what is emitted beside it. Fails if the kernel does not cover
      `op`; what was emitted so far is taken away.
    }], "::llvm::LogicalResult", "emit",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Operation *":$op,
           "::llvm::ArrayRef<int64_t>":$extents,
           "const ::chimera::KernelContext &":$context),
      "", [{ return ::llvm::failure(); }]>,
    InterfaceMethod<[{
      True if `emit` also computes `finish`, an elementwise kernel that follows
      the contraction `op` and is the last to need its sums, while these are in
      registers.
    }], "bool", "finishes",
      (ins "::mlir::Operation *":$op, "::mlir::Operation *":$finish), "",
      [{ (void)op; (void)finish; return false; }]>,
    InterfaceMethod<[{
      Adds the patterns by which emitted code is finished. They are applied to
      what kernels have emitted and to nothing else.
    }], "void", "populatePatterns",
      (ins "::mlir::RewritePatternSet &":$patterns), "", [{ (void)patterns; }]>,
    InterfaceMethod<[{
      Whether `emit` makes code block by block, or a conversion makes it of whole
      programs.
    }], "::chimera::KernelGranularity", "getGranularity", (ins), "",
      [{ return ::chimera::KernelGranularity::Block; }]>
  ];
}

#endif // CHIMERA_IR_CHIMERAINTERFACES
