// RUN: chimera-opt %s --chimera-apply-layouts --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
// CHECK-DAG: #[[$RESULT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func @convolution(
// CHECK-SAME: %[[X:.*]]: tensor<1x8x9x9xf32>, %[[W:.*]]: tensor<16x8x3x3xf32>
// CHECK: %[[SEEN:.*]] = linalg.transpose ins(%[[X]] : {{.*}}) outs({{.*}} : tensor<1x9x9x8xf32>) permutation = [0, 2, 3, 1]
// CHECK-NOT: linalg.transpose ins(%[[X]]
// CHECK: %[[START:.*]] = linalg.fill {{.*}} -> tensor<1x4x4x16xf32>
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[W]] : {{.*}}) outs({{.*}} : tensor<3x3x8x16xf32>) permutation = [2, 3, 1, 0]
// CHECK: %[[ONCE:.*]] = chimera.prepare %[[TURNED]]
// CHECK: %[[MADE:.*]] = linalg.generic {indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #[[$RESULT]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[SEEN]], %[[ONCE]] : {{.*}}) outs(%[[START]]
// CHECK: %[[BACK:.*]] = linalg.transpose ins(%[[MADE]] : {{.*}}) outs({{.*}} : tensor<1x16x4x4xf32>) permutation = [0, 3, 1, 2]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[SEEN]] : tensor<1x9x9x8xf32>)
// CHECK: return %[[BACK]], %[[SUM]] : tensor<1x16x4x4xf32>, tensor<1x8xf32>
func.func @convolution(%x: tensor<1x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %init: tensor<1x8xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x16x4x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %2 = linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last", strides = dense<2> : vector<2xi64>}
      ins(%x, %w : tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) outs(%1 : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %3 = linalg.reduce { arith.addf } ins(%x : tensor<1x8x9x9xf32>) outs(%init : tensor<1x8xf32>) dimensions = [2, 3] {chimera.layout = "channels_last"}
  return %2, %3 : tensor<1x16x4x4xf32>, tensor<1x8xf32>
}

// -----

// Between operations with channels last nothing is transposed. Broadcasts keep
// their shape.

// CHECK-LABEL: func @between(
// CHECK-DAG: %[[A:.*]] = linalg.transpose ins(%arg0
// CHECK-DAG: %[[B:.*]] = linalg.transpose ins(%arg1
// CHECK: %[[BOTH:.*]] = tensor.concat dim(3) %[[A]], %[[B]] : (tensor<1x9x9x3xf32>, tensor<1x9x9x5xf32>) -> tensor<1x9x9x8xf32>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[BOTH]] low[0, 1, 2, 0] high[0, 3, 4, 0]
// CHECK: %[[BIASED:.*]] = linalg.generic {{.*}} ins(%[[PADDED]], %arg2 : tensor<1x13x15x8xf32>, tensor<8x1x1xf32>)
// CHECK: linalg.transpose ins(%[[BIASED]] : {{.*}}) outs({{.*}} : tensor<1x8x13x15xf32>)
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c, 0, 0)>
func.func @between(%a: tensor<1x3x9x9xf32>, %b: tensor<1x5x9x9xf32>, %bias: tensor<8x1x1xf32>) -> tensor<1x8x13x15xf32> {
  %0 = tensor.concat dim(1) %a, %b {chimera.layout = "channels_last"}
      : (tensor<1x3x9x9xf32>, tensor<1x5x9x9xf32>) -> tensor<1x8x9x9xf32>
  %1 = tensor.pad %0 low[0, 0, 1, 2] high[0, 0, 3, 4] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } {chimera.layout = "channels_last"} : tensor<1x8x9x9xf32> to tensor<1x8x13x15xf32>
  %2 = tensor.empty() : tensor<1x8x13x15xf32>
  %3 = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1, %bias : tensor<1x8x13x15xf32>, tensor<8x1x1xf32>) outs(%2 : tensor<1x8x13x15xf32>) attrs = {chimera.layout = "channels_last"} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<1x8x13x15xf32>
  return %3 : tensor<1x8x13x15xf32>
}

// -----

// Groups come last with their channels, and filters with their groups first.

// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d5, d2 + d6, d3, d7)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, d5, d6, d7, d4)>
// CHECK-DAG: #[[$RESULT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func @grouped(
// CHECK: %[[SEEN:.*]] = linalg.transpose ins(%arg0 : {{.*}}) outs({{.*}} : tensor<1x9x9x24xf32>) permutation = [0, 2, 3, 1]
// CHECK: %[[START:.*]] = linalg.fill {{.*}} -> tensor<1x7x7x3x16xf32>
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[SEEN]] {{\[\[}}0], [1], [2], [3, 4]] output_shape [1, 9, 9, 3, 8] : {{.*}} into tensor<1x9x9x3x8xf32>
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%arg1 : {{.*}}) outs({{.*}} : tensor<3x3x3x8x16xf32>) permutation = [0, 3, 4, 2, 1]
// CHECK: %[[ONCE:.*]] = chimera.prepare %[[TURNED]]
// CHECK: %[[MADE:.*]] = linalg.generic {indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #[[$RESULT]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[GROUPS]], %[[ONCE]] : {{.*}}) outs(%[[START]]
// CHECK: %[[RELU:.*]] = linalg.generic {{.*}} ins(%[[MADE]] : tensor<1x7x7x3x16xf32>)
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape %[[RELU]] {{\[\[}}0], [1], [2], [3, 4]] : {{.*}} into tensor<1x7x7x48xf32>
// CHECK: linalg.transpose ins(%[[JOINED]] : {{.*}}) outs({{.*}} : tensor<1x48x7x7xf32>) permutation = [0, 3, 1, 2]
#id = affine_map<(n, g, f, h, w) -> (n, g, f, h, w)>
func.func @grouped(%x: tensor<1x24x9x9xf32>, %w: tensor<3x16x8x3x3xf32>) -> tensor<1x48x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x3x16x7x7xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x3x16x7x7xf32>) -> tensor<1x3x16x7x7xf32>
  %2 = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 3, 8, 9, 9] {chimera.layout = "channels_last"}
      : tensor<1x24x9x9xf32> into tensor<1x3x8x9x9xf32>
  %3 = linalg.conv_2d_ngchw_gfchw {chimera.layout = "channels_last"}
      ins(%2, %w : tensor<1x3x8x9x9xf32>, tensor<3x16x8x3x3xf32>) outs(%1 : tensor<1x3x16x7x7xf32>) -> tensor<1x3x16x7x7xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%3 : tensor<1x3x16x7x7xf32>) outs(%0 : tensor<1x3x16x7x7xf32>) attrs = {chimera.layout = "channels_last"} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x3x16x7x7xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2], [3], [4]] {chimera.layout = "channels_last"}
      : tensor<1x3x16x7x7xf32> into tensor<1x48x7x7xf32>
  return %5 : tensor<1x48x7x7xf32>
}

// -----

// Without groups, five dimensions are a volume, whatever else an empty tensor
// starts. Who reads groups as a volume gets a version of its own, from where the
// groups are.

// CHECK-LABEL: func @volume(
// CHECK: %[[VOLUME:.*]] = linalg.transpose ins(%arg0 : {{.*}}) outs({{.*}} : tensor<1x5x9x9x2xf32>) permutation = [0, 2, 3, 4, 1]
// CHECK: linalg.generic {{.*}} ins(%[[VOLUME]]
// CHECK: %[[MADE:.*]] = tensor.expand_shape {{.*}} into tensor<1x9x9x2x5xf32>
// CHECK: %[[OTHER:.*]] = linalg.transpose ins(%[[MADE]] : {{.*}}) outs({{.*}} : tensor<1x5x9x9x2xf32>) permutation = [0, 4, 1, 2, 3]
// CHECK: linalg.generic {{.*}} ins(%[[MADE]] : tensor<1x9x9x2x5xf32>)
// CHECK: linalg.generic {{.*}}reduction{{.*}} ins(%[[OTHER]]
#id = affine_map<(n, c, d, h, w) -> (n, c, d, h, w)>
func.func @volume(%x: tensor<1x2x5x9x9xf32>, %y: tensor<1x10x9x9xf32>, %w: tensor<4x2x3x3x3xf32>, %init: tensor<1x4x3x7x7xf32>)
    -> (tensor<1x2x5x9x9xf32>, tensor<1x2x5x9x9xf32>, tensor<1x4x3x7x7xf32>) {
  %0 = tensor.empty() : tensor<1x2x5x9x9xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x2x5x9x9xf32>) outs(%0 : tensor<1x2x5x9x9xf32>) attrs = {chimera.layout = "channels_last"} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<1x2x5x9x9xf32>
  %2 = tensor.expand_shape %y [[0], [1, 2], [3], [4]] output_shape [1, 2, 5, 9, 9] {chimera.layout = "channels_last"}
      : tensor<1x10x9x9xf32> into tensor<1x2x5x9x9xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%2 : tensor<1x2x5x9x9xf32>) outs(%0 : tensor<1x2x5x9x9xf32>) attrs = {chimera.layout = "channels_last"} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %a : f32
    linalg.yield %m : f32
  } -> tensor<1x2x5x9x9xf32>
  %4 = linalg.conv_3d_ncdhw_fcdhw {chimera.layout = "channels_last"}
      ins(%2, %w : tensor<1x2x5x9x9xf32>, tensor<4x2x3x3x3xf32>) outs(%init : tensor<1x4x3x7x7xf32>) -> tensor<1x4x3x7x7xf32>
  return %1, %3, %4 : tensor<1x2x5x9x9xf32>, tensor<1x2x5x9x9xf32>, tensor<1x4x3x7x7xf32>
}

// -----

// A program that brings channels to the end, in two steps as exporters write it,
// gets what is there. What it transposes otherwise is transposed once.

// CHECK-LABEL: func @transposed(
// CHECK: %[[MADE:.*]] = linalg.generic
// CHECK-NOT: linalg.transpose
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[MADE]] : {{.*}}) outs({{.*}} : tensor<1x5x4x16xf32>) permutation = [0, 2, 1, 3]
// CHECK-NEXT: return %[[MADE]], %[[TURNED]]
func.func @transposed(%x: tensor<1x8x4x5xf32>, %w: tensor<16x8x1x1xf32>, %init: tensor<1x16x4x5xf32>,
                      %half: tensor<1x4x16x5xf32>, %last: tensor<1x4x5x16xf32>, %turned: tensor<1x5x4x16xf32>)
    -> (tensor<1x4x5x16xf32>, tensor<1x5x4x16xf32>) {
  %0 = linalg.conv_2d_nchw_fchw {chimera.layout = "channels_last"}
      ins(%x, %w : tensor<1x8x4x5xf32>, tensor<16x8x1x1xf32>) outs(%init : tensor<1x16x4x5xf32>) -> tensor<1x16x4x5xf32>
  %1 = linalg.transpose ins(%0 : tensor<1x16x4x5xf32>) outs(%half : tensor<1x4x16x5xf32>) permutation = [0, 2, 1, 3]
  %2 = linalg.transpose ins(%1 : tensor<1x4x16x5xf32>) outs(%last : tensor<1x4x5x16xf32>) permutation = [0, 1, 3, 2]
  %3 = linalg.transpose ins(%0 : tensor<1x16x4x5xf32>) outs(%turned : tensor<1x5x4x16xf32>) permutation = [0, 3, 2, 1]
  return %2, %3 : tensor<1x4x5x16xf32>, tensor<1x5x4x16xf32>
}

// -----

// A transpose with channels last on its one side is no operation.

// CHECK-LABEL: func @no_operation(
// CHECK-SAME:      %[[X:.*]]: tensor<1x4x5x16xf32>,
// CHECK-NOT:     linalg.transpose
// CHECK:         %[[SQUARE:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<1x4x5x16xf32>)
// CHECK-NOT:     linalg.transpose
// CHECK:         return %[[SQUARE]]
func.func @no_operation(%x: tensor<1x4x5x16xf32>, %first: tensor<1x16x4x5xf32>, %last: tensor<1x4x5x16xf32>) -> tensor<1x4x5x16xf32> {
  %0 = linalg.transpose ins(%x : tensor<1x4x5x16xf32>) outs(%first : tensor<1x16x4x5xf32>) permutation = [0, 3, 1, 2] {chimera.layout = "channels_last"}
  %1 = tensor.empty() : tensor<1x16x4x5xf32>
  %2 = linalg.square {chimera.layout = "channels_last"} ins(%0 : tensor<1x16x4x5xf32>) outs(%1 : tensor<1x16x4x5xf32>) -> tensor<1x16x4x5xf32>
  %3 = linalg.transpose ins(%2 : tensor<1x16x4x5xf32>) outs(%last : tensor<1x4x5x16xf32>) permutation = [0, 2, 3, 1] {chimera.layout = "channels_last"}
  return %3 : tensor<1x4x5x16xf32>
}

// -----

func.func @no_image(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'chimera.layout' cannot be applied: only convolutions with channels first, elementwise operations, reductions, padding, concatenations, reshapes between channels and groups of them and transposes that bring channels to the end or back have a layout, all of static tensors with one to three dimensions of space; drop the attribute}}
  %0 = linalg.matmul {chimera.layout = "as_given"} ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @splits_space(%x: tensor<1x8x4x9xf32>) -> tensor<1x8x2x2x9xf32> {
  // expected-error @below {{'chimera.layout' cannot be applied}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3], [4]] output_shape [1, 8, 2, 2, 9] {chimera.layout = "channels_last"}
      : tensor<1x8x4x9xf32> into tensor<1x8x2x2x9xf32>
  return %0 : tensor<1x8x2x2x9xf32>
}

// -----

// Groups of channels without space.

func.func @no_space(%x: tensor<1x8x9xf32>, %y: tensor<4x2x9xf32>) -> tensor<4x2x9xf32> {
  %0 = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [1, 4, 2, 9] {chimera.layout = "channels_last"}
      : tensor<1x8x9xf32> into tensor<1x4x2x9xf32>
  // expected-error @below {{'chimera.layout' cannot be applied}}
  %1 = tensor.collapse_shape %0 [[0, 1], [2], [3]] {chimera.layout = "channels_last"} : tensor<1x4x2x9xf32> into tensor<4x2x9xf32>
  return %1 : tensor<4x2x9xf32>
}
