// RUN: chimera-opt %s --chimera-choose-layouts="target=zen5 threads=1" --split-input-file --verify-diagnostics --remarks-filter=chimera | FileCheck %s

// Rows of 7 pixels fill less than half of a vector: 64 filters are worth the
// transposition of the image and of the filters, and padding and activation go
// with the convolution.

// CHECK-LABEL: func @late(
// CHECK:         tensor.pad
// CHECK:         {chimera.layout = "channels_last"}
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last"}
// CHECK:         linalg.generic {{.*}} attrs = {chimera.layout = "channels_last"}
#id = affine_map<(n, f, h, w) -> (n, f, h, w)>
func.func @late(%x: tensor<1x64x7x7xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x64x7x7xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
  %2 = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x64x7x7xf32> to tensor<1x64x9x9xf32>
  // expected-remark @below {{channels last: 33.9 us with channels first, 14.9 with channels last}}
  %3 = linalg.conv_2d_nchw_fchw ins(%2, %w : tensor<1x64x9x9xf32>, tensor<64x64x3x3xf32>)
      outs(%1 : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%3 : tensor<1x64x7x7xf32>) outs(%0 : tensor<1x64x7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x64x7x7xf32>
  return %4 : tensor<1x64x7x7xf32>
}

// -----

// A block of ConvNeXt: between a convolution and a residual the program has its
// channels last for what works on rows of them. With channels last throughout
// neither transpose takes anything.

// CHECK-LABEL: func @rows_of_channels(
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last"}
// CHECK:         linalg.transpose ins({{.*}}) outs({{.*}} : tensor<1x14x14x64xf32>) permutation = [0, 2, 3, 1] {chimera.layout = "channels_last"}
// CHECK:         linalg.generic
// CHECK-NOT:     channels_last
// CHECK:         linalg.transpose ins({{.*}}) outs({{.*}} : tensor<1x64x14x14xf32>) permutation = [0, 3, 1, 2] {chimera.layout = "channels_last"}
// CHECK:         linalg.add {chimera.layout = "channels_last"}
func.func @rows_of_channels(%x: tensor<1x64x16x16xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x64x14x14xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x64x14x14xf32>) -> tensor<1x64x14x14xf32>
  // expected-remark @below {{channels last: }}
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>)
      outs(%1 : tensor<1x64x14x14xf32>) -> tensor<1x64x14x14xf32>
  %3 = tensor.empty() : tensor<1x14x14x64xf32>
  %4 = linalg.transpose ins(%2 : tensor<1x64x14x14xf32>) outs(%3 : tensor<1x14x14x64xf32>) permutation = [0, 2, 3, 1]
  %5 = tensor.collapse_shape %4 [[0, 1, 2], [3]] : tensor<1x14x14x64xf32> into tensor<196x64xf32>
  %6 = tensor.empty() : tensor<196x64xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(m, c) -> (m, c)>, affine_map<(m, c) -> (m, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<196x64xf32>) outs(%6 : tensor<196x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<196x64xf32>
  %8 = tensor.expand_shape %7 [[0, 1, 2], [3]] output_shape [1, 14, 14, 64] : tensor<196x64xf32> into tensor<1x14x14x64xf32>
  %9 = linalg.transpose ins(%8 : tensor<1x14x14x64xf32>) outs(%0 : tensor<1x64x14x14xf32>) permutation = [0, 3, 1, 2]
  %10 = linalg.add ins(%9, %2 : tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>) outs(%0 : tensor<1x64x14x14xf32>) -> tensor<1x64x14x14xf32>
  return %10 : tensor<1x64x14x14xf32>
}

// -----

// Four filters fill a quarter of a vector, and rows of 64 pixels four.

// CHECK-LABEL: func @few_filters(
// CHECK-NOT:     chimera.layout
func.func @few_filters(%x: tensor<1x64x66x66xf32>, %w: tensor<4x64x3x3xf32>, %0: tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32> {
  // expected-remark @below {{as given: }}
  %1 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x66x66xf32>, tensor<4x64x3x3xf32>)
      outs(%0 : tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32>
  return %1 : tensor<1x4x64x64xf32>
}

// -----

// What has the attribute keeps it; nothing is chosen where nothing is compiled,
// or where channels are last already.

// CHECK-LABEL: func @given(
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "as_given"}
// CHECK:         linalg.conv_2d_nchw_fchw ins({{.*}} tensor<64x64x3x3xf64>)
// CHECK:         linalg.conv_2d_nhwc_hwcf ins(
func.func @given(%x: tensor<1x64x9x9xf32>, %w: tensor<64x64x3x3xf32>, %0: tensor<1x64x7x7xf32>,
                 %y: tensor<1x64x9x9xf64>, %v: tensor<64x64x3x3xf64>, %1: tensor<1x64x7x7xf64>,
                 %z: tensor<1x9x9x64xf32>, %u: tensor<3x3x64x64xf32>, %2: tensor<1x7x7x64xf32>)
    -> (tensor<1x64x7x7xf32>, tensor<1x64x7x7xf64>, tensor<1x7x7x64xf32>) {
  %3 = linalg.conv_2d_nchw_fchw {chimera.layout = "as_given"} ins(%x, %w : tensor<1x64x9x9xf32>, tensor<64x64x3x3xf32>)
      outs(%0 : tensor<1x64x7x7xf32>) -> tensor<1x64x7x7xf32>
  %4 = linalg.conv_2d_nchw_fchw ins(%y, %v : tensor<1x64x9x9xf64>, tensor<64x64x3x3xf64>)
      outs(%1 : tensor<1x64x7x7xf64>) -> tensor<1x64x7x7xf64>
  %5 = linalg.conv_2d_nhwc_hwcf ins(%z, %u : tensor<1x9x9x64xf32>, tensor<3x3x64x64xf32>)
      outs(%2 : tensor<1x7x7x64xf32>) -> tensor<1x7x7x64xf32>
  return %3, %4, %5 : tensor<1x64x7x7xf32>, tensor<1x64x7x7xf64>, tensor<1x7x7x64xf32>
}

// -----

// Groups have sixteen filters each: reshapes, padding and what is elementwise on
// either side go along.

// CHECK-LABEL: func @grouped(
// CHECK:         tensor.expand_shape %{{.*}}chimera.layout = "channels_last"
// CHECK:         tensor.pad
// CHECK:         {chimera.layout = "channels_last"}
// CHECK:         linalg.conv_2d_ngchw_gfchw {chimera.layout = "channels_last"}
// CHECK:         linalg.generic {{.*}} attrs = {chimera.layout = "channels_last"}
// CHECK:         tensor.collapse_shape %{{.*}}chimera.layout = "channels_last"
#id = affine_map<(n, g, f, h, w) -> (n, g, f, h, w)>
func.func @grouped(%x: tensor<1x64x14x14xf32>, %w: tensor<4x16x16x3x3xf32> {chimera.constant}) -> tensor<1x64x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x4x16x14x14xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x4x16x14x14xf32>) -> tensor<1x4x16x14x14xf32>
  %2 = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 4, 16, 14, 14] : tensor<1x64x14x14xf32> into tensor<1x4x16x14x14xf32>
  %3 = tensor.pad %2 low[0, 0, 0, 1, 1] high[0, 0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index, %e: index):
    tensor.yield %zero : f32
  } : tensor<1x4x16x14x14xf32> to tensor<1x4x16x16x16xf32>
  // expected-remark @below {{channels last: 17.5 us with channels first, 14.7 with channels last}}
  %4 = linalg.conv_2d_ngchw_gfchw ins(%3, %w : tensor<1x4x16x16x16xf32>, tensor<4x16x16x3x3xf32>)
      outs(%1 : tensor<1x4x16x14x14xf32>) -> tensor<1x4x16x14x14xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%4 : tensor<1x4x16x14x14xf32>) outs(%0 : tensor<1x4x16x14x14xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x4x16x14x14xf32>
  %6 = tensor.collapse_shape %5 [[0], [1, 2], [3], [4]] : tensor<1x4x16x14x14xf32> into tensor<1x64x14x14xf32>
  return %6 : tensor<1x64x14x14xf32>
}

// -----

// What counts is how many filters a group has; groups of one channel and one
// filter are channels.

// CHECK-LABEL: func @small_groups(
// CHECK:         linalg.conv_2d_ngchw_gfchw ins(
// CHECK:         linalg.conv_2d_ngchw_gfchw {chimera.layout = "channels_last"}
func.func @small_groups(%x: tensor<1x32x2x34x34xf32>, %w: tensor<32x2x2x3x3xf32>, %0: tensor<1x32x2x32x32xf32>,
                        %y: tensor<1x64x1x9x9xf32>, %v: tensor<64x1x1x3x3xf32> {chimera.constant}, %1: tensor<1x64x1x7x7xf32>)
    -> (tensor<1x32x2x32x32xf32>, tensor<1x64x1x7x7xf32>) {
  // expected-remark @below {{as given: }}
  %2 = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<1x32x2x34x34xf32>, tensor<32x2x2x3x3xf32>)
      outs(%0 : tensor<1x32x2x32x32xf32>) -> tensor<1x32x2x32x32xf32>
  // expected-remark @below {{channels last: }}
  %3 = linalg.conv_2d_ngchw_gfchw ins(%y, %v : tensor<1x64x1x9x9xf32>, tensor<64x1x1x3x3xf32>)
      outs(%1 : tensor<1x64x1x7x7xf32>) -> tensor<1x64x1x7x7xf32>
  return %2, %3 : tensor<1x32x2x32x32xf32>, tensor<1x64x1x7x7xf32>
}

// -----

// To pad what the program hands in is a copy of it, unless the image is brought
// into another order anyway: that decides here.

// CHECK-LABEL: func @padded_argument(
// CHECK:         tensor.pad
// CHECK:         {chimera.layout = "channels_last"}
// CHECK:         linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last",
func.func @padded_argument(%x: tensor<1x16x227x227xf32>, %w: tensor<64x16x3x3xf32> {chimera.constant}, %0: tensor<1x64x57x57xf32>) -> tensor<1x64x57x57xf32> {
  %zero = arith.constant 0.0 : f32
  %1 = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x16x227x227xf32> to tensor<1x16x229x229xf32>
  // expected-remark @below {{channels last: 295.4 us with channels first, 226.5 with channels last}}
  %2 = linalg.conv_2d_nchw_fchw {strides = dense<4> : tensor<2xi64>} ins(%1, %w : tensor<1x16x229x229xf32>, tensor<64x16x3x3xf32>)
      outs(%0 : tensor<1x64x57x57xf32>) -> tensor<1x64x57x57xf32>
  return %2 : tensor<1x64x57x57xf32>
}

// -----

// Without windows the pixels of an image are one row, which fills vectors,
// where rows of 56 leave half of one; not if the result gets a border.

// CHECK-LABEL: func @pixels(
// CHECK-NOT:     channels_last
func.func @pixels(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x1x1xf32> {chimera.constant}, %0: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x58x58xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-remark @below {{as given: 103.9 us with channels first, 99.2 with channels last}}
  %1 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>)
      outs(%0 : tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  // expected-remark @below {{as given: 118.7 us with channels first, 99.2 with channels last}}
  %2 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>)
      outs(%0 : tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %3 = tensor.pad %2 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x64x56x56xf32> to tensor<1x64x58x58xf32>
  return %1, %3 : tensor<1x64x56x56xf32>, tensor<1x64x58x58xf32>
}
