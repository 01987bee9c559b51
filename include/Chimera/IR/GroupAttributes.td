//===- GroupAttributes.td - Groups that wait for memory ----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operators run together outside chains, and how: in rows on processors,
// by teams of threads on GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_GROUPATTRIBUTES
#define CHIMERA_IR_GROUPATTRIBUTES

//===----------------------------------------------------------------------===//
// Row tiling
//===----------------------------------------------------------------------===//

def Chimera_RowTilingAttr : Chimera_Attr<"RowTiling", "row_tiling"> {
  let summary = "How operations outside chains run: loops over rows, and tasks";
  let description = [{
    On an operation of linalg, as the attribute `chimera.row_tiling`: it runs, as
    the root of a group, in loops over dimensions of its last result: the first
    ones, or those that `dims` lists in ascending order, as the columns of what is
    reduced along its first dimension. There are as many loops as `tiles`, and each
    tile is the number of iterations that a task takes. What is left inside is a row. The operations that make the
    rows that it reads share the loops, if these cut all that they produce; one
    that has the attribute itself runs by itself. Without tiles there are no
    loops, and the operation is alone. With `parallel`, tasks run in parallel.

    Members are numbered in program order. Those that `streamed` lists store what
    they make past the caches where they write whole lines; no other member reads
    it. `late = [0 by 1]` sends past the caches what members read, too: 0 makes it
    in a buffer, and 1, which adds it up, stores it while it does. The members
    that `ahead` lists ask for what the next task reads of tensors from outside.
    `rowwise = [2 by 8]` has member 2, which reduces along columns, read eight
    rows at once from their beginnings to their ends, with its results in a cache
    meanwhile. Without it, a few columns at a time are read from top to bottom,
    with their results in registers.

    A tile is at least 1 and at most the extent of its dimension. Parallel tasks
    are at least two. Numbers of members ascend; a member stores what one other
    made, and reads at least two rows at once.

    `chimera-plan-memory-bound` chooses it for operations that have none;
    `chimera-tile-memory-bound` applies it. `chimera-fuse-memory-bound` comes
    before both and replaces operations with all attributes, so tilings are
    written by hand after it.

    Example: `#chimera.row_tiling<tiles = [16], parallel = true>`,
    `#chimera.row_tiling<tiles = [4], streamed = [2], late = [0 by 1], ahead = [1, 2]>`,
    `#chimera.row_tiling<tiles = [64], dims = [1]>`, `#chimera.row_tiling<tiles = []>`,
    `#chimera.row_tiling<tiles = [4096], rowwise = [0 by 8]>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$tiles,
                        OptionalArrayRefParameter<"int64_t">:$dims,
                        DefaultValuedParameter<"bool", "false">:$parallel,
                        OptionalArrayRefParameter<"int64_t">:$streamed,
                        OptionalArrayRefParameter<"int64_t">:$late,
                        OptionalArrayRefParameter<"int64_t">:$ahead,
                        OptionalArrayRefParameter<"int64_t">:$rowwise);
  let assemblyFormat = [{
    `<` `tiles` `=` custom<NumberList>($tiles) ``
        custom<RowOptions>($dims, $parallel, $streamed, $late, $ahead, $rowwise) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails with an error on `op` if that cannot have this attribute.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op) const;
    /// The dimensions that the loops go over.
    ::llvm::SmallVector<unsigned> getLoopDims() const;
    /// `late` as pairs of members: who makes it, and who stores it.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getLatePairs() const;
    /// `rowwise` as pairs: a member, and how many rows it reads at once.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getRowwisePairs() const;
  }];
}

//===----------------------------------------------------------------------===//
// Threads of a GPU
//===----------------------------------------------------------------------===//

def Chimera_ThreadTilingAttr : Chimera_Attr<"ThreadTiling", "thread_tiling"> {
  let summary = "How the threads of a GPU share a group that waits for memory";
  let description = [{
    On the last operation of a group, as the attribute `chimera.thread_tiling`:
    the group is one launch. A thread loads and stores `vector` neighbouring
    elements at once. A `team` of threads shares a row, which is what the group
    reduces, or part of a group that reduces nothing; a block has `rows` teams, and
    each thread takes `steps` vectors of a row. `home` is where what several passes
    over a row read stays in between: in `registers`, in `shared` memory, or
    nowhere, so that it is read from `memory` again.

    All numbers are positive; `vector`, `team` and `rows` are powers of two, and
    `team` times `rows` is a multiple of 32, a warp, and at most 1024, a block.

    `chimera-plan-threads` chooses it for groups that have none;
    `convert-memory-groups-to-nvvm` applies it.

    Example: `#chimera.thread_tiling<vector = 4, team = 256, rows = 1, steps = 2, home = registers>`
  }];
  let parameters = (ins "int64_t":$vector, "int64_t":$team, "int64_t":$rows,
                        "int64_t":$steps,
                        EnumParameter<Chimera_RowHome>:$home);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails with an error on `op` if that cannot have this attribute.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op) const;
  }];
}

//===----------------------------------------------------------------------===//
// Groups of a whole program
//===----------------------------------------------------------------------===//

def Chimera_GroupAttr : Chimera_Attr<"Group", "group"> {
  let summary = "The group that an operator runs in, and the type of its mapping";
  let description = [{
    On an operation with tensors, as the attribute `chimera.group`. Operations of
    one block with the same `id` run as one group; ids are not negative.

    The `kind` says what the group is: a `chain` holds a product or convolution, a
    `memory` group waits for memory alone, a `single` operator is with no other,
    and of an `opaque` one nothing is known. The `mapping` is that of the
    operation itself, not of the group (Gao et al., section 3.1.1): `one_to_one`,
    `reorganize`, `shuffle`, `one_to_many`, `many_to_many` or `not_fuse`.

    `chimera-partition` chooses groups, and keeps those that are given.

    Example: `#chimera.group<id = 3, kind = memory, mapping = shuffle>`
  }];
  let parameters = (ins "int64_t":$id,
                        EnumParameter<Chimera_GroupKind>:$kind,
                        EnumParameter<Chimera_Mapping>:$mapping);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails with an error on `op` if that cannot have this attribute.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op) const;
  }];
}

#endif // CHIMERA_IR_GROUPATTRIBUTES
