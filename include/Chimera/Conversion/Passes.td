//===- Passes.td - Conversions of several back ends --------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_PASSES
#define CHIMERA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def LoadMicroKernelsPass
    : Pass<"chimera-load-micro-kernels", "::mlir::ModuleOp"> {
  let summary = "Take micro kernels from a file into the program";
  let description = [{
    The file holds functions with an attribute `chimera.kernel`, which says what
    each computes, on tiles of what size, in which layouts and at what cost
    (`#chimera.kernel`). A function that has a body replaces micro kernels; one
    without is called by C's conventions. Types are checked against what the
    attribute says. Other functions in the file are declarations of what
    kernels call.

    Kernels become a module inside the program, and a list of the attribute
    `chimera.micro_kernels`, which passes ask before the registry of the context:
    `chimera-schedule` chooses their tiles where these take less time,
    `chimera-map-micro-kernels` lets operands have the layouts they want, and
    `chimera-lower-micro-kernels` puts their code in place. See
    docs/micro-kernels.md.

    Example: see `test/Conversion/MicroKernels/load.mlir`.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "File with the micro kernels">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerMicroKernelsPass : Pass<"chimera-lower-micro-kernels"> {
  let summary = "Emit the code of micro kernels";
  let description = [{
    Replaces every `chimera.micro_kernel` on memrefs by the code of its
    implementation, on x86 loops over register tiles with vector loads,
    broadcasts and FMAs. Extents that a kernel lists are specialised; a block is
    cut into tiles if its implementation has tiles of one size, and the edges are
    those of `otherwise`; what no implementation covers is lowered by its naive
    semantics, with a missed remark.

    Example: see `test/Conversion/ChimeraToX86Vector/contraction.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def LimitUnrollingPass : Pass<"chimera-limit-unrolling"> {
  let summary = "Tell LLVM which loops to unroll";
  let description = [{
    Loops over tiles, and loops whose bodies hold a register tile already, gain
    nothing from LLVM's unrolling, which takes a third of the time to compile to
    find that out. Innermost loops over few vectors, such as a row of an
    elementwise operation, are best unrolled wholly (up to 150 operations). Both
    get a `loop_annotation` that says so, which the conversion of `scf.for` to
    control flow hands on to its branch, and `chimera-annotate-branches` to LLVM.
    Other loops are left to LLVM.

    Example: see `test/Conversion/limit-unrolling.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def RunInOrderPass : Pass<"chimera-run-in-order"> {
  let summary = "Turn parallel loops into nests of loops";
  let description = [{
    An `scf.parallel` becomes a nest of `scf.for`, with what an iteration has on
    the stack in a `memref.alloca_scope`. The pipeline for x86 has it where one
    thread runs the code: to start and end a region of OpenMP takes 0.14
    microseconds with one thread as well. Loops that reduce are left alone.

    Example: see `test/Conversion/run-in-order.mlir`.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def DropBarriersPass : Pass<"chimera-drop-barriers"> {
  let summary = "Let threads meet once where a parallel region ends with its loop";
  let description = [{
    The threads of an `omp.wsloop` wait for each other behind it, and those of an
    `omp.parallel` behind that. Where nothing lies between, as where a parallel
    loop of `scf` became both, once is enough: the loop gets `nowait`, and a
    region costs half.

    Example: see `test/Conversion/drop-barriers.mlir`.
  }];
  let dependentDialects = ["::mlir::omp::OpenMPDialect"];
}

def LowerControlFlowPass : Pass<"chimera-lower-control-flow"> {
  let summary = "Lower scf to control flow, with loops that test at their end";
  let description = [{
    An `scf.for` becomes a test whether it has an iteration, left out where its
    bounds are constants that say so, and blocks that end in a test whether there
    is another one. Upstream's `convert-scf-to-cf`, which lowers the other
    operations of `scf` here, tests at the beginning, and LLVM then spends a
    third of its own optimisations on turning the loops over.

    Example: see `test/Conversion/lower-control-flow.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def AnnotateBranchesPass : Pass<"chimera-annotate-branches"> {
  let summary = "Give branches of the LLVM dialect the annotations of their loops";
  let description = [{
    The conversion of `cf.cond_br` to `llvm.cond_br` keeps a `loop_annotation` as
    an attribute that may be discarded, and the translation to LLVM IR reads only
    the operation's own. The text of both is the same, so that reading it again
    does what this pass does.

    Example: see `test/Conversion/annotate-branches.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandOpenShapesPass : Pass<"chimera-expand-open-shapes"> {
  let summary = "Give shapes of several unknown sizes strides";
  let description = [{
    A `memref.expand_shape` that makes several dimensions of unknown sizes of one
    becomes a `memref.reinterpret_cast` with the sizes that it says, and strides
    that are products of them. Upstream's `expand-strided-metadata` takes the
    others.

    Example: see `test/Conversion/expand-open-shapes.mlir`. From

    ```mlir
    %1 = memref.expand_shape %0 [[0, 1]] output_shape [%m, %n] : memref<?xf32> into memref<?x?xf32>
    ```

    comes a cast of the buffer of `%0` with sizes `%m` and `%n` and strides `%n`
    and 1.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ExpandRoundingPass : Pass<"chimera-expand-rounding"> {
  let summary = "Round to bf16 with integers";
  let description = [{
    Conversions between f32 and bf16 become shifts and additions of integers.
    Few processors have instructions for them, and LLVM calls functions that are
    not there where a program is loaded. Kernels have none left; functions of the
    C library, which know no bf16, bring them back.

    Example: see `test/Conversion/expand-rounding.mlir`. Nothing of type bf16 is
    left but the result of the last cast in

    ```mlir
    %1 = arith.truncf %0 : f32 to bf16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandMaximaPass : Pass<"chimera-expand-maxima"> {
  let summary = "Expand maxima with zero for instructions that know no order of zeros";
  let description = [{
    An `arith.maximumf` of f32 or f64 with positive zero becomes an addition, a
    comparison and a selection, the last two of which are one instruction on x86.
    The result is the same for all numbers, both zeros and what is no number.

    Example: see `test/Conversion/expand-maxima.mlir`. From

    ```mlir
    %1 = arith.maximumf %0, %zero : vector<8xf32>
    ```

    comes

    ```mlir
    %sum = arith.addf %0, %zero : vector<8xf32>
    %less = arith.cmpf olt, %sum, %zero : vector<8xf32>
    %1 = arith.select %less, %zero, %sum : vector<8xi1>, vector<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def LowerPlainMathPass : Pass<"chimera-lower-plain-math"> {
  let summary = "Lower functions that are an instruction or a few of them";
  let description = [{
    Absolute values, signs, rounding, square roots, fused multiply-adds, counts of
    bits and questions about numbers become intrinsics of LLVM. What is left of
    the math dialect is for `convert-math-to-libm`, whose functions are accurate:
    upstream's `convert-math-to-llvm` makes `exp(x) - 1` of `expm1` and
    `log(1 + x)` of `log1p`, which lose small arguments, and libm has no function
    for integers and signs.

    Example: see `test/Conversion/lower-plain-math.mlir`. From

    ```mlir
    %1 = math.absi %0 : i64
    ```

    comes `"llvm.intr.abs"(%0) <{is_int_min_poison = false}>`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def MaskIntegersPass : Pass<"chimera-mask-integers"> {
  let summary = "Load and store parts of vectors of bf16 as integers";
  let description = [{
    `llvm.intr.masked.load` and `llvm.intr.masked.store` of bf16 get vectors of
    i16 with the same bits. Where a processor has no such instruction, LLVM takes
    elements one by one, and of bf16 each by a function for rounding. Works on the
    LLVM dialect.

    Example: see `test/Conversion/mask-integers.mlir`. From

    ```mlir
    llvm.intr.masked.store %0, %p, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr
    ```

    comes

    ```mlir
    %1 = llvm.bitcast %0 : vector<8xbf16> to vector<8xi16>
    llvm.intr.masked.store %1, %p, %mask {alignment = 2 : i32} : vector<8xi16>, vector<8xi1> into !llvm.ptr
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def FoldOffsetsPass : Pass<"chimera-fold-offsets"> {
  let summary = "Take constants out of products of indices";
  let description = [{
    `(x + a) * b` with constants `a` and `b` becomes `x * b + ab`, whoever else
    reads the sum: the addresses of a register tile's rows then differ by
    constants, which instructions hold. Works on the LLVM dialect.

    Example: see `test/Conversion/fold-offsets.mlir`. From

    ```mlir
    %row = llvm.add %first, %c3 : i64
    %index = llvm.mul %row, %c64 : i64
    ```

    comes `%first * 64 + 192`.

    Addresses of one block that differ by constants are then made in two steps,
    the first in common, after all accesses to a buffer were given the same
    pointer and strides. LLVM's reduction of loop strength would still make a
    pointer for each, more than there are registers, where many loops lie around
    them; so the common one goes through `llvm.intr.launder.invariant.group`,
    which it does not look through and which is no instruction.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertCollectivesToCallsPass
    : Pass<"convert-chimera-collectives-to-calls", "::mlir::ModuleOp"> {
  let summary = "Let a library exchange data between processes";
  let description = [{
    Collectives on memrefs, `chimera.process_index` and `chimera.check_grid` become
    calls of the functions that `runtime/chimera_collectives.h` declares, with
    pointers to the first element, numbers of elements, and codes for types and
    reductions. Who links the program chooses how the library moves data.

    Example: see `test/Conversion/CollectivesToCalls/calls.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // CHIMERA_CONVERSION_PASSES
