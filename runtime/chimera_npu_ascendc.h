//===- chimera_npu_ascendc.h - Kernels as Ascend C --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls of emitted kernels in terms of the basic API of Ascend C, for the
// vendor's compiler: with CHIMERA_NPU_ASCENDC defined, chimera_npu.h is this
// file and not the functional model.
//
// NEVER COMPILED AGAINST CANN, AND NEVER RUN ON A DEVICE. It follows the
// signatures of the vendor's public pages; a test compiles it against
// declarations of our own that say the same. Of two copies, L0C to UB and UB to
// L1 on the 910, no page of the basic API says that they exist there.
//
// The vector mask is set by itself, which is why calls take MASK_PLACEHOLDER.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_ASCENDC_H
#define CHIMERA_NPU_ASCENDC_H

#include "kernel_operator.h"

#include "chimera_npu_arch.h"

#include <cstdint>
#include <stddef.h>

#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif

#define CHIMERA_NPU_GLOBAL __aicore__ inline

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Where a memory is in the logical positions of Ascend C.
constexpr AscendC::TPosition position(Mem mem) {
  return mem == Mem::L1    ? AscendC::TPosition::A1
         : mem == Mem::L0A ? AscendC::TPosition::A2
         : mem == Mem::L0B ? AscendC::TPosition::B2
         : mem == Mem::L0C ? AscendC::TPosition::CO1
                           : AscendC::TPosition::VECCALC;
}

template <Mem M, class T>
struct Ptr {
  uint32_t offset;

  __aicore__ inline explicit Ptr(int64_t bytes)
      : offset(static_cast<uint32_t>(bytes)) {}
  __aicore__ inline Ptr operator+(int64_t elements) const {
    return Ptr(offset + elements * static_cast<int64_t>(sizeof(T)));
  }
  /// From here to the end of the memory.
  __aicore__ inline AscendC::LocalTensor<T> tensor() const {
    return AscendC::LocalTensor<T>(
        position(M), offset,
        static_cast<uint32_t>((kArch.capacity[index(M)] - offset) / sizeof(T)));
  }
};
template <class T>
using L1 = Ptr<Mem::L1, T>;
template <class T>
using L0A = Ptr<Mem::L0A, T>;
template <class T>
using L0B = Ptr<Mem::L0B, T>;
template <class T>
using L0C = Ptr<Mem::L0C, T>;
template <class T>
using UB = Ptr<Mem::UB, T>;

template <class T>
struct Gm {
  __gm__ T *base;

  /// From bytes, as kernels are launched with, or elements.
  template <class U>
  __aicore__ inline explicit Gm(__gm__ U *address)
      : base(reinterpret_cast<__gm__ T *>(address)) {}
  __aicore__ inline Gm operator+(int64_t elements) const {
    return Gm(base + elements);
  }
  __aicore__ inline AscendC::GlobalTensor<T> tensor() const {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(base);
    return tensor;
  }
};

enum CrMode : uint8_t {
  CRMODE_NONE,
  CRMODE_RELU,
  CRMODE_F32toF16_NONE,
  CRMODE_F32toF16_RELU
};
enum SelMode : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_TENSOR_MODE = 2 };

namespace detail {
template <class To>
__aicore__ inline To as(int64_t value) {
  return static_cast<To>(value);
}
__aicore__ inline AscendC::DataCopyParams bursts(int64_t count, int64_t length,
                                                 int64_t from, int64_t to) {
  return {as<uint16_t>(count), as<uint16_t>(length), as<uint16_t>(from),
          as<uint16_t>(to)};
}
__aicore__ inline AscendC::UnaryRepeatParams
strides(int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep) {
  return {as<uint16_t>(dBlk), as<uint16_t>(sBlk), as<uint8_t>(dRep),
          as<uint8_t>(sRep)};
}
__aicore__ inline AscendC::BinaryRepeatParams
strides(int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep,
        int64_t s1Rep) {
  return {as<uint8_t>(dBlk), as<uint8_t>(s0Blk), as<uint8_t>(s1Blk),
          as<uint8_t>(dRep), as<uint8_t>(s0Rep), as<uint8_t>(s1Rep)};
}
} // namespace detail

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

#define CHIMERA_NPU_COPY(NAME, DST, SRC)                                       \
  template <class T>                                                           \
  __aicore__ inline void NAME(DST<T> dst, SRC<T> src, int64_t nBurst,          \
                              int64_t lenBurst, int64_t srcGap,                \
                              int64_t dstGap) {                                \
    AscendC::DataCopy(dst.tensor(), src.tensor(),                              \
                      detail::bursts(nBurst, lenBurst, srcGap, dstGap));       \
  }
CHIMERA_NPU_COPY(copy_gm_to_cbuf, L1, Gm)
CHIMERA_NPU_COPY(copy_gm_to_ubuf, UB, Gm)
CHIMERA_NPU_COPY(copy_ubuf_to_gm, Gm, UB)
CHIMERA_NPU_COPY(copy_ubuf_to_cbuf, L1, UB)
CHIMERA_NPU_COPY(copy_ubuf_to_ubuf, UB, UB)
#undef CHIMERA_NPU_COPY

/// Of halves or of bytes: a row of a column group is a block of either.
template <class T>
__aicore__ inline void
copy_gm_to_cbuf_multi_nd2nz_b16(L1<T> dst, Gm<T> src, int64_t nValue,
                                int64_t dValue, int64_t srcDValue,
                                int64_t dstNzC0Stride) {
  AscendC::Nd2NzParams params;
  params.ndNum = 1;
  params.nValue = detail::as<uint16_t>(nValue);
  params.dValue = detail::as<uint16_t>(dValue);
  params.srcNdMatrixStride = 0;
  params.srcDValue = detail::as<uint16_t>(srcDValue);
  params.dstNzC0Stride = detail::as<uint16_t>(dstNzC0Stride);
  params.dstNzNStride = 1;
  params.dstNzMatrixStride = 0;
  AscendC::DataCopy(dst.tensor(), src.tensor(), params);
}
template <class T>
__aicore__ inline void
copy_gm_to_cbuf_multi_nd2nz_b8(L1<T> dst, Gm<T> src, int64_t nValue,
                               int64_t dValue, int64_t srcDValue,
                               int64_t dstNzC0Stride) {
  copy_gm_to_cbuf_multi_nd2nz_b16(dst, src, nValue, dValue, srcDValue,
                                  dstNzC0Stride);
}

template <class T>
__aicore__ inline void copy_matrix_cc_to_ubuf(UB<T> dst, L0C<float> src,
                                              int64_t nBurst, int64_t lenBurst,
                                              int64_t srcGap, int64_t dstGap,
                                              CrMode) {
  AscendC::DataCopyEnhancedParams params;
  params.blockMode = AscendC::BlockMode::BLOCK_MODE_MATRIX;
  AscendC::DataCopy(dst.tensor(), src.tensor(),
                    detail::bursts(nBurst, lenBurst, srcGap, dstGap), params);
}

#if CHIMERA_NPU_ARCH == 9102
namespace detail {
/// Gaps are bytes in GM and blocks in UB, in the order of source and
/// destination.
__aicore__ inline AscendC::DataCopyExtParams
bytes(int64_t count, int64_t length, int64_t from, int64_t to) {
  return {as<uint16_t>(count), as<uint32_t>(length), as<uint32_t>(from),
          as<uint32_t>(to), 0};
}
} // namespace detail

/// What fills the last block of a burst is not said: nobody reads it.
template <class T>
__aicore__ inline void copy_gm_to_ubuf_pad(UB<T> dst, Gm<T> src, int64_t nBurst,
                                           int64_t lenBytes, int64_t gmGapBytes,
                                           int64_t ubGapBlocks) {
  AscendC::DataCopyPad(
      dst.tensor(), src.tensor(),
      detail::bytes(nBurst, lenBytes, gmGapBytes, ubGapBlocks),
      AscendC::DataCopyPadExtParams<T>{false, 0, 0, static_cast<T>(0)});
}
template <class T>
__aicore__ inline void copy_ubuf_to_gm_pad(Gm<T> dst, UB<T> src, int64_t nBurst,
                                           int64_t lenBytes, int64_t gmGapBytes,
                                           int64_t ubGapBlocks) {
  AscendC::DataCopyPad(
      dst.tensor(), src.tensor(),
      detail::bytes(nBurst, lenBytes, ubGapBlocks, gmGapBytes));
}

namespace detail {
template <class T, class S, class Dst>
__aicore__ inline void drain(Dst dst, L0C<S> src, int64_t rows, int64_t columns,
                             int64_t srcRows, int64_t dstStride, bool toRows,
                             CrMode mode) {
  AscendC::FixpipeParamsV220 params;
  params.nSize = as<uint16_t>(columns);
  params.mSize = as<uint16_t>(rows);
  params.srcStride = as<uint16_t>(srcRows);
  params.dstStride = as<uint32_t>(dstStride);
  params.reluEn = mode == CRMODE_RELU || mode == CRMODE_F32toF16_RELU;
  params.quantPre =
      sizeof(T) == sizeof(float) ? QuantMode_t::NoQuant : QuantMode_t::F322F16;
  if (toRows)
    AscendC::Fixpipe<T, S, AscendC::CFG_ROW_MAJOR>(dst.tensor(), src.tensor(),
                                                   params);
  else
    AscendC::Fixpipe<T, S, AscendC::CFG_NZ>(dst.tensor(), src.tensor(), params);
}
} // namespace detail

/// Column groups of L1 start so many blocks from one another.
__aicore__ inline void copy_matrix_cc_to_cbuf(L1<half> dst, L0C<float> src,
                                              int64_t rows, int64_t columns,
                                              int64_t srcRows, int64_t dstRows,
                                              CrMode mode) {
  detail::drain<half, float>(dst, src, rows, columns, srcRows, dstRows,
                             /*toRows=*/false, mode);
}
template <class T, class S>
__aicore__ inline void copy_matrix_cc_to_gm(Gm<T> dst, L0C<S> src, int64_t rows,
                                            int64_t columns, int64_t srcRows,
                                            int64_t dstStride, CrMode mode) {
  detail::drain<T, S>(dst, src, rows, columns, srcRows, dstStride,
                      /*toRows=*/true, mode);
}
template <class T, class S>
__aicore__ inline void
copy_matrix_cc_to_gm_nz(Gm<T> dst, L0C<S> src, int64_t rows, int64_t columns,
                        int64_t srcRows, int64_t dstRows, CrMode mode) {
  // Groups start so many blocks of 32 bytes from one another.
  detail::drain<T, S>(dst, src, rows, columns, srcRows, dstRows * sizeof(T) / 2,
                      /*toRows=*/false, mode);
}
#endif

/// The older cores take the number of repeats alone, of 512 bytes each.
__aicore__ inline void create_cbuf_matrix(L1<half> dst, int64_t repeat,
                                          half value) {
  AscendC::InitConstValueParams<half> params;
  params.repeatTimes = detail::as<uint16_t>(repeat);
  params.blockNum = 512 / 32;
  params.dstGap = 0;
  params.initValue = value;
  AscendC::InitConstValue(dst.tensor(), params);
}

#define CHIMERA_NPU_LOAD(NAME, DST)                                            \
  template <class T>                                                           \
  __aicore__ inline void NAME(DST<T> dst, L1<T> src, int64_t startIndex,       \
                              int64_t repeat, int64_t srcStride,               \
                              bool transpose) {                                \
    AscendC::LoadData2DParams params;                                          \
    params.startIndex = detail::as<uint16_t>(startIndex);                      \
    params.repeatTimes = detail::as<uint8_t>(repeat);                          \
    params.srcStride = detail::as<uint16_t>(srcStride);                        \
    params.ifTranspose = transpose;                                            \
    AscendC::LoadData(dst.tensor(), src.tensor(), params);                     \
  }
CHIMERA_NPU_LOAD(load_cbuf_to_ca, L0A)
CHIMERA_NPU_LOAD(load_cbuf_to_cb, L0B)
#undef CHIMERA_NPU_LOAD

#if CHIMERA_NPU_ARCH == 9102
/// Squares of 32 x 32 bytes.
#define CHIMERA_NPU_LOAD_SQUARES(NAME, DST)                                    \
  __aicore__ inline void NAME(                                                 \
      DST<int8_t> dst, L1<int8_t> src, int64_t startIndex, int64_t repeat,     \
      int64_t srcStride, int64_t dstGap, int64_t dstFracGap) {                 \
    AscendC::LoadData2dTransposeParams params;                                 \
    params.startIndex = detail::as<uint16_t>(startIndex);                      \
    params.repeatTimes = detail::as<uint8_t>(repeat);                          \
    params.srcStride = detail::as<uint16_t>(srcStride);                        \
    params.dstGap = detail::as<uint16_t>(dstGap);                              \
    params.dstFracGap = detail::as<uint16_t>(dstFracGap);                      \
    AscendC::LoadDataWithTranspose(dst.tensor(), src.tensor(), params);        \
  }
CHIMERA_NPU_LOAD_SQUARES(load_cbuf_to_ca_transpose, L0A)
CHIMERA_NPU_LOAD_SQUARES(load_cbuf_to_cb_transpose, L0B)
#undef CHIMERA_NPU_LOAD_SQUARES
#endif

//===----------------------------------------------------------------------===//
// Cube and vector units
//===----------------------------------------------------------------------===//

/// Halves are added up as floats, bytes as integers.
template <class S, class T>
__aicore__ inline void mad(L0C<S> c, L0A<T> a, L0B<T> b, int64_t m, int64_t k,
                           int64_t n, bool init) {
  AscendC::MmadParams params;
  params.m = detail::as<uint16_t>(m);
  params.n = detail::as<uint16_t>(n);
  params.k = detail::as<uint16_t>(k);
  params.cmatrixInitVal = init;
  AscendC::Mmad(c.tensor(), a.tensor(), b.tensor(), params);
}

__aicore__ inline void set_vector_mask(uint64_t high, uint64_t low) {
  AscendC::SetVectorMask<float, AscendC::MaskMode::NORMAL>(high, low);
}

#define CHIMERA_NPU_BINARY(NAME, FUNCTION)                                     \
  template <class T>                                                           \
  __aicore__ inline void NAME(UB<T> d, UB<T> s0, UB<T> s1, int64_t repeat,     \
                              int64_t dBlk, int64_t s0Blk, int64_t s1Blk,      \
                              int64_t dRep, int64_t s0Rep, int64_t s1Rep) {    \
    AscendC::FUNCTION<T, false>(                                               \
        d.tensor(), s0.tensor(), s1.tensor(), AscendC::MASK_PLACEHOLDER,       \
        detail::as<uint8_t>(repeat),                                           \
        detail::strides(dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep));              \
  }
CHIMERA_NPU_BINARY(vadd, Add)
CHIMERA_NPU_BINARY(vsub, Sub)
CHIMERA_NPU_BINARY(vmul, Mul)
CHIMERA_NPU_BINARY(vdiv, Div)
CHIMERA_NPU_BINARY(vmax, Max)
CHIMERA_NPU_BINARY(vmin, Min)
#undef CHIMERA_NPU_BINARY

#define CHIMERA_NPU_UNARY(NAME, FUNCTION)                                      \
  template <class T>                                                           \
  __aicore__ inline void NAME(UB<T> d, UB<T> s, int64_t repeat, int64_t dBlk,  \
                              int64_t sBlk, int64_t dRep, int64_t sRep) {      \
    AscendC::FUNCTION<T, false>(                                               \
        d.tensor(), s.tensor(), AscendC::MASK_PLACEHOLDER,                     \
        detail::as<uint8_t>(repeat), detail::strides(dBlk, sBlk, dRep, sRep)); \
  }
CHIMERA_NPU_UNARY(vexp, Exp)
CHIMERA_NPU_UNARY(vln, Ln)
CHIMERA_NPU_UNARY(vrec, Reciprocal)
CHIMERA_NPU_UNARY(vsqrt, Sqrt)
CHIMERA_NPU_UNARY(vabs, Abs)
CHIMERA_NPU_UNARY(vrelu, Relu)
#undef CHIMERA_NPU_UNARY

#define CHIMERA_NPU_SCALAR(NAME, FUNCTION)                                     \
  template <class T>                                                           \
  __aicore__ inline void NAME(UB<T> d, UB<T> s, T scalar, int64_t repeat,      \
                              int64_t dBlk, int64_t sBlk, int64_t dRep,        \
                              int64_t sRep) {                                  \
    AscendC::FUNCTION<T, false>(                                               \
        d.tensor(), s.tensor(), scalar, AscendC::MASK_PLACEHOLDER,             \
        detail::as<uint8_t>(repeat), detail::strides(dBlk, sBlk, dRep, sRep)); \
  }
CHIMERA_NPU_SCALAR(vadds, Adds)
CHIMERA_NPU_SCALAR(vmuls, Muls)
CHIMERA_NPU_SCALAR(vmaxs, Maxs)
CHIMERA_NPU_SCALAR(vmins, Mins)
#undef CHIMERA_NPU_SCALAR

#define CHIMERA_NPU_CONVERT(NAME, D, S, MODE)                                  \
  __aicore__ inline void NAME(UB<D> d, UB<S> s, int64_t repeat, int64_t dBlk,  \
                              int64_t sBlk, int64_t dRep, int64_t sRep) {      \
    AscendC::Cast<D, S, false>(                                                \
        d.tensor(), s.tensor(), AscendC::RoundMode::MODE,                      \
        AscendC::MASK_PLACEHOLDER, detail::as<uint8_t>(repeat),                \
        detail::strides(dBlk, sBlk, dRep, sRep));                              \
  }
CHIMERA_NPU_CONVERT(vconv_f322f16, half, float, CAST_NONE)
CHIMERA_NPU_CONVERT(vconv_f162f32, float, half, CAST_NONE)
CHIMERA_NPU_CONVERT(vconv_u82f16, half, uint8_t, CAST_NONE)
CHIMERA_NPU_CONVERT(vconv_s322f32, float, int32_t, CAST_NONE)
CHIMERA_NPU_CONVERT(vconv_f162s8, int8_t, half, CAST_NONE)
CHIMERA_NPU_CONVERT(vconv_f322f32r, float, float, CAST_RINT)
CHIMERA_NPU_CONVERT(vconv_f322f32z, float, float, CAST_TRUNC)
#undef CHIMERA_NPU_CONVERT

template <class T>
__aicore__ inline void vector_dup(UB<T> d, T scalar, int64_t repeat,
                                  int64_t dBlk, int64_t dRep) {
  AscendC::Duplicate<T, false>(d.tensor(), scalar, AscendC::MASK_PLACEHOLDER,
                               detail::as<uint8_t>(repeat),
                               detail::as<uint16_t>(dBlk),
                               detail::as<uint8_t>(dRep));
}

#define CHIMERA_NPU_REDUCE(NAME, FUNCTION)                                     \
  template <class T>                                                           \
  __aicore__ inline void NAME(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep,  \
                              int64_t sBlk, int64_t sRep) {                    \
    AscendC::FUNCTION<T, false>(                                               \
        d.tensor(), s.tensor(), detail::as<int32_t>(repeat),                   \
        AscendC::MASK_PLACEHOLDER, detail::as<int32_t>(dRep),                  \
        detail::as<int32_t>(sBlk), detail::as<int32_t>(sRep));                 \
  }
CHIMERA_NPU_REDUCE(vcgmax, BlockReduceMax)
CHIMERA_NPU_REDUCE(vcgadd, BlockReduceSum)
#undef CHIMERA_NPU_REDUCE

/// A repeat to one element.
template <class T>
__aicore__ inline void vcadd(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep,
                             int64_t sBlk, int64_t sRep) {
  AscendC::WholeReduceSum<T, false>(
      d.tensor(), s.tensor(), AscendC::MASK_PLACEHOLDER,
      detail::as<int32_t>(repeat), detail::as<int32_t>(dRep),
      detail::as<int32_t>(sBlk), detail::as<int32_t>(sRep));
}

template <class T>
__aicore__ inline void vbrcb(UB<T> d, UB<T> s, int64_t repeat) {
  AscendC::Brcb(d.tensor(), s.tensor(), detail::as<uint8_t>(repeat),
                AscendC::BrcbRepeatParams(1, 8));
}

/// One repeat by itself has no distances.
template <class T>
__aicore__ inline void vnchwconv(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep,
                                 int64_t sRep, int64_t dRow, int64_t sRow) {
  constexpr int64_t rows = 16, block = 32 / sizeof(T);
  AscendC::LocalTensor<T> to[rows], from[rows];
  for (int64_t row = 0; row < rows; ++row) {
    to[row] = (d + row * dRow * block).tensor();
    from[row] = (s + row * sRow * block).tensor();
  }
  AscendC::TransDataTo5HD<T>(to, from,
                             AscendC::TransDataTo5HDParams(
                                 false, false, detail::as<uint8_t>(repeat),
                                 detail::as<uint16_t>(repeat == 1 ? 0 : dRep),
                                 detail::as<uint16_t>(repeat == 1 ? 0 : sRep)));
}

#define CHIMERA_NPU_COMPARE(NAME, MODE)                                        \
  template <class T>                                                           \
  __aicore__ inline void NAME(UB<uint8_t> d, UB<T> s0, UB<T> s1,               \
                              int64_t repeat, int64_t s0Blk, int64_t s1Blk,    \
                              int64_t s0Rep, int64_t s1Rep) {                  \
    AscendC::Compare<T, uint8_t, false>(                                       \
        d.tensor(), s0.tensor(), s1.tensor(), AscendC::CMPMODE::MODE,          \
        AscendC::MASK_PLACEHOLDER, detail::as<uint8_t>(repeat),                \
        detail::strides(1, s0Blk, s1Blk, 8, s0Rep, s1Rep));                    \
  }
CHIMERA_NPU_COMPARE(vcmpv_lt, LT)
CHIMERA_NPU_COMPARE(vcmpv_le, LE)
CHIMERA_NPU_COMPARE(vcmpv_gt, GT)
CHIMERA_NPU_COMPARE(vcmpv_ge, GE)
CHIMERA_NPU_COMPARE(vcmpv_eq, EQ)
CHIMERA_NPU_COMPARE(vcmpv_ne, NE)
#undef CHIMERA_NPU_COMPARE

template <SelMode Mode, class T>
__aicore__ inline void vsel(UB<T> d, UB<T> s0, UB<T> s1, UB<uint8_t> mask,
                            int64_t repeat, int64_t dBlk, int64_t s0Blk,
                            int64_t s1Blk, int64_t dRep, int64_t s0Rep,
                            int64_t s1Rep) {
  AscendC::Select<T, uint8_t, false>(
      d.tensor(), mask.tensor(), s0.tensor(), s1.tensor(),
      Mode == VSEL_CMPMASK_SPR ? AscendC::SELMODE::VSEL_CMPMASK_SPR
                               : AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE,
      AscendC::MASK_PLACEHOLDER, detail::as<uint8_t>(repeat),
      detail::strides(dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

// Events are template arguments there: one call for each pair that kernels use.
// clang-format off
#define CHIMERA_NPU_PAIRS(X, CALL) \
  X(MTE1, MTE2, CALL) X(MTE2, MTE1, CALL) X(MTE1, M, CALL) X(M, MTE1, CALL) \
  X(M, V, CALL) X(V, M, CALL) X(MTE2, V, CALL) X(V, MTE2, CALL) \
  X(V, MTE3, CALL) X(MTE3, V, CALL) X(MTE3, MTE1, CALL) X(MTE1, MTE3, CALL) \
  X(M, FIX, CALL) X(FIX, M, CALL)
// clang-format on
#define CHIMERA_NPU_FLAG(SOURCE, TARGET, CALL)                                 \
  if (source == PIPE_##SOURCE && target == PIPE_##TARGET)                      \
    AscendC::CALL<AscendC::HardEvent::SOURCE##_##TARGET>(event);

__aicore__ inline void set_flag(Pipe source, Pipe target, int32_t event) {
  CHIMERA_NPU_PAIRS(CHIMERA_NPU_FLAG, SetFlag);
}
__aicore__ inline void wait_flag(Pipe source, Pipe target, int32_t event) {
  CHIMERA_NPU_PAIRS(CHIMERA_NPU_FLAG, WaitFlag);
}
#undef CHIMERA_NPU_FLAG
#undef CHIMERA_NPU_PAIRS

__aicore__ inline void pipe_barrier(Pipe pipe) {
  if (pipe == PIPE_V)
    AscendC::PipeBarrier<PIPE_V>();
  else if (pipe == PIPE_M)
    AscendC::PipeBarrier<PIPE_M>();
  else
    AscendC::PipeBarrier<PIPE_ALL>();
}

#if CHIMERA_NPU_ARCH == 9102
/// Mode 2: between the core with the cube unit and the vector cores of a block.
__aicore__ inline void set_cross_flag(Pipe pipe, int32_t flag) {
  auto number = detail::as<uint16_t>(flag);
  if (pipe == PIPE_FIX)
    AscendC::CrossCoreSetFlag<2, PIPE_FIX>(number);
  else if (pipe == PIPE_MTE2)
    AscendC::CrossCoreSetFlag<2, PIPE_MTE2>(number);
  else
    AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(number);
}
__aicore__ inline void wait_cross_flag(int32_t flag) {
  AscendC::CrossCoreWaitFlag(detail::as<uint16_t>(flag));
}

/// Vector cores of a mixed kernel count for themselves: there are as many in a
/// block as the ratio says, which is one elsewhere.
__aicore__ inline int64_t block_idx() {
  return AscendC::GetBlockIdx() / AscendC::GetTaskRatio();
}
__aicore__ inline int64_t sub_block_idx() { return AscendC::GetSubBlockIdx(); }
#else
__aicore__ inline int64_t block_idx() { return AscendC::GetBlockIdx(); }
#endif
__aicore__ inline int64_t block_num() { return AscendC::GetBlockNum(); }

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// The addresses that a kernel is launched with become what it takes.
template <class... T, class... Addresses>
__aicore__ inline void enter(void (*kernel)(Gm<T>...), Addresses... addresses) {
  kernel(Gm<T>(addresses)...);
}

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

// Kernels take addresses by name: lists of as many.
#define CHIMERA_NPU_PARAMETERS_1 GM_ADDR a1
#define CHIMERA_NPU_PARAMETERS_2 CHIMERA_NPU_PARAMETERS_1, GM_ADDR a2
#define CHIMERA_NPU_PARAMETERS_3 CHIMERA_NPU_PARAMETERS_2, GM_ADDR a3
#define CHIMERA_NPU_PARAMETERS_4 CHIMERA_NPU_PARAMETERS_3, GM_ADDR a4
#define CHIMERA_NPU_PARAMETERS_5 CHIMERA_NPU_PARAMETERS_4, GM_ADDR a5
#define CHIMERA_NPU_PARAMETERS_6 CHIMERA_NPU_PARAMETERS_5, GM_ADDR a6
#define CHIMERA_NPU_PARAMETERS_7 CHIMERA_NPU_PARAMETERS_6, GM_ADDR a7
#define CHIMERA_NPU_PARAMETERS_8 CHIMERA_NPU_PARAMETERS_7, GM_ADDR a8
#define CHIMERA_NPU_PARAMETERS_9 CHIMERA_NPU_PARAMETERS_8, GM_ADDR a9
#define CHIMERA_NPU_PARAMETERS_10 CHIMERA_NPU_PARAMETERS_9, GM_ADDR a10
#define CHIMERA_NPU_PARAMETERS_11 CHIMERA_NPU_PARAMETERS_10, GM_ADDR a11
#define CHIMERA_NPU_PARAMETERS_12 CHIMERA_NPU_PARAMETERS_11, GM_ADDR a12
#define CHIMERA_NPU_ARGUMENTS_1 a1
#define CHIMERA_NPU_ARGUMENTS_2 CHIMERA_NPU_ARGUMENTS_1, a2
#define CHIMERA_NPU_ARGUMENTS_3 CHIMERA_NPU_ARGUMENTS_2, a3
#define CHIMERA_NPU_ARGUMENTS_4 CHIMERA_NPU_ARGUMENTS_3, a4
#define CHIMERA_NPU_ARGUMENTS_5 CHIMERA_NPU_ARGUMENTS_4, a5
#define CHIMERA_NPU_ARGUMENTS_6 CHIMERA_NPU_ARGUMENTS_5, a6
#define CHIMERA_NPU_ARGUMENTS_7 CHIMERA_NPU_ARGUMENTS_6, a7
#define CHIMERA_NPU_ARGUMENTS_8 CHIMERA_NPU_ARGUMENTS_7, a8
#define CHIMERA_NPU_ARGUMENTS_9 CHIMERA_NPU_ARGUMENTS_8, a9
#define CHIMERA_NPU_ARGUMENTS_10 CHIMERA_NPU_ARGUMENTS_9, a10
#define CHIMERA_NPU_ARGUMENTS_11 CHIMERA_NPU_ARGUMENTS_10, a11
#define CHIMERA_NPU_ARGUMENTS_12 CHIMERA_NPU_ARGUMENTS_11, a12
#define CHIMERA_NPU_THIRTEENTH(A, B, C, D, E, F, G, H, I, J, K, L, M, ...) M
#define CHIMERA_NPU_COUNT(...)                                                 \
  CHIMERA_NPU_THIRTEENTH(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CHIMERA_NPU_JOIN(A, B) A##B
#define CHIMERA_NPU_LIST(NAME, COUNT) CHIMERA_NPU_JOIN(NAME, COUNT)

/// Defines `<kernel>_entry`, which a host launches.
#define CHIMERA_NPU_ENTRY(KERNEL, ...)                                         \
  extern "C" __global__ __aicore__ void KERNEL##_entry(CHIMERA_NPU_LIST(       \
      CHIMERA_NPU_PARAMETERS_, CHIMERA_NPU_COUNT(__VA_ARGS__))) {              \
    chimera_npu::enter(KERNEL,                                                 \
                       CHIMERA_NPU_LIST(CHIMERA_NPU_ARGUMENTS_,                \
                                        CHIMERA_NPU_COUNT(__VA_ARGS__)));      \
  }

/// The same of a kernel in two parts, one for each kind of core.
#define CHIMERA_NPU_MIXED_ENTRY(KERNEL, ...)                                   \
  extern "C" __global__ __aicore__ void KERNEL##_entry(CHIMERA_NPU_LIST(       \
      CHIMERA_NPU_PARAMETERS_, CHIMERA_NPU_COUNT(__VA_ARGS__))) {              \
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);                         \
    if (g_coreType == AscendC::AIC)                                            \
      chimera_npu::enter(KERNEL##_cube,                                        \
                         CHIMERA_NPU_LIST(CHIMERA_NPU_ARGUMENTS_,              \
                                          CHIMERA_NPU_COUNT(__VA_ARGS__)));    \
    else                                                                       \
      chimera_npu::enter(KERNEL##_vector,                                      \
                         CHIMERA_NPU_LIST(CHIMERA_NPU_ARGUMENTS_,              \
                                          CHIMERA_NPU_COUNT(__VA_ARGS__)));    \
  }

#endif // CHIMERA_NPU_ASCENDC_H
