// RUN: chimera-opt %s --chimera-tile --split-input-file --verify-diagnostics | FileCheck %s

// The loops over six rows and over the reduction are the kernel's own: around
// the block are panels of 16 columns, inside it is all of the reduction.

// CHECK-LABEL: func @held
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: chimera.block "gemm0" ins(%{{.+}}, %{{.+}} : tensor<20x24xf32>, tensor<24x16xf32>) outs(%{{.+}} : tensor<20x16xf32>)
// CHECK-SAME: extents {{\[}}[20], [16], [24]]

func.func @held(%a: tensor<20x24xf32>, %b: tensor<24x64xf32>) -> tensor<20x64xf32> {
  %e = chimera.chain ins(%a, %b : tensor<20x24xf32>, tensor<24x64xf32>)
      schedule(<levels = [<"L1" : n = 16, m = 6, k = 8>], parallel = 0,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 2>, held = [0]>) {
  ^bb0(%a0: tensor<20x24xf32>, %b0: tensor<24x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x64xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x64xf32>) -> tensor<20x64xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x24xf32>, tensor<24x64xf32>) outs(%1 : tensor<20x64xf32>) -> tensor<20x64xf32>
    chimera.yield %2 : tensor<20x64xf32>
  } -> tensor<20x64xf32>
  return %e : tensor<20x64xf32>
}

// -----

// A register tile has no eight rows.

func.func @too_many_rows(%a: tensor<20x24xf32>, %b: tensor<24x64xf32>) -> tensor<20x64xf32> {
  // expected-error @below {{schedule cannot run: the sums of operator 'gemm0' cannot be held in registers: its last loops have to be over what it adds up, and leave no more rows than the 6 of a register tile; take it off the list}}
  %e = chimera.chain ins(%a, %b : tensor<20x24xf32>, tensor<24x64xf32>)
      schedule(<levels = [<"L1" : n = 16, m = 8, k = 8>], parallel = 0,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 2>, held = [0]>) {
  ^bb0(%a0: tensor<20x24xf32>, %b0: tensor<24x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x64xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x64xf32>) -> tensor<20x64xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x24xf32>, tensor<24x64xf32>) outs(%1 : tensor<20x64xf32>) -> tensor<20x64xf32>
    chimera.yield %2 : tensor<20x64xf32>
  } -> tensor<20x64xf32>
  return %e : tensor<20x64xf32>
}
