// RUN: chimera-opt %s --chimera-reuse-buffers --split-input-file | FileCheck %s

// The third buffer is the first one, the fourth the second one, also where they
// are used through views and in regions. Both are freed after their last use.

// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: linalg.exp {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[PART:.*]] = memref.subview %[[A]]
// CHECK: scf.for
// CHECK: memref.load %[[PART]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK-NOT: memref.alloc
// CHECK: linalg.exp ins(%[[B]] : memref<8xf32>) outs(%[[A]] : memref<8xf32>)
// CHECK: linalg.exp ins(%[[A]] : memref<8xf32>) outs(%[[B]] : memref<8xf32>)
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: linalg.exp ins(%[[B]] : memref<8xf32>) outs(%{{.*}}
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: linalg.exp
// CHECK-NOT: memref.dealloc
func.func @chain(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  %1 = memref.alloc() : memref<8xf32>
  %part = memref.subview %0[4] [4] [1]
      : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %part[%i] : memref<4xf32, strided<[1], offset: 4>>
    memref.store %v, %1[%i] : memref<8xf32>
  }
  %2 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%1 : memref<8xf32>) outs(%2 : memref<8xf32>)
  %3 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%2 : memref<8xf32>) outs(%3 : memref<8xf32>)
  linalg.exp ins(%3 : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  memref.dealloc %0 : memref<8xf32>
  memref.dealloc %1 : memref<8xf32>
  memref.dealloc %2 : memref<8xf32>
  memref.dealloc %3 : memref<8xf32>
  return
}

// -----

// A buffer that is still read later stays, though an operation between the two
// allocations is the last that writes to it.

// CHECK-LABEL: func.func @overlap(
// CHECK-COUNT-2: memref.alloc
func.func @overlap(%x: memref<8xf32>, %y: memref<8xf32>) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  %1 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%1 : memref<8xf32>)
  linalg.add ins(%0, %1 : memref<8xf32>, memref<8xf32>)
      outs(%y : memref<8xf32>)
  memref.dealloc %0 : memref<8xf32>
  memref.dealloc %1 : memref<8xf32>
  return
}

// -----

// Other types, other alignments and sizes that are not known.

// CHECK-LABEL: func.func @kinds(
// CHECK-COUNT-6: memref.alloc
func.func @kinds(%n: index, %z: f32) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%0 : memref<8xf32>)
  memref.dealloc %0 : memref<8xf32>
  %1 = memref.alloc() : memref<2x4xf32>
  linalg.fill ins(%z : f32) outs(%1 : memref<2x4xf32>)
  memref.dealloc %1 : memref<2x4xf32>
  %2 = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%2 : memref<8xf32>)
  memref.dealloc %2 : memref<8xf32>
  %3 = memref.alloc() : memref<8xf32, 1>
  linalg.fill ins(%z : f32) outs(%3 : memref<8xf32, 1>)
  memref.dealloc %3 : memref<8xf32, 1>
  %4 = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%z : f32) outs(%4 : memref<?xf32>)
  memref.dealloc %4 : memref<?xf32>
  %5 = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%z : f32) outs(%5 : memref<?xf32>)
  memref.dealloc %5 : memref<?xf32>
  return
}

// -----

// What something else may still refer to: a result, what a loop carries, a
// pointer, what is freed elsewhere or not at all.

// CHECK-LABEL: func.func @escapes(
// CHECK-COUNT-5: memref.alloc
func.func @escapes(%z: f32, %c: i1) -> (memref<8xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%0 : memref<8xf32>)
  %1 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%1 : memref<8xf32>)
  %l = scf.for %i = %c0 to %c4 step %c1 iter_args(%m = %1) -> (memref<8xf32>) {
    scf.yield %m : memref<8xf32>
  }
  %2 = memref.alloc() : memref<8xf32>
  %p = memref.extract_aligned_pointer_as_index %2 : memref<8xf32> -> index
  %3 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%z : f32) outs(%3 : memref<8xf32>)
  scf.if %c {
    memref.dealloc %3 : memref<8xf32>
  }
  %4 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%l : memref<8xf32>) outs(%4 : memref<8xf32>)
  memref.dealloc %4 : memref<8xf32>
  memref.dealloc %1 : memref<8xf32>
  memref.dealloc %2 : memref<8xf32>
  return %0, %p : memref<8xf32>, index
}

// -----

// Each block has its own buffers.

// CHECK-LABEL: func.func @blocks(
// CHECK: scf.forall
// CHECK-COUNT-1: memref.alloc
// CHECK-NOT: memref.alloc
func.func @blocks(%x: memref<8xf32>, %y: memref<4x8xf32>) {
  scf.forall (%i) in (4) {
    %row = memref.subview %y[%i, 0] [1, 8] [1, 1]
        : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %0 = memref.alloc() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
    linalg.exp ins(%0 : memref<8xf32>)
        outs(%row : memref<8xf32, strided<[1], offset: ?>>)
    memref.dealloc %0 : memref<8xf32>
    %1 = memref.alloc() : memref<8xf32>
    linalg.exp ins(%row : memref<8xf32, strided<[1], offset: ?>>)
        outs(%1 : memref<8xf32>)
    linalg.exp ins(%1 : memref<8xf32>)
        outs(%row : memref<8xf32, strided<[1], offset: ?>>)
    memref.dealloc %1 : memref<8xf32>
  }
  return
}
