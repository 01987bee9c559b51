// RUN: chimera-opt %s --chimera-tile --mlir-print-local-scope --split-input-file --verify-diagnostics | FileCheck %s
// RUN: split-file %s %t
// RUN: chimera-opt %t/panels.mlir --chimera-tile --chimera-prepare-constants --canonicalize --chimera-map-micro-kernels=target=zen5 | FileCheck %s --check-prefix=AHEAD
// RUN: sed 's/prefetch <loops = fixed>//' %t/panels.mlir | chimera-opt --chimera-tile --chimera-prepare-constants --canonicalize --chimera-map-micro-kernels=target=zen5 | FileCheck %s --check-prefix=PLAIN --implicit-check-not=chimera.prefetch

//--- panels.mlir

// Panels of 16 columns, the last one not full, before the first loop; tiles of
// 32 columns are two panels.

// CHECK-LABEL: func @panels
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<24x72xf32>
// CHECK: %[[EMPTY:.+]] = tensor.empty() : tensor<5x24x16xf32>
// CHECK: %[[ALL:.+]] = scf.for {{.*}} iter_args(%{{.+}} = %[[EMPTY]])
// CHECK: chimera.block "gemm0" ins(%{{.+}} : tensor<1x?xf32>) outs(%{{.+}} : tensor<1x?xf32>) extents {{\[}}[1], [16, 8]]
// CHECK: %[[ONCE:.+]] = chimera.prepare %[[ALL]] holding %[[B]] : tensor<24x72xf32> at
// CHECK-SAME: affine_map<(d0, d1) -> (d1 floordiv 16, d0, d1 mod 16)> : tensor<5x24x16xf32>
// CHECK: scf.forall
// CHECK: tensor.extract_slice %[[ONCE]][%{{.+}}, 0, 0] [%{{.+}}, 24, 16] [1, 1, 1] : tensor<5x24x16xf32> to tensor<?x24x16xf32>
// CHECK: chimera.block "gemm0" ins(%{{.+}}, %{{.+}} : tensor<?x24xf32>, tensor<24x?xf32>)
// CHECK-SAME: prefetch <loops = fixed>

// While one panel is in use, the next one is on its way: 24 rows, shared by the
// four tiles of rows. The schedule says so.

// PLAIN: chimera.micro_kernel contraction

// AHEAD-LABEL: func @panels
// AHEAD: %[[PANELS:.+]] = bufferization.to_tensor %{{.+}} restrict : memref<5x24x16xf32>
// AHEAD: scf.forall
// AHEAD: %[[TILE:.+]] = tensor.extract_slice %[[PANELS]]
// AHEAD: scf.for
// AHEAD: arith.select
// AHEAD: %[[NEXT:.+]] = tensor.extract_slice %[[TILE]]
// AHEAD: scf.for
// AHEAD: %[[SHARE:.+]] = tensor.extract_slice %[[NEXT]]
// AHEAD: chimera.prefetch %[[SHARE]] within [6, 16]
// AHEAD: chimera.micro_kernel contraction

func.func @panels(%a: tensor<20x24xf32>, %b: tensor<24x72xf32> {chimera.constant}) -> tensor<20x72xf32> {
  %e = chimera.chain ins(%a, %b : tensor<20x24xf32>, tensor<24x72xf32>)
      schedule(<levels = [<"L2" : n = 32>, <"L1" : n = 16, m = 6>], parallel = 1,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 2>, prepacked = [1],
                blocks = <prefetch <loops = fixed>>>) {
  ^bb0(%a0: tensor<20x24xf32>, %b0: tensor<24x72xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x72xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x72xf32>) -> tensor<20x72xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x24xf32>, tensor<24x72xf32>) outs(%1 : tensor<20x72xf32>) -> tensor<20x72xf32>
    chimera.yield %2 : tensor<20x72xf32>
  } -> tensor<20x72xf32>
  return %e : tensor<20x72xf32>
}

// -----

// A constant that is transposed first is transposed into its panels; the last one
// has 8 columns.

// CHECK-LABEL: func @transposed
// CHECK-SAME: %{{.+}}: tensor<20x24xf32>, %[[B:[a-z0-9]+]]: tensor<72x24xf32>
// CHECK: %[[WHOLE:.+]] = scf.forall (%[[P:.+]]) in (4) shared_outs(%[[TO:.+]] = %{{.+}}) -> (tensor<5x24x16xf32>)
// CHECK: %[[FIRST:.+]] = affine.apply affine_map<(d0) -> (d0 * 16)>(%[[P]])
// CHECK: %[[FROM:.+]] = tensor.extract_slice %[[B]][%[[FIRST]], 0] [16, 24] [1, 1] : tensor<72x24xf32> to tensor<16x24xf32>
// CHECK: tensor.extract_slice %[[TO]][%[[P]], 0, 0] [1, 24, 16] [1, 1, 1] : tensor<5x24x16xf32> to tensor<24x16xf32>
// CHECK: chimera.block "gemm0" ins(%[[FROM]] : tensor<16x24xf32>) outs(%{{.+}} : tensor<24x16xf32>) extents {{\[}}[24], [16]]
// CHECK: linalg.transpose ins(%{{.+}} : tensor<16x24xf32>) outs(%{{.+}} : tensor<24x16xf32>) permutation = [1, 0]
// CHECK: %[[REST:.+]] = tensor.extract_slice %[[B]][64, 0] [8, 24] [1, 1]
// CHECK: tensor.extract_slice %[[WHOLE]][4, 0, 0] [1, 24, 8] [1, 1, 1] : tensor<5x24x16xf32> to tensor<24x8xf32>
// CHECK: chimera.block "gemm0" ins(%[[REST]] : tensor<8x24xf32>) outs(%{{.+}} : tensor<24x8xf32>)
// CHECK: %[[ALL:.+]] = tensor.insert_slice %{{.+}} into %[[WHOLE]][4, 0, 0] [1, 24, 8] [1, 1, 1]
// CHECK: chimera.prepare %[[ALL]] holding %{{.+}} : tensor<24x72xf32> at
// CHECK-SAME: affine_map<(d0, d1) -> (d1 floordiv 16, d0, d1 mod 16)> : tensor<5x24x16xf32>

// AHEAD-LABEL: func @transposed
// AHEAD: func private @prepare_value{{.*}}: tensor<72x24xf32>, %{{.+}}: memref<5x24x16xf32>
// AHEAD-NOT: tensor.empty() : tensor<24x72xf32>
// AHEAD: chimera.micro_kernel pack

// PLAIN-LABEL: func @transposed

func.func @transposed(%a: tensor<20x24xf32>, %b: tensor<72x24xf32> {chimera.constant}) -> tensor<20x72xf32> {
  %t0 = tensor.empty() : tensor<24x72xf32>
  %t = linalg.transpose ins(%b : tensor<72x24xf32>) outs(%t0 : tensor<24x72xf32>) permutation = [1, 0]
  %once = chimera.prepare %t : tensor<24x72xf32>
  %e = chimera.chain ins(%a, %once : tensor<20x24xf32>, tensor<24x72xf32>)
      schedule(<levels = [<"L2" : n = 32>, <"L1" : n = 16, m = 6>], parallel = 1,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 2>, prepacked = [1]>) {
  ^bb0(%a0: tensor<20x24xf32>, %b0: tensor<24x72xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x72xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x72xf32>) -> tensor<20x72xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x24xf32>, tensor<24x72xf32>) outs(%1 : tensor<20x72xf32>) -> tensor<20x72xf32>
    chimera.yield %2 : tensor<20x72xf32>
  } -> tensor<20x72xf32>
  return %e : tensor<20x72xf32>
}

// -----

//--- uneven.mlir
func.func @uneven(%a: tensor<20x24xf32>, %b: tensor<24x72xf32>) -> tensor<20x72xf32> {
  // expected-error @below {{schedule cannot run: tensor 'in1' cannot be prepacked: it must be read once, vectors must lie along its last dimension, and the tiles of that loop must be multiples of the innermost one, which must be smaller than the loop}}
  %e = chimera.chain ins(%a, %b : tensor<20x24xf32>, tensor<24x72xf32>)
      schedule(<levels = [<"L2" : n = 40>, <"L1" : n = 16, m = 6>], parallel = 1,
                registers = <rows = 6, vectors = 1, broadcasts = 1, depth = 2>, prepacked = [1]>) {
  ^bb0(%a0: tensor<20x24xf32>, %b0: tensor<24x72xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<20x72xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<20x72xf32>) -> tensor<20x72xf32>
    %2 = linalg.matmul ins(%a0, %b0 : tensor<20x24xf32>, tensor<24x72xf32>) outs(%1 : tensor<20x72xf32>) -> tensor<20x72xf32>
    chimera.yield %2 : tensor<20x72xf32>
  } -> tensor<20x72xf32>
  return %e : tensor<20x72xf32>
}
