// Copies compute where in an image a pixel under a tap lies: neither windows nor
// padding exist in memory. Blocks have one tap, as they have one matrix of a batch.
//
// RUN: chimera-opt %s --chimera-tile --canonicalize --convert-chimera-to-nvvm=target=h200 --split-input-file --remarks-filter-missed=chimera -o - 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// One loop runs over nine taps, so that copies are ahead across rows of them.
//
// CHECK: gpu.func @convolve(%[[IMAGE:.*]]: memref<4x16x16xf16>, %[[FILTERS:.*]]: memref<3x3x16x16xf16>,
// CHECK: %[[ROW:.*]] = arith.cmpi ult, %{{.*}}, %c4
// CHECK: %[[COLUMN:.*]] = arith.cmpi ult, %{{.*}}, %c16
// CHECK: %[[INSIDE:.*]] = arith.andi %[[ROW]], %[[COLUMN]]
// CHECK: %[[COUNT:.*]] = arith.select %[[INSIDE]], %c8{{.*}}, %c0
// CHECK: nvgpu.device_async_copy %[[IMAGE]]{{.*}}, 8, %[[COUNT]]
// CHECK: scf.for {{.*}} = %c0{{.*}} to %c9{{.*}} step %c1
// CHECK-NOT: scf.for
// CHECK: mma.sync
// CHECK-NOT: chimera.windows
func.func @convolve(%x: tensor<4x16x16xf16>, %w: tensor<3x3x16x16xf16>) -> tensor<4x16x16xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<4x16x16xf16>, tensor<3x3x16x16xf16>)
      schedule(<levels = [<"L2" : h = 1>, <"SMEM" : r = 1, r1 = 1>], parallel = 1,
                registers = <rows = 1, vectors = 2, broadcasts = 0, depth = 1>>) {
  ^bb0(%image: tensor<4x16x16xf16>, %filters: tensor<3x3x16x16xf16>):
    %zero = arith.constant 0.0 : f32
    %none = arith.constant 0.0 : f16
    %padded = tensor.pad %image low[1, 1, 0] high[1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %none : f16
    } : tensor<4x16x16xf16> to tensor<6x18x16xf16>
    %e = tensor.empty() : tensor<4x16x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(h, w, f, r, s, c) -> (h + r, w + s, c)>,
        affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>, affine_map<(h, w, f, r, s, c) -> (h, w, f)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%padded, %filters : tensor<6x18x16xf16>, tensor<3x3x16x16xf16>) outs(%z : tensor<4x16x16xf32>) {
    ^bb0(%a: f16, %b: f16, %sum: f32):
      %1 = arith.extf %a : f16 to f32
      %2 = arith.extf %b : f16 to f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %sum, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<4x16x16xf32>
    chimera.yield %c : tensor<4x16x16xf32>
  } -> tensor<4x16x16xf32>
  return %0 : tensor<4x16x16xf32>
}

// -----

// REMARK: no kernel for this chain: conv0: needs one dimension to add up over; cut the loops over taps to one
// CHECK: func @taps
// CHECK: chimera.block
func.func @taps(%x: tensor<6x18x16xf16>, %w: tensor<3x3x16x16xf16>) -> tensor<4x16x16xf32> {
  %0 = chimera.chain ins(%x, %w : tensor<6x18x16xf16>, tensor<3x3x16x16xf16>)
      schedule(<levels = [<"L2" : h = 1>, <"SMEM" : r = 1>], parallel = 1,
                registers = <rows = 1, vectors = 2, broadcasts = 0, depth = 1>>) {
  ^bb0(%image: tensor<6x18x16xf16>, %filters: tensor<3x3x16x16xf16>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x16x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(h, w, f, r, s, c) -> (h + r, w + s, c)>,
        affine_map<(h, w, f, r, s, c) -> (r, s, c, f)>, affine_map<(h, w, f, r, s, c) -> (h, w, f)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%image, %filters : tensor<6x18x16xf16>, tensor<3x3x16x16xf16>) outs(%z : tensor<4x16x16xf32>) {
    ^bb0(%a: f16, %b: f16, %sum: f32):
      %1 = arith.extf %a : f16 to f32
      %2 = arith.extf %b : f16 to f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %sum, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<4x16x16xf32>
    chimera.yield %c : tensor<4x16x16xf32>
  } -> tensor<4x16x16xf32>
  return %0 : tensor<4x16x16xf32>
}
