// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=1" | FileCheck %s --check-prefix=ONE
// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=4" --chimera-plan-memory-bound="target=zen5 threads=1" | FileCheck %s
// RUN: not chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=zen5 threads=-1" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not chimera-opt %s --split-input-file --chimera-plan-memory-bound="target=i386" 2>&1 | FileCheck %s --check-prefix=TARGET

// THREADS: error: 'threads' must not be negative, got -1
// TARGET: error: {{.*}}i386

// The last operation of a norm says how all of it runs. What has a tiling keeps
// it, if it is planned again for another machine. Nothing else changes.

// CHECK-LABEL: func @norm(
// CHECK-NOT:     row_tiling
// CHECK:         ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}} attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [16], parallel = true>}
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      math.rsqrt
// CHECK-NOT:     row_tiling
// CHECK:         return
// ONE-LABEL:   func @norm(
// ONE:           ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}} attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [16]>}
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @norm(%x: tensor<1024x96xf32>, %y: tensor<1024x96xf32>, %gain: tensor<96xf32>) -> (tensor<1024x96xf32>, tensor<1024x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1024x96xf32>
  %1 = tensor.empty() : tensor<1024xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<1024x96xf32>, tensor<1024x96xf32>) outs(%0 : tensor<1024x96xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<1024x96xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<1024xf32>) -> tensor<1024xf32>
  %square = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%t : tensor<1024x96xf32>) outs(%acc : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %in : f32
    %a = arith.addf %out, %s : f32
    linalg.yield %a : f32
  } -> tensor<1024xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t, %square, %gain : tensor<1024x96xf32>, tensor<1024xf32>, tensor<96xf32>) outs(%0 : tensor<1024x96xf32>) {
  ^bb0(%in: f32, %q: f32, %g: f32, %out: f32):
    %r = math.rsqrt %q : f32
    %s = arith.mulf %in, %r : f32
    %u = arith.mulf %s, %g : f32
    linalg.yield %u : f32
  } -> tensor<1024x96xf32>
  return %t, %scaled : tensor<1024x96xf32>, tensor<1024x96xf32>
}

// -----

// A number has no rows: there are no loops. A fill that nothing but a sum starts
// with is made where the sum is.

// CHECK-LABEL: func @number(
// CHECK:         linalg.fill ins
// CHECK:         linalg.generic {{.*}} attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = []>}
func.func @number(%x: tensor<256xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<f32>
  %acc = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<256xf32>) outs(%acc : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The example of the pass's description.

// CHECK-LABEL: func @filled(
// CHECK:         linalg.fill {chimera.row_tiling = #chimera.row_tiling<tiles = [256], parallel = true>} ins
func.func @filled() -> tensor<1024x256xf32> {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<1024x256xf32>
  %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  return %1 : tensor<1024x256xf32>
}

// -----

// The order of operations is as it was, though planning tries another: %e has to
// follow the loops of %c.

// CHECK-LABEL: func @order(
// CHECK:         %[[A:.*]] = linalg.generic
// CHECK:         %[[E:.*]] = tensor.extract %[[A]]
// CHECK:         linalg.generic {{.*}} attrs = {chimera.row_tiling
// CHECK:         return
#id1 = affine_map<(i, j) -> (i, j)>
func.func @order(%x: tensor<256x256xf32>, %i: index) -> (tensor<256x256xf32>, f32) {
  %0 = tensor.empty() : tensor<256x256xf32>
  %a = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  %e = tensor.extract %a[%i, %i] : tensor<256x256xf32>
  %c = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.negf %in : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %c, %e : tensor<256x256xf32>, f32
}

// -----

// What columns share are loops over the second dimension; what no cache keeps
// goes past them.

// CHECK-LABEL: func @columns(
// CHECK-NOT:     row_tiling
// CHECK:         math.exp
// CHECK-NOT:     row_tiling
// CHECK:         chimera.row_tiling = #chimera.row_tiling<tiles = [128], dims = [1], parallel = true, streamed = [2], ahead = [0]>}
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.divf
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @columns(%x: tensor<2048x8192xf32>) -> tensor<2048x8192xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2048x8192xf32>
  %1 = tensor.empty() : tensor<8192xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2048x8192xf32>) outs(%0 : tensor<2048x8192xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<2048x8192xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<8192xf32>) -> tensor<8192xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%e : tensor<2048x8192xf32>) outs(%acc : tensor<8192xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<8192xf32>
  %shares = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %sum : tensor<2048x8192xf32>, tensor<8192xf32>) outs(%0 : tensor<2048x8192xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %r = arith.divf %in, %s : f32
    linalg.yield %r : f32
  } -> tensor<2048x8192xf32>
  return %shares : tensor<2048x8192xf32>
}

// -----

// Of what a program hands out it has to read the lines again before it writes
// them the next time, if its tensors outgrow the caches; what somebody reads
// before that is found there.

// CHECK-LABEL: func @handed_out(
// CHECK:         row_tiling = #chimera.row_tiling<tiles = [{{.*}}], parallel = true, streamed = [0]>
// CHECK-LABEL: func @read_later(
// CHECK:         row_tiling = #chimera.row_tiling<tiles = [{{.*}}], parallel = true>
// CHECK:         tensor.extract
#id2 = affine_map<(i, j) -> (i, j)>
func.func @handed_out(%x: tensor<2304x1024xf32>, %y: tensor<2304x1024xf32>) -> tensor<2x1152x1024xf32> {
  %0 = tensor.empty() : tensor<2304x1024xf32>
  %a = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2304x1024xf32>, tensor<2304x1024xf32>) outs(%0 : tensor<2304x1024xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<2304x1024xf32>
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 1152, 1024] : tensor<2304x1024xf32> into tensor<2x1152x1024xf32>
  return %r : tensor<2x1152x1024xf32>
}
func.func @read_later(%x: tensor<2304x1024xf32>, %y: tensor<2304x1024xf32>, %i: index) -> (tensor<2304x1024xf32>, f32) {
  %0 = tensor.empty() : tensor<2304x1024xf32>
  %a = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<2304x1024xf32>, tensor<2304x1024xf32>) outs(%0 : tensor<2304x1024xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<2304x1024xf32>
  %e = tensor.extract %a[%i, %i] : tensor<2304x1024xf32>
  return %a, %e : tensor<2304x1024xf32>, f32
}

// -----

// What is reduced along columns and comes from memory is read by rows. If the
// columns of images are reduced, loops go over images and columns.

// CHECK-LABEL: func @columns(
// CHECK:         row_tiling<tiles = [2048], parallel = true, rowwise = [0 by 8]>
// ONE-LABEL:   func @columns(
// ONE:           row_tiling<tiles = [{{[0-9]+}}], rowwise = [0 by 8]>
// CHECK-LABEL: func @images(
// CHECK:         row_tiling<tiles = [1, {{[0-9]+}}], dims = [0, 2], parallel = true, {{.*}}rowwise = [0 by 8]>
#all = affine_map<(i, j, k) -> (i, j, k)>
#kept = affine_map<(i, j, k) -> (i, k)>
func.func @columns(%x: tensor<8192x8192xf32>, %s: tensor<8192xf32>) -> tensor<8192xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8192x8192xf32>) outs(%s : tensor<8192xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
}

func.func @images(%x: tensor<16x512x8192xf32>, %s: tensor<16x8192xf32>) -> tensor<16x512x8192xf32> {
  %0 = tensor.empty() : tensor<16x512x8192xf32>
  %sum = linalg.generic {indexing_maps = [#all, #kept], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<16x512x8192xf32>) outs(%s : tensor<16x8192xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<16x8192xf32>
  %1 = linalg.generic {indexing_maps = [#all, #kept, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<16x512x8192xf32>, tensor<16x8192xf32>) outs(%0 : tensor<16x512x8192xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %r = arith.divf %in, %q : f32
    linalg.yield %r : f32
  } -> tensor<16x512x8192xf32>
  return %1 : tensor<16x512x8192xf32>
}

// -----

// The last member reads the sum of this task from a cache, so it asks for what
// the first one reads in the next.

// ONE-LABEL: func @residual(
// ONE:         row_tiling<tiles = [{{[0-9]+}}], streamed = [2], late = [0 by 1], ahead = [2]>
#id2 = affine_map<(i, j) -> (i, j)>
#row2 = affine_map<(i, j) -> (i)>
func.func @residual(%x: tensor<16384x8192xf32>, %y: tensor<16384x8192xf32>, %start: tensor<16384xf32>) -> (tensor<16384x8192xf32>, tensor<16384x8192xf32>) {
  %0 = tensor.empty() : tensor<16384x8192xf32>
  %h = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<16384x8192xf32>, tensor<16384x8192xf32>) outs(%0 : tensor<16384x8192xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<16384x8192xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row2], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<16384x8192xf32>) outs(%start : tensor<16384xf32>) {
  ^bb0(%a: f32, %out: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %out, %q : f32
    linalg.yield %s : f32
  } -> tensor<16384xf32>
  %r = linalg.generic {indexing_maps = [#id2, #row2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%h, %sum : tensor<16384x8192xf32>, tensor<16384xf32>) outs(%0 : tensor<16384x8192xf32>) {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %s = arith.divf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<16384x8192xf32>
  return %h, %r : tensor<16384x8192xf32>, tensor<16384x8192xf32>
}
