// RUN: chimera-opt %s --chimera-run-in-order | FileCheck %s

// What is on the stack is of one iteration.
// CHECK-LABEL: @nest
//       CHECK:   scf.for %[[I:.*]] = %c0 to %c8 step %c2
//  CHECK-NEXT:     scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1
//  CHECK-NEXT:       memref.alloca_scope
//  CHECK-NEXT:         %[[OWN:.*]] = memref.alloca() : memref<4xf32>
//       CHECK:         memref.store %{{.*}}, %[[OWN]]
//       CHECK:         memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
//   CHECK-NOT:   scf.parallel
func.func @nest(%m: memref<8x100xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %n) step (%c2, %c1) {
    %own = memref.alloca() : memref<4xf32>
    %x = memref.load %m[%i, %j] : memref<8x100xf32>
    memref.store %x, %own[%c2] : memref<4xf32>
    %y = memref.load %own[%c2] : memref<4xf32>
    memref.store %y, %m[%i, %j] : memref<8x100xf32>
    scf.reduce
  }
  return
}

// CHECK-LABEL: @bare
//       CHECK:   scf.for
//   CHECK-NOT:   alloca_scope
//       CHECK:     memref.store
func.func @bare(%m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %x, %m[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// Wherever in the body.
// CHECK-LABEL: @inside
//       CHECK:   scf.for
//  CHECK-NEXT:     memref.alloca_scope
//       CHECK:       scf.for
//  CHECK-NEXT:         memref.alloca()
func.func @inside(%m: memref<8x8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.for %j = %c0 to %c8 step %c1 {
      %own = memref.alloca() : memref<1xf32>
      memref.store %x, %own[%c0] : memref<1xf32>
      %y = memref.load %own[%c0] : memref<1xf32>
      memref.store %y, %m[%i, %j] : memref<8x8xf32>
    }
    scf.reduce
  }
  return
}

// What several iterations reduce stays as it is.
// CHECK-LABEL: @reduced
//       CHECK:   scf.parallel
func.func @reduced(%m: memref<8xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%x) -> f32 {
    %y = memref.load %m[%i] : memref<8xf32>
    scf.reduce(%y : f32) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      scf.reduce.return %c : f32
    }
  }
  return %sum : f32
}
