// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(chimera-restore-sizes))' --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: tensor<?x8x?xf32>) -> tensor<?x?xf32> {
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[X]], %c2
// CHECK-DAG: %[[HEADS:.*]] = arith.muli %[[B]], %c8
// CHECK: %[[ROW:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<?x8x?xf32> into tensor<?x?xf32>
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[HEADS]], %[[N]]) : tensor<?x?xf32>
// A constant that is as large as a size is filled in.
// CHECK: %[[ONES:.*]] = tensor.empty(%[[HEADS]], %[[N]]) : tensor<?x?xf32>
// CHECK: linalg.fill {{.*}} outs(%[[ONES]] : tensor<?x?xf32>)
// CHECK: scf.for {{.*}} to %[[N]]
// CHECK-SAME: -> (tensor<?x?xf32>)
// CHECK: tensor.extract_slice %[[ROW]][0, %{{.*}}] [%[[HEADS]], 1] [1, 1] : tensor<?x?xf32> to tensor<?x1xf32>
// CHECK: tensor.insert_slice {{.*}} [%[[HEADS]], 1] [1, 1] : tensor<?x1xf32> into tensor<?x?xf32>
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[N]] : index to i64
func.func @f(%x: tensor<1048583x8x1048589xf32>) -> tensor<8388664x1048589xf32>
    attributes {chimera.open_sizes = array<i64: 1048583, 1048589>, chimera.planned_sizes = array<i64: 2, 128>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = chimera.size 1048589
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1048583x8x1048589xf32> into tensor<8388664x1048589xf32>
  %1 = tensor.empty() : tensor<8388664x1048589xf32>
  %ones = arith.constant dense<1.0> : tensor<8388664x1048589xf32>
  %2 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %1) -> (tensor<8388664x1048589xf32>) {
    %a = tensor.extract_slice %0[0, %i] [8388664, 1] [1, 1] : tensor<8388664x1048589xf32> to tensor<8388664x1xf32>
    %b = tensor.insert_slice %a into %y[0, %i] [8388664, 1] [1, 1] : tensor<8388664x1xf32> into tensor<8388664x1048589xf32>
    scf.yield %b : tensor<8388664x1048589xf32>
  }
  %i = arith.index_cast %n : index to i64
  %f = arith.sitofp %i : i64 to f32
  %3 = linalg.map { arith.addf } ins(%2, %ones : tensor<8388664x1048589xf32>, tensor<8388664x1048589xf32>)
      outs(%1 : tensor<8388664x1048589xf32>)
  %4 = linalg.fill ins(%f : f32) outs(%3 : tensor<8388664x1048589xf32>) -> tensor<8388664x1048589xf32>
  return %4 : tensor<8388664x1048589xf32>
}

// -----

// Functions without placeholders are left alone.
// CHECK-LABEL: func.func @static(
// CHECK-SAME: tensor<1048583xf32>
func.func @static(%x: tensor<1048583xf32>) -> tensor<1048583xf32> {
  return %x : tensor<1048583xf32>
}

// -----

// expected-error @+1 {{has a placeholder 1048583 that no argument has as a size}}
func.func @none(%x: tensor<2097166xf32>) -> tensor<2097166xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 2>} {
  return %x : tensor<2097166xf32>
}

// -----

// An operation that has the size as an attribute of its own.
func.func @left(%x: tensor<1048583xf32>, %i: index) -> index
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 2>} {
  // expected-error @+1 {{depends on a size that is not known otherwise than by its operands; give the function's arguments static sizes}}
  %0 = affine.min affine_map<(i) -> (i, 1048583)>(%i)
  return %0 : index
}

// -----

func.func @unknown(%x: tensor<?xf32>) -> index {
  // expected-error @+1 {{needs a function whose 'chimera.open_sizes' lists 1048583 or what it is a multiple of}}
  %0 = chimera.size 1048583
  return %0 : index
}

// -----

// expected-error @+1 {{'chimera.planned_sizes' must be an array of numbers from 1 on, one for each open size, got array<i64: 0>}}
func.func @planned(%x: tensor<1048583xf32>) -> tensor<1048583xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 0>} {
  return %x : tensor<1048583xf32>
}

// -----

// expected-error @+1 {{'chimera.open_sums' must list the terms of the last open sizes, such as [array<i64: 1048583, 1>], got [array<i64: 1048583, 2>]}}
func.func @terms(%x: tensor<1048583xf32>) -> tensor<1048583xf32>
    attributes {chimera.open_sizes = array<i64: 1048583, 1048584>, chimera.planned_sizes = array<i64: 2, 3>,
                chimera.open_sums = [array<i64: 1048583, 2>]} {
  return %x : tensor<1048583xf32>
}

// -----

// A sum is of sizes that come before it, of which there are some.
// expected-error @+1 {{'chimera.open_sums' must list the terms of the last open sizes}}
func.func @own(%x: tensor<1048583xf32>) -> tensor<1048583xf32>
    attributes {chimera.open_sizes = array<i64: 1048583, 1048584>, chimera.planned_sizes = array<i64: 2, 3>,
                chimera.open_sums = [array<i64: 1048584>]} {
  return %x : tensor<1048583xf32>
}

// -----

// expected-error @+1 {{'chimera.open_sums' must list the terms of the last open sizes}}
func.func @all(%x: tensor<1048584xf32>) -> tensor<1048584xf32>
    attributes {chimera.open_sizes = array<i64: 1048584>, chimera.planned_sizes = array<i64: 3>,
                chimera.open_sums = [array<i64: 1048583, 1>]} {
  return %x : tensor<1048584xf32>
}

// -----

// expected-error @+1 {{'chimera.open_sums' must list the terms of the last open sizes}}
func.func @text(%x: tensor<1048583xf32>) -> tensor<1048583xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 3>,
                chimera.open_sums = "none"} {
  return %x : tensor<1048583xf32>
}

// -----

// expected-error @+1 {{'chimera.open_sizes' must be an array of numbers from 1048576 on, one for each open size, got array<i64: 17>}}
func.func @small(%x: tensor<17xf32>) -> tensor<17xf32>
    attributes {chimera.open_sizes = array<i64: 17>, chimera.planned_sizes = array<i64: 2>} {
  return %x : tensor<17xf32>
}

// -----

// Buffers with contents of their own are as large as a size says, too.
// CHECK-LABEL: func.func @buffer(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK: bufferization.alloc_tensor(%[[N]]) : tensor<?x8xf32>
// CHECK: bufferization.alloc_tensor() : tensor<8xf32>
func.func @buffer(%x: tensor<1048583x8xf32>) -> (tensor<1048583x8xf32>, tensor<8xf32>)
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 2>} {
  %0 = bufferization.alloc_tensor() : tensor<1048583x8xf32>
  %1 = bufferization.alloc_tensor() : tensor<8xf32>
  return %0, %1 : tensor<1048583x8xf32>, tensor<8xf32>
}

// -----

// Sums are added up.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[M:.*]] = tensor.dim %[[Y]], %c0
// CHECK: %[[SUM:.*]] = arith.addi %[[M]], %[[N]]
// CHECK: tensor.empty(%[[SUM]]) : tensor<?x8xf32>
// CHECK-NOT: open_sums
func.func @sum(%x: tensor<1048583x8xf32>, %y: tensor<1048589x8xf32>) -> tensor<2097172x8xf32>
    attributes {chimera.open_sizes = array<i64: 1048583, 1048589, 2097172>,
                chimera.planned_sizes = array<i64: 2, 3, 5>,
                chimera.open_sums = [array<i64: 1048589, 1048583>]} {
  %0 = tensor.empty() : tensor<2097172x8xf32>
  return %0 : tensor<2097172x8xf32>
}
