// The example of every instruction and type, and what they become in C++.
//
// RUN: chimera-opt %s | chimera-opt | FileCheck %s
// RUN: sed '/^\/\/ A view/,$d' %s | chimera-opt --convert-ascend-to-emitc | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=CPP
// RUN: %python %S/../IR/examples.py %s %chimera_src_root/include/Chimera/Ascend/AscendOps.td

// CHECK-LABEL: func @examples
// CPP: #include "chimera_npu.h"
// CPP: using namespace chimera_npu;
// CPP: // examples(arg0 : 64x32xf16)
// CPP: static_assert(kArch.capacity[index(Mem::L1)] >= 4096, "examples needs more L1");
// CPP: CHIMERA_NPU_GLOBAL void examples(Gm<half> [[FROM:v[0-9]+]]
func.func @examples(%from: !ascend.ptr<gm, f16>, %bytes: index, %elements: index,
                    %rows: index, %pitch: index, %block: index, %first: index,
                    %count: index, %step: index, %m: index, %k: index,
                    %n: index, %init: i1, %event: index, %high: i64, %low: i64,
                    %number: f32, %length: index, %gap: index,
                    %flag: index, %half_gap: index)
    attributes {ascend.kernel = ["arg0 : 64x32xf16"], ascend.room = {l1 = 4096}} {
  // CPP: block_idx()
  // CPP: block_num()
  %core = ascend.block_idx
  %cores = ascend.block_num
  // CPP: sub_block_idx()
  %half = ascend.sub_block_idx
  // CPP: set_cross_flag(PIPE_FIX, [[FLAG:v[0-9]+]]);
  // CPP: wait_cross_flag([[FLAG]]);
  ascend.set_cross_flag cube fix, %flag
  ascend.wait_cross_flag vector, %flag
  // CPP: [[TILE:v[0-9]+]] = L1<half>(
  %tile = ascend.address %bytes : !ascend.ptr<l1, f16>
  // CPP: [[TILE]] + v
  %next = ascend.offset %tile, %elements : !ascend.ptr<l1, f16>
  %a = ascend.address %bytes : !ascend.ptr<l0a, f16>
  %b = ascend.address %bytes : !ascend.ptr<l0b, f16>
  %c = ascend.address %bytes : !ascend.ptr<l0c, f32>
  %d = ascend.address %bytes : !ascend.ptr<ub, f32>
  %s = ascend.address %bytes : !ascend.ptr<ub, f32>
  %t = ascend.address %bytes : !ascend.ptr<ub, f32>
  %u = ascend.address %bytes : !ascend.ptr<ub, f16>
  %v = ascend.address %bytes : !ascend.ptr<ub, f16>
  // CPP: #pragma emit_insn dma_copy
  // CPP-NEXT: copy_gm_to_cbuf([[TILE]], [[FROM]],
  ascend.copy copy_gm_to_cbuf %tile, %from bursts %rows of %length every %gap, %block : !ascend.ptr<l1, f16>, !ascend.ptr<gm, f16>
  // CPP: #pragma emit_insn dma_padding
  // CPP-NEXT: create_cbuf_matrix([[TILE]], {{.*}}, half(0));
  ascend.clear %tile repeat %count : !ascend.ptr<l1, f16>
  // CPP: copy_gm_to_ubuf(
  ascend.copy copy_gm_to_ubuf %u, %from bursts %rows of %bytes every %pitch, %block : !ascend.ptr<ub, f16>, !ascend.ptr<gm, f16>
  // CPP: copy_ubuf_to_gm([[FROM]],
  ascend.copy copy_ubuf_to_gm %from, %u bursts %rows of %bytes every %pitch, %block : !ascend.ptr<gm, f16>, !ascend.ptr<ub, f16>
  // CPP: #pragma emit_insn dma_copy
  // CPP-NEXT: copy_ubuf_to_cbuf(
  ascend.copy copy_ubuf_to_cbuf %tile, %u bursts %rows of %bytes every %pitch, %block : !ascend.ptr<l1, f16>, !ascend.ptr<ub, f16>
  // CPP: copy_matrix_cc_to_ubuf({{.*}}, CRMODE_NONE)
  ascend.copy copy_matrix_cc_to_ubuf %d, %c bursts %rows of %bytes every %pitch, %block : !ascend.ptr<ub, f32>, !ascend.ptr<l0c, f32>
  // CPP: copy_matrix_cc_to_ubuf({{.*}}, CRMODE_F32toF16_NONE)
  ascend.copy copy_matrix_cc_to_ubuf %u, %c bursts %rows of %bytes every %pitch, %block : !ascend.ptr<ub, f16>, !ascend.ptr<l0c, f32>
  // CPP: copy_gm_to_cbuf_multi_nd2nz_b16([[TILE]], [[FROM]],
  ascend.copy copy_gm_to_cbuf_multi_nd2nz_b16 %tile, %from bursts %rows of %length every %pitch, %block : !ascend.ptr<l1, f16>, !ascend.ptr<gm, f16>
  // CPP: #pragma emit_insn fixpipe_op
  // CPP-NEXT: copy_matrix_cc_to_cbuf({{.*}}, CRMODE_F32toF16_NONE)
  ascend.copy copy_matrix_cc_to_cbuf %tile, %c bursts %rows of %length every %pitch, %block : !ascend.ptr<l1, f16>, !ascend.ptr<l0c, f32>
  // CPP: copy_matrix_cc_to_gm({{.*}}, CRMODE_F32toF16_NONE)
  ascend.copy copy_matrix_cc_to_gm %from, %c bursts %rows of %length every %pitch, %block : !ascend.ptr<gm, f16>, !ascend.ptr<l0c, f32>
  // CPP: copy_matrix_cc_to_gm({{.*}}, CRMODE_F32toF16_RELU)
  ascend.copy copy_matrix_cc_to_gm %from, %c bursts %rows of %length every %pitch, %block relu : !ascend.ptr<gm, f16>, !ascend.ptr<l0c, f32>
  // CPP: copy_gm_to_ubuf_pad(
  ascend.copy copy_gm_to_ubuf_pad %u, %from bursts %rows of %bytes every %pitch, %block : !ascend.ptr<ub, f16>, !ascend.ptr<gm, f16>
  // CPP: copy_ubuf_to_gm_pad([[FROM]],
  ascend.copy copy_ubuf_to_gm_pad %from, %u bursts %rows of %bytes every %pitch, %block : !ascend.ptr<gm, f16>, !ascend.ptr<ub, f16>
  // CPP: load_cbuf_to_ca({{.*}}, false)
  ascend.load %a, %tile start %first repeat %count stride %step : !ascend.ptr<l0a, f16>, !ascend.ptr<l1, f16>
  // CPP: load_cbuf_to_cb({{.*}}, true)
  ascend.load %b, %tile start %first repeat %count stride %step transpose : !ascend.ptr<l0b, f16>, !ascend.ptr<l1, f16>
  // CPP: [[SQUARE:v[0-9]+]] = L1<int8_t>(
  %square = ascend.address %bytes : !ascend.ptr<l1, si8>
  %e = ascend.address %bytes : !ascend.ptr<l0b, si8>
  %f = ascend.address %bytes : !ascend.ptr<l0a, si8>
  %sums = ascend.address %bytes : !ascend.ptr<l0c, i32>
  // CPP: #pragma emit_insn dma_copy
  // CPP-NEXT: load_cbuf_to_cb_transpose({{.*}}, [[SQUARE]],
  ascend.load_transposed %e, %square start %first repeat %count stride %step every %gap, %half_gap : !ascend.ptr<l0b, si8>, !ascend.ptr<l1, si8>
  // CPP: load_cbuf_to_ca_transpose(
  ascend.load_transposed %f, %square start %first repeat %count stride %step every %gap, %half_gap : !ascend.ptr<l0a, si8>, !ascend.ptr<l1, si8>
  // CPP: mad(
  ascend.mad %sums, %f, %e m %m k %k n %n init %init : !ascend.ptr<l0c, i32>, !ascend.ptr<l0a, si8>, !ascend.ptr<l0b, si8>
  // CPP: #pragma emit_insn mad mad_pattern(0)
  // CPP-NEXT: mad(
  ascend.mad %c, %a, %b m %m k %k n %n init %init : !ascend.ptr<l0c, f32>, !ascend.ptr<l0a, f16>, !ascend.ptr<l0b, f16>
  // CPP: #pragma emit_insn vector_add
  // CPP-NEXT: vadd({{.*}}, 1, 1, 0, 8, 8, 0)
  ascend.vector vadd %d sources %s, %t repeat %count blocks [1, 1, 0] repeats [8, 8, 0] : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  // CPP: #pragma emit_insn vector_reduce_max
  // CPP-NEXT: vcgmax({{.*}}, 1, 1, 8)
  ascend.reduce vcgmax %d, %s repeat %count blocks 1 repeats 8 : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  // CPP: vcadd({{.*}}, 4, 1, 8)
  ascend.reduce vcadd %d, %s repeat %count blocks 1 repeats 8 results 4 : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  // CPP: #pragma emit_insn vector_broadcast
  // CPP-NEXT: vbrcb(
  ascend.broadcast %d, %s repeat %count : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  // CPP: #pragma emit_insn vector_transpose
  // CPP-NEXT: vnchwconv({{.*}}, 1, 16, 4, 1)
  ascend.transpose %u, %v repeat %count rows [4, 1] repeats [1, 16] : !ascend.ptr<ub, f16>, !ascend.ptr<ub, f16>
  // CPP: #pragma emit_insn vector_select_cmp
  // CPP-NEXT: vcmpv_le({{.*}}, 1, 1, 8, 8)
  %bits = ascend.address %bytes : !ascend.ptr<ub, i8>
  ascend.compare vcmpv_le %bits, %s, %t repeat %count : !ascend.ptr<ub, i8>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  // CPP: #pragma emit_insn vector_select
  // CPP-NEXT: vsel<VSEL_TENSOR_TENSOR_MODE>({{.*}}, 1, 1, 1, 8, 8, 8)
  ascend.select %d, %s, %t where %bits repeat %count : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, i8>
  // CPP: vsel<VSEL_CMPMASK_SPR>(
  ascend.select %d, %s, %t where %bits repeat %count same : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, i8>
  // CPP: #pragma emit_insn vector_dup
  // CPP-NEXT: vector_dup({{.*}}, 1, 8)
  ascend.vector vector_dup %d scalar %number repeat %count blocks [1] repeats [8] : !ascend.ptr<ub, f32>
  // CPP: set_vector_mask(
  ascend.set_vector_mask %high, %low
  // CPP: set_flag(PIPE_MTE2, PIPE_MTE1,
  // CPP: wait_flag(PIPE_MTE2, PIPE_MTE1,
  ascend.set_flag mte2 to mte1, %event
  ascend.wait_flag mte2 to mte1, %event
  // CPP: set_cross_flag(PIPE_FIX,
  // CPP: wait_cross_flag(
  ascend.set_cross_flag cube fix, %event
  ascend.wait_cross_flag vector, %event
  // CPP: pipe_barrier(PIPE_V)
  ascend.pipe_barrier v
  // CPP: pipe_barrier(PIPE_ALL)
  ascend.pipe_barrier all
  return
}
// CPP: CHIMERA_NPU_ENTRY(examples, half

// A view of memory, for kernels that are to be made: nothing in C++.
// CHECK-LABEL: func.func @image
func.func @image(%image: tensor<9x9x16xf16>) -> tensor<9x3x9x3x16xf16> {
  // CHECK: ascend.image
  %windows = ascend.image %image at affine_map<(h, r, w, s, c) -> (h + r - 1, w + s - 1, c)> : tensor<9x9x16xf16> to tensor<9x3x9x3x16xf16>
  return %windows : tensor<9x3x9x3x16xf16>
}
