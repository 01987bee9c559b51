// A product with weights, any number of rows, at most 100.
func.func @main(%x: tensor<?x32xf32>, %w: tensor<48x32xf32>) -> tensor<?x48xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %most = arith.constant 100 : index
  %rows = tensor.dim %x, %c0 : tensor<?x32xf32>
  %fits = arith.cmpi sle, %rows, %most : index
  cf.assert %fits, "more than 100 rows"
  %empty = tensor.empty(%rows) : tensor<?x48xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %wt_empty = tensor.empty() : tensor<32x48xf32>
  %wt = linalg.transpose ins(%w : tensor<48x32xf32>) outs(%wt_empty : tensor<32x48xf32>)
      permutation = [1, 0]
  %0 = linalg.matmul ins(%x, %wt : tensor<?x32xf32>, tensor<32x48xf32>)
      outs(%zeros : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
