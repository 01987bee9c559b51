// Two products with the intermediate on chip. One pipe brings tiles from memory,
// the next takes them to the cube unit; sums go through UB into L1, where the
// second product finds them.
//
// RUN: chimera-opt %s --chimera-ascend-pipeline="target=ascend910 fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s

// CHECK: // main_kernel(
// CHECK: void main_kernel(
// At the start all places are free.
// CHECK-DAG: set_flag(PIPE_MTE1, PIPE_MTE2, 0)
// CHECK-DAG: set_flag(PIPE_V, PIPE_M, 0)
// CHECK: for (size_t [[TASK:[a-z0-9]+]] = v{{[0-9]+}};
// A tile of the left operand, column group by column group.
// CHECK: wait_flag(PIPE_MTE1, PIPE_MTE2, 0)
// CHECK: #pragma emit_insn dma_padding
// CHECK-NEXT: copy_gm_to_cbuf_pad(
// CHECK: set_flag(PIPE_MTE2, PIPE_MTE1, 0)
// CHECK: wait_flag(PIPE_MTE2, PIPE_MTE1, 0)
// CHECK: copy_gm_to_cbuf_pad(
// CHECK: load_cbuf_to_ca({{.*}}, false)
// CHECK: load_cbuf_to_cb({{.*}}, true)
// CHECK: set_flag(PIPE_MTE1, PIPE_M, 0)
// CHECK: wait_flag(PIPE_MTE1, PIPE_M, 0)
// CHECK: #pragma emit_insn mad mad_pattern(0)
// CHECK-NEXT: mad(
// CHECK: set_flag(PIPE_M, PIPE_V, 0)
// CHECK: wait_flag(PIPE_M, PIPE_V, 0)
// The intermediate: biased, narrowed, and into L1.
// CHECK: copy_matrix_cc_to_ubuf(
// CHECK: vadd(
// CHECK: vmaxs(
// CHECK: vconv_f322f16(
// CHECK: copy_ubuf_to_cbuf(
// CHECK: set_flag(PIPE_MTE3, PIPE_MTE1, 0)
// CHECK: wait_flag(PIPE_MTE3, PIPE_MTE1, 0)
// CHECK: load_cbuf_to_ca(
// CHECK: mad(
// CHECK: copy_ubuf_to_gm_pad(
// At the end they have to be.
// CHECK: wait_flag(PIPE_V, PIPE_M, 0)
// CHECK: CHIMERA_NPU_ENTRY(main_kernel, half, half, half, half, half)
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<64x48xf16>, %w: tensor<48x80xf16>, %b: tensor<80xf16>,
                %v: tensor<80x32xf16>) -> tensor<64x32xf16> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<64x80xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x48xf16>, tensor<48x80xf16>)
      outs(%c1 : tensor<64x80xf32>) -> tensor<64x80xf32>
  %h0 = tensor.empty() : tensor<64x80xf16>
  %h = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c, %b : tensor<64x80xf32>, tensor<80xf16>) outs(%h0 : tensor<64x80xf16>) {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %0 = arith.extf %bias : f16 to f32
    %1 = arith.addf %in, %0 : f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<64x80xf16>
  %e0 = tensor.empty() : tensor<64x32xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e = linalg.matmul ins(%h, %v : tensor<64x80xf16>, tensor<80x32xf16>)
      outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r0 = tensor.empty() : tensor<64x32xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<64x32xf32>) outs(%r0 : tensor<64x32xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}
