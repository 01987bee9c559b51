// `rank=N` takes the Nth runner-up in the place of the best plan of a chain
// that runs as one kernel.

// RUN: chimera-opt %s --chimera-form-chains \
// RUN:   --chimera-schedule="target=zen5 threads=1 fuse=always" \
// RUN:   --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=BEST
// RUN: chimera-opt %s --chimera-form-chains \
// RUN:   --chimera-schedule="target=zen5 threads=1 fuse=always rank=1" \
// RUN:   --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=NEXT
// RUN: chimera-opt %s --chimera-form-chains \
// RUN:   --chimera-schedule="target=zen5 threads=1 fuse=always rank=99" \
// RUN:   --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=FEWER

// BEST: runner-up {{.*}} us, +{{[0-9.]+}} %"
// The best plan is listed in the place of the one that is taken.
// NEXT: runner-up {{.*}} us, -{{[0-9.]+}} %"
// FEWER: [Missed] rank {{.*}}there are {{[0-9]+}} plans besides the best, which is kept
// FEWER: runner-up {{.*}} us, +{{[0-9.]+}} %"

func.func @chain(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>,
                 %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<512x512xf32>
  %c0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>)
                     outs(%c0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %e1 = tensor.empty() : tensor<512x64xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %o = linalg.matmul ins(%c, %d : tensor<512x512xf32>, tensor<512x64xf32>)
                     outs(%o0 : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %o : tensor<512x64xf32>
}
