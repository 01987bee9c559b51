// A group on memory gets tiles, unless it has some, and becomes a kernel of the
// vector unit.
//
// RUN: chimera-opt %s --plan-ascend-groups=target=ascend310p | FileCheck %s
// RUN: chimera-opt %s --plan-ascend-groups=target=ascend310p --convert-chimera-to-ascend=target=ascend310p | FileCheck %s --check-prefix=KERNEL

// CHECK: ascend.tiling = #ascend.tiling<rows = {{[0-9]+}}, columns = {{[0-9]+}}>
// KERNEL: func.func @scale_kernel(
// KERNEL: ascend.copy copy_gm_to_ubuf
// KERNEL: ascend.vector vmuls
// KERNEL: ascend.copy copy_ubuf_to_gm
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @scale(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>) attrs = {ascend.group = 0 : i64} {
  ^bb0(%a: f32, %old: f32):
    %b = arith.mulf %a, %two : f32
    linalg.yield %b : f32
  }
  return
}

// CHECK-LABEL: func.func @given(
// CHECK: ascend.tiling = #ascend.tiling<rows = 8, columns = 64>
func.func @given(%x: memref<64x128xf32>, %y: memref<64x128xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x128xf32>) outs(%y : memref<64x128xf32>)
      attrs = {ascend.group = 0 : i64, ascend.tiling = #ascend.tiling<rows = 8, columns = 64>} {
  ^bb0(%a: f32, %old: f32):
    %b = arith.mulf %a, %two : f32
    linalg.yield %b : f32
  }
  return
}
