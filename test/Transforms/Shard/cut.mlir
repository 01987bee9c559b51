// What leads to an all-reduce with blocks is computed block by block.
//
// RUN: chimera-opt %s --chimera-cut-collectives --canonicalize --cse --remarks-filter=chimera-shard --remark-policy=all 2>&1 | FileCheck %s

#rows = affine_map<(d0, d1) -> (d0, d1)>
#bias = affine_map<(d0, d1) -> (d1)>

// CHECK: [Missed] overlap {{.*}}exchanged as a whole: what leads to it cannot be computed in blocks of rows

// Weights and bias are whole, rows are not; the last block has nothing to
// overlap with.
// CHECK-LABEL: func @mlp(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<8x16xf32>, %[[V:[^ ]*]]: tensor<16x32xf32>, %[[B:[^ ]*]]: tensor<32xf32>, %[[W:[^ ]*]]: tensor<32x16xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [4, 16] [1, 1]
// CHECK: %[[H0:.*]] = linalg.matmul ins(%[[X0]], %[[V]] : {{.*}} -> tensor<4x32xf32>
// CHECK: %[[R0:.*]] = linalg.generic {{.*}} ins(%[[H0]], %[[B]] : tensor<4x32xf32>, tensor<32xf32>)
// CHECK: %[[Y0:.*]] = linalg.matmul ins(%[[R0]], %[[W]] : {{.*}} -> tensor<4x16xf32>
// CHECK: %[[S0:.*]] = chimera.all_reduce sum outs(%[[Y0]] : tensor<4x16xf32>) along [0] of 2 {overlapped}
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][4, 0] [4, 16] [1, 1]
// CHECK: linalg.matmul ins(%[[X1]], %[[V]] :
// CHECK: linalg.generic
// CHECK: %[[Y1:.*]] = linalg.matmul
// CHECK: %[[S1:.*]] = chimera.all_reduce sum outs(%[[Y1]] : tensor<4x16xf32>) along [0] of 2 ->
// CHECK: %[[S:.*]] = tensor.concat dim(0) %[[S0]], %[[S1]]
// CHECK-NOT: linalg.matmul
// CHECK: return %[[S]]
// CHECK-NOT: shard.grid
func.func @mlp(%x: tensor<8x16xf32>, %v: tensor<16x32xf32>, %b: tensor<32xf32>, %w: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %v : tensor<8x16xf32>, tensor<16x32xf32>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [#rows, #bias, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%h, %b : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%r, %w : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = chimera.all_reduce sum outs(%y : tensor<8x16xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// Keys are whole, and computed once. Rows are along the first dimension of more
// than one element, also through a reshape.
// CHECK-LABEL: func @attention(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<8x16xf32>
// CHECK: %[[K:.*]] = linalg.matmul ins(%[[X]], %{{.*}} -> tensor<8x16xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 16] [1, 1]
// CHECK: %[[Q0:.*]] = linalg.matmul ins(%[[X0]]
// CHECK: linalg.generic {{.*}} ins(%[[Q0]], %[[K]] : tensor<2x16xf32>, tensor<8x16xf32>) outs(%{{.*}} : tensor<2x8xf32>)
// CHECK: linalg.softmax dimension(1) {{.*}} -> tensor<2x8xf32>
// CHECK: tensor.expand_shape {{.*}} tensor<2x8xf32> into tensor<1x2x8xf32>
// CHECK: chimera.all_reduce maximum outs({{.*}} : tensor<1x2x8xf32>) along [0] of 2 {overlapped}
// CHECK-COUNT-3: linalg.softmax {{.*}} -> tensor<2x8xf32>
// CHECK: tensor.concat dim(1)
func.func @attention(%x: tensor<8x16xf32>, %wq: tensor<16x16xf32>, %wk: tensor<16x16xf32>) -> tensor<1x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<8x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8x16xf32>, tensor<8x16xf32>) outs(%f1 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<8x8xf32>) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = tensor.expand_shape %p [[0, 1], [2]] output_shape [1, 8, 8] : tensor<8x8xf32> into tensor<1x8x8xf32>
  %r = chimera.all_reduce maximum outs(%y : tensor<1x8x8xf32>) along [0] of 2 {blocks = 4 : i64} -> tensor<1x8x8xf32>
  return %r : tensor<1x8x8xf32>
}

// What something else reads is computed as a whole, and each block reads its
// rows of it.
// CHECK-LABEL: func @readers(
// CHECK: %[[H:.*]] = linalg.exp {{.*}} -> tensor<8x16xf32>
// CHECK: %[[H0:.*]] = tensor.extract_slice %[[H]][0, 0] [4, 16] [1, 1]
// CHECK: %[[Y0:.*]] = linalg.abs ins(%[[H0]]
// CHECK: chimera.all_reduce sum outs(%[[Y0]] : tensor<4x16xf32>) along [0] of 2 {overlapped}
// CHECK: tensor.extract_slice %[[H]][4, 0] [4, 16] [1, 1]
// CHECK: return {{.*}}%[[H]]
func.func @readers(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %e = tensor.empty() : tensor<8x16xf32>
  %h = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.abs ins(%h : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = chimera.all_reduce sum outs(%y : tensor<8x16xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<8x16xf32>
  return %s, %h : tensor<8x16xf32>, tensor<8x16xf32>
}

// Windows reach into other rows: nothing is cut that has some.
// CHECK-LABEL: func @windows(
// CHECK: %[[H:.*]] = linalg.exp {{.*}} -> tensor<9x16xf32>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[H]]
// CHECK: tensor.extract_slice %[[Y]][0, 0] [4, 16] [1, 1]
// CHECK: tensor.extract_slice %[[Y]][4, 0] [4, 16] [1, 1]
func.func @windows(%x: tensor<9x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x16xf32>
  %h = linalg.exp ins(%x : tensor<9x16xf32>) outs(%e : tensor<9x16xf32>) -> tensor<9x16xf32>
  %w = tensor.empty() : tensor<2xf32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %w : tensor<9x16xf32>, tensor<2xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  %z = linalg.abs ins(%y : tensor<8x16xf32>) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %s = chimera.all_reduce sum outs(%z : tensor<8x16xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// CHECK-LABEL: func @nothing(
// CHECK: chimera.all_reduce sum outs(%{{.*}} : tensor<8x16xf32>) along [0] of 2 -> tensor<8x16xf32>
func.func @nothing(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = chimera.all_reduce sum outs(%x : tensor<8x16xf32>) along [0] of 2 {blocks = 2 : i64} -> tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}
