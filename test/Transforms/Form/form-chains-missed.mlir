// RUN: chimera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --remarks-filter=chimera -o /dev/null \
// RUN:   --pass-pipeline="builtin.module(func.func(chimera-form-chains))"
// RUN: chimera-opt %s --split-input-file --chimera-form-chains=compiled-only \
// RUN:   | FileCheck %s --implicit-check-not=chimera.chain

// Contractions that join no others; a remark says why. Those of a
// supported form become chains of one operator, the others stay as they are.

// CHECK-LABEL: func.func @alone(
func.func @alone(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %acc: tensor<16x12xf32>) -> tensor<16x12xf32> {
  // CHECK: chimera.chain
  // CHECK: linalg.generic
  // CHECK: chimera.yield
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces}}
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%acc : tensor<16x12xf32>) -> tensor<16x12xf32>
  return %0 : tensor<16x12xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
func.func @dynamic(%a: tensor<?x8xf32>, %b: tensor<8x8xf32>, %acc: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-COUNT-2: linalg.matmul
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %0 = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %1 = linalg.matmul ins(%0, %b : tensor<?x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @no_elements(
func.func @no_elements(%a: tensor<0x8xf32>, %b: tensor<8x8xf32>, %acc: tensor<0x8xf32>) -> tensor<0x8xf32> {
  // CHECK-COUNT-2: linalg.matmul
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %0 = linalg.matmul ins(%a, %b : tensor<0x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<0x8xf32>) -> tensor<0x8xf32>
  // expected-remark @below {{not in a chain: its shape is not static or has no elements}}
  %1 = linalg.matmul ins(%0, %b : tensor<0x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<0x8xf32>) -> tensor<0x8xf32>
  return %1 : tensor<0x8xf32>
}

// -----

// CHECK-LABEL: func.func @element_types(
func.func @element_types(%a: tensor<8x8xi32>, %b: tensor<8x8xf64>, %c: tensor<8x8xi32>, %d: tensor<8x8xf64>) -> (tensor<8x8xi32>, tensor<8x8xf64>) {
  // CHECK-COUNT-3: linalg.matmul
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %1 = linalg.matmul ins(%0, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces; no code is generated from it: an operator is no contraction or convolution of f32, or of narrower floats with sums in f32}}
  %2 = linalg.matmul ins(%b, %b : tensor<8x8xf64>, tensor<8x8xf64>) outs(%d : tensor<8x8xf64>) -> tensor<8x8xf64>
  return %1, %2 : tensor<8x8xi32>, tensor<8x8xf64>
}

// -----

// CHECK-LABEL: func.func @convolution(
func.func @convolution(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x2xf32>, %acc: tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32> {
  // CHECK: chimera.chain
  // expected-remark @below {{not in a chain: no other contraction produces what it reads or reads what it produces}}
  %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) outs(%acc : tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32>
  return %0 : tensor<1x6x6x2xf32>
}

// -----

// CHECK-LABEL: func.func @buffers(
func.func @buffers(%a: memref<8x8xf32>, %b: memref<8x8xf32>) {
  // CHECK: linalg.matmul
  // expected-remark @below {{not in a chain: it does not work on tensors}}
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @scalar_result(
func.func @scalar_result(%a: tensor<8xf32>, %acc: tensor<f32>) -> tensor<f32> {
  // CHECK: linalg.dot
  // expected-remark @below {{not in a chain: it is not a sum of products of two tensors whose indices are sums of loops, or it uses every element once}}
  %0 = linalg.dot ins(%a, %a : tensor<8xf32>, tensor<8xf32>) outs(%acc : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @used_outside(
func.func @used_outside(%a: tensor<8x8xf32>, %acc: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[E:.+]] = chimera.chain
  // CHECK: math.exp
  // CHECK: chimera.yield
  // CHECK: chimera.chain ins(%[[E]],
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.exp ins(%0 : tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %2 = linalg.matmul ins(%1, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A row reduction between two contractions that is no softmax.

// CHECK-LABEL: func.func @reduction_between(
func.func @reduction_between(%a: tensor<8x8xf32>, %acc: tensor<8x8xf32>, %sum: tensor<8xf32>) -> tensor<8x8xf32> {
  // CHECK: chimera.chain
  // CHECK: linalg.reduce
  // CHECK: chimera.chain
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<8x8xf32>) outs(%sum : tensor<8xf32>) dimensions = [1]
  %2 = linalg.broadcast ins(%1 : tensor<8xf32>) outs(%acc : tensor<8x8xf32>) dimensions = [1]
  %3 = linalg.div ins(%0, %2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %4 = linalg.matmul ins(%3, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// -----

// A body that has effects is not elementwise.

func.func private @log(f32)
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @effects_between(
func.func @effects_between(%a: tensor<8x8xf32>, %acc: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: chimera.chain
  // CHECK: func.call
  // CHECK: chimera.chain
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) {
  ^bb0(%x: f32, %z: f32):
    func.call @log(%x) : (f32) -> ()
    linalg.yield %x : f32
  } -> tensor<8x8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %2 = linalg.matmul ins(%1, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// All of the first product is needed for any element of the second: two such
// products have the loop in common that one produces and the other reduces, the
// third has none.

// CHECK-LABEL: func.func @no_common_loop(
func.func @no_common_loop(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %acc: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[CHAIN:.+]] = chimera.chain
  // CHECK: chimera.yield
  // CHECK: chimera.chain ins(%{{.+}}, %[[CHAIN]],
  %0 = linalg.matvec ins(%a, %x : tensor<8x8xf32>, tensor<8xf32>) outs(%acc : tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{formed a chain of 2 operators}}
  %1 = linalg.matvec ins(%a, %0 : tensor<8x8xf32>, tensor<8xf32>) outs(%acc : tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{not in a chain: no loop that all could run in is common to it and its neighbours}}
  %2 = linalg.matvec ins(%a, %1 : tensor<8x8xf32>, tensor<8xf32>) outs(%acc : tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A tensor and its own transpose cannot both be read by identity.

#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @own_transpose(
func.func @own_transpose(%a: tensor<8x8xf32>, %acc: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: chimera.chain
  // CHECK: chimera.yield
  // CHECK: linalg.generic
  // CHECK: chimera.chain
  // expected-remark @below {{not in a chain: 'linalg.matmul': two of its dimensions are the same loop of the chain}}
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %3 = arith.addf %x, %y : f32
    linalg.yield %3 : f32
  } -> tensor<8x8xf32>
  // expected-remark @below {{not in a chain: 'linalg.matmul': two of its dimensions are the same loop of the chain}}
  %2 = linalg.matmul ins(%1, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Where not all make a chain, the neighbours join first that do the least for
// each element of what lies between them.

// CHECK-LABEL: func.func @part(
func.func @part(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %acc: tensor<8x8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[FIRST:.+]] = chimera.chain
  // CHECK: %[[Y:.+]] = chimera.chain ins(%{{.+}}, %[[FIRST]],
  // CHECK: math.exp
  // CHECK: chimera.yield
  // CHECK: chimera.chain ins(%[[Y]],
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %0 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%a, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.exp ins(%1 : tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = linalg.transpose ins(%2 : tensor<8x8xf32>) outs(%acc : tensor<8x8xf32>) permutation = [1, 0]
  // expected-remark @below {{formed a chain of 2 operators}}
  %3 = linalg.vecmat ins(%x, %t : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @below {{not in a chain: what lies between it and its neighbours is neither elementwise nor a reduction along rows, or it is an operator of no or another chain}}
  %4 = linalg.vecmat ins(%3, %a : tensor<8xf32>, tensor<8x8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// -----

// A product of single numbers is none any more without the dimensions of one
// element.

// CHECK-LABEL: func.func @one_number(
func.func @one_number(%a: tensor<1xf32>, %b: tensor<1x1xf32>, %acc: tensor<1xf32>) -> tensor<1xf32> {
  // CHECK: linalg.vecmat
  // expected-remark @below {{not in a chain: it joins no other, and by itself it does not reduce to one product that the model takes and elementwise operations on its result}}
  %0 = linalg.vecmat ins(%a, %b : tensor<1xf32>, tensor<1x1xf32>) outs(%acc : tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
