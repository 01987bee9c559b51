// RUN: chimera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --remarks-filter=chimera \
// RUN:   --pass-pipeline="builtin.module(func.func(chimera-form-chains))" \
// RUN:   | FileCheck %s

// Operators that cannot be planned together stay as they are.

// CHECK-LABEL: func.func @dynamic(
func.func @dynamic(%a: tensor<?x8xf64>, %b: tensor<8x8xf64>, %acc: tensor<?x8xf64>) -> tensor<?x8xf64> {
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %0 = linalg.matmul ins(%a, %b : tensor<?x8xf64>, tensor<8x8xf64>) outs(%acc : tensor<?x8xf64>) -> tensor<?x8xf64>
  return %0 : tensor<?x8xf64>
}

// -----

// CHECK-LABEL: func.func @alone(
func.func @alone(%a: tensor<16x8xf64>, %b: tensor<8x12xf64>, %acc: tensor<16x12xf64>) -> tensor<16x12xf64> {
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf64>, tensor<8x12xf64>) outs(%acc : tensor<16x12xf64>) -> tensor<16x12xf64>
  return %0 : tensor<16x12xf64>
}

// -----

// CHECK-LABEL: func.func @two_forms(
func.func @two_forms(%a: tensor<16x8xf64>, %b: tensor<8x16xf64>, %acc: tensor<16x16xf64>) -> tensor<16x16xf64> {
  %zero = arith.constant 0.0 : f64
  // expected-remark @below {{not in a chain: 'linalg.generic': its result is needed before and after an elementwise operation; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf64>, tensor<8x16xf64>) outs(%acc : tensor<16x16xf64>) -> tensor<16x16xf64>
  %1 = math.exp %0 : tensor<16x16xf64>
  // expected-remark @below {{not in a chain: 'linalg.generic': its result is needed before and after an elementwise operation; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %2 = linalg.matmul ins(%0, %1 : tensor<16x16xf64>, tensor<16x16xf64>) outs(%acc : tensor<16x16xf64>) -> tensor<16x16xf64>
  return %2 : tensor<16x16xf64>
}

// -----

// Pooling is no contraction, and what windows it reads is not for an epilogue.

// CHECK-LABEL: func.func @pooling(
func.func @pooling(%a: tensor<1x8x8x4xf64>, %b: tensor<3x3x4x8xf64>, %c: tensor<1x1x8x8xf64>) -> tensor<1x3x3x8xf64> {
  %zero = arith.constant 0.0 : f64
  %window = tensor.empty() : tensor<2x2xf64>
  %0 = tensor.empty() : tensor<1x6x6x8xf64>
  %1 = linalg.fill ins(%zero : f64) outs(%0 : tensor<1x6x6x8xf64>) -> tensor<1x6x6x8xf64>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %2 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x4xf64>, tensor<3x3x4x8xf64>) outs(%1 : tensor<1x6x6x8xf64>) -> tensor<1x6x6x8xf64>
  %3 = tensor.empty() : tensor<1x3x3x8xf64>
  %4 = linalg.fill ins(%zero : f64) outs(%3 : tensor<1x3x3x8xf64>) -> tensor<1x3x3x8xf64>
  %5 = linalg.pooling_nhwc_max {strides = dense<2> : vector<2xi64>} ins(%2, %window : tensor<1x6x6x8xf64>, tensor<2x2xf64>) outs(%4 : tensor<1x3x3x8xf64>) -> tensor<1x3x3x8xf64>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %6 = linalg.conv_2d_nhwc_hwcf ins(%5, %c : tensor<1x3x3x8xf64>, tensor<1x1x8x8xf64>) outs(%4 : tensor<1x3x3x8xf64>) -> tensor<1x3x3x8xf64>
  return %6 : tensor<1x3x3x8xf64>
}

// -----

// Padding with something else than zero takes part in the sum.

// CHECK-LABEL: func.func @padding(
func.func @padding(%a: tensor<1x8x8x4xf64>, %b: tensor<1x1x4x8xf64>, %c: tensor<3x3x8x8xf64>, %acc: tensor<1x8x8x8xf64>) -> tensor<1x8x8x8xf64> {
  %one = arith.constant 1.0 : f64
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x4xf64>, tensor<1x1x4x8xf64>) outs(%acc : tensor<1x8x8x8xf64>) -> tensor<1x8x8x8xf64>
  %padded = tensor.pad %0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %w: index, %ch: index):
    tensor.yield %one : f64
  } : tensor<1x8x8x8xf64> to tensor<1x10x10x8xf64>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %1 = linalg.conv_2d_nhwc_hwcf ins(%padded, %c : tensor<1x10x10x8xf64>, tensor<3x3x8x8xf64>) outs(%acc : tensor<1x8x8x8xf64>) -> tensor<1x8x8x8xf64>
  return %1 : tensor<1x8x8x8xf64>
}

// -----

// An intermediate in windows cannot be a result too: only what the windows need
// is made.

// CHECK-LABEL: func.func @stored_window(
func.func @stored_window(%a: tensor<8x8x4xf64>, %b: tensor<4x8xf64>, %c: tensor<3x8x8xf64>, %acc: tensor<8x8x8xf64>, %acc1: tensor<8x6x8xf64>) -> (tensor<8x8x8xf64>, tensor<8x6x8xf64>) {
  // expected-remark @below {{not in a chain: 'chimera.chain': tensor 'mid0': it is stored, but only the windows that read it are computed; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %0 = linalg.contract indexing_maps = [affine_map<(n, h, f, c) -> (n, h, c)>, affine_map<(n, h, f, c) -> (c, f)>, affine_map<(n, h, f, c) -> (n, h, f)>] ins(%a, %b : tensor<8x8x4xf64>, tensor<4x8xf64>) outs(%acc : tensor<8x8x8xf64>) -> tensor<8x8x8xf64>
  // expected-remark @below {{not in a chain: 'chimera.chain': tensor 'mid0': it is stored, but only the windows that read it are computed; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %1 = linalg.conv_1d_nwc_wcf ins(%0, %c : tensor<8x8x8xf64>, tensor<3x8x8xf64>) outs(%acc1 : tensor<8x6x8xf64>) -> tensor<8x6x8xf64>
  return %0, %1 : tensor<8x8x8xf64>, tensor<8x6x8xf64>
}

// -----

// CHECK-LABEL: func.func @between(
func.func @between(%a: tensor<16x8xf64>, %b: tensor<8x16xf64>, %c: tensor<8x16xf64>, %acc: tensor<16x16xf64>) -> tensor<16x16xf64> {
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf64>, tensor<8x16xf64>) outs(%acc : tensor<16x16xf64>) -> tensor<16x16xf64>
  %slice = tensor.extract_slice %0[0, 0] [16, 8] [1, 1] : tensor<16x16xf64> to tensor<16x8xf64>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %1 = linalg.matmul ins(%slice, %c : tensor<16x8xf64>, tensor<8x16xf64>) outs(%acc : tensor<16x16xf64>) -> tensor<16x16xf64>
  return %1 : tensor<16x16xf64>
}

// -----

// Calls stay in order: one that reads what would only be there after the chain
// keeps the chain from being formed.

func.func private @read(tensor<64x64xf64>)
func.func private @write()

// CHECK-LABEL: func.func @calls_between(
func.func @calls_between(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %d: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<64x64xf64>
  %0 = linalg.fill ins(%zero : f64) outs(%empty : tensor<64x64xf64>) -> tensor<64x64xf64>
  // CHECK: linalg.matmul
  // expected-remark @below {{not in a chain: an operation with side effects needs a result of the chain before the chain's last operator; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %1 = linalg.matmul ins(%a, %b : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
  // CHECK: call @read
  call @read(%1) : (tensor<64x64xf64>) -> ()
  // CHECK: call @write
  call @write() : () -> ()
  // CHECK: linalg.matmul
  // expected-remark @below {{not in a chain: an operation with side effects needs a result of the chain before the chain's last operator; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %2 = linalg.matmul ins(%1, %d : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
  return %2 : tensor<64x64xf64>
}
