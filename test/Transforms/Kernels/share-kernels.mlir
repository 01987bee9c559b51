// RUN: chimera-opt %s --split-input-file --chimera-share-kernels --verify-diagnostics --remarks-filter=chimera | FileCheck %s

// Loops over other buffers, in another function as well, are calls of one
// function. Constants are not passed.

// CHECK-LABEL: func @alike(
// CHECK-SAME:    %[[A:.*]]: memref<8x4xf32>, %[[B:.*]]: memref<8x4xf32>, %[[X:.*]]: f32)
// CHECK-NOT:     scf
// CHECK:         call @chimera_kernel(%[[X]], %[[A]]) : (f32, memref<8x4xf32>) -> ()
// CHECK-NEXT:    call @chimera_kernel(%[[X]], %[[B]]) : (f32, memref<8x4xf32>) -> ()
// CHECK-NEXT:    return
func.func @alike(%a: memref<8x4xf32>, %b: memref<8x4xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  // expected-remark @below {{3 kernels that are alike become calls of @chimera_kernel}}
  scf.forall (%i) in (8) {
    memref.store %x, %a[%i, %c1] : memref<8x4xf32>
  }
  scf.forall (%i) in (8) {
    memref.store %x, %b[%i, %c1] : memref<8x4xf32>
  }
  return
}

// CHECK-LABEL: func @elsewhere(
// CHECK-SAME:    %[[A:.*]]: memref<8x4xf32>, %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK:         call @chimera_kernel(%[[Y]], %[[A]])
func.func @elsewhere(%a: memref<8x4xf32>, %x: f32, %y: f32) {
  %one = arith.constant 1 : index
  scf.forall (%i) in (8) {
    memref.store %y, %a[%i, %one] : memref<8x4xf32>
  }
  return
}

// CHECK:       func.func private @chimera_kernel(%[[Y:.*]]: f32, %[[C:.*]]: memref<8x4xf32>) attributes {llvm.bareptr, llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]} {
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    scf.forall (%[[I:.*]]) in (8) {
// CHECK-NEXT:      memref.store %[[Y]], %[[C]][%[[I]], %[[ONE]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// -----

// What differs in a constant, in a type, or in which values are the same, is
// not alike.

// CHECK-LABEL: func @different(
// CHECK-COUNT-5: scf.forall
// CHECK-NOT:     call
func.func @different(%a: memref<8x4xf32>, %b: memref<8x4xf32, strided<[5, 1]>>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = arith.constant 1.0 : f32
  scf.forall (%i) in (8) {
    memref.store %x, %a[%i, %c1] : memref<8x4xf32>
  }
  scf.forall (%i) in (8) {
    memref.store %x, %a[%i, %c2] : memref<8x4xf32>
  }
  scf.forall (%i) in (8) {
    memref.store %x, %b[%i, %c2] : memref<8x4xf32, strided<[5, 1]>>
  }
  scf.forall (%i) in (7) {
    memref.store %x, %a[%i, %c1] : memref<8x4xf32>
  }
  scf.forall (%i) in (4) {
    memref.store %x, %a[%i, %i] : memref<8x4xf32>
  }
  return
}

// -----

// The third loop has the buffers of the first one in each other's place; the
// second has one buffer where they have two.

// CHECK-LABEL: func @same_value(
// CHECK:         call @chimera_kernel(%[[A:[a-z0-9]+]], %[[B:[a-z0-9]+]])
// CHECK-NEXT:    scf.forall
// CHECK:         call @chimera_kernel(%[[B]], %[[A]])
func.func @same_value(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-remark @below {{2 kernels that are alike become calls of @chimera_kernel}}
  scf.forall (%i) in (8) {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
    memref.store %x, %a[%i] : memref<8xf32>
  }
  scf.forall (%i) in (8) {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
  }
  scf.forall (%i) in (8) {
    %x = memref.load %b[%i] : memref<8xf32>
    memref.store %x, %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
  }
  return
}

// -----

// A micro kernel outside of loops is a kernel, too, and a name that is taken
// stays with its owner.

// CHECK-LABEL: func @micro_kernels(
// CHECK:         call @chimera_kernel_0(%{{.*}}) : (memref<4xf32>) -> ()
// CHECK-NEXT:    call @chimera_kernel_0(%{{.*}}) : (memref<4xf32>) -> ()
// CHECK:       func.func private @chimera_kernel()
#id = affine_map<(d0) -> (d0)>
func.func @micro_kernels(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-remark @below {{2 kernels that are alike become calls of @chimera_kernel_0}}
  chimera.micro_kernel elementwise outs(%a : memref<4xf32>) maps [#id] iterators ["parallel"] extents [[4]] {
  ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    chimera.yield %y : f32
  }
  chimera.micro_kernel elementwise outs(%b : memref<4xf32>) maps [#id] iterators ["parallel"] extents [[4]] {
  ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    chimera.yield %y : f32
  }
  return
}
func.func private @chimera_kernel()

// -----

// A pointer does not say where a buffer begins or how far its rows are apart if
// its type does not: calls pass that too.

// CHECK-LABEL: func @anywhere(
// CHECK-COUNT-2: call @chimera_kernel(
// CHECK:       func.func private @chimera_kernel({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]} {
func.func @anywhere(%a: memref<8x4xf32, strided<[4, 1], offset: ?>>,
                    %b: memref<8x4xf32, strided<[4, 1], offset: ?>>, %x: f32) {
  %c1 = arith.constant 1 : index
  // expected-remark @below {{2 kernels that are alike become calls of @chimera_kernel}}
  scf.forall (%i) in (8) {
    memref.store %x, %a[%i, %c1] : memref<8x4xf32, strided<[4, 1], offset: ?>>
  }
  scf.forall (%i) in (8) {
    memref.store %x, %b[%i, %c1] : memref<8x4xf32, strided<[4, 1], offset: ?>>
  }
  return
}

// -----

// Parts of a buffer differ in where they begin: a call says where.

// CHECK-LABEL: func @parts(
// CHECK:       call @chimera_kernel(%{{.*}}, %{{.*}}) : (memref<4x4xf32, strided<[4, 1], offset: ?>>, f32) -> ()
// CHECK:       call @chimera_kernel(%{{.*}}, %{{.*}}) : (memref<4x4xf32, strided<[4, 1], offset: ?>>, f32) -> ()
// CHECK:       func.func private @chimera_kernel(%[[P:.*]]: memref<4x4xf32, strided<[4, 1], offset: ?>>, %{{.*}}: f32)
// CHECK:         memref.subview %[[P]][%{{.*}}, 0] [1, 4] [1, 1] : {{.*}} to memref<1x4xf32, strided<[4, 1], offset: ?>>
func.func @parts(%a: memref<8x4xf32>, %x: f32) {
  %low = memref.subview %a[0, 0] [4, 4] [1, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1]>>
  %high = memref.subview %a[4, 0] [4, 4] [1, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  // expected-remark @below {{2 kernels that are alike become calls of @chimera_kernel}}
  scf.forall (%i) in (4) {
    %row = memref.subview %low[%i, 0] [1, 4] [1, 1] : memref<4x4xf32, strided<[4, 1]>> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    linalg.fill ins(%x : f32) outs(%row : memref<1x4xf32, strided<[4, 1], offset: ?>>)
  }
  scf.forall (%i) in (4) {
    %row = memref.subview %high[%i, 0] [1, 4] [1, 1] : memref<4x4xf32, strided<[4, 1], offset: 16>> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    linalg.fill ins(%x : f32) outs(%row : memref<1x4xf32, strided<[4, 1], offset: ?>>)
  }
  return
}

// -----

// What is taken at a known place of each has two types: these differ.

// CHECK-LABEL: func @places(
// CHECK-NOT:   call
func.func @places(%a: memref<8x4xf32>, %x: f32) {
  %low = memref.subview %a[0, 0] [4, 4] [1, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1]>>
  %high = memref.subview %a[4, 0] [4, 4] [1, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  scf.forall (%i) in (4) {
    %row = memref.subview %low[1, 0] [1, 4] [1, 1] : memref<4x4xf32, strided<[4, 1]>> to memref<1x4xf32, strided<[4, 1], offset: 4>>
    linalg.fill ins(%x : f32) outs(%row : memref<1x4xf32, strided<[4, 1], offset: 4>>)
  }
  scf.forall (%i) in (4) {
    %row = memref.subview %high[1, 0] [1, 4] [1, 1] : memref<4x4xf32, strided<[4, 1], offset: 16>> to memref<1x4xf32, strided<[4, 1], offset: 20>>
    linalg.fill ins(%x : f32) outs(%row : memref<1x4xf32, strided<[4, 1], offset: 20>>)
  }
  return
}
