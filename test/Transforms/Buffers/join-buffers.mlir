// RUN: chimera-opt %s --chimera-join-buffers=target=zen5 --split-input-file | FileCheck %s

// The first and the last buffer are not in use at the same time and share their
// place; what is aligned stays so.

// CHECK-LABEL: func.func @three(
// CHECK:         %[[ALL:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1280xi8>
// CHECK:         %[[A:.*]] = memref.view %[[ALL]][%c0{{.*}}][] : memref<1280xi8> to memref<200xf32>
// CHECK:         linalg.exp {{.*}} outs(%[[A]]
// CHECK:         %[[B:.*]] = memref.view %[[ALL]][%c832{{.*}}][] : memref<1280xi8> to memref<112xf32>
// CHECK:         %[[PART:.*]] = memref.subview %[[A]]
// CHECK:         linalg.exp ins(%[[PART]] {{.*}} outs(%[[B]]
// CHECK:         %[[C:.*]] = memref.view %[[ALL]][%c0{{.*}}][] : memref<1280xi8> to memref<112xf32>
// CHECK:         linalg.exp ins(%[[B]] {{.*}} outs(%[[C]]
// CHECK:         linalg.exp ins(%[[C]]
// CHECK-NEXT:    memref.dealloc %[[ALL]]
// CHECK-NOT:     memref.dealloc
func.func @three(%x: memref<200xf32>, %y: memref<112xf32>) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<200xf32>
  linalg.exp ins(%x : memref<200xf32>) outs(%0 : memref<200xf32>)
  %1 = memref.alloc() {alignment = 64 : i64} : memref<112xf32>
  %part = memref.subview %0[0] [112] [1] : memref<200xf32> to memref<112xf32, strided<[1]>>
  linalg.exp ins(%part : memref<112xf32, strided<[1]>>) outs(%1 : memref<112xf32>)
  memref.dealloc %0 : memref<200xf32>
  %2 = memref.alloc() {alignment = 64 : i64} : memref<112xf32>
  linalg.exp ins(%1 : memref<112xf32>) outs(%2 : memref<112xf32>)
  memref.dealloc %1 : memref<112xf32>
  linalg.exp ins(%2 : memref<112xf32>) outs(%y : memref<112xf32>)
  memref.dealloc %2 : memref<112xf32>
  return
}

// -----

// A buffer that is returned, one of dynamic size and what the allocator does
// not keep stay by themselves; of one buffer nothing is joined.

// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-4: memref.alloc
// CHECK-NOT:     memref.view
func.func @apart(%n: index, %x: f32) -> memref<8xf32> {
  %0 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%x : f32) outs(%0 : memref<8xf32>)
  %1 = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%x : f32) outs(%1 : memref<?xf32>)
  %2 = memref.alloc() : memref<16777216xf32>
  linalg.fill ins(%x : f32) outs(%2 : memref<16777216xf32>)
  %3 = memref.alloc() : memref<8xf32>
  linalg.fill ins(%x : f32) outs(%3 : memref<8xf32>)
  memref.dealloc %1 : memref<?xf32>
  memref.dealloc %2 : memref<16777216xf32>
  memref.dealloc %3 : memref<8xf32>
  return %0 : memref<8xf32>
}

// -----

// Together these are as large as what the allocator maps anew: they stay apart.

// CHECK-LABEL: func.func @full(
// CHECK-COUNT-2: memref.alloc() {alignment = 64 : i64} : memref<4194304xf32>
// CHECK-NOT:     memref.view
func.func @full(%x: f32) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<4194304xf32>
  linalg.fill ins(%x : f32) outs(%0 : memref<4194304xf32>)
  %1 = memref.alloc() {alignment = 64 : i64} : memref<4194304xf32>
  linalg.exp ins(%0 : memref<4194304xf32>) outs(%1 : memref<4194304xf32>)
  memref.dealloc %0 : memref<4194304xf32>
  memref.dealloc %1 : memref<4194304xf32>
  return
}
