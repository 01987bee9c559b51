// RUN: chimera-run %s --threads=2 --no-time | FileCheck %s

// One new row for each of three heads, which two threads cannot share: they
// share the keys and values.

// CHECK: for l by {{[0-9]+}} of 6000  (L{{[0-9]}}, parallel, combined)
// CHECK: error {{.*}} against plain loops in f64

#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
func.func @decode(%q: tensor<3x1x64xf32>, %k: tensor<3x6000x64xf32>, %v: tensor<3x6000x64xf32>) -> tensor<3x1x64xf32> {
  %zero = arith.constant 0.0 : f32
  %s_init = tensor.empty() : tensor<3x1x6000xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<3x1x6000xf32>) -> tensor<3x1x6000xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x1x64xf32>, tensor<3x6000x64xf32>) outs(%s_zero : tensor<3x1x6000xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<3x1x6000xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<3x1x6000xf32>) outs(%s_init : tensor<3x1x6000xf32>) -> tensor<3x1x6000xf32>
  %o_init = tensor.empty() : tensor<3x1x64xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<3x1x64xf32>) -> tensor<3x1x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<3x1x6000xf32>, tensor<3x6000x64xf32>) outs(%o_zero : tensor<3x1x64xf32>) -> tensor<3x1x64xf32>
  return %o : tensor<3x1x64xf32>
}
