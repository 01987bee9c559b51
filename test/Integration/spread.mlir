// What reads every second, third or fourth column, against plain loops: pools
// whose windows move by several columns, and slices with strides. Rows end in
// the middle of vectors, and the last element that is read is the last in memory.

// RUN: chimera-run %s '--entry=*' --remarks 2>&1 | FileCheck %s
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/small-caches.mlir --threads=2 | FileCheck %s %}

// CHECK-NOT:  naive semantics
// CHECK:      passed largest
// CHECK-NEXT: passed mean
// CHECK-NEXT: passed thirds
// CHECK-NEXT: passed fourths
// CHECK-NEXT: passed pairs
// CHECK-NEXT: passed halves

func.func @largest(%x: tensor<2x5x33x37xf32>) -> tensor<2x5x17x19xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<2x5x33x37xf32> to tensor<2x5x35x39xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %0 = tensor.empty() : tensor<2x5x17x19xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<2x5x17x19xf32>) -> tensor<2x5x17x19xf32>
  %2 = linalg.pooling_nchw_max {strides = dense<2> : vector<2xi64>} ins(%padded, %window : tensor<2x5x35x39xf32>, tensor<3x3xf32>) outs(%1 : tensor<2x5x17x19xf32>) -> tensor<2x5x17x19xf32>
  return %2 : tensor<2x5x17x19xf32>
}

func.func @mean(%x: tensor<1x7x20x46xf32>) -> tensor<1x7x10x23xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 4.0 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %0 = tensor.empty() : tensor<1x7x10x23xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x7x10x23xf32>) -> tensor<1x7x10x23xf32>
  %2 = linalg.pooling_nchw_sum {strides = dense<2> : vector<2xi64>} ins(%x, %window : tensor<1x7x20x46xf32>, tensor<2x2xf32>) outs(%1 : tensor<1x7x10x23xf32>) -> tensor<1x7x10x23xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%2 : tensor<1x7x10x23xf32>) outs(%0 : tensor<1x7x10x23xf32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.divf %in, %n : f32
    linalg.yield %q : f32
  } -> tensor<1x7x10x23xf32>
  return %3 : tensor<1x7x10x23xf32>
}

func.func @thirds(%x: tensor<3x4x9x103xf16>) -> tensor<3x4x3x35xf16> {
  %lowest = arith.constant 0xFC00 : f16
  %window = tensor.empty() : tensor<2x1xf16>
  %0 = tensor.empty() : tensor<3x4x3x35xf16>
  %1 = linalg.fill ins(%lowest : f16) outs(%0 : tensor<3x4x3x35xf16>) -> tensor<3x4x3x35xf16>
  %2 = linalg.pooling_nchw_max {strides = dense<3> : vector<2xi64>} ins(%x, %window : tensor<3x4x9x103xf16>, tensor<2x1xf16>) outs(%1 : tensor<3x4x3x35xf16>) -> tensor<3x4x3x35xf16>
  return %2 : tensor<3x4x3x35xf16>
}

func.func @fourths(%x: tensor<6x11x333xi32>) -> tensor<6x11x83xi32> {
  %lowest = arith.constant 0 : i32
  %window = tensor.empty() : tensor<5xi32>
  %0 = tensor.empty() : tensor<6x11x83xi32>
  %1 = linalg.fill ins(%lowest : i32) outs(%0 : tensor<6x11x83xi32>) -> tensor<6x11x83xi32>
  %2 = linalg.pooling_ncw_sum {strides = dense<4> : vector<1xi64>} ins(%x, %window : tensor<6x11x333xi32>, tensor<5xi32>) outs(%1 : tensor<6x11x83xi32>) -> tensor<6x11x83xi32>
  return %2 : tensor<6x11x83xi32>
}

// Complex numbers as pairs: their parts lie in turns.
#row = affine_map<(i, j) -> (i, j)>
func.func @pairs(%x: tensor<19x91x2xf32>) -> tensor<19x91xf32> {
  %re = tensor.extract_slice %x[0, 0, 0] [19, 91, 1] [1, 1, 1] : tensor<19x91x2xf32> to tensor<19x91xf32>
  %im = tensor.extract_slice %x[0, 0, 1] [19, 91, 1] [1, 1, 1] : tensor<19x91x2xf32> to tensor<19x91xf32>
  %0 = tensor.empty() : tensor<19x91xf32>
  %1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%re, %im : tensor<19x91xf32>, tensor<19x91xf32>) outs(%0 : tensor<19x91xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %aa = arith.mulf %a, %a : f32
    %bb = arith.mulf %b, %b : f32
    %s = arith.addf %aa, %bb : f32
    linalg.yield %s : f32
  } -> tensor<19x91xf32>
  return %1 : tensor<19x91xf32>
}

func.func @halves(%x: tensor<17x101xf32>) -> tensor<17x50xf32> {
  %even = tensor.extract_slice %x[0, 0] [17, 50] [1, 2] : tensor<17x101xf32> to tensor<17x50xf32>
  %odd = tensor.extract_slice %x[0, 1] [17, 50] [1, 2] : tensor<17x101xf32> to tensor<17x50xf32>
  %0 = tensor.empty() : tensor<17x50xf32>
  %1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%even, %odd : tensor<17x50xf32>, tensor<17x50xf32>) outs(%0 : tensor<17x50xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<17x50xf32>
  return %1 : tensor<17x50xf32>
}
