// Every operation survives text, the generic form and bytecode.
//
// RUN: chimera-opt %s | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --mlir-print-op-generic | chimera-opt | FileCheck %s
// RUN: chimera-opt %s --emit-bytecode | chimera-opt | FileCheck %s

// CHECK-DAG: [[$MK:#[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: [[$KN:#[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: [[$MN:#[a-z0-9]+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#scalar = affine_map<(m, n) -> ()>
#row = affine_map<(m, n) -> (n)>
#id = affine_map<(m, n) -> (m, n)>

//===----------------------------------------------------------------------===//
// chimera.chain
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @chain(
// CHECK-SAME: %[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<8x8xf32>)
// CHECK: %[[R:.*]] = chimera.chain ins(%[[A]], %[[B]], %[[C]] : tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
// CHECK-NEXT: ^bb0(%[[A0:.*]]: tensor<8x4xf32>, %[[B0:.*]]: tensor<4x8xf32>, %[[C0:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[M:.*]] = linalg.matmul ins(%[[A0]], %[[B0]] : {{.*}}) outs(%[[C0]] : {{.*}})
// CHECK-NEXT: chimera.yield %[[M]] : tensor<8x8xf32>
// CHECK-NEXT: } -> tensor<8x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @chain(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %0 = chimera.chain ins(%a, %b, %c
      : tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
  ^bb0(%a0: tensor<8x4xf32>, %b0: tensor<4x8xf32>, %c0: tensor<8x8xf32>):
    %1 = linalg.matmul ins(%a0, %b0 : tensor<8x4xf32>, tensor<4x8xf32>)
        outs(%c0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Schedule and plan come before other attributes; inputs may be of any type,
// shapes dynamic, results several.
// CHECK-LABEL: func @chain_with_schedule(
// CHECK: chimera.chain ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<4x8xf32>, tensor<?x8xf32>, index)
// CHECK-SAME: schedule(<levels = [<"L1" : m = 2>], parallel = 1, registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>>)
// CHECK-SAME: plan(<fused, "it fits", operators = 1, nanoseconds = 1, unfused_nanoseconds = 2>)
// CHECK-SAME: attributes {test.tag = "t"} {
// CHECK: } -> tensor<?x8xf32>, tensor<?x8xf32>
func.func @chain_with_schedule(%a: tensor<?x4xf32>, %b: tensor<4x8xf32>,
    %c: tensor<?x8xf32>, %m: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0:2 = chimera.chain ins(%a, %b, %c, %m
      : tensor<?x4xf32>, tensor<4x8xf32>, tensor<?x8xf32>, index)
    schedule(<levels = [<"L1" : m = 2>], parallel = 1,
      registers = <rows = 2, vectors = 1, broadcasts = 1, depth = 1>>)
    plan(<fused, "it fits", operators = 1, nanoseconds = 1,
      unfused_nanoseconds = 2>)
    attributes {test.tag = "t"} {
  ^bb0(%a0: tensor<?x4xf32>, %b0: tensor<4x8xf32>, %c0: tensor<?x8xf32>,
       %m0: index):
    %1 = tensor.empty(%m0) : tensor<?x8xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<?x4xf32>, tensor<4x8xf32>)
        outs(%1 : tensor<?x8xf32>) -> tensor<?x8xf32>
    %3 = linalg.add ins(%2, %c0 : tensor<?x8xf32>, tensor<?x8xf32>)
        outs(%1 : tensor<?x8xf32>) -> tensor<?x8xf32>
    chimera.yield %2, %3 : tensor<?x8xf32>, tensor<?x8xf32>
  } -> tensor<?x8xf32>, tensor<?x8xf32>
  return %0#0, %0#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func @chain_without_inputs(
// CHECK: chimera.chain {
// CHECK: } -> tensor<2x2xf32>
func.func @chain_without_inputs() -> tensor<2x2xf32> {
  %0 = chimera.chain {
    %1 = arith.constant dense<1.0> : tensor<2x2xf32>
    %2 = linalg.matmul ins(%1, %1 : tensor<2x2xf32>, tensor<2x2xf32>)
        outs(%1 : tensor<2x2xf32>) -> tensor<2x2xf32>
    chimera.yield %2 : tensor<2x2xf32>
  } -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

//===----------------------------------------------------------------------===//
// chimera.block
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @block(
// CHECK-SAME: %[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<8x8xf32>)
// CHECK: chimera.block "matmul0" ins(%[[A]], %[[B]] : tensor<8x4xf32>, tensor<4x8xf32>)
// CHECK-SAME: outs(%[[C]] : tensor<8x8xf32>)
// CHECK-SAME: extents {{\[\[}}8, 3], [8], [4]]
// CHECK-SAME: registers <rows = 2, vectors = 1, broadcasts = 1, depth = 1>
// CHECK-SAME: packed [1] attributes {test.tag} {
// CHECK-NEXT: ^bb0(%[[A0:.*]]: tensor<8x4xf32>, %[[B0:.*]]: tensor<4x8xf32>, %[[C0:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: linalg.matmul
// CHECK-NEXT: chimera.yield %{{.*}} : tensor<8x8xf32>
// CHECK-NEXT: } -> tensor<8x8xf32>
func.func @block(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %0 = chimera.block "matmul0" ins(%a, %b : tensor<8x4xf32>, tensor<4x8xf32>)
      outs(%c : tensor<8x8xf32>) extents [[8, 3], [8], [4]]
      registers <rows = 2, vectors = 1, broadcasts = 1, depth = 1> packed [1]
      attributes {test.tag} {
  ^bb0(%a0: tensor<8x4xf32>, %b0: tensor<4x8xf32>, %c0: tensor<8x8xf32>):
    %1 = linalg.matmul ins(%a0, %b0 : tensor<8x4xf32>, tensor<4x8xf32>)
        outs(%c0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    chimera.yield %1 : tensor<8x8xf32>
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// CHECK-LABEL: func @block_without_inputs(
// CHECK: chimera.block "fill" outs(%{{.*}} : tensor<?x8xf32>) {
func.func @block_without_inputs(%c: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = chimera.block "fill" outs(%c : tensor<?x8xf32>) {
  ^bb0(%c0: tensor<?x8xf32>):
    %zero = arith.constant 0.0 : f32
    %1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<?x8xf32>)
        -> tensor<?x8xf32>
    chimera.yield %1 : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

//===----------------------------------------------------------------------===//
// chimera.micro_kernel
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @contraction_on_tensors(
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<4x16xf32>, %[[C:.*]]: tensor<?x16xf32>)
// CHECK: %[[R:.*]] = chimera.micro_kernel contraction overwrite
// CHECK-SAME: ins(%[[A]], %[[B]] : tensor<?x4xf32>, tensor<4x16xf32>)
// CHECK-SAME: outs(%[[C]] : tensor<?x16xf32>)
// CHECK-SAME: maps {{\[}}[[$MK]], [[$KN]], [[$MN]]]
// CHECK-SAME: iterators ["parallel", "parallel", "reduction"]
// CHECK-SAME: extents {{\[\[}}6, 2], [16], [4]]
// CHECK-SAME: implementation #chimera.outer_product<lanes = 16, registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 4>>
// CHECK-SAME: attributes {test.tag} {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[Z:.*]]: f32):
// CHECK: chimera.yield %{{.*}} : f32
// CHECK-NEXT: } -> tensor<?x16xf32>
// CHECK-NEXT: return %[[R]]
func.func @contraction_on_tensors(%a: tensor<?x4xf32>, %b: tensor<4x16xf32>,
    %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = chimera.micro_kernel contraction overwrite
      ins(%a, %b : tensor<?x4xf32>, tensor<4x16xf32>)
      outs(%c : tensor<?x16xf32>)
      maps [#mk, #kn, #mn] iterators ["parallel", "parallel", "reduction"]
      extents [[6, 2], [16], [4]]
      implementation #chimera.outer_product<lanes = 16,
        registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 4>>
      attributes {test.tag} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  } -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

// CHECK-LABEL: func @contraction_on_memrefs(
// CHECK: {{^}}    chimera.micro_kernel contraction ins(
// CHECK-SAME: memref<8x4xf32, strided<[64, 1], offset: ?>>, memref<4x16xf32>)
// CHECK-SAME: outs(%{{.*}} : memref<8x16xf32>)
// CHECK-NOT: overwrite
// CHECK: {{^}}    }{{$}}
func.func @contraction_on_memrefs(
    %a: memref<8x4xf32, strided<[64, 1], offset: ?>>, %b: memref<4x16xf32>,
    %c: memref<8x16xf32>) {
  chimera.micro_kernel contraction
      ins(%a, %b : memref<8x4xf32, strided<[64, 1], offset: ?>>,
                   memref<4x16xf32>)
      outs(%c : memref<8x16xf32>)
      maps [#mk, #kn, #mn] iterators ["parallel", "parallel", "reduction"] {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    chimera.yield %2 : f32
  }
  return
}

// Scalars have a map without results.
// CHECK-LABEL: func @elementwise(
// CHECK: chimera.micro_kernel elementwise ins(
// CHECK-SAME: f32, memref<16xf32>
func.func @elementwise(%s: f32, %bias: memref<16xf32>, %c: memref<8x16xf32>) {
  chimera.micro_kernel elementwise ins(%s, %bias : f32, memref<16xf32>)
      outs(%c : memref<8x16xf32>)
      maps [#scalar, #row, #id] iterators ["parallel", "parallel"] {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %z : f32
    %2 = arith.addf %1, %y : f32
    chimera.yield %2 : f32
  }
  return
}

// CHECK-LABEL: func @pack(
// CHECK: chimera.micro_kernel pack ins(
func.func @pack(%a: memref<8x16xf32>, %p: memref<16x8xf32>) {
  chimera.micro_kernel pack ins(%a : memref<8x16xf32>)
      outs(%p : memref<16x8xf32>)
      maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n, m)>]
      iterators ["parallel", "parallel"] {
  ^bb0(%x: f32, %z: f32):
    chimera.yield %x : f32
  }
  return
}

// CHECK-LABEL: func @no_inputs(
// CHECK: chimera.micro_kernel elementwise outs(
func.func @no_inputs(%c: memref<8x16xf32>) {
  chimera.micro_kernel elementwise outs(%c : memref<8x16xf32>)
      maps [#id] iterators ["parallel", "parallel"] {
  ^bb0(%z: f32):
    %0 = arith.constant 0.0 : f32
    chimera.yield %0 : f32
  }
  return
}

//===----------------------------------------------------------------------===//
// chimera.shift
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @shift(
// CHECK: chimera.shift %{{.*}} along 1 from %{{.*}} to %{{.*}} by %{{.*}} {note} : tensor<?x9xf32>
func.func @shift(%a: tensor<?x9xf32>, %i: index) -> tensor<?x9xf32> {
  %0 = chimera.shift %a along 1 from %i to %i by %i {note} : tensor<?x9xf32>
  return %0 : tensor<?x9xf32>
}

//===----------------------------------------------------------------------===//
// chimera.windows
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @windows(
// CHECK: chimera.windows %{{.*}} at #{{.*}} {note} : tensor<9x9xf32> to tensor<4x3x9xf32>
func.func @windows(%a: tensor<9x9xf32>) -> tensor<4x3x9xf32> {
  %0 = chimera.windows %a at affine_map<(h, r, w) -> (2 * h + r, w)> {note} : tensor<9x9xf32> to tensor<4x3x9xf32>
  return %0 : tensor<4x3x9xf32>
}

// CHECK-LABEL: func @windows_of_any(
// CHECK: chimera.windows %{{.*}} at #{{.*}} : tensor<?x9xf32> to tensor<?x4x3xf32>
func.func @windows_of_any(%a: tensor<?x9xf32>) -> tensor<?x4x3xf32> {
  %0 = chimera.windows %a at affine_map<(n, h, r) -> (n, 2 * h + r)> : tensor<?x9xf32> to tensor<?x4x3xf32>
  return %0 : tensor<?x4x3xf32>
}
