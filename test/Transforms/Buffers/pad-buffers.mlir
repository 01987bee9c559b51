// RUN: chimera-opt %s --split-input-file --chimera-pad-buffers=target=zen5 | FileCheck %s

// The example in the description.

// CHECK-LABEL: func @example(
// CHECK:         %[[ALLOC:.*]] = memref.alloc() {alignment = 64 : i64} : memref<197x3088xf32>
// CHECK-NEXT:    %[[ALL:.*]] = memref.subview %[[ALLOC]][0, 0] [197, 3072] [1, 1]
// CHECK-SAME:      memref<197x3088xf32> to memref<197x3072xf32, strided<[3088, 1]>>
// CHECK-NEXT:    memref.load %[[ALL]]
func.func @example(%i: index) -> f32 {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<197x3072xf32>
  %1 = memref.load %0[%i, %i] : memref<197x3072xf32>
  return %1 : f32
}

// -----

// Rows of 4096 bytes. Views follow, also those of lower rank and views of
// views; what is freed is the buffer itself.

// CHECK-LABEL: func @views(
// CHECK-SAME:    %[[A:.*]]: memref<8x4xf32>, %[[B:.*]]: memref<4x?xf32>, %[[I:.*]]: index, %[[N:.*]]: index)
// CHECK:         %[[ALLOC:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x197x1040xf32>
// CHECK:         %[[ALL:.*]] = memref.subview %[[ALLOC]][0, 0, 0] [3, 197, 1024] [1, 1, 1]
// CHECK-SAME:      memref<3x197x1040xf32> to memref<3x197x1024xf32, strided<[204880, 1040, 1]>>
// CHECK:         scf.forall
// CHECK:           %[[SLICE:.*]] = memref.subview %[[ALL]][1, 0, 0] [1, 197, 1024] [1, 1, 1]
// CHECK-SAME:        to memref<197x1024xf32, strided<[1040, 1], offset: 204880>>
// CHECK:           %[[TILE:.*]] = memref.subview %[[SLICE]][%[[I]], 16] [8, %[[N]]] [1, 1]
// CHECK-SAME:        to memref<8x?xf32, strided<[1040, 1], offset: ?>>
// CHECK:           chimera.micro_kernel contraction
// CHECK-SAME:        outs(%[[TILE]] : memref<8x?xf32, strided<[1040, 1], offset: ?>>)
// CHECK:         %[[ROW:.*]] = memref.subview %[[ALL]][2, %[[I]], 0] [1, 1, 1024] [1, 1, 1]
// CHECK-SAME:      to memref<1024xf32, strided<[1], offset: ?>>
// CHECK:         memref.load %[[ROW]]
// CHECK:         memref.dealloc %[[ALLOC]] : memref<3x197x1040xf32>
func.func @views(%a: memref<8x4xf32>, %b: memref<4x?xf32>, %i: index, %n: index) -> f32 {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<3x197x1024xf32>
  scf.forall (%j) in (4) {
    %slice = memref.subview %0[1, 0, 0] [1, 197, 1024] [1, 1, 1]
        : memref<3x197x1024xf32> to memref<197x1024xf32, strided<[1024, 1], offset: 201728>>
    %tile = memref.subview %slice[%i, 16] [8, %n] [1, 1]
        : memref<197x1024xf32, strided<[1024, 1], offset: 201728>> to memref<8x?xf32, strided<[1024, 1], offset: ?>>
    chimera.micro_kernel contraction
        ins(%a, %b : memref<8x4xf32>, memref<4x?xf32>) outs(%tile : memref<8x?xf32, strided<[1024, 1], offset: ?>>)
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"] {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %1 = arith.mulf %x, %y : f32
      %2 = arith.addf %z, %1 : f32
      chimera.yield %2 : f32
    }
  }
  %row = memref.subview %0[2, %i, 0] [1, 1, 1024] [1, 1, 1]
      : memref<3x197x1024xf32> to memref<1024xf32, strided<[1], offset: ?>>
  %value = memref.load %row[%i] : memref<1024xf32, strided<[1], offset: ?>>
  memref.dealloc %0 : memref<3x197x1024xf32>
  return %value : f32
}

// -----

// Operations that read and write the buffer itself. A line is 64 bytes, whatever
// the type of the elements.

// CHECK-LABEL: func @operations(
// CHECK-SAME:    %[[PART:.*]]: memref<8x16xbf16>,
// CHECK:         %[[ALLOC:.*]] = memref.alloc() : memref<8x544xbf16>
// CHECK:         %[[ALL:.*]] = memref.subview %[[ALLOC]]
// CHECK:         linalg.fill {{.*}} outs(%[[ALL]] : memref<8x512xbf16, strided<[544, 1]>>)
// CHECK:         memref.store %{{.*}}, %[[ALL]]
// CHECK:         memref.prefetch %[[ALL]]
// CHECK:         memref.dim %[[ALL]]
// CHECK:         %[[COPIED:.*]] = memref.subview %[[ALL]]
// CHECK:         memref.copy %[[COPIED]], %[[PART]] : memref<8x16xbf16, strided<[544, 1]>> to memref<8x16xbf16>
// CHECK:         memref.alloc() : memref<8x136xf64>
func.func @operations(%part: memref<8x16xbf16>, %i: index, %zero: bf16) -> (index, f64) {
  %0 = memref.alloc() : memref<8x512xbf16>
  linalg.fill ins(%zero : bf16) outs(%0 : memref<8x512xbf16>)
  memref.store %zero, %0[%i, %i] : memref<8x512xbf16>
  memref.prefetch %0[%i, %i], read, locality<3>, data : memref<8x512xbf16>
  %size = memref.dim %0, %i : memref<8x512xbf16>
  %1 = memref.subview %0[0, 0] [8, 16] [1, 1] : memref<8x512xbf16> to memref<8x16xbf16, strided<[512, 1]>>
  memref.copy %1, %part : memref<8x16xbf16, strided<[512, 1]>> to memref<8x16xbf16>
  %2 = memref.alloc() : memref<8x128xf64>
  %value = memref.load %2[%i, %i] : memref<8x128xf64>
  return %size, %value : index, f64
}

// -----

// Nothing to gain: rows that are short, or not a multiple of 1024 bytes, or one
// only; elements that are no bytes; a layout or a shape that is not known.

// CHECK-LABEL: func @good_enough(
// CHECK-NOT:     memref.subview
// CHECK:         return
func.func @good_enough(%i: index, %n: index) {
  %short = memref.alloc() : memref<64x128xf32>
  %odd = memref.alloc() : memref<64x1028xf32>
  %single = memref.alloc() : memref<1x1024xf32>
  %flat = memref.alloc() : memref<1024xf32>
  %scalar = memref.alloc() : memref<f32>
  %empty = memref.alloc() : memref<64x0xf32>
  %bits = memref.alloc() : memref<64x8192xi1>
  %indices = memref.alloc() : memref<64x1024xindex>
  %long = memref.alloc() : memref<64x1024xi1024>
  %dynamic = memref.alloc(%n) : memref<?x1024xf32>
  %strided = memref.alloc() : memref<64x1024xf32, strided<[2048, 1]>>
  %turned = memref.alloc() : memref<64x1024xf32, affine_map<(i, j) -> (j, i)>>
  return
}

// -----

// Others see the layout.

// CHECK-LABEL: func @returned(
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @returned() -> memref<8x1024xf32> {
  %0 = memref.alloc() : memref<8x1024xf32>
  return %0 : memref<8x1024xf32>
}

// -----

// CHECK-LABEL: func @passed_on(
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func private @callee(memref<8x1024xf32>)
func.func @passed_on() {
  %0 = memref.alloc() : memref<8x1024xf32>
  call @callee(%0) : (memref<8x1024xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: func @cast(
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @cast(%i: index) -> f32 {
  %0 = memref.alloc() : memref<8x1024xf32>
  %1 = memref.cast %0 : memref<8x1024xf32> to memref<?x1024xf32>
  %2 = memref.load %1[%i, %i] : memref<?x1024xf32>
  return %2 : f32
}

// -----

// A view of a view is enough.

// CHECK-LABEL: func @reshaped(
// CHECK:         memref.alloc() : memref<8x1024xf32>
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @reshaped(%i: index) -> (f32, f32) {
  %0 = memref.alloc() : memref<8x1024xf32>
  %1 = memref.collapse_shape %0 [[0, 1]] : memref<8x1024xf32> into memref<8192xf32>
  %2 = memref.load %1[%i] : memref<8192xf32>
  %3 = memref.alloc() : memref<8x1024xf32>
  %4 = memref.subview %3[0, 0] [4, 1024] [1, 1] : memref<8x1024xf32> to memref<4x1024xf32, strided<[1024, 1]>>
  %5 = memref.subview %4[2, 0] [2, 1024] [1, 1] : memref<4x1024xf32, strided<[1024, 1]>> to memref<2x1024xf32, strided<[1024, 1], offset: 2048>>
  %6 = memref.expand_shape %5 [[0], [1, 2]] output_shape [2, 4, 256]
      : memref<2x1024xf32, strided<[1024, 1], offset: 2048>> into memref<2x4x256xf32, strided<[1024, 256, 1], offset: 2048>>
  %7 = memref.load %6[%i, %i, %i] : memref<2x4x256xf32, strided<[1024, 256, 1], offset: 2048>>
  return %2, %7 : f32, f32
}

// -----

// CHECK-LABEL: func @carried(
// CHECK:         memref.alloc() : memref<8x1024xf32>
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @carried(%lower: index, %upper: index, %step: index) {
  %0 = memref.alloc() : memref<8x1024xf32>
  %1 = memref.alloc() : memref<8x1024xf32>
  %2:2 = scf.for %i = %lower to %upper step %step iter_args(%x = %0, %y = %1) -> (memref<8x1024xf32>, memref<8x1024xf32>) {
    scf.yield %y, %x : memref<8x1024xf32>, memref<8x1024xf32>
  }
  return
}

// -----

// The buffer is what is stored, not where.

// CHECK-LABEL: func @stored(
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @stored(%place: memref<memref<8x1024xf32>>) {
  %0 = memref.alloc() : memref<8x1024xf32>
  memref.store %0, %place[] : memref<memref<8x1024xf32>>
  return
}

// -----

// Copies of one block of bytes would become one for each row.

// CHECK-LABEL: func @copied(
// CHECK:         memref.alloc() : memref<8x1024xf32>
// CHECK:         memref.alloc() : memref<8x1024xf32>
func.func @copied(%whole: memref<8x1024xf32>, %rows: memref<4x1024xf32>) {
  %0 = memref.alloc() : memref<8x1024xf32>
  memref.copy %whole, %0 : memref<8x1024xf32> to memref<8x1024xf32>
  %1 = memref.alloc() : memref<8x1024xf32>
  %2 = memref.subview %1[4, 0] [4, 1024] [1, 1] : memref<8x1024xf32> to memref<4x1024xf32, strided<[1024, 1], offset: 4096>>
  memref.copy %rows, %2 : memref<4x1024xf32> to memref<4x1024xf32, strided<[1024, 1], offset: 4096>>
  return
}

// -----

// Dimensions other than the rows may be read as one; the rows may not.

// CHECK-LABEL: func @joined(
// CHECK:         %[[ALLOC:.*]] = memref.alloc() {alignment = 64 : i64} : memref<3x197x1040xf32>
// CHECK:         %[[ALL:.*]] = memref.subview %[[ALLOC]]
// CHECK:         %[[MATRIX:.*]] = memref.collapse_shape %[[ALL]] {{\[}}[0, 1], [2]]
// CHECK-SAME:      memref<3x197x1024xf32, strided<[204880, 1040, 1]>> into memref<591x1024xf32, strided<[1040, 1]>>
// CHECK:         memref.load %[[MATRIX]]
// CHECK:         memref.alloc() {alignment = 64 : i64} : memref<197x1024xf32>
func.func @joined(%i: index) -> (f32, f32) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<3x197x1024xf32>
  %1 = memref.collapse_shape %0 [[0, 1], [2]] : memref<3x197x1024xf32> into memref<591x1024xf32>
  %2 = memref.load %1[%i, %i] : memref<591x1024xf32>
  %3 = memref.alloc() {alignment = 64 : i64} : memref<197x1024xf32>
  %4 = memref.collapse_shape %3 [[0, 1]] : memref<197x1024xf32> into memref<201728xf32>
  %5 = memref.load %4[%i] : memref<201728xf32>
  return %2, %5 : f32, f32
}
