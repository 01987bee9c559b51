// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 fuse=never" | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 fuse=never" --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The softmax is what follows the first operator, and goes with it.

// CHECK-LABEL: func @attention
// CHECK:         %[[P:.*]] = chimera.chain ins(%arg0, %arg1 :
// CHECK-SAME:      plan(<split, "not fused because asked to", operators = 1
// CHECK:           arith.mulf
// CHECK:           chimera.yield
// CHECK:         math.exp
// CHECK:         %[[E:.*]] = chimera.chain ins(
// CHECK-SAME:      plan(<split, "not fused because asked to", operators = 1
// CHECK:           arith.mulf
// CHECK:           arith.divf
// CHECK:           chimera.yield
// CHECK:         return %[[E]]
// REMARK:      remark: [Missed] split | Category:chimera
// REMARK-SAME:   operators run one by one: not fused because asked to
func.func @attention(%q: tensor<8x512x64xf32>, %k: tensor<8x64x512xf32>, %v: tensor<8x512x64xf32>) -> tensor<8x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %2 = linalg.batch_matmul ins(%q, %k : tensor<8x512x64xf32>, tensor<8x64x512xf32>) outs(%1 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %3 = linalg.softmax dimension(2) ins(%2 : tensor<8x512x512xf32>) outs(%0 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %4 = tensor.empty() : tensor<8x512x64xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  %6 = linalg.batch_matmul ins(%3, %v : tensor<8x512x512xf32>, tensor<8x512x64xf32>) outs(%5 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  return %6 : tensor<8x512x64xf32>
}

// What the chain yields may come from any of its operators.

// CHECK-LABEL: func @stored
// CHECK:         %[[C:.*]] = chimera.chain ins(%arg0, %arg1 :
// CHECK:         %[[E:.*]] = chimera.chain ins(%[[C]], %arg2 :
// CHECK:         return %[[E]], %[[C]]
func.func @stored(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = tensor.empty() : tensor<512x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %5, %2 : tensor<512x64xf32>, tensor<512x512xf32>
}

// A chain of one operator is a kernel as it is.

// CHECK-LABEL: func @single
// CHECK:         chimera.chain ins(%arg0, %arg1 :
// CHECK-SAME:      schedule(<
// CHECK-SAME:      plan(<unfused, "there is nothing to fuse it with", operators = 1
// REMARK:      remark: [Passed] single | Category:chimera
// REMARK-SAME:   1 operator planned: there is nothing to fuse it with ({{[0-9.]+}} us)
func.func @single(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512x512xf32> {
  %0 = chimera.chain ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>):
    %zero = arith.constant 0.0 : f32
    %1 = tensor.empty() : tensor<512x512xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%2 : tensor<512x512xf32>) -> tensor<512x512xf32>
    chimera.yield %3 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
