// RUN: chimera-opt %s --chimera-let-hosts-keep-prepared --split-input-file | FileCheck %s

// The example in the description of the pass.

// CHECK: memref.global @f_prepared_state : memref<1xi8> = dense<0>
// CHECK-LABEL: func.func @f_prepare(
// CHECK-SAME: %{{.+}}: memref<8xf32>, %[[W:.+]]: memref<8xf32>)
// CHECK-SAME: chimera.prepared = [#chimera.prepared<memory = @f_prepared, recipe = "0bf0", constants = [1]>]
// CHECK: %[[P:.+]] = memref.get_global @f_prepared :
// CHECK: %[[STATES:.+]] = memref.get_global @f_prepared_state
// CHECK: %[[STATE:.+]] = memref.load %[[STATES]][%[[I:.+]]]
// CHECK: %[[THERE:.+]] = arith.constant 1 : i8
// CHECK: %[[MISSING:.+]] = arith.cmpi ne, %[[STATE]], %[[THERE]]
// CHECK: scf.if %[[MISSING]] {
// CHECK-NEXT: call @exponential(%[[W]], %[[P]])
// CHECK-NEXT: %[[DONE:.+]] = arith.constant 2 : i8
// CHECK-NEXT: memref.store %[[DONE]], %[[STATES]][%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: return
memref.global "private" @f_prepared : memref<8xf32> = uninitialized
func.func @f(%x: memref<8xf32>, %w: memref<8xf32> {chimera.constant}) {
  return
}
func.func @f_prepare(%x: memref<8xf32>, %w: memref<8xf32>) {
  %p = memref.get_global @f_prepared : memref<8xf32>
  call @exponential(%w, %p) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
func.func private @exponential(memref<8xf32>, memref<8xf32>)
    attributes {chimera.recipe = "0bf0"}

// -----

// Values of versions count with the others. What is made of no argument has no
// recipe that another program could share; other calls are no business of the host's.

// CHECK: memref.global @g_prepared_state : memref<3xi8> = dense<0>
// CHECK-LABEL: func.func @g_prepare(
// CHECK-SAME: chimera.prepared = [#chimera.prepared<memory = @g_any_prepared, recipe = "0bf0", constants = [1]>,
// CHECK-SAME: #chimera.prepared<memory = @g_8_prepared, recipe = "0bf0", constants = [1]>,
// CHECK-SAME: #chimera.prepared<memory = @g_8_prepared_0, recipe = "">]
// CHECK-NOT: @g_any_prepare_prepared_state
// CHECK-LABEL: func.func private @g_any_prepare(
// CHECK: memref.cast
// CHECK: scf.if
// CHECK-NEXT: call @exponential
// CHECK-LABEL: func.func private @g_8_prepare(
// CHECK: scf.if
// CHECK-NEXT: call @exponential
// CHECK: scf.if
// CHECK-NEXT: call @exponential
// CHECK: }
// CHECK-NEXT: call @log()
memref.global "private" @g_any_prepared : memref<8xf32> = uninitialized
memref.global "private" @g_8_prepared : memref<8xf32> = uninitialized
memref.global "private" @g_8_prepared_0 : memref<8xf32> = uninitialized
func.func @g(%x: memref<?xf32>, %w: memref<8xf32> {chimera.constant}) {
  return
}
func.func @g_prepare(%x: memref<?xf32>, %w: memref<8xf32>) {
  call @g_any_prepare(%x, %w) : (memref<?xf32>, memref<8xf32>) -> ()
  call @g_8_prepare(%x, %w) : (memref<?xf32>, memref<8xf32>) -> ()
  return
}
func.func private @g_any_prepare(%x: memref<?xf32>, %w: memref<8xf32>) {
  %p = memref.get_global @g_any_prepared : memref<8xf32>
  %open = memref.cast %w : memref<8xf32> to memref<8xf32, strided<[1], offset: ?>>
  call @exponential(%open, %p) : (memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>) -> ()
  return
}
func.func private @g_8_prepare(%x: memref<?xf32>, %w: memref<8xf32>) {
  %p = memref.get_global @g_8_prepared : memref<8xf32>
  %open = memref.cast %w : memref<8xf32> to memref<8xf32, strided<[1], offset: ?>>
  call @exponential(%open, %p) : (memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>) -> ()
  %q = memref.get_global @g_8_prepared_0 : memref<8xf32>
  %own = memref.alloc() : memref<8xf32>
  %cast = memref.cast %own : memref<8xf32> to memref<8xf32, strided<[1], offset: ?>>
  call @exponential(%cast, %q) : (memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>) -> ()
  call @log() : () -> ()
  return
}
func.func private @exponential(memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>)
    attributes {chimera.recipe = "0bf0"}
func.func private @log()
