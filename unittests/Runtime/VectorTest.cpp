//===- VectorTest.cpp - Vector unit of the model of an AI core ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestGemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace chimera_npu;
using namespace chimera_npu::test;

/// Puts `in` at the start of UB, runs `body`, and returns what is then at
/// `kResult`.
static constexpr int64_t kResult = 65536;
static void (*body)();
template <class D, class S>
static std::vector<D> runVector(std::vector<S> in, int64_t results,
                                void (*run)(), Report *report = nullptr) {
  body = run;
  std::vector<D> out(results);
  auto kernel = +[](Gm<S> in, Gm<D> out) {
    copy_gm_to_ubuf(UB<S>(0), in, 1, in.length * sizeof(S) / 32, 0, 0);
    pipe_barrier(PIPE_ALL);
    body();
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out, UB<D>(kResult), 1, out.length * sizeof(D) / 32, 0, 0);
  };
  Report counted = launch(1, kernel, gm(in), gm(out));
  if (report)
    *report = counted;
  return out;
}

static std::vector<half> counting(int64_t elements) {
  std::vector<half> values(elements);
  for (int64_t i = 0; i < elements; ++i)
    values[i] = static_cast<half>(static_cast<float>(i));
  return values;
}

TEST(VectorTest, BinaryWithRepeatedBlock) {
  // 256 halves, to all blocks of which the first 16 are added.
  std::vector<half> out = runVector<half>(counting(256), 256, [] {
    vadd(UB<half>(kResult), UB<half>(0), UB<half>(0), 2, 1, 1, 0, 8, 8, 0);
  });
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(static_cast<int>(out[i]), i + i % 16);
}

TEST(VectorTest, StridesGatherAndScatter) {
  // Every second block of the source to every third of the destination.
  std::vector<half> out = runVector<half>(counting(512), 768, [] {
    vector_dup(UB<half>(kResult), half(-1), 6, 1, 8);
    pipe_barrier(PIPE_V);
    vadds(UB<half>(kResult), UB<half>(0), half(1), 2, 3, 2, 24, 16);
  });
  for (int i = 0; i < 768; ++i) {
    int block = i / 16;
    EXPECT_EQ(static_cast<int>(out[i]),
              block % 3 ? -1 : block / 3 * 32 + i % 16 + 1);
  }
}

TEST(VectorTest, Arithmetic) {
  // 0: x, 256: y = x + 1, then x - y, x * y, x / y, max, min.
  std::vector<half> out = runVector<half>(counting(128), 640, [] {
    UB<half> x(0), y(256), d(kResult);
    vadds(y, x, half(1), 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsub(d, x, y, 1, 1, 1, 1, 8, 8, 8);
    vmul(d + 128, x, y, 1, 1, 1, 1, 8, 8, 8);
    vdiv(d + 256, x, y, 1, 1, 1, 1, 8, 8, 8);
    vmax(d + 384, x, y, 1, 1, 1, 1, 8, 8, 8);
    vmin(d + 512, x, y, 1, 1, 1, 1, 8, 8, 8);
  });
  for (int i = 0; i < 128; ++i) {
    auto x = static_cast<float>(i);
    EXPECT_EQ(out[i], half(-1));
    EXPECT_EQ(out[128 + i], half(x * (x + 1)));
    EXPECT_EQ(out[256 + i], half(x / (x + 1)));
    EXPECT_EQ(out[384 + i], half(x + 1));
    EXPECT_EQ(out[512 + i], half(x));
  }
}

TEST(VectorTest, Functions) {
  std::vector<float> in(64);
  for (int i = 0; i < 64; ++i)
    in[i] = static_cast<float>(i - 32) / 8;
  std::vector<float> out = runVector<float>(in, 640, [] {
    UB<float> x(0), d(kResult);
    vexp(d, x, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vln(d + 64, d, 1, 1, 1, 8, 8);
    vrec(d + 128, d, 1, 1, 1, 8, 8);
    vsqrt(d + 192, d, 1, 1, 1, 8, 8);
    vrelu(d + 256, x, 1, 1, 1, 8, 8);
    vabs(d + 320, x, 1, 1, 1, 8, 8);
    vmuls(d + 384, x, 3.0f, 1, 1, 1, 8, 8);
    vmaxs(d + 448, x, 0.5f, 1, 1, 1, 8, 8);
    vmins(d + 512, x, 0.5f, 1, 1, 1, 8, 8);
    vector_dup(d + 576, 0.25f, 1, 1, 8);
  });
  for (int i = 0; i < 64; ++i) {
    float x = in[i];
    EXPECT_FLOAT_EQ(out[i], std::exp(x));
    EXPECT_NEAR(out[64 + i], x, 1e-6f);
    EXPECT_FLOAT_EQ(out[128 + i], std::exp(-x));
    EXPECT_FLOAT_EQ(out[192 + i], std::exp(x / 2));
    EXPECT_EQ(out[256 + i], std::max(x, 0.0f));
    EXPECT_EQ(out[320 + i], std::fabs(x));
    EXPECT_EQ(out[384 + i], 3 * x);
    EXPECT_EQ(out[448 + i], std::max(x, 0.5f));
    EXPECT_EQ(out[512 + i], std::min(x, 0.5f));
    EXPECT_EQ(out[576 + i], 0.25f);
  }
}

TEST(VectorTest, Conversions) {
  std::vector<float> out = runVector<float>(counting(128), 128, [] {
    vconv_f162f32(UB<float>(1024), UB<half>(0), 2, 1, 1, 8, 4);
    pipe_barrier(PIPE_V);
    vmuls(UB<float>(1024), UB<float>(1024), 1.0f / 3, 2, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vconv_f322f16(UB<half>(2048), UB<float>(1024), 2, 1, 1, 4, 8);
    pipe_barrier(PIPE_V);
    vconv_f162f32(UB<float>(kResult), UB<half>(2048), 2, 1, 1, 8, 4);
  });
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], float(half(float(i) * (1.0f / 3))));
}

// 128 of them a repeat, here of every second block.
TEST(VectorTest, BytesBecomeHalves) {
  std::vector<uint8_t> in(256);
  for (int i = 0; i < 256; ++i)
    in[i] = static_cast<uint8_t>(i);
  std::vector<half> out = runVector<half>(in, 128, [] {
    vconv_u82f16(UB<half>(kResult), UB<uint8_t>(0), 1, 1, 2, 8, 8);
  });
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(static_cast<int>(out[i]), i / 32 * 64 + i % 32);
}

// What is too large becomes the largest half.
TEST(VectorTest, ConversionsSaturate) {
  std::vector<float> in(64, 1e30f);
  in[1] = -7e4f;
  std::vector<half> out = runVector<half>(in, 64, [] {
    vconv_f322f16(UB<half>(kResult), UB<float>(0), 1, 1, 1, 4, 8);
  });
  EXPECT_EQ(static_cast<float>(out[0]), 65504);
  EXPECT_EQ(static_cast<float>(out[1]), -65504);
}

TEST(VectorTest, Accumulation) {
  std::vector<half> out = runVector<half>(counting(512), 128, [] {
    vector_dup(UB<half>(kResult), half(1), 1, 1, 8);
    pipe_barrier(PIPE_V);
    vadd(UB<half>(kResult), UB<half>(0), UB<half>(kResult), 4, 1, 1, 1, 0, 8,
         0);
  });
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(static_cast<float>(out[i]), 4 * i + 1 + 128 * (1 + 2 + 3));
}

// Halves, numbers in the middle of two, and their neighbours.
TEST(VectorTest, ConversionsRoundAsCompilersDo) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    auto narrow = static_cast<uint16_t>(bits);
    half x;
    std::memcpy(&x, &narrow, 2);
    float wide = detail::toFloat(x);
    ASSERT_TRUE(wide == static_cast<float>(x) || std::isnan(wide)) << bits;
    ASSERT_EQ(std::isnan(wide), std::isnan(static_cast<float>(x))) << bits;
    if (std::isnan(wide))
      continue;
    ++narrow;
    half next;
    std::memcpy(&next, &narrow, 2);
    float middle = wide + (static_cast<float>(next) - wide) / 2;
    for (float y : {wide, middle, std::nextafter(middle, 0.0f),
                    std::nextafter(middle, 1e9f)}) {
      auto expected = static_cast<half>(y);
      auto actual = detail::fromFloat<half>(y);
      if (std::isnan(y))
        ASSERT_TRUE(std::isnan(static_cast<float>(actual)));
      else
        ASSERT_EQ(std::memcmp(&actual, &expected, 2), 0) << y;
    }
  }
}

TEST(VectorTest, Reductions) {
  // Maxima and sums of blocks, then of repeats; 16 + 16 + 2 * 2 + 2 elements.
  auto kernel = [] {
    UB<half> x(0), d(kResult);
    vector_dup(d, half(0), 1, 1, 8);
    pipe_barrier(PIPE_V);
    vcgmax(d, x, 2, 1, 1, 8);
    vcgadd(d + 16, x, 2, 1, 1, 8);
    vcmax(d + 32, x, 2, 1, 1, 8);
    set_vector_mask(0, 0xff);
    pipe_barrier(PIPE_V);
    vcadd(d + 36, x, 2, 1, 1, 8);
    set_vector_mask(~uint64_t(0), ~uint64_t(0));
  };
  std::vector<half> out = runVector<half>(counting(256), 48, kernel);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], half(float(i * 16 + 15)));
    EXPECT_EQ(out[16 + i], half(float(i * 256 + 120)));
  }
  EXPECT_EQ(out[32], half(127));
  EXPECT_EQ(out[34], half(255));
  // Behind a maximum, where it was.
  for (int pair : {33, 35}) {
    uint16_t lane;
    std::memcpy(&lane, &out[pair], 2);
    EXPECT_EQ(lane, 127);
  }
  EXPECT_EQ(out[36], half(28));
  EXPECT_EQ(out[37], half(28 + 128 * 8));
}

TEST(VectorTest, PoisonIsNotLostInMaxima) {
  std::vector<half> out = runVector<half>(counting(16), 16, [] {
    vmax(UB<half>(4096), UB<half>(0), UB<half>(2048), 1, 1, 0, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcgmax(UB<half>(kResult), UB<half>(4096), 1, 1, 1, 8);
    pipe_barrier(PIPE_V);
    vcgmax(UB<half>(kResult) + 8, UB<half>(4096), 1, 1, 1, 8);
  });
  EXPECT_TRUE(std::isnan(static_cast<float>(out[0])));
}

TEST(VectorTest, Masks) {
  // Lanes 3 to 66.
  std::vector<half> out = runVector<half>(counting(128), 128, [] {
    vector_dup(UB<half>(kResult), half(-1), 1, 1, 8);
    pipe_barrier(PIPE_V);
    set_vector_mask(0x7, ~uint64_t(0x7));
    vmuls(UB<half>(kResult), UB<half>(0), half(2), 1, 1, 1, 8, 8);
    set_vector_mask(~uint64_t(0), ~uint64_t(0));
  });
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(static_cast<int>(out[i]), i < 3 || i > 66 ? -1 : 2 * i);
}

TEST(VectorTest, CompareAndSelect) {
  // x < 64 ? x : -1, and so on.
  std::vector<half> out = runVector<half>(counting(128), 768, [] {
    UB<half> x(0), limit(1024), other(2048), d(kResult);
    UB<uint8_t> mask(4096);
    vector_dup(limit, half(64), 1, 1, 8);
    vector_dup(other, half(-1), 1, 1, 8);
    pipe_barrier(PIPE_V);
    vcmpv_lt(mask, x, limit, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcmpv_le(mask, x, limit, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d + 128, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcmpv_gt(mask, x, limit, 1, 1, 0, 8, 0);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d + 256, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcmpv_ge(mask, x, limit, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d + 384, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcmpv_eq(mask, x, limit, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d + 512, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
    pipe_barrier(PIPE_V);
    vcmpv_ne(mask, x, limit, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(d + 640, x, other, mask, 1, 1, 1, 1, 8, 8, 8);
  });
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(static_cast<int>(out[i]), i < 64 ? i : -1);
    EXPECT_EQ(static_cast<int>(out[128 + i]), i <= 64 ? i : -1);
    EXPECT_EQ(static_cast<int>(out[256 + i]), i > 64 ? i : -1);
    EXPECT_EQ(static_cast<int>(out[384 + i]), i >= 64 ? i : -1);
    EXPECT_EQ(static_cast<int>(out[512 + i]), i == 64 ? i : -1);
    EXPECT_EQ(static_cast<int>(out[640 + i]), i != 64 ? i : -1);
  }
}

TEST(VectorTest, SelectInManyRepeats) {
  std::vector<float> in(128);
  for (int i = 0; i < 128; ++i)
    in[i] = static_cast<float>(i * 37 % 101);
  std::vector<float> out = runVector<float>(in, 256, [] {
    vector_dup(UB<float>(1024), 50.0f, 1, 1, 8);
    pipe_barrier(PIPE_V);
    vcmpv_lt(UB<uint8_t>(2048), UB<float>(0), UB<float>(1024), 2, 1, 1, 8, 0);
    pipe_barrier(PIPE_V);
    vsel<VSEL_TENSOR_TENSOR_MODE>(UB<float>(kResult), UB<float>(0),
                                  UB<float>(1024), UB<uint8_t>(2048), 2, 1, 1,
                                  1, 8, 8, 0);
    vsel<VSEL_CMPMASK_SPR>(UB<float>(kResult + 512), UB<float>(0),
                           UB<float>(1024), UB<uint8_t>(2048), 2, 1, 1, 1, 8, 8,
                           0);
  });
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(out[i], std::min(in[i], 50.0f));
    // The bits of the first repeat for both.
    EXPECT_EQ(out[128 + i], in[i % 64] < 50 ? in[i] : 50.0f);
  }
}

TEST(VectorTest, Transpose) {
  // Two fractals from 16 rows of 32 columns.
  std::vector<half> out = runVector<half>(counting(512), 512, [] {
    vnchwconv(UB<half>(kResult), UB<half>(0), 2, 16, 1, 1, 2);
  });
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j)
      EXPECT_EQ(out[j * 16 + i], half(float(i * 32 + j)));
}

TEST(VectorTest, Softmax) {
  // Of 16 rows of 64 columns in zN.
  std::vector<half> logits = randomMatrix(16 * 64, 1), in(16 * 64);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 64; ++j)
      in[layout::zN(i, j, 16)] = logits[layout::nd(i, j, 64)] * half(4);
  Report report;
  std::vector<half> out = runVector<half>(
      in, 16 * 64,
      [] {
        UB<half> x(0), d(kResult), columns(8192), rows(12288), wide(16384);
        // Column block 0 against the others, row by row.
        vmax(columns, x, x + 256, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vmax(columns, columns, x + 512, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vmax(columns, columns, x + 768, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vcgmax(rows, columns, 2, 1, 1, 8);
        pipe_barrier(PIPE_V);
        vbrcb(wide, rows, 2);
        pipe_barrier(PIPE_V);
        for (int64_t n1 = 0; n1 < 4; ++n1)
          vsub(d + n1 * 256, x + n1 * 256, wide, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vexp(d, d, 8, 1, 1, 8, 8);
        pipe_barrier(PIPE_V);
        vadd(columns, d, d + 256, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vadd(columns, columns, d + 512, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vadd(columns, columns, d + 768, 2, 1, 1, 1, 8, 8, 8);
        pipe_barrier(PIPE_V);
        vcgadd(rows, columns, 2, 1, 1, 8);
        pipe_barrier(PIPE_V);
        vbrcb(wide, rows, 2);
        pipe_barrier(PIPE_V);
        for (int64_t n1 = 0; n1 < 4; ++n1)
          vdiv(d + n1 * 256, d + n1 * 256, wide, 2, 1, 1, 1, 8, 8, 8);
      },
      &report);
  for (int i = 0; i < 16; ++i) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int j = 0; j < 64; ++j)
      most = std::max(most, double(in[layout::zN(i, j, 16)]));
    for (int j = 0; j < 64; ++j)
      sum += std::exp(double(in[layout::zN(i, j, 16)]) - most);
    for (int j = 0; j < 64; ++j)
      EXPECT_NEAR(double(out[layout::zN(i, j, 16)]),
                  std::exp(double(in[layout::zN(i, j, 16)]) - most) / sum,
                  1e-3);
  }
  EXPECT_EQ(report.total.vectorRepeats, 6 * 2 + 2 * 2 + 2 * 2 + 8 * 2 + 8);
  // Two cycles a repeat, but seven of a reduction and four of a quotient or an
  // exponential; three at least.
  EXPECT_EQ(report.total.cycles[PIPE_V],
            6 * 4 + 2 * 14 + 2 * 3 + 4 * 4 + 8 * 4 + 4 * 8);
}
