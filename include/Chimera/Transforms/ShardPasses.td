//===- ShardPasses.td - Programs for several processes -----*- tablegen -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_SHARDPASSES
#define CHIMERA_TRANSFORMS_SHARDPASSES

include "mlir/Pass/PassBase.td"

def ShardPass : Pass<"chimera-shard", "::mlir::ModuleOp"> {
  let summary = "Make the program that each of several processes runs";
  let description = [{
    A function with annotations of the dialect `shard` is cut as they say: the
    upstream passes `sharding-propagation` and `shard-partition` do that, after a
    check that refuses what they would crash on or get wrong, with an error on
    the operation. Collectives of `shard` become those of Chimera, along the first
    dimension, with transpositions around them where they are along another one.
    A sum of which each process needs but a part is a `chimera.reduce_scatter`.

    With `processes`, a function without annotations is cut into as many parts.
    For each operation, one of its loops is cut, or none; of all combinations the
    one is taken that takes the least time by the model, with what moves between
    the processes priced by the network of the target. If one process alone takes
    no longer, every process computes everything, unless `split` is `always`.

    An all-reduce whose rows could be exchanged in blocks, each while the next is
    computed, gets the number of `blocks` that takes the least time by the model,
    if that is less than it takes as a whole.

    Arguments and results say which part of the whole they are
    (`chimera.part`), and the function begins with a `chimera.check_grid`. Constants
    are cut like arguments that are the same in every call: with `process`, into
    the part of this process; else each process takes a slice where it stands, of
    a constant that all of them have.

    Remarks (category `chimera-shard`): `split` with the time of the program, why
    it was cut so and what comes next; `collective` for each of them, with its
    bytes and its time; `overlap` for each all-reduce, with both times.

    Example: see `test/Transforms/Shard/mlp.mlir`. Of

    ```mlir
    shard.grid @grid(shape = 2)
    func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %e: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
      %w0 = shard.shard %w to %s : tensor<16x4xf32>
      %0 = linalg.matmul ins(%x, %w0 : tensor<8x16xf32>, tensor<16x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
      ...
    ```

    each process has 8 rows of `%w` and 8 columns of `%x`, and a
    `chimera.all_reduce` adds up the products.
  }];
  let options = [
    Option<"processes", "processes", "int64_t", "0",
           "How many processes run the program; 0: as many as its grid has">,
    Option<"process", "process", "int64_t", "-1",
           "The one, counted from 0, that the program is for: its constants are "
           "its parts; -1: any, which take their parts of the whole">,
    Option<"split", "split", "::chimera::SplitMode",
           "::chimera::SplitMode::Auto",
           "Whether to cut programs without annotations",
           [{::llvm::cl::values(
               clEnumValN(::chimera::SplitMode::Auto, "auto",
                          "where the model predicts a gain"),
               clEnumValN(::chimera::SplitMode::Always, "always",
                          "the best cut there is, even if it takes longer"))}]>,
    Option<"overlap", "overlap", "::chimera::OverlapMode",
           "::chimera::OverlapMode::Auto",
           "Whether all-reduces overlap with computing",
           [{::llvm::cl::values(
               clEnumValN(::chimera::OverlapMode::Auto, "auto",
                          "where the model predicts a gain"),
               clEnumValN(::chimera::OverlapMode::Never, "never",
                          "each waits for what it exchanges"),
               clEnumValN(::chimera::OverlapMode::Always, "always",
                          "in the best number of blocks, even if it takes "
                          "longer"))}]>,
    Option<"target", "target", "std::string", "\"host\"",
           "Machine to plan for: a name, host, dlti, or a file (machine.mlir)">,
    Option<"threads", "threads", "int64_t", "0",
           "Threads of each process; 0 means one per core of the target">
  ];
  let statistics = [
    Statistic<"numFunctions", "functions", "Functions that were cut">,
    Statistic<"numCollectives", "collectives", "Collectives in them">,
    Statistic<"numOverlapped", "overlapped",
              "All-reduces that are exchanged in blocks">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::shard::ShardDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CutCollectivesPass
    : Pass<"chimera-cut-collectives", "::mlir::ModuleOp"> {
  let summary = "Compute what is exchanged in blocks of rows";
  let description = [{
    An all-reduce with `blocks` becomes as many `overlapped` ones of fewer rows,
    and what leads to it is computed block by block: as far back as operations
    have rows that can be cut, by the models of upstream's `ShardingInterface`,
    and nothing else reads what they make. What has to be whole, as keys and
    values of attention, is computed before. The last block has nothing to
    overlap with.

    Remark (category `chimera-shard`): `overlap` where nothing can be cut.

    Example: see `test/Transforms/Shard/overlap.mlir`. Of

    ```mlir
    %y = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
    %s = chimera.all_reduce sum outs(%y : tensor<8x4xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<8x4xf32>
    ```

    four rows of `%x` are multiplied and started, then the other four.
  }];
  let statistics = [
    Statistic<"numCut", "cut", "All-reduces that were cut">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect",
                           "::mlir::shard::ShardDialect",
                           "::mlir::tensor::TensorDialect"];
}

def StartCollectivesPass
    : Pass<"chimera-start-collectives", "::mlir::func::FuncOp"> {
  let summary = "Let what follows an overlapped all-reduce run while it lasts";
  let description = [{
    On memrefs, an `overlapped` all-reduce is started where it stands. The wait
    comes before the first operation that may touch its buffer, at the end of the
    block if there is none: buffers are different if they come from different
    allocations or arguments, or are parts of the same one at different places.
    One with nothing to run meanwhile stays as it is.

    Example: see `test/Transforms/Shard/start.mlir`.

    ```mlir
    chimera.all_reduce sum outs(%a : memref<4x8xf32>) along [0] of 2 {overlapped}
    linalg.fill ins(%zero : f32) outs(%b : memref<4x8xf32>)
    linalg.fill ins(%zero : f32) outs(%a : memref<4x8xf32>)
    ```

    waits before the second fill.
  }];
  let statistics = [
    Statistic<"numStarted", "started", "All-reduces that are started">
  ];
  let dependentDialects = ["::chimera::ChimeraDialect"];
}

#endif // CHIMERA_TRANSFORMS_SHARDPASSES
