// One matrix product feeding another.

// RUN: chimera-run %s --no-time --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s --no-time --json=- --fuse=auto | FileCheck %s --check-prefixes=CHECK,AUTO

// CHECK-NOT: "verdict"
// ALWAYS: "verdict": "fused"
// AUTO: "verdict": "{{fused|split}}"
// CHECK: "contractions_outside_chains": 0,
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

func.func @main(%a: tensor<3x196x49xf32>, %b: tensor<3x49x77xf32>, %d: tensor<3x77x33xf32>)
    -> tensor<3x196x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<3x196x77xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<3x196x77xf32>) -> tensor<3x196x77xf32>
  %c = linalg.batch_matmul ins(%a, %b : tensor<3x196x49xf32>, tensor<3x49x77xf32>)
      outs(%c_zero : tensor<3x196x77xf32>) -> tensor<3x196x77xf32>
  %e_empty = tensor.empty() : tensor<3x196x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<3x196x33xf32>) -> tensor<3x196x33xf32>
  %e = linalg.batch_matmul ins(%c, %d : tensor<3x196x77xf32>, tensor<3x77x33xf32>)
      outs(%e_zero : tensor<3x196x33xf32>) -> tensor<3x196x33xf32>
  return %e : tensor<3x196x33xf32>
}
