// RUN: chimera-opt %s --chimera-widen-floats=target=zen5 --split-input-file | FileCheck %s

// With dot products of bf16 what is multiplied stays bf16: rounded where the
// program rounds, and converted once from what else is made of it.

// CHECK-LABEL: func.func @factors(
// CHECK-SAME:    %[[A:.*]]: tensor<8x16xbf16>, %[[B:.*]]: tensor<16x32xbf16>, %[[D:.*]]: tensor<32x4xbf16>)
// CHECK:       %[[SUMS:.*]] = linalg.matmul ins(%[[A]], %[[B]] : {{.*}}) outs(%{{.*}} : tensor<8x32xf32>)
// CHECK:       %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8x32xf32>) outs(%{{.*}} : tensor<8x32xf32>)
// CHECK:         arith.truncf
// CHECK-NEXT:    arith.extf
// CHECK:       %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[WIDE]] : tensor<8x32xf32>) outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    %[[SHORT:.*]] = arith.truncf %{{.*}} fastmath<afn> : f32 to bf16
// CHECK-NEXT:    linalg.yield %[[SHORT]]
// CHECK:       linalg.matmul ins(%[[NARROW]], %[[D]] : tensor<8x32xbf16>, tensor<32x4xbf16>)
// CHECK:       %[[POWER:.*]] = linalg.generic {{.*}} ins(%[[WIDE]] : tensor<8x32xf32>)
// CHECK:       linalg.generic {{.*}} ins(%[[POWER]] : tensor<8x32xf32>)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    arith.truncf %{{[^ ]*}} : f32 to bf16
func.func @factors(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>, %d: tensor<32x4xbf16>) -> (tensor<8x4xf32>, tensor<8x32xbf16>) {
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<8x32xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %s = linalg.matmul ins(%a, %b : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%s1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %n0 = tensor.empty() : tensor<8x32xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8x32xf32>) outs(%n0 : tensor<8x32xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<8x32xbf16>
  %r0 = tensor.empty() : tensor<8x4xf32>
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%n, %d : tensor<8x32xbf16>, tensor<32x4xbf16>) outs(%r1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %m = linalg.exp ins(%n : tensor<8x32xbf16>) outs(%n0 : tensor<8x32xbf16>) -> tensor<8x32xbf16>
  return %r, %m : tensor<8x4xf32>, tensor<8x32xbf16>
}

// -----

// f16 has none, and is multiplied in f32 as everywhere.

// CHECK-LABEL: func.func @halves(
// CHECK:       linalg.generic {{.*}}"reduction"]} ins(%{{.*}}, %{{.*}} : tensor<8x16xf16>, tensor<16x32xf16>) outs(%{{.*}} : tensor<8x32xf32>)
// CHECK:       linalg.generic {{.*}}"reduction"]} ins(%{{.*}}, %{{.*}} : tensor<8x32xf32>, tensor<32x4xf16>)
func.func @halves(%a: tensor<8x16xf16>, %b: tensor<16x32xf16>, %d: tensor<32x4xf16>) -> tensor<8x4xf16> {
  %zero = arith.constant 0.0 : f16
  %s0 = tensor.empty() : tensor<8x32xf16>
  %s1 = linalg.fill ins(%zero : f16) outs(%s0 : tensor<8x32xf16>) -> tensor<8x32xf16>
  %s = linalg.matmul ins(%a, %b : tensor<8x16xf16>, tensor<16x32xf16>) outs(%s1 : tensor<8x32xf16>) -> tensor<8x32xf16>
  %r0 = tensor.empty() : tensor<8x4xf16>
  %r1 = linalg.fill ins(%zero : f16) outs(%r0 : tensor<8x4xf16>) -> tensor<8x4xf16>
  %r = linalg.matmul ins(%s, %d : tensor<8x32xf16>, tensor<32x4xf16>) outs(%r1 : tensor<8x4xf16>) -> tensor<8x4xf16>
  return %r : tensor<8x4xf16>
}

// -----

// What is there for the product alone is computed in its type.

// CHECK-LABEL: func.func @alone(
// CHECK-NOT:   arith.extf
// CHECK:       %[[NARROW:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    %[[POWER:.*]] = math.exp
// CHECK-NEXT:    %[[SHORT:.*]] = arith.truncf %[[POWER]] fastmath<afn> : f32 to bf16
// CHECK-NEXT:    linalg.yield %[[SHORT]]
// CHECK:       linalg.matmul ins(%[[NARROW]],
// CHECK-NOT:   linalg.generic
func.func @alone(%s: tensor<8x32xf32>, %d: tensor<32x4xbf16>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %n0 = tensor.empty() : tensor<8x32xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8x32xf32>) outs(%n0 : tensor<8x32xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %0 = math.exp %x : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<8x32xbf16>
  %r0 = tensor.empty() : tensor<8x4xf32>
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.matmul ins(%n, %d : tensor<8x32xbf16>, tensor<32x4xbf16>) outs(%r1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
