// RUN: chimera-opt %s --chimera-lower-micro-kernels --split-input-file | FileCheck %s

// A kernel with tiles of 2 x 8 on 5 x 20 of a batch: its code in loops over two
// columns and two rows of tiles, and what is left, a row and four columns, by the
// other implementation. It adds, so what overwrites starts with zeros.

#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 2x8x?,
  layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 2.0 : f64>

// CHECK-LABEL: func @edges
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<3x5x7xf32>, %[[B:[a-z0-9]+]]: memref<3x7x20xf32>, %[[C:[a-z0-9]+]]: memref<3x5x20xf32>
// CHECK:         scf.for %[[I:.*]] = %c0 to %c3 step %c1
// CHECK:           scf.for %[[N:.*]] = %c0 to %c16 step %c8
// CHECK:             scf.for %[[M:.*]] = %c0 to %c4 step %c2
// CHECK:               memref.subview %[[A]][%[[I]], %[[M]], 0] [1, 2, 7] [1, 1, 1]
// CHECK:               memref.reinterpret_cast {{.*}} sizes: [2, 7], strides: [7, 1]
// CHECK:               linalg.fill
// CHECK:               arith.divf {{.*}} : vector<4xf32>
// CHECK:         memref.subview %[[C]][0, 4, 0] [3, 1, 20] [1, 1, 1]
// CHECK:         vector.fma
// CHECK:         memref.subview %[[C]][0, 0, 16] [3, 4, 4] [1, 1, 1]
// CHECK:         vector.maskedstore
// CHECK-NOT:   @kernels
module {
  func.func @edges(%a: memref<3x5x7xf32>, %b: memref<3x7x20xf32>, %c: memref<3x5x20xf32>) {
    chimera.micro_kernel contraction overwrite
        ins(%a, %b : memref<3x5x7xf32>, memref<3x7x20xf32>) outs(%c : memref<3x5x20xf32>)
        maps [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
        iterators ["parallel", "parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@chimera_micro_kernels::@kernel, #kernel>
        otherwise #chimera.outer_product<lanes = 8, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  module @chimera_micro_kernels {
    func.func private @kernel(%a: memref<2x?xf32, strided<[?, ?], offset: ?>>, %b: memref<?x8xf32, strided<[?, 1], offset: ?>>, %c: memref<2x8xf32, strided<[?, 1], offset: ?>>) {
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c1, %c1] : memref<2x?xf32, strided<[?, ?], offset: ?>>
      %y = vector.load %b[%c1, %c1] : memref<?x8xf32, strided<[?, 1], offset: ?>>, vector<4xf32>
      %v = vector.broadcast %x : f32 to vector<4xf32>
      %z = arith.divf %v, %y : vector<4xf32>
      vector.store %z, %c[%c1, %c1] : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<4xf32>
      return
    }
  }
}

// -----

// Factors come in the other order, one of them transposed; the reduction is cut,
// so zeros come before all of it. A function without a body is called.

#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x4x2,
  layouts = [<contiguous along 0>, <any>, <any>], cycles = 2.0 : f64>

// CHECK-LABEL: func @swapped
// CHECK-SAME:    %[[B:[a-z0-9]+]]: memref<6x4xf32>, %[[A:[a-z0-9]+]]: memref<6x4xf32>, %[[C:[a-z0-9]+]]: memref<4x4xf32>
// CHECK:         linalg.fill {{.*}} outs(%[[C]]
// CHECK:         scf.for %[[K:.*]] = %c0 to %c6 step %c2
// CHECK:           %[[SLICE:.*]] = memref.subview %[[A]][%[[K]], 0] [2, 4]
// CHECK:           extract_strided_metadata %[[SLICE]]
// CHECK-NEXT:      memref.reinterpret_cast {{.*}} sizes: [4, 2], strides: [1, 4]
// CHECK-NOT:       linalg.fill
// CHECK:           call @kernel
module {
  func.func @swapped(%b: memref<6x4xf32>, %a: memref<6x4xf32>, %c: memref<4x4xf32>) {
    chimera.micro_kernel contraction overwrite
        ins(%b, %a : memref<6x4xf32>, memref<6x4xf32>) outs(%c : memref<4x4xf32>)
        maps [affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@kernel, #kernel> {
    ^bb0(%y: f32, %x: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  func.func private @kernel(memref<4x2xf32, strided<[1, ?], offset: ?>>, memref<2x4xf32, strided<[?, ?], offset: ?>>, memref<4x4xf32, strided<[?, ?], offset: ?>>)
}

// -----

// Not laid out as the kernel wants: the other implementation, and the naive
// semantics without one.

#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x4x?,
  layouts = [<contiguous along 2>, <any>, <any>], cycles = 2.0 : f64>

// CHECK-LABEL: func @declined
// CHECK-NOT:     subview
// CHECK:         linalg.generic
// CHECK-NOT:     call
module {
  func.func @declined(%a: memref<8x4xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>) {
    chimera.micro_kernel contraction
        ins(%a, %b : memref<8x4xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>)
        maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@kernel, #kernel> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  func.func private @kernel(memref<4x?xf32, strided<[?, 1], offset: ?>>, memref<?x4xf32, strided<[?, ?], offset: ?>>, memref<4x4xf32, strided<[?, ?], offset: ?>>)
}

// -----

// A kernel for other types than those of the operation is not used, though the
// operation names it.

#kernel = #chimera.kernel<contraction, types = [bf16, bf16, f32], shape = 4x4x?,
  layouts = [<any>, <any>, <any>], cycles = 2.0 : f64>

// CHECK-LABEL: func @other_types
// CHECK-NOT:     call
// CHECK:         linalg.generic
module {
  func.func @other_types(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>) {
    chimera.micro_kernel contraction
        ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>)
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@kernel, #kernel> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  func.func private @kernel(memref<4x?xbf16, strided<[?, ?], offset: ?>>, memref<?x4xbf16, strided<[?, ?], offset: ?>>, memref<4x4xf32, strided<[?, ?], offset: ?>>)
}

// -----

// Nothing to compute: no kernel has to expect that.

#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x4x?,
  layouts = [<any>, <any>, <any>], cycles = 2.0 : f64>

// CHECK-LABEL: func @empty
// CHECK:         linalg.generic
module {
  func.func @empty(%a: memref<4x0xf32>, %b: memref<0x4xf32>, %c: memref<4x4xf32>) {
    chimera.micro_kernel contraction
        ins(%a, %b : memref<4x0xf32>, memref<0x4xf32>) outs(%c : memref<4x4xf32>)
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@kernel, #kernel> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  func.func private @kernel(memref<4x?xf32, strided<[?, ?], offset: ?>>, memref<?x4xf32, strided<[?, ?], offset: ?>>, memref<4x4xf32, strided<[?, ?], offset: ?>>)
}

// -----

// What is read next is asked for tile by tile: each of the four asks for one of
// the four rows, which are a line each.

#kernel = #chimera.kernel<contraction, types = [f32, f32, f32], shape = 4x4x?,
  layouts = [<any>, <any>, <any>], cycles = 2.0 : f64>

// CHECK-LABEL: func @hints
// CHECK-SAME:    %[[NEXT:[a-z0-9]+]]: memref<4x16xf32, strided<[64, 1]>>
// CHECK:         scf.for %[[N:.*]] = %c0 to %c8 step %c4
// CHECK:           scf.for %[[M:.*]] = %c0 to %c8 step %c4
// CHECK-DAG:         %[[ROW:.*]] = arith.divui %[[M]], %c4
// CHECK-DAG:         %[[COLUMN:.*]] = arith.divui %[[N]], %c4
// CHECK:             %[[TILES:.*]] = arith.muli %[[ROW]], %c2
// CHECK:             %[[TILE:.*]] = arith.addi %[[TILES]], %[[COLUMN]]
// CHECK:             %[[LINE:.*]] = arith.remui %[[TILE]], %c4
// CHECK:             memref.prefetch %[[NEXT]][%[[LINE]],
// CHECK-NOT:         memref.prefetch
// CHECK:             call @kernel
// CHECK-NOT:       memref.prefetch
module {
  func.func @hints(%next: memref<4x16xf32, strided<[64, 1]>>, %a: memref<8x6xf32>, %b: memref<6x8xf32>, %c: memref<8x8xf32>) {
    chimera.prefetch %next within [4, 16] : memref<4x16xf32, strided<[64, 1]>>
    chimera.micro_kernel contraction
        ins(%a, %b : memref<8x6xf32>, memref<6x8xf32>) outs(%c : memref<8x8xf32>)
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        iterators ["parallel", "parallel", "reduction"]
        implementation #chimera.function_kernel<@kernel, #kernel> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %z, %0 : f32
      chimera.yield %1 : f32
    }
    return
  }
  func.func private @kernel(memref<4x?xf32, strided<[?, ?], offset: ?>>, memref<?x4xf32, strided<[?, ?], offset: ?>>, memref<4x4xf32, strided<[?, ?], offset: ?>>)
}
