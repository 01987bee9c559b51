// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --chimera-tile \
// RUN:   --chimera-partition="target=zen5 threads=1 print-graph" --remarks-filter=chimera-none -o %t 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOOPS < %t

// The loops of a chain are still known as one, with what it was planned to take.

// CHECK:      0: chain (many_to_many) t0, t1 -> t2
// CHECK-NEXT: 1: softmax (not_fuse) t2 -> t3
// LOOPS:      scf.for
// LOOPS:      chimera.group = #chimera.group<id = 0, kind = chain, mapping = many_to_many>
// LOOPS-SAME: chimera.plan = #chimera.plan<unfused
func.func @scores(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = linalg.softmax dimension(1) ins(%c : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %s : tensor<256x256xf32>
}
