// RUN: chimera-opt %s --pass-pipeline='builtin.module(llvm.func(chimera-mask-integers))' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate %t.mlir --mlir-to-llvmir | opt -O3 | llc -mcpu=znver3 | FileCheck %s --check-prefix=ASM

// Parts of vectors of bf16 are those of integers: without AVX-512 each element is
// moved by itself, and none is rounded.

// CHECK-LABEL: llvm.func @copy(
// CHECK:         %[[OTHERWISE:.*]] = llvm.bitcast %{{.*}} : vector<8xbf16> to vector<8xi16>
// CHECK:         %[[LOADED:.*]] = llvm.intr.masked.load %{{.*}}, %{{.*}}, %[[OTHERWISE]] {alignment = 2 : i32} : {{.*}} -> vector<8xi16>
// CHECK:         %[[FLOATS:.*]] = llvm.bitcast %[[LOADED]] : vector<8xi16> to vector<8xbf16>
// CHECK:         %[[STORED:.*]] = llvm.bitcast %[[FLOATS]] : vector<8xbf16> to vector<8xi16>
// CHECK:         llvm.intr.masked.store %[[STORED]], {{.*}} {alignment = 2 : i32} : vector<8xi16>
// ASM-LABEL: copy:
// ASM-NOT:     __truncsfbf2
// ASM:         retq
llvm.func @copy(%from: !llvm.ptr, %to: !llvm.ptr, %mask: vector<8xi1>, %other: vector<8xbf16>) {
  %0 = llvm.intr.masked.load %from, %mask, %other {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  llvm.intr.masked.store %0, %to, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr
  llvm.return
}

// Others stay as they are.

// CHECK-LABEL: llvm.func @others(
// CHECK-NOT:     llvm.bitcast
// CHECK:         llvm.return
llvm.func @others(%to: !llvm.ptr, %mask: vector<8xi1>, %x: vector<8xf32>) {
  llvm.intr.masked.store %x, %to, %mask {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  llvm.return
}
