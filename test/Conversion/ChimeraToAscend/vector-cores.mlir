// On a 910B the vector units are in cores of their own, two beside each cube
// core. A kernel is then in two parts, which hand tiles to each other through
// memory: sums as they lie in L0C, and what is made of them for another product.
//
// RUN: chimera-opt %examples/mlp_f16.mlir --chimera-ascend-pipeline="target=ascend910b fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s

// CHECK: // main_kernel({{.*}}, work0 : {{[0-9]+x[0-9]+}}xf16, work1 : {{[0-9]+x[0-9]+}}xf32)
// CHECK-DAG: static_assert(kArch.capacity[index(Mem::L0C)]
// CHECK-DAG: static_assert(kArch.capacity[index(Mem::UB)]
// CHECK: void main_kernel_cube(
// The vector cores may write to their place from the start on.
// CHECK: set_cross_flag(PIPE_MTE2, [[MADE_FREE:[0-9]+]])
// CHECK: for (size_t
// CHECK: mad(
// The sums leave when the place for them is free.
// CHECK: wait_flag(PIPE_M, PIPE_FIX,
// CHECK: wait_cross_flag([[SUMS_FREE:[0-9]+]])
// CHECK-NEXT: #pragma emit_insn fixpipe_op
// CHECK-NEXT: copy_matrix_cc_to_gm_nz(
// CHECK-NEXT: set_cross_flag(PIPE_FIX, [[SUMS_FULL:[0-9]+]])
// What comes back is a factor.
// CHECK: wait_cross_flag([[MADE_FULL:[0-9]+]])
// CHECK: #pragma emit_insn dma_copy
// CHECK-NEXT: copy_gm_to_cbuf(
// CHECK-NEXT: set_cross_flag(PIPE_MTE2, [[MADE_FREE]])
// CHECK: mad(
// What needs no vector unit leaves by itself.
// CHECK: copy_matrix_cc_to_gm(
// CHECK-NOT: PIPE_V
// CHECK: wait_cross_flag([[SUMS_FREE]])

// CHECK: void main_kernel_vector(
// CHECK: set_cross_flag(PIPE_MTE2, [[SUMS_FREE]])
// CHECK-NOT: {{mad\(|copy_gm_to_cbuf|PIPE_(M|MTE1|FIX)[,)]}}
// Each has half of the rows.
// CHECK: sub_block_idx()
// CHECK: wait_cross_flag([[SUMS_FULL]])
// CHECK: wait_cross_flag([[MADE_FREE]])
// CHECK: copy_gm_to_ubuf(
// CHECK: vadd(
// CHECK: vmaxs(
// CHECK: copy_ubuf_to_gm(
// CHECK: set_cross_flag(PIPE_MTE2, [[SUMS_FREE]])
// CHECK-NEXT: set_cross_flag(PIPE_MTE3, [[MADE_FULL]])
// CHECK-NOT: {{mad\(|copy_gm_to_cbuf|PIPE_(M|MTE1|FIX)[,)]}}
// CHECK: CHIMERA_NPU_MIXED_ENTRY(main_kernel, half,{{.*}} half, float)
