//===- AscendMixedTest.cpp - Kernels of several cores ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose sums go through main memory to two vector cores, which share
// their rows, and what happens where a flag between them is missing.
//
//===----------------------------------------------------------------------===//

#define CHIMERA_NPU_ARCH 9102
#include "TestGemm.h"

using namespace chimera_npu;
using namespace chimera_npu::test;

namespace {

constexpr int64_t m = 32, k = 16, n = 32;
constexpr int full = 0, empty = 1;

/// What is left out.
enum class Without { Nothing, Full, WaitFull, Free, WaitFree };
Without without = Without::Nothing;

/// The product twice, to one place in memory.
void multiplyTwice(Gm<half> a, Gm<half> b, Gm<float> sums, Gm<float>) {
  loadTile(L1<half>(0), a, m, k, k);
  loadTile(L1<half>(4096), b, k, n, n);
  set_flag(PIPE_MTE2, PIPE_MTE1, 0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, 0);
  loadLhs(L0A<half>(0), L1<half>(0), m, k);
  loadRhs(L0B<half>(0), L1<half>(4096), k, n);
  set_flag(PIPE_MTE1, PIPE_M, 0);
  wait_flag(PIPE_MTE1, PIPE_M, 0);
  mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), m, k, n, true);
  set_flag(PIPE_M, PIPE_FIX, 0);
  wait_flag(PIPE_M, PIPE_FIX, 0);
  for (int time = 0; time < 2; ++time) {
    if (time == 1 && without != Without::WaitFree)
      wait_cross_flag(empty);
    copy_matrix_cc_to_gm_nz(sums, L0C<float>(0), m, n, m, m, CRMODE_NONE);
    if (without != Without::Full)
      set_cross_flag(PIPE_FIX, full);
  }
  if (without != Without::WaitFree)
    wait_cross_flag(empty);
}

/// Twice the sums, and then a copy of them.
void addTwice(Gm<half>, Gm<half>, Gm<float> sums, Gm<float> result) {
  int64_t first = sub_block_idx() * (m / 2);
  for (int time = 0; time < 2; ++time) {
    if (without != Without::WaitFull)
      wait_cross_flag(full);
    copy_gm_to_ubuf(UB<float>(0), sums + first * 16, n / 16, m, m, 0);
    if (without != Without::Free)
      set_cross_flag(PIPE_MTE2, empty);
    set_flag(PIPE_MTE2, PIPE_V, 0);
    wait_flag(PIPE_MTE2, PIPE_V, 0);
    vadd(UB<float>(8192), UB<float>(0), UB<float>(0), m / 2 * n / 64, 1, 1, 1,
         8, 8, 8);
    set_flag(PIPE_V, PIPE_MTE3, 0);
    wait_flag(PIPE_V, PIPE_MTE3, 0);
    for (int64_t group = 0; group < n / 16; ++group)
      copy_ubuf_to_gm(result + (first * n + group * 16),
                      UB<float>(8192) + group * m / 2 * 16, m / 2, 2, 0,
                      n / 8 - 2);
    pipe_barrier(PIPE_ALL);
  }
}

Report run(Without what, std::vector<float> &result) {
  without = what;
  std::vector<half> a = randomMatrix(m * k, 1), b = randomMatrix(k * n, 2);
  std::vector<float> sums(m * n);
  result.resize(m * n);
  Report report = launchMixed(1, multiplyTwice, addTwice, gm(a), gm(b),
                              gm(sums), gm(result));
  std::vector<double> twice = multiply(a, b, m, k, n);
  for (double &element : twice)
    element *= 2;
  expectNear(result, twice, std::sqrt(k));
  return report;
}

} // namespace

TEST(AscendMixedTest, CoresShareRows) {
  std::vector<float> result;
  Report report = run(Without::Nothing, result);
  EXPECT_EQ(report.total.route(Mem::L0C, Mem::GM).written, 2 * 4 * m * n);
  EXPECT_EQ(report.total.route(Mem::GM, Mem::UB).read, 2 * 4 * m * n);
  EXPECT_EQ(report.total.executed(Op::wait_cross_flag), 2 + 2 * 2);
  // Vector cores wait for sums, and these for room.
  EXPECT_GT(report.total.elapsedCycles, report.total.criticalCycles);
}

TEST(AscendMixedTest, MissingFlags) {
  std::vector<float> result;
  auto expect = [&](Without what, const char *reason) {
    EXPECT_PRED2(startsWith, failure([&] { run(what, result); }), reason);
  };
  expect(Without::Full, "Flag");
  expect(Without::WaitFull, "Hazard");
  expect(Without::Free, "Flag");
  expect(Without::WaitFree, "Hazard");
}

TEST(AscendMixedTest, MemoriesOfOthers) {
  std::vector<half> in(16);
  auto toUb =
      +[](Gm<half> in) { copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0); };
  auto toL1 =
      +[](Gm<half> in) { copy_gm_to_cbuf(L1<half>(0), in, 1, 1, 0, 0); };
  auto nothing = +[](Gm<half>) {};
  launchMixed(1, toL1, toUb, gm(in));
  EXPECT_PRED2(startsWith,
               failure([&] { launchMixed(1, toUb, nothing, gm(in)); }),
               "Parameter");
  EXPECT_PRED2(startsWith,
               failure([&] { launchMixed(1, nothing, toL1, gm(in)); }),
               "Parameter");
}
