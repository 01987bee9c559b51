//===- AscendOps.td - Instructions of an Ascend core -------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_ASCEND_ASCENDOPS
#define CHIMERA_ASCEND_ASCENDOPS

include "Chimera/Ascend/AscendDialect.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Ascend_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ascend_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Cores and addresses
//===----------------------------------------------------------------------===//

def Ascend_BlockIdxOp : Ascend_Op<"block_idx", [Pure]> {
  let summary = "which of the cores this is";
  let description = [{
    Example: `%core = ascend.block_idx`
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Ascend_BlockNumOp : Ascend_Op<"block_num", [Pure]> {
  let summary = "how many cores run the kernel";
  let description = [{
    Example: `%cores = ascend.block_num`
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Ascend_SubBlockIdxOp : Ascend_Op<"sub_block_idx", [Pure]> {
  let summary = "which of the vector cores beside a cube core this is";
  let description = [{
    Example: `%half = ascend.sub_block_idx`
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Ascend_AddressOp : Ascend_Op<"address", [Pure]> {
  let summary = "a place on chip, in bytes from the start of its memory";
  let description = [{
    Example: `%tile = ascend.address %bytes : !ascend.ptr<l1, f16>`
  }];
  let arguments = (ins Index:$bytes);
  let results = (outs Ascend_PtrType:$result);
  let assemblyFormat = "$bytes attr-dict `:` type($result)";
}

def Ascend_OffsetOp : Ascend_Op<"offset", [
    Pure, AllTypesMatch<["base", "result"]>]> {
  let summary = "an address some elements further on";
  let description = [{
    Example: `%next = ascend.offset %tile, %elements : !ascend.ptr<l1, f16>`
  }];
  let arguments = (ins Ascend_PtrType:$base, Index:$elements);
  let results = (outs Ascend_PtrType:$result);
  let assemblyFormat = "$base `,` $elements attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

def Ascend_ImageOp : Ascend_Op<"image", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "an image seen through windows that reach beyond it";
  let description = [{
    Element `i` of the result is element `map(i)` of `source`, or zero where the
    image has none. Each result of the map is a sum of dimensions with positive
    factors, and of a constant, which is negative where the image has a border of
    zeros before it. No memory has that border: kernels that copy a part of the
    result fill it in on the chip.

    Introduced by `show-ascend-images` for what `chimera.windows` show of a padded
    image. On memrefs the result has the strides with which it moves through the
    image; the constants of the map are no part of its layout.

    Example: `%windows = ascend.image %image at affine_map<(h, r, w, s, c) -> (h + r - 1, w + s - 1, c)> : tensor<9x9x16xf16> to tensor<9x3x9x3x16xf16>`
  }];
  let arguments = (ins AnyTypeOf<[AnyStaticShapeTensor,
                                  AnyStaticShapeMemRef]>:$source,
                       AffineMapAttr:$map);
  let results = (outs AnyTypeOf<[AnyStaticShapeTensor,
                                 AnyStaticShapeMemRef]>:$result);
  let assemblyFormat = [{
    $source `at` $map attr-dict `:` type($source) `to` type($result)
  }];
  let extraClassDeclaration = [{
    /// For each dimension of the result the one of the image that it moves
    /// along, and by how many elements.
    ::llvm::SmallVector<std::pair<unsigned, int64_t>> getSteps();
    /// For each dimension of the image where the first window begins.
    ::llvm::SmallVector<int64_t> getFirst();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

def Ascend_CopyKind : Ascend_Enum<"CopyKind", "An instruction that copies", [
  I32EnumAttrCase<"GmToCbuf", 0, "copy_gm_to_cbuf">,
  I32EnumAttrCase<"GmToUbuf", 1, "copy_gm_to_ubuf">,
  I32EnumAttrCase<"UbufToGm", 2, "copy_ubuf_to_gm">,
  I32EnumAttrCase<"UbufToCbuf", 3, "copy_ubuf_to_cbuf">,
  I32EnumAttrCase<"MatrixCcToUbuf", 4, "copy_matrix_cc_to_ubuf">,
  I32EnumAttrCase<"GmToCbufNd2Nz", 5, "copy_gm_to_cbuf_multi_nd2nz_b16">,
  I32EnumAttrCase<"MatrixCcToCbuf", 6, "copy_matrix_cc_to_cbuf">,
  I32EnumAttrCase<"MatrixCcToGm", 7, "copy_matrix_cc_to_gm">,
  I32EnumAttrCase<"GmToUbufPad", 8, "copy_gm_to_ubuf_pad">,
  I32EnumAttrCase<"UbufToGmPad", 9, "copy_ubuf_to_gm_pad">,
  I32EnumAttrCase<"MatrixCcToGmNz", 10, "copy_matrix_cc_to_gm_nz">,
  I32EnumAttrCase<"GmToCbufNd2NzB8", 11, "copy_gm_to_cbuf_multi_nd2nz_b8">]>;
def Ascend_CopyKindAttr : Ascend_EnumAttr<Ascend_CopyKind, "copy">;

def Ascend_CopyOp : Ascend_Op<"copy"> {
  let summary = "bursts from one memory to another";
  let description = [{
    `bursts` bursts of `length` blocks of 32 bytes each. The distances are from
    the end of one burst to the start of the next, of the source and then of the
    destination, in blocks; for `copy_matrix_cc_to_ubuf` all of that is in
    fractals of 16 x 16 sums, which are narrowed if the destination is.

    `copy_gm_to_ubuf_pad` and `copy_ubuf_to_gm_pad` take `length` and distances in
    main memory in bytes; in UB each burst starts with a block, and distances are
    in blocks. The first distance is that in main memory.

    The others move matrices, `bursts` rows of `length` columns.
    `copy_gm_to_cbuf_multi_nd2nz_b16` takes rows that start as many elements
    apart as the first distance says to column groups of as many rows as the
    second says, and `copy_gm_to_cbuf_multi_nd2nz_b8` does so with bytes, of
    which a column group has 32. `copy_matrix_cc_to_cbuf`, `copy_matrix_cc_to_gm_nz` and
    `copy_matrix_cc_to_gm` take sums in column groups of as many rows as the first
    distance says, and narrow them where the destination is: the first two to
    column groups of as many rows, the last one to rows that start as many
    elements apart, as the second says. With `relu` these three put zero for
    negative sums.

    Example: `ascend.copy copy_gm_to_cbuf %tile, %from bursts %rows of %length every %gap, %block : !ascend.ptr<l1, f16>, !ascend.ptr<gm, f16>`
  }];
  let arguments = (ins Ascend_CopyKindAttr:$kind, Ascend_PtrType:$destination,
                       Ascend_PtrType:$source, Index:$bursts, Index:$length,
                       Index:$first_distance, Index:$second_distance,
                       UnitAttr:$relu);
  let assemblyFormat = [{
    $kind $destination `,` $source `bursts` $bursts `of` $length
    `every` $first_distance `,` $second_distance (`relu` $relu^)? attr-dict
    `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Ascend_ClearOp : Ascend_Op<"clear"> {
  let summary = "zeros in L1";
  let description = [{
    `create_cbuf_matrix`: `repeat` fractals of zeros, one behind the other.

    Example: `ascend.clear %tile repeat %count : !ascend.ptr<l1, f16>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Index:$repeat);
  let assemblyFormat = [{
    $destination `repeat` $repeat attr-dict `:` type($destination)
  }];
  let hasVerifier = 1;
}

def Ascend_LoadOp : Ascend_Op<"load"> {
  let summary = "fractals of an operand from L1 to the cube unit";
  let description = [{
    `load_cbuf_to_ca` or, where the destination is L0B, `load_cbuf_to_cb`:
    `repeat` fractals of 16 x 16, or 16 x 32 bytes, of which the first has number
    `start` and each further one a number higher by `stride`, to one place after
    the other; each is transposed on the way if `transpose` is set, which there is
    for elements of 16 bits.

    Example: `ascend.load %b, %tile start %first repeat %count stride %step transpose : !ascend.ptr<l0b, f16>, !ascend.ptr<l1, f16>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Ascend_PtrType:$source,
                       Index:$start, Index:$repeat, Index:$stride,
                       UnitAttr:$transpose);
  let assemblyFormat = [{
    $destination `,` $source `start` $start `repeat` $repeat `stride` $stride
    (`transpose` $transpose^)? attr-dict
    `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Ascend_LoadTransposedOp : Ascend_Op<"load_transposed"> {
  let summary = "squares of bytes from L1 to the cube unit, transposed";
  let description = [{
    `load_cbuf_to_ca_transpose` or, where the destination is L0B,
    `load_cbuf_to_cb_transpose`: `repeat` squares of 32 x 32 bytes, two fractals
    that follow each other, of which the first has number `start` and each
    further one a number higher by `stride`. A square is transposed and becomes
    two fractals again. `every` says how many fractals lie between the first one
    of a square and the first one of the next, and between the two of a square,
    from the end of the one to the start of the other.

    Example: `ascend.load_transposed %e, %square start %first repeat %count stride %step every %gap, %half_gap : !ascend.ptr<l0b, si8>, !ascend.ptr<l1, si8>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Ascend_PtrType:$source,
                       Index:$start, Index:$repeat, Index:$stride, Index:$gap,
                       Index:$half_gap);
  let assemblyFormat = [{
    $destination `,` $source `start` $start `repeat` $repeat `stride` $stride
    `every` $gap `,` $half_gap attr-dict
    `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

def Ascend_MadOp : Ascend_Op<"mad"> {
  let summary = "multiplies two matrices on the cube unit";
  let description = [{
    `c` (m x n, NZ) += `a` (m x k, zZ) * `b` (k x n, nZ), all sums started from
    zero if `init` is true. Factors are f16 with sums in f32, or bytes with a sign
    (`si8`), whose fractals are 32 deep, with sums in i32.

    Example: `ascend.mad %c, %a, %b m %m k %k n %n init %init : !ascend.ptr<l0c, f32>, !ascend.ptr<l0a, f16>, !ascend.ptr<l0b, f16>`
  }];
  let arguments = (ins Ascend_PtrType:$c, Ascend_PtrType:$a, Ascend_PtrType:$b,
                       Index:$m, Index:$k, Index:$n, I1:$init);
  let assemblyFormat = [{
    $c `,` $a `,` $b `m` $m `k` $k `n` $n `init` $init attr-dict
    `:` type($c) `,` type($a) `,` type($b)
  }];
  let hasVerifier = 1;
}

def Ascend_VectorKind : Ascend_Enum<"VectorKind",
    "An instruction of the vector unit", [
  I32EnumAttrCase<"Add", 0, "vadd">, I32EnumAttrCase<"Sub", 1, "vsub">,
  I32EnumAttrCase<"Mul", 2, "vmul">, I32EnumAttrCase<"Div", 3, "vdiv">,
  I32EnumAttrCase<"Max", 4, "vmax">, I32EnumAttrCase<"Min", 5, "vmin">,
  I32EnumAttrCase<"Exp", 6, "vexp">, I32EnumAttrCase<"Ln", 7, "vln">,
  I32EnumAttrCase<"Rec", 8, "vrec">, I32EnumAttrCase<"Sqrt", 9, "vsqrt">,
  I32EnumAttrCase<"Abs", 10, "vabs">, I32EnumAttrCase<"Adds", 11, "vadds">,
  I32EnumAttrCase<"Muls", 12, "vmuls">, I32EnumAttrCase<"Maxs", 13, "vmaxs">,
  I32EnumAttrCase<"Mins", 14, "vmins">,
  I32EnumAttrCase<"Dup", 15, "vector_dup">,
  I32EnumAttrCase<"Narrow", 16, "vconv_f322f16">,
  I32EnumAttrCase<"Widen", 17, "vconv_f162f32">,
  I32EnumAttrCase<"WidenByte", 18, "vconv_u82f16">,
  I32EnumAttrCase<"RoundEven", 19, "vconv_f322f32r">,
  I32EnumAttrCase<"Truncate", 20, "vconv_f322f32z">,
  I32EnumAttrCase<"WidenInteger", 21, "vconv_s322f32">,
  I32EnumAttrCase<"NarrowToByte", 22, "vconv_f162s8">]>;
def Ascend_VectorKindAttr : Ascend_EnumAttr<Ascend_VectorKind, "vector_kind">;

def Ascend_VectorOp : Ascend_Op<"vector", [AttrSizedOperandSegments]> {
  let summary = "one instruction of the vector unit";
  let description = [{
    `repeat` times the eight blocks of 32 bytes of a repeat. `blocks` are the
    distances between the blocks of one repeat, `repeats` those between repeats,
    both in blocks, for the destination and each source in turn. `scalar` is the
    number that `vadds` and its kin combine with, and what `vector_dup` writes.

    Example: `ascend.vector vadd %d sources %s, %t repeat %count blocks [1, 1, 0] repeats [8, 8, 0] : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>`
  }];
  let arguments = (ins Ascend_VectorKindAttr:$kind, Ascend_PtrType:$destination,
                       Variadic<Ascend_PtrType>:$sources,
                       Optional<F32>:$scalar, Index:$repeat,
                       DenseI64ArrayAttr:$blocks, DenseI64ArrayAttr:$repeats);
  let assemblyFormat = [{
    $kind $destination (`sources` $sources^)? (`scalar` $scalar^)?
    `repeat` $repeat `blocks` $blocks `repeats` $repeats attr-dict
    `:` type($destination) (`,` type($sources)^)?
  }];
  let hasVerifier = 1;
}

def Ascend_ReduceKind : Ascend_Enum<"ReduceKind",
    "An instruction that reduces blocks or repeats", [
  I32EnumAttrCase<"Max", 0, "vcgmax">, I32EnumAttrCase<"Add", 1, "vcgadd">,
  I32EnumAttrCase<"AddAll", 2, "vcadd">]>;
def Ascend_ReduceKindAttr : Ascend_EnumAttr<Ascend_ReduceKind, "reduce_kind">;

def Ascend_ReduceOp : Ascend_Op<"reduce"> {
  let summary = "each block of 32 bytes, or each repeat, to one element";
  let description = [{
    `repeat` times eight blocks, `blocks` blocks apart, to eight elements one
    after the other, or with `vcadd` to one; repeats are `repeats` blocks apart.
    What `results` says, or else one, is the distance of their results: in
    results of a repeat, which are eight elements or, of `vcadd`, one.

    Elements that the vector mask leaves out take no part: with one that does,
    `vcadd` moves it to any place.

    Example: `ascend.reduce vcgmax %d, %s repeat %count blocks 1 repeats 8 : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>`
  }];
  let arguments = (ins Ascend_ReduceKindAttr:$kind, Ascend_PtrType:$destination,
                       Ascend_PtrType:$source, Index:$repeat, I64Attr:$blocks,
                       I64Attr:$repeats, OptionalAttr<I64Attr>:$distance);
  let assemblyFormat = [{
    $kind $destination `,` $source `repeat` $repeat `blocks` $blocks
    `repeats` $repeats (`results` $distance^)? attr-dict
    `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Ascend_BroadcastOp : Ascend_Op<"broadcast"> {
  let summary = "each element to a block of 32 bytes";
  let description = [{
    `vbrcb`: `repeat` times eight elements, one after the other, each of which
    fills a block; the blocks follow each other, too.

    Example: `ascend.broadcast %d, %s repeat %count : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Ascend_PtrType:$source,
                       Index:$repeat);
  let assemblyFormat = [{
    $destination `,` $source `repeat` $repeat attr-dict
    `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Ascend_TransposeOp : Ascend_Op<"transpose"> {
  let summary = "the columns of 16 x 16 halves as rows";
  let description = [{
    `vnchwconv`: `repeat` times 16 rows of one block each. `rows` are the
    distances from row to row, `repeats` those between repeats, in blocks, of the
    destination and of the source.

    Example: `ascend.transpose %u, %v repeat %count rows [4, 1] repeats [1, 16] : !ascend.ptr<ub, f16>, !ascend.ptr<ub, f16>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Ascend_PtrType:$source,
                       Index:$repeat, DenseI64ArrayAttr:$rows,
                       DenseI64ArrayAttr:$repeats);
  let assemblyFormat = [{
    $destination `,` $source `repeat` $repeat `rows` $rows `repeats` $repeats
    attr-dict `:` type($destination) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Ascend_CompareKind : Ascend_Enum<"CompareKind",
    "An instruction that compares", [
  I32EnumAttrCase<"Lt", 0, "vcmpv_lt">, I32EnumAttrCase<"Le", 1, "vcmpv_le">,
  I32EnumAttrCase<"Gt", 2, "vcmpv_gt">, I32EnumAttrCase<"Ge", 3, "vcmpv_ge">,
  I32EnumAttrCase<"Eq", 4, "vcmpv_eq">, I32EnumAttrCase<"Ne", 5, "vcmpv_ne">]>;
def Ascend_CompareKindAttr
    : Ascend_EnumAttr<Ascend_CompareKind, "compare_kind">;

def Ascend_CompareOp : Ascend_Op<"compare"> {
  let summary = "one bit for each pair of elements";
  let description = [{
    Of `repeat` times 64 elements of f32, one after the other, to as many bits.

    Example: `ascend.compare vcmpv_le %bits, %s, %t repeat %count : !ascend.ptr<ub, i8>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>`
  }];
  let arguments = (ins Ascend_CompareKindAttr:$kind,
                       Ascend_PtrType:$destination, Ascend_PtrType:$lhs,
                       Ascend_PtrType:$rhs, Index:$repeat);
  let assemblyFormat = [{
    $kind $destination `,` $lhs `,` $rhs `repeat` $repeat attr-dict
    `:` type($destination) `,` type($lhs) `,` type($rhs)
  }];
  let hasVerifier = 1;
}

def Ascend_SelectOp : Ascend_Op<"select"> {
  let summary = "an element of one or the other source";
  let description = [{
    `vsel`: of `repeat` times 64 elements, one after the other, the first
    source's where the bit in `mask` is set, the second one's elsewhere. With
    `same`, all repeats take the first 64 bits.

    Example: `ascend.select %d, %s, %t where %bits repeat %count : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, i8>`
  }];
  let arguments = (ins Ascend_PtrType:$destination, Ascend_PtrType:$lhs,
                       Ascend_PtrType:$rhs, Ascend_PtrType:$mask,
                       Index:$repeat, UnitAttr:$same);
  let assemblyFormat = [{
    $destination `,` $lhs `,` $rhs `where` $mask `repeat` $repeat
    (`same` $same^)? attr-dict
    `:` type($destination) `,` type($lhs) `,` type($rhs) `,` type($mask)
  }];
  let hasVerifier = 1;
}

def Ascend_SetVectorMaskOp : Ascend_Op<"set_vector_mask"> {
  let summary = "which elements of a repeat vector instructions write";
  let description = [{
    One bit per element, the lowest of `low` for the first.

    Example: `ascend.set_vector_mask %high, %low`
  }];
  let arguments = (ins I64:$high, I64:$low);
  let assemblyFormat = "$high `,` $low attr-dict";
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Ascend_SetFlagOp : Ascend_Op<"set_flag"> {
  let summary = "raises a flag once a pipe has come this far";
  let description = [{
    Example: `ascend.set_flag mte2 to mte1, %event`
  }];
  let arguments = (ins Ascend_PipeAttr:$from, Ascend_PipeAttr:$to,
                       Index:$event);
  let assemblyFormat = "$from `to` $to `,` $event attr-dict";
}

def Ascend_WaitFlagOp : Ascend_Op<"wait_flag"> {
  let summary = "holds a pipe until a flag is raised, and lowers it";
  let description = [{
    Example: `ascend.wait_flag mte2 to mte1, %event`
  }];
  let arguments = (ins Ascend_PipeAttr:$from, Ascend_PipeAttr:$to,
                       Index:$event);
  let assemblyFormat = "$from `to` $to `,` $event attr-dict";
}

def Ascend_PipeBarrierOp : Ascend_Op<"pipe_barrier"> {
  let summary = "holds a pipe until all it has begun is done";
  let description = [{
    With `all` every pipe is held until all of them are done.

    Example: `ascend.pipe_barrier v`
  }];
  let arguments = (ins Ascend_PipeAttr:$pipe);
  let assemblyFormat = "$pipe attr-dict";
}

def Ascend_SetCrossFlagOp : Ascend_Op<"set_cross_flag"> {
  let summary = "tells the other cores of a block that a pipe has come this far";
  let description = [{
    Each of the flags between the core with the cube unit and the vector cores of
    a block counts how often it was set. The cube core sets it for each vector
    core; for the cube core it is set when all vector cores have.

    `core` is the one that does it, of which pipe `from` has come this far.

    Example: `ascend.set_cross_flag cube fix, %flag`
  }];
  let arguments = (ins Ascend_CoreKindAttr:$core, Ascend_PipeAttr:$from,
                       Index:$flag);
  let assemblyFormat = "$core $from `,` $flag attr-dict";
}

def Ascend_WaitCrossFlagOp : Ascend_Op<"wait_cross_flag"> {
  let summary = "holds a core until a flag of others is set, once more";
  let description = [{
    `core` is the one that waits, with all its pipes.

    Example: `ascend.wait_cross_flag vector, %flag`
  }];
  let arguments = (ins Ascend_CoreKindAttr:$core, Index:$flag);
  let assemblyFormat = "$core `,` $flag attr-dict";
}

#endif // CHIMERA_ASCEND_ASCENDOPS
