// Narrow operands with sums in f32: a chain for targets that have code for them.
// What narrows the sums is the elementwise operation after each contraction.
//
// RUN: chimera-opt %s --chimera-form-chains=narrow | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains=narrow --chimera-schedule="target=ascend910 fuse=always" --chimera-tile=pad-rows=false --canonicalize | FileCheck %s --check-prefix=TILED
// RUN: chimera-opt %s --chimera-form-chains | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: chimera.chain

// CHECK-LABEL: func @mlp
// CHECK: chimera.chain ins(
// CHECK-SAME: tensor<64x48xf16>, tensor<48x80xf16>, tensor<80xf16>, tensor<80x32xf16>
// CHECK: linalg.generic
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: } -> tensor<64x80xf32>
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: arith.truncf
// CHECK: } -> tensor<64x80xf16>
// CHECK: chimera.yield %{{.*}} : tensor<64x32xf16>

// Sums are in buffers of their own, results in the narrow type.
// TILED-LABEL: func @mlp
// TILED: scf.forall
// TILED-DAG: alloc_tensor() : tensor<{{[0-9]+}}x80xf32>
// TILED-DAG: alloc_tensor() : tensor<{{[0-9]+}}x80xf16>
// TILED: chimera.block "gemm0" ins(%{{.*}}, %{{.*}} : tensor<{{[0-9]+}}x48xf16>, tensor<48x80xf16>) outs(%{{.*}} : tensor<{{[0-9]+}}x80xf32>)
// TILED: chimera.block "gemm0" ins({{.*}} : tensor<80xf16>, tensor<{{[0-9]+}}x80xf32>) outs(%{{.*}} : tensor<{{[0-9]+}}x80xf16>)
// TILED: chimera.block "gemm1" ins(%{{.*}}, %{{.*}} : tensor<{{[0-9]+}}x80xf16>, tensor<80x32xf16>) outs(%{{.*}} : tensor<{{[0-9]+}}x32xf32>)
// TILED: chimera.block "gemm1" ins({{.*}}xf32>) outs(%{{.*}}xf16>)
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @mlp(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>, %b: tensor<80xf16>,
               %v: tensor<80x32xf16>) -> tensor<64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %h0 = tensor.empty() : tensor<64x80xf16>
  %h = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c, %b : tensor<64x80xf32>, tensor<80xf16>) outs(%h0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %0 = arith.extf %bias : f16 to f32
    %1 = arith.addf %in, %0 : f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<64x80xf16>
  %e0 = tensor.empty() : tensor<64x32xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e = linalg.matmul ins(%h, %v : tensor<64x80xf16>, tensor<80x32xf16>)
      outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r0 = tensor.empty() : tensor<64x32xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<64x32xf32>) outs(%r0 : tensor<64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}
