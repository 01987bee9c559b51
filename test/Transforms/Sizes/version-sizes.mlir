// RUN: split-file %s %t
// RUN: chimera-opt %t/good.mlir --chimera-version-sizes | FileCheck %s
// RUN: chimera-opt %t/errors.mlir --chimera-version-sizes --verify-diagnostics --split-input-file

//--- good.mlir

// One size: the rows of %x, which those of what is made of it follow. In the
// place of the function comes one for any sizes, with a placeholder.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %{{.*}}: tensor<1048583x64xf32>, %{{.*}}: tensor<64x32xf32> {chimera.constant}) -> tensor<1048583x32xf32> attributes {chimera.open_sizes = array<i64: 1048583>, chimera.planned_sizes = array<i64: 128>} {
// CHECK: linalg.matmul {{.*}} -> tensor<1048583x32xf32>
// CHECK-LABEL: func.func private @rows_128(
// CHECK-SAME: %{{.*}}: tensor<128x64xf32>, %{{.*}}: tensor<64x32xf32> {chimera.constant}) -> tensor<128x32xf32> attributes {chimera.version_of = "rows"} {
// CHECK-NOT: tensor.dim
// CHECK: linalg.matmul {{.*}} -> tensor<128x32xf32>
// CHECK-LABEL: func.func private @rows_0(
// CHECK-SAME: tensor<0x64xf32>
// CHECK-SAME: -> tensor<0x32xf32>
func.func @rows(%x: tensor<?x64xf32>, %w: tensor<64x32xf32> {chimera.constant}) -> tensor<?x32xf32>
    attributes {chimera.sizes = [array<i64: 128>, array<i64: 0>]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x32xf32>) outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// A number that is asserted to be a size is that size, wherever it is read, and the
// assertion comes at once; a slice of it of fewer rows is read by elements. The other
// dimension of what is concatenated may be open.
// CHECK-LABEL: func.func @asserted(
// CHECK-SAME: %[[X:.+]]: tensor<1048583x16xf32>, %[[CACHE:.+]]: tensor<40x16xf32>)
// CHECK: %[[MOST:.+]] = arith.minsi
// CHECK-NEXT: %[[SIZE:.+]] = chimera.size 1048583
// CHECK-NEXT: %[[SAME:.+]] = arith.cmpi eq, %[[MOST]], %[[SIZE]] : index
// CHECK-NEXT: cf.assert %[[SAME]], "as many rows"
// CHECK: %[[ROWS:.+]] = linalg.generic
// CHECK: linalg.index 0
// CHECK: tensor.extract %[[CACHE]]
// CHECK: } -> tensor<1048583x16xf32>
// CHECK: tensor.concat dim(1) %[[X]], %[[ROWS]] : (tensor<1048583x16xf32>, tensor<1048583x16xf32>) -> tensor<1048583x32xf32>
// CHECK-NOT: cf.assert
// CHECK: return
func.func @asserted(%x: tensor<?x16xf32>, %cache: tensor<40x16xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %most = arith.minsi %n, %c40 : index
  %rows = tensor.extract_slice %cache[0, 0] [%most, 16] [1, 1] : tensor<40x16xf32> to tensor<?x16xf32>
  %i0 = arith.index_cast %n : index to i64
  %i1 = arith.index_cast %most : index to i64
  %same = arith.cmpi eq, %i0, %i1 : i64
  cf.assert %same, "as many rows"
  %both = tensor.concat dim(1) %x, %rows : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
  %empty = tensor.empty(%n) : tensor<?x32xf32>
  %y = linalg.exp ins(%both : tensor<?x32xf32>) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// Without the assertion it is another number.
// CHECK-LABEL: func.func @smaller(
// CHECK-SAME: tensor<?x16xf32>
func.func @smaller(%x: tensor<?x16xf32>, %cache: tensor<40x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %most = arith.minsi %n, %c40 : index
  %rows = tensor.extract_slice %cache[0, 0] [%most, 16] [1, 1] : tensor<40x16xf32> to tensor<?x16xf32>
  %empty = tensor.empty(%most) : tensor<?x16xf32>
  %y = linalg.exp ins(%rows : tensor<?x16xf32>) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// Rows one behind the other are twice as many, or a sum that has a placeholder
// of its own, by which a size that is computed elsewhere is known.
// CHECK-LABEL: func.func @longer(
// CHECK-SAME: -> (tensor<2097166x16xf32>, tensor<1048586x16xf32>)
// CHECK-SAME: chimera.open_sizes = array<i64: 1048583, 1048586>
// CHECK-SAME: chimera.open_sums = {{\[}}array<i64: 1048583, 3>]
// CHECK-SAME: chimera.planned_sizes = array<i64: 256, 259>
// CHECK: tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<1048583x16xf32>, tensor<1048583x16xf32>) -> tensor<2097166x16xf32>
// CHECK: tensor.concat dim(0) {{.*}} -> tensor<1048586x16xf32>
// CHECK: linalg.exp {{.*}} outs(%{{.*}} : tensor<1048586x16xf32>)
func.func @longer(%x: tensor<?x16xf32>, %new: tensor<3x16xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %both = tensor.concat dim(0) %x, %x : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %y = linalg.exp ins(%both : tensor<?x16xf32>) outs(%both : tensor<?x16xf32>) -> tensor<?x16xf32>
  %all = tensor.concat dim(0) %x, %new : (tensor<?x16xf32>, tensor<3x16xf32>) -> tensor<?x16xf32>
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %m = affine.apply affine_map<()[s0] -> (s0 + 3)>()[%n]
  %e = tensor.empty(%m) : tensor<?x16xf32>
  %z = linalg.exp ins(%all : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y, %z : tensor<?x16xf32>, tensor<?x16xf32>
}

// The smaller of a size and of its sum is the size, and so is that of a size and
// of the greatest number, up to which importers cut what is cut to its end.
// CHECK-LABEL: func.func @behind(
// CHECK-SAME: tensor<1048583x16xf32>
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1048583, 16] [1, 1] : tensor<1048584x16xf32> to tensor<1048583x16xf32>
func.func @behind(%x: tensor<?x16xf32>, %first: tensor<1x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %greatest = arith.constant 9223372036854775807 : index
  %all = tensor.concat dim(0) %first, %x : (tensor<1x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %m = tensor.dim %all, %c0 : tensor<?x16xf32>
  %from = arith.minsi %m, %c1 : index
  %end = arith.minsi %n, %greatest : index
  %to = arith.minsi %end, %m : index
  %rows = tensor.extract_slice %all[%from, 0] [%to, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %z = linalg.exp ins(%rows : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// Positions are cut from a table to a number that has to be that of the rows
// they are added to, which is asserted. The last row is cut from all.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME: tensor<1048583x16xf32>
// CHECK: cf.assert {{.*}}, "sizes of tensors that meet are not the same"
// CHECK: linalg.generic
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 16] [1, 1] : tensor<1048583x16xf32> to tensor<1x16xf32>
func.func @positions(%x: tensor<?x16xf32>, %table: tensor<40x16xf32>) -> tensor<1x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : i64
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %number = arith.index_cast %n : index to i64
  %rest = arith.minsi %number, %c40 : i64
  %most = arith.index_cast %rest : i64 to index
  %rows = tensor.extract_slice %table[0, 0] [%most, 16] [1, 1] : tensor<40x16xf32> to tensor<?x16xf32>
  %empty = tensor.empty(%n) : tensor<?x16xf32>
  %y = linalg.add ins(%x, %rows : tensor<?x16xf32>, tensor<?x16xf32>) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  %at = arith.subi %n, %c1 : index
  %last = tensor.extract_slice %y[%at, 0] [1, 16] [1, 1] : tensor<?x16xf32> to tensor<1x16xf32>
  return %last : tensor<1x16xf32>
}

// Keys and values are of one type, so they have the same sizes; the columns of
// %mask are as many as there are keys because the sum needs it. Nothing but the
// types says that keys and values have as many rows, so the function stays for
// calls in which they have not.
// CHECK-LABEL: func.func @ties(
// CHECK-SAME: tensor<?x?xf32>
// CHECK-LABEL: func.func private @ties_3x5(
// CHECK-SAME: %{{.*}}: tensor<3x5xf32>, %{{.*}}: tensor<3x5xf32>, %{{.*}}: tensor<5xf32>) -> tensor<3x5xf32>
// CHECK-LABEL: func.func private @ties_open(
// CHECK-SAME: tensor<1048583x1048589xf32>
// CHECK-SAME: chimera.equal_sizes = [array<i64: 0, 0, 1, 0>, array<i64: 0, 1, 1, 1, 2, 0>]
// CHECK-SAME: chimera.planned_sizes = array<i64: 3, 5>, chimera.version_of = "ties"
func.func @ties(%k: tensor<?x?xf32>, %v: tensor<?x?xf32>, %mask: tensor<?xf32>) -> tensor<?x?xf32>
    attributes {chimera.sizes = [array<i64: 3, 5>]} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<?xf32>) outs(%k : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// What exporters make of a broadcast whose sizes are not known: the test
// whether the dimension is one, and a reshape to a shape that is computed.
// CHECK-LABEL: func.func @spelled(
// CHECK-SAME: %[[X:.*]]: tensor<1048583x4xf32>) -> tensor<4194332xf32>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]]
// CHECK-NEXT: return %[[COLLAPSED]]
// CHECK-LABEL: func.func private @spelled_2(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[COLLAPSED:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<2x4xf32> into tensor<8xf32>
// CHECK: return %[[COLLAPSED]]
func.func @spelled(%x: tensor<?x4xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: 2>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x4xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %n, %c1 : index
    %at = arith.select %one, %c0, %i : index
    %y = tensor.extract %x[%at, %j] : tensor<?x4xf32>
    linalg.yield %y : f32
  } -> tensor<?x4xf32>
  %m = arith.muli %n, %c4 : index
  %shape = tensor.from_elements %m : tensor<1xindex>
  %1 = tensor.reshape %0(%shape) : (tensor<?x4xf32>, tensor<1xindex>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// Where numbers are computed from a size, it is no constant. Without cases,
// plans are for a common size.
// CHECK-LABEL: func.func @mean(
// CHECK-SAME: tensor<1048583xf32>
// CHECK-SAME: chimera.planned_sizes = array<i64: 256>
// CHECK: %[[SIZE:.*]] = chimera.size 1048583
// CHECK: arith.index_cast %[[SIZE]] : index to i64
func.func @mean(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %i = arith.index_cast %n : index to i64
  %f = arith.sitofp %i : i64 to f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %b = arith.divf %a, %f : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// A size that is no product of others, and a window along an open dimension:
// nothing could tell placeholders from numbers there.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: tensor<?xf32>) -> tensor<?xf32> {
func.func @sum(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.addi %n, %c1 : index
  %e = tensor.empty(%m) : tensor<?xf32>
  return %e : tensor<?xf32>
}
// CHECK-LABEL: func.func @pad(
// CHECK-SAME: tensor<?xf32>) -> tensor<?xf32> {
func.func @pad(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
// CHECK-LABEL: func.func @pool(
// CHECK-SAME: tensor<?xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<?xf32>) -> tensor<?xf32> {
func.func @pool(%x: tensor<?xf32>, %w: tensor<3xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.conv_1d ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// A caller has types of its own.
// CHECK-LABEL: func.func @called(
// CHECK-SAME: tensor<?xf32>) -> tensor<?xf32> {
func.func @called(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
// CHECK-LABEL: func.func @caller(
// CHECK-SAME: tensor<?xf32>) -> tensor<?xf32> {
func.func @caller(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @called(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// Control flow may do anything with a size.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: tensor<?xf32>, %{{.*}}: index) -> tensor<?xf32> {
func.func @branch(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<?xf32> {
    %z = tensor.insert %zero into %y[%i] : tensor<?xf32>
    scf.yield %z : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

//--- errors.mlir

// expected-error @+1 {{has 1 dynamic sizes, but 2 are given}}
func.func @count(%x: tensor<?xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: 2, 3>]} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'chimera.sizes' must list sizes such as [array<i64: 1, 128>], which are not negative, got [array<i64: -1>]}}
func.func @negative(%x: tensor<?xf32>) -> tensor<?xf32> attributes {chimera.sizes = [array<i64: -1>]} {
  return %x : tensor<?xf32>
}
