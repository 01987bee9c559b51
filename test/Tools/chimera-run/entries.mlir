// --entry=* checks every public function; otherwise one is chosen.

// RUN: chimera-run %s '--entry=*' | FileCheck %s
// RUN: chimera-run %s '--entry=*' --json=- | FileCheck %s --check-prefix=JSON
// RUN: chimera-run %s --entry=add --no-time | FileCheck %s --check-prefix=ONE
// RUN: not chimera-run %s 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: passed add max rel error 0.00e+00
// CHECK-NEXT: passed product max rel error
// CHECK-NOT: helper

// JSON: "functions": [
// JSON: "entry": "add"
// JSON: "passed": true
// JSON: "entry": "product"
// JSON: "passed": true

// ONE: program {{.*}}, @add,

// NONE: chimera-run: error: the file has several public functions and none is named 'main'; choose with --entry

func.func @add(%a: tensor<7xi32>, %b: tensor<7xi32>) -> tensor<7xi32> {
  %0 = tensor.empty() : tensor<7xi32>
  %1 = linalg.add ins(%a, %b : tensor<7xi32>, tensor<7xi32>)
      outs(%0 : tensor<7xi32>) -> tensor<7xi32>
  return %1 : tensor<7xi32>
}

func.func @product(%a: tensor<9x5xf32>, %b: tensor<5x8xf32>) -> tensor<9x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<9x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<9x5xf32>, tensor<5x8xf32>)
      outs(%1 : tensor<9x8xf32>) -> tensor<9x8xf32>
  %3 = call @helper(%2) : (tensor<9x8xf32>) -> tensor<9x8xf32>
  return %3 : tensor<9x8xf32>
}

func.func private @helper(%a: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %0 = tensor.empty() : tensor<9x8xf32>
  %1 = linalg.exp ins(%a : tensor<9x8xf32>) outs(%0 : tensor<9x8xf32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}
