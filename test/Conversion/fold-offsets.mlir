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

// The rows of a tile: one pointer and constants, whatever the order of the sum.
// What lies in another object, or in another block, has a pointer of its own.

// CHECK-LABEL: llvm.func @addresses(
// CHECK-SAME:    %[[BASE:.*]]: !llvm.ptr, %[[OTHER:.*]]: !llvm.ptr, %[[ROW:[^:]*]]: i64, %[[COLUMN:[^:]*]]: i64
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[BASE]][%{{.*}}] :
// CHECK:         %[[START:.*]] = llvm.intr.launder.invariant.group %[[FIRST]]
// CHECK-NEXT:    %[[A:.*]] = llvm.getelementptr %[[START]][0]
// CHECK:         %[[B:.*]] = llvm.getelementptr %[[START]][64]
// CHECK:         %[[C:.*]] = llvm.getelementptr %[[START]][-128]
// CHECK:         %[[D:.*]] = llvm.getelementptr %[[OTHER]][%{{.*}}] :
// CHECK:         llvm.call @read(%[[A]], %[[B]], %[[C]], %[[D]])
// CHECK:       ^bb1:
// CHECK:         %[[E:.*]] = llvm.getelementptr %[[BASE]][%{{.*}}] :
// CHECK:         llvm.call @read(%[[E]], %[[E]], %[[E]], %[[E]])
llvm.func @read(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @addresses(%base: !llvm.ptr, %other: !llvm.ptr, %row: i64, %column: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %back = llvm.mlir.constant(-128 : i64) : i64
  %stride = llvm.mlir.constant(64 : i64) : i64
  %start = llvm.mul %row, %stride : i64
  %next = llvm.add %row, %one : i64
  %nextStart = llvm.mul %next, %stride : i64
  %i0 = llvm.add %start, %column : i64
  %i1 = llvm.add %nextStart, %column : i64
  %before = llvm.add %start, %back : i64
  %i2 = llvm.add %before, %column : i64
  %a = llvm.getelementptr %base[%i0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %b = llvm.getelementptr %base[%i1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %c = llvm.getelementptr %base[%i2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %d = llvm.getelementptr %other[%i1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.call @read(%a, %b, %c, %d) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^next
^next:
  %e = llvm.getelementptr %base[%nextStart] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.call @read(%e, %e, %e, %e) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// Each access takes the pointer out of the buffer's descriptor for itself.

// CHECK-LABEL: llvm.func @descriptor(
// CHECK-SAME:    %[[BASE:[^:]*]]: !llvm.ptr, %[[OFFSET:[^:]*]]: i64
// CHECK-NOT:     llvm.extractvalue
// CHECK:         %[[BUFFER:.*]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]]
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[BUFFER]][%{{.*}}] :
// CHECK:         %[[START:.*]] = llvm.intr.launder.invariant.group %[[FIRST]]
// CHECK:         %[[A:.*]] = llvm.getelementptr %[[START]][0]
// CHECK:         %[[B:.*]] = llvm.getelementptr %[[START]][1]
// CHECK:         llvm.call @read(%[[A]], %[[B]], %[[A]], %[[B]])
llvm.func @descriptor(%base: !llvm.ptr, %offset: i64, %row: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.mlir.poison : !llvm.struct<(ptr, i64)>
  %pointer = llvm.insertvalue %base, %none[0] : !llvm.struct<(ptr, i64)>
  %buffer = llvm.insertvalue %offset, %pointer[1] : !llvm.struct<(ptr, i64)>
  %base0 = llvm.extractvalue %buffer[0] : !llvm.struct<(ptr, i64)>
  %offset0 = llvm.extractvalue %buffer[1] : !llvm.struct<(ptr, i64)>
  %buffer0 = llvm.getelementptr %base0[%offset0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.getelementptr %buffer0[%row] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %base1 = llvm.extractvalue %buffer[0] : !llvm.struct<(ptr, i64)>
  %offset1 = llvm.extractvalue %buffer[1] : !llvm.struct<(ptr, i64)>
  %buffer1 = llvm.getelementptr %base1[%offset1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %next = llvm.add %row, %one : i64
  %b = llvm.getelementptr %buffer1[%next] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.call @read(%a, %b, %a, %b) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// Short indices are extended, so their constants stay where they are.

// CHECK-LABEL: llvm.func @short_indices(
// CHECK-NOT:     launder
// CHECK:         llvm.return
llvm.func @short_indices(%base: !llvm.ptr, %row: i32) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %next = llvm.add %row, %one : i32
  %a = llvm.getelementptr %base[%row] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %b = llvm.getelementptr %base[%next] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  llvm.call @read(%a, %b, %a, %b) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}

// A product that others share promises nothing of overflow.

// CHECK-LABEL: llvm.func @overflow(
// CHECK:         %[[COMMON:.*]] = llvm.mul %{{.*}}, %{{.*}} : i64
// CHECK:         llvm.call @use(%[[COMMON]], %[[COMMON]], %{{.*}})
llvm.func @overflow(%row: i64) {
  %stride = llvm.mlir.constant(64 : i64) : i64
  %a = llvm.mul %row, %stride overflow<nsw> : i64
  %b = llvm.mul %row, %stride : i64
  llvm.call @use(%a, %b, %row) : (i64, i64, i64) -> ()
  llvm.return
}
