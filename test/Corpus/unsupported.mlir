// What is not supported is left alone, with the reason, and still compiles and
// runs. A contraction that is supported, but whose neighbours are not, makes a
// chain by itself.

// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 fuse=always" --remarks-filter-missed=chimera \
// RUN:   --verify-diagnostics | FileCheck %s --implicit-check-not=chimera.chain
// RUN: chimera-opt %s --chimera-pipeline=target=zen5 | FileCheck %s --check-prefix=LLVM
// RUN: chimera-run %s '--entry=*' --fuse=always | FileCheck %s --check-prefix=RUNS

// CHECK: func.func @f64(
// CHECK: func.func @i32(
// CHECK: func.func @zero(
// CHECK: func.func @no_reduction(
// CHECK: chimera.chain
// CHECK: func.func @dot(
// CHECK: chimera.chain
// CHECK: func.func @convolutions(
// CHECK: chimera.chain
// CHECK: chimera.chain
// CHECK: func.func @index(
// CHECK: chimera.chain
// CHECK: linalg.index
// CHECK: func.func @diagonal(
// CHECK: chimera.chain
// CHECK: func.func @gram(
// CHECK: chimera.chain
// CHECK: chimera.chain
// CHECK: func.func @returned(
// CHECK: chimera.chain
// CHECK: chimera.chain
// CHECK: func.func @call_between(
// CHECK: chimera.chain
// CHECK: chimera.chain
// CHECK: func.func @split_by_if(
// CHECK: chimera.chain
// CHECK: chimera.chain
// LLVM: llvm.func @f64(

// RUNS: passed f64
// RUNS-NEXT: passed i32
// RUNS-NEXT: passed zero
// RUNS-NEXT: passed no_reduction
// RUNS-NEXT: passed dot
// RUNS-NEXT: passed convolutions
// RUNS-NEXT: passed index
// RUNS-NEXT: passed diagonal
// RUNS-NEXT: passed gram
// RUNS-NEXT: passed returned
// RUNS-NEXT: passed call_between
// RUNS-NEXT: passed split_by_if

func.func @f64(%a: tensor<17x9xf64>, %b: tensor<9x33xf64>, %d: tensor<33x5xf64>) -> tensor<17x5xf64> {
  %zero = arith.constant 0.0 : f64
  %c_empty = tensor.empty() : tensor<17x33xf64>
  %c_zero = linalg.fill ins(%zero : f64) outs(%c_empty : tensor<17x33xf64>) -> tensor<17x33xf64>
  // expected-remark @below {{no code is generated from the chain: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %c = linalg.matmul ins(%a, %b : tensor<17x9xf64>, tensor<9x33xf64>) outs(%c_zero : tensor<17x33xf64>) -> tensor<17x33xf64>
  %e_empty = tensor.empty() : tensor<17x5xf64>
  %e_zero = linalg.fill ins(%zero : f64) outs(%e_empty : tensor<17x5xf64>) -> tensor<17x5xf64>
  // expected-remark @below {{operators left alone: target 'zen5' has no unit for f64}}
  %e = linalg.matmul ins(%c, %d : tensor<17x33xf64>, tensor<33x5xf64>) outs(%e_zero : tensor<17x5xf64>) -> tensor<17x5xf64>
  return %e : tensor<17x5xf64>
}

func.func @i32(%a: tensor<17x9xi32>, %b: tensor<9x33xi32>, %d: tensor<33x5xi32>) -> tensor<17x5xi32> {
  %zero = arith.constant 0 : i32
  %c_empty = tensor.empty() : tensor<17x33xi32>
  %c_zero = linalg.fill ins(%zero : i32) outs(%c_empty : tensor<17x33xi32>) -> tensor<17x33xi32>
  // expected-remark @below {{no code is generated from the chain: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %c = linalg.matmul ins(%a, %b : tensor<17x9xi32>, tensor<9x33xi32>) outs(%c_zero : tensor<17x33xi32>) -> tensor<17x33xi32>
  %e_empty = tensor.empty() : tensor<17x5xi32>
  %e_zero = linalg.fill ins(%zero : i32) outs(%e_empty : tensor<17x5xi32>) -> tensor<17x5xi32>
  // expected-remark @below {{operators left alone: target 'zen5' has no unit for i32}}
  %e = linalg.matmul ins(%c, %d : tensor<17x33xi32>, tensor<33x5xi32>) outs(%e_zero : tensor<17x5xi32>) -> tensor<17x5xi32>
  return %e : tensor<17x5xi32>
}

func.func @zero(%a: tensor<0x4xf32>, %b: tensor<4x8xf32>, %d: tensor<8x3xf32>) -> tensor<0x3xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<0x8xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<0x8xf32>) -> tensor<0x8xf32>
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %2 = linalg.matmul ins(%a, %b : tensor<0x4xf32>, tensor<4x8xf32>) outs(%1 : tensor<0x8xf32>) -> tensor<0x8xf32>
  %3 = tensor.empty() : tensor<0x3xf32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<0x3xf32>) -> tensor<0x3xf32>
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %5 = linalg.matmul ins(%2, %d : tensor<0x8xf32>, tensor<8x3xf32>) outs(%4 : tensor<0x3xf32>) -> tensor<0x3xf32>
  return %5 : tensor<0x3xf32>
}
// A sum of nothing is zero.

func.func @no_reduction(%a: tensor<6x0xf32>, %b: tensor<0x8xf32>, %d: tensor<8x3xf32>) -> tensor<6x3xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x8xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %2 = linalg.matmul ins(%a, %b : tensor<6x0xf32>, tensor<0x8xf32>) outs(%1 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = tensor.empty() : tensor<6x3xf32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<6x3xf32>) -> tensor<6x3xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %5 = linalg.matmul ins(%2, %d : tensor<6x8xf32>, tensor<8x3xf32>) outs(%4 : tensor<6x3xf32>) -> tensor<6x3xf32>
  return %5 : tensor<6x3xf32>
}

func.func @dot(%a: tensor<9x7xf32>, %x: tensor<7xf32>, %y: tensor<9xf32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<9xf32>) -> tensor<9xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %2 = linalg.matvec ins(%a, %x : tensor<9x7xf32>, tensor<7xf32>) outs(%1 : tensor<9xf32>) -> tensor<9xf32>
  %3 = tensor.empty() : tensor<f32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<f32>) -> tensor<f32>
  // expected-remark @below {{not in a chain: it is not a sum of products of two tensors whose indices are sums of loops, or it uses every element once}}
  %5 = linalg.dot ins(%2, %y : tensor<9xf32>, tensor<9xf32>) outs(%4 : tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}

func.func @convolutions(%a: tensor<1x65x65x2xf32>, %f: tensor<3x3x2x8xf32>, %g: tensor<3x3x8x2xf32>) -> tensor<1x61x67x2xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x63x63x8xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<1x63x63x8xf32>) -> tensor<1x63x63x8xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%a, %f : tensor<1x65x65x2xf32>, tensor<3x3x2x8xf32>) outs(%1 : tensor<1x63x63x8xf32>) -> tensor<1x63x63x8xf32>
  %padded = tensor.pad %2 low[0, 0, 3, 0] high[0, 0, 3, 0] {
  ^bb0(%n: index, %h: index, %w: index, %c: index):
    tensor.yield %z : f32
  } : tensor<1x63x63x8xf32> to tensor<1x63x69x8xf32>
  %3 = tensor.empty() : tensor<1x61x67x2xf32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<1x61x67x2xf32>) -> tensor<1x61x67x2xf32>
  // expected-remark @below {{no code is generated from the chain: a window on an intermediate lies in padding altogether}}
  %5 = linalg.conv_2d_nhwc_hwcf ins(%padded, %g : tensor<1x63x69x8xf32>, tensor<3x3x8x2xf32>) outs(%4 : tensor<1x61x67x2xf32>) -> tensor<1x61x67x2xf32>
  return %5 : tensor<1x61x67x2xf32>
}
#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>

func.func @index(%a: tensor<9x9xf32>, %b: tensor<9x9xf32>, %d: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<9x9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<9x9xf32>) -> tensor<9x9xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<9x9xf32>, tensor<9x9xf32>) outs(%1 : tensor<9x9xf32>) -> tensor<9x9xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<9x9xf32>) outs(%0 : tensor<9x9xf32>) {
  ^bb0(%x: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %above = arith.cmpi sgt, %j, %i : index
    %y = arith.select %above, %z, %x : f32
    linalg.yield %y : f32
  } -> tensor<9x9xf32>
  %5 = linalg.matmul ins(%3, %d : tensor<9x9xf32>, tensor<9x9xf32>) outs(%1 : tensor<9x9xf32>) -> tensor<9x9xf32>
  return %5 : tensor<9x9xf32>
}
#am = affine_map<(m, n, k) -> (m + k, k)>
#bm = affine_map<(m, n, k) -> (k, n)>
#cm = affine_map<(m, n, k) -> (m, n)>

func.func @diagonal(%a: tensor<14x6xf32>, %b: tensor<6x8xf32>, %d: tensor<8x3xf32>) -> tensor<9x3xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<9x8xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<9x8xf32>) -> tensor<9x8xf32>
  // expected-remark @below {{tensor 'in0' is indexed twice by loop 'r'; no code is generated from it: an operator is no contraction or convolution of f32}}
  %2 = linalg.generic {indexing_maps = [#am, #bm, #cm], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<14x6xf32>, tensor<6x8xf32>) outs(%1 : tensor<9x8xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<9x8xf32>
  %3 = tensor.empty() : tensor<9x3xf32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<9x3xf32>) -> tensor<9x3xf32>
  // expected-remark @below {{tensor 'in0' is indexed twice by loop 'r'}}
  %5 = linalg.matmul ins(%2, %d : tensor<9x8xf32>, tensor<8x3xf32>) outs(%4 : tensor<9x3xf32>) -> tensor<9x3xf32>
  return %5 : tensor<9x3xf32>
}

func.func @gram(%a: tensor<13x7xf32>, %b: tensor<7x9xf32>) -> tensor<13x13xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<13x9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<13x7xf32>, tensor<7x9xf32>) outs(%1 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %t = tensor.empty() : tensor<9x13xf32>
  // expected-remark @below {{no code is generated from the chain: a tensor is reshaped, transposed or padded between operators}}
  %3 = linalg.transpose ins(%2 : tensor<13x9xf32>) outs(%t : tensor<9x13xf32>) permutation = [1, 0]
  %4 = tensor.empty() : tensor<13x13xf32>
  %5 = linalg.fill ins(%z : f32) outs(%4 : tensor<13x13xf32>) -> tensor<13x13xf32>
  %6 = linalg.matmul ins(%2, %3 : tensor<13x9xf32>, tensor<9x13xf32>) outs(%5 : tensor<13x13xf32>) -> tensor<13x13xf32>
  return %6 : tensor<13x13xf32>
}

func.func @returned(%a: tensor<13x7xf32>, %b: tensor<7x9xf32>, %d: tensor<9x5xf32>) -> (tensor<13x9xf32>, tensor<13x5xf32>) {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<13x9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<13x7xf32>, tensor<7x9xf32>) outs(%1 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %4 = tensor.empty() : tensor<13x5xf32>
  %5 = linalg.fill ins(%z : f32) outs(%4 : tensor<13x5xf32>) -> tensor<13x5xf32>
  // expected-remark @below {{no code is generated from the chain: the chain yields something else than the result of its last operator}}
  %6 = linalg.matmul ins(%2, %d : tensor<13x9xf32>, tensor<9x5xf32>) outs(%5 : tensor<13x5xf32>) -> tensor<13x5xf32>
  return %2, %6 : tensor<13x9xf32>, tensor<13x5xf32>
}
func.func private @twice(%x: tensor<13x9xf32>) -> tensor<13x9xf32> {
  %0 = linalg.add ins(%x, %x : tensor<13x9xf32>, tensor<13x9xf32>) outs(%x : tensor<13x9xf32>) -> tensor<13x9xf32>
  return %0 : tensor<13x9xf32>
}

func.func @call_between(%a: tensor<13x7xf32>, %b: tensor<7x9xf32>, %d: tensor<9x5xf32>) -> tensor<13x5xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<13x9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x9xf32>) -> tensor<13x9xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %2 = linalg.matmul ins(%a, %b : tensor<13x7xf32>, tensor<7x9xf32>) outs(%1 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %3 = call @twice(%2) : (tensor<13x9xf32>) -> tensor<13x9xf32>
  %4 = tensor.empty() : tensor<13x5xf32>
  %5 = linalg.fill ins(%z : f32) outs(%4 : tensor<13x5xf32>) -> tensor<13x5xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %6 = linalg.matmul ins(%3, %d : tensor<13x9xf32>, tensor<9x5xf32>) outs(%5 : tensor<13x5xf32>) -> tensor<13x5xf32>
  return %6 : tensor<13x5xf32>
}

func.func @split_by_if(%a: tensor<13x7xf32>, %b: tensor<7x9xf32>, %d: tensor<9x5xf32>, %i: tensor<i1>) -> tensor<13x5xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<13x9xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x9xf32>) -> tensor<13x9xf32>
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces}}
  %2 = linalg.matmul ins(%a, %b : tensor<13x7xf32>, tensor<7x9xf32>) outs(%1 : tensor<13x9xf32>) -> tensor<13x9xf32>
  %4 = tensor.empty() : tensor<13x5xf32>
  %5 = linalg.fill ins(%z : f32) outs(%4 : tensor<13x5xf32>) -> tensor<13x5xf32>
  %c = tensor.extract %i[] : tensor<i1>
  %7 = scf.if %c -> tensor<13x5xf32> {
    // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces}}
    %6 = linalg.matmul ins(%2, %d : tensor<13x9xf32>, tensor<9x5xf32>) outs(%5 : tensor<13x5xf32>) -> tensor<13x5xf32>
    scf.yield %6 : tensor<13x5xf32>
  } else {
    scf.yield %5 : tensor<13x5xf32>
  }
  return %7 : tensor<13x5xf32>
}
