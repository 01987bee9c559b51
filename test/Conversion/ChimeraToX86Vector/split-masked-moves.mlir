// RUN: chimera-opt %s --chimera-split-masked-moves=target=zen3 > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate %t.mlir --mlir-to-llvmir | opt -O3 | llc -mcpu=znver3 | FileCheck %s --check-prefix=ASM
// RUN: chimera-opt %s --chimera-split-masked-moves=target=zen4 | FileCheck %s --check-prefix=MASKS

// Seven lanes are four, two and one. With masks of AVX-512 they are one move.

// CHECK-LABEL: llvm.func @seven(
// CHECK-SAME:    %[[P:.*]]: !llvm.ptr, %[[X:.*]]: vector<8xf32>)
// CHECK-NOT:     masked.store
// CHECK:         %[[FOUR:.*]] = llvm.shufflevector %[[X]], %[[X]] [0, 1, 2, 3] : vector<8xf32>
// CHECK:         llvm.store %[[FOUR]], %[[P]] {alignment = 16 : i64}
// CHECK:         %[[TWO:.*]] = llvm.shufflevector %[[X]], %[[X]] [4, 5] : vector<8xf32>
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr inbounds %[[P]][4] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         llvm.store %[[TWO]], %[[NEXT]] {alignment = 16 : i64}
// CHECK:         %[[ONE:.*]] = llvm.extractelement %[[X]]
// CHECK:         %[[LAST:.*]] = llvm.getelementptr inbounds %[[P]][6] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         llvm.store %[[ONE]], %[[LAST]] {alignment = 8 : i64}
// ASM-LABEL: seven:
// ASM-NOT:     vmaskmov
// ASM:         retq
// MASKS-LABEL: llvm.func @seven(
// MASKS:         llvm.intr.masked.store
llvm.func @seven(%p: !llvm.ptr, %x: vector<8xf32>) {
  %mask = llvm.mlir.constant(dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>) : vector<8xi1>
  llvm.intr.masked.store %x, %p, %mask {alignment = 16 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  llvm.return
}

// Narrow lanes are loaded in pieces, too; the others stay what they were.

// CHECK-LABEL: llvm.func @narrow(
// CHECK-SAME:    %[[P:.*]]: !llvm.ptr, %[[OTHER:.*]]: vector<8xi16>)
// CHECK:         %[[TWO:.*]] = llvm.load %[[P]] {alignment = 2 : i64} : !llvm.ptr -> vector<2xi16>
// CHECK:         %[[WIDE:.*]] = llvm.shufflevector %[[TWO]], %[[TWO]] [0, 1, -1, -1, -1, -1, -1, -1] : vector<2xi16>
// CHECK:         %[[BOTH:.*]] = llvm.shufflevector %[[OTHER]], %[[WIDE]] [8, 9, 2, 3, 4, 5, 6, 7] : vector<8xi16>
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr inbounds %[[P]][2] : (!llvm.ptr) -> !llvm.ptr, i16
// CHECK:         %[[ONE:.*]] = llvm.load %[[NEXT]] {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK:         %[[ALL:.*]] = llvm.insertelement %[[ONE]], %[[BOTH]]
// CHECK:         llvm.return %[[ALL]]
// ASM-LABEL: narrow:
// ASM:         vmovd (%rdi)
// ASM:         vpinsrw $2, 4(%rdi)
// ASM-NOT:     vpinsr
// ASM:         retq
llvm.func @narrow(%p: !llvm.ptr, %other: vector<8xi16>) -> vector<8xi16> {
  %mask = llvm.mlir.constant(dense<[true, true, true, false, false, false, false, false]> : vector<8xi1>) : vector<8xi1>
  %0 = llvm.intr.masked.load %p, %mask, %other {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xi16>) -> vector<8xi16>
  llvm.return %0 : vector<8xi16>
}

// Lanes of 32 bits are loaded as one, and masks that nobody knows, have gaps, or
// are all or nothing stay.

// CHECK-LABEL: llvm.func @others(
// CHECK:         llvm.intr.masked.load
// CHECK-COUNT-4: llvm.intr.masked.store
// CHECK:         llvm.return
llvm.func @others(%p: !llvm.ptr, %other: vector<4xf32>, %unknown: vector<4xi1>) {
  %three = llvm.mlir.constant(dense<[true, true, true, false]> : vector<4xi1>) : vector<4xi1>
  %gap = llvm.mlir.constant(dense<[true, false, true, false]> : vector<4xi1>) : vector<4xi1>
  %all = llvm.mlir.constant(dense<true> : vector<4xi1>) : vector<4xi1>
  %none = llvm.mlir.constant(dense<false> : vector<4xi1>) : vector<4xi1>
  %x = llvm.intr.masked.load %p, %three, %other {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  llvm.intr.masked.store %x, %p, %unknown {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.intr.masked.store %x, %p, %gap {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.intr.masked.store %x, %p, %all {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.intr.masked.store %x, %p, %none {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.return
}
