// Batch and sequence are not known, and are one loop of the first product, whose
// weights they share: its result comes apart into both, beside a size of one.

// RUN: chimera-run %s --fuse=always --at=3x17,1x1,0x4,40x7,5x0 --no-time | FileCheck %s

// CHECK: at 3x17
// CHECK: at {{ *}}1x1: passed
// CHECK: at {{ *}}0x4: passed
// CHECK: at {{ *}}40x7: passed
// CHECK: at {{ *}}5x0: passed

func.func @main(%a0: tensor<?x?x32xf32>, %a1: tensor<1x32xf32>, %a2: tensor<?x32x1xf32>) -> tensor<?x?x32xf32> {
  %c0 = arith.constant 0 : index
  %n0 = tensor.dim %a0, %c0 : tensor<?x?x32xf32>
  %c1 = arith.constant 1 : index
  %n1 = tensor.dim %a0, %c1 : tensor<?x?x32xf32>
  %v1 = arith.constant 0.0 : f32
  %v2 = tensor.empty(%n0, %n1) : tensor<?x?x1xf32>
  %v3 = linalg.fill ins(%v1 : f32) outs(%v2 : tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %v4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a0, %a1 : tensor<?x?x32xf32>, tensor<1x32xf32>) outs(%v3 : tensor<?x?x1xf32>) {
  ^bb0(%x0: f32, %x1: f32, %y: f32):
    %p = arith.mulf %x0, %x1 : f32
    %s = arith.addf %y, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?x1xf32>
  %v5 = tensor.empty(%n0, %n1) : tensor<?x?x1xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v4 : tensor<?x?x1xf32>) outs(%v5 : tensor<?x?x1xf32>) {
  ^bb0(%x0: f32, %y: f32):
    linalg.yield %x0 : f32
  } -> tensor<?x?x1xf32>
  %v7 = arith.constant 0.0 : f32
  %v8 = tensor.empty(%n0, %n1) : tensor<?x?x32xf32>
  %v9 = linalg.fill ins(%v7 : f32) outs(%v8 : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%v6, %a2 : tensor<?x?x1xf32>, tensor<?x32x1xf32>) outs(%v9 : tensor<?x?x32xf32>) {
  ^bb0(%x0: f32, %x1: f32, %y: f32):
    %p = arith.mulf %x0, %x1 : f32
    %s = arith.addf %y, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?x32xf32>
  %v11 = tensor.empty(%n0, %n1) : tensor<?x?x32xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v10 : tensor<?x?x32xf32>) outs(%v11 : tensor<?x?x32xf32>) {
  ^bb0(%x0: f32, %y: f32):
    %factor = arith.constant 0.3 : f32
    %r = arith.mulf %x0, %factor : f32
    linalg.yield %r : f32
  } -> tensor<?x?x32xf32>
  %v13 = tensor.empty(%n0, %n1) : tensor<?x?x32xf32>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v12 : tensor<?x?x32xf32>) outs(%v13 : tensor<?x?x32xf32>) {
  ^bb0(%x0: f32, %y: f32):
    %r = math.tanh %x0 : f32
    linalg.yield %r : f32
  } -> tensor<?x?x32xf32>
  return %v14 : tensor<?x?x32xf32>
}
