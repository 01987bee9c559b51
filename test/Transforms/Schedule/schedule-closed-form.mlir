// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 tiles=closed-form" | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 tiles=closed-form" --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 tiles=exact" -o %t.exact
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" | diff %t.exact -
// RUN: not chimera-opt %s --chimera-schedule="tiles=rounded" 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: rounded

// Two products have a form: in L1, columns of B and D stay, as whole vectors.

// CHECK-LABEL: func @pair
// CHECK:         chimera.chain
// CHECK-SAME:      <"L1" : l = 112, m = 18>
// CHECK-NOT:     chimera.chain
// REMARK-NOT:  no closed form
// REMARK:      remark: [Passed] fused
func.func @pair(%a: tensor<512x32xf32>, %b: tensor<32x512xf32>, %d: tensor<512x32xf32>) -> tensor<512x32xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<512x32xf32>, tensor<32x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = tensor.empty() : tensor<512x32xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x32xf32>) -> tensor<512x32xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<512x512xf32>, tensor<512x32xf32>) outs(%4 : tensor<512x32xf32>) -> tensor<512x32xf32>
  return %5 : tensor<512x32xf32>
}

// Three have none: the search plans them.

// CHECK-LABEL: func @triple
// CHECK:         chimera.chain
// REMARK:      remark: [Analysis] tiles
// REMARK-SAME:   no closed form for all operators together: orders and tiles of such kernels are searched
func.func @triple(%a: tensor<256x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>) -> tensor<256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = linalg.matmul ins(%2, %c : tensor<256x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %4 = linalg.matmul ins(%3, %d : tensor<256x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %4 : tensor<256x64xf32>
}
