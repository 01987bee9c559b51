// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=4 fuse=always" --chimera-report=- -o /dev/null | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen4 threads=4 fuse=always" --chimera-report=%t.html -o /dev/null && FileCheck %s --check-prefix=HTML < %t.html

// A report on convolutions: windows in the formulas, intermediates that roll,
// rows that each of four threads computes again, and the same drawings as for
// products.

// CHECK-LABEL: ## Chain 0: gemm0 > conv1 > gemm2
// CHECK:       | gemm0 {{.*}}`mid0[p, p1, l] += in0[p, p1, k] * in1[k, l]`
// CHECK:       | conv1 {{.*}}`mid1[h, h1, l] += mid0[h + r - 1, h1 + r1 - 1, l] * in2[r, r1, l]`
// CHECK:       ### Bytes moved into and out of each level
// CHECK:       | L3 {{.*}}| 113 KiB | 113 KiB {{.*}}| 113 KiB | 1.00
// CHECK:       ### Kernel gemm0 > conv1 > gemm2
// CHECK:       for h by 7 of 28  (L2, parallel)
// CHECK:       for h by 1 of 7  (L1)
// CHECK-NEXT:  {{^ *}}gemm0 p=3
// CHECK-NEXT:  {{^ *}}conv1 h=1
// CHECK-NEXT:  {{^ *}}gemm2 h=1
// CHECK:       rolling: mid0; 4 tasks.
// CHECK:       There are {{[0-9.]+}} % more multiply-adds than necessary, for parts that are computed again.
// CHECK:       What the levels hold while each operator runs:
// CHECK:       | L1 {{.*}}| conv1 | {{.*}}mid0 {{[0-9.]+}} KiB, in2

// HTML:     <title>Bytes moved at each level</title>
// HTML:     <title>Roofline</title>
// HTML:     <h3>Kernel gemm0 &gt; conv1 &gt; gemm2</h3>
// HTML:     <title>Live set of L3</title>
// HTML:     <title>Live set of L1</title>

func.func @inverted_residual(%x: tensor<1x28x28x16xf32>, %e: tensor<1x1x16x96xf32>, %d: tensor<3x3x96xf32>, %p: tensor<1x1x96x16xf32>) -> tensor<1x28x28x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x28x28x96xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %e : tensor<1x28x28x16xf32>, tensor<1x1x16x96xf32>) outs(%1 : tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  %3 = tensor.pad %2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %f: index):
    tensor.yield %zero : f32
  } : tensor<1x28x28x96xf32> to tensor<1x30x30x96xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  %5 = linalg.depthwise_conv_2d_nhwc_hwc ins(%3, %d : tensor<1x30x30x96xf32>, tensor<3x3x96xf32>) outs(%4 : tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  %6 = tensor.empty() : tensor<1x28x28x16xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
  %8 = linalg.conv_2d_nhwc_hwcf ins(%5, %p : tensor<1x28x28x96xf32>, tensor<1x1x96x16xf32>) outs(%7 : tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
  return %8 : tensor<1x28x28x16xf32>
}
