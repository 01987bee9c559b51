// RUN: split-file %s %t
// RUN: chimera-opt %t/good.mlir --chimera-version-sizes | FileCheck %s
// RUN: chimera-opt %t/errors.mlir --chimera-version-sizes --verify-diagnostics --split-input-file

//--- good.mlir

// One size: the rows of %x, which those of what is made of it follow. The
// function itself is left for all others.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %{{.*}}: tensor<?x64xf32>, %{{.*}}: tensor<64x32xf32> {chimera.constant}) -> tensor<?x32xf32> {
// CHECK: linalg.matmul {{.*}} -> tensor<?x32xf32>
// CHECK-LABEL: func.func private @rows_128(
// CHECK-SAME: %{{.*}}: tensor<128x64xf32>, %{{.*}}: tensor<64x32xf32> {chimera.constant}) -> tensor<128x32xf32> attributes {chimera.version_of = "rows"} {
// CHECK-NOT: tensor.dim
// CHECK: linalg.matmul {{.*}} -> tensor<128x32xf32>
// CHECK-LABEL: func.func private @rows_0(
// CHECK-SAME: tensor<0x64xf32>
// CHECK-SAME: -> tensor<0x32xf32>
func.func @rows(%x: tensor<?x64xf32>, %w: tensor<64x32xf32> {chimera.constant}) -> tensor<?x32xf32>
    attributes {chimera.sizes = [array<i64: 128>, array<i64: 0>]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// Keys and values are of one type, so they have the same sizes; the columns of
// %mask are as many as there are keys because the sum needs it.
// CHECK-LABEL: func.func @ties(
// CHECK-LABEL: func.func private @ties_3x5(
// CHECK-SAME: %{{.*}}: tensor<3x5xf32>, %{{.*}}: tensor<3x5xf32>, %{{.*}}: tensor<5xf32>) -> tensor<3x5xf32>
func.func @ties(%k: tensor<?x?xf32>, %v: tensor<?x?xf32>, %mask: tensor<?xf32>) -> tensor<?x?xf32>
    attributes {chimera.sizes = [array<i64: 3, 5>]} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<?xf32>) outs(%k : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// What exporters make of a broadcast whose sizes are not known: the test
// whether the dimension is one, and a reshape to a shape that is computed.
// CHECK-LABEL: func.func @spelled(
// CHECK-LABEL: func.func private @spelled_2(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<2x4xf32> into tensor<8xf32>
// CHECK: return %[[COLLAPSED]]
func.func @spelled(%x: tensor<?x4xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: 2>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x4xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %n, %c1 : index
    %at = arith.select %one, %c0, %i : index
    %y = tensor.extract %x[%at, %j] : tensor<?x4xf32>
    linalg.yield %y : f32
  } -> tensor<?x4xf32>
  %m = arith.muli %n, %c4 : index
  %shape = tensor.from_elements %m : tensor<1xindex>
  %1 = tensor.reshape %0(%shape) : (tensor<?x4xf32>, tensor<1xindex>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

//--- errors.mlir

// expected-error @+1 {{has 1 dynamic sizes, but 2 are given}}
func.func @count(%x: tensor<?xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: 2, 3>]} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'chimera.sizes' must list sizes such as [array<i64: 1, 128>], which are not negative, got [array<i64: -1>]}}
func.func @negative(%x: tensor<?xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: -1>]} {
  return %x : tensor<?xf32>
}
