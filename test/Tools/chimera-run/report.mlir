// A chain of two GEMMs, run, checked and timed: the table and the JSON; and a
// program that reads more than it computes.

// RUN: chimera-run %s --fuse=always --threads=1 --json=%t.json | FileCheck %s
// RUN: %python %S/Inputs/check_report.py %t.json
// RUN: chimera-run %s --no-time --json=- | FileCheck %s --check-prefix=JSON
// RUN: chimera-run %s --threads=1 --no-check --compare-plans=1 --json=%t.plans.json \
// RUN:   | FileCheck %s --check-prefix=PLANS
// RUN: FileCheck %s --check-prefix=PLANSJSON --input-file=%t.plans.json
// RUN: chimera-run %s --threads=1 --no-check --fuse=never --compare-plans=0 --json=- \
// RUN:   | FileCheck %s --check-prefix=WHOLE
// RUN: chimera-run %s --threads=1 --no-check --alone --json=- \
// RUN:   | FileCheck %s --check-prefix=ALONE
// RUN: chimera-run %s --entry=twice --no-check | FileCheck %s --check-prefix=READ

// CHECK: machine {{.*}}, 1 thread, L1
// CHECK-NEXT: program {{.*}}report.mlir, @main, target host, seed 0
// CHECK: chain 0: {{.*}} > {{.*}}
// CHECK-NEXT: fused: {{.+}}
// CHECK: schedule
// CHECK: register tile {{[0-9]+}} rows x {{[0-9]+}} vectors
// CHECK: bytes moved into each level
// CHECK-NEXT: level predicted unfused bound capacity used
// CHECK: L1
// CHECK: predicted {{.*}}, as separate operators
// CHECK: time best {{.*}}, median {{.*}}, spread
// CHECK-NEXT: unfused best
// CHECK: speed-up {{.*}} over unfused code
// CHECK: rate {{.*}} GFLOP/s, {{.*}} % of the {{.*}} GFLOP/s measured in this run
// CHECK-NEXT: moved 32.0 KiB of arguments and results, {{[0-9.]+}} GB/s{{$}}
// CHECK: error max abs {{.*}}, max rel {{.*}}e-0{{[6-9]}} against plain loops in f64

// ALONE: "median_ms": {{[0-9.]+}},
// ALONE: "unfused_best_ms": null,

// PLANS: predicted {{.*}} for the chains
// PLANS-DAG: runner-up 1 median {{.*}}, predicted {{.*}} for the chains, {{.*}} of the time
// PLANSJSON: "other_plans": [
// PLANSJSON: "median_ms": {{[0-9.]+}}
// PLANSJSON: "plan": "runner-up 1"
// PLANSJSON: "predicted_ms": {{[0-9.]+}}

// Separate operators are what was asked for: nothing but the other is listed,
// and they are their own unfused time.
// WHOLE: "median_ms": [[TIME:[0-9.]+]],
// WHOLE: "plan": "whole"
// WHOLE-NOT: "plan":
// WHOLE: "unfused_median_ms": [[TIME]]

// JSON-DAG: "entry": "main"
// JSON-DAG: "best_ms": null
// JSON-DAG: "argument_bytes": 25856
// JSON-DAG: "result_bytes": 6912
// JSON-DAG: "gbytes_per_s": null
// JSON-DAG: "read_gbytes_per_s": null
// JSON-DAG: "fraction_of_read": null
// JSON-DAG: "max_rel_error": {{.*}}e-0
// JSON-DAG: "verdict": "{{fused|split|unfused}}"

// READ: moved 8.00 MiB of arguments and results, {{.*}} GB/s, {{.*}} % of the {{.*}} GB/s of a plain read in this run

func.func @main(%a: tensor<72x40xf32>, %b: tensor<40x56xf32>,
                %d: tensor<56x24xf32>) -> tensor<72x24xf32> {
  %zero = arith.constant 0.0 : f32
  %c_empty = tensor.empty() : tensor<72x56xf32>
  %c_zero = linalg.fill ins(%zero : f32) outs(%c_empty : tensor<72x56xf32>) -> tensor<72x56xf32>
  %c = linalg.matmul ins(%a, %b : tensor<72x40xf32>, tensor<40x56xf32>)
      outs(%c_zero : tensor<72x56xf32>) -> tensor<72x56xf32>
  %e_empty = tensor.empty() : tensor<72x24xf32>
  %e_zero = linalg.fill ins(%zero : f32) outs(%e_empty : tensor<72x24xf32>) -> tensor<72x24xf32>
  %e = linalg.matmul ins(%c, %d : tensor<72x56xf32>, tensor<56x24xf32>)
      outs(%e_zero : tensor<72x24xf32>) -> tensor<72x24xf32>
  return %e : tensor<72x24xf32>
}

func.func @twice(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %empty = tensor.empty() : tensor<1024x1024xf32>
  %y = linalg.add ins(%x, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>)
      outs(%empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}
