// A softmax is one launch: a team of threads holds a row. Groups that write halves of
// one tensor are united; one whose loops are not those of the others is taken apart.
//
// RUN: chimera-opt %s --chimera-plan-threads=target=h200 --split-input-file --remarks-filter=chimera --remark-policy=all 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

#both = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @sums
// CHECK:       linalg.generic
// CHECK-NOT:   chimera.thread_tiling
// CHECK:       linalg.generic
// CHECK-SAME:  chimera.thread_tiling = #chimera.thread_tiling<vector = 4, team = {{[0-9]+}}, rows = {{[0-9]+}}, steps = {{[0-9]+}}, home = {{registers|shared}}>
func.func @sums(%x: tensor<4096x2048xf32>) -> tensor<4096x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<4096xf32>
  %e = tensor.empty() : tensor<4096x2048xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<4096xf32>) -> tensor<4096xf32>
  %s = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x2048xf32>) outs(%f : tensor<4096xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [#both, #row, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<4096x2048xf32>, tensor<4096xf32>) outs(%e : tensor<4096x2048xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = one_to_one>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096x2048xf32>
  return %y : tensor<4096x2048xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: @halves
// CHECK:       linalg.generic
// CHECK-SAME:  #chimera.group<id = 0, kind = memory
// CHECK:       linalg.generic
// CHECK-SAME:  #chimera.group<id = 0, kind = memory
// CHECK-SAME:  chimera.thread_tiling
func.func @halves(%x: tensor<64x128xf32>) -> tensor<64x256xf32> {
  %e = tensor.empty() : tensor<64x256xf32>
  %p = tensor.extract_slice %e[0, 0] [64, 128] [1, 1] : tensor<64x256xf32> to tensor<64x128xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%p : tensor<64x128xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = single, mapping = one_to_one>} {
  ^bb0(%v: f32, %o: f32):
    %r = arith.negf %v : f32
    linalg.yield %r : f32
  } -> tensor<64x128xf32>
  %h = tensor.insert_slice %a into %e[0, 0] [64, 128] [1, 1] : tensor<64x128xf32> into tensor<64x256xf32>
  %q = tensor.extract_slice %h[0, 128] [64, 128] [1, 1] : tensor<64x256xf32> to tensor<64x128xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x128xf32>) outs(%q : tensor<64x128xf32>)
      attrs = {chimera.group = #chimera.group<id = 1, kind = single, mapping = one_to_one>} {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<64x128xf32>
  %w = tensor.insert_slice %b into %h[0, 128] [64, 128] [1, 1] : tensor<64x128xf32> into tensor<64x256xf32>
  return %w : tensor<64x256xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// REMARK: not one kernel: it reduces a part of the columns
// CHECK-LABEL: @twice
// CHECK:       linalg.generic
// CHECK-SAME:  #chimera.group<id = 1, kind = single
// CHECK:       linalg.generic
// CHECK-SAME:  #chimera.group<id = 2, kind = single
// CHECK-SAME:  #chimera.thread_tiling
func.func @twice(%x: tensor<64x128xf32>, %f: tensor<64xf32>, %g: tensor<f32>) -> tensor<f32> {
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x128xf32>) outs(%f : tensor<64xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %t = linalg.generic {indexing_maps = [#one, #none], iterator_types = ["reduction"]}
      ins(%s : tensor<64xf32>) outs(%g : tensor<f32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = memory, mapping = many_to_many>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}
