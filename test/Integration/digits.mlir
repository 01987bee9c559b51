// A row times weights of four bits, as digits: groups of three words, whose
// elements differ by much from group to group and within one. Errors are small
// beside what each sum is made of. An element that is infinite makes every sum
// NaN.

// RUN: chimera-run %s --constant=1,2 --threads=1 --target=zen5 --emit=asm -o - | FileCheck %s --check-prefix=ASM
// RUN: chimera-run %s --constant=1,2 --threads=1 --target=avx2 --emit=asm -o - | FileCheck %s --check-prefix=FLOATS
// ASM: vpdpbusd
// FLOATS-NOT: vpdpbusd
// FLOATS: vcvtdq2ps

// RUN: %python %S/Inputs/digits.py write %t
// RUN: chimera-run %s --constant=1,2 --threads=1 --no-time --no-check --input=%t.x.npy --input=%t.w.npy --input=%t.s.npy --output=%t.y.npy
// RUN: %python %S/Inputs/digits.py check %t
// RUN: %if avx512vnni %{ chimera-run %s --constant=1,2 --threads=1 --no-time --no-check --input=%t.infinite.npy --input=%t.w.npy --input=%t.s.npy --output=%t.y.npy %}
// RUN: %if avx512vnni %{ %python %S/Inputs/digits.py check-nan %t %}

func.func @main(%x: tensor<1x120xf32>, %w: tensor<70x120xi4>, %s: tensor<70x5x1xf32>) -> tensor<1x70xf32> {
  %zero = arith.constant 0.0 : f32
  %groups = tensor.expand_shape %w [[0], [1, 2]] output_shape [70, 5, 24] : tensor<70x120xi4> into tensor<70x5x24xi4>
  %e = tensor.empty() : tensor<70x5x24xf32>
  %scaled = linalg.generic {
      indexing_maps = [affine_map<(n, g, k) -> (n, g, k)>, affine_map<(n, g, k) -> (n, g, 0)>, affine_map<(n, g, k) -> (n, g, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%groups, %s : tensor<70x5x24xi4>, tensor<70x5x1xf32>) outs(%e : tensor<70x5x24xf32>) {
  ^bb0(%code: i4, %scale: f32, %out: f32):
    %0 = arith.sitofp %code : i4 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  } -> tensor<70x5x24xf32>
  %rows = tensor.collapse_shape %scaled [[0], [1, 2]] : tensor<70x5x24xf32> into tensor<70x120xf32>
  %te = tensor.empty() : tensor<120x70xf32>
  %columns = linalg.transpose ins(%rows : tensor<70x120xf32>) outs(%te : tensor<120x70xf32>) permutation = [1, 0]
  %ye = tensor.empty() : tensor<1x70xf32>
  %start = linalg.fill ins(%zero : f32) outs(%ye : tensor<1x70xf32>) -> tensor<1x70xf32>
  %y = linalg.matmul ins(%x, %columns : tensor<1x120xf32>, tensor<120x70xf32>) outs(%start : tensor<1x70xf32>) -> tensor<1x70xf32>
  return %y : tensor<1x70xf32>
}
