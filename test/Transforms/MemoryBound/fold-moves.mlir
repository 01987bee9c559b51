// RUN: chimera-opt %s --split-input-file --chimera-fuse-memory-bound --cse | FileCheck %s

// A channel shuffle is four copies of halves to where they belong, and nothing
// is copied twice.

// CHECK-LABEL: func @shuffle(
// CHECK-SAME:    %[[X:.*]]: tensor<2x6x5x7xf32>, %[[Y:.*]]: tensor<2x6x5x7xf32>
// CHECK:         %[[XS:.*]] = tensor.expand_shape %[[X]]
// CHECK:         tensor.extract_slice %[[XS]][0, 0, 0, 0, 0] [2, 1, 3, 5, 7]
// CHECK-COUNT-4: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x1x35xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @shuffle(%x: tensor<2x6x5x7xf32>, %y: tensor<2x6x5x7xf32>) -> (tensor<2x6x5x7xf32>, tensor<2x6x5x7xf32>) {
  %0 = tensor.concat dim(1) %x, %y : (tensor<2x6x5x7xf32>, tensor<2x6x5x7xf32>) -> tensor<2x12x5x7xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2], [3], [4]] output_shape [2, 2, 6, 5, 7] : tensor<2x12x5x7xf32> into tensor<2x2x6x5x7xf32>
  %2 = tensor.empty() : tensor<2x6x2x5x7xf32>
  %3 = linalg.transpose ins(%1 : tensor<2x2x6x5x7xf32>) outs(%2 : tensor<2x6x2x5x7xf32>) permutation = [0, 2, 1, 3, 4]
  %4 = tensor.collapse_shape %3 [[0], [1, 2], [3], [4]] : tensor<2x6x2x5x7xf32> into tensor<2x12x5x7xf32>
  %5 = tensor.extract_slice %4[0, 0, 0, 0] [2, 6, 5, 7] [1, 1, 1, 1] : tensor<2x12x5x7xf32> to tensor<2x6x5x7xf32>
  %6 = tensor.extract_slice %4[0, 6, 0, 0] [2, 6, 5, 7] [1, 1, 1, 1] : tensor<2x12x5x7xf32> to tensor<2x6x5x7xf32>
  return %5, %6 : tensor<2x6x5x7xf32>, tensor<2x6x5x7xf32>
}

// -----

// What is done to each element of a concatenation is done to the parts, in their
// places.

// CHECK-LABEL: func @rotary(
// CHECK-NOT:     tensor.concat
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:           arith.negf
// CHECK:           arith.addf
// CHECK:         tensor.insert_slice %[[FIRST]] into %{{.*}}[0, 0] [4, 8]
// CHECK:         %[[SECOND:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
// CHECK-NOT:       arith.negf
// CHECK:           arith.addf
// CHECK:         tensor.insert_slice %[[SECOND]] into %{{.*}}[0, 8] [4, 8]
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @rotary(%x: tensor<4x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %a = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %b = tensor.extract_slice %x[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %n = arith.negf %b : tensor<4x8xf32>
  %t = tensor.concat dim(1) %n, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %p = arith.mulf %x, %c : tensor<4x16xf32>
  %r = arith.addf %p, %t : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// A slice that does not take whole steps stays where it is, and so does one of
// what is read as a whole as well.

// CHECK-LABEL: func @uneven(
// CHECK:         tensor.collapse_shape
// CHECK:         tensor.extract_slice %{{.*}}[1, 0] [5, 4] [1, 1] : tensor<6x4xf32> to tensor<5x4xf32>
func.func @uneven(%x: tensor<3x2x4xf32>) -> tensor<5x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x2x4xf32> into tensor<6x4xf32>
  %1 = tensor.extract_slice %0[1, 0] [5, 4] [1, 1] : tensor<6x4xf32> to tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}

// -----

// Tensors that are stacked are made in their places, whatever the whole looks
// like afterwards.

// CHECK-LABEL: func @stack(
// CHECK:         %[[WHOLE:.*]] = bufferization.alloc_tensor() : tensor<4x16xf32>
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK:         %[[PLACE:.*]] = tensor.extract_slice %[[WHOLE]][0, 0] [4, 8]
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} outs(%[[PLACE]] : tensor<4x8xf32>)
// CHECK:           math.exp
// CHECK:         tensor.insert_slice %[[FIRST]] into %[[WHOLE]][0, 0]
// CHECK:         %[[SECOND:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:           arith.negf
// CHECK:         %[[BOTH:.*]] = tensor.insert_slice %[[SECOND]] into %{{.*}}[0, 8]
// CHECK-NOT:     linalg.generic
// CHECK:         %[[STACK:.*]] = tensor.expand_shape %[[BOTH]] {{\[\[}}0], [1, 2]] output_shape [4, 2, 8]
// CHECK:         return %[[STACK]]
func.func @stack(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x2x8xf32> {
  %a = math.exp %x : tensor<4x8xf32>
  %b = arith.negf %y : tensor<4x8xf32>
  %0 = tensor.concat dim(1) %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [4, 2, 8] : tensor<4x16xf32> into tensor<4x2x8xf32>
  return %1 : tensor<4x2x8xf32>
}
