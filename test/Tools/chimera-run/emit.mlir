// What --emit writes.

// RUN: chimera-run %s --fuse=always --emit=mlir | FileCheck %s --check-prefix=MLIR
// RUN: chimera-run %s --fuse=always --tiles=closed-form --emit=mlir | FileCheck %s --check-prefix=MLIR
// RUN: chimera-run %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: chimera-run %s --emit=asm -o %t.s
// RUN: FileCheck %s --check-prefix=ASM --input-file=%t.s
// RUN: chimera-run %s --emit=obj -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: chimera-run %s --emit=so -o %t.so 2>&1 | count 0
// RUN: %python %S/Inputs/call_library.py %t.so
// RUN: %python %S/Inputs/without_path.py chimera-run %s --emit=so -o %t.so \
// RUN:   | FileCheck %s --check-prefix=NOLINKER

// MLIR: chimera.chain
// MLIR-SAME: schedule(<levels =
// LLVM: define {{.*}} @_mlir_ciface_main(
// ASM: _mlir_ciface_main:
// SYMBOLS: T _mlir_ciface_main
// NOLINKER: chimera-run: error: no linker: shared libraries need clang or cc in PATH

func.func @main(%a: tensor<8x6xf32>, %b: tensor<6x10xf32>, %d: tensor<10x4xf32>)
    -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<8x10xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<8x10xf32>) -> tensor<8x10xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x6xf32>, tensor<6x10xf32>)
      outs(%c_zero : tensor<8x10xf32>) -> tensor<8x10xf32>
  %e_empty = tensor.empty() : tensor<8x4xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e = linalg.matmul ins(%c, %d : tensor<8x10xf32>, tensor<10x4xf32>)
      outs(%e_zero : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %e : tensor<8x4xf32>
}
