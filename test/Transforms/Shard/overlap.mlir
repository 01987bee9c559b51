// An all-reduce is exchanged in blocks of rows if that takes less time by the
// model: where the network moves bytes by itself, and not where processes share
// memory. With the whole pipeline the first block is started before the second is
// computed, and weights are not packed again for it.
//
// RUN: chimera-opt %s --chimera-shard='threads=1 processes=2' --remarks-filter=chimera-shard --remark-policy=all 2>&1 | FileCheck %s --check-prefixes=REMARK,BLOCKS
// RUN: chimera-opt %s --chimera-shard='target=zen5 threads=1 processes=2 overlap=never' | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/, processor = 5//' %s | chimera-opt --chimera-shard='threads=1 processes=2' --remarks-filter=chimera-shard --remark-policy=all 2>&1 | FileCheck %s --check-prefixes=SHARED,WHOLE
// RUN: sed 's/, processor = 5//' %s | chimera-opt --chimera-shard='threads=1 processes=2 overlap=always' | FileCheck %s --check-prefix=BLOCKS
// RUN: chimera-opt %s --chimera-pipeline='threads=1 processes=2' | FileCheck %s --check-prefix=CODE

// REMARK: [Passed] overlap {{.*}}exchanged in {{[0-9]+}} blocks, each while the next is computed: {{[0-9.]+}} us as a whole and {{[0-9.]+}} us in {{[0-9]+}} blocks, of whose exchange the processor does 5 %
// SHARED: [Missed] overlap {{.*}}exchanged as a whole: {{.*}} the processor does 100 %
// BLOCKS: chimera.all_reduce {{.*}} {blocks = {{[0-9]+}} : i64}
// WHOLE: chimera.all_reduce sum outs(%{{[0-9]+}} : tensor<256x512xf32>) along [0] of 2 ->

// CODE-COUNT-2: llvm.mlir.global private @mlp_prepared
// CODE-NOT: llvm.mlir.global private @mlp_prepared
// CODE-LABEL: llvm.func @mlp(
// CODE: llvm.call @[[FIRST:chimera_kernel[_0-9]*]](
// CODE: llvm.call @[[SECOND:chimera_kernel[_0-9]*]](
// CODE: %[[STARTED:.*]] = llvm.call @chimera_start_all_reduce(
// CODE: %[[REQUEST:.*]] = llvm.ptrtoint %[[STARTED]]
// CODE: llvm.call @[[FIRST]](
// CODE: llvm.call @[[SECOND]](
// CODE: llvm.call @chimera_start_all_reduce(
// CODE: llvm.call @chimera_all_reduce(
// CODE: %[[WAITED:.*]] = llvm.inttoptr %[[REQUEST]]
// CODE: llvm.call @chimera_wait(%[[WAITED]])
// CODE: llvm.return

module attributes {chimera.target = #chimera.target<"described", cores = 1,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1, latency = 4, clock = 3000000000>,
  levels = [<"L2", capacity = 1048576, usable = 80, core_bandwidth = 60000000000, chip_bandwidth = 60000000000, sharers = 1, line = 64, ways = 8>],
  network = <"a description, not a measurement", transfers = [<bytes = 1024, time = 20000>, <bytes = 1048576, time = 360000>], processor = 5>,
  cpu = "haswell">} {
func.func @mlp(%x: tensor<256x512xf32>, %v: tensor<512x2048xf32> {chimera.constant},
               %w: tensor<2048x512xf32> {chimera.constant}) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %h = linalg.matmul ins(%x, %v : tensor<256x512xf32>, tensor<512x2048xf32>) outs(%f : tensor<256x2048xf32>) -> tensor<256x2048xf32>
  %e1 = tensor.empty() : tensor<256x512xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %y = linalg.matmul ins(%h, %w : tensor<256x2048xf32>, tensor<2048x512xf32>) outs(%f1 : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %y : tensor<256x512xf32>
}
}
