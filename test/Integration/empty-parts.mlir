// Concatenations with parts that have no elements, as a cache has before the
// first token.

// RUN: chimera-run %s '--entry=*' --threads=1 | FileCheck %s
// CHECK:      passed last
// CHECK-NEXT: passed first

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
