// RUN: split-file %s %t
// RUN: chimera-opt %t/good.mlir --chimera-tile | FileCheck %s
// RUN: chimera-opt %t/bad.mlir --chimera-tile --verify-diagnostics

// The rows are not known: loops run to their number, and blocks have whole tiles
// or any part of one.

//--- good.mlir

// CHECK-LABEL: func.func @open(
// The buffer of what is between has the rows of a tile.
// CHECK: bufferization.alloc_tensor() : tensor<32x16xf32>
// CHECK: %[[ROWS:.*]] = chimera.size 1048583
// CHECK: scf.for %{{.*}} to %[[ROWS]] step %c32
// CHECK:   %[[LEFT:.*]] = affine.min {{.*}}()[%[[ROWS]], %{{.*}}]
// CHECK:   tensor.extract_slice {{.*}} [%[[LEFT]], 24] {{.*}} to tensor<?x24xf32>
// CHECK:   chimera.block "gemm0" {{.*}} extents {{\[\[}}32, 0], [16], [24]]
// CHECK:   chimera.block "gemm1" {{.*}} extents {{\[\[}}32, 0], [8], [16]]
func.func @open(%a: tensor<1048583x24xf32>, %b: tensor<24x16xf32>, %d: tensor<16x8xf32>) -> tensor<1048583x8xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 64>} {
  %e = chimera.chain ins(%a, %b, %d : tensor<1048583x24xf32>, tensor<24x16xf32>, tensor<16x8xf32>)
      schedule(<levels = [<"L1" : m = 32>], parallel = 0, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 1>, extents = [m = 64]>) {
  ^bb0(%a0: tensor<1048583x24xf32>, %b0: tensor<24x16xf32>, %d0: tensor<16x8xf32>):
    %zero = arith.constant 0.0 : f32
    %c_empty = tensor.empty() : tensor<1048583x16xf32>
    %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1048583x16xf32>) -> tensor<1048583x16xf32>
    %c = linalg.matmul ins(%a0, %b0 : tensor<1048583x24xf32>, tensor<24x16xf32>) outs(%c_zero : tensor<1048583x16xf32>) -> tensor<1048583x16xf32>
    %e_empty = tensor.empty() : tensor<1048583x8xf32>
    %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1048583x8xf32>) -> tensor<1048583x8xf32>
    %e0 = linalg.matmul ins(%c, %d0 : tensor<1048583x16xf32>, tensor<16x8xf32>) outs(%e_zero : tensor<1048583x8xf32>) -> tensor<1048583x8xf32>
    chimera.yield %e0 : tensor<1048583x8xf32>
  } -> tensor<1048583x8xf32>
  return %e : tensor<1048583x8xf32>
}

// All of a loop that is open: parts of all tensors have it as a size of their
// type.

// CHECK-LABEL: func.func @whole(
// CHECK: scf.forall (%[[J:.*]]) = (0) to (32) step (16)
// CHECK:   tensor.extract_slice %{{.*}}[0, %[[J]]] [1048583, 16] [1, 1] : tensor<1048583x32xf32> to tensor<1048583x16xf32>
// CHECK:   chimera.block "gemm0" ins(%{{.*}}, %{{.*}} : tensor<1048583x24xf32>, tensor<24x16xf32>) outs(%{{.*}} : tensor<1048583x16xf32>) extents {{\[\[}}0], [16], [24]]
func.func @whole(%a: tensor<1048583x24xf32>, %b: tensor<24x32xf32>) -> tensor<1048583x32xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 64>} {
  %e = chimera.chain ins(%a, %b : tensor<1048583x24xf32>, tensor<24x32xf32>)
      schedule(<levels = [<"L2" : n = 16>, <"L1" : m = 4, k = 8>], parallel = 1, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 1>, held = [0], extents = [m = 64]>) {
  ^bb0(%a0: tensor<1048583x24xf32>, %b0: tensor<24x32xf32>):
    %zero = arith.constant 0.0 : f32
    %c_empty = tensor.empty() : tensor<1048583x32xf32>
    %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1048583x32xf32>) -> tensor<1048583x32xf32>
    %c = linalg.matmul ins(%a0, %b0 : tensor<1048583x24xf32>, tensor<24x32xf32>) outs(%c_zero : tensor<1048583x32xf32>) -> tensor<1048583x32xf32>
    chimera.yield %c : tensor<1048583x32xf32>
  } -> tensor<1048583x32xf32>
  return %e : tensor<1048583x32xf32>
}

//--- bad.mlir

func.func @open(%a: tensor<1048583x24xf32>, %b: tensor<24x16xf32>, %d: tensor<16x8xf32>) -> tensor<1048583x8xf32>
    attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 64>} {
  // expected-error @+1 {{schedule cannot run: loop 'm' may have any extent, and buffers would be as large: it needs a tile outside the loops over what operators add up, and around all operators that share an intermediate along it}}
  %e = chimera.chain ins(%a, %b, %d : tensor<1048583x24xf32>, tensor<24x16xf32>, tensor<16x8xf32>)
      schedule(<levels = [<"L1" : l = 8>], parallel = 0, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 1>>) {
  ^bb0(%a0: tensor<1048583x24xf32>, %b0: tensor<24x16xf32>, %d0: tensor<16x8xf32>):
    %zero = arith.constant 0.0 : f32
    %c_empty = tensor.empty() : tensor<1048583x16xf32>
    %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<1048583x16xf32>) -> tensor<1048583x16xf32>
    %c = linalg.matmul ins(%a0, %b0 : tensor<1048583x24xf32>, tensor<24x16xf32>) outs(%c_zero : tensor<1048583x16xf32>) -> tensor<1048583x16xf32>
    %e_empty = tensor.empty() : tensor<1048583x8xf32>
    %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<1048583x8xf32>) -> tensor<1048583x8xf32>
    %e0 = linalg.matmul ins(%c, %d0 : tensor<1048583x16xf32>, tensor<16x8xf32>) outs(%e_zero : tensor<1048583x8xf32>) -> tensor<1048583x8xf32>
    chimera.yield %e0 : tensor<1048583x8xf32>
  } -> tensor<1048583x8xf32>
  return %e : tensor<1048583x8xf32>
}
