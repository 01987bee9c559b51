// RUN: chimera-opt %s --chimera-fold-dequantization=target=zen5 --chimera-form-chains="target=zen5 compiled-only" --chimera-schedule="target=zen5 threads=2" | FileCheck %s

// Words for one row are read from the first panel to the last, each as wide as
// what the kernel takes at once, with their scales. Many rows use each word
// often enough to read them in other ways.
// CHECK-LABEL: func.func @one(
// CHECK: schedule(<levels = [<"L3" : n = 128{{[^>]*}}>, <"L2"{{( : k = [0-9]+)?}}>, <"L1"{{( : k = [0-9]+)?}}>], parallel = 1
// CHECK-SAME: prepacked = [1, 2]
// CHECK-LABEL: func.func @many(
// CHECK-NOT: <"L3" : n = 128
// CHECK: return

#id = affine_map<(g, k, n) -> (g, k, n)>
#group = affine_map<(g, k, n) -> (g, n)>
func.func @one(%x: tensor<1x4096xf32>, %w: tensor<128x32x4096xi8> {chimera.constant},
               %s: tensor<128x4096xf32> {chimera.constant}) -> tensor<1x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x32x4096xf32>
  %d = linalg.generic {indexing_maps = [#id, #group, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %s : tensor<128x32x4096xi8>, tensor<128x4096xf32>) outs(%e : tensor<128x32x4096xf32>) {
  ^bb0(%code: i8, %scale: f32, %out: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<128x32x4096xf32>
  %f = tensor.collapse_shape %d [[0, 1], [2]] : tensor<128x32x4096xf32> into tensor<4096x4096xf32>
  %o = tensor.empty() : tensor<1x4096xf32>
  %i = linalg.fill ins(%zero : f32) outs(%o : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %y = linalg.matmul ins(%x, %f : tensor<1x4096xf32>, tensor<4096x4096xf32>) outs(%i : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %y : tensor<1x4096xf32>
}

func.func @many(%x: tensor<64x4096xf32>, %w: tensor<128x32x4096xi8> {chimera.constant},
                %s: tensor<128x4096xf32> {chimera.constant}) -> tensor<64x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x32x4096xf32>
  %d = linalg.generic {indexing_maps = [#id, #group, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %s : tensor<128x32x4096xi8>, tensor<128x4096xf32>) outs(%e : tensor<128x32x4096xf32>) {
  ^bb0(%code: i8, %scale: f32, %out: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<128x32x4096xf32>
  %f = tensor.collapse_shape %d [[0, 1], [2]] : tensor<128x32x4096xf32> into tensor<4096x4096xf32>
  %o = tensor.empty() : tensor<64x4096xf32>
  %i = linalg.fill ins(%zero : f32) outs(%o : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %y = linalg.matmul ins(%x, %f : tensor<64x4096xf32>, tensor<4096x4096xf32>) outs(%i : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %y : tensor<64x4096xf32>
}
