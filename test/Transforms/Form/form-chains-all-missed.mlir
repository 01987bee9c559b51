// RUN: chimera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --remarks-filter=chimera \
// RUN:   --pass-pipeline="builtin.module(func.func(chimera-form-chains{kinds=all}))" \
// RUN:   | FileCheck %s --implicit-check-not=chimera.chain

// Operators that cannot be planned together stay as they are.

// CHECK-LABEL: func.func @dynamic(
func.func @dynamic(%a: tensor<?x8xf32>, %b: tensor<8x8xf32>, %acc: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %0 = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @alone(
func.func @alone(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %acc: tensor<16x12xf32>) -> tensor<16x12xf32> {
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%acc : tensor<16x12xf32>) -> tensor<16x12xf32>
  return %0 : tensor<16x12xf32>
}

// -----

// CHECK-LABEL: func.func @two_forms(
func.func @two_forms(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-remark @below {{its result is needed before and after an elementwise operation}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x16xf32>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = math.exp %0 : tensor<16x16xf32>
  // expected-remark @below {{its result is needed before and after an elementwise operation}}
  %2 = linalg.matmul ins(%0, %1 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// Pooling is no contraction, and what windows it reads is not for an epilogue.

// CHECK-LABEL: func.func @pooling(
func.func @pooling(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %c: tensor<1x1x8x8xf32>) -> tensor<1x3x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %0 = tensor.empty() : tensor<1x6x6x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %2 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) outs(%1 : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %3 = tensor.empty() : tensor<1x3x3x8xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<1x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  %5 = linalg.pooling_nhwc_max {strides = dense<2> : vector<2xi64>} ins(%2, %window : tensor<1x6x6x8xf32>, tensor<2x2xf32>) outs(%4 : tensor<1x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %6 = linalg.conv_2d_nhwc_hwcf ins(%5, %c : tensor<1x3x3x8xf32>, tensor<1x1x8x8xf32>) outs(%4 : tensor<1x3x3x8xf32>) -> tensor<1x3x3x8xf32>
  return %6 : tensor<1x3x3x8xf32>
}

// -----

// Padding with something else than zero takes part in the sum.

// CHECK-LABEL: func.func @padding(
func.func @padding(%a: tensor<1x8x8x4xf32>, %b: tensor<1x1x4x8xf32>, %c: tensor<3x3x8x8xf32>, %acc: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %one = arith.constant 1.0 : f32
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x4xf32>, tensor<1x1x4x8xf32>) outs(%acc : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %padded = tensor.pad %0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %w: index, %ch: index):
    tensor.yield %one : f32
  } : tensor<1x8x8x8xf32> to tensor<1x10x10x8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %1 = linalg.conv_2d_nhwc_hwcf ins(%padded, %c : tensor<1x10x10x8xf32>, tensor<3x3x8x8xf32>) outs(%acc : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %1 : tensor<1x8x8x8xf32>
}

// -----

// An intermediate in windows cannot be a result too: only what the windows need
// is made.

// CHECK-LABEL: func.func @stored_window(
func.func @stored_window(%a: tensor<8x8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<3x8x8xf32>, %acc: tensor<8x8x8xf32>, %acc1: tensor<8x6x8xf32>) -> (tensor<8x8x8xf32>, tensor<8x6x8xf32>) {
  // expected-remark @below {{it is stored, but only the windows that read it are computed}}
  %0 = linalg.contract indexing_maps = [affine_map<(n, h, f, c) -> (n, h, c)>, affine_map<(n, h, f, c) -> (c, f)>, affine_map<(n, h, f, c) -> (n, h, f)>] ins(%a, %b : tensor<8x8x4xf32>, tensor<4x8xf32>) outs(%acc : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  // expected-remark @below {{it is stored, but only the windows that read it are computed}}
  %1 = linalg.conv_1d_nwc_wcf ins(%0, %c : tensor<8x8x8xf32>, tensor<3x8x8xf32>) outs(%acc1 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
  return %0, %1 : tensor<8x8x8xf32>, tensor<8x6x8xf32>
}

// -----

// CHECK-LABEL: func.func @between(
func.func @between(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x16xf32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x16xf32>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
  %slice = tensor.extract_slice %0[0, 0] [16, 8] [1, 1] : tensor<16x16xf32> to tensor<16x8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %1 = linalg.matmul ins(%slice, %c : tensor<16x8xf32>, tensor<8x16xf32>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// Calls stay in order: one that reads what would only be there after the chain
// keeps the chain from being formed.

func.func private @read(tensor<64x64xf32>)
func.func private @write()

// CHECK-LABEL: func.func @calls_between(
func.func @calls_between(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: linalg.matmul
  // expected-remark @below {{not in a chain: an operation with side effects needs a result of the chain before the chain's last operator}}
  %1 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: call @read
  call @read(%1) : (tensor<64x64xf32>) -> ()
  // CHECK: call @write
  call @write() : () -> ()
  // CHECK: linalg.matmul
  // expected-remark @below {{not in a chain: an operation with side effects needs a result of the chain before the chain's last operator}}
  %2 = linalg.matmul ins(%1, %d : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
