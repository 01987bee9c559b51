// Constants of the program are cut like weights that are arguments. For one
// process they become its part; a program for any of them takes its slice where
// it stands, once.
//
// RUN: chimera-opt %s --split-input-file --chimera-shard='target=zen5 processes=2 split=always process=1' | FileCheck %s
// RUN: chimera-opt %s --split-input-file --chimera-shard='target=zen5 processes=2 split=always' | FileCheck %s --check-prefix=ANY
// RUN: chimera-opt %s --split-input-file --chimera-shard='target=zen5 processes=2 split=always' \
// RUN:   | chimera-opt --split-input-file --chimera-pipeline='target=zen5 threads=1' | FileCheck %s --check-prefix=CODE
// RUN: not chimera-opt %s --split-input-file --chimera-shard='target=zen5 processes=2 process=2' 2>&1 | FileCheck %s --check-prefix=TWO

// TWO: error: 'process' is 2, but 'processes' is 2, and they are counted from 0

// CHECK-LABEL: func @rows(
// CHECK-DAG: arith.constant dense<{{\[\[}}5.000000e+00, 6.000000e+00], [7.000000e+00, 8.000000e+00{{\]\]}}> : tensor<2x2xf32>
// CHECK-NOT: extract_slice %cst
// CHECK: chimera.all_reduce

// ANY-LABEL: func @rows(
// ANY: %[[WHOLE:.*]] = arith.constant {{.*}} : tensor<4x2xf32>
// ANY: %[[INDEX:.*]] = chimera.process_index along 0
// ANY: %[[OFFSET:.*]] = arith.muli %[[INDEX]]
// ANY: tensor.extract_slice %[[WHOLE]][%[[OFFSET]], 0] [2, 2] [1, 1]

// CODE-LABEL: llvm.func @rows(
// CODE: llvm.call @chimera_check_grid
// CODE: llvm.call @chimera_process_index
// CODE: llvm.call @chimera_all_reduce
func.func @rows(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x2xf32>) outs(%f : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// Columns of what lies beside the program, as somebody has annotated it.

// CHECK-LABEL: func @columns(
// CHECK-DAG: arith.constant dense_resource<weights_1> : tensor<2x2xf32>
// CHECK: weights_1: "0x4000000000004040000080400000E04000000041"

// ANY-LABEL: func @columns(
// ANY: tensor.extract_slice {{.*}}[0, %{{.*}}] [2, 2] [1, 1] : tensor<2x4xf32> to tensor<2x2xf32>
shard.grid @grid(shape = 2)
func.func @columns(%x: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %second = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %w = arith.constant dense_resource<weights> : tensor<2x4xf32>
  %w0 = shard.shard %w to %second : tensor<2x4xf32>
  %e = tensor.empty() : tensor<3x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = linalg.matmul ins(%x, %w0 : tensor<3x2xf32>, tensor<2x4xf32>) outs(%f : tensor<3x4xf32>) -> tensor<3x4xf32>
  %y0 = shard.shard %y to %second : tensor<3x4xf32>
  return %y0 : tensor<3x4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F0000004000004040000080400000A0400000C0400000E04000000041"
    }
  }
#-}
