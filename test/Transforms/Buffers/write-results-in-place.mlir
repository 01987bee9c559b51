// RUN: chimera-opt %s --chimera-write-results-in-place --split-input-file | FileCheck %s --implicit-check-not=bufferize.result

// The attribute goes in any case.

// CHECK-LABEL: func @expanded
// CHECK-SAME:    %[[X:.*]]: memref<8xf32>, %[[R:.*]]: memref<1x8xf32>)
// CHECK-NEXT:  %[[BUFFER:.*]] = memref.collapse_shape %[[R]] {{\[\[}}0, 1]] : memref<1x8xf32> into memref<8xf32>
// CHECK-NEXT:  linalg.exp ins(%[[X]] : memref<8xf32>) outs(%[[BUFFER]] : memref<8xf32>)
// CHECK-NOT:   memref.copy
// CHECK:       return
func.func @expanded(%x: memref<8xf32>, %r: memref<1x8xf32> {bufferize.result}) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [1, 8] : memref<8xf32> into memref<1x8xf32>
  memref.copy %1, %r : memref<1x8xf32> to memref<1x8xf32>
  return
}

// Several changes of shape, parts of the buffer in a loop, and its end.
// CHECK-LABEL: func @often
// CHECK-SAME:    %[[X:.*]]: memref<8xf32>, %[[R:.*]]: memref<8x1xf32>)
// CHECK:       %[[FLAT:.*]] = memref.collapse_shape %[[R]] {{\[\[}}0, 1]] : memref<8x1xf32> into memref<8xf32>
// CHECK-NEXT:  %[[BUFFER:.*]] = memref.expand_shape %[[FLAT]] {{\[\[}}0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
// CHECK:         memref.subview %[[BUFFER]]
// CHECK-NOT:   memref.copy
// CHECK-NOT:   memref.dealloc
// CHECK:       return
func.func @often(%x: memref<8xf32>, %r: memref<8x1xf32> {bufferize.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = memref.alloc() : memref<2x4xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    %row = memref.subview %0[%i, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%row : memref<4xf32, strided<[1], offset: ?>>)
  }
  %1 = memref.collapse_shape %0 [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  %2 = memref.expand_shape %1 [[0, 1]] output_shape [8, 1] : memref<8xf32> into memref<8x1xf32>
  memref.copy %2, %r : memref<8x1xf32> to memref<8x1xf32>
  memref.dealloc %0 : memref<2x4xf32>
  return
}

// What is written after the copy is not part of the result.
// CHECK-LABEL: func @later
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @later(%x: memref<8xf32>, %r: memref<8xf32> {bufferize.result}) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  memref.copy %0, %r : memref<8xf32> to memref<8xf32>
  linalg.sqrt ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  return
}

// Nor is what is handed on, which somebody might use later.
// CHECK-LABEL: func @chosen
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @chosen(%x: memref<8xf32>, %c: i1, %r: memref<8xf32> {bufferize.result}) {
  %zero = arith.constant 0.0 : f32
  %0 = memref.alloc() : memref<8xf32>
  %1 = memref.alloc() : memref<8xf32>
  %2 = arith.select %c, %0, %1 : memref<8xf32>
  memref.copy %0, %r : memref<8xf32> to memref<8xf32>
  linalg.fill ins(%zero : f32) outs(%2 : memref<8xf32>)
  return
}

// Another argument may be the same memory as one that is read.
// CHECK-LABEL: func @plain
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @plain(%x: memref<8xf32>, %r: memref<8xf32>) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  memref.copy %0, %r : memref<8xf32> to memref<8xf32>
  return
}

// A part of a buffer has rows that lie further apart.
// CHECK-LABEL: func @part
// CHECK:         memref.alloc
// CHECK:         memref.copy
func.func @part(%x: memref<4x8xf32>, %r: memref<4x6xf32> {bufferize.result}) {
  %0 = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%x : memref<4x8xf32>) outs(%0 : memref<4x8xf32>)
  %1 = memref.subview %0[0, 0] [4, 6] [1, 1] : memref<4x8xf32> to memref<4x6xf32, strided<[8, 1]>>
  memref.copy %1, %r : memref<4x6xf32, strided<[8, 1]>> to memref<4x6xf32>
  return
}

// CHECK-LABEL: func private @elsewhere(memref<8xf32>)
func.func private @elsewhere(memref<8xf32> {bufferize.result})
