// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=avx2 compiled-only" --chimera-widen-factors=target=avx2 | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-form-chains="target=h200 compiled-only" --chimera-widen-factors=target=h200 | FileCheck %s --check-prefix=SAME
// RUN: not chimera-opt %s --split-input-file --chimera-widen-factors=target=pentium 2>&1 | FileCheck %s --check-prefix=NAME

// NAME: error: unknown target 'pentium'

// Vectors run along the columns of the result and of the right factor; of the left
// one there is a copy, which both chains read.
// CHECK-LABEL: func.func @products(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xbf16>, %[[B:.*]]: tensor<16x32xbf16>)
// CHECK-NEXT:  %[[E:.*]] = tensor.empty() : tensor<8x16xf32>
// CHECK-NEXT:  %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<8x16xbf16>) outs(%[[E]] : tensor<8x16xf32>)
// CHECK:         arith.extf
// CHECK-NOT:   tensor<8x16xf32>) outs
// CHECK:       chimera.chain ins(%[[COPY]], %[[B]] : tensor<8x16xf32>, tensor<16x32xbf16>)
// CHECK:       ^bb0(%[[IN:.*]]: f32, %[[RIGHT:.*]]: bf16, %{{.*}}: f32):
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[RIGHT]]
// CHECK-NEXT:    arith.mulf %[[IN]], %[[WIDE]]
// CHECK:       chimera.chain ins(%[[COPY]], %[[B]] : tensor<8x16xf32>, tensor<16x32xbf16>)
// SAME-LABEL: func.func @products(
// SAME-COUNT-2: chimera.chain ins({{.*}} : tensor<8x16xbf16>, tensor<16x32xbf16>)
func.func @products(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %2, %3 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// The left factor, transposed, is also the right one: the chain gets a copy beside.
// That of a constant is made once.
// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[A:[^ ]*]]: tensor<16x16xf16>
// CHECK:       %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<16x16xf16>) outs(%{{.*}} : tensor<16x16xf32>)
// CHECK:       %[[COPY:.*]] = chimera.prepare %[[WIDE]]
// CHECK:       chimera.chain ins(%[[A]], %[[COPY]] : tensor<16x16xf16>, tensor<16x16xf32>)
// CHECK-NEXT:  ^bb0(%[[RIGHT:.*]]: tensor<16x16xf16>, %[[LEFT:.*]]: tensor<16x16xf32>):
// CHECK:         linalg.generic {{.*}} ins(%[[LEFT]], %[[RIGHT]] : tensor<16x16xf32>, tensor<16x16xf16>)
func.func @both(%a: tensor<16x16xf16> {chimera.constant}) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = linalg.matmul ins(%a, %a : tensor<16x16xf16>, tensor<16x16xf16>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}
