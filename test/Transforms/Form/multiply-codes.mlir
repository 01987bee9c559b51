// RUN: chimera-opt %s --split-input-file --chimera-multiply-codes=target=zen5 --cse | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-multiply-codes=target=%chimera_src_root/test/Consumer/Inputs/arm.mlir | FileCheck %s --check-prefix=SAME --implicit-check-not=arith.muli
// RUN: not chimera-opt %s --split-input-file --chimera-multiply-codes=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: chimera-opt %s --split-input-file --chimera-multiply-codes=target=avx2 -o /dev/null --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=REMARK

// NAME: error: unknown target 'pentium'
// REMARK: dequantized factors are multiplied as integers, and sums scaled
// REMARK: dequantized factors are multiplied as floats: a scale changes along the sum
// REMARK: dequantized factors are multiplied as floats: the sum of their integers may not fit into 32 bits
// REMARK: dequantized factors are multiplied as floats: nothing is summed up but the taps of a window

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#scalar = affine_map<(d0, d1) -> ()>

// Activations without a sign and with a zero point, and weights in rows, each with
// a scale, which are transposed: those rows are columns of the result.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xi8>, %[[B:.*]]: tensor<32x16xi8>, %[[T:.*]]: tensor<32xf32>
// CHECK:       %[[S:.*]] = arith.constant 5.000000e-01 : f32
// CHECK:       %[[TURNED:.*]] = linalg.transpose ins(%[[B]] : tensor<32x16xi8>) outs(%{{.*}} : tensor<16x32xi8>) permutation = [1, 0]
// CHECK:       %[[ZERO:.*]] = arith.constant 3 : i32
// CHECK:       %[[SUMS:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[A]], %[[TURNED]] : tensor<8x16xi8>, tensor<16x32xi8>)
// CHECK:         %[[X:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK:         %[[LESS:.*]] = arith.subi %[[X]], %[[ZERO]]
// CHECK:         %[[Y:.*]] = arith.extsi %{{.*}} : i8 to i32
// CHECK:         arith.muli %[[LESS]], %[[Y]]
// CHECK:       %[[R:.*]] = linalg.generic {indexing_maps = [#map{{[0-9]*}}, #[[NONE:map[0-9]*]], #[[COLUMN:map[0-9]*]], #map{{[0-9]*}}], {{.*}}ins(%[[SUMS]], %[[S]], %[[T]] : tensor<8x32xi32>, f32, tensor<32xf32>)
// CHECK:         %[[SUM:.*]] = arith.sitofp
// CHECK:         %[[ONCE:.*]] = arith.mulf %[[SUM]]
// CHECK:         arith.mulf %[[ONCE]]
// CHECK:       return %[[R]]
// SAME-LABEL: func.func @layer(
func.func @layer(%a: tensor<8x16xi8>, %b: tensor<32x16xi8>, %t: tensor<32xf32>) -> tensor<8x32xf32> {
  %s = arith.constant 0.5 : f32
  %x = arith.constant 3 : i32
  %none = arith.constant dense<0> : tensor<32xi8>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xi8>) outs(%e0 : tensor<8x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extui %in : i8 to i32
    %d = arith.subi %w, %x : i32
    %f = arith.sitofp %d : i32 to f32
    %r = arith.mulf %f, %s : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<32x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%b, %t, %none : tensor<32x16xi8>, tensor<32xf32>, tensor<32xi8>) outs(%e1 : tensor<32x16xf32>) {
  ^bb0(%in: i8, %scale: f32, %y: i8, %out: f32):
    %w = arith.extsi %in : i8 to i16
    %v = arith.extsi %y : i8 to i16
    %d = arith.subi %w, %v : i16
    %f = arith.sitofp %d : i16 to f32
    %r = arith.mulf %scale, %f : f32
    linalg.yield %r : f32
  } -> tensor<32x16xf32>
  %e2 = tensor.empty() : tensor<16x32xf32>
  %2 = linalg.transpose ins(%1 : tensor<32x16xf32>) outs(%e2 : tensor<16x32xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<8x32xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %4 = linalg.matmul ins(%0, %2 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%3 : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %4 : tensor<8x32xf32>
}

// -----

#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#filter = affine_map<(d0, d1, d2, d3) -> (d0)>

// An image is padded by its zero point, and what the product is added to stays.
// CHECK-LABEL: func.func @image(
// CHECK-SAME:    %[[A:.*]]: tensor<1x8x6x6xi8>, %[[B:.*]]: tensor<4x8x3x3xi8>, %[[T:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<1x4x6x6xf32>
// CHECK:       %[[ZERO:.*]] = arith.constant -128 : i8
// CHECK:       %[[PAD:.*]] = tensor.pad %[[A]] low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK:         tensor.yield %[[ZERO]]
// CHECK:       %[[SUMS:.*]] = linalg.generic {{.*}} ins(%[[PAD]], %[[B]] : tensor<1x8x8x8xi8>, tensor<4x8x3x3xi8>)
// CHECK:       linalg.generic {{.*}} ins(%[[SUMS]], %{{.*}}, %[[T]], %[[C]] : tensor<1x4x6x6xi32>, f32, tensor<4xf32>, tensor<1x4x6x6xf32>)
// CHECK:         arith.addf
// SAME-LABEL: func.func @image(
func.func @image(%a: tensor<1x8x6x6xi8>, %b: tensor<4x8x3x3xi8>, %t: tensor<4xf32>, %c: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %s = arith.constant 0.25 : f32
  %x = arith.constant 128 : i32
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x8x6x6xf32>
  %0 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a : tensor<1x8x6x6xi8>) outs(%e0 : tensor<1x8x6x6xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extui %in : i8 to i32
    %d = arith.subi %w, %x : i32
    %f = arith.sitofp %d : i32 to f32
    %r = arith.mulf %f, %s : f32
    linalg.yield %r : f32
  } -> tensor<1x8x6x6xf32>
  %1 = tensor.pad %0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x8x6x6xf32> to tensor<1x8x8x8xf32>
  %e1 = tensor.empty() : tensor<4x8x3x3xf32>
  %2 = linalg.generic {indexing_maps = [#image, #filter, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%b, %t : tensor<4x8x3x3xi8>, tensor<4xf32>) outs(%e1 : tensor<4x8x3x3xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %r = arith.mulf %f, %scale : f32
    linalg.yield %r : f32
  } -> tensor<4x8x3x3xf32>
  %3 = linalg.conv_2d_nchw_fchw ins(%1, %2 : tensor<1x8x8x8xf32>, tensor<4x8x3x3xf32>) outs(%c : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %3 : tensor<1x4x6x6xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Not integers: a scale along the sum, a zero point that is not known, a
// difference that may wrap around, one factor of floats, bytes with signs that are
// converted as if they had none, and padding by what no byte stands for.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:   arith.muli
// CHECK-COUNT-6: linalg.matmul
func.func @left(%a: tensor<8x16xi8>, %b: tensor<16x32xi8>, %t: tensor<16xf32>, %y: i16, %f: tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<10x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7 : i8
  %e0 = tensor.empty() : tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<16x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %good = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xi8>) outs(%e0 : tensor<8x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %r = arith.sitofp %in : i8 to f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %along = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%b, %t : tensor<16x32xi8>, tensor<16xf32>) outs(%e1 : tensor<16x32xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %w = arith.sitofp %in : i8 to f32
    %r = arith.mulf %w, %scale : f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %unknown = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x32xi8>) outs(%e1 : tensor<16x32xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extsi %in : i8 to i16
    %d = arith.subi %w, %y : i16
    %r = arith.sitofp %d : i16 to f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %wrapped = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x32xi8>) outs(%e1 : tensor<16x32xf32>) {
  ^bb0(%in: i8, %out: f32):
    %d = arith.subi %in, %seven : i8
    %r = arith.sitofp %d : i8 to f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %0 = linalg.matmul ins(%good, %along : tensor<8x16xf32>, tensor<16x32xf32>) outs(%start : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.matmul ins(%good, %unknown : tensor<8x16xf32>, tensor<16x32xf32>) outs(%start : tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = linalg.matmul ins(%good, %wrapped : tensor<8x16xf32>, tensor<16x32xf32>) outs(%start : tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = linalg.matmul ins(%good, %f : tensor<8x16xf32>, tensor<16x32xf32>) outs(%start : tensor<8x32xf32>) -> tensor<8x32xf32>
  %huge = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x32xi8>) outs(%e1 : tensor<16x32xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extsi %in : i8 to i32
    %r = arith.uitofp %w : i32 to f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %4 = linalg.matmul ins(%good, %huge : tensor<8x16xf32>, tensor<16x32xf32>) outs(%start : tensor<8x32xf32>) -> tensor<8x32xf32>
  %far = arith.constant 200 : i32
  %ten = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xi8>) outs(%e0 : tensor<8x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extsi %in : i8 to i32
    %d = arith.subi %w, %far : i32
    %r = arith.sitofp %d : i32 to f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %padded = tensor.pad %ten low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x16xf32> to tensor<10x16xf32>
  %best = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x32xi8>) outs(%e1 : tensor<16x32xf32>) {
  ^bb0(%in: i8, %out: f32):
    %r = arith.sitofp %in : i8 to f32
    linalg.yield %r : f32
  } -> tensor<16x32xf32>
  %e2 = tensor.empty() : tensor<10x32xf32>
  %start2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<10x32xf32>) -> tensor<10x32xf32>
  %5 = linalg.matmul ins(%padded, %best : tensor<10x16xf32>, tensor<16x32xf32>) outs(%start2 : tensor<10x32xf32>) -> tensor<10x32xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<10x32xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A sum of 66,000 products of bytes without signs may not fit into 32 bits.
// CHECK-LABEL: func.func @long(
// CHECK-NOT:   arith.muli
// CHECK:       linalg.matmul
func.func @long(%a: tensor<2x66000xi8>, %b: tensor<66000x16xi8>) -> tensor<2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x66000xf32>
  %e1 = tensor.empty() : tensor<66000x16xf32>
  %e = tensor.empty() : tensor<2x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<2x16xf32>) -> tensor<2x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x66000xi8>) outs(%e0 : tensor<2x66000xf32>) {
  ^bb0(%in: i8, %out: f32):
    %r = arith.uitofp %in : i8 to f32
    linalg.yield %r : f32
  } -> tensor<2x66000xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<66000x16xi8>) outs(%e1 : tensor<66000x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %r = arith.sitofp %in : i8 to f32
    linalg.yield %r : f32
  } -> tensor<66000x16xf32>
  %2 = linalg.matmul ins(%0, %1 : tensor<2x66000xf32>, tensor<66000x16xf32>) outs(%start : tensor<2x16xf32>) -> tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// -----

#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#filters = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Each channel by itself: there are no neighbours to multiply at once.
// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT:   arith.muli
// CHECK:       linalg.depthwise_conv_2d_nchw_chw
func.func @depthwise(%a: tensor<1x8x6x6xi8>, %b: tensor<8x3x3xi8>, %c: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %e0 = tensor.empty() : tensor<1x8x6x6xf32>
  %0 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a : tensor<1x8x6x6xi8>) outs(%e0 : tensor<1x8x6x6xf32>) {
  ^bb0(%in: i8, %out: f32):
    %f = arith.uitofp %in : i8 to f32
    linalg.yield %f : f32
  } -> tensor<1x8x6x6xf32>
  %e1 = tensor.empty() : tensor<8x3x3xf32>
  %1 = linalg.generic {indexing_maps = [#filters, #filters], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : tensor<8x3x3xi8>) outs(%e1 : tensor<8x3x3xf32>) {
  ^bb0(%in: i8, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x3x3xf32>
  %2 = linalg.depthwise_conv_2d_nchw_chw ins(%0, %1 : tensor<1x8x6x6xf32>, tensor<8x3x3xf32>) outs(%c : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return %2 : tensor<1x8x4x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Differences of bytes fit into 32 bits, of words they may not.
// CHECK-LABEL: func.func @narrow(
// CHECK:         %[[A:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK:         %[[B:.*]] = arith.subi %[[A]], %{{.*}} : i32
// CHECK:         arith.sitofp %[[B]] : i32 to f32
// CHECK:         arith.subi %{{.*}}, %{{.*}} : i64
func.func @narrow(%a: tensor<16xi8>, %b: tensor<16xi32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %point = arith.constant 128 : i64
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<16xi8>) outs(%e : tensor<16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %w = arith.extui %in : i8 to i64
    %d = arith.subi %w, %point : i64
    %f = arith.sitofp %d : i64 to f32
    linalg.yield %f : f32
  } -> tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<16xi32>) outs(%e : tensor<16xf32>) {
  ^bb0(%in: i32, %out: f32):
    %w = arith.extsi %in : i32 to i64
    %d = arith.subi %w, %point : i64
    %f = arith.sitofp %d : i64 to f32
    linalg.yield %f : f32
  } -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// There are no scales for what columns are padded by.
// CHECK-LABEL: func.func @padded_columns(
// CHECK-NOT:   arith.muli
// CHECK:       linalg.matmul
func.func @padded_columns(%a: tensor<8x16xi8>, %b: tensor<16x30xi8>, %t: tensor<30xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xi8>) outs(%e0 : tensor<8x16xf32>) {
  ^bb0(%in: i8, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    linalg.yield %f : f32
  } -> tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<16x30xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%b, %t : tensor<16x30xi8>, tensor<30xf32>) outs(%e1 : tensor<16x30xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %r = arith.mulf %f, %scale : f32
    linalg.yield %r : f32
  } -> tensor<16x30xf32>
  %2 = tensor.pad %1 low[0, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<16x30xf32> to tensor<16x32xf32>
  %3 = linalg.matmul ins(%0, %2 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}
