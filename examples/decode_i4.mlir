// One row times a matrix of weights of four bits, in groups of 32 that share a
// scale: a projection of a language model that generates a token.
//
//   chimera-run examples/decode_i4.mlir --constant=1,2
//
// The weights are integers in the program, made floats, scaled and transposed, as
// exporters write it. None of that happens when the program runs: the kernel reads
// words of eight weights and their scales.

#id = affine_map<(n, g, k) -> (n, g, k)>
#group = affine_map<(n, g, k) -> (n, g, 0)>

func.func @decode(%x: tensor<1x4096xf32>, %w: tensor<11008x4096xi4>,
                  %scales: tensor<11008x128x1xf32>) -> tensor<1x11008xf32> {
  %zero = arith.constant 0.0 : f32
  %groups = tensor.expand_shape %w [[0], [1, 2]] output_shape [11008, 128, 32]
      : tensor<11008x4096xi4> into tensor<11008x128x32xi4>
  %e = tensor.empty() : tensor<11008x128x32xf32>
  %scaled = linalg.generic {
      indexing_maps = [#id, #group, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%groups, %scales : tensor<11008x128x32xi4>, tensor<11008x128x1xf32>)
      outs(%e : tensor<11008x128x32xf32>) {
  ^bb0(%code: i4, %scale: f32, %out: f32):
    %0 = arith.sitofp %code : i4 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<11008x128x32xf32>
  %rows = tensor.collapse_shape %scaled [[0], [1, 2]]
      : tensor<11008x128x32xf32> into tensor<11008x4096xf32>
  %te = tensor.empty() : tensor<4096x11008xf32>
  %columns = linalg.transpose ins(%rows : tensor<11008x4096xf32>)
      outs(%te : tensor<4096x11008xf32>) permutation = [1, 0]
  %ye = tensor.empty() : tensor<1x11008xf32>
  %start = linalg.fill ins(%zero : f32) outs(%ye : tensor<1x11008xf32>) -> tensor<1x11008xf32>
  %y = linalg.matmul ins(%x, %columns : tensor<1x4096xf32>, tensor<4096x11008xf32>)
      outs(%start : tensor<1x11008xf32>) -> tensor<1x11008xf32>
  return %y : tensor<1x11008xf32>
}
