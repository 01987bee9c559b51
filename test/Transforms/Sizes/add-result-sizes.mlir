// RUN: split-file %s %t
// RUN: chimera-opt %t/good.mlir --chimera-add-result-sizes | FileCheck %s
// RUN: chimera-opt %t/unknown.mlir --chimera-add-result-sizes --remarks-filter=chimera 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

//--- good.mlir

// CHECK-LABEL: func.func @rows(
// CHECK-LABEL: func.func @rows_sizes(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %{{.*}}: tensor<64x32xf32>) -> tensor<1xi64> {
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[ROWS]]
// CHECK: %[[ALL:.*]] = tensor.from_elements %[[SIZE]] : tensor<1xi64>
// CHECK-NEXT: return %[[ALL]]
func.func @rows(%x: tensor<?x64xf32>, %w: tensor<64x32xf32> {chimera.constant}) -> tensor<?x32xf32>
    attributes {chimera.sizes = [array<i64: 128>]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// Several results, a shape that is computed, and one that is an argument.
// Assertions are left to the call.
// CHECK-LABEL: func.func @shapes_sizes(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[N:.*]]: index) -> tensor<2xi64> {
// CHECK-DAG: %[[DIM:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[SIZE:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[ALL:.*]] = tensor.from_elements %{{.*}}, %[[SIZE]] : tensor<2xi64>
// CHECK-NEXT: return %[[ALL]]
// CHECK-NOT: cf.assert
func.func @shapes(%x: tensor<?x4xf32>, %n: index) -> (tensor<?xf32>, tensor<2xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant dense<2.0> : tensor<2xf32>
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %ok = arith.cmpi sgt, %rows, %c0 : index
  cf.assert %ok, "no rows"
  %all = arith.muli %rows, %c4 : index
  %shape = tensor.from_elements %all : tensor<1xindex>
  %flat = tensor.reshape %x(%shape) : (tensor<?x4xf32>, tensor<1xindex>) -> tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  return %flat, %two, %filled : tensor<?xf32>, tensor<2xf32>, tensor<?xf32>
}

// Nothing to tell, and nobody to tell it to.
// CHECK-NOT: @static_sizes
// CHECK-NOT: @hidden_sizes
func.func @static(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @hidden(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

//--- unknown.mlir

// UNKNOWN: remark: [Missed] sizes-unknown | Category:chimera | Remark="callers have to know the sizes of results: they depend on what is computed"
// UNKNOWN: remark: [Missed] sizes-unknown | Category:chimera | Remark="callers have to know the sizes of results: there is a 'taken_sizes' already"
// UNKNOWN-NOT: @depends_sizes
func.func @depends(%x: tensor<4xi64>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i64
  %start = tensor.empty() : tensor<i64>
  %fill = linalg.fill ins(%none : i64) outs(%start : tensor<i64>) -> tensor<i64>
  %sum = linalg.reduce ins(%x : tensor<4xi64>) outs(%fill : tensor<i64>) dimensions = [0]
    (%a: i64, %b: i64) {
      %s = arith.addi %a, %b : i64
      linalg.yield %s : i64
    }
  %n = tensor.extract %sum[] : tensor<i64>
  %size = arith.index_cast %n : i64 to index
  %empty = tensor.empty(%size) : tensor<?xf32>
  %r = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @taken(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @taken_sizes()
