// Two products with the intermediate on chip. One pipe brings tiles from memory,
// the next takes them to the cube unit; sums go through UB into L1, where the
// second product finds them.
//
// RUN: chimera-opt %examples/mlp_f16.mlir --chimera-ascend-pipeline="target=ascend310p fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s
//
// A 910 has no maximum with a number, and four events between two pipes: of the
// three operands, two have one event for both of their places.
//
// RUN: chimera-opt %examples/mlp_f16.mlir --chimera-ascend-pipeline="target=ascend910 fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=OLDER

// OLDER: #define CHIMERA_NPU_ARCH 910
// OLDER: #include "chimera_npu.h"
// OLDER-NOT: {{(set|wait)_flag\(.*, [4-9]\)}}
// OLDER: vector_dup([[ZEROS:v[0-9]+]], 0.0f, 1, 1, 8)
// OLDER-NOT: vmaxs
// OLDER: vmax({{.*}}, [[ZEROS]], {{.*}}, 1, 1, 1, 8, 8, 0)
// OLDER-NOT: {{(set|wait)_flag\(.*, [4-9]\)}}

// CHECK: #define CHIMERA_NPU_ARCH 310
// CHECK: // main_kernel(
// CHECK: void main_kernel(
// At the start all places are free.
// CHECK-DAG: set_flag(PIPE_MTE1, PIPE_MTE2, 0)
// CHECK-DAG: set_flag(PIPE_V, PIPE_M, 0)
// CHECK: for (size_t [[TASK:[a-z0-9]+]] = v{{[0-9]+}};
// A tile of the left operand, column group by column group.
// CHECK: wait_flag(PIPE_MTE1, PIPE_MTE2, 0)
// CHECK: #pragma emit_insn dma_copy
// CHECK-NEXT: copy_gm_to_cbuf(
// CHECK: set_flag(PIPE_MTE2, PIPE_MTE1, 0)
// CHECK: wait_flag(PIPE_MTE2, PIPE_MTE1, 0)
// CHECK: copy_gm_to_cbuf(
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
// CHECK: copy_ubuf_to_gm(
// At the end they have to be.
// CHECK: wait_flag(PIPE_V, PIPE_M, 0)
// CHECK: CHIMERA_NPU_ENTRY(main_kernel, half, half, half, half, half)
