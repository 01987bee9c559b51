// Operands without the batch dimension.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "weights"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "broadcast"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "shared"
// CHECK: "passed": true

#a = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
#left = affine_map<(b, m, n, k) -> (m, k)>
#right = affine_map<(b, m, n, k) -> (b, k, n)>

// Weights without a batch dimension, by indexing maps.
func.func @weights(%a: tensor<3x49x33xf32>, %b: tensor<33x66xf32>, %d: tensor<66x17xf32>) -> tensor<3x49x17xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<3x49x66xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<3x49x66xf32>) -> tensor<3x49x66xf32>
  %c = linalg.contract indexing_maps = [#a, #w, #c] ins(%a, %b : tensor<3x49x33xf32>, tensor<33x66xf32>)
      outs(%c_zero : tensor<3x49x66xf32>) -> tensor<3x49x66xf32>
  %e_empty = tensor.empty() : tensor<3x49x17xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  %e = linalg.contract indexing_maps = [#a, #w, #c] ins(%c, %d : tensor<3x49x66xf32>, tensor<66x17xf32>)
      outs(%e_zero : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  return %e : tensor<3x49x17xf32>
}

// Weights broadcast first, as exporters do.
func.func @broadcast(%a: tensor<3x49x33xf32>, %b: tensor<33x66xf32>, %d: tensor<66x17xf32>) -> tensor<3x49x17xf32> {
  %zero = arith.constant 0.0 : f32
  %b_empty = tensor.empty() : tensor<3x33x66xf32>
  %b3 = linalg.broadcast ins(%b : tensor<33x66xf32>) outs(%b_empty : tensor<3x33x66xf32>) dimensions = [0]
  %d_empty = tensor.empty() : tensor<3x66x17xf32>
  %d3 = linalg.broadcast ins(%d : tensor<66x17xf32>) outs(%d_empty : tensor<3x66x17xf32>) dimensions = [0]
  %c_empty = tensor.empty() : tensor<3x49x66xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<3x49x66xf32>) -> tensor<3x49x66xf32>
  %c = linalg.batch_matmul ins(%a, %b3 : tensor<3x49x33xf32>, tensor<3x33x66xf32>)
      outs(%c_zero : tensor<3x49x66xf32>) -> tensor<3x49x66xf32>
  %e_empty = tensor.empty() : tensor<3x49x17xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  %e = linalg.batch_matmul ins(%c, %d3 : tensor<3x49x66xf32>, tensor<3x66x17xf32>)
      outs(%e_zero : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  return %e : tensor<3x49x17xf32>
}

// An intermediate that all batches share.
func.func @shared(%a: tensor<49x33xf32>, %b: tensor<33x66xf32>, %d: tensor<3x66x17xf32>) -> tensor<3x49x17xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x66xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x66xf32>) -> tensor<49x66xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x33xf32>, tensor<33x66xf32>)
      outs(%c_zero : tensor<49x66xf32>) -> tensor<49x66xf32>
  %e_empty = tensor.empty() : tensor<3x49x17xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  %e = linalg.contract indexing_maps = [#left, #right, #c] ins(%c, %d : tensor<49x66xf32>, tensor<3x66x17xf32>)
      outs(%e_zero : tensor<3x49x17xf32>) -> tensor<3x49x17xf32>
  return %e : tensor<3x49x17xf32>
}
