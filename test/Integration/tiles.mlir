// Products on the tiles of AMX, emulated instruction by instruction with the
// checks that the processor makes: several panels and groups of rows with edges
// on all sides, reductions of whole tiles and padded ones, factors that lie along
// the reduction, bytes with and without signs, softmaxes between products.

// RUN: chimera-run %s --entry=product --target=granite-rapids --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: chimera-run %s --entry=bytes --target=granite-rapids --emit=asm -o - | FileCheck %s --check-prefix=BYTES
// RUN: chimera-run %S/dots.mlir --entry=decode --target=granite-rapids --emit=mlir --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: %if avx512 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time --fuse=always | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --fuse=always | FileCheck %s %}
// RUN: %if avx512 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time --fuse=never | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --fuse=never | FileCheck %s %}
// RUN: %if avx512 %{ chimera-run %S/dots.mlir '--entry=*' --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time | FileCheck %s --check-prefix=NINE %}
// RUN: %if avx2 %{ chimera-run %S/dots.mlir '--entry=*' --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time | FileCheck %s --check-prefix=NINE %}
// RUN: %if avx512 %{ chimera-run %S/integers.mlir '--entry=*' --target=%S/Inputs/tiles.mlir --emulate-tiles --no-time | FileCheck %s --check-prefix=ELEVEN %}
// RUN: %if avx2 %{ chimera-run %S/integers.mlir '--entry=*' --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time | FileCheck %s --check-prefix=ELEVEN %}

// The process asks for tiles before it has any.
// ASM: syscall
// ASM: ldtilecfg
// ASM: tileloadd
// ASM: tdpbf16ps
// ASM: tilestored
// ASM: tilerelease
// BYTES: tdpbssd
// One query is no work for tiles.
// VECTORS: planned for vectors: the matrix unit is predicted to take longer

// CHECK-COUNT-5: passed
// CHECK-NOT: FAILED
// NINE-COUNT-9: passed
// ELEVEN-COUNT-11: passed

func.func @product(%a: tensor<70x128xbf16>, %b: tensor<128x90xbf16>) -> tensor<70x90xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<70x90xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<70x90xf32>) -> tensor<70x90xf32>
  %product = linalg.matmul ins(%a, %b : tensor<70x128xbf16>, tensor<128x90xbf16>) outs(%zeros : tensor<70x90xf32>) -> tensor<70x90xf32>
  return %product : tensor<70x90xf32>
}

func.func @padded(%a: tensor<33x101xbf16>, %b: tensor<101x47xbf16>) -> tensor<33x47xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<33x47xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<33x47xf32>) -> tensor<33x47xf32>
  %product = linalg.matmul ins(%a, %b : tensor<33x101xbf16>, tensor<101x47xbf16>) outs(%zeros : tensor<33x47xf32>) -> tensor<33x47xf32>
  return %product : tensor<33x47xf32>
}

func.func @bytes(%a: tensor<70x128xi8>, %b: tensor<128x90xi8>) -> tensor<70x90xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<70x90xi32>
  %zeros = linalg.fill ins(%zero : i32) outs(%empty : tensor<70x90xi32>) -> tensor<70x90xi32>
  %product = linalg.matmul ins(%a, %b : tensor<70x128xi8>, tensor<128x90xi8>) outs(%zeros : tensor<70x90xi32>) -> tensor<70x90xi32>
  return %product : tensor<70x90xi32>
}

func.func @attention(%q: tensor<2x77x64xbf16>, %k: tensor<2x77x64xbf16>, %v: tensor<2x77x64xbf16>) -> tensor<2x77x64xbf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x77x77xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x77x77xf32>) -> tensor<2x77x77xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,n,k)>, affine_map<(b,m,n,k)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%q, %k : tensor<2x77x64xbf16>, tensor<2x77x64xbf16>) outs(%f : tensor<2x77x77xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x77x77xf32>
  %scale = arith.constant 0.125 : f32
  %e1 = tensor.empty() : tensor<2x77x77xf32>
  %sc = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%s : tensor<2x77x77xf32>) outs(%e1 : tensor<2x77x77xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<2x77x77xf32>
  %e2 = tensor.empty() : tensor<2x77x77xf32>
  %p = linalg.softmax dimension(2) ins(%sc : tensor<2x77x77xf32>) outs(%e2 : tensor<2x77x77xf32>) -> tensor<2x77x77xf32>
  %e3 = tensor.empty() : tensor<2x77x77xbf16>
  %pb = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%p : tensor<2x77x77xf32>) outs(%e3 : tensor<2x77x77xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<2x77x77xbf16>
  %e4 = tensor.empty() : tensor<2x77x64xf32>
  %f4 = linalg.fill ins(%z : f32) outs(%e4 : tensor<2x77x64xf32>) -> tensor<2x77x64xf32>
  %o = linalg.batch_matmul ins(%pb, %v : tensor<2x77x77xbf16>, tensor<2x77x64xbf16>) outs(%f4 : tensor<2x77x64xf32>) -> tensor<2x77x64xf32>
  %e5 = tensor.empty() : tensor<2x77x64xbf16>
  %ob = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%o : tensor<2x77x64xf32>) outs(%e5 : tensor<2x77x64xbf16>) {
  ^bb0(%a: f32, %o0: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<2x77x64xbf16>
  return %ob : tensor<2x77x64xbf16>
}

func.func @long_attention(%q: tensor<1x50x40xbf16>, %k: tensor<1x133x40xbf16>, %v: tensor<1x133x40xbf16>) -> tensor<1x50x40xbf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x50x133xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x50x133xf32>) -> tensor<1x50x133xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,n,k)>, affine_map<(b,m,n,k)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%q, %k : tensor<1x50x40xbf16>, tensor<1x133x40xbf16>) outs(%f : tensor<1x50x133xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1x50x133xf32>
  %scale = arith.constant 0.125 : f32
  %e1 = tensor.empty() : tensor<1x50x133xf32>
  %sc = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%s : tensor<1x50x133xf32>) outs(%e1 : tensor<1x50x133xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<1x50x133xf32>
  %e2 = tensor.empty() : tensor<1x50x133xf32>
  %p = linalg.softmax dimension(2) ins(%sc : tensor<1x50x133xf32>) outs(%e2 : tensor<1x50x133xf32>) -> tensor<1x50x133xf32>
  %e3 = tensor.empty() : tensor<1x50x133xbf16>
  %pb = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%p : tensor<1x50x133xf32>) outs(%e3 : tensor<1x50x133xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<1x50x133xbf16>
  %e4 = tensor.empty() : tensor<1x50x40xf32>
  %f4 = linalg.fill ins(%z : f32) outs(%e4 : tensor<1x50x40xf32>) -> tensor<1x50x40xf32>
  %o = linalg.batch_matmul ins(%pb, %v : tensor<1x50x133xbf16>, tensor<1x133x40xbf16>) outs(%f4 : tensor<1x50x40xf32>) -> tensor<1x50x40xf32>
  %e5 = tensor.empty() : tensor<1x50x40xbf16>
  %ob = linalg.generic {indexing_maps = [affine_map<(b,m,n)->(b,m,n)>, affine_map<(b,m,n)->(b,m,n)>], iterator_types = ["parallel","parallel","parallel"]} ins(%o : tensor<1x50x40xf32>) outs(%e5 : tensor<1x50x40xbf16>) {
  ^bb0(%a: f32, %o0: bf16):
    %0 = arith.truncf %a : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<1x50x40xbf16>
  return %ob : tensor<1x50x40xbf16>
}
