// Where results need rows, a vector is one: units multiply matrices.
//
// RUN: chimera-opt %s --chimera-form-chains=target=h200 --canonicalize | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains=target=zen5 --canonicalize | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: func @vector
// CHECK-SAME:      %[[X:.*]]: tensor<1x64xf16>, %[[W:.*]]: tensor<64x96xf16>, %[[V:.*]]: tensor<96x48xf16>)
// CHECK-NEXT:    %[[CHAIN:.*]] = chimera.chain ins(%[[X]], %[[W]], %[[V]] : tensor<1x64xf16>, tensor<64x96xf16>, tensor<96x48xf16>)
// CHECK:         linalg.generic {{.*}} ["parallel", "parallel", "reduction"]
// CHECK:         -> tensor<1x96xf32>
// CHECK:         linalg.generic {{.*}} ["parallel", "parallel"]
// CHECK:         -> tensor<1x96xf16>
// CHECK:         linalg.generic {{.*}} ["parallel", "parallel", "reduction"]
// CHECK:         } -> tensor<1x48xf32>
// CHECK:         return %[[CHAIN]]
// CPU-LABEL:   func @vector
// CPU:           chimera.chain {{.*}}tensor<64xf16>
func.func @vector(%x: tensor<1x64xf16>, %w: tensor<64x96xf16>, %v: tensor<96x48xf16>) -> tensor<1x48xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x96xf32>) -> tensor<1x96xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<1x64xf16>, tensor<64x96xf16>) outs(%1 : tensor<1x96xf32>) -> tensor<1x96xf32>
  %3 = tensor.empty() : tensor<1x96xf16>
  %4 = linalg.generic {indexing_maps = [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m, l)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<1x96xf32>) outs(%3 : tensor<1x96xf16>) {
  ^bb0(%a: f32, %out: f16):
    %8 = arith.truncf %a : f32 to f16
    linalg.yield %8 : f16
  } -> tensor<1x96xf16>
  %5 = tensor.empty() : tensor<1x48xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<1x48xf32>) -> tensor<1x48xf32>
  %7 = linalg.matmul ins(%4, %v : tensor<1x96xf16>, tensor<96x48xf16>) outs(%6 : tensor<1x48xf32>) -> tensor<1x48xf32>
  return %7 : tensor<1x48xf32>
}

// An argument without rows gets one by a reshape.

// CHECK-LABEL: func @plain
// CHECK:         %[[ROW:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, 64]
// CHECK:         chimera.chain ins(%[[ROW]], {{.*}} : tensor<1x64xf16>, tensor<64x96xf16>)
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<1x96xf32> into tensor<96xf32>
func.func @plain(%x: tensor<64xf16>, %w: tensor<64x96xf16>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<96xf32>) -> tensor<96xf32>
  %2 = linalg.vecmat ins(%x, %w : tensor<64xf16>, tensor<64x96xf16>) outs(%1 : tensor<96xf32>) -> tensor<96xf32>
  return %2 : tensor<96xf32>
}
