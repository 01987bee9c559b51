// RUN: chimera-opt %s --chimera-form-chains --chimera-orient-constants | FileCheck %s

// Vectors lie along the columns of the result, so rows of the weights are to be
// their columns; what is different in every call stays as it is.

// CHECK-LABEL: func @linear
// CHECK-SAME: %[[X:.+]]: tensor<64x32xf32>, %[[W:.+]]: tensor<48x32xf32>
// CHECK: %[[EMPTY:.+]] = tensor.empty() : tensor<32x48xf32>
// CHECK: %[[T:.+]] = linalg.transpose ins(%[[W]] : tensor<48x32xf32>) outs(%[[EMPTY]] : tensor<32x48xf32>) permutation = [1, 0]
// CHECK: %[[ONCE:.+]] = chimera.prepare %[[T]] : tensor<32x48xf32>
// CHECK: chimera.chain ins(%[[X]], %[[ONCE]] : tensor<64x32xf32>, tensor<32x48xf32>)
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<32x48xf32>)

// CHECK-LABEL: func @varying
// CHECK-NOT: linalg.transpose
// CHECK-NOT: chimera.prepare
// CHECK: chimera.chain ins(%{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<48x32xf32>)

// CHECK-LABEL: func @straight
// CHECK-NOT: linalg.transpose
// CHECK-NOT: chimera.prepare
// CHECK: chimera.chain ins(%{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<32x48xf32>)

// The score of attention reads keys row by row: they are vectors' operand.
// CHECK-LABEL: func @keys
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<2x40x16xf32> {chimera.constant}
// CHECK: linalg.transpose ins(%[[K]] : tensor<2x40x16xf32>) outs(%{{.+}} : tensor<2x16x40xf32>) permutation = [0, 2, 1]

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

func.func @linear(%x: tensor<64x32xf32>, %w: tensor<48x32xf32> {chimera.constant}) -> tensor<64x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x48xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>
  %y = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<64x32xf32>, tensor<48x32xf32>)
      outs(%fill : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}

func.func @varying(%x: tensor<64x32xf32> {chimera.constant}, %w: tensor<48x32xf32>) -> tensor<64x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x48xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>
  %y = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<64x32xf32>, tensor<48x32xf32>)
      outs(%fill : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}

func.func @straight(%x: tensor<64x32xf32>, %w: tensor<32x48xf32> {chimera.constant}) -> tensor<64x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x48xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x48xf32>)
      outs(%fill : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}

func.func @keys(%q: tensor<2x8x16xf32>, %k: tensor<2x40x16xf32> {chimera.constant}) -> tensor<2x8x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x8x40xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x40xf32>) -> tensor<2x8x40xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, l, k) -> (b, m, k)>, affine_map<(b, m, l, k) -> (b, l, k)>, affine_map<(b, m, l, k) -> (b, m, l)>]
      ins(%q, %k : tensor<2x8x16xf32>, tensor<2x40x16xf32>)
      outs(%fill : tensor<2x8x40xf32>) -> tensor<2x8x40xf32>
  return %s : tensor<2x8x40xf32>
}
