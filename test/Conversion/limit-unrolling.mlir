// RUN: chimera-opt %s --chimera-limit-unrolling | FileCheck %s
// RUN: chimera-opt %s --chimera-limit-unrolling --convert-scf-to-cf \
// RUN:   --convert-to-llvm | mlir-translate --mlir-to-llvmir \
// RUN:   | FileCheck %s --check-prefix=LLVM

// CHECK-DAG: #[[$UNROLL:.+]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[$LOOP:.+]] = #llvm.loop_annotation<unroll = #[[$UNROLL]]>
// CHECK-DAG: #[[$FULL:.+]] = #llvm.loop_unroll<full = true>
// CHECK-DAG: #[[$SHORT:.+]] = #llvm.loop_annotation<unroll = #[[$FULL]]>

// The loop of loops is for the schedule to say, the inner one for LLVM.
// CHECK-LABEL: @nest
//       CHECK:   scf.for
//       CHECK:     scf.for
//       CHECK:       memref.store
//  CHECK-NEXT:     }{{$}}
//  CHECK-NEXT:   } {loop_annotation = #[[$LOOP]]}
// LLVM-LABEL: @nest
//       LLVM:   br label {{.*}}, !llvm.loop ![[$ID:[0-9]+]]
func.func @nest(%m: memref<8x100xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c100 step %c1 {
      memref.store %x, %m[%i, %j] : memref<8x100xf32>
    }
  }
  return
}

// A register tile fills the units.
// CHECK-LABEL: @register_tile
//       CHECK:   scf.for
// CHECK-COUNT-8:   vector.fma
//       CHECK:   } {loop_annotation = #[[$LOOP]]}
func.func @register_tile(%a: vector<16xf32>, %b: vector<16xf32>, %k: index)
    -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%0 = %a) -> (vector<16xf32>) {
    %1 = vector.fma %a, %b, %0 : vector<16xf32>
    %2 = vector.fma %a, %b, %1 : vector<16xf32>
    %3 = vector.fma %a, %b, %2 : vector<16xf32>
    %4 = vector.fma %a, %b, %3 : vector<16xf32>
    %5 = vector.fma %a, %b, %4 : vector<16xf32>
    %6 = vector.fma %a, %b, %5 : vector<16xf32>
    %7 = vector.fma %a, %b, %6 : vector<16xf32>
    %8 = vector.fma %a, %b, %7 : vector<16xf32>
    scf.yield %8 : vector<16xf32>
  }
  return %r : vector<16xf32>
}

// Rows of few vectors become straight code, rows of many do not, nor those of
// unknown length.
// CHECK-LABEL: @rows
//       CHECK:   vector.store
//  CHECK-NEXT:   } {loop_annotation = #[[$SHORT]]}
//       CHECK:   vector.store
//  CHECK-NEXT:   }{{$}}
//       CHECK:   vector.store
//  CHECK-NEXT:   }{{$}}
// LLVM-LABEL: @rows
//       LLVM:   br label {{.*}}, !llvm.loop ![[$SHORTLY:[0-9]+]]
func.func @rows(%m: memref<?xf32>, %x: vector<16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c128 step %c16 {
    %0 = vector.load %m[%i] : memref<?xf32>, vector<16xf32>
    %1 = arith.mulf %0, %x : vector<16xf32>
    vector.store %1, %m[%i] : memref<?xf32>, vector<16xf32>
  }
  scf.for %i = %c0 to %c4096 step %c16 {
    %0 = vector.load %m[%i] : memref<?xf32>, vector<16xf32>
    %1 = arith.mulf %0, %x : vector<16xf32>
    vector.store %1, %m[%i] : memref<?xf32>, vector<16xf32>
  }
  scf.for %i = %c0 to %n step %c16 {
    %0 = vector.load %m[%i] : memref<?xf32>, vector<16xf32>
    %1 = arith.mulf %0, %x : vector<16xf32>
    vector.store %1, %m[%i] : memref<?xf32>, vector<16xf32>
  }
  return
}

// LLVM: ![[$ID]] = distinct !{![[$ID]], ![[DISABLE:[0-9]+]]}
// LLVM: ![[DISABLE]] = !{!"llvm.loop.unroll.disable"}
// LLVM: ![[$SHORTLY]] = distinct !{![[$SHORTLY]], ![[WHOLLY:[0-9]+]]}
// LLVM: ![[WHOLLY]] = !{!"llvm.loop.unroll.full"}
