// Warps that share columns add up their sums behind all loops, where tiles were: with
// one around that of the columns there are tiles to come.
//
// RUN: not chimera-opt %s --chimera-nvidia-pipeline=target=h200 2>&1 | FileCheck %s

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
func.func @attention(%arg0: tensor<2x16x64xf16>, %arg1: tensor<2x96x64xf16>, %arg2: tensor<2x96x64xf16>, %arg3: tensor<16x96xf16>) -> tensor<2x16x64xf16> {
  %cst = arith.constant 0xFF800000 : f32
  // CHECK: [[@LINE+1]]:8: error: no kernel for this chain: warps share the columns of a softmax that another loop is around; make it parallel, or the inner one
  %0 = chimera.chain ins(%arg0, %arg1, %arg2 : tensor<2x16x64xf16>, tensor<2x96x64xf16>, tensor<2x96x64xf16>) schedule(<levels = [<"L2" : b = 1>, <"SMEM" :  n = 32, l = 32>], parallel = 1, registers = <rows = 1, vectors = 20, broadcasts = 0, depth = 2>>) {
  ^bb0(%arg4: tensor<2x16x64xf16>, %arg5: tensor<2x96x64xf16>, %arg6: tensor<2x96x64xf16>):
    %cst_0 = arith.constant 0.000000e+00 : f32
    %1 = tensor.empty() : tensor<2x16x96xf32>
    %2 = linalg.fill ins(%cst_0 : f32) outs(%1 : tensor<2x16x96xf32>) -> tensor<2x16x96xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg4, %arg5 : tensor<2x16x64xf16>, tensor<2x96x64xf16>) outs(%2 : tensor<2x16x96xf32>) {
    ^bb0(%in: f16, %in_3: f16, %out: f32):
      %21 = arith.extf %in : f16 to f32
      %22 = arith.extf %in_3 : f16 to f32
      %23 = arith.mulf %21, %22 : f32
      %24 = arith.addf %out, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<2x16x96xf32>
    %4 = tensor.empty() : tensor<2x16x96xf32>
    %cst_1 = arith.constant 1.250000e-01 : f32
    %5 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<2x16x96xf32>) outs(%4 : tensor<2x16x96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = arith.mulf %in, %cst_1 : f32
      linalg.yield %21 : f32
    } -> tensor<2x16x96xf32>
    %cst_2 = arith.constant 0xFF800000 : f32
    %6 = tensor.empty() : tensor<2x16xf32>
    %7 = linalg.fill ins(%cst_2 : f32) outs(%6 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %8 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%5 : tensor<2x16x96xf32>) outs(%7 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = arith.maximumf %out, %in fastmath<nnan> : f32
      linalg.yield %21 : f32
    } -> tensor<2x16xf32>
    %9 = tensor.empty() : tensor<2x16x96xf32>
    %10 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5, %8 : tensor<2x16x96xf32>, tensor<2x16xf32>) outs(%9 : tensor<2x16x96xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %21 = arith.cmpf oeq, %in_3, %cst_2 : f32
      %22 = arith.select %21, %cst_0, %in_3 : f32
      %23 = arith.subf %in, %22 : f32
      %24 = math.exp %23 : f32
      linalg.yield %24 : f32
    } -> tensor<2x16x96xf32>
    %11 = tensor.empty() : tensor<2x16xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %13 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%10 : tensor<2x16x96xf32>) outs(%12 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = arith.addf %out, %in : f32
      linalg.yield %21 : f32
    } -> tensor<2x16xf32>
    %14 = tensor.empty() : tensor<2x16x96xf16>
    %15 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<2x16x96xf32>) outs(%14 : tensor<2x16x96xf16>) {
    ^bb0(%in: f32, %out: f16):
      %21 = arith.truncf %in : f32 to f16
      linalg.yield %21 : f16
    } -> tensor<2x16x96xf16>
    %16 = tensor.empty() : tensor<2x16x64xf32>
    %17 = linalg.fill ins(%cst_0 : f32) outs(%16 : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map5, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15, %arg6 : tensor<2x16x96xf16>, tensor<2x96x64xf16>) outs(%17 : tensor<2x16x64xf32>) {
    ^bb0(%in: f16, %in_3: f16, %out: f32):
      %21 = arith.extf %in : f16 to f32
      %22 = arith.extf %in_3 : f16 to f32
      %23 = arith.mulf %21, %22 : f32
      %24 = arith.addf %out, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<2x16x64xf32>
    %19 = tensor.empty() : tensor<2x16x64xf16>
    %20 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18, %13 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%19 : tensor<2x16x64xf16>) {
    ^bb0(%in: f32, %in_3: f32, %out: f16):
      %21 = arith.divf %in, %in_3 fastmath<arcp> : f32
      %22 = arith.truncf %21 : f32 to f16
      linalg.yield %22 : f16
    } -> tensor<2x16x64xf16>
    chimera.yield %20 : tensor<2x16x64xf16>
  } -> tensor<2x16x64xf16>
  return %0 : tensor<2x16x64xf16>
}
