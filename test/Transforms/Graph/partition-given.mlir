// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1" --chimera-plan-memory-bound="target=zen5 threads=1" --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=PLAN

// Groups that are given stay, others go around them, and loops over rows are
// shared within groups alone.

// CHECK-LABEL: func @given
// CHECK:         attrs = {chimera.group = #chimera.group<id = 7, kind = single, mapping = one_to_one>}
// CHECK:         math.exp
// CHECK:         attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = one_to_one>}
// CHECK:         math.sqrt
// CHECK:         attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = one_to_one>}
// CHECK:         math.tanh
// PLAN-LABEL: func @given
// PLAN-COUNT-2: chimera.row_tiling =
// PLAN-NOT:     chimera.row_tiling =
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @given(%x: tensor<2048x768xf32>) -> tensor<2048x768xf32> {
  %e = tensor.empty() : tensor<2048x768xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>)
      attrs = {chimera.group = #chimera.group<id = 7, kind = single, mapping = one_to_one>} {
  ^bb0(%a: f32, %b: f32):
    %c = math.exp %a : f32
    linalg.yield %c : f32
  } -> tensor<2048x768xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.sqrt %a : f32
    linalg.yield %c : f32
  } -> tensor<2048x768xf32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<2048x768xf32>) outs(%e : tensor<2048x768xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.tanh %a : f32
    linalg.yield %c : f32
  } -> tensor<2048x768xf32>
  return %2 : tensor<2048x768xf32>
}

// -----

func.func @product(%x: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.matmul {chimera.group = #chimera.group<id = 1, kind = memory, mapping = many_to_many>}
      ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-error @below {{group 1 of 'chimera.group' cannot run as one: one of them is a product or convolution, which chains are made of; give them other ids, or drop the attribute}}
  %1 = linalg.exp {chimera.group = #chimera.group<id = 1, kind = memory, mapping = one_to_one>}
      ins(%0 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// The second operator is between the others.
func.func @around(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-error @below {{group 1 of 'chimera.group' cannot run as one: its operators have nothing in common, or depend on each other through another group; give them other ids, or drop the attribute}}
  %0 = linalg.exp {chimera.group = #chimera.group<id = 1, kind = memory, mapping = one_to_one>}
      ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = linalg.sqrt {chimera.group = #chimera.group<id = 2, kind = memory, mapping = one_to_one>}
      ins(%0 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.add {chimera.group = #chimera.group<id = 1, kind = memory, mapping = one_to_one>}
      ins(%0, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

func.func @negative(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  // expected-error @below {{the id of a group must not be negative, got -1}}
  %0 = linalg.exp {chimera.group = #chimera.group<id = -1, kind = memory, mapping = one_to_one>}
      ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

func.func @misplaced(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{'chimera.group' belongs on an operation that makes a tensor}}
  %0 = arith.constant {chimera.group = #chimera.group<id = 1, kind = memory, mapping = one_to_one>} 1.0 : f32
  return %x : tensor<64x64xf32>
}
