// RUN: chimera-opt %s --chimera-tile --split-input-file --verify-diagnostics

// Schedules that no target was asked about, and that would make wrong code.

func.func @too_many(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: 2 parallel loops, but the order starts with 1 loops shared by all operators}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 2,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @reduction(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: level 'L1': loop 'l' is parallel, but an operator reduces over it}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : l = 4, m = 8>], parallel = 1,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

// Single elements of the left factor are broadcast: there is nothing to pack.
func.func @packed_rows(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: tensor 'in0' cannot be packed: no operator reads vectors of it, and single elements are read where they lie; take it off the list}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, packed = [0]>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

// A schedule of the chain before somebody turned it around: its tiles of 5 rows and
// of 12 columns would fit both loops.
func.func @turned(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule was made for a loop 'm' of 12 iterations, but the chain's has 20: the chain has changed since; drop the schedule and run chimera-schedule again}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 5>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, extents = [m = 12, l = 20, k = 6, n = 5]>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

// A loop that there was.
func.func @gone(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule names loop 'b', but the chain's loops are m, l, k, n}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 5>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, extents = [b = 2, m = 20]>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @ahead_of_nothing(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: operator 'gemm1' cannot start ahead: all it adds up must be in one loop that it has to itself, of two trips or more, of which masks leave out none; take it off the list}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <ahead [0, 1]>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @ahead_of_one_trip(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: operator 'gemm0' cannot start ahead}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 6>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <ahead [0]>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @unknown_operator(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: 'blocks' lists an operator that the chain does not have; it has 2}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <ahead [2]>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @no_scores(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: operator 'gemm0' has no scores of a softmax that are computed from its product alone, to be repeated; take it off the list}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <repeated [0]>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @no_exponentials(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: operator 'gemm1' has no scores of a softmax, of which 'base2' is; take it off the list}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <base2 [1]>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}

// -----

func.func @no_mask(%a: tensor<20x6xf32>, %b: tensor<6x12xf32>, %d: tensor<12x5xf32>) -> tensor<20x5xf32> {
  // expected-error @+1 {{schedule cannot run: 'blocks' folds tasks, but no parallel loop is along the rows of a mask; take 'fold' away}}
  %e = chimera.chain ins(%a, %b, %d : tensor<20x6xf32>, tensor<6x12xf32>, tensor<12x5xf32>)
      schedule(<levels = [<"L1" : m = 8, k = 2>], parallel = 0,
                registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>,
                blocks = <fold>>) {
  ^bb0(%a0: tensor<20x6xf32>, %b0: tensor<6x12xf32>, %d0: tensor<12x5xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x12xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x6xf32>, tensor<6x12xf32>) outs(%1 : tensor<20x12xf32>) -> tensor<20x12xf32>
    %3 = tensor.empty() : tensor<20x5xf32>
    %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<20x5xf32>) -> tensor<20x5xf32>
    %5 = linalg.matmul ins(%2, %d0 : tensor<20x12xf32>, tensor<12x5xf32>) outs(%4 : tensor<20x5xf32>) -> tensor<20x5xf32>
    chimera.yield %5 : tensor<20x5xf32>
  } -> tensor<20x5xf32>
  return %e : tensor<20x5xf32>
}
