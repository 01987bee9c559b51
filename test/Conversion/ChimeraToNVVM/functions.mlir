// Functions and quotients have small relative errors everywhere: exponentials of
// differences of large numbers, quotients by the largest numbers, results near zero.
// A division that allows it is the fast one.
//
// RUN: chimera-opt %s --chimera-nvidia-pipeline="target=h200 format=isa manifest=%t.json" -o %t.mlir
// RUN: %python %S/functions.py %t.mlir %t.json | FileCheck %s
// RUN: sed 's/divf %lhs, %rhs/divf %lhs, %rhs fastmath<afn>/' %s | chimera-opt --chimera-nvidia-pipeline="target=h200 format=isa" | FileCheck %s --check-prefix=AFN

// CHECK: difference passed
// CHECK: quotient passed
// CHECK: tanh passed
// CHECK: erf passed
// CHECK-NOT: {{.}}

// AFN-LABEL: gpu.binary @quotient
// AFN-NOT:   div.full
// AFN:       div.approx.f32
#id = affine_map<(i, j) -> (i, j)>
func.func @difference(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = chimera.chain ins(%x, %w, %a, %b : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 8>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<16x16xf16>, %w0: tensor<16x16xf16>, %a0: tensor<16x16xf32>, %b0: tensor<16x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<16x16xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%c1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c, %a0, %b0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) outs(%c0 : tensor<16x16xf32>) {
    ^bb0(%in: f32, %lhs: f32, %rhs: f32, %out: f32):
      %d = arith.subf %lhs, %rhs : f32
      %f = math.exp %d : f32
      %s = arith.addf %in, %f : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    chimera.yield %e : tensor<16x16xf32>
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

func.func @quotient(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = chimera.chain ins(%x, %w, %a, %b : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 8>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<16x16xf16>, %w0: tensor<16x16xf16>, %a0: tensor<16x16xf32>, %b0: tensor<16x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<16x16xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%c1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c, %a0, %b0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) outs(%c0 : tensor<16x16xf32>) {
    ^bb0(%in: f32, %lhs: f32, %rhs: f32, %out: f32):
      %f = arith.divf %lhs, %rhs : f32
      %s = arith.addf %in, %f : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    chimera.yield %e : tensor<16x16xf32>
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

func.func @tanh(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = chimera.chain ins(%x, %w, %a, %b : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 8>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<16x16xf16>, %w0: tensor<16x16xf16>, %a0: tensor<16x16xf32>, %b0: tensor<16x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<16x16xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%c1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c, %a0, %b0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) outs(%c0 : tensor<16x16xf32>) {
    ^bb0(%in: f32, %lhs: f32, %rhs: f32, %out: f32):
      %d = arith.addf %lhs, %rhs : f32
      %f = math.tanh %d : f32
      %s = arith.addf %in, %f : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    chimera.yield %e : tensor<16x16xf32>
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

func.func @erf(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = chimera.chain ins(%x, %w, %a, %b : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 8>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<16x16xf16>, %w0: tensor<16x16xf16>, %a0: tensor<16x16xf32>, %b0: tensor<16x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<16x16xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<16x16xf16>, tensor<16x16xf16>) outs(%c1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %e = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c, %a0, %b0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) outs(%c0 : tensor<16x16xf32>) {
    ^bb0(%in: f32, %lhs: f32, %rhs: f32, %out: f32):
      %d = arith.addf %lhs, %rhs : f32
      %f = math.erf %d : f32
      %s = arith.addf %in, %f : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    chimera.yield %e : tensor<16x16xf32>
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
