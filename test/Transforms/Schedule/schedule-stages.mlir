// As many copies of the tiles that a loop fills again as their latency is worth.
//
// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule="target=h200" --chimera-report=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule="target=h200" --chimera-report=%t.md | FileCheck %s
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.md

// Nine taps of 32 channels: an iteration takes fewer cycles than a tile from the L2.
// With four copies three tiles are on their way at a time, and two waits are left of
// eight.

// CHECK-LABEL: func @narrow
// CHECK:         <"SMEM" : h1 = 16, n = 16, h = 1, r = 1, r1 = 1>], parallel = 3, registers = <rows = 1, vectors = 2, broadcasts = 0, depth = 1, stages = 4>
// REPORT:        "fragments": {
// REPORT:        "stages": 4
// TEXT:          1 deep, 4 copies of tiles that are filled again
func.func @narrow(%x: tensor<1x28x28x32xf16>, %w: tensor<3x3x32x32xf16>) -> tensor<1x26x26x32xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x26x26x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x26x26x32xf32>) -> tensor<1x26x26x32xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x28x28x32xf16>, tensor<3x3x32x32xf16>) outs(%1 : tensor<1x26x26x32xf32>) -> tensor<1x26x26x32xf32>
  return %2 : tensor<1x26x26x32xf32>
}

// With 128 channels the products of an iteration hide the latency of the next one's
// tiles: more copies would only take memory.

// CHECK-LABEL: func @wide
// CHECK:         depth = 1, stages = 2>
// REPORT:        "stages": 2
// TEXT:          1 deep, 2 copies of tiles that are filled again
func.func @wide(%x: tensor<1x28x28x128xf16>, %w: tensor<3x3x128x128xf16>) -> tensor<1x26x26x128xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x26x26x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x26x26x128xf32>) -> tensor<1x26x26x128xf32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x28x28x128xf16>, tensor<3x3x128x128xf16>) outs(%1 : tensor<1x26x26x128xf32>) -> tensor<1x26x26x128xf32>
  return %2 : tensor<1x26x26x128xf32>
}

// Nothing is filled again where a task has a tile of each: there is nothing to choose.

// CHECK-LABEL: func @whole
// CHECK:         broadcasts = 0, depth = 1>
// REPORT:        "stages": 1
func.func @whole(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<64x64xf16>, tensor<64x64xf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
