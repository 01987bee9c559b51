// RUN: chimera-opt %s --split-input-file --chimera-separate-offsets=target=zen5 --cse | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-separate-offsets=target=%chimera_src_root/test/Consumer/Inputs/arm.mlir | FileCheck %s --check-prefix=SAME
// RUN: chimera-opt %s --split-input-file --chimera-separate-offsets=target=avx2 --cse | FileCheck %s --check-prefix=SIGNS --implicit-check-not=arith.xori
// RUN: not chimera-opt %s --split-input-file --chimera-separate-offsets=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: unknown target 'pentium'

// The left factor loses its sign and its zero point, which the sums of the
// columns of the weights make up for. The weights have no zero point.
// CHECK-LABEL: func.func @weights(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xi8>, %[[B:.*]]: tensor<16x32xi8> {chimera.constant}, %[[X:.*]]: i32)
// CHECK:       %[[U:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x16xi8>)
// CHECK:         %[[SIGN:.*]] = arith.constant -128 : i8
// CHECK:         arith.xori %{{.*}}, %[[SIGN]]
// CHECK:       %[[P:.*]] = linalg.generic {{.*}} ins(%[[U]], %[[B]] : tensor<8x16xi8>, tensor<16x32xi8>)
// CHECK:         arith.extui
// CHECK:         arith.extsi
// CHECK:         arith.muli
// CHECK:       %[[S:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[B]] : tensor<16x32xi8>)
// CHECK:       %[[ONCE:.*]] = chimera.prepare %[[S]]
// CHECK:       %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[X]], %[[ONCE]] : tensor<8x32xi32>, i32, tensor<32xi32>)
// CHECK-NEXT:  ^bb0(%[[IN:.*]]: i32, %[[ZERO:.*]]: i32, %[[SUM:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT:    %[[BIAS:.*]] = arith.constant 128 : i32
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.addi %[[ZERO]], %[[BIAS]]
// CHECK-NEXT:    %[[LESS:.*]] = arith.muli %[[SUM]], %[[OFFSET]]
// CHECK-NEXT:    arith.subi %[[IN]], %[[LESS]]
// CHECK:       return %[[R]]
// Where bytes are widened, signs stay.
// SIGNS-LABEL: func.func @weights(
// SIGNS:       arith.muli
// SIGNS:       chimera.prepare
// SAME-LABEL: func.func @weights(
// SAME:       linalg.quantized_matmul
// SAME-NOT:   arith.xori
// SAME-LABEL: func.func @both(
// SAME:       linalg.quantized_matmul
// SAME-NOT:   arith.xori
func.func @weights(%a: tensor<8x16xi8>, %b: tensor<16x32xi8> {chimera.constant}, %x: i32) -> tensor<8x32xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<8x32xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<8x32xi32>) -> tensor<8x32xi32>
  %2 = linalg.quantized_matmul ins(%a, %b, %x, %zero : tensor<8x16xi8>, tensor<16x32xi8>, i32, i32) outs(%1 : tensor<8x32xi32>) -> tensor<8x32xi32>
  return %2 : tensor<8x32xi32>
}

// -----

// Both have zero points: the sums of the rows, of the columns, and the product
// of the zero points as often as there are steps.
// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xi8>, %[[B:.*]]: tensor<16x32xi8>, %[[X:.*]]: i32, %[[Y:.*]]: i32)
// CHECK:       %[[ROWS:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[A]] : tensor<8x16xi8>)
// CHECK:       linalg.generic {{.*}} ins(%{{.*}}, %[[X]], %{{.*}}, %[[Y]], %{{.*}} : tensor<8x32xi32>, i32, tensor<8xi32>, i32, tensor<32xi32>)
// CHECK:         %[[STEPS:.*]] = arith.constant 16 : i32
// CHECK-NEXT:    %[[ONE:.*]] = arith.muli %{{.*}}, %[[STEPS]]
// CHECK-NEXT:    arith.addi %{{.*}}, %[[ONE]]
func.func @both(%a: tensor<8x16xi8>, %b: tensor<16x32xi8>, %x: i32, %y: i32) -> tensor<8x32xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<8x32xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<8x32xi32>) -> tensor<8x32xi32>
  %2 = linalg.quantized_matmul ins(%a, %b, %x, %y : tensor<8x16xi8>, tensor<16x32xi8>, i32, i32) outs(%1 : tensor<8x32xi32>) -> tensor<8x32xi32>
  return %2 : tensor<8x32xi32>
}

// -----

// One factor without a sign is what units take.
// CHECK-LABEL: func.func @unsigned(
// CHECK-NOT:   arith.xori
// CHECK-NOT:   arith.subi
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @unsigned(%a: tensor<8x16xi8>, %b: tensor<16x32xi8>, %c: tensor<8x32xi32>) -> tensor<8x32xi32> {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x16xi8>, tensor<16x32xi8>) outs(%c : tensor<8x32xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<8x32xi32>
  return %0 : tensor<8x32xi32>
}

// -----

// A zero point of the weights asks for the sums of windows, which are not found
// yet; one of the image, for those of the weights alone.
// CHECK-LABEL: func.func @windows(
// CHECK:       linalg.conv_2d_nhwc_hwcf_q
// CHECK-NOT:   linalg.conv_2d_nhwc_hwcf_q
// CHECK:       ins(%{{.*}} : tensor<3x3x8x16xi8>) outs(%{{.*}} : tensor<16xi32>)
func.func @windows(%a: tensor<1x10x10x8xi8>, %b: tensor<3x3x8x16xi8>, %x: i32) -> (tensor<1x8x8x16xi32>, tensor<1x8x8x16xi32>) {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<1x8x8x16xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  %2 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b, %zero, %x : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>, i32, i32) outs(%1 : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  %3 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b, %x, %zero : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>, i32, i32) outs(%1 : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  return %2, %3 : tensor<1x8x8x16xi32>, tensor<1x8x8x16xi32>
}

// -----

// Sizes that are not known stay.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:   arith.xori
func.func @left(%a: tensor<?x16xi8>, %b: tensor<16x32xi8>, %c: tensor<?x32xi32>) -> tensor<?x32xi32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x16xi8>, tensor<16x32xi8>) outs(%c : tensor<?x32xi32>) -> tensor<?x32xi32>
  return %0 : tensor<?x32xi32>
}

// -----

// What is padded is shifted before, and padded by what its padding becomes;
// padding that is not known stays.
// CHECK-LABEL: func.func @padded(
// CHECK-SAME:    %[[E:.*]]: tensor<1x8x8x8xi8>
// CHECK:       %[[X:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<1x8x8x8xi8>)
// CHECK:         arith.xori
// CHECK:       %[[BY:.*]] = arith.constant -125 : i8
// CHECK:       %[[PAD:.*]] = tensor.pad %[[X]] low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK:         tensor.yield %[[BY]]
// CHECK:       linalg.generic {{.*}} ins(%[[PAD]], %{{.*}} : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>)
// CHECK:         arith.extui
// CHECK:       linalg.conv_2d_nhwc_hwcf
func.func @padded(%e: tensor<1x8x8x8xi8>, %f: tensor<3x3x8x16xi8>, %g: tensor<1x8x8x16xi32>, %unknown: i8) -> (tensor<1x8x8x16xi32>, tensor<1x8x8x16xi32>) {
  %three = arith.constant 3 : i8
  %1 = tensor.pad %e low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %three : i8
  } : tensor<1x8x8x8xi8> to tensor<1x10x10x8xi8>
  %2 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%1, %f : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>) outs(%g : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  %3 = tensor.pad %e low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %unknown : i8
  } : tensor<1x8x8x8xi8> to tensor<1x10x10x8xi8>
  %4 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%3, %f : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>) outs(%g : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  return %2, %4 : tensor<1x8x8x16xi32>, tensor<1x8x8x16xi32>
}

// -----

// The sums of constant weights are found once, so the image is what is shifted,
// even where vectors run along it: its channels come first.
// CHECK-LABEL: func.func @first(
// CHECK-SAME:    %[[E:.*]]: tensor<1x8x8x8xi8>, %[[F:.*]]: tensor<16x8x3x3xi8>
// CHECK:       %[[X:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<1x8x8x8xi8>)
// CHECK:         arith.xori
// CHECK:       linalg.generic {{.*}} ins(%[[X]], %[[F]] : tensor<1x8x8x8xi8>, tensor<16x8x3x3xi8>)
// CHECK:         arith.extui
// CHECK:         arith.extsi
// CHECK:       chimera.prepare
func.func @first(%e: tensor<1x8x8x8xi8>, %f: tensor<16x8x3x3xi8> {chimera.constant}, %g: tensor<1x16x6x6xi32>) -> tensor<1x16x6x6xi32> {
  %0 = linalg.conv_2d_nchw_fchw ins(%e, %f : tensor<1x8x8x8xi8>, tensor<16x8x3x3xi8>) outs(%g : tensor<1x16x6x6xi32>) -> tensor<1x16x6x6xi32>
  return %0 : tensor<1x16x6x6xi32>
}
