// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule=target=granite-rapids | FileCheck %s
// RUN: chimera-opt %s --chimera-form-chains=target=h200 --chimera-schedule=target=h200 | FileCheck %s --check-prefix=ARRANGED

// A core with caches and a matrix unit: the unit loads its tiles from rows in
// the cache and wants pairs along the reduction side by side, so the right
// operand has to be packed. On a GPU operands are arranged on the way from shared
// memory, and nothing is packed.

// CHECK-LABEL: func @product
// CHECK:         packed = [1]
// CHECK-SAME:    rows <line = 64, apart = 4>

// ARRANGED-LABEL: func @product
// ARRANGED-NOT:     packed
// ARRANGED:         blocks = <>
func.func @product(%a: tensor<256x512xbf16>, %b: tensor<512x256xbf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x256xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<256x512xbf16>, tensor<512x256xbf16>) outs(%1 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}
