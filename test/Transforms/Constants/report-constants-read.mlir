// RUN: chimera-opt %s --chimera-report-constants-read --split-input-file | FileCheck %s

// The example in the description of the pass.

// CHECK: func.func private @chimera_constant_read(i64)
// CHECK-LABEL: func @f(
// CHECK-NOT: chimera_constant_read
// CHECK-LABEL: func @f_prepare(
// CHECK: memref.copy
// CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-NEXT: call @chimera_constant_read(%[[ONE]])
// CHECK-NEXT: return
memref.global "private" @f_prepared : memref<8xf32> = uninitialized
func.func @f(%x: memref<8xf32>, %w: memref<8xf32> {chimera.constant}) {
  %p = memref.get_global @f_prepared : memref<8xf32>
  memref.copy %p, %x : memref<8xf32> to memref<8xf32>
  return
}
func.func @f_prepare(%x: memref<8xf32>, %w: memref<8xf32>) {
  %p = memref.get_global @f_prepared : memref<8xf32>
  memref.copy %w, %p : memref<8xf32> to memref<8xf32>
  return
}

// -----

// A view that is read later, in a loop, counts. What calls read is not reported, nor
// what is no constant.

// CHECK-LABEL: func @views_prepare(
// CHECK: memref.copy %{{.+}}, %{{.+}} : memref<2x4xf32>
// CHECK-NOT: chimera_constant_read
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: %[[TWO:.+]] = arith.constant 2 : i64
// CHECK-NEXT: call @chimera_constant_read(%[[TWO]])
// CHECK-NEXT: memref.copy %arg1
// CHECK-NEXT: return
memref.global "private" @views_prepared : memref<2x4xf32> = uninitialized
func.func @views(%x: memref<8xf32>, %read: memref<8xf32> {chimera.constant},
                 %w: memref<8xf32> {chimera.constant}) {
  memref.copy %read, %x : memref<8xf32> to memref<8xf32>
  return
}
func.func @views_prepare(%x: memref<8xf32>, %read: memref<8xf32>, %w: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %p = memref.get_global @views_prepared : memref<2x4xf32>
  %rows = memref.expand_shape %w [[0, 1]] output_shape [2, 4]
    : memref<8xf32> into memref<2x4xf32>
  memref.copy %rows, %p : memref<2x4xf32> to memref<2x4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %rows[%c1, %i] : memref<2x4xf32>
    memref.store %v, %p[%c0, %i] : memref<2x4xf32>
  }
  memref.copy %read, %x : memref<8xf32> to memref<8xf32>
  return
}

// -----

// The preparations of versions are called in turn, and all are over at the end.

// CHECK-LABEL: func @g_prepare(
// CHECK: call @g_any_prepare
// CHECK: scf.if
// CHECK: call @g_long_prepare
// CHECK: }
// CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-NEXT: call @chimera_constant_read(%[[ONE]])
// CHECK-NOT: call @chimera_constant_read
func.func private @g_any_prepare(memref<?xf32>, memref<8xf32>)
func.func private @g_long_prepare(memref<?xf32>, memref<8xf32>)
func.func @g(%x: memref<?xf32>, %w: memref<8xf32> {chimera.constant}) {
  return
}
func.func @g_prepare(%x: memref<?xf32>, %w: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %size = memref.dim %x, %c0 : memref<?xf32>
  func.call @g_any_prepare(%x, %w) : (memref<?xf32>, memref<8xf32>) -> ()
  %long = arith.cmpi sgt, %size, %c8 : index
  scf.if %long {
    func.call @g_long_prepare(%x, %w) : (memref<?xf32>, memref<8xf32>) -> ()
  }
  return
}
