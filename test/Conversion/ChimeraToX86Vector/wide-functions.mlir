// REQUIRES: avx2
// RUN: %python %S/Inputs/accuracy.py %s %t.dir --wide %if avx512 %{ --avx512 %} | FileCheck %s
// RUN: chimera-opt %s --chimera-lowering-pipeline=out-params | FileCheck %s --check-prefix=IR

// What needs more bits than f32 has is computed in f64, zeros, infinities and NaN
// as C wants them.

// CHECK: 8 lanes: powf:
// CHECK: 8 lanes: atanh:

// IR-NOT: @powf
// IR-NOT: @log10f
// IR-NOT: @asinhf

func.func @main(%x: tensor<120011xf32>, %y: tensor<120011xf32>) -> (tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>) {
  %empty = tensor.empty() : tensor<120011xf32>
  %0:7 = chimera.micro_kernel elementwise ins(%x, %y : tensor<120011xf32>, tensor<120011xf32>)
      outs(%empty, %empty, %empty, %empty, %empty, %empty, %empty : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>)
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
      iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%v: f32, %w: f32, %a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32):
    %1 = math.powf %v, %w : f32
    %2 = math.log10 %v : f32
    %3 = math.sinh %v : f32
    %4 = math.cosh %v : f32
    %5 = math.asinh %v : f32
    %6 = math.acosh %v : f32
    %7 = math.atanh %v : f32
    chimera.yield %1, %2, %3, %4, %5, %6, %7 : f32, f32, f32, f32, f32, f32, f32
  } -> tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
}
