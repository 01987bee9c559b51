//===- AscendDialect.td - Instructions of an Ascend core ---*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_ASCEND_ASCENDDIALECT
#define CHIMERA_ASCEND_ASCENDDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ascend_Dialect : Dialect {
  let name = "ascend";
  let cppNamespace = "::chimera::ascend";
  let summary = "Instructions of one core of an Ascend processor";
  let description = [{
    The exit to C++: every operation is one instruction as the vendor's compilers
    and manuals know it, on addresses in the memories of a core, and becomes one
    call. What decides lies before it, in `convert-chimera-to-ascend`.

    A matrix tile in L1, L0C or UB lies in fractals, column group by column
    group: the tile's columns in groups of 16, in each group all rows (rounded up
    to 16), in each row 16 elements. The vendor calls that zN where an operand is
    meant and NZ where a result is. Of bytes that are multiplied, a group has 32
    columns, and a fractal is 16 x 32. In L0A the fractals of one row group follow
    each other (zZ), in L0B those of one depth, each transposed (nZ).

    A function marked `ascend.arch` consists of instructions that the
    architecture has, for the types that it has them for. One that is marked
    `ascend.core`, `"cube"` or `"vector"`, too, is the part of a kernel that cores
    of this kind run, of their instructions alone.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Memories and pipes
//===----------------------------------------------------------------------===//

class Ascend_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::chimera::ascend";
  let genSpecializedAttr = 0;
}
class Ascend_EnumAttr<EnumInfo enum, string mnemonic>
    : EnumAttr<Ascend_Dialect, enum, mnemonic>;

def Ascend_Architecture : Ascend_Enum<"Architecture",
    "Cores with the same instructions", [
  I32EnumAttrCase<"Ascend910", 0, "ascend910">,
  I32EnumAttrCase<"Ascend310P", 1, "ascend310p">,
  I32EnumAttrCase<"Ascend910B", 2, "ascend910b">]>;

def Ascend_Memory : Ascend_Enum<"Memory", "A memory that a core sees", [
  I32EnumAttrCase<"GM", 0, "gm">, I32EnumAttrCase<"L1", 1, "l1">,
  I32EnumAttrCase<"L0A", 2, "l0a">, I32EnumAttrCase<"L0B", 3, "l0b">,
  I32EnumAttrCase<"L0C", 4, "l0c">, I32EnumAttrCase<"UB", 5, "ub">]>;

def Ascend_Pipe : Ascend_Enum<"Pipe", "A queue of instructions", [
  I32EnumAttrCase<"S", 0, "s">, I32EnumAttrCase<"V", 1, "v">,
  I32EnumAttrCase<"M", 2, "m">, I32EnumAttrCase<"MTE1", 3, "mte1">,
  I32EnumAttrCase<"MTE2", 4, "mte2">, I32EnumAttrCase<"MTE3", 5, "mte3">,
  I32EnumAttrCase<"FIX", 6, "fix">, I32EnumAttrCase<"All", 7, "all">]>;
def Ascend_PipeAttr : Ascend_EnumAttr<Ascend_Pipe, "pipe">;

def Ascend_CoreKind : Ascend_Enum<"CoreKind",
    "A core of a block where units are in cores of their own", [
  I32EnumAttrCase<"Cube", 0, "cube">, I32EnumAttrCase<"Vector", 1, "vector">]>;
def Ascend_CoreKindAttr : Ascend_EnumAttr<Ascend_CoreKind, "core_kind">;

def Ascend_PtrType : TypeDef<Ascend_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "An address in one of the memories";
  let description = [{
    Where elements of a type lie: an argument of the kernel (`gm`) or a place on
    chip. The memory is part of the type, so that a path the hardware does not
    have has no instruction.

    Example: `!ascend.ptr<l0a, f16>`
  }];
  let parameters = (ins "::chimera::ascend::Memory":$memory,
                        "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $memory `,` $elementType `>`";
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

def Ascend_TilingAttr : AttrDef<Ascend_Dialect, "Tiling"> {
  let mnemonic = "tiling";
  let summary = "How a group that waits for memory runs on vector units";
  let description = [{
    On the last operation of a group, as the attribute `ascend.tiling`: what one
    task, or one step of a task along loops that are reduced, holds in UB, `rows`
    of `columns` elements of every tensor. Columns are the last loop of the
    group's largest tensor, rows the one before; loops that every tensor has in
    the same order count as one. Both are at least 1 and at most what the group
    has.

    `plan-ascend-groups` chooses it for groups that have none;
    `convert-chimera-to-ascend` applies it.

    Example: `#ascend.tiling<rows = 8, columns = 768>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // CHIMERA_ASCEND_ASCENDDIALECT
