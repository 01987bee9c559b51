// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1 fuse=never" | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1 fuse=always" | FileCheck %s --check-prefix=WHOLE

// A convolution in groups tells the groups of channels apart that a product in
// front of it makes. By itself the product has all channels in one row.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[MADE:.*]] = chimera.chain {{.*}} extents = [m = 7, m1 = 7, n = 400, k = 400]
// CHECK:           -> tensor<7x7x400xf32>
// CHECK:         %[[GROUPS:.*]] = tensor.expand_shape %[[MADE]] {{.*}} into tensor<7x7x25x16xf32>
// CHECK:         chimera.chain ins(%[[GROUPS]],

// WHOLE-LABEL: func.func @main(
// WHOLE:         chimera.chain {{.*}} m = 25, l = 16
// WHOLE-NOT:     chimera.chain
#left = affine_map<(y, x, g, n, k) -> (y, x, k)>
#right = affine_map<(y, x, g, n, k) -> (k, g, n)>
#sums = affine_map<(y, x, g, n, k) -> (y, x, g, n)>
#window = affine_map<(y, x, g, n, r, s, k) -> (y + r, x + s, g, k)>
#filter = affine_map<(y, x, g, n, r, s, k) -> (g, r, s, k, n)>
#result = affine_map<(y, x, g, n, r, s, k) -> (y, x, g, n)>
func.func @main(%x: tensor<7x7x400xf32>, %w: tensor<400x25x16xf32>, %f: tensor<25x3x3x16x16xf32>) -> tensor<5x5x25x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<7x7x25x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<7x7x25x16xf32>) -> tensor<7x7x25x16xf32>
  %2 = linalg.generic {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<7x7x400xf32>, tensor<400x25x16xf32>) outs(%1 : tensor<7x7x25x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<7x7x25x16xf32>
  %3 = tensor.empty() : tensor<5x5x25x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<5x5x25x16xf32>) -> tensor<5x5x25x16xf32>
  %5 = linalg.generic {indexing_maps = [#window, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%2, %f : tensor<7x7x25x16xf32>, tensor<25x3x3x16x16xf32>) outs(%4 : tensor<5x5x25x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x5x25x16xf32>
  return %5 : tensor<5x5x25x16xf32>
}
