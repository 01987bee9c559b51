// RUN: chimera-opt %s --chimera-lower-micro-kernels | FileCheck %s

// A dimension that is open has code for the largest extent that is listed, and
// code for any other: tiles of as many rows as an even split has, in two turns,
// the larger ones and those with a row less.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[A:.*]]: memref<?x16xf32>
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c8
// CHECK: scf.if %[[IS_WHOLE]] {
// CHECK-NOT: arith.ceildivui
// CHECK: } else {
// CHECK:   %[[TILES:.*]] = arith.ceildivui %[[ROWS:.*]], %c4
// CHECK:   %[[SOME:.*]] = arith.maxui %[[TILES]], %c1
// CHECK:   arith.ceildivui %[[ROWS]], %[[SOME]]
// CHECK:   scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK:     %[[IS_FOUR:.*]] = arith.cmpi eq, %[[SIZE:.*]], %c4
// CHECK:     scf.if %[[IS_FOUR]] {
// CHECK:       scf.for {{.*}} step %c4
// CHECK:     %[[IS_THREE:.*]] = arith.cmpi eq, %[[SIZE]], %c3
// CHECK:     scf.if %[[IS_THREE]] {
// CHECK:       scf.for {{.*}} step %c3
// CHECK:     arith.cmpi eq, %[[SIZE]], %c2
// CHECK:     arith.cmpi eq, %[[SIZE]], %c1
#kernel = #chimera.outer_product<lanes = 8, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 1>>
func.func @rows(%a: memref<?x16xf32>, %b: memref<16x8xf32>, %c: memref<?x8xf32>) {
  chimera.micro_kernel contraction ins(%a, %b : memref<?x16xf32>, memref<16x8xf32>) outs(%c : memref<?x8xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[8, 0], [8], [16]]
      implementation #kernel {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  return
}

// Nothing is listed: there is code for any extent alone. The last vector of a row
// is masked.
// CHECK-LABEL: func.func @columns(
// CHECK-NOT: scf.if
// CHECK: arith.remui
// CHECK: scf.for
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %[[END:.*]] step %c8
// CHECK: %[[LEFT:.*]] = arith.subi %[[END]], %[[AT]]
// CHECK: %[[MASK:.*]] = vector.create_mask %[[LEFT]]
// CHECK: vector.maskedload {{.*}}, %[[MASK]]
// CHECK: %[[STORED:.*]] = vector.create_mask %[[LEFT]]
// CHECK: vector.maskedstore {{.*}}, %[[STORED]]
func.func @columns(%a: memref<4x?xf32>, %c: memref<4x?xf32>) {
  chimera.micro_kernel elementwise ins(%a : memref<4x?xf32>) outs(%c : memref<4x?xf32>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] extents [[4], [0]]
      implementation #kernel {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %x : f32
    chimera.yield %0 : f32
  }
  return
}
