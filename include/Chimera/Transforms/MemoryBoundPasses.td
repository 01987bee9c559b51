//===- MemoryBoundPasses.td - What lies outside chains -----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_MEMORYBOUNDPASSES
#define CHIMERA_TRANSFORMS_MEMORYBOUNDPASSES

include "mlir/Pass/PassBase.td"

def FuseMemoryBoundPass : Pass<"chimera-fuse-memory-bound"> {
  let summary = "Make few operations of many outside chains";
  let description = [{
    Brings what no chain holds, such as norms, softmax, transposes and masks,
    into few operations that vectors can run along. Named operations,
    `linalg.softmax` and arithmetic on tensors become `linalg.generic`; unit
    dimensions go; an elementwise operation moves into those that read it, if
    there is only one, or if computing it again is cheaper than to store it, until
    64 operations are together, beside which another pass over memory costs next
    to nothing. What is to be read along another dimension than the rest is
    transposed by an operation of its own. What follows a concatenation,
    arithmetic, other orders and slices, works on its parts. Parts of a `tensor.concat` or of a
    `tensor.pad` are computed where they belong, where an operation or a loop
    makes them, and copied otherwise. With `takes-parts`, which says that kernels
    do too, parts of a row that are equally long and read the same, as the halves
    of a rotary embedding, become one operation, which has a loop over them.
    Pooling reads through `chimera.windows`.
    Contractions, convolutions and dynamic shapes are left alone; open sizes have
    placeholders here (`chimera.open_sizes`).

    Example: see `test/Transforms/MemoryBound/fuse-memory-bound.mlir`. In

    ```mlir
    %e = linalg.exp ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %s = linalg.reduce { arith.addf } ins(%e : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) dimensions = [1]
    ```

    the exponential moves into the body of the sum.
  }];
  let options = [
    Option<"takesParts", "takes-parts", "bool", /*default=*/"false",
           "Kernels make all parts of a row at once, and read once what these share">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitReductionsPass : Pass<"chimera-split-reductions"> {
  let summary = "Read once what is reduced several times, in parts";
  let description = [{
    Reductions outside chains that go over the same loops and read the same tensor
    become one operation with several results. One whose results are too few to be
    tasks is cut along its outermost reduced dimension into parts, which are
    combined in order by a second operation. The model says into how many, from
    the sizes alone: what is computed does not depend on the machine or the number
    of threads, and each part keeps the order that it had.

    Only what is combined by an operation whose order does not matter is cut: sums
    and products of floats, for which every kernel of the library takes them in an
    order of its own, integers, minima and maxima.

    Example: `chimera-opt --chimera-fuse-memory-bound --chimera-split-reductions`,
    see `test/Transforms/MemoryBound/split-reductions.mlir`.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanMemoryBoundPass : Pass<"chimera-plan-memory-bound"> {
  let summary = "Choose loops for what lies outside chains";
  let description = [{
    Finds elementwise operations, reductions, transposes and fills on static
    tensors that can share loops over rows, since they read each other's rows, as
    the sums and the scaling of a norm do. The last operation of each such group,
    its root, gets an attribute `chimera.row_tiling`, which says which loops there
    are, how many rows a task takes, whether tasks run in parallel, and whether
    results go past the caches (see `#chimera.row_tiling`). The model decides it
    from figures of the target: rows of a task stay in the innermost memory level,
    and all threads have tasks if they are predicted to be done sooner than one.
    Where sizes are open (`chimera.open_sizes`), it decides for those that are
    planned for. Changes nothing else.

    An operation that has the attribute keeps it, and becomes no member of
    another group.

    Example: `chimera-opt --chimera-fuse-memory-bound --chimera-plan-memory-bound=target=zen5`,
    see `test/Transforms/MemoryBound/plan-memory-bound.mlir`. In

    ```mlir
    %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
    return %1 : tensor<1024x256xf32>
    ```

    the operation gets, for four threads,
    `chimera.row_tiling = #chimera.row_tiling<tiles = [256], parallel = true>`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"host\"",
           "Machine to plan for: a name, host, dlti, or a file (machine.mlir)">,
    Option<"threads", "threads", "int64_t", "0",
           "Threads that will run the code; 0 means one per core of the target">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

def TileMemoryBoundPass : Pass<"chimera-tile-memory-bound"> {
  let summary = "Generate loops and blocks for what lies outside chains";
  let description = [{
    Gives operations with an attribute `chimera.row_tiling`, which
    `chimera-plan-memory-bound` chooses, the form that `chimera-tile` gives the
    operators of a chain: loops over groups of rows, in them a `chimera.block` for
    each operation. Those that make the rows that another one reads share its
    loops, so that the rows stay close to the core; how deep the loops are says
    which these are. The loops are an `scf.forall` if tasks run in parallel, else
    `scf.for`, or none.

    Each group gets a passed remark (category `chimera`), and each operation
    that is left to plain loops a missed one with the reason. Contractions and
    convolutions are left without a word.

    Example: `chimera-opt --chimera-fuse-memory-bound --chimera-plan-memory-bound=target=zen5 --chimera-tile-memory-bound`,
    see `test/Transforms/MemoryBound/tile-memory-bound.mlir`.
  }];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // CHIMERA_TRANSFORMS_MEMORYBOUNDPASSES
