// Of plans that take about as long, that with the least transfers is chosen: the
// first runner-up is predicted to take less, and keeps scores in the third level.

// RUN: chimera-opt %s --chimera-form-chains \
// RUN:   --chimera-schedule="target=zen3 threads=1" \
// RUN:   --remarks-filter=chimera 2>&1 | FileCheck %s

// CHECK: runner-up {{.*}} us, -{{[0-2]\.[0-9]+}} %"
// CHECK: schedule(<levels = [<"L3" : b = 1>, <"L2" : m1 = {{[0-9]+}}, l = {{[0-9]+}}>,

module {
  func.func @main(%arg0: tensor<8x2000x128xf32>, %arg1: tensor<2x2000x128xf32>, %arg2: tensor<2x2000x128xf32>) -> (tensor<8x2000x128xf32>) {
    %v0 = tensor.empty() : tensor<2x4x2000x128xf32>
    %v1 = linalg.broadcast ins(%arg1 : tensor<2x2000x128xf32>) outs(%v0 : tensor<2x4x2000x128xf32>) dimensions = [1]
    %v2 = tensor.collapse_shape %v1 [[0, 1], [2], [3]] : tensor<2x4x2000x128xf32> into tensor<8x2000x128xf32>
    %v3 = tensor.empty() : tensor<2x4x2000x128xf32>
    %v4 = linalg.broadcast ins(%arg2 : tensor<2x2000x128xf32>) outs(%v3 : tensor<2x4x2000x128xf32>) dimensions = [1]
    %v5 = tensor.collapse_shape %v4 [[0, 1], [2], [3]] : tensor<2x4x2000x128xf32> into tensor<8x2000x128xf32>
    %v6 = arith.constant 0.000000000e+00 : f32
    %v7 = tensor.empty() : tensor<8x2000x2000xf32>
    %v8 = linalg.fill ins(%v6 : f32) outs(%v7 : tensor<8x2000x2000xf32>) -> tensor<8x2000x2000xf32>
    %v9 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%arg0, %v2 : tensor<8x2000x128xf32>, tensor<8x2000x128xf32>) outs(%v8 : tensor<8x2000x2000xf32>) -> tensor<8x2000x2000xf32>
    %v10 = arith.constant 8.838834765e-02 : f32
    %v11 = tensor.empty() : tensor<8x2000x2000xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v9 : tensor<8x2000x2000xf32>) outs(%v11 : tensor<8x2000x2000xf32>) {
    ^bb0(%i0: f32, %out: f32):
      %r = arith.mulf %i0, %v10 : f32
      linalg.yield %r : f32
    } -> tensor<8x2000x2000xf32>
    %v13 = tensor.empty() : tensor<8x2000x2000xf32>
    %v14 = linalg.softmax dimension(2) ins(%v12 : tensor<8x2000x2000xf32>) outs(%v13 : tensor<8x2000x2000xf32>) -> tensor<8x2000x2000xf32>
    %v15 = arith.constant 0.000000000e+00 : f32
    %v16 = tensor.empty() : tensor<8x2000x128xf32>
    %v17 = linalg.fill ins(%v15 : f32) outs(%v16 : tensor<8x2000x128xf32>) -> tensor<8x2000x128xf32>
    %v18 = linalg.batch_matmul ins(%v14, %v5 : tensor<8x2000x2000xf32>, tensor<8x2000x128xf32>) outs(%v17 : tensor<8x2000x128xf32>) -> tensor<8x2000x128xf32>
    return %v18 : tensor<8x2000x128xf32>
  }
}
