// Dimensions that come and go between contractions.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "reshaped"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "unit_batch"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "vector"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "sliced"
// CHECK: "passed": true

// Reshapes between layers: rows of all batches are rows of one product.
func.func @reshaped(%a: tensor<8x7x28xf32>, %b: tensor<28x49xf32>, %d: tensor<49x33xf32>) -> tensor<8x7x33xf32> {
  %zero = arith.constant 0.0 : f32
  %flat = tensor.collapse_shape %a [[0, 1], [2]] : tensor<8x7x28xf32> into tensor<56x28xf32>
  %c_empty = tensor.empty() : tensor<56x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<56x49xf32>) -> tensor<56x49xf32>
  %c = linalg.matmul ins(%flat, %b : tensor<56x28xf32>, tensor<28x49xf32>)
      outs(%c_zero : tensor<56x49xf32>) -> tensor<56x49xf32>
  %up = tensor.expand_shape %c [[0, 1], [2]] output_shape [8, 7, 49] : tensor<56x49xf32> into tensor<8x7x49xf32>
  %act_init = tensor.empty() : tensor<8x7x49xf32>
  %act = linalg.exp ins(%up : tensor<8x7x49xf32>) outs(%act_init : tensor<8x7x49xf32>) -> tensor<8x7x49xf32>
  %down = tensor.collapse_shape %act [[0, 1], [2]] : tensor<8x7x49xf32> into tensor<56x49xf32>
  %e_empty = tensor.empty() : tensor<56x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<56x33xf32>) -> tensor<56x33xf32>
  %e = linalg.matmul ins(%down, %d : tensor<56x49xf32>, tensor<49x33xf32>)
      outs(%e_zero : tensor<56x33xf32>) -> tensor<56x33xf32>
  %r = tensor.expand_shape %e [[0, 1], [2]] output_shape [8, 7, 33] : tensor<56x33xf32> into tensor<8x7x33xf32>
  return %r : tensor<8x7x33xf32>
}

// A batch of one, as TOSA has it.
func.func @unit_batch(%a: tensor<56x28xf32>, %b: tensor<28x49xf32>, %d: tensor<49x33xf32>) -> tensor<56x33xf32> {
  %zero = arith.constant 0.0 : f32
  %a3 = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 56, 28] : tensor<56x28xf32> into tensor<1x56x28xf32>
  %b3 = tensor.expand_shape %b [[0, 1], [2]] output_shape [1, 28, 49] : tensor<28x49xf32> into tensor<1x28x49xf32>
  %d3 = tensor.expand_shape %d [[0, 1], [2]] output_shape [1, 49, 33] : tensor<49x33xf32> into tensor<1x49x33xf32>
  %c_empty = tensor.empty() : tensor<1x56x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1x56x49xf32>) -> tensor<1x56x49xf32>
  %c = linalg.batch_matmul ins(%a3, %b3 : tensor<1x56x28xf32>, tensor<1x28x49xf32>)
      outs(%c_zero : tensor<1x56x49xf32>) -> tensor<1x56x49xf32>
  %e_empty = tensor.empty() : tensor<1x56x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1x56x33xf32>) -> tensor<1x56x33xf32>
  %e = linalg.batch_matmul ins(%c, %d3 : tensor<1x56x49xf32>, tensor<1x49x33xf32>)
      outs(%e_zero : tensor<1x56x33xf32>) -> tensor<1x56x33xf32>
  %r = tensor.collapse_shape %e [[0, 1], [2]] : tensor<1x56x33xf32> into tensor<56x33xf32>
  return %r : tensor<56x33xf32>
}

// A matrix, then a vector.
func.func @vector(%a: tensor<56x28xf32>, %b: tensor<28x49xf32>, %x: tensor<49xf32>) -> tensor<56xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<56x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<56x49xf32>) -> tensor<56x49xf32>
  %c = linalg.matmul ins(%a, %b : tensor<56x28xf32>, tensor<28x49xf32>)
      outs(%c_zero : tensor<56x49xf32>) -> tensor<56x49xf32>
  %y_empty = tensor.empty() : tensor<56xf32>
  %y_zero = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<56xf32>) -> tensor<56xf32>
  %y = linalg.matvec ins(%c, %x : tensor<56x49xf32>, tensor<49xf32>)
      outs(%y_zero : tensor<56xf32>) -> tensor<56xf32>
  return %y : tensor<56xf32>
}

// One row of a larger tensor.
func.func @sliced(%a: tensor<5x56x28xf32>, %b: tensor<28x49xf32>, %d: tensor<3x49x33xf32>) -> tensor<56x33xf32> {
  %zero = arith.constant 0.0 : f32
  %a2 = tensor.extract_slice %a[2, 0, 0] [1, 56, 28] [1, 1, 1] : tensor<5x56x28xf32> to tensor<56x28xf32>
  %d2 = tensor.extract_slice %d[1, 0, 0] [1, 49, 33] [1, 1, 1] : tensor<3x49x33xf32> to tensor<49x33xf32>
  %c_empty = tensor.empty() : tensor<56x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<56x49xf32>) -> tensor<56x49xf32>
  %c = linalg.matmul ins(%a2, %b : tensor<56x28xf32>, tensor<28x49xf32>)
      outs(%c_zero : tensor<56x49xf32>) -> tensor<56x49xf32>
  %e_empty = tensor.empty() : tensor<56x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<56x33xf32>) -> tensor<56x33xf32>
  %e = linalg.matmul ins(%c, %d2 : tensor<56x49xf32>, tensor<49x33xf32>)
      outs(%e_zero : tensor<56x33xf32>) -> tensor<56x33xf32>
  return %e : tensor<56x33xf32>
}
