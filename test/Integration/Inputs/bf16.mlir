// Two products of bf16 with sums in f32, rounded between them.
#map = affine_map<(i, j) -> (i, j)>
func.func @main(%a: tensor<70x64xbf16>, %b: tensor<64x96xbf16>, %d: tensor<96x48xbf16>) -> tensor<70x48xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<70x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<70x96xf32>) -> tensor<70x96xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<70x64xbf16>, tensor<64x96xbf16>) outs(%1 : tensor<70x96xf32>) -> tensor<70x96xf32>
  %3 = tensor.empty() : tensor<70x96xbf16>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<70x96xf32>) outs(%3 : tensor<70x96xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %n = arith.truncf %in : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<70x96xbf16>
  %5 = tensor.empty() : tensor<70x48xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<70x48xf32>) -> tensor<70x48xf32>
  %7 = linalg.matmul ins(%4, %d : tensor<70x96xbf16>, tensor<96x48xbf16>) outs(%6 : tensor<70x48xf32>) -> tensor<70x48xf32>
  return %7 : tensor<70x48xf32>
}
