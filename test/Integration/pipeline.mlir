// RUN: chimera-opt %s --chimera-pipeline=target=host | \
// RUN:   mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_runner_utils.so \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN:     --shared-libs=%llvm_lib_dir/libomp.so | FileCheck %s

// The whole pipeline, with upstream's runner: results are returned, a chain
// stands in a loop, and what lies around it is lowered too. With all ones each
// element of the chain's result is 3 * 5 + 1, summed over four rounds.

// CHECK: Unranked Memref base@ = {{.*}} rank = 2 offset = 0 sizes = [2, 3] strides = [3, 1] data =
// CHECK-NEXT{LITERAL}: [[64,   64,   64],
// CHECK-NEXT:           [64,   64,   64]]
func.func private @printMemrefF32(tensor<*xf32>)

func.func @chain(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>, %d: tensor<5x3xf32>, %bias: tensor<3xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x5xf32>) outs(%1 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %3 = tensor.empty() : tensor<2x3xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<2x5xf32>, tensor<5x3xf32>) outs(%4 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%5, %bias : tensor<2x3xf32>, tensor<3xf32>) outs(%3 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %7 = arith.addf %x, %y : f32
    linalg.yield %7 : f32
  } -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

func.func @main() {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e0 = tensor.empty() : tensor<2x3xf32>
  %a = linalg.fill ins(%one : f32) outs(%e0 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<3x5xf32>
  %b = linalg.fill ins(%one : f32) outs(%e1 : tensor<3x5xf32>) -> tensor<3x5xf32>
  %e2 = tensor.empty() : tensor<5x3xf32>
  %d = linalg.fill ins(%one : f32) outs(%e2 : tensor<5x3xf32>) -> tensor<5x3xf32>
  %e3 = tensor.empty() : tensor<3xf32>
  %bias = linalg.fill ins(%one : f32) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>
  %e4 = tensor.empty() : tensor<2x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e4 : tensor<2x3xf32>) -> tensor<2x3xf32>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %init) -> (tensor<2x3xf32>) {
    %r = func.call @chain(%a, %b, %d, %bias) : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<5x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %next = linalg.add ins(%acc, %r : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e4 : tensor<2x3xf32>) -> tensor<2x3xf32>
    scf.yield %next : tensor<2x3xf32>
  }
  %u = tensor.cast %sum : tensor<2x3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
