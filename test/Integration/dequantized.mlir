// A perceptron and a convolution as quantizers write them: operators in f32 between
// conversions from bytes and to bytes. They are multiplied as integers. Scales are
// powers of two, so that nothing is rounded but what the program rounds.

// RUN: chimera-run %s --entry=perceptron --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: chimera-run %s --entry=convolution --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: chimera-run %s '--entry=*' --no-time --fuse=always | FileCheck %s
// RUN: chimera-run %s '--entry=*' --no-time --fuse=never | FileCheck %s
// RUN: chimera-run %s '--entry=*' --no-time --target=avx2 | FileCheck %s

// ASM-NOT: vfmadd{{.*}}zmm
// ASM: vpdpbusd
// CHECK-COUNT-2: passed

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

func.func @perceptron(%x: tensor<19x40xi8>, %v: tensor<40x70xi8> {chimera.constant}, %w: tensor<70x24xi8> {chimera.constant}, %bias: tensor<70xf32>) -> tensor<19x24xf32> {
  %zero = arith.constant 0.0 : f32
  %most = arith.constant 255.0 : f32
  %point = arith.constant 121 : i32
  %s = arith.constant 0.03125 : f32
  %t = arith.constant 0.0625 : f32
  %u = arith.constant 1.0 : f32
  %xe = tensor.empty() : tensor<19x40xf32>
  %xf = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<19x40xi8>) outs(%xe : tensor<19x40xf32>) {
  ^bb0(%in: i8, %out: f32):
    %a = arith.extui %in : i8 to i32
    %b = arith.subi %a, %point : i32
    %c = arith.sitofp %b : i32 to f32
    %d = arith.mulf %c, %s : f32
    linalg.yield %d : f32
  } -> tensor<19x40xf32>
  %ve = tensor.empty() : tensor<40x70xf32>
  %vf = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<40x70xi8>) outs(%ve : tensor<40x70xf32>) {
  ^bb0(%in: i8, %out: f32):
    %c = arith.sitofp %in : i8 to f32
    %d = arith.mulf %c, %t : f32
    linalg.yield %d : f32
  } -> tensor<40x70xf32>
  %he = tensor.empty() : tensor<19x70xf32>
  %hz = linalg.fill ins(%zero : f32) outs(%he : tensor<19x70xf32>) -> tensor<19x70xf32>
  %h = linalg.matmul ins(%xf, %vf : tensor<19x40xf32>, tensor<40x70xf32>) outs(%hz : tensor<19x70xf32>) -> tensor<19x70xf32>
  %qe = tensor.empty() : tensor<19x70xi8>
  %q = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%h, %bias : tensor<19x70xf32>, tensor<70xf32>) outs(%qe : tensor<19x70xi8>) {
  ^bb0(%in: f32, %b: f32, %out: i8):
    %r0 = math.roundeven %b : f32
    %r1 = arith.addf %in, %r0 : f32
    %r2 = arith.divf %r1, %u : f32
    %r3 = math.roundeven %r2 : f32
    %r4 = arith.maximumf %r3, %zero : f32
    %r5 = arith.minimumf %r4, %most : f32
    %r6 = arith.fptoui %r5 : f32 to i8
    linalg.yield %r6 : i8
  } -> tensor<19x70xi8>
  %hf = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<19x70xi8>) outs(%he : tensor<19x70xf32>) {
  ^bb0(%in: i8, %out: f32):
    %c = arith.uitofp %in : i8 to f32
    %d = arith.mulf %c, %u : f32
    linalg.yield %d : f32
  } -> tensor<19x70xf32>
  %we = tensor.empty() : tensor<70x24xf32>
  %wf = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<70x24xi8>) outs(%we : tensor<70x24xf32>) {
  ^bb0(%in: i8, %out: f32):
    %c = arith.sitofp %in : i8 to f32
    %d = arith.mulf %c, %t : f32
    linalg.yield %d : f32
  } -> tensor<70x24xf32>
  %ye = tensor.empty() : tensor<19x24xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<19x24xf32>) -> tensor<19x24xf32>
  %y = linalg.matmul ins(%hf, %wf : tensor<19x70xf32>, tensor<70x24xf32>) outs(%yz : tensor<19x24xf32>) -> tensor<19x24xf32>
  return %y : tensor<19x24xf32>
}

#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#filter = affine_map<(d0, d1, d2, d3) -> (d0)>

func.func @convolution(%x: tensor<1x12x9x11xi8>, %v: tensor<20x12x3x3xi8> {chimera.constant}, %t: tensor<20xf32> {chimera.constant}) -> tensor<1x20x9x11xf32> {
  %zero = arith.constant 0.0 : f32
  %point = arith.constant -9 : i32
  %s = arith.constant 0.03125 : f32
  %xe = tensor.empty() : tensor<1x12x9x11xf32>
  %xf = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x12x9x11xi8>) outs(%xe : tensor<1x12x9x11xf32>) {
  ^bb0(%in: i8, %out: f32):
    %a = arith.extsi %in : i8 to i32
    %b = arith.subi %a, %point : i32
    %c = arith.sitofp %b : i32 to f32
    %d = arith.mulf %c, %s : f32
    linalg.yield %d : f32
  } -> tensor<1x12x9x11xf32>
  %p = tensor.pad %xf low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x12x9x11xf32> to tensor<1x12x11x13xf32>
  %ve = tensor.empty() : tensor<20x12x3x3xf32>
  %vf = linalg.generic {indexing_maps = [#image, #filter, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v, %t : tensor<20x12x3x3xi8>, tensor<20xf32>) outs(%ve : tensor<20x12x3x3xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %c = arith.sitofp %in : i8 to f32
    %d = arith.mulf %c, %scale : f32
    linalg.yield %d : f32
  } -> tensor<20x12x3x3xf32>
  %ye = tensor.empty() : tensor<1x20x9x11xf32>
  %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<1x20x9x11xf32>) -> tensor<1x20x9x11xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%p, %vf : tensor<1x12x11x13xf32>, tensor<20x12x3x3xf32>) outs(%yz : tensor<1x20x9x11xf32>) -> tensor<1x20x9x11xf32>
  return %y : tensor<1x20x9x11xf32>
}
