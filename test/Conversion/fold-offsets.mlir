// RUN: chimera-opt %s --chimera-fold-offsets | FileCheck %s

// The sum has two users, and both products start from the same one.

// CHECK-LABEL: llvm.func @rows(
// CHECK-SAME:    %[[ROW:.*]]: i64, %[[FACTOR:.*]]: i64
// CHECK-DAG:     %[[STRIDE:.*]] = llvm.mlir.constant(64 : i64)
// CHECK:         %[[COMMON:.*]] = llvm.mul %[[ROW]], %[[STRIDE]] : i64
// CHECK:         %[[OFFSET:.*]] = llvm.mlir.constant(192 : i64)
// CHECK:         %[[INDEX:.*]] = llvm.add %[[COMMON]], %[[OFFSET]] : i64
// CHECK:         %[[SUM:.*]] = llvm.add %[[ROW]]
// CHECK:         %[[VARIABLE:.*]] = llvm.mul %{{.*}}, %[[FACTOR]] : i64
// CHECK:         llvm.call @use(%[[INDEX]], %[[VARIABLE]], %[[SUM]])
llvm.func @use(i64, i64, i64)
llvm.func @rows(%row: i64, %factor: i64) {
  %three = llvm.mlir.constant(3 : i64) : i64
  %stride = llvm.mlir.constant(64 : i64) : i64
  %next = llvm.add %row, %three : i64
  %index = llvm.mul %next, %stride : i64
  %sum = llvm.add %row, %factor : i64
  // A factor that is no constant, and a sum of variables.
  %variable = llvm.mul %next, %factor : i64
  %other = llvm.mul %sum, %stride : i64
  llvm.call @use(%index, %variable, %sum) : (i64, i64, i64) -> ()
  llvm.return
}
