// Where f32 may be multiplied as tf32, plans are for the unit that the target has for
// it: tiles have 16 rows, and what moves has 4 bytes still. A target without plans as
// ever.
//
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=a100 tf32" | FileCheck %s --check-prefix=TF32
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=a100" | FileCheck %s --check-prefix=F32
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 tf32" | FileCheck %s --check-prefix=CPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" | FileCheck %s --check-prefix=CPU

// TF32:      chimera.chain
// TF32-SAME:   schedule(<levels = [<"L2">, <"SMEM" : m = 16>], parallel = 1
// TF32-SAME:   <"L2", predicted = 65536
// F32:       chimera.chain
// F32-SAME:    schedule(<levels = [<"L2">, <"SMEM" : m = 1>], parallel = 1
// F32-SAME:    <"L2", predicted = 65536
// CPU:       chimera.chain
// CPU-SAME:    schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 32, n = 32>], parallel = 1
func.func @chain(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = linalg.matmul ins(%2, %v : tensor<64x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
