// RUN: chimera-opt %s --split-input-file --chimera-fuse-memory-bound --cse | FileCheck %s

// An elementwise operation moves into its only reader, here a reduction.

// CHECK-LABEL: func @one_reader(
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4x8xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK:           math.exp
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[SUM]]
func.func @one_reader(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x8xf32>
  %e = linalg.exp ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce { arith.addf } ins(%e : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) dimensions = [1]
  return %s : tensor<4xf32>
}

// -----

// Softmax: differences are computed twice, exponentials are not. The index of
// the maximum that nobody reads goes.

// CHECK-LABEL: func @softmax(
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4xf32>)
// CHECK:           arith.maximumf
// CHECK:         %[[EXP:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[MAX]] :
// CHECK:           arith.subf
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] :
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[EXP]], %[[SUM]] :
// CHECK:           arith.divf
// CHECK-NOT:     linalg.generic
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = tensor.empty() : tensor<4xi64>
  %3 = linalg.fill ins(%first : i64) outs(%2 : tensor<4xi64>) -> tensor<4xi64>
  %max:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%1, %3 : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %m: f32, %at: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %larger = arith.maximumf %in, %m : f32
    %is_larger = arith.cmpf ogt, %in, %m : f32
    %where = arith.select %is_larger, %here, %at : i64
    linalg.yield %larger, %where : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  %4 = tensor.empty() : tensor<4x8xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max#0 : tensor<4x8xf32>, tensor<4xf32>) outs(%4 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %diff = arith.subf %in, %m : f32
    linalg.yield %diff : f32
  } -> tensor<4x8xf32>
  %e = linalg.exp ins(%d : tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<4x8xf32>) outs(%5 : tensor<4xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%4 : tensor<4x8xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%4 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// -----

// The named operation comes to the same.

// CHECK-LABEL: func @named_softmax(
// CHECK-NOT:     linalg.softmax
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @named_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// What is cheap and reads no more than it makes is computed by each reader, as
// a change of type; what is done once per row stays apart.

// CHECK-LABEL: func @mean(
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[X:.*]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<4xf64>)
// CHECK:           arith.extf
// CHECK:           arith.addf
// CHECK:         %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<4xf64>)
// CHECK:           arith.divf
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] : tensor<4x8xf32>, tensor<4xf64>) outs(%{{.*}} : tensor<4x8xf64>)
// CHECK:           arith.extf
// CHECK:           arith.subf
// CHECK-NOT:     linalg.generic
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
func.func @mean(%x: tensor<4x8xf32>) -> tensor<4x8xf64> {
  %zero = arith.constant 0.0 : f64
  %eight = arith.constant 8.0 : f64
  %0 = tensor.empty() : tensor<4x8xf64>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf64>) {
  ^bb0(%in: f32, %out: f64):
    %y = arith.extf %in : f32 to f64
    linalg.yield %y : f64
  } -> tensor<4x8xf64>
  %1 = tensor.empty() : tensor<4x1xf64>
  %2 = linalg.fill ins(%zero : f64) outs(%1 : tensor<4x1xf64>) -> tensor<4x1xf64>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%wide : tensor<4x8xf64>) outs(%2 : tensor<4x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %y = arith.addf %in, %out : f64
    linalg.yield %y : f64
  } -> tensor<4x1xf64>
  %mean = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<4x1xf64>) outs(%1 : tensor<4x1xf64>) {
  ^bb0(%in: f64, %out: f64):
    %y = arith.divf %in, %eight : f64
    linalg.yield %y : f64
  } -> tensor<4x1xf64>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %mean : tensor<4x8xf64>, tensor<4x1xf64>) outs(%0 : tensor<4x8xf64>) {
  ^bb0(%in: f64, %m: f64, %out: f64):
    %y = arith.subf %in, %m : f64
    linalg.yield %y : f64
  } -> tensor<4x8xf64>
  return %d : tensor<4x8xf64>
}

// -----

// A transpose that keeps rows contiguous is a matter of indexing; one that does
// not stays, or is made if there is none.

// CHECK-DAG:   #[[$SWAP:.+]] = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK-DAG:   #[[$TURN:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func @layouts(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6x8xf32>, %[[Y:.*]]: tensor<4x8xf32>, %[[Z:.*]]: tensor<8x4xf32>)
// CHECK:         %[[A:.*]] = linalg.generic {indexing_maps = [#[[$SWAP]], {{.*}} ins(%[[X]] :
// CHECK:           arith.mulf
// CHECK:         %[[T:.*]] = linalg.generic {indexing_maps = [#[[$TURN]], {{.*}} ins(%[[Z]] :
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      linalg.yield %[[IN]]
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[T]] :
// CHECK:           arith.addf
// CHECK:         return %[[A]], %[[B]]
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func @layouts(%x: tensor<4x6x8xf32>, %y: tensor<4x8xf32>, %z: tensor<8x4xf32>) -> (tensor<6x4x8xf32>, tensor<4x8xf32>) {
  %0 = tensor.empty() : tensor<6x4x8xf32>
  %t = linalg.transpose ins(%x : tensor<4x6x8xf32>) outs(%0 : tensor<6x4x8xf32>) permutation = [1, 0, 2]
  %a = linalg.square ins(%t : tensor<6x4x8xf32>) outs(%0 : tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
  %1 = tensor.empty() : tensor<4x8xf32>
  %b = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %z : tensor<4x8xf32>, tensor<8x4xf32>) outs(%1 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %a, %b : tensor<6x4x8xf32>, tensor<4x8xf32>
}

// -----

// The parts of a concatenation are computed where they belong, without the unit
// dimension.

// CHECK-LABEL: func @concat(
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<4x8xf32>
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %[[WHOLE]][0, 0] [4, 3]
// CHECK:         %[[NEG:.*]] = linalg.generic {{.*}} outs(%[[PLACE]] :
// CHECK:           arith.negf
// CHECK:         tensor.insert_slice %[[NEG]] into %[[WHOLE]][0, 0] [4, 3]
func.func @concat(%x: tensor<4x1x3xf32>, %y: tensor<4x1x5xf32>) -> tensor<4x1x8xf32> {
  %n = arith.negf %x : tensor<4x1x3xf32>
  %0 = tensor.concat dim(2) %n, %y : (tensor<4x1x3xf32>, tensor<4x1x5xf32>) -> tensor<4x1x8xf32>
  return %0 : tensor<4x1x8xf32>
}

// -----

// A fill that is not read is not needed; neither is the unit dimension.

// CHECK-LABEL: func @inits(
// CHECK-NOT:     linalg.fill
// CHECK:         %[[X:.*]] = tensor.collapse_shape
// CHECK:         %[[INIT:.*]] = tensor.empty() : tensor<8xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8xf32>) outs(%[[INIT]] : tensor<8xf32>)
func.func @inits(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  %2 = linalg.exp ins(%x : tensor<1x8xf32>) outs(%1 : tensor<1x8xf32>) -> tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}

// -----

// Nothing leaves or enters a chain, a loop body, or another block; contractions,
// convolutions and dynamic shapes are left alone.

// CHECK-LABEL: func @left_alone(
// CHECK:         linalg.exp {{.*}} tensor<?xf32>
// CHECK:         linalg.matmul {{.*}} tensor<4x4xi8>
// CHECK:         linalg.conv_2d_nhwc_hwcf
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:         scf.for
// CHECK:           linalg.generic
// CHECK:             arith.addf
func.func @left_alone(%d: tensor<?xf32>, %b: tensor<4x4xi8>, %acc: tensor<4x4xi32>, %im: tensor<1x4x4x2xf32>, %win: tensor<2x2x2x2xf32>, %pool: tensor<1x3x3x2xf32>, %x: tensor<4xf32>, %n: index)
    -> (tensor<?xf32>, tensor<4x4xi32>, tensor<1x3x3x2xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = linalg.exp ins(%d : tensor<?xf32>) outs(%d : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.matmul ins(%b, %b : tensor<4x4xi8>, tensor<4x4xi8>) outs(%acc : tensor<4x4xi32>) -> tensor<4x4xi32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%im, %win : tensor<1x4x4x2xf32>, tensor<2x2x2x2xf32>) outs(%pool : tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
  %e = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  %3 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %sum = linalg.add ins(%y, %e : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %sum : tensor<4xf32>
  }
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<4x4xi32>, tensor<1x3x3x2xf32>, tensor<4xf32>
}

// -----

// The slices of a block keep their unit dimension: its result is where it goes.

// CHECK-LABEL: func @slices_of_blocks
// CHECK:         tensor.extract_slice {{.*}} : tensor<4x32xf32> to tensor<1x16xf32>
// CHECK:         chimera.block
// CHECK:         tensor.insert_slice {{.*}} : tensor<1x16xf32> into tensor<4x32xf32>
func.func @slices_of_blocks(%x: tensor<1x16xf32>, %y: tensor<4x32xf32>, %i: index) -> tensor<4x32xf32> {
  %0 = tensor.extract_slice %y[%i, 0] [1, 16] [1, 1] : tensor<4x32xf32> to tensor<1x16xf32>
  %1 = chimera.block "copy0" ins(%x : tensor<1x16xf32>) outs(%0 : tensor<1x16xf32>) extents [[1], [16]] {
  ^bb0(%a: tensor<1x16xf32>, %b: tensor<1x16xf32>):
    %c = linalg.copy ins(%a : tensor<1x16xf32>) outs(%b : tensor<1x16xf32>) -> tensor<1x16xf32>
    chimera.yield %c : tensor<1x16xf32>
  } -> tensor<1x16xf32>
  %2 = tensor.insert_slice %1 into %y[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

// Parts without elements have no place in the whole, least of all at its end.

// CHECK-LABEL: func.func @empty_part(
// CHECK-SAME:    %[[A:.*]]: tensor<2x8xf32>, %{{.*}}: tensor<0x8xf32>, %[[C:.*]]: tensor<3x8xf32>)
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<5x8xf32>
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[A]] :
// CHECK:         %[[HALF:.*]] = tensor.insert_slice %[[FIRST]] into %[[WHOLE]][0, 0] [2, 8]
// CHECK:         %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[C]] :
// CHECK:         %[[RESULT:.*]] = tensor.insert_slice %[[SECOND]] into %[[HALF]][2, 0] [3, 8]
// CHECK-NEXT:    return %[[RESULT]]
func.func @empty_part(%a: tensor<2x8xf32>, %b: tensor<0x8xf32>, %c: tensor<3x8xf32>) -> tensor<5x8xf32> {
  %0 = tensor.concat dim(0) %a, %c, %b
      : (tensor<2x8xf32>, tensor<3x8xf32>, tensor<0x8xf32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// What is joined with nothing is the whole, also where its size was forgotten.

// CHECK-LABEL: func.func @one_part(
// CHECK-SAME:    %[[A:.*]]: tensor<2x8xf32>)
// CHECK-NEXT:    return %[[A]]
func.func @one_part(%a: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = tensor.cast %a : tensor<2x8xf32> to tensor<?x8xf32>
  %1 = tensor.extract_slice %a[0, 0] [0, 8] [1, 1] : tensor<2x8xf32> to tensor<0x8xf32>
  %2 = tensor.cast %1 : tensor<0x8xf32> to tensor<?x8xf32>
  %3 = tensor.concat dim(0) %0, %2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @only_empty_parts(
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<0x5xf32>
// CHECK-NEXT:    return %[[WHOLE]]
func.func @only_empty_parts(%a: tensor<0x2xf32>, %b: tensor<0x3xf32>) -> tensor<0x5xf32> {
  %0 = tensor.concat dim(1) %a, %b : (tensor<0x2xf32>, tensor<0x3xf32>) -> tensor<0x5xf32>
  return %0 : tensor<0x5xf32>
}

// -----

// The border of a tensor with padding is filled before the middle is computed
// in its place.

// CHECK-LABEL: func.func @pad(
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<7x8xf32>
// CHECK:         %[[TOP:.*]] = tensor.extract_slice %[[WHOLE]][0, 0] [1, 8]
// CHECK-NEXT:    linalg.fill {{.*}} outs(%[[TOP]]
// CHECK:         tensor.extract_slice %{{.*}}[5, 0] [2, 8]
// CHECK:         tensor.extract_slice %{{.*}}[1, 0] [4, 3]
// CHECK-NOT:     tensor.extract_slice %{{.*}}[1, 8]
// CHECK:         %[[BORDER:.*]] = tensor.insert_slice %{{.*}}[1, 0] [4, 3]
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %[[BORDER]][1, 3] [4, 5]
// CHECK:         %[[NEG:.*]] = linalg.generic {{.*}} outs(%[[PLACE]] :
// CHECK:           arith.negf
// CHECK:         %[[RESULT:.*]] = tensor.insert_slice %[[NEG]] into %[[BORDER]][1, 3] [4, 5]
// CHECK:         return %[[RESULT]], %[[NEG]]
func.func @pad(%x: tensor<4x5xf32>) -> (tensor<7x8xf32>, tensor<4x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.negf %x : tensor<4x5xf32>
  %0 = tensor.pad %n low[1, 3] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x5xf32> to tensor<7x8xf32>
  return %0, %n : tensor<7x8xf32>, tensor<4x5xf32>
}

// -----

// What is made first is inserted first; what is there twice is copied, and what
// an operation updates that others read, too.

// CHECK-LABEL: func.func @order(
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<12xf32>
// CHECK:         %[[FIRST:.*]] = tensor.extract_slice %[[WHOLE]][4] [4]
// CHECK:         %[[NEG:.*]] = linalg.generic {{.*}} outs(%[[FIRST]] :
// CHECK:         %[[ONE:.*]] = tensor.insert_slice %[[NEG]] into %[[WHOLE]][4] [4]
// CHECK:         %[[SECOND:.*]] = tensor.extract_slice %[[ONE]][0] [4]
// CHECK:         %[[ABS:.*]] = linalg.generic {{.*}} outs(%[[SECOND]] :
// CHECK:         %[[TWO:.*]] = tensor.insert_slice %[[ABS]] into %[[ONE]][0] [4]
// CHECK:         %[[THIRD:.*]] = tensor.extract_slice %[[TWO]][8] [4]
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[NEG]] : tensor<4xf32>) outs(%[[THIRD]] :
// CHECK:         tensor.insert_slice %[[COPY]] into %[[TWO]][8] [4]
func.func @order(%x: tensor<4xf32>) -> (tensor<12xf32>, tensor<4xf32>) {
  %n = math.exp %x : tensor<4xf32>
  %a = math.sqrt %n : tensor<4xf32>
  %0 = tensor.concat dim(0) %a, %n, %n : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %0, %a : tensor<12xf32>, tensor<4xf32>
}

// -----

// Pooling is a reduction of windows, which become dimensions; what only gave
// them their size goes. The dimension that moves a window comes last, since
// vectors may run along it.

// CHECK: #[[$MAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d3 * 2, d4 + d5)>
// CHECK-LABEL: func.func @pooling(
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x9x9xf32>
// CHECK:         %[[FILL:.*]] = linalg.fill
// CHECK:         %[[VIEW:.*]] = chimera.windows %[[X]] at #[[$MAP]] : tensor<2x8x9x9xf32> to tensor<2x8x3x4x3x7xf32>
// CHECK:         linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%[[VIEW]] : tensor<2x8x3x4x3x7xf32>) outs(%[[FILL]]
// CHECK:           arith.maximumf
func.func @pooling(%x: tensor<2x8x9x9xf32>) -> tensor<2x8x4x7xf32> {
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %0 = tensor.empty() : tensor<2x8x4x7xf32>
  %1 = linalg.fill ins(%low : f32) outs(%0 : tensor<2x8x4x7xf32>) -> tensor<2x8x4x7xf32>
  %2 = linalg.pooling_nchw_max {strides = dense<[2, 1]> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
      ins(%x, %window : tensor<2x8x9x9xf32>, tensor<3x3xf32>) outs(%1 : tensor<2x8x4x7xf32>) -> tensor<2x8x4x7xf32>
  return %2 : tensor<2x8x4x7xf32>
}

// -----

// What two loops start from is filled for each, where it belongs.

// CHECK-LABEL: func.func @starts(
// CHECK:         %[[FIRST:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         %[[ONE:.*]] = linalg.fill {{.*}} outs(%[[FIRST]] :
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[ONE]])
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %{{.*}}[1] [4]
// CHECK:         %[[TWO:.*]] = linalg.fill {{.*}} outs(%[[PLACE]] :
// CHECK:         %[[MADE:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[TWO]])
// CHECK:         tensor.insert_slice %[[MADE]] into
func.func @starts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %f) -> (tensor<4xf32>) {
    %n = linalg.add ins(%t, %x : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %1 = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %f) -> (tensor<4xf32>) {
    %n = linalg.sub ins(%t, %x : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %2 = tensor.pad %1 low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<5xf32>
  return %0, %2 : tensor<4xf32>, tensor<5xf32>
}
