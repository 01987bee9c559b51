// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s

// Elements that lie apart along the reduction are copied side by side for dot
// products, if enough columns use them.

// CHECK-LABEL: func @copied(
// CHECK-SAME:    %[[A:.*]]: tensor<64x8xbf16>, %[[B:[^:]*]]:
// CHECK:         %[[PAIRS:.*]] = chimera.micro_kernel pack ins(%[[A]] : tensor<64x8xbf16>) outs(%{{.*}} : tensor<8x64xbf16>)
// CHECK:         chimera.micro_kernel contraction ins(%[[PAIRS]], %[[B]] : tensor<8x64xbf16>, tensor<64x32xbf16>)
func.func @copied(%a: tensor<64x8xbf16>, %b: tensor<64x32xbf16>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<64x8xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>)
      extents [[8], [32], [64]] registers <rows = 8, vectors = 2, broadcasts = 1, depth = 4> {
  ^bb0(%x: tensor<64x8xbf16>, %y: tensor<64x32xbf16>, %z: tensor<8x32xf32>):
    %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%x, %y : tensor<64x8xbf16>, tensor<64x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
    chimera.yield %1 : tensor<8x32xf32>
  } -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// CHECK-LABEL: func @in_place(
// CHECK-NOT:     pack
// CHECK:         chimera.micro_kernel contraction
func.func @in_place(%a: tensor<64x8xbf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<64x8xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>)
      extents [[8], [16], [64]] registers <rows = 8, vectors = 1, broadcasts = 1, depth = 4> {
  ^bb0(%x: tensor<64x8xbf16>, %y: tensor<64x16xbf16>, %z: tensor<8x16xf32>):
    %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%x, %y : tensor<64x8xbf16>, tensor<64x16xbf16>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
