// RUN: chimera-opt %s --pass-pipeline='builtin.module(gpu.module(chimera-declare-shared-memory))' | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.mlir.global internal @static
  llvm.mlir.global internal @static() {addr_space = 3 : i32} : !llvm.array<4 x i8>
}
