// A group becomes one launch, with shuffles and a barrier if several warps share a row;
// a tiling that does not fit is refused with the reason, and so is a function without
// instructions: both stay as they are.
//
// RUN: chimera-opt %s --convert-memory-groups-to-nvvm=target=h200 --split-input-file --remarks-filter=chimera --remark-policy=all 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
// RUN: not chimera-opt %s --convert-memory-groups-to-nvvm=target=zen5 --split-input-file 2>&1 | FileCheck %s --check-prefix=ZEN

// ZEN: target 'zen5' is no GPU that CUDA runs on; try 'h200'

#both = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// REMARK:      one launch of 1 operation(s), 64 block(s) of 64 threads
// REMARK-SAME: loads [65536, 16384, 0], stores [0, 0, 256]
// CHECK-LABEL: @sums
// CHECK:       gpu.launch_func @sums_kernels::@sums
// CHECK-NOT:   linalg.generic
// CHECK:       gpu.func @sums
// CHECK-COUNT-5: nvvm.shfl.sync
// CHECK:       gpu.barrier
func.func @sums(%x: tensor<64x256xf32>, %start: tensor<64xf32>) -> tensor<64xf32> {
  %s = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x256xf32>) outs(%start : tensor<64xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = single, mapping = many_to_many>,
               chimera.thread_tiling = #chimera.thread_tiling<vector = 4, team = 64, rows = 1, steps = 1, home = registers>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// REMARK: no kernel for this group: at most 2 elements can be loaded at once
// CHECK-LABEL: @unaligned
// CHECK-NOT:   gpu.launch_func
// CHECK:       linalg.generic
func.func @unaligned(%x: tensor<64xf32>, %e: tensor<32xf32>) -> tensor<32xf32> {
  %p = tensor.extract_slice %x[6] [32] [1] : tensor<64xf32> to tensor<32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%p : tensor<32xf32>) outs(%e : tensor<32xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = single, mapping = one_to_one>,
               chimera.thread_tiling = #chimera.thread_tiling<vector = 4, team = 32, rows = 1, steps = 1, home = registers>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// REMARK: no kernel for this group: 'math.sin' has no form for vectors of a GPU
// CHECK-LABEL: @sine
// CHECK-NOT:   gpu.launch_func
// CHECK:       math.sin
func.func @sine(%x: tensor<64xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>)
      attrs = {chimera.group = #chimera.group<id = 0, kind = single, mapping = one_to_one>,
               chimera.thread_tiling = #chimera.thread_tiling<vector = 2, team = 32, rows = 1, steps = 1, home = registers>} {
  ^bb0(%a: f32, %o: f32):
    %r = math.sin %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}
