// A chain in a region is a chain like any other.

// RUN: chimera-opt %s --chimera-planning-pipeline=target=zen5 --remarks-filter-passed=chimera \
// RUN:   --verify-diagnostics | FileCheck %s
// RUN: chimera-run %s '--entry=*' --fuse=always | FileCheck %s --check-prefix=RUNS

// RUNS: passed whole_in_if
// RUNS-NEXT: passed loop

// CHECK-LABEL: func.func @whole_in_if(
// CHECK: scf.if
// CHECK: chimera.chain
func.func @whole_in_if(%a: tensor<13x7xf32>, %b: tensor<7x9xf32>, %d: tensor<9x5xf32>, %i: tensor<i1>) -> tensor<13x5xf32> {
  %z = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<13x9xf32>
  %4 = tensor.empty() : tensor<13x5xf32>
  %5 = linalg.fill ins(%z : f32) outs(%4 : tensor<13x5xf32>) -> tensor<13x5xf32>
  %c = tensor.extract %i[] : tensor<i1>
  %7 = scf.if %c -> tensor<13x5xf32> {
    %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x9xf32>) -> tensor<13x9xf32>
    %2 = linalg.matmul ins(%a, %b : tensor<13x7xf32>, tensor<7x9xf32>) outs(%1 : tensor<13x9xf32>) -> tensor<13x9xf32>
    // expected-remark @+2 {{formed a chain of 2 operators}}
    // expected-remark @below {{2 operators fused: the intermediate stays on chip}}
    %6 = linalg.matmul ins(%2, %d : tensor<13x9xf32>, tensor<9x5xf32>) outs(%5 : tensor<13x5xf32>) -> tensor<13x5xf32>
    scf.yield %6 : tensor<13x5xf32>
  } else {
    scf.yield %5 : tensor<13x5xf32>
  }
  return %7 : tensor<13x5xf32>
}

// CHECK-LABEL: func.func @loop(
// CHECK: scf.for
// CHECK: chimera.chain
func.func @loop(%a: tensor<13x13xf32>, %b: tensor<13x13xf32>, %d: tensor<13x13xf32>) -> tensor<13x13xf32> {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = tensor.empty() : tensor<13x13xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<13x13xf32>) -> tensor<13x13xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<13x13xf32> {
    %2 = linalg.matmul ins(%x, %b : tensor<13x13xf32>, tensor<13x13xf32>) outs(%1 : tensor<13x13xf32>) -> tensor<13x13xf32>
    // expected-remark @+2 {{formed a chain of 2 operators}}
    // expected-remark @below {{2 operators fused: the intermediate stays on chip}}
    %3 = linalg.matmul ins(%2, %d : tensor<13x13xf32>, tensor<13x13xf32>) outs(%1 : tensor<13x13xf32>) -> tensor<13x13xf32>
    scf.yield %3 : tensor<13x13xf32>
  }
  return %r : tensor<13x13xf32>
}
