// One pipeline for all targets: which passes follow planning, the target's triple
// says.
//
// RUN: chimera-opt %s --chimera-pipeline=target=zen5 | FileCheck %s --check-prefix=X86
// RUN: chimera-opt %s --chimera-pipeline="target=h100 format=isa" | FileCheck %s --check-prefix=H100
// RUN: chimera-opt %s --chimera-pipeline="target=a100 format=isa" | FileCheck %s --check-prefix=A100
// RUN: chimera-opt %s --chimera-pipeline=target=ascend910 | FileCheck %s --check-prefix=ASCEND
// RUN: chimera-opt %s --chimera-attach-target=target=h200 --chimera-pipeline=format=isa | FileCheck %s --check-prefix=H100
// RUN: not chimera-opt %s --chimera-pipeline=target=%S/Inputs/arm.mlir 2>&1 | FileCheck %s --check-prefix=OTHER

// An option that means nothing for the target is an error, not ignored.
//
// RUN: not chimera-opt %s --chimera-pipeline="target=zen5 tf32" 2>&1 | FileCheck %s --check-prefix=TF32
// RUN: not chimera-opt %s --chimera-pipeline="target=zen5 format=isa" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not chimera-opt %s --chimera-pipeline="target=ascend910 manifest=%t.json" 2>&1 | FileCheck %s --check-prefix=MANIFEST
// RUN: not chimera-opt %s --chimera-pipeline="target=a100 format=isa threads=4" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not chimera-opt %s --chimera-planning-pipeline=out-params 2>&1 | FileCheck %s --check-prefix=PLANNING
// RUN: not chimera-opt %s --chimera-lowering-pipeline=fuse=never 2>&1 | FileCheck %s --check-prefix=LOWERING
// RUN: not chimera-opt %s --chimera-ascend-pipeline=tf32 2>&1 | FileCheck %s --check-prefix=OWN
// Results of kernels are arguments anyway.
// RUN: chimera-opt %s --chimera-pipeline="target=ascend910 out-params" | FileCheck %s --check-prefix=ASCEND

// TF32:     error: option 'tf32' means nothing for target 'zen5', whose back end is x86; leave it out, it is for nvptx
// FORMAT:   error: option 'format' means nothing for target 'zen5', whose back end is x86; leave it out, it is for nvptx
// MANIFEST: error: option 'manifest' means nothing for target 'ascend910', whose back end is davinci; leave it out, it is for nvptx
// THREADS:  error: option 'threads' means nothing for target 'a100', whose back end is nvptx; leave it out, it is for x86, davinci
// PLANNING: no such option out-params
// LOWERING: no such option fuse
// OWN:      no such option tf32

// X86:     llvm.func @chain
// X86-NOT: gpu.
// H100:    gpu.binary @chain_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a">
// A100:    gpu.binary @chain_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80">
// ASCEND:  emitc
// OTHER:   error: there is no back end for 'aarch64-linux-gnu', the triple of target '{{.*}}'; there are x86, nvptx, davinci
func.func @chain(%x: tensor<256x64xf16>, %w: tensor<64x256xf16>, %v: tensor<256x64xf16>) -> tensor<256x64xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<256x256xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%x, %w : tensor<256x64xf16>, tensor<64x256xf16>)
      outs(%c1 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %h0 = tensor.empty() : tensor<256x256xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<256x256xf32>) outs(%h0 : tensor<256x256xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<256x256xf16>
  %e0 = tensor.empty() : tensor<256x64xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %e = linalg.matmul ins(%h, %v : tensor<256x256xf16>, tensor<256x64xf16>)
      outs(%e1 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %r0 = tensor.empty() : tensor<256x64xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<256x64xf32>) outs(%r0 : tensor<256x64xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<256x64xf16>
  return %r : tensor<256x64xf16>
}
