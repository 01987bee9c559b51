// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --split-input-file --verify-diagnostics --remarks-filter=chimera | FileCheck %s --implicit-check-not=chimera.block --implicit-check-not=chimera.micro_kernel

// Blocks that are no micro kernels become what they hold; a remark says why.

// CHECK-LABEL: func.func @captures(
// CHECK:         linalg.generic
#id = affine_map<(i) -> (i)>
func.func @captures(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark @below {{no micro kernel: the body of its operation uses values from outside that are no constants}}
  %0 = chimera.block "scale" ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %c0 = arith.constant 0 : index
    %f = tensor.extract %x[%c0] : tensor<8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32):
      %r = arith.mulf %p, %f : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @constant_input(
// CHECK:         linalg.add
func.func @constant_input(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark @below {{no micro kernel: its operation reads more than the block's inputs}}
  %0 = chimera.block "add" ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %c = arith.constant dense<1.0> : tensor<8xf32>
    %1 = linalg.add ins(%x, %c : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @strided(
// CHECK:         linalg.generic
#twice = affine_map<(i) -> (2 * i)>
#line = affine_map<(i) -> (i)>
func.func @strided(%a: tensor<15xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark @below {{no micro kernel: its operation is not indexed by projected permutations}}
  %0 = chimera.block "strided" ins(%a : tensor<15xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: tensor<15xf32>, %y: tensor<8xf32>):
    %1 = linalg.generic {indexing_maps = [#twice, #line], iterator_types = ["parallel"]} ins(%x : tensor<15xf32>) outs(%y : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32):
      linalg.yield %p : f32
    } -> tensor<8xf32>
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @other_output(
// CHECK:         linalg.exp
func.func @other_output(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark @below {{no micro kernel: its operation does not update the block's outputs alone}}
  %0 = chimera.block "exp" ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %1 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
