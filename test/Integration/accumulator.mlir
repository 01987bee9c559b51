// Accumulators that do not start from zero.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "argument"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "constant"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "negative_zero"
// CHECK: "passed": true
// ALWAYS: "operators": 3,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "chained"
// CHECK: "passed": true

// Accumulators that arrive from outside; the second is not to be written to.
func.func @argument(%a: tensor<49x77xf32>, %b: tensor<77x65xf32>, %c0: tensor<49x65xf32>, %d: tensor<65x33xf32>, %e0: tensor<49x33xf32>)
    -> (tensor<49x33xf32>, tensor<49x33xf32>) {
  %c = linalg.matmul ins(%a, %b : tensor<49x77xf32>, tensor<77x65xf32>)
      outs(%c0 : tensor<49x65xf32>) -> tensor<49x65xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x65xf32>, tensor<65x33xf32>)
      outs(%e0 : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e, %e0 : tensor<49x33xf32>, tensor<49x33xf32>
}

// One that is a constant other than zero, one that is a broadcast bias.
func.func @constant(%a: tensor<49x77xf32>, %b: tensor<77x65xf32>, %d: tensor<65x33xf32>, %bias: tensor<33xf32>) -> tensor<49x33xf32> {
  %half = arith.constant 0.5 : f32
  %c_empty = tensor.empty() : tensor<49x65xf32>
  %c_zero = linalg.fill ins(%half : f32) outs(%c_empty : tensor<49x65xf32>) -> tensor<49x65xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x77xf32>, tensor<77x65xf32>)
      outs(%c_zero : tensor<49x65xf32>) -> tensor<49x65xf32>
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_bias = linalg.broadcast ins(%bias : tensor<33xf32>) outs(%e_empty : tensor<49x33xf32>) dimensions = [0]
  %e = linalg.matmul ins(%c, %d : tensor<49x65xf32>, tensor<65x33xf32>)
      outs(%e_bias : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e : tensor<49x33xf32>
}

// -0.0 is not 0.0: a sum that starts from it keeps its sign.
func.func @negative_zero(%a: tensor<49x77xf32>, %b: tensor<77x65xf32>, %d: tensor<65x33xf32>) -> tensor<49x33xf32> {
  %minus = arith.constant -0.0 : f32
  %c_empty = tensor.empty() : tensor<49x65xf32>
  %c_zero = linalg.fill ins(%minus : f32) outs(%c_empty : tensor<49x65xf32>) -> tensor<49x65xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x77xf32>, tensor<77x65xf32>)
      outs(%c_zero : tensor<49x65xf32>) -> tensor<49x65xf32>
  %e_empty = tensor.empty() : tensor<49x33xf32>
  %e_zero = linalg.fill ins(%minus : f32) outs(%e_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x65xf32>, tensor<65x33xf32>)
      outs(%e_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %e : tensor<49x33xf32>
}

// The second contraction adds to the result of the first.
func.func @chained(%a: tensor<49x77xf32>, %b: tensor<77x65xf32>, %d: tensor<49x77xf32>, %e: tensor<77x65xf32>, %f: tensor<65x33xf32>) -> tensor<49x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x65xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x65xf32>) -> tensor<49x65xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x77xf32>, tensor<77x65xf32>)
      outs(%c_zero : tensor<49x65xf32>) -> tensor<49x65xf32>
  %g = linalg.matmul ins(%d, %e : tensor<49x77xf32>, tensor<77x65xf32>)
      outs(%c : tensor<49x65xf32>) -> tensor<49x65xf32>
  %h_empty = tensor.empty() : tensor<49x33xf32>
  %h_zero = linalg.fill ins(%zero : f32) outs(%h_empty : tensor<49x33xf32>) -> tensor<49x33xf32>
  %h = linalg.matmul ins(%g, %f : tensor<49x65xf32>, tensor<65x33xf32>)
      outs(%h_zero : tensor<49x33xf32>) -> tensor<49x33xf32>
  return %h : tensor<49x33xf32>
}
