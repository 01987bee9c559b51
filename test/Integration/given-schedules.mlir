// Schedules written by hand: a producer that is computed again in every part of
// the consumer's columns, operators that part and have tiles of their own, and
// inputs that are staged, where neither tiles nor panels divide anything.

// RUN: chimera-run %s --entry=recompute --no-time --json=- | FileCheck %s
// RUN: chimera-run %s --entry=part --no-time --json=- | FileCheck %s
// RUN: chimera-run %s --entry=stage --no-time --json=- | FileCheck %s

// CHECK: "reason": "the schedule was given",
// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

func.func @recompute(%a: tensor<100x40xf32>, %b: tensor<40x90xf32>, %d: tensor<90x70xf32>) -> tensor<100x70xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<100x40xf32>, tensor<40x90xf32>, tensor<90x70xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 24, n = 32 around [0, 1], l = 16>], parallel = 1,
                registers = <rows = 3, vectors = 3, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<100x40xf32>, %b0: tensor<40x90xf32>, %d0: tensor<90x70xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<100x90xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<100x90xf32>) -> tensor<100x90xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<100x40xf32>, tensor<40x90xf32>) outs(%1 : tensor<100x90xf32>) -> tensor<100x90xf32>
    %3 = tensor.empty() : tensor<100x70xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<100x70xf32>) -> tensor<100x70xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<100x90xf32>, tensor<90x70xf32>) outs(%4 : tensor<100x70xf32>) -> tensor<100x70xf32>
    chimera.yield %5 : tensor<100x70xf32>
  } -> tensor<100x70xf32>
  return %e : tensor<100x70xf32>
}

func.func @part(%a: tensor<100x40xf32>, %b: tensor<40x90xf32>, %d: tensor<90x70xf32>) -> tensor<100x70xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<100x40xf32>, tensor<40x90xf32>, tensor<90x70xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 24, l = 40 around [0], k = 8, l = 16 around [1], n = 32>], parallel = 1,
                registers = <rows = 3, vectors = 3, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<100x40xf32>, %b0: tensor<40x90xf32>, %d0: tensor<90x70xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<100x90xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<100x90xf32>) -> tensor<100x90xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<100x40xf32>, tensor<40x90xf32>) outs(%1 : tensor<100x90xf32>) -> tensor<100x90xf32>
    %3 = tensor.empty() : tensor<100x70xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<100x70xf32>) -> tensor<100x70xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<100x90xf32>, tensor<90x70xf32>) outs(%4 : tensor<100x70xf32>) -> tensor<100x70xf32>
    chimera.yield %5 : tensor<100x70xf32>
  } -> tensor<100x70xf32>
  return %e : tensor<100x70xf32>
}

func.func @stage(%a: tensor<3x100x40xf32>, %b: tensor<3x40x90xf32>, %d: tensor<3x90x70xf32>) -> tensor<3x100x70xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<3x100x40xf32>, tensor<3x40x90xf32>, tensor<3x90x70xf32>)
      schedule(<levels = [<"L3" : b = 1>, <"L2" : k = 24, m = 64, l = 50 around [1]>, <"L1" : l = 36 around [0], m = 11, k = 7, n = 24, l = 20 around [1]>], parallel = 1,
                registers = <rows = 3, vectors = 3, broadcasts = 1, depth = 4>, staged = [0, 1, 2]>) {
  ^bb0(%a0: tensor<3x100x40xf32>, %b0: tensor<3x40x90xf32>, %d0: tensor<3x90x70xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<3x100x90xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x100x90xf32>) -> tensor<3x100x90xf32>
    %2 = linalg.batch_matmul ins(%a0, %b0 : tensor<3x100x40xf32>, tensor<3x40x90xf32>) outs(%1 : tensor<3x100x90xf32>) -> tensor<3x100x90xf32>
    %3 = tensor.empty() : tensor<3x100x70xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3x100x70xf32>) -> tensor<3x100x70xf32>
    %5 = linalg.batch_matmul ins(%2, %d0 : tensor<3x100x90xf32>, tensor<3x90x70xf32>) outs(%4 : tensor<3x100x70xf32>) -> tensor<3x100x70xf32>
    chimera.yield %5 : tensor<3x100x70xf32>
  } -> tensor<3x100x70xf32>
  return %e : tensor<3x100x70xf32>
}
