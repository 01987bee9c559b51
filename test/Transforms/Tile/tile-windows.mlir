// RUN: chimera-opt %s --chimera-tile --canonicalize --split-input-file | FileCheck %s

// The image of a convolution is seen through its windows, which have dimensions
// of their own; tiles of them are slices, and the block is a contraction.

// CHECK: #[[$WINDOWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d1, d2 + d3 * 3, d4)>
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4, d5)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5, d2)>
// CHECK-LABEL: func @strided_and_dilated(
// CHECK-SAME: %[[X:.*]]: tensor<9x14x8xf32>, %[[W:.*]]: tensor<3x2x8x16xf32>
// CHECK: %[[SEEN:.*]] = chimera.windows %[[X]] at #[[$WINDOWS]] : tensor<9x14x8xf32> to tensor<4x3x11x2x8xf32>
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK:   %[[ROW:.*]] = tensor.extract_slice %[[SEEN]][%[[H]], 0, 0, 0, 0] [1, 3, 11, 2, 8] [1, 1, 1, 1, 1]
// CHECK:   chimera.block "conv0" ins(%[[ROW]], %[[W]] : tensor<1x3x11x2x8xf32>, tensor<3x2x8x16xf32>)
// CHECK-SAME: extents {{\[}}[1], [11], [16], [3], [2], [8]]
// CHECK:     linalg.generic {indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
#image = affine_map<(h, w, f, r, s, c) -> (2 * h + r, w + 3 * s, c)>
#filter = affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>
#result = affine_map<(h, w, f, r, s, c) -> (h, w, f)>
func.func @strided_and_dilated(%x: tensor<9x14x8xf32>, %w: tensor<3x2x8x16xf32>) -> tensor<4x11x16xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<9x14x8xf32>, tensor<3x2x8x16xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 1,
                registers = <rows = 6, vectors = 2, broadcasts = 1, depth = 4>>) {
  ^bb0(%x0: tensor<9x14x8xf32>, %w0: tensor<3x2x8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4x11x16xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x11x16xf32>) -> tensor<4x11x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x0, %w0 : tensor<9x14x8xf32>, tensor<3x2x8x16xf32>) outs(%start : tensor<4x11x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<4x11x16xf32>
    chimera.yield %1 : tensor<4x11x16xf32>
  } -> tensor<4x11x16xf32>
  return %0 : tensor<4x11x16xf32>
}

// -----

// Where vectors run along the windows of a row, these come last: neighbours are
// neighbours in memory and need not be copied. With a stride they do.

// CHECK-DAG: #[[$NEXT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d2, d3 + d4)>
// CHECK-DAG: #[[$APART:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d2, d3 * 2 + d4)>
// CHECK-LABEL: func @rows(
// CHECK: chimera.windows %{{.*}} at #[[$NEXT]] : tensor<4x9x18xf32> to tensor<4x7x3x3x16xf32>
// CHECK: chimera.windows %{{.*}} at #[[$APART]] : tensor<4x9x33xf32> to tensor<4x7x3x16x3xf32>
#next = affine_map<(f, h, w, c, r, s) -> (c, h + r, w + s)>
#apart = affine_map<(f, h, w, c, r, s) -> (c, h + r, 2 * w + s)>
#filter = affine_map<(f, h, w, c, r, s) -> (f, c, r, s)>
#result = affine_map<(f, h, w, c, r, s) -> (f, h, w)>
func.func @rows(%x: tensor<4x9x18xf32>, %y: tensor<4x9x33xf32>, %w: tensor<8x4x3x3xf32>) -> (tensor<8x7x16xf32>, tensor<8x7x16xf32>) {
  %0 = chimera.chain ins(%x, %w : tensor<4x9x18xf32>, tensor<8x4x3x3xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 1,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 4>>) {
  ^bb0(%x0: tensor<4x9x18xf32>, %w0: tensor<8x4x3x3xf32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<8x7x16xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x7x16xf32>) -> tensor<8x7x16xf32>
    %2 = linalg.generic {indexing_maps = [#next, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x0, %w0 : tensor<4x9x18xf32>, tensor<8x4x3x3xf32>) outs(%start : tensor<8x7x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %3 = arith.mulf %a, %b : f32
      %4 = arith.addf %sum, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<8x7x16xf32>
    chimera.yield %2 : tensor<8x7x16xf32>
  } -> tensor<8x7x16xf32>
  %1 = chimera.chain ins(%y, %w : tensor<4x9x33xf32>, tensor<8x4x3x3xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 1,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 4>>) {
  ^bb0(%y0: tensor<4x9x33xf32>, %w0: tensor<8x4x3x3xf32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<8x7x16xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x7x16xf32>) -> tensor<8x7x16xf32>
    %2 = linalg.generic {indexing_maps = [#apart, #filter, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%y0, %w0 : tensor<4x9x33xf32>, tensor<8x4x3x3xf32>) outs(%start : tensor<8x7x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %3 = arith.mulf %a, %b : f32
      %4 = arith.addf %sum, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<8x7x16xf32>
    chimera.yield %2 : tensor<8x7x16xf32>
  } -> tensor<8x7x16xf32>
  return %0, %1 : tensor<8x7x16xf32>, tensor<8x7x16xf32>
}
