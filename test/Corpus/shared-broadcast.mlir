// Both products read one broadcast: what normalising one leaves of it is used by the
// other.

// RUN: chimera-run %s --no-time | FileCheck %s
// CHECK: against plain loops in f64

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<2x1x2x1xf32>) -> tensor<2x1x2x2xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x1x2x1x2xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x1x2x1xf32>) outs(%0 : tensor<2x1x2x1x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x1x2x1x2xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<2x1x2x1x2xf32> into tensor<2x1x2x2xf32>
    %2 = tensor.empty() : tensor<2x1x2x2xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<2x1x2x2xf32>) outs(%2 : tensor<2x1x2x2xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_0 = tensor.collapse_shape %1 [[0], [1, 2], [3, 4]] : tensor<2x1x2x1x2xf32> into tensor<2x2x2xf32>
    %collapsed_1 = tensor.collapse_shape %transposed [[0], [1, 2], [3]] : tensor<2x1x2x2xf32> into tensor<2x2x2xf32>
    %3 = tensor.empty() : tensor<2x2x2xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %5 = linalg.batch_matmul ins(%collapsed_0, %collapsed_1 : tensor<2x2x2xf32>, tensor<2x2x2xf32>) outs(%4 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %expanded = tensor.expand_shape %5 [[0], [1, 2], [3]] output_shape [2, 1, 2, 2] : tensor<2x2x2xf32> into tensor<2x1x2x2xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x1x2x2xf32>) outs(%2 : tensor<2x1x2x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %8 = math.exp %in : f32
      linalg.yield %8 : f32
    } -> tensor<2x1x2x2xf32>
    %collapsed_2 = tensor.collapse_shape %6 [[0], [1, 2], [3]] : tensor<2x1x2x2xf32> into tensor<2x2x2xf32>
    %7 = linalg.batch_matmul ins(%collapsed_2, %collapsed_0 : tensor<2x2x2xf32>, tensor<2x2x2xf32>) outs(%4 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %expanded_3 = tensor.expand_shape %7 [[0], [1, 2], [3]] output_shape [2, 1, 2, 2] : tensor<2x2x2xf32> into tensor<2x1x2x2xf32>
    return %expanded_3 : tensor<2x1x2x2xf32>
  }
}