// RUN: chimera-opt %s --chimera-lower-control-flow | FileCheck %s
// RUN: chimera-opt %s --chimera-limit-unrolling --chimera-lower-control-flow \
// RUN:   --convert-to-llvm | mlir-translate --mlir-to-llvmir \
// RUN:   | FileCheck %s --check-prefix=LLVM

// Bounds that are known need no test before the first iteration.
// CHECK-LABEL: @known
//  CHECK-SAME: %[[X:.*]]: f32
//   CHECK-DAG:   %[[C0:.*]] = arith.constant 0 : index
//   CHECK-DAG:   %[[C8:.*]] = arith.constant 8 : index
//       CHECK:   cf.br ^[[BODY:.*]](%[[C0]], %[[X]] : index, f32)
//       CHECK: ^[[BODY]](%[[I:.*]]: index, %[[SUM:.*]]: f32):
//       CHECK:   %[[NEW:.*]] = arith.addf %[[SUM]], %[[X]]
//       CHECK:   %[[NEXT:.*]] = arith.addi %[[I]]
//       CHECK:   %[[AGAIN:.*]] = arith.cmpi slt, %[[NEXT]], %[[C8]]
//       CHECK:   cf.cond_br %[[AGAIN]], ^[[BODY]](%[[NEXT]], %[[NEW]] : index, f32), ^[[END:.*]](%[[NEW]] : f32)
//       CHECK: ^[[END]](%[[RESULT:.*]]: f32):
//       CHECK:   return %[[RESULT]]
func.func @known(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%part = %x) -> f32 {
    %new = arith.addf %part, %x : f32
    scf.yield %new : f32
  }
  return %sum : f32
}

// Others may have none.
// CHECK-LABEL: @unknown
//  CHECK-SAME: %[[X:.*]]: f32, %[[FIRST:.*]]: i32, %[[END:.*]]: i32, %[[STEP:.*]]: i32
//       CHECK:   %[[ANY:.*]] = arith.cmpi ult, %[[FIRST]], %[[END]]
//       CHECK:   cf.cond_br %[[ANY]], ^[[BODY:.*]](%[[FIRST]], %[[X]] : i32, f32), ^[[AFTER:.*]](%[[X]] : f32)
//       CHECK: ^[[BODY]](
//       CHECK:   arith.cmpi ult
//       CHECK:   cf.cond_br %{{.*}}, ^[[BODY]]({{.*}}), ^[[AFTER]](
func.func @unknown(%x: f32, %first: i32, %end: i32, %step: i32) -> f32 {
  %sum = scf.for unsigned %i = %first to %end step %step
      iter_args(%part = %x) -> f32 : i32 {
    %new = arith.addf %part, %x : f32
    scf.yield %new : f32
  }
  return %sum : f32
}

// No iteration at all.
// CHECK-LABEL: @none
//       CHECK:   cf.cond_br
//       CHECK:   cf.cond_br
func.func @none(%m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c0 step %c1 {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}

// Loops in branches in loops; what they say to LLVM is at the branch back.
// CHECK-LABEL: @nest
//   CHECK-NOT:   scf.
// LLVM-LABEL: @nest
//       LLVM:   br i1 %{{.*}}, label %{{.*}}, label %{{.*}}, !llvm.loop ![[ID:[0-9]+]]
//       LLVM: ![[ID]] = distinct !{![[ID]], ![[NEVER:[0-9]+]]}
//       LLVM: ![[NEVER]] = !{!"llvm.loop.unroll.disable"}
func.func @nest(%m: memref<8x100xf32>, %x: f32, %inside: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.if %inside {
      scf.for %j = %c0 to %c100 step %c1 {
        memref.store %x, %m[%i, %j] : memref<8x100xf32>
      }
    }
  }
  return
}
