// Two matrix products, of which the second reads the result of the first.
func.func @chain(%a: tensor<256x64xf32>, %b: tensor<64x256xf32>,
                 %d: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x256xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x256xf32>)
      outs(%1 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = tensor.empty() : tensor<256x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<256x256xf32>, tensor<256x64xf32>)
      outs(%4 : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %5 : tensor<256x64xf32>
}
