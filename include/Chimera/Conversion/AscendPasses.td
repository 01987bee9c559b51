//===- AscendPasses.td - Conversions of Ascend NPUs --------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_ASCEND_PASSES
#define CHIMERA_CONVERSION_ASCEND_PASSES

include "mlir/Pass/PassBase.td"

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
    one reads, comes after an `ascend.pipe_barrier`, unless flags between pipes
    order the two. Two accesses are to the same bytes if they are to the same
    place, of which addresses say the first byte. Large products need no barrier
    between them.

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

#endif // CHIMERA_CONVERSION_ASCEND_PASSES
