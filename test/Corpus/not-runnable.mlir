// What chimera-run has no arguments for: left alone, with the reason.

// RUN: chimera-opt %s --chimera-planning-pipeline=target=zen5 --remarks-filter=chimera \
// RUN:   --verify-diagnostics | FileCheck %s --implicit-check-not=chimera.chain

// CHECK: func.func @buffers(
// CHECK-COUNT-2: linalg.matmul
// CHECK: func.func private @sparse(
// CHECK-COUNT-2: linalg.matmul

func.func @buffers(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  // expected-remark @below {{not in a chain: it does not work on tensors}}
  linalg.matmul ins(%a, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  // expected-remark @below {{not in a chain: it does not work on tensors}}
  linalg.matmul ins(%b, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  return
}

// The sparse compiler would have to come first.
#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func private @sparse(%a: tensor<8x8xf32, #csr>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-remark @below {{not in a chain: a tensor that it reads or writes has an encoding, such as a sparse format}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32, #csr>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @below {{not in a chain: a tensor that it reads or writes has an encoding, such as a sparse format}}
  %1 = linalg.matmul ins(%a, %0 : tensor<8x8xf32, #csr>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
