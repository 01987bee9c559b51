// Programs with dynamic sizes, at those that they are planned for and at
// others: none, one, and more than any tile.

// RUN: chimera-run %s --constant=1,2 --sizes=64,7 --at=64,7,0,1,5,97,300 --no-time | FileCheck %s
// RUN: chimera-run %S/Inputs/sdpa_dynamic.mlir --sizes=1x96 --at=1x96,2x5,1x1,3x130,0x0,2x0 --no-time | FileCheck %s --check-prefix=ATTENTION
// RUN: chimera-run %S/Inputs/keys_dynamic.mlir --fuse=always --sizes=1x40 --at=1x40,3x0,2x70 --no-time | FileCheck %s --check-prefixes=KEYS,FUSED
// RUN: chimera-run %S/Inputs/keys_dynamic.mlir --fuse=never --sizes=1x40 --at=1x40,3x0,2x70 --no-time | FileCheck %s --check-prefixes=KEYS,SPLIT
// RUN: chimera-run %S/Inputs/images_dynamic.mlir --constant=1,2,4 --sizes=2 --at=2,1,5 --no-time | FileCheck %s --check-prefix=IMAGES

// CHECK: at 64
// CHECK: sizes      64; 7; any, by a plan for 64
// CHECK: fused:
// CHECK: at         7: passed
// CHECK: at         0: passed
// CHECK: at         1: passed
// CHECK: at         5: passed
// CHECK: at         97: passed
// CHECK: at         300: passed
// ATTENTION: at 1x96
// ATTENTION: sizes      1x96; any, by a plan for 1x96, if dimension 0 of argument 0 = dimension 0 of argument 1 = dimension 0 of argument 2, dimension 2 of argument 0 = {{.*}}; others as they are written
// ATTENTION: fused:
// ATTENTION: at         2x5: passed
// ATTENTION: at         1x1: passed
// ATTENTION: at         3x130: passed
// ATTENTION: at         0x0: passed
// ATTENTION: at         2x0: passed
// KEYS: at 1x40
// FUSED: fused:
// SPLIT: split: not fused
// KEYS: at         3x0: passed
// KEYS: at         2x70: passed
// IMAGES: at 2
// IMAGES: sizes      2; any, by a plan for 2, if dimension 0 of argument 0 = dimension 0 of argument 3
// IMAGES: at         1: passed
// IMAGES: at         5: passed

#row = affine_map<(m, n) -> (n)>
#all = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<?x48xf32>, %w: tensor<48x80xf32>, %v: tensor<80x56xf32>, %bias: tensor<80xf32>) -> tensor<?x56xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x48xf32>
  %e0 = tensor.empty(%rows) : tensor<?x80xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x80xf32>) -> tensor<?x80xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x48xf32>, tensor<48x80xf32>) outs(%z0 : tensor<?x80xf32>) -> tensor<?x80xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<?x80xf32>, tensor<80xf32>) outs(%e0 : tensor<?x80xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %sum = arith.addf %a, %b : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<?x80xf32>
  %e1 = tensor.empty(%rows) : tensor<?x56xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x56xf32>) -> tensor<?x56xf32>
  %2 = linalg.matmul ins(%1, %v : tensor<?x80xf32>, tensor<80x56xf32>) outs(%z1 : tensor<?x56xf32>) -> tensor<?x56xf32>
  return %2 : tensor<?x56xf32>
}
