// Windows that no kernel has code for, and what to do about them.
//
// RUN: not chimera-opt %s --split-input-file --chimera-ascend-pipeline=target=ascend310p -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: no kernel for an Ascend core: the taps of windows are dilated; write them as windows of neighbours
func.func @dilated(%x0: tensor<1x9x21x32xf16>, %x1: tensor<3x3x32x32xf16>) -> tensor<1x5x17x32xf16> {
%zero = arith.constant 0.0 : f32
%border = arith.constant 0.0 : f16
%e0 = tensor.empty() : tensor<1x5x17x32xf32>
%z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x5x17x32xf32>) -> tensor<1x5x17x32xf32>
%c0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : vector<2xi64>, dilations = dense<2> : vector<2xi64>}
  ins(%x0, %x1 : tensor<1x9x21x32xf16>, tensor<3x3x32x32xf16>)
  outs(%z0 : tensor<1x5x17x32xf32>) -> tensor<1x5x17x32xf32>
%o0 = tensor.empty() : tensor<1x5x17x32xf16>
%y0 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
  ins(%c0 : tensor<1x5x17x32xf32>) outs(%o0 : tensor<1x5x17x32xf16>) {
^bb0(%v0: f32, %q0: f16):
%t0 = arith.truncf %v0 : f32 to f16
linalg.yield %t0 : f16
} -> tensor<1x5x17x32xf16>
return %y0 : tensor<1x5x17x32xf16>
}

// -----

// CHECK: error: no kernel for an Ascend core: windows are as high or as wide as their image, and do not move along that side; give the image one more row
func.func @still(%x0: tensor<1x3x20x32xf16>, %x1: tensor<3x3x32x32xf16>) -> tensor<1x1x18x32xf16> {
%zero = arith.constant 0.0 : f32
%border = arith.constant 0.0 : f16
%e0 = tensor.empty() : tensor<1x1x18x32xf32>
%z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x1x18x32xf32>) -> tensor<1x1x18x32xf32>
%c0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
  ins(%x0, %x1 : tensor<1x3x20x32xf16>, tensor<3x3x32x32xf16>)
  outs(%z0 : tensor<1x1x18x32xf32>) -> tensor<1x1x18x32xf32>
%o0 = tensor.empty() : tensor<1x1x18x32xf16>
%y0 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
  ins(%c0 : tensor<1x1x18x32xf32>) outs(%o0 : tensor<1x1x18x32xf16>) {
^bb0(%v0: f32, %q0: f16):
%t0 = arith.truncf %v0 : f32 to f16
linalg.yield %t0 : f16
} -> tensor<1x1x18x32xf16>
return %y0 : tensor<1x1x18x32xf16>
}

// -----

// CHECK: error: no kernel for an Ascend core: the channels of an image are not its last dimension; transpose it
func.func @channels_first(%a: tensor<1x32x9x21xf16>, %f: tensor<32x32x3x3xf16>) -> tensor<1x32x7x19xf16> {
%z = arith.constant 0.0 : f32
%e = tensor.empty() : tensor<1x32x7x19xf32>
%q = linalg.fill ins(%z : f32) outs(%e : tensor<1x32x7x19xf32>) -> tensor<1x32x7x19xf32>
%c = linalg.conv_2d_nchw_fchw {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>} ins(%a, %f : tensor<1x32x9x21xf16>, tensor<32x32x3x3xf16>) outs(%q : tensor<1x32x7x19xf32>) -> tensor<1x32x7x19xf32>
%o = tensor.empty() : tensor<1x32x7x19xf16>
%t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x32x7x19xf32>) outs(%o : tensor<1x32x7x19xf16>) {
^bb0(%x: f32, %y: f16):
  %n = arith.truncf %x : f32 to f16
  linalg.yield %n : f16
} -> tensor<1x32x7x19xf16>
return %t : tensor<1x32x7x19xf16>
}

// -----

// CHECK: error: no kernel for an Ascend core: each channel of an image has filters of its own
func.func @depthwise(%a: tensor<1x9x21x32xf16>, %f: tensor<3x3x32xf16>) -> tensor<1x7x19x32xf16> {
%z = arith.constant 0.0 : f32
%e = tensor.empty() : tensor<1x7x19x32xf32>
%q = linalg.fill ins(%z : f32) outs(%e : tensor<1x7x19x32xf32>) -> tensor<1x7x19x32xf32>
%c = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>} ins(%a, %f : tensor<1x9x21x32xf16>, tensor<3x3x32xf16>) outs(%q : tensor<1x7x19x32xf32>) -> tensor<1x7x19x32xf32>
%o = tensor.empty() : tensor<1x7x19x32xf16>
%t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x7x19x32xf32>) outs(%o : tensor<1x7x19x32xf16>) {
^bb0(%x: f32, %y: f16):
  %n = arith.truncf %x : f32 to f16
  linalg.yield %n : f16
} -> tensor<1x7x19x32xf16>
return %t : tensor<1x7x19x32xf16>
}

// -----

// CHECK: error: no kernel for an Ascend core: windows have other dimensions than rows and columns; add up convolutions in these two, one for each tap along the others
func.func @volume(%a: tensor<1x5x9x21x32xf16>, %f: tensor<3x3x3x32x32xf16>) -> tensor<1x3x7x19x32xf16> {
%z = arith.constant 0.0 : f32
%e = tensor.empty() : tensor<1x3x7x19x32xf32>
%q = linalg.fill ins(%z : f32) outs(%e : tensor<1x3x7x19x32xf32>) -> tensor<1x3x7x19x32xf32>
%c = linalg.conv_3d_ndhwc_dhwcf {strides = dense<1> : vector<3xi64>, dilations = dense<1> : vector<3xi64>} ins(%a, %f : tensor<1x5x9x21x32xf16>, tensor<3x3x3x32x32xf16>) outs(%q : tensor<1x3x7x19x32xf32>) -> tensor<1x3x7x19x32xf32>
%o = tensor.empty() : tensor<1x3x7x19x32xf16>
%t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%c : tensor<1x3x7x19x32xf32>) outs(%o : tensor<1x3x7x19x32xf16>) {
^bb0(%x: f32, %y: f16):
  %n = arith.truncf %x : f32 to f16
  linalg.yield %n : f16
} -> tensor<1x3x7x19x32xf16>
return %t : tensor<1x3x7x19x32xf16>
}

// -----

// CHECK: error: no kernel for an Ascend core: a tensor is copied or padded in memory; zeros around the rows and columns
func.func @pixels(%x0: tensor<1x12x20x32xf16>, %x1: tensor<1x1x32x32xf16>) -> tensor<1x14x22x32xf16> {
%zero = arith.constant 0.0 : f32
%border = arith.constant 0.0 : f16
%p0 = tensor.pad %x0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
^bb0(%a0: index, %b0: index, %d0: index, %f0: index):
tensor.yield %border : f16
} : tensor<1x12x20x32xf16> to tensor<1x14x22x32xf16>
%e0 = tensor.empty() : tensor<1x14x22x32xf32>
%z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x14x22x32xf32>) -> tensor<1x14x22x32xf32>
%c0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
  ins(%p0, %x1 : tensor<1x14x22x32xf16>, tensor<1x1x32x32xf16>)
  outs(%z0 : tensor<1x14x22x32xf32>) -> tensor<1x14x22x32xf32>
%o0 = tensor.empty() : tensor<1x14x22x32xf16>
%y0 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
  ins(%c0 : tensor<1x14x22x32xf32>) outs(%o0 : tensor<1x14x22x32xf16>) {
^bb0(%v0: f32, %q0: f16):
%t0 = arith.truncf %v0 : f32 to f16
linalg.yield %t0 : f16
} -> tensor<1x14x22x32xf16>
return %y0 : tensor<1x14x22x32xf16>
}
