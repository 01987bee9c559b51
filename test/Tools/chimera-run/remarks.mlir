// The report says what was not taken, and why; with --remarks every decision is
// shown.

// RUN: chimera-run %s --no-time --entry=outside | FileCheck %s
// RUN: chimera-run %s --no-time --entry=outside --json=- | FileCheck %s --check-prefix=JSON
// RUN: chimera-run %s --no-time --entry=outside --remarks | FileCheck %s --check-prefix=ALL
// RUN: chimera-run %s '--entry=*' | FileCheck %s --check-prefix=QUIET
// RUN: chimera-run %s '--entry=*' --remarks | FileCheck %s --check-prefix=ALL
// RUN: chimera-run %s --emit=mlir -o /dev/null --remarks 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: chimera-run %s --emit=mlir -o /dev/null 2>&1 | count 0

// CHECK-NOT: passed
// CHECK: missed {{.*}}remarks.mlir:[[#@LINE+22]]:{{[0-9]+}}: not in a chain: {{.+}}
// CHECK-NOT: passed

// JSON: "remarks": [
// JSON: "kind": "missed",
// JSON-NEXT: "name": "not-in-chain",
// JSON-NEXT: "place": "{{.*}}remarks.mlir:[[#@LINE+16]]:{{[0-9]+}}",
// JSON-NEXT: "text": "not in a chain: {{.+}}"

// ALL-DAG: missed {{.*}}: not in a chain:
// ALL-DAG: passed {{.*}}: formed a chain of 2 operators
// ALL-DAG: analysis {{.*}}: L1: {{.*}} bytes against a bound of

// QUIET-NOT: missed

// PLAN-DAG: missed {{.*}}: not in a chain:
// PLAN-DAG: passed {{.*}}: formed a chain of 2 operators

func.func @outside(%a: tensor<8x6xi32>, %b: tensor<6x10xi32>) -> tensor<8x10xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x10xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x10xi32>) -> tensor<8x10xi32>
  %c = linalg.matmul ins(%a, %b : tensor<8x6xi32>, tensor<6x10xi32>)
      outs(%start : tensor<8x10xi32>) -> tensor<8x10xi32>
  return %c : tensor<8x10xi32>
}

func.func @chain(%a: tensor<8x6xf32>, %b: tensor<6x10xf32>, %d: tensor<10x4xf32>)
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
