// RUN: chimera-opt %s --chimera-schedule="target=zen5 exhaustive=true" -o /dev/null
// RUN: chimera-opt %s --chimera-schedule=target=a100 | FileCheck %s
// RUN: chimera-opt %s --chimera-schedule=target=a100 --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --chimera-schedule=target=a100 --chimera-report=%t.json -o /dev/null && FileCheck %s --check-prefix=JSON < %t.json

// A chain may be fused in part: the first two operators share enough, and the
// third, which is wider, would leave most cores idle if it had to join them. The
// kernels are chains of their own, each with a schedule.

// CHECK-LABEL: func @f
// CHECK:         %[[FIRST:.*]] = chimera.chain ins(%arg0, %arg1, %arg2 :
// CHECK-SAME:      plan(<fused, "part of a longer chain", operators = 2,
// CHECK-COUNT-2:   linalg.matmul
// CHECK:           chimera.yield
// CHECK:         %[[SECOND:.*]] = chimera.chain ins(%[[FIRST]], %arg3 :
// CHECK-SAME:      plan(<split, "{{[^"]+}}", operators = 1,
// CHECK-COUNT-1:   linalg.matmul
// CHECK:           chimera.yield
// CHECK:         return %[[SECOND]]

// REMARK:      remark: [Missed] split | Category:chimera
// REMARK-SAME:   operators run as 2 kernels, gemm0 > gemm1 | gemm2, in {{[0-9.]+}} us:
// REMARK-SAME:   fused {{[0-9.]+}} us, unfused {{[0-9.]+}} us
// REMARK:      remark: [Analysis] bound
// REMARK-SAME:   L2:

// JSON:       "verdict": "partly fused"
// JSON:       "kernels": [
// JSON:         "operators": [
// JSON-NEXT:      "gemm0",
// JSON-NEXT:      "gemm1"
// JSON-NEXT:    ],
// JSON:         "operators": [
// JSON-NEXT:      "gemm2"
// JSON-NEXT:    ],
// JSON:       "alternative": [
// JSON:         "gemm0",
// JSON-NEXT:    "gemm1",
// JSON-NEXT:    "gemm2"

func.func @f(%a0: tensor<512x64xf32>, %a1: tensor<64x512xf32>, %a2: tensor<512x64xf32>, %a3: tensor<64x8192xf32>) -> tensor<512x8192xf32> {
  %r = chimera.chain ins(%a0, %a1, %a2, %a3 : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>, tensor<64x8192xf32>) {
  ^bb0(%b0: tensor<512x64xf32>, %b1: tensor<64x512xf32>, %b2: tensor<512x64xf32>, %b3: tensor<64x8192xf32>):
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<512x512xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %c0 = linalg.matmul ins(%b0, %b1 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%z0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %e1 = tensor.empty() : tensor<512x64xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %c1 = linalg.matmul ins(%c0, %b2 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%z1 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %e2 = tensor.empty() : tensor<512x8192xf32>
    %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<512x8192xf32>) -> tensor<512x8192xf32>
    %c2 = linalg.matmul ins(%c1, %b3 : tensor<512x64xf32>, tensor<64x8192xf32>) outs(%z2 : tensor<512x8192xf32>) -> tensor<512x8192xf32>
    chimera.yield %c2 : tensor<512x8192xf32>
  } -> tensor<512x8192xf32>
  return %r : tensor<512x8192xf32>
}
