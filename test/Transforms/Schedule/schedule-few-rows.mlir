// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule=target=h200 | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule=target=a100 | FileCheck %s

// One query for each of 32 heads makes 32 blocks: too few for 132 cores, or 108. The keys
// are cut, too, and each block goes over its part in tiles.

// CHECK-LABEL: func @decode
// CHECK:         levels = [<"L2" : b = 1, l = {{[0-9]+}}>, <"SMEM" : l = {{[0-9]+}}>], parallel = 2
func.func @decode(%q: tensor<32x1x128xf16>, %k: tensor<32x8192x128xf16>, %v: tensor<32x8192x128xf16>) -> tensor<32x1x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32x1x8192xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<32x1x8192xf32>) -> tensor<32x1x8192xf32>
  %2 = linalg.batch_matmul indexing_maps = [
      affine_map<(h, m, l, k) -> (h, m, k)>, affine_map<(h, m, l, k) -> (h, l, k)>,
      affine_map<(h, m, l, k) -> (h, m, l)>]
      ins(%q, %k : tensor<32x1x128xf16>, tensor<32x8192x128xf16>) outs(%1 : tensor<32x1x8192xf32>) -> tensor<32x1x8192xf32>
  %3 = linalg.softmax dimension(2) ins(%2 : tensor<32x1x8192xf32>) outs(%0 : tensor<32x1x8192xf32>) -> tensor<32x1x8192xf32>
  %4 = tensor.empty() : tensor<32x1x8192xf16>
  %5 = linalg.generic {indexing_maps = [affine_map<(h, m, l) -> (h, m, l)>, affine_map<(h, m, l) -> (h, m, l)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%3 : tensor<32x1x8192xf32>) outs(%4 : tensor<32x1x8192xf16>) {
  ^bb0(%x: f32, %out: f16):
    %9 = arith.truncf %x : f32 to f16
    linalg.yield %9 : f16
  } -> tensor<32x1x8192xf16>
  %6 = tensor.empty() : tensor<32x1x128xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<32x1x128xf32>) -> tensor<32x1x128xf32>
  %8 = linalg.batch_matmul ins(%5, %v : tensor<32x1x8192xf16>, tensor<32x8192x128xf16>) outs(%7 : tensor<32x1x128xf32>) -> tensor<32x1x128xf32>
  return %8 : tensor<32x1x128xf32>
}
