// RUN: chimera-opt %s --chimera-form-chains="target=zen5 compiled-only" --split-input-file | FileCheck %s

// Vectors run along a row of pixels where channels come first. The second
// convolution would read every second pixel of what the first one makes.

// CHECK-LABEL: func.func @stride_along_vectors(
// CHECK:         %[[FIRST:.*]] = chimera.chain
// CHECK:         chimera.chain ins(%[[FIRST]],
func.func @stride_along_vectors(%x: tensor<2x24x18x18xf32>, %v: tensor<16x24x3x3xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<2x32x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2x16x16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<2x24x18x18xf32>, tensor<16x24x3x3xf32>) outs(%1 : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
  %3 = tensor.empty() : tensor<2x32x7x7xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<2x32x7x7xf32>) -> tensor<2x32x7x7xf32>
  %5 = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>} ins(%2, %w : tensor<2x16x16x16xf32>, tensor<32x16x3x3xf32>) outs(%4 : tensor<2x32x7x7xf32>) -> tensor<2x32x7x7xf32>
  return %5 : tensor<2x32x7x7xf32>
}

// -----

// A stride from row to row is none for vectors.

// CHECK-LABEL: func.func @stride_across_vectors(
// CHECK:         chimera.chain
// CHECK:           linalg.generic
// CHECK:           linalg.generic
// CHECK:           chimera.yield
// CHECK-NOT:     chimera.chain
func.func @stride_across_vectors(%x: tensor<2x24x18x18xf32>, %v: tensor<16x24x3x3xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<2x32x7x14xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2x16x16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<2x24x18x18xf32>, tensor<16x24x3x3xf32>) outs(%1 : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
  %3 = tensor.empty() : tensor<2x32x7x14xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<2x32x7x14xf32>) -> tensor<2x32x7x14xf32>
  %5 = linalg.conv_2d_nchw_fchw {strides = dense<[2, 1]> : tensor<2xi64>} ins(%2, %w : tensor<2x16x16x16xf32>, tensor<32x16x3x3xf32>) outs(%4 : tensor<2x32x7x14xf32>) -> tensor<2x32x7x14xf32>
  return %5 : tensor<2x32x7x14xf32>
}
