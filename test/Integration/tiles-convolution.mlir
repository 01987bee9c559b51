// Convolutions on the tiles of AMX, emulated: an image with a border of zeros,
// which is there when tiles read it, and filters that are interleaved once or in
// every call, with strides and with fewer channels than a tile has.

// RUN: %if avx512 %{ chimera-run %s --entry=chain --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time --constant=1,2 | FileCheck %s --check-prefix=ONE %}
// RUN: %if avx512 %{ chimera-run %s --entry=strided --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time --constant=1 | FileCheck %s --check-prefix=ONE %}
// RUN: %if avx512 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time --threads=2 | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s --entry=chain --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --constant=1,2 | FileCheck %s --check-prefix=ONE %}
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time | FileCheck %s %}
// RUN: chimera-run %s --entry=chain --constant=1,2 --target=sapphire-rapids --emit=asm -o - | FileCheck %s --check-prefix=ASM

// ONE: error {{.*}} against plain loops in f64; allowed are
// CHECK-COUNT-2: passed
// CHECK-NOT: FAILED
// ASM: tdpbf16ps

func.func @chain(%image: tensor<1x12x20x64xbf16>, %f: tensor<3x3x64x48xbf16>, %g: tensor<1x1x48x32xbf16>) -> tensor<1x12x20x32xf32> {
  %none = arith.constant 0.0 : bf16
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %image low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : bf16
  } : tensor<1x12x20x64xbf16> to tensor<1x14x22x64xbf16>
  %e = tensor.empty() : tensor<1x12x20x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x12x20x48xf32>) -> tensor<1x12x20x48xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%padded, %f : tensor<1x14x22x64xbf16>, tensor<3x3x64x48xbf16>) outs(%z : tensor<1x12x20x48xf32>) -> tensor<1x12x20x48xf32>
  %ne = tensor.empty() : tensor<1x12x20x48xbf16>
  %narrow = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<1x12x20x48xf32>) outs(%ne : tensor<1x12x20x48xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %relu = arith.maximumf %x, %zero : f32
    %t = arith.truncf %relu : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<1x12x20x48xbf16>
  %e2 = tensor.empty() : tensor<1x12x20x32xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x12x20x32xf32>) -> tensor<1x12x20x32xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%narrow, %g : tensor<1x12x20x48xbf16>, tensor<1x1x48x32xbf16>) outs(%z2 : tensor<1x12x20x32xf32>) -> tensor<1x12x20x32xf32>
  return %r : tensor<1x12x20x32xf32>
}

func.func @strided(%image: tensor<1x13x21x16xbf16>, %f: tensor<3x3x16x40xbf16>, %bias: tensor<40xf32>) -> tensor<1x7x11x40xf32> {
  %none = arith.constant 0.0 : bf16
  %padded = tensor.pad %image low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : bf16
  } : tensor<1x13x21x16xbf16> to tensor<1x15x23x16xbf16>
  %e = tensor.empty() : tensor<1x7x11x40xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%bias : tensor<40xf32>) outs(%e : tensor<1x7x11x40xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<1x7x11x40xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%padded, %f : tensor<1x15x23x16xbf16>, tensor<3x3x16x40xbf16>) outs(%z : tensor<1x7x11x40xf32>) -> tensor<1x7x11x40xf32>
  return %y : tensor<1x7x11x40xf32>
}
