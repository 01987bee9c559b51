// RUN: chimera-opt %s --split-input-file --chimera-fuse-memory-bound=takes-parts --cse | FileCheck %s

// Both halves of a rotary embedding are made of both halves of a row: one
// operation makes them, which reads each half once.

// CHECK:       #[[$READ:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK:       #[[$WRITTEN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func @rotary(
// CHECK-SAME:    %[[X:.*]]: tensor<4x16xf32>, %[[C:.*]]: tensor<4x16xf32>)
// CHECK-DAG:     %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [4, 8]
// CHECK-DAG:     %[[X1:.*]] = tensor.extract_slice %[[X]][0, 8] [4, 8]
// CHECK:         %[[BOTH:.*]] = linalg.generic {indexing_maps = [#[[$READ]], #[[$READ]], #[[$READ]], #[[$READ]], #[[$WRITTEN]]]
// CHECK-SAME:      outs(%{{.*}} : tensor<4x2x8xf32>)
// CHECK:           %[[PART:.*]] = linalg.index 1
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK:           arith.select %[[IS]]
// CHECK-NOT:     linalg.generic
// CHECK:         tensor.collapse_shape %[[BOTH]] {{\[\[}}0], [1, 2]]
func.func @rotary(%x: tensor<4x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %a = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %b = tensor.extract_slice %x[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %n = arith.negf %b : tensor<4x8xf32>
  %t = tensor.concat dim(1) %n, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %p = arith.mulf %x, %c : tensor<4x16xf32>
  %r = arith.addf %p, %t : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Parts that share nothing that they read at each point stay apart, and so do
// parts that are no parts of rows, or are not equally long.

// CHECK-LABEL: func @apart(
// CHECK-NOT:     linalg.index
// CHECK:         return
func.func @apart(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %bias: tensor<8xf32>) -> tensor<4x16xf32> {
  %0 = tensor.empty() : tensor<4x8xf32>
  %b = linalg.broadcast ins(%bias : tensor<8xf32>) outs(%0 : tensor<4x8xf32>) dimensions = [0]
  %s = arith.addf %x, %b : tensor<4x8xf32>
  %d = arith.subf %y, %b : tensor<4x8xf32>
  %r = tensor.concat dim(1) %s, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// CHECK-LABEL: func @stacked(
// CHECK-NOT:     linalg.index
// CHECK:         return
func.func @stacked(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %s = arith.addf %x, %y : tensor<4x8xf32>
  %d = arith.subf %x, %y : tensor<4x8xf32>
  %r = tensor.concat dim(0) %s, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func @uneven(
// CHECK-NOT:     linalg.index
// CHECK:         return
func.func @uneven(%x: tensor<4x8xf32>) -> tensor<4x12xf32> {
  %a = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %e = math.exp %x : tensor<4x8xf32>
  %n = arith.negf %a : tensor<4x4xf32>
  %r = tensor.concat dim(1) %e, %n : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  return %r : tensor<4x12xf32>
}
