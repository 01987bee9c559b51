// RUN: chimera-opt %s --chimera-decompose-softmax | FileCheck %s

// CHECK-LABEL: func @rows
// CHECK-SAME:    (%[[S:.*]]: tensor<4x8xf32>)
// CHECK-NOT:     linalg.softmax
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x8xf32>)
// CHECK:           arith.maxnumf
// CHECK:         } -> tensor<4xf32>
// CHECK:         %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[S]], %[[MAX]] :
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] :
// CHECK:         } -> tensor<4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[EXP]], %[[SUM]] :
// CHECK:         ^bb0(%[[E:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: f32):
// CHECK:           %[[SHARE:.*]] = arith.divf %{{.*}}, %[[S]]
// CHECK-NEXT:      arith.mulf %[[E]], %[[SHARE]]
func.func @rows(%s: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %init = tensor.empty() : tensor<4x8xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x8xf32>)
                                   outs(%init : tensor<4x8xf32>)
         -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// Along columns each lane has a sum of its own, and in f16 the reciprocal would be
// rounded too.

// CHECK-LABEL: func @columns
// CHECK:         linalg.generic
// CHECK:           arith.divf %in
// CHECK-NOT:       arith.mulf
// CHECK:         return
func.func @columns(%s: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %init = tensor.empty() : tensor<4x8xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<4x8xf32>)
                                   outs(%init : tensor<4x8xf32>)
         -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// CHECK-LABEL: func @narrow
// CHECK:           arith.divf %in
// CHECK-NOT:       arith.mulf
// CHECK:         return
func.func @narrow(%s: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %init = tensor.empty() : tensor<4x8xf16>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x8xf16>)
                                   outs(%init : tensor<4x8xf16>)
         -> tensor<4x8xf16>
  return %p : tensor<4x8xf16>
}

// Only tensors.
// CHECK-LABEL: func @memory
// CHECK:         linalg.softmax
func.func @memory(%s: memref<4x8xf32>, %p: memref<4x8xf32>) {
  linalg.softmax dimension(1) ins(%s : memref<4x8xf32>)
                              outs(%p : memref<4x8xf32>)
  return
}
