// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

#tile = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16]>

// Two tiles of rows and two of columns, in registers that are told their sizes:
// sums in 0 to 3, rows in 4, columns in 5. The second tile of rows begins with the
// columns that are there. Of 37 rows 5 are left: they are computed with the 11
// before them, by a whole tile.

// CHECK:       llvm.mlir.global internal constant @chimera_tiles_16x64(dense<
// CHECK-SAME:    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK-NOT:   llvm.mlir.global
// CHECK-LABEL: func @blocks(
// CHECK:         %[[ROW21:.*]] = arith.constant 5376 : index
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         llvm.call_intrinsic "llvm.x86.tilezero"(%{{.*}}) : (i8) -> ()
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c16
// CHECK-COUNT-2:   llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:           llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:           llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:           llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:           llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:           llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:           llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:           llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT:       tdpbf16ps
// CHECK:         }
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         arith.addi %{{.*}}, %[[ROW21]]
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @blocks(%a: memref<37x64x2xbf16>, %b: memref<64x32x2xbf16>, %c: memref<37x32xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<37x64x2xbf16>, memref<64x32x2xbf16>) outs(%c : memref<37x32xf32>)
      maps [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      extents [[37], [32], [64], [2]] implementation #tile {
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

#tile = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16]>

// Sums that are added to are computed once: the 5 rows are a tile of their own.

// CHECK:       llvm.mlir.global internal constant @chimera_tiles_5x64_5x64_16x64_16x64_5x64_16x64_16x64_16x64(
// CHECK:       llvm.mlir.global internal constant @chimera_tiles_16x64(
// CHECK-LABEL: func @added(
// CHECK-NOT:     tilezero
func.func @added(%a: memref<37x64x2xbf16>, %b: memref<64x32x2xbf16>, %c: memref<37x32xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<37x64x2xbf16>, memref<64x32x2xbf16>) outs(%c : memref<37x32xf32>)
      maps [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      extents [[37], [32], [64], [2]] implementation #tile {
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

#tile = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16]>

// A last step of the reduction has registers of its own: 6 and 7, here for 8 words.

// CHECK:       llvm.mlir.global internal constant @chimera_tiles_16x64_16x64_16x64_16x64_16x64_16x64_16x32_8x64(
// CHECK-LABEL: func @last(
// CHECK:         %[[COLUMNS:.*]] = llvm.mlir.constant(7 : i8)
// CHECK:         %[[ROWS:.*]] = llvm.mlir.constant(6 : i8)
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK-COUNT-4:   llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:         }
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"(%[[ROWS]],
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"(%[[COLUMNS]],
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT:     tdpbf16ps
func.func @last(%a: memref<32x40x2xbf16>, %b: memref<40x32x2xbf16>, %c: memref<32x32xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<32x40x2xbf16>, memref<40x32x2xbf16>) outs(%c : memref<32x32xf32>)
      maps [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      extents [[32], [32], [40], [2]] implementation #tile {
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

#tile = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 1, vectors = 6, broadcasts = 0, depth = 1>, factors = [bf16]>

// Six tiles of sums leave no registers for it: the product is left to other
// kernels, of which there are none here.

// CHECK-LABEL: func @part(
// CHECK-NOT:     llvm.x86
// CHECK:         linalg.generic
func.func @part(%a: memref<16x40x2xbf16>, %b: memref<40x96x2xbf16>, %c: memref<16x96xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<16x40x2xbf16>, memref<40x96x2xbf16>) outs(%c : memref<16x96xf32>)
      maps [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      extents [[16], [96], [40], [2]] implementation #tile {
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

#tile = #chimera.tile_product<rows = 16, columns = 16, bytes = 64,
    registers = <rows = 2, vectors = 2, broadcasts = 0, depth = 1>, factors = [bf16]>

// An unknown number of rows: a block of 64 by itself, else blocks of 32, a tile
// of 16, and a table of what is less.

// CHECK:       llvm.mlir.global internal constant @chimera_tiles_up_to_15x64_15x64_16x64_16x64_15x64_16x64_16x64_16x64({{.*}}) {addr_space = 0 : i32, alignment = 64 : i64{{.*}}} : !llvm.array<960 x i8>
// CHECK-LABEL: func @open(
// CHECK:         scf.if
// CHECK:         } else {
// CHECK:           %[[ROWS:.*]] = memref.dim %arg0, %c0
// CHECK:           %[[LEFT:.*]] = arith.remui %[[ROWS]], %c32
// CHECK:           %[[BLOCKS:.*]] = arith.subi %[[ROWS]], %[[LEFT]]
// CHECK:           scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c32
// CHECK:           %[[REST:.*]] = arith.remui %[[ROWS]], %c16
// CHECK:           %[[TILES:.*]] = arith.subi %[[ROWS]], %[[REST]]
// CHECK:           scf.for %{{.*}} = %[[BLOCKS]] to %[[TILES]] step %c16
// CHECK:           scf.if
// CHECK:             llvm.getelementptr
// CHECK:             llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:             scf.for %{{.*}} = %[[TILES]] to %[[ROWS]] step %c16
// CHECK-NOT:     linalg.generic
func.func @open(%a: memref<?x64x2xbf16>, %b: memref<64x32x2xbf16>, %c: memref<?x32xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<?x64x2xbf16>, memref<64x32x2xbf16>) outs(%c : memref<?x32xf32>)
      maps [affine_map<(m, n, k, i) -> (m, k, i)>, affine_map<(m, n, k, i) -> (k, n, i)>, affine_map<(m, n, k, i) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"]
      extents [[64, 0], [32], [64], [2]] implementation #tile {
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

#pack = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Two rows are mixed.

// CHECK-LABEL: func @rows(
// CHECK:         %[[FIRST:.*]] = vector.load %arg0[%{{.*}}, %c0{{.*}}, %{{.*}}] : memref<3x2x16xbf16>, vector<16xbf16>
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[FIRST]] : vector<16xbf16> to vector<16xi16>
// CHECK:         %[[SECOND:.*]] = vector.load %arg0[%{{.*}}, %c1{{.*}}, %{{.*}}] : memref<3x2x16xbf16>, vector<16xbf16>
// CHECK:         %[[OTHERS:.*]] = arith.bitcast %[[SECOND]]
// CHECK:         %[[MIXED:.*]] = vector.interleave %[[BITS]], %[[OTHERS]] : vector<16xi16> -> vector<32xi16>
// CHECK:         vector.store %{{.*}}, %arg1[{{.*}}] : memref<3x16x2xbf16>, vector<32xbf16>
func.func @rows(%from: memref<3x2x16xbf16>, %to: memref<3x16x2xbf16>) {
  chimera.micro_kernel pack ins(%from : memref<3x2x16xbf16>) outs(%to : memref<3x16x2xbf16>)
      maps [affine_map<(k, n, i) -> (k, i, n)>, affine_map<(k, n, i) -> (k, n, i)>]
      iterators ["parallel", "parallel", "parallel"] extents [[3], [16], [2]] implementation #pack {
  ^bb0(%x: bf16, %y: bf16):
    chimera.yield %x : bf16
  }
  return
}

// -----

#pack = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Words are transposed; of 19 columns three are left.

// CHECK-LABEL: func @words(
// CHECK-COUNT-16: vector.load %arg0{{.*}} : memref<19x16x4xi8>, vector<64xi8>
// CHECK:         vector.store %{{.*}}, %arg1{{.*}} : memref<16x19x4xi8>, vector<64xi8>
// CHECK:         vector.create_mask %c12
// CHECK:         vector.maskedstore %arg1
func.func @words(%from: memref<19x16x4xi8>, %to: memref<16x19x4xi8>) {
  chimera.micro_kernel pack ins(%from : memref<19x16x4xi8>) outs(%to : memref<16x19x4xi8>)
      maps [affine_map<(k, n, i) -> (n, k, i)>, affine_map<(k, n, i) -> (k, n, i)>]
      iterators ["parallel", "parallel", "parallel"] extents [[16], [19], [4]] implementation #pack {
  ^bb0(%x: i8, %y: i8):
    chimera.yield %x : i8
  }
  return
}

// -----

#pack = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// The last two columns of a panel of 16 are no words: their rows lie apart.

// CHECK-LABEL: func @columns(
// CHECK-NOT:     vector.interleave
// CHECK:         return
func.func @columns(%from: memref<1x2x8xbf16>, %to: memref<1x8x2xbf16, strided<[128, 16, 1]>>) {
  chimera.micro_kernel pack ins(%from : memref<1x2x8xbf16>) outs(%to : memref<1x8x2xbf16, strided<[128, 16, 1]>>)
      maps [affine_map<(b, k, n) -> (b, n, k)>, affine_map<(b, k, n) -> (b, k, n)>]
      iterators ["parallel", "parallel", "parallel"] extents [[1], [8], [2]] implementation #pack {
  ^bb0(%x: bf16, %y: bf16):
    chimera.yield %x : bf16
  }
  return
}
