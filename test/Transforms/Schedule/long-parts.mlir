// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen3 threads=1" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=1" | FileCheck %s

// Kernels of constant filters take all channels of a tap before they turn to the
// next, and no level cuts the channels in less.

// CHECK-LABEL: func @constant
// CHECK: levels = [<"L3"
// CHECK-SAME: part = 256>
func.func @constant(%x: tensor<1x58x58x64xf32>, %w: tensor<3x3x64x128xf32> {chimera.constant}) -> tensor<1x56x56x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x56x56x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x58x58x64xf32>, tensor<3x3x64x128xf32>) outs(%1 : tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32>
  return %2 : tensor<1x56x56x128xf32>
}

// CHECK-LABEL: func @argument
// CHECK-NOT: depth = 4, part =
func.func @argument(%x: tensor<1x58x58x64xf32>, %w: tensor<3x3x64x128xf32>) -> tensor<1x56x56x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x56x56x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x58x58x64xf32>, tensor<3x3x64x128xf32>) outs(%1 : tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32>
  return %2 : tensor<1x56x56x128xf32>
}
