// Collectives become calls with pointers, numbers of elements and codes.
//
// RUN: chimera-opt %s --convert-chimera-collectives-to-calls --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: llvm.func @chimera_all_reduce(!llvm.ptr, !llvm.ptr, i64, i32, i32, i32)
// CHECK-DAG: llvm.func @chimera_all_gather(!llvm.ptr, !llvm.ptr, i64, i32, i32)
// CHECK-DAG: llvm.func @chimera_reduce_scatter(!llvm.ptr, !llvm.ptr, i64, i32, i32, i32)
// CHECK-DAG: llvm.func @chimera_all_to_all(!llvm.ptr, !llvm.ptr, i64, i32, i32)
// CHECK-DAG: llvm.func @chimera_broadcast(!llvm.ptr, i64, i32, i32, i32)
// CHECK-DAG: llvm.mlir.global internal constant @chimera_grid_2_4(dense<[2, 4]> : tensor<2xi64>)

// CHECK-LABEL: func @calls(
// CHECK: %[[RANK:.*]] = arith.constant 2 : i32
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @chimera_grid_2_4
// CHECK: llvm.call @chimera_check_grid(%[[RANK]], %[[TABLE]])
// 16 elements of f32 (0), the largest (3), along axis 1 (2)
// CHECK: %[[COUNT:.*]] = arith.constant 16 : i64
// CHECK: %[[TYPE:.*]] = arith.constant 0 : i32
// CHECK: %[[MOST:.*]] = arith.constant 3 : i32
// CHECK: %[[AXES:.*]] = arith.constant 2 : i32
// CHECK: llvm.call @chimera_all_reduce(%{{.*}}, %{{.*}}, %[[COUNT]], %[[TYPE]], %[[MOST]], %[[AXES]])
// The part of one process
// CHECK: arith.constant 16 : i64
// CHECK: llvm.call @chimera_all_gather
// CHECK: arith.constant 16 : i64
// CHECK: llvm.call @chimera_reduce_scatter
// CHECK: arith.constant 8 : i64
// CHECK: llvm.call @chimera_all_to_all
// CHECK: %[[ROOT:.*]] = arith.constant 1 : i32
// CHECK: llvm.call @chimera_broadcast(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROOT]]
// CHECK: llvm.call @chimera_process_index
func.func @calls(%a: memref<2x8xf32>, %b: memref<4x8xf32>, %c: memref<2x8xf32>) -> index {
  chimera.check_grid [2, 4]
  chimera.all_reduce maximum outs(%a : memref<2x8xf32>) along [1] of 4
  chimera.all_gather ins(%a : memref<2x8xf32>) outs(%b : memref<4x8xf32>) along [0] of 2
  chimera.reduce_scatter sum ins(%b : memref<4x8xf32>) outs(%a : memref<2x8xf32>) along [0] of 2
  chimera.all_to_all ins(%a : memref<2x8xf32>) outs(%c : memref<2x8xf32>) along [0] of 2
  chimera.broadcast from 1 outs(%a : memref<2x8xf32>) along [0] of 2
  %i = chimera.process_index along 0
  return %i : index
}

// -----

// The offset of a view counts in bytes.

// CHECK-LABEL: func @view(
// CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index
// CHECK: offset
// CHECK: arith.constant 2 : index
// CHECK: arith.muli
// CHECK: arith.addi %[[ADDRESS]]
func.func @view(%a: memref<8x8xbf16>) {
  %rows = memref.subview %a[4, 0] [4, 8] [1, 1] : memref<8x8xbf16> to memref<4x8xbf16, strided<[8, 1], offset: 32>>
  chimera.all_reduce sum outs(%rows : memref<4x8xbf16, strided<[8, 1], offset: 32>>) along [0] of 2
  return
}

// -----

func.func @columns(%a: memref<8x8xf32>) {
  %columns = memref.subview %a[0, 4] [8, 4] [1, 1] : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1], offset: 4>>
  // expected-error @below {{exchanges what lies in one run of memory}}
  chimera.all_reduce sum outs(%columns : memref<8x4xf32, strided<[8, 1], offset: 4>>) along [0] of 2
  return
}

// -----

func.func @tensors(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{is called on memrefs; bufferize it before}}
  %0 = chimera.all_reduce sum outs(%a : tensor<8xf32>) along [0] of 2 -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A request is a pointer, and a number on the way to its wait.

// CHECK-DAG: llvm.func @chimera_start_all_reduce(!llvm.ptr, !llvm.ptr, i64, i32, i32, i32) -> !llvm.ptr
// CHECK-DAG: llvm.func @chimera_wait(!llvm.ptr)
// CHECK-LABEL: func @started(
// CHECK: %[[COUNT:.*]] = arith.constant 16 : i64
// CHECK: %[[STARTED:.*]] = llvm.call @chimera_start_all_reduce(%{{.*}}, %{{.*}}, %[[COUNT]],
// CHECK: %[[REQUEST:.*]] = llvm.ptrtoint %[[STARTED]]
// CHECK: %[[WAITED:.*]] = llvm.inttoptr %[[REQUEST]]
// CHECK: llvm.call @chimera_wait(%[[WAITED]])
func.func @started(%a: memref<2x8xf32>) {
  %request = chimera.start_all_reduce sum outs(%a : memref<2x8xf32>) along [0] of 2
  chimera.wait %request outs(%a : memref<2x8xf32>)
  return
}
