// RUN: chimera-opt %s --chimera-partition="target=zen5 threads=1 print-gir" -o /dev/null 2>&1 | FileCheck %s

// The root and the division are the same for all elements of a row, so they are
// no part of what an element takes. A number that depends on the column differs
// within a vector.

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK: reduce add
// CHECK: elementwise {{.*}} instructions 2 exponentials 1
func.func @norm(%x: tensor<64x256xf32>, %c: tensor<256xf32>) -> tensor<64x256xf32> {
  %e = tensor.empty() : tensor<64x256xf32>
  %zero = arith.constant 0.0 : f32
  %es = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%es : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x256xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %b, %a : f32
    linalg.yield %add : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#map, #row, #column, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %c : tensor<64x256xf32>, tensor<64xf32>, tensor<256xf32>) outs(%e : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %out: f32):
    %length = arith.constant 256.0 : f32
    %mean = arith.divf %b, %length : f32
    %root = math.rsqrt %mean : f32
    %scaled = arith.mulf %a, %root : f32
    %wave = math.exp %d : f32
    %all = arith.mulf %scaled, %wave : f32
    linalg.yield %all : f32
  } -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
