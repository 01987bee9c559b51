// RUN: chimera-opt %s --split-input-file --chimera-tile-memory-bound --cse --canonicalize | FileCheck %s

// Both results go past the caches. The sum of both inputs stays close to the core;
// it is stored while its squares are added up.

// CHECK-LABEL: func @norm(
// CHECK:         %[[BUFFER:.*]] = tensor.empty() : tensor<4x96xf32>
// CHECK:         scf.for
// CHECK:           %[[SUM:.*]] = chimera.block "elementwise" ins(%{{[^,]*}}, %{{[^,]*}} : {{.*}}) outs(%[[BUFFER]] :
// CHECK-NOT:         streamed
// CHECK:           chimera.block "reduction" ins(%[[SUM]] : {{.*}}) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4x96xf32>) {{.*}} streamed
// CHECK:             ^bb0(%[[H:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK:               %[[ADDED:.*]] = arith.addf
// CHECK-NEXT:          linalg.yield %[[ADDED]], %[[H]]
// CHECK:           chimera.block "elementwise" ins(%[[SUM]], %{{[^,]*}} : {{.*}}) {{.*}} streamed
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @norm(%x: tensor<512x96xf32>, %y: tensor<512x96xf32>) -> (tensor<512x96xf32>, tensor<512x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x96xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<512x96xf32>, tensor<512x96xf32>) outs(%0 : tensor<512x96xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<512x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<512x96xf32>) outs(%acc : tensor<512xf32>) {
  ^bb0(%a: f32, %out: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %out, %q : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %squares : tensor<512x96xf32>, tensor<512xf32>) outs(%0 : tensor<512x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], streamed = [2], late = [0 by 1]>} {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %f = math.rsqrt %q : f32
    %s = arith.mulf %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<512x96xf32>
  return %h, %scaled : tensor<512x96xf32>, tensor<512x96xf32>
}

// -----

// Of several readers that are to ask for what comes next the last one does; its
// parts are as large as those of the task.

// CHECK:       #[[$NEXT:.*]] = affine_map<()[s0] -> (506, s0 + 4)>
// CHECK-LABEL: func @softmax(
// CHECK-SAME:    %[[X:.*]]: tensor<510x96xf32>)
// CHECK:         scf.for
// CHECK:           chimera.block "reduction" ins(%[[HERE:[^ ]*]] :
// CHECK:           %[[AT:.*]] = affine.min #[[$NEXT]]()
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[X]][%[[AT]], 0] [%{{.*}}, 96]
// CHECK:           chimera.block "elementwise" ins(%[[HERE]], %{{.*}}, %[[PART]] :
// CHECK:             math.exp
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<510x96xf32>) -> tensor<510x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<510x96xf32>
  %1 = tensor.empty() : tensor<510xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<510xf32>) -> tensor<510xf32>
  %most = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<510x96xf32>) outs(%acc : tensor<510xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.maximumf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<510xf32>
  %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %most : tensor<510x96xf32>, tensor<510xf32>) outs(%0 : tensor<510x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], streamed = [1], ahead = [0, 1]>} {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<510x96xf32>
  return %e : tensor<510x96xf32>
}

// -----

// A member may ask for what another one reads that has the same loops.

// CHECK-LABEL: func @norm(
// CHECK-SAME:    %[[X:.*]]: tensor<512x96xf32>)
// CHECK:         scf.for
// CHECK:           chimera.block "elementwise" ins(%{{[^,]*}} :
// CHECK:           %[[PART:.*]] = tensor.extract_slice %[[X]]
// CHECK:           chimera.block "elementwise" ins(%{{.*}}, %{{.*}}, %[[PART]] :
// CHECK:             arith.divf
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @norm(%x: tensor<512x96xf32>) -> tensor<512x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x96xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x96xf32>) outs(%0 : tensor<512x96xf32>) {
  ^bb0(%a: f32, %out: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<512x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<512x96xf32>) outs(%acc : tensor<512xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<512x96xf32>, tensor<512xf32>) outs(%0 : tensor<512x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], streamed = [2], ahead = [2]>} {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %d = arith.divf %a, %m : f32
    linalg.yield %d : f32
  } -> tensor<512x96xf32>
  return %q : tensor<512x96xf32>
}

// -----

// A copy that goes past the caches is a block, and one that does not is a slice.

// CHECK-LABEL: func @copies(
// CHECK-SAME:    %[[X:.*]]: tensor<64x96xf32>)
// CHECK:         %[[PART:.*]] = tensor.extract_slice %[[X]][%{{.*}}, 0] [8, 96]
// CHECK:         chimera.block "elementwise" ins(%[[PART]], {{.*}} : tensor<8x96xf32>, index) outs(%{{.*}} : tensor<8x96xf32>) {{.*}} streamed
// CHECK-NOT:     chimera.block
#id = affine_map<(i, j) -> (i, j)>
func.func @copies(%x: tensor<64x96xf32>) -> (tensor<64x96xf32>, tensor<64x96xf32>) {
  %0 = tensor.empty() : tensor<64x96xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x96xf32>) outs(%0 : tensor<64x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8], streamed = [0]>} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<64x96xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x96xf32>) outs(%0 : tensor<64x96xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8]>} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<64x96xf32>
  return %a, %b : tensor<64x96xf32>, tensor<64x96xf32>
}
