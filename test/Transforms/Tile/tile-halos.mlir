// RUN: chimera-opt %s --chimera-tile --canonicalize --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-tile --split-input-file --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

// The second convolution reads the first through windows of three rows with a
// padding of one. Each tile of two rows has the four rows that it needs made in
// a buffer; rows outside the image are zeros, and all four are made again for
// each tile.

#image = affine_map<(h, f, r, c) -> (h + r, c)>
#filter = affine_map<(h, f, r, c) -> (r, c, f)>
#result = affine_map<(h, f, r, c) -> (h, f)>
// CHECK-LABEL: func @again(
// CHECK-SAME: %[[X:.*]]: tensor<12x4xf32>
// CHECK: %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<4x16xf32>
// CHECK: %[[SEEN:.*]] = chimera.windows %[[X]]
// CHECK: scf.for %[[H:.*]] = %c0 to %c10 step %c2
// CHECK:   %[[BEGIN:.*]] = affine.max
// CHECK:   %[[ROWS:.*]] = affine.apply
// CHECK:   %[[READ:.*]] = tensor.extract_slice %[[SEEN]][%[[BEGIN]], 0, 0] [%[[ROWS]], 3, 4]
// CHECK:   %[[PLACE:.*]] = affine.apply
// CHECK:   %[[ABOVE:.*]] = scf.for %{{.*}} = %c0 to %{{.*}} iter_args(%{{.*}} = %[[BUFFER]])
// CHECK:     chimera.block "conv0" outs(%{{.*}} : tensor<1x16xf32>)
// CHECK:       linalg.fill
// CHECK:   %[[BELOW:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ABOVE]])
// CHECK:   %[[TO:.*]] = tensor.extract_slice %[[BELOW]][%[[PLACE]], 0] [%[[ROWS]], 16]
// CHECK:   %[[MADE:.*]] = chimera.block "conv0" ins(%[[READ]], %{{.*}}) outs(%[[TO]] : tensor<?x16xf32>) extents {{\[}}[3, 4], [16], [3], [4]]
// CHECK:   %[[WHOLE:.*]] = tensor.insert_slice %[[MADE]] into %[[BELOW]][%[[PLACE]], 0]
// CHECK:   %[[WINDOWS:.*]] = chimera.windows %[[WHOLE]] at #{{.*}} : tensor<4x16xf32> to tensor<2x3x16xf32>
// CHECK:   chimera.block "conv1" ins(%[[WINDOWS]],
func.func @again(%x: tensor<12x4xf32>, %w: tensor<3x4x16xf32>, %v: tensor<3x16x8xf32>) -> tensor<10x8xf32> {
  %0 = chimera.chain ins(%x, %w, %v : tensor<12x4xf32>, tensor<3x4x16xf32>, tensor<3x16x8xf32>)
      schedule(<levels = [<"L1" : h = 2>], parallel = 0,
                registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 4>>) {
  ^bb0(%x0: tensor<12x4xf32>, %w0: tensor<3x4x16xf32>, %v0: tensor<3x16x8xf32>):
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<10x16xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<10x16xf32>) -> tensor<10x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x0, %w0 : tensor<12x4xf32>, tensor<3x4x16xf32>) outs(%s0 : tensor<10x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x16xf32>
    %padded = tensor.pad %1 low[1, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<10x16xf32> to tensor<12x16xf32>
    %e1 = tensor.empty() : tensor<10x8xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<10x8xf32>) -> tensor<10x8xf32>
    %4 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%padded, %v0 : tensor<12x16xf32>, tensor<3x16x8xf32>) outs(%s1 : tensor<10x8xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x8xf32>
    chimera.yield %4 : tensor<10x8xf32>
  } -> tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}

// -----

// If it rolls, the loop carries the buffer, how far the image is made, and the
// row at which the buffer begins. What two tiles share moves to the front; at
// the end of the image nothing may be new.

#image = affine_map<(h, f, r, c) -> (h + r, c)>
#filter = affine_map<(h, f, r, c) -> (r, c, f)>
#result = affine_map<(h, f, r, c) -> (h, f)>
// CHECK-LABEL: func @kept(
// CHECK: %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<3x16xf32>
// CHECK: scf.for %[[H:.*]] = %c0 to %c10 step %c1 iter_args(%{{.*}} = %{{.*}}, %[[OLD:.*]] = %[[BUFFER]], %[[END:.*]] = %c0, %[[ORIGIN:.*]] = %c0)
// CHECK:   %[[KEPT:.*]] = chimera.shift %[[OLD]] along 0 from %{{.*}} to %{{.*}} by %{{.*}} : tensor<3x16xf32>
// CHECK:   scf.if
// CHECK:     chimera.block "conv0" {{.*}} extents {{\[}}[2, 1], [16], [3], [4]]
// CHECK:   chimera.windows %{{.*}} : tensor<3x16xf32> to tensor<1x3x16xf32>
// CHECK:   scf.yield {{.*}} : tensor<10x8xf32>, tensor<3x16xf32>, index, index
func.func @kept(%x: tensor<12x4xf32>, %w: tensor<3x4x16xf32>, %v: tensor<3x16x8xf32>) -> tensor<10x8xf32> {
  %0 = chimera.chain ins(%x, %w, %v : tensor<12x4xf32>, tensor<3x4x16xf32>, tensor<3x16x8xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 0,
                registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 4>, rolling = ["mid0"]>) {
  ^bb0(%x0: tensor<12x4xf32>, %w0: tensor<3x4x16xf32>, %v0: tensor<3x16x8xf32>):
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<10x16xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<10x16xf32>) -> tensor<10x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x0, %w0 : tensor<12x4xf32>, tensor<3x4x16xf32>) outs(%s0 : tensor<10x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x16xf32>
    %padded = tensor.pad %1 low[1, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<10x16xf32> to tensor<12x16xf32>
    %e1 = tensor.empty() : tensor<10x8xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<10x8xf32>) -> tensor<10x8xf32>
    %4 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%padded, %v0 : tensor<12x16xf32>, tensor<3x16x8xf32>) outs(%s1 : tensor<10x8xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x8xf32>
    chimera.yield %4 : tensor<10x8xf32>
  } -> tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}

// -----

// From one parallel tile to the next nothing stays, which the remark says.

#image = affine_map<(h, f, r, c) -> (h + r, c)>
#filter = affine_map<(h, f, r, c) -> (r, c, f)>
#result = affine_map<(h, f, r, c) -> (h, f)>
// REMARK: remark: [Missed] halo
// REMARK-SAME: the halo of 'mid0' is computed again
// CHECK-LABEL: func @parallel(
// CHECK: scf.forall
// CHECK-NOT: chimera.shift
// CHECK: chimera.windows %{{.*}} : tensor<3x16xf32> to tensor<1x3x16xf32>
func.func @parallel(%x: tensor<12x4xf32>, %w: tensor<3x4x16xf32>, %v: tensor<3x16x8xf32>) -> tensor<10x8xf32> {
  %0 = chimera.chain ins(%x, %w, %v : tensor<12x4xf32>, tensor<3x4x16xf32>, tensor<3x16x8xf32>)
      schedule(<levels = [<"L1" : h = 1>], parallel = 1,
                registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 4>, rolling = ["mid0"]>) {
  ^bb0(%x0: tensor<12x4xf32>, %w0: tensor<3x4x16xf32>, %v0: tensor<3x16x8xf32>):
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<10x16xf32>
    %s0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<10x16xf32>) -> tensor<10x16xf32>
    %1 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x0, %w0 : tensor<12x4xf32>, tensor<3x4x16xf32>) outs(%s0 : tensor<10x16xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x16xf32>
    %padded = tensor.pad %1 low[1, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<10x16xf32> to tensor<12x16xf32>
    %e1 = tensor.empty() : tensor<10x8xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<10x8xf32>) -> tensor<10x8xf32>
    %4 = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%padded, %v0 : tensor<12x16xf32>, tensor<3x16x8xf32>) outs(%s1 : tensor<10x8xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %2 = arith.mulf %a, %b : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<10x8xf32>
    chimera.yield %4 : tensor<10x8xf32>
  } -> tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}
