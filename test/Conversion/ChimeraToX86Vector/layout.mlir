// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s

// The matrix is read once: it is not copied into another layout, even if there
// is more than one row.

// CHECK-LABEL: func @few_rows
// CHECK-NOT:     micro_kernel pack
// CHECK:         chimera.micro_kernel contraction {{.*}}ins(%{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<16x64xf32>)
func.func @few_rows(%a: tensor<4x64xf32>, %b: tensor<16x64xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<4x64xf32>, tensor<16x64xf32>)
      outs(%c : tensor<4x16xf32>) extents [[4], [16], [64]] {
  ^bb0(%x: tensor<4x64xf32>, %y: tensor<16x64xf32>, %z: tensor<4x16xf32>):
    %1 = linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<4x64xf32>, tensor<16x64xf32>) outs(%z : tensor<4x16xf32>) {
    ^bb0(%p: f32, %q: f32, %r: f32):
      %2 = arith.mulf %p, %q : f32
      %3 = arith.addf %r, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<4x16xf32>
    chimera.yield %1 : tensor<4x16xf32>
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Five rows use each element often enough.

// CHECK-LABEL: func @more_rows
// CHECK:         micro_kernel pack
func.func @more_rows(%a: tensor<?x64xf32>, %b: tensor<16x64xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<?x64xf32>, tensor<16x64xf32>)
      outs(%c : tensor<?x16xf32>) extents [[5, 1], [16], [64]] {
  ^bb0(%x: tensor<?x64xf32>, %y: tensor<16x64xf32>, %z: tensor<?x16xf32>):
    %1 = linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<?x64xf32>, tensor<16x64xf32>) outs(%z : tensor<?x16xf32>) {
    ^bb0(%p: f32, %q: f32, %r: f32):
      %2 = arith.mulf %p, %q : f32
      %3 = arith.addf %r, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<?x16xf32>
    chimera.yield %1 : tensor<?x16xf32>
  } -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
