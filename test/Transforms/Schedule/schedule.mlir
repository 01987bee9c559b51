// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --split-input-file | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --split-input-file --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=a100" --split-input-file --remarks-filter=chimera 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 fuse=never" --split-input-file | FileCheck %s --check-prefix=NEVER
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1 fuse=always" --split-input-file | FileCheck %s --check-prefix=ALWAYS

// The same program is planned in the same way, and printed alike, every time.
//
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --split-input-file -o %t.first
// RUN: chimera-opt %s --chimera-form-chains --chimera-schedule="target=zen5 threads=1" --split-input-file -o %t.second
// RUN: diff %t.first %t.second

// Eight heads of 512 x 512 with depth 64: the intermediate is 16 times what
// compulsory traffic is left without it, so the operators fuse; at L2 nothing
// but compulsory bytes moves.

// CHECK-LABEL: func @heads
// CHECK:         chimera.chain
// CHECK-SAME:      extents = [b = 8, m = 512, l = 512, k = 64, n = 64], blocks = <rows <line = 64, apart = 4>
// CHECK-SAME:      plan(<fused, "the intermediate stays on chip", operators = 2
// CHECK-SAME:      <"L2", predicted = 4194304, unfused = 20971520, bound = 4194304, capacity = 838860
// CHECK-NOT:     chimera.chain
// REMARK:      remark: [Passed] fused | Category:chimera
// REMARK-SAME:   the intermediate stays on chip: 20971520 bytes against 4194304 bytes into L3
// REMARK-SAME:   L2 20971520 -> 4194304 bytes
// REMARK:      remark: [Analysis] bound | Category:chimera
// REMARK-SAME:   L3: 4194304 bytes against a bound of 4194304, ratio 1.00
// REMARK:      remark: [Analysis] runner-up | Category:chimera
// REMARK-SAME:   L3: b by 1; {{.*}} us, +{{[0-9.]+}} %
// NEVER-LABEL: func @heads
// NEVER:         chimera.chain
// NEVER-SAME:      plan(<split, "not fused because asked to", operators = 1
// NEVER:         chimera.chain
// NEVER-SAME:      plan(<split, "not fused because asked to", operators = 1
func.func @heads(%a: tensor<8x512x64xf32>, %b: tensor<8x64x512xf32>, %d: tensor<8x512x64xf32>) -> tensor<8x512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %2 = linalg.batch_matmul ins(%a, %b : tensor<8x512x64xf32>, tensor<8x64x512xf32>) outs(%1 : tensor<8x512x512xf32>) -> tensor<8x512x512xf32>
  %3 = tensor.empty() : tensor<8x512x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  %5 = linalg.batch_matmul ins(%2, %d : tensor<8x512x512xf32>, tensor<8x512x64xf32>) outs(%4 : tensor<8x512x64xf32>) -> tensor<8x512x64xf32>
  return %5 : tensor<8x512x64xf32>
}

// -----

// 64 rows and all other dimensions large: what the operators share makes too few
// tasks for a machine with 108 cores. Separate operators are faster, and the
// remark has both figures; each becomes a chain of its own.

// CHECK-LABEL: func @few_rows
// GPU:         remark: [Missed] split | Category:chimera
// GPU-SAME:      operators run one by one: the shared loops make too few tasks: {{[0-9]+}} tasks against 108 tasks
// GPU-SAME:      fused {{[0-9.]+}} us, unfused {{[0-9.]+}} us
// GPU:         remark: [Analysis] bound | Category:chimera
// GPU-LABEL: func @few_rows
// GPU:         %[[C:.*]] = chimera.chain
// GPU-SAME:      plan(<split, "the shared loops make too few tasks", operators = 1
// GPU:         chimera.chain ins(%[[C]],
// GPU-SAME:      plan(<split
// ALWAYS-LABEL: func @few_rows
// ALWAYS:        chimera.chain
// ALWAYS-SAME:     plan(<fused, "{{[^"]+}}", operators = 2
// ALWAYS-NOT:    chimera.chain
func.func @few_rows(%a: tensor<64x2048xf32>, %b: tensor<2048x4096xf32>, %d: tensor<4096x4096xf32>) -> tensor<64x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x4096xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<64x2048xf32>, tensor<2048x4096xf32>) outs(%1 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %3 = linalg.matmul ins(%2, %d : tensor<64x4096xf32>, tensor<4096x4096xf32>) outs(%1 : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %3 : tensor<64x4096xf32>
}
