// RUN: chimera-opt %s --chimera-form-chains="target=zen5 compiled-only" --canonicalize --split-input-file | FileCheck %s

// No window of 1x1 convolutions tells rows apart: 6 rows of 10 pixels, less than
// a vector each, are one of 60, which fills nearly four. A residual goes along.

// CHECK-LABEL: func.func @one_row(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: tensor<1x24x6x10xf32>
// CHECK:         %[[IN:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1], [2, 3]] : tensor<1x24x6x10xf32> into tensor<24x60xf32>
// CHECK:         chimera.chain ins(%[[IN]],
// CHECK-NOT:       tensor.expand_shape
// CHECK:           -> tensor<32x60xf32>
// CHECK-NOT:       tensor.expand_shape
// CHECK:           -> tensor<16x60xf32>
// CHECK:           chimera.yield {{.*}} : tensor<16x60xf32>
// CHECK:         tensor.expand_shape {{.*}} : tensor<16x60xf32> into tensor<1x16x6x10xf32>
#id = affine_map<(n, f, h, w) -> (n, f, h, w)>
func.func @one_row(%x: tensor<1x24x6x10xf32>, %v: tensor<32x24x1x1xf32>, %w: tensor<16x32x1x1xf32>, %r: tensor<1x16x6x10xf32>) -> tensor<1x16x6x10xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x6x10xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x6x10xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%2 : tensor<1x32x6x10xf32>) outs(%0 : tensor<1x32x6x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x32x6x10xf32>
  %4 = tensor.empty() : tensor<1x16x6x10xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<1x16x6x10xf32>) -> tensor<1x16x6x10xf32>
  %6 = linalg.conv_2d_nchw_fchw ins(%3, %w : tensor<1x32x6x10xf32>, tensor<16x32x1x1xf32>) outs(%5 : tensor<1x16x6x10xf32>) -> tensor<1x16x6x10xf32>
  %7 = linalg.add ins(%6, %r : tensor<1x16x6x10xf32>, tensor<1x16x6x10xf32>) outs(%4 : tensor<1x16x6x10xf32>) -> tensor<1x16x6x10xf32>
  return %7 : tensor<1x16x6x10xf32>
}

// -----

// What is made as the middle of a padded image ends its rows there.

// CHECK-LABEL: func.func @padded(
// CHECK:         chimera.chain
// CHECK:           chimera.yield {{.*}} : tensor<32x6x10xf32>
func.func @padded(%x: tensor<1x24x6x10xf32>, %v: tensor<32x24x1x1xf32>) -> tensor<1x32x8x12xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x6x10xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x6x10xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %3 = tensor.pad %2 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x32x6x10xf32> to tensor<1x32x8x12xf32>
  return %3 : tensor<1x32x8x12xf32>
}

// -----

// Rows that fill vectors stay as they are if they are as long as register tiles
// are wide, and so do those of a 3x3 convolution behind, which tells them apart.

// CHECK-LABEL: func.func @whole_vectors(
// CHECK:           chimera.yield {{.*}} : tensor<32x6x96xf32>
func.func @whole_vectors(%x: tensor<1x24x6x96xf32>, %v: tensor<32x24x1x1xf32>) -> tensor<1x32x6x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x6x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x6x96xf32>) -> tensor<1x32x6x96xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x6x96xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x6x96xf32>) -> tensor<1x32x6x96xf32>
  return %2 : tensor<1x32x6x96xf32>
}

// CHECK-LABEL: func.func @narrow(
// CHECK:           chimera.yield {{.*}} : tensor<32x96xf32>
func.func @narrow(%x: tensor<1x24x6x16xf32>, %v: tensor<32x24x1x1xf32>) -> tensor<1x32x6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x6x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x6x16xf32>) -> tensor<1x32x6x16xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x6x16xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x6x16xf32>) -> tensor<1x32x6x16xf32>
  return %2 : tensor<1x32x6x16xf32>
}

// Groups of channels are one row for what does not tell them apart, though a
// border is put around the pixels.

// CHECK-LABEL: func.func @groups(
// CHECK:           chimera.yield {{.*}} : tensor<7x7x400xf32>
#left = affine_map<(y, x, g, n, k) -> (y, x, k)>
#right = affine_map<(y, x, g, n, k) -> (k, g, n)>
#sums = affine_map<(y, x, g, n, k) -> (y, x, g, n)>
func.func @groups(%x: tensor<7x7x400xf32>, %w: tensor<400x25x16xf32>) -> tensor<9x9x25x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<7x7x25x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<7x7x25x16xf32>) -> tensor<7x7x25x16xf32>
  %2 = linalg.generic {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<7x7x400xf32>, tensor<400x25x16xf32>) outs(%1 : tensor<7x7x25x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<7x7x25x16xf32>
  %3 = tensor.pad %2 low[1, 1, 0, 0] high[1, 1, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<7x7x25x16xf32> to tensor<9x9x25x16xf32>
  return %3 : tensor<9x9x25x16xf32>
}

// CHECK-LABEL: func.func @windows(
// CHECK:         chimera.chain
// CHECK:           -> tensor<32x6x10xf32>
// CHECK:           chimera.yield {{.*}} : tensor<16x4x8xf32>
func.func @windows(%x: tensor<1x24x6x10xf32>, %v: tensor<32x24x1x1xf32>, %w: tensor<16x32x3x3xf32>) -> tensor<1x16x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x6x10xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x6x10xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x6x10xf32>) -> tensor<1x32x6x10xf32>
  %3 = tensor.empty() : tensor<1x16x4x8xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<1x16x4x8xf32>) -> tensor<1x16x4x8xf32>
  %5 = linalg.conv_2d_nchw_fchw ins(%2, %w : tensor<1x32x6x10xf32>, tensor<16x32x3x3xf32>) outs(%4 : tensor<1x16x4x8xf32>) -> tensor<1x16x4x8xf32>
  return %5 : tensor<1x16x4x8xf32>
}
