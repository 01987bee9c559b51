// RUN: chimera-opt %s --chimera-tile --canonicalize --split-input-file | FileCheck %s

// Rows of an image with a padding of one, read through windows of three rows and
// three columns. A tile of one row of pixels leaves out the rows of taps that lie
// above or below the image, and its kernels the columns of taps beside it: these
// depend on the pixel, so the block says where they are.

#image = affine_map<(h, w, f, r, s, c) -> (h + r, w + s, c)>
#filter = affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>
#result = affine_map<(h, w, f, r, s, c) -> (h, w, f)>
// CHECK: #[[$FROM:.*]] = affine_map<()[s0] -> (-s0 + 1, 0)>
// CHECK: #[[$TO:.*]] = affine_map<()[s0] -> (-s0 + 8, 3)>
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[X:.*]]: tensor<7x7x4xf32>, %[[W:.*]]: tensor<3x3x4x16xf32>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]] low[1, 1, 0] high[1, 1, 0]
// CHECK: %[[WINDOWS:.*]] = chimera.windows %[[PADDED]] at #{{.*}} : tensor<9x9x4xf32> to tensor<7x3x7x3x4xf32>
// CHECK: scf.for %[[H:.*]] = %c0 to %c7 step %c1
// CHECK:   %[[BEGIN:.*]] = affine.max #[[$FROM]]()[%[[H]]]
// CHECK:   %[[END:.*]] = affine.min #[[$TO]]()[%[[H]]]
// CHECK:   %[[TAPS:.*]] = affine.apply #{{.*}}()[%[[END]], %[[BEGIN]]]
// CHECK:   %[[TILE:.*]] = tensor.extract_slice %[[WINDOWS]][%[[H]], %[[BEGIN]], 0, 0, 0] [1, %[[TAPS]], 7, 3, 4]
// CHECK:   %[[FILTER:.*]] = tensor.extract_slice %[[W]][%[[BEGIN]], 0, 0, 0] [%[[TAPS]], 3, 4, 16]
// CHECK:   chimera.block "conv0" ins(%[[TILE]], %[[FILTER]]
// CHECK-SAME: extents {{\[}}[1], [7], [16], [2, 3], [3], [4]]
// CHECK-SAME: taps <pixel = 1, tap = 4, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8>
func.func @rows(%x: tensor<7x7x4xf32>, %w: tensor<3x3x4x16xf32>) -> tensor<7x7x16xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<7x7x4xf32>, tensor<3x3x4x16xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 0,
                registers = <rows = 7, vectors = 1, broadcasts = 1, depth = 4>>) {
  ^bb0(%x0: tensor<7x7x4xf32>, %w0: tensor<3x3x4x16xf32>):
    %zero = arith.constant 0.0 : f32
    %padded = tensor.pad %x0 low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<7x7x4xf32> to tensor<9x9x4xf32>
    %e = tensor.empty() : tensor<7x7x16xf32>
    %s = linalg.fill ins(%zero : f32) outs(%e : tensor<7x7x16xf32>) -> tensor<7x7x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%padded, %w0 : tensor<9x9x4xf32>, tensor<3x3x4x16xf32>) outs(%s : tensor<7x7x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<7x7x16xf32>
    chimera.yield %1 : tensor<7x7x16xf32>
  } -> tensor<7x7x16xf32>
  return %0 : tensor<7x7x16xf32>
}

// -----

// Rows are cut, so pixels at the edges of the image are not in every tile, and
// the windows move by two: taps that tiles have in common are left out, and
// nothing is said to the kernels. A loop over taps stays as it is.

#image = affine_map<(h, w, f, r, s, c) -> (h * 2 + r, w * 2 + s, c)>
#filter = affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>
#result = affine_map<(h, w, f, r, s, c) -> (h, w, f)>
// CHECK-LABEL: func @cut(
// CHECK: chimera.windows {{.*}} to tensor<4x3x4x3x4xf32>
// CHECK: scf.for %[[R:.*]] = %c0 to %c3 step %c1
// CHECK: scf.for %[[W:.*]] = %c0 to %c4 step %c1
// CHECK:   tensor.extract_slice %{{.*}}[0, 0, %[[W]], %[[BEGIN:.*]], 0] [4, 1, 1, %[[TAPS:.*]], 4]
// CHECK:   chimera.block "conv0"
// CHECK-SAME: extents {{\[}}[4], [1], [16], [1], [2, 3], [4]]
// CHECK-NOT: taps
// CHECK: return
func.func @cut(%x: tensor<8x8x4xf32>, %w: tensor<3x3x4x16xf32>) -> tensor<4x4x16xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<8x8x4xf32>, tensor<3x3x4x16xf32>)
      schedule(<levels = [<"L1" : r = 1, h1 = 1>], parallel = 0,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 4>>) {
  ^bb0(%x0: tensor<8x8x4xf32>, %w0: tensor<3x3x4x16xf32>):
    %zero = arith.constant 0.0 : f32
    %padded = tensor.pad %x0 low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<8x8x4xf32> to tensor<10x10x4xf32>
    %e = tensor.empty() : tensor<4x4x16xf32>
    %s = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4x16xf32>) -> tensor<4x4x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%padded, %w0 : tensor<10x10x4xf32>, tensor<3x3x4x16xf32>) outs(%s : tensor<4x4x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<4x4x16xf32>
    chimera.yield %1 : tensor<4x4x16xf32>
  } -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}
