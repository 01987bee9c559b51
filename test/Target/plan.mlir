// Plans can be made for machines that no code is generated for: blocks then keep
// their naive semantics.
//
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=a100 | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=h100 | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=h200 | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=ascend910 | FileCheck %s --check-prefix=NPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=ascend910b | FileCheck %s --check-prefix=NPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule=target=a100 --chimera-tile --chimera-map-micro-kernels=target=a100 | FileCheck %s --check-prefix=NAIVE

// GPU: schedule(<levels = [<"L2"{{.*}}>, <"SMEM"
// NPU: schedule(<levels = [<"L2"{{.*}}>, <"L1"
// NAIVE: chimera.micro_kernel
// NAIVE-NOT: outer_product
func.func @f(%a: tensor<256x64xf32>, %b: tensor<64x128xf32>,
             %d: tensor<128x64xf32>) -> tensor<256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<256x128xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<256x128xf32>) -> tensor<256x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x128xf32>)
      outs(%c1 : tensor<256x128xf32>) -> tensor<256x128xf32>
  %e0 = tensor.empty() : tensor<256x64xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %e = linalg.matmul ins(%c, %d : tensor<256x128xf32>, tensor<128x64xf32>)
      outs(%e1 : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %e : tensor<256x64xf32>
}
