// RUN: chimera-opt %s --chimera-join-transposes --split-input-file | FileCheck %s

// The pixels of a plane are a row. Back from channels last they are columns.

// CHECK-LABEL: func @images(
// CHECK-SAME:      %[[X:.*]]: tensor<1x8x9x10xf32>
// CHECK:         %[[PLANES:.*]] = tensor.collapse_shape %[[X]] {{\[}}[0], [1], [2, 3]] : tensor<1x8x9x10xf32> into tensor<1x8x90xf32>
// CHECK:         %[[PIXELS:.*]] = linalg.transpose ins(%[[PLANES]] : {{.*}}) outs({{.*}} : tensor<1x90x8xf32>) permutation = [0, 2, 1]
// CHECK:         %[[LAST:.*]] = tensor.expand_shape %[[PIXELS]] {{\[}}[0], [1, 2], [3]] output_shape [1, 9, 10, 8]
// CHECK:         %[[USED:.*]] = linalg.exp ins(%[[LAST]]
// CHECK:         %[[MATRIX:.*]] = tensor.collapse_shape %[[USED]] {{\[}}[0], [1, 2], [3]] : tensor<1x9x10x8xf32> into tensor<1x90x8xf32>
// CHECK:         %[[BACK:.*]] = linalg.transpose ins(%[[MATRIX]] : {{.*}}) outs({{.*}} : tensor<1x8x90xf32>) permutation = [0, 2, 1]
// CHECK:         %[[GIVEN:.*]] = tensor.expand_shape %[[BACK]] {{\[}}[0], [1], [2, 3]] output_shape [1, 8, 9, 10]
// CHECK:         return %[[GIVEN]]
func.func @images(%x: tensor<1x8x9x10xf32>) -> tensor<1x8x9x10xf32> {
  %0 = tensor.empty() : tensor<1x9x10x8xf32>
  %1 = linalg.transpose ins(%x : tensor<1x8x9x10xf32>) outs(%0 : tensor<1x9x10x8xf32>) permutation = [0, 2, 3, 1]
  %2 = linalg.exp ins(%1 : tensor<1x9x10x8xf32>) outs(%0 : tensor<1x9x10x8xf32>) -> tensor<1x9x10x8xf32>
  %3 = tensor.empty() : tensor<1x8x9x10xf32>
  %4 = linalg.transpose ins(%2 : tensor<1x9x10x8xf32>) outs(%3 : tensor<1x8x9x10xf32>) permutation = [0, 3, 1, 2]
  return %4 : tensor<1x8x9x10xf32>
}

// -----

// Volumes, and channels in groups: runs of three dimensions and of two.

// CHECK-LABEL: func @runs(
// CHECK:         linalg.transpose ins({{.*}} : tensor<2x15x210xf32>) outs({{.*}} : tensor<2x210x15xf32>) permutation = [0, 2, 1]
func.func @runs(%x: tensor<2x3x5x5x6x7xf32>) -> tensor<2x5x6x7x3x5xf32> {
  %0 = tensor.empty() : tensor<2x5x6x7x3x5xf32>
  %1 = linalg.transpose ins(%x : tensor<2x3x5x5x6x7xf32>) outs(%0 : tensor<2x5x6x7x3x5xf32>) permutation = [0, 3, 4, 5, 1, 2]
  return %1 : tensor<2x5x6x7x3x5xf32>
}

// -----

// Rows that stay rows, runs that make none longer, sizes that are not known,
// constants, and what is written into a larger tensor are left alone.

// CHECK-LABEL: func @others(
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         return
func.func @others(%windows: tensor<2x3x4x5x6xf32>, %heads: tensor<2x3x4x5xf32>, %open: tensor<1x8x?x9xf32>,
                  %filter: tensor<16x8x3x3xf32> {chimera.constant}, %image: tensor<1x8x9x9xf32>, %size: index)
    -> (tensor<2x4x3x5x6xf32>, tensor<2x3x5x4xf32>, tensor<1x?x9x8xf32>, tensor<3x3x8x16xf32>, tensor<1x11x11x8xf32>) {
  %0 = tensor.empty() : tensor<2x4x3x5x6xf32>
  %1 = linalg.transpose ins(%windows : tensor<2x3x4x5x6xf32>) outs(%0 : tensor<2x4x3x5x6xf32>) permutation = [0, 2, 1, 3, 4]
  %2 = tensor.empty() : tensor<2x3x5x4xf32>
  %3 = linalg.transpose ins(%heads : tensor<2x3x4x5xf32>) outs(%2 : tensor<2x3x5x4xf32>) permutation = [0, 1, 3, 2]
  %4 = tensor.empty(%size) : tensor<1x?x9x8xf32>
  %5 = linalg.transpose ins(%open : tensor<1x8x?x9xf32>) outs(%4 : tensor<1x?x9x8xf32>) permutation = [0, 2, 3, 1]
  %6 = tensor.empty() : tensor<3x3x8x16xf32>
  %7 = linalg.transpose ins(%filter : tensor<16x8x3x3xf32>) outs(%6 : tensor<3x3x8x16xf32>) permutation = [2, 3, 1, 0]
  %8 = tensor.empty() : tensor<1x9x9x8xf32>
  %9 = linalg.transpose ins(%image : tensor<1x8x9x9xf32>) outs(%8 : tensor<1x9x9x8xf32>) permutation = [0, 2, 3, 1]
  %zero = arith.constant 0.0 : f32
  %10 = tensor.pad %9 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x9x9x8xf32> to tensor<1x11x11x8xf32>
  return %1, %3, %5, %7, %10 : tensor<2x4x3x5x6xf32>, tensor<2x3x5x4xf32>, tensor<1x?x9x8xf32>, tensor<3x3x8x16xf32>, tensor<1x11x11x8xf32>
}
