// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=2" | FileCheck %s

// Operators of one chain have one register tile, of which the panels of what is
// held are as wide.
// CHECK: l = 64 around [0], m = 1 around [0], m1 = 6 around [0]
// CHECK-SAME: registers = <rows = 6, vectors = 4
// CHECK-SAME: held = [0]
func.func @main(%arg0: tensor<1x256x56x56xf32>, %arg1: tensor<256x256x1x1xf32> {chimera.constant}, %arg2: tensor<64x256x1x1xf32> {chimera.constant}) -> (tensor<1x64x56x56xf32>) {
  %v0 = arith.constant 0.000000000e+00 : f32
  %v1 = tensor.empty() : tensor<1x256x56x56xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<1x256x56x56xf32>) -> tensor<1x256x56x56xf32>
  %v3 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x256x56x56xf32>, tensor<256x256x1x1xf32>) outs(%v2 : tensor<1x256x56x56xf32>) -> tensor<1x256x56x56xf32>
  %v4 = arith.constant 0.000000000e+00 : f32
  %v5 = tensor.empty() : tensor<1x256x56x56xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v3 : tensor<1x256x56x56xf32>) outs(%v5 : tensor<1x256x56x56xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %r = arith.maximumf %i0, %v4 : f32
    linalg.yield %r : f32
  } -> tensor<1x256x56x56xf32>
  %v7 = arith.constant 0.000000000e+00 : f32
  %v8 = tensor.empty() : tensor<1x64x56x56xf32>
  %v9 = linalg.fill ins(%v7 : f32) outs(%v8 : tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %v10 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>} ins(%v6, %arg2 : tensor<1x256x56x56xf32>, tensor<64x256x1x1xf32>) outs(%v9 : tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %v11 = arith.constant 0.000000000e+00 : f32
  %v12 = tensor.empty() : tensor<1x64x56x56xf32>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v10 : tensor<1x64x56x56xf32>) outs(%v12 : tensor<1x64x56x56xf32>) {
  ^bb0(%i0: f32, %out: f32):
    %r = arith.maximumf %i0, %v11 : f32
    linalg.yield %r : f32
  } -> tensor<1x64x56x56xf32>
  return %v13 : tensor<1x64x56x56xf32>
}
