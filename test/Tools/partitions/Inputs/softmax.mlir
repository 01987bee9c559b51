#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @softmax(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %matrix = tensor.empty() : tensor<1024x1024xf32>
  %vector = tensor.empty() : tensor<1024xf32>
  %a = linalg.fill ins(%least : f32) outs(%vector : tensor<1024xf32>) -> tensor<1024xf32>
  %b = linalg.fill ins(%zero : f32) outs(%vector : tensor<1024xf32>) -> tensor<1024xf32>
  %m = linalg.reduce { arith.maximumf } ins(%x : tensor<1024x1024xf32>) outs(%a : tensor<1024xf32>) dimensions = [1]
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%matrix : tensor<1024x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<1024x1024xf32>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<1024x1024xf32>) outs(%b : tensor<1024xf32>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%matrix : tensor<1024x1024xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.divf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}
