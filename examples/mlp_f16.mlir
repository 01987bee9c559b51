// Two layers of a perceptron in f16, added up in f32: for machines with a matrix
// unit. See docs/ascend.md.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>, %b: tensor<80xf16>,
                %v: tensor<80x32xf16>) -> tensor<64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %h0 = tensor.empty() : tensor<64x80xf16>
  %h = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c, %b : tensor<64x80xf32>, tensor<80xf16>) outs(%h0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %0 = arith.extf %bias : f16 to f32
    %1 = arith.addf %in, %0 : f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<64x80xf16>
  %e0 = tensor.empty() : tensor<64x32xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e = linalg.matmul ins(%h, %v : tensor<64x80xf16>, tensor<80x32xf16>)
      outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r0 = tensor.empty() : tensor<64x32xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<64x32xf32>) outs(%r0 : tensor<64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}
