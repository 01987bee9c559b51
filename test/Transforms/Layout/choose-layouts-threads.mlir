// RUN: chimera-opt %s --chimera-choose-layouts="target=zen3 threads=1" | FileCheck %s
// RUN: chimera-opt %s --chimera-choose-layouts="target=zen3 threads=2" | FileCheck %s
// RUN: chimera-opt %s --chimera-choose-layouts="target=zen4 threads=2" | FileCheck %s

// Vectors of constant filters have long parts of channels, vectors of pixels
// have not: the layout is the same on any number of threads, as bits have to be.

// CHECK-LABEL: func @small(
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last"}

func.func @small(%x: tensor<1x16x15x15xf32>, %w: tensor<16x16x3x3xf32> {chimera.constant}) -> tensor<1x16x13x13xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x16x13x13xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x16x13x13xf32>) -> tensor<1x16x13x13xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x15x15xf32>, tensor<16x16x3x3xf32>) outs(%1 : tensor<1x16x13x13xf32>) -> tensor<1x16x13x13xf32>
  return %2 : tensor<1x16x13x13xf32>
}
