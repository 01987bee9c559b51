// RUN: chimera-opt %s --split-input-file --chimera-tile-memory-bound --cse --verify-diagnostics --remarks-filter=chimera | FileCheck %s
// RUN: sed /expected-remark/d %s | chimera-opt --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" | FileCheck %s --check-prefix=PLAN
// RUN: sed /expected-remark/d %s | chimera-opt --split-input-file --chimera-lowering-pipeline="target=zen5 threads=4" --mlir-print-ir-after=chimera-tile-memory-bound -o /dev/null 2>&1 | FileCheck %s --check-prefix=PIPELINE

// A tiling written by hand is applied as it is, and planning keeps it: two
// loops, whose last tiles are smaller.

// PLAN-LABEL:  func @given(
// PLAN:          attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [100, 64], parallel = true>}
// PIPELINE-LABEL: func.func @given(
// PIPELINE:      scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (256, 96) step (100, 64)
// CHECK-LABEL: func @given(
// CHECK:         scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (256, 96) step (100, 64)
// CHECK:           chimera.block "elementwise" {{.*}} extents {{\[\[}}100, 56], [64, 32]]
#id = affine_map<(i, j) -> (i, j)>
func.func @given(%x: tensor<256x96xf32>) -> tensor<256x96xf32> {
  %0 = tensor.empty() : tensor<256x96xf32>
  // expected-remark @below {{1 operation(s) as 6 parallel task(s)}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x96xf32>) outs(%0 : tensor<256x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [100, 64], parallel = true>} {
  ^bb0(%in: f32, %out: f32):
    %e = math.exp %in : f32
    linalg.yield %e : f32
  } -> tensor<256x96xf32>
  return %1 : tensor<256x96xf32>
}

// -----

// An operation with a tiling is no member of another group: the sum runs before
// the scaling, in loops of its own, with the exponentials that it adds up.

// PLAN-LABEL:  func @apart(
// PLAN-NOT:      row_tiling
// PLAN:          math.exp
// PLAN:          attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8]>}
// PLAN:          attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [64], parallel = true>}
// CHECK-LABEL: func @apart(
// CHECK:         scf.for %{{.*}} = %c0 to %c256 step %c8
// CHECK:           chimera.block "elementwise"
// CHECK:           chimera.block "reduction"
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} :
// CHECK:         return %[[SCALED]]
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @apart(%x: tensor<256x96xf32>) -> tensor<256x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x96xf32>
  %1 = tensor.empty() : tensor<256xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x96xf32>) outs(%0 : tensor<256x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<256x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<256xf32>) -> tensor<256xf32>
  // expected-remark @below {{2 operation(s) as 32 sequential task(s)}}
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<256x96xf32>) outs(%acc : tensor<256xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8]>} {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<256xf32>
  // expected-remark @below {{left to plain loops: no #chimera.row_tiling says in which tasks it runs: chimera-plan-memory-bound chooses one}}
  %scaled = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<256x96xf32>, tensor<256xf32>) outs(%0 : tensor<256x96xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %u = arith.divf %in, %q : f32
    linalg.yield %u : f32
  } -> tensor<256x96xf32>
  return %scaled : tensor<256x96xf32>
}

// -----

// Without tiles an operation runs alone, in one block.

// PLAN-LABEL:  func @alone(
// PLAN:          attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = []>}
// CHECK-LABEL: func @alone(
// CHECK-NOT:     scf.
// CHECK:         chimera.block "elementwise" {{.*}} extents {{\[\[}}256], [96]]
#id = affine_map<(i, j) -> (i, j)>
func.func @alone(%x: tensor<256x96xf32>) -> tensor<256x96xf32> {
  %0 = tensor.empty() : tensor<256x96xf32>
  // expected-remark @below {{1 operation(s) as 1 sequential task(s)}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x96xf32>) outs(%0 : tensor<256x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = []>} {
  ^bb0(%in: f32, %out: f32):
    %e = math.exp %in : f32
    linalg.yield %e : f32
  } -> tensor<256x96xf32>
  return %1 : tensor<256x96xf32>
}

// -----

// Loops over the second dimension alone; the sum of each column is no result of
// these loops, and the quotients are streamed, the exponentials not.

// PLAN-LABEL:  func @panel(
// CHECK-LABEL: func @panel(
// CHECK:         scf.for %[[J:.*]] = %c0 to %c96 step %c32
// CHECK:           tensor.extract_slice %{{.*}}[0, %[[J]]] [256, 32] [1, 1]
// CHECK:           chimera.block "elementwise"
// CHECK-NOT:       streamed
// CHECK:           chimera.block "reduction"
// CHECK-NOT:       streamed
// CHECK:           chimera.block "elementwise" {{.*}} streamed
// CHECK:             arith.divf
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @panel(%x: tensor<256x96xf32>) -> tensor<256x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x96xf32>
  %1 = tensor.empty() : tensor<96xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x96xf32>) outs(%0 : tensor<256x96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<256x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<96xf32>) -> tensor<96xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%e : tensor<256x96xf32>) outs(%acc : tensor<96xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<96xf32>
  // expected-remark @below {{3 operation(s) as 3 sequential task(s)}}
  %shares = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<256x96xf32>, tensor<96xf32>) outs(%0 : tensor<256x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [32], dims = [1], streamed = [2]>} {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %r = arith.divf %in, %s : f32
    linalg.yield %r : f32
  } -> tensor<256x96xf32>
  return %shares : tensor<256x96xf32>
}

// -----

// A sum of columns that reads four rows at once.

// PLAN-LABEL:  func @rowwise(
// PLAN:          rowwise = [0 by 4]
// CHECK-LABEL: func @rowwise(
// CHECK:         scf.for
// CHECK:           chimera.block "reduction" {{.*}} rowwise 4 {
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @rowwise(%x: tensor<64x96xf32>, %s: tensor<96xf32>) -> tensor<96xf32> {
  // expected-remark @below {{1 operation(s) as 2 sequential task(s)}}
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x96xf32>) outs(%s : tensor<96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [48], rowwise = [0 by 4]>} {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<96xf32>
  return %0 : tensor<96xf32>
}
