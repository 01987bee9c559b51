// Narrow operands with sums in f32: a chain for targets that have kernels for them.
// What narrows the sums is the elementwise operation after each contraction.
//
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=ascend910 compiled-only" | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=ascend910 compiled-only" --chimera-schedule="target=ascend910 fuse=always" --chimera-tile --canonicalize | FileCheck %s --check-prefix=TILED
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=zen5 compiled-only" | FileCheck %s

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

// -----

// Attention: the softmax is in f32, its exponentials are narrowed on their way
// to the second product, and what depends on rows alone has moved behind it.
// CHECK-LABEL: func @attention
// CHECK: chimera.chain ins(
// CHECK: %[[SCORES:.*]] = linalg.generic {{.*}}"reduction"]
// CHECK: arith.extf
// CHECK: %[[SCORE:.*]] = linalg.generic {{.*}} ins(%[[SCORES]] : tensor<2x64x96xf32>)
// CHECK: arith.mulf
// CHECK: %[[MAXIMUM:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[SCORE]] :
// CHECK: arith.maximumf
// CHECK: %[[EXPONENTIAL:.*]] = linalg.generic {{.*}} ins(%[[SCORE]], %[[MAXIMUM]] :
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXPONENTIAL]] :
// CHECK: arith.addf
// CHECK: %[[NARROWED:.*]] = linalg.generic {{.*}} ins(%[[EXPONENTIAL]] : tensor<2x64x96xf32>) outs(%{{.*}} : tensor<2x64x96xf16>)
// CHECK: arith.truncf
// CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}} ins(%[[NARROWED]], %{{.*}} : tensor<2x64x96xf16>, tensor<2x96x32xf16>)
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %[[SUM]] :
// CHECK: arith.divf
// CHECK: arith.truncf

// Exponentials leave the scores' buffer for one of their own.
// TILED-LABEL: func @attention
// TILED: scf.forall
// TILED: %[[SCORES:.*]] = chimera.block "gemm0"{{.*}} outs(%{{.*}}xf32>)
// TILED: %[[SCORE:.*]]:2 = chimera.block "gemm0" outs(%[[SCORES]], %{{.*}}xf32>)
// TILED: arith.maximumf
// TILED: %[[NARROWED:.*]]:2 = chimera.block "gemm0" ins(%{{.*}}, %[[SCORE]]#0 : {{.*}}) outs(%{{.*}}, %{{.*}} : tensor<{{.*}}xf16>, tensor<{{.*}}xf32>)
// TILED: %[[EXPONENTIAL:.*]] = math.exp
// TILED: arith.addf %{{.*}}, %[[EXPONENTIAL]]
// TILED: arith.truncf %[[EXPONENTIAL]]
// TILED: chimera.block "gemm1" ins(%[[NARROWED]]#0, %{{.*}} : tensor<{{.*}}xf16>, tensor<{{.*}}x32xf16>)
#point = affine_map<(b, m, n) -> (b, m, n)>
func.func @attention(%q: tensor<2x64x32xf16>, %k: tensor<2x96x32xf16>,
                     %v: tensor<2x96x32xf16>) -> tensor<2x64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %s0 = tensor.empty() : tensor<2x64x96xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  %s2 = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, l, k) -> (b, m, k)>,
                       affine_map<(b, m, l, k) -> (b, l, k)>,
                       affine_map<(b, m, l, k) -> (b, m, l)>]
      ins(%q, %k : tensor<2x64x32xf16>, tensor<2x96x32xf16>)
      outs(%s1 : tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  %s = linalg.generic {indexing_maps = [#point, #point], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s2 : tensor<2x64x96xf32>) outs(%s0 : tensor<2x64x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x96xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x64x96xf32>)
      outs(%s0 : tensor<2x64x96xf32>) -> tensor<2x64x96xf32>
  %h0 = tensor.empty() : tensor<2x64x96xf16>
  %h = linalg.generic {indexing_maps = [#point, #point], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<2x64x96xf32>) outs(%h0 : tensor<2x64x96xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<2x64x96xf16>
  %o0 = tensor.empty() : tensor<2x64x32xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<2x64x96xf16>, tensor<2x96x32xf16>)
      outs(%o1 : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %r0 = tensor.empty() : tensor<2x64x32xf16>
  %r = linalg.generic {indexing_maps = [#point, #point], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o : tensor<2x64x32xf32>) outs(%r0 : tensor<2x64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<2x64x32xf16>
  return %r : tensor<2x64x32xf16>
}
