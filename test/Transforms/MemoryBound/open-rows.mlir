// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" | FileCheck %s --check-prefix=PLAN
// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" --chimera-tile-memory-bound --cse | FileCheck %s --check-prefix=TILE
// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" --chimera-tile-memory-bound --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(chimera-plan-memory-bound{target=zen5 threads=4},chimera-tile-memory-bound,chimera-restore-sizes),cse)' | FileCheck %s --check-prefix=RESTORED

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Rows that are not known are planned for as many as the function says, and
// types stay as they are. Tasks take whole tiles or any part of one.

// PLAN-LABEL: func.func @norm(
// PLAN-SAME:    tensor<1048583x96xf32>
// PLAN:         ins(%{{.*}}, %{{.*}} : tensor<1048583x96xf32>, tensor<1048583xf32>) {{.*}} attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [32], parallel = true>}

// TILE-LABEL: func.func @norm(
// TILE:         %[[ROWS:.*]] = chimera.size 1048583
// TILE:         scf.forall (%[[I:.*]]) = (0) to (%[[ROWS]]) step (32)
// TILE:           %[[LEFT:.*]] = affine.min #{{.*}}()[%[[I]], %[[ROWS]]]
// TILE:           chimera.block "fill" {{.*}} extents {{\[\[}}32, 0]]
// TILE:           chimera.block "reduction" {{.*}} extents {{\[\[}}32, 0], [96]]
// TILE:           chimera.block "elementwise" {{.*}} extents {{\[\[}}32, 0], [96]]
// TILE:           tensor.parallel_insert_slice {{.*}}[%[[I]], 0] [%[[LEFT]], 96]

// Remarks count tasks for the sizes that are planned for.
// REMARK: 2 operation(s) as 32 parallel task(s)

// RESTORED-LABEL: func.func @norm(
// RESTORED-SAME:    %[[X:.*]]: tensor<?x96xf32>
// RESTORED-DAG:     %[[DIM:.*]] = tensor.dim %[[X]], %c0
// RESTORED:         scf.forall (%{{.*}}) = (0) to (%[[DIM]]) step (32)
// RESTORED-NOT:     1048583
func.func @norm(%x: tensor<1048583x96xf32>) -> tensor<1048583x96xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 1024>} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1048583x96xf32>
  %1 = tensor.empty() : tensor<1048583xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<1048583xf32>) -> tensor<1048583xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<1048583x96xf32>) outs(%acc : tensor<1048583xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<1048583xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<1048583x96xf32>, tensor<1048583xf32>) outs(%0 : tensor<1048583x96xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %s = arith.divf %in, %q : f32
    linalg.yield %s : f32
  } -> tensor<1048583x96xf32>
  return %scaled : tensor<1048583x96xf32>
}

// -----

// Tasks have whole rows of what is added up, as long as they may be.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// TILE-LABEL: func.func @columns(
// TILE:         scf.forall
// TILE:           tensor.extract_slice %{{.*}} [64, 1048583] [1, 1]
// TILE:           chimera.block "reduction" {{.*}} extents {{\[\[}}64], [0]]

// RESTORED-LABEL: func.func @columns(
// RESTORED-DAG:     %[[DIM:.*]] = tensor.dim %{{.*}}, %c1
// RESTORED:         tensor.extract_slice %{{.*}} [64, %[[DIM]]] [1, 1] : tensor<512x?xf32> to tensor<64x?xf32>
func.func @columns(%x: tensor<512x1048583xf32>) -> tensor<512xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 1024>} {
  %zero = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<512xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x1048583xf32>) outs(%acc : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<512xf32>
  return %sum : tensor<512xf32>
}

// -----

// Neither is known.

#id = affine_map<(i, j) -> (i, j)>

// TILE-LABEL: func.func @both(
// TILE:         scf.forall {{.*}} to (%{{.*}}) step (32)
// TILE:           chimera.block "elementwise" {{.*}} extents {{\[\[}}32, 0], [0]]
func.func @both(%x: tensor<1048583x1048589xf32>) -> tensor<1048583x1048589xf32>
    attributes {chimera.open_sizes = array<i64: 1048583, 1048589>, chimera.planned_sizes = array<i64: 1024, 1024>} {
  %0 = tensor.empty() : tensor<1048583x1048589xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1048583x1048589xf32>) outs(%0 : tensor<1048583x1048589xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<1048583x1048589xf32>
  return %t : tensor<1048583x1048589xf32>
}
