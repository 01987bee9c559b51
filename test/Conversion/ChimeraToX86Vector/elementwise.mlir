// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

// One operand along vectors, one broadcast over them, a function as polynomial;
// 20 columns are one vector and four lanes, which take turns.

// CHECK-LABEL: func @bias
// CHECK-NOT:     math.exp
// CHECK:         scf.for
// CHECK:           memref.load
// CHECK:           vector.broadcast
// CHECK:           vector.load
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:           vector.create_mask
// CHECK:           vector.maskedload
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:           math.fma
// CHECK:           vector.store
// CHECK:           vector.create_mask
// CHECK:           vector.maskedstore
func.func @bias(%bias: memref<3xf32>, %c: memref<3x20xf32>) {
  chimera.micro_kernel elementwise ins(%bias : memref<3xf32>) outs(%c : memref<3x20xf32>)
      maps [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %z: f32):
    %0 = arith.addf %x, %z : f32
    %1 = math.exp %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

// A copy between different contiguous dimensions goes through a square of
// registers and shuffles; the second square is partial.

// CHECK-LABEL: func @transpose
// CHECK:         vector.load {{.*}} : memref<16x18xf32>
// CHECK:         vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK:         vector.maskedload
// CHECK-COUNT-2: vector.store
func.func @transpose(%a: memref<16x18xf32>, %b: memref<18x16xf32>) {
  chimera.micro_kernel pack ins(%a : memref<16x18xf32>) outs(%b : memref<18x16xf32>)
      maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

// Registers of eight lanes are half a line: two squares write whole lines. Three
// stages of shuffles and blends of two registers make a square.

// CHECK-LABEL: func @transpose_half_lines
// CHECK-COUNT-8:  vector.load {{.*}} : memref<16x8xf32>
// CHECK-COUNT-20: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-NOT:      scf.for
// CHECK-COUNT-8:  vector.store
// CHECK-COUNT-8:  vector.load {{.*}} : memref<16x8xf32>
// CHECK-COUNT-20: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-8:  vector.store
func.func @transpose_half_lines(%a: memref<16x8xf32>, %b: memref<8x16xf32>) {
  chimera.micro_kernel pack ins(%a : memref<16x8xf32>) outs(%b : memref<8x16xf32>)
      maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 8, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// -----

// Numbers of 16 bits are transposed two by two, as numbers of 32, and parted. The
// last eight of a row need no mask.

// CHECK-LABEL: func @transpose_halves
// CHECK:         vector.load {{.*}} : memref<8x24xbf16>, vector<16xbf16>
// CHECK-NEXT:    vector.bitcast {{.*}} : vector<16xbf16> to vector<8xf32>
// CHECK-COUNT-20: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK:         %[[WORDS:.*]] = arith.bitcast {{.*}} : vector<8xf32> to vector<8xi32>
// CHECK-NEXT:    arith.trunci %[[WORDS]] : vector<8xi32> to vector<8xi16>
// CHECK-NEXT:    arith.bitcast {{.*}} : vector<8xi16> to vector<8xbf16>
// CHECK:         vector.store
// CHECK:         arith.shrui
// CHECK-NEXT:    arith.trunci {{.*}} : vector<8xi32> to vector<8xi16>
// CHECK-COUNT-15: vector.store
// CHECK:         vector.load {{.*}} : memref<8x24xbf16>, vector<8xbf16>
// CHECK-NOT:     masked
func.func @transpose_halves(%a: memref<8x24xbf16>, %b: memref<24x8xbf16>) {
  chimera.micro_kernel pack ins(%a : memref<8x24xbf16>) outs(%b : memref<24x8xbf16>)
      maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 8, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: bf16, %z: bf16):
    chimera.yield %x : bf16
  }
  return
}

// -----

// What other functions of the program compute is theirs: only kernels are
// approximated.

// CHECK-LABEL: func @kernel
// CHECK-NOT:     math.log
// CHECK-LABEL: func @other
// CHECK:         math.log
func.func @kernel(%a: memref<16xf32>, %c: memref<16xf32>) {
  chimera.micro_kernel elementwise ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %z: f32):
    %0 = math.log %x : f32
    chimera.yield %0 : f32
  }
  return
}
func.func @other(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}

// -----

// Where two exponentials at a time suit a core, a step is two vectors and not four.

// CHECK-LABEL: func @tuned
// CHECK-DAG:     %[[STEP:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[END:.*]] = arith.constant 64 : index
// CHECK:         scf.for {{.*}} to %[[END]] step %[[STEP]]
func.func @tuned(%c: memref<64xf32>) {
  chimera.micro_kernel elementwise outs(%c : memref<64xf32>)
      maps [affine_map<(i) -> (i)>] iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>,
        tuning = <interleaved = 2>> {
  ^bb0(%z: f32):
    %0 = math.exp %z : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

// What parts of a row are made of is loaded once for all of them, and each part
// is stored where it belongs.

#kernel = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>
#read = affine_map<(i, p, j) -> (i, j)>
#written = affine_map<(i, p, j) -> (i, p, j)>

// CHECK-LABEL: func @parts(
// CHECK-SAME:    %[[A:.*]]: memref<3x32xf32>, %[[B:.*]]: memref<3x32xf32>, %[[C:.*]]: memref<3x2x32xf32>)
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NOT:       scf.for %{{.*}} = %{{.*}} to %c2
// CHECK:           scf.for %[[J:.*]] =
// CHECK:             vector.load %[[A]][%[[I]], %[[J]]]
// CHECK:             vector.load %[[B]][%[[I]], %[[J]]]
// CHECK-NOT:         vector.load
// CHECK:             vector.store %{{.*}}, %[[C]][%[[I]], %c0{{[_0-9]*}}, %[[J]]]
// CHECK-NOT:         vector.load
// CHECK:             vector.store %{{.*}}, %[[C]][%[[I]], %c1{{[_0-9]*}}, %[[J]]]
func.func @parts(%a: memref<3x32xf32>, %b: memref<3x32xf32>, %c: memref<3x2x32xf32>) {
  chimera.micro_kernel elementwise ins(%a, %b : memref<3x32xf32>, memref<3x32xf32>) outs(%c : memref<3x2x32xf32>)
      maps [#read, #read, #written] iterators ["parallel", "parallel", "parallel"] implementation #kernel {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %zero = arith.constant 0 : index
    %p = chimera.index 1
    %first = arith.cmpi eq, %p, %zero : index
    %s = arith.addf %x, %y : f32
    %d = arith.subf %x, %y : f32
    %r = arith.select %first, %s, %d : f32
    chimera.yield %r : f32
  }
  return
}

// -----

// One lane is stored as a number: LLVM makes a masked store of one byte that
// saturates four bytes long.

// CHECK-LABEL: func @one_lane(
// CHECK:         %[[LAST:.*]] = vector.extract %{{.*}}[0] : i8 from vector<16xi8>
// CHECK:         memref.store %[[LAST]], %{{.*}}[%c16] : memref<17xi8>
// CHECK-NOT:     vector.maskedstore
func.func @one_lane(%a: memref<17xi32>, %out: memref<17xi8>) {
  chimera.micro_kernel elementwise
      ins(%a : memref<17xi32>) outs(%out : memref<17xi8>)
      maps [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>] iterators ["parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: i32, %y: i8):
    %least = arith.constant 0 : i32
    %most = arith.constant 255 : i32
    %0 = arith.maxsi %x, %least : i32
    %1 = arith.minsi %0, %most : i32
    %2 = arith.trunci %1 : i32 to i8
    chimera.yield %2 : i8
  }
  return
}

// -----

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Rows that are multiplied by one stay as they are. What is multiplied into other
// memory is written in any case.

// CHECK-LABEL: func @scaled(
// CHECK:         %[[ONE:.*]] = arith.constant 1.0
// CHECK:         scf.for
// CHECK:           %[[FACTOR:.*]] = memref.load %arg0
// CHECK:           %[[CHANGES:.*]] = arith.cmpf une, %{{.*}}, %[[ONE]] : f32
// CHECK:           scf.if %[[CHANGES]] {
// CHECK:             arith.mulf
// CHECK:             vector.store
// CHECK:           }
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @scaled(%f: memref<8xf32>, %x: memref<8x64xf32>, %y: memref<8x64xf32>) {
  chimera.micro_kernel elementwise ins(%f : memref<8xf32>) outs(%x : memref<8x64xf32>)
      maps [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"] implementation #tile {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %b, %a : f32
    chimera.yield %0 : f32
  }
  chimera.micro_kernel elementwise ins(%f, %x : memref<8xf32>, memref<8x64xf32>) outs(%y : memref<8x64xf32>)
      maps [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"] implementation #tile {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %b, %a : f32
    chimera.yield %0 : f32
  }
  return
}
