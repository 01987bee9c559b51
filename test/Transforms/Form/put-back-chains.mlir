// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1" --chimera-report=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: chimera-opt %s --chimera-form-chains --chimera-put-back-chains --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --chimera-form-chains --chimera-put-back-chains | FileCheck %s --check-prefix=BACK

// Convolutions of which some windows lie in padding altogether are planned
// together and compiled one by one. What is put back says why.

// REMARK: remark: [Missed] not-lowered
// REMARK-SAME: no code is generated from the chain: a window on an intermediate lies in padding altogether

// CHECK-LABEL: func.func @both(
// CHECK-COUNT-3: chimera.chain {{.*}} schedule(<
// CHECK-NOT:     chimera.chain
// BACK-LABEL: func.func @both(
// BACK-COUNT-2: linalg.conv_2d_nhwc_hwcf
// BACK:         chimera.chain
// REPORT:     "function": "both"
// REPORT:     "obstacle": "a window on an intermediate lies in padding altogether
// REPORT:     "function": "both"
func.func @both(%x: tensor<1x34x34x16xf32>, %k: tensor<3x3x16x32xf32>, %l: tensor<3x3x32x16xf32>,
                %a: tensor<64x512xf32>, %b: tensor<512x64xf32>, %c: tensor<64x512xf32>)
    -> (tensor<1x36x36x16xf32>, tensor<64x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x32x32x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x34x34x16xf32>, tensor<3x3x16x32xf32>) outs(%1 : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
  %padded = tensor.pad %2 low[0, 3, 3, 0] high[0, 3, 3, 0] {
  ^bb0(%n: index, %h: index, %w: index, %f: index):
    tensor.yield %zero : f32
  } : tensor<1x32x32x32xf32> to tensor<1x38x38x32xf32>
  %3 = tensor.empty() : tensor<1x36x36x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<1x36x36x16xf32>) -> tensor<1x36x36x16xf32>
  %5 = linalg.conv_2d_nhwc_hwcf ins(%padded, %l : tensor<1x38x38x32xf32>, tensor<3x3x32x16xf32>) outs(%4 : tensor<1x36x36x16xf32>) -> tensor<1x36x36x16xf32>
  %6 = tensor.empty() : tensor<64x64xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %8 = linalg.matmul ins(%a, %b : tensor<64x512xf32>, tensor<512x64xf32>) outs(%7 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = tensor.empty() : tensor<64x512xf32>
  %10 = linalg.fill ins(%zero : f32) outs(%9 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %11 = linalg.matmul ins(%8, %c : tensor<64x64xf32>, tensor<64x512xf32>) outs(%10 : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %5, %11 : tensor<1x36x36x16xf32>, tensor<64x512xf32>
}

// Products whose chain has no code come back and are chains by themselves.

// CHECK-LABEL: func.func @residual(
// CHECK-COUNT-2: chimera.chain
// BACK-LABEL: func.func @residual(
// BACK-NOT:     chimera.chain
func.func @residual(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = linalg.matmul ins(%2, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}
