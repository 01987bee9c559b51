// RUN: chimera-opt %s --mlir-print-op-generic --pass-pipeline='builtin.module( \
// RUN:     func.func(chimera-limit-unrolling,chimera-lower-control-flow), \
// RUN:     convert-to-llvm,llvm.func(chimera-annotate-branches))' | FileCheck %s

// As an attribute of its own, between < and >, the annotation is read by the
// translation to LLVM IR; text in which it stands behind would be read alike.
// CHECK: "llvm.cond_br"({{.*}} <{loop_annotation = #loop_annotation
func.func @rows(%m: memref<8x100xf32>, %x: f32) {
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
