// Products of bytes on a 910B: two of them in one kernel, with bytes between them.
//
// RUN: chimera-opt %s --chimera-ascend-pipeline="target=ascend910b fuse=always" | mlir-translate --mlir-to-cpp | FileCheck %s

// The right factor of the first product is given the other way round, and a matrix
// comes into L1 with one instruction.
// CHECK: #define CHIMERA_NPU_ARCH 9102
// CHECK: // multiply_kernel({{.*}}work0 : {{[0-9]+}}x1536xi8, work1 : {{[0-9]+}}x2304xi32)
// CHECK: void multiply_kernel_cube(Gm<int8_t>
// CHECK: #pragma emit_insn dma_copy
// CHECK-NEXT: copy_gm_to_cbuf_multi_nd2nz_b8(
// CHECK: copy_gm_to_cbuf_multi_nd2nz_b8(
// CHECK: load_cbuf_to_ca({{.*}}, false);
// CHECK: #pragma emit_insn dma_copy
// CHECK-NEXT: load_cbuf_to_cb_transpose({{.*}}, 1, 0);
// CHECK: #pragma emit_insn mad mad_pattern(0)
// CHECK-NEXT: mad(
// Sums go as they are, and bytes come back in column groups of 32.
// CHECK: #pragma emit_insn fixpipe_op
// CHECK-NEXT: copy_matrix_cc_to_gm_nz({{.*}}, CRMODE_NONE);
// CHECK: copy_gm_to_cbuf(
// CHECK: load_cbuf_to_ca({{.*}}, false);
// CHECK: load_cbuf_to_cb({{.*}}, false);
// CHECK: mad(
// CHECK: copy_matrix_cc_to_gm_nz(
// CHECK: void multiply_kernel_vector(Gm<int8_t>
// CHECK: vconv_s322f32(
// CHECK: vmul(
// CHECK: #pragma emit_insn vector_conv
// CHECK-NEXT: vconv_f322f32r(
// CHECK-NOT: vconv_f322f32z
// CHECK: vmaxs({{.*}}, -128.0f,
// CHECK: vmins({{.*}}, 127.0f,
// Every other block of halves belongs to the group.
// CHECK: vconv_f322f16({{.*}}, 2, 1, 8, 8);
// CHECK: vconv_f162s8({{.*}}, 1, 1, 4, 8);
// CHECK: copy_ubuf_to_gm(
// CHECK: vconv_s322f32(
// CHECK: vconv_f322f16({{.*}}, 1, 1, 4, 8);
// CHECK: copy_ubuf_to_gm_pad(
// CHECK: CHIMERA_NPU_MIXED_ENTRY(multiply_kernel, int8_t, half, int8_t, float, int8_t, float, int8_t, int32_t)
func.func @multiply(%x: tensor<64x64xi8>, %w: tensor<64x96xi8>, %s: tensor<96xf32>,
                    %v: tensor<40x96xi8>, %t: tensor<40xf32>) -> tensor<64x40xf16> {
  %zero = arith.constant 0 : i32
  %least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32
  %e0 = tensor.empty() : tensor<64x96xi32>
  %z0 = linalg.fill ins(%zero : i32) outs(%e0 : tensor<64x96xi32>) -> tensor<64x96xi32>
  %p0 = linalg.matmul ins(%x, %w : tensor<64x64xi8>, tensor<64x96xi8>)
      outs(%z0 : tensor<64x96xi32>) -> tensor<64x96xi32>
  %o0 = tensor.empty() : tensor<64x96xi8>
  %y0 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %s : tensor<64x96xi32>, tensor<96xf32>) outs(%o0 : tensor<64x96xi8>) {
  ^bb0(%in: i32, %scale: f32, %out: i8):
    %0 = arith.sitofp %in : i32 to f32
    %1 = arith.mulf %0, %scale : f32
    %2 = math.roundeven %1 : f32
    %3 = arith.maximumf %2, %least : f32
    %4 = arith.minimumf %3, %most : f32
    %5 = arith.fptosi %4 : f32 to i8
    linalg.yield %5 : i8
  } -> tensor<64x96xi8>
  %e1 = tensor.empty() : tensor<64x40xi32>
  %z1 = linalg.fill ins(%zero : i32) outs(%e1 : tensor<64x40xi32>) -> tensor<64x40xi32>
  %p1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y0, %v : tensor<64x96xi8>, tensor<40x96xi8>) outs(%z1 : tensor<64x40xi32>) {
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %sum, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<64x40xi32>
  %o1 = tensor.empty() : tensor<64x40xf16>
  %y1 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%p1, %t : tensor<64x40xi32>, tensor<40xf32>) outs(%o1 : tensor<64x40xf16>) {
  ^bb0(%in: i32, %scale: f32, %out: f16):
    %0 = arith.sitofp %in : i32 to f32
    %1 = arith.mulf %0, %scale : f32
    %2 = arith.truncf %1 : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<64x40xf16>
  return %y1 : tensor<64x40xf16>
}
