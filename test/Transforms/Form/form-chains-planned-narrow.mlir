// RUN: chimera-opt %s --split-input-file -o /dev/null \
// RUN:   --chimera-form-chains="print-problem target=ascend910" 2>&1 | FileCheck %s

// What the model sees of chains of a narrow type that the target's kernels do not
// multiply, so that they keep their form.

// Grouped-query attention: eight heads share two heads of keys and values, which
// are not copied. The softmax is corrected while keys go by.

func.func @gqa(%q: tensor<8x16x32xbf16>, %k: tensor<2x64x32xbf16>, %v: tensor<2x64x32xbf16>) -> tensor<8x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %copies_empty = tensor.empty() : tensor<2x4x64x32xbf16>
  %k_copies = linalg.broadcast ins(%k : tensor<2x64x32xbf16>) outs(%copies_empty : tensor<2x4x64x32xbf16>) dimensions = [1]
  %v_copies = linalg.broadcast ins(%v : tensor<2x64x32xbf16>) outs(%copies_empty : tensor<2x4x64x32xbf16>) dimensions = [1]
  %k_all = tensor.collapse_shape %k_copies [[0, 1], [2], [3]] : tensor<2x4x64x32xbf16> into tensor<8x64x32xbf16>
  %v_all = tensor.collapse_shape %v_copies [[0, 1], [2], [3]] : tensor<2x4x64x32xbf16> into tensor<8x64x32xbf16>
  %s_empty = tensor.empty() : tensor<8x16x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k_all : tensor<8x16x32xbf16>, tensor<8x64x32xbf16>) outs(%s_zero : tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<8x16x64xf32>) outs(%s_empty : tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
  %narrow_empty = tensor.empty() : tensor<8x16x64xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p : tensor<8x16x64xf32>) outs(%narrow_empty : tensor<8x16x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<8x16x64xbf16>
  %o_empty = tensor.empty() : tensor<8x16x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_empty : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  %o = linalg.batch_matmul ins(%narrow, %v_all : tensor<8x16x64xbf16>, tensor<8x64x32xbf16>) outs(%o_zero : tensor<8x16x32xf32>) -> tensor<8x16x32xf32>
  return %o : tensor<8x16x32xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops b = 2, m = 4, m1 = 16, l = 64, k = 32, n = 32
// CHECK-NEXT:   input in2 [2 x 4 x 16 x 32] of 2 bytes
// CHECK-NEXT:   input in0 [2 x 64 x 32] of 2 bytes
// CHECK-NEXT:   intermediate mid0 [2 x 4 x 16 x 64] of 2 bytes, summed in 4
// CHECK-NEXT:   input in1 [2 x 64 x 32] of 2 bytes
// CHECK-NEXT:   output out [2 x 4 x 16 x 32] of 4 bytes
// CHECK-NEXT:   state maximum [2 x 4 x 16] of 4 bytes
// CHECK-NEXT:   state sum [2 x 4 x 16] of 4 bytes
// CHECK-NEXT:   gemm0: mid0[b, m, m1, l] += in2[b, m, m1, k] * in0[b, l, k]
// CHECK-NEXT:     vectors along l, rows along m1
// CHECK-NEXT:     then {{[0-9]+}} instructions
// CHECK-NEXT:   gemm1: out[b, m, m1, n] += mid0[b, m, m1, l] * in1[b, l, n]
// CHECK-NEXT:     vectors along n, rows along m1
// CHECK-NEXT:     keeping maximum[b, m, m1], sum[b, m, m1]
// CHECK-NEXT:     rescaled by l

// -----

// A softmax as reductions, broadcasts and exponentials, with a mask, its heads
// merged by reshapes, and rows without any key set to zero.

#id = affine_map<(h, i, j) -> (h, i, j)>
#row = affine_map<(h, i, j) -> (h, i)>
func.func @softmax(%q: tensor<4x16x32xbf16>, %k: tensor<4x32x64xbf16>, %v: tensor<4x64x32xf32>, %mask: tensor<16x64xf32>) -> tensor<1x4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  %zeros = arith.constant dense<0.0> : tensor<4x16x64xf32>
  %s_empty = tensor.empty() : tensor<4x16x64xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x16x32xbf16>, tensor<4x32x64xbf16>) outs(%s_zero : tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %masked = linalg.generic {indexing_maps = [#id, affine_map<(h, i, j) -> (i, j)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<4x16x64xf32>, tensor<16x64xf32>) outs(%s_empty : tensor<4x16x64xf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %0 = arith.addf %in, %in1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x16x64xf32>
  %row_empty = tensor.empty() : tensor<4x16xf32>
  %row_lowest = linalg.fill ins(%lowest : f32) outs(%row_empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %row_zero = linalg.fill ins(%zero : f32) outs(%row_empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %max = linalg.reduce { arith.maximumf } ins(%masked : tensor<4x16x64xf32>) outs(%row_lowest : tensor<4x16xf32>) dimensions = [2]
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%masked, %max : tensor<4x16x64xf32>, tensor<4x16xf32>) outs(%s_empty : tensor<4x16x64xf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %0 = arith.subf %in, %in1 : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x16x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<4x16x64xf32>) outs(%row_zero : tensor<4x16xf32>) dimensions = [2]
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exp, %sum : tensor<4x16x64xf32>, tensor<4x16xf32>) outs(%s_empty : tensor<4x16x64xf32>) {
  ^bb0(%in: f32, %in1: f32, %out: f32):
    %0 = arith.divf %in, %in1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x16x64xf32>
  %bits_empty = tensor.empty() : tensor<4x16x64xi1>
  %is_lowest = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%masked : tensor<4x16x64xf32>) outs(%bits_empty : tensor<4x16x64xi1>) {
  ^bb0(%in: f32, %out: i1):
    %0 = arith.cmpf oeq, %in, %lowest : f32
    linalg.yield %0 : i1
  } -> tensor<4x16x64xi1>
  %bit_empty = tensor.empty() : tensor<4x16xi1>
  %bit_true = linalg.fill ins(%true : i1) outs(%bit_empty : tensor<4x16xi1>) -> tensor<4x16xi1>
  %none = linalg.reduce { arith.andi } ins(%is_lowest : tensor<4x16x64xi1>) outs(%bit_true : tensor<4x16xi1>) dimensions = [2]
  %safe = linalg.generic {indexing_maps = [#row, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%none, %zeros, %p : tensor<4x16xi1>, tensor<4x16x64xf32>, tensor<4x16x64xf32>) outs(%s_empty : tensor<4x16x64xf32>) {
  ^bb0(%in: i1, %in1: f32, %in2: f32, %out: f32):
    %0 = arith.select %in, %in1, %in2 : f32
    linalg.yield %0 : f32
  } -> tensor<4x16x64xf32>
  %o_empty = tensor.empty() : tensor<4x16x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_empty : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %o = linalg.batch_matmul ins(%safe, %v : tensor<4x16x64xf32>, tensor<4x64x32xf32>) outs(%o_zero : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  %expanded = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [1, 4, 16, 32] : tensor<4x16x32xf32> into tensor<1x4x16x32xf32>
  return %expanded : tensor<1x4x16x32xf32>
}

// CHECK:      problem
// CHECK-NEXT:   loops b = 4, m = 16, l = 64, k = 32, n = 32
// CHECK:        state maximum [4 x 16] of 4 bytes
// CHECK-NEXT:   state sum [4 x 16] of 4 bytes
// CHECK-NEXT:   state row [4 x 16] of 1 bytes
// CHECK-NEXT:   gemm0: mid0[b, m, l] += in0[b, m, k] * in1[b, k, l]
// CHECK-NEXT:     vectors along l, rows along m
// CHECK-NEXT:     then 8 instructions and exponentials: 1
// CHECK-NEXT:     reading in2[m, l]
// CHECK-NEXT:   gemm1: out[b, m, n] += mid0[b, m, l] * in3[b, l, n]
// CHECK-NEXT:     vectors along n, rows along m
// CHECK-NEXT:     keeping maximum[b, m], sum[b, m], row[b, m]
// CHECK-NEXT:     rescaled by l

// -----

// Half precision that is summed up in single precision, once converted by the
// operator and once before it; and an accumulator that does not start at zero.

func.func @half(%a: tensor<32x16xbf16>, %b: tensor<16x64xbf16>, %c: tensor<64x48xbf16>, %bias: tensor<48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %x_empty = tensor.empty() : tensor<32x64xf32>
  %x_zero = linalg.fill ins(%zero : f32) outs(%x_empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %x = linalg.matmul ins(%a, %b : tensor<32x16xbf16>, tensor<16x64xbf16>) outs(%x_zero : tensor<32x64xf32>) -> tensor<32x64xf32>
  %wide_empty = tensor.empty() : tensor<64x48xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<64x48xbf16>) outs(%wide_empty : tensor<64x48xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<64x48xf32>
  %y_empty = tensor.empty() : tensor<32x48xf32>
  %init = linalg.broadcast ins(%bias : tensor<48xf32>) outs(%y_empty : tensor<32x48xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %wide : tensor<32x64xf32>, tensor<64x48xf32>) outs(%init : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %y : tensor<32x48xf32>
}

// CHECK:      problem
// CHECK:        input in0 [32 x 16] of 2 bytes
// CHECK-NEXT:   input in1 [16 x 64] of 2 bytes
// CHECK-NEXT:   intermediate mid0 [32 x 64] of 4 bytes
// CHECK-NEXT:   input in2 [64 x 48] of 2 bytes
// CHECK-NEXT:   input in3 [48] of 4 bytes
// CHECK-NEXT:   output out [32 x 48] of 4 bytes
// CHECK:        gemm1: out[m, n] += mid0[m, l] * in2[l, n]
// CHECK-NEXT:     vectors along n, rows along m
// CHECK-NEXT:     then 1 instructions
// CHECK-NEXT:     reading in3[n]

