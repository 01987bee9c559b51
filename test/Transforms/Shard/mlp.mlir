// Columns of the first product and rows of the second are cut: the parts of the
// sum are added up at the end, and nothing else moves. With the whole pipeline
// the collective is a call between two kernels.
//
// RUN: chimera-opt %s --chimera-shard=target=zen5 --remarks-filter=chimera-shard --remark-policy=all 2>&1 | FileCheck %s
// RUN: chimera-opt %s --chimera-pipeline='target=zen5 threads=1' | FileCheck %s --check-prefix=CODE
// RUN: not chimera-opt %s --chimera-shard='target=zen5 processes=4' 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not chimera-opt %s --chimera-pipeline='target=a100' 2>&1 | FileCheck %s --check-prefix=GPU

// COUNT: error: has 2 processes, but 'processes' is 4
// GPU: error: the back end nvidia compiles for one process alone

#rows = affine_map<(d0, d1) -> (d0, d1)>
#bias = affine_map<(d0, d1) -> (d1)>
shard.grid @grid(shape = 2)

// CHECK: collective {{.*}}all-reduce of 2 processes: 512 bytes from each, 512 on the wire

// CHECK-NOT: shard.
// CHECK-LABEL: func @mlp(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<8x16xf32> {chimera.part = #chimera.part<shape = [8, 16], axes = {{\[\[\], \[\]\]}}, grid = [2]>}
// CHECK-SAME: %[[V:[^ ]*]]: tensor<16x32xf32> {chimera.constant, chimera.part = #chimera.part<shape = [16, 64], axes = {{\[\[\], \[0\]\]}}, grid = [2]>}
// CHECK-SAME: %[[B:[^ ]*]]: tensor<32xf32> {chimera.part = #chimera.part<shape = [64], axes = {{\[\[0\]\]}}, grid = [2]>}
// CHECK-SAME: %[[W:[^ ]*]]: tensor<32x16xf32>
// CHECK-SAME: -> (tensor<8x16xf32> {chimera.part
// CHECK: chimera.check_grid [2]
// CHECK: linalg.matmul ins(%[[X]], %[[V]] : {{.*}}) outs({{.*}} : tensor<8x32xf32>)
// CHECK: %[[PART:.*]] = linalg.matmul ins(%{{.*}}, %[[W]] : {{.*}}) outs({{.*}} : tensor<8x16xf32>)
// CHECK: %[[SUM:.*]] = chimera.all_reduce sum outs(%[[PART]] : tensor<8x16xf32>) along [0] of 2
// CHECK: return %[[SUM]]

// CODE-LABEL: llvm.func @mlp(
// CODE: llvm.call @chimera_check_grid
// CODE: llvm.call @chimera_all_reduce
func.func @mlp(%x: tensor<8x16xf32>, %v: tensor<16x64xf32> {chimera.constant}, %b: tensor<64xf32>,
               %w: tensor<64x16xf32> {chimera.constant}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %first = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %second = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %v0 = shard.shard %v to %second : tensor<16x64xf32>
  %w0 = shard.shard %w to %first : tensor<64x16xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %h = linalg.matmul ins(%x, %v0 : tensor<8x16xf32>, tensor<16x64xf32>) outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  %r = linalg.generic {indexing_maps = [#rows, #bias, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%h, %b : tensor<8x64xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%r, %w0 : tensor<8x64xf32>, tensor<64x16xf32>) outs(%f1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y0 = shard.shard %y to %whole : tensor<8x16xf32>
  return %y0 : tensor<8x16xf32>
}
