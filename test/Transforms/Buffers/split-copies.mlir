// RUN: chimera-opt %s --chimera-split-copies --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[A:.*]]: memref<7x8xf32>, %[[B:.*]]: memref
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c7{{.*}} step %c1
// CHECK:   %[[FROM:.*]] = memref.subview %[[A]][%[[I]], 0] [1, 8] [1, 1]
// CHECK:   %[[TO:.*]] = memref.subview %[[B]][%[[I]], 0] [1, 8] [1, 1]
// CHECK:   memref.copy %[[FROM]], %[[TO]] : memref<8xf32, {{.*}}> to memref<8xf32, {{.*}}>
// CHECK-NOT: memref.copy
func.func @rows(%a: memref<7x8xf32>, %b: memref<7x8xf32, strided<[10, 1], offset: 11>>) {
  memref.copy %a, %b : memref<7x8xf32> to memref<7x8xf32, strided<[10, 1], offset: 11>>
  return
}

// -----

// Dimensions that follow each other in both buffers are one row, of whatever
// length.

// CHECK-LABEL: func.func @planes(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: memref.copy {{.*}} : memref<?x8xf32, {{.*}}> to memref<?x8xf32, {{.*}}>
func.func @planes(%a: memref<3x?x8xf32, strided<[80, 8, 1]>>, %b: memref<3x?x8xf32, strided<[?, 8, 1], offset: ?>>) {
  memref.copy %a, %b : memref<3x?x8xf32, strided<[80, 8, 1]>> to memref<3x?x8xf32, strided<[?, 8, 1], offset: ?>>
  return
}

// -----

// CHECK-LABEL: func.func @elements(
// CHECK: scf.for %[[I:.*]] = {{.*}} {
// CHECK:   scf.for %[[J:.*]] = {{.*}} {
// CHECK:     %[[X:.*]] = memref.load %{{.*}}[%[[I]], %[[J]]]
// CHECK:     memref.store %[[X]], %{{.*}}[%[[I]], %[[J]]]
func.func @elements(%a: memref<7x8xf32>, %b: memref<7x8xf32, strided<[1, 7]>>) {
  memref.copy %a, %b : memref<7x8xf32> to memref<7x8xf32, strided<[1, 7]>>
  return
}

// -----

// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: memref.copy
// CHECK-NEXT: memref.copy
func.func @whole(%a: memref<7x8xf32>, %b: memref<7x8xf32, strided<[8, 1], offset: ?>>, %c: memref<*xf32>, %d: memref<*xf32>) {
  memref.copy %a, %b : memref<7x8xf32> to memref<7x8xf32, strided<[8, 1], offset: ?>>
  memref.copy %c, %d : memref<*xf32> to memref<*xf32>
  return
}

// -----

// Both show all of one buffer.

// CHECK-LABEL: func.func @itself(
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @itself(%a: memref<?x?xf32, strided<[120, 1], offset: ?>>, %rows: index, %columns: index) {
  %expanded = memref.expand_shape %a [[0, 1], [2]] output_shape [1, %rows, %columns] : memref<?x?xf32, strided<[120, 1], offset: ?>> into memref<1x?x?xf32, strided<[?, 120, 1], offset: ?>>
  %collapsed = memref.collapse_shape %expanded [[0, 1], [2]] : memref<1x?x?xf32, strided<[?, 120, 1], offset: ?>> into memref<?x?xf32, strided<[?, 1], offset: ?>>
  memref.copy %collapsed, %a : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?x?xf32, strided<[120, 1], offset: ?>>
  return
}

// -----

// Of a row that is gathered, the index is read and checked once.

#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[TABLE:.*]]: memref<100x8xf32>, %[[INDICES:.*]]: memref<7xi64>, %[[OUT:.*]]: memref<7x8xf32>
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c7{{.*}} step
// CHECK-NOT: scf.for
// CHECK:   %[[INDEX:.*]] = memref.load %[[INDICES]][%[[I]]]
// CHECK:   %[[ROW:.*]] = arith.index_cast %[[INDEX]]
// CHECK:   cf.assert
// CHECK:   %[[FROM:.*]] = memref.subview %[[TABLE]][%[[ROW]], 0] [1, 8] [1, 1]
// CHECK:   %[[TO:.*]] = memref.subview %[[OUT]][%[[I]], 0] [1, 8] [1, 1]
// CHECK:   memref.copy %[[FROM]], %[[TO]]
// CHECK-NOT: linalg.generic
func.func @gather(%table: memref<100x8xf32>, %indices: memref<7xi64>, %out: memref<7x8xf32>) {
  %c100 = arith.constant 100 : index
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%indices : memref<7xi64>) outs(%out : memref<7x8xf32>) {
  ^bb0(%in: i64, %init: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %inside = arith.cmpi ult, %row, %c100 : index
    cf.assert %inside, "no such row"
    %element = memref.load %table[%row, %column] : memref<100x8xf32>
    linalg.yield %element : f32
  }
  return
}

// -----

// Where the column counts as well, rows of the table are longer, or something is
// done to elements, each one is gathered by itself.

#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @elements_gathered(
// CHECK-NOT: memref.copy
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: memref.copy
func.func @elements_gathered(%table: memref<100x9xf32>, %even: memref<100x8xf32>, %indices: memref<7xi64>, %each: memref<7x8xi64>, %out: memref<7x8xf32>) {
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%indices : memref<7xi64>) outs(%out : memref<7x8xf32>) {
  ^bb0(%in: i64, %init: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %element = memref.load %table[%row, %column] : memref<100x9xf32>
    linalg.yield %element : f32
  }
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%each : memref<7x8xi64>) outs(%out : memref<7x8xf32>) {
  ^bb0(%in: i64, %init: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %element = memref.load %even[%row, %column] : memref<100x8xf32>
    linalg.yield %element : f32
  }
  linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%indices : memref<7xi64>) outs(%out : memref<7x8xf32>) {
  ^bb0(%in: i64, %init: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %element = memref.load %even[%row, %column] : memref<100x8xf32>
    %twice = arith.addf %element, %element : f32
    linalg.yield %twice : f32
  }
  return
}
