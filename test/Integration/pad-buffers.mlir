// Two products that run one after the other, the rows between them 4096 bytes
// long. Results are those of plain loops.

// RUN: chimera-opt %s --chimera-pipeline="target=host fuse=never" --mlir-print-ir-after=chimera-pad-buffers -o %t 2>&1 | FileCheck %s --check-prefix=BUFFER
// RUN: chimera-run %s --fuse=never --threads=1 --no-time --json=- | FileCheck %s
// RUN: chimera-run %s --fuse=never --threads=2 --no-time --json=- | FileCheck %s

// BUFFER: memref.alloc() {alignment = 64 : i64} : memref<37x1040xf32>
// BUFFER: chimera.micro_kernel contraction {{.*}} outs(%{{.*}} : memref<{{.*}}, strided<[1040, 1]
// BUFFER: chimera.micro_kernel contraction {{.*}}ins(%{{.*}} : memref<{{[0-9x?]+}}f32, strided<[1040, 1]

// CHECK: "max_rel_error": {{[0-9.]+e-[0-9]+}}
// CHECK: "nonfinite_elements": 0

func.func @main(%x: tensor<37x49xf32>, %w1: tensor<49x1024xf32>, %w2: tensor<1024x51xf32>) -> tensor<37x51xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<37x1024xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<37x1024xf32>) -> tensor<37x1024xf32>
  %c = linalg.matmul ins(%x, %w1 : tensor<37x49xf32>, tensor<49x1024xf32>)
      outs(%c_zero : tensor<37x1024xf32>) -> tensor<37x1024xf32>
  %e_empty = tensor.empty() : tensor<37x51xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<37x51xf32>) -> tensor<37x51xf32>
  %e = linalg.matmul ins(%c, %w2 : tensor<37x1024xf32>, tensor<1024x51xf32>)
      outs(%e_zero : tensor<37x51xf32>) -> tensor<37x51xf32>
  return %e : tensor<37x51xf32>
}
