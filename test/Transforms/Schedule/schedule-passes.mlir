// RUN: chimera-opt %s --chimera-schedule="target=zen4 threads=2" | FileCheck %s

// A thread of a pass writes some rows of what it copies. A product that comes behind it
// gives each thread the rows that it has written. A matrix that the caller hands in may be
// read by all threads: columns are cut.

// CHECK-LABEL: func @turned
// CHECK:         chimera.chain ins(%transposed,
// CHECK-SAME:      <"L2" : m = 96>
// CHECK-SAME:      parallel = 1
// CHECK-LABEL: func @given
// CHECK:         chimera.chain ins(%arg0,
// CHECK-SAME:      <"L2" : n = 192>
// CHECK-SAME:      parallel = 1
func.func @turned(%a: tensor<256x192xf32>, %b: tensor<256x384xf32>, %init: tensor<192x384xf32>) -> tensor<192x384xf32> {
  %empty = tensor.empty() : tensor<192x256xf32>
  %t = linalg.transpose ins(%a : tensor<256x192xf32>) outs(%empty : tensor<192x256xf32>) permutation = [1, 0]
  %r = chimera.chain ins(%t, %b, %init : tensor<192x256xf32>, tensor<256x384xf32>, tensor<192x384xf32>) {
  ^bb0(%x: tensor<192x256xf32>, %y: tensor<256x384xf32>, %z: tensor<192x384xf32>):
    %c = linalg.matmul ins(%x, %y : tensor<192x256xf32>, tensor<256x384xf32>) outs(%z : tensor<192x384xf32>) -> tensor<192x384xf32>
    chimera.yield %c : tensor<192x384xf32>
  } -> tensor<192x384xf32>
  return %r : tensor<192x384xf32>
}

func.func @given(%t: tensor<192x256xf32>, %b: tensor<256x384xf32>, %init: tensor<192x384xf32>) -> tensor<192x384xf32> {
  %r = chimera.chain ins(%t, %b, %init : tensor<192x256xf32>, tensor<256x384xf32>, tensor<192x384xf32>) {
  ^bb0(%x: tensor<192x256xf32>, %y: tensor<256x384xf32>, %z: tensor<192x384xf32>):
    %c = linalg.matmul ins(%x, %y : tensor<192x256xf32>, tensor<256x384xf32>) outs(%z : tensor<192x384xf32>) -> tensor<192x384xf32>
    chimera.yield %c : tensor<192x384xf32>
  } -> tensor<192x384xf32>
  return %r : tensor<192x384xf32>
}
