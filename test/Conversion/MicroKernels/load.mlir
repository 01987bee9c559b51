// RUN: chimera-opt %s --chimera-load-micro-kernels=file=%examples/micro-kernels/vector.mlir | FileCheck %s --check-prefixes=CHECK,BODY
// RUN: chimera-opt %s --chimera-micro-kernels=%examples/micro-kernels/vector.mlir | FileCheck %s --check-prefixes=CHECK,BODY
// RUN: chimera-opt %s --chimera-load-micro-kernels=file=%examples/micro-kernels/external.mlir | FileCheck %s --check-prefixes=CHECK,EXTERNAL

// Kernels become part of the program: a list, which passes ask, and their code
// in a module of its own, or a declaration that is called by C's conventions.

// BODY:      module attributes {chimera.micro_kernels = [#chimera.function_kernel<@chimera_micro_kernels::@sgemm_4x16,
// BODY-SAME:   <contraction, types = [f32, f32, f32], shape = 4x16x?,
// EXTERNAL:  module attributes {chimera.micro_kernels = [#chimera.function_kernel<@sgemm_3x5,
// CHECK:     func.func @main
// BODY:      module @chimera_micro_kernels
// BODY-NEXT:   func.func private @sgemm_4x16(
// EXTERNAL:  func.func private @sgemm_3x5({{.*}}) attributes {llvm.emit_c_interface}
func.func @main() {
  return
}
