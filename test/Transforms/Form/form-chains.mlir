// RUN: chimera-opt %s --split-input-file --chimera-form-chains | FileCheck %s

// The plainest chain: both operators and their fills move inside.

func.func @matmul(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<12x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %5 : tensor<16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

func.func @batch_matmul(%a: tensor<3x16x8xf32>, %b: tensor<3x8x12xf32>, %d: tensor<3x12x4xf32>) -> tensor<3x16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x16x12xf32>) -> tensor<3x16x12xf32>
  %2 = linalg.batch_matmul ins(%a, %b : tensor<3x16x8xf32>, tensor<3x8x12xf32>) outs(%1 : tensor<3x16x12xf32>) -> tensor<3x16x12xf32>
  %3 = tensor.empty() : tensor<3x16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x16x4xf32>) -> tensor<3x16x4xf32>
  %5 = linalg.batch_matmul ins(%2, %d : tensor<3x16x12xf32>, tensor<3x12x4xf32>) outs(%4 : tensor<3x16x4xf32>) -> tensor<3x16x4xf32>
  return %5 : tensor<3x16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @batch_matmul(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Weights that arrive transposed are read through their maps: by a transpose
// operation, and by maps of the matmul itself.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @transposed(%a: tensor<16x8xf32>, %b: tensor<12x8xf32>, %d: tensor<4x12xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<8x12xf32>
  %bt = linalg.transpose ins(%b : tensor<12x8xf32>) outs(%t : tensor<8x12xf32>) permutation = [1, 0]
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %bt : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %5 = linalg.matmul indexing_maps = [#a, #b, #c] ins(%2, %d : tensor<16x12xf32>, tensor<4x12xf32>) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %5 : tensor<16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Several dimensions of one kind, and another order of the result's.

#q = affine_map<(b, h, m, n, k) -> (b, m, h, k)>
#k = affine_map<(b, h, m, n, k) -> (b, n, h, k)>
#s = affine_map<(b, h, m, n, k) -> (b, h, m, n)>
#p = affine_map<(b, h, m, d, n) -> (b, h, m, n)>
#v = affine_map<(b, h, m, d, n) -> (b, n, h, d)>
#o = affine_map<(b, h, m, d, n) -> (b, m, h, d)>
func.func @contract(%q: tensor<2x6x3x8xf32>, %k: tensor<2x5x3x8xf32>, %v: tensor<2x5x3x4xf32>) -> tensor<2x6x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2x3x6x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x3x6x5xf32>) -> tensor<2x3x6x5xf32>
  %2 = linalg.contract indexing_maps = [#q, #k, #s] ins(%q, %k : tensor<2x6x3x8xf32>, tensor<2x5x3x8xf32>) outs(%1 : tensor<2x3x6x5xf32>) -> tensor<2x3x6x5xf32>
  %3 = tensor.empty() : tensor<2x6x3x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<2x6x3x4xf32>) -> tensor<2x6x3x4xf32>
  %5 = linalg.contract indexing_maps = [#p, #v, #o] ins(%2, %v : tensor<2x3x6x5xf32>, tensor<2x5x3x4xf32>) outs(%4 : tensor<2x6x3x4xf32>) -> tensor<2x6x3x4xf32>
  return %5 : tensor<2x6x3x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3)>
// CHECK-DAG:   #[[$MAP5:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>
// CHECK-LABEL: func.func @contract(
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: {{.+}}, %[[K:[a-z0-9_]+]]: {{.+}}, %[[V:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NEXT:  ^bb0(%[[Q_IN:[a-z0-9_]+]]: {{.+}}, %[[K_IN:[a-z0-9_]+]]: {{.+}}, %[[V_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[Q_IN]], %[[K_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP5]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[V_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// What counts is the maps and the body, not the name.

#a = affine_map<(n, m, k) -> (k, m)>
#b = affine_map<(n, m, k) -> (k, n)>
#c = affine_map<(n, m, k) -> (m, n)>
func.func @generic(%a: tensor<8x16xf32>, %b: tensor<8x12xf32>, %d: tensor<12xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x16xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %6 = arith.mulf %y, %x : f32
    %7 = arith.addf %6, %z : f32
    linalg.yield %7 : f32
  } -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<16xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16xf32>) -> tensor<16xf32>
  %5 = linalg.matvec ins(%2, %d : tensor<16x12xf32>, tensor<12xf32>) outs(%4 : tensor<16xf32>) -> tensor<16xf32>
  return %5 : tensor<16xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[$MAP5:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @generic(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP5]]], iterator_types = ["parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// A weight that is broadcast over the batch is not copied.

func.func @broadcast(%a: tensor<3x16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<3x12x4xf32>) -> tensor<3x16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<3x8x12xf32>
  %bb = linalg.broadcast ins(%b : tensor<8x12xf32>) outs(%t : tensor<3x8x12xf32>) dimensions = [0]
  %0 = tensor.empty() : tensor<3x16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x16x12xf32>) -> tensor<3x16x12xf32>
  %2 = linalg.batch_matmul ins(%a, %bb : tensor<3x16x8xf32>, tensor<3x8x12xf32>) outs(%1 : tensor<3x16x12xf32>) -> tensor<3x16x12xf32>
  %3 = tensor.empty() : tensor<3x16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x16x4xf32>) -> tensor<3x16x4xf32>
  %5 = linalg.batch_matmul ins(%2, %d : tensor<3x16x12xf32>, tensor<3x12x4xf32>) outs(%4 : tensor<3x16x4xf32>) -> tensor<3x16x4xf32>
  return %5 : tensor<3x16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP3]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Unit dimensions go, here those TOSA leaves: a batch of one around each
// operator, and none around what lies between. The reshapes that remain are
// outside.

func.func @unit_dims(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %bias: tensor<12xf32>, %d: tensor<1x12x4xf32>) -> tensor<1x16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %a1 = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, 16, 8] : tensor<16x8xf32> into tensor<1x16x8xf32>
  %b1 = tensor.expand_shape %b [[0, 1], [2]] output_shape [1, 8, 12] : tensor<8x12xf32> into tensor<1x8x12xf32>
  %0 = tensor.empty() : tensor<1x16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x16x12xf32>) -> tensor<1x16x12xf32>
  %2 = linalg.batch_matmul ins(%a1, %b1 : tensor<1x16x8xf32>, tensor<1x8x12xf32>) outs(%1 : tensor<1x16x12xf32>) -> tensor<1x16x12xf32>
  %c = tensor.collapse_shape %2 [[0, 1], [2]] : tensor<1x16x12xf32> into tensor<16x12xf32>
  %bias1 = tensor.expand_shape %bias [[0, 1]] output_shape [1, 12] : tensor<12xf32> into tensor<1x12xf32>
  %e = tensor.empty() : tensor<16x12xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%c, %bias1 : tensor<16x12xf32>, tensor<1x12xf32>) outs(%e : tensor<16x12xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %6 = arith.addf %x, %y : f32
    linalg.yield %6 : f32
  } -> tensor<16x12xf32>
  %c1 = tensor.expand_shape %f [[0, 1], [2]] output_shape [1, 16, 12] : tensor<16x12xf32> into tensor<1x16x12xf32>
  %3 = tensor.empty() : tensor<1x16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<1x16x4xf32>) -> tensor<1x16x4xf32>
  %5 = linalg.batch_matmul ins(%c1, %d : tensor<1x16x12xf32>, tensor<1x12x4xf32>) outs(%4 : tensor<1x16x4xf32>) -> tensor<1x16x4xf32>
  return %5 : tensor<1x16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @unit_dims(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[BIAS:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[RESHAPED:[a-z0-9_]+]] = tensor.collapse_shape %[[D]]
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[BIAS]], %[[RESHAPED]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[BIAS_IN:[a-z0-9_]+]]: {{.+}}, %[[RESHAPED_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[BIAS_IN]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = arith.addf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[RESHAPED_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       %[[RESHAPED1:[a-z0-9_]+]] = tensor.expand_shape %[[CHAIN]]
// CHECK:       return %[[RESHAPED1]] :

// -----

// Rows that are split for the activation alone stay one loop.

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @merged_rows(%a: tensor<32x8xf32>, %b: tensor<8x12xf32>, %d: tensor<12x4xf32>) -> tensor<4x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<32x12xf32>) -> tensor<32x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<32x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<32x12xf32>) -> tensor<32x12xf32>
  %c = tensor.expand_shape %2 [[0, 1], [2]] output_shape [4, 8, 12] : tensor<32x12xf32> into tensor<4x8x12xf32>
  %e = tensor.empty() : tensor<4x8x12xf32>
  %f = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : tensor<4x8x12xf32>) outs(%e : tensor<4x8x12xf32>) {
  ^bb0(%x: f32, %z: f32):
    %6 = arith.maximumf %x, %zero : f32
    linalg.yield %6 : f32
  } -> tensor<4x8x12xf32>
  %g = tensor.collapse_shape %f [[0, 1], [2]] : tensor<4x8x12xf32> into tensor<32x12xf32>
  %3 = tensor.empty() : tensor<32x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %5 = linalg.matmul ins(%g, %d : tensor<32x12xf32>, tensor<12x4xf32>) outs(%4 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %h = tensor.expand_shape %5 [[0, 1], [2]] output_shape [4, 8, 4] : tensor<32x4xf32> into tensor<4x8x4xf32>
  return %h : tensor<4x8x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @merged_rows(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = arith.maximumf %[[X]], {{%.+}} : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       %[[RESHAPED:[a-z0-9_]+]] = tensor.expand_shape %[[CHAIN]]
// CHECK:       return %[[RESHAPED]] :

// -----

// Heads that are split from columns between two operators become a loop of
// both.

func.func @split_heads(%a: tensor<10x16xf32>, %b: tensor<16x24xf32>, %k: tensor<3x8x6xf32>) -> tensor<3x10x6xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<10x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<10x24xf32>) -> tensor<10x24xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<10x16xf32>, tensor<16x24xf32>) outs(%1 : tensor<10x24xf32>) -> tensor<10x24xf32>
  %c = tensor.expand_shape %2 [[0], [1, 2]] output_shape [10, 3, 8] : tensor<10x24xf32> into tensor<10x3x8xf32>
  %e = tensor.empty() : tensor<3x10x8xf32>
  %f = linalg.transpose ins(%c : tensor<10x3x8xf32>) outs(%e : tensor<3x10x8xf32>) permutation = [1, 0, 2]
  %3 = tensor.empty() : tensor<3x10x6xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x10x6xf32>) -> tensor<3x10x6xf32>
  %5 = linalg.batch_matmul ins(%f, %k : tensor<3x10x8xf32>, tensor<3x8x6xf32>) outs(%4 : tensor<3x10x6xf32>) -> tensor<3x10x6xf32>
  return %5 : tensor<3x10x6xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-LABEL: func.func @split_heads(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[K:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[RESHAPED:[a-z0-9_]+]] = tensor.expand_shape %[[B]]
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[RESHAPED]], %[[K]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[RESHAPED_IN:[a-z0-9_]+]]: {{.+}}, %[[K_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[RESHAPED_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[K_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Bias and activation of a first layer, bias and residual of a second: one
// elementwise operation after each contraction.

#row = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @mlp(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %bias0: tensor<12xf32>, %d: tensor<12x8xf32>, %bias1: tensor<8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %wide = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias0 : tensor<12xf32>) outs(%0 : tensor<16x12xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  } -> tensor<16x12xf32>
  %3 = linalg.add ins(%2, %wide : tensor<16x12xf32>, tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%3 : tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) {
  ^bb0(%x: f32, %z: f32):
    %11 = arith.cmpf ugt, %x, %zero : f32
    %12 = arith.select %11, %x, %zero : f32
    linalg.yield %12 : f32
  } -> tensor<16x12xf32>
  %5 = tensor.empty() : tensor<16x8xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %7 = linalg.matmul ins(%4, %d : tensor<16x12xf32>, tensor<12x8xf32>) outs(%6 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %8 = linalg.broadcast ins(%bias1 : tensor<8xf32>) outs(%5 : tensor<16x8xf32>) dimensions = [0]
  %9 = linalg.add ins(%7, %8 : tensor<16x8xf32>, tensor<16x8xf32>) outs(%5 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %10 = linalg.add ins(%a, %9 : tensor<16x8xf32>, tensor<16x8xf32>) outs(%5 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %10 : tensor<16x8xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[BIAS0:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}, %[[BIAS1:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[BIAS0]], %[[D]], %[[BIAS1]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[BIAS0_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}, %[[BIAS1_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[BIAS0_IN]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = arith.addf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = arith.cmpf ugt, %[[E]], {{%.+}} : f32
// CHECK-NEXT:      %[[E2:[a-z0-9_]+]] = arith.select %[[E1]], %[[E]], {{%.+}} : f32
// CHECK-NEXT:      linalg.yield %[[E2]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[RESULT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]], #[[$MAP4]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[A_IN]], %[[PRODUCT1]], %[[BIAS1_IN]] :
// CHECK-NEXT:    ^bb0(%[[X1:[a-z0-9_]+]]: f32, %[[Y1:[a-z0-9_]+]]: f32, %[[W:[a-z0-9_]+]]: f32, %[[O1:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E3:[a-z0-9_]+]] = arith.addf %[[Y1]], %[[W]] : f32
// CHECK-NEXT:      %[[E4:[a-z0-9_]+]] = arith.addf %[[X1]], %[[E3]] : f32
// CHECK-NEXT:      linalg.yield %[[E4]] : f32
// CHECK:         chimera.yield %[[RESULT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// GELU from separate operations reads its argument several times.

func.func @gelu(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<12x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant dense<0.5> : tensor<16x12xf32>
  %one = arith.constant dense<1.0> : tensor<16x12xf32>
  %scale = arith.constant dense<0.707106769> : tensor<16x12xf32>
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = arith.mulf %2, %scale : tensor<16x12xf32>
  %4 = math.erf %3 : tensor<16x12xf32>
  %5 = arith.addf %4, %one : tensor<16x12xf32>
  %6 = linalg.mul ins(%2, %half : tensor<16x12xf32>, tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %7 = linalg.elementwise kind=#linalg.elementwise_kind<mul> ins(%5, %6 : tensor<16x12xf32>, tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %8 = tensor.empty() : tensor<16x4xf32>
  %9 = linalg.fill ins(%zero : f32) outs(%8 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %10 = linalg.matmul ins(%7, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%9 : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %10 : tensor<16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @gelu(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = arith.mulf %[[X]], {{%.+}} : f32
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = math.erf %[[E]] : f32
// CHECK-NEXT:      %[[E2:[a-z0-9_]+]] = arith.mulf %[[X]], {{%.+}} : f32
// CHECK-NEXT:      %[[E3:[a-z0-9_]+]] = arith.addf %[[E1]], {{%.+}} : f32
// CHECK-NEXT:      %[[E4:[a-z0-9_]+]] = arith.mulf %[[E3]], %[[E2]] : f32
// CHECK-NEXT:      linalg.yield %[[E4]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Two contractions, one gated by the other, and a third that consumes both.

func.func @gate(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %g: tensor<8x12xf32>, %d: tensor<12x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = linalg.map { math.tanh } ins(%2 : tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>)
  %4 = linalg.mul ins(%2, %3 : tensor<16x12xf32>, tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %5 = linalg.matmul ins(%a, %g : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %6 = linalg.mul ins(%4, %5 : tensor<16x12xf32>, tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %7 = tensor.empty() : tensor<16x4xf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %9 = linalg.matmul ins(%6, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%8 : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %9 : tensor<16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @gate(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[G:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[G]], %[[D]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[G_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[G_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[PRODUCT1]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = math.tanh %[[X]] : f32
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = arith.mulf %[[X]], %[[E]] : f32
// CHECK-NEXT:      %[[E2:[a-z0-9_]+]] = arith.mulf %[[E1]], %[[Y]] : f32
// CHECK-NEXT:      linalg.yield %[[E2]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT2:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         chimera.yield %[[PRODUCT2]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Both operands of a product come from the chain; each keeps its activation
// right behind its contraction.

func.func @both_operands(%x: tensor<5x9x8xf32>, %a: tensor<5x8x6xf32>, %b: tensor<5x8x7xf32>) -> tensor<5x6x7xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<5x9x6xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<5x9x6xf32>) -> tensor<5x9x6xf32>
  %2 = tensor.empty() : tensor<5x9x7xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<5x9x7xf32>) -> tensor<5x9x7xf32>
  %4 = tensor.empty() : tensor<5x6x7xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<5x6x7xf32>) -> tensor<5x6x7xf32>
  %6 = linalg.batch_matmul ins(%x, %a : tensor<5x9x8xf32>, tensor<5x8x6xf32>) outs(%1 : tensor<5x9x6xf32>) -> tensor<5x9x6xf32>
  %7 = linalg.batch_matmul ins(%x, %b : tensor<5x9x8xf32>, tensor<5x8x7xf32>) outs(%3 : tensor<5x9x7xf32>) -> tensor<5x9x7xf32>
  %8 = linalg.tanh ins(%6 : tensor<5x9x6xf32>) outs(%0 : tensor<5x9x6xf32>) -> tensor<5x9x6xf32>
  %9 = linalg.exp ins(%7 : tensor<5x9x7xf32>) outs(%2 : tensor<5x9x7xf32>) -> tensor<5x9x7xf32>
  %10 = tensor.empty() : tensor<5x6x9xf32>
  %11 = linalg.transpose ins(%8 : tensor<5x9x6xf32>) outs(%10 : tensor<5x6x9xf32>) permutation = [0, 2, 1]
  %12 = linalg.batch_matmul ins(%11, %9 : tensor<5x6x9xf32>, tensor<5x9x7xf32>) outs(%5 : tensor<5x6x7xf32>) -> tensor<5x6x7xf32>
  return %12 : tensor<5x6x7xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// CHECK-LABEL: func.func @both_operands(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: {{.+}}, %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[X]], %[[A]], %[[B]] :
// CHECK-NEXT:  ^bb0(%[[X_IN:[a-z0-9_]+]]: {{.+}}, %[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[X_IN]], %[[A_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]] :
// CHECK-NEXT:    ^bb0(%[[X1:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = math.tanh %[[X1]] : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[X_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[RESULT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT1]] :
// CHECK-NEXT:    ^bb0(%[[X2:[a-z0-9_]+]]: f32, %[[O1:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = math.exp %[[X2]] : f32
// CHECK-NEXT:      linalg.yield %[[E1]] : f32
// CHECK:         %[[ZERO2:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT2:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP4]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[RESULT1]] :{{.+}} outs(%[[ZERO2]] :
// CHECK:         chimera.yield %[[PRODUCT2]] :
// CHECK:       return %[[CHAIN]] :

// -----

func.func @three(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<12x4xf32>, %e: tensor<4x6xf32>) -> tensor<16x6xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<16x4xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %6 = tensor.empty() : tensor<16x6xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<16x6xf32>) -> tensor<16x6xf32>
  %8 = linalg.matmul ins(%5, %e : tensor<16x4xf32>, tensor<4x6xf32>) outs(%7 : tensor<16x6xf32>) -> tensor<16x6xf32>
  return %8 : tensor<16x6xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @three(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}, %[[E:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]], %[[E]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}, %[[E_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[ZERO2:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT2:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT1]], %[[E_IN]] :{{.+}} outs(%[[ZERO2]] :
// CHECK:         chimera.yield %[[PRODUCT2]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Accumulators: a broadcast bias and a tensor become additions, a constant zero
// becomes a fill.

func.func @accumulators(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %bias: tensor<12xf32>, %d: tensor<12x4xf32>, %e: tensor<4x6xf32>, %acc: tensor<16x6xf32>) -> tensor<16x6xf32> {
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.broadcast ins(%bias : tensor<12xf32>) outs(%0 : tensor<16x12xf32>) dimensions = [0]
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = arith.constant dense<0.0> : tensor<16x4xf32>
  %4 = linalg.matmul ins(%2, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%3 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %5 = linalg.matmul ins(%4, %e : tensor<16x4xf32>, tensor<4x6xf32>) outs(%acc : tensor<16x6xf32>) -> tensor<16x6xf32>
  return %5 : tensor<16x6xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @accumulators(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[BIAS:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}, %[[E:[a-z0-9_]+]]: {{.+}}, %[[ACC:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[BIAS]], %[[D]], %[[E]], %[[ACC]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[BIAS_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}, %[[E_IN:[a-z0-9_]+]]: {{.+}}, %[[ACC_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP4]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]], %[[BIAS_IN]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = arith.addf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      linalg.yield %[[E1]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[ZERO2:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT2:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[PRODUCT1]], %[[E_IN]] :{{.+}} outs(%[[ZERO2]] :
// CHECK:         %[[RESULT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT2]], %[[ACC_IN]] :
// CHECK-NEXT:    ^bb0(%[[X1:[a-z0-9_]+]]: f32, %[[Y1:[a-z0-9_]+]]: f32, %[[O1:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E2:[a-z0-9_]+]] = arith.addf %[[X1]], %[[Y1]] : f32
// CHECK-NEXT:      linalg.yield %[[E2]] : f32
// CHECK:         chimera.yield %[[RESULT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// A transpose between a contraction and its activation moves behind both: into
// the next contraction's map, or out of the chain.

func.func @transposed_activation(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<16x4xf32>, %r: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<12x16xf32>
  %4 = linalg.transpose ins(%2 : tensor<16x12xf32>) outs(%3 : tensor<12x16xf32>) permutation = [1, 0]
  %5 = linalg.exp ins(%4 : tensor<12x16xf32>) outs(%3 : tensor<12x16xf32>) -> tensor<12x16xf32>
  %6 = tensor.empty() : tensor<12x4xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<12x4xf32>) -> tensor<12x4xf32>
  %8 = linalg.matmul ins(%5, %d : tensor<12x16xf32>, tensor<16x4xf32>) outs(%7 : tensor<12x4xf32>) -> tensor<12x4xf32>
  %9 = tensor.empty() : tensor<4x12xf32>
  %10 = linalg.transpose ins(%8 : tensor<12x4xf32>) outs(%9 : tensor<4x12xf32>) permutation = [1, 0]
  %11 = linalg.add ins(%10, %r : tensor<4x12xf32>, tensor<4x12xf32>) outs(%9 : tensor<4x12xf32>) -> tensor<4x12xf32>
  return %11 : tensor<4x12xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP4:.+]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG:   #[[$MAP5:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @transposed_activation(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}, %[[R:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[D]], %[[R]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}, %[[R_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = math.exp %[[X]] : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP4]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[RESULT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP5]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT1]], %[[R_IN]] :
// CHECK-NEXT:    ^bb0(%[[X1:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O1:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = arith.addf %[[X1]], %[[Y]] : f32
// CHECK-NEXT:      linalg.yield %[[E1]] : f32
// CHECK:         chimera.yield %[[RESULT1]] :
// CHECK:       %[[RESULT2:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:      indexing_maps = [#[[$MAP5]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:      ins(%[[CHAIN]] :
// CHECK-NEXT:  ^bb0(%[[X2:[a-z0-9_]+]]: f32, %[[O2:[a-z0-9_]+]]: f32):
// CHECK-NEXT:    linalg.yield %[[X2]] : f32
// CHECK:       return %[[RESULT2]] :

// -----

// A scalar that a body captures becomes an input of the chain, as does a
// residual that is computed after the first contraction.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @captured(%a: tensor<16x8xf32>, %b: tensor<8x12xf32>, %d: tensor<12x4xf32>, %s: f32, %r: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x12xf32>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<16x12xf32>) outs(%0 : tensor<16x12xf32>) {
  ^bb0(%x: f32, %z: f32):
    %9 = arith.mulf %x, %s : f32
    linalg.yield %9 : f32
  } -> tensor<16x12xf32>
  %4 = tensor.empty() : tensor<16x4xf32>
  %5 = linalg.exp ins(%r : tensor<16x4xf32>) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %7 = linalg.matmul ins(%3, %d : tensor<16x12xf32>, tensor<12x4xf32>) outs(%6 : tensor<16x4xf32>) -> tensor<16x4xf32>
  %8 = linalg.add ins(%7, %5 : tensor<16x4xf32>, tensor<16x4xf32>) outs(%4 : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %8 : tensor<16x4xf32>
}

// CHECK-DAG:   #[[$MAP:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[$MAP1:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[$MAP2:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$MAP3:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @captured(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[D:[a-z0-9_]+]]: {{.+}}, %[[S:[a-z0-9_]+]]: {{.+}}, %[[R:[a-z0-9_]+]]: {{.+}}
// CHECK:       %[[OUTSIDE:[a-z0-9_]+]] = linalg.exp
// CHECK:       %[[CHAIN:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]], %[[S]], %[[D]], %[[OUTSIDE]] :
// CHECK-NEXT:  ^bb0(%[[A_IN:[a-z0-9_]+]]: {{.+}}, %[[B_IN:[a-z0-9_]+]]: {{.+}}, %[[S_IN:[a-z0-9_]+]]: {{.+}}, %[[D_IN:[a-z0-9_]+]]: {{.+}}, %[[OUTSIDE_IN:[a-z0-9_]+]]: {{.+}}):
// CHECK:         %[[ZERO:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[A_IN]], %[[B_IN]] :{{.+}} outs(%[[ZERO]] :
// CHECK:         %[[RESULT:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT]] :
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: f32, %[[O:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = arith.mulf %[[X]], %[[S_IN]] : f32
// CHECK-NEXT:      linalg.yield %[[E]] : f32
// CHECK:         %[[ZERO1:[a-z0-9_]+]] = linalg.fill
// CHECK:         %[[PRODUCT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP]], #[[$MAP1]], #[[$MAP2]]], iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:        ins(%[[RESULT]], %[[D_IN]] :{{.+}} outs(%[[ZERO1]] :
// CHECK:         %[[RESULT1:[a-z0-9_]+]] = linalg.generic
// CHECK-SAME:        indexing_maps = [#[[$MAP3]], #[[$MAP3]], #[[$MAP3]]], iterator_types = ["parallel", "parallel"]
// CHECK-SAME:        ins(%[[PRODUCT1]], %[[OUTSIDE_IN]] :
// CHECK-NEXT:    ^bb0(%[[X1:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32, %[[O1:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[E1:[a-z0-9_]+]] = arith.addf %[[X1]], %[[Y]] : f32
// CHECK-NEXT:      linalg.yield %[[E1]] : f32
// CHECK:         chimera.yield %[[RESULT1]] :
// CHECK:       return %[[CHAIN]] :

// -----

// Chains form in nested blocks too, and a function may hold several. The tensor
// between these two is the function's other result.

func.func @several(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %n: index) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tensor.empty() : tensor<16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = linalg.matmul ins(%2, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = linalg.matmul ins(%3, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = linalg.matmul ins(%4, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %6 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %5) -> tensor<16x16xf32> {
    %7 = linalg.matmul ins(%x, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %8 = linalg.matmul ins(%7, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %8 : tensor<16x16xf32>
  }
  return %3, %6 : tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK-LABEL: func.func @several(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[N:[a-z0-9_]+]]: index
// CHECK:       %[[FIRST:[a-z0-9_]+]] = chimera.chain ins(%[[A]], %[[B]] :
// CHECK:       %[[SECOND:[a-z0-9_]+]] = chimera.chain ins(%[[FIRST]], %[[B]] :
// CHECK:       %[[LOOP:[a-z0-9_]+]] = scf.for {{.+}} iter_args(%[[ITER:[a-z0-9_]+]] = %[[SECOND]])
// CHECK:         %[[THIRD:[a-z0-9_]+]] = chimera.chain ins(%[[ITER]], %[[B]] :
// CHECK:         scf.yield %[[THIRD]] :
// CHECK:       return %[[FIRST]], %[[LOOP]] :

// -----

// A product that accumulates onto another: the sum follows the later one.

func.func @accumulated_product(%a: tensor<6x8xf32>, %b: tensor<8x5xf32>, %x: tensor<6x3xf32>, %y: tensor<3x5xf32>, %d: tensor<5x4xf32>, %acc: tensor<6x5xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x5xf32>) outs(%acc : tensor<6x5xf32>) -> tensor<6x5xf32>
  %1 = linalg.matmul ins(%x, %y : tensor<6x3xf32>, tensor<3x5xf32>) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %2 = tensor.empty() : tensor<6x4xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %4 = linalg.matmul ins(%1, %d : tensor<6x5xf32>, tensor<5x4xf32>) outs(%3 : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @accumulated_product(
// CHECK:         %[[AB:[a-z0-9_]+]] = linalg.generic {{.+}} "reduction"]
// CHECK:         %[[XY:[a-z0-9_]+]] = linalg.generic {{.+}} "reduction"]
// CHECK:         %[[SUM:[a-z0-9_]+]] = linalg.generic {{.+}} ins(%[[XY]], %[[AB]], %{{.+}} :
// CHECK-COUNT-2:   arith.addf
// CHECK:         linalg.generic {{.+}} "reduction"]} ins(%[[SUM]], %{{.+}} :

// -----

// An intermediate that two members of the chain read.

func.func @shared_intermediate(%a: tensor<6x8xf32>, %b: tensor<8x5xf32>, %d: tensor<5x4xf32>, %g: tensor<5x4xf32>, %h: tensor<4x3xf32>) -> tensor<6x3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x5xf32>) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %3 = linalg.tanh ins(%2 : tensor<6x5xf32>) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %4 = tensor.empty() : tensor<6x4xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %6 = linalg.matmul ins(%3, %d : tensor<6x5xf32>, tensor<5x4xf32>) outs(%5 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %7 = linalg.matmul ins(%3, %g : tensor<6x5xf32>, tensor<5x4xf32>) outs(%5 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %8 = linalg.mul ins(%6, %7 : tensor<6x4xf32>, tensor<6x4xf32>) outs(%4 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %9 = tensor.empty() : tensor<6x3xf32>
  %10 = linalg.fill ins(%zero : f32) outs(%9 : tensor<6x3xf32>) -> tensor<6x3xf32>
  %11 = linalg.matmul ins(%8, %h : tensor<6x4xf32>, tensor<4x3xf32>) outs(%10 : tensor<6x3xf32>) -> tensor<6x3xf32>
  return %11 : tensor<6x3xf32>
}

// CHECK-LABEL: func.func @shared_intermediate(
// CHECK:         linalg.generic {{.+}} "reduction"]
// CHECK:         %[[C:[a-z0-9_]+]] = linalg.generic {{.+}} ["parallel", "parallel"]
// CHECK:           math.tanh
// CHECK:         %[[D:[a-z0-9_]+]] = linalg.generic {{.+}} "reduction"]} ins(%[[C]], %{{.+}} :
// CHECK:         %[[G:[a-z0-9_]+]] = linalg.generic {{.+}} "reduction"]} ins(%[[C]], %{{.+}} :
// CHECK:         %[[E:[a-z0-9_]+]] = linalg.generic {{.+}} ins(%[[D]], %[[G]] :
// CHECK:         linalg.generic {{.+}} "reduction"]} ins(%[[E]], %{{.+}} :

// -----

// Contractions that join no other, as the projections of a layer: each is a
// chain, with the bias and what is done to its result, and weights that arrive
// transposed. The second reads a row (M = 1).

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
func.func @lone(%x: tensor<6x8xf32>, %w: tensor<5x8xf32>, %bias: tensor<5xf32>, %q: tensor<1x8xf32>) -> (tensor<6x5xf32>, tensor<1x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x5xf32>
  %wt = linalg.transpose ins(%w : tensor<5x8xf32>) outs(%0 : tensor<8x5xf32>) permutation = [1, 0]
  %1 = tensor.empty() : tensor<6x5xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %3 = linalg.matmul ins(%x, %wt : tensor<6x8xf32>, tensor<8x5xf32>) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %4 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%3, %bias : tensor<6x5xf32>, tensor<5xf32>) outs(%1 : tensor<6x5xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %sum = arith.addf %in, %b : f32
    linalg.yield %sum : f32
  } -> tensor<6x5xf32>
  %5 = tensor.empty() : tensor<1x5xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<1x5xf32>) -> tensor<1x5xf32>
  %7 = linalg.matmul ins(%q, %wt : tensor<1x8xf32>, tensor<8x5xf32>) outs(%6 : tensor<1x5xf32>) -> tensor<1x5xf32>
  return %4, %7 : tensor<6x5xf32>, tensor<1x5xf32>
}

// CHECK-DAG:   #[[$W:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[$WROW:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @lone(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: {{.+}}, %[[WT:[a-z0-9_]+]]: {{.+}}, %[[B:[a-z0-9_]+]]: {{.+}}, %[[Q:[a-z0-9_]+]]: tensor<1x8xf32>
// CHECK:       %[[FIRST:[a-z0-9_]+]] = chimera.chain ins(%[[X]], %[[WT]], %[[B]] :
// CHECK:         linalg.generic {indexing_maps = [#{{.+}}, #[[$W]], #{{.+}}], {{.+}} "reduction"]}
// CHECK:         linalg.generic {{.+}} ["parallel", "parallel"]
// CHECK:         chimera.yield
// CHECK:       %[[ROW:[a-z0-9_]+]] = tensor.collapse_shape %[[Q]]
// CHECK:       %[[SECOND:[a-z0-9_]+]] = chimera.chain ins(%[[ROW]], %[[WT]] :
// CHECK:         linalg.generic {indexing_maps = [#{{.+}}, #[[$WROW]], #{{.+}}], {{.+}} "reduction"]}
// CHECK:       %[[RESULT:[a-z0-9_]+]] = tensor.expand_shape %[[SECOND]]
// CHECK:       return %[[FIRST]], %[[RESULT]]
