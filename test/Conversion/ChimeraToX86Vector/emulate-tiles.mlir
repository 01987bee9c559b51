// RUN: chimera-opt %s --chimera-emulate-tiles | FileCheck %s

// Each instruction on tiles becomes a call; others stay.

// CHECK-DAG: llvm.func @chimera_ldtilecfg(!llvm.ptr)
// CHECK-DAG: llvm.func @chimera_tileloadd64(i8, !llvm.ptr, i64)
// CHECK-DAG: llvm.func @chimera_tdpbf16ps(i8, i8, i8)
// CHECK-LABEL: llvm.func @tiles(
// CHECK:         llvm.call @chimera_ldtilecfg(%arg0)
// CHECK:         llvm.call @chimera_tileloadd64(
// CHECK:         llvm.call @chimera_tileloadd64(
// CHECK:         llvm.call @chimera_tdpbf16ps(
// CHECK:         llvm.call_intrinsic "llvm.x86.sse.sfence"
llvm.func @tiles(%configuration: !llvm.ptr, %memory: !llvm.ptr, %stride: i64) {
  %0 = llvm.mlir.constant(0 : i8) : i8
  %1 = llvm.mlir.constant(1 : i8) : i8
  %2 = llvm.mlir.constant(2 : i8) : i8
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%configuration) : (!llvm.ptr) -> ()
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%0, %memory, %stride) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%1, %memory, %stride) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%2, %0, %1) : (i8, i8, i8) -> ()
  llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()
  llvm.return
}
