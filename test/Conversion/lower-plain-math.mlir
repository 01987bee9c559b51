// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(chimera-lower-plain-math))' | FileCheck %s

// What is an instruction is lowered; what libm does more accurately is left.

// CHECK-LABEL: func @functions(
// CHECK:         "llvm.intr.abs"(%{{.*}}) <{is_int_min_poison = false}> : (i64) -> i64
// CHECK:         llvm.intr.copysign
// CHECK:         llvm.intr.roundeven{{.*}} vector<8xf32>
// CHECK:         llvm.intr.ctpop
// CHECK:         math.expm1
// CHECK:         math.log1p
// CHECK:         math.exp
func.func @functions(%i: i64, %x: f32, %v: vector<8xf32>) -> (i64, f32, vector<8xf32>, i64, f32, f32, f32) {
  %0 = math.absi %i : i64
  %1 = math.copysign %x, %x : f32
  %2 = math.roundeven %v : vector<8xf32>
  %3 = math.ctpop %i : i64
  %4 = math.expm1 %x : f32
  %5 = math.log1p %x : f32
  %6 = math.exp %x : f32
  return %0, %1, %2, %3, %4, %5, %6 : i64, f32, vector<8xf32>, i64, f32, f32, f32
}
