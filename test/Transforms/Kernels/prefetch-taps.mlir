// RUN: chimera-opt %s --chimera-tile --chimera-prepare-constants --canonicalize --cse --chimera-map-micro-kernels=target=zen5 | FileCheck %s

// Tiles of taps are smaller at the border of an image, but what the kernels ask
// for while they compute one row of pixels is a share of the next channels'
// filter, and not the next row's taps, which are there already.

#image = affine_map<(h, w, f, r, s, c) -> (h + r, w + s, c)>
#filter = affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>
#result = affine_map<(h, w, f, r, s, c) -> (h, w, f)>
// CHECK-LABEL: func @rows(
// CHECK: scf.for %[[C:.*]] = %c0 to %c64 step %c16
// CHECK:   %[[NEXT:.*]] = arith.select
// CHECK:   %[[FILTER:.*]] = tensor.extract_slice %{{.*}}[0, 0, %[[NEXT]], 0] [3, 3, 16, 16]
// CHECK:   scf.for %[[H:.*]] = %c0 to %c8 step %c1
// CHECK:     %[[SHARE:.*]] = tensor.extract_slice %[[FILTER]][0, 0, %{{.*}}, 0] [3, 3, %{{.*}}, 16]
// CHECK:     chimera.prefetch %[[SHARE]] within [3, 3, 2, 16]
func.func @rows(%x: tensor<8x8x64xf32>, %w: tensor<3x3x64x32xf32> {chimera.constant}) -> tensor<8x8x32xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<8x8x64xf32>, tensor<3x3x64x32xf32>)
      schedule(<levels = [<"L1" : n = 16, k = 16, h = 1>], parallel = 0,
                registers = <rows = 8, vectors = 1, broadcasts = 1, depth = 4>, prepacked = [1],
                blocks = <rows <line = 64, apart = 4> prefetch <part = 104857, loops = fixed>>>) {
  ^bb0(%x0: tensor<8x8x64xf32>, %w0: tensor<3x3x64x32xf32>):
    %zero = arith.constant 0.0 : f32
    %padded = tensor.pad %x0 low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<8x8x64xf32> to tensor<10x10x64xf32>
    %e = tensor.empty() : tensor<8x8x32xf32>
    %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8x32xf32>) -> tensor<8x8x32xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%padded, %w0 : tensor<10x10x64xf32>, tensor<3x3x64x32xf32>) outs(%s : tensor<8x8x32xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<8x8x32xf32>
    chimera.yield %1 : tensor<8x8x32xf32>
  } -> tensor<8x8x32xf32>
  return %0 : tensor<8x8x32xf32>
}
