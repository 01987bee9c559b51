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
// IR-NOT: @tanf

func.func @main(%x: tensor<120011xf32>, %y: tensor<120011xf32>) -> (tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>) {
  %empty = tensor.empty() : tensor<120011xf32>
  %0:10 = chimera.micro_kernel elementwise ins(%x, %y : tensor<120011xf32>, tensor<120011xf32>)
      outs(%empty, %empty, %empty, %empty, %empty, %empty, %empty, %empty, %empty, %empty : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>)
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
      iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%v: f32, %w: f32, %a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32, %i: f32, %j: f32):
    %1 = math.powf %v, %w : f32
    %2 = math.log10 %v : f32
    %3 = math.sin %v : f32
    %4 = math.cos %v : f32
    %5 = math.tan %v : f32
    %6 = math.sinh %v : f32
    %7 = math.cosh %v : f32
    %8 = math.asinh %v : f32
    %9 = math.acosh %v : f32
    %10 = math.atanh %v : f32
    chimera.yield %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
  } -> tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9 : tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>, tensor<120011xf32>
}
