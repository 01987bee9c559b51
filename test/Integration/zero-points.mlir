// i8 less zero points: of the activations, of both factors, of images whose
// padding is the zero point, of activations without a sign. The reference
// computes what the program says.

// RUN: chimera-run %s --entry=chain --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: %if avx512vnni %{ chimera-run %s '--entry=*' --no-time --fuse=always | FileCheck %s %}
// RUN: %if avx512vnni %{ chimera-run %s '--entry=*' --no-time --fuse=never | FileCheck %s %}
// RUN: chimera-run %s '--entry=*' --no-time --target=avx2 --fuse=always | FileCheck %s
// RUN: chimera-run %s '--entry=*' --no-time --target=avx2 --fuse=never | FileCheck %s

// ASM: vpdpbusd
// CHECK-COUNT-5: passed

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#t = affine_map<(d0, d1, d2) -> (d1, d2)>
#i = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>

func.func @chain(%x: tensor<37x48xi8>, %v: tensor<48x70xi8> {chimera.constant}, %w: tensor<70x35xi8> {chimera.constant}, %bias: tensor<70xi32>) -> tensor<37x35xi32> {
  %zero = arith.constant 0 : i32
  %point = arith.constant -7 : i32
  %second = arith.constant 11 : i32
  %0 = tensor.empty() : tensor<37x70xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<37x70xi32>) -> tensor<37x70xi32>
  %2 = linalg.quantized_matmul ins(%x, %v, %point, %zero : tensor<37x48xi8>, tensor<48x70xi8>, i32, i32) outs(%1 : tensor<37x70xi32>) -> tensor<37x70xi32>
  %lo = arith.constant -128.0 : f32
  %hi = arith.constant 127.0 : f32
  %scale = arith.constant 0.001953125 : f32
  %3 = tensor.empty() : tensor<37x70xi8>
  %4 = linalg.generic {indexing_maps = [#i, #n, #i], iterator_types = ["parallel", "parallel"]} ins(%2, %bias : tensor<37x70xi32>, tensor<70xi32>) outs(%3 : tensor<37x70xi8>) {
  ^bb0(%in: i32, %b: i32, %out: i8):
    %sum = arith.addi %in, %b : i32
    %real = arith.sitofp %sum : i32 to f32
    %scaled = arith.mulf %real, %scale : f32
    %round = math.roundeven %scaled : f32
    %least = arith.maximumf %round, %lo : f32
    %most = arith.minimumf %least, %hi : f32
    %code = arith.fptosi %most : f32 to i8
    linalg.yield %code : i8
  } -> tensor<37x70xi8>
  %5 = tensor.empty() : tensor<37x35xi32>
  %6 = linalg.fill ins(%zero : i32) outs(%5 : tensor<37x35xi32>) -> tensor<37x35xi32>
  %7 = linalg.quantized_matmul ins(%4, %w, %second, %zero : tensor<37x70xi8>, tensor<70x35xi8>, i32, i32) outs(%6 : tensor<37x35xi32>) -> tensor<37x35xi32>
  return %7 : tensor<37x35xi32>
}

func.func @both(%x: tensor<13x50xi8>, %v: tensor<50x40xi8>, %start: tensor<13x40xi32>) -> tensor<13x40xi32> {
  %point = arith.constant 19 : i32
  %second = arith.constant -128 : i32
  %0 = linalg.quantized_matmul ins(%x, %v, %point, %second : tensor<13x50xi8>, tensor<50x40xi8>, i32, i32) outs(%start : tensor<13x40xi32>) -> tensor<13x40xi32>
  return %0 : tensor<13x40xi32>
}

func.func @image(%x: tensor<1x12x12x8xi8>, %w: tensor<3x3x8x24xi8>, %v: tensor<1x1x24x16xi8>) -> (tensor<1x12x12x24xi32>, tensor<1x12x12x16xi32>) {
  %zero = arith.constant 0 : i32
  %point = arith.constant 5 : i32
  %padding = arith.constant 5 : i8
  %0 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %padding : i8
  } : tensor<1x12x12x8xi8> to tensor<1x14x14x8xi8>
  %1 = tensor.empty() : tensor<1x12x12x24xi32>
  %2 = linalg.fill ins(%zero : i32) outs(%1 : tensor<1x12x12x24xi32>) -> tensor<1x12x12x24xi32>
  %3 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%0, %w, %point, %zero : tensor<1x14x14x8xi8>, tensor<3x3x8x24xi8>, i32, i32) outs(%2 : tensor<1x12x12x24xi32>) -> tensor<1x12x12x24xi32>
  %4 = tensor.empty() : tensor<1x12x12x24xi8>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<1x12x12x24xi32>) outs(%4 : tensor<1x12x12x24xi8>) {
  ^bb0(%in: i32, %out: i8):
    %shift = arith.constant 9 : i32
    %less = arith.shrsi %in, %shift : i32
    %code = arith.trunci %less : i32 to i8
    linalg.yield %code : i8
  } -> tensor<1x12x12x24xi8>
  %6 = tensor.empty() : tensor<1x12x12x16xi32>
  %7 = linalg.fill ins(%zero : i32) outs(%6 : tensor<1x12x12x16xi32>) -> tensor<1x12x12x16xi32>
  %8 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%5, %v, %point, %zero : tensor<1x12x12x24xi8>, tensor<1x1x24x16xi8>, i32, i32) outs(%7 : tensor<1x12x12x16xi32>) -> tensor<1x12x12x16xi32>
  return %3, %8 : tensor<1x12x12x24xi32>, tensor<1x12x12x16xi32>
}

func.func @without_sign(%x: tensor<20x33xi8>, %w: tensor<33x17xi8>, %start: tensor<20x17xi32>) -> tensor<20x17xi32> {
  %point = arith.constant 128 : i32
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<20x33xi8>, tensor<33x17xi8>) outs(%start : tensor<20x17xi32>) {
  ^bb0(%in: i8, %weight: i8, %sum: i32):
    %left = arith.extui %in : i8 to i32
    %less = arith.subi %left, %point : i32
    %right = arith.extsi %weight : i8 to i32
    %product = arith.muli %less, %right : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<20x17xi32>
  return %0 : tensor<20x17xi32>
}

// Zero points that are numbers in the program, of sums of one step.
func.func @numbers(%a0: tensor<50x1xi8>, %a1: tensor<1x1xi8> {chimera.constant}, %a2: tensor<17x1xi8>) -> tensor<50x17xi32> {
  %v1 = arith.constant 0 : i32
  %v2 = tensor.empty() : tensor<50x1xi32>
  %v3 = linalg.fill ins(%v1 : i32) outs(%v2 : tensor<50x1xi32>) -> tensor<50x1xi32>
  %v4 = linalg.generic {indexing_maps = [#a, #t, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a0, %a1 : tensor<50x1xi8>, tensor<1x1xi8>) outs(%v3 : tensor<50x1xi32>) {
  ^bb0(%x0: i8, %x1: i8, %y: i32):
    %e0 = arith.extsi %x0 : i8 to i32
    %e1 = arith.extui %x1 : i8 to i32
    %z1 = arith.constant -7 : i32
    %l1 = arith.subi %e1, %z1 : i32
    %p = arith.muli %e0, %l1 : i32
    %s = arith.addi %y, %p : i32
    linalg.yield %s : i32
  } -> tensor<50x1xi32>
  %v5 = tensor.empty() : tensor<50x1xi8>
  %v6 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
      ins(%v4 : tensor<50x1xi32>) outs(%v5 : tensor<50x1xi8>) {
  ^bb0(%x0: i32, %y: i8):
    %shift = arith.constant 0 : i32
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    %shifted = arith.shrsi %x0, %shift : i32
    %low = arith.maxsi %shifted, %least : i32
    %high = arith.minsi %low, %most : i32
    %byte = arith.trunci %high : i32 to i8
    linalg.yield %byte : i8
  } -> tensor<50x1xi8>
  %v7 = arith.constant 0 : i32
  %v8 = tensor.empty() : tensor<50x17xi32>
  %v9 = linalg.fill ins(%v7 : i32) outs(%v8 : tensor<50x17xi32>) -> tensor<50x17xi32>
  %v10 = linalg.generic {indexing_maps = [#a, #t, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v6, %a2 : tensor<50x1xi8>, tensor<17x1xi8>) outs(%v9 : tensor<50x17xi32>) {
  ^bb0(%x0: i8, %x1: i8, %y: i32):
    %e0 = arith.extui %x0 : i8 to i32
    %z0 = arith.constant 3 : i32
    %l0 = arith.subi %e0, %z0 : i32
    %e1 = arith.extsi %x1 : i8 to i32
    %p = arith.muli %l0, %e1 : i32
    %s = arith.addi %y, %p : i32
    linalg.yield %s : i32
  } -> tensor<50x17xi32>
  return %v10 : tensor<50x17xi32>
}
