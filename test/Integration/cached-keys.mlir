// As many queries as there are look at as many keys of a cache, which importers write
// as the smaller of two numbers, and assert to be the number of queries: the chain is
// planned for any number. Halves of queries change places, as rotations have it.

// RUN: chimera-run %s --emit=mlir | FileCheck %s --check-prefix=PLAN
// RUN: chimera-run %s --at=7,1,48,33 --no-time | FileCheck %s
// RUN: not chimera-run %s --at=49 --no-time --no-check 2>&1 | FileCheck %s --check-prefix=MORE

// PLAN: chimera.open_sizes
// PLAN: chimera.chain
// PLAN-SAME: schedule(<levels

// CHECK: at 7
// CHECK: at {{ *}}1: passed
// CHECK: at {{ *}}48: passed
// CHECK: at {{ *}}33: passed

// MORE: mismatching contracting dimension

func.func @main(%x: tensor<?x32xf32>, %keys: tensor<48x32xf32>, %values: tensor<48x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %last = arith.constant -1 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %left = tensor.extract_slice %x[0, 0] [%n, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %right = tensor.extract_slice %x[0, 16] [%n, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %turned = tensor.concat dim(1) %right, %left : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
  %isNegative = arith.cmpi slt, %n, %c0 : index
  %fromEnd = arith.addi %n, %c48 : index
  %end = arith.select %isNegative, %fromEnd, %n : index
  %isOutside = arith.cmpi slt, %end, %c0 : index
  %inside = arith.select %isOutside, %last, %end : index
  %most = arith.minsi %inside, %c48 : index
  %count = arith.maxsi %most, %c0 : index
  %k = tensor.extract_slice %keys[0, 0] [%count, 32] [1, 1] : tensor<48x32xf32> to tensor<?x32xf32>
  %v = tensor.extract_slice %values[0, 0] [%count, 32] [1, 1] : tensor<48x32xf32> to tensor<?x32xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty(%count) : tensor<32x?xf32>
  %kt = linalg.transpose ins(%k : tensor<?x32xf32>) outs(%e0 : tensor<32x?xf32>) permutation = [1, 0]
  %e1 = tensor.empty(%n, %count) : tensor<?x?xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %scores = linalg.matmul ins(%turned, %kt : tensor<?x32xf32>, tensor<32x?xf32>) outs(%z1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.softmax dimension(1) ins(%scores : tensor<?x?xf32>) outs(%e1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %i0 = arith.index_cast %n : index to i64
  %i1 = arith.index_cast %count : index to i64
  %same = arith.cmpi eq, %i0, %i1 : i64
  cf.assert %same, "mismatching contracting dimension"
  %e2 = tensor.empty(%n) : tensor<?x32xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul ins(%p, %v : tensor<?x?xf32>, tensor<?x32xf32>) outs(%z2 : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
