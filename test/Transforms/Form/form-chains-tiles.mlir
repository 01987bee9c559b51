// RUN: chimera-opt %s --chimera-form-chains="target=zen3 compiled-only" --canonicalize --split-input-file | FileCheck %s

// Rows of 56 pixels are seven full vectors, the last of which is a tile of its
// own that waits for its multiply-adds: all pixels of the image are one row.

// CHECK-LABEL: func.func @odd(
// CHECK:         chimera.chain
// CHECK:           chimera.yield {{.*}} : tensor<32x3136xf32>
func.func @odd(%x: tensor<1x24x56x56xf32>, %v: tensor<32x24x1x1xf32>) -> tensor<1x32x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x56x56xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x56x56xf32>) -> tensor<1x32x56x56xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x56x56xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x56x56xf32>) -> tensor<1x32x56x56xf32>
  return %2 : tensor<1x32x56x56xf32>
}

// -----

// Rows of eight vectors are whole tiles.

// CHECK-LABEL: func.func @even(
// CHECK:         chimera.chain
// CHECK:           chimera.yield {{.*}} : tensor<32x64x64xf32>
func.func @even(%x: tensor<1x24x64x64xf32>, %v: tensor<32x24x1x1xf32>) -> tensor<1x32x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x24x64x64xf32>, tensor<32x24x1x1xf32>) outs(%1 : tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32>
  return %2 : tensor<1x32x64x64xf32>
}
