// A matrix of one vector: each multiply-add has an element of its own.
func.func @main(%a: tensor<60x48xf32>, %b: tensor<48x8xf32>) -> tensor<60x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<60x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<60x8xf32>) -> tensor<60x8xf32>
  %c = linalg.matmul ins(%a, %b : tensor<60x48xf32>, tensor<48x8xf32>)
      outs(%init : tensor<60x8xf32>) -> tensor<60x8xf32>
  return %c : tensor<60x8xf32>
}
