// A kernel gets a name that nothing else in the module has, and what others call
// stays what it is.
//
// RUN: chimera-opt %s --chimera-ascend-pipeline="target=ascend910 required=false" | FileCheck %s

// CHECK-DAG: emitc.func @f_kernel_0(
// CHECK-DAG: func.func private @f_kernel()
// CHECK-DAG: func.func @called(
// CHECK-DAG: call @called(
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x80xf32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}
func.func private @f_kernel()
func.func @called(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %r0 = tensor.empty() : tensor<64x80xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x80xf32>) outs(%r0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}
func.func @calls(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>) -> tensor<64x80xf16> {
  %r = func.call @called(%x, %w) : (tensor<64x48xf16>, tensor<48x80xf16>) -> tensor<64x80xf16>
  return %r : tensor<64x80xf16>
}
