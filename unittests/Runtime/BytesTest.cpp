//===- BytesTest.cpp - Products of bytes on the 910B ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define CHIMERA_NPU_ARCH 9102
#define CHIMERA_NPU_VARIANT ascend910bBytes
#include "TestGemm.h"

#include <random>

using namespace chimera_npu;
using namespace chimera_npu::test;

static_assert(hasInstruction(A910, Op::mad, Integer::Byte));
static_assert(!hasInstruction(A910, Op::load_cbuf_to_cb_transpose,
                              Integer::Byte));
static_assert(!hasInstruction(A310P, Op::copy_matrix_cc_to_gm, Integer::Word));
static_assert(hasInstruction(A910B, Op::copy_matrix_cc_to_gm, Integer::Word));
static_assert(!hasInstruction(A910B, Op::vadd, Integer::Byte));
static_assert(hasInstruction(A910, Op::copy_gm_to_ubuf, Integer::Byte));

static std::vector<int8_t> randomBytes(int64_t elements, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> numbers(-128, 127);
  std::vector<int8_t> matrix(elements);
  for (int8_t &element : matrix)
    element = static_cast<int8_t>(numbers(generator));
  return matrix;
}

static int64_t up(int64_t extent) { return layout::roundUp(extent, 32); }

/// Of m x k by k x n; each factor is given the other way round if it is
/// transposed. `known` rows of the left one come.
static void product(Gm<int8_t> a, Gm<int8_t> b, Gm<int32_t> c, int64_t m,
                    int64_t k, int64_t n, bool aTransposed, bool bTransposed,
                    int64_t known) {
  L1<int8_t> aL1(0), bL1(262144);
  if (aTransposed)
    copy_gm_to_cbuf_multi_nd2nz_b8(aL1, a, k, m, m, up(k));
  else
    copy_gm_to_cbuf_multi_nd2nz_b8(aL1, a, known, k, k, up(m));
  if (bTransposed)
    copy_gm_to_cbuf_multi_nd2nz_b8(bL1, b, n, k, k, up(n));
  else
    copy_gm_to_cbuf_multi_nd2nz_b8(bL1, b, k, n, n, up(k));
  set_flag(PIPE_MTE2, PIPE_MTE1, 0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, 0);
  int64_t depths = up(k) / 32;
  for (int64_t i = 0; i < up(m) / 32; ++i) {
    L0A<int8_t> to = L0A<int8_t>(0) + i * 2 * depths * 512;
    if (aTransposed)
      load_cbuf_to_ca_transpose(to, aL1, i * depths, depths, 1, 0, depths - 1);
    else
      for (int64_t half = 0; half < 2; ++half)
        load_cbuf_to_ca(to + half * depths * 512, aL1, 2 * i + half, depths,
                        up(m) / 16, false);
  }
  int64_t groups = up(n) / 32;
  for (int64_t l = 0; l < depths; ++l) {
    L0B<int8_t> to = L0B<int8_t>(0) + l * groups * 1024;
    if (bTransposed)
      load_cbuf_to_cb(to, bL1, l * groups * 2, groups * 2, 1, false);
    else
      load_cbuf_to_cb_transpose(to, bL1, l, groups, depths, 1, 0);
  }
  set_flag(PIPE_MTE1, PIPE_M, 0);
  wait_flag(PIPE_MTE1, PIPE_M, 0);
  mad(L0C<int32_t>(0), L0A<int8_t>(0), L0B<int8_t>(0), m, k, up(n), true);
  set_flag(PIPE_M, PIPE_FIX, 0);
  wait_flag(PIPE_M, PIPE_FIX, 0);
  copy_matrix_cc_to_gm(c, L0C<int32_t>(0), m, n, tiles(m) * 16, n, CRMODE_NONE);
}

TEST(BytesTest, Product) {
  int64_t m = 37, k = 75, n = 50;
  for (bool aTransposed : {false, true})
    for (bool bTransposed : {false, true}) {
      std::vector<int8_t> a = randomBytes(m * k, 1), b = randomBytes(k * n, 2);
      std::vector<int32_t> c(m * n);
      Report report = launch(1, product, gm(a), gm(b), gm(c), m, k, n,
                             aTransposed, bTransposed, m);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int32_t sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += a[aTransposed ? l * m + i : i * k + l] *
                   b[bTransposed ? j * k + l : l * n + j];
          ASSERT_EQ(c[i * n + j], sum) << i << ", " << j;
        }
      EXPECT_EQ(report.total.route(Mem::L1, Mem::L0B).read, 96 * 64);
      EXPECT_EQ(report.total.route(Mem::L0C, Mem::GM).written, 4 * m * n);
    }
}

TEST(BytesTest, UnknownFactors) {
  std::vector<int8_t> a = randomBytes(16 * 32, 1), b = randomBytes(32 * 32, 2);
  std::vector<int32_t> c(16 * 32);
  EXPECT_PRED2(startsWith, failure([&] {
                 launch(1, product, gm(a), gm(b), gm(c), 16, 32, 32, false,
                        true, 15);
               }),
               "Uninitialized");
}

// Nobody says what becomes of sums beyond 32 bits.
TEST(BytesTest, Overflow) {
  std::vector<int8_t> a(16 * 2048, -128), b(32 * 2048, -128);
  auto kernel = +[](Gm<int8_t> a, Gm<int8_t> b, int64_t times) {
    copy_gm_to_cbuf_multi_nd2nz_b8(L1<int8_t>(0), a, 16, 2048, 2048, 16);
    copy_gm_to_cbuf_multi_nd2nz_b8(L1<int8_t>(65536), b, 16, 2048, 2048, 16);
    pipe_barrier(PIPE_ALL);
    load_cbuf_to_ca(L0A<int8_t>(0), L1<int8_t>(0), 0, 64, 1, false);
    load_cbuf_to_cb(L0B<int8_t>(0), L1<int8_t>(65536), 0, 64, 1, false);
    pipe_barrier(PIPE_ALL);
    for (int64_t i = 0; i < times; ++i) {
      mad(L0C<int32_t>(0), L0A<int8_t>(0), L0B<int8_t>(0), 16, 2048, 16,
          i == 0);
      pipe_barrier(PIPE_M);
    }
  };
  launch(1, kernel, gm(a), gm(b), int64_t(63));
  EXPECT_PRED2(startsWith,
               failure([&] { launch(1, kernel, gm(a), gm(b), int64_t(64)); }),
               "Parameter");
}

TEST(BytesTest, Conversions) {
  std::vector<int32_t> in(64, 7);
  in[0] = (1 << 24) + 1;
  in[1] = (1 << 24) + 3;
  in[2] = -5;
  std::vector<float> out(64);
  launch(
      1,
      +[](Gm<int32_t> in, Gm<float> out) {
        copy_gm_to_ubuf(UB<int32_t>(0), in, 1, 8, 0, 0);
        pipe_barrier(PIPE_ALL);
        vconv_s322f32(UB<float>(256), UB<int32_t>(0), 1, 1, 1, 8, 8);
        pipe_barrier(PIPE_ALL);
        copy_ubuf_to_gm(out, UB<float>(256), 1, 8, 0, 0);
      },
      gm(in), gm(out));
  EXPECT_EQ(out[0], 16777216);
  EXPECT_EQ(out[1], 16777220);
  EXPECT_EQ(out[2], -5);
  EXPECT_EQ(out[63], 7);
}

TEST(BytesTest, Rounding) {
  std::vector<float> in(64), even(64), zero(64);
  for (int i = 0; i < 64; ++i)
    in[i] = i * 0.5f - 16.25f + (i & 1) * 0.25f;
  launch(
      1,
      +[](Gm<float> in, Gm<float> even, Gm<float> zero) {
        copy_gm_to_ubuf(UB<float>(0), in, 1, 8, 0, 0);
        pipe_barrier(PIPE_ALL);
        vconv_f322f32r(UB<float>(256), UB<float>(0), 1, 1, 1, 8, 8);
        vconv_f322f32z(UB<float>(512), UB<float>(0), 1, 1, 1, 8, 8);
        pipe_barrier(PIPE_ALL);
        copy_ubuf_to_gm(even, UB<float>(256), 1, 8, 0, 0);
        copy_ubuf_to_gm(zero, UB<float>(512), 1, 8, 0, 0);
      },
      gm(in), gm(even), gm(zero));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(even[i], std::nearbyint(in[i]));
    EXPECT_EQ(zero[i], std::trunc(in[i]));
  }
}

// What is too large becomes the largest there is.
TEST(BytesTest, Narrowing) {
  std::vector<half> in(128, half(-3));
  in[0] = half(200);
  in[1] = half(-1000);
  in[2] = half(127);
  std::vector<int8_t> out(128);
  launch(
      1,
      +[](Gm<half> in, Gm<int8_t> out) {
        copy_gm_to_ubuf(UB<half>(0), in, 1, 8, 0, 0);
        pipe_barrier(PIPE_ALL);
        vconv_f162s8(UB<int8_t>(256), UB<half>(0), 1, 1, 1, 4, 8);
        pipe_barrier(PIPE_ALL);
        copy_ubuf_to_gm(out, UB<int8_t>(256), 1, 4, 0, 0);
      },
      gm(in), gm(out));
  EXPECT_EQ(out[0], 127);
  EXPECT_EQ(out[1], -128);
  EXPECT_EQ(out[2], 127);
  EXPECT_EQ(out[127], -3);
}
