// One pipeline for all targets: which passes follow planning, the target's triple
// says.
//
// RUN: chimera-opt %s --chimera-pipeline=target=zen5 | FileCheck %s --check-prefix=X86
// RUN: chimera-opt %s --chimera-pipeline="target=h100 back-end={format=isa}" | FileCheck %s --check-prefix=H100
// RUN: chimera-opt %s --chimera-pipeline="target=a100 back-end={format=isa}" | FileCheck %s --check-prefix=A100
// RUN: chimera-opt %s --chimera-pipeline=target=ascend910 | FileCheck %s --check-prefix=ASCEND
// RUN: chimera-opt %s --chimera-attach-target=target=h200 --chimera-pipeline=back-end={format=isa} | FileCheck %s --check-prefix=H100

// An option that means nothing for the target is an error, not ignored.
//
// RUN: not chimera-opt %s --chimera-pipeline="target=zen5 back-end=tf32" 2>&1 | FileCheck %s --check-prefix=TF32
// RUN: not chimera-opt %s --chimera-pipeline="target=zen5 back-end={format=isa}" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not chimera-opt %s --chimera-pipeline="target=ascend910 back-end={manifest=%t.json}" 2>&1 | FileCheck %s --check-prefix=MANIFEST
// RUN: not chimera-opt %s --chimera-pipeline="target=a100 back-end={format=isa} threads=4" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not chimera-opt %s --chimera-planning-pipeline=out-params 2>&1 | FileCheck %s --check-prefix=PLANNING
// RUN: not chimera-opt %s --chimera-lowering-pipeline=fuse=never 2>&1 | FileCheck %s --check-prefix=LOWERING
// RUN: not chimera-opt %s --chimera-ascend-pipeline=tf32 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: chimera-opt %s --chimera-pipeline="target=zen5 back-end={out-params}" | FileCheck %s --check-prefix=PARAMS
// RUN: chimera-opt %s --chimera-pipeline="target=ascend910 back-end={emit=nest}" | FileCheck %s --check-prefix=NEST

// TF32:     error: the back end of target 'zen5', x86, does not take these options: no such option tf32; those it takes are the options of chimera-x86-pipeline
// FORMAT:   error: the back end of target 'zen5', x86, does not take these options: no such option format
// MANIFEST: error: the back end of target 'ascend910', ascend, does not take these options: no such option manifest
// THREADS:  error: the back end of target 'a100', nvidia, does not take these options: no such option threads
// PLANNING: no such option out-params
// LOWERING: no such option fuse
// OWN:      no such option tf32

// X86:     llvm.func @chain
// X86-NOT: gpu.
// H100:    gpu.binary @chain_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a">
// A100:    gpu.binary @chain_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80">
// ASCEND:  call_opaque "mad"
// NEST-NOT: call_opaque "mad"
// NEST: #pragma emit_insn mad
// PARAMS:  llvm.func @chain({{[^()]*}}) {
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
