// RUN: chimera-opt %s --chimera-map-micro-kernels=target=granite-rapids | FileCheck %s

// Kernels on tiles ask for the next part of an interleaved constant: its words
// and columns are rows of lines, of which each tile of rows takes its share.

memref.global "private" @weights : memref<128x32x2xbf16>

// CHECK-LABEL: func @words(
// CHECK:         scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:           %[[THERE:.*]] = arith.select
// CHECK:           %[[NEXT:.*]] = tensor.extract_slice %{{.*}}[%[[THERE]], 0, 0] [64, 32, 2] [1, 1, 1]
// CHECK:           %[[ROWS:.*]] = tensor.collapse_shape %[[NEXT]] {{\[}}[0], [1, 2]] : tensor<64x32x2xbf16> into tensor<64x64xbf16>
// CHECK:           scf.for %{{.*}} = %c0 to %c64{{.*}} step %c32
// CHECK:             %[[SHARE:.*]] = tensor.extract_slice %[[ROWS]]
// CHECK:             chimera.prefetch %[[SHARE]] within [32, 64]
// CHECK:             chimera.micro_kernel{{ +}}contraction
func.func @words(%a: tensor<64x128x2xbf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %global = memref.get_global @weights : memref<128x32x2xbf16>
  %w = bufferization.to_tensor %global restrict : memref<128x32x2xbf16> to tensor<128x32x2xbf16>
  %0 = scf.for %k = %c0 to %c128 step %c64 iter_args(%sums = %c) -> (tensor<64x32xf32>) {
    %panel = tensor.extract_slice %w[%k, 0, 0] [64, 32, 2] [1, 1, 1] : tensor<128x32x2xbf16> to tensor<64x32x2xbf16>
    %1 = scf.for %m = %c0 to %c64 step %c32 iter_args(%out = %sums) -> (tensor<64x32xf32>) {
      %rows = tensor.extract_slice %a[%m, %k, 0] [32, 64, 2] [1, 1, 1] : tensor<64x128x2xbf16> to tensor<32x64x2xbf16>
      %part = tensor.extract_slice %out[%m, 0] [32, 32] [1, 1] : tensor<64x32xf32> to tensor<32x32xf32>
      %2 = chimera.block "gemm0" ins(%rows, %panel : tensor<32x64x2xbf16>, tensor<64x32x2xbf16>)
          outs(%part : tensor<32x32xf32>) extents [[32], [32], [64], [2]]
          registers <rows = 2, vectors = 2, broadcasts = 0, depth = 1> prefetch <part = 100000, loops = fixed> {
      ^bb0(%x: tensor<32x64x2xbf16>, %y: tensor<64x32x2xbf16>, %z: tensor<32x32xf32>):
        %3 = linalg.generic {indexing_maps = [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
            ins(%x, %y : tensor<32x64x2xbf16>, tensor<64x32x2xbf16>) outs(%z : tensor<32x32xf32>) {
        ^bb0(%l: bf16, %r: bf16, %s: f32):
          %4 = arith.extf %l : bf16 to f32
          %5 = arith.extf %r : bf16 to f32
          %6 = arith.mulf %4, %5 : f32
          %7 = arith.addf %s, %6 : f32
          linalg.yield %7 : f32
        } -> tensor<32x32xf32>
        chimera.yield %3 : tensor<32x32xf32>
      } -> tensor<32x32xf32>
      %8 = tensor.insert_slice %2 into %out[%m, 0] [32, 32] [1, 1] : tensor<32x32xf32> into tensor<64x32xf32>
      scf.yield %8 : tensor<64x32xf32>
    }
    scf.yield %1 : tensor<64x32xf32>
  }
  return %0 : tensor<64x32xf32>
}
