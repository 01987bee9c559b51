// RUN: chimera-opt %s --chimera-form-chains="target=zen3 compiled-only" --chimera-schedule="target=zen3 threads=1" | FileCheck %s

// Tiles of columns that divide each other, so that weights are prepacked, and
// their scales; the groups that share a scale are not cut.
// CHECK: schedule(<levels = [<"L3" : k = 64>, <"L2" : n = 176>, <"L1" : n = 88, k = 4>]
// CHECK-SAME: prepacked = [1, 2], extents = [n = 4096, k = 128, k1 = 32]
func.func @decode(%x: tensor<128x32xf32>, %w: tensor<128x32x4096xi8> {chimera.constant},
                  %s: tensor<128x4096xf32> {chimera.constant}) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, g, k) -> (g, k)>, affine_map<(n, g, k) -> (g, k, n)>,
                                        affine_map<(n, g, k) -> (g, n)>, affine_map<(n, g, k) -> (n)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %w, %s : tensor<128x32xf32>, tensor<128x32x4096xi8>, tensor<128x4096xf32>) outs(%i : tensor<4096xf32>) {
  ^bb0(%a: f32, %code: i8, %scale: f32, %sum: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.mulf %0, %scale : f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}
