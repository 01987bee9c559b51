// Concatenations with parts that have no elements, as a cache has before the
// first token.

// RUN: chimera-run %s '--entry=*' --threads=1 | FileCheck %s
// CHECK:      passed last
// CHECK-NEXT: passed first
// CHECK-NEXT: passed forgotten

#id = affine_map<(i, j) -> (i, j)>
func.func @last(%a: tensor<2x8xf32>, %b: tensor<0x8xf32>) -> tensor<2x8xf32> {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2x8xf32>) outs(%empty : tensor<2x8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %one : f32
    linalg.yield %y : f32
  } -> tensor<2x8xf32>
  %1 = tensor.concat dim(0) %0, %b
      : (tensor<2x8xf32>, tensor<0x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

func.func @first(%a: tensor<0x8xf32>, %b: tensor<2x8xf32>, %c: tensor<3x8xf32>)
    -> tensor<5x8xf32> {
  %0 = tensor.concat dim(0) %a, %b, %c
      : (tensor<0x8xf32>, tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// How large the parts are was forgotten on the way.
func.func @forgotten(%a: tensor<3x1x3xf32>) -> tensor<3x1x3xf32> {
  %0 = tensor.cast %a : tensor<3x1x3xf32> to tensor<3x?x3xf32>
  %1 = tensor.extract_slice %a[0, 0, 0] [3, 0, 3] [1, 1, 1]
      : tensor<3x1x3xf32> to tensor<3x0x3xf32>
  %2 = tensor.cast %1 : tensor<3x0x3xf32> to tensor<3x?x3xf32>
  %3 = tensor.concat dim(1) %0, %2
      : (tensor<3x?x3xf32>, tensor<3x?x3xf32>) -> tensor<3x1x3xf32>
  return %3 : tensor<3x1x3xf32>
}
