// RUN: chimera-opt %s --chimera-tile --canonicalize | FileCheck %s

// A softmax whose reduction is split among parallel tasks: each has its own
// part of accumulators, maxima and sums, and does not divide. The parts are then
// added up, whichever has the lower maximum shrunk, and the result is finished.

// CHECK-DAG:   #[[$PART:.*]] = affine_map<(d0) -> (d0 floordiv 130)>
// CHECK-DAG:   #[[$REST:.*]] = affine_map<()[s0] -> (-s0 + 300, 130)>
// CHECK-LABEL: func.func @split
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[ACCS:.*]] = bufferization.alloc_tensor() : tensor<3x2x16xf32>
// CHECK:         %[[MAXS:.*]] = bufferization.alloc_tensor() : tensor<3x2xf32>
// CHECK:         %[[SUMS:.*]] = bufferization.alloc_tensor() : tensor<3x2xf32>
// CHECK:         %[[PARTS:.*]]:3 = scf.forall (%[[B:.*]], %[[L:.*]]) = (0, 0) to (2, 300) step (1, 130)
// CHECK-SAME:        shared_outs(%[[A:.*]] = %[[ACCS]], %[[M:.*]] = %[[MAXS]], %[[S:.*]] = %[[SUMS]])
// CHECK-DAG:       %[[P:.*]] = affine.apply #[[$PART]](%[[L]])
// CHECK-DAG:       %[[REST:.*]] = affine.min #[[$REST]]()[%[[L]]]
// CHECK-DAG:       tensor.extract_slice %[[A]][%[[P]], %[[B]], 0] [1, 1, 16]
// CHECK-DAG:       tensor.extract_slice %[[M]][%[[P]], %[[B]]] [1, 1]
// CHECK-DAG:       tensor.extract_slice %[[S]][%[[P]], %[[B]]] [1, 1]
// CHECK:           %[[OWN:.*]]:3 = scf.for %{{.*}} = %[[C0]] to %[[REST]] step %{{.*}}
// CHECK-NOT:       arith.divf
// CHECK:           scf.forall.in_parallel
// CHECK:             tensor.parallel_insert_slice %[[OWN]]#0 into %[[A]][%[[P]], %[[B]], 0] [1, 1, 16]
// CHECK:             tensor.parallel_insert_slice %[[OWN]]#1 into %[[M]][%[[P]], %[[B]]] [1, 1]
// CHECK:             tensor.parallel_insert_slice %[[OWN]]#2 into %[[S]][%[[P]], %[[B]]] [1, 1]
// CHECK:         scf.forall (%[[B2:.*]]) in (2)
// CHECK:           %[[ALL:.*]]:3 = scf.for %[[I:.*]] = %[[C0]] to %[[C3]] step %[[C1]]
// CHECK-DAG:         tensor.extract_slice %[[PARTS]]#0[%[[I]], %[[B2]], 0] [1, 1, 16]
// CHECK-DAG:         tensor.extract_slice %[[PARTS]]#1[%[[I]], %[[B2]]] [1, 1]
// CHECK-DAG:         tensor.extract_slice %[[PARTS]]#2[%[[I]], %[[B2]]] [1, 1]
// CHECK:             %[[ROWS:.*]]:4 = chimera.block "gemm1"
// CHECK:               arith.maximumf
// CHECK-COUNT-2:       math.exp
// CHECK:             chimera.block "gemm1" ins(%[[ROWS]]#2, %[[ROWS]]#3,
// CHECK:           chimera.block "gemm1" ins(%[[ALL]]#2 : {{.*}}) outs(%[[ALL]]#0
// CHECK:             arith.divf
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
func.func @split(%arg0: tensor<2x1x16xf32>, %arg1: tensor<2x300x16xf32>, %arg2: tensor<2x300x16xf32>) -> tensor<2x1x16xf32> {
  %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2]] : tensor<2x1x16xf32> into tensor<2x16xf32>
  %0 = chimera.chain ins(%collapsed, %arg1, %arg2 : tensor<2x16xf32>, tensor<2x300x16xf32>, tensor<2x300x16xf32>)
      schedule(<levels = [<"L1" : b = 1, l = 130>, <"L0" : l = 64>], parallel = 2,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>>) {
  ^bb0(%arg3: tensor<2x16xf32>, %arg4: tensor<2x300x16xf32>, %arg5: tensor<2x300x16xf32>):
    %cst = arith.constant 0.000000e+00 : f32
    %1 = tensor.empty() : tensor<2x300xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2x300xf32>) -> tensor<2x300xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg3, %arg4 : tensor<2x16xf32>, tensor<2x300x16xf32>) outs(%2 : tensor<2x300xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.mulf %in, %in_1 : f32
      %18 = arith.addf %out, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<2x300xf32>
    %cst_0 = arith.constant 0xFF800000 : f32
    %4 = tensor.empty() : tensor<2xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<2xf32>) -> tensor<2xf32>
    %6 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<2x300xf32>) outs(%5 : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.maximumf %out, %in fastmath<nnan> : f32
      linalg.yield %17 : f32
    } -> tensor<2xf32>
    %7 = tensor.empty() : tensor<2x300xf32>
    %8 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%3, %6 : tensor<2x300xf32>, tensor<2xf32>) outs(%7 : tensor<2x300xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.cmpf oeq, %in_1, %cst_0 : f32
      %18 = arith.select %17, %cst, %in_1 : f32
      %19 = arith.subf %in, %18 : f32
      %20 = math.exp %19 : f32
      linalg.yield %20 : f32
    } -> tensor<2x300xf32>
    %9 = tensor.empty() : tensor<2xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<2xf32>) -> tensor<2xf32>
    %11 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%8 : tensor<2x300xf32>) outs(%10 : tensor<2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.addf %out, %in : f32
      linalg.yield %17 : f32
    } -> tensor<2xf32>
    %12 = tensor.empty() : tensor<2x16xf32>
    %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map5, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%8, %arg5 : tensor<2x300xf32>, tensor<2x300x16xf32>) outs(%13 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.mulf %in, %in_1 : f32
      %18 = arith.addf %out, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<2x16xf32>
    %15 = tensor.empty() : tensor<2x16xf32>
    %16 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%14, %11 : tensor<2x16xf32>, tensor<2xf32>) outs(%15 : tensor<2x16xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.divf %in, %in_1 : f32
      linalg.yield %17 : f32
    } -> tensor<2x16xf32>
    chimera.yield %16 : tensor<2x16xf32>
  } -> tensor<2x16xf32>
  %expanded = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 1, 16] : tensor<2x16xf32> into tensor<2x1x16xf32>
  return %expanded : tensor<2x1x16xf32>
}

