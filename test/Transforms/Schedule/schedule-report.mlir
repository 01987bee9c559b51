// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1" --chimera-report=- -o /dev/null | FileCheck %s
// RUN: chimera-opt %s --chimera-planning-pipeline="target=zen5 threads=1" --chimera-report=%t.json -o /dev/null && FileCheck %s --check-prefix=JSON < %t.json
// RUN: chimera-opt %s --chimera-planning-pipeline="target=a100" --chimera-report=- -o /dev/null | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --chimera-planning-pipeline="target=avx2 threads=1" --chimera-report=- --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=AVX2

// Every chain that is planned is in the report, in the order of the source.

// CHECK:      | chain | operators     | verdict |
// CHECK-NEXT: |--
// CHECK-NEXT: | 0     | gemm0 > gemm1 | fused   | {{[0-9.]+ .?s}} {{.*}} in @heads
// CHECK-NEXT: | 1     | gemm0 > gemm1 | {{.*}} in @few_rows
// CHECK-NEXT: | 2     | {{.*}} in @reshaped

// CHECK-LABEL: ## Chain 0: gemm0 > gemm1
// CHECK:       **fused**: the intermediate stays on chip: 20.0 MiB against 4.00 MiB into L3.
// CHECK:       - at {{.*}}schedule-report.mlir:[[#]]:8 in @heads
// CHECK:       - for zen5, f32, 1 thread
// CHECK:       Loops: b = 8, m = 512, l = 512, k = 64, n = 64.
// CHECK:       | gemm0 {{.*}}`mid0[b, m, l] += in0[b, m, k] * in1[b, k, l]`
// CHECK:       | mid0 {{.*}}| intermediate | 8 x 512 x 512 | 8.00 MiB
// CHECK:       ### Bytes moved into and out of each level
// CHECK:       | L3 {{.*}}| 4.00 MiB | 4.00 MiB {{.*}}| 20.0 MiB {{.*}}| 4.00 MiB | 1.00
// CHECK:       ### Roofline
// CHECK:       | L3 {{.*}}| this plan {{.*}}| 128.00
// CHECK:       | L3 {{.*}}| separate operators | 25.60
// CHECK:       ### Kernel gemm0 > gemm1
// CHECK:       for b by 1 of 8  (L3, parallel)
// CHECK:       {{^ *}}gemm0 b=1 m=[[#]] l=[[#]] k=64
// CHECK:       {{^ *}}gemm1 b=1
// CHECK:       Register tile: {{[0-9]+}} rows x {{[0-9]+}} vectors
// CHECK:       Predicted {{.*}}, limited by
// CHECK:       L1 alone, with tiles of any size (family: A and E stay):
// CHECK:       | closed form  | m by [[#]].
// CHECK-NEXT:  | rounded      | L1: b by 1, m by
// CHECK-NEXT:  | exact search | L1: b by 1, m by
// CHECK-NEXT:  | this plan    | L1: {{.*}} MiB
// CHECK:       Bytes by tensor:
// CHECK:       | mid0 {{.*}}| 0 B {{.*}}| 0 B
// CHECK:       What the levels hold while each operator runs:
// CHECK:       | L1 {{.*}}| gemm0 | {{.*}}mid0 {{[0-9.]+}} KiB
// CHECK:       ### Other loop orders
// CHECK:       | best
// CHECK:       | +{{[0-9.]+}} %
// CHECK:       ### Not chosen: separate operators

// What is not fused is explained in the same way.

// GPU-LABEL: ## Chain 1: gemm0 > gemm1
// GPU:       **split**: the shared loops make too few tasks: {{[0-9]+}} tasks against 108 tasks.
// GPU:       - for a100, f32, 108 threads
// GPU:       | {{.*}}| one kernel |
// GPU:       ### Kernel gemm0
// GPU:       ### Kernel gemm1
// GPU:       ### Not chosen: one kernel
// GPU:       Kernel gemm0 > gemm1:

// Chains that no code can be generated from are planned all the same.

// CHECK-LABEL: ## Chain 2:
// CHECK:       - for zen5, f32, 1 thread
// CHECK:       - no code can be generated yet:

// JSON:       "schema": "chimera-plans",
// JSON-NEXT:  "version": 1,
// JSON:       "function": "heads"
// JSON:       "verdict": "fused",
// JSON:       "figures": {
// JSON-NEXT:    "first": 20971520,
// JSON-NEXT:    "second": 4194304,
// JSON-NEXT:    "unit": "bytes",
// JSON-NEXT:    "level": "L3"
// JSON:       "unfused_seconds":
// JSON-NEXT:  "levels": [
// JSON:           "name": "L3",
// JSON-NEXT:      "bytes": 4194304,
// JSON-NEXT:      "fused_bytes": 4194304,
// JSON-NEXT:      "unfused_bytes": 20971520,
// JSON-NEXT:      "bound": {
// JSON-NEXT:        "bytes": 4194304,
// JSON:             "ratio": 1

// Where the target has no unit for the type, operators are left alone.

// AVX2: remark: [Missed] unfused | Category:chimera
// AVX2-SAME: operators left alone: target 'avx2' has no unit for i32
// AVX2: **unfused**: target 'avx2' has no unit for i32.

func.func @heads(%a: tensor<8x512x64xf32>, %b: tensor<8x64x512xf32>, %d: tensor<8x512x64xf32>) -> tensor<8x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %2 = linalg.batch_matmul ins(%a, %b : tensor<8x512x64xf32>, tensor<8x64x512xf32>) outs(%1 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %3 = tensor.empty() : tensor<8x512x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  %5 = linalg.batch_matmul ins(%2, %d : tensor<8x512x512xf32>, tensor<8x512x64xf32>) outs(%4 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  return %5 : tensor<8x512x64xf32>
}

func.func @few_rows(%a: tensor<64x2048xf32>, %b: tensor<2048x4096xf32>, %d: tensor<4096x4096xf32>) -> tensor<64x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x4096xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<64x2048xf32>, tensor<2048x4096xf32>) outs(%1 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %3 = linalg.matmul ins(%2, %d : tensor<64x4096xf32>, tensor<4096x4096xf32>) outs(%1 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %3 : tensor<64x4096xf32>
}

func.func @reshaped(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<8x64x16xf32>) -> tensor<8x512x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %heads = tensor.expand_shape %2 [[0], [1, 2]] output_shape [512, 8, 64] : tensor<512x512xf32> into tensor<512x8x64xf32>
  %3 = tensor.empty() : tensor<8x512x16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x512x16xf32>) -> tensor<8x512x16xf32>
  %5 = linalg.contract indexing_maps = [affine_map<(h, m, n, k) -> (m, h, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>]
      ins(%heads, %d : tensor<512x8x64xf32>, tensor<8x64x16xf32>) outs(%4 : tensor<8x512x16xf32>) -> tensor<8x512x16xf32>
  return %5 : tensor<8x512x16xf32>
}

func.func @integers(%a: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<64x64xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<64x64xi32>) -> tensor<64x64xi32>
  %2 = linalg.matmul ins(%a, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%1 : tensor<64x64xi32>) -> tensor<64x64xi32>
  %3 = linalg.matmul ins(%2, %a : tensor<64x64xi32>, tensor<64x64xi32>) outs(%1 : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %3 : tensor<64x64xi32>
}
