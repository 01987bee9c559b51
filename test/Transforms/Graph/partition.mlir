// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1 print-graph" --mlir-disable-threading 2>%t.graph | FileCheck %s
// RUN: FileCheck %s --check-prefix=GRAPH < %t.graph
// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1 search=separate" | FileCheck %s --check-prefix=APART
// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1 print-gir" --mlir-disable-threading -o /dev/null 2>&1 | FileCheck %s --check-prefix=GIR

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A residual is added, squares are summed up along rows, rows are scaled: all
// in one pass over the rows. What only starts the sum is no operator.

// CHECK-LABEL: func @norm
// CHECK:         linalg.add {chimera.group = #chimera.group<id = 0, kind = memory, mapping = one_to_one>}
// CHECK-NOT:     linalg.fill {
// CHECK:         linalg.generic
// CHECK-SAME:      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>}
// CHECK:         linalg.generic
// CHECK-SAME:      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = one_to_one>}
// APART-LABEL: func @norm
// APART:         linalg.add {chimera.group = #chimera.group<id = 0, kind = single, mapping = one_to_one>}
// APART:         attrs = {chimera.group = #chimera.group<id = 1, kind = single, mapping = many_to_many>}
// GRAPH:       0: add (one_to_one) t0, t1 -> t2
// GRAPH-NEXT:  1: generic (many_to_many) t2 -> t3
// GRAPH-NEXT:  2: generic (one_to_one) t2, t3 -> t4
// GRAPH-NEXT:  t0: 6291456 bytes
// GRAPH-NEXT:  t1: 6291456 bytes
// GRAPH-NEXT:  t2: 6291456 bytes, result
// GRAPH-NEXT:  t3: 8192 bytes
// GRAPH-NEXT:  t4: 6291456 bytes, result
// GIR:         group 0: 25165824 bytes move, 25165824 at least
// GIR-NEXT:    gir units 1 block 1
// GIR-NEXT:    loop i0 2048 by
func.func @norm(%x: tensor<2048x768xf32>, %r: tensor<2048x768xf32>)
    -> (tensor<2048x768xf32>, tensor<2048x768xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 768.0 : f32
  %e = tensor.empty() : tensor<2048x768xf32>
  %er = tensor.empty() : tensor<2048xf32>
  %h = linalg.add ins(%x, %r : tensor<2048x768xf32>, tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<2048xf32>) -> tensor<2048xf32>
  %s = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<2048x768xf32>) outs(%f : tensor<2048xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %a : f32
    %c = arith.addf %m, %b : f32
    linalg.yield %c : f32
  } -> tensor<2048xf32>
  %o = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%h, %s : tensor<2048x768xf32>, tensor<2048xf32>) outs(%e : tensor<2048x768xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %q = arith.divf %b, %n : f32
    %m = math.rsqrt %q : f32
    %c = arith.mulf %m, %a : f32
    linalg.yield %c : f32
  } -> tensor<2048x768xf32>
  return %h, %o : tensor<2048x768xf32>, tensor<2048x768xf32>
}

// Products are what chains are made of, reshapes run no code, and of a call
// nothing is known.

func.func private @unknown(tensor<64x64xf32>) -> tensor<64x64xf32>

// CHECK-LABEL: func @others
// CHECK:         linalg.matmul {chimera.group = #chimera.group<id = 0, kind = chain, mapping = many_to_many>}
// CHECK:         call @unknown({{.*}}) {chimera.group = #chimera.group<id = 1, kind = opaque, mapping = not_fuse>}
// CHECK:         tensor.expand_shape
// CHECK-SAME:      {chimera.group = #chimera.group<id = 2, kind = single, mapping = reorganize>}
// CHECK:         linalg.transpose
// CHECK-SAME:      {chimera.group = #chimera.group<id = 3, kind = single, mapping = shuffle>}
func.func @others(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<4x16x64xf32> {
  %e = tensor.empty() : tensor<4x16x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  %u = call @unknown(%p) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %x = tensor.expand_shape %u [[0, 1], [2]] output_shape [16, 4, 64] : tensor<64x64xf32> into tensor<16x4x64xf32>
  %t = linalg.transpose ins(%x : tensor<16x4x64xf32>) outs(%e : tensor<4x16x64xf32>) permutation = [1, 0, 2]
  return %t : tensor<4x16x64xf32>
}
