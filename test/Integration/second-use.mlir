// Intermediates and arguments with more than one use.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// CHECK: "functions": [
// CHECK: "operators": 1,
// CHECK: "operators": 1,
// CHECK: "entry": "returned"
// CHECK: "passed": true
// CHECK: "operators": 1,
// CHECK: "operators": 1,
// CHECK: "operators": 1,
// CHECK: "entry": "read_twice"
// CHECK: "passed": true
// CHECK: "operators": 1,
// CHECK: "operators": 1,
// CHECK: "entry": "residual"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "skip"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "square"
// CHECK: "passed": true

// The intermediate is a result too.
func.func @returned(%a: tensor<49x50xf32>, %b: tensor<50x51xf32>, %d: tensor<51x52xf32>) -> (tensor<49x51xf32>, tensor<49x52xf32>) {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x51xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x50xf32>, tensor<50x51xf32>)
      outs(%c_zero : tensor<49x51xf32>) -> tensor<49x51xf32>
  %e_empty = tensor.empty() : tensor<49x52xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x52xf32>) -> tensor<49x52xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x51xf32>, tensor<51x52xf32>)
      outs(%e_zero : tensor<49x52xf32>) -> tensor<49x52xf32>
  return %c, %e : tensor<49x51xf32>, tensor<49x52xf32>
}

// Two contractions read it.
func.func @read_twice(%a: tensor<49x50xf32>, %b: tensor<50x51xf32>, %d: tensor<51x52xf32>, %f: tensor<51x52xf32>) -> (tensor<49x52xf32>, tensor<49x52xf32>) {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x51xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x50xf32>, tensor<50x51xf32>)
      outs(%c_zero : tensor<49x51xf32>) -> tensor<49x51xf32>
  %e_empty = tensor.empty() : tensor<49x52xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x52xf32>) -> tensor<49x52xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x51xf32>, tensor<51x52xf32>)
      outs(%e_zero : tensor<49x52xf32>) -> tensor<49x52xf32>
  %g_empty = tensor.empty() : tensor<49x52xf32>
  %g_zero = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<49x52xf32>) -> tensor<49x52xf32>
  %g = linalg.matmul ins(%c, %f : tensor<49x51xf32>, tensor<51x52xf32>)
      outs(%g_zero : tensor<49x52xf32>) -> tensor<49x52xf32>
  return %e, %g : tensor<49x52xf32>, tensor<49x52xf32>
}

// It is added to the result: a residual around the second contraction.
func.func @residual(%a: tensor<49x50xf32>, %b: tensor<50x51xf32>, %d: tensor<51x51xf32>) -> tensor<49x51xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x51xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x50xf32>, tensor<50x51xf32>)
      outs(%c_zero : tensor<49x51xf32>) -> tensor<49x51xf32>
  %e_empty = tensor.empty() : tensor<49x51xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x51xf32>, tensor<51x51xf32>)
      outs(%e_zero : tensor<49x51xf32>) -> tensor<49x51xf32>
  %r = linalg.add ins(%c, %e : tensor<49x51xf32>, tensor<49x51xf32>) outs(%e_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  return %r : tensor<49x51xf32>
}

// The first input is.
func.func @skip(%a: tensor<49x50xf32>, %b: tensor<50x51xf32>, %d: tensor<51x50xf32>) -> tensor<49x50xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x51xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x51xf32>) -> tensor<49x51xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x50xf32>, tensor<50x51xf32>)
      outs(%c_zero : tensor<49x51xf32>) -> tensor<49x51xf32>
  %e_empty = tensor.empty() : tensor<49x50xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x50xf32>) -> tensor<49x50xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x51xf32>, tensor<51x50xf32>)
      outs(%e_zero : tensor<49x50xf32>) -> tensor<49x50xf32>
  %r = linalg.add ins(%a, %e : tensor<49x50xf32>, tensor<49x50xf32>) outs(%e_empty : tensor<49x50xf32>) -> tensor<49x50xf32>
  return %r : tensor<49x50xf32>
}

// One argument is every operand, the product is read on both sides.
func.func @square(%a: tensor<49x49xf32>) -> tensor<49x49xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x49xf32>) -> tensor<49x49xf32>
  %c = linalg.matmul ins(%a, %a : tensor<49x49xf32>, tensor<49x49xf32>)
      outs(%c_zero : tensor<49x49xf32>) -> tensor<49x49xf32>
  %e_empty = tensor.empty() : tensor<49x49xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x49xf32>) -> tensor<49x49xf32>
  %e = linalg.matmul ins(%c, %a : tensor<49x49xf32>, tensor<49x49xf32>)
      outs(%e_zero : tensor<49x49xf32>) -> tensor<49x49xf32>
  %g_empty = tensor.empty() : tensor<49x49xf32>
  %g_zero = linalg.fill ins(%zero : f32) outs(%g_empty : tensor<49x49xf32>) -> tensor<49x49xf32>
  %g = linalg.matmul ins(%e, %e : tensor<49x49xf32>, tensor<49x49xf32>)
      outs(%g_zero : tensor<49x49xf32>) -> tensor<49x49xf32>
  return %g : tensor<49x49xf32>
}
