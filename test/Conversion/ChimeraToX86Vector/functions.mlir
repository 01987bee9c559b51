// REQUIRES: avx2
// RUN: %python %S/Inputs/accuracy.py %s %t.dir %if avx512 %{ --avx512 %} | FileCheck %s
// RUN: chimera-opt %s --chimera-lowering-pipeline=out-params | FileCheck %s --check-prefix=IR

// CHECK: 8 lanes: exp:
// CHECK: 8 lanes: erf:

// None is left to a library, or to approximations with other errors.

// IR-NOT: llvm.intr.exp
// IR:     llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
// IR:     llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// IR:     llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// IR-NOT: llvm.x86.avx512.mask.range
// IR:     llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// IR-NOT: fdiv
// IR:     llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// IR:     llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// IR-NOT: @expf
// IR-NOT: @tanhf
// IR-NOT: @erff

func.func @main(%x: tensor<120011xf32>) -> (tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>) {
  %empty = tensor.empty() : tensor<120011xf32>
  %0:4 = chimera.micro_kernel elementwise ins(%x : tensor<120011xf32>)
      outs(%empty, %empty, %empty, %empty : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>)
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
      iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%v: f32, %a: f32, %b: f32, %c: f32, %d: f32):
    %1 = math.exp %v : f32
    %2 = math.exp2 %v : f32
    %3 = math.tanh %v : f32
    %4 = math.erf %v : f32
    chimera.yield %1, %2, %3, %4 : f32, f32, f32, f32
  } -> tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
}
