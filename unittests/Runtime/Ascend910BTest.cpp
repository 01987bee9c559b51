//===- Ascend910BTest.cpp - The 910B, and other capacities --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 910B has a route from L0C to L1 and to global memory, and none to the UB
// or from there to L1. In this file its UB is small.
//
//===----------------------------------------------------------------------===//

#define CHIMERA_NPU_ARCH 9102
#define CHIMERA_NPU_UB_BYTES 4096
#define CHIMERA_NPU_VARIANT ascend910bSmall
#include "TestGemm.h"

#include <type_traits>
#include <utility>

using namespace chimera_npu;
using namespace chimera_npu::test;

static_assert(kArch.capacity[index(Mem::UB)] == 4096);
static_assert(kArch.capacity[index(Mem::L1)] == 524288);

static void chain(Gm<half> a, Gm<half> b, Gm<half> d, Gm<float> e, int64_t m,
                  int64_t k, int64_t l, int64_t n) {
  L1<half> aL1(0), bL1(65536), cL1(131072), dL1(196608);
  loadTile(aL1, a, m, k, k);
  loadTile(bL1, b, k, l, l);
  loadTile(dL1, d, l, n, n);
  set_flag(PIPE_MTE2, PIPE_MTE1, 0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, 0);
  loadLhs(L0A<half>(0), aL1, m, k);
  loadRhs(L0B<half>(0), bL1, k, l);
  set_flag(PIPE_MTE1, PIPE_M, 0);
  wait_flag(PIPE_MTE1, PIPE_M, 0);
  mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), m, k, l, true);
  set_flag(PIPE_M, PIPE_FIX, 0);
  wait_flag(PIPE_M, PIPE_FIX, 0);
  copy_matrix_cc_to_cbuf(cL1, L0C<float>(0), m, tiles(l) * 16, tiles(m) * 16,
                         tiles(m) * 16, CRMODE_F32toF16_RELU);
  set_flag(PIPE_FIX, PIPE_M, 0);
  wait_flag(PIPE_FIX, PIPE_M, 0);
  set_flag(PIPE_M, PIPE_MTE1, 0);
  wait_flag(PIPE_M, PIPE_MTE1, 0);
  loadLhs(L0A<half>(32768), cL1, m, l);
  loadRhs(L0B<half>(32768), dL1, l, n);
  set_flag(PIPE_MTE1, PIPE_M, 0);
  wait_flag(PIPE_MTE1, PIPE_M, 0);
  mad(L0C<float>(65536), L0A<half>(32768), L0B<half>(32768), m, l, n, true);
  set_flag(PIPE_M, PIPE_FIX, 0);
  wait_flag(PIPE_M, PIPE_FIX, 0);
  copy_matrix_cc_to_gm(e, L0C<float>(65536), m, n, tiles(m) * 16, n,
                       CRMODE_NONE);
}

TEST(Ascend910BTest, Chain) {
  int64_t m = 50, k = 33, l = 70, n = 41;
  std::vector<half> a = randomMatrix(m * k, 1), b = randomMatrix(k * l, 2),
                    d = randomMatrix(l * n, 3);
  std::vector<float> e(m * n);
  Report report = launch(1, chain, gm(a), gm(b), gm(d), gm(e), m, k, l, n);
  std::vector<double> c = multiply(a, b, m, k, l);
  for (double &element : c)
    element = std::max(element, 0.0);
  expectNear(e, multiply(c, d, m, l, n), std::sqrt(k * l));
  EXPECT_EQ(report.total.route(Mem::L0C, Mem::L1).written, 2 * m * 80);
  EXPECT_EQ(report.total.route(Mem::L0C, Mem::GM).written, 4 * m * n);
  EXPECT_EQ(report.total.highWater[index(Mem::UB)], 0);
  EXPECT_GT(report.total.cycles[PIPE_FIX], 0);
}

// Three rows of 17 halves of 20, to two blocks each of three; and back, to rows
// of 19. What fills a block nobody knows.
TEST(Ascend910BTest, PaddedRows) {
  std::vector<half> in = randomMatrix(57, 1), rows(55, half(9)), block(16);
  auto kernel = +[](Gm<half> in, Gm<half> rows, Gm<half> block) {
    copy_gm_to_ubuf_pad(UB<half>(0), in, 3, 34, 6, 1);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm_pad(rows, UB<half>(0), 3, 34, 4, 1);
    if (block.length == 16)
      copy_ubuf_to_gm(block, UB<half>(32), 1, 1, 0, 0);
  };
  Report report = launch(1, kernel, gm(in), gm(rows), Gm<half>());
  for (int i = 0; i < 55; ++i) {
    int row = i / 19, at = i % 19;
    EXPECT_EQ(rows[i], at < 17 ? in[row * 20 + at] : half(9)) << i;
  }
  EXPECT_EQ(report.total.route(Mem::GM, Mem::UB).read, 3 * 34);
  EXPECT_EQ(report.total.route(Mem::UB, Mem::GM).written, 3 * 34);
  EXPECT_PRED2(startsWith,
               failure([&] { launch(1, kernel, gm(in), gm(rows), gm(block)); }),
               "Uninitialized");
}

TEST(Ascend910BTest, SmallerBuffer) {
  std::vector<half> in(64);
  auto kernel = +[](Gm<half> in) {
    copy_gm_to_ubuf(UB<half>(4096 - 32), in, 1, 2, 0, 0);
  };
  EXPECT_PRED2(startsWith, failure([&] { launch(1, kernel, gm(in)); }),
               "Capacity");
}

template <class D, class S, class = void>
struct CanDrainToUbuf : std::false_type {};
template <class D, class S>
struct CanDrainToUbuf<D, S,
                      decltype(copy_matrix_cc_to_ubuf(std::declval<D>(),
                                                      std::declval<S>(), 1, 1,
                                                      0, 0, CRMODE_NONE))>
    : std::true_type {};
template <class D, class S, class = void>
struct CanCopyUbufToCbuf : std::false_type {};
template <class D, class S>
struct CanCopyUbufToCbuf<D, S,
                         decltype(copy_ubuf_to_cbuf(
                             std::declval<D>(), std::declval<S>(), 1, 1, 0, 0))>
    : std::true_type {};
static_assert(!CanDrainToUbuf<UB<half>, L0C<float>>::value);
static_assert(!CanCopyUbufToCbuf<L1<half>, UB<half>>::value);
