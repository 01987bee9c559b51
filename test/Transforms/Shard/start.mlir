// An overlapped all-reduce is waited for before the first operation that may
// touch its buffer.
//
// RUN: chimera-opt %s --chimera-start-collectives --split-input-file | FileCheck %s

// Another part of the same allocation may be written meanwhile, and what is in
// a loop counts as what the loop does.
// CHECK-LABEL: func @parts(
// CHECK: %[[A:.*]] = memref.subview {{.*}}[0, 0]
// CHECK: %[[B:.*]] = memref.subview {{.*}}[4, 0]
// CHECK-NEXT: %[[R:.*]] = chimera.start_all_reduce sum outs(%[[A]] : {{.*}}) along [0] of 2
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[B]]
// CHECK-NEXT: linalg.fill {{.*}} outs(%arg0
// CHECK: scf.for
// CHECK: memref.store
// CHECK: chimera.wait %[[R]] outs(%[[A]]
// CHECK-NEXT: scf.for
// CHECK: memref.load
func.func @parts(%other: memref<8x8xf32>, %zero: f32) -> memref<8x8xf32> {
  %whole = memref.alloc() : memref<8x8xf32>
  %a = memref.subview %whole[0, 0] [4, 8] [1, 1] : memref<8x8xf32> to memref<4x8xf32, strided<[8, 1]>>
  %b = memref.subview %whole[4, 0] [4, 8] [1, 1] : memref<8x8xf32> to memref<4x8xf32, strided<[8, 1], offset: 32>>
  chimera.all_reduce sum outs(%a : memref<4x8xf32, strided<[8, 1]>>) along [0] of 2 {overlapped}
  linalg.fill ins(%zero : f32) outs(%b : memref<4x8xf32, strided<[8, 1], offset: 32>>)
  linalg.fill ins(%zero : f32) outs(%other : memref<8x8xf32>)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %zero, %b[%i, %c0] : memref<4x8xf32, strided<[8, 1], offset: 32>>
  }
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %whole[%i, %c0] : memref<8x8xf32>
    memref.store %x, %other[%i, %c0] : memref<8x8xf32>
  }
  return %whole : memref<8x8xf32>
}

// -----

// A call touches what it is passed. Two exchanges may last at once, and none
// ends later than its block.
// CHECK-LABEL: func @calls(
// CHECK: %[[R0:.*]] = chimera.start_all_reduce sum outs(%arg0
// CHECK-NEXT: call @use(%arg2)
// CHECK-NEXT: %[[R1:.*]] = chimera.start_all_reduce sum outs(%arg1
// CHECK-NEXT: call @use(%arg2)
// CHECK-NEXT: chimera.wait %[[R0]] outs(%arg0
// CHECK-NEXT: call @use(%arg0)
// CHECK-NEXT: chimera.wait %[[R1]] outs(%arg1
// CHECK-NEXT: return
func.func private @use(memref<8xf32>)
func.func @calls(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  chimera.all_reduce sum outs(%a : memref<8xf32>) along [0] of 2 {overlapped}
  call @use(%c) : (memref<8xf32>) -> ()
  chimera.all_reduce sum outs(%b : memref<8xf32>) along [0] of 2 {overlapped}
  call @use(%c) : (memref<8xf32>) -> ()
  call @use(%a) : (memref<8xf32>) -> ()
  return
}

// -----

// What nothing would run with, what may be another name of the buffer, and what
// is somewhere as an address, is exchanged at once; so is what is not
// overlapped.
// CHECK-LABEL: func @alone(
// CHECK-NOT: start_all_reduce
func.func private @use(memref<8xf32>)
func.func private @address(index)
func.func @alone(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %first: i1) {
  chimera.all_reduce sum outs(%a : memref<8xf32>) along [0] of 2 {overlapped}
  call @use(%a) : (memref<8xf32>) -> ()
  chimera.all_reduce sum outs(%a : memref<8xf32>) along [0] of 2 {overlapped}
  %either = arith.select %first, %a, %b : memref<8xf32>
  call @use(%either) : (memref<8xf32>) -> ()
  chimera.all_reduce sum outs(%either : memref<8xf32>) along [0] of 2 {overlapped}
  call @use(%b) : (memref<8xf32>) -> ()
  %pointer = memref.extract_aligned_pointer_as_index %c : memref<8xf32> -> index
  chimera.all_reduce sum outs(%c : memref<8xf32>) along [0] of 2 {overlapped}
  call @address(%pointer) : (index) -> ()
  chimera.all_reduce sum outs(%b : memref<8xf32>) along [0] of 2
  call @use(%a) : (memref<8xf32>) -> ()
  return
}
