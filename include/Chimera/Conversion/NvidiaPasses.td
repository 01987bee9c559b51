//===- NvidiaPasses.td - Conversions of NVIDIA GPUs --------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_NVIDIA_PASSES
#define CHIMERA_CONVERSION_NVIDIA_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // CHIMERA_CONVERSION_NVIDIA_PASSES
