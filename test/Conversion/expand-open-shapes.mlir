// RUN: chimera-opt %s --chimera-expand-open-shapes --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-expand-open-shapes --expand-strided-metadata --split-input-file | FileCheck %s --check-prefix=DONE

// DONE-NOT: memref.expand_shape

// CHECK-LABEL: func @two(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[M:.*]]: index, %[[N:.*]]: index)
// CHECK:         %[[BUFFER:.*]], %[[OFFSET:.*]], %{{.*}}, %[[ONE:.*]] = memref.extract_strided_metadata %[[A]]
// CHECK:         %[[ROW:.*]] = arith.muli %[[ONE]], %[[N]]
// CHECK:         memref.reinterpret_cast %[[BUFFER]] to offset: [0], sizes: [%[[M]], %[[N]]], strides: [%[[ROW]], 1]
func.func @two(%a: memref<?xf32>, %m: index, %n: index) -> memref<?x?xf32> {
  %0 = memref.expand_shape %a [[0, 1]] output_shape [%m, %n] : memref<?xf32> into memref<?x?xf32>
  return %0 : memref<?x?xf32>
}

// -----

// A known size among them, rows that lie apart, an offset.

// CHECK-LABEL: func @rows(
// CHECK-SAME:    %[[A:.*]]: memref<?x4xf32, strided<[?, 1], offset: ?>>, %[[M:.*]]: index, %[[N:.*]]: index)
// CHECK:         %[[BUFFER:.*]], %[[OFFSET:.*]], %{{.*}}, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[A]]
// CHECK:         %[[THREE:.*]] = arith.constant 3 : index
// CHECK:         %[[NEXT:.*]] = arith.muli %[[STRIDES]]#0, %[[THREE]]
// CHECK:         %[[LAST:.*]] = arith.muli %[[NEXT]], %[[N]]
// CHECK:         memref.reinterpret_cast %[[BUFFER]] to offset: [%[[OFFSET]]], sizes: [%[[M]], %[[N]], 3, 4], strides: [%[[LAST]], %[[NEXT]], %[[STRIDES]]#0, 1]
func.func @rows(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>, %m: index, %n: index) -> memref<?x?x3x4xf32, strided<[?, ?, ?, 1], offset: ?>> {
  %0 = memref.expand_shape %a [[0, 1, 2], [3]] output_shape [%m, %n, 3, 4]
      : memref<?x4xf32, strided<[?, 1], offset: ?>> into memref<?x?x3x4xf32, strided<[?, ?, ?, 1], offset: ?>>
  return %0 : memref<?x?x3x4xf32, strided<[?, ?, ?, 1], offset: ?>>
}

// -----

// One that is not known follows from the others.

// CHECK-LABEL: func @one(
// CHECK:         memref.expand_shape
func.func @one(%a: memref<?xf32>, %m: index) -> memref<?x4xf32> {
  %0 = memref.expand_shape %a [[0, 1]] output_shape [%m, 4] : memref<?xf32> into memref<?x4xf32>
  return %0 : memref<?x4xf32>
}
