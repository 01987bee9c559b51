// Weights that are the same in every call lie in panels before the first one.

// RUN: chimera-run %s --entry=mlp --constant=1,2,3 --no-time | FileCheck %s --check-prefix=PREPACKED
// RUN: chimera-run %s --entry=mlp --no-time | FileCheck %s --check-prefix=PACKED
// RUN: chimera-run %s --entry=mlp --constant=0,1,2,3 --threads=1 --fuse=never --no-time --json=- | FileCheck %s
// RUN: chimera-run %s --entry=marked --no-time --fuse=always --json=- | FileCheck %s
// RUN: chimera-run %s --entry=given --constant=1,2 --no-time --json=- | FileCheck %s
// RUN: chimera-run %s --entry=held --constant=1 --no-time --json=- | FileCheck %s
// RUN: not chimera-run %s --entry=mlp --constant=4 2>&1 | FileCheck %s --check-prefix=ERROR

// PREPACKED: prepacked inputs
// PACKED: error
// PACKED-NOT: prepacked inputs
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0
// ERROR: argument 4 is to be constant, but 'mlp' has 4 arguments

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// Weights [out][in], as PyTorch has them; 331 rows are no whole panels.
func.func @mlp(%x: tensor<61x203xf32>, %w: tensor<331x203xf32>, %b: tensor<331xf32>, %v: tensor<331x190xf32>) -> tensor<61x190xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<61x331xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<61x331xf32>) -> tensor<61x331xf32>
  %2 = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<61x203xf32>, tensor<331x203xf32>)
      outs(%1 : tensor<61x331xf32>) -> tensor<61x331xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%2, %b : tensor<61x331xf32>, tensor<331xf32>) outs(%0 : tensor<61x331xf32>) {
  ^bb0(%s: f32, %t: f32, %o: f32):
    %a = arith.addf %s, %t : f32
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<61x331xf32>
  %4 = tensor.empty() : tensor<61x190xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<61x190xf32>) -> tensor<61x190xf32>
  %6 = linalg.matmul ins(%3, %v : tensor<61x331xf32>, tensor<331x190xf32>)
      outs(%5 : tensor<61x190xf32>) -> tensor<61x190xf32>
  return %6 : tensor<61x190xf32>
}

// A batch whose right factors are constant, marked in the program.
func.func @marked(%a: tensor<3x50x40xf32>, %b: tensor<3x40x90xf32> {chimera.constant}, %d: tensor<3x90x70xf32> {chimera.constant}) -> tensor<3x50x70xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x50x90xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x50x90xf32>) -> tensor<3x50x90xf32>
  %2 = linalg.batch_matmul ins(%a, %b : tensor<3x50x40xf32>, tensor<3x40x90xf32>) outs(%1 : tensor<3x50x90xf32>) -> tensor<3x50x90xf32>
  %3 = tensor.empty() : tensor<3x50x70xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x50x70xf32>) -> tensor<3x50x70xf32>
  %5 = linalg.batch_matmul ins(%2, %d : tensor<3x50x90xf32>, tensor<3x90x70xf32>) outs(%4 : tensor<3x50x70xf32>) -> tensor<3x50x70xf32>
  return %5 : tensor<3x50x70xf32>
}

// Panels of 24 and 16 columns under tiles of 48 and 32, none of which divide
// the extents; loops of one operator cut what the other one reads in panels.
func.func @given(%a: tensor<3x100x40xf32>, %b: tensor<3x40x90xf32>, %d: tensor<3x90x70xf32>) -> tensor<3x100x70xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<3x100x40xf32>, tensor<3x40x90xf32>, tensor<3x90x70xf32>)
      schedule(<levels = [<"L3" : b = 1>, <"L2" : m = 64, l = 48 around [0], k = 24, n = 32, l = 50 around [1]>, <"L1" : l = 24 around [0], m = 11, k = 7, n = 16, l = 20 around [1]>], parallel = 1,
                registers = <rows = 3, vectors = 3, broadcasts = 1, depth = 4>, prepacked = [1, 2]>) {
  ^bb0(%a0: tensor<3x100x40xf32>, %b0: tensor<3x40x90xf32>, %d0: tensor<3x90x70xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<3x100x90xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x100x90xf32>) -> tensor<3x100x90xf32>
    %2 = linalg.batch_matmul ins(%a0, %b0 : tensor<3x100x40xf32>, tensor<3x40x90xf32>) outs(%1 : tensor<3x100x90xf32>) -> tensor<3x100x90xf32>
    %3 = tensor.empty() : tensor<3x100x70xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x100x70xf32>) -> tensor<3x100x70xf32>
    %5 = linalg.batch_matmul ins(%2, %d0 : tensor<3x100x90xf32>, tensor<3x90x70xf32>) outs(%4 : tensor<3x100x70xf32>) -> tensor<3x100x70xf32>
    chimera.yield %5 : tensor<3x100x70xf32>
  } -> tensor<3x100x70xf32>
  return %e : tensor<3x100x70xf32>
}

// Kernels hold the sums of five rows, of which the last tile has fewer, through
// all of the reduction, while panels of 16 columns stream past.
func.func @held(%a: tensor<3x43x70xf32>, %b: tensor<3x70x90xf32>) -> tensor<3x43x90xf32> {
  %e = chimera.chain ins(%a, %b : tensor<3x43x70xf32>, tensor<3x70x90xf32>)
      schedule(<levels = [<"L3" : b = 1>, <"L2" : m = 20, k = 32>, <"L1" : n = 16, m = 5, k = 7>], parallel = 1,
                registers = <rows = 5, vectors = 1, broadcasts = 1, depth = 4>, prepacked = [1], held = [0]>) {
  ^bb0(%a0: tensor<3x43x70xf32>, %b0: tensor<3x70x90xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<3x43x90xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x43x90xf32>) -> tensor<3x43x90xf32>
    %2 = linalg.batch_matmul ins(%a0, %b0 : tensor<3x43x70xf32>, tensor<3x70x90xf32>) outs(%1 : tensor<3x43x90xf32>) -> tensor<3x43x90xf32>
    chimera.yield %2 : tensor<3x43x90xf32>
  } -> tensor<3x43x90xf32>
  return %e : tensor<3x43x90xf32>
}
