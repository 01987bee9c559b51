// Moves and the softmax between products are cut along the dimensions that need
// nothing from other processes. Heads stay apart through reshapes and slices.
//
// RUN: chimera-opt %s --chimera-shard=target=zen5 --split-input-file | FileCheck %s

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @heads(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<16x32xf32>
// CHECK: tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
// CHECK: tensor.extract_slice {{.*}}[0, 0, 4] [16, 4, 4] [1, 1, 1] : tensor<16x4x8xf32> to tensor<16x4x4xf32>
// CHECK: tensor.concat dim(2) {{.*}} -> tensor<16x4x8xf32>
// CHECK: linalg.softmax dimension(2) ins({{.*}} : tensor<16x4x8xf32>)
// CHECK: tensor.collapse_shape {{.*}} {{\[\[}}0], [1, 2]] : tensor<16x4x8xf32> into tensor<16x32xf32>
// CHECK-NOT: chimera.all
// CHECK: return
func.func @heads(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<16x64xf32>
  %h = tensor.expand_shape %x0 [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
  %low = tensor.extract_slice %h[0, 0, 0] [16, 8, 4] [1, 1, 1] : tensor<16x8x8xf32> to tensor<16x8x4xf32>
  %high = tensor.extract_slice %h[0, 0, 4] [16, 8, 4] [1, 1, 1] : tensor<16x8x8xf32> to tensor<16x8x4xf32>
  %turned = tensor.concat dim(2) %high, %low : (tensor<16x8x4xf32>, tensor<16x8x4xf32>) -> tensor<16x8x8xf32>
  %e = tensor.empty() : tensor<16x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%turned : tensor<16x8x8xf32>) outs(%e : tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
  %y = tensor.collapse_shape %p [[0], [1, 2]] : tensor<16x8x8xf32> into tensor<16x64xf32>
  %y0 = shard.shard %y to %s : tensor<16x64xf32>
  return %y0 : tensor<16x64xf32>
}

// -----

// Along the softmax, everything is gathered before, and the part of this process
// taken after.

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @along(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x8xf32>
// CHECK: %[[PARTS:.*]] = chimera.all_gather ins(%[[X]] : tensor<4x8xf32>) outs({{.*}} : tensor<8x8xf32>) along [0] of 2
// CHECK: %[[APART:.*]] = tensor.expand_shape %[[PARTS]] {{.*}} into tensor<2x4x8xf32>
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[APART]] : tensor<2x4x8xf32>) outs({{.*}} : tensor<4x2x8xf32>) permutation = [1, 0, 2]
// CHECK: %[[WHOLE:.*]] = tensor.collapse_shape %[[TURNED]] {{.*}} into tensor<4x16xf32>
// CHECK: linalg.softmax dimension(1) ins(%[[WHOLE]] : tensor<4x16xf32>)
// CHECK: %[[MINE:.*]] = chimera.process_index along 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[MINE]], %c8
// CHECK: tensor.extract_slice %{{.*}}[0, %[[FIRST]]] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
func.func @along(%x: tensor<4x16xf32>, %e: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %s : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%x0 : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = shard.shard %p to %s : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// Rows to columns, and an argument that nobody reads.

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @turn(
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: tensor<3xf32>
// CHECK: chimera.all_to_all ins(%{{.*}} : tensor<2x4x4xf32>) outs(%{{.*}} : tensor<2x4x4xf32>) along [0] of 2
// CHECK: tensor<8x4xf32>
func.func @turn(%x: tensor<8x8xf32>, %unused: tensor<3xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %rows : tensor<8x8xf32>
  %x1 = shard.shard %x0 to %columns annotate_for_users : tensor<8x8xf32>
  %0 = linalg.exp ins(%x1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = shard.shard %0 to %columns : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// Two axes: rows along one, the reduction along the other. What the sum starts
// from counts once.

shard.grid @grid(shape = 2x2)
// CHECK-LABEL: func @two_axes(
// CHECK-SAME: tensor<4x8xf32>
// CHECK: chimera.check_grid [2, 2]
// CHECK: %[[INDEX:.*]] = chimera.process_index along 1
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[INDEX]], %c0
// CHECK: %[[START:.*]] = scf.if %[[FIRST]] -> (tensor<4x4xf32>)
// CHECK: %[[PART:.*]] = linalg.matmul {{.*}} outs(%[[START]] : tensor<4x4xf32>)
// CHECK: chimera.all_reduce sum outs(%[[PART]] : tensor<4x4xf32>) along [1] of 2
func.func @two_axes(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %both = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
  %k = shard.sharding @grid split_axes = [[1]] : !shard.sharding
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %both : tensor<8x16xf32>
  %w0 = shard.shard %w to %k : tensor<16x4xf32>
  %y = linalg.matmul ins(%x0, %w0 : tensor<8x16xf32>, tensor<16x4xf32>) outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y0 = shard.shard %y to %rows : tensor<8x4xf32>
  return %y0 : tensor<8x4xf32>
}

// -----

// A sum of which each process wants its rows: half the bytes.

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @rows_of_a_sum(
// CHECK: %[[PART:.*]] = linalg.matmul
// CHECK: %[[ROWS:.*]] = chimera.reduce_scatter sum ins(%[[PART]] : tensor<8x4xf32>) outs({{.*}} : tensor<4x4xf32>) along [0] of 2
// CHECK: linalg.exp ins(%[[ROWS]] : tensor<4x4xf32>)
func.func @rows_of_a_sum(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %w0 = shard.shard %w to %rows : tensor<16x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.matmul ins(%x, %w0 : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y0 = shard.shard %y to %whole : tensor<8x4xf32>
  %y1 = shard.shard %y0 to %rows annotate_for_users : tensor<8x4xf32>
  %z = linalg.exp ins(%y1 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %z0 = shard.shard %z to %rows : tensor<8x4xf32>
  return %z0 : tensor<8x4xf32>
}

// -----

// What has no contents is no reason to exchange anything: each reader has its own.

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @room_for_two(
// CHECK-NOT: chimera.all
// CHECK: %[[E:.*]] = linalg.exp {{.*}} -> tensor<4x8xf32>
// CHECK-NOT: chimera.all
// CHECK: chimera.all_gather ins(%[[E]] : tensor<4x8xf32>)
// CHECK-NOT: chimera.all
// CHECK: linalg.softmax dimension(1) {{.*}} -> tensor<4x16xf32>
// CHECK-NOT: chimera.all
// CHECK: return
func.func @room_for_two(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %columns = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %x0 = shard.shard %x to %columns : tensor<4x16xf32>
  %room = tensor.empty() : tensor<4x16xf32>
  %e = linalg.exp ins(%x0 : tensor<4x16xf32>) outs(%room : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.softmax dimension(1) ins(%e : tensor<4x16xf32>) outs(%room : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// Propagation says again how something is made, before what the program says. All
// that reads it comes after the first that is kept.

shard.grid @grid(shape = 2)
// CHECK-LABEL: func @said_twice(
// CHECK: %[[E:.*]] = linalg.exp {{.*}} -> tensor<2x8xf32>
// CHECK: return %[[E]], %[[E]]
func.func @said_twice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %x0 = shard.shard %x to %rows : tensor<4x8xf32>
  %room = tensor.empty() : tensor<4x8xf32>
  %e = linalg.exp ins(%x0 : tensor<4x8xf32>) outs(%room : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e0 = shard.shard %e to %rows : tensor<4x8xf32>
  return %e0, %e : tensor<4x8xf32>, tensor<4x8xf32>
}
