// Which types code is generated from is for the micro kernels to say: those of the
// target, and those that the program brings.
//
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=zen5 compiled-only" | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=granite-rapids compiled-only" | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=h200 compiled-only" | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=ascend910 compiled-only" | FileCheck %s --check-prefix=NPU
// RUN: chimera-opt %s --split-input-file --chimera-form-chains=target=h200 --chimera-put-back-chains=target=ascend910 --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=NPU-TEXT
// RUN: chimera-opt %s --split-input-file --chimera-form-chains=target=h200 --chimera-put-back-chains=target=ascend910 | FileCheck %s --check-prefix=BACK
// RUN: chimera-opt %s --split-input-file --chimera-planning-pipeline=target=avx2 | FileCheck %s --check-prefix=PLAN
// RUN: not chimera-opt %s --split-input-file --chimera-form-chains=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not chimera-opt %s --split-input-file --chimera-put-back-chains=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: unknown target 'pentium'; known are host

// NPU-TEXT: no code is generated from the chain: the target has no micro kernels for the types of its numbers; products can be of f32, f16

// f32 needs no kernel. Those of x86 take all types.
// CHECK-LABEL: func.func @own(
// CHECK: chimera.chain ins(%{{.*}} : tensor<64x64xf32>)
// CHECK: chimera.chain ins(%{{.*}} : tensor<64x64xf16>)
// CHECK: chimera.chain ins(%{{.*}} : tensor<64x64xbf16>)
// CHECK: return

// BACK-LABEL: func.func @own(
// BACK-COUNT-2: chimera.chain
// BACK-NOT: chimera.chain
// BACK: linalg.generic {{.*}} ins({{.*}}xbf16>)
// BACK-NOT: chimera.chain
// BACK: return

// GPU-LABEL: func.func @own(
// GPU-COUNT-3: chimera.chain
// NPU-LABEL: func.func @own(
// NPU: chimera.chain ins(%{{.*}} : tensor<64x64xf32>)
// NPU: chimera.chain ins(%{{.*}} : tensor<64x64xf16>)
// NPU: linalg.matmul ins({{.*}}xbf16>)
// NPU: return
func.func @own(%a: tensor<64x64xf32>, %b: tensor<64x64xf16>, %c: tensor<64x64xbf16>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = linalg.matmul ins(%b, %b : tensor<64x64xf16>, tensor<64x64xf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = linalg.matmul ins(%c, %c : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2, %3, %4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// With a kernel of the program's own, bf16 has code where the target has no unit
// for it, and a plan on the tile that the kernel offers if that is cheaper.
// NPU-LABEL: func.func @brought(
// NPU: chimera.chain ins(%{{.*}} : tensor<64x64xbf16>)
// NPU: arith.truncf %{{.*}} : f32 to bf16
// NPU: chimera.yield %{{.*}} : tensor<64x64xbf16>
// NPU: chimera.chain ins(%{{.*}} : tensor<64x64xbf16>)
// PLAN-LABEL: func.func @brought(
// PLAN: chimera.chain ins(
// PLAN-SAME: registers = <rows = 4, vectors = 2, broadcasts = 0, depth = 1, kernel = "kernel">
#map = affine_map<(i, j) -> (i, j)>
#kernel = #chimera.function_kernel<@kernel, <contraction, types = [bf16, bf16, f32], shape = 4x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 2.0 : f64>>
module attributes {chimera.micro_kernels = [#kernel]} {
func.func @brought(%a: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%a, %a : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tensor.empty() : tensor<64x64xbf16>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<64x64xf32>) outs(%3 : tensor<64x64xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %n = arith.truncf %in : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<64x64xbf16>
  %5 = linalg.matmul ins(%a, %a : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = tensor.empty() : tensor<64x64xf16>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%5 : tensor<64x64xf32>) outs(%6 : tensor<64x64xf16>) {
  ^bb0(%in: f32, %out: f16):
    %n = arith.truncf %in : f32 to f16
    linalg.yield %n : f16
  } -> tensor<64x64xf16>
  return %4, %7 : tensor<64x64xbf16>, tensor<64x64xf16>
}
}
