// RUN: chimera-opt %s --chimera-lower-micro-kernels --canonicalize --cse --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-lower-micro-kernels --remarks-filter=chimera --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Six rows are two groups of three. What depends on rows alone is outside the
// loop along them; the lanes of three rows are combined together.

// CHECK-LABEL: func @rows
// CHECK:         scf.for
// CHECK-COUNT-3:   memref.load
// CHECK:           %[[SUMS:.*]]:6 = scf.for {{.*}} iter_args
// CHECK-NOT:         memref.load
// CHECK:             vector.load
// CHECK:             arith.subf
// CHECK:             vector.store
// CHECK:             arith.addf
// CHECK:           vector.shuffle
// CHECK:           vector.shuffle {{.*}} [0, 4, 8] : vector<16xf32>, vector<16xf32>
// CHECK:           vector.load {{.*}} : memref<6xf32>, vector<3xf32>
// CHECK:           arith.addf {{.*}} : vector<3xf32>
// CHECK:           vector.store {{.*}} : memref<6xf32>, vector<3xf32>
// CHECK-NOT:     scf.for
func.func @rows(%max: memref<6xf32>, %s: memref<6x128xf32>, %sum: memref<6xf32>) {
  chimera.micro_kernel reduction ins(%max : memref<6xf32>) outs(%s, %sum : memref<6x128xf32>, memref<6xf32>)
      maps [affine_map<(m, l) -> (m)>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%m: f32, %x: f32, %t: f32):
    %0 = arith.mulf %m, %m : f32
    %1 = arith.subf %x, %0 : f32
    %2 = arith.addf %t, %1 : f32
    chimera.yield %1, %2 : f32, f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// The instruction for a maximum loses NaNs, so lanes are watched apart. Lanes
// that are masked off contribute what changes nothing.

// CHECK-LABEL: func @maximum
// CHECK-DAG:     %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK:         %[[FULL:.*]] = vector.load
// CHECK:         %[[MASK:.*]] = vector.constant_mask [4] : vector<16xi1>
// CHECK:         %[[LOADED:.*]] = vector.maskedload
// CHECK:         %[[PART:.*]] = arith.select %[[MASK]], %[[LOADED]], %[[LOWEST]]
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"(%[[LOWEST]], %[[FULL]]
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"(%[[LOWEST]], %[[PART]]
// CHECK:         %[[NUMBERS:.*]] = arith.cmpf ord, %[[FULL]], %[[PART]]
// CHECK:         vector.reduction <and>, %[[NUMBERS]]
// CHECK:         arith.select
// CHECK:         arith.maximumf {{.*}} : vector<1xf32>
func.func @maximum(%x: memref<20xf32>, %max: memref<f32>) {
  chimera.micro_kernel reduction ins(%x : memref<20xf32>) outs(%max : memref<f32>)
      maps [affine_map<(l) -> (l)>, affine_map<(l) -> ()>] iterators ["reduction"] implementation #impl {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.maximumf %m, %v : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Where no element is said to be NaN, none is watched for.

// CHECK-LABEL: func @maximum_of_numbers
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
// CHECK-NOT:     arith.cmpf
// CHECK:         arith.maximumf {{.*}} fastmath<nnan> : vector<1xf32>
func.func @maximum_of_numbers(%x: memref<20xf32>, %max: memref<f32>) {
  chimera.micro_kernel reduction ins(%x : memref<20xf32>) outs(%max : memref<f32>)
      maps [affine_map<(l) -> (l)>, affine_map<(l) -> ()>] iterators ["reduction"] implementation #impl {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.maximumf %m, %v fastmath<nnan> : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Along columns there is nothing to combine but rows: sums go on from memory.

// CHECK-LABEL: func @columns
// CHECK:         %[[BEFORE:.*]] = vector.load %[[SUM:.*]][%c0] : memref<32xf32>
// CHECK:         %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[BEFORE]],
// CHECK:           vector.load {{.*}} : memref<9x32xf32>
// CHECK:           arith.addf
// CHECK:         vector.store %[[SUMS]]#0, %[[SUM]][%c0]
// CHECK-NOT:     vector.shuffle
func.func @columns(%x: memref<9x32xf32>, %sum: memref<32xf32>) {
  chimera.micro_kernel reduction ins(%x : memref<9x32xf32>) outs(%sum : memref<32xf32>)
      maps [affine_map<(l, n) -> (l, n)>, affine_map<(l, n) -> (n)>] iterators ["reduction", "parallel"] implementation #impl {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.addf %m, %v : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>,
                               tuning = <fetch_level = 2>>

// Four rows at once from their beginnings to their ends, and the two that are
// left. The dimension in the middle is a part of what follows a row in memory,
// the first one is not. Where prefetches fill the second level, they ask for the
// next four rows.

// CHECK-LABEL: func @rowwise
// CHECK:         scf.for %[[B:.*]] = %c0 to %c3 step %c1 {
// CHECK-NEXT:      scf.for %[[I:.*]] = %c0 to %c8 step %c4 {
// CHECK-NEXT:        scf.for %[[H:.*]] = %c0 to %c2 step %c1 {
// CHECK:                 vector.load %[[SUM:.*]][%[[B]], %[[H]], %c0] : memref<3x2x128xf32>
// CHECK:                 scf.for %[[R:.*]] = %c0 to %c4 step %c1 iter_args
// CHECK-NEXT:              %[[ROW:.*]] = arith.addi %[[I]], %[[R]]
// CHECK:                   vector.load %[[X:.*]][%[[B]], %[[ROW]], %[[H]], %c0]
// CHECK:                   %[[NEXT:.*]] = arith.addi %{{.*}}, %c4
// CHECK:                   memref.prefetch %{{.*}}[%{{.*}}, %[[NEXT]], %{{.*}}, %{{.*}}], read, locality<2>
// CHECK:                 vector.store %{{.*}}, %[[SUM]][%[[B]], %[[H]], %c0]
// CHECK:           scf.for %{{.*}} = %c0 to %c2 step %c1 {
// CHECK:             scf.for %[[R:.*]] = %c0 to %c2 step %c1 iter_args
// CHECK-NEXT:          arith.addi %[[R]], %c8
func.func @rowwise(%x: memref<3x10x2x128xf32>, %sum: memref<3x2x128xf32>) {
  chimera.micro_kernel reduction ins(%x : memref<3x10x2x128xf32>) outs(%sum : memref<3x2x128xf32>)
      maps [affine_map<(b, l, h, n) -> (b, l, h, n)>, affine_map<(b, l, h, n) -> (b, h, n)>]
      iterators ["parallel", "reduction", "parallel", "parallel"] implementation #impl rowwise 4 {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.addf %m, %v : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Indices that end up in 32 bits are computed there; bits are bytes in memory.

// CHECK-LABEL: func @indices
// CHECK-NOT:     vector<16xindex>
// CHECK:         %[[BYTES:.*]] = builtin.unrealized_conversion_cast %{{.*}} : memref<4x32xi1> to memref<4x32xi8>
// CHECK:         vector.load %[[BYTES]]{{.*}} vector<16xi8>
// CHECK:         arith.cmpi ne, {{.*}} : vector<16xi8>
// CHECK:         arith.addi {{.*}} : vector<16xi32>
// CHECK:         arith.cmpi sle, {{.*}} : vector<16xi32>
func.func @indices(%first: index, %keep: memref<4x32xi1>, %s: memref<4x32xf32>) {
  chimera.micro_kernel elementwise ins(%first, %keep : index, memref<4x32xi1>) outs(%s : memref<4x32xf32>)
      maps [affine_map<(m, l) -> ()>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m, l)>]
      iterators ["parallel", "parallel"] implementation #impl {
  ^bb0(%f: index, %k: i1, %x: f32):
    %zero = arith.constant 0.0 : f32
    %i = chimera.index 0
    %j = chimera.index 1
    %moved = arith.addi %j, %f : index
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %moved : index to i32
    %causal = arith.cmpi sle, %j32, %i32 : i32
    %both = arith.andi %causal, %k : i1
    %y = arith.select %both, %x, %zero : f32
    chimera.yield %y : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Naive, and said so: an output that depends on a sum in progress, ...

// CHECK-LABEL: func @scan
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @scan(%s: memref<32xf32>, %sum: memref<f32>) {
  chimera.micro_kernel reduction outs(%s, %sum : memref<32xf32>, memref<f32>)
      maps [affine_map<(l) -> (l)>, affine_map<(l) -> ()>] iterators ["reduction"] implementation #impl {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    chimera.yield %0, %0 : f32, f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// ... an operation whose order matters, ...

// CHECK-LABEL: func @ordered
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @ordered(%s: memref<32xf32>, %sum: memref<f32>) {
  chimera.micro_kernel reduction ins(%s : memref<32xf32>) outs(%sum : memref<f32>)
      maps [affine_map<(l) -> (l)>, affine_map<(l) -> ()>] iterators ["reduction"] implementation #impl {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.subf %x, %t : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// ... one that must not run on lanes that are thrown away, ...

// CHECK-LABEL: func @trapping
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @trapping(%x: memref<32xi32>, %y: memref<32xi32>) {
  chimera.micro_kernel elementwise ins(%x : memref<32xi32>) outs(%y : memref<32xi32>)
      maps [affine_map<(l) -> (l)>, affine_map<(l) -> (l)>] iterators ["parallel"] implementation #impl {
  ^bb0(%a: i32, %b: i32):
    %0 = arith.divsi %b, %a : i32
    chimera.yield %0 : i32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// ... operands contiguous along different dimensions, ...

// CHECK-LABEL: func @transposed
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @transposed(%x: memref<8x32xf32>, %y: memref<32x8xf32>, %sum: memref<32xf32>) {
  chimera.micro_kernel reduction ins(%x, %y : memref<8x32xf32>, memref<32x8xf32>) outs(%sum : memref<32xf32>)
      maps [affine_map<(m, l) -> (l, m)>, affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #impl {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %t : f32
    chimera.yield %1 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// ... and an output reduced along some of the dimensions only.

// CHECK-LABEL: func @partial
// CHECK-NOT:     vector
// CHECK:         linalg.generic
// REMARK:        micro kernel lowered by its naive semantics: {{.*}}does not cover it
func.func @partial(%x: memref<8x32xf32>, %sum: memref<8xf32>, %all: memref<f32>) {
  chimera.micro_kernel reduction ins(%x : memref<8x32xf32>) outs(%sum, %all : memref<8xf32>, memref<f32>)
      maps [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>, affine_map<(m, l) -> ()>]
      iterators ["reduction", "reduction"] implementation #impl {
  ^bb0(%a: f32, %t: f32, %u: f32):
    %0 = arith.addf %a, %t : f32
    %1 = arith.addf %a, %u : f32
    chimera.yield %0, %1 : f32, f32
  }
  return
}

// -----

// As many rows at a time as suit a core, and no more than there are lanes to hold
// their results.

// CHECK-LABEL: func @few_rows
// CHECK:         vector.store {{.*}} : memref<20xf32>, vector<2xf32>
// CHECK-LABEL: func @many_rows
// CHECK:         vector.store {{.*}} : memref<20xf32>, vector<10xf32>
#few = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, tuning = <reduced_rows = 2>>
#many = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>, tuning = <reduced_rows = 64>>
func.func @few_rows(%s: memref<20x128xf32>, %sum: memref<20xf32>) {
  chimera.micro_kernel reduction ins(%s : memref<20x128xf32>) outs(%sum : memref<20xf32>)
      maps [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #few {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    chimera.yield %0 : f32
  }
  return
}
func.func @many_rows(%s: memref<20x128xf32>, %sum: memref<20xf32>) {
  chimera.micro_kernel reduction ins(%s : memref<20x128xf32>) outs(%sum : memref<20xf32>)
      maps [affine_map<(m, l) -> (m, l)>, affine_map<(m, l) -> (m)>]
      iterators ["parallel", "reduction"] implementation #many {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#impl = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Windows that move by two columns are spread: each vector is put together from
// two, of which the second ends with the last lane; past the last whole vector
// no more is read than lanes ask for.

// CHECK-LABEL: func @spread
// CHECK:         %[[FLAT:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [41], strides: [1]
// CHECK:         scf.for %[[K:.*]] = %c0 to %c3
// CHECK:           %[[LOW:.*]] = vector.load %[[FLAT]][%[[AT:[a-z0-9]+]]]
// CHECK:           %[[END:.*]] = arith.addi %[[AT]], %c15
// CHECK:           %[[HIGH:.*]] = vector.load %[[FLAT]][%[[END]]]
// CHECK:           vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-DAG:       vector.constant_mask [7] : vector<16xi1>
// CHECK:           vector.maskedload %[[FLAT]]
// CHECK-NOT:     memref.load
func.func @spread(%x: memref<3x20xf32, strided<[1, 2]>>, %max: memref<20xf32>) {
  chimera.micro_kernel reduction ins(%x : memref<3x20xf32, strided<[1, 2]>>) outs(%max : memref<20xf32>)
      maps [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (n)>] iterators ["reduction", "parallel"] implementation #impl {
  ^bb0(%v: f32, %m: f32):
    %0 = arith.maximumf %m, %v fastmath<nnan> : f32
    chimera.yield %0 : f32
  }
  return
}
