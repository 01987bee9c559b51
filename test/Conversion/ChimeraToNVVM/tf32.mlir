// Products of f32 on tensor cores: only if rounding to tf32 is allowed, and where the
// target has it.
//
// RUN: chimera-opt %s --chimera-schedule="target=h200 tf32" --chimera-tile --canonicalize --cse --convert-chimera-to-nvvm="target=h200 tf32" --canonicalize --cse | FileCheck %s
// RUN: chimera-opt %s --chimera-pipeline="target=h200 back-end={tf32 format=isa}" | FileCheck %s --check-prefix=PTX
// RUN: chimera-opt %s --chimera-nvidia-pipeline="target=a100 tf32 format=isa" | FileCheck %s --check-prefix=PTX
//
// RUN: not chimera-opt %s --chimera-pipeline="target=h200 back-end={format=isa}" 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: echo "module {}" | chimera-opt --chimera-attach-target=target=a100 | sed -n "s/.*chimera.target = \(.*\)} {/\1/p" | sed "s/<type = tf32[^>]*>, //" > %t.target.mlir
// RUN: not chimera-opt %s --chimera-pipeline="target=%t.target.mlir back-end={tf32 format=isa}" 2>&1 | FileCheck %s --check-prefix=EXACT

// The left factor comes as matrices, the first right one, stored by rows, word by
// word; all are rounded on the way. So is the intermediate, each part of which is a
// left operand.

// CHECK-LABEL: gpu.func @chain
// CHECK-DAG:     %[[LHS:.*]] = memref.view {{.*}} to memref<1x32x16xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[FIRST:.*]] = memref.view {{.*}} to memref<2x16x16xf32, #gpu.address_space<workgroup>>
// CHECK:         nvgpu.device_async_copy {{.*}}, 4 {bypassL1} : memref<128x16xf32> to memref<1x32x16xf32
// CHECK:         scf.for
// CHECK:           %[[A:.*]] = nvgpu.ldmatrix %[[LHS]]{{.*}} {numTiles = 4 : i32, transpose = false} {{.*}} -> vector<4x1xf32>
// CHECK:           %[[A0:.*]] = vector.extract %[[A]][0, 0]
// CHECK:           nvvm.convert.float.to.tf32 %[[A0]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK:           %[[B:.*]] = memref.load %[[FIRST]]
// CHECK:           nvvm.convert.float.to.tf32 %[[B]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK-COUNT-4:   nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>, {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK:           %[[H:.*]] = arith.maximumf
// CHECK:           %[[H0:.*]] = vector.extract %{{.*}}[0, 0] : f32 from vector<2x2xf32>
// CHECK:           nvvm.convert.float.to.tf32 %[[H0]]
// CHECK-COUNT-4:   nvvm.mma.sync
// CHECK:           scf.yield

// PTX: gpu.binary @chain_kernels
// PTX-SAME: cvt.rna.tf32.f32
// PTX-SAME: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// EXACT: error: no kernel for this chain: gemm0: tensor cores multiply f32 as tf32 only, which the option tf32 allows where the target has it
#id = affine_map<(i, j) -> (i, j)>
func.func @chain(%x: tensor<128x16xf32>, %w: tensor<16x64xf32>, %v: tensor<64x16xf32>) -> tensor<128x16xf32> {
  %r = chimera.chain ins(%x, %w, %v : tensor<128x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
      schedule(<levels = [<"L2">, <"SMEM" : m = 32, l = 16>], parallel = 1,
                registers = <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {
  ^bb0(%x0: tensor<128x16xf32>, %w0: tensor<16x64xf32>, %v0: tensor<64x16xf32>):
    %zero = arith.constant 0.0 : f32
    %c0 = tensor.empty() : tensor<128x64xf32>
    %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<128x64xf32>) -> tensor<128x64xf32>
    %c = linalg.matmul ins(%x0, %w0 : tensor<128x16xf32>, tensor<16x64xf32>)
        outs(%c1 : tensor<128x64xf32>) -> tensor<128x64xf32>
    %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c : tensor<128x64xf32>) outs(%c0 : tensor<128x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.maximumf %in, %zero : f32
      linalg.yield %0 : f32
    } -> tensor<128x64xf32>
    %e0 = tensor.empty() : tensor<128x16xf32>
    %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<128x16xf32>) -> tensor<128x16xf32>
    %e = linalg.matmul ins(%h, %v0 : tensor<128x64xf32>, tensor<64x16xf32>)
        outs(%e1 : tensor<128x16xf32>) -> tensor<128x16xf32>
    chimera.yield %e : tensor<128x16xf32>
  } -> tensor<128x16xf32>
  return %r : tensor<128x16xf32>
}
