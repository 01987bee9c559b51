// RUN: chimera-opt %s --chimera-interleave-constants=target=granite-rapids --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-interleave-constants=target=zen5 --split-input-file | FileCheck %s --check-prefix=VECTORS

// Panels that blocks on tiles read are prepared in words of two numbers, and the
// reduction of the blocks is cut. Offsets and sizes of rows become those of words, and
// so do the places of what the panels hold.

// CHECK-DAG:     #[[$PLACES:.*]] = affine_map<(d0, d1) -> (d1 floordiv 32, d0 floordiv 2, d1 mod 32, d0 mod 2)>
// CHECK-LABEL: func @words(
// CHECK:         %[[ROWS:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1, 2], [3]] output_shape [2, 64, 2, 32] : tensor<2x128x32xbf16> into tensor<2x64x2x32xbf16>
// CHECK:         %[[WORDS:.*]] = linalg.transpose ins(%[[ROWS]] : tensor<2x64x2x32xbf16>) outs(%{{.*}} : tensor<2x64x32x2xbf16>) permutation = [0, 1, 3, 2]
// CHECK:         %[[ONCE:.*]] = chimera.prepare %[[WORDS]] holding %arg3 : tensor<128x64xbf16> at #[[$PLACES]] : tensor<2x64x32x2xbf16>
// CHECK:         scf.for %[[K:.*]] = %c0 to %c128 step %c64
// CHECK:           %[[PANEL:.*]] = tensor.extract_slice %[[ONCE]][1, %{{.*}}, 0, 0] [1, 32, 32, 2] [1, 1, 1, 1] : tensor<2x64x32x2xbf16> to tensor<32x32x2xbf16>
// CHECK:           %[[A:.*]] = tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [16, 32, 2] : tensor<16x64xbf16> into tensor<16x32x2xbf16>
// CHECK:           chimera.block "gemm0" ins(%[[A]], %[[PANEL]] : tensor<16x32x2xbf16>, tensor<32x32x2xbf16>)
// CHECK-SAME:        extents {{\[\[}}16], [32], [32], [2]]
// CHECK:             linalg.generic
// CHECK-SAME:          iterator_types = ["parallel", "parallel", "reduction", "reduction"]

// So are panels that dot products read.
// VECTORS-LABEL: func @words(
// VECTORS:         %[[ONCE:.*]] = chimera.prepare %{{.*}} holding %{{.*}} : tensor<2x64x32x2xbf16>
// VECTORS:         chimera.block "gemm0" ins(%{{.*}}, %{{.*}} : tensor<16x32x2xbf16>, tensor<32x32x2xbf16>)
func.func @words(%a: tensor<16x128xbf16>, %b: tensor<2x128x32xbf16>, %c: tensor<16x32xf32>,
                 %whole: tensor<128x64xbf16>) -> tensor<16x32xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %once = chimera.prepare %b holding %whole : tensor<128x64xbf16>
      at affine_map<(k, n) -> (n floordiv 32, k, n mod 32)> : tensor<2x128x32xbf16>
  %0 = scf.for %k = %c0 to %c128 step %c64 iter_args(%sums = %c) -> (tensor<16x32xf32>) {
    %rows = tensor.extract_slice %a[0, %k] [16, 64] [1, 1] : tensor<16x128xbf16> to tensor<16x64xbf16>
    %panel = tensor.extract_slice %once[1, %k, 0] [1, 64, 32] [1, 1, 1] : tensor<2x128x32xbf16> to tensor<64x32xbf16>
    %1 = chimera.block "gemm0" ins(%rows, %panel : tensor<16x64xbf16>, tensor<64x32xbf16>)
        outs(%sums : tensor<16x32xf32>) extents [[16], [32], [64]] registers <rows = 2, vectors = 2, broadcasts = 0, depth = 1> {
    ^bb0(%x: tensor<16x64xbf16>, %y: tensor<64x32xbf16>, %z: tensor<16x32xf32>):
      %2 = linalg.matmul ins(%x, %y : tensor<16x64xbf16>, tensor<64x32xbf16>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
      chimera.yield %2 : tensor<16x32xf32>
    } -> tensor<16x32xf32>
    scf.yield %1 : tensor<16x32xf32>
  }
  return %0 : tensor<16x32xf32>
}

// -----

// Half a tile is left at the end, which tiles and dot products take. Somebody else
// reads the other panels: they stay as they are.

// CHECK-LABEL: func @numbers(
// CHECK:         chimera.prepare %{{.*}} : tensor<2x24x32x2xbf16>
// CHECK-NOT:     linalg.transpose
// CHECK:         chimera.prepare %arg2 : tensor<2x64x32xbf16>
// VECTORS-LABEL: func @numbers(
// VECTORS:         chimera.prepare %{{.*}} : tensor<2x24x32x2xbf16>
// VECTORS:         chimera.prepare %arg2 : tensor<2x64x32xbf16>
func.func @numbers(%a: tensor<16x48xbf16>, %b: tensor<2x48x32xbf16>, %d: tensor<2x64x32xbf16>, %c: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<2x64x32xbf16>) {
  %once = chimera.prepare %b : tensor<2x48x32xbf16>
  %other = chimera.prepare %d : tensor<2x64x32xbf16>
  %panel = tensor.extract_slice %once[1, 0, 0] [1, 48, 32] [1, 1, 1] : tensor<2x48x32xbf16> to tensor<48x32xbf16>
  %1 = chimera.block "gemm0" ins(%a, %panel : tensor<16x48xbf16>, tensor<48x32xbf16>)
      outs(%c : tensor<16x32xf32>) extents [[16], [32], [48]] registers <rows = 2, vectors = 2, broadcasts = 0, depth = 1> {
  ^bb0(%x: tensor<16x48xbf16>, %y: tensor<48x32xbf16>, %z: tensor<16x32xf32>):
    %2 = linalg.matmul ins(%x, %y : tensor<16x48xbf16>, tensor<48x32xbf16>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
    chimera.yield %2 : tensor<16x32xf32>
  } -> tensor<16x32xf32>
  return %1, %other : tensor<16x32xf32>, tensor<2x64x32xbf16>
}

// -----

// Filters have taps in front of rows: those are words as well. Images are read
// at sums of positions, and channels two at a time.

// CHECK-LABEL: func @filters(
// CHECK:         %[[ROWS:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1], [2, 3], [4]] output_shape [2, 3, 32, 2, 32]
// CHECK:         linalg.transpose ins(%[[ROWS]] : tensor<2x3x32x2x32xbf16>) outs(%{{.*}} : tensor<2x3x32x32x2xbf16>) permutation = [0, 1, 2, 4, 3]
// CHECK:         %[[ONCE:.*]] = chimera.prepare %{{.*}} : tensor<2x3x32x32x2xbf16>
// CHECK:         %[[PANEL:.*]] = tensor.extract_slice %[[ONCE]][1, 0, 0, 0, 0] [1, 3, 32, 32, 2]
// CHECK:         %[[IMAGE:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] output_shape [18, 32, 2]
// CHECK:         chimera.block "conv0" ins(%[[IMAGE]], %[[PANEL]] : tensor<18x32x2xbf16>, tensor<3x32x32x2xbf16>)
// CHECK-SAME:      extents {{\[\[}}16], [32], [3], [32], [2]]
func.func @filters(%image: tensor<18x64xbf16>, %f: tensor<2x3x64x32xbf16>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %once = chimera.prepare %f : tensor<2x3x64x32xbf16>
  %panel = tensor.extract_slice %once[1, 0, 0, 0] [1, 3, 64, 32] [1, 1, 1, 1] : tensor<2x3x64x32xbf16> to tensor<3x64x32xbf16>
  %1 = chimera.block "conv0" ins(%image, %panel : tensor<18x64xbf16>, tensor<3x64x32xbf16>)
      outs(%c : tensor<16x32xf32>) extents [[16], [32], [3], [64]] registers <rows = 1, vectors = 2, broadcasts = 0, depth = 1> {
  ^bb0(%x: tensor<18x64xbf16>, %y: tensor<3x64x32xbf16>, %z: tensor<16x32xf32>):
    %2 = linalg.generic {indexing_maps = [affine_map<(w, n, r, k) -> (w + r, k)>, affine_map<(w, n, r, k) -> (r, k, n)>, affine_map<(w, n, r, k) -> (w, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %y : tensor<18x64xbf16>, tensor<3x64x32xbf16>) outs(%z : tensor<16x32xf32>) {
    ^bb0(%a: bf16, %b: bf16, %s: f32):
      %3 = arith.extf %a : bf16 to f32
      %4 = arith.extf %b : bf16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.addf %s, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<16x32xf32>
    chimera.yield %2 : tensor<16x32xf32>
  } -> tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}

// -----

// Words of bytes hold four. Taps on padding are left out by dot products, which a
// target with tiles has as well.

// CHECK-LABEL: func @bytes(
// CHECK:         chimera.prepare %{{.*}} : tensor<2x3x16x32x4xi8>
// VECTORS-LABEL: func @bytes(
// VECTORS:         chimera.prepare %{{.*}} : tensor<2x3x16x32x4xi8>
// VECTORS:         %[[IMAGE:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] output_shape [18, 16, 4]
// VECTORS:         chimera.block "conv0" ins(%[[IMAGE]], %{{.*}} : tensor<18x16x4xi8>, tensor<3x16x32x4xi8>)
// VECTORS-SAME:      extents {{\[\[}}16], [32], [3], [16], [4]]
func.func @bytes(%image: tensor<18x64xi8>, %f: tensor<2x3x64x32xi8>, %c: tensor<16x32xi32>) -> tensor<16x32xi32> {
  %once = chimera.prepare %f : tensor<2x3x64x32xi8>
  %panel = tensor.extract_slice %once[1, 0, 0, 0] [1, 3, 64, 32] [1, 1, 1, 1] : tensor<2x3x64x32xi8> to tensor<3x64x32xi8>
  %1 = chimera.block "conv0" ins(%image, %panel : tensor<18x64xi8>, tensor<3x64x32xi8>)
      outs(%c : tensor<16x32xi32>) extents [[16], [32], [3], [64]] registers <rows = 6, vectors = 2, broadcasts = 1, depth = 1>
      taps <pixel = 0, tap = 2, pixel_factor = 1, tap_factor = 1, begin = 1, end = 17> {
  ^bb0(%x: tensor<18x64xi8>, %y: tensor<3x64x32xi8>, %z: tensor<16x32xi32>):
    %2 = linalg.generic {indexing_maps = [affine_map<(w, n, r, k) -> (w + r, k)>, affine_map<(w, n, r, k) -> (r, k, n)>, affine_map<(w, n, r, k) -> (w, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %y : tensor<18x64xi8>, tensor<3x64x32xi8>) outs(%z : tensor<16x32xi32>) {
    ^bb0(%a: i8, %b: i8, %s: i32):
      %3 = arith.extui %a : i8 to i32
      %4 = arith.extsi %b : i8 to i32
      %5 = arith.muli %3, %4 : i32
      %6 = arith.addi %s, %5 : i32
      linalg.yield %6 : i32
    } -> tensor<16x32xi32>
    chimera.yield %2 : tensor<16x32xi32>
  } -> tensor<16x32xi32>
  return %1 : tensor<16x32xi32>
}

// -----

// Vectors run along the rows of the other factor; codes are decoded for f32; a
// word would be cut: none of these is interleaved.

// VECTORS-LABEL: func @left(
// VECTORS-NOT:     linalg.transpose
// VECTORS:         chimera.prepare %arg1 : tensor<2x64x32xbf16>
// VECTORS:         chimera.prepare %arg2 : tensor<2x64x32xi8>
// VECTORS:         chimera.prepare %arg3 : tensor<2x63x32xbf16>
// VECTORS:         return
func.func @left(%a: tensor<16x64xbf16>, %b: tensor<2x64x32xbf16>, %d: tensor<2x64x32xi8>, %e: tensor<2x63x32xbf16>, %f: tensor<16x64xf32>, %g: tensor<16x63xbf16>, %c: tensor<16x32xf32>, %t: tensor<32x16xf32>) -> (tensor<32x16xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %once = chimera.prepare %b : tensor<2x64x32xbf16>
  %panel = tensor.extract_slice %once[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<2x64x32xbf16> to tensor<64x32xbf16>
  %1 = chimera.block "gemm0" ins(%a, %panel : tensor<16x64xbf16>, tensor<64x32xbf16>)
      outs(%t : tensor<32x16xf32>) extents [[16], [32], [64]] registers <rows = 6, vectors = 2, broadcasts = 1, depth = 1> {
  ^bb0(%x: tensor<16x64xbf16>, %y: tensor<64x32xbf16>, %z: tensor<32x16xf32>):
    %2 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<16x64xbf16>, tensor<64x32xbf16>) outs(%z : tensor<32x16xf32>) {
    ^bb0(%p: bf16, %q: bf16, %s: f32):
      %3 = arith.extf %p : bf16 to f32
      %4 = arith.extf %q : bf16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.addf %s, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<32x16xf32>
    chimera.yield %2 : tensor<32x16xf32>
  } -> tensor<32x16xf32>
  %codes = chimera.prepare %d : tensor<2x64x32xi8>
  %words = tensor.extract_slice %codes[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<2x64x32xi8> to tensor<64x32xi8>
  %7 = chimera.block "gemm1" ins(%f, %words : tensor<16x64xf32>, tensor<64x32xi8>)
      outs(%c : tensor<16x32xf32>) extents [[16], [32], [64]] registers <rows = 6, vectors = 2, broadcasts = 1, depth = 1> {
  ^bb0(%x: tensor<16x64xf32>, %y: tensor<64x32xi8>, %z: tensor<16x32xf32>):
    %2 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<16x64xf32>, tensor<64x32xi8>) outs(%z : tensor<16x32xf32>) {
    ^bb0(%p: f32, %q: i8, %s: f32):
      %4 = arith.sitofp %q : i8 to f32
      %5 = arith.mulf %p, %4 : f32
      %6 = arith.addf %s, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<16x32xf32>
    chimera.yield %2 : tensor<16x32xf32>
  } -> tensor<16x32xf32>
  %odd = chimera.prepare %e : tensor<2x63x32xbf16>
  %rows = tensor.extract_slice %odd[1, 0, 0] [1, 63, 32] [1, 1, 1] : tensor<2x63x32xbf16> to tensor<63x32xbf16>
  %8 = chimera.block "gemm2" ins(%g, %rows : tensor<16x63xbf16>, tensor<63x32xbf16>)
      outs(%c : tensor<16x32xf32>) extents [[16], [32], [63]] registers <rows = 6, vectors = 2, broadcasts = 1, depth = 1> {
  ^bb0(%x: tensor<16x63xbf16>, %y: tensor<63x32xbf16>, %z: tensor<16x32xf32>):
    %2 = linalg.matmul ins(%x, %y : tensor<16x63xbf16>, tensor<63x32xbf16>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
    chimera.yield %2 : tensor<16x32xf32>
  } -> tensor<16x32xf32>
  return %1, %7, %8 : tensor<32x16xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}
