// RUN: chimera-opt %s --chimera-separate-destinations --split-input-file \
// RUN:   | FileCheck %s

// Each operation writes to a tensor of its own.

// CHECK-LABEL: func.func @two(
// CHECK: %[[FIRST:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[EXP:.*]] = linalg.exp {{.*}} outs(%[[FIRST]] : tensor<4xf32>)
// CHECK: %[[SECOND:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: linalg.exp ins(%[[EXP]] : tensor<4xf32>) outs(%[[SECOND]] : tensor<4xf32>)
// CHECK-NOT: tensor.empty
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
      -> tensor<4xf32>
  %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>)
      -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Operations of a region count as the one that has the region; its own empty
// tensors are separated in the region. Sizes come along.

// CHECK-LABEL: func.func @regions(
// CHECK-SAME: %[[N:[^:]*]]: index
// CHECK: %[[LOOP:.*]] = tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK: scf.for
// CHECK: linalg.exp {{.*}} outs(%[[LOOP]] : tensor<?xf32>)
// CHECK-NOT: tensor.empty
// CHECK: linalg.log {{.*}} outs(%[[LOOP]] : tensor<?xf32>)
// CHECK: %[[AFTER:.*]] = tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK: linalg.exp {{.*}} outs(%[[AFTER]] : tensor<?xf32>)
func.func @regions(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<?xf32>) {
    %1 = linalg.exp ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>)
        -> tensor<?xf32>
    %2 = linalg.log ins(%1 : tensor<?xf32>) outs(%e : tensor<?xf32>)
        -> tensor<?xf32>
    scf.yield %2 : tensor<?xf32>
  }
  %3 = linalg.exp ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

// One user needs no second tensor, however often it uses the first.

// CHECK-LABEL: func.func @one(
// CHECK-COUNT-1: tensor.empty()
// CHECK-NOT: tensor.empty()
func.func @one(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                       affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e, %e : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    linalg.yield %a, %a : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
