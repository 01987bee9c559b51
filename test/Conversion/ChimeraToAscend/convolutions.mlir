// A convolution of 3 x 3 windows with a border of zeros, and a product with its
// pixels. The border is in no memory: windows reach beyond the image, and kernels
// make zeros where they do.
//
// RUN: chimera-opt %s --chimera-form-chains=target=ascend310p --chimera-schedule="target=ascend310p fuse=always" --chimera-tile --canonicalize --cse --show-ascend-images | FileCheck %s --check-prefix=IMAGE
// RUN: chimera-opt %s --chimera-ascend-pipeline="target=ascend310p fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s
// RUN: chimera-opt %s --chimera-ascend-pipeline="target=ascend910b fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=NEWER

// IMAGE: #[[$MAP:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0 + d1 - 1, d2 + d3 - 1, d4)>
// IMAGE-LABEL: func @main
// IMAGE-NOT: tensor.pad
// IMAGE: ascend.image %{{.*}} at #[[$MAP]] : tensor<9x21x32xf16> to tensor<9x3x21x3x32xf16>

// CHECK: // main_kernel(arg0 : 1x9x21x32xf16,
// CHECK: void main_kernel(
// CHECK: for (size_t [[TASK:[a-z0-9]+]] = v{{[0-9]+}};
// The filters of all taps, once for all rows of pixels of the tile.
// CHECK: copy_gm_to_cbuf(
// CHECK: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 3; {{[a-z0-9]+}} += 1) {
// Rows of the image, each for all taps: zeros first where the border is, then what
// there is.
// CHECK: wait_flag(PIPE_MTE1, PIPE_MTE2,
// CHECK: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 3; {{[a-z0-9]+}} += 1) {
// CHECK: if (
// CHECK: #pragma emit_insn dma_padding
// CHECK-NEXT: create_cbuf_matrix({{.*}}, half(0));
// CHECK-NEXT: pipe_barrier(PIPE_MTE2);
// CHECK: if (
// CHECK: copy_gm_to_cbuf(
// CHECK: set_flag(PIPE_MTE2, PIPE_MTE1,
// Taps in a row are a block further on each.
// CHECK: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 3; {{[a-z0-9]+}} += 1) {
// CHECK-COUNT-3: mad(
// CHECK-NOT: mad(
// CHECK: copy_matrix_cc_to_ubuf(
// CHECK: copy_ubuf_to_cbuf(
// CHECK: mad(
// CHECK: copy_ubuf_to_gm(

// NEWER: create_cbuf_matrix({{.*}}, half(0));
// NEWER: copy_gm_to_cbuf_multi_nd2nz_b16(
// NEWER-COUNT-3: mad(
// NEWER: copy_matrix_cc_to_cbuf(

#pixel = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func @main(%image: tensor<1x9x21x32xf16>, %first: tensor<3x3x32x32xf16>,
                %second: tensor<1x1x32x16xf16>) -> tensor<1x9x21x16xf16> {
  %zero = arith.constant 0.0 : f32
  %border = arith.constant 0.0 : f16
  %padded = tensor.pad %image low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %w: index, %c: index):
    tensor.yield %border : f16
  } : tensor<1x9x21x32xf16> to tensor<1x11x23x32xf16>
  %e0 = tensor.empty() : tensor<1x9x21x32xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x9x21x32xf32>) -> tensor<1x9x21x32xf32>
  %c0 = linalg.conv_2d_nhwc_hwcf
    ins(%padded, %first : tensor<1x11x23x32xf16>, tensor<3x3x32x32xf16>)
    outs(%z0 : tensor<1x9x21x32xf32>) -> tensor<1x9x21x32xf32>
  %o0 = tensor.empty() : tensor<1x9x21x32xf16>
  %y0 = linalg.generic {indexing_maps = [#pixel, #pixel],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c0 : tensor<1x9x21x32xf32>) outs(%o0 : tensor<1x9x21x32xf16>) {
  ^bb0(%v: f32, %o: f16):
    %t = arith.truncf %v : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x9x21x32xf16>
  %e1 = tensor.empty() : tensor<1x9x21x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x9x21x16xf32>) -> tensor<1x9x21x16xf32>
  %c1 = linalg.conv_2d_nhwc_hwcf
    ins(%y0, %second : tensor<1x9x21x32xf16>, tensor<1x1x32x16xf16>)
    outs(%z1 : tensor<1x9x21x16xf32>) -> tensor<1x9x21x16xf32>
  %o1 = tensor.empty() : tensor<1x9x21x16xf16>
  %y1 = linalg.generic {indexing_maps = [#pixel, #pixel],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c1 : tensor<1x9x21x16xf32>) outs(%o1 : tensor<1x9x21x16xf16>) {
  ^bb0(%v: f32, %o: f16):
    %t = arith.truncf %v : f32 to f16
    linalg.yield %t : f16
  } -> tensor<1x9x21x16xf16>
  return %y1 : tensor<1x9x21x16xf16>
}
