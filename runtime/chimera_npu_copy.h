//===- chimera_npu_copy.h - Pointers and copies ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by chimera_npu.h, which says what all of this is.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_COPY_H
#define CHIMERA_NPU_COPY_H

#include "chimera_npu_layouts.h"
#include "chimera_npu_machine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace chimera_npu {

using half = _Float16;

inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// An address in an on-chip memory. The memory is part of the type, so that a
/// copy along a route the core lacks does not compile.
template <Mem M, class T>
struct Ptr {
  /// In bytes.
  int64_t offset = 0;

  constexpr Ptr() = default;
  constexpr explicit Ptr(int64_t byteOffset) : offset(byteOffset) {}
  constexpr Ptr operator+(int64_t elements) const {
    return Ptr(offset + elements * static_cast<int64_t>(sizeof(T)));
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

/// An address in an argument, of which it knows the extent.
template <class T>
struct Gm {
  T *base = nullptr;
  /// In elements.
  int64_t length = 0, offset = 0;

  constexpr Gm() = default;
  constexpr Gm(T *base, int64_t length, int64_t offset = 0)
      : base(base), length(length), offset(offset) {}
  constexpr Gm operator+(int64_t elements) const {
    return Gm(base, length, offset + elements);
  }
};

/// What happens to a sum on its way out of L0C.
enum CrMode : uint8_t {
  CRMODE_NONE,
  CRMODE_RELU,
  CRMODE_F32toF16_NONE,
  CRMODE_F32toF16_RELU
};

/// Takes functions out of reach that need a route the core lacks.
template <Mem From, Mem To>
using IfRoute = std::enable_if_t<kArch.hasRoute(From, To), int>;

/// True if cores of this architecture have `O` for elements of type T.
template <Op O, class T>
constexpr bool hasInstructionFor() {
  if constexpr (std::is_same_v<T, int8_t>)
    return hasInstruction(kArchitecture, O, Integer::Byte);
  else if constexpr (std::is_same_v<T, int32_t>)
    return hasInstruction(kArchitecture, O, Integer::Word);
  else
    return hasInstruction(kArchitecture, O, /*isHalf=*/sizeof(T) == 2);
}

/// Fails to compile unless cores of this architecture have `O` for elements of
/// type T.
template <Op O, class T>
constexpr void requireInstruction() {
  static_assert(hasInstructionFor<O, T>(),
                "no page says that this core has the instruction for this "
                "type");
}

//===----------------------------------------------------------------------===//
// Implementation
//===----------------------------------------------------------------------===//

namespace detail {

// Of each library, and null but while it runs a kernel.
inline thread_local Machine *current = nullptr;

inline Machine &machine() {
  if (!current)
    throw Error(Reason::Launch, "an instruction outside of a kernel");
  return *current;
}

/// Bytes of an operand, and which of them were written. Global memory was.
struct View {
  uint8_t *bytes;
  uint8_t *written;
};

template <Mem M, class T>
constexpr Mem memOf(Ptr<M, T>) {
  return M;
}
template <class T>
constexpr Mem memOf(Gm<T>) {
  return Mem::GM;
}

template <Mem M, class T>
void requireAligned(Machine &m, Ptr<M, T> p) {
  m.requireAligned(M, p.offset, kArch.alignment[index(M)]);
}
template <class T>
void requireAligned(Machine &, Gm<T>) {}

template <Mem M, class T>
View read(Machine &m, Ptr<M, T> p, int64_t skip, int64_t bytes) {
  auto *address = const_cast<uint8_t *>(m.read(M, p.offset + skip, bytes));
  return {address, m.written(M, p.offset + skip)};
}
template <Mem M, class T>
View write(Machine &m, Ptr<M, T> p, int64_t skip, int64_t bytes) {
  uint8_t *address = m.write(M, p.offset + skip, bytes);
  return {address, m.written(M, p.offset + skip)};
}

/// Bytes that blocks may cover beyond the end of an argument: aclrtMalloc
/// rounds what is asked for up to 32 bytes and adds as many again (its page,
/// aclcppdevg_03_0095). What is there nobody knows.
template <class T>
int64_t beyondEnd(Gm<T> p, int64_t skip, int64_t bytes) {
  int64_t size = sizeof(T), length = p.length * size;
  int64_t end = p.offset * size + skip + bytes;
  bool isOurs = end <= layout::roundUp(length, 32) + 32;
  return isOurs ? std::clamp<int64_t>(end - length, 0, bytes) : 0;
}
template <Mem M, class T>
int64_t beyondEnd(Ptr<M, T>, int64_t, int64_t) {
  return 0;
}

template <class T>
uint8_t *enter(Machine &m, Gm<T> p, int64_t skip, int64_t bytes) {
  int64_t size = sizeof(T), first = p.offset * size + skip;
  if (first < 0 || first + bytes > p.length * size)
    m.fail(Reason::OutOfBounds, "GM bytes [" + std::to_string(first) + ", " +
                                    std::to_string(first + bytes) +
                                    ") of an argument of " +
                                    std::to_string(p.length * size));
  return reinterpret_cast<uint8_t *>(p.base) + first;
}
template <class T>
View read(Machine &m, Gm<T> p, int64_t skip, int64_t bytes) {
  uint8_t *address = enter(m, p, skip, bytes);
  m.readGm(address, bytes);
  return {address, nullptr};
}
template <class T>
View write(Machine &m, Gm<T> p, int64_t skip, int64_t bytes) {
  uint8_t *address = enter(m, p, skip, bytes);
  m.writeGm(address, bytes);
  return {address, nullptr};
}

inline void requireWritten(Machine &m, const uint8_t *written, int64_t bytes) {
  if (!std::all_of(written, written + bytes, [](uint8_t w) { return w != 0; }))
    m.fail(Reason::Uninitialized,
           "puts bytes into GM that nothing has written");
}

/// Moves what is there, including that nothing is.
inline void move(Machine &m, View dst, View src, int64_t bytes) {
  if (!dst.written)
    requireWritten(m, src.written, bytes);
  if (bytes <= 0)
    return;
  std::memmove(dst.bytes, src.bytes, bytes);
  if (!dst.written)
    return;
  if (src.written)
    std::memmove(dst.written, src.written, bytes);
  else
    std::memset(dst.written, 1, bytes);
}

/// Bytes of which nobody knows what they are.
inline void scramble(View view, int64_t bytes) {
  std::memset(view.bytes, 0xff, bytes);
  std::memset(view.written, 0, bytes);
}

/// Bursts of `bytes`; what a destination on the chip has beyond them in the
/// last block is not known afterwards.
template <class Dst, class Src>
void copyBursts(Machine &m, Dst dst, Src src, int64_t nBurst, int64_t bytes,
                int64_t srcStride, int64_t dstStride) {
  requireAligned(m, dst);
  requireAligned(m, src);
  int64_t whole = memOf(dst) == Mem::GM ? bytes : layout::roundUp(bytes, 32);
  for (int64_t burst = 0; burst < nBurst; ++burst) {
    int64_t known = bytes - beyondEnd(src, burst * srcStride, bytes);
    View from = read(m, src, burst * srcStride, known);
    View to = write(m, dst, burst * dstStride, whole);
    move(m, to, from, known);
    if (whole > known)
      scramble({to.bytes + known, to.written + known}, whole - known);
  }
  m.countRoute(memOf(src), memOf(dst), nBurst, bytes, whole);
}

template <class Dst, class Src>
void copyBlocks(Op op, Pipe pipe, Dst dst, Src src, int64_t nBurst,
                int64_t lenBurst, int64_t srcGap, int64_t dstGap) {
  Machine &m = machine();
  m.issue(op, pipe);
  m.requireRange("nBurst", nBurst, 1, 4095);
  m.requireRange("lenBurst", lenBurst, 1, 65535);
  m.requireRange("srcGap", srcGap, 0, 65535);
  m.requireRange("dstGap", dstGap, 0, 65535);
  copyBursts(m, dst, src, nBurst, lenBurst * 32, (lenBurst + srcGap) * 32,
             (lenBurst + dstGap) * 32);
}

/// Bursts of `lenBytes` bytes; what is on the chip lies in blocks.
template <class T, class Dst, class Src>
void copyBytes(Op op, Pipe pipe, Dst dst, Src src, int64_t nBurst,
               int64_t lenBytes, int64_t gmGap, int64_t chipGap) {
  Machine &m = machine();
  m.issue(op, pipe);
  m.requireRange("nBurst", nBurst, 1, 4095);
  m.requireRange("lenBytes", lenBytes, 1, (1 << 21) - 1);
  m.requireRange("the gap in GM", gmGap, 0, (int64_t(1) << 32) - 1);
  m.requireRange("the gap on chip", chipGap, 0, 65535);
  m.require(lenBytes % sizeof(T) == 0 && gmGap % sizeof(T) == 0,
            "bursts do not consist of whole elements");
  int64_t chipStride = layout::roundUp(lenBytes, 32) + chipGap * 32;
  bool isStore = memOf(dst) == Mem::GM;
  copyBursts(m, dst, src, nBurst, lenBytes,
             isStore ? chipStride : lenBytes + gmGap,
             isStore ? lenBytes + gmGap : chipStride);
}

inline constexpr int64_t kFractalBytes = 512;

template <class T>
T loadElement(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
template <class T>
void storeElement(uint8_t *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

// Without an instruction for it, compilers call a function to convert a half,
// which would take most of the time of vector code.
#ifdef __F16C__
inline float toFloat(half x) { return static_cast<float>(x); }
#else
inline float toFloat(half x) {
  uint16_t bits;
  std::memcpy(&bits, &x, 2);
  uint32_t wide = (bits & 0x7fffu) << 13;
  float value;
  std::memcpy(&value, &wide, 4);
  // Moves the exponent, also where it is zero.
  value *= 0x1p112f;
  std::memcpy(&wide, &value, 4);
  wide |= (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
  wide |= (bits & 0x8000u) << 16;
  std::memcpy(&value, &wide, 4);
  return value;
}
#endif
inline float toFloat(float x) { return x; }
inline float toFloat(uint8_t x) { return x; }
inline float toFloat(int8_t x) { return x; }
/// Integers have no value that is no number. The sum that no product of bytes
/// comes near stands for what nobody has computed.
inline constexpr int32_t kNoInteger = std::numeric_limits<int32_t>::min();
/// What has more than 24 bits goes to even, as CAST_NONE does where a
/// conversion is not exact.
inline float toFloat(int32_t x) {
  return x == kNoInteger ? std::numeric_limits<float>::quiet_NaN()
                         : static_cast<float>(x);
}

template <class T>
T fromFloat(float x) {
#ifdef __F16C__
  return static_cast<T>(x);
#else
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    uint32_t sign = bits & 0x80000000u, result;
    bits ^= sign;
    if (bits >= 0x47800000u) { // From 2^16 on: infinite, or no number.
      result = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    } else if (bits < 0x38800000u) { // Below 2^-14: the sum rounds.
      float magnitude;
      std::memcpy(&magnitude, &bits, 4);
      magnitude += 0.5f;
      std::memcpy(&result, &magnitude, 4);
      result -= 0x3f000000u;
    } else { // To even.
      result = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13;
    }
    auto narrow = static_cast<uint16_t>(result | sign >> 16);
    T value;
    std::memcpy(&value, &narrow, 2);
    return value;
  }
#endif
}

/// As conversions do it: what is too large becomes the largest there is.
template <class T>
T narrow(float x) {
  if constexpr (std::is_same_v<T, int8_t>) {
    float number = x != x ? 0 : std::nearbyint(x);
    return static_cast<T>(std::clamp(number, -128.0f, 127.0f));
  } else {
    constexpr float most = 65504;
    if constexpr (std::is_same_v<T, half>)
      x = x > most ? most : x < -most ? -most : x;
    return fromFloat<T>(x);
  }
}

inline float relu(float x) { return x > 0 || x != x ? x : 0; }

/// Elements out of L0C, converted; what was never computed stays so. Integers
/// stay as they are.
template <class T, class S = float>
void drain(View dst, View src, int64_t count, CrMode mode) {
  static_assert(std::is_same_v<S, float> || std::is_same_v<S, T>,
                "sums of bytes leave as they are");
  if constexpr (std::is_same_v<S, int32_t>) {
    std::memcpy(dst.bytes, src.bytes, count * 4);
    if (dst.written)
      std::memcpy(dst.written, src.written, count * 4);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto value = loadElement<float>(src.bytes + i * 4);
    if (mode == CRMODE_RELU || mode == CRMODE_F32toF16_RELU)
      value = relu(value);
    storeElement(dst.bytes + i * sizeof(T), narrow<T>(value));
    if (dst.written)
      std::memset(dst.written + i * sizeof(T), src.written[i * 4], sizeof(T));
  }
}

/// Fails if some of `count` sums of bytes are none.
template <class S>
void requireKnown(Machine &m, const uint8_t *bytes, int64_t count) {
  if constexpr (std::is_same_v<S, int32_t>)
    for (int64_t i = 0; i < count; ++i)
      if (loadElement<int32_t>(bytes + i * 4) == kNoInteger)
        m.fail(Reason::Uninitialized,
               "puts sums into GM of what nothing has written");
}

template <class T>
void requireMode(Machine &m, CrMode mode) {
  bool narrows = mode == CRMODE_F32toF16_NONE || mode == CRMODE_F32toF16_RELU;
  m.require(!std::is_same_v<T, int32_t> || mode == CRMODE_NONE,
            "sums of bytes leave as they are");
  m.require(std::is_same_v<T, half> == narrows,
            "the mode does not give elements of the destination's type");
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// `nBurst` bursts of `lenBurst` blocks.
#define CHIMERA_NPU_COPY(NAME, PIPE, DST, SRC)                                 \
  template <class T>                                                           \
  void NAME(DST<T> dst, SRC<T> src, int64_t nBurst, int64_t lenBurst,          \
            int64_t srcGap, int64_t dstGap) {                                  \
    requireInstruction<Op::NAME, T>();                                         \
    detail::copyBlocks(Op::NAME, PIPE, dst, src, nBurst, lenBurst, srcGap,     \
                       dstGap);                                                \
  }
CHIMERA_NPU_COPY(copy_gm_to_cbuf, PIPE_MTE2, L1, Gm)
CHIMERA_NPU_COPY(copy_gm_to_ubuf, PIPE_MTE2, UB, Gm)
CHIMERA_NPU_COPY(copy_ubuf_to_gm, PIPE_MTE3, Gm, UB)
CHIMERA_NPU_COPY(copy_ubuf_to_ubuf, PIPE_V, UB, UB)
#undef CHIMERA_NPU_COPY

template <class T, Mem From = Mem::UB, IfRoute<From, Mem::L1> = 0>
void copy_ubuf_to_cbuf(L1<T> dst, UB<T> src, int64_t nBurst, int64_t lenBurst,
                       int64_t srcGap, int64_t dstGap) {
  requireInstruction<Op::copy_ubuf_to_cbuf, T>();
  detail::copyBlocks(Op::copy_ubuf_to_cbuf, PIPE_MTE3, dst, src, nBurst,
                     lenBurst, srcGap, dstGap);
}

/// Bursts of `lenBytes` bytes, `gmGapBytes` apart in GM, from the end of one to
/// the start of the next, and `ubGapBlocks` blocks in UB.
template <class T>
void copy_gm_to_ubuf_pad(UB<T> dst, Gm<T> src, int64_t nBurst, int64_t lenBytes,
                         int64_t gmGapBytes, int64_t ubGapBlocks) {
  requireInstruction<Op::copy_gm_to_ubuf_pad, T>();
  detail::copyBytes<T>(Op::copy_gm_to_ubuf_pad, PIPE_MTE2, dst, src, nBurst,
                       lenBytes, gmGapBytes, ubGapBlocks);
}
template <class T>
void copy_ubuf_to_gm_pad(Gm<T> dst, UB<T> src, int64_t nBurst, int64_t lenBytes,
                         int64_t gmGapBytes, int64_t ubGapBlocks) {
  requireInstruction<Op::copy_ubuf_to_gm_pad, T>();
  detail::copyBytes<T>(Op::copy_ubuf_to_gm_pad, PIPE_MTE3, dst, src, nBurst,
                       lenBytes, gmGapBytes, ubGapBlocks);
}

namespace detail {

/// `nValue` rows of `dValue` elements that start `srcDValue` elements from one
/// another, to column groups that start `dstNzC0Stride` rows from one another;
/// a row of a group is a block, and the rest of the last one becomes zero. One
/// matrix, whose rows follow each other in a group.
template <Op O, class T>
void copyMatrix(L1<T> dst, Gm<T> src, int64_t nValue, int64_t dValue,
                int64_t srcDValue, int64_t dstNzC0Stride) {
  requireInstruction<O, T>();
  Machine &m = machine();
  m.issue(O, PIPE_MTE2);
  m.requireRange("nValue", nValue, 1, 16384);
  m.requireRange("dValue", dValue, 1, 65535);
  m.requireRange("srcDValue", srcDValue, dValue, 65535);
  m.requireRange("dstNzC0Stride", dstNzC0Stride, nValue, 16384);
  requireAligned(m, dst);
  constexpr int64_t size = sizeof(T), width = 32 / size;
  for (int64_t row = 0; row < nValue; ++row)
    for (int64_t column = 0; column < dValue; column += width) {
      int64_t bytes = std::min(width, dValue - column) * size;
      View from = read(m, src, (row * srcDValue + column) * size, bytes);
      View to = write(m, dst,
                      layout::zN(row, column, dstNzC0Stride, width) * size, 32);
      std::memset(to.bytes, 0, 32);
      std::memset(to.written, 1, 32);
      move(m, to, from, bytes);
    }
  m.countRoute(Mem::GM, Mem::L1, nValue, dValue * size,
               layout::roundUp(dValue, width) * size);
}

} // namespace detail

#define CHIMERA_NPU_COPY_MATRIX(NAME)                                          \
  template <class T>                                                           \
  void NAME(L1<T> dst, Gm<T> src, int64_t nValue, int64_t dValue,              \
            int64_t srcDValue, int64_t dstNzC0Stride) {                        \
    detail::copyMatrix<Op::NAME>(dst, src, nValue, dValue, srcDValue,          \
                                 dstNzC0Stride);                               \
  }
CHIMERA_NPU_COPY_MATRIX(copy_gm_to_cbuf_multi_nd2nz_b16)
CHIMERA_NPU_COPY_MATRIX(copy_gm_to_cbuf_multi_nd2nz_b8)
#undef CHIMERA_NPU_COPY_MATRIX

/// `repeat` fractals of L1 that hold `value`. They come as what is copied there
/// does, and take as long.
inline void create_cbuf_matrix(L1<half> dst, int64_t repeat, half value) {
  requireInstruction<Op::create_cbuf_matrix, half>();
  Machine &m = detail::machine();
  m.issue(Op::create_cbuf_matrix, PIPE_MTE2);
  m.requireRange("repeat", repeat, 1, 255);
  detail::requireAligned(m, dst);
  detail::View to = detail::write(m, dst, 0, repeat * detail::kFractalBytes);
  for (int64_t byte = 0; byte < repeat * detail::kFractalBytes; byte += 2)
    detail::storeElement(to.bytes + byte, value);
  std::memset(to.written, 1, repeat * detail::kFractalBytes);
  m.countFill(Mem::L1, repeat * detail::kFractalBytes);
}

/// Bursts of `lenBurst` fractals, with gaps in fractals; a fractal of halves
/// has half the bytes. The vector pipe does it.
template <class T, Mem From = Mem::L0C, IfRoute<From, Mem::UB> = 0>
void copy_matrix_cc_to_ubuf(UB<T> dst, L0C<float> src, int64_t nBurst,
                            int64_t lenBurst, int64_t srcGap, int64_t dstGap,
                            CrMode mode) {
  Machine &m = detail::machine();
  m.issue(Op::copy_matrix_cc_to_ubuf, PIPE_V);
  m.requireRange("nBurst", nBurst, 1, 4095);
  m.requireRange("lenBurst", lenBurst, 1, 65535);
  m.requireRange("srcGap", srcGap, 0, 65535);
  m.requireRange("dstGap", dstGap, 0, 65535);
  detail::requireMode<T>(m, mode);
  detail::requireAligned(m, dst);
  detail::requireAligned(m, src);
  constexpr int64_t from = 1024, to = 256 * sizeof(T);
  for (int64_t burst = 0; burst < nBurst; ++burst)
    detail::drain<T>(
        detail::write(m, dst, burst * (lenBurst + dstGap) * to, lenBurst * to),
        detail::read(m, src, burst * (lenBurst + srcGap) * from,
                     lenBurst * from),
        lenBurst * 256, mode);
  m.countRoute(Mem::L0C, Mem::UB, nBurst, lenBurst * from, lenBurst * to);
}

/// A tile in NZ, of fractal columns of `srcRows` rows, to one in zN of
/// `dstRows`. `columns` is a multiple of 16.
template <Mem From = Mem::L0C, IfRoute<From, Mem::L1> = 0>
void copy_matrix_cc_to_cbuf(L1<half> dst, L0C<float> src, int64_t rows,
                            int64_t columns, int64_t srcRows, int64_t dstRows,
                            CrMode mode) {
  Machine &m = detail::machine();
  m.issue(Op::copy_matrix_cc_to_cbuf, PIPE_FIX);
  m.requireRange("columns", columns, 1, 4095);
  m.require(columns % 16 == 0, "columns are no whole fractals");
  m.requireRange("rows", rows, 1, std::min(srcRows, dstRows));
  m.require(srcRows % 16 == 0, "rows in L0C are no whole fractals");
  detail::requireMode<half>(m, mode);
  detail::requireAligned(m, dst);
  // A row of a fractal may be the first: 64 bytes are what the general
  // restrictions ask of addresses in L0C (page 0004).
  m.requireAligned(Mem::L0C, src.offset, 64);
  for (int64_t column = 0; column < columns; column += 16)
    detail::drain<half>(detail::write(m, dst, column * dstRows * 2, rows * 32),
                        detail::read(m, src, column * srcRows * 4, rows * 64),
                        rows * 16, mode);
  m.countRoute(Mem::L0C, Mem::L1, columns / 16, rows * 64, rows * 32);
}

/// A tile in NZ, of fractal columns of `srcRows` rows, to rows that start
/// `dstStride` elements from one another.
template <class T, class S, Mem From = Mem::L0C, IfRoute<From, Mem::GM> = 0>
void copy_matrix_cc_to_gm(Gm<T> dst, L0C<S> src, int64_t rows, int64_t columns,
                          int64_t srcRows, int64_t dstStride, CrMode mode) {
  requireInstruction<Op::copy_matrix_cc_to_gm, T>();
  Machine &m = detail::machine();
  m.issue(Op::copy_matrix_cc_to_gm, PIPE_FIX);
  m.requireRange("columns", columns, 1, 4095);
  m.requireRange("rows", rows, 1, srcRows);
  m.require(srcRows % 16 == 0, "rows in L0C are no whole fractals");
  m.require(rows == 1 || dstStride >= columns, "rows overlap");
  detail::requireMode<T>(m, mode);
  detail::requireAligned(m, src);
  constexpr int64_t size = sizeof(T);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += 16) {
      int64_t count = std::min<int64_t>(16, columns - column);
      detail::View from =
          detail::read(m, src, layout::zN(row, column, srcRows) * 4, count * 4);
      detail::requireWritten(m, from.written, count * 4);
      detail::requireKnown<S>(m, from.bytes, count);
      detail::drain<T, S>(detail::write(m, dst,
                                        (row * dstStride + column) * size,
                                        count * size),
                          from, count, mode);
    }
  m.countRoute(Mem::L0C, Mem::GM, rows, columns * 4, columns * size);
}

/// The same tile to column groups of `dstRows` rows, as it is in NZ. Nothing
/// says what is beyond the columns, of which whole groups leave.
template <class T, class S, Mem From = Mem::L0C, IfRoute<From, Mem::GM> = 0>
void copy_matrix_cc_to_gm_nz(Gm<T> dst, L0C<S> src, int64_t rows,
                             int64_t columns, int64_t srcRows, int64_t dstRows,
                             CrMode mode) {
  requireInstruction<Op::copy_matrix_cc_to_gm_nz, T>();
  Machine &m = detail::machine();
  m.issue(Op::copy_matrix_cc_to_gm_nz, PIPE_FIX);
  m.requireRange("columns", columns, 1, 4095);
  m.require(columns % 16 == 0, "columns are no whole fractals");
  m.requireRange("rows", rows, 1, std::min(srcRows, dstRows));
  m.require(srcRows % 16 == 0, "rows in L0C are no whole fractals");
  detail::requireMode<T>(m, mode);
  detail::requireAligned(m, src);
  constexpr int64_t size = sizeof(T);
  for (int64_t column = 0; column < columns; column += 16)
    detail::drain<T, S>(
        detail::write(m, dst, column * dstRows * size, rows * 16 * size),
        detail::read(m, src, column * srcRows * 4, rows * 64), rows * 16, mode);
  m.countRoute(Mem::L0C, Mem::GM, columns / 16, rows * 64, rows * 16 * size);
}

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_COPY_H
