// RUN: chimera-opt %s --chimera-form-chains=target=zen5 --split-input-file | FileCheck %s

// The border of an image that a convolution reads through windows is a matter of
// the chain: its taps can be left out.

// CHECK-LABEL: func @border(
// CHECK-SAME: %[[X:.*]]: tensor<7x7x8xf32>
// CHECK: chimera.chain ins(%[[X]], %{{.*}} : tensor<7x7x8xf32>,
// CHECK:   %[[PADDED:.*]] = tensor.pad %{{.*}} low[1, 1, 0] high[1, 1, 0]
// CHECK:   linalg.generic {{.*}} ins(%[[PADDED]],
#image = affine_map<(h, w, f, r, s, c) -> (h + r, w + s, c)>
#filter = affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>
#result = affine_map<(h, w, f, r, s, c) -> (h, w, f)>
func.func @border(%x: tensor<7x7x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<7x7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<7x7x8xf32> to tensor<9x9x8xf32>
  %e = tensor.empty() : tensor<7x7x16xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<7x7x16xf32>) -> tensor<7x7x16xf32>
  %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : tensor<9x9x8xf32>, tensor<3x3x8x16xf32>) outs(%s : tensor<7x7x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<7x7x16xf32>
  return %1 : tensor<7x7x16xf32>
}

// -----

// Padding with ones adds something, so it stays outside.

// CHECK-LABEL: func @ones(
// CHECK: %[[PADDED:.*]] = tensor.pad
// CHECK: chimera.chain ins(%[[PADDED]],
// CHECK-NOT: tensor.pad
// CHECK: return
#image = affine_map<(h, f, r, c) -> (h + r, c)>
#filter = affine_map<(h, f, r, c) -> (r, c, f)>
#result = affine_map<(h, f, r, c) -> (h, f)>
func.func @ones(%x: tensor<7x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %padded = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<7x8xf32> to tensor<9x8xf32>
  %e = tensor.empty() : tensor<7x16xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<7x16xf32>) -> tensor<7x16xf32>
  %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<9x8xf32>, tensor<3x8x16xf32>) outs(%s : tensor<7x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<7x16xf32>
  return %1 : tensor<7x16xf32>
}

// -----

// What is read with its border and without it has one form inside a chain, so
// the border stays outside if the sum with the image goes into it.

// CHECK-LABEL: func @residual(
// CHECK: %[[PADDED:.*]] = tensor.pad
// CHECK: chimera.chain ins(%[[PADDED]],
// CHECK-NOT: tensor.pad
// CHECK: return
#image = affine_map<(h, f, r, c) -> (h + r, c)>
#filter = affine_map<(h, f, r, c) -> (r, c, f)>
#result = affine_map<(h, f, r, c) -> (h, f)>
func.func @residual(%x: tensor<7x16xf32>, %w: tensor<3x16x16xf32>) -> tensor<7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<7x16xf32> to tensor<9x16xf32>
  %e = tensor.empty() : tensor<7x16xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<7x16xf32>) -> tensor<7x16xf32>
  %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<9x16xf32>, tensor<3x16x16xf32>) outs(%s : tensor<7x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<7x16xf32>
  %4 = linalg.add ins(%1, %x : tensor<7x16xf32>, tensor<7x16xf32>) outs(%e : tensor<7x16xf32>) -> tensor<7x16xf32>
  return %4 : tensor<7x16xf32>
}

// -----

// Windows of one tap do not move over the border.

// CHECK-LABEL: func @pointwise(
// CHECK: %[[PADDED:.*]] = tensor.pad
// CHECK: chimera.chain ins(%[[PADDED]],
// CHECK-NOT: tensor.pad
// CHECK: return
#image = affine_map<(h, f, c) -> (h, c)>
#filter = affine_map<(h, f, c) -> (c, f)>
#result = affine_map<(h, f, c) -> (h, f)>
func.func @pointwise(%x: tensor<7x8xf32>, %w: tensor<8x16xf32>) -> tensor<9x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<7x8xf32> to tensor<9x8xf32>
  %e = tensor.empty() : tensor<9x16xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<9x16xf32>) -> tensor<9x16xf32>
  %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %w : tensor<9x8xf32>, tensor<8x16xf32>) outs(%s : tensor<9x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<9x16xf32>
  return %1 : tensor<9x16xf32>
}
