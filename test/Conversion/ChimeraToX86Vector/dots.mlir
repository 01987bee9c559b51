// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 3, broadcasts = 1, depth = 4>, dots = [bf16]>

// Seven steps of the reduction are three pairs and one. Two vectors are mixed as
// they lie, and the sums exchange lanes until the end; a third is interleaved,
// with four columns. Nothing is converted.

// CHECK-LABEL: func @pairs(
// CHECK-SAME:    %[[A:[^:]*]]: memref<2x7xbf16>, %[[B:[^:]*]]: memref<7x36xbf16>, %[[C:[^:]*]]: memref<2x36xf32>
// CHECK-NOT:     arith.extf
// CHECK:         %[[EVEN:.*]] = vector.load %[[B]][%c0, %c0] : memref<7x36xbf16>, vector<32xbf16>
// CHECK:         %[[EVENBITS:.*]] = arith.bitcast %[[EVEN]] : vector<32xbf16> to vector<32xi16>
// CHECK:         %[[ODD:.*]] = vector.load %[[B]][%c1, %c0] : memref<7x36xbf16>, vector<32xbf16>
// CHECK:         %[[ODDBITS:.*]] = arith.bitcast %[[ODD]]
// CHECK:         %[[LOWBITS:.*]] = vector.shuffle %[[EVENBITS]], %[[ODDBITS]] [0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41, 10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51, 24, 56, 25, 57, 26, 58, 27, 59]
// CHECK:         %[[HIGHBITS:.*]] = vector.shuffle %[[EVENBITS]], %[[ODDBITS]] [4, 36, 5, 37, 6, 38, 7, 39, 12,
// CHECK:         %[[LOW:.*]] = vector.bitcast %[[LOWBITS]] : vector<32xi16> to vector<32xbf16>
// CHECK:         %[[HIGH:.*]] = vector.bitcast %[[HIGHBITS]]
// CHECK:         %[[PAIR:.*]] = vector.load %[[A]][%c0, %c0] : memref<2x7xbf16>, vector<2xbf16>
// CHECK:         %[[WORD:.*]] = vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK:         %[[BOTH:.*]] = vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK:         %[[ELEMENT:.*]] = vector.bitcast %[[BOTH]] : vector<16xi32> to vector<32xbf16>
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[LOW]], %[[ELEMENT]])
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[HIGH]], %[[ELEMENT]])
// CHECK:         vector.maskedload %[[B]][%c0, %c32]{{.*}} : memref<7x36xbf16>, vector<16xi1>, vector<16xbf16> into vector<16xbf16>
// CHECK:         vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17, 2, 18,
// CHECK-COUNT-16: dpbf16ps
// The last step is a pair with zeros.
// CHECK:         %[[LAST:.*]] = memref.load %[[A]][%c0, %c6] : memref<2x7xbf16>
// CHECK:         %[[LASTBITS:.*]] = arith.bitcast %[[LAST]] : bf16 to i16
// CHECK:         arith.extui %[[LASTBITS]] : i16 to i32
// CHECK-COUNT-6: dpbf16ps
// CHECK-NOT:     dpbf16ps
// Lanes come back, four at a time.
// CHECK:         vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23] : vector<16xf32>, vector<16xf32>
// CHECK:         vector.shuffle %{{.*}}, %{{.*}} [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31]
// CHECK:         vector.store {{.*}} %[[C]][%c0, %c0]
func.func @pairs(%a: memref<2x7xbf16>, %b: memref<7x36xbf16>, %c: memref<2x36xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<2x7xbf16>, memref<7x36xbf16>) outs(%c : memref<2x36xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
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

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 2, broadcasts = 1, depth = 1>, dots = [bf16]>

// Sums that are added to exchange their lanes first.

// CHECK-LABEL: func @accumulate(
// CHECK-SAME:    %{{.*}}, %{{.*}}, %[[C:[^:]*]]: memref<1x32xf32>
// CHECK-DAG:     %[[FIRST:.*]] = vector.load %[[C]][%c0, %c0]
// CHECK-DAG:     %[[SECOND:.*]] = vector.load %[[C]][%c0, %c16]
// CHECK:         %[[LOW:.*]] = vector.shuffle %[[FIRST]], %[[SECOND]] [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK:         %[[HIGH:.*]] = vector.shuffle %[[FIRST]], %[[SECOND]] [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[LOW]], %{{.*}} = %[[HIGH]])
func.func @accumulate(%a: memref<1x8xbf16>, %b: memref<8x32xbf16>, %c: memref<1x32xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<1x8xbf16>, memref<8x32xbf16>) outs(%c : memref<1x32xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
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

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>, dots = [bf16]>

// Elements that are no neighbours along the reduction, and factors of two types,
// are multiplied in f32.

// CHECK-LABEL: func @others(
// CHECK-NOT:     dpbf16ps
// CHECK-COUNT-2: vector.fma
// CHECK-NOT:     dpbf16ps
func.func @others(%a: memref<8x2xbf16>, %b: memref<8x16xbf16>, %c: memref<2x16xf32>, %f: memref<2x8xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<8x2xbf16>, memref<8x16xbf16>) outs(%c : memref<2x16xf32>)
      maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    chimera.yield %3 : f32
  }
  chimera.micro_kernel contraction overwrite
      ins(%f, %b : memref<2x8xf32>, memref<8x16xbf16>) outs(%c : memref<2x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
  ^bb0(%x: f32, %y: bf16, %z: f32):
    %0 = arith.extf %y : bf16 to f32
    %1 = arith.mulf %x, %0 : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  }
  return
}

// -----

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, dots = [bf16]>

// Scores of one query: vectors run along the reduction, pairs as they lie.

// CHECK-LABEL: func @inner(
// CHECK-SAME:    %[[Q:[^:]*]]: memref<1x80xbf16>, %[[K:[^:]*]]: memref<32x80xbf16>
// CHECK-NOT:     arith.extf
// CHECK:         %[[QUERY:.*]] = vector.load %[[Q]][%c0, %c0] : memref<1x80xbf16>, vector<32xbf16>
// CHECK:         %[[KEY:.*]] = vector.load %[[K]]{{.*}} : memref<32x80xbf16>, vector<32xbf16>
// CHECK:         dpbf16ps.512"(%{{.*}}, %[[QUERY]], %[[KEY]])
// CHECK:         vector.maskedload %[[K]]{{.*}} vector<32xbf16> into vector<32xbf16>
func.func @inner(%q: memref<1x80xbf16>, %k: memref<32x80xbf16>, %s: memref<1x32xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%q, %k : memref<1x80xbf16>, memref<32x80xbf16>) outs(%s : memref<1x32xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
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

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, narrowed = [bf16]>

// An exponential that becomes a factor has a polynomial of third degree, and is
// rounded by one instruction. What is rounded otherwise keeps denormal numbers: if
// there are any, integers round it.

// CHECK-LABEL: func @narrow(
// CHECK-COUNT-3: math.fma
// CHECK-NOT:     math.fma
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// CHECK:         %[[TINY:.*]] = llvm.call_intrinsic "llvm.x86.avx512.fpclass.ps.512"(%{{.*}}, %{{.*}}) : (vector<16xf32>, i32) -> vector<16xi1>
// CHECK:         %[[BITS:.*]] = vector.bitcast %[[TINY]] : vector<16xi1> to vector<1xi16>
// CHECK:         %[[MASK:.*]] = vector.extract %[[BITS]][0]
// CHECK:         %[[ANY:.*]] = arith.cmpi ne, %[[MASK]], %{{.*}} : i16
// CHECK:         scf.if %[[ANY]] -> (vector<16xbf16>) {
// CHECK:           arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
// CHECK:           arith.select
// CHECK:         } else {
// CHECK:           llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
func.func @narrow(%x: memref<16xf32>, %y: memref<16xbf16>, %z: memref<16xbf16>) {
  chimera.micro_kernel elementwise
      ins(%x : memref<16xf32>) outs(%y, %z : memref<16xbf16>, memref<16xbf16>)
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
      iterators ["parallel"] implementation #tile {
  ^bb0(%in: f32, %0: bf16, %1: bf16):
    %2 = math.exp2 %in : f32
    %3 = arith.truncf %2 fastmath<afn> : f32 to bf16
    %4 = arith.truncf %in : f32 to bf16
    chimera.yield %3, %4 : bf16, bf16
  }
  return
}

// -----

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 2, broadcasts = 1, depth = 4>, dots = [bf16]>

// Words of interleaved columns are loaded, and sums have their lanes in order.
// The second vector has four words.

// CHECK-LABEL: func @words(
// CHECK-SAME:    %[[A:[^:]*]]: memref<2x3x2xbf16>, %[[B:[^:]*]]: memref<3x20x2xbf16>
// CHECK-NOT:     vector.shuffle
// CHECK-NOT:     arith.extf
// CHECK:         vector.load %[[B]][%c0, %c0, %c0] : memref<3x20x2xbf16>, vector<32xbf16>
// CHECK:         vector.load %[[A]][%c0, %c0, %c0] : memref<2x3x2xbf16>, vector<2xbf16>
// CHECK:         %[[MASK:.*]] = vector.create_mask %c8 : vector<32xi1>
// CHECK:         vector.maskedload %[[B]][%c0, %c16, %c0], %[[MASK]]
// CHECK-COUNT-11: dpbf16ps
// CHECK-NOT:     vector.shuffle
// CHECK:         return
func.func @words(%a: memref<2x3x2xbf16>, %b: memref<3x20x2xbf16>, %c: memref<2x20xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<2x3x2xbf16>, memref<3x20x2xbf16>) outs(%c : memref<2x20xf32>)
      maps [affine_map<(m, n, k, w) -> (m, k, w)>, affine_map<(m, n, k, w) -> (k, n, w)>, affine_map<(m, n, k, w) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"] implementation #tile {
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

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 4>, dots = [i8]>

// Words of columns that are not next to each other stay for plain loops.

// CHECK-LABEL: func @apart(
// CHECK-NOT:     vpdpbusd
// CHECK:         linalg.generic
// CHECK:         return
func.func @apart(%a: memref<2x3x4xi8>, %b: memref<3x16x4xi8, strided<[128, 8, 1]>>, %c: memref<2x16xi32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<2x3x4xi8>, memref<3x16x4xi8, strided<[128, 8, 1]>>) outs(%c : memref<2x16xi32>)
      maps [affine_map<(m, n, k, w) -> (m, k, w)>, affine_map<(m, n, k, w) -> (k, n, w)>, affine_map<(m, n, k, w) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction", "reduction"] implementation #tile {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extui %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    chimera.yield %3 : i32
  }
  return
}
