// Attention of which the smaller of a value and itself is taken, as an importer writes it:
// the operation behind the product turns out to compute nothing once it is in place.
//
// RUN: chimera-run %s --threads=1 --no-time | FileCheck %s
// RUN: chimera-run %s --threads=2 --no-time --fuse=always | FileCheck %s

// CHECK: error max abs {{.*}} against plain loops
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> ()>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
module {
  func.func @main(%arg0: tensor<2x16x3xf32>, %arg1: tensor<16x16xf32>) -> tensor<2x16x3xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = arith.constant 0.000000e+00 : f64
    %cst_4 = arith.constant 0xFFF0000000000000 : f64
    %cst_5 = arith.constant 0.57735026918962584 : f64
    %0 = tensor.empty() : tensor<2x3x16xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x16x3xf32>) outs(%0 : tensor<2x3x16xf32>) permutation = [0, 2, 1] 
    %1 = tensor.empty() : tensor<2x16x16xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
    %3 = linalg.batch_matmul ins(%arg0, %transposed : tensor<2x16x3xf32>, tensor<2x3x16xf32>) outs(%2 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<2x16x16xf32>) outs(%1 : tensor<2x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.truncf %cst_5 : f64 to f32
      %27 = arith.mulf %in, %26 : f32
      linalg.yield %27 : f32
    } -> tensor<2x16x16xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4, %arg1 : tensor<2x16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<2x16x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %26 = arith.addf %in, %in_6 : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x16xf32>
    %6 = tensor.empty() : tensor<2x16xi64>
    %7 = linalg.fill ins(%c0_i64 : i64) outs(%6 : tensor<2x16xi64>) -> tensor<2x16xi64>
    %8 = tensor.empty() : tensor<2x16xf32>
    %9 = linalg.fill ins(%cst_0 : f32) outs(%8 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %10:2 = linalg.generic {indexing_maps = [#map, #map2, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%5 : tensor<2x16x16xf32>) outs(%9, %7 : tensor<2x16xf32>, tensor<2x16xi64>) {
    ^bb0(%in: f32, %out: f32, %out_6: i64):
      %26 = linalg.index 2 : index
      %27 = arith.index_cast %26 : index to i64
      %28 = arith.maximumf %in, %out : f32
      %29 = arith.cmpf ogt, %in, %out : f32
      %30 = arith.select %29, %27, %out_6 : i64
      linalg.yield %28, %30 : f32, i64
    } -> (tensor<2x16xf32>, tensor<2x16xi64>)
    %expanded = tensor.expand_shape %10#0 [[0], [1, 2]] output_shape [2, 16, 1] : tensor<2x16xf32> into tensor<2x16x1xf32>
    %11 = tensor.empty() : tensor<2x16x1xi1>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x16x1xf32>) outs(%11 : tensor<2x16x1xi1>) {
    ^bb0(%in: f32, %out: i1):
      %26 = arith.extf %in : f32 to f64
      %27 = arith.cmpf oeq, %26, %cst_4 : f64
      linalg.yield %27 : i1
    } -> tensor<2x16x1xi1>
    %13 = tensor.empty() : tensor<2x16x1xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map3, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %cst_2, %expanded : tensor<2x16x1xi1>, tensor<f32>, tensor<2x16x1xf32>) outs(%13 : tensor<2x16x1xf32>) {
    ^bb0(%in: i1, %in_6: f32, %in_7: f32, %out: f32):
      %26 = arith.select %in, %in_6, %in_7 : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x1xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %14 : tensor<2x16x16xf32>, tensor<2x16x1xf32>) outs(%1 : tensor<2x16x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %26 = arith.subf %in, %in_6 : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x16xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<2x16x16xf32>) outs(%1 : tensor<2x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = math.exp %in : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x16xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%13 : tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<2x16x16xf32>) outs(%17 : tensor<2x16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.addf %in, %out : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x1xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<2x16x1xf32>) outs(%11 : tensor<2x16x1xi1>) {
    ^bb0(%in: f32, %out: i1):
      %26 = arith.extf %in : f32 to f64
      %27 = arith.cmpf oeq, %26, %cst_3 : f64
      linalg.yield %27 : i1
    } -> tensor<2x16x1xi1>
    %20 = linalg.generic {indexing_maps = [#map, #map3, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19, %cst_1, %18 : tensor<2x16x1xi1>, tensor<f32>, tensor<2x16x1xf32>) outs(%13 : tensor<2x16x1xf32>) {
    ^bb0(%in: i1, %in_6: f32, %in_7: f32, %out: f32):
      %26 = arith.select %in, %in_6, %in_7 : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16, %20 : tensor<2x16x16xf32>, tensor<2x16x1xf32>) outs(%1 : tensor<2x16x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %26 = arith.divf %in, %in_6 : f32
      linalg.yield %26 : f32
    } -> tensor<2x16x16xf32>
    %22 = tensor.empty() : tensor<2x16x3xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<2x16x3xf32>) -> tensor<2x16x3xf32>
    %24 = linalg.batch_matmul ins(%21, %arg0 : tensor<2x16x16xf32>, tensor<2x16x3xf32>) outs(%23 : tensor<2x16x3xf32>) -> tensor<2x16x3xf32>
    %25 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %24 : tensor<2x16x3xf32>, tensor<2x16x3xf32>) outs(%22 : tensor<2x16x3xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %26 = arith.cmpf olt, %in, %in_6 : f32
      %27 = arith.select %26, %in, %in_6 : f32
      linalg.yield %27 : f32
    } -> tensor<2x16x3xf32>
    return %25 : tensor<2x16x3xf32>
  }
}
