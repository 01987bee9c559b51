// Products of bytes that there is no code for.
//
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend910b fuse=always required=false" --remarks-filter=chimera -o %t 2> %t.remarks
// RUN: FileCheck %s < %t.remarks
// RUN: FileCheck %s --check-prefix=LEFT < %t
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend910 required=false" --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLDER
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend310p required=false" --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLDER

// OLDER-COUNT-3: no kernel for an Ascend core: bytes are multiplied, which this core has no load for that transposes them, nor a documented way for their sums out of L0C

// CHECK: no kernel for an Ascend core: bytes without a sign are multiplied, which no page says that the cube unit of an ascend910b does
// LEFT: func.func @without_sign
func.func @without_sign(%x: tensor<64x48xi8>, %w: tensor<48x80xi8>) -> tensor<64x80xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x80xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<64x80xi32>) -> tensor<64x80xi32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x48xi8>, tensor<48x80xi8>) outs(%z : tensor<64x80xi32>) {
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %0 = arith.extui %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %sum, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<64x80xi32>
  return %p : tensor<64x80xi32>
}

// -----

// CHECK: no kernel for an Ascend core: sums of bytes are worked on as integers; turn them into f32 first
// LEFT: func.func @as_integers
func.func @as_integers(%x: tensor<64x48xi8>, %w: tensor<48x80xi8>) -> tensor<64x80xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %e = tensor.empty() : tensor<64x80xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<64x80xi32>) -> tensor<64x80xi32>
  %p = linalg.matmul ins(%x, %w : tensor<64x48xi8>, tensor<48x80xi8>)
      outs(%z : tensor<64x80xi32>) -> tensor<64x80xi32>
  %o = tensor.empty() : tensor<64x80xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<64x80xi32>) outs(%o : tensor<64x80xf32>) {
  ^bb0(%in: i32, %out: f32):
    %0 = arith.addi %in, %one : i32
    %1 = arith.sitofp %0 : i32 to f32
    linalg.yield %1 : f32
  } -> tensor<64x80xf32>
  return %y : tensor<64x80xf32>
}

// -----

// CHECK: no kernel for an Ascend core: an elementwise operation makes integers of floats and computes with them; do it in f32
// LEFT: func.func @other_integers
func.func @other_integers(%x: tensor<64x48xi8>, %w: tensor<48x80xi8>) -> tensor<64x80xi8> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i8
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<64x80xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<64x80xi32>) -> tensor<64x80xi32>
  %p = linalg.matmul ins(%x, %w : tensor<64x48xi8>, tensor<48x80xi8>)
      outs(%z : tensor<64x80xi32>) -> tensor<64x80xi32>
  %o = tensor.empty() : tensor<64x80xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<64x80xi32>) outs(%o : tensor<64x80xi8>) {
  ^bb0(%in: i32, %out: i8):
    %0 = arith.sitofp %in : i32 to f32
    %1 = arith.mulf %0, %half : f32
    %2 = arith.fptosi %1 : f32 to i8
    %3 = arith.addi %2, %one : i8
    linalg.yield %3 : i8
  } -> tensor<64x80xi8>
  return %y : tensor<64x80xi8>
}
