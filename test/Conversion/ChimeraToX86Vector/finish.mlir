// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

// A sum of channels, and what another tensor adds, is finished before it is
// stored: nothing loads it again. The bias is loaded once for both rows. What is
// another for each sum, and where sums are stored, is asked for first.

// CHECK-LABEL: func @finish(
// CHECK-SAME:    %[[A:[^:]*]]: memref<2x64xf32>, %[[B:[^:]*]]: memref<64x16xf32>, %[[C:[^:]*]]: memref<2x16xf32>, %[[BIAS:[^:]*]]: memref<16xf32>
// CHECK:         memref.prefetch %{{.*}}[%c0, %c0], read, locality<3>, data : memref<2x16xf32, strided<[16, 1]>>
// CHECK-NEXT:    memref.prefetch %[[C]][%c0, %c0], write, locality<3>, data
// CHECK:         memref.prefetch %{{.*}}[%c1, %c0], read, locality<3>, data : memref<2x16xf32, strided<[16, 1]>>
// CHECK-NEXT:    memref.prefetch %[[C]][%c1, %c0], write, locality<3>, data
// CHECK-NOT:     memref.prefetch
// CHECK:         scf.for
// CHECK:         %[[B0:.*]] = vector.load %[[BIAS]][%c0]
// CHECK-NOT:     vector.load %[[BIAS]]
// CHECK:         %[[R0:.*]] = vector.load %{{.*}}[%c0, %c0] : memref<2x16xf32, strided<[16, 1]>>
// CHECK:         %[[S0:.*]] = arith.addf %{{.*}}, %[[B0]] : vector<16xf32>
// CHECK:         %[[T0:.*]] = arith.addf %[[S0]], %[[R0]]
// CHECK:         %[[U0:.*]] = arith.maximumf %[[T0]],
// CHECK:         vector.store %[[U0]], %[[C]][%c0, %c0]
// CHECK:         %[[R1:.*]] = vector.load %{{.*}}[%c1, %c0] : memref<2x16xf32, strided<[16, 1]>>
// CHECK:         vector.store %{{.*}}, %[[C]][%c1, %c0]
// CHECK-NOT:     vector.store
// CHECK-NOT:     chimera.micro_kernel
func.func @finish(%a: memref<2x64xf32>, %b: memref<64x16xf32>, %c: memref<2x16xf32>, %bias: memref<16xf32>, %more: memref<2x16xf32>) {
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<2x64xf32>, memref<64x16xf32>) outs(%c : memref<2x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  // What is read is cut out between the two.
  %view = memref.subview %more[0, 0] [2, 16] [1, 1] : memref<2x16xf32> to memref<2x16xf32, strided<[16, 1]>>
  chimera.micro_kernel elementwise
      ins(%bias, %view : memref<16xf32>, memref<2x16xf32, strided<[16, 1]>>) outs(%c : memref<2x16xf32>)
      maps [affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %z, %x : f32
    %1 = arith.addf %0, %y : f32
    %2 = arith.maximumf %1, %zero : f32
    chimera.yield %2 : f32
  }
  return
}

// -----

// An extent that is not listed has both by their naive semantics.

// CHECK-LABEL: func @others(
// CHECK:         scf.if
// CHECK:           vector.fma
// CHECK:           arith.negf %{{.*}} : vector<16xf32>
// CHECK:         } else {
// CHECK:           linalg.generic
// CHECK:           linalg.generic
// CHECK:             arith.negf
// CHECK:         }
// CHECK-NOT:     negf
func.func @others(%a: memref<?x64xf32>, %b: memref<64x16xf32>, %c: memref<?x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<?x64xf32>, memref<64x16xf32>) outs(%c : memref<?x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] extents [[2], [16], [64]]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  chimera.micro_kernel elementwise outs(%c : memref<?x16xf32>)
      maps [affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"] extents [[2], [16]]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%z: f32):
    %0 = arith.negf %z : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

// Passes of their own: what updates another tensor, what comes after something
// with an effect, and functions, which take the registers that the sums are in.

// CHECK-LABEL: func @apart(
// CHECK:         vector.store
// CHECK:         memref.store
// CHECK:         vector.load
// CHECK:         arith.negf
// CHECK:         vector.store
func.func @apart(%a: memref<1x64xf32>, %b: memref<64x16xf32>, %c: memref<1x16xf32>, %other: memref<f32>, %number: f32) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  memref.store %number, %other[] : memref<f32>
  chimera.micro_kernel elementwise outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%z: f32):
    %0 = arith.negf %z : f32
    chimera.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func @functions(
// CHECK:         vector.store
// CHECK:         vector.load
// CHECK:         vector.store
func.func @functions(%a: memref<1x64xf32>, %b: memref<64x16xf32>, %c: memref<1x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  chimera.micro_kernel elementwise outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n) -> (m, n)>] iterators ["parallel", "parallel"]
      implementation #chimera.outer_product<lanes = 16, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
  ^bb0(%z: f32):
    %0 = math.exp %z : f32
    chimera.yield %0 : f32
  }
  return
}

// -----

#tile = #chimera.outer_product<lanes = 16, registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>

// Sums that nobody else needs are narrowed on the way to where they go: their own
// memory is not written. It is if somebody reads it again.

// CHECK-LABEL: func @narrowed(
// CHECK-SAME:    %[[OUT:[^:]*]]: memref<1x16xbf16>
// CHECK-NOT:     vector.store {{.*}} : memref<1x16xf32>
// CHECK:         vector.store %{{.*}}, %[[OUT]][%c0, %c0] : memref<1x16xbf16>, vector<16xbf16>
func.func @narrowed(%a: memref<1x64xf32>, %b: memref<64x16xf32>, %out: memref<1x16xbf16>) {
  %sums = memref.alloca() : memref<1x32xf32>
  %c = memref.subview %sums[0, 0] [1, 16] [1, 1] : memref<1x32xf32> to memref<1x16xf32, strided<[32, 1]>>
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>) outs(%c : memref<1x16xf32, strided<[32, 1]>>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  chimera.micro_kernel elementwise
      ins(%c : memref<1x16xf32, strided<[32, 1]>>) outs(%out : memref<1x16xbf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] implementation #tile {
  ^bb0(%x: f32, %z: bf16):
    %0 = arith.truncf %x : f32 to bf16
    chimera.yield %0 : bf16
  }
  return
}

// CHECK-LABEL: func @read_again(
// CHECK:         vector.store %{{.*}} : memref<1x16xf32>, vector<16xf32>
// CHECK:         vector.load %{{.*}} : memref<1x16xf32>, vector<16xf32>
// CHECK:         vector.store %{{.*}} : memref<1x16xbf16>, vector<16xbf16>
func.func @read_again(%a: memref<1x64xf32>, %b: memref<64x16xf32>, %out: memref<1x16xbf16>) -> f32 {
  %c = memref.alloca() : memref<1x16xf32>
  %i = arith.constant 0 : index
  chimera.micro_kernel contraction overwrite
      ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>) outs(%c : memref<1x16xf32>)
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      iterators ["parallel", "parallel", "reduction"] implementation #tile {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    chimera.yield %1 : f32
  }
  chimera.micro_kernel elementwise
      ins(%c : memref<1x16xf32>) outs(%out : memref<1x16xbf16>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>]
      iterators ["parallel", "parallel"] implementation #tile {
  ^bb0(%x: f32, %z: bf16):
    %0 = arith.truncf %x : f32 to bf16
    chimera.yield %0 : bf16
  }
  %again = memref.load %c[%i, %i] : memref<1x16xf32>
  return %again : f32
}
