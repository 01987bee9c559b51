// What the verifiers of the operations say.
//
// RUN: chimera-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

func.func @too_few_arguments(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op has 1 operands but its body takes 0 arguments}}
  %0 = chimera.chain ins(%c : tensor<8x8xf32>) {
    %1 = arith.constant dense<1.0> : tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @type_of_argument(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op operand #0 has type 'tensor<8x8xf32>' but the argument of the body has type 'tensor<?x8xf32>'}}
  %0 = chimera.chain ins(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<?x8xf32>):
    chimera.yield %c0 : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return
}

// -----

func.func @type_of_yield(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op must yield ('tensor<8x8xf32>') but yields ('tensor<8x8xf32>', 'tensor<8x8xf32>')}}
  %0 = chimera.chain ins(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    chimera.yield %c0, %c0 : tensor<8x8xf32>, tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @wrong_terminator(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op expects regions to end with 'chimera.yield', found 'llvm.unreachable'}}
  // expected-note @below {{the absence of terminator implies 'chimera.yield'}}
  %0 = "chimera.chain"(%c) ({
  ^bb0(%c0: tensor<8x8xf32>):
    llvm.unreachable
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @empty_block(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op expects a non-empty block}}
  %0 = "chimera.chain"(%c) ({
  ^bb0(%c0: tensor<8x8xf32>):
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @no_block(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %0 = "chimera.chain"(%c) ({}) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @yield_elsewhere(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.yield' op expects parent op to be one of 'chimera.chain, chimera.block, chimera.micro_kernel'}}
  chimera.yield %c : tensor<8x8xf32>
}

// -----

func.func @value_from_outside(%c: tensor<8x8xf32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = chimera.chain {
    // expected-error @below {{using value defined outside the region}}
    %1 = linalg.matmul ins(%c, %c : tensor<8x8xf32>, tensor<8x8xf32>)
        outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

// What is wrong inside is said before anything relies on it.
func.func @invalid_inside(%c: tensor<8x8xf32>) {
  %0 = "chimera.chain"(%c) ({
  ^bb0(%c0: tensor<8x8xf32>):
    // expected-error @below {{'linalg.generic' op}}
    %1 = "linalg.generic"(%c0) <{indexing_maps = [], iterator_types = [],
        operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%x: f32):
      linalg.yield %x : f32
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// chimera.chain
//===----------------------------------------------------------------------===//

func.func @chain_without_result(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op must have a result}}
  "chimera.chain"(%c) ({
  ^bb0(%c0: tensor<8x8xf32>):
    chimera.yield
  }) : (tensor<8x8xf32>) -> ()
  return
}

// -----

func.func @chain_on_memrefs(%c: tensor<8x8xf32>, %m: memref<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op works on tensors, but 'linalg.matmul' in its body does not}}
  %0 = chimera.chain ins(%c, %m : tensor<8x8xf32>, memref<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>, %m0: memref<8x8xf32>):
    linalg.matmul ins(%m0, %m0 : memref<8x8xf32>, memref<8x8xf32>)
        outs(%m0 : memref<8x8xf32>)
    chimera.yield %c0 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @chain_with_side_effect(%c: tensor<8x8xf32>, %m: memref<f32>) {
  // expected-error @below {{'chimera.chain' op cannot hold 'memref.load'; allowed are linalg operations, padding and pure operations without regions}}
  %0 = chimera.chain ins(%c, %m : tensor<8x8xf32>, memref<f32>) {
  ^bb0(%c0: tensor<8x8xf32>, %m0: memref<f32>):
    %1 = memref.load %m0[] : memref<f32>
    chimera.yield %c0 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @chain_with_region(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op cannot hold 'tensor.generate'; allowed are linalg operations, padding and pure operations without regions}}
  %0 = chimera.chain ins(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    %1 = tensor.generate {
    ^bb1(%i: index, %j: index):
      %2 = arith.constant 0.0 : f32
      tensor.yield %2 : f32
    } : tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @chain_without_contraction(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.chain' op must hold at least one operation with a reduction}}
  %0 = chimera.chain ins(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    %1 = linalg.exp ins(%c0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// chimera.block
//===----------------------------------------------------------------------===//

func.func @block_arguments(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op has 2 operands but its body takes 1 arguments}}
  %0 = chimera.block "exp" ins(%a : tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    chimera.yield %c0 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @block_yields_nothing(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op must yield ('tensor<8x8xf32>') but yields ()}}
  %0 = chimera.block "exp" outs(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    chimera.yield
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @block_result_type(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op expected type of operand #0 ('tensor<8x8xf32>') to match type of corresponding result ('tensor<?x8xf32>')}}
  %0 = chimera.block "exp" outs(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    %1 = tensor.cast %c0 : tensor<8x8xf32> to tensor<?x8xf32>
    chimera.yield %1 : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return
}

// -----

func.func @block_without_operation(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op must yield the result of a linalg operation in its body}}
  %0 = chimera.block "exp" outs(%c : tensor<8x8xf32>) {
  ^bb0(%c0: tensor<8x8xf32>):
    chimera.yield %c0 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @block_with_side_effect(%m: memref<f32>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op cannot hold 'memref.load', which has side effects}}
  %0 = chimera.block "exp" ins(%m : memref<f32>) outs(%c : tensor<8x8xf32>) {
  ^bb0(%m0: memref<f32>, %c0: tensor<8x8xf32>):
    %1 = memref.load %m0[] : memref<f32>
    %2 = linalg.exp ins(%c0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %2 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @block_packed(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op 'packed' names an input that does not exist; there are 1}}
  %0 = chimera.block "exp" ins(%a : tensor<8x8xf32>) outs(%c : tensor<8x8xf32>)
      packed [1] {
  ^bb0(%a0: tensor<8x8xf32>, %c0: tensor<8x8xf32>):
    %1 = linalg.exp ins(%a0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @block_taps(%a: tensor<8x8xf32>, %c: tensor<8xf32>) {
  // expected-error @below {{'chimera.block' op 'taps' must name a parallel dimension as 'pixel' and a reduction as 'tap'}}
  %0 = chimera.block "sum" ins(%a : tensor<8x8xf32>) outs(%c : tensor<8xf32>)
      taps <pixel = 1, tap = 0, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8> {
  ^bb0(%a0: tensor<8x8xf32>, %c0: tensor<8xf32>):
    %1 = linalg.reduce { arith.addf } ins(%a0 : tensor<8x8xf32>) outs(%c0 : tensor<8xf32>) dimensions = [1]
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return
}

// -----

func.func @kernel_taps(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'taps' names a dimension that does not exist; there are 3}}
  chimera.micro_kernel contraction ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      taps <pixel = 0, tap = 3, pixel_factor = 1, tap_factor = 1, begin = 1, end = 8> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

func.func @block_packed_negative(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op 'packed' names an input that does not exist; there are 1}}
  %0 = chimera.block "exp" ins(%a : tensor<8x8xf32>) outs(%c : tensor<8x8xf32>)
      packed [-1] {
  ^bb0(%a0: tensor<8x8xf32>, %c0: tensor<8x8xf32>):
    %1 = linalg.exp ins(%a0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @extents_count(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op 'extents' must list 2 dimensions, got 1}}
  %0 = chimera.block "exp" outs(%c : tensor<8x8xf32>) extents [[8]] {
  ^bb0(%c0: tensor<8x8xf32>):
    %1 = linalg.exp ins(%c0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @extents_not_an_array(%c: tensor<8x8xf32>) {
  // expected-error @below {{'chimera.block' op 'extents' must hold a list of positive integers for each dimension, after which a 0 may stand for any others, got 8 : i64}}
  %0 = chimera.block "exp" outs(%c : tensor<8x8xf32>) extents [[8], 8] {
  ^bb0(%c0: tensor<8x8xf32>):
    %1 = linalg.exp ins(%c0 : tensor<8x8xf32>) outs(%c0 : tensor<8x8xf32>)
        -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return
}

// -----

func.func @extents_empty(%c: memref<8x8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'extents' must hold a list of positive integers for each dimension, after which a 0 may stand for any others, got []}}
  chimera.micro_kernel elementwise outs(%c : memref<8x8xf32>)
      maps [affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"]
      extents [[8], []] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @extents_zero(%c: memref<8x8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'extents' must hold a list of positive integers for each dimension, after which a 0 may stand for any others, got [0, 8]}}
  chimera.micro_kernel elementwise outs(%c : memref<8x8xf32>)
      maps [affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"]
      extents [[0, 8], [8]] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// chimera.micro_kernel: maps and iterators
//===----------------------------------------------------------------------===//

func.func @iterator_type(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op iterator types are 'parallel' and 'reduction', got 'window'}}
  chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["window"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @number_of_maps(%a: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op has 2 operands but 1 indexing maps}}
  chimera.micro_kernel elementwise ins(%a : memref<8xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @dimensions_of_map(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op indexing map #0 must take 1 dimensions and no symbols, got affine_map<(d0, d1) -> (d0)>}}
  chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m, n) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @symbol_of_map(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op indexing map #0 must take 1 dimensions and no symbols, got affine_map<(d0)[s0] -> (d0)>}}
  chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m)[s] -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @window_map(%a: memref<9xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op indexing map #0 must be a projected permutation, got affine_map<(d0) -> (d0 + 1)>}}
  chimera.micro_kernel elementwise ins(%a : memref<9xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m + 1)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @results_of_map(%a: memref<8x8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op indexing map #0 has 1 results but its operand has rank 2}}
  chimera.micro_kernel elementwise ins(%a : memref<8x8xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @unranked_input(%a: memref<*xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op operand #0 must have a rank}}
  chimera.micro_kernel elementwise ins(%a : memref<*xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @unranked_output(%c: memref<*xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op operand #0 must be variadic of ranked tensor of any type values or memref of any type values, but got 'memref<*xf32>'}}
  chimera.micro_kernel elementwise outs(%c : memref<*xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @unbounded_dimension(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op dimension d1 is indexed by no operand}}
  chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m, n) -> (m)>] iterators ["parallel", "parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @reduction_in_output(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op dimension d0 is a reduction but indexes the output}}
  chimera.micro_kernel contraction outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["reduction"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @shapes_disagree(%a: memref<8x4xf32>, %c: memref<?x5xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op operands disagree on the extent of dimension d1: 4 and 5}}
  chimera.micro_kernel elementwise ins(%a : memref<8x4xf32>)
      outs(%c : memref<?x5xf32>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// chimera.micro_kernel: types and kind
//===----------------------------------------------------------------------===//

func.func @body_takes_elements(%a: memref<8xf64>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op operand #0 has type 'f64' but the argument of the body has type 'f32'}}
  chimera.micro_kernel elementwise ins(%a : memref<8xf64>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @body_yields_element(%a: memref<8xf64>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op must yield ('f32') but yields ('f64')}}
  chimera.micro_kernel elementwise ins(%a : memref<8xf64>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f64, %z: f32):
    chimera.yield %x : f64
  }
  return
}

// -----

func.func @result_on_memrefs(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op expected the number of tensor results (1) to be equal to the number of output tensors (0)}}
  %0 = chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @no_result_on_tensors(%c: tensor<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  chimera.micro_kernel elementwise outs(%c : tensor<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @result_type(%c: tensor<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op expected type of operand #0 ('tensor<8xf32>') to match type of corresponding result ('tensor<?xf32>')}}
  %0 = chimera.micro_kernel elementwise outs(%c : tensor<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  } -> tensor<?xf32>
  return
}

// -----

func.func @contraction_without_reduction(%c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op of kind 'contraction' must have a reduction}}
  chimera.micro_kernel contraction outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"] {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @elementwise_with_reduction(%a: memref<8x4xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op of kind 'elementwise' must not have a reduction}}
  chimera.micro_kernel elementwise ins(%a : memref<8x4xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>]
      iterators ["parallel", "reduction"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @overwrite(%a: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'overwrite' is for contractions; other kinds overwrite what their body does not read}}
  chimera.micro_kernel pack overwrite ins(%a : memref<8xf32>)
      outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>]
      iterators ["parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

func.func @implementation(%c: memref<8xf32>) {
  chimera.micro_kernel elementwise outs(%c : memref<8xf32>)
      maps [affine_map<(m) -> (m)>] iterators ["parallel"]
      // expected-error @below {{invalid kind of attribute specified}}
      implementation "a string" {
  ^bb0(%z: f32):
    chimera.yield %z : f32
  }
  return
}

// -----

func.func @origin_type(%a: tensor<8xf32>, %b: tensor<8xf16>) -> tensor<8xf32> {
  // expected-error @below {{'chimera.prepare' op has elements of 'f32', but its origin has them of 'f16'}}
  %c = chimera.prepare %a holding %b : tensor<8xf16> at affine_map<(i) -> (i)> : tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

func.func @origin_places(%a: tensor<2x4xf32>, %b: tensor<8xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'chimera.prepare' op needs places that map 1 indices of the origin to 2 of the result}}
  %c = chimera.prepare %a holding %b : tensor<8xf32> at affine_map<(i) -> (i)> : tensor<2x4xf32>
  return %c : tensor<2x4xf32>
}

// -----

func.func @origin_without_places(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'chimera.prepare' op needs both an origin and the places of its elements, or neither}}
  %c = "chimera.prepare"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

func.func @prefetch_rank(%a: memref<8x16xf32>) {
  // expected-error @below {{'chimera.prefetch' op has 1 bounds for 2 dimensions}}
  chimera.prefetch %a within [8] : memref<8x16xf32>
  return
}

// -----

func.func @prefetch_bound(%a: memref<8x?xf32>) {
  // expected-error @below {{'chimera.prefetch' op has bound 4, which its source exceeds}}
  chimera.prefetch %a within [4, 16] : memref<8x?xf32>
  return
}

// -----

// expected-error @below {{'chimera.constant' on argument 1 takes no value}}
func.func @valued(%a: tensor<4xf32>, %b: tensor<4xf32> {chimera.constant = 1}) {
  return
}

// -----

// expected-error @below {{'chimera.panels' on argument 0 must be a number of columns above 0 (i64), got 0 : i64}}
func.func @panels(%a: tensor<4xf32> {chimera.constant, chimera.panels = 0}) {
  return
}

// -----

// expected-error @below {{'chimera.only_in_panels' on argument 0 needs 'chimera.panels' beside it}}
func.func @only_in_panels(%a: tensor<4xf32> {chimera.constant, chimera.only_in_panels}) {
  return
}

// -----

// expected-error @below {{'chimera.fixed' is no attribute of arguments; known are 'chimera.constant', 'chimera.panels', 'chimera.only_in_panels' and 'chimera.part'}}
func.func @unknown(%a: tensor<4xf32> {chimera.fixed}) {
  return
}

// -----

// expected-error @+1 {{'chimera.micro_kernels' must list micro kernels such as #chimera.function_kernel<...>, got ["sgemm"]}}
module attributes {chimera.micro_kernels = ["sgemm"]} {}

// -----

// expected-error @+1 {{'chimera.micro_kernels' must list micro kernels such as #chimera.function_kernel<...>, got 4 : i64}}
module attributes {chimera.micro_kernels = 4} {}

// -----

func.func @shift_outside(%a: tensor<9xf32>, %i: index) {
  // expected-error @below {{'chimera.shift' op moves rows along dimension 1 of a tensor with 1}}
  chimera.shift %a along 1 from %i to %i by %i : tensor<9xf32>
  return
}

// -----

func.func @windows_outside(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op reads element 9 of the 9 along dimension 0 of its source}}
  chimera.windows %a at affine_map<(m, k) -> (m + 2 * k)> : tensor<9xf32> to tensor<6x3xf32>
  return
}

// -----

func.func @windows_twice(%a: tensor<9x9xf32>) {
  // expected-error @below {{'chimera.windows' op dimension d0 must be part of one index, not of 2}}
  chimera.windows %a at affine_map<(m) -> (m, m)> : tensor<9x9xf32> to tensor<9xf32>
  return
}

// -----

func.func @windows_offset(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op must be indexed by sums of its dimensions, got affine_map<(d0) -> (d0 + 1)>}}
  chimera.windows %a at affine_map<(m) -> (m + 1)> : tensor<9xf32> to tensor<8xf32>
  return
}

// -----

func.func @windows_backwards(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op moves backwards along dimension d0}}
  chimera.windows %a at affine_map<(m) -> (-m)> : tensor<9xf32> to tensor<9xf32>
  return
}

// -----

func.func @windows_division(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op must be indexed by sums of its dimensions, got affine_map<(d0) -> (d0 floordiv 2)>}}
  chimera.windows %a at affine_map<(m) -> (m floordiv 2)> : tensor<9xf32> to tensor<9xf32>
  return
}

// -----

func.func @windows_rank(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op must have a map from the 2 dimensions of its result to the 1 of its source, got affine_map<(d0) -> (d0)>}}
  chimera.windows %a at affine_map<(m) -> (m)> : tensor<9xf32> to tensor<9x1xf32>
  return
}

// -----

func.func @windows_type(%a: tensor<9xf32>) {
  // expected-error @below {{'chimera.windows' op shows elements of type 'f32' as 'f16'}}
  chimera.windows %a at affine_map<(m) -> (m)> : tensor<9xf32> to tensor<9xf16>
  return
}

// -----

func.func @windows_size(%a: tensor<?xf32>) {
  // expected-error @below {{'chimera.windows' op has dimension d0 of a size that is not known, which must be all of a dimension of its source}}
  chimera.windows %a at affine_map<(h, r) -> (h + r)> : tensor<?xf32> to tensor<?x3xf32>
  return
}

// -----

func.func @rowwise_elementwise(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'rowwise' is for reductions}}
  chimera.micro_kernel elementwise ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      maps [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>] iterators ["parallel"] rowwise 8 {
  ^bb0(%v: f32, %o: f32):
    chimera.yield %v : f32
  }
  return
}

// -----

func.func @rowwise_one(%x: memref<4x8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{'chimera.micro_kernel' op 'rowwise' takes at least 2 rows, got 1}}
  chimera.micro_kernel reduction ins(%x : memref<4x8xf32>) outs(%y : memref<8xf32>)
      maps [affine_map<(l, n) -> (l, n)>, affine_map<(l, n) -> (n)>] iterators ["reduction", "parallel"] rowwise 1 {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.addf %m, %v : f32
    chimera.yield %0 : f32
  }
  return
}
