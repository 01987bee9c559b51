// RUN: chimera-run %s --target=avx2 --threads=1 --no-check --no-time --report=%t.md > /dev/null
// RUN: FileCheck %s < %t.md
// RUN: chimera-run %s --target=avx2 --threads=1 --no-check --no-time --report=%t.json > /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: chimera-run %s --target=avx2 --threads=1 --no-check --no-time --report=%t.html > /dev/null
// RUN: FileCheck %s --check-prefix=HTML < %t.html

// A product, a softmax of what it makes: a chain, a group, and a tensor between.

// CHECK:      ## Partition 0
// CHECK:      5 operators in 2 groups: {{.*}} (optimal).
// CHECK:      2 kernels move 1.25 MiB
// CHECK:      | 0 {{.*}}| chain  | chain {{.*}}
// CHECK-NEXT: | 1 {{.*}}| memory | generic, generic, generic, generic |
// CHECK:      | t2 {{.*}}| 256 KiB | 0    | 1  | one of them is a product or convolution, which chains are made of | many_to_many before
// CHECK-NOT:  ## Partition

// JSON:      "partitions": [
// JSON:        "proof": "optimal",
// JSON:          "name": "chain",
// JSON-NEXT:     "mapping": "many_to_many"
// JSON:          "kind": "memory",
// JSON:        "stored": [
// JSON:            "bytes": 262144,
// JSON-NEXT:       "from": 0,
// JSON-NEXT:       "to": 1,

// HTML:      <h2>Partition 0</h2>
// HTML:      <title>Groups and what is stored between them</title>
// HTML:      <path class="stored" {{.*}}256 KiB: one of them is a product
// HTML:      class="group chain"
// HTML:      class="group memory"
func.func @main(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %s = linalg.softmax dimension(1) ins(%c : tensor<256x256xf32>) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %s : tensor<256x256xf32>
}
