#q = affine_map<(b, m, n, d) -> (b, m, d)>
#k = affine_map<(b, m, n, d) -> (b, n, d)>
#s = affine_map<(b, m, n, d) -> (b, m, n)>
func.func @main(%q: tensor<?x33x16xf32>, %k: tensor<?x?x16xf32>, %v: tensor<?x?x16xf32>) -> tensor<?x33x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %heads = tensor.dim %q, %c0 : tensor<?x33x16xf32>
  %keys = tensor.dim %k, %c1 : tensor<?x?x16xf32>
  %e0 = tensor.empty(%heads, %keys) : tensor<?x33x?xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x33x?xf32>) -> tensor<?x33x?xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<?x33x16xf32>, tensor<?x?x16xf32>) outs(%z0 : tensor<?x33x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %out, %product : f32
    linalg.yield %sum : f32
  } -> tensor<?x33x?xf32>
  %weights = linalg.softmax dimension(2) ins(%scores : tensor<?x33x?xf32>) outs(%e0 : tensor<?x33x?xf32>) -> tensor<?x33x?xf32>
  %e1 = tensor.empty(%heads) : tensor<?x33x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x33x16xf32>) -> tensor<?x33x16xf32>
  %result = linalg.batch_matmul ins(%weights, %v : tensor<?x33x?xf32>, tensor<?x?x16xf32>) outs(%z1 : tensor<?x33x16xf32>) -> tensor<?x33x16xf32>
  return %result : tensor<?x33x16xf32>
}
