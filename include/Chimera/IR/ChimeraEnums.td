//===- ChimeraEnums.td - Verdicts and kinds ----------------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERAENUMS
#define CHIMERA_IR_CHIMERAENUMS

include "mlir/IR/EnumAttr.td"

def Chimera_VerdictFused : I32EnumAttrCase<"Fused", 0, "fused">;
def Chimera_VerdictSplit : I32EnumAttrCase<"Split", 1, "split">;
def Chimera_VerdictUnfused : I32EnumAttrCase<"Unfused", 2, "unfused">;
def Chimera_Verdict : I32EnumAttr<"Verdict", "What becomes of a chain",
    [Chimera_VerdictFused, Chimera_VerdictSplit, Chimera_VerdictUnfused]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_GroupChain : I32EnumAttrCase<"Chain", 0, "chain">;
def Chimera_GroupMemory : I32EnumAttrCase<"Memory", 1, "memory">;
def Chimera_GroupSingle : I32EnumAttrCase<"Single", 2, "single">;
def Chimera_GroupOpaque : I32EnumAttrCase<"Opaque", 3, "opaque">;
def Chimera_GroupKind : I32EnumAttr<"GroupKind", "What a group of operators is",
    [Chimera_GroupChain, Chimera_GroupMemory, Chimera_GroupSingle,
     Chimera_GroupOpaque]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_RowHomeRegisters : I32EnumAttrCase<"Registers", 0, "registers">;
def Chimera_RowHomeShared : I32EnumAttrCase<"Shared", 1, "shared">;
def Chimera_RowHomeMemory : I32EnumAttrCase<"Memory", 2, "memory">;
def Chimera_RowHome : I32EnumAttr<"RowHome",
    "Where what several passes over a row read stays between them",
    [Chimera_RowHomeRegisters, Chimera_RowHomeShared, Chimera_RowHomeMemory]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_MappingOneToOne : I32EnumAttrCase<"OneToOne", 0, "one_to_one">;
def Chimera_MappingReorganize : I32EnumAttrCase<"Reorganize", 1, "reorganize">;
def Chimera_MappingShuffle : I32EnumAttrCase<"Shuffle", 2, "shuffle">;
def Chimera_MappingOneToMany : I32EnumAttrCase<"OneToMany", 3, "one_to_many">;
def Chimera_MappingManyToMany
    : I32EnumAttrCase<"ManyToMany", 4, "many_to_many">;
def Chimera_MappingNotFuse : I32EnumAttrCase<"NotFuse", 5, "not_fuse">;
def Chimera_Mapping : I32EnumAttr<"Mapping",
    "How elements of an operator's output depend on elements of its inputs",
    [Chimera_MappingOneToOne, Chimera_MappingReorganize, Chimera_MappingShuffle,
     Chimera_MappingOneToMany, Chimera_MappingManyToMany,
     Chimera_MappingNotFuse]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_KindContraction : I32EnumAttrCase<"Contraction", 0, "contraction">;
def Chimera_KindElementwise : I32EnumAttrCase<"Elementwise", 1, "elementwise">;
def Chimera_KindPack : I32EnumAttrCase<"Pack", 2, "pack">;
def Chimera_KindReduction : I32EnumAttrCase<"Reduction", 3, "reduction">;
def Chimera_MicroKernelKind : I32EnumAttr<"MicroKernelKind",
    "What a micro kernel computes",
    [Chimera_KindContraction, Chimera_KindElementwise, Chimera_KindPack,
     Chimera_KindReduction]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_LayoutAny : I32EnumAttrCase<"Any", 0, "any">;
def Chimera_LayoutContiguous : I32EnumAttrCase<"Contiguous", 1, "contiguous">;
def Chimera_LayoutInterleaved
    : I32EnumAttrCase<"Interleaved", 2, "interleaved">;
def Chimera_LayoutTiles : I32EnumAttrCase<"Tiles", 3, "tiles">;
def Chimera_LayoutFractals : I32EnumAttrCase<"Fractals", 4, "fractals">;
def Chimera_LayoutKind : I32EnumAttr<"LayoutKind",
    "How an operand of a micro kernel lies in memory",
    [Chimera_LayoutAny, Chimera_LayoutContiguous, Chimera_LayoutInterleaved,
     Chimera_LayoutTiles, Chimera_LayoutFractals]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_GranularityBlock : I32EnumAttrCase<"Block", 0, "block">;
def Chimera_GranularityProgram : I32EnumAttrCase<"Program", 1, "program">;
def Chimera_KernelGranularity : I32EnumAttr<"KernelGranularity",
    "How much of a program a micro kernel is emitted for at a time",
    [Chimera_GranularityBlock, Chimera_GranularityProgram]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_PrefetchLoopsNone : I32EnumAttrCase<"None", 0, "none">;
def Chimera_PrefetchLoopsFixed : I32EnumAttrCase<"Fixed", 1, "fixed">;
def Chimera_PrefetchLoopsAny : I32EnumAttrCase<"Any", 2, "any">;
def Chimera_PrefetchLoops : I32EnumAttr<"PrefetchLoops",
    "Loops in which kernels ask for what the next iteration copies",
    [Chimera_PrefetchLoopsNone, Chimera_PrefetchLoopsFixed,
     Chimera_PrefetchLoopsAny]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_RoleLhs : I32EnumAttrCase<"Lhs", 0, "lhs">;
def Chimera_RoleRhs : I32EnumAttrCase<"Rhs", 1, "rhs">;
def Chimera_RoleSums : I32EnumAttrCase<"Sums", 2, "sums">;
def Chimera_RoleVectors : I32EnumAttrCase<"Vectors", 3, "vectors">;
def Chimera_BufferRole : I32EnumAttr<"BufferRole",
    "What a memory beside the levels holds",
    [Chimera_RoleLhs, Chimera_RoleRhs, Chimera_RoleSums, Chimera_RoleVectors]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_ReductionSum : I32EnumAttrCase<"Sum", 0, "sum">;
def Chimera_ReductionProduct : I32EnumAttrCase<"Product", 1, "product">;
def Chimera_ReductionMinimum : I32EnumAttrCase<"Minimum", 2, "minimum">;
def Chimera_ReductionMaximum : I32EnumAttrCase<"Maximum", 3, "maximum">;
def Chimera_ReductionKind : I32EnumAttr<"ReductionKind",
    "How processes combine their tensors",
    [Chimera_ReductionSum, Chimera_ReductionProduct, Chimera_ReductionMinimum,
     Chimera_ReductionMaximum]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

def Chimera_CollectiveAllReduce : I32EnumAttrCase<"AllReduce", 0, "all_reduce">;
def Chimera_CollectiveAllGather : I32EnumAttrCase<"AllGather", 1, "all_gather">;
def Chimera_CollectiveReduceScatter
    : I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">;
def Chimera_CollectiveAllToAll : I32EnumAttrCase<"AllToAll", 3, "all_to_all">;
def Chimera_CollectiveBroadcast : I32EnumAttrCase<"Broadcast", 4, "broadcast">;
def Chimera_CollectiveKind : I32EnumAttr<"CollectiveKind",
    "How processes exchange tensors",
    [Chimera_CollectiveAllReduce, Chimera_CollectiveAllGather,
     Chimera_CollectiveReduceScatter, Chimera_CollectiveAllToAll,
     Chimera_CollectiveBroadcast]> {
  let cppNamespace = "::chimera";
  let genSpecializedAttr = 0;
}

#endif // CHIMERA_IR_CHIMERAENUMS
