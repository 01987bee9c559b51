// RUN: chimera-opt %s --split-input-file --chimera-form-chains | FileCheck %s

// What goes into chains that can be planned, and what comes out of them.

// An intermediate that others read becomes a result of the chain. A reader in
// the middle moves behind it.

// CHECK-LABEL: func.func @stored(
// CHECK:         %[[CHAIN:.+]]:2 = chimera.chain
// CHECK:           linalg.matmul
// CHECK:           %[[RELU:.+]] = linalg.generic
// CHECK:           %[[PRODUCT:.+]] = linalg.matmul
// CHECK:           chimera.yield %[[RELU]], %[[PRODUCT]] :
// CHECK:         %[[SUM:.+]] = arith.addf %[[CHAIN]]#0, %[[CHAIN]]#0
// CHECK:         %[[TRANSPOSED:.+]] = linalg.transpose ins(%[[CHAIN]]#0
// CHECK:         return %[[CHAIN]]#1, %[[SUM]], %[[TRANSPOSED]]
func.func @stored(%a: tensor<32x16xf64>, %b: tensor<16x64xf64>, %c: tensor<64x48xf64>) -> (tensor<32x48xf64>, tensor<32x64xf64>, tensor<64x32xf64>) {
  %zero = arith.constant 0.0 : f64
  %x_empty = tensor.empty() : tensor<32x64xf64>
  %x_zero = linalg.fill ins(%zero : f64) outs(%x_empty : tensor<32x64xf64>) -> tensor<32x64xf64>
  %x = linalg.matmul ins(%a, %b : tensor<32x16xf64>, tensor<16x64xf64>) outs(%x_zero : tensor<32x64xf64>) -> tensor<32x64xf64>
  %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x64xf64>) outs(%x_empty : tensor<32x64xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = arith.maximumf %in, %zero : f64
    linalg.yield %0 : f64
  } -> tensor<32x64xf64>
  %sum = arith.addf %relu, %relu : tensor<32x64xf64>
  %t_empty = tensor.empty() : tensor<64x32xf64>
  %transposed = linalg.transpose ins(%relu : tensor<32x64xf64>) outs(%t_empty : tensor<64x32xf64>) permutation = [1, 0]
  %y_empty = tensor.empty() : tensor<32x48xf64>
  %y_zero = linalg.fill ins(%zero : f64) outs(%y_empty : tensor<32x48xf64>) -> tensor<32x48xf64>
  %y = linalg.matmul ins(%relu, %c : tensor<32x64xf64>, tensor<64x48xf64>) outs(%y_zero : tensor<32x48xf64>) -> tensor<32x48xf64>
  return %y, %sum, %transposed : tensor<32x48xf64>, tensor<32x64xf64>, tensor<64x32xf64>
}

// -----

// Softmax is taken apart; padding, which is no part of the padded tensor's
// producer, comes along; operands that take arithmetic are made outside.

// CHECK-LABEL: func.func @inside(
// CHECK:         %[[SCALED:.+]] = arith.mulf
// CHECK:         chimera.chain ins({{.*}}%[[SCALED]]
// CHECK:           linalg.matmul
// CHECK:           arith.maxnumf
// CHECK:           math.exp
// CHECK:           arith.divf
// CHECK-NOT:       linalg.softmax
// CHECK:           tensor.pad
// CHECK:           linalg.conv_1d_ncw_fcw
// CHECK:           chimera.yield
func.func @inside(%a: tensor<32x16xf64>, %scale: tensor<32x16xf64>, %b: tensor<16x64xf64>, %c: tensor<8x32x3xf64>) -> tensor<1x8x64xf64> {
  %zero = arith.constant 0.0 : f64
  %scaled = arith.mulf %a, %scale : tensor<32x16xf64>
  %x_empty = tensor.empty() : tensor<32x64xf64>
  %x_zero = linalg.fill ins(%zero : f64) outs(%x_empty : tensor<32x64xf64>) -> tensor<32x64xf64>
  %x = linalg.matmul ins(%scaled, %b : tensor<32x16xf64>, tensor<16x64xf64>) outs(%x_zero : tensor<32x64xf64>) -> tensor<32x64xf64>
  %p = linalg.softmax dimension(1) ins(%x : tensor<32x64xf64>) outs(%x_empty : tensor<32x64xf64>) -> tensor<32x64xf64>
  %expanded = tensor.expand_shape %p [[0, 1], [2]] output_shape [1, 32, 64] : tensor<32x64xf64> into tensor<1x32x64xf64>
  %padded = tensor.pad %expanded low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%n: index, %ch: index, %w: index):
    tensor.yield %zero : f64
  } : tensor<1x32x64xf64> to tensor<1x32x66xf64>
  %y_empty = tensor.empty() : tensor<1x8x64xf64>
  %y_zero = linalg.fill ins(%zero : f64) outs(%y_empty : tensor<1x8x64xf64>) -> tensor<1x8x64xf64>
  %y = linalg.conv_1d_ncw_fcw ins(%padded, %c : tensor<1x32x66xf64>, tensor<8x32x3xf64>) outs(%y_zero : tensor<1x8x64xf64>) -> tensor<1x8x64xf64>
  return %y : tensor<1x8x64xf64>
}

// -----

// The products around the large intermediate join first; the one before costs
// little to move.

// CHECK-LABEL: func.func @order(
// CHECK:         linalg.matmul
// CHECK:         chimera.chain
// CHECK-COUNT-2:   linalg.matmul
// CHECK:           chimera.yield
// CHECK-NOT:     chimera.chain
func.func @order(%a: tensor<64x512xf64>, %b: tensor<512x16xf64>, %c: tensor<16x256xf64>, %d: tensor<256x16xf64>) -> tensor<64x16xf64> {
  %zero = arith.constant 0.0 : f64
  %x_empty = tensor.empty() : tensor<64x16xf64>
  %x_zero = linalg.fill ins(%zero : f64) outs(%x_empty : tensor<64x16xf64>) -> tensor<64x16xf64>
  %x = linalg.matmul ins(%a, %b : tensor<64x512xf64>, tensor<512x16xf64>) outs(%x_zero : tensor<64x16xf64>) -> tensor<64x16xf64>
  %y_empty = tensor.empty() : tensor<64x256xf64>
  %y_zero = linalg.fill ins(%zero : f64) outs(%y_empty : tensor<64x256xf64>) -> tensor<64x256xf64>
  %y = linalg.matmul ins(%x, %c : tensor<64x16xf64>, tensor<16x256xf64>) outs(%y_zero : tensor<64x256xf64>) -> tensor<64x256xf64>
  %z = linalg.matmul ins(%y, %d : tensor<64x256xf64>, tensor<256x16xf64>) outs(%x_zero : tensor<64x16xf64>) -> tensor<64x16xf64>
  return %z : tensor<64x16xf64>
}

// -----

// What reads a result before the chain's last operator moves behind the chain,
// with what reads that in turn. Nothing else does.

func.func private @read(tensor<64x64xf64>)

// CHECK-LABEL: func.func @readers_move(
// CHECK:         call @read(%arg0)
// CHECK:         %[[CHAIN:.*]]:2 = chimera.chain
// CHECK:         %[[REVERSED:.*]] = tensor.extract_slice %[[CHAIN]]#
// CHECK-NEXT:    %[[MOVED:.*]] = tensor.insert_slice %[[REVERSED]]
// CHECK-NEXT:    call @read(%[[MOVED]])
func.func @readers_move(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %d: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<64x64xf64>
  %0 = linalg.fill ins(%zero : f64) outs(%empty : tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = linalg.matmul ins(%a, %b : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
  %part = tensor.extract_slice %1[0, 0] [32, 64] [1, 1] : tensor<64x64xf64> to tensor<32x64xf64>
  %moved = tensor.insert_slice %part into %a[32, 0] [32, 64] [1, 1] : tensor<32x64xf64> into tensor<64x64xf64>
  call @read(%a) : (tensor<64x64xf64>) -> ()
  %2 = linalg.matmul ins(%1, %d : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
  call @read(%moved) : (tensor<64x64xf64>) -> ()
  return %2 : tensor<64x64xf64>
}

// -----

// What operators start from may lie outside of the loop that they are in.

// CHECK-LABEL: func.func @in_loop(
// CHECK:         scf.for
// CHECK:           chimera.chain ins(%{{.*}}, %{{.*}} : tensor<64x64xf64>, tensor<64x64xf64>)
// CHECK:             %[[EMPTY:.*]] = tensor.empty
// CHECK-NEXT:        %[[ZERO:.*]] = linalg.fill
// CHECK-SAME:          outs(%[[EMPTY]]
// CHECK-NEXT:        %[[FIRST:.*]] = linalg.matmul
// CHECK-NEXT:        linalg.matmul
// CHECK-SAME:          %[[FIRST]]
func.func @in_loop(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %count: index) -> tensor<64x64xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<64x64xf64>
  %result = scf.for %i = %c0 to %count step %c1 iter_args(%x = %a) -> tensor<64x64xf64> {
    %0 = linalg.fill ins(%zero : f64) outs(%empty : tensor<64x64xf64>) -> tensor<64x64xf64>
    %1 = linalg.matmul ins(%x, %b : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
    %2 = linalg.matmul ins(%1, %b : tensor<64x64xf64>, tensor<64x64xf64>) outs(%0 : tensor<64x64xf64>) -> tensor<64x64xf64>
    scf.yield %2 : tensor<64x64xf64>
  }
  return %result : tensor<64x64xf64>
}
