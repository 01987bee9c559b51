// RUN: chimera-opt %s --chimera-fold-normalization --canonicalize --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-fold-normalization --split-input-file --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

// Batch normalisation as exporters spell it: each step an operation, and numbers
// of channels in tensors with unit dimensions.

// CHECK-LABEL: func @normalized(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xf32>, %[[W:.*]]: tensor<16x3x3x3xf32>
// CHECK: %[[CENTRED:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK: %[[LINE:.*]]:2 = linalg.generic {{.*}} ins(%[[CENTRED]]#0, %[[CENTRED]]#1, %{{.*}} : tensor<16xf32>, tensor<16xf32>, tensor<16x1x1xf32>)
// CHECK:   arith.mulf
// CHECK:   arith.mulf
// CHECK: %[[SHIFTED:.*]]:2 = linalg.generic {{.*}} ins(%[[LINE]]#0, %[[LINE]]#1, %{{.*}} : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[W]], %[[SHIFTED]]#0 : tensor<16x3x3x3xf32>, tensor<16xf32>)
// CHECK: %[[FILTER:.*]] = chimera.prepare %[[SCALED]]
// CHECK: %[[CONV:.*]] = linalg.conv_2d_nchw_fchw ins(%[[X]], %[[FILTER]] :
// CHECK: %[[SUMMANDS:.*]] = chimera.prepare %[[SHIFTED]]#1
// CHECK: linalg.generic {{.*}} ins(%[[CONV]], %[[SUMMANDS]] : tensor<1x16x6x6xf32>, tensor<16xf32>)
// CHECK:   arith.addf
// CHECK: arith.maximumf
// REMARK: remark: {{.*}}the filter is scaled by channels, instead of 3 operations on the result
#all = affine_map<(n, f, h, w) -> (n, f, h, w)>
#channel = affine_map<(n, f, h, w) -> (f)>
#unit = affine_map<(n, f, h, w) -> (f, 0, 0)>
func.func @normalized(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x3x3xf32> {chimera.constant}, %mean: tensor<16xf32> {chimera.constant},
                      %scale: tensor<16x1x1xf32> {chimera.constant}, %shift: tensor<16xf32> {chimera.constant}) -> tensor<1x16x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x6x6xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) outs(%s : tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %1 = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %mean : tensor<1x16x6x6xf32>, tensor<16xf32>) outs(%e : tensor<1x16x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x16x6x6xf32>
  %2 = linalg.generic {indexing_maps = [#all, #unit, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1, %scale : tensor<1x16x6x6xf32>, tensor<16x1x1xf32>) outs(%e : tensor<1x16x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x16x6x6xf32>
  %3 = linalg.generic {indexing_maps = [#channel, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%shift, %2 : tensor<16xf32>, tensor<1x16x6x6xf32>) outs(%e : tensor<1x16x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x16x6x6xf32>
  %4 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%3 : tensor<1x16x6x6xf32>) outs(%e : tensor<1x16x6x6xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<1x16x6x6xf32>
  return %4 : tensor<1x16x6x6xf32>
}

// -----

// All steps in one body, with a root; a difference from a number; division. The
// product's other factor is the filter.

// CHECK-LABEL: func @one_body(
// CHECK-SAME: %[[W:.*]]: tensor<8x16xf32> {chimera.constant}, %[[X:.*]]: tensor<16x32xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK:   %[[ROOT:.*]] = math.sqrt
// CHECK:   arith.divf %{{.*}}, %[[ROOT]]
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[W]], %{{.*}} : tensor<8x16xf32>, tensor<8xf32>)
// CHECK: %[[FILTER:.*]] = chimera.prepare %[[SCALED]]
// CHECK: linalg.matmul ins(%[[FILTER]], %[[X]] :
// REMARK: remark: {{.*}}instead of 1 operations
#all = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @one_body(%w: tensor<8x16xf32> {chimera.constant}, %x: tensor<16x32xf32>, %mean: tensor<8xf32> {chimera.constant},
                    %variance: tensor<8xf32> {chimera.constant}) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul ins(%w, %x : tensor<8x16xf32>, tensor<16x32xf32>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %mean, %variance : tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %old: f32):
    %d = arith.subf %b, %a : f32
    %root = math.sqrt %c : f32
    %r = arith.divf %d, %root : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// Groups of channels that are merged before they are scaled.

// CHECK-LABEL: func @groups(
// CHECK: %[[FACTORS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[FACTORS]] : tensor<2x4x3x1xf32>, tensor<2x4xf32>)
// CHECK: %[[CONV:.*]] = linalg.generic {{.*}} "reduction", "reduction"]
// CHECK: %[[MERGED:.*]] = tensor.collapse_shape %[[CONV]]
// CHECK: return %[[MERGED]]
// REMARK: remark: {{.*}}instead of 1 operations
#all = affine_map<(n, f, w) -> (n, f, w)>
#channel = affine_map<(n, f, w) -> (f)>
func.func @groups(%x: tensor<1x2x3x8xf32>, %w: tensor<2x4x3x1xf32> {chimera.constant}, %scale: tensor<8xf32> {chimera.constant}) -> tensor<1x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x4x8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(n, g, f, w, c, s) -> (n, g, c, w + s)>, affine_map<(n, g, f, w, c, s) -> (g, f, c, s)>,
                                        affine_map<(n, g, f, w, c, s) -> (n, g, f, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x2x3x8xf32>, tensor<2x4x3x1xf32>) outs(%s : tensor<1x2x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %sum, %p : f32
    linalg.yield %r : f32
  } -> tensor<1x2x4x8xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3]] : tensor<1x2x4x8xf32> into tensor<1x8x8xf32>
  %f = tensor.empty() : tensor<1x8x8xf32>
  %2 = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %scale : tensor<1x8x8xf32>, tensor<8xf32>) outs(%f : tensor<1x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1x8x8xf32>
  return %2 : tensor<1x8x8xf32>
}

// -----

// Left alone: a filter that is no constant; factors along a dimension that the
// filter does not have; a result that others read; a bias alone.

// CHECK-LABEL: func @no_constant(
// CHECK-NOT: chimera.prepare
// CHECK-LABEL: func @pixels(
// CHECK-NOT: chimera.prepare
// CHECK-LABEL: func @read_twice(
// CHECK-NOT: chimera.prepare
// CHECK-LABEL: func @bias(
// CHECK-NOT: chimera.prepare
#all = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#column = affine_map<(m, n) -> (n)>
func.func @no_constant(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %scale: tensor<32xf32> {chimera.constant}) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %scale : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

func.func @pixels(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {chimera.constant}, %scale: tensor<8xf32> {chimera.constant}) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %scale : tensor<8x32xf32>, tensor<8xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

func.func @read_twice(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {chimera.constant}, %scale: tensor<32xf32> {chimera.constant}) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %scale : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %0, %1 : tensor<8x32xf32>, tensor<8x32xf32>
}

func.func @bias(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {chimera.constant}, %b: tensor<32xf32> {chimera.constant}) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x32xf32>) outs(%s : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %b : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%p: f32, %q: f32, %old: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// Rows of an unknown number.

// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[X:.*]]: tensor<?x3xf32>
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: %[[SUMMANDS:.*]] = chimera.prepare
// CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %[[SUMMANDS]] : tensor<?x16xf32>, tensor<16xf32>) outs(%[[EMPTY]] :
// REMARK: remark: {{.*}}the filter is scaled by channels, instead of 2 operations on the result
#all = affine_map<(m, n) -> (m, n)>
#channel = affine_map<(m, n) -> (n)>
func.func @rows(%x: tensor<?x3xf32>, %w: tensor<3x16xf32> {chimera.constant}, %scale: tensor<16xf32> {chimera.constant},
                %shift: tensor<16xf32> {chimera.constant}, %m: index) -> tensor<?x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x16xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x3xf32>, tensor<3x16xf32>) outs(%s : tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %scale : tensor<?x16xf32>, tensor<16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x16xf32>
  %2 = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel"]}
      ins(%1, %shift : tensor<?x16xf32>, tensor<16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}
