// RUN: chimera-opt %s --chimera-tile --canonicalize --cse --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-lowering-pipeline --mlir-print-ir-after=one-shot-bufferize --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=BUFFERS
// RUN: sed 's/ ahead \[0, 1\]//' %s | chimera-opt --chimera-tile --canonicalize --split-input-file | FileCheck %s --check-prefix=FILLED
// RUN: sed 's/blocks = <.*>>) {/blocks = <>>) {/' %s | chimera-opt --chimera-tile --canonicalize --split-input-file | FileCheck %s --check-prefix=FILLED

// The shared path is m, then l; m is parallel and does not divide. Sizes at the
// edge are computed, and the blocks list which ones occur. The intermediate has
// the size of a tile; the result's accumulators start at zero outside l.

// CHECK: #[[$LEFT:.*]] = affine_map<()[s0] -> (-s0 + 20, 8)>
// CHECK-LABEL: func @shared
// CHECK-SAME: (%[[A:.*]]: tensor<20x6xf32>, %[[B:.*]]: tensor<6x12xf32>, %[[D:.*]]: tensor<12x5xf32>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<20x5xf32>
// CHECK:         scf.forall (%[[M:.*]]) = (0) to (20) step (8) shared_outs(%[[OUT:.*]] = %[[EMPTY]])
// CHECK:           %[[BUFFER:.*]] = tensor.empty() : tensor<8x4xf32>
// CHECK:           %[[SIZE:.*]] = affine.min #[[$LEFT]]()[%[[M]]]
// CHECK:           %[[AM:.*]] = tensor.extract_slice %[[A]][%[[M]], 0] [%[[SIZE]], 6] [1, 1]
// CHECK:           %[[EM:.*]] = tensor.extract_slice %[[OUT]][%[[M]], 0] [%[[SIZE]], 5] [1, 1]
// CHECK:           %[[ZERO:.*]] = chimera.block "gemm1" outs(%[[EM]] : tensor<?x5xf32>) extents {{\[}}[8, 4], [5]]
// CHECK:             linalg.fill
// CHECK:           %[[SUM:.*]] = scf.for %[[L:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[E:.*]] = %[[ZERO]])
// CHECK:             %[[BL:.*]] = tensor.extract_slice %[[B]][0, %[[L]]] [6, 4] [1, 1]
// CHECK:             %[[DL:.*]] = tensor.extract_slice %[[D]][%[[L]], 0] [4, 5] [1, 1]
// CHECK:             %[[TILE:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [%[[SIZE]], 4] [1, 1]
// CHECK:             %[[C:.*]] = chimera.block "gemm0" ins(%[[AM]], %[[BL]]
// CHECK-SAME:          outs(%[[TILE]] : tensor<?x4xf32>) extents {{\[}}[8, 4], [4], [6]]
// CHECK-SAME:          registers <rows = 4, vectors = 1, broadcasts = 1, depth = 2> packed [1]
// CHECK:               linalg.fill
// CHECK:               linalg.matmul
// CHECK:             %[[NEXT:.*]] = chimera.block "gemm1" ins(%[[C]], %[[DL]]
// CHECK-SAME:          outs(%[[E]] : tensor<?x5xf32>) extents {{\[}}[8, 4], [5], [4]]
// CHECK-NOT:           linalg.fill
// CHECK:               linalg.matmul
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           tensor.parallel_insert_slice %[[SUM]] into %[[OUT]][%[[M]], 0] [%[[SIZE]], 5] [1, 1]
func.func @shared(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, l = 4>], parallel = 1,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, packed = [1],
                blocks = <rows <line = 64, apart = 4>>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

// k comes first and is private to the first operator: it ends the shared path
// after m. The intermediate is a strip of all of l, which the first step of k
// overwrites and the others add to; a schedule that does not say so has it zeroed
// before k. Bias and activation follow once the strip is complete,
// then the second operator has its own loop over l.

// CHECK-LABEL: func @subtrees
// CHECK-DAG:     %[[STRIP:.*]] = tensor.empty() : tensor<8x12xf32>
// CHECK:         scf.for
// CHECK:           %[[FIRST:.*]] = scf.for %{{.*}} iter_args(%[[CF:.*]] = %[[STRIP]])
// CHECK:               chimera.block "gemm0" ins
// CHECK:                 linalg.fill
// CHECK:               tensor.insert_slice %{{.*}} into %[[CF]]
// CHECK:           %[[C:.*]] = scf.for %{{.*}} = %c2 to %c6 {{.*}} iter_args(%[[CK:.*]] = %[[FIRST]])
// CHECK:             scf.for %{{.*}} iter_args(%[[CL:.*]] = %[[CK]])
// CHECK:               chimera.block "gemm0" ins
// CHECK-NOT:             linalg.fill
// CHECK:               tensor.insert_slice %{{.*}} into %[[CL]]
// CHECK:           %[[F:.*]] = chimera.block "gemm0" ins(%{{.*}} : tensor<12xf32>) outs(%[[C]] : tensor<8x12xf32>) extents {{\[}}[8], [12]]
// CHECK:             linalg.generic
// CHECK:               arith.addf
// CHECK:               arith.maximumf
// CHECK:           scf.for
// CHECK:             tensor.extract_slice %[[F]]
// CHECK:             chimera.block "gemm1" ins

// FILLED-LABEL: func @subtrees
// FILLED:           chimera.block "gemm0" outs(%{{.*}} : tensor<8x12xf32>)
// FILLED:             linalg.fill
// FILLED:           scf.for %{{.*}} = %c0 to %c6
func.func @subtrees(%a: tensor<24x6xf32>, %b: tensor<6x12xf32>, %bias: tensor<12xf32>, %d: tensor<12x5xf32>) -> tensor<24x5xf32> {
  %e = chimera.chain ins(%a, %b, %bias, %d : tensor<24x6xf32>, tensor<6x12xf32>, tensor<12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L2" : m = 8>, <"L1" : k = 2, l = 4>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <rows <line = 16, apart = 4> ahead [0, 1]>>) {
  ^bb0(%a0: tensor<24x6xf32>, %b0: tensor<6x12xf32>, %bias0: tensor<12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<24x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<24x12xf32>) -> tensor<24x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<24x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<24x12xf32>) -> tensor<24x12xf32>
    %3 = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%2, %bias0 : tensor<24x12xf32>, tensor<12xf32>) outs(%0 : tensor<24x12xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %7 = arith.addf %x, %y : f32
      %8 = arith.maximumf %7, %zero : f32
      linalg.yield %8 : f32
    } -> tensor<24x12xf32>
    %4 = tensor.empty() : tensor<24x5xf32>
    %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<24x5xf32>) -> tensor<24x5xf32>
    %6 = linalg.matmul ins(%3, %d0 : tensor<24x12xf32>, tensor<12x5xf32>) outs(%5 : tensor<24x5xf32>) -> tensor<24x5xf32>
    chimera.yield %6 : tensor<24x5xf32>
  } -> tensor<24x5xf32>
  return %e : tensor<24x5xf32>
}

// -----

// A chain without a schedule is dissolved.

// CHECK-LABEL: func @unscheduled
// CHECK-NOT:     chimera.chain
// CHECK:         linalg.matmul
// CHECK-NOT:     chimera.chain
func.func @unscheduled(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %e = chimera.chain ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) {
  ^bb0(%a0: tensor<4x6xf32>, %b0: tensor<6x8xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<4x6xf32>, tensor<6x8xf32>) outs(%1 : tensor<4x8xf32>) -> tensor<4x8xf32>
    chimera.yield %2 : tensor<4x8xf32>
  } -> tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

// -----

// Staged inputs are copied where no loop outside the innermost level changes
// them any more. B, whose columns are the vectors, goes row by row into panels
// as wide as the innermost tile; A keeps its shape, in rows that do not all
// begin in the same sets of a cache: no pass on the way may cut them.

// BUFFERS-LABEL: func.func @staged
// BUFFERS:         memref.alloc() {{.*}} : memref<20x80xf32>

// CHECK-LABEL: func @staged
// CHECK-SAME: (%[[A:.*]]: tensor<20x64xf32>, %[[B:.*]]: tensor<64x40xf32>)
// CHECK-DAG:     %[[PANELS:.*]] = tensor.empty() : tensor<2x64x16xf32>
// CHECK-DAG:     %[[ROWS:.*]] = bufferization.alloc_tensor() : tensor<20x80xf32>
// CHECK:         %[[CUT:.*]] = tensor.extract_slice %[[ROWS]][0, 0] [20, 64] [1, 1]
// CHECK:         %[[STAGED_A:.*]] = chimera.block "gemm0" ins(%[[A]] : {{.*}}) outs(%[[CUT]]
// CHECK:           linalg.copy
// CHECK:         scf.for %[[N:[^ ]*]] =
// CHECK:           %[[BN:.*]] = tensor.extract_slice %[[B]][0, %[[N]]]
// CHECK:           %[[STAGED_B:.*]] = scf.for %[[ROW:[^ ]*]] = {{.*}} iter_args(%{{.*}} = %[[PANELS]])
// CHECK:             scf.for %[[COLUMN:[^ ]*]] =
// CHECK:               %[[FROM:.*]] = tensor.extract_slice %[[BN]][%[[ROW]], %[[COLUMN]]] [1, %{{.*}}] [1, 1]
// CHECK:               %[[PANEL:.*]] = affine.apply #{{.*}}()[%[[COLUMN]]]
// CHECK:               %[[TO:.*]] = tensor.extract_slice %{{.*}}[%[[PANEL]], %[[ROW]], 0] [1, 1, %{{.*}}] [1, 1, 1]
// CHECK:               chimera.block "gemm0" ins(%[[FROM]] : {{.*}}) outs(%[[TO]] : {{.*}}) extents {{\[}}[1], [16, 8]]
// CHECK:                 linalg.copy
// CHECK:           scf.for %[[INNER:[^ ]*]] =
// CHECK:             %[[PLACE:.*]] = affine.apply #{{.*}}()[%[[INNER]]]
// CHECK:             %[[TILE:.*]] = tensor.extract_slice %[[STAGED_B]][%[[PLACE]], 0, 0] [1, 64, %{{.*}}] [1, 1, 1]
// CHECK:             scf.for
// CHECK:               %[[AM:.*]] = tensor.extract_slice %[[STAGED_A]]
// CHECK:               chimera.block "gemm0" ins(%[[AM]], %[[TILE]]
func.func @staged(%a: tensor<20x64xf32>, %b: tensor<64x40xf32>) -> tensor<20x40xf32> {
  %e = chimera.chain ins(%a, %b : tensor<20x64xf32>, tensor<64x40xf32>)
      schedule(<levels = [<"L2" : n = 24>, <"L1" : n = 16, m = 8>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, staged = [0, 1],
                blocks = <rows <line = 64, apart = 4>>>) {
  ^bb0(%a0: tensor<20x64xf32>, %b0: tensor<64x40xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x40xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x40xf32>) -> tensor<20x40xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x64xf32>, tensor<64x40xf32>) outs(%1 : tensor<20x40xf32>) -> tensor<20x40xf32>
    chimera.yield %2 : tensor<20x40xf32>
  } -> tensor<20x40xf32>
  return %e : tensor<20x40xf32>
}
