//===- chimera_npu_vector.h - Vector unit -----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by chimera_npu.h, which says what all of this is.
//
// A repeat is 256 bytes in eight blocks. Of a source, a block stride of zero
// takes one block eight times, and a repeat stride of zero the same blocks in
// every repeat. A repeat stride of zero of a destination that is the second
// source, too, accumulates; no other repeat may read what an earlier one wrote.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_VECTOR_H
#define CHIMERA_NPU_VECTOR_H

#include "chimera_npu_copy.h"
#include "chimera_npu_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

namespace detail {

template <class T>
inline constexpr int64_t kLanes = 256 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Operand {
  UB<T> base;
  int64_t block, repeat;
};

/// Numbers are computed with in single precision. For sums, products, quotients
/// and roots of halves, rounding twice is rounding once.
using Lanes = std::array<float, 128>;

template <class T>
void requireOperand(Machine &m, const Operand<T> &operand, bool isResult) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float> ||
                    std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t> ||
                    std::is_same_v<T, int32_t>,
                "vectors are of half or float, and conversions know integers");
  requireAligned(m, operand.base);
  m.requireRange("a block stride", operand.block, isResult ? 1 : 0, 255);
  m.requireRange("a repeat stride", operand.repeat, 0, 255);
}

template <class... T>
Machine &issueVector(Op op, int64_t repeat, bool isHalf,
                     Operand<T>... sources) {
  Machine &m = machine();
  m.issue(op, PIPE_V);
  m.requireRange("repeat", repeat, 1, 255);
  (requireOperand(m, sources, /*isResult=*/false), ...);
  m.countVector(repeat, isHalf);
  return m;
}

/// The 910 has no infinities: what an operator does with one is not defined.
inline void requireFinite(Machine &m, float x) {
  if constexpr (kArchitecture == A910)
    m.require(!std::isinf(x), "an operand is infinite");
}

/// Blocks without an active lane are not touched. Only a source that
/// accumulates may have been written by an earlier repeat.
template <class T>
void loadLanes(Machine &m, const Operand<T> &operand, int64_t repeat,
               int64_t lanes, bool masked, Lanes &values,
               bool accumulates = false) {
  constexpr int64_t perBlock = 32 / sizeof(T);
  for (int64_t block = 0; block * perBlock < lanes; ++block) {
    if (masked && !m.anyActive(block * perBlock, perBlock))
      continue;
    int64_t at = (repeat * operand.repeat + block * operand.block) * 32;
    const uint8_t *bytes = read(m, operand.base, at, 32).bytes;
    if (!accumulates)
      m.requireNotOwn(Mem::UB, operand.base.offset + at);
    for (int64_t i = 0; i < perBlock; ++i) {
      float &value = values[block * perBlock + i];
      value = toFloat(loadElement<T>(bytes + i * sizeof(T)));
      if (!masked || m.isActive(block * perBlock + i))
        requireFinite(m, value);
    }
  }
}

template <class T>
void storeLanes(Machine &m, const Operand<T> &operand, int64_t repeat,
                int64_t lanes, const Lanes &values) {
  constexpr int64_t perBlock = 32 / sizeof(T);
  for (int64_t block = 0; block * perBlock < lanes; ++block) {
    if (!m.anyActive(block * perBlock, perBlock))
      continue;
    View view =
        write(m, operand.base,
              (repeat * operand.repeat + block * operand.block) * 32, 32);
    bool all = m.allActive(block * perBlock, perBlock);
    for (int64_t i = 0; i < perBlock; ++i) {
      if (!all && !m.isActive(block * perBlock + i))
        continue;
      storeElement(view.bytes + i * sizeof(T),
                   narrow<T>(values[block * perBlock + i]));
      std::memset(view.written + i * sizeof(T), 1, sizeof(T));
    }
  }
}

/// True if the results of all repeats go to one place, from which the next one
/// takes its second source: the one way in which repeats may build on each
/// other.
template <class D, class S>
bool accumulatesIn(const Operand<D> &d, const Operand<S> &s, size_t number) {
  return number == 1 && d.repeat == 0 && s.repeat == 0 &&
         d.base.offset == s.base.offset && d.block == s.block;
}

/// `f` of the lanes of the sources.
template <Op O, class D, class F, class... S>
void elementwise(int64_t repeat, Operand<D> d, F f, Operand<S>... s) {
  requireInstruction<O, D>();
  constexpr bool isHalf = std::max({sizeof(D), sizeof(S)...}) == 2;
  Machine &m = issueVector(O, repeat, isHalf, s...);
  requireOperand(m, d, /*isResult=*/true);
  // What converts takes as many elements as there are of the larger type.
  constexpr int64_t lanes = std::min({kLanes<D>, kLanes<S>...});
  std::array<Lanes, sizeof...(S)> values = {};
  Lanes result = {};
  for (int64_t r = 0; r < repeat; ++r) {
    size_t source = 0;
    ((loadLanes(m, s, r, lanes, /*masked=*/true, values[source],
                accumulatesIn(d, s, source)),
      ++source),
     ...);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if constexpr (sizeof...(S) == 0)
        result[lane] = f();
      else if constexpr (sizeof...(S) == 1)
        result[lane] = f(values[0][lane]);
      else
        result[lane] = f(values[0][lane], values[1][lane]);
    }
    storeLanes(m, d, r, lanes, result);
  }
}

/// Groups of `group` lanes to one each, pairwise as a tree of adders does it;
/// groups without an active lane leave their result alone. `dRep` counts
/// results. With `isPair` the number of the lane follows each result.
template <Op O, class T, class F>
void reduce(UB<T> d, Operand<T> s, int64_t repeat, int64_t dRep, int64_t group,
            F f, bool isPair = false) {
  requireInstruction<O, T>();
  Machine &m = issueVector(O, repeat, sizeof(T) == 2, s);
  constexpr int64_t size = sizeof(T);
  int64_t results = kLanes<T> / group, width = isPair ? 2 : 1;
  m.requireAligned(Mem::UB, d.offset, results * width * size);
  m.requireRange("the repeat stride of the result", dRep / results, 1, 65535);
  Lanes values = {};
  for (int64_t r = 0; r < repeat; ++r) {
    loadLanes(m, s, r, kLanes<T>, /*masked=*/true, values);
    std::array<bool, 128> active;
    std::array<int64_t, 128> from;
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) {
      active[lane] = m.isActive(lane);
      from[lane] = lane;
    }
    for (int64_t step = 1; step < group; step *= 2)
      for (int64_t lane = 0; lane < kLanes<T>; lane += 2 * step) {
        int64_t other = lane + step;
        if (!active[other])
          continue;
        float result = active[lane]
                           ? toFloat(narrow<T>(f(values[lane], values[other])))
                           : values[other];
        // Of a maximum, whose it is; the first of several.
        if (!active[lane] || !(result == values[lane]))
          from[lane] = from[other];
        values[lane] = result;
        active[lane] = true;
      }
    for (int64_t i = 0; i < results; ++i) {
      if (!active[i * group])
        continue;
      View view = write(m, d, (r * dRep + i) * width * size, width * size);
      storeElement(view.bytes, fromFloat<T>(values[i * group]));
      if (isPair)
        std::memcpy(view.bytes + size, &from[i * group], size);
      std::memset(view.written, 1, width * size);
    }
  }
}

template <Op O, class T, class F>
void compare(UB<uint8_t> d, Operand<T> s0, Operand<T> s1, int64_t repeat, F f) {
  requireInstruction<O, T>();
  Machine &m = issueVector(O, repeat, sizeof(T) == 2, s0, s1);
  requireAligned(m, d);
  constexpr int64_t bytes = kLanes<T> / 8;
  Lanes x = {}, y = {};
  for (int64_t r = 0; r < repeat; ++r) {
    loadLanes(m, s0, r, kLanes<T>, /*masked=*/false, x);
    loadLanes(m, s1, r, kLanes<T>, /*masked=*/false, y);
    View view = write(m, d, r * bytes, bytes);
    std::memset(view.written, 1, bytes);
    for (int64_t i = 0; i < bytes; ++i) {
      unsigned bits = 0;
      for (int64_t bit = 0; bit < 8; ++bit)
        bits |= unsigned(f(x[i * 8 + bit], y[i * 8 + bit])) << bit;
      view.bytes[i] = static_cast<uint8_t>(bits);
    }
  }
}

} // namespace detail

/// Lanes that take part, the lowest of `low` being the first. Vectors of float,
/// and conversions, have 64 lanes and use `low` only. All are set when a kernel
/// starts.
inline void set_vector_mask(uint64_t high, uint64_t low) {
  detail::machine().setMask(high, low);
}

#define CHIMERA_NPU_BINARY(NAME, RESULT)                                       \
  template <class T>                                                           \
  void NAME(UB<T> d, UB<T> s0, UB<T> s1, int64_t repeat, int64_t dBlk,         \
            int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep,         \
            int64_t s1Rep) {                                                   \
    detail::elementwise<Op::NAME>(                                             \
        repeat, detail::Operand<T>{d, dBlk, dRep},                             \
        [](float x, float y) { return RESULT; },                               \
        detail::Operand<T>{s0, s0Blk, s0Rep},                                  \
        detail::Operand<T>{s1, s1Blk, s1Rep});                                 \
  }
CHIMERA_NPU_BINARY(vadd, x + y)
CHIMERA_NPU_BINARY(vsub, x - y)
CHIMERA_NPU_BINARY(vmul, x *y)
CHIMERA_NPU_BINARY(vdiv, x / y)
// What is no number wins, so that poison is not lost.
CHIMERA_NPU_BINARY(vmax, x > y || x != x ? x : y)
CHIMERA_NPU_BINARY(vmin, x < y || x != x ? x : y)
#undef CHIMERA_NPU_BINARY

#define CHIMERA_NPU_UNARY(NAME, D, S, RESULT)                                  \
  template <class T>                                                           \
  void NAME(UB<D> d, UB<S> s, int64_t repeat, int64_t dBlk, int64_t sBlk,      \
            int64_t dRep, int64_t sRep) {                                      \
    detail::elementwise<Op::NAME>(                                             \
        repeat, detail::Operand<D>{d, dBlk, dRep},                             \
        [](float x) { return RESULT; }, detail::Operand<S>{s, sBlk, sRep});    \
  }
CHIMERA_NPU_UNARY(vexp, T, T, std::exp(x))
CHIMERA_NPU_UNARY(vln, T, T, std::log(x))
CHIMERA_NPU_UNARY(vrec, T, T, 1 / x)
CHIMERA_NPU_UNARY(vsqrt, T, T, std::sqrt(x))
CHIMERA_NPU_UNARY(vrelu, T, T, detail::relu(x))
CHIMERA_NPU_UNARY(vabs, T, T, std::fabs(x))
/// To whole numbers, which stay floats: to even, or towards zero.
CHIMERA_NPU_UNARY(vconv_f322f32r, T, T, std::nearbyint(x))
CHIMERA_NPU_UNARY(vconv_f322f32z, T, T, std::trunc(x))
/// 128 bytes a repeat to as many halves.
CHIMERA_NPU_UNARY(vconv_u82f16, T, uint8_t, x)
#undef CHIMERA_NPU_UNARY

/// 64 elements a repeat, that is four blocks of halves, or between halves and
/// bytes 128.
#define CHIMERA_NPU_CONVERT(NAME, D, S)                                        \
  inline void NAME(UB<D> d, UB<S> s, int64_t repeat, int64_t dBlk,             \
                   int64_t sBlk, int64_t dRep, int64_t sRep) {                 \
    detail::elementwise<Op::NAME>(                                             \
        repeat, detail::Operand<D>{d, dBlk, dRep}, [](float x) { return x; },  \
        detail::Operand<S>{s, sBlk, sRep});                                    \
  }
CHIMERA_NPU_CONVERT(vconv_f322f16, half, float)
CHIMERA_NPU_CONVERT(vconv_f162f32, float, half)
CHIMERA_NPU_CONVERT(vconv_s322f32, float, int32_t)
CHIMERA_NPU_CONVERT(vconv_f162s8, int8_t, half)
#undef CHIMERA_NPU_CONVERT

#define CHIMERA_NPU_SCALAR(NAME, RESULT)                                       \
  template <class T>                                                           \
  void NAME(UB<T> d, UB<T> s, std::common_type_t<T> scalar, int64_t repeat,    \
            int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep) {          \
    detail::elementwise<Op::NAME>(                                             \
        repeat, detail::Operand<T>{d, dBlk, dRep},                             \
        [y = static_cast<float>(scalar)](float x) { return RESULT; },          \
        detail::Operand<T>{s, sBlk, sRep});                                    \
  }
CHIMERA_NPU_SCALAR(vadds, x + y)
CHIMERA_NPU_SCALAR(vmuls, x *y)
CHIMERA_NPU_SCALAR(vmaxs, x > y || x != x ? x : y)
CHIMERA_NPU_SCALAR(vmins, x < y || x != x ? x : y)
#undef CHIMERA_NPU_SCALAR

template <class T>
void vector_dup(UB<T> d, std::common_type_t<T> scalar, int64_t repeat,
                int64_t dBlk, int64_t dRep) {
  detail::elementwise<Op::vector_dup>(repeat, detail::Operand<T>{d, dBlk, dRep},
                                      [number = static_cast<float>(scalar)] {
                                        detail::requireFinite(detail::machine(),
                                                              number);
                                        return number;
                                      });
}

/// Each block of a repeat to one element. `dRep` is in units of the eight
/// results of a repeat: 16 bytes of halves, 32 bytes of floats.
template <class T>
void vcgmax(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep, int64_t sBlk,
            int64_t sRep) {
  detail::reduce<Op::vcgmax>(
      d, detail::Operand<T>{s, sBlk, sRep}, repeat, dRep * 8, 32 / sizeof(T),
      [](float x, float y) { return x > y || x != x ? x : y; });
}
template <class T>
void vcgadd(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep, int64_t sBlk,
            int64_t sRep) {
  detail::reduce<Op::vcgadd>(d, detail::Operand<T>{s, sBlk, sRep}, repeat,
                             dRep * 8, 32 / sizeof(T),
                             [](float x, float y) { return x + y; });
}

/// The largest element of a repeat and behind it, as an integer of the same
/// size, its number; `dRep` is in such pairs.
template <class T>
void vcmax(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep, int64_t sBlk,
           int64_t sRep) {
  detail::reduce<Op::vcmax>(
      d, detail::Operand<T>{s, sBlk, sRep}, repeat, dRep, detail::kLanes<T>,
      [](float x, float y) { return x > y || x != x ? x : y; },
      /*isPair=*/true);
}
/// A repeat to one element; `dRep` is in elements.
template <class T>
void vcadd(UB<T> d, UB<T> s, int64_t repeat, int64_t dRep, int64_t sBlk,
           int64_t sRep) {
  detail::reduce<Op::vcadd>(d, detail::Operand<T>{s, sBlk, sRep}, repeat, dRep,
                            detail::kLanes<T>,
                            [](float x, float y) { return x + y; });
}

/// Eight elements a repeat, each of which fills one of eight blocks.
template <class T>
void vbrcb(UB<T> d, UB<T> s, int64_t repeat, int64_t dBlk = 1,
           int64_t dRep = 8) {
  requireInstruction<Op::vbrcb, T>();
  Machine &m =
      detail::issueVector<T>(Op::vbrcb, repeat, sizeof(T) == 2, {s, 0, 0});
  detail::requireOperand(m, detail::Operand<T>{d, dBlk, dRep},
                         /*isResult=*/true);
  constexpr int64_t size = sizeof(T);
  for (int64_t r = 0; r < repeat; ++r) {
    uint8_t scalars[8 * size];
    std::memcpy(scalars, detail::read(m, s, r * 8 * size, 8 * size).bytes,
                8 * size);
    m.requireNotOwn(Mem::UB, s.offset + r * 8 * size);
    for (int64_t i = 0; i < 8; ++i) {
      detail::View view = detail::write(m, d, (r * dRep + i * dBlk) * 32, 32);
      for (int64_t at = 0; at < 32; at += size)
        std::memcpy(view.bytes + at, scalars + i * size, size);
      std::memset(view.written, 1, 32);
    }
  }
}

/// A bit for every lane, whatever the vector mask, the first being the lowest
/// of the first byte: 16 bytes a repeat of halves, 8 of floats, one after
/// another.
#define CHIMERA_NPU_COMPARE(NAME, OPERATOR)                                    \
  template <class T>                                                           \
  void NAME(UB<uint8_t> d, UB<T> s0, UB<T> s1, int64_t repeat, int64_t s0Blk,  \
            int64_t s1Blk, int64_t s0Rep, int64_t s1Rep) {                     \
    detail::compare<Op::NAME>(d, detail::Operand<T>{s0, s0Blk, s0Rep},         \
                              detail::Operand<T>{s1, s1Blk, s1Rep}, repeat,    \
                              [](float x, float y) { return x OPERATOR y; });  \
  }
CHIMERA_NPU_COMPARE(vcmpv_lt, <)
CHIMERA_NPU_COMPARE(vcmpv_le, <=)
CHIMERA_NPU_COMPARE(vcmpv_gt, >)
CHIMERA_NPU_COMPARE(vcmpv_ge, >=)
CHIMERA_NPU_COMPARE(vcmpv_eq, ==)
CHIMERA_NPU_COMPARE(vcmpv_ne, !=)
#undef CHIMERA_NPU_COMPARE

/// Which bits the repeats of a selection take: all of them the first ones, or
/// each those behind the ones before.
enum SelMode : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_TENSOR_MODE = 2 };

/// s0 where the bit in `mask`, laid out as comparisons do it, is set, else s1.
template <SelMode Mode, class T>
void vsel(UB<T> d, UB<T> s0, UB<T> s1, UB<uint8_t> mask, int64_t repeat,
          int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep,
          int64_t s0Rep, int64_t s1Rep) {
  requireInstruction<Op::vsel, T>();
  static_assert(Mode == VSEL_CMPMASK_SPR || selectsOn(kArchitecture),
                "this core selects by the same bits in every repeat");
  detail::Operand<T> first{s0, s0Blk, s0Rep}, second{s1, s1Blk, s1Rep},
      result{d, dBlk, dRep};
  Machine &m =
      detail::issueVector(Op::vsel, repeat, sizeof(T) == 2, first, second);
  detail::requireOperand(m, result, /*isResult=*/true);
  detail::requireAligned(m, mask);
  constexpr int64_t lanes = detail::kLanes<T>;
  detail::Lanes x = {}, y = {};
  for (int64_t r = 0; r < repeat; ++r) {
    detail::loadLanes(m, first, r, lanes, /*masked=*/true, x);
    detail::loadLanes(m, second, r, lanes, /*masked=*/true, y);
    int64_t bit = Mode == VSEL_CMPMASK_SPR ? 0 : r * lanes;
    detail::View bits = detail::read(m, mask, bit / 8, lanes / 8);
    for (int64_t lane = 0; lane < lanes; ++lane)
      if (!(bits.bytes[lane / 8] >> (lane % 8) & 1))
        x[lane] = y[lane];
    detail::storeLanes(m, result, r, lanes, x);
  }
}

/// Transposes 16x16 halves a repeat. The rows of source and destination are a
/// block each and `sRow` and `dRow` blocks apart: with a source in ND, this is
/// how a fractal is made of it.
inline void vnchwconv(UB<half> d, UB<half> s, int64_t repeat, int64_t dRep,
                      int64_t sRep, int64_t dRow = 1, int64_t sRow = 1) {
  Machine &m = detail::machine();
  m.issue(Op::vnchwconv, PIPE_V);
  m.requireRange("repeat", repeat, 1, 255);
  m.requireRange("dRep", dRep, 0, 65535);
  m.requireRange("sRep", sRep, 0, 65535);
  m.requireRange("dRow", dRow, 1, 65535);
  m.requireRange("sRow", sRow, 0, 65535);
  detail::requireAligned(m, d);
  detail::requireAligned(m, s);
  for (int64_t r = 0; r < repeat; ++r) {
    uint16_t rows[16][16];
    for (int64_t i = 0; i < 16; ++i)
      std::memcpy(rows[i],
                  detail::read(m, s, (r * sRep + i * sRow) * 32, 32).bytes, 32);
    for (int64_t i = 0; i < 16; ++i) {
      detail::View view = detail::write(m, d, (r * dRep + i * dRow) * 32, 32);
      for (int64_t j = 0; j < 16; ++j)
        detail::storeElement(view.bytes + j * 2, rows[j][i]);
      std::memset(view.written, 1, 32);
    }
  }
  m.countVector(repeat, /*isHalf=*/true);
}

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_VECTOR_H
