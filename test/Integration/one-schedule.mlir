// One schedule on three machines: rows by 64 in parallel, columns of the
// intermediate by 64. The name of the innermost level is all that differs, and
// that x86 has f32 where the others have f16.
//
// RUN: sed -e 's/f16/f32/g' -e 's/arith.truncf %a : f32 to f32/arith.addf %a, %a : f32/' %s \
// RUN:   | chimera-opt --chimera-form-chains \
// RUN:   | sed 's/chimera.chain ins([^)]*)/& schedule(<levels = [<"L3">, <"L2">, <"L1" : m = 64, l = 64>], parallel = 1, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 1>>)/' \
// RUN:   | chimera-opt --chimera-lowering-pipeline=target=avx512 | FileCheck %s --check-prefix=X86
// RUN: chimera-opt %s --chimera-form-chains=target=ascend910 \
// RUN:   | sed 's/chimera.chain ins([^)]*)/& schedule(<levels = [<"L2">, <"L1" : m = 64, l = 64>], parallel = 1, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 1>>)/' \
// RUN:   | chimera-opt --chimera-ascend-pipeline=target=ascend910 | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=ASCEND
// RUN: chimera-opt %s --chimera-form-chains=target=h200 \
// RUN:   | sed 's/chimera.chain ins([^)]*)/& schedule(<levels = [<"L2">, <"SMEM" : m = 64, l = 64>], parallel = 1, registers = <rows = 4, vectors = 4, broadcasts = 1, depth = 1>>)/' \
// RUN:   | chimera-opt --chimera-nvidia-pipeline="target=h200 format=isa" | FileCheck %s --check-prefix=NVIDIA

// X86: llvm.func @main
// X86: omp.parallel
// X86: llvm.intr.fmuladd{{.*}} vector<16xf32>

// Eight tasks; for each a tile of A once, and eight times one of B and one of D.
// ASCEND: for (size_t [[TASK:.*]] = v{{[0-9]+}}; [[TASK]] < 8;
// ASCEND: copy_gm_to_cbuf({{.*}}, 64, 1, 3, 0);
// ASCEND: for (size_t [[L:.*]] = 0; [[L]] < 512; [[L]] += 64)
// ASCEND: copy_gm_to_cbuf({{.*}}, 64, 1, 31, 0);
// ASCEND: mad({{.*}}, 64, 64, 64,
// ASCEND: copy_ubuf_to_cbuf(
// ASCEND: mad({{.*}}, 64, 64, 64,
// ASCEND: copy_ubuf_to_gm(

// NVIDIA: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
func.func @main(%A: tensor<512x64xf16>, %B: tensor<64x512xf16>,
                %D: tensor<512x64xf16>) -> tensor<512x64xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<512x512xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%A, %B : tensor<512x64xf16>, tensor<64x512xf16>)
      outs(%c1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %h0 = tensor.empty() : tensor<512x512xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<512x512xf32>) outs(%h0 : tensor<512x512xf16>) {
  ^bb0(%a: f32, %out: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<512x512xf16>
  %e0 = tensor.empty() : tensor<512x64xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %e = linalg.matmul ins(%h, %D : tensor<512x512xf16>, tensor<512x64xf16>)
      outs(%e1 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %r0 = tensor.empty() : tensor<512x64xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<512x64xf32>) outs(%r0 : tensor<512x64xf16>) {
  ^bb0(%a: f32, %out: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<512x64xf16>
  return %r : tensor<512x64xf16>
}
