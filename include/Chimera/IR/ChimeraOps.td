//===- ChimeraOps.td - Chain, block, micro kernel ----------*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERAOPS
#define CHIMERA_IR_CHIMERAOPS

include "Chimera/IR/ChimeraAttributes.td"
include "mlir/Dialect/Linalg/IR/LinalgBase.td"
include "mlir/Dialect/Utils/StructuredOpsUtils.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Chimera_Op<string mnemonic, list<Trait> traits = []>
    : Op<Chimera_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// ChainOp
//===----------------------------------------------------------------------===//

def Chimera_ChainOp : Chimera_Op<"chain", [
    IsolatedFromAbove, Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "compute-intensive operators that may run as one kernel";
  let description = [{
    A chain holds one or more contractions in producer-consumer order, each
    possibly followed by one elementwise `linalg.generic`, and nothing else but
    what they need (fills, empty tensors, constants). It is introduced by
    `chimera-form-chains`; `chimera-schedule` adds the schedule and the plan;
    none remains after `chimera-tile`.

    Chains that are planned but not lowered may also hold convolutions, several
    elementwise operations and reductions along rows, reshapes, transposes,
    broadcasts and padding, and yield several results.

    Example:

    ```mlir
    %e = chimera.chain ins(%a, %b, %d
        : tensor<64x32xf32>, tensor<32x48xf32>, tensor<48x16xf32>) {
    ^bb0(%a0: tensor<64x32xf32>, %b0: tensor<32x48xf32>, %d0: tensor<48x16xf32>):
      %zero = arith.constant 0.0 : f32
      %c_empty = tensor.empty() : tensor<64x48xf32>
      %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<64x48xf32>) -> tensor<64x48xf32>
      %c = linalg.matmul ins(%a0, %b0 : tensor<64x32xf32>, tensor<32x48xf32>)
          outs(%c_zero : tensor<64x48xf32>) -> tensor<64x48xf32>
      %e_empty = tensor.empty() : tensor<64x16xf32>
      %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<64x16xf32>) -> tensor<64x16xf32>
      %e0 = linalg.matmul ins(%c, %d0 : tensor<64x48xf32>, tensor<48x16xf32>)
          outs(%e_zero : tensor<64x16xf32>) -> tensor<64x16xf32>
      chimera.yield %e0 : tensor<64x16xf32>
    } -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs,
                       OptionalAttr<Chimera_ScheduleAttr>:$schedule,
                       OptionalAttr<Chimera_PlanAttr>:$plan);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`schedule` `(` $schedule^ `)`)? (`plan` `(` $plan^ `)`)?
    attr-dict-with-keyword $body `->` type($results)
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// BlockOp
//===----------------------------------------------------------------------===//

def Chimera_BlockOp : Chimera_Op<"block", [
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    AttrSizedOperandSegments, DestinationStyleOpInterface, Pure]> {
  let summary = "one operator on one tile of every loop";
  let description = [{
    The leaf of a chain's loop tree: one structured operation on tiles, with the
    tiles it reads as `ins` and the tiles it updates as `outs`. The string names
    the operator it is a part of. `extents` lists, for every dimension of the
    operation inside, the extents that occur at run time: the tile, and what is
    left of it at an edge; 0 stands for any that is smaller. `registers` is the schedule's register tile, `packed`
    the positions of the inputs to be copied into contiguous memory, `prefetch`
    what kernels ask for ahead of time; without it, nothing. `taps` says which
    taps of a convolution lie on padding; with `streamed`, results go past the
    caches, and `rowwise` says how rows are read, as those of a
    `chimera.micro_kernel` do and are. A block that yields its arguments is folded away.
    Introduced by `chimera-tile`; none remains after `chimera-map-micro-kernels`.

    Example:

    ```mlir
    %1 = chimera.block "matmul0" ins(%a, %b : tensor<8x32xf32>, tensor<32x48xf32>)
        outs(%c : tensor<8x48xf32>) extents [[8], [48], [32]] {
    ^bb0(%a0: tensor<8x32xf32>, %b0: tensor<32x48xf32>, %c0: tensor<8x48xf32>):
      %2 = linalg.matmul ins(%a0, %b0 : tensor<8x32xf32>, tensor<32x48xf32>)
          outs(%c0 : tensor<8x48xf32>) -> tensor<8x48xf32>
      chimera.yield %2 : tensor<8x48xf32>
    } -> tensor<8x48xf32>
    ```
  }];
  let arguments = (ins StrAttr:$operator_name,
                       Variadic<AnyType>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs,
                       OptionalAttr<ArrayAttr>:$extents,
                       OptionalAttr<Chimera_RegisterTileAttr>:$registers,
                       OptionalAttr<DenseI64ArrayAttr>:$packed,
                       OptionalAttr<Chimera_PrefetchAttr>:$prefetch,
                       OptionalAttr<Chimera_TapsAttr>:$taps,
                       UnitAttr:$streamed,
                       OptionalAttr<I64Attr>:$rowwise);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $operator_name (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)`
    (`extents` $extents^)? (`registers` $registers^)? (`packed` $packed^)?
    (`prefetch` $prefetch^)? (`taps` $taps^)?
    (`streamed` $streamed^)? (`rowwise` $rowwise^)?
    attr-dict-with-keyword $body `->` type($results)
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// The structured operation inside.
    ::mlir::linalg::LinalgOp getStructuredOp();
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// MicroKernelOp
//===----------------------------------------------------------------------===//

def Chimera_MicroKernelOp : Chimera_Op<"micro_kernel", [
    SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove,
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "what the innermost block computes, and how";
  let description = [{
    The replaceable micro kernel of the paper (section V-A): indexing maps,
    iterator types and a scalar body give its naive semantics, exactly those of
    a `linalg.generic`; `implementation` names the code that is to replace it, and
    `otherwise` what computes the parts that this does not cover. A kernel without
    either, or one that neither covers, is lowered by its naive semantics.

    Contractions and copies have one output. A reduction has several or one: each
    combines what it holds with the elements along the reduced dimensions, or is
    written element by element on the way, as the exponentials of a softmax are
    while they are added up. Where an output is indexed by a reduced dimension,
    the body sees the element that it held. The body knows its place in the
    iteration space by `chimera.index`.

    A contraction marked `overwrite` starts from zero instead of from the
    contents of `outs`. One with `taps` may leave out what these say is zero. `extents` promises nothing: it lists, per dimension, the
    extents worth specialising for; any other extent is computed all the same. A 0
    among them says that the dimension is open: others occur often, up to the
    largest that is listed.

    With `streamed`, whole vectors of what is written element by element may be
    stored past the caches, since nobody reads them before they would have left
    these. Implementations do so where the place in memory allows.

    `rowwise 8`, of reductions along columns, asks for eight rows to be read at
    once from their beginnings to their ends, with results in a cache meanwhile:
    so memory hands out fast what does not lie in a cache.

    An input that the body does not use is what is read next: implementations may
    ask for it ahead of time.

    Introduced by `chimera-map-micro-kernels`; works on tensors and on memrefs;
    none remains after the conversion of a back end.

    Example:

    ```mlir
    chimera.micro_kernel contraction
        ins(%a, %b : memref<8x32xf32>, memref<32x48xf32>) outs(%c : memref<8x48xf32>)
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"] {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    ```
  }];
  let arguments = (ins Chimera_MicroKernelKindAttr:$kind,
                       Variadic<AnyType>:$inputs,
                       Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>:$outputs,
                       AffineMapArrayAttr:$indexing_maps,
                       StrArrayAttr:$iterator_types,
                       OptionalAttr<ArrayAttr>:$extents,
                       OptionalAttr<Chimera_MicroKernelAttrInterface>:$implementation,
                       OptionalAttr<Chimera_MicroKernelAttrInterface>:$otherwise,
                       UnitAttr:$overwrite,
                       OptionalAttr<Chimera_TapsAttr>:$taps,
                       UnitAttr:$streamed,
                       OptionalAttr<I64Attr>:$rowwise);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind (`overwrite` $overwrite^)? (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)`
    `maps` $indexing_maps `iterators` $iterator_types
    (`extents` $extents^)? (`implementation` $implementation^)?
    (`otherwise` $otherwise^)? (`taps` $taps^)?
    (`streamed` $streamed^)? (`rowwise` $rowwise^)?
    attr-dict-with-keyword $body (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// The indexing map of each operand, inputs first.
    ::llvm::SmallVector<::mlir::AffineMap> getMaps();
    unsigned getNumDims() { return getIteratorTypes().size(); }
    bool isReduction(unsigned dim);
    /// The only output of a contraction or a copy.
    ::mlir::Value getOutput() { return getOutputs().front(); }
    /// The extents listed for `dim`, in the order given; empty if none are.
    ::llvm::SmallVector<int64_t> getExtentsOf(unsigned dim);
    /// True if others than those that are listed occur often.
    bool isOpen(unsigned dim);
    /// The elementwise kernel that follows a contraction and is the last to need
    /// its sums: it updates them in place, or reads them from memory of their own
    /// that nobody else uses. Null if there is none. Both are on memrefs.
    ::chimera::MicroKernelOp getFinish();
    /// The argument of the body of a contraction's finish, this kernel, that has
    /// the sums.
    ::mlir::BlockArgument getSums(::chimera::MicroKernelOp contraction);
    /// True if the kernel reads what output number `index` held before.
    bool readsOutput(unsigned index = 0);
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// IndexOp
//===----------------------------------------------------------------------===//

def Chimera_IndexOp : Chimera_Op<"index", [Pure, ParentOneOf<["MicroKernelOp"]>]> {
  let summary = "where the body of a micro kernel is along a dimension";
  let description = [{
    The index of dimension `dim` of the iteration space, counted from the first
    element of the kernel's operands. What `linalg.index` is to `linalg.generic`.

    Example:

    ```mlir
    chimera.micro_kernel elementwise ins(%offset : index) outs(%s : memref<8x48xf32>)
        maps [affine_map<(m, l) -> ()>, affine_map<(m, l) -> (m, l)>]
        iterators ["parallel", "parallel"] {
    ^bb0(%first: index, %x: f32):
      %zero = arith.constant 0.0 : f32
      %row = chimera.index 0
      %column = chimera.index 1
      %last = arith.addi %row, %first : index
      %keep = arith.cmpi ule, %column, %last : index
      %y = arith.select %keep, %x, %zero : f32
      chimera.yield %y : f32
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// PrefetchOp
//===----------------------------------------------------------------------===//

def Chimera_PrefetchOp : Chimera_Op<"prefetch", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "says what is read soon, so that it can be on its way";
  let description = [{
    A hint without a meaning of its own: `source`, part of a matrix that lies far
    from the core, is read in the next iteration of a loop around, or in the
    next part of its body. The code of the micro kernel that follows in the same
    block may fetch it while it computes; otherwise nothing happens. `bounds` are
    the largest extents that `source` has at run time, one per dimension.

    Introduced by `chimera-map-micro-kernels` for operands that are packed or
    were prepared before the call, and for what a product reads that comes after
    another one in the same loop; works on tensors and on memrefs; none remains
    after the conversion of a back end.

    Example:

    ```mlir
    chimera.prefetch %next within [64, 32] : memref<?x32xf32, strided<[768, 1], offset: ?>>
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$source,
                       DenseI64ArrayAttr:$bounds);
  let assemblyFormat = "$source `within` $bounds attr-dict `:` type($source)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// PrepareOp
//===----------------------------------------------------------------------===//

def Chimera_PrepareOp : Chimera_Op<"prepare", [
    Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "a value worth computing once if it is the same in every call";
  let description = [{
    The result is `source`. If that depends on nothing but constants and on
    arguments of the function marked `chimera.constant`,
    `chimera-prepare-constants` moves its computation into a function of its own,
    to be called once; otherwise the operation means nothing.

    `source` may hold each element of `origin` unchanged: that with indices d0, d1,
    ... stands where the map `places` says. What reads single elements of a constant
    can then read what is prepared of it, and the constant itself is needed no more.

    Introduced by `chimera-orient-constants` for operands that are transposed, by
    `chimera-fold-dequantization` for words of codes and what they share, and by
    `chimera-tile` for prepacked operands; none remains after
    `chimera-prepare-constants`.

    Example:

    ```mlir
    %once = chimera.prepare %panels
        holding %table : tensor<64x768xf32>
        at affine_map<(d0, d1) -> (d1 floordiv 32, d0, d1 mod 32)>
        : tensor<24x64x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Optional<AnyRankedTensor>:$origin,
                       OptionalAttr<AffineMapAttr>:$places);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`holding` $origin^ `:` type($origin) `at` $places)? attr-dict
    `:` type($source)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source), [{
    build($_builder, $_state, source.getType(), source, /*origin=*/nullptr,
          /*places=*/nullptr);
  }]>];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// SizeOp
//===----------------------------------------------------------------------===//

def Chimera_SizeOp : Chimera_Op<"size", [Pure]> {
  let summary = "the size that a placeholder stands for";
  let description = [{
    In a function with open sizes (`chimera.open_sizes`), types have placeholders
    where sizes are not known. The result is the size for which `placeholder`
    stands, or a size that is a multiple of it for as many times as it has: what
    computes with sizes, other than to make shapes, takes them from here.

    Introduced by `chimera-version-sizes` and `chimera-tile`; none remains after
    `chimera-restore-sizes`.

    Example:

    ```mlir
    %rows = chimera.size 1048583
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$placeholder);
  let results = (outs Index:$result);
  let assemblyFormat = "$placeholder attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// ShiftOp
//===----------------------------------------------------------------------===//

def Chimera_ShiftOp : Chimera_Op<"shift", [
    Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "moves rows towards the front of a tensor";
  let description = [{
    The result is `source` but for the `count` slices along dimension `dim` from
    `to` on, which are those of `source` from `from` on. `to` is not above
    `from`, and a `count` of zero moves nothing. In bufferization the rows move
    in place, one after the other, so the two ranges may overlap.

    Introduced by `chimera-tile` for intermediates that roll: what the next tile
    reads again moves to where its windows begin.

    Example:

    ```mlir
    %kept = chimera.shift %rows along 0 from %from to %to by %count
        : tensor<6x30x48xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim, Index:$from,
                       Index:$to, Index:$count);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `along` $dim `from` $from `to` $to `by` $count attr-dict
    `:` type($source)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// WindowsOp
//===----------------------------------------------------------------------===//

def Chimera_WindowsOp : Chimera_Op<"windows", [Pure]> {
  let summary = "a tensor seen through windows that may overlap";
  let description = [{
    Element `i` of the result is element `map(i)` of `source`. Each result of
    the map is a sum of dimensions with positive factors, and each dimension
    occurs once, so what the kernels of a product read as a plain tensor is the
    operand of a convolution: the pixels and the taps of its windows have
    dimensions of their own. A dimension of a size that is not known is all of
    one of `source`. Nothing is copied: the result is a view of `source`, with
    other strides.

    Introduced by `chimera-tile` for operands of convolutions and by
    `chimera-fuse-memory-bound` for those of pools; becomes a
    `memref.reinterpret_cast` in bufferization.

    Example:

    ```mlir
    %windows = chimera.windows %image
        at affine_map<(h, r, w, s, c) -> (2 * h + r, 2 * w + s, c)>
        : tensor<9x9x8xf32> to tensor<4x3x4x3x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, AffineMapAttr:$map);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `at` $map attr-dict `:` type($source) `to` type($result)
  }];
  let extraClassDeclaration = [{
    /// For each dimension of the result the dimension of the source that it
    /// moves along, and by how many elements.
    ::llvm::SmallVector<std::pair<unsigned, int64_t>> getSteps();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

def Chimera_YieldOp : Chimera_Op<"yield", [
    Pure, Terminator, ReturnLike,
    ParentOneOf<["ChainOp", "BlockOp", "MicroKernelOp"]>]> {
  let summary = "ends the body of a chain, block or micro kernel";
  let description = [{
    Example: `chimera.yield %0 : tensor<8x8xf32>`
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

include "Chimera/IR/CollectiveOps.td"

#endif // CHIMERA_IR_CHIMERAOPS
