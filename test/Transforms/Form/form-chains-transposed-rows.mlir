// RUN: chimera-opt %s --chimera-form-chains="target=zen5 compiled-only" --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains="target=a100 compiled-only" --split-input-file | FileCheck %s --check-prefix=GPU

// Register tiles get their rows element by element, and vectors of columns are
// multiplied by each. Thirty vectors of sixteen lanes by each element are worth
// a copy in which what a row sums up lies together.

// CHECK-LABEL: func.func @wide(
// CHECK-SAME:      %[[A:.*]]: tensor<96x64xf32>, %[[B:[^:]*]]:
// CHECK:         %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<96x64xf32>)
// CHECK:         chimera.chain ins(%[[ROWS]], %[[B]] : tensor<64x96xf32>,
// GPU-LABEL:   func.func @wide(
// GPU-NOT:       linalg.generic
// GPU:           chimera.chain
func.func @wide(%a: tensor<96x64xf32>, %b: tensor<96x480xf32>) -> tensor<64x480xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x96xf32>
  %1 = linalg.transpose ins(%a : tensor<96x64xf32>) outs(%0 : tensor<64x96xf32>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<64x480xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64x480xf32>) -> tensor<64x480xf32>
  %4 = linalg.matmul ins(%1, %b : tensor<64x96xf32>, tensor<96x480xf32>) outs(%3 : tensor<64x480xf32>) -> tensor<64x480xf32>
  return %4 : tensor<64x480xf32>
}

// -----

// Twenty-eight are not.

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME:      %[[A:.*]]: tensor<96x64xf32>, %[[B:[^:]*]]:
// CHECK:         chimera.chain ins(%[[A]], %[[B]] : tensor<96x64xf32>,
func.func @narrow(%a: tensor<96x64xf32>, %b: tensor<96x448xf32>) -> tensor<64x448xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x96xf32>
  %1 = linalg.transpose ins(%a : tensor<96x64xf32>) outs(%0 : tensor<64x96xf32>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<64x448xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64x448xf32>) -> tensor<64x448xf32>
  %4 = linalg.matmul ins(%1, %b : tensor<64x96xf32>, tensor<96x448xf32>) outs(%3 : tensor<64x448xf32>) -> tensor<64x448xf32>
  return %4 : tensor<64x448xf32>
}

// -----

// Pairs along what is summed up are brought together for every panel of
// columns: eight vectors are worth a copy.

// CHECK-LABEL: func.func @pairs(
// CHECK-SAME:      %[[A:.*]]: tensor<96x64xbf16>, %[[B:[^:]*]]:
// CHECK:         %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<96x64xbf16>)
// CHECK:         chimera.chain ins(%[[ROWS]], %[[B]] : tensor<64x96xbf16>,
func.func @pairs(%a: tensor<96x64xbf16>, %b: tensor<96x128xbf16>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x96xbf16>
  %1 = linalg.transpose ins(%a : tensor<96x64xbf16>) outs(%0 : tensor<64x96xbf16>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<64x128xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %4 = linalg.matmul ins(%1, %b : tensor<64x96xbf16>, tensor<96x128xbf16>) outs(%3 : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %4 : tensor<64x128xf32>
}

// -----

// Seven are not.

// CHECK-LABEL: func.func @few_pairs(
// CHECK-SAME:      %[[A:.*]]: tensor<96x64xbf16>, %[[B:[^:]*]]:
// CHECK:         chimera.chain ins(%[[A]], %[[B]] : tensor<96x64xbf16>,
func.func @few_pairs(%a: tensor<96x64xbf16>, %b: tensor<96x112xbf16>) -> tensor<64x112xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x96xbf16>
  %1 = linalg.transpose ins(%a : tensor<96x64xbf16>) outs(%0 : tensor<64x96xbf16>) permutation = [1, 0]
  %2 = tensor.empty() : tensor<64x112xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<64x112xf32>) -> tensor<64x112xf32>
  %4 = linalg.matmul ins(%1, %b : tensor<64x96xbf16>, tensor<96x112xbf16>) outs(%3 : tensor<64x112xf32>) -> tensor<64x112xf32>
  return %4 : tensor<64x112xf32>
}

// -----

// What is summed up lies together before and after: heads change places with
// rows. And columns are packed, however they lie.

// CHECK-LABEL: func.func @heads(
// CHECK-NOT:     linalg.generic
// CHECK:         chimera.chain
func.func @heads(%a: tensor<32x4x64xf32>, %b: tensor<4x256x64xf32>) -> tensor<4x32x256xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x32x64xf32>
  %1 = linalg.transpose ins(%a : tensor<32x4x64xf32>) outs(%0 : tensor<4x32x64xf32>) permutation = [1, 0, 2]
  %2 = tensor.empty() : tensor<4x64x256xf32>
  %3 = linalg.transpose ins(%b : tensor<4x256x64xf32>) outs(%2 : tensor<4x64x256xf32>) permutation = [0, 2, 1]
  %4 = tensor.empty() : tensor<4x32x256xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<4x32x256xf32>) -> tensor<4x32x256xf32>
  %6 = linalg.batch_matmul ins(%1, %3 : tensor<4x32x64xf32>, tensor<4x64x256xf32>) outs(%5 : tensor<4x32x256xf32>) -> tensor<4x32x256xf32>
  return %6 : tensor<4x32x256xf32>
}

// -----

// An image with channels first, and windows.

// CHECK-LABEL: func.func @image(
// CHECK-SAME:      %[[IMAGE:.*]]: tensor<1x24x20x20xf32>,
// CHECK:         %[[LAST:.*]] = linalg.generic
// CHECK-SAME:        tensor<24x20x20xf32>) outs(%{{.*}} : tensor<20x20x24xf32>)
// CHECK:         chimera.chain ins(%[[LAST]],
func.func @image(%image: tensor<1x24x20x20xf32>, %filters: tensor<3x3x24x32xf32>) -> tensor<1x18x18x32xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x20x20x24xf32>
  %1 = linalg.transpose ins(%image : tensor<1x24x20x20xf32>) outs(%0 : tensor<1x20x20x24xf32>) permutation = [0, 2, 3, 1]
  %2 = tensor.empty() : tensor<1x18x18x32xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<1x18x18x32xf32>) -> tensor<1x18x18x32xf32>
  %4 = linalg.conv_2d_nhwc_hwcf ins(%1, %filters : tensor<1x20x20x24xf32>, tensor<3x3x24x32xf32>) outs(%3 : tensor<1x18x18x32xf32>) -> tensor<1x18x18x32xf32>
  return %4 : tensor<1x18x18x32xf32>
}

// -----

// No elementwise kernel gathers, however few read it.

// CHECK-LABEL: func.func @residual(
// CHECK-SAME:      %[[IMAGE:.*]]: tensor<1x24x20x20xf32>, %[[A:.*]]: tensor<20x20x16xf32>, %[[B:.*]]: tensor<16x24xf32>
// CHECK:         %[[LAST:.*]] = linalg.generic
// CHECK-SAME:        tensor<24x20x20xf32>) outs(%{{.*}} : tensor<20x20x24xf32>)
// CHECK:         chimera.chain ins({{.*}}, %[[B]], %[[LAST]] :
func.func @residual(%image: tensor<1x24x20x20xf32>, %a: tensor<20x20x16xf32>, %b: tensor<16x24xf32>) -> tensor<20x20x24xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x20x20x24xf32>
  %1 = linalg.transpose ins(%image : tensor<1x24x20x20xf32>) outs(%0 : tensor<1x20x20x24xf32>) permutation = [0, 2, 3, 1]
  %2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<1x20x20x24xf32> into tensor<20x20x24xf32>
  %3 = tensor.empty() : tensor<20x20x24xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x20x24xf32>) -> tensor<20x20x24xf32>
  %5 = linalg.contract
      indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, affine_map<(h, w, n, k) -> (k, n)>, affine_map<(h, w, n, k) -> (h, w, n)>]
      ins(%a, %b : tensor<20x20x16xf32>, tensor<16x24xf32>) outs(%4 : tensor<20x20x24xf32>) -> tensor<20x20x24xf32>
  %6 = linalg.add ins(%5, %2 : tensor<20x20x24xf32>, tensor<20x20x24xf32>) outs(%3 : tensor<20x20x24xf32>) -> tensor<20x20x24xf32>
  return %6 : tensor<20x20x24xf32>
}
