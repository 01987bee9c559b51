// RUN: chimera-opt %s --pass-pipeline='builtin.module(func.func(chimera-expand-maxima))' | FileCheck %s
// RUN: chimera-opt %s --pass-pipeline='builtin.module(symbol-dce,func.func(chimera-expand-maxima),convert-vector-to-llvm,convert-to-llvm)' > %t.mlir
// RUN: mlir-translate %t.mlir --mlir-to-llvmir | opt -O3 | llc -mcpu=znver3 | FileCheck %s --check-prefix=ASM
// RUN: mlir-runner %t.mlir -e sign_of_zero -entry-point-result=f32 | FileCheck %s --check-prefix=SIGN
// RUN: mlir-runner %t.mlir -e no_number -entry-point-result=f32 | FileCheck %s --check-prefix=NAN

// A maximum with zero is an addition and `vmaxps`: no mask, in place either.

// CHECK-LABEL: func.func @in_place(
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         %[[X:.*]] = llvm.load
// CHECK:         %[[SUM:.*]] = arith.addf %[[X]], %[[ZERO]]
// CHECK:         %[[LESS:.*]] = arith.cmpf olt, %[[SUM]], %[[ZERO]]
// CHECK:         %[[MAX:.*]] = arith.select %[[LESS]], %[[ZERO]], %[[SUM]]
// CHECK:         llvm.store %[[MAX]]
// ASM-LABEL: in_place:
// ASM-NOT:     vmaskmov
// ASM:         vaddps (%rdi)
// ASM-NEXT:    vmaxps
// ASM-NEXT:    vmovaps %ymm{{[0-9]+}}, (%rdi)
// ASM-NOT:     vmaskmov
// ASM:         retq
func.func @in_place(%p: !llvm.ptr) {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %x = llvm.load %p : !llvm.ptr -> vector<8xf32>
  %max = arith.maximumf %x, %zero : vector<8xf32>
  llvm.store %max, %p : vector<8xf32>, !llvm.ptr
  return
}

// Zero may come first. What LLVM knows an instruction for stays as it is, and so
// do types that processors convert.

// CHECK-LABEL: func.func private @others(
// CHECK:         arith.addf
// CHECK-NEXT:    arith.cmpf
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    arith.maximumf
// CHECK-NEXT:    arith.maximumf {{.*}} fastmath<nnan>
// CHECK-NEXT:    arith.minimumf
func.func private @others(%x: f64, %h: bf16) -> (f64, f64, f64, bf16, f64, f64) {
  %zero = arith.constant 0.0 : f64
  %negative = arith.constant -0.0 : f64
  %one = arith.constant 1.0 : f64
  %none = arith.constant 0.0 : bf16
  %0 = arith.maximumf %zero, %x : f64
  %1 = arith.maximumf %x, %one : f64
  %2 = arith.maximumf %x, %negative : f64
  %3 = arith.maximumf %h, %none : bf16
  %4 = arith.maximumf %x, %zero fastmath<nnan> : f64
  %5 = arith.minimumf %x, %zero : f64
  return %0, %1, %2, %3, %4, %5 : f64, f64, f64, bf16, f64, f64
}

func.func private @limit(%x: f32) -> f32 attributes {no_inline} {
  %zero = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %zero : f32
  return %0 : f32
}

// The maximum of both zeros is the positive one.

// SIGN: {{^(INF|inf)$}}
func.func @sign_of_zero() -> f32 attributes {llvm.emit_c_interface} {
  %one = arith.constant 1.0 : f32
  %negative = arith.constant -0.0 : f32
  %0 = func.call @limit(%negative) : (f32) -> f32
  %1 = arith.divf %one, %0 : f32
  return %1 : f32
}

// NAN: {{^-?(NAN|nan)$}}
func.func @no_number() -> f32 attributes {llvm.emit_c_interface} {
  %nan = arith.constant 0x7FC00000 : f32
  %0 = func.call @limit(%nan) : (f32) -> f32
  return %0 : f32
}
