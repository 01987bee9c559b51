// A gated layer, silu(x * W1) * (x * W3) times W2, as exporters write it: three
// contractions in one chain.

// RUN: chimera-run %s --no-time --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s --no-time --json=- --fuse=auto | FileCheck %s --check-prefixes=CHECK,AUTO

// ALWAYS: "operators": 3,
// ALWAYS: "verdict": "fused"
// AUTO: "verdict": "{{fused|split}}"
// CHECK: "contractions_outside_chains": 0,
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

#map = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<196x49xf32>, %w1: tensor<130x49xf32>, %w3: tensor<130x49xf32>, %w2: tensor<49x130xf32>)
    -> tensor<196x49xf32> {
  %zero = arith.constant 0.0 : f32
  %t1_empty = tensor.empty() : tensor<49x130xf32>
  %t1 = linalg.transpose ins(%w1 : tensor<130x49xf32>) outs(%t1_empty : tensor<49x130xf32>) permutation = [1, 0]
  %g_empty = tensor.empty() : tensor<196x130xf32>
  %g_zero = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<196x130xf32>) -> tensor<196x130xf32>
  %g = linalg.matmul ins(%x, %t1 : tensor<196x49xf32>, tensor<49x130xf32>)
      outs(%g_zero : tensor<196x130xf32>) -> tensor<196x130xf32>
  %s_init = tensor.empty() : tensor<196x130xf32>
  %s = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<196x130xf32>) outs(%s_init : tensor<196x130xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %0 = arith.negf %x0 : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %y = arith.divf %x0, %2 : f32
    linalg.yield %y : f32
  } -> tensor<196x130xf32>
  %t3_empty = tensor.empty() : tensor<49x130xf32>
  %t3 = linalg.transpose ins(%w3 : tensor<130x49xf32>) outs(%t3_empty : tensor<49x130xf32>) permutation = [1, 0]
  %u_empty = tensor.empty() : tensor<196x130xf32>
  %u_zero = linalg.fill ins(%zero : f32) outs(%u_empty : tensor<196x130xf32>) -> tensor<196x130xf32>
  %u = linalg.matmul ins(%x, %t3 : tensor<196x49xf32>, tensor<49x130xf32>)
      outs(%u_zero : tensor<196x130xf32>) -> tensor<196x130xf32>
  %h_init = tensor.empty() : tensor<196x130xf32>
  %h = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u : tensor<196x130xf32>, tensor<196x130xf32>) outs(%h_init : tensor<196x130xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %y = arith.mulf %x0, %x1 : f32
    linalg.yield %y : f32
  } -> tensor<196x130xf32>
  %t2_empty = tensor.empty() : tensor<130x49xf32>
  %t2 = linalg.transpose ins(%w2 : tensor<49x130xf32>) outs(%t2_empty : tensor<130x49xf32>) permutation = [1, 0]
  %e_empty = tensor.empty() : tensor<196x49xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<196x49xf32>) -> tensor<196x49xf32>
  %e = linalg.matmul ins(%h, %t2 : tensor<196x130xf32>, tensor<130x49xf32>)
      outs(%e_zero : tensor<196x49xf32>) -> tensor<196x49xf32>
  return %e : tensor<196x49xf32>
}
