// RUN: chimera-opt %s --chimera-separate-results | FileCheck %s

// CHECK-LABEL: func @twice
// CHECK-SAME:    (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<?xf32>)
// CHECK:         %[[A1:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK:         %[[B1:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK:         return %[[A]], %[[B]], %[[A1]], %[[B1]]
func.func @twice(%a: tensor<4xf32>, %b: tensor<?xf32>)
    -> (tensor<4xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>) {
  return %a, %b, %a, %b : tensor<4xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>
}
