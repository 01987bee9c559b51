// What loops say about unrolling reaches LLVM: those around tiles stay loops.

// RUN: chimera-run %s --target=zen5 --threads=1 --emit=llvm | FileCheck %s

// CHECK: br i1 {{.*}}, !llvm.loop ![[ID:[0-9]+]]
// CHECK: ![[ID]] = distinct !{![[ID]], ![[NEVER:[0-9]+]]}
// CHECK: ![[NEVER]] = !{!"llvm.loop.unroll.disable"}

func.func @main(%a: tensor<96x512xf32>, %b: tensor<512x256xf32>)
    -> tensor<96x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x256xf32>
  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x256xf32>)
      -> tensor<96x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<96x512xf32>, tensor<512x256xf32>)
      outs(%sums : tensor<96x256xf32>) -> tensor<96x256xf32>
  return %c : tensor<96x256xf32>
}
