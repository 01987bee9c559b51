// Reductions along columns that come from memory, against plain loops: of
// matrices and of images, by rows that the rows read at once do not divide, and
// of columns that vectors do not divide. A machine with small caches reads rows
// from their beginnings to their ends, others columns from top to bottom: the
// bits are the same.

// RUN: chimera-run %s '--entry=*' --target=%S/Inputs/small-caches.mlir --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/small-caches.mlir --threads=2 --no-time --json=%t.json | FileCheck %s %}
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --target=%S/Inputs/small-caches.mlir --threads=1 | FileCheck %s %}
// RUN: chimera-run %s '--entry=*' --no-time --json=%t.host.json | FileCheck %s
// RUN: %if avx2 %{ grep result_hash %t.json > %t.hashes %}
// RUN: %if avx2 %{ grep result_hash %t.host.json | diff %t.hashes - %}

// ASM:    sums
// ASM-DAG:  prefetcht1
// CHECK:      passed sums
// CHECK-NEXT: passed images
// CHECK-NEXT: passed heads
// CHECK-NEXT: passed norms

func.func @sums(%x: tensor<197x331xf32>, %start: tensor<331xf32>) -> (tensor<331xf32>, tensor<331xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<331xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<331xf32>) -> tensor<331xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<197x331xf32>) outs(%start : tensor<331xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    %r = arith.addf %out, %a : f32
    linalg.yield %r : f32
  } -> tensor<331xf32>
  %most = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<197x331xf32>) outs(%1 : tensor<331xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.maximumf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<331xf32>
  return %sum, %most : tensor<331xf32>, tensor<331xf32>
}

func.func @images(%x: tensor<3x67x13x45xf32>, %start: tensor<3x45xf32>) -> (tensor<3x45xf32>, tensor<3x45xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<3x45xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<3x45xf32>) -> tensor<3x45xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>], iterator_types = ["parallel", "reduction", "reduction", "parallel"]}
      ins(%x : tensor<3x67x13x45xf32>) outs(%start : tensor<3x45xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    %r = arith.addf %out, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x45xf32>
  %most = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>], iterator_types = ["parallel", "reduction", "reduction", "parallel"]}
      ins(%x : tensor<3x67x13x45xf32>) outs(%1 : tensor<3x45xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.maximumf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<3x45xf32>
  return %sum, %most : tensor<3x45xf32>, tensor<3x45xf32>
}

func.func @heads(%x: tensor<61x7x9x33xf32>, %start: tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<7x33xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<7x33xf32>) -> tensor<7x33xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>], iterator_types = ["reduction", "parallel", "reduction", "parallel"]}
      ins(%x : tensor<61x7x9x33xf32>) outs(%start : tensor<7x33xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    %r = arith.addf %out, %a : f32
    linalg.yield %r : f32
  } -> tensor<7x33xf32>
  %most = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>], iterator_types = ["reduction", "parallel", "reduction", "parallel"]}
      ins(%x : tensor<61x7x9x33xf32>) outs(%1 : tensor<7x33xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.maximumf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<7x33xf32>
  return %sum, %most : tensor<7x33xf32>, tensor<7x33xf32>
}

// Each column is scaled to the root mean square of one.
#id = affine_map<(b, i, j) -> (b, i, j)>
#column = affine_map<(b, i, j) -> (b, j)>
func.func @norms(%x: tensor<3x83x157xf32>) -> tensor<3x83x157xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 83.0 : f32
  %0 = tensor.empty() : tensor<3x157xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x157xf32>) -> tensor<3x157xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<3x83x157xf32>) outs(%1 : tensor<3x157xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.mulf %in, %in : f32
    %r = arith.addf %out, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x157xf32>
  %2 = tensor.empty() : tensor<3x83x157xf32>
  %3 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<3x83x157xf32>, tensor<3x157xf32>) outs(%2 : tensor<3x83x157xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %m = arith.divf %q, %n : f32
    %d = math.sqrt %m : f32
    %r = arith.divf %in, %d : f32
    linalg.yield %r : f32
  } -> tensor<3x83x157xf32>
  return %3 : tensor<3x83x157xf32>
}
