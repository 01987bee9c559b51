// Attention whose scores go through memory several times if it is not fused, on
// pages that are new in each call: fused on machines of several kinds, whether
// they have figures of their own for that or not.

// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=1" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=2" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=2" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=granite-rapids threads=1" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=granite-rapids threads=2" | FileCheck %s

// CHECK-LABEL: func.func @prefill
// CHECK-COUNT-1: plan(<fused,
// CHECK-NOT:     plan(
#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
func.func @prefill(%q: tensor<8x2048x128xf32>, %k: tensor<8x2048x128xf32>, %v: tensor<8x2048x128xf32>) -> tensor<8x2048x128xf32> {
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty() : tensor<8x2048x2048xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<8x2048x2048xf32>) -> tensor<8x2048x2048xf32>
  %scores = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<8x2048x128xf32>, tensor<8x2048x128xf32>) outs(%s_zero : tensor<8x2048x2048xf32>) -> tensor<8x2048x2048xf32>
  %p = linalg.softmax dimension(2) ins(%scores : tensor<8x2048x2048xf32>) outs(%s_empty : tensor<8x2048x2048xf32>) -> tensor<8x2048x2048xf32>
  %o_empty = tensor.empty() : tensor<8x2048x128xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_empty : tensor<8x2048x128xf32>) -> tensor<8x2048x128xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x2048x2048xf32>, tensor<8x2048x128xf32>) outs(%o_zero : tensor<8x2048x128xf32>) -> tensor<8x2048x128xf32>
  return %o : tensor<8x2048x128xf32>
}

// CHECK-LABEL: func.func @odd
// CHECK-COUNT-1: plan(<fused,
// CHECK-NOT:     plan(
func.func @odd(%q: tensor<4x577x128xf32>, %k: tensor<4x577x128xf32>, %v: tensor<4x577x128xf32>) -> tensor<4x577x128xf32> {
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty() : tensor<4x577x577xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<4x577x577xf32>) -> tensor<4x577x577xf32>
  %scores = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x577x128xf32>, tensor<4x577x128xf32>) outs(%s_zero : tensor<4x577x577xf32>) -> tensor<4x577x577xf32>
  %p = linalg.softmax dimension(2) ins(%scores : tensor<4x577x577xf32>) outs(%s_empty : tensor<4x577x577xf32>) -> tensor<4x577x577xf32>
  %o_empty = tensor.empty() : tensor<4x577x128xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_empty : tensor<4x577x128xf32>) -> tensor<4x577x128xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x577x577xf32>, tensor<4x577x128xf32>) outs(%o_zero : tensor<4x577x128xf32>) -> tensor<4x577x128xf32>
  return %o : tensor<4x577x128xf32>
}

// CHECK-LABEL: func.func @few_heads
// CHECK-COUNT-1: plan(<fused,
// CHECK-NOT:     plan(
func.func @few_heads(%q: tensor<4x2048x128xf32>, %k: tensor<4x2048x128xf32>, %v: tensor<4x2048x128xf32>) -> tensor<4x2048x128xf32> {
  %zero = arith.constant 0.0 : f32
  %s_empty = tensor.empty() : tensor<4x2048x2048xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<4x2048x2048xf32>) -> tensor<4x2048x2048xf32>
  %scores = linalg.batch_matmul indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<4x2048x128xf32>, tensor<4x2048x128xf32>) outs(%s_zero : tensor<4x2048x2048xf32>) -> tensor<4x2048x2048xf32>
  %p = linalg.softmax dimension(2) ins(%scores : tensor<4x2048x2048xf32>) outs(%s_empty : tensor<4x2048x2048xf32>) -> tensor<4x2048x2048xf32>
  %o_empty = tensor.empty() : tensor<4x2048x128xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_empty : tensor<4x2048x128xf32>) -> tensor<4x2048x128xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x2048x2048xf32>, tensor<4x2048x128xf32>) outs(%o_zero : tensor<4x2048x128xf32>) -> tensor<4x2048x128xf32>
  return %o : tensor<4x2048x128xf32>
}
