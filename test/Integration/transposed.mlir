// Operands, intermediates and results stored the other way round.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "operands"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "intermediate"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "result"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "right"
// CHECK: "passed": true

// A stored [k][m], B stored [l][k], D stored [n][l].
func.func @operands(%a: tensor<77x49xf32>, %b: tensor<196x77xf32>, %d: tensor<33x196xf32>) -> tensor<49x33xf32> {
  %zero = arith.constant 0.0 : f32
  %at_empty = tensor.empty() : tensor<49x77xf32>
  %at = linalg.transpose ins(%a : tensor<77x49xf32>) outs(%at_empty : tensor<49x77xf32>) permutation = [1, 0]
  %bt_empty = tensor.empty() : tensor<77x196xf32>
  %bt = linalg.transpose ins(%b : tensor<196x77xf32>) outs(%bt_empty : tensor<77x196xf32>) permutation = [1, 0]
  %dt_empty = tensor.empty() : tensor<196x33xf32>
  %dt = linalg.transpose ins(%d : tensor<33x196xf32>) outs(%dt_empty : tensor<196x33xf32>) permutation = [1, 0]
  %c_empty = tensor.empty() : tensor<49x196xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x196xf32>) -> tensor<49x196xf32>
  %c = linalg.matmul ins(%at, %bt : tensor<49x77xf32>, tensor<77x196xf32>)
      outs(%c_zero : tensor<49x196xf32>) -> tensor<49x196xf32>
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %e = linalg.matmul ins(%c, %dt : tensor<49x196xf32>, tensor<196x33xf32>)
      outs(%e_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e : tensor<49x33xf32>
}

// The product is transposed before it is used.
func.func @intermediate(%a: tensor<196x77xf32>, %b: tensor<77x49xf32>, %d: tensor<196x33xf32>) -> tensor<49x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<196x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<196x49xf32>) -> tensor<196x49xf32>
  %c = linalg.matmul ins(%a, %b : tensor<196x77xf32>, tensor<77x49xf32>)
      outs(%c_zero : tensor<196x49xf32>) -> tensor<196x49xf32>
  %ct_empty = tensor.empty() : tensor<49x196xf32>
  %ct = linalg.transpose ins(%c : tensor<196x49xf32>) outs(%ct_empty : tensor<49x196xf32>) permutation = [1, 0]
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %e = linalg.matmul ins(%ct, %d : tensor<49x196xf32>, tensor<196x33xf32>)
      outs(%e_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e : tensor<49x33xf32>
}

// The result is.
func.func @result(%a: tensor<49x77xf32>, %b: tensor<77x196xf32>, %d: tensor<196x33xf32>) -> tensor<33x49xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x196xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x196xf32>) -> tensor<49x196xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x77xf32>, tensor<77x196xf32>)
      outs(%c_zero : tensor<49x196xf32>) -> tensor<49x196xf32>
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x196xf32>, tensor<196x33xf32>)
      outs(%e_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  %et_empty = tensor.empty() : tensor<33x49xf32>
  %et = linalg.transpose ins(%e : tensor<49x33xf32>) outs(%et_empty : tensor<33x49xf32>) permutation = [1, 0]
  return %et : tensor<33x49xf32>
}

// The product is the right operand of the next.
func.func @right(%a: tensor<196x77xf32>, %b: tensor<77x33xf32>, %d: tensor<49x196xf32>) -> tensor<49x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<196x33xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<196x33xf32>) -> tensor<196x33xf32>
  %c = linalg.matmul ins(%a, %b : tensor<196x77xf32>, tensor<77x33xf32>)
      outs(%c_zero : tensor<196x33xf32>) -> tensor<196x33xf32>
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %e = linalg.matmul ins(%d, %c : tensor<49x196xf32>, tensor<196x33xf32>)
      outs(%e_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e : tensor<49x33xf32>
}
