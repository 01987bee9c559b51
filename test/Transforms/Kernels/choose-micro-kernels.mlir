// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-map-micro-kernels=target=zen5 --split-input-file --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The kernel that the registers name; what it leaves is for the target's own, on
// a tile of that size.

#own = #chimera.function_kernel<@own, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <contiguous along 2>, <any>], cycles = 1.0 : f64>>

// It reads the second factor along the reduction, so that is what is copied.

// CHECK-LABEL: func @named
// CHECK:         chimera.micro_kernel pack
// CHECK-SAME:      ins({{.*}} : tensor<6x32xf32>) outs({{.*}} : tensor<32x6xf32>)
// CHECK-SAME:      implementation #chimera.outer_product
// CHECK:         chimera.micro_kernel contraction
// CHECK-SAME:      implementation #chimera.function_kernel<@own,
// CHECK-SAME:      otherwise #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 1, broadcasts = 1, depth = 4>, tuning = <streams = 1>, dots = [bf16, i8], narrowed = [bf16]>
// REMARK-NOT:    micro kernel 'own'
module attributes {chimera.micro_kernels = [#own]} {
  func.func @named(%a: tensor<8x6xf32>, %b: tensor<6x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
    %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<6x32xf32>) outs(%c : tensor<8x32xf32>)
        extents [[8], [32], [6]] registers <rows = 4, vectors = 1, broadcasts = 0, depth = 1, kernel = "own"> {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x32xf32>, %z: tensor<8x32xf32>):
      %1 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
      chimera.yield %1 : tensor<8x32xf32>
    } -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}

// -----

// A kernel with a tile of its own is not used where the registers do not name it.

#own = #chimera.function_kernel<@own, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <any>, <any>], cycles = 1.0 : f64>>

// CHECK-LABEL: func @not_named
// CHECK:         implementation #chimera.outer_product
// CHECK-NOT:     otherwise
module attributes {chimera.micro_kernels = [#own]} {
  func.func @not_named(%a: tensor<8x6xf32>, %b: tensor<6x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
    %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<6x32xf32>) outs(%c : tensor<8x32xf32>)
        extents [[8], [32], [6]] registers <rows = 4, vectors = 1, broadcasts = 1, depth = 1> {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x32xf32>, %z: tensor<8x32xf32>):
      %1 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
      chimera.yield %1 : tensor<8x32xf32>
    } -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}

// -----

// CHECK-LABEL: func @absent
// CHECK:         implementation #chimera.outer_product
// REMARK:        micro kernel 'absent' is not used: there is none of that name
func.func @absent(%a: tensor<8x6xf32>, %b: tensor<6x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<6x32xf32>) outs(%c : tensor<8x32xf32>)
      extents [[8], [32], [6]] registers <rows = 4, vectors = 1, broadcasts = 0, depth = 1, kernel = "absent"> {
  ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x32xf32>, %z: tensor<8x32xf32>):
    %1 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
    chimera.yield %1 : tensor<8x32xf32>
  } -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// No pass interleaves.

#pairs = #chimera.function_kernel<@pairs, <contraction, types = [f32, f32, f32], shape = 4x16x2, layouts = [<any>, <interleaved along 2 by [2]>, <any>], cycles = 1.0 : f64>>

// CHECK-LABEL: func @not_laid_out
// CHECK:         implementation #chimera.outer_product
// REMARK:        micro kernel 'pairs' is not used: operand #1 would have to be laid out as 'interleaved', which no pass does
module attributes {chimera.micro_kernels = [#pairs]} {
  func.func @not_laid_out(%a: tensor<8x6xf32>, %b: tensor<6x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
    %0 = chimera.block "gemm0" ins(%a, %b : tensor<8x6xf32>, tensor<6x32xf32>) outs(%c : tensor<8x32xf32>)
        extents [[8], [32], [6]] registers <rows = 4, vectors = 1, broadcasts = 0, depth = 2, kernel = "pairs"> {
    ^bb0(%x: tensor<8x6xf32>, %y: tensor<6x32xf32>, %z: tensor<8x32xf32>):
      %1 = linalg.matmul ins(%x, %y : tensor<8x6xf32>, tensor<6x32xf32>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
      chimera.yield %1 : tensor<8x32xf32>
    } -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}
