// A tiling that cannot be applied is an error, whoever finds it.
//
// RUN: chimera-opt %s --split-input-file --chimera-tile-memory-bound --verify-diagnostics
// RUN: chimera-opt %s --split-input-file --chimera-plan-memory-bound=target=zen5 --verify-diagnostics

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{'chimera.row_tiling' cannot be applied: only linalg.generic and linalg.fill on static tensors that are indexed by projected permutations get loops over rows; drop the attribute}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : tensor<?xf32>) attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8]>} {
  ^bb0(%out: f32):
    %e = math.exp %out : f32
    linalg.yield %e : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @product(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'chimera.row_tiling' cannot be applied: only linalg.generic and linalg.fill}}
  %0 = linalg.matmul {chimera.row_tiling = #chimera.row_tiling<tiles = [4]>}
      ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @start(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'chimera.row_tiling' cannot be applied: nothing reads what the operation makes, but as the start of sums; drop the attribute, or put it on an operation whose result is read}}
  %0 = linalg.fill {chimera.row_tiling = #chimera.row_tiling<tiles = [4]>} ins(%zero : f32) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @deep(%x: tensor<8x16xf32>, %sum: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x16xf32>) {
  // expected-error @below {{'chimera.row_tiling' cannot be applied: not all results are cut by loops over the first 2 dimension(s) of the last one; list other tiles, or none for no loops}}
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%sum, %x : tensor<8xf32>, tensor<8x16xf32>) attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4, 8]>} {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %b : f32
    linalg.yield %a, %e : f32, f32
  } -> (tensor<8xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8x16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @missing(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<8x16xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<8x16xf32>) outs(%acc : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  // expected-error @below {{'chimera.row_tiling' cannot be applied: there is no member 3, only 3}}
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%0 : tensor<8x16xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], streamed = [3]>} {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %s = arith.divf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %h, %r : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @read(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<8x16xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<8x16xf32>) outs(%acc : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  // expected-error @below {{'chimera.row_tiling' cannot be applied: member 0 cannot send past the caches what other members read; say under 'late' who stores it}}
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%0 : tensor<8x16xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], streamed = [0]>} {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %s = arith.divf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %h, %r : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @late(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<8x16xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<8x16xf32>) outs(%acc : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  // expected-error @below {{'chimera.row_tiling' cannot be applied: member 2 does not add up, element by element, what member 0 makes for others as well}}
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%0 : tensor<8x16xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], late = [0 by 2]>} {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %s = arith.divf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %h, %r : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @ahead(%x: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<8x16xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<8x16xf32>) outs(%acc : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  // expected-error @below {{'chimera.row_tiling' cannot be applied: neither member 1 nor one before it with the same loops reads a tensor from outside of which each task has a part of its own}}
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%0 : tensor<8x16xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [4], ahead = [1]>} {
  ^bb0(%a: f32, %q: f32, %out: f32):
    %s = arith.divf %a, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %h, %r : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @no_columns(%x: tensor<64x16xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @below {{'chimera.row_tiling' cannot be applied: member 0 does not reduce along columns, so there are no rows that it could read at once}}
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x16xf32>) outs(%s : tensor<64xf32>)
      attrs = {chimera.row_tiling = #chimera.row_tiling<tiles = [8], rowwise = [0 by 8]>} {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %out, %in : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
