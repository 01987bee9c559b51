// RUN: chimera-opt %s --split-input-file --chimera-share-kernels=most-singles=1 --remarks-filter=chimera --verify-diagnostics | FileCheck %s

// Of two kernels that are like no other one, one is too many: both become
// functions, each with its constants.

// CHECK-LABEL: func @two(
// CHECK-SAME:    %[[A:.*]]: memref<8xf32>, %[[X:.*]]: f32)
// CHECK:         call @chimera_kernel(%[[X]], %[[A]]) : (f32, memref<8xf32>) -> ()
// CHECK-NEXT:    call @chimera_kernel_0(%[[A]]) : (memref<8xf32>) -> ()
// CHECK-NEXT:    return
func.func @two(%a: memref<8xf32>, %x: f32) {
  %two = arith.constant 2.0 : f32
  scf.forall (%i) in (8) {
    memref.store %x, %a[%i] : memref<8xf32>
  }
  scf.forall (%i) in (4) {
    memref.store %two, %a[%i] : memref<8xf32>
  }
  return
}

// The kernels of a function count, not those of the module.

// CHECK-LABEL: func @one(
// CHECK-NEXT:    scf.forall
func.func @one(%a: memref<8xf32>, %x: f32) {
  scf.forall (%i) in (2) {
    memref.store %x, %a[%i] : memref<8xf32>
  }
  return
}

// CHECK:       func.func private @chimera_kernel(
// CHECK-SAME:    passthrough = ["noinline"]
// CHECK-NEXT:    scf.forall (%{{.*}}) in (8)
// CHECK:       func.func private @chimera_kernel_0(
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT:    scf.forall (%[[I:.*]]) in (4)
// CHECK-NEXT:      memref.store %[[TWO]], %{{.*}}[%[[I]]]

// -----

// A buffer on the stack that one kernel uses is its own.

// CHECK-LABEL: func @buffers(
// CHECK-NEXT:    %[[BOTH:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:    call @chimera_kernel(%{{.*}}, %[[BOTH]])
// CHECK-NEXT:    call @chimera_kernel_0(%[[BOTH]])
// CHECK-NEXT:    return
// CHECK:       func.func private @chimera_kernel(
// CHECK-NEXT:    %[[OWN:.*]] = memref.alloca() : memref<8xf32>
// CHECK-NEXT:    scf.forall
// CHECK-NEXT:      memref.store %{{.*}}, %[[OWN]]
func.func @buffers(%x: f32) {
  %own = memref.alloca() : memref<8xf32>
  %both = memref.alloca() : memref<4xf32>
  scf.forall (%i) in (4) {
    memref.store %x, %own[%i] : memref<8xf32>
    memref.store %x, %both[%i] : memref<4xf32>
  }
  scf.forall (%i) in (2) {
    %0 = memref.load %both[%i] : memref<4xf32>
    memref.store %0, %both[%i] : memref<4xf32>
  }
  return
}
