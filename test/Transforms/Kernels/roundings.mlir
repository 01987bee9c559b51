// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --split-input-file | FileCheck %s

#id = affine_map<(i) -> (i)>

// What is rounded, limited twice and rounded again is rounded once. A last
// rounding that may lose denormal numbers may do so for all.

// CHECK-LABEL: func @clamp(
// CHECK:       ^bb0(%[[IN:.*]]: f32, %{{.*}}: bf16):
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:    %[[SIX:.*]] = arith.constant 6.0
// CHECK-NEXT:    %[[MOST:.*]] = arith.maximumf %[[IN]], %[[ZERO]] : f32
// CHECK-NEXT:    %[[LEAST:.*]] = arith.minimumf %[[MOST]], %[[SIX]] : f32
// CHECK-NEXT:    %[[ROUNDED:.*]] = arith.truncf %[[LEAST]] fastmath<afn> : f32 to bf16
// CHECK-NEXT:    yield %[[ROUNDED]] : bf16
func.func @clamp(%a: tensor<8xf32>, %b: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = chimera.block "relu6" ins(%a : tensor<8xf32>) outs(%b : tensor<8xbf16>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xbf16>):
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xbf16>) {
    ^bb0(%p: f32, %q: bf16):
      %2 = arith.truncf %p : f32 to bf16
      %3 = arith.extf %2 : bf16 to f32
      %4 = arith.maximumf %3, %zero : f32
      %5 = arith.minimumf %4, %six : f32
      %6 = arith.truncf %5 fastmath<afn> : f32 to bf16
      linalg.yield %6 : bf16
    } -> tensor<8xbf16>
    chimera.yield %1 : tensor<8xbf16>
  } -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

#id = affine_map<(i) -> (i)>

// A third is no number of bf16, so the larger of it and a rounded one is not the
// rounding of anything. A rounding that others need as well stays, too.

// CHECK-LABEL: func @kept(
// CHECK:         %[[FIRST:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[FIRST]]
// CHECK-NEXT:    %[[LIMITED:.*]] = arith.maximumf %[[WIDE]], %{{.*}} : f32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[WIDE]], %[[LIMITED]] : f32
// CHECK-NEXT:    %[[SECOND:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NEXT:    %[[AGAIN:.*]] = arith.extf %[[SECOND]]
// CHECK-NEXT:    %[[MOST:.*]] = arith.maximumf %[[AGAIN]], %{{.*}} : f32
// CHECK-NEXT:    arith.truncf %[[MOST]] : f32 to bf16
func.func @kept(%a: tensor<8xf32>, %b: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = chimera.block "limits" ins(%a : tensor<8xf32>) outs(%b : tensor<8xbf16>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xbf16>):
    %third = arith.constant 0.333333343 : f32
    %zero = arith.constant 0.0 : f32
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xbf16>) {
    ^bb0(%p: f32, %q: bf16):
      %2 = arith.truncf %p : f32 to bf16
      %3 = arith.extf %2 : bf16 to f32
      %4 = arith.maximumf %3, %zero : f32
      %5 = arith.addf %3, %4 : f32
      %6 = arith.truncf %5 : f32 to bf16
      %7 = arith.extf %6 : bf16 to f32
      %8 = arith.maximumf %7, %third : f32
      %9 = arith.truncf %8 : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<8xbf16>
    chimera.yield %1 : tensor<8xbf16>
  } -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}
