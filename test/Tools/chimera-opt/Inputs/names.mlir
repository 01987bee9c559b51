func.func @"<script>&\22"(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = tensor.empty() : tensor<512x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %5 : tensor<512x64xf32>
}
