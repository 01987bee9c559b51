// A softmax where no instruction combines the elements of a block: queries lie
// along the lanes of vectors, keys are rows. With a 310P's instructions rows are
// queries.
//
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 64, 256, 64).program())" > %t.mlir
// RUN: chimera-opt %t.mlir --chimera-ascend-pipeline="target=ascend910 threads=1" | mlir-translate --mlir-to-cpp | FileCheck %s
// RUN: chimera-opt %t.mlir --chimera-ascend-pipeline=target=ascend310p | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=ROWS
//
// Keys that end within a repeat, a mask of both numbers, and a second block of
// keys, for which sums are rescaled.
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 300, 1501, 64, causal=True).program())" > %t.edges.mlir
// RUN: chimera-opt %t.edges.mlir --chimera-ascend-pipeline=target=ascend910 | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=EDGES
//
// A bias would have to come transposed.
// RUN: %python -c "import sys; sys.path.insert(0, '%chimera_src_root/test/Integration/Ascend'); import attention; print(attention.Attention(2, 64, 256, 64, bias=True).program())" > %t.bias.mlir
// RUN: chimera-opt %t.bias.mlir --chimera-ascend-pipeline=target=ascend910 | mlir-translate --mlir-to-cpp | FileCheck %s --check-prefix=BIAS

// CHECK: void main_kernel(
// CHECK-NOT: {{vcadd|vcgmax|vcgadd|vbrcb}}
// Scores: keys times queries, both as they lie.
// CHECK: load_cbuf_to_ca({{.*}}, false)
// CHECK: load_cbuf_to_cb({{.*}}, false)
// CHECK: mad({{v[0-9]+}}, {{v[0-9]+}}, {{v[0-9]+}}, 256,
// Of 16 queries at a time and 64 keys, the maximum of each lane.
// CHECK: vector_dup({{v[0-9]+}}, 0.0f,
// CHECK: vector_dup([[ALL:v[0-9]+]], -3.40282347e+38f, 1, 1, 8)
// CHECK: vmuls(
// CHECK: vmax([[ALL]], {{v[0-9]+}}, [[ALL]], 16, 1, 1, 1, 0, 8, 0)
// Four are left, and go to the state, which has each four times.
// CHECK: set_vector_mask(0, 4294967295)
// CHECK: vmax([[ALL]], [[ALL]], {{v[0-9]+}}, 1, 1, 1, 1, 8, 8, 8)
// CHECK: set_vector_mask(0, 65535)
// CHECK: vmax([[ALL]], [[ALL]], {{v[0-9]+}}, 1, 1, 1, 1, 8, 8, 8)
// CHECK: vmax([[STATE:v[0-9]+]], [[STATE]], [[ALL]], 4, 1, 1, 1, 2, 2, 0)
// CHECK: set_vector_mask(-1, -1)
// Beside scores one repeat of them is read again and again.
// CHECK: vsub({{.*}}, 16, 1, 1, 1, 8, 8, 0)
// CHECK: vexp(
// CHECK: vadd([[SUM:v[0-9]+]], {{v[0-9]+}}, [[SUM]], 16, 1, 1, 1, 0, 8, 0)
// CHECK: copy_ubuf_to_cbuf(
// CHECK-NOT: {{vcadd|vcgmax|vcgadd|vbrcb}}
// Sums of values, transposed as well, and their rows as rows.
// CHECK: load_cbuf_to_ca({{.*}}, true)
// CHECK: load_cbuf_to_cb({{.*}}, true)
// CHECK: vdiv({{.*}}, 16, 1, 1, 1, 8, 8, 0)
// CHECK: vconv_f322f16([[HALVES:v[0-9]+]],
// CHECK: #pragma emit_insn vector_transpose
// CHECK-NEXT: vnchwconv([[OUT:v[0-9]+]], [[HALVES]], 4, 1, 16, 4, 1)
// CHECK: copy_ubuf_to_gm({{v[0-9]+}}, [[OUT]], 16, 4, 0, 0)

// ROWS-NOT: vnchwconv
// ROWS: vcgmax
// ROWS: vbrcb
// ROWS-NOT: vnchwconv

// EDGES-NOT: vcadd
// EDGES: vcmpv_le
// EDGES: vmax({{.*}}, 0, 8, 0)
// EDGES: set_vector_mask(0, {{v[0-9]+}})
// EDGES: vmax({{.*}}, 1, 1, 1, 1, 0, 8, 0)
// EDGES: vmul({{.*}}, 8, 8, 0)
// EDGES: vnchwconv(
// EDGES-NOT: vcadd

// BIAS: vcadd(
// BIAS-NOT: vnchwconv(
