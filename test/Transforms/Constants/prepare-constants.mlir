// RUN: chimera-opt %s --chimera-prepare-constants --split-input-file --verify-diagnostics | FileCheck %s
// RUN: chimera-opt %s --chimera-prepare-constants=max-bytes=64 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=LITTLE

// The example in the description of the pass.

// CHECK: memref.global "private" @f_prepared : memref<8xf32> = uninitialized {alignment = 64 : i64}
// CHECK-LABEL: func @f(
// CHECK-SAME: %[[X:.+]]: tensor<8xf32>, %{{.+}}: tensor<8xf32> {chimera.constant})
// CHECK-NOT: math.exp
// CHECK: %[[M:.+]] = memref.get_global @f_prepared
// CHECK: %[[E:.+]] = bufferization.to_tensor %[[M]] restrict
// CHECK: arith.mulf %[[X]], %[[E]]
// CHECK-LABEL: func @f_prepare(
// CHECK-SAME: %{{.+}}: tensor<8xf32>, %[[W:.+]]: tensor<8xf32> {chimera.constant}) {
// CHECK: %[[M:.+]] = memref.get_global @f_prepared
// CHECK: call @prepare_value(%[[W]], %[[M]])
// CHECK-NEXT: return
// CHECK: func.func private @prepare_value(%[[W:.+]]: tensor<8xf32>, %[[M:.+]]: memref<8xf32> {bufferize.result})
// CHECK-SAME: chimera.recipe = "{{[0-9a-f]+}}"
// CHECK: %[[E:.+]] = math.exp %[[W]]
// CHECK: bufferization.materialize_in_destination %[[E]] in restrict writable %[[M]]
// CHECK-NEXT: return
func.func @f(%x: tensor<8xf32>, %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
  %e = math.exp %w : tensor<8xf32>
  %once = chimera.prepare %e : tensor<8xf32>
  %y = arith.mulf %x, %once : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A preparation that takes this process's part knows the grid too: it runs first.

// CHECK-LABEL: func @part_prepare(
// CHECK: chimera.check_grid [2]
// CHECK: call @prepare_value(
// CHECK: func.func private @prepare_value(
// CHECK: chimera.process_index along 0
func.func @part(%x: tensor<8xf32>, %w: tensor<16xf32> {chimera.constant}) -> tensor<8xf32> {
  chimera.check_grid [2]
  %c8 = arith.constant 8 : index
  %own = chimera.process_index along 0
  %first = arith.muli %own, %c8 : index
  %part = tensor.extract_slice %w[%first] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %once = chimera.prepare %part : tensor<8xf32>
  %y = arith.mulf %x, %once : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// What depends on another argument stays, and so does what changes nothing.

// CHECK-LABEL: func @stays
// CHECK: %[[S:.+]] = arith.addf
// CHECK: %[[E:.+]] = math.exp %[[S]]
// CHECK: arith.mulf %[[E]], %{{.+}}
// CHECK-NOT: func @stays_prepare
func.func @stays(%x: tensor<8xf32>, %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
  %s = arith.addf %x, %w : tensor<8xf32>
  %e = math.exp %s : tensor<8xf32>
  %once = chimera.prepare %e : tensor<8xf32>
  %same = chimera.prepare %w : tensor<8xf32>
  %y = arith.mulf %once, %same : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Loops go along with all that they read; what is prepared for something else
// needs no memory of its own.

// CHECK-COUNT-1: memref.global
// CHECK-NOT: memref.global
// CHECK-LABEL: func @loops(
// CHECK-NOT: scf.for
// CHECK-LABEL: func private @prepare_value(
// CHECK: arith.negf
// CHECK: scf.for
// CHECK: bufferization.materialize_in_destination
func.func @loops(%x: tensor<4x8xf32>, %w: tensor<32xf32> {chimera.constant}) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = arith.negf %w : tensor<32xf32>
  %negated = chimera.prepare %n : tensor<32xf32>
  %first = tensor.expand_shape %negated [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %init = tensor.empty() : tensor<4x8xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %init) -> tensor<4x8xf32> {
    %row = tensor.extract_slice %first[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %e = math.exp %row : tensor<1x8xf32>
    %u = tensor.insert_slice %e into %t[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    scf.yield %u : tensor<4x8xf32>
  }
  %once = chimera.prepare %r : tensor<4x8xf32>
  %y = arith.mulf %x, %once : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Layers that differ in nothing but their weights have one recipe; where something is
// computed otherwise, or from long constants, there are others.

// CHECK-LABEL: func @layers_prepare(
// CHECK-SAME: %[[X:.+]]: tensor<8xf32>, %[[V:.+]]: tensor<8xf32> {chimera.constant}, %[[W:.+]]: tensor<8xf32> {chimera.constant})
// CHECK: call @prepare_value(%
// CHECK: call @prepare_value_1(%[[W]], %
// CHECK: call @prepare_value_1(%[[V]], %
// CHECK: func.func private @prepare_value(%{{[^:]+}}: memref<8192xf32> {bufferize.result}) attributes {chimera.recipe = "", llvm.linkage = #llvm.linkage<internal>, no_inline}
// CHECK: func.func private @prepare_value_1(
// CHECK-SAME: chimera.recipe
// CHECK: math.exp
// CHECK-NOT: func private @prepare_value_2
func.func @layers(%x: tensor<8xf32>, %v: tensor<8xf32> {chimera.constant},
                  %w: tensor<8xf32> {chimera.constant}) -> (tensor<8xf32>, tensor<8192xf32>) {
  %e = math.exp %v : tensor<8xf32>
  %first = chimera.prepare %e : tensor<8xf32>
  %f = math.exp %w : tensor<8xf32>
  %second = chimera.prepare %f : tensor<8xf32>
  %long = arith.constant dense_resource<long> : tensor<8192xf32>
  %g = math.exp %long : tensor<8192xf32>
  %third = chimera.prepare %g : tensor<8192xf32>
  %y = arith.mulf %x, %first : tensor<8xf32>
  %z = arith.mulf %y, %second : tensor<8xf32>
  return %z, %third : tensor<8xf32>, tensor<8192xf32>
}

// -----

// The names of blocks say what reads a value, and not what it is.

// CHECK-LABEL: func @names_prepare(
// CHECK-COUNT-2: call @prepare_value(
// CHECK: func.func private @prepare_value(
// CHECK: chimera.block "constant"
// CHECK-NOT: chimera.block
func.func @names(%x: tensor<8xf32>, %v: tensor<8xf32> {chimera.constant},
                 %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
  %init = tensor.empty() : tensor<8xf32>
  %e = chimera.block "gemm0" ins(%v : tensor<8xf32>) outs(%init : tensor<8xf32>) extents [[8]] {
  ^bb0(%from: tensor<8xf32>, %to: tensor<8xf32>):
    %c = linalg.copy ins(%from : tensor<8xf32>) outs(%to : tensor<8xf32>) -> tensor<8xf32>
    chimera.yield %c : tensor<8xf32>
  } -> tensor<8xf32>
  %f = chimera.block "gemm1" ins(%w : tensor<8xf32>) outs(%init : tensor<8xf32>) extents [[8]] {
  ^bb0(%from: tensor<8xf32>, %to: tensor<8xf32>):
    %c = linalg.copy ins(%from : tensor<8xf32>) outs(%to : tensor<8xf32>) -> tensor<8xf32>
    chimera.yield %c : tensor<8xf32>
  } -> tensor<8xf32>
  %first = chimera.prepare %e : tensor<8xf32>
  %second = chimera.prepare %f : tensor<8xf32>
  %y = arith.mulf %x, %first : tensor<8xf32>
  %z = arith.mulf %y, %second : tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

// 64 bytes are enough for the second value, from which on they are taken.

// LITTLE-LABEL: func @two(
// LITTLE: math.exp
// LITTLE-NOT: math.absf
// LITTLE-LABEL: func private @prepare_value(
// LITTLE-NOT: math.exp
// LITTLE: math.absf
func.func @two(%x: tensor<16xf32>, %w: tensor<16xf32> {chimera.constant}) -> tensor<16xf32> {
  %e = math.exp %w : tensor<16xf32>
  %first = chimera.prepare %e : tensor<16xf32>
  %a = math.absf %w : tensor<16xf32>
  %second = chimera.prepare %a : tensor<16xf32>
  %s = arith.mulf %first, %second : tensor<16xf32>
  %y = arith.mulf %x, %s : tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// A table is looked up where it is prepared, if it is read for nothing else.

// CHECK-LABEL: func @lookup(
// CHECK-SAME: %{{.+}}: tensor<5xindex>, %{{.+}}: tensor<5x8xf32>, %[[T:.+]]: tensor<32x8xf32> {chimera.constant})
// CHECK: %[[M:.+]] = memref.get_global @lookup_prepared : memref<2x8x16xf32>
// CHECK: %[[W:.+]] = bufferization.to_tensor %[[M]] restrict
// CHECK: linalg.generic
// CHECK: ^bb0(%[[I:.+]]: index,
// CHECK: %[[K:.+]] = linalg.index 1
// CHECK-DAG: %[[PANEL:.+]] = arith.divui %[[I]], %{{.+}} : index
// CHECK-DAG: %[[COLUMN:.+]] = arith.remui %[[I]], %{{.+}} : index
// CHECK: tensor.extract %[[W]][%[[PANEL]], %[[K]], %[[COLUMN]]] : tensor<2x8x16xf32>
// CHECK-NOT: %[[T]]
// CHECK: return
func.func @lookup(%i: tensor<5xindex>, %x: tensor<5x8xf32>, %table: tensor<32x8xf32> {chimera.constant})
    -> (tensor<5x8xf32>, tensor<2x8x16xf32>) {
  %e = tensor.empty() : tensor<5x8xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i, k)>],
                          iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<5xindex>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%row: index, %out: f32):
    %k = linalg.index 1 : index
    %v = tensor.extract %table[%row, %k] : tensor<32x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  %0 = tensor.empty() : tensor<8x32xf32>
  %t = linalg.transpose ins(%table : tensor<32x8xf32>) outs(%0 : tensor<8x32xf32>) permutation = [1, 0]
  %cut = tensor.expand_shape %t [[0], [1, 2]] output_shape [8, 2, 16] : tensor<8x32xf32> into tensor<8x2x16xf32>
  %1 = tensor.empty() : tensor<2x8x16xf32>
  %panels = linalg.transpose ins(%cut : tensor<8x2x16xf32>) outs(%1 : tensor<2x8x16xf32>) permutation = [1, 0, 2]
  %once = chimera.prepare %panels holding %t : tensor<8x32xf32>
      at affine_map<(k, n) -> (n floordiv 16, k, n mod 16)> : tensor<2x8x16xf32>
  return %rows, %once : tensor<5x8xf32>, tensor<2x8x16xf32>
}

// -----

// What reads all of the constant needs it as it was, and then so may the others.

// CHECK-LABEL: func @both(
// CHECK-SAME: %{{.+}}: index, %[[T:.+]]: tensor<8xf32> {chimera.constant})
// CHECK: tensor.extract %[[T]]
// CHECK: math.exp %[[T]]
func.func @both(%i: index, %table: tensor<8xf32> {chimera.constant}) -> (f32, tensor<8xf32>, tensor<2x4xf32>) {
  %v = tensor.extract %table[%i] : tensor<8xf32>
  %e = math.exp %table : tensor<8xf32>
  %0 = tensor.empty() : tensor<2x4xf32>
  %cut = tensor.expand_shape %table [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %once = chimera.prepare %cut holding %table : tensor<8xf32>
      at affine_map<(n) -> (n floordiv 4, n mod 4)> : tensor<2x4xf32>
  return %v, %e, %once : f32, tensor<8xf32>, tensor<2x4xf32>
}

// -----

// expected-error @below {{has constants to prepare, but 'g_prepare' exists already; rename that, or remove 'chimera.constant'}}
func.func @g(%x: tensor<8xf32>, %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
  %e = math.exp %w : tensor<8xf32>
  %once = chimera.prepare %e : tensor<8xf32>
  %y = arith.mulf %x, %once : tensor<8xf32>
  return %y : tensor<8xf32>
}

func.func @g_prepare() {
  return
}

// -----

// expected-error @below {{has constants to prepare, but is called in this module, where nobody prepares them; inline it, or remove 'chimera.constant'}}
func.func @layer(%x: tensor<8xf32>, %w: tensor<8xf32> {chimera.constant}) -> tensor<8xf32> {
  %e = math.exp %w : tensor<8xf32>
  %once = chimera.prepare %e : tensor<8xf32>
  %y = arith.mulf %x, %once : tensor<8xf32>
  return %y : tensor<8xf32>
}

func.func @twice(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @layer(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %z = call @layer(%y, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
