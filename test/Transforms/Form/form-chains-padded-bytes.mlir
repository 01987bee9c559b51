// RUN: chimera-opt %s --chimera-form-chains="target=granite-rapids compiled-only" | FileCheck %s --check-prefix=TILES
// RUN: chimera-opt %s --chimera-form-chains="target=zen5 compiled-only" | FileCheck %s --check-prefix=VECTORS

// Tiles of bytes leave out no taps that lie on padding: the image is padded before
// the chain. Dot products of vectors leave them out.

// TILES-LABEL: func.func @padded(
// TILES:         tensor.pad
// TILES:         chimera.chain ins(%{{.*}}, %{{.*}} : tensor<16x16x64xi8>, tensor<3x3x64x32xi8>)
// TILES-NOT:       tensor.pad
// TILES:         return
// VECTORS-LABEL: func.func @padded(
// VECTORS-NOT:     tensor.pad
// VECTORS:         chimera.chain ins(%{{.*}}, %{{.*}} : tensor<14x14x64xi8>, tensor<3x3x64x32xi8>)
// VECTORS:           tensor.pad
// VECTORS:           chimera.yield
func.func @padded(%x: tensor<1x14x14x64xi8>, %w: tensor<3x3x64x32xi8> {chimera.constant}) -> tensor<1x14x14x32xi32> {
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %zero : i8
  } : tensor<1x14x14x64xi8> to tensor<1x16x16x64xi8>
  %0 = tensor.empty() : tensor<1x14x14x32xi32>
  %1 = linalg.fill ins(%none : i32) outs(%0 : tensor<1x14x14x32xi32>) -> tensor<1x14x14x32xi32>
  %2 = linalg.conv_2d_nhwc_hwcf ins(%padded, %w : tensor<1x16x16x64xi8>, tensor<3x3x64x32xi8>)
      outs(%1 : tensor<1x14x14x32xi32>) -> tensor<1x14x14x32xi32>
  return %2 : tensor<1x14x14x32xi32>
}
