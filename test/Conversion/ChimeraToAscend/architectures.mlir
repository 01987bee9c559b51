// What the pages of an architecture do not have is refused, with the reason.
//
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 32, 64, 32).program())" > %t.attention.mlir
// RUN: chimera-opt %t.attention.mlir --chimera-ascend-pipeline=target=ascend910b | FileCheck %s --check-prefix=SOFTMAX-SPLIT
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 32, 64, 32, mask='full').program())" > %t.masked.mlir
// RUN: chimera-opt %t.masked.mlir --chimera-ascend-pipeline=target=ascend910 | FileCheck %s --check-prefix=SOFTMAX
// RUN: chimera-opt %t.masked.mlir --chimera-ascend-pipeline=target=ascend910b | FileCheck %s --check-prefix=MASKED-SPLIT
// RUN: chimera-opt %t.attention.mlir --chimera-ascend-pipeline=target=ascend310p -o /dev/null
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 70, 70, 48).program())" > %t.tiny.mlir
// RUN: chimera-opt %t.tiny.mlir --chimera-ascend-pipeline="target=ascend910 fuse=auto" | FileCheck %s --check-prefix=TINY
// RUN: chimera-opt %t.tiny.mlir --chimera-ascend-pipeline="target=ascend310p fuse=auto" | FileCheck %s --check-prefix=TINY
// RUN: chimera-opt %t.tiny.mlir --chimera-ascend-pipeline="target=ascend910b fuse=auto" | FileCheck %s --check-prefix=SPLIT-TINY
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend910 required=false" --remarks-filter=chimera -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLDER
// RUN: chimera-opt %s --split-input-file --chimera-ascend-pipeline="target=ascend910b required=false" --remarks-filter=chimera -o %t 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: FileCheck %s --check-prefix=CODE < %t

// A mask in memory is not transposed: rows are reduced by sums of repeats of which
// one block, or one element, takes part; a maximum starts from the least number that there is.
// SOFTMAX-NOT: INFINITY
// SOFTMAX-DAG: vcadd"
// SOFTMAX-DAG: -3.40282347e+38f
// SOFTMAX-NOT: vcgmax
// SOFTMAX-NOT: vbrcb
// Scores go to the vector cores, and what they make of them comes back.
// SOFTMAX-SPLIT: emitc.func @main_kernel_cube(
// SOFTMAX-SPLIT-NOT: vcgmax
// SOFTMAX-SPLIT: emitc.func @main_kernel_vector(
// SOFTMAX-SPLIT: vcgmax
// A mask of truth values is rows of bytes, each core's own.
// MASKED-SPLIT: emitc.func @main_kernel_vector(
// MASKED-SPLIT: copy_gm_to_ubuf_pad
// MASKED-SPLIT: vconv_u82f16

// Scores in memory would have rows of 70 halves: both products are in one kernel.
// TINY: emitc.func @main_kernel
// TINY: "mad"
// TINY-NOT: emitc.func
// TINY: "mad"

// The 910B writes them: the last kernel divides by sums of rows that another one
// has left in memory, a block for each number.
// SPLIT-TINY: emitc.func @main_kernel3_vector
// SPLIT-TINY: copy_gm_to_ubuf_pad
// SPLIT-TINY: vbrcb
// SPLIT-TINY: vdiv

// Rows of 20 halves end within a block, which the 910 cannot write; the 910B
// writes sums as they are.
// OLDER: operators left alone: memory is written in whole blocks, and rows of the result end within one
// OLDER: no kernel for an Ascend core: no tensor of the group has all of its loops
// SPLIT-NOT: no kernel
// CODE: #define CHIMERA_NPU_ARCH 9102
// CODE: copy_gm_to_cbuf_multi_nd2nz_b16
// CODE: copy_matrix_cc_to_gm
#id = affine_map<(i, j) -> (i, j)>
func.func @unaligned(%x: tensor<64x48xf16>, %w: tensor<48x20xf16>) -> tensor<64x20xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x20xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x20xf32>) -> tensor<64x20xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x20xf16>)
      outs(%c1 : tensor<64x20xf32>) -> tensor<64x20xf32>
  %r0 = tensor.empty() : tensor<64x20xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x20xf32>) outs(%r0 : tensor<64x20xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x20xf16>
  return %r : tensor<64x20xf16>
}

// -----

// What is done element by element, beside narrowing and a ReLU, needs a vector
// unit, which is in other cores.
// OLDER-NOT: no kernel
// SPLIT-NOT: no kernel
// CODE: CHIMERA_NPU_MIXED_ENTRY(twice_kernel, half, half, half, float)
#id = affine_map<(i, j) -> (i, j)>
func.func @twice(%x: tensor<64x48xf16>, %w: tensor<48x32xf16>) -> tensor<64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x32xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x32xf16>)
      outs(%c1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r0 = tensor.empty() : tensor<64x32xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x32xf32>) outs(%r0 : tensor<64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.addf %in, %in : f32
    %1 = arith.truncf %0 : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}

// -----

// A ReLU happens to sums on their way out of the 910B's cube core, before they
// are narrowed or after that.
// OLDER: no kernel for an Ascend core: an elementwise operation rounds on the way
// SPLIT-NOT: no kernel
// CODE-NOT: CHIMERA_NPU_MIXED_ENTRY(relu_kernel
// CODE: copy_matrix_cc_to_gm{{.*}}CRMODE_F32toF16_RELU
// CODE: CHIMERA_NPU_ENTRY(relu_kernel, half, half, half)
#id = affine_map<(i, j) -> (i, j)>
func.func @relu(%x: tensor<64x48xf16>, %w: tensor<48x32xf16>) -> tensor<64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x32xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x32xf16>)
      outs(%c1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r0 = tensor.empty() : tensor<64x32xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<64x32xf32>) outs(%r0 : tensor<64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    %half = arith.constant 0.0 : f16
    %1 = arith.maximumf %0, %half : f16
    linalg.yield %1 : f16
  } -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}
