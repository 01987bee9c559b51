// RUN: chimera-opt %s -canonicalize | FileCheck %s

// The smaller of a value and itself is the value, and a block that computes it
// is no block.
// CHECK-LABEL: func.func @itself
// CHECK-SAME: (%[[A:.*]]: tensor<8x16xf32>)
// CHECK-NEXT: return %[[A]]
func.func @itself(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "op" outs(%a : tensor<8x16xf32>) {
  ^bb0(%inner: tensor<8x16xf32>):
    %1 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]} outs(%inner : tensor<8x16xf32>) {
    ^bb0(%out: f32):
      %2 = arith.cmpf olt, %out, %out : f32
      %3 = arith.select %2, %out, %out : f32
      linalg.yield %3 : f32
    } -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// A copy is its input, with what is known of its shape.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: (%[[A:.*]]: tensor<?x16xf32>,
// CHECK-NEXT: %[[CAST:.*]] = tensor.cast %[[A]] : tensor<?x16xf32> to tensor<8x16xf32>
// CHECK-NEXT: return %[[CAST]]
func.func @copy(%a: tensor<?x16xf32>, %b: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "op" ins(%a : tensor<?x16xf32>) outs(%b : tensor<8x16xf32>) {
  ^bb0(%in: tensor<?x16xf32>, %out: tensor<8x16xf32>):
    %1 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                         affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%in : tensor<?x16xf32>) outs(%out : tensor<8x16xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// What computes something stays.
// CHECK-LABEL: func.func @zero
// CHECK: chimera.block
// CHECK: linalg.fill
func.func @zero(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "op" outs(%a : tensor<8x16xf32>) {
  ^bb0(%inner: tensor<8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %1 = linalg.fill ins(%zero : f32) outs(%inner : tensor<8x16xf32>) -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
