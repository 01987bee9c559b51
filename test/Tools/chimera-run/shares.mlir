// Threads find their shares of a parallel loop by themselves: LLVM's runtime, as
// Debian builds it, formats a message each time that it is asked. A host that has
// a runtime of ours is asked.

// RUN: chimera-run %s --threads=2 --emit=llvm | FileCheck %s
// RUN: chimera-run %s --threads=2 | FileCheck %s --check-prefix=TIMES
// RUN: chimera-run %s --threads=7 | FileCheck %s --check-prefix=TIMES

// CHECK-LABEL: define internal void @main..omp_par(
// CHECK:         icmp eq ptr @chimera_pool, null
// CHECK:         call void @__kmpc_for_static_init_8u(
// CHECK:         call i32 @omp_get_thread_num()
// CHECK:         call i32 @omp_get_num_threads()
// CHECK:         udiv
// CHECK-NOT:     call void @__kmpc_for_static_init_8u(
// CHECK-DAG:   declare extern_weak ptr @chimera_pool()
// CHECK-DAG:   declare extern_weak i32 @omp_get_thread_num()

// TIMES: error {{.*}} against plain loops in f64
func.func @main(%x: tensor<9x64x96xf32>, %y: tensor<9x96x64xf32>) -> tensor<9x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x64x64xf32>) -> tensor<9x64x64xf32>
  %z = linalg.batch_matmul ins(%x, %y : tensor<9x64x96xf32>, tensor<9x96x64xf32>)
      outs(%init : tensor<9x64x64xf32>) -> tensor<9x64x64xf32>
  return %z : tensor<9x64x64xf32>
}
