// The operations of a group come to stand next to each other, and what depends on
// them behind all of them. Each starts from a copy of its own.
//
// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(gather-ascend-groups))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @apart(
// CHECK-NOT: chimera.group
// CHECK: linalg.exp {ascend.group = 1 : i64}
// CHECK: linalg.fill {ascend.group = 0 : i64}
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ascend.group = 0 : i64
// CHECK: linalg.fill {ascend.group = 0 : i64}
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ascend.group = 0 : i64
// CHECK-NOT: ascend.group
// CHECK: return
func.func @apart(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%start : tensor<8xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %room = tensor.empty() : tensor<8x16xf32>
  %1 = linalg.exp {chimera.group = #chimera.group<id = 1, kind = memory, mapping = one_to_one>}
      ins(%y : tensor<8x16xf32>) outs(%room : tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%start : tensor<8xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>} {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0, %2, %1 : tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>
}
