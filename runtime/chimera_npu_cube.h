//===- chimera_npu_cube.h - Cube unit ---------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by chimera_npu.h, which says what all of this is.
//
// Factors are halves, whose sums are floats, or bytes with a sign, whose sums
// are integers of 32 bits. Along the depth a fractal has 32 bytes of either.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_CUBE_H
#define CHIMERA_NPU_CUBE_H

#include "chimera_npu_copy.h"
#include "chimera_npu_layouts.h"
#include "chimera_npu_machine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

namespace detail {

/// Elements along the depth of a fractal.
template <class T>
inline constexpr int64_t kDepth = 32 / static_cast<int64_t>(sizeof(T));

/// Moves the element in row `row` and column `column` of a square with rows of
/// `side` elements to where the transposed one has it.
template <class T>
void transpose(View to, View from, int64_t row, int64_t column, int64_t side) {
  int64_t size = sizeof(T), there = (column * side + row) * size,
          here = (row * side + column) * size;
  std::memcpy(to.bytes + there, from.bytes + here, size);
  std::memcpy(to.written + there, from.written + here, size);
}

template <Op O, Mem M, class T>
void loadFractals(Ptr<M, T> dst, L1<T> src, int64_t startIndex, int64_t repeat,
                  int64_t srcStride, bool isTransposed) {
  requireInstruction<O, T>();
  Machine &m = machine();
  m.issue(O, PIPE_MTE1);
  m.requireRange("startIndex", startIndex, 0, 65535);
  m.requireRange("repeat", repeat, 1, 255);
  m.requireRange("srcStride", srcStride, 0, 65535);
  m.require(!isTransposed || sizeof(T) == 2,
            "only fractals of 16 bits are transposed");
  requireAligned(m, dst);
  requireAligned(m, src);
  for (int64_t i = 0; i < repeat; ++i) {
    View from = read(m, src, (startIndex + i * srcStride) * kFractalBytes,
                     kFractalBytes);
    View to = write(m, dst, i * kFractalBytes, kFractalBytes);
    if (!isTransposed) {
      move(m, to, from, kFractalBytes);
      continue;
    }
    for (int64_t row = 0; row < 16; ++row)
      for (int64_t column = 0; column < 16; ++column)
        transpose<T>(to, from, row, column, 16);
  }
  m.countRoute(Mem::L1, M, repeat, kFractalBytes, kFractalBytes);
}

/// Squares of 32 x 32 bytes, two fractals one behind the other, which become
/// two fractals of the transposed square (LoadDataWithTranspose, page 0239).
template <Op O, Mem M, class T>
void loadSquares(Ptr<M, T> dst, L1<T> src, int64_t startIndex, int64_t repeat,
                 int64_t srcStride, int64_t dstGap, int64_t dstFracGap) {
  requireInstruction<O, T>();
  constexpr int64_t side = 32, bytes = 2 * kFractalBytes;
  Machine &m = machine();
  m.issue(O, PIPE_MTE1);
  m.requireRange("startIndex", startIndex, 0, 65535);
  m.requireRange("repeat", repeat, 1, 255);
  m.requireRange("srcStride", srcStride, 0, 65535);
  m.requireRange("dstGap", dstGap, 0, 65535);
  m.requireRange("dstFracGap", dstFracGap, 0, 65535);
  requireAligned(m, dst);
  requireAligned(m, src);
  for (int64_t i = 0; i < repeat; ++i) {
    View from = read(m, src, (startIndex + i * srcStride) * bytes, bytes);
    uint8_t square[bytes], written[bytes];
    for (int64_t row = 0; row < side; ++row)
      for (int64_t column = 0; column < side; ++column)
        transpose<T>({square, written}, from, row, column, side);
    for (int64_t half = 0; half < 2; ++half) {
      int64_t place = i * (1 + dstGap) + half * (1 + dstFracGap);
      View to = write(m, dst, place * kFractalBytes, kFractalBytes);
      std::memcpy(to.bytes, square + half * kFractalBytes, kFractalBytes);
      std::memcpy(to.written, written + half * kFractalBytes, kFractalBytes);
    }
  }
  m.countRoute(Mem::L1, M, repeat, bytes, bytes);
}

} // namespace detail

/// `repeat` fractals, of which number i is number startIndex + i * srcStride of
/// the source, one after another.
#define CHIMERA_NPU_LOAD(NAME, DST)                                            \
  template <class T>                                                           \
  void NAME(DST<T> dst, L1<T> src, int64_t startIndex, int64_t repeat,         \
            int64_t srcStride, bool transpose) {                               \
    detail::loadFractals<Op::NAME>(dst, src, startIndex, repeat, srcStride,    \
                                   transpose);                                 \
  }                                                                            \
  template <class T>                                                           \
  void NAME##_transpose(DST<T> dst, L1<T> src, int64_t startIndex,             \
                        int64_t repeat, int64_t srcStride, int64_t dstGap,     \
                        int64_t dstFracGap) {                                  \
    detail::loadSquares<Op::NAME##_transpose>(dst, src, startIndex, repeat,    \
                                              srcStride, dstGap, dstFracGap);  \
  }
CHIMERA_NPU_LOAD(load_cbuf_to_ca, L0A)
CHIMERA_NPU_LOAD(load_cbuf_to_cb, L0B)
#undef CHIMERA_NPU_LOAD

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace detail {

template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;

/// The cube unit comes back to the first sum of a product of so many when the
/// product before is done with it; smaller ones need a `pipe_barrier(PIPE_M)`
/// between them where they have sums in common. The threshold is that of the
/// vendor's public kernels.
inline constexpr int64_t kOrderedSums = 10 * 256;

/// What a product works on.
struct Product {
  View lhs, rhs, sums;
};

/// Issues a product and checks what it works on.
template <class T>
Product openProduct(Machine &machine, L0C<SumOf<T>> c, L0A<T> a, L0B<T> b,
                    int64_t m, int64_t k, int64_t n, bool init) {
  requireInstruction<Op::mad, T>();
  constexpr int64_t size = sizeof(T), depth = kDepth<T>;
  machine.issue(Op::mad, PIPE_M);
  machine.requireRange("m", m, 1, 4095);
  machine.requireRange("k", k, 1, 4095);
  machine.requireRange("n", n, 1, 4095);
  if (layout::tileSize(m, n) >= kOrderedSums)
    machine.keepOrder();
  requireAligned(machine, c);
  requireAligned(machine, a);
  requireAligned(machine, b);
  int64_t bytes = layout::tileSize(m, n) * 4;
  Product product;
  int64_t lhsElements =
      m == 1 ? layout::roundUp(k, depth) : layout::tileSize(m, k, depth);
  product.lhs = read(machine, a, 0, lhsElements * size);
  product.rhs = read(machine, b, 0, layout::tileSize(n, k, depth) * size);
  if (!init)
    read(machine, c, 0, bytes);
  product.sums = write(machine, c, 0, bytes);
  return product;
}

/// Where element (i, l) of the left operand is: a product of one row reads that
/// row as it is, and not as part of fractals.
inline int64_t lhsIndex(int64_t i, int64_t l, int64_t m, int64_t k,
                        int64_t depth) {
  return m == 1 ? l : layout::zZ(i, l, k, depth);
}

/// An element as it is multiplied.
inline float asFactor(half x) { return toFloat(x); }
inline int32_t asFactor(int8_t x) { return x; }

/// What products are added up in here. Nobody says what becomes of sums of
/// bytes that have more than 32 bits.
template <class T>
using WideSum = std::conditional_t<std::is_same_v<T, int8_t>, int64_t, float>;

template <class S, class W>
S toSum(Machine &machine, W wide) {
  auto sum = static_cast<S>(wide);
  if constexpr (std::is_same_v<S, int32_t>)
    machine.require(sum == wide, "a sum has more than 32 bits");
  return sum;
}

/// Stores a sum, or that nobody knows it: of integers, what stands for that.
template <class S, class W>
void storeSum(Machine &machine, uint8_t *at, W wide, bool isKnown, bool init) {
  if constexpr (std::is_same_v<S, int32_t>) {
    isKnown &= init || loadElement<int32_t>(at) != kNoInteger;
    if (!isKnown)
      return storeElement(at, kNoInteger);
  }
  storeElement(at, toSum<S>(machine, wide));
}

/// Element `index` of `view` as it is multiplied, and, of bytes, whether
/// anybody has written it: memory that nobody has is no number in halves.
template <class T>
auto getFactor(const View &view, int64_t index, bool &isKnown) {
  int64_t at = index * static_cast<int64_t>(sizeof(T));
  if constexpr (std::is_same_v<T, int8_t>)
    isKnown &= view.written[at] != 0;
  return asFactor(loadElement<T>(view.bytes + at));
}

} // namespace detail

/// c (NZ) = a (zZ) * b (nZ), added to what c holds unless `init`. Only the
/// first m, k and n elements take part: operands beyond are not looked at, and
/// sums beyond are undefined afterwards, even if they were defined before.
template <class T>
void mad(L0C<detail::SumOf<T>> c, L0A<T> a, L0B<T> b, int64_t m, int64_t k,
         int64_t n, bool init) {
  using Sum = detail::SumOf<T>;
  constexpr int64_t depth = detail::kDepth<T>;
  Machine &machine = detail::machine();
  auto [lhs, rhs, sums] = detail::openProduct(machine, c, a, b, m, k, n, init);
  int64_t rows = layout::roundUp(m, 16);
  std::vector<Sum> left(m * k), right(k * 16);
  std::vector<char> isLeftKnown(m);
  for (int64_t i = 0; i < m; ++i) {
    bool isKnown = true;
    for (int64_t l = 0; l < k; ++l)
      left[i * k + l] = detail::getFactor<T>(
          lhs, detail::lhsIndex(i, l, m, k, depth), isKnown);
    isLeftKnown[i] = isKnown;
  }
  for (int64_t first = 0; first < n; first += 16) {
    int64_t columns = std::min<int64_t>(16, n - first);
    std::fill(right.begin(), right.end(), Sum(0));
    bool isRightKnown[16];
    for (int64_t j = 0; j < columns; ++j) {
      isRightKnown[j] = true;
      for (int64_t l = 0; l < k; ++l)
        right[l * 16 + j] = detail::getFactor<T>(
            rhs, layout::nZ(l, first + j, n, depth), isRightKnown[j]);
    }
    for (int64_t i = 0; i < rows; ++i) {
      int64_t at = layout::zN(i, first, rows) * 4;
      int64_t valid = i < m ? columns : 0;
      detail::WideSum<T> sum[16] = {};
      if (!init) {
        for (int64_t j = 0; j < valid; ++j)
          sum[j] = detail::loadElement<Sum>(sums.bytes + at + j * 4);
        for (int64_t byte = 0; byte < valid * 4; ++byte)
          if (!sums.written[at + byte])
            machine.fail(Reason::Uninitialized,
                         "adds to sums that nothing has computed");
      }
      if (i < m)
        for (int64_t l = 0; l < k; ++l)
          for (int64_t j = 0; j < 16; ++j)
            sum[j] += left[i * k + l] * right[l * 16 + j];
      for (int64_t j = 0; j < valid; ++j) {
        bool isKnown = isLeftKnown[i] && isRightKnown[j];
        detail::storeSum<Sum>(machine, sums.bytes + at + j * 4, sum[j], isKnown,
                              init);
      }
      std::memset(sums.written + at, 1, valid * 4);
      std::memset(sums.bytes + at + valid * 4, 0xff, (16 - valid) * 4);
      std::memset(sums.written + at + valid * 4, 0, (16 - valid) * 4);
    }
  }
  machine.countMad(m, k, n, depth);
}

/// The product of `mad`, element by element, for programs that write its loops
/// out:
///
///   for n1, m1, m2, n2, k1, k2:
///     nest.c(n1, m1, m2, n2) += nest.a(m1, k1, m2, k2) * nest.b(k1, n1, n2,
///     k2)
///
/// with each of m2, n2 and k2 below what is left of its fractal. It counts as
/// the one instruction.
template <class T>
class MadNest {
  using Number = detail::SumOf<T>;
  static constexpr int64_t size = sizeof(T), depth = detail::kDepth<T>;

public:
  MadNest(L0C<Number> c, L0A<T> a, L0B<T> b, int64_t m, int64_t k, int64_t n,
          bool init)
      : m(m), k(k), n(n), machine(detail::machine()) {
    detail::Product product =
        detail::openProduct(machine, c, a, b, m, k, n, init);
    lhs = product.lhs;
    rhs = product.rhs;
    sums = product.sums;
    for (int64_t i = 0; i < layout::roundUp(m, 16); ++i)
      for (int64_t j = 0; j < layout::roundUp(n, 16); ++j)
        start(i, j, init);
    machine.countMad(m, k, n, depth);
  }

  /// Fractals along a side, and what is left of one.
  static int64_t fractals(int64_t extent) {
    return layout::ceilDiv(extent, 16);
  }
  static int64_t left(int64_t extent, int64_t fractal) {
    return std::min<int64_t>(16, extent - 16 * fractal);
  }
  /// The same along the depth.
  static int64_t depths(int64_t extent) {
    return layout::ceilDiv(extent, depth);
  }
  static int64_t leftOfDepth(int64_t extent, int64_t fractal) {
    return std::min<int64_t>(depth, extent - depth * fractal);
  }

  /// A sum that products are added to.
  class Sum {
  public:
    Sum(Machine &machine, uint8_t *at) : machine(machine), at(at) {}
    void operator+=(Number product) {
      detail::WideSum<T> sum = detail::loadElement<Number>(at);
      sum += product;
      detail::storeElement(at, detail::toSum<Number>(machine, sum));
    }

  private:
    Machine &machine;
    uint8_t *at;
  };

  Sum c(int64_t n1, int64_t m1, int64_t m2, int64_t n2) const {
    return Sum(machine, sums.bytes + layout::zN(16 * m1 + m2, 16 * n1 + n2,
                                                layout::roundUp(m, 16)) *
                                         4);
  }
  Number a(int64_t m1, int64_t k1, int64_t m2, int64_t k2) const {
    return factor(lhs,
                  detail::lhsIndex(16 * m1 + m2, depth * k1 + k2, m, k, depth));
  }
  Number b(int64_t k1, int64_t n1, int64_t n2, int64_t k2) const {
    return factor(rhs, layout::nZ(depth * k1 + k2, 16 * n1 + n2, n, depth));
  }

  const int64_t m, k, n;

private:
  static Number factor(const detail::View &view, int64_t index) {
    return detail::asFactor(detail::loadElement<T>(view.bytes + index * size));
  }
  void start(int64_t i, int64_t j, bool init) {
    int64_t at = layout::zN(i, j, layout::roundUp(m, 16)) * 4;
    bool isValid = i < m && j < n;
    if (isValid && !init && !sums.written[at])
      machine.fail(Reason::Uninitialized,
                   "adds to sums that nothing has computed");
    if (!isValid || init)
      std::memset(sums.bytes + at, isValid ? 0 : 0xff, 4);
    std::memset(sums.written + at, isValid, 4);
  }

  Machine &machine;
  detail::View lhs, rhs, sums;
};

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_CUBE_H
