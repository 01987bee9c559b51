// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-lower-micro-kernels --remarks-filter=chimera --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// 5 rows on a tile of 3 split evenly into 3 and 2, not 3 and 1 + 1; 24 columns
// are one full and one masked vector; the accumulators start from zero; two
// steps of the reduction per iteration, and one after the loop.

// CHECK-LABEL: func @edges
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:           memref.load
// CHECK:           vector.broadcast
// CHECK:           vector.load
// CHECK:           vector.fma
// CHECK:           %[[MASK:.*]] = vector.create_mask
// CHECK:           vector.maskedload %{{.*}}, %[[MASK]]
// CHECK-COUNT-11:  vector.fma
// CHECK:           scf.yield
// CHECK-COUNT-6: vector.fma
// CHECK:         vector.store
// CHECK:         vector.maskedstore
// CHECK:         %{{.*}}:4 = scf.for
// CHECK-NOT:     memref.load {{.*}} : memref<5x24xf32>
func.func @edges(%a: memref<5x7xf32>, %b: memref<7x24xf32>, %c: memref<5x24xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<5x7xf32>, memref<7x24xf32>) outs(%c : memref<5x24xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 3, vectors = 2, broadcasts = 1, depth = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// A size known at run time only: code for each listed extent, and the naive
// semantics for any other.

// CHECK-LABEL: func @specialised
// CHECK-DAG:     %[[DIM:.*]] = memref.dim
// CHECK:         arith.cmpi eq, %[[DIM]], %c4
// CHECK:         scf.if
// CHECK-COUNT-4:   vector.fma
// CHECK:         } else {
// CHECK:           arith.cmpi eq, %[[DIM]], %c1
// CHECK:           scf.if
// CHECK:             vector.fma
// CHECK:           } else {
// CHECK-NOT:         vector.fma
// CHECK:             linalg.generic
func.func @specialised(%a: memref<?x8xf32>, %b: memref<8x16xf32>, %c: memref<?x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<?x8xf32>, memref<8x16xf32>) outs(%c : memref<?x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[4, 1], [16], [8]]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// The vector operand is not contiguous along the output's last dimension:
// naive, and said so.

// CHECK-LABEL: func @strided
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @strided(%a: memref<8x8xf32>, %b: memref<16x8xf32>, %c: memref<8x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<8x8xf32>, memref<16x8xf32>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Without an implementation, an overwriting contraction starts from a fill.

// CHECK-LABEL: func @naive
// CHECK:         linalg.fill
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}has no implementation
func.func @naive(%a: memref<4x8xf64>, %b: memref<8x16xf64>, %c: memref<4x16xf64>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<4x8xf64>, memref<8x16xf64>) outs(%c : memref<4x16xf64>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %0 = arith.mulf %x, %y : f64
    %1 = arith.addf %z, %0 : f64
    chimera.yield %1 : f64
  }
  return
}

// -----

// One row, and a matrix contiguous along the reduction: vectors run along it,
// for several columns at a time, whose lanes are combined together. They are
// from two parts of the matrix by turns, of 16 columns each, and are asked for
// four columns ahead; the last four columns come after the loop. Each column is
// read to its end before the next.

// CHECK-LABEL: func @inner
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %[[COLUMN:.*]] = %{{.*}} to %[[C16]] step %[[C8]]
// CHECK:           vector.load %{{.*}}[%[[COLUMN]], %{{.*}}] : memref<36x64xf32>, vector<16xf32>
// CHECK-NEXT:      %[[AHEAD:.*]] = arith.addi %[[COLUMN]], %{{.*}}
// CHECK-NEXT:      memref.prefetch %{{.*}}[%[[AHEAD]], %{{.*}}], read, locality<3>, data : memref<36x64xf32>
// CHECK-COUNT-4:   vector.fma
// CHECK-NEXT:      llvm.fence syncscope("singlethread") seq_cst
// CHECK:           %[[FAR:.*]] = arith.addi %[[COLUMN]], %[[C16]]
// CHECK-NEXT:      vector.load %{{.*}}[%[[FAR]], %{{.*}}] : memref<36x64xf32>, vector<16xf32>
// CHECK:           vector.shuffle
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:           %[[NEAR:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [8], strides = [1]}
// CHECK:           vector.store %[[NEAR]], %{{.*}}[%{{.*}}, %[[COLUMN]]]
// CHECK:           vector.extract_strided_slice %{{.*}} {offsets = [8], sizes = [8], strides = [1]}
// CHECK:           vector.store %{{.*}} : memref<1x36xf32>, vector<8xf32>
// CHECK:         vector.store %{{.*}} : memref<1x36xf32>, vector<4xf32>
func.func @inner(%a: memref<1x64xf32>, %b: memref<36x64xf32>, %c: memref<1x36xf32>) {
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<1x64xf32>, memref<36x64xf32>) outs(%c : memref<1x36xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 4>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// One row reads two halves of a long and narrow matrix by turns.

// CHECK-LABEL: func @turns
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C48:.*]] = arith.constant 48 : index
// CHECK:         %[[SUM:.*]] = scf.for %[[STEP:.*]] = %{{.*}} to %[[C48]] step %[[C2]]
// CHECK:           vector.load %{{.*}}[%[[STEP]], %{{.*}}] : memref<96x16xf32>, vector<16xf32>
// CHECK:           memref.prefetch %{{.*}}, read, locality<3>, data : memref<96x16xf32>
// CHECK:           vector.fma
// CHECK:           %[[FAR:.*]] = arith.addi %[[STEP]], %[[C48]]
// CHECK:           vector.load %{{.*}}[%[[FAR]], %{{.*}}] : memref<96x16xf32>, vector<16xf32>
// CHECK-COUNT-3:   vector.fma
// CHECK:           scf.yield
// CHECK:         vector.store
func.func @turns(%a: memref<1x96xf32>, %b: memref<96x16xf32>, %c: memref<1x16xf32>) {
  chimera.micro_kernel contraction ins(%a, %b : memref<1x96xf32>, memref<96x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 4>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// A matrix that is read for one tile of rows is asked for early, into the level
// that the target wants.

// CHECK-LABEL: func @ahead
// CHECK:         scf.for
// CHECK:           memref.prefetch %{{.*}}, read, locality<3>, data : memref<64x64xf32>
// CHECK:           vector.fma
func.func @ahead(%a: memref<4x64xf32>, %b: memref<64x64xf32>, %c: memref<4x64xf32>) {
  chimera.micro_kernel contraction ins(%a, %b : memref<4x64xf32>, memref<64x64xf32>) outs(%c : memref<4x64xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 4>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func @second_level
// CHECK:         scf.for
// CHECK:           memref.prefetch %{{.*}}, read, locality<2>, data : memref<64x64xf32>
// CHECK:           vector.fma
func.func @second_level(%a: memref<4x64xf32>, %b: memref<64x64xf32>, %c: memref<4x64xf32>) {
  chimera.micro_kernel contraction ins(%a, %b : memref<4x64xf32>, memref<64x64xf32>) outs(%c : memref<4x64xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 4>,
        tuning = <ahead = 64, fetch_level = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// Other tiles of rows would ask for it again.

// CHECK-LABEL: func @more_tiles
// CHECK-NOT:     memref.prefetch
// CHECK:         return
func.func @more_tiles(%a: memref<8x64xf32>, %b: memref<64x64xf32>, %c: memref<8x64xf32>) {
  chimera.micro_kernel contraction ins(%a, %b : memref<8x64xf32>, memref<64x64xf32>) outs(%c : memref<8x64xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 4>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Two register tiles of four rows share 8 rows of two lines: each asks for one
// column of lines, two rows in every iteration of two steps. A hint without a
// contraction after it has no effect.

// CHECK-LABEL: func @prefetch
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<8x32xf32, strided<[64, 1]>>
// CHECK:         scf.for %[[ROW:[a-z0-9]+]] =
// CHECK:           scf.for %[[K:[a-z0-9]+]] =
// CHECK:             %[[TILE:.*]] = arith.divui %[[ROW]], %c4
// CHECK:             %[[COLUMN:.*]] = arith.muli %{{.*}}, %c16
// CHECK:             memref.prefetch %[[NEXT]][%[[FIRST:.*]], %[[COLUMN]]], read, locality<2>, data
// CHECK:             %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK:             memref.prefetch %[[NEXT]][%[[SECOND]], %{{.*}}], read, locality<2>, data
// CHECK-NOT:         memref.prefetch
// CHECK-COUNT-8:     vector.fma
// CHECK-NOT:     prefetch
func.func @prefetch(%next: memref<8x32xf32, strided<[64, 1]>>, %a: memref<8x8xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>) {
  chimera.prefetch %next within [8, 32] : memref<8x32xf32, strided<[64, 1]>>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<8x8xf32>, memref<8x16xf32>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  chimera.prefetch %next within [8, 32] : memref<8x32xf32, strided<[64, 1]>>
  return
}

// -----

// A convolution fetches in each iteration over its taps what belongs to the same
// tap of the next filter: two lines, one in each step.

// CHECK-LABEL: func @prefetch_taps
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<3x2x16xf32, strided<[64, 16, 1]>>
// CHECK:         scf.for %[[TAP:[a-z0-9]+]] = %c0 to %c3
// CHECK:           scf.for %[[C:[a-z0-9]+]] = %c0 to %c2
// CHECK:             memref.prefetch %[[NEXT]][%[[TAP]], %c0, %{{.*}}], read, locality<2>, data
// CHECK-NOT:         memref.prefetch
// CHECK-COUNT-8:     vector.fma
// CHECK-NOT:     prefetch
func.func @prefetch_taps(%next: memref<3x2x16xf32, strided<[64, 16, 1]>>, %a: memref<8x3x2xf32>, %b: memref<3x2x16xf32>, %c: memref<8x16xf32>) {
  chimera.prefetch %next within [3, 2, 16] : memref<3x2x16xf32, strided<[64, 16, 1]>>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<8x3x2xf32>, memref<3x2x16xf32>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(w, f, s, c) -> (w, s, c)>, affine_map<(w, f, s, c) -> (s, c, f)>, affine_map<(w, f, s, c) -> (w, f)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 8, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// The next tile has no part for each tap: all iterations share its rows, of which
// each fetches one.

// CHECK-LABEL: func @prefetch_in_all_taps
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<6x16xf32, strided<[64, 1]>>
// CHECK:         scf.for %[[TAP:[a-z0-9]+]] = %c0 to %c3
// CHECK:           scf.for %[[C:[a-z0-9]+]] = %c0 to %c2
// CHECK:             %[[BEFORE:.*]] = arith.muli %[[TAP]], %c2
// CHECK:             %[[ROW:.*]] = arith.addi %[[BEFORE]], %[[C]]
// CHECK:             memref.prefetch %[[NEXT]][%[[ROW]], %{{.*}}], read, locality<2>, data
// CHECK-NOT:         memref.prefetch
// CHECK-COUNT-8:     vector.fma
// CHECK-NOT:     prefetch
func.func @prefetch_in_all_taps(%next: memref<6x16xf32, strided<[64, 1]>>, %a: memref<8x3x2xf32>, %b: memref<3x2x16xf32>, %c: memref<8x16xf32>) {
  chimera.prefetch %next within [6, 16] : memref<6x16xf32, strided<[64, 1]>>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<8x3x2xf32>, memref<3x2x16xf32>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(w, f, s, c) -> (w, s, c)>, affine_map<(w, f, s, c) -> (s, c, f)>, affine_map<(w, f, s, c) -> (w, f)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 8, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Tiles at the edge, of which there are few, have no code for it.

// CHECK-LABEL: func @edge
// CHECK:         %[[WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c8
// CHECK:         scf.if %[[WHOLE]]
// CHECK:           memref.prefetch
// CHECK:         %[[EDGE:.*]] = arith.cmpi eq, %{{.*}}, %c5
// CHECK:         scf.if %[[EDGE]]
// CHECK-NOT:       memref.prefetch
// CHECK:           vector.fma
// CHECK-NOT:     prefetch
func.func @edge(%next: memref<8x32xf32, strided<[64, 1]>>, %a: memref<?x8xf32>, %b: memref<8x16xf32>, %c: memref<?x16xf32>) {
  chimera.prefetch %next within [8, 32] : memref<8x32xf32, strided<[64, 1]>>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<?x8xf32>, memref<8x16xf32>) outs(%c : memref<?x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[8, 5], [16], [8]]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// The same without gaps between rows: lines are numbered through, and each tile
// asks for two in every iteration.

// CHECK-LABEL: func @prefetch_lines
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<8x32xf32>
// CHECK:         scf.for %[[ROW:[a-z0-9]+]] =
// CHECK:           scf.for %[[K:[a-z0-9]+]] =
// CHECK:             %[[ITERATION:.*]] = arith.divui %[[K]], %c2
// CHECK:             %[[TILE:.*]] = arith.divui %[[ROW]], %c4
// CHECK:             %[[BEFORE:.*]] = arith.muli %[[TILE]], %c4
// CHECK:             %[[NUMBER:.*]] = arith.addi %[[BEFORE]], %[[ITERATION]]
// CHECK:             %[[LINE:.*]] = arith.muli %[[NUMBER]], %c2
// CHECK:             %[[FIRST:.*]] = arith.muli %[[LINE]], %c16
// CHECK:             memref.prefetch %[[NEXT]][%c0{{.*}}, %[[FIRST]]], read, locality<2>, data
// CHECK:             memref.prefetch %[[NEXT]][%c0{{.*}}, %{{.*}}], read, locality<2>, data
// CHECK-NOT:         memref.prefetch
// CHECK-COUNT-8:     vector.fma
func.func @prefetch_lines(%next: memref<8x32xf32>, %a: memref<8x8xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>) {
  chimera.prefetch %next within [8, 32] : memref<8x32xf32>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<8x8xf32>, memref<8x16xf32>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Three register tiles cannot share two columns of lines: line i is in row i / 2.

// CHECK-LABEL: func @prefetch_by_three
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<24x32xf32, strided<[64, 1]>>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             %[[NUMBER:.*]] = arith.addi
// CHECK:             %[[LINE:.*]] = arith.muli %[[NUMBER]], %c4
// CHECK:             %[[ROW:.*]] = arith.divui %[[LINE]], %c2
// CHECK:             %[[PLACE:.*]] = arith.remui %[[LINE]], %c2
// CHECK:             %[[COLUMN:.*]] = arith.muli %[[PLACE]], %c16
// CHECK:             memref.prefetch %[[NEXT]][%[[ROW]], %[[COLUMN]]], read, locality<2>, data
// CHECK-COUNT-3:     memref.prefetch
// CHECK-NOT:         memref.prefetch
// CHECK-COUNT-8:     vector.fma
func.func @prefetch_by_three(%next: memref<24x32xf32, strided<[64, 1]>>, %a: memref<12x8xf32>, %b: memref<8x16xf32>, %c: memref<12x16xf32>) {
  chimera.prefetch %next within [24, 32] : memref<24x32xf32, strided<[64, 1]>>
  chimera.micro_kernel contraction overwrite ins(%a, %b : memref<12x8xf32>, memref<8x16xf32>) outs(%c : memref<12x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 2>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Factors narrower than the sum are widened when they are loaded. The two halves
// of a lane into which an element of bf16 goes are that element each, and the
// upper one is it in f32.

// CHECK-LABEL: func @narrow_factors
// CHECK-SAME:    %[[A:.*]]: memref<8x8xbf16>, %[[B:.*]]: memref<8x16xbf16>
// CHECK-DAG:     %[[SHIFT:.*]] = arith.constant dense<16> : vector<16xi32>
// CHECK:         %[[ELEMENT:.*]] = memref.load %[[A]]
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[ELEMENT]] : bf16 to i16
// CHECK:         %[[HALVES:.*]] = vector.broadcast %[[BITS]] : i16 to vector<32xi16>
// CHECK:         %[[WORDS:.*]] = vector.bitcast %[[HALVES]] : vector<32xi16> to vector<16xi32>
// CHECK:         %[[UPPER:.*]] = arith.shli %[[WORDS]], %[[SHIFT]]
// CHECK:         %[[WIDE:.*]] = arith.bitcast %[[UPPER]] : vector<16xi32> to vector<16xf32>
// CHECK:         vector.load %[[B]]{{.*}} vector<16xbf16>
// CHECK-NOT:     arith.extf
// CHECK:         vector.fma %[[WIDE]]
func.func @narrow_factors(%a: memref<8x8xbf16>, %b: memref<8x16xbf16>, %c: memref<8x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<8x8xbf16>, memref<8x16xbf16>) outs(%c : memref<8x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    chimera.yield %3 : f32
  }
  return
}

// -----

// A window of three taps and 20 channels: eight channels of each tap, eight
// more, and the last four, in one order whatever the tile of the channels is.

// CHECK-LABEL: func @window
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %[[PART:.*]] = %{{.*}} to %[[C16]] step %[[C8]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[C3]] step %[[C1]]
// CHECK:             scf.for %[[STEP:.*]] = %{{.*}} to %[[C8]] step %[[C4]]
// CHECK:               arith.addi %[[PART]], %[[STEP]]
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[C3]] step %[[C1]]
// CHECK-NOT:       scf.for
// CHECK-COUNT-4:   vector.fma
// CHECK:         vector.store
func.func @window(%a: memref<1x3x20xf32>, %b: memref<3x20x16xf32>, %c: memref<1x16xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<1x3x20xf32>, memref<3x20x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, r, k) -> (m, r, k)>, affine_map<(m, n, r, k) -> (r, k, n)>, affine_map<(m, n, r, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 4>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// The same with parts of 16 channels.

// CHECK-LABEL: func @window_of_long_parts
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[C3]] step %[[C1]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[C16]] step %[[C4]]
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[C3]] step %[[C1]]
// CHECK-NOT:       scf.for
// CHECK-COUNT-4:   vector.fma
// CHECK:         vector.store
func.func @window_of_long_parts(%a: memref<1x3x20xf32>, %b: memref<3x20x16xf32>, %c: memref<1x16xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<1x3x20xf32>, memref<3x20x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, r, k) -> (m, r, k)>, affine_map<(m, n, r, k) -> (r, k, n)>, affine_map<(m, n, r, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 4, part = 16>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// Nine pixels of a row with a padding of one, and windows of three taps: the
// first tap adds nothing to the first pixel, the last one nothing to the last.
// Rows of taps are as many as there are when the code runs.

// CHECK-LABEL: func @taps
// CHECK:         %[[ROWS:.*]] = memref.dim
// CHECK:         %{{.*}}:9 = scf.for %{{.*}} = %c0 to %[[ROWS]] step %c1
// CHECK-NOT:       vector.fma
// CHECK:           %{{.*}}:8 = scf.for
// CHECK-COUNT-8:     vector.fma
// CHECK-NOT:         vector.fma
// CHECK:           %{{.*}}:9 = scf.for
// CHECK-COUNT-9:     vector.fma
// CHECK-NOT:         vector.fma
// CHECK:           %{{.*}}:8 = scf.for
// CHECK-COUNT-8:     vector.fma
// CHECK-NOT:         vector.fma
// CHECK:         vector.store
func.func @taps(%x: memref<?x9x3x2xf32>, %w: memref<?x3x2x16xf32>, %y: memref<9x16xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%x, %w : memref<?x9x3x2xf32>, memref<?x3x2x16xf32>) outs(%y : memref<9x16xf32>)
      maps [affine_map<(w, f, r, s, c) -> (r, w, s, c)>, affine_map<(w, f, r, s, c) -> (r, s, c, f)>, affine_map<(w, f, r, s, c) -> (w, f)>]
      iterators ["parallel", "parallel", "reduction", "reduction", "reduction"] extents [[9], [16], [2, 3], [3], [2]]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 9, vectors = 1, broadcasts = 1, depth = 1>>
      taps <pixel = 0, tap = 3, pixel_factor = 1, tap_factor = 1, begin = 1, end = 10> {
  ^bb0(%a: f32, %b: f32, %z: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}
