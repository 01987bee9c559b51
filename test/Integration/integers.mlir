// i8 by dot products: odd sizes of every loop, any signs, rows that share what
// signs add and rows that do not, chains with requantisation between products,
// windows. None of them ends as a plain loop.

// RUN: chimera-run %s --entry=chain --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: %if avx512vnni %{ chimera-run %s '--entry=*' --json=- --fuse=always | FileCheck %s %}
// RUN: %if avx512vnni %{ chimera-run %s '--entry=*' --json=- --fuse=never | FileCheck %s %}

// Without dot products of bytes, pairs are widened to 16 bits.
// RUN: chimera-run %s --entry=chain --target=avx2 --emit=asm -o - | FileCheck %s --check-prefix=WIDE
// RUN: chimera-run %s --entry=chain --target=avx512 --emit=asm -o - | FileCheck %s --check-prefix=LONG
// RUN: chimera-run %s '--entry=*' --json=- --target=avx2 --fuse=always | FileCheck %s
// RUN: chimera-run %s '--entry=*' --json=- --target=avx2 --fuse=never | FileCheck %s
// RUN: %if avx512 %{ chimera-run %s '--entry=*' --json=- --target=avx512 | FileCheck %s %}

// What tiles do not take is left to vectors, which both are asked for.
// RUN: chimera-run %s --entry=padded --target=sapphire-rapids --emit=asm -o - | FileCheck %s --check-prefix=BYTES
// RUN: chimera-run %s --entry=padded --target=granite-rapids --emit=asm -o - | FileCheck %s --check-prefix=BYTES
// RUN: chimera-run %s --entry=depthwise --target=granite-rapids --emit=asm -o - | FileCheck %s --check-prefix=STEPS
// RUN: chimera-run %s '--entry=*' --target=granite-rapids --emit=mlir --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not="naive semantics"
// RUN: chimera-run %s '--entry=*' --target=avx2 --emit=mlir --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not="naive semantics"

// BYTES-NOT: vpmulld
// BYTES: vpdpbusd {{.*}}%zmm
// STEPS-NOT: vpmulld
// STEPS: vpdpwssd {{.*}}%zmm
// LOOPS: operator planned

// ASM: vpunpcklbw
// ASM: vpdpbusd

// WIDE: vpmovsxbw
// WIDE: vpmaddwd {{.*}}%ymm
// LONG: vpmaddwd {{.*}}%zmm

// CHECK: "functions": [
// CHECK-COUNT-11: "passed": true
// CHECK-NOT: "passed": false

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#i = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>

func.func @chain(%arg0: tensor<37x23xi8>, %arg1: tensor<23x70xi8>, %arg2: tensor<70x35xi8>, %arg3: tensor<70xf32>) -> tensor<37x35xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<37x70xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<37x70xi32>) -> tensor<37x70xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<37x23xi8>, tensor<23x70xi8>) outs(%f0 : tensor<37x70xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extsi %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<37x70xi32>
  %lo = arith.constant -128.0 : f32
  %hi = arith.constant 127.0 : f32
  %scale = arith.constant 0.001953125 : f32
  %e = tensor.empty() : tensor<37x70xi8>
  %h = linalg.generic {indexing_maps = [#i, #n, #i], iterator_types = ["parallel", "parallel"]} ins(%0, %arg3 : tensor<37x70xi32>, tensor<70xf32>) outs(%e : tensor<37x70xi8>) {
  ^bb0(%x: i32, %b: f32, %out: i8):
    %w = arith.sitofp %x : i32 to f32
    %p = arith.mulf %w, %scale : f32
    %q = arith.addf %p, %b : f32
    %r = math.roundeven %q : f32
    %u = arith.maximumf %r, %lo : f32
    %v = arith.minimumf %u, %hi : f32
    %y = arith.fptosi %v : f32 to i8
    linalg.yield %y : i8
  } -> tensor<37x70xi8>
  %z1 = arith.constant 0 : i32
  %e1 = tensor.empty() : tensor<37x35xi32>
  %f1 = linalg.fill ins(%z1 : i32) outs(%e1 : tensor<37x35xi32>) -> tensor<37x35xi32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %arg2 : tensor<37x70xi8>, tensor<70x35xi8>) outs(%f1 : tensor<37x35xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extsi %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<37x35xi32>
  return %1 : tensor<37x35xi32>
}

func.func @unsigned_chain(%arg0: tensor<29x64xi8>, %arg1: tensor<64x96xi8>, %arg2: tensor<96x50xi8>, %arg3: tensor<96xf32>) -> tensor<29x50xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<29x96xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<29x96xi32>) -> tensor<29x96xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<29x64xi8>, tensor<64x96xi8>) outs(%f0 : tensor<29x96xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<29x96xi32>
  %lo = arith.constant 0.0 : f32
  %hi = arith.constant 255.0 : f32
  %scale = arith.constant 0.001953125 : f32
  %e = tensor.empty() : tensor<29x96xi8>
  %h = linalg.generic {indexing_maps = [#i, #n, #i], iterator_types = ["parallel", "parallel"]} ins(%0, %arg3 : tensor<29x96xi32>, tensor<96xf32>) outs(%e : tensor<29x96xi8>) {
  ^bb0(%x: i32, %b: f32, %out: i8):
    %w = arith.sitofp %x : i32 to f32
    %p = arith.mulf %w, %scale : f32
    %q = arith.addf %p, %b : f32
    %r = math.roundeven %q : f32
    %u = arith.maximumf %r, %lo : f32
    %v = arith.minimumf %u, %hi : f32
    %y = arith.fptoui %v : f32 to i8
    linalg.yield %y : i8
  } -> tensor<29x96xi8>
  %z1 = arith.constant 0 : i32
  %e1 = tensor.empty() : tensor<29x50xi32>
  %f1 = linalg.fill ins(%z1 : i32) outs(%e1 : tensor<29x50xi32>) -> tensor<29x50xi32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %arg2 : tensor<29x96xi8>, tensor<96x50xi8>) outs(%f1 : tensor<29x50xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<29x50xi32>
  return %1 : tensor<29x50xi32>
}

func.func @few_rows(%arg0: tensor<5x19xi8>, %arg1: tensor<19x67xi8>) -> tensor<5x67xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<5x67xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<5x67xi32>) -> tensor<5x67xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<5x19xi8>, tensor<19x67xi8>) outs(%f0 : tensor<5x67xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extsi %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<5x67xi32>
  return %0 : tensor<5x67xi32>
}

func.func @one_row(%arg0: tensor<2x66xi8>, %arg1: tensor<66x33xi8>) -> tensor<2x33xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<2x33xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<2x33xi32>) -> tensor<2x33xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x66xi8>, tensor<66x33xi8>) outs(%f0 : tensor<2x33xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extsi %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<2x33xi32>
  return %0 : tensor<2x33xi32>
}

func.func @unsigned_left(%arg0: tensor<40x31xi8>, %arg1: tensor<31x48xi8>) -> tensor<40x48xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<40x48xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<40x48xi32>) -> tensor<40x48xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<40x31xi8>, tensor<31x48xi8>) outs(%f0 : tensor<40x48xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<40x48xi32>
  return %0 : tensor<40x48xi32>
}

func.func @unsigned_right(%arg0: tensor<40x31xi8>, %arg1: tensor<31x48xi8>) -> tensor<40x48xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<40x48xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<40x48xi32>) -> tensor<40x48xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<40x31xi8>, tensor<31x48xi8>) outs(%f0 : tensor<40x48xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extsi %x : i8 to i32
    %v = arith.extui %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<40x48xi32>
  return %0 : tensor<40x48xi32>
}

func.func @both_unsigned(%arg0: tensor<7x12xi8>, %arg1: tensor<12x20xi8>) -> tensor<7x20xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<7x20xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<7x20xi32>) -> tensor<7x20xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<7x12xi8>, tensor<12x20xi8>) outs(%f0 : tensor<7x20xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extui %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<7x20xi32>
  return %0 : tensor<7x20xi32>
}

func.func @many_unsigned(%arg0: tensor<45x37xi8>, %arg1: tensor<37x50xi8>) -> tensor<45x50xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<45x50xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<45x50xi32>) -> tensor<45x50xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<45x37xi8>, tensor<37x50xi8>) outs(%f0 : tensor<45x50xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extui %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<45x50xi32>
  return %0 : tensor<45x50xi32>
}

func.func @depthwise(%arg0: tensor<1x11x12x37xi8>, %arg1: tensor<3x3x37xi8>) -> tensor<1x9x10x37xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<1x9x10x37xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<1x9x10x37xi32>) -> tensor<1x9x10x37xi32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwc ins(%arg0, %arg1 : tensor<1x11x12x37xi8>, tensor<3x3x37xi8>) outs(%f0 : tensor<1x9x10x37xi32>) -> tensor<1x9x10x37xi32>
  return %0 : tensor<1x9x10x37xi32>
}

func.func @depthwise_unsigned(%arg0: tensor<1x11x12x37xi8>, %arg1: tensor<3x3x37xi8>) -> tensor<1x9x10x37xi32> {
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<1x9x10x37xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<1x9x10x37xi32>) -> tensor<1x9x10x37xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, h, w, c, r, s) -> (b, h + r, w + s, c)>, affine_map<(b, h, w, c, r, s) -> (r, s, c)>, affine_map<(b, h, w, c, r, s) -> (b, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<1x11x12x37xi8>, tensor<3x3x37xi8>) outs(%f0 : tensor<1x9x10x37xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %w = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %w, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<1x9x10x37xi32>
  return %0 : tensor<1x9x10x37xi32>
}

// A convolution with padding.
func.func @padded(%arg0: tensor<1x7x9x24xi8>, %arg1: tensor<3x3x24x21xi8>) -> tensor<1x7x9x21xi32> {
  %none = arith.constant 0 : i8
  %0 = tensor.pad %arg0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : i8
  } : tensor<1x7x9x24xi8> to tensor<1x9x11x24xi8>
  %z0 = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<1x7x9x21xi32>
  %f0 = linalg.fill ins(%z0 : i32) outs(%e0 : tensor<1x7x9x21xi32>) -> tensor<1x7x9x21xi32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%0, %arg1 : tensor<1x9x11x24xi8>, tensor<3x3x24x21xi8>) outs(%f0 : tensor<1x7x9x21xi32>) -> tensor<1x7x9x21xi32>
  return %1 : tensor<1x7x9x21xi32>
}
