// RUN: chimera-opt %s --split-input-file -o /dev/null \
// RUN:   --chimera-form-chains="print-problem" 2>&1 | FileCheck %s

// What the model sees of chains that can be planned.

// Two convolutions, channels first, with padding and a stride. The rows of the
// first are what the windows of the second need.

func.func @nchw(%image: tensor<1x3x16x16xf32>, %filter0: tensor<8x3x3x3xf32>, %filter1: tensor<4x8x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x16xf32> to tensor<1x3x18x18xf32>
  %empty0 = tensor.empty() : tensor<1x8x16x16xf32>
  %fill0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %conv0 = linalg.conv_2d_nchw_fchw ins(%padded, %filter0 : tensor<1x3x18x18xf32>, tensor<8x3x3x3xf32>) outs(%fill0 : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %relu = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv0 : tensor<1x8x16x16xf32>) outs(%empty0 : tensor<1x8x16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<1x8x16x16xf32>
  %padded1 = tensor.pad %relu low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<1x8x16x16xf32> to tensor<1x8x18x18xf32>
  %empty1 = tensor.empty() : tensor<1x4x8x8xf32>
  %fill1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %conv1 = linalg.conv_2d_nchw_fchw {strides = dense<2> : vector<2xi64>} ins(%padded1, %filter1 : tensor<1x8x18x18xf32>, tensor<4x8x3x3xf32>) outs(%fill1 : tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %conv1 : tensor<1x4x8x8xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops m = 1, l = 8, p = 16, p1 = 16, r = 3, r1 = 3, k = 3, n = 4, h = 8, h1 = 8, r2 = 3, r3 = 3
// CHECK-NEXT:   input in0 [1 x 3 x 16 x 16] of 4 bytes
// CHECK-NEXT:   input in1 [8 x 3 x 3 x 3] of 4 bytes
// CHECK-NEXT:   intermediate mid0 [1 x 8 x 16 x 16] of 4 bytes
// CHECK-NEXT:   input in2 [4 x 8 x 3 x 3] of 4 bytes
// CHECK-NEXT:   output out [1 x 4 x 8 x 8] of 4 bytes
// CHECK-NEXT:   conv0: mid0[m, l, p, p1] += in0[m, k, p + r - 1, r1 + p1 - 1] * in1[l, k, r, r1]
// CHECK-NEXT:     vectors along p1, rows along l
// CHECK-NEXT:     then 1 instructions
// CHECK-NEXT:   conv1: out[m, n, h, h1] += mid0[m, l, 2 * h + r2 - 1, 2 * h1 + r3 - 1] * in2[n, l, r2, r3]
// CHECK-NEXT:     vectors along h1, rows along n

// -----

// Channels last, with dilation.

func.func @nhwc(%image: tensor<2x20x20x3xf32>, %filter0: tensor<3x3x3x8xf32>, %filter1: tensor<3x3x8x4xf32>) -> tensor<2x14x14x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<2x18x18x8xf32>
  %fill0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<2x18x18x8xf32>) -> tensor<2x18x18x8xf32>
  %conv0 = linalg.conv_2d_nhwc_hwcf ins(%image, %filter0 : tensor<2x20x20x3xf32>, tensor<3x3x3x8xf32>) outs(%fill0 : tensor<2x18x18x8xf32>) -> tensor<2x18x18x8xf32>
  %empty1 = tensor.empty() : tensor<2x14x14x4xf32>
  %fill1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<2x14x14x4xf32>) -> tensor<2x14x14x4xf32>
  %conv1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : vector<2xi64>} ins(%conv0, %filter1 : tensor<2x18x18x8xf32>, tensor<3x3x8x4xf32>) outs(%fill1 : tensor<2x14x14x4xf32>) -> tensor<2x14x14x4xf32>
  return %conv1 : tensor<2x14x14x4xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops m = 2, p = 18, p1 = 18, l = 8, r = 3, r1 = 3, k = 3, h = 14, h1 = 14, n = 4, r2 = 3, r3 = 3
// CHECK:        conv0: mid0[m, p, p1, l] += in0[m, p + r, p1 + r1, k] * in1[r, r1, k, l]
// CHECK-NEXT:     vectors along l, rows along p
// CHECK-NEXT:   conv1: out[m, h, h1, n] += mid0[m, h + 2 * r2, h1 + 2 * r3, l] * in2[r2, r3, l, n]
// CHECK-NEXT:     vectors along n, rows along h

// -----

// A depthwise convolution and a pointwise one, which is a matrix product.

func.func @depthwise(%image: tensor<1x32x12x12xf32>, %filter0: tensor<32x3x3xf32>, %filter1: tensor<16x32x1x1xf32>) -> tensor<1x16x10x10xf32> {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<1x32x10x10xf32>
  %fill0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<1x32x10x10xf32>) -> tensor<1x32x10x10xf32>
  %conv0 = linalg.depthwise_conv_2d_nchw_chw ins(%image, %filter0 : tensor<1x32x12x12xf32>, tensor<32x3x3xf32>) outs(%fill0 : tensor<1x32x10x10xf32>) -> tensor<1x32x10x10xf32>
  %empty1 = tensor.empty() : tensor<1x16x10x10xf32>
  %fill1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<1x16x10x10xf32>) -> tensor<1x16x10x10xf32>
  %conv1 = linalg.conv_2d_nchw_fchw ins(%conv0, %filter1 : tensor<1x32x10x10xf32>, tensor<16x32x1x1xf32>) outs(%fill1 : tensor<1x16x10x10xf32>) -> tensor<1x16x10x10xf32>
  return %conv1 : tensor<1x16x10x10xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops h = 10, h1 = 10, l = 32, r = 3, r1 = 3, n = 16
// CHECK:        conv0: mid0[l, h, h1] += in0[l, h + r, r1 + h1] * in1[l, r, r1]
// CHECK-NEXT:     vectors along h1
// CHECK-NEXT:   gemm1: out[n, h, h1] += mid0[l, h, h1] * in2[n, l]
// CHECK-NEXT:     vectors along h1, rows along n

// -----

// A convolution in groups along one dimension, written as a generic operation,
// and a matrix product of all groups: its reduction is two loops.

func.func @groups(%signal: tensor<4x6x34xf32>, %filter: tensor<4x8x6x3xf32>, %weights: tensor<32x10xf32>) -> tensor<16x10xf32> {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<4x8x16xf32>
  %fill0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %conv = linalg.generic {indexing_maps = [affine_map<(g, f, x, c, r) -> (g, c, x * 2 + r)>, affine_map<(g, f, x, c, r) -> (g, f, c, r)>, affine_map<(g, f, x, c, r) -> (g, f, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%signal, %filter : tensor<4x6x34xf32>, tensor<4x8x6x3xf32>) outs(%fill0 : tensor<4x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8x16xf32>
  %collapsed = tensor.collapse_shape %conv [[0, 1], [2]] : tensor<4x8x16xf32> into tensor<32x16xf32>
  %empty1 = tensor.empty() : tensor<16x32xf32>
  %transposed = linalg.transpose ins(%collapsed : tensor<32x16xf32>) outs(%empty1 : tensor<16x32xf32>) permutation = [1, 0]
  %empty2 = tensor.empty() : tensor<16x10xf32>
  %fill1 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<16x10xf32>) -> tensor<16x10xf32>
  %product = linalg.matmul ins(%transposed, %weights : tensor<16x32xf32>, tensor<32x10xf32>) outs(%fill1 : tensor<16x10xf32>) -> tensor<16x10xf32>
  return %product : tensor<16x10xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops l = 4, l1 = 8, h = 16, r = 3, k = 6, n = 10
// CHECK-NEXT:   input in0 [4 x 6 x 34] of 4 bytes
// CHECK-NEXT:   input in1 [4 x 8 x 6 x 3] of 4 bytes
// CHECK-NEXT:   intermediate mid0 [4 x 8 x 16] of 4 bytes
// CHECK-NEXT:   input in2 [4 x 8 x 10] of 4 bytes
// CHECK-NEXT:   output out [16 x 10] of 4 bytes
// CHECK-NEXT:   conv0: mid0[l, l1, h] += in0[l, k, 2 * h + r] * in1[l, l1, k, r]
// CHECK:        gemm1: out[h, n] += mid0[l, l1, h] * in2[l, l1, n]

// -----

// Nobody can correct the subtraction of a mean later: the row is completed. The
// intermediate is added again at the end, where its columns are another loop
// than the one that the product in between reduces over.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @norm(%a: tensor<32x16xf64>, %b: tensor<16x64xf64>, %c: tensor<64x128xf64>, %d: tensor<128x64xf64>) -> tensor<32x64xf64> {
  %zero = arith.constant 0.0 : f64
  %count = arith.constant 64.0 : f64
  %x_empty = tensor.empty() : tensor<32x64xf64>
  %x_zero = linalg.fill ins(%zero : f64) outs(%x_empty : tensor<32x64xf64>) -> tensor<32x64xf64>
  %x = linalg.matmul ins(%a, %b : tensor<32x16xf64>, tensor<16x64xf64>) outs(%x_zero : tensor<32x64xf64>) -> tensor<32x64xf64>
  %row_empty = tensor.empty() : tensor<32xf64>
  %row_zero = linalg.fill ins(%zero : f64) outs(%row_empty : tensor<32xf64>) -> tensor<32xf64>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<32x64xf64>) outs(%row_zero : tensor<32xf64>) dimensions = [1]
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<32x64xf64>, tensor<32xf64>) outs(%x_empty : tensor<32x64xf64>) {
  ^bb0(%in: f64, %in1: f64, %out: f64):
    %0 = arith.divf %in1, %count : f64
    %1 = arith.subf %in, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<32x64xf64>
  %z_empty = tensor.empty() : tensor<32x128xf64>
  %z_zero = linalg.fill ins(%zero : f64) outs(%z_empty : tensor<32x128xf64>) -> tensor<32x128xf64>
  %z = linalg.matmul ins(%y, %c : tensor<32x64xf64>, tensor<64x128xf64>) outs(%z_zero : tensor<32x128xf64>) -> tensor<32x128xf64>
  %w = linalg.matmul ins(%z, %d : tensor<32x128xf64>, tensor<128x64xf64>) outs(%x_zero : tensor<32x64xf64>) -> tensor<32x64xf64>
  %e = arith.addf %w, %y : tensor<32x64xf64>
  return %e : tensor<32x64xf64>
}

// CHECK:      problem
// CHECK-NEXT:   loops m = 32, l = 64, k = 16, l1 = 128, n = 64
// CHECK:        gemm0: mid0[m, l] += in0[m, k] * in1[k, l]
// CHECK-NEXT:     vectors along l, rows along m
// CHECK-NEXT:     then 3 instructions
// CHECK-NEXT:     completes l
// CHECK-NEXT:   gemm1: mid1[m, l1] += mid0[m, l] * in2[l, l1]
// CHECK:        gemm2: out[m, n] += mid1[m, l1] * in3[l1, n]
// CHECK-NEXT:     vectors along n, rows along m
// CHECK-NEXT:     then 1 instructions
// CHECK-NEXT:     reading mid0[m, n]

// -----

// Two convolutions read the same intermediate, one of them by a window. They run
// in one loop; the intermediate is made as far ahead as the window needs.

func.func @branches(%image: tensor<64x32x32xf32>, %squeeze: tensor<16x64xf32>, %narrow: tensor<24x16xf32>, %wide: tensor<24x16x3x3xf32>) -> (tensor<24x32x32xf32>, tensor<24x32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<16x32x32xf32>
  %fill0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<16x32x32xf32>) -> tensor<16x32x32xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(f, c, y, x) -> (c, y, x)>, affine_map<(f, c, y, x) -> (f, c)>, affine_map<(f, c, y, x) -> (f, y, x)>] ins(%image, %squeeze : tensor<64x32x32xf32>, tensor<16x64xf32>) outs(%fill0 : tensor<16x32x32xf32>) -> tensor<16x32x32xf32>
  %empty1 = tensor.empty() : tensor<24x32x32xf32>
  %fill1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<24x32x32xf32>) -> tensor<24x32x32xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(f, c, y, x) -> (c, y, x)>, affine_map<(f, c, y, x) -> (f, c)>, affine_map<(f, c, y, x) -> (f, y, x)>] ins(%0, %narrow : tensor<16x32x32xf32>, tensor<24x16xf32>) outs(%fill1 : tensor<24x32x32xf32>) -> tensor<24x32x32xf32>
  %padded = tensor.pad %0 low[0, 1, 1] high[0, 1, 1] {
  ^bb0(%c: index, %h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<16x32x32xf32> to tensor<16x34x34xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(f, y, x, c, r, s) -> (c, y + r, x + s)>, affine_map<(f, y, x, c, r, s) -> (f, c, r, s)>, affine_map<(f, y, x, c, r, s) -> (f, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %wide : tensor<16x34x34xf32>, tensor<24x16x3x3xf32>) outs(%fill1 : tensor<24x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %3 = arith.mulf %a, %b : f32
    %4 = arith.addf %c, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<24x32x32xf32>
  return %1, %2 : tensor<24x32x32xf32>, tensor<24x32x32xf32>
}

// CHECK:      problem
// CHECK:        output out1 [24 x 32 x 32] of 4 bytes
// CHECK:        output out [24 x 32 x 32] of 4 bytes
// CHECK:        gemm0: mid0[l, p, p1] += in0[k, p, p1] * in1[l, k]
// CHECK:        gemm1: out1[n, h, h1] += mid0[l, h, h1] * in2[n, l]
// CHECK:        conv2: out[n1, h, h1] += mid0[l, h + r - 1, r1 + h1 - 1] * in3[n1, l, r, r1]

// -----

// An earlier intermediate is added at the end, below which a window lies in
// between: it is made as far ahead as either needs. (There is no code for f64, which would
// form a shorter chain.)

#id = affine_map<(c, x) -> (c, x)>
func.func @residual(%a: tensor<8x32xf64>, %b: tensor<16x8xf64>, %c: tensor<16x16xf64>, %d: tensor<16x16x3xf64>) -> tensor<16x32xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<16x32xf64>
  %fill = linalg.fill ins(%zero : f64) outs(%empty : tensor<16x32xf64>) -> tensor<16x32xf64>
  %x = linalg.matmul ins(%b, %a : tensor<16x8xf64>, tensor<8x32xf64>) outs(%fill : tensor<16x32xf64>) -> tensor<16x32xf64>
  %y = linalg.matmul ins(%c, %x : tensor<16x16xf64>, tensor<16x32xf64>) outs(%fill : tensor<16x32xf64>) -> tensor<16x32xf64>
  %padded = tensor.pad %y low[0, 1] high[0, 1] {
  ^bb0(%ch: index, %w: index):
    tensor.yield %zero : f64
  } : tensor<16x32xf64> to tensor<16x34xf64>
  %z = linalg.generic {indexing_maps = [affine_map<(f, x, c, r) -> (c, x + r)>, affine_map<(f, x, c, r) -> (f, c, r)>, affine_map<(f, x, c, r) -> (f, x)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%padded, %d : tensor<16x34xf64>, tensor<16x16x3xf64>) outs(%fill : tensor<16x32xf64>) {
  ^bb0(%in: f64, %in1: f64, %out: f64):
    %0 = arith.mulf %in, %in1 : f64
    %1 = arith.addf %out, %0 : f64
    linalg.yield %1 : f64
  } -> tensor<16x32xf64>
  %sum = linalg.add ins(%z, %x : tensor<16x32xf64>, tensor<16x32xf64>) outs(%empty : tensor<16x32xf64>) -> tensor<16x32xf64>
  return %sum : tensor<16x32xf64>
}

// CHECK:      problem
// CHECK:        gemm0: mid0[l, p] += in0[l, k] * in1[k, p]
// CHECK:        gemm1: mid1[l1, p1] += in2[l1, l] * mid0[l, p1]
// CHECK:        conv2: out[n, h] += mid1[l1, r + h - 1] * in3[n, l1, r]
// CHECK-NEXT:     vectors along h, rows along n
// CHECK-NEXT:     then 1 instructions
// CHECK-NEXT:     reading mid0[n, h]

// -----

// An intermediate times its own transpose is read along two loops.

func.func @gram(%a: tensor<32x16xf64>, %b: tensor<16x64xf64>) -> tensor<32x32xf64> {
  %zero = arith.constant 0.0 : f64
  %x_empty = tensor.empty() : tensor<32x64xf64>
  %x_zero = linalg.fill ins(%zero : f64) outs(%x_empty : tensor<32x64xf64>) -> tensor<32x64xf64>
  %x = linalg.matmul ins(%a, %b : tensor<32x16xf64>, tensor<16x64xf64>) outs(%x_zero : tensor<32x64xf64>) -> tensor<32x64xf64>
  %y_empty = tensor.empty() : tensor<32x32xf64>
  %y_zero = linalg.fill ins(%zero : f64) outs(%y_empty : tensor<32x32xf64>) -> tensor<32x32xf64>
  %y = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] ins(%x, %x : tensor<32x64xf64>, tensor<32x64xf64>) outs(%y_zero : tensor<32x32xf64>) -> tensor<32x32xf64>
  return %y : tensor<32x32xf64>
}

// CHECK:      problem
// CHECK:        gemm1: out[m, n] += mid0[m, l] * mid0[n, l]

// -----

// Six operators, the most of one chain; the seventh is alone.

func.func @seven(%x: tensor<64x32xf64>, %w: tensor<32x32xf64>) -> tensor<64x32xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<64x32xf64>
  %fill = linalg.fill ins(%zero : f64) outs(%empty : tensor<64x32xf64>) -> tensor<64x32xf64>
  %0 = linalg.matmul ins(%x, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %1 = linalg.matmul ins(%0, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %2 = linalg.matmul ins(%1, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %3 = linalg.matmul ins(%2, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %4 = linalg.matmul ins(%3, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %5 = linalg.matmul ins(%4, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  %6 = linalg.matmul ins(%5, %w : tensor<64x32xf64>, tensor<32x32xf64>) outs(%fill : tensor<64x32xf64>) -> tensor<64x32xf64>
  return %6 : tensor<64x32xf64>
}

// CHECK:      problem
// CHECK:        gemm5: out[m, n] +=
// CHECK-NOT:    gemm6

// -----

// A condition on the maximum may change with later parts of the row, when what
// was zero before is lost: the row is completed.

// CHECK:      problem
// CHECK-NEXT:   loops m = 16, l = 64, k = 32, n = 32
// CHECK:        gemm0: mid0[m, l] += in0[m, k] * in1[k, l]
// CHECK:          completes l
// CHECK-NOT:      rescaled

#id = affine_map<(m, l) -> (m, l)>
#row = affine_map<(m, l) -> (m)>
func.func @condition_on_maximum(%q: tensor<16x32xf64>, %k: tensor<32x64xf64>, %v: tensor<64x32xf64>) -> tensor<16x32xf64> {
  %zero = arith.constant 0.0 : f64
  %inf = arith.constant 0xFF800000 : f64
  %s_empty = tensor.empty() : tensor<16x64xf64>
  %s_zero = linalg.fill ins(%zero : f64) outs(%s_empty : tensor<16x64xf64>) -> tensor<16x64xf64>
  %s = linalg.matmul ins(%q, %k : tensor<16x32xf64>, tensor<32x64xf64>) outs(%s_zero : tensor<16x64xf64>) -> tensor<16x64xf64>
  %row_empty = tensor.empty() : tensor<16xf64>
  %row_inf = linalg.fill ins(%inf : f64) outs(%row_empty : tensor<16xf64>) -> tensor<16xf64>
  %max = linalg.reduce { arith.maximumf } ins(%s : tensor<16x64xf64>) outs(%row_inf : tensor<16xf64>) dimensions = [1]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %max : tensor<16x64xf64>, tensor<16xf64>) outs(%s_empty : tensor<16x64xf64>) {
  ^bb0(%in: f64, %in1: f64, %out: f64):
    %0 = arith.subf %in, %in1 : f64
    %1 = math.exp %0 : f64
    %2 = arith.cmpf ogt, %in1, %zero : f64
    %3 = arith.select %2, %1, %zero : f64
    linalg.yield %3 : f64
  } -> tensor<16x64xf64>
  %o_empty = tensor.empty() : tensor<16x32xf64>
  %o_zero = linalg.fill ins(%zero : f64) outs(%o_empty : tensor<16x32xf64>) -> tensor<16x32xf64>
  %o = linalg.matmul ins(%p, %v : tensor<16x64xf64>, tensor<64x32xf64>) outs(%o_zero : tensor<16x32xf64>) -> tensor<16x32xf64>
  return %o : tensor<16x32xf64>
}
