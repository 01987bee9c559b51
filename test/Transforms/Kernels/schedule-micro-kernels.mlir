// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --chimera-tile --chimera-map-micro-kernels=target=zen5 --split-input-file --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=MAPPED

// A kernel that the program brings competes with the target's own, whose 6 x 4
// vectors of 16 take 12 cycles for a step: declared to take less, its tile is
// chosen, and blocks are multiples of it.

// CHECK-LABEL: func @faster
// CHECK:         <"L1" : n = 80, m = 25>
// CHECK-SAME:    registers = <rows = 5, vectors = 5, broadcasts = 0, depth = 1, kernel = "kernel">
// MAPPED-LABEL: func @faster
// MAPPED:         chimera.micro_kernel contraction
// MAPPED-SAME:    implementation #chimera.function_kernel<@chimera_micro_kernels::@kernel,
// MAPPED-SAME:    otherwise #chimera.outer_product<lanes = 16, registers = <rows = 4, vectors = 5, broadcasts = 1, depth = 4>, tuning = <streams = 1>, dots = [bf16, i8], narrowed = [bf16]>
#faster = #chimera.function_kernel<@chimera_micro_kernels::@kernel, <contraction, types = [f32, f32, f32], shape = 5x80x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 6.0 : f64, setup = 10.0 : f64>>
module attributes {chimera.micro_kernels = [#faster]} {
  func.func @faster(%a: tensor<500x64xf32>, %b: tensor<64x480xf32>) -> tensor<500x480xf32> {
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<500x480xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<500x480xf32>) -> tensor<500x480xf32>
    %2 = linalg.matmul ins(%a, %b : tensor<500x64xf32>, tensor<64x480xf32>) outs(%1 : tensor<500x480xf32>) -> tensor<500x480xf32>
    return %2 : tensor<500x480xf32>
  }
}

// -----

// The same kernel, declared to take longer: the target's own.

// CHECK-LABEL: func @slower
// CHECK-NOT:     kernel = "kernel"
// MAPPED-LABEL: func @slower
// MAPPED-NOT:     implementation #chimera.function_kernel
#slower = #chimera.function_kernel<@chimera_micro_kernels::@kernel, <contraction, types = [f32, f32, f32], shape = 5x80x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 20.0 : f64, setup = 10.0 : f64>>
module attributes {chimera.micro_kernels = [#slower]} {
  func.func @slower(%a: tensor<500x64xf32>, %b: tensor<64x480xf32>) -> tensor<500x480xf32> {
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<500x480xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<500x480xf32>) -> tensor<500x480xf32>
    %2 = linalg.matmul ins(%a, %b : tensor<500x64xf32>, tensor<64x480xf32>) outs(%1 : tensor<500x480xf32>) -> tensor<500x480xf32>
    return %2 : tensor<500x480xf32>
  }
}

// -----

// One of two: the faster.

// CHECK-LABEL: func @two
// CHECK:         kernel = "second"
// MAPPED-LABEL: func @two
#first = #chimera.function_kernel<@first, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 1.5 : f64>>
#second = #chimera.function_kernel<@second, <contraction, types = [f32, f32, f32], shape = 4x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 1.0 : f64>>
module attributes {chimera.micro_kernels = [#first, #second]} {
  func.func @two(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512x512xf32> {
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    return %2 : tensor<512x512xf32>
  }
}

// -----

// A kernel of other types has no say.

// CHECK-LABEL: func @other_types
// CHECK-NOT:     kernel = "kernel"
#narrow = #chimera.function_kernel<@kernel, <contraction, types = [bf16, bf16, f32], shape = 4x16x?, layouts = [<any>, <contiguous along 1>, <contiguous along 1>], cycles = 1.0 : f64>>
module attributes {chimera.micro_kernels = [#narrow]} {
  func.func @other_types(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512x512xf32> {
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<512x512xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = linalg.matmul ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
    return %2 : tensor<512x512xf32>
  }
}
