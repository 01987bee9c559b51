// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=zen5 --chimera-tile --canonicalize --split-input-file | FileCheck %s

// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=zen5 --split-input-file | sed 's/ clip fold>/ fold>/; s/ clip>/>/' | chimera-opt --chimera-tile --canonicalize --split-input-file | FileCheck %s --check-prefix=WHOLE

// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=zen5 --split-input-file | sed -e '/^\/\/ -----/,$d' -e 's/levels = \[.*\], parallel = [0-9]*/levels = [<"L3">, <"L2" : b = 1, m = 48, l = 100>, <"L1" : l = 64>], parallel = 3/' | chimera-opt --chimera-tile --canonicalize | FileCheck %s --check-prefix=PARTS

// Tiles that a causal mask rules out for all of their rows are not visited: the
// loop over the columns ends with the last row of the tile. Indices are never
// negative, so that unsigned comparisons say the same as signed ones. Of the
// last tile, columns that no row needs are left out in halves: 32 of the 64, or
// what is beyond the edge. Tasks take rows from both ends by turns.

// Where tasks share the columns, a mask may leave a task none: its loop ends where
// it begins, not before.
// PARTS: #[[$LAST:.*]] = affine_map<()[s0, s1, s2] -> (-s0 + 290, -s0 + s1 + s2, 100)>
// PARTS: #[[$LEAST:.*]] = affine_map<()[s0] -> (0, s0)>
// PARTS-LABEL: func.func @causal
// PARTS:         scf.forall (%{{.*}}, %{{.*}}, %[[PART:.*]]) = (0, 0, 0) to (2, 290, 290) step (1, 48, 100)
// PARTS:           %[[LAST:.*]] = affine.min #[[$LAST]]()[%[[PART]], %{{.*}}, %{{.*}}]
// PARTS:           %[[END:.*]] = affine.max #[[$LEAST]]()[%[[LAST]]]
// PARTS:           scf.for %{{.*}} = %{{.*}} to %[[END]] step

// WHOLE-LABEL: func.func @causal
// WHOLE:         chimera.block "gemm0" ins({{.*}} extents {{\[}}[1], [48, 2], [64, 34], [16]]

// CHECK: #[[$TURN:.*]] = affine_map<()[s0] -> ((s0 floordiv 48) mod 2)>
// CHECK: #[[$LOW:.*]] = affine_map<()[s0] -> (((s0 floordiv 48) floordiv 2) * 48)>
// CHECK: #[[$HIGH:.*]] = affine_map<()[s0] -> (((s0 floordiv 48) floordiv 2) * -48 + 288)>
// CHECK: #[[$LAST:.*]] = affine_map<()[s0, s1] -> (290, s0 + s1)>
// CHECK: #[[$CLIP:.*]] = affine_map<()[s0, s1] -> (-s0 + 290, 64, ((-s0 + s1) ceildiv 32) * 32)>
// CHECK-LABEL: func @causal
// CHECK:         scf.forall (%{{.*}}, %[[TASK:.*]]) =
// CHECK:           %[[TURN:.*]] = affine.apply #[[$TURN]]()[%[[TASK]]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[TURN]], %{{.*}}
// CHECK:           %[[LOW:.*]] = affine.apply #[[$LOW]]()[%[[TASK]]]
// CHECK:           %[[HIGH:.*]] = affine.apply #[[$HIGH]]()[%[[TASK]]]
// CHECK:           %[[ROW:.*]] = arith.select %[[FIRST]], %[[LOW]], %[[HIGH]]
// CHECK:           %[[ROWS:.*]] = affine.min
// CHECK:           %[[END:.*]] = affine.min #[[$LAST]]()[%[[ROW]], %[[ROWS]]]
// CHECK:           scf.for %[[COLUMN:[^ ]*]] = %{{.*}} to %[[END]] step
// CHECK:             %[[SIZE:.*]] = affine.min #[[$CLIP]]()[%[[COLUMN]], %[[END]]]
// CHECK:             tensor.extract_slice %{{.*}}[0, %[[COLUMN]], 0] [1, %[[SIZE]], 16]
// CHECK:             chimera.block "gemm0" ins({{.*}} extents {{\[}}[1], [48, 2], [64, 34, 32], [16]]
#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
#id = affine_map<(b, m, l) -> (b, m, l)>
#rows = affine_map<(b, m, l) -> (b, m)>
#matrix = affine_map<(m, l) -> (m, l)>
#row = affine_map<(m, l) -> (m)>
#expand = affine_map<(g, r, l, k) -> (g, l, k)>
#all = affine_map<(g, r, l, k) -> (g, r, l, k)>
func.func @causal(%q: tensor<2x290x16xf32>, %k: tensor<2x290x16xf32>, %v: tensor<2x290x32xf32>) -> tensor<2x290x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<2x290x290xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x290x16xf32>, tensor<2x290x16xf32>) outs(%s_zero : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x290x290xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %keep = arith.cmpi uge, %i, %j : index
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<2x290x290xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %o_init = tensor.empty() : tensor<2x290x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x290x290xf32>, tensor<2x290x32xf32>) outs(%o_zero : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  return %o : tensor<2x290x32xf32>
}

// -----

// A difference wraps round, so an unsigned comparison of it is no band: with
// columns after the row it is large, not negative.

// CHECK-LABEL: func @wraps
// CHECK:         scf.for %[[L:[^ ]*]] = %{{.*}} to %[[C290:[^ ]*]] step
// CHECK-NOT:     affine_map<()[s0, s1] -> (290, s0 + s1)>
#q = affine_map<(b, m, l, k) -> (b, m, k)>
#k = affine_map<(b, m, l, k) -> (b, l, k)>
#s = affine_map<(b, m, l, k) -> (b, m, l)>
#id = affine_map<(b, m, l) -> (b, m, l)>
#rows = affine_map<(b, m, l) -> (b, m)>
#matrix = affine_map<(m, l) -> (m, l)>
#row = affine_map<(m, l) -> (m)>
#expand = affine_map<(g, r, l, k) -> (g, l, k)>
#all = affine_map<(g, r, l, k) -> (g, r, l, k)>
func.func @wraps(%q: tensor<2x290x16xf32>, %k: tensor<2x290x16xf32>, %v: tensor<2x290x32xf32>) -> tensor<2x290x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s_init = tensor.empty() : tensor<2x290x290xf32>
  %s_zero = linalg.fill ins(%zero : f32) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x290x16xf32>, tensor<2x290x16xf32>) outs(%s_zero : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x290x290xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) {
  ^bb0(%x: f32, %a: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %d = arith.subi %i, %j : index
    %c290 = arith.constant 290 : index
    %keep = arith.cmpi ult, %d, %c290 : index
    %y = arith.select %keep, %x, %low : f32
    linalg.yield %y : f32
  } -> tensor<2x290x290xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x290x290xf32>) outs(%s_init : tensor<2x290x290xf32>) -> tensor<2x290x290xf32>
  %o_init = tensor.empty() : tensor<2x290x32xf32>
  %o_zero = linalg.fill ins(%zero : f32) outs(%o_init : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x290x290xf32>, tensor<2x290x32xf32>) outs(%o_zero : tensor<2x290x32xf32>) -> tensor<2x290x32xf32>
  return %o : tensor<2x290x32xf32>
}
