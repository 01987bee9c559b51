// Sizes at which nothing divides anything, and extents of one.

// RUN: chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: chimera-run %s '--entry=*' --json=- --fuse=auto | FileCheck %s

// CHECK: "functions": [
// CHECK: "chains": [],
// CHECK-NEXT: "entry": "m1_k1_l1_n1"
// CHECK: "passed": true
// CHECK: "operators": 1,
// CHECK: "entry": "m1_k7_l49_n1"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "m1_k196_l7_n513"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "m49_k513_l1_n7"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "m513_k7_l49_n1"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "m197_k49_l7_n196"
// CHECK: "passed": true
// ALWAYS: "operators": 2,
// ALWAYS: "verdict": "fused"
// CHECK: "entry": "m513_k49_l197_n7"
// CHECK: "passed": true

func.func @m1_k1_l1_n1(%a: tensor<1x1xf32>, %b: tensor<1x1xf32>, %d: tensor<1x1xf32>)
    -> tensor<1x1xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<1x1xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1x1xf32>) -> tensor<1x1xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1x1xf32>, tensor<1x1xf32>)
      outs(%c_zero : tensor<1x1xf32>) -> tensor<1x1xf32>
  %e_empty = tensor.empty() : tensor<1x1xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1x1xf32>) -> tensor<1x1xf32>
  %e = linalg.matmul ins(%c, %d : tensor<1x1xf32>, tensor<1x1xf32>)
      outs(%e_zero : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %e : tensor<1x1xf32>
}

func.func @m1_k7_l49_n1(%a: tensor<1x7xf32>, %b: tensor<7x49xf32>, %d: tensor<49x1xf32>)
    -> tensor<1x1xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<1x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1x49xf32>) -> tensor<1x49xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1x7xf32>, tensor<7x49xf32>)
      outs(%c_zero : tensor<1x49xf32>) -> tensor<1x49xf32>
  %e_empty = tensor.empty() : tensor<1x1xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1x1xf32>) -> tensor<1x1xf32>
  %e = linalg.matmul ins(%c, %d : tensor<1x49xf32>, tensor<49x1xf32>)
      outs(%e_zero : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %e : tensor<1x1xf32>
}

func.func @m1_k196_l7_n513(%a: tensor<1x196xf32>, %b: tensor<196x7xf32>, %d: tensor<7x513xf32>)
    -> tensor<1x513xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<1x7xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1x7xf32>) -> tensor<1x7xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1x196xf32>, tensor<196x7xf32>)
      outs(%c_zero : tensor<1x7xf32>) -> tensor<1x7xf32>
  %e_empty = tensor.empty() : tensor<1x513xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1x513xf32>) -> tensor<1x513xf32>
  %e = linalg.matmul ins(%c, %d : tensor<1x7xf32>, tensor<7x513xf32>)
      outs(%e_zero : tensor<1x513xf32>) -> tensor<1x513xf32>
  return %e : tensor<1x513xf32>
}

func.func @m49_k513_l1_n7(%a: tensor<49x513xf32>, %b: tensor<513x1xf32>, %d: tensor<1x7xf32>)
    -> tensor<49x7xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<49x1xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<49x1xf32>) -> tensor<49x1xf32>
  %c = linalg.matmul ins(%a, %b : tensor<49x513xf32>, tensor<513x1xf32>)
      outs(%c_zero : tensor<49x1xf32>) -> tensor<49x1xf32>
  %e_empty = tensor.empty() : tensor<49x7xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<49x7xf32>) -> tensor<49x7xf32>
  %e = linalg.matmul ins(%c, %d : tensor<49x1xf32>, tensor<1x7xf32>)
      outs(%e_zero : tensor<49x7xf32>) -> tensor<49x7xf32>
  return %e : tensor<49x7xf32>
}

func.func @m513_k7_l49_n1(%a: tensor<513x7xf32>, %b: tensor<7x49xf32>, %d: tensor<49x1xf32>)
    -> tensor<513x1xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<513x49xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<513x49xf32>) -> tensor<513x49xf32>
  %c = linalg.matmul ins(%a, %b : tensor<513x7xf32>, tensor<7x49xf32>)
      outs(%c_zero : tensor<513x49xf32>) -> tensor<513x49xf32>
  %e_empty = tensor.empty() : tensor<513x1xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<513x1xf32>) -> tensor<513x1xf32>
  %e = linalg.matmul ins(%c, %d : tensor<513x49xf32>, tensor<49x1xf32>)
      outs(%e_zero : tensor<513x1xf32>) -> tensor<513x1xf32>
  return %e : tensor<513x1xf32>
}

func.func @m197_k49_l7_n196(%a: tensor<197x49xf32>, %b: tensor<49x7xf32>, %d: tensor<7x196xf32>)
    -> tensor<197x196xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<197x7xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<197x7xf32>) -> tensor<197x7xf32>
  %c = linalg.matmul ins(%a, %b : tensor<197x49xf32>, tensor<49x7xf32>)
      outs(%c_zero : tensor<197x7xf32>) -> tensor<197x7xf32>
  %e_empty = tensor.empty() : tensor<197x196xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<197x196xf32>) -> tensor<197x196xf32>
  %e = linalg.matmul ins(%c, %d : tensor<197x7xf32>, tensor<7x196xf32>)
      outs(%e_zero : tensor<197x196xf32>) -> tensor<197x196xf32>
  return %e : tensor<197x196xf32>
}

func.func @m513_k49_l197_n7(%a: tensor<513x49xf32>, %b: tensor<49x197xf32>, %d: tensor<197x7xf32>)
    -> tensor<513x7xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<513x197xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<513x197xf32>) -> tensor<513x197xf32>
  %c = linalg.matmul ins(%a, %b : tensor<513x49xf32>, tensor<49x197xf32>)
      outs(%c_zero : tensor<513x197xf32>) -> tensor<513x197xf32>
  %e_empty = tensor.empty() : tensor<513x7xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<513x7xf32>) -> tensor<513x7xf32>
  %e = linalg.matmul ins(%c, %d : tensor<513x197xf32>, tensor<197x7xf32>)
      outs(%e_zero : tensor<513x7xf32>) -> tensor<513x7xf32>
  return %e : tensor<513x7xf32>
}
