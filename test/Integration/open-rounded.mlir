// Any number of rows of bf16 by weights that are packed once: kernels hold their sums,
// which are rounded in the end.

// RUN: chimera-run %s --constant=1 --at=100,1,0,7,300 --no-time | FileCheck %s

// CHECK: at 100
// CHECK: at {{ *}}1: passed
// CHECK: at {{ *}}0: passed
// CHECK: at {{ *}}7: passed
// CHECK: at {{ *}}300: passed

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<?x256xbf16>, %w: tensor<256x1000xbf16>) -> tensor<?x1000xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %0 = tensor.empty(%n) : tensor<?x1000xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x1000xf32>) -> tensor<?x1000xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<?x256xbf16>, tensor<256x1000xbf16>) outs(%1 : tensor<?x1000xf32>) -> tensor<?x1000xf32>
  %3 = tensor.empty(%n) : tensor<?x1000xbf16>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<?x1000xf32>) outs(%3 : tensor<?x1000xbf16>) {
  ^bb0(%sum: f32, %old: bf16):
    %rounded = arith.truncf %sum : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<?x1000xbf16>
  return %4 : tensor<?x1000xbf16>
}
