// RUN: chimera-opt %s --chimera-schedule=target=zen5 --split-input-file --verify-diagnostics | FileCheck %s

// A schedule written by hand is honoured if it can run, and refused with the
// reason if not.

// CHECK-LABEL: func @honoured
// CHECK:         schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1
// CHECK-SAME:    extents = [m = 64, l = 48, k = 32, n = 16], blocks = <rows <line = 64, apart = 4> prefetch <part = 104857, loops = fixed>>>)
// CHECK-SAME:    plan(<fused, "the schedule was given"
func.func @honoured(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %d: tensor<48x16xf32>) -> tensor<64x16xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<64x32xf32>, tensor<32x48xf32>, tensor<48x16xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<64x32xf32>, %b0: tensor<32x48xf32>, %d0: tensor<48x16xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<64x48xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<64x32xf32>, tensor<32x48xf32>) outs(%1 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %3 = tensor.empty() : tensor<64x16xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64x16xf32>) -> tensor<64x16xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<64x48xf32>, tensor<48x16xf32>) outs(%4 : tensor<64x16xf32>) -> tensor<64x16xf32>
    chimera.yield %5 : tensor<64x16xf32>
  } -> tensor<64x16xf32>
  return %e : tensor<64x16xf32>
}

// -----

// What it says of the blocks is not decided again.

// CHECK-LABEL: func @plain_blocks
// CHECK:         extents = [m = 64, l = 48, k = 32, n = 16], blocks = <>>)
func.func @plain_blocks(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %d: tensor<48x16xf32>) -> tensor<64x16xf32> {
  %e = chimera.chain ins(%a, %b, %d : tensor<64x32xf32>, tensor<32x48xf32>, tensor<48x16xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
                blocks = <>>) {
  ^bb0(%a0: tensor<64x32xf32>, %b0: tensor<32x48xf32>, %d0: tensor<48x16xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<64x48xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<64x32xf32>, tensor<32x48xf32>) outs(%1 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %3 = tensor.empty() : tensor<64x16xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64x16xf32>) -> tensor<64x16xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<64x48xf32>, tensor<48x16xf32>) outs(%4 : tensor<64x16xf32>) -> tensor<64x16xf32>
    chimera.yield %5 : tensor<64x16xf32>
  } -> tensor<64x16xf32>
  return %e : tensor<64x16xf32>
}

// -----

func.func @no_sums_ahead(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>, %d: tensor<48x16xf32>) -> tensor<64x16xf32> {
  // expected-error @+1 {{schedule cannot run on target 'zen5': operator 'gemm0' cannot start ahead: all it adds up must be in one loop that it has to itself, of two trips or more, of which masks leave out none; take it off the list}}
  %e = chimera.chain ins(%a, %b, %d : tensor<64x32xf32>, tensor<32x48xf32>, tensor<48x16xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>,
                blocks = <ahead [0]>>) {
  ^bb0(%a0: tensor<64x32xf32>, %b0: tensor<32x48xf32>, %d0: tensor<48x16xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<64x48xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<64x32xf32>, tensor<32x48xf32>) outs(%1 : tensor<64x48xf32>) -> tensor<64x48xf32>
    %3 = tensor.empty() : tensor<64x16xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<64x16xf32>) -> tensor<64x16xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<64x48xf32>, tensor<48x16xf32>) outs(%4 : tensor<64x16xf32>) -> tensor<64x16xf32>
    chimera.yield %5 : tensor<64x16xf32>
  } -> tensor<64x16xf32>
  return %e : tensor<64x16xf32>
}

// -----

func.func @unknown_loop(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{schedule names loop 'q', but the chain's loops are m, l, k, n}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : q = 8>], parallel = 0,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @tile_above_extent(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{schedule gives loop 'm' a tile of 4096 at level 'L1', but its extent there is 512}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 4096>], parallel = 0,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @tiles_do_not_nest(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{schedule gives loop 'm' a tile of 16 at level 'L1', but its extent there is 8}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2" : m = 8>, <"L1" : m = 16>], parallel = 0,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @unknown_level(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{L9}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L9" : m = 8>], parallel = 0,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @parallel_reduction(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{loop 'l'}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : l = 16, m = 8>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @does_not_fit(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{level 'L1': the live set of}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 256>], parallel = 0,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @too_many_registers(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{register}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 16, vectors = 4, broadcasts = 1, depth = 4>>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @packs_nothing(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{schedule packs input 7, but the chain has 3}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>, packed = [7]>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

func.func @stages_nothing(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>, %d: tensor<512x64xf32>) -> tensor<512x64xf32> {
  // expected-error @+1 {{schedule stages input 7, but the chain has 3}}
  %e = chimera.chain ins(%a, %b, %d : tensor<512x64xf32>, tensor<64x512xf32>, tensor<512x64xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 8, l = 16>], parallel = 1,
                registers = <rows = 6, vectors = 4, broadcasts = 1, depth = 4>, staged = [7]>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>, %d0: tensor<512x64xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tensor.empty() : tensor<512x64xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<512x512xf32>, tensor<512x64xf32>) outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
    chimera.yield %5 : tensor<512x64xf32>
  } -> tensor<512x64xf32>
  return %e : tensor<512x64xf32>
}

// -----

#own = #chimera.function_kernel<@own, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>>
module attributes {chimera.micro_kernels = [#own]} {
func.func @unknown_kernel(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512x512xf32> {
  // expected-error @+1 {{schedule cannot run on target 'zen5': no micro kernel is named 'other'; there are 'own'}}
  %e = chimera.chain ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1">], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 0, depth = 1, kernel = "other">>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    chimera.yield %2 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %e : tensor<512x512xf32>
}
}

// -----

#own = #chimera.function_kernel<@own, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>>
module attributes {chimera.micro_kernels = [#own]} {
func.func @other_tile(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512x512xf32> {
  // expected-error @+1 {{schedule cannot run on target 'zen5': micro kernel 'own' has a tile of 4 rows and 1 vectors, not of 6 and 1}}
  %e = chimera.chain ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>)
      schedule(<levels = [<"L3">, <"L2">, <"L1">], parallel = 0,
                registers = <rows = 6, vectors = 1, broadcasts = 0, depth = 1, kernel = "own">>) {
  ^bb0(%a0: tensor<512x64xf32>, %b0: tensor<64x512xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    chimera.yield %2 : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  return %e : tensor<512x512xf32>
}
}
