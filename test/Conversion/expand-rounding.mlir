// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(chimera-expand-rounding))' | FileCheck %s
// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(chimera-lower-plain-math),convert-math-to-libm,func.func(chimera-expand-rounding))' \
// RUN:   | FileCheck %s --check-prefix=LIBM

// Rounding to the nearest even number, with integers; maxima stay as they are.

// CHECK-LABEL: func.func @example(
// CHECK-NOT:     arith.truncf
// CHECK:         arith.maximumf
// CHECK:         arith.bitcast {{.*}} : f32 to i32
// CHECK:         arith.shrui
// CHECK:         arith.bitcast {{.*}} : i16 to bf16
// CHECK-NOT:     arith.truncf
// CHECK:         return
func.func @example(%x: f32, %y: f32) -> bf16 {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.truncf %0 : f32 to bf16
  return %1 : bf16
}

// The C library has no functions of bf16.

// LIBM-LABEL: func.func @function(
// LIBM-NOT:     arith.extf
// LIBM-NOT:     arith.truncf
// LIBM:         call @powf
// LIBM-NOT:     arith.truncf
// LIBM:         return
func.func @function(%x: bf16, %y: bf16) -> bf16 {
  %0 = math.powf %x, %y : bf16
  return %0 : bf16
}
