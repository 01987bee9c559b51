// Nothing but the types of its arguments says that their sizes are equal: a chain is
// formed for calls in which they are, and others run as the program is written.

// RUN: chimera-opt %s --chimera-planning-pipeline=target=zen5 | FileCheck %s
// RUN: chimera-opt %s --chimera-pipeline=target=zen5 | FileCheck %s --check-prefix=LLVM

// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT: chimera.chain
// CHECK-COUNT-2: linalg.matmul
// CHECK-LABEL: func.func private @dynamic_open(
// CHECK: chimera.chain
// LLVM-DAG: llvm.func @dynamic(
// LLVM-DAG: llvm.func @dynamic_open(
// LLVM-DAG: llvm.func @dynamic_any(

func.func @dynamic(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %d: tensor<?x?xf32>, %c: tensor<?x?xf32>, %e: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%0, %d : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
