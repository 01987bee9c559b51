// RUN: chimera-opt %s --convert-scf-to-openmp --chimera-drop-barriers | FileCheck %s

// Nothing lies between the end of the loop and that of the region.
// CHECK-LABEL: func @fill
// CHECK: omp.wsloop nowait
func.func @fill(%x: memref<64xf32>, %value: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %value, %x[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// What the loop has stored is read behind it.
// CHECK-LABEL: func @behind
// CHECK-NOT: nowait
func.func @behind(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%c64) step (%c1) {
        %0 = memref.load %x[%i] : memref<64xf32>
        memref.store %0, %y[%i] : memref<64xf32>
        omp.yield
      }
    }
    %1 = memref.load %y[%c0] : memref<64xf32>
    memref.store %1, %x[%c0] : memref<64xf32>
    omp.terminator
  }
  return
}
