// RUN: chimera-opt %s --chimera-schedule=target=h200 --chimera-tile --canonicalize --cse --convert-chimera-to-nvvm=target=h200 --canonicalize --cse | FileCheck %s

// The left factor is copied once, a block for each 32 rows; the others two
// iterations at a time. What the first product makes never leaves the registers.

// CHECK-LABEL: func @chain
// CHECK-DAG:     %[[GRID:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[BLOCK:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[SHARED:.*]] = arith.constant 10240 : i32
// CHECK:         %[[RESULT:.*]] = memref.alloc() : memref<128x32xf16>
// CHECK:         gpu.launch_func @chain_kernels::@chain blocks in (%[[GRID]], {{.*}}) threads in (%[[BLOCK]], {{.*}}) dynamic_shared_memory_size %[[SHARED]]
// CHECK:         bufferization.to_tensor %[[RESULT]] restrict writable

// CHECK-LABEL: gpu.func @chain
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>
// CHECK-DAG:     %[[LHS:.*]] = memref.view {{.*}} to memref<1x32x32xf16, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[FIRST:.*]] = memref.view {{.*}} to memref<2x32x32xf16, #gpu.address_space<workgroup>>
// CHECK:         nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<128x32xf16> to memref<1x32x32xf16
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         scf.for {{.*}} -> (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>)
// CHECK:           nvvm.cp.async.wait.group 0
// CHECK-NEXT:      gpu.barrier
// CHECK:           scf.if
// CHECK:             nvgpu.device_async_copy
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           nvgpu.ldmatrix %[[LHS]]{{.*}} {numTiles = 4 : i32, transpose = false}
// CHECK:           nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = true}
// CHECK-COUNT-8:   nvvm.mma.sync
// CHECK-COUNT-4:   arith.truncf {{.*}} : vector<2x2xf32> to vector<2x2xf16>
// CHECK-COUNT-8:   nvvm.mma.sync
// CHECK:           scf.yield
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK:         vector.store {{.*}} {alignment = 16 : i64} : memref<128x32xf16>, vector<8xf16>
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK:         vector.store {{.*}} {alignment = 16 : i64} : memref<128x32xf16>, vector<8xf16>
// CHECK:         gpu.return
#id = affine_map<(i, j) -> (i, j)>
func.func @chain(%x: tensor<128x32xf16>, %w: tensor<32x64xf16>, %v: tensor<64x32xf16>) -> tensor<128x32xf16> {
  %r = chimera.chain ins(%x, %w, %v : tensor<128x32xf16>, tensor<32x64xf16>, tensor<64x32xf16>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 32, l = 32>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<128x32xf16>, %w0: tensor<32x64xf16>, %v0: tensor<64x32xf16>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<128x64xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<128x64xf32>) -> tensor<128x64xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<128x32xf16>, tensor<32x64xf16>)
        outs(%c1 : tensor<128x64xf32>) -> tensor<128x64xf32>
    %h0 = tensor.empty() : tensor<128x64xf16>
    %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c : tensor<128x64xf32>) outs(%h0 : tensor<128x64xf16>) {
    ^bb0(%in: f32, %out: f16):
      %0 = arith.truncf %in : f32 to f16
      linalg.yield %0 : f16
    } -> tensor<128x64xf16>
    %e0 = tensor.empty() : tensor<128x32xf32>
    %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128x32xf32>) -> tensor<128x32xf32>
    %e = linalg.matmul ins(%h, %v0 : tensor<128x64xf16>, tensor<64x32xf16>)
        outs(%e1 : tensor<128x32xf32>) -> tensor<128x32xf32>
    %r0 = tensor.empty() : tensor<128x32xf16>
    %r1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%e : tensor<128x32xf32>) outs(%r0 : tensor<128x32xf16>) {
    ^bb0(%in: f32, %out: f16):
      %0 = arith.truncf %in : f32 to f16
      linalg.yield %0 : f16
    } -> tensor<128x32xf16>
    chimera.yield %r1 : tensor<128x32xf16>
  } -> tensor<128x32xf16>
  return %r : tensor<128x32xf16>
}
