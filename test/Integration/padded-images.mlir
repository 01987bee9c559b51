// Images with padding that are computed one after the other have the same shape,
// border and start; each is computed in its place all the same, and read there.
// The last one has no border, and goes straight to where the caller wants it.
//
// RUN: chimera-opt %s --chimera-x86-pipeline="target=zen5 threads=1 out-params" \
// RUN:   --mlir-print-ir-before=chimera-split-copies -o /dev/null 2>&1 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     memref.copy
// CHECK:         memref.collapse_shape %arg5
// CHECK-NOT:     memref.copy

#m = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @main(%x0: tensor<1x16x14x14xf32>,
                %w0: tensor<16x16x3x3xf32>,
                %w1: tensor<16x16x3x3xf32>,
                %w2: tensor<16x16x3x3xf32>,
                %w3: tensor<16x16x3x3xf32>)
    -> tensor<1x16x14x14xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x14x14xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %p0 = tensor.pad %x0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<1x16x14x14xf32> to tensor<1x16x16x16xf32>
  %c0 = linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%p0, %w0 : tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %r0 = linalg.generic {
      indexing_maps = [#m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c0 : tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %z : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  %q0 = tensor.pad %r0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<1x16x14x14xf32> to tensor<1x16x16x16xf32>
  %d0 = linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%q0, %w1 : tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %s0 = linalg.generic {
      indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%d0, %x0 : tensor<1x16x14x14xf32>, tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %c: f32, %b: f32):
    %m = arith.addf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  %t0 = linalg.generic {
      indexing_maps = [#m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s0 : tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %z : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  %p1 = tensor.pad %t0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<1x16x14x14xf32> to tensor<1x16x16x16xf32>
  %c1 = linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%p1, %w2 : tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %r1 = linalg.generic {
      indexing_maps = [#m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c1 : tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %z : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  %q1 = tensor.pad %r1 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<1x16x14x14xf32> to tensor<1x16x16x16xf32>
  %d1 = linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%q1, %w3 : tensor<1x16x16x16xf32>, tensor<16x16x3x3xf32>)
      outs(%f : tensor<1x16x14x14xf32>) -> tensor<1x16x14x14xf32>
  %s1 = linalg.generic {
      indexing_maps = [#m, #m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%d1, %t0 : tensor<1x16x14x14xf32>, tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %c: f32, %b: f32):
    %m = arith.addf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  %t1 = linalg.generic {
      indexing_maps = [#m, #m],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s1 : tensor<1x16x14x14xf32>)
      outs(%e : tensor<1x16x14x14xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %z : f32
    linalg.yield %m : f32
  } -> tensor<1x16x14x14xf32>
  return %t1 : tensor<1x16x14x14xf32>
}
