// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s

// What kernels ask for is what their blocks say.
//
// RUN: sed 's/prefetch <.*> {/{/' %s | chimera-opt --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s --check-prefix=SILENT --implicit-check-not=chimera.prefetch
// RUN: sed 's/loops = fixed/loops = any/' %s | chimera-opt --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s --check-prefix=ANY
// RUN: sed 's/part = 2048/part = 2047/' %s | chimera-opt --chimera-map-micro-kernels=target=zen5 --canonicalize --split-input-file | FileCheck %s --check-prefix=LESS

// The second operand runs along vectors. Its rows are contiguous, but the block
// asks for a copy: it is made where the slice changes, outside the loop over m,
// in a buffer created once. Each of the three kernels asks for two of the six
// rows of the slice that the next iteration copies.

// CHECK-DAG:   #[[$SHARE:.*]] = affine_map<()[s0] -> (5, (s0 floordiv 8) * 2)>
// CHECK-LABEL: func @packed
// CHECK-SAME:    %[[B:.*]]: tensor<6x32xf32>
// CHECK:         %[[BUFFER:.*]] = tensor.empty() : tensor<6x16xf32>
// CHECK:         scf.for %[[L:[a-z0-9]+]] =
// CHECK:           %[[SLICE:.*]] = tensor.extract_slice %[[B]][0, %[[L]]] [6, 16] [1, 1]
// CHECK:           %[[SUM:.*]] = arith.addi %[[L]], %{{.*}} : index
// CHECK:           %[[LEFT:.*]] = arith.cmpi slt, %[[SUM]]
// CHECK:           %[[NEXT:.*]] = arith.select %[[LEFT]], %[[SUM]], %[[L]]
// CHECK:           %[[AHEAD:.*]] = tensor.extract_slice %[[B]][0, %[[NEXT]]] [6, 16] [1, 1]
// CHECK:           %[[COPY:.*]] = chimera.micro_kernel pack ins(%[[SLICE]] : tensor<6x16xf32>) outs(%[[BUFFER]] : tensor<6x16xf32>)
// CHECK-SAME:        maps [#[[ID:.*]], #[[ID]]] iterators ["parallel", "parallel"] extents {{\[}}[6], [16]]
// CHECK:           scf.for %[[M:[a-z0-9]+]] =
// CHECK:             %[[FIRST:.*]] = affine.min #[[$SHARE]]()[%[[M]]]
// CHECK:             %[[PART:.*]] = tensor.extract_slice %[[AHEAD]][%[[FIRST]], 0] [%{{.*}}, 16] [1, 1]
// CHECK:             chimera.prefetch %[[PART]] within [2, 16]
// CHECK-NEXT:        chimera.micro_kernel contraction overwrite
// CHECK-SAME:          ins(%{{.*}}, %[[COPY]] : tensor<8x6xf32>, tensor<6x16xf32>)
// CHECK-SAME:          extents {{\[}}[8], [16], [6]]
// CHECK-SAME:          implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>, tuning = <streams = 1>, dots = [bf16, i8], narrowed = [bf16]>
// CHECK:               %[[X:.*]] = arith.mulf
// CHECK:               arith.addf %{{.*}}, %[[X]]
func.func @packed(%b: tensor<6x32xf32>, %a: tensor<24x6xf32>, %c: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %0 = scf.for %l = %c0 to %c32 step %c16 iter_args(%cl = %c) -> (tensor<24x32xf32>) {
    %1 = scf.for %m = %c0 to %c24 step %c8 iter_args(%cm = %cl) -> (tensor<24x32xf32>) {
      %as = tensor.extract_slice %a[%m, 0] [8, 6] [1, 1] : tensor<24x6xf32> to tensor<8x6xf32>
      %bs = tensor.extract_slice %b[0, %l] [6, 16] [1, 1] : tensor<6x32xf32> to tensor<6x16xf32>
      %cs = tensor.extract_slice %cm[%m, %l] [8, 16] [1, 1] : tensor<24x32xf32> to tensor<8x16xf32>
      %2 = chimera.block "gemm0" ins(%as, %bs : tensor<8x6xf32>, tensor<6x16xf32>)
          outs(%cs : tensor<8x16xf32>) extents [[8], [16], [6]]
          registers <rows = 4, vectors = 1, broadcasts = 1, depth = 2> packed [1]
          prefetch <loops = fixed> {
      ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x16xf32>, %z: tensor<8x16xf32>):
        %zero = arith.constant 0.0 : f32
        %3 = linalg.fill ins(%zero : f32) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
        %4 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x16xf32>) outs(%3 : tensor<8x16xf32>) -> tensor<8x16xf32>
        chimera.yield %4 : tensor<8x16xf32>
      } -> tensor<8x16xf32>
      %5 = tensor.insert_slice %2 into %cm[%m, %l] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<24x32xf32>
      scf.yield %5 : tensor<24x32xf32>
    }
    scf.yield %1 : tensor<24x32xf32>
  }
  return %0 : tensor<24x32xf32>
}

// -----

// An operand whose rows run along the reduction has to be transposed, asked for
// or not; the kernel then reads the copy with another map.

// CHECK-DAG:   #[[$T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG:   #[[$I:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func @transposed
// CHECK:         %[[BUFFER:.*]] = tensor.empty() : tensor<6x16xf32>
// CHECK:         chimera.micro_kernel pack ins(%{{.*}} : tensor<16x6xf32>) outs(%[[BUFFER]] : tensor<6x16xf32>) maps [#[[$T]], #[[$I]]]
// CHECK:         chimera.micro_kernel contraction ins
// CHECK-SAME:      maps [#{{.*}}, #[[$KN]], #{{.*}}]
func.func @transposed(%a: tensor<8x6xf32>, %b: tensor<16x6xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<16x6xf32>)
      outs(%c : tensor<8x16xf32>) extents [[8], [16], [6]] {
  ^bb0(%x: tensor<8x6xf32>, %y: tensor<16x6xf32>, %z: tensor<8x16xf32>):
    %1 = linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<8x6xf32>, tensor<16x6xf32>) outs(%z : tensor<8x16xf32>) {
    ^bb0(%p: f32, %q: f32, %r: f32):
      %2 = arith.mulf %p, %q : f32
      %3 = arith.addf %r, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Rows of 77 elements end within a cache line: those of the copy take 80, so
// that no vector lies in two lines. Rows of 17 would become twice as long.

// CHECK-LABEL: func @aligned
// CHECK-DAG:     %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<6x80xf32>
// CHECK-DAG:     %[[SHORT:.*]] = tensor.empty() : tensor<6x17xf32>
// CHECK:         %[[CUT:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [6, 77] [1, 1]
// CHECK:         chimera.micro_kernel pack ins(%{{.*}} : tensor<77x6xf32>) outs(%[[CUT]] : tensor<6x77xf32>)
// CHECK:         chimera.micro_kernel pack ins(%{{.*}} : tensor<17x6xf32>) outs(%[[SHORT]] : tensor<6x17xf32>)
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @aligned(%a: tensor<8x6xf32>, %b: tensor<77x6xf32>, %c: tensor<8x77xf32>, %d: tensor<17x6xf32>, %e: tensor<8x17xf32>) -> (tensor<8x77xf32>, tensor<8x17xf32>) {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<77x6xf32>)
      outs(%c : tensor<8x77xf32>) extents [[8], [77], [6]] {
  ^bb0(%x: tensor<8x6xf32>, %y: tensor<77x6xf32>, %z: tensor<8x77xf32>):
    %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %y : tensor<8x6xf32>, tensor<77x6xf32>) outs(%z : tensor<8x77xf32>) -> tensor<8x77xf32>
    chimera.yield %2 : tensor<8x77xf32>
  } -> tensor<8x77xf32>
  %1 = chimera.block "gemm0" ins(%a, %d : tensor<8x6xf32>, tensor<17x6xf32>)
      outs(%e : tensor<8x17xf32>) extents [[8], [17], [6]] {
  ^bb0(%x: tensor<8x6xf32>, %y: tensor<17x6xf32>, %z: tensor<8x17xf32>):
    %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %y : tensor<8x6xf32>, tensor<17x6xf32>) outs(%z : tensor<8x17xf32>) -> tensor<8x17xf32>
    chimera.yield %2 : tensor<8x17xf32>
  } -> tensor<8x17xf32>
  return %0, %1 : tensor<8x77xf32>, tensor<8x17xf32>
}

// -----

// Where lines have 128 bytes, rows of 77 elements take 96.

// CHECK-LABEL: func @aligned_to_long_lines
// CHECK-DAG:     %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<6x96xf32>
// CHECK:         %[[CUT:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [6, 77] [1, 1]
// CHECK:         chimera.micro_kernel pack ins(%{{.*}} : tensor<77x6xf32>) outs(%[[CUT]] : tensor<6x77xf32>)
module attributes {chimera.target = #chimera.target<"long-lines", cores = 1,
    unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1, latency = 4, clock = 4000000000>,
    levels = [<"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000, chip_bandwidth = 90000000000, sharers = 1, line = 128, ways = 8>]>} {
  func.func @aligned_to_long_lines(%a: tensor<8x6xf32>, %b: tensor<77x6xf32>, %c: tensor<8x77xf32>) -> tensor<8x77xf32> {
    %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<77x6xf32>)
        outs(%c : tensor<8x77xf32>) extents [[8], [77], [6]] {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<77x6xf32>, %z: tensor<8x77xf32>):
      %2 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %y : tensor<8x6xf32>, tensor<77x6xf32>) outs(%z : tensor<8x77xf32>) -> tensor<8x77xf32>
      chimera.yield %2 : tensor<8x77xf32>
    } -> tensor<8x77xf32>
    return %0 : tensor<8x77xf32>
  }
}

// -----

// The last tile of rows has fewer, so the loop inside has trips that vary. Where
// blocks ask in any loops, a tile of it takes its share of the most trips.

// CHECK-LABEL: func @varying
// CHECK-NOT:     chimera.prefetch
// CHECK:         chimera.micro_kernel contraction
// SILENT-LABEL: func @varying
// ANY-LABEL:   func @varying
// ANY:           chimera.micro_kernel pack
// ANY:           chimera.prefetch %{{.*}} within [3, 16]
// ANY-NEXT:      chimera.micro_kernel contraction
func.func @varying(%b: tensor<6x32xf32>, %a: tensor<16x6xf32>, %c: tensor<16x32xf32>, %rows: index) -> tensor<16x32xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %end = affine.min affine_map<()[s0] -> (s0, 16)>()[%rows]
  %0 = scf.for %l = %c0 to %c32 step %c16 iter_args(%cl = %c) -> (tensor<16x32xf32>) {
    %1 = scf.for %m = %c0 to %end step %c8 iter_args(%cm = %cl) -> (tensor<16x32xf32>) {
      %as = tensor.extract_slice %a[%m, 0] [8, 6] [1, 1] : tensor<16x6xf32> to tensor<8x6xf32>
      %bs = tensor.extract_slice %b[0, %l] [6, 16] [1, 1] : tensor<6x32xf32> to tensor<6x16xf32>
      %cs = tensor.extract_slice %cm[%m, %l] [8, 16] [1, 1] : tensor<16x32xf32> to tensor<8x16xf32>
      %2 = chimera.block "gemm0" ins(%as, %bs : tensor<8x6xf32>, tensor<6x16xf32>)
          outs(%cs : tensor<8x16xf32>) extents [[8], [16], [6]]
          registers <rows = 4, vectors = 1, broadcasts = 1, depth = 2> packed [1]
          prefetch <loops = fixed> {
      ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x16xf32>, %z: tensor<8x16xf32>):
        %4 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
        chimera.yield %4 : tensor<8x16xf32>
      } -> tensor<8x16xf32>
      %5 = tensor.insert_slice %2 into %cm[%m, %l] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<16x32xf32>
      scf.yield %5 : tensor<16x32xf32>
    }
    scf.yield %1 : tensor<16x32xf32>
  }
  return %0 : tensor<16x32xf32>
}

// -----

// Two tiles of rows use a tile of what lies outside of all loops: the kernel asks
// for the next one meanwhile.

// CHECK-LABEL: func @in_place
// CHECK:         %[[NEXT:.*]] = arith.select
// CHECK:         %[[TILE:.*]] = tensor.extract_slice %{{.*}}[0, %[[NEXT]]] [6, 16]
// CHECK-NEXT:    chimera.prefetch %[[TILE]] within [6, 16]
// CHECK-NEXT:    chimera.micro_kernel contraction
func.func @in_place(%b: tensor<6x32xf32>, %a: tensor<8x6xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %0 = scf.for %l = %c0 to %c32 step %c16 iter_args(%cl = %c) -> (tensor<8x32xf32>) {
    %bs = tensor.extract_slice %b[0, %l] [6, 16] [1, 1] : tensor<6x32xf32> to tensor<6x16xf32>
    %cs = tensor.extract_slice %cl[0, %l] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
    %1 = chimera.block "gemm0" ins(%a, %bs : tensor<8x6xf32>, tensor<6x16xf32>)
        outs(%cs : tensor<8x16xf32>) extents [[8], [16], [6]]
        registers <rows = 4, vectors = 1, broadcasts = 1, depth = 2>
        prefetch <part = 384, loops = fixed> {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x16xf32>, %z: tensor<8x16xf32>):
      %2 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
      chimera.yield %2 : tensor<8x16xf32>
    } -> tensor<8x16xf32>
    %3 = tensor.insert_slice %1 into %cl[0, %l] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
    scf.yield %3 : tensor<8x32xf32>
  }
  return %0 : tensor<8x32xf32>
}

// -----

// A kernel of one tile of rows asks for what it reads next by itself.

// CHECK-LABEL: func @one_tile
// CHECK-NOT:     chimera.prefetch
// CHECK:         return
func.func @one_tile(%b: tensor<6x32xf32>, %a: tensor<8x6xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %0 = scf.for %l = %c0 to %c32 step %c16 iter_args(%cl = %c) -> (tensor<8x32xf32>) {
    %bs = tensor.extract_slice %b[0, %l] [6, 16] [1, 1] : tensor<6x32xf32> to tensor<6x16xf32>
    %cs = tensor.extract_slice %cl[0, %l] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
    %1 = chimera.block "gemm0" ins(%a, %bs : tensor<8x6xf32>, tensor<6x16xf32>)
        outs(%cs : tensor<8x16xf32>) extents [[8], [16], [6]]
        registers <rows = 8, vectors = 1, broadcasts = 1, depth = 2>
        prefetch <part = 384, loops = fixed> {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x16xf32>, %z: tensor<8x16xf32>):
      %2 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
      chimera.yield %2 : tensor<8x16xf32>
    } -> tensor<8x16xf32>
    %3 = tensor.insert_slice %1 into %cl[0, %l] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x32xf32>
    scf.yield %3 : tensor<8x32xf32>
  }
  return %0 : tensor<8x32xf32>
}

// -----

// A fill is an elementwise kernel with a constant body; constants of a body
// move into the kernel.

// CHECK-LABEL: func @elementwise
// CHECK:         %[[F:.*]] = chimera.micro_kernel elementwise outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:           %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           chimera.yield %[[ZERO]]
// CHECK:         chimera.micro_kernel elementwise ins(%{{.*}} : tensor<16xf32>) outs(%[[F]] : tensor<8x16xf32>)
// CHECK:           %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:           arith.mulf %{{.*}}, %[[TWO]]
func.func @elementwise(%bias: tensor<16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = chimera.block "gemm0" outs(%c : tensor<8x16xf32>) extents [[8], [16]] {
  ^bb0(%z: tensor<8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %1 = linalg.fill ins(%zero : f32) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
    chimera.yield %1 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  %2 = chimera.block "gemm0" ins(%bias : tensor<16xf32>) outs(%0 : tensor<8x16xf32>) extents [[8], [16]] {
  ^bb0(%x: tensor<16xf32>, %z: tensor<8x16xf32>):
    %two = arith.constant 2.0 : f32
    %3 = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<16xf32>) outs(%z : tensor<8x16xf32>) {
    ^bb0(%p: f32, %q: f32):
      %4 = arith.addf %p, %q : f32
      %5 = arith.mulf %4, %two : f32
      linalg.yield %5 : f32
    } -> tensor<8x16xf32>
    chimera.yield %3 : tensor<8x16xf32>
  } -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// A body knows where it is.

// CHECK-LABEL: func @indexed
// CHECK:         chimera.micro_kernel elementwise
// CHECK:           %[[I:.*]] = chimera.index 0
// CHECK:           arith.index_cast %[[I]] : index to i32
func.func @indexed(%c: tensor<8xf32>) -> tensor<8xf32> {
  %0 = chimera.block "gemm0" outs(%c : tensor<8xf32>) {
  ^bb0(%z: tensor<8xf32>):
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        outs(%z : tensor<8xf32>) {
    ^bb0(%p: f32):
      %2 = linalg.index 0 : index
      %3 = arith.index_cast %2 : index to i32
      %4 = arith.sitofp %3 : i32 to f32
      linalg.yield %4 : f32
    } -> tensor<8xf32>
    chimera.yield %1 : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One pass over a tile writes exponentials and adds them up.

// CHECK-LABEL: func @two_outputs
// CHECK:         %[[R:.*]]:2 = chimera.micro_kernel reduction
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
// CHECK-SAME:      iterators ["parallel", "reduction"]
// CHECK:           chimera.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @two_outputs(%x: tensor<4x8xf32>, %sum: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0:2 = chimera.block "gemm0" outs(%x, %sum : tensor<4x8xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xf32>):
    %1:2 = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        outs(%a, %b : tensor<4x8xf32>, tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32):
      %2 = math.exp %p : f32
      %3 = arith.addf %q, %2 : f32
      linalg.yield %2, %3 : f32, f32
    } -> (tensor<4x8xf32>, tensor<4xf32>)
    chimera.yield %1#0, %1#1 : tensor<4x8xf32>, tensor<4xf32>
  } -> tensor<4x8xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// Two products in one loop: while the first is computed, its kernels ask for
// what the second one reads that is new, and those of the second for what the
// first will read in the next iteration. What stays the same is there already,
// and what the first product makes is not asked for. The tile of %d has 2048
// bytes, that of %a has 1536; what is more than the blocks allow is not asked for.

// LESS-LABEL:  func @parts
// LESS-NOT:      chimera.prefetch
// LESS:          chimera.micro_kernel contraction overwrite
// LESS:          chimera.prefetch %{{.*}} within [1, 8, 16]
// LESS-NEXT:     chimera.micro_kernel contraction

// CHECK-LABEL: func @parts
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3x24x16xf32>, %{{.*}}: tensor<16x32xf32>, %[[D:[a-z0-9]+]]: tensor<3x32x16xf32>
// CHECK:         scf.forall (%[[I:.*]]) in (3)
// CHECK:           %[[TILE:.*]] = tensor.extract_slice %[[D]][%[[I]], 0, 0]
// CHECK:           scf.for %[[M:[^ ]*]] =
// CHECK:             %[[PART:.*]] = tensor.extract_slice %{{.*}}[0, %{{.*}}, 0] [1, %{{.*}}, 16]
// CHECK-NEXT:        chimera.prefetch %[[PART]] within [1, 11, 16]
// CHECK-NEXT:        chimera.micro_kernel contraction overwrite
// CHECK:           %[[MORE:.*]] = arith.addi %[[I]]
// CHECK:           %[[IS_LEFT:.*]] = arith.cmpi slt, %[[MORE]]
// CHECK:           %[[NEXT:.*]] = arith.select %[[IS_LEFT]], %[[MORE]], %[[I]]
// CHECK:           %[[AHEAD:.*]] = tensor.extract_slice %[[A]][%[[NEXT]], 0, 0] [1, 24, 16]
// CHECK:           scf.for
// CHECK:             tensor.extract_slice %[[AHEAD]]
// CHECK-NEXT:        chimera.prefetch %{{.*}} within [1, 8, 16]
// CHECK-NEXT:        chimera.micro_kernel contraction
// CHECK-NOT:     chimera.prefetch
func.func @parts(%a: tensor<3x24x16xf32>, %b: tensor<16x32xf32>, %d: tensor<3x32x16xf32>, %e: tensor<3x24x16xf32>) -> tensor<3x24x16xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %s = bufferization.alloc_tensor() : tensor<24x32xf32>
  %0 = scf.forall (%i) in (3) shared_outs(%all = %e) -> (tensor<3x24x16xf32>) {
    %at = tensor.extract_slice %a[%i, 0, 0] [1, 24, 16] [1, 1, 1] : tensor<3x24x16xf32> to tensor<1x24x16xf32>
    %dt = tensor.extract_slice %d[%i, 0, 0] [1, 32, 16] [1, 1, 1] : tensor<3x32x16xf32> to tensor<1x32x16xf32>
    %et = tensor.extract_slice %all[%i, 0, 0] [1, 24, 16] [1, 1, 1] : tensor<3x24x16xf32> to tensor<1x24x16xf32>
    %1 = scf.for %m = %c0 to %c24 step %c8 iter_args(%sm = %s) -> (tensor<24x32xf32>) {
      %as = tensor.extract_slice %at[0, %m, 0] [1, 8, 16] [1, 1, 1] : tensor<1x24x16xf32> to tensor<1x8x16xf32>
      %ss = tensor.extract_slice %sm[%m, 0] [8, 32] [1, 1] : tensor<24x32xf32> to tensor<8x32xf32>
      %2 = chimera.block "gemm0" ins(%as, %b : tensor<1x8x16xf32>, tensor<16x32xf32>)
          outs(%ss : tensor<8x32xf32>) extents [[1], [8], [32], [16]]
          registers <rows = 4, vectors = 2, broadcasts = 1, depth = 2>
          prefetch <part = 2048> {
      ^bb0(%x: tensor<1x8x16xf32>, %y: tensor<16x32xf32>, %z: tensor<8x32xf32>):
        %zero = arith.constant 0.0 : f32
        %3 = linalg.fill ins(%zero : f32) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
        %4 = linalg.generic {
            indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (m, n)>],
            iterator_types = ["reduction", "parallel", "parallel", "reduction"]}
            ins(%x, %y : tensor<1x8x16xf32>, tensor<16x32xf32>) outs(%3 : tensor<8x32xf32>) {
        ^bb0(%p: f32, %q: f32, %r: f32):
          %5 = arith.mulf %p, %q : f32
          %6 = arith.addf %r, %5 : f32
          linalg.yield %6 : f32
        } -> tensor<8x32xf32>
        chimera.yield %4 : tensor<8x32xf32>
      } -> tensor<8x32xf32>
      %7 = tensor.insert_slice %2 into %sm[%m, 0] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<24x32xf32>
      scf.yield %7 : tensor<24x32xf32>
    }
    %8 = scf.for %m = %c0 to %c24 step %c8 iter_args(%em = %et) -> (tensor<1x24x16xf32>) {
      %ss = tensor.extract_slice %1[%m, 0] [8, 32] [1, 1] : tensor<24x32xf32> to tensor<8x32xf32>
      %es = tensor.extract_slice %em[0, %m, 0] [1, 8, 16] [1, 1, 1] : tensor<1x24x16xf32> to tensor<1x8x16xf32>
      %9 = chimera.block "gemm1" ins(%ss, %dt : tensor<8x32xf32>, tensor<1x32x16xf32>)
          outs(%es : tensor<1x8x16xf32>) extents [[1], [8], [16], [32]]
          registers <rows = 4, vectors = 1, broadcasts = 1, depth = 2>
          prefetch <part = 2048> {
      ^bb0(%x: tensor<8x32xf32>, %y: tensor<1x32x16xf32>, %z: tensor<1x8x16xf32>):
        %10 = linalg.generic {
            indexing_maps = [affine_map<(b, m, n, k) -> (m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
            iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
            ins(%x, %y : tensor<8x32xf32>, tensor<1x32x16xf32>) outs(%z : tensor<1x8x16xf32>) {
        ^bb0(%p: f32, %q: f32, %r: f32):
          %11 = arith.mulf %p, %q : f32
          %12 = arith.addf %r, %11 : f32
          linalg.yield %12 : f32
        } -> tensor<1x8x16xf32>
        chimera.yield %10 : tensor<1x8x16xf32>
      } -> tensor<1x8x16xf32>
      %13 = tensor.insert_slice %9 into %em[0, %m, 0] [1, 8, 16] [1, 1, 1] : tensor<1x8x16xf32> into tensor<1x24x16xf32>
      scf.yield %13 : tensor<1x24x16xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %8 into %all[%i, 0, 0] [1, 24, 16] [1, 1, 1] : tensor<1x24x16xf32> into tensor<3x24x16xf32>
    }
  }
  return %0 : tensor<3x24x16xf32>
}
