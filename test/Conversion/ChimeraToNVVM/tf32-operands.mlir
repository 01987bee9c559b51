// In tf32, what cases of kernels.py do not have: a factor that is read in two ways and
// a residual; a first product of f16 whose sums stay f32.
//
// RUN: chimera-opt %s --chimera-nvidia-pipeline="target=h200 tf32 format=isa manifest=%t.json" -o %t.mlir
// RUN: %python %S/tf32_operands.py %t.mlir %t.json | FileCheck %s

// CHECK: twice error {{.*}}e-04 conflicts 0 cut 0
// CHECK: mixed error {{.*}}e-04 conflicts 0 cut 0
func.func @twice(%x: tensor<48x40xf32>, %w: tensor<40x40xf32>, %residual: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<48x40xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<48x40xf32>) -> tensor<48x40xf32>
  %c = linalg.matmul ins(%x, %w : tensor<48x40xf32>, tensor<40x40xf32>)
      outs(%c1 : tensor<48x40xf32>) -> tensor<48x40xf32>
  %e = linalg.matmul ins(%c, %w : tensor<48x40xf32>, tensor<40x40xf32>)
      outs(%c1 : tensor<48x40xf32>) -> tensor<48x40xf32>
  %r = linalg.add ins(%e, %residual : tensor<48x40xf32>, tensor<48x40xf32>)
      outs(%c0 : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %r : tensor<48x40xf32>
}

func.func @mixed(%x: tensor<64x48xf16>, %w: tensor<48x64xf16>, %v: tensor<64x40xf32>) -> tensor<64x40xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x64xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x64xf16>)
      outs(%c1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %e0 = tensor.empty() : tensor<64x40xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x40xf32>) -> tensor<64x40xf32>
  %e = linalg.matmul ins(%c, %v : tensor<64x64xf32>, tensor<64x40xf32>)
      outs(%e1 : tensor<64x40xf32>) -> tensor<64x40xf32>
  return %e : tensor<64x40xf32>
}
