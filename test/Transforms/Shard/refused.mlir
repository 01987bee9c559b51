// What upstream's passes crash on, or cut wrong, is an error on the operation.
//
// RUN: chimera-opt %s --chimera-shard=target=zen5 --split-input-file --verify-diagnostics

shard.grid @grid(shape = 2)
func.func @sizes(%x: tensor<9x4xf32>, %e: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  // expected-error @below {{dimension 0 of 'tensor<9x4xf32>' does not divide into 2 equal parts}}
  %x0 = shard.shard %x to %s : tensor<9x4xf32>
  %0 = linalg.exp ins(%x0 : tensor<9x4xf32>) outs(%e : tensor<9x4xf32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// -----

shard.grid @grid(shape = 2)
func.func @interface(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<8x4xf32>
  // expected-error @below {{cannot be cut, nor computed beside what is}}
  %0 = math.exp %x0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error @below {{the grid of processes must have a static shape}}
shard.grid @grid(shape = ?)
func.func @grid_of_any_size(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<8xf32>
  %0 = linalg.exp ins(%x0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

shard.grid @grid(shape = 2)
// expected-error @below {{only tensors of static shape are cut}}
func.func @dynamic(%x: tensor<?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<?xf32>
  %0 = linalg.exp ins(%x0 : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

shard.grid @grid(shape = 2)
// expected-error @below {{only functions of one block are cut; this one has 3}}
func.func @blocks(%x: tensor<8xf32>, %c: i1, %e: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<8xf32>
  cf.cond_br %c, ^one, ^other
^one:
  %0 = linalg.exp ins(%x0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
^other:
  return %x0 : tensor<8xf32>
}

// -----

shard.grid @grid(shape = 2)
func.func @offsets(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{parts are equal; leave out 'sharded_dims_offsets'}}
  %s = shard.sharding @grid split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<8xf32>
  %0 = linalg.exp ins(%x0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Each process would count from zero.

shard.grid @grid(shape = 2)
func.func @positions(%e: tensor<8xi64>) -> tensor<8xi64> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{counts along a loop that is cut}}
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<8xi64>
  %1 = shard.shard %0 to %s : tensor<8xi64>
  return %1 : tensor<8xi64>
}

// -----

shard.grid @grid(shape = 2)
func.func @two_results(%x: tensor<4x8xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<4x8xf32>
  // expected-error @below {{a reduction with 2 results cannot be cut along the reduction}}
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]} ins(%x0 : tensor<4x8xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: f32, %p: f32, %q: f32):
    %sum = arith.addf %p, %i : f32
    %most = arith.maximumf %q, %i : f32
    linalg.yield %sum, %most : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

shard.grid @grid(shape = 2)
func.func @convolution(%x: tensor<8xf32>, %k: tensor<3xf32>, %e: tensor<6xf32>) -> tensor<6xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  // expected-error @below {{it reads its operands by other indices than its loops}}
  %0 = linalg.conv_1d ins(%x, %k : tensor<8xf32>, tensor<3xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %1 = shard.shard %0 to %s : tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// Processes exchange no bits.

shard.grid @grid(shape = 2)
func.func @bits(%x: tensor<8x8xi1>, %e: tensor<8x8xi1>) -> tensor<8x8xi1> {
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %0 = linalg.copy ins(%x : tensor<8x8xi1>) outs(%e : tensor<8x8xi1>) -> tensor<8x8xi1>
  %1 = shard.shard %0 to %rows : tensor<8x8xi1>
  // expected-error @below {{is not exchanged between processes}}
  %2 = shard.shard %1 to %columns annotate_for_users : tensor<8x8xi1>
  return %2 : tensor<8x8xi1>
}

// -----

shard.grid @grid(shape = 2)
shard.grid @other(shape = 2)
func.func @two_grids(%x: tensor<8xf32>, %y: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  // expected-error @below {{a function is cut along one grid of processes; found a second one, 'other'}}
  %t = shard.sharding @other split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<8xf32>
  %y0 = shard.shard %y to %t : tensor<8xf32>
  %0 = linalg.add ins(%x0, %y0 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Two steps at once.

shard.grid @grid(shape = 2x2)
func.func @steps(%x: tensor<8x8xf32>, %e: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = shard.sharding @grid split_axes = [[0, 1]] : !shard.sharding
  %t = shard.sharding @grid split_axes = [[], [0, 1]] : !shard.sharding
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = shard.shard %0 to %s : tensor<8x8xf32>
  // expected-error @below {{is cut along several axes at once in another way than where it comes from}}
  %2 = shard.shard %1 to %t annotate_for_users : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
