// A convolution of 3 x 3 windows with a stride of two over what another one makes,
// in one kernel: the image in between lies in L1 as windows take it, with its border
// of zeros.
//
// RUN: chimera-opt %s --chimera-ascend-pipeline=target=ascend310p | mlir-translate --mlir-to-cpp | FileCheck %s
// RUN: chimera-opt %s --chimera-ascend-pipeline=target=ascend910 | mlir-translate --mlir-to-cpp | FileCheck %s
// RUN: chimera-opt %s --chimera-ascend-pipeline=target=ascend910b | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=NEWER

// Five rows of 12 windows: pixels 0, 2, ... for two taps, 1, 3, ... for the one
// between them, 32 and 16 of them.
// CHECK: void main_kernel(
// CHECK: for (size_t [[TASK:[a-z0-9]+]] = v{{[0-9]+}}; [[TASK]] < 3;
// The border, before the loads for the first product.
// CHECK: wait_flag(PIPE_MTE1, PIPE_MTE2, [[EVENT:[0-9]]]);
// CHECK-NEXT: L1<half> [[IMAGE:v[0-9]+]] = L1<half>(0);
// CHECK-NEXT: #pragma emit_insn dma_padding
// CHECK-NEXT: create_cbuf_matrix([[IMAGE]], 15, half(0));
// CHECK-NEXT: set_flag(PIPE_MTE2, PIPE_MTE1, [[EVENT]]);
// CHECK-NEXT: wait_flag(PIPE_MTE2, PIPE_MTE1, [[EVENT]]);
// CHECK-NOT: emit_insn dma_padding
// Rows of pixels one by one, as many as the tile needs of the image.
// CHECK: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < [[ROWS:v[0-9]+]];
// CHECK: mad(
// CHECK: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < [[ROWS]];
// CHECK: copy_matrix_cc_to_ubuf(
// CHECK: [[ROW:v[0-9]+]] = [[IMAGE]] +
// CHECK: copy_ubuf_to_cbuf({{v[0-9]+}}, {{v[0-9]+}}, 11, 1, 1, 0);
// CHECK: [[ODD:v[0-9]+]] = [[ROW]] + 512;
// CHECK: copy_ubuf_to_cbuf([[ODD]], {{v[0-9]+}}, 12, 1, 1, 0);
// Taps: the first pixels, those between, and the first ones from the second on.
// CHECK: load_cbuf_to_ca(
// CHECK: + 512);
// CHECK: load_cbuf_to_ca(
// CHECK: + 16);
// CHECK: load_cbuf_to_ca(
// CHECK: copy_ubuf_to_gm(

// Sums leave pixel by pixel.
// NEWER: create_cbuf_matrix({{v[0-9]+}}, 15, half(0));
// NEWER: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 11;
// NEWER: copy_matrix_cc_to_cbuf({{v[0-9]+}}, {{v[0-9]+}}, 1, 16, 32, 32, CRMODE_F32toF16_NONE);
// NEWER: for (size_t {{[a-z0-9]+}} = 0; {{[a-z0-9]+}} < 12;
// NEWER: copy_matrix_cc_to_cbuf({{v[0-9]+}}, {{v[0-9]+}}, 1, 16, 32, 16, CRMODE_F32toF16_NONE);
// NEWER: copy_matrix_cc_to_gm(

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 + d3, d1 + d4, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5, d2)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 * 2 + d3, d1 * 2 + d4, d5)>
func.func @main(%arg0: tensor<1x9x23x16xf16>, %arg1: tensor<3x3x16x16xf16>, %arg2: tensor<3x3x16x16xf16>) -> tensor<1x5x12x16xf16> {
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<1x9x23x16xf16> into tensor<9x23x16xf16>
  %0 = chimera.chain ins(%collapsed, %arg1, %arg2 : tensor<9x23x16xf16>, tensor<3x3x16x16xf16>, tensor<3x3x16x16xf16>)
      schedule(<levels = [<"L2">, <"L1" : h = 2>], parallel = 1, 
      registers = <rows = 1, vectors = 1, broadcasts = 0, depth = 1>,
      extents = [p = 9, p1 = 23, l = 16, r = 3, r1 = 3, k = 16, h = 5, h1 = 12, n = 16, r2 = 3, r3 = 3], blocks = <>>) {
  ^bb0(%arg3: tensor<9x23x16xf16>, %arg4: tensor<3x3x16x16xf16>, %arg5: tensor<3x3x16x16xf16>):
    %cst = arith.constant 0.000000e+00 : f16
    %padded = tensor.pad %arg3 low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%arg6: index, %arg7: index, %arg8: index):
      tensor.yield %cst : f16
    } : tensor<9x23x16xf16> to tensor<11x25x16xf16>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %1 = tensor.empty() : tensor<9x23x16xf32>
    %2 = linalg.fill ins(%cst_0 : f32) outs(%1 : tensor<9x23x16xf32>) -> tensor<9x23x16xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %arg4 : tensor<11x25x16xf16>, tensor<3x3x16x16xf16>) outs(%2 : tensor<9x23x16xf32>) {
    ^bb0(%in: f16, %in_2: f16, %out: f32):
      %11 = arith.extf %in : f16 to f32
      %12 = arith.extf %in_2 : f16 to f32
      %13 = arith.mulf %11, %12 : f32
      %14 = arith.addf %out, %13 : f32
      linalg.yield %14 : f32
    } -> tensor<9x23x16xf32>
    %4 = tensor.empty() : tensor<9x23x16xf16>
    %5 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<9x23x16xf32>) outs(%4 : tensor<9x23x16xf16>) {
    ^bb0(%in: f32, %out: f16):
      %11 = arith.truncf %in : f32 to f16
      linalg.yield %11 : f16
    } -> tensor<9x23x16xf16>
    %padded_1 = tensor.pad %5 low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%arg6: index, %arg7: index, %arg8: index):
      tensor.yield %cst : f16
    } : tensor<9x23x16xf16> to tensor<11x25x16xf16>
    %6 = tensor.empty() : tensor<5x12x16xf32>
    %7 = linalg.fill ins(%cst_0 : f32) outs(%6 : tensor<5x12x16xf32>) -> tensor<5x12x16xf32>
    %8 = linalg.generic {indexing_maps = [#map4, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded_1, %arg5 : tensor<11x25x16xf16>, tensor<3x3x16x16xf16>) outs(%7 : tensor<5x12x16xf32>) {
    ^bb0(%in: f16, %in_2: f16, %out: f32):
      %11 = arith.extf %in : f16 to f32
      %12 = arith.extf %in_2 : f16 to f32
      %13 = arith.mulf %11, %12 : f32
      %14 = arith.addf %out, %13 : f32
      linalg.yield %14 : f32
    } -> tensor<5x12x16xf32>
    %9 = tensor.empty() : tensor<5x12x16xf16>
    %10 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<5x12x16xf32>) outs(%9 : tensor<5x12x16xf16>) {
    ^bb0(%in: f32, %out: f16):
      %11 = arith.truncf %in : f32 to f16
      linalg.yield %11 : f16
    } -> tensor<5x12x16xf16>
    chimera.yield %10 : tensor<5x12x16xf16>
  } -> tensor<5x12x16xf16>
  %expanded = tensor.expand_shape %0 [[0, 1], [2], [3]] output_shape [1, 5, 12, 16] : tensor<5x12x16xf16> into tensor<1x5x12x16xf16>
  return %expanded : tensor<1x5x12x16xf16>
}
