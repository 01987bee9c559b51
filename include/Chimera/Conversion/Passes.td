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

def ConvertChimeraToNVVMPass
    : Pass<"convert-chimera-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make kernels of a GPU from tiled chains";
  let description = [{
    Every `scf.forall` around blocks becomes a `gpu.launch_func`, its body a
    kernel in a `gpu.module` of its own, one thread block for each iteration. What
    blocks compute stays in registers, spread over the threads as `mma.sync`
    leaves it; each warp has 16 rows, or a multiple, of a tile. Narrowed, it is
    the left operand of the next product. Tiles of tensors from outside go through
    shared memory, copied asynchronously while the iterations before are computed,
    as many at a time as the target says, and read by `ldmatrix`. Extents may have
    any size: what does not exist is zero on the chip, and not stored.

    Where a schedule splits the reduction of a softmax, a block makes accumulators
    and states of a part of the columns, in memory that the kernel is given for
    that, and counts itself. The last one of a tile of the result combines all
    parts, in their order whatever the blocks' is, and sets the counter back. Two
    launches at a time must not share this memory.

    Runs on tensors, after `chimera-tile`. Products
    are of f16 or bf16 with sums in f32; with `tf32` also of f32, whose factors are
    rounded to tf32 on their way into `mma.sync`, if the target has that. A chain
    that is not covered, or whose tiles need more registers or shared memory than
    there are, stays as it is, with a missed remark. With `required` that is an
    error, and so is a contraction or convolution outside of all blocks.

    Quotients are off by two units in the last place, or as `afn` allows where a
    division has it.

    Tensors have to start at multiples of 16 bytes.

    Example: see `test/Conversion/ChimeraToNVVM/chain.mlir`; for `tf32`,
    `test/Conversion/ChimeraToNVVM/tf32.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"h200\"",
           "Machine to compile for, see chimera-attach-target">,
    Option<"tf32", "tf32", "bool", "false",
           "Multiply f32 as tf32, which keeps 10 of 23 bits, if the target can">,
    Option<"required", "required", "bool", "false",
           "Fail where no kernel can be made">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def DeclareSharedMemoryPass
    : Pass<"chimera-declare-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Let dynamic shared memory be defined by the launch";
  let description = [{
    Upstream lowers `gpu.dynamic_shared_memory` to a global of no elements that
    the module defines: LLVM may take every access for one out of bounds, and the
    kernel gets one byte of its own. As a declaration it has the size that
    the kernel is launched with. Runs after `convert-gpu-to-nvvm`.

    Example: see `test/Conversion/ChimeraToNVVM/declare-shared-memory.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def FindAssemblerPass : Pass<"chimera-find-assembler", "::mlir::ModuleOp"> {
  let summary = "Fail before anything is compiled if there is no ptxas";
  let description = [{
    Machine code for GPUs is made by `ptxas`, which has to be in `PATH` or in the
    CUDA toolkit that upstream finds. Changes nothing.

    Example: see `test/Conversion/ChimeraToNVVM/no-ptxas.test`.
  }];
}

def PlanThreadsPass : Pass<"chimera-plan-threads", "::mlir::ModuleOp"> {
  let summary = "Choose threads for what lies outside chains";
  let description = [{
    Each group that `chimera-partition` made of operations that wait for memory
    gets an attribute `chimera.thread_tiling` on its last operation: how many
    threads share a row, how many rows a block has, how many elements a thread
    loads at once, and where a row stays between passes over it. The model decides
    it from figures of the target (`Chimera/Model/ThreadTiling.h`): as many bytes
    are on their way as the memory takes to be busy, as few as possible are read
    twice. A group whose members no row unites is taken apart, with a missed
    remark. Changes nothing else; what has the attribute keeps it.

    Example: see `test/Conversion/ChimeraToNVVM/plan-threads.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"h200\"",
           "Machine to plan for, see chimera-attach-target">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

def ConvertMemoryGroupsToNVVMPass
    : Pass<"convert-memory-groups-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make kernels of a GPU from groups that wait for memory";
  let description = [{
    Every group that has a `chimera.thread_tiling` becomes one `gpu.launch_func`,
    of a kernel in a `gpu.module` of its own. Threads hold neighbouring elements of
    a row, all operations of the group at the same places; what a row is reduced to
    goes through shuffles of the warp, and through shared memory where several
    warps share a row. Operations element by element are computed where they are
    needed, reductions in as many passes over the row as depend on each other.
    What is contiguous along another dimension than the result, a transpose, goes
    through tiles in shared memory.

    Arithmetic on f16 and bf16 is done, and kept inside the group, in f32; where
    the program converts a number to a narrow type it is rounded. Functions are
    those of `convert-chimera-to-nvvm`, and square roots.

    A remark says of each kernel what it loads of each argument and stores, and
    what it is predicted to take. What has no kernel stays, with a missed remark.

    Tensors have to start at multiples of 16 bytes.

    Example: see `test/Conversion/ChimeraToNVVM/memory-groups.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"h200\"",
           "Machine to compile for, see chimera-attach-target">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def WriteManifestPass
    : Pass<"chimera-write-manifest", "::mlir::ModuleOp"> {
  let summary = "Say in JSON how kernels are launched";
  let description = [{
    Every `gpu.launch_func` of constant extents becomes an entry of a list: the
    `entry` point and its `module`, `grid` and `block`, bytes of dynamic `shared`
    memory, and the `arguments` in order, each with its `type`, its `shape` and
    the `argument` of the `function` that it is, or the number of the `buffer`, if
    the function allocates it. Buffers that are `zeroed` "once" have to be zeros
    before the first launch, which every launch leaves them as. How many bytes of
    buffers nobody but the kernel uses is its `workspace`: two launches at a time
    need two. The text becomes the attribute `chimera.manifest` of the module, for
    programs that launch the kernels themselves.

    What else a function with launches does is for the host, and the kernels alone
    do not give its results. Such operations are listed under `host`, in order,
    with the `function`, the name of the `operation` and the number of kernels
    of the list that come `before` it; a warning names each. A program that cannot
    do them must not launch the kernels of the function.

    Example: see `test/Conversion/ChimeraToNVVM/manifest.mlir`.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Where to write it besides; - is standard output">
  ];
}

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

def LimitUnrollingPass : Pass<"chimera-limit-unrolling"> {
  let summary = "Tell LLVM which loops to unroll";
  let description = [{
    Loops over tiles, and loops whose bodies hold a register tile already, gain
    nothing from LLVM's unrolling, which takes a third of the time to compile to
    find that out. Innermost loops over few vectors, such as a row of an
    elementwise operation, are best unrolled wholly (up to 150 operations). Both
    get a `loop_annotation` that says so, which the conversion of `scf.for` to
    control flow hands on to LLVM. Other loops are left to LLVM.

    Example: see `test/Conversion/limit-unrolling.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
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

def ShowAscendImagesPass
    : Pass<"show-ascend-images", "::mlir::func::FuncOp"> {
  let summary = "Let windows reach beyond images instead of padding them";
  let description = [{
    What `chimera.windows` show of an image that `tensor.pad` puts zeros around
    becomes an `ascend.image`: the border is on no way from memory to a core, and
    no image is copied to get one.

    Example: see `test/Conversion/ChimeraToAscend/convolutions.mlir`.
  }];
  let dependentDialects = ["::chimera::ascend::AscendDialect",
                           "::mlir::tensor::TensorDialect"];
}

def GatherAscendGroupsPass
    : Pass<"gather-ascend-groups", "::mlir::func::FuncOp"> {
  let summary = "Put the operations of each group next to each other";
  let description = [{
    Operations of linalg on tensors that have the same `chimera.group` come to
    stand behind each other, and what depends on them behind all of them. Each
    gets a copy of its own of what it starts from, so that no memory is shared.
    The number of the group stays, as `ascend.group`.

    Example: see `test/Conversion/ChimeraToAscend/gather-groups.mlir`.
  }];
  let dependentDialects = ["::chimera::ascend::AscendDialect"];
}

def PlanAscendGroupsPass
    : Pass<"plan-ascend-groups", "::mlir::func::FuncOp"> {
  let summary = "Choose tiles for what runs on the vector unit";
  let description = [{
    Operations of linalg on memory that have the same `ascend.group` and stand
    next to each other are to be one kernel of the vector unit. The last one gets
    an `ascend.tiling`: of all tiles of rows and columns that fit into UB, those
    with which copies and arithmetic, side by side, take the fewest cycles. A
    remark says what they move and take. A group that cannot be one kernel gets a
    tiling for each operation that can. Tilings that are there stay. What makes
    bytes of truth values is no kernel: they lie in memory as such.

    Example: see `test/Conversion/ChimeraToAscend/groups.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"ascend910\"",
           "Machine to plan for, as for chimera-schedule">,
    Option<"threads", "threads", "int64_t", "0",
           "Cores that run the kernels; 0 means all">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::chimera::ascend::AscendDialect"];
}

def ConvertChimeraToAscendPass
    : Pass<"convert-chimera-to-ascend", "::mlir::ModuleOp"> {
  let summary = "Make kernels for Ascend cores of parallel loops";
  let description = [{
    Each `scf.forall` of a function whose micro kernels work on memrefs becomes a
    function of its own, marked `ascend.kernel`, in which the cores take turns
    with its tasks, and the micro kernels become instructions of the `ascend`
    dialect: tiles come from memory into L1 outside of all loops over which they
    stay the same, from there to the cube unit; sums are finished element by
    element in UB, one column group at a time, and go on into L1 or to memory.
    Every tile has a place of its own, two if it is filled again while it is in
    use, and flags keep apart the pipes that fill and use it.

    Operations of linalg up to one with an `ascend.tiling` become a kernel, too,
    of the vector unit alone. It brings tiles of the tensors into UB, a row behind
    the other, computes what the operations say on the whole tile, and hands the
    results on, while the next tile is brought.

    A function of which something is not covered stays as it is, with a missed
    remark that says what: operands and results are f16, sums f32. With `required`
    that is an error, and so is a contraction or convolution anywhere that has not
    become a micro kernel. The kernels take the place of the function, so it is
    also left if something in the module calls it. The target's cpu says which
    instructions there are, for which types: a kernel that takes another is
    refused. The target needs the routes and shapes that they are for.

    Example: see `test/Conversion/ChimeraToAscend/gemm-chain.mlir`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"ascend910\"",
           "Machine to make kernels for, as for chimera-schedule">,
    Option<"required", "required", "bool", "false",
           "Fail where no kernel can be made">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::chimera::ascend::AscendDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect"];
}

def InsertAscendBarriersPass
    : Pass<"insert-ascend-barriers", "::mlir::func::FuncOp"> {
  let summary = "Order what the units of an Ascend core compute";
  let description = [{
    A unit starts an instruction before the one ahead of it is done. In functions
    marked `ascend.kernel`, an instruction of the vector or the cube unit that
    reads or writes what an earlier one of the same unit writes, or writes what
    one reads, comes after an `ascend.pipe_barrier`. Two accesses are to the same
    bytes if they are to the same place, of which addresses say the first byte.
    Large products need no barrier between them.

    Example: see `test/Conversion/ChimeraToAscend/barriers.mlir`.
  }];
  let dependentDialects = ["::chimera::ascend::AscendDialect"];
}

def ConvertAscendToEmitCPass
    : Pass<"convert-ascend-to-emitc", "::mlir::ModuleOp"> {
  let summary = "Spell kernels for Ascend cores in C++";
  let description = [{
    Every instruction of a function marked `ascend.kernel` becomes a call of a
    function of `chimera_npu.h`, after a line `#pragma emit_insn` with the
    vendor's word for it. What is left can be translated:
    `mlir-translate --mlir-to-cpp`.

    Example: see `test/Ascend/examples.mlir`.
  }];
  let options = [
    Option<"emit", "emit", "::chimera::AscendEmission",
           "::chimera::AscendEmission::Call", "How to write `mad`",
           [{::llvm::cl::values(
             clEnumValN(::chimera::AscendEmission::Call, "call",
                        "as a call, like all instructions"),
             clEnumValN(::chimera::AscendEmission::Nest, "nest",
                        "as the loops it stands for, under the pragma"))}]>
  ];
  let dependentDialects = ["::mlir::emitc::EmitCDialect"];
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
