//===- chimera_npu_table.h - Which core has which instruction ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cores of a family do not have the same instructions, nor each for the
// same types. This table says what the vendor's public pages say of each; the
// functional model and the compiler both read it, so that neither accepts what
// the other refuses.
//
// A page is one of the Ascend C API, by its name and the last digits of
// `atlasascendc_api_07_NNNN` in CANN 9.0; other releases count differently.
// docs/ascend.md says which of them are certain.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_TABLE_H
#define CHIMERA_NPU_TABLE_H

#include <cstdint>

namespace chimera_npu {

/// Bits, to be combined. The 910 and the 310P have all units in one core; on
/// the 910B the vector units are in cores of their own.
enum Architecture : uint8_t { A910 = 1, A310P = 2, A910B = 4 };
inline constexpr uint8_t kOneCore = A910 | A310P, kAnyCore = kOneCore | A910B,
                         kNewer = A310P | A910B;

/// The events between two pipes that a program may use. The 910B reserves two
/// of its eight.
constexpr int numEvents(Architecture architecture) {
  return architecture == A910 ? 4 : architecture == A310P ? 8 : 6;
}

/// The vector cores beside a core with a cube unit; none where that core has a
/// vector unit itself.
constexpr int numVectorCores(Architecture architecture) {
  return architecture == A910B ? 2 : 0;
}

/// Flags between such cores, each of which counts how often it was set, and up
/// to how many (CrossCoreSetFlag 0273, CrossCoreWaitFlag 0274).
inline constexpr int kNumCrossFlags = 11, kMostCrossFlags = 15;

/// True if a `vsel` of several repeats can take other bits for each of them.
/// The 910 takes the first ones again.
constexpr bool selectsOn(Architecture architecture) {
  return architecture != A910;
}

/// True if the vector unit computes with infinities; the 910 saturates.
constexpr bool hasInfinities(Architecture architecture) {
  return architecture != A910;
}

// For each instruction: the architectures that have it for halves and for
// floats (for what moves bytes: for any type), the cycles of a repeat of 256
// bytes of each, and the page. The cycles are those that MindStudio msKPP's
// tables (Mulan PSL v2) hold for a vector core of the 910B1; none are published
// for the others, which are taken to have the same. Instructions of other units
// have none: the bytes or the products that they take are counted.
// clang-format off
#define CHIMERA_NPU_OPS(X)                                                     \
  X(copy_gm_to_cbuf,        kAnyCore, kAnyCore, 0, 0, "DataCopy 0103")         \
  X(copy_gm_to_ubuf,        kAnyCore, kAnyCore, 0, 0, "DataCopy 0103")         \
  X(copy_gm_to_cbuf_multi_nd2nz_b16, A910B, 0,  0, 0, "DataCopy 00127")        \
  X(copy_gm_to_ubuf_pad,    A910B,    A910B,    0, 0, "DataCopyPad 0265")      \
  X(copy_ubuf_to_cbuf,      kOneCore, kOneCore, 0, 0, "DataCopy 0103")         \
  X(copy_ubuf_to_gm,        kAnyCore, kAnyCore, 0, 0, "DataCopy 0103")         \
  X(copy_ubuf_to_gm_pad,    A910B,    A910B,    0, 0, "DataCopyPad 0265")      \
  X(copy_ubuf_to_ubuf,      kAnyCore, kAnyCore, 1, 1, "DataCopy 0103")         \
  X(create_cbuf_matrix,     kAnyCore, 0,        0, 0, "InitConstValue 0237")   \
  X(load_cbuf_to_ca,        kAnyCore, 0,        0, 0, "LoadData 0238")         \
  X(load_cbuf_to_cb,        kAnyCore, 0,        0, 0, "LoadData 0238")         \
  X(mad,                    kAnyCore, 0,        0, 0, "Mmad 0249")             \
  X(copy_matrix_cc_to_ubuf, kOneCore, kOneCore, 0, 0, "DataCopy 0104")         \
  X(copy_matrix_cc_to_cbuf, A910B,    0,        0, 0, "DataCopy 00130")        \
  X(copy_matrix_cc_to_gm,   A910B,    A910B,    0, 0, "Fixpipe 0251")          \
  X(copy_matrix_cc_to_gm_nz, A910B,   A910B,    0, 0, "Fixpipe 0251")          \
  X(vadd,          kAnyCore, kAnyCore, 2, 2, "Add 0035")                       \
  X(vsub,          kAnyCore, kAnyCore, 2, 2, "Sub 0036")                       \
  X(vmul,          kAnyCore, kAnyCore, 2, 2, "Mul 0037")                       \
  X(vdiv,          kAnyCore, kAnyCore, 4, 4, "Div 0038")                       \
  X(vmax,          kAnyCore, kAnyCore, 2, 2, "Max 0039")                       \
  X(vmin,          kAnyCore, kAnyCore, 2, 2, "Min 0040")                       \
  X(vexp,          kAnyCore, kAnyCore, 4, 2, "Exp 0025")                       \
  X(vln,           kAnyCore, kAnyCore, 4, 2, "Ln 0026")                        \
  X(vrec,          kAnyCore, kAnyCore, 1, 1, "Reciprocal 0028")                \
  X(vsqrt,         kAnyCore, kAnyCore, 4, 2, "Sqrt 0029")                      \
  X(vrelu,         kAnyCore, kNewer,   1, 1, "Relu 0032")                      \
  X(vabs,          kAnyCore, kAnyCore, 1, 1, "Abs 0027")                       \
  X(vadds,         kAnyCore, kAnyCore, 1, 1, "Adds 0054")                      \
  X(vmuls,         kAnyCore, kAnyCore, 1, 1, "Muls 0055")                      \
  X(vmaxs,         kNewer,   kNewer,   1, 1, "Maxs 0056")                      \
  X(vmins,         kNewer,   kNewer,   1, 1, "Mins 0057")                      \
  X(vector_dup,    kAnyCore, kAnyCore, 1, 1, "Duplicate 0088")                 \
  X(vconv_f322f16, kAnyCore, kAnyCore, 1, 1, "Cast 0073")                      \
  X(vconv_f162f32, kAnyCore, kAnyCore, 1, 1, "Cast 0073")                      \
  X(vconv_u82f16,  kAnyCore, 0,        1, 0, "Cast 0073")                      \
  X(vcgmax,        kAnyCore, kNewer,   7, 1, "BlockReduceMax 0082")            \
  X(vcgadd,        kAnyCore, kNewer,   7, 1, "BlockReduceSum 0084")            \
  X(vcmax,         kAnyCore, kNewer,   7, 7, "WholeReduceMax 0079")            \
  X(vcadd,         kAnyCore, kAnyCore, 7, 3, "WholeReduceSum 0081")            \
  X(vbrcb,         kNewer,   kNewer,   1, 1, "Brcb 0089")                      \
  X(vcmpv_lt,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vcmpv_le,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vcmpv_gt,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vcmpv_ge,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vcmpv_eq,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vcmpv_ne,      kAnyCore, kAnyCore, 2, 2, "Compare 0066")                   \
  X(vsel,          kAnyCore, kAnyCore, 2, 2, "Select 0070")                    \
  X(vnchwconv,     kAnyCore, 0,       21, 0, "TransDataTo5HD 0200")            \
  X(set_vector_mask, kAnyCore, kAnyCore, 0, 0, "SetVectorMask 0096")           \
  X(set_flag,      kAnyCore, kAnyCore, 0, 0, "SetFlag 0270")                   \
  X(wait_flag,     kAnyCore, kAnyCore, 0, 0, "WaitFlag 0270")                  \
  X(pipe_barrier,  kAnyCore, kAnyCore, 0, 0, "PipeBarrier 0271")               \
  X(set_cross_flag,  A910B,  A910B,    0, 0, "CrossCoreSetFlag 0273")          \
  X(wait_cross_flag, A910B,  A910B,    0, 0, "CrossCoreWaitFlag 0274")         \
  X(copy_gm_to_cbuf_multi_nd2nz_b8, 0, 0,  0, 0, "DataCopy 00127")             \
  X(load_cbuf_to_ca_transpose, A910B, 0,   0, 0, "LoadDataWithTranspose 0239") \
  X(load_cbuf_to_cb_transpose, A910B, 0,   0, 0, "LoadDataWithTranspose 0239") \
  X(vconv_f322f32r,  0,      A910B,    0, 1, "Cast 0073")                      \
  X(vconv_f322f32z,  0,      A910B,    0, 1, "Cast 0073")                      \
  X(vconv_s322f32,   0,      kAnyCore, 0, 1, "Cast 0073")                      \
  X(vconv_f162s8,    0,      0,        1, 0, "Cast 0073")
// clang-format on

// The same for bytes with a sign and for integers of 32 bits. What moves bytes
// takes any type and is not listed.
// clang-format off
#define CHIMERA_NPU_INTEGER_OPS(X)                                             \
  X(copy_gm_to_cbuf_multi_nd2nz_b8, A910B, 0)                                  \
  X(load_cbuf_to_ca,           kAnyCore, 0)                                    \
  X(load_cbuf_to_cb,           kAnyCore, 0)                                    \
  X(load_cbuf_to_ca_transpose, A910B,    0)                                    \
  X(load_cbuf_to_cb_transpose, A910B,    0)                                    \
  X(mad,                       kAnyCore, 0)                                    \
  X(copy_matrix_cc_to_gm,      0,        A910B)                                \
  X(copy_matrix_cc_to_gm_nz,   0,        A910B)                                \
  X(vconv_f162s8,              kAnyCore, 0)
// clang-format on

enum class Op : uint8_t {
#define CHIMERA_NPU_OP(NAME, HALF, FLOAT, HALF_CYCLES, FLOAT_CYCLES, PAGE) NAME,
  CHIMERA_NPU_OPS(CHIMERA_NPU_OP)
#undef CHIMERA_NPU_OP
      count
};
inline constexpr int kNumOps = static_cast<int>(Op::count);

struct Instruction {
  const char *name;
  uint8_t half, single;
  uint8_t halfCycles, singleCycles;
  const char *page;
};

inline constexpr Instruction kInstructions[] = {
#define CHIMERA_NPU_OP(NAME, HALF, FLOAT, HALF_CYCLES, FLOAT_CYCLES, PAGE)     \
  {#NAME, HALF, FLOAT, HALF_CYCLES, FLOAT_CYCLES, PAGE},
    CHIMERA_NPU_OPS(CHIMERA_NPU_OP)
#undef CHIMERA_NPU_OP
};

constexpr const Instruction &describe(Op op) {
  return kInstructions[static_cast<int>(op)];
}

/// True if cores of `architecture` have `op` for floats or, if `isHalf`, for
/// halves.
constexpr bool hasInstruction(Architecture architecture, Op op, bool isHalf) {
  return ((isHalf ? describe(op).half : describe(op).single) & architecture) !=
         0;
}

enum class Integer : uint8_t { Byte, Word };

/// True if cores of `architecture` have `op` for integers of that kind. Copies
/// of blocks and of bytes ask for no type.
constexpr bool hasInstruction(Architecture architecture, Op op, Integer type) {
  switch (op) {
#define CHIMERA_NPU_OP(NAME, BYTE, WORD)                                       \
  case Op::NAME:                                                               \
    return ((type == Integer::Byte ? BYTE : WORD) & architecture) != 0;
    CHIMERA_NPU_INTEGER_OPS(CHIMERA_NPU_OP)
#undef CHIMERA_NPU_OP
  case Op::copy_gm_to_cbuf:
  case Op::copy_gm_to_ubuf:
  case Op::copy_gm_to_ubuf_pad:
  case Op::copy_ubuf_to_cbuf:
  case Op::copy_ubuf_to_gm:
  case Op::copy_ubuf_to_gm_pad:
  case Op::copy_ubuf_to_ubuf:
    return hasInstruction(architecture, op, /*isHalf=*/false);
  default:
    return false;
  }
}

/// Cycles of `repeat` repeats. One by itself takes at least three.
constexpr int64_t repeatCycles(Op op, bool isHalf, int64_t repeat) {
  int64_t cycles =
      repeat * (isHalf ? describe(op).halfCycles : describe(op).singleCycles);
  return cycles > 3 ? cycles : 3;
}

} // namespace chimera_npu

#endif // CHIMERA_NPU_TABLE_H
