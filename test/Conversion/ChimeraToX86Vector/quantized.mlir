// RUN: chimera-opt %s --split-input-file --chimera-lower-micro-kernels | FileCheck %s

// Eight codes to a word, one row. The row is copied first: each element times the
// power of two that its field is too large by, and the sum of all. Fields are
// masked where they are, and the highest is shifted. The zero times that sum is
// subtracted from the sum of products, which is scaled and added.
// CHECK-LABEL: func.func @row(
// CHECK-SAME:    %[[X:.*]]: memref<2x1x8xf32>, %[[W:.*]]: memref<2x1x8xi32>, %[[S:.*]]: memref<2x8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK-DAG:   memref.alloca() {alignment = 64 : i64, scratch = "rows"} : memref<4096xf32>
// CHECK-DAG:   memref.alloca() {alignment = 64 : i64, scratch = "sums"} : memref<4096xf32>
// CHECK-DAG:   %[[COPY:.*]] = memref.reinterpret_cast {{.*}} sizes: [2, 1, 8], strides: [8, 8, 1]
// CHECK-DAG:   %[[SUMS:.*]] = memref.reinterpret_cast {{.*}} sizes: [2], strides: [1]
// CHECK-DAG:   %[[POWERS:.*]] = arith.constant dense<[1.000000e+00, 6.250000e-02, 3.906250e-03, {{.*}}, 1.000000e+00]> : vector<8xf32>
// CHECK:       scf.for %[[G:.*]] = %c0 to %c2
// CHECK:         %[[ROW:.*]] = vector.load %[[X]][%[[G]], %c0, %c0]
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[ROW]], %[[POWERS]]
// CHECK:         vector.store %[[SCALED]], %[[COPY]]
// CHECK:         %[[TOTAL:.*]] = vector.reduction <add>
// CHECK:         memref.store %[[TOTAL]], %[[SUMS]][%[[G]]]
// CHECK:       vector.store %{{.*}}, %[[Y]]
// CHECK:       scf.for
// CHECK:         %[[WORDS:.*]] = vector.load %[[W]]
// CHECK:         memref.prefetch %[[W]]
// CHECK:         memref.load %[[COPY]]
// CHECK:         arith.andi %[[WORDS]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:    arith.sitofp
// CHECK-NEXT:    vector.fma
// CHECK-COUNT-6: arith.andi %[[WORDS]]
// CHECK:         arith.shrui %[[WORDS]], %{{.*}} : vector<8xi32>
// CHECK:         memref.load %[[SUMS]]
// CHECK:         %[[LESS:.*]] = vector.fma
// CHECK:         %[[BEFORE:.*]] = vector.load %[[Y]]
// CHECK:         %[[AFTER:.*]] = vector.fma %{{.*}}, %[[LESS]], %[[BEFORE]]
// CHECK:         vector.store %[[AFTER]], %[[Y]]
#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 1, vectors = 7, broadcasts = 1, depth = 4>>
func.func @row(%x: memref<2x1x8xf32>, %w: memref<2x1x8xi32>, %s: memref<2x8xf32>, %y: memref<8xf32>) {
  chimera.micro_kernel contraction overwrite ins(%x, %w, %s : memref<2x1x8xf32>, memref<2x1x8xi32>, memref<2x8xf32>)
      outs(%y : memref<8xf32>)
      maps [affine_map<(n, g, k, j) -> (g, k, j)>, affine_map<(n, g, k, j) -> (g, k, n)>,
            affine_map<(n, g, k, j) -> (g, n)>, affine_map<(n, g, k, j) -> (n)>]
      iterators ["parallel", "reduction", "reduction", "reduction"] extents [[8], [2], [1], [8]]
      implementation #kernel {
  ^bb0(%a: f32, %word: i32, %scale: f32, %sum: f32):
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : i32
    %c8 = arith.constant 8.0 : f32
    %field = chimera.index 3
    %at = arith.muli %field, %c4 : index
    %bit = arith.index_cast %at : index to i32
    %0 = arith.shrui %word, %bit : i32
    %1 = arith.andi %0, %c15 : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.subf %2, %c8 : f32
    %4 = arith.mulf %3, %scale : f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %sum, %5 : f32
    chimera.yield %6 : f32
  }
  return
}

// -----

// Each group of words fetches the words of a group of the next tile, a row of
// them with each row.
// CHECK-LABEL: func.func @fetching(
// CHECK-SAME:    %[[NEXT:[^ ]*]]: memref<4x2x8xi32, strided<[64, 32, 1]>>
// CHECK:       scf.for %[[G:.*]] = %c0 to %c4
// CHECK:         scf.for %[[K:.*]] = %c0 to %c2
// CHECK:           memref.prefetch %[[NEXT]][%[[G]], %[[K]], %{{.*}}], read, locality<2>
// CHECK-NOT:   memref.prefetch %[[NEXT]]
#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 4>>
func.func @fetching(%next: memref<4x2x8xi32, strided<[64, 32, 1]>>, %x: memref<4x4x2x8xf32>, %w: memref<4x2x8xi32>, %s: memref<4x8xf32>, %y: memref<4x8xf32>) {
  chimera.prefetch %next within [4, 2, 8] : memref<4x2x8xi32, strided<[64, 32, 1]>>
  chimera.micro_kernel contraction overwrite ins(%x, %w, %s : memref<4x4x2x8xf32>, memref<4x2x8xi32>, memref<4x8xf32>)
      outs(%y : memref<4x8xf32>)
      maps [affine_map<(m, n, g, k, j) -> (m, g, k, j)>, affine_map<(m, n, g, k, j) -> (g, k, n)>,
            affine_map<(m, n, g, k, j) -> (g, n)>, affine_map<(m, n, g, k, j) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction", "reduction"] extents [[4], [8], [4], [2], [8]]
      implementation #kernel {
  ^bb0(%a: f32, %word: i32, %scale: f32, %sum: f32):
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : i32
    %c8 = arith.constant 8.0 : f32
    %field = chimera.index 4
    %at = arith.muli %field, %c4 : index
    %bit = arith.index_cast %at : index to i32
    %0 = arith.shrui %word, %bit : i32
    %1 = arith.andi %0, %c15 : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.subf %2, %c8 : f32
    %4 = arith.mulf %3, %scale : f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %sum, %5 : f32
    chimera.yield %6 : f32
  }
  return
}

// -----

// Bytes, and more rows than a tile has: the panel is decoded once, with zeros, and
// both tiles of rows read it. The next kernel has its panel in the same memory.
// CHECK-LABEL: func.func @panel(
// CHECK-SAME:    %[[X:.*]]: memref<8x16xf32>, %[[W:.*]]: memref<16x8xi8>, %[[Z:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8x8xf32>)
// CHECK:       memref.alloca() {{.*}}scratch = "panel"} : memref<65536xf32>
// CHECK-NOT:   memref.alloca
// CHECK:       %[[PANEL:.*]] = memref.reinterpret_cast {{.*}} to memref<16x8xf32>
// CHECK:       %[[ZEROS:.*]] = vector.load %[[Z]]
// CHECK:       scf.for %[[K:.*]] = %c0 to %c16
// CHECK:         %[[CODES:.*]] = vector.load %[[W]][%[[K]], %c0]
// CHECK:         %[[NUMBERS:.*]] = arith.sitofp %[[CODES]] : vector<8xi8> to vector<8xf32>
// CHECK:         %[[FACTORS:.*]] = arith.subf %[[NUMBERS]], %[[ZEROS]]
// CHECK:         vector.store %[[FACTORS]], %[[PANEL]][%[[K]], %c0]
// CHECK-NOT:   memref<16x8xi8>
// CHECK:       scf.for
// CHECK:         vector.load %[[PANEL]]
#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @panel(%x: memref<8x16xf32>, %w: memref<16x8xi8>, %z: memref<8xf32>, %y: memref<8x8xf32>) {
  chimera.micro_kernel contraction overwrite ins(%x, %w, %z : memref<8x16xf32>, memref<16x8xi8>, memref<8xf32>)
      outs(%y : memref<8x8xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[8], [8], [16]]
      implementation #kernel {
  ^bb0(%a: f32, %code: i8, %zero: f32, %sum: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.subf %0, %zero : f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    chimera.yield %3 : f32
  }
  chimera.micro_kernel contraction overwrite ins(%x, %w, %z : memref<8x16xf32>, memref<16x8xi8>, memref<8xf32>)
      outs(%y : memref<8x8xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[8], [8], [16]]
      implementation #kernel {
  ^bb0(%a: f32, %code: i8, %zero: f32, %sum: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.subf %0, %zero : f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    chimera.yield %3 : f32
  }
  return
}

// -----

// A zero for each row of the other factor is none for a vector of codes: the
// kernel has its naive form.
// CHECK-LABEL: func.func @rows_of_zeros(
// CHECK-NOT:   vector.
// CHECK:       return
#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 4, vectors = 2, broadcasts = 1, depth = 4>>
func.func @rows_of_zeros(%x: memref<8x16xf32>, %w: memref<16x8xi8>, %z: memref<8xf32>, %y: memref<8x8xf32>) {
  chimera.micro_kernel contraction overwrite ins(%x, %w, %z : memref<8x16xf32>, memref<16x8xi8>, memref<8xf32>)
      outs(%y : memref<8x8xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[8], [8], [16]]
      implementation #kernel {
  ^bb0(%a: f32, %code: i8, %zero: f32, %sum: f32):
    %0 = arith.sitofp %code : i8 to f32
    %1 = arith.subf %0, %zero : f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    chimera.yield %3 : f32
  }
  return
}

// -----

// Where there are dot products of bytes, one row becomes digits. The largest of a
// group's elements says what integers they are multiplied to, which a sum and an
// exclusive or cut into signed bytes; three words are two and one. Each word is
// masked twice, and each vector of fields multiplied by digits of four places,
// which have sums of their own until the end of the group.
// CHECK-LABEL: func.func @digits(
// CHECK-SAME:    %[[X:.*]]: memref<2x3x8xf32>, %[[W:.*]]: memref<2x3x16xi32>
// CHECK-DAG:   memref.alloca() {alignment = 64 : i64, scratch = "rows"} : memref<4096xi32>
// CHECK-DAG:   memref.alloca() {alignment = 64 : i64, scratch = "units"} : memref<4096xf32>
// CHECK-DAG:   %[[DIGITS:.*]] = memref.reinterpret_cast {{.*}} sizes: [2, 3, 8], strides: [24, 8, 1] : memref<4096xi32>
// CHECK-DAG:   %[[UNITS:.*]] = memref.reinterpret_cast %{{.*}} sizes: [2], strides: [1] : memref<4096xf32> to memref<2xf32>
// CHECK:       scf.for %[[G:.*]] = %c0 to %c2
// CHECK:         %[[BITS:.*]] = vector.reduction <maxui>
// CHECK:         vector.load %[[X]][%[[G]], %c0, %c0] : memref<2x3x8xf32>, vector<16xf32>
// CHECK:         "llvm.x86.avx512.mask.cvtps2dq.512"
// CHECK:         arith.addi
// CHECK:         arith.xori
// CHECK:         vector.shuffle %{{.*}}, %{{.*}} [0, 8, 16, 24, 1, 9, 17, 25, {{.*}}, 39, 47, 55, 63] : vector<64xi8>
// CHECK:         vector.store %{{.*}}, %[[DIGITS]][%[[G]], %c0, %c0] : memref<2x3x8xi32>, vector<16xi32>
// CHECK:         vector.maskedload %[[X]][%[[G]], %c2, %c0]
// CHECK:         vector.maskedstore %[[DIGITS]][%[[G]], %c2, %c0]
// CHECK:         memref.store %{{.*}}, %[[UNITS]][%[[G]]]
// CHECK:       scf.for
// CHECK:         vector.load %[[W]]
// CHECK:         memref.load %[[DIGITS]]
// CHECK-COUNT-4: vpdpbusd
// CHECK:         arith.shrui
// CHECK-COUNT-4: vpdpbusd
// CHECK-NOT:     vpdpbusd
// CHECK:         memref.load %[[UNITS]]
#kernel = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 7, broadcasts = 1, depth = 4>, dots = [i8]>
func.func @digits(%x: memref<2x3x8xf32>, %w: memref<2x3x16xi32>, %s: memref<2x16xf32>, %y: memref<16xf32>) {
  chimera.micro_kernel contraction overwrite ins(%x, %w, %s : memref<2x3x8xf32>, memref<2x3x16xi32>, memref<2x16xf32>)
      outs(%y : memref<16xf32>)
      maps [affine_map<(n, g, k, j) -> (g, k, j)>, affine_map<(n, g, k, j) -> (g, k, n)>,
            affine_map<(n, g, k, j) -> (g, n)>, affine_map<(n, g, k, j) -> (n)>]
      iterators ["parallel", "reduction", "reduction", "reduction"] extents [[16], [2], [3], [8]]
      implementation #kernel {
  ^bb0(%a: f32, %word: i32, %scale: f32, %sum: f32):
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : i32
    %c8 = arith.constant 8.0 : f32
    %field = chimera.index 3
    %at = arith.muli %field, %c4 : index
    %bit = arith.index_cast %at : index to i32
    %0 = arith.shrui %word, %bit : i32
    %1 = arith.andi %0, %c15 : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.subf %2, %c8 : f32
    %4 = arith.mulf %3, %scale : f32
    %5 = arith.mulf %a, %4 : f32
    %6 = arith.addf %sum, %5 : f32
    chimera.yield %6 : f32
  }
  return
}
