// Two convolutions of any number of images, of which the first reads overlapping
// windows of whole images, beside a tensor with as many rows under another name.
#row = affine_map<(n, c) -> (n, c)>
#pixels = affine_map<(n, c, h, w) -> (n, c, h, w)>
#mean = affine_map<(n, c, h, w) -> (n, c)>
func.func @main(%x: tensor<?x3x23x21xf32>, %w: tensor<16x3x5x5xf32>, %v: tensor<24x16x3x3xf32>, %y: tensor<?x8xf32>, %u: tensor<32x10xf32>) -> tensor<?x10xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x23x21xf32>
  %e0 = tensor.empty(%n) : tensor<?x16x10x9xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x16x10x9xf32>) -> tensor<?x16x10x9xf32>
  %0 = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<?x3x23x21xf32>, tensor<16x3x5x5xf32>) outs(%z0 : tensor<?x16x10x9xf32>) -> tensor<?x16x10x9xf32>
  %1 = linalg.generic {indexing_maps = [#pixels, #pixels], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0 : tensor<?x16x10x9xf32>) outs(%e0 : tensor<?x16x10x9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %relu = arith.maximumf %a, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<?x16x10x9xf32>
  %p = tensor.pad %1 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<?x16x10x9xf32> to tensor<?x16x12x11xf32>
  %e1 = tensor.empty(%n) : tensor<?x24x10x9xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x24x10x9xf32>) -> tensor<?x24x10x9xf32>
  %2 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %v : tensor<?x16x12x11xf32>, tensor<24x16x3x3xf32>) outs(%z1 : tensor<?x24x10x9xf32>) -> tensor<?x24x10x9xf32>
  %e2 = tensor.empty(%n) : tensor<?x24xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %3 = linalg.generic {indexing_maps = [#pixels, #mean], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%2 : tensor<?x24x10x9xf32>) outs(%z2 : tensor<?x24xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %a, %sum : f32
    linalg.yield %s : f32
  } -> tensor<?x24xf32>
  %all = tensor.concat dim(1) %3, %y : (tensor<?x24xf32>, tensor<?x8xf32>) -> tensor<?x32xf32>
  %e3 = tensor.empty(%n) : tensor<?x10xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x10xf32>) -> tensor<?x10xf32>
  %4 = linalg.matmul ins(%all, %u : tensor<?x32xf32>, tensor<32x10xf32>) outs(%z3 : tensor<?x10xf32>) -> tensor<?x10xf32>
  return %4 : tensor<?x10xf32>
}
