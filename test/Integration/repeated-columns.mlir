// Attention whose columns are repeated: scores are sums over a dimension along which
// both factors are the same.

// RUN: chimera-run %s --threads=1 | FileCheck %s
// CHECK: error {{.*}} against plain loops in f64

#id3 = affine_map<(b, i, j) -> (b, i, j)>
#row3 = affine_map<(b, i, j) -> (b, i)>
func.func @attention(%x: tensor<5x3x2xf32>) -> tensor<5x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<5x3x2x2xf32>
  %1 = linalg.broadcast ins(%x : tensor<5x3x2xf32>)
      outs(%0 : tensor<5x3x2x2xf32>) dimensions = [3]
  %q = tensor.collapse_shape %1 [[0], [1], [2, 3]]
      : tensor<5x3x2x2xf32> into tensor<5x3x4xf32>
  %2 = tensor.empty() : tensor<5x4x3xf32>
  %k = linalg.transpose ins(%q : tensor<5x3x4xf32>) outs(%2 : tensor<5x4x3xf32>)
      permutation = [0, 2, 1]
  %3 = tensor.empty() : tensor<5x3x3xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
  %5 = linalg.batch_matmul ins(%q, %k : tensor<5x3x4xf32>, tensor<5x4x3xf32>)
      outs(%4 : tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
  %scores = linalg.generic {indexing_maps = [#id3, #id3],
                            iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%5 : tensor<5x3x3xf32>) outs(%3 : tensor<5x3x3xf32>) {
  ^bb0(%s: f32, %old: f32):
    %y = arith.mulf %s, %half : f32
    linalg.yield %y : f32
  } -> tensor<5x3x3xf32>
  %6 = tensor.empty() : tensor<5x3xf32>
  %7 = linalg.fill ins(%lowest : f32) outs(%6 : tensor<5x3xf32>) -> tensor<5x3xf32>
  %max = linalg.generic {indexing_maps = [#id3, #row3],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%scores : tensor<5x3x3xf32>) outs(%7 : tensor<5x3xf32>) {
  ^bb0(%s: f32, %m: f32):
    %y = arith.maximumf %s, %m : f32
    linalg.yield %y : f32
  } -> tensor<5x3xf32>
  %exp = linalg.generic {indexing_maps = [#id3, #row3, #id3],
                         iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %max : tensor<5x3x3xf32>, tensor<5x3xf32>)
      outs(%3 : tensor<5x3x3xf32>) {
  ^bb0(%s: f32, %m: f32, %old: f32):
    %d = arith.subf %s, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<5x3x3xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%6 : tensor<5x3xf32>) -> tensor<5x3xf32>
  %sum = linalg.generic {indexing_maps = [#id3, #row3],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%exp : tensor<5x3x3xf32>) outs(%8 : tensor<5x3xf32>) {
  ^bb0(%e: f32, %s: f32):
    %y = arith.addf %e, %s : f32
    linalg.yield %y : f32
  } -> tensor<5x3xf32>
  %p = linalg.generic {indexing_maps = [#id3, #row3, #id3],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%exp, %sum : tensor<5x3x3xf32>, tensor<5x3xf32>)
      outs(%3 : tensor<5x3x3xf32>) {
  ^bb0(%e: f32, %s: f32, %old: f32):
    %y = arith.divf %e, %s : f32
    linalg.yield %y : f32
  } -> tensor<5x3x3xf32>
  %9 = tensor.empty() : tensor<5x3x4xf32>
  %10 = linalg.fill ins(%zero : f32) outs(%9 : tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %11 = linalg.batch_matmul ins(%p, %q : tensor<5x3x3xf32>, tensor<5x3x4xf32>)
      outs(%10 : tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  return %11 : tensor<5x3x4xf32>
}
