// RUN: chimera-opt %s --split-input-file --chimera-split-reductions --verify-diagnostics --remarks-filter=chimera | FileCheck %s

// Two reductions read the tensor once, in parts of the same size. What that
// leaves comes first, and the parts are combined in order.

// CHECK-LABEL: func @both(
// CHECK-SAME:    %[[X:.*]]: tensor<1000003xf32>
// CHECK:         %[[REST:.*]] = tensor.extract_slice %[[X]][999973] [30] [1]
// CHECK:         %[[LAST:.*]]:2 = linalg.generic {{.*}}"reduction"]} ins(%[[REST]] : tensor<30xf32>) outs(%{{.*}}, %{{.*}} :
// CHECK:         %[[WHOLE:.*]] = tensor.extract_slice %[[X]][0] [999973] [1]
// CHECK:         tensor.expand_shape %[[WHOLE]] {{\[\[}}0, 1]]
// CHECK:         %[[PARTS:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK:           math.absf
// CHECK:           arith.maximumf
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[PARTS]]#0 : {{.*}}) outs(%[[LAST]]#0 :
// CHECK:           arith.maximumf
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[PARTS]]#1 : {{.*}}) outs(%[[LAST]]#1 :
// CHECK:           arith.addf
// CHECK:         return %[[MAX]], %[[SUM]]
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @both(%x: tensor<1000003xf32>, %m: tensor<f32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-remark @below {{2 reduction(s) in 61 parts}}
  %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<1000003xf32>) outs(%m : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.absf %in : f32
    %r = arith.maximumf %out, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<1000003xf32>) outs(%s : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.mulf %in, %in : f32
    %r = arith.addf %out, %q : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// A second reduction that needs the first one reads the tensor again; so does
// one with something in between.

// CHECK-LABEL: func @in_turn(
// CHECK-COUNT-2: iterator_types = ["parallel", "reduction", "reduction"]
// CHECK-NOT:     iterator_types = ["parallel", "reduction", "reduction"]
// CHECK:         return
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
func.func @in_turn(%x: tensor<512x1024xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %acc = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  // expected-remark @below {{1 reduction(s) in}}
  %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<512x1024xf32>) outs(%acc : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  // expected-remark @below {{1 reduction(s) in}}
  %2 = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x, %1 : tensor<512x1024xf32>, tensor<f32>) outs(%acc : tensor<f32>) {
  ^bb0(%in: f32, %mean: f32, %out: f32):
    %d = arith.subf %in, %mean : f32
    %r = arith.addf %out, %d : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Rows are tasks, a difference is not combined in any order, and the place of an
// element would change.

// CHECK-LABEL: func @whole(
// CHECK-NOT:     tensor.expand_shape
// CHECK:         return
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>
func.func @whole(%x: tensor<512x1024xf32>, %rows: tensor<512xf32>, %all: tensor<f32>) -> (tensor<512xf32>, tensor<f32>, tensor<f32>) {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x1024xf32>) outs(%rows : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<512x1024xf32>) outs(%all : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.subf %in, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<512x1024xf32>) outs(%all : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %p = arith.mulf %in, %f : f32
    %r = arith.addf %out, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %0, %1, %2 : tensor<512xf32>, tensor<f32>, tensor<f32>
}

// -----

// Few columns of many rows are cut along the rows, and what the parts have is
// combined outside their loops; many columns are tasks enough, and small
// tensors are in a cache.

// CHECK-LABEL: func @columns(
// CHECK:         tensor.expand_shape {{.*}} output_shape [64, 1562, 64]
// CHECK:         %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK:         linalg.generic {{.*}} ins(%[[PARTS]] : tensor<64x64xf32>) {{.*}} attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = []>}
// CHECK-LABEL: func @many(
// CHECK-NOT:     tensor.expand_shape
// CHECK-LABEL: func @few(
// CHECK-NOT:     tensor.expand_shape
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @columns(%x: tensor<100000x64xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  // expected-remark @below {{1 reduction(s) in 64 parts}}
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<100000x64xf32>) outs(%s : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

func.func @many(%x: tensor<8192x1024xf32>, %s: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x1024xf32>) outs(%s : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

func.func @few(%x: tensor<4096x64xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4096x64xf32>) outs(%s : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
