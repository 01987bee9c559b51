// Rows of an unknown number on the tiles of AMX: blocks, a tile of what they
// leave, and what tiles leave, with edges of columns and padded reductions. A
// reduction of unknown size is left to vectors.

// RUN: chimera-run %s --entry=perceptron --target=granite-rapids --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: chimera-run %s --entry=scores --target=granite-rapids --emit=mlir --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: %if avx2 %{ chimera-run %s --entry=perceptron --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --fuse=always --at=70,0,1,15,16,17,32,33,500 | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s --entry=perceptron --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --fuse=never --sizes=64 --at=70,0,1,15,16,17,32,33,500 | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s --entry=bytes --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --at=70,0,1,15,16,17,32,33,500 | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s --entry=scores --target=%S/Inputs/tiles-avx2.mlir --emulate-tiles --no-time --at=70,0,1,33 | FileCheck %s --check-prefix=SCORES %}

// ASM: tdpbf16ps
// VECTORS: planned for vectors: the matrix unit takes no open columns or sums

// CHECK: error {{.*}}allowed
// CHECK-NOT: FAILED
// CHECK: at {{ *}}0: passed
// CHECK: at {{ *}}500: passed
// SCORES: at {{ *}}33: passed

func.func @perceptron(%x: tensor<?x101xbf16>, %w: tensor<101x47xbf16> {chimera.constant}, %v: tensor<47x70xbf16> {chimera.constant}) -> tensor<?x70xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x101xbf16>
  %0 = tensor.empty(%rows) : tensor<?x47xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x47xf32>) -> tensor<?x47xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<?x101xbf16>, tensor<101x47xbf16>) outs(%1 : tensor<?x47xf32>) -> tensor<?x47xf32>
  %3 = tensor.empty(%rows) : tensor<?x47xbf16>
  %4 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<?x47xf32>) outs(%3 : tensor<?x47xbf16>) {
  ^bb0(%s: f32, %out: bf16):
    %positive = arith.maximumf %s, %zero : f32
    %narrow = arith.truncf %positive : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<?x47xbf16>
  %5 = tensor.empty(%rows) : tensor<?x70xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<?x70xf32>) -> tensor<?x70xf32>
  %7 = linalg.matmul ins(%4, %v : tensor<?x47xbf16>, tensor<47x70xbf16>) outs(%6 : tensor<?x70xf32>) -> tensor<?x70xf32>
  return %7 : tensor<?x70xf32>
}

func.func @bytes(%x: tensor<?x128xi8>, %w: tensor<128x90xi8>) -> tensor<?x90xi32> {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x128xi8>
  %0 = tensor.empty(%rows) : tensor<?x90xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<?x90xi32>) -> tensor<?x90xi32>
  %2 = linalg.matmul ins(%x, %w : tensor<?x128xi8>, tensor<128x90xi8>) outs(%1 : tensor<?x90xi32>) -> tensor<?x90xi32>
  return %2 : tensor<?x90xi32>
}

func.func @scores(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %columns = tensor.dim %y, %c0 : tensor<?x64xbf16>
  %0 = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x64xbf16>, tensor<?x64xbf16>) outs(%1 : tensor<?x?xf32>) {
  ^bb0(%a: bf16, %b: bf16, %s: f32):
    %p = arith.extf %a : bf16 to f32
    %q = arith.extf %b : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}
