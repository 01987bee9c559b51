// Two layers with biases and a GELU between them, weights stored [out][in].

// RUN: chimera-run %s --no-time --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s --no-time --json=- --fuse=auto | FileCheck %s --check-prefixes=CHECK,AUTO

// CHECK-NOT: "verdict"
// ALWAYS: "verdict": "fused"
// AUTO: "verdict": "{{fused|split}}"
// CHECK: "contractions_outside_chains": 0,
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

#map = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
func.func @main(%x: tensor<197x49xf32>, %w1: tensor<196x49xf32>, %b1: tensor<196xf32>, %w2: tensor<51x196xf32>, %b2: tensor<51xf32>)
    -> tensor<197x51xf32> {
  %zero = arith.constant 0.0 : f32
  %t1_empty = tensor.empty() : tensor<49x196xf32>
  %t1 = linalg.transpose ins(%w1 : tensor<196x49xf32>) outs(%t1_empty : tensor<49x196xf32>) permutation = [1, 0]
  %c_empty = tensor.empty() : tensor<197x196xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<197x196xf32>) -> tensor<197x196xf32>
  %c = linalg.matmul ins(%x, %t1 : tensor<197x49xf32>, tensor<49x196xf32>)
      outs(%c_zero : tensor<197x196xf32>) -> tensor<197x196xf32>
  %h_init = tensor.empty() : tensor<197x196xf32>
  %h = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%c, %b1 : tensor<197x196xf32>, tensor<196xf32>) outs(%h_init : tensor<197x196xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %s = arith.addf %x0, %x1 : f32
    %h = arith.constant 0.70710678 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.mulf %s, %h : f32
    %1 = math.erf %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.mulf %s, %half : f32
    %y = arith.mulf %2, %3 : f32
    linalg.yield %y : f32
  } -> tensor<197x196xf32>
  %t2_empty = tensor.empty() : tensor<196x51xf32>
  %t2 = linalg.transpose ins(%w2 : tensor<51x196xf32>) outs(%t2_empty : tensor<196x51xf32>) permutation = [1, 0]
  %e_empty = tensor.empty() : tensor<197x51xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<197x51xf32>) -> tensor<197x51xf32>
  %e = linalg.matmul ins(%h, %t2 : tensor<197x196xf32>, tensor<196x51xf32>)
      outs(%e_zero : tensor<197x51xf32>) -> tensor<197x51xf32>
  %r_init = tensor.empty() : tensor<197x51xf32>
  %r = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%e, %b2 : tensor<197x51xf32>, tensor<51xf32>) outs(%r_init : tensor<197x51xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %y = arith.addf %x0, %x1 : f32
    linalg.yield %y : f32
  } -> tensor<197x51xf32>
  return %r : tensor<197x51xf32>
}
