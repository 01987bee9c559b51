// RUN: chimera-opt %s --chimera-form-chains=print-problem -o /dev/null 2>&1 | FileCheck %s
// RUN: %if avx2 %{ chimera-run %s '--entry=*' --threads=1 --fuse=always | FileCheck %s --check-prefix=RUNS %}

// Elementwise operations of a chain may read numbers of any type.

// RUNS:      passed indices
// RUNS-NEXT: passed bytes

// An index takes eight bytes.

// CHECK: input in2 [48] of 8 bytes
// CHECK: input in2 [48] of 1 bytes

#full = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @indices(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %c: tensor<48xindex>, %d: tensor<48x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %mid = tensor.empty() : tensor<64x48xf32>
  %out = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%mid : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %2 = linalg.generic {indexing_maps = [#full, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%1, %c : tensor<64x48xf32>, tensor<48xindex>) outs(%mid : tensor<64x48xf32>) {
  ^bb0(%x: f32, %n: index, %old: f32):
    %i = arith.index_cast %n : index to i32
    %f = arith.sitofp %i : i32 to f32
    %y = arith.addf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<64x48xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%out : tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = linalg.matmul ins(%2, %d : tensor<64x48xf32>, tensor<48x32xf32>) outs(%3 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %4 : tensor<64x32xf32>
}

func.func @bytes(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %c: tensor<48xi8>, %d: tensor<48x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %mid = tensor.empty() : tensor<64x48xf32>
  %out = tensor.empty() : tensor<64x32xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%mid : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x48xf32>) outs(%0 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %2 = linalg.generic {indexing_maps = [#full, #column, #full], iterator_types = ["parallel", "parallel"]} ins(%1, %c : tensor<64x48xf32>, tensor<48xi8>) outs(%mid : tensor<64x48xf32>) {
  ^bb0(%x: f32, %n: i8, %old: f32):
    %f = arith.sitofp %n : i8 to f32
    %y = arith.addf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<64x48xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%out : tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = linalg.matmul ins(%2, %d : tensor<64x48xf32>, tensor<48x32xf32>) outs(%3 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %4 : tensor<64x32xf32>
}
