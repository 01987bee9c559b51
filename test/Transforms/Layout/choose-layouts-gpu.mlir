// Kernels of a GPU have pixels as rows and channels as columns of their registers,
// however few filters there are: channels are last, which takes a launch to transpose
// an image. What narrows the sums goes with them, so that half as many bytes do.
//
// RUN: chimera-opt %s --chimera-choose-layouts=target=h200 --verify-diagnostics --remarks-filter=chimera | FileCheck %s

// CHECK-LABEL: func @few_filters(
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last"}
// CHECK:         linalg.generic {{.*}} attrs = {chimera.layout = "channels_last"}
#id = affine_map<(n, f, h, w) -> (n, f, h, w)>
func.func @few_filters(%x: tensor<1x64x66x66xf16>, %w: tensor<4x64x3x3xf16>) -> tensor<1x4x64x64xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32>
  // expected-remark @below {{channels last, the only layout that there are kernels for}}
  %s = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x66x66xf16>, tensor<4x64x3x3xf16>)
      outs(%z : tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32>
  %n = tensor.empty() : tensor<1x4x64x64xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x4x64x64xf32>) outs(%n : tensor<1x4x64x64xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x4x64x64xf16>
  return %r : tensor<1x4x64x64xf16>
}

// Nothing is transposed for what has no convolution.

// CHECK-LABEL: func @none(
// CHECK-NOT:     channels_last
func.func @none(%x: tensor<1x64x16x16xf16>, %y: tensor<1x64x16x16xf16>) -> tensor<1x64x16x16xf16> {
  %e = tensor.empty() : tensor<1x64x16x16xf16>
  %s = linalg.add ins(%x, %y : tensor<1x64x16x16xf16>, tensor<1x64x16x16xf16>) outs(%e : tensor<1x64x16x16xf16>) -> tensor<1x64x16x16xf16>
  return %s : tensor<1x64x16x16xf16>
}
