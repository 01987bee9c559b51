//===- GemmTest.cpp - Products on the model of an AI core ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products as a back end would write them: results, exact counts, and that each
// of their flags is needed.
//
//===----------------------------------------------------------------------===//

#include "TestGemm.h"

#include <array>
#include <map>
#include <set>
#include <tuple>

using namespace chimera_npu;
using namespace chimera_npu::test;

//===----------------------------------------------------------------------===//
// Flags that can be left out
//===----------------------------------------------------------------------===//

/// The so many-th use of a flag; every use has one set and one wait.
using Use = std::tuple<Pipe, Pipe, int, int>;

struct Flags {
  std::set<Use> used;
  std::set<Use> withoutSet, withoutWait;
  std::map<std::tuple<Pipe, Pipe, int>, int> sets, waits;
};
static Flags flags;

static void set(Pipe source, Pipe target, int event = 0) {
  Use use{source, target, event, flags.sets[{source, target, event}]++};
  flags.used.insert(use);
  if (!flags.withoutSet.count(use))
    set_flag(source, target, event);
}
static void wait(Pipe source, Pipe target, int event = 0) {
  Use use{source, target, event, flags.waits[{source, target, event}]++};
  if (!flags.withoutWait.count(use))
    wait_flag(source, target, event);
}
static void order(Pipe source, Pipe target) {
  set(source, target);
  wait(source, target);
}

/// Runs `launchIt` without one set, one wait, and both, for all that it uses.
template <class F>
static void expectAllFlagsNeeded(F launchIt, size_t count) {
  flags = Flags();
  ASSERT_EQ(failure(launchIt), "");
  std::set<Use> used = flags.used;
  ASSERT_EQ(used.size(), count);
  for (const Use &use : used) {
    flags = Flags();
    flags.withoutSet = {use};
    EXPECT_TRUE(startsWith(failure(launchIt), "Flag: waits for"));
    flags = Flags();
    flags.withoutWait = {use};
    EXPECT_NE(failure(launchIt), "");
    flags = Flags();
    flags.withoutSet = flags.withoutWait = {use};
    EXPECT_TRUE(startsWith(failure(launchIt), "Hazard"))
        << name(std::get<0>(use)) << " to " << name(std::get<1>(use))
        << " event " << std::get<2>(use) << " use " << std::get<3>(use);
  }
  flags = Flags();
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

static void oneTile(Gm<half> a, Gm<half> b, Gm<half> c, int64_t m, int64_t k,
                    int64_t n) {
  L1<half> aL1(0), bL1(layout::tileSize(m, k) * 2);
  L0A<half> aL0(0);
  L0B<half> bL0(0);
  L0C<float> cL0(0);
  UB<half> cUb(0);
  loadTile(aL1, a, m, k, k);
  loadTile(bL1, b, k, n, n);
  order(PIPE_MTE2, PIPE_MTE1);
  loadLhs(aL0, aL1, m, k);
  loadRhs(bL0, bL1, k, n);
  order(PIPE_MTE1, PIPE_M);
  mad(cL0, aL0, bL0, m, k, n, true);
  order(PIPE_M, PIPE_V);
  copy_matrix_cc_to_ubuf(cUb, cL0, 1, tiles(m) * tiles(n), 0, 0,
                         CRMODE_F32toF16_NONE);
  order(PIPE_V, PIPE_MTE3);
  storeTile(c, cUb, m, n, n);
}

TEST(GemmTest, OneTile) {
  for (auto [m, k, n] : {std::array<int64_t, 3>{16, 16, 16},
                         {17, 16, 32},
                         {33, 50, 16},
                         {64, 100, 48},
                         {100, 65, 96}}) {
    std::vector<half> a = randomMatrix(m * k, 1), b = randomMatrix(k * n, 2),
                      c(m * n);
    Report report = launch(1, oneTile, gm(a), gm(b), gm(c), m, k, n);
    expectNear(c, multiply(a, b, m, k, n), std::sqrt(k));

    int64_t m1 = tiles(m), k1 = tiles(k), n1 = tiles(n);
    const Counters &counters = report.total;
    EXPECT_EQ(counters.route(Mem::GM, Mem::L1).read, 32 * (m * k1 + k * n1));
    EXPECT_EQ(counters.route(Mem::GM, Mem::L1).instructions, m + k);
    EXPECT_EQ(counters.route(Mem::L1, Mem::L0A).written, 512 * m1 * k1);
    EXPECT_EQ(counters.route(Mem::L1, Mem::L0B).written, 512 * k1 * n1);
    EXPECT_EQ(counters.route(Mem::L0C, Mem::UB).read, 1024 * m1 * n1);
    EXPECT_EQ(counters.route(Mem::L0C, Mem::UB).written, 512 * m1 * n1);
    EXPECT_EQ(counters.route(Mem::UB, Mem::GM).read, 2 * m * n);
    EXPECT_EQ(counters.route(Mem::UB, Mem::GM).written, 2 * m * n);
    EXPECT_EQ(counters.executed(Op::load_cbuf_to_ca), m1);
    EXPECT_EQ(counters.executed(Op::set_flag), 4);
    EXPECT_EQ(counters.mads, 1);
    EXPECT_EQ(counters.macs, m * k * n);
    EXPECT_EQ(counters.highWater[index(Mem::L0C)], 1024 * m1 * n1);
    EXPECT_EQ(counters.highWater[index(Mem::UB)], 512 * m1 * n1);
    EXPECT_EQ(counters.cycles[PIPE_M], 3 + m1 * k1 * n1);
    // Every block takes as long as a piece of main memory.
    EXPECT_EQ(counters.route(Mem::GM, Mem::L1).written, 32 * (m * k1 + k * n1));
    EXPECT_GE(counters.cycles[PIPE_MTE2], 128 * (m * k1 + k * n1) / 114);
    EXPECT_EQ(counters.cycles[PIPE_V], 4 * m1 * n1);
    EXPECT_EQ(
        counters.criticalCycles,
        *std::max_element(counters.cycles.begin(), counters.cycles.end()));
  }
  flags = Flags();
}

TEST(GemmTest, OneTileNeedsAllFlags) {
  std::vector<half> a = randomMatrix(33 * 50, 1), b = randomMatrix(50 * 16, 2),
                    c(33 * 16);
  expectAllFlagsNeeded(
      [&] { launch(1, oneTile, gm(a), gm(b), gm(c), 33, 50, 16); }, 4);
}

// What is beyond m and n of a sum must not be used, and is not there.
TEST(GemmTest, NothingBeyondTheSum) {
  std::vector<half> a = randomMatrix(256, 1), b = randomMatrix(256, 2), c(256);
  auto kernel = +[](Gm<half> a, Gm<half> b, Gm<half> c, int64_t n) {
    copy_gm_to_cbuf(L1<half>(0), a, 1, 16, 0, 0);
    copy_gm_to_cbuf(L1<half>(512), b, 1, 16, 0, 0);
    pipe_barrier(PIPE_ALL);
    loadLhs(L0A<half>(0), L1<half>(0), 16, 16);
    loadRhs(L0B<half>(0), L1<half>(512), 16, 16);
    pipe_barrier(PIPE_ALL);
    mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), 16, 16, 16, true);
    pipe_barrier(PIPE_M);
    mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), 16, 16, n, true);
    pipe_barrier(PIPE_ALL);
    copy_matrix_cc_to_ubuf(UB<half>(0), L0C<float>(0), 1, 1, 0, 0,
                           CRMODE_F32toF16_NONE);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(c, UB<half>(0), 1, 16, 0, 0);
  };
  EXPECT_EQ(failure([&] { launch(1, kernel, gm(a), gm(b), gm(c), 16); }), "");
  EXPECT_TRUE(
      startsWith(failure([&] { launch(1, kernel, gm(a), gm(b), gm(c), 15); }),
                 "Uninitialized"));
}

TEST(GemmTest, DrainWithGaps) {
  // Of three fractals the first and the last; what lies between them stays.
  std::vector<half> a = randomMatrix(256, 1), b = randomMatrix(768, 2), c(768);
  auto kernel = +[](Gm<half> a, Gm<half> b, Gm<half> c) {
    vector_dup(UB<half>(0), half(7), 6, 1, 8);
    copy_gm_to_cbuf(L1<half>(0), a, 1, 16, 0, 0);
    copy_gm_to_cbuf(L1<half>(512), b, 1, 48, 0, 0);
    pipe_barrier(PIPE_ALL);
    loadLhs(L0A<half>(0), L1<half>(0), 16, 16);
    loadRhs(L0B<half>(0), L1<half>(512), 16, 48);
    pipe_barrier(PIPE_ALL);
    mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), 16, 16, 48, true);
    pipe_barrier(PIPE_ALL);
    copy_matrix_cc_to_ubuf(UB<half>(0), L0C<float>(0), 2, 1, 1, 1,
                           CRMODE_F32toF16_NONE);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(c, UB<half>(0), 1, 48, 0, 0);
  };
  launch(1, kernel, gm(a), gm(b), gm(c));
  for (int fractal = 0; fractal < 3; ++fractal) {
    std::vector<half> right(b.begin() + fractal * 256,
                            b.begin() + (fractal + 1) * 256);
    std::vector<half> sums(c.begin() + fractal * 256,
                           c.begin() + (fractal + 1) * 256);
    std::vector<double> expected(256, 7.0);
    if (fractal != 1)
      expected = multiply(a, right, 16, 16, 16);
    expectNear(sums, expected, 4);
  }
}

//===----------------------------------------------------------------------===//
// Two products, the first of which stays on chip
//===----------------------------------------------------------------------===//

static void chain(Gm<half> a, Gm<half> b, Gm<half> d, Gm<half> e, int64_t m,
                  int64_t k, int64_t l, int64_t n) {
  L1<half> aL1(0), bL1(65536), cL1(131072), dL1(196608);
  L0A<half> aL0(0), cL0A(32768);
  L0B<half> bL0(0), dL0(32768);
  L0C<float> cL0(0), eL0(131072);
  UB<half> cUb(0), eUb(65536);
  loadTile(aL1, a, m, k, k);
  loadTile(bL1, b, k, l, l);
  loadTile(dL1, d, l, n, n);
  order(PIPE_MTE2, PIPE_MTE1);
  loadLhs(aL0, aL1, m, k);
  loadRhs(bL0, bL1, k, l);
  order(PIPE_MTE1, PIPE_M);
  mad(cL0, aL0, bL0, m, k, l, true);
  order(PIPE_M, PIPE_V);
  copy_matrix_cc_to_ubuf(cUb, cL0, 1, tiles(m) * tiles(l), 0, 0,
                         CRMODE_F32toF16_RELU);
  order(PIPE_V, PIPE_MTE3);
  copy_ubuf_to_cbuf(cL1, cUb, 1, tiles(m) * tiles(l) * 16, 0, 0);
  order(PIPE_MTE3, PIPE_MTE1);
  loadLhs(cL0A, cL1, m, l);
  loadRhs(dL0, dL1, l, n);
  order(PIPE_MTE1, PIPE_M);
  mad(eL0, cL0A, dL0, m, l, n, true);
  order(PIPE_M, PIPE_V);
  copy_matrix_cc_to_ubuf(eUb, eL0, 1, tiles(m) * tiles(n), 0, 0,
                         CRMODE_F32toF16_NONE);
  order(PIPE_V, PIPE_MTE3);
  storeTile(e, eUb, m, n, n);
}

TEST(GemmTest, Chain) {
  int64_t m = 50, k = 33, l = 70, n = 48;
  std::vector<half> a = randomMatrix(m * k, 1), b = randomMatrix(k * l, 2),
                    d = randomMatrix(l * n, 3), e(m * n);
  flags = Flags();
  Report report = launch(1, chain, gm(a), gm(b), gm(d), gm(e), m, k, l, n);
  std::vector<double> c = multiply(a, b, m, k, l);
  for (double &element : c)
    element = std::max(element, 0.0);
  expectNear(e, multiply(c, d, m, l, n), std::sqrt(k * l));
  EXPECT_EQ(report.total.route(Mem::GM, Mem::L1).read,
            32 * (m * tiles(k) + k * tiles(l) + l * tiles(n)));
  EXPECT_EQ(report.total.route(Mem::UB, Mem::GM).written, 2 * m * n);
  EXPECT_EQ(report.total.route(Mem::UB, Mem::L1).written,
            2 * layout::tileSize(m, l));
  EXPECT_EQ(report.total.macs, m * l * (k + n));

  expectAllFlagsNeeded(
      [&] { launch(1, chain, gm(a), gm(b), gm(d), gm(e), m, k, l, n); }, 8);
}

// A product of one row takes the row as it is, and so it has to lie in L0A;
// with sixteen rows, of which fifteen are not used, it lies in fractals.
TEST(GemmTest, OneRow) {
  int64_t k = 40, n = 16;
  std::vector<half> a = randomMatrix(k, 1), b = randomMatrix(k * n, 2), c(n);
  auto kernel = +[](Gm<half> a, Gm<half> b, Gm<half> c, int64_t m) {
    loadTile(L1<half>(0), a, 1, 40, 40);
    loadTile(L1<half>(4096), b, 40, 16, 16);
    pipe_barrier(PIPE_ALL);
    loadLhs(L0A<half>(0), L1<half>(0), 16, 40);
    loadRhs(L0B<half>(0), L1<half>(4096), 40, 16);
    pipe_barrier(PIPE_ALL);
    mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), m, 40, 16, true);
    pipe_barrier(PIPE_ALL);
    copy_matrix_cc_to_ubuf(UB<half>(0), L0C<float>(0), 1, 1, 0, 0,
                           CRMODE_F32toF16_NONE);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(c, UB<half>(0), 1, 1, 0, 0);
  };
  std::vector<double> expected = multiply(a, b, 1, k, n);
  launch(1, kernel, gm(a), gm(b), gm(c), 16);
  expectNear(c, expected, std::sqrt(k));
  launch(1, kernel, gm(a), gm(b), gm(c), 1);
  EXPECT_TRUE(std::any_of(c.begin(), c.end(), [](half x) {
    return std::isnan(static_cast<float>(x));
  }));
}

//===----------------------------------------------------------------------===//
// Two buffers of everything
//===----------------------------------------------------------------------===//

static constexpr int64_t kTile = 32, kDepth = 4 * kTile, kTilesOfRows = 3;

/// Every core computes kTilesOfRows tiles, one below the other; in each, k goes
/// by in steps, with two buffers in L1, L0A and L0B. L0C and UB have one, so
/// that all pipes wait for one another.
static void pipelined(Gm<half> a, Gm<half> b, Gm<half> c) {
  constexpr int64_t steps = kTilesOfRows * kDepth / kTile;
  constexpr int64_t bytes = kTile * kTile * 2;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t row = (block_idx() * kTilesOfRows + step / 4) * kTile;
    int64_t depth = step % 4 * kTile;
    int buffer = static_cast<int>(step % 2);
    bool isReused = step + 2 < steps;
    L1<half> aL1(buffer * bytes), bL1((2 + buffer) * bytes);
    L0A<half> aL0(buffer * bytes);
    L0B<half> bL0(buffer * bytes);

    if (step >= 2)
      wait(PIPE_MTE1, PIPE_MTE2, buffer);
    loadTile(aL1, a + (row * kDepth + depth), kTile, kTile, kDepth);
    loadTile(bL1, b + depth * kTile, kTile, kTile, kTile);
    set(PIPE_MTE2, PIPE_MTE1, buffer);

    wait(PIPE_MTE2, PIPE_MTE1, buffer);
    if (step >= 2)
      wait(PIPE_M, PIPE_MTE1, buffer);
    loadLhs(aL0, aL1, kTile, kTile);
    loadRhs(bL0, bL1, kTile, kTile);
    if (isReused)
      set(PIPE_MTE1, PIPE_MTE2, buffer);
    set(PIPE_MTE1, PIPE_M, buffer);

    wait(PIPE_MTE1, PIPE_M, buffer);
    if (depth == 0 && step > 0)
      wait(PIPE_V, PIPE_M);
    if (depth > 0)
      pipe_barrier(PIPE_M);
    mad(L0C<float>(0), aL0, bL0, kTile, kTile, kTile, depth == 0);
    if (isReused)
      set(PIPE_M, PIPE_MTE1, buffer);
    if (depth + kTile < kDepth)
      continue;

    bool isLast = step + 1 == steps;
    order(PIPE_M, PIPE_V);
    if (step > 4)
      wait(PIPE_MTE3, PIPE_V);
    copy_matrix_cc_to_ubuf(UB<half>(0), L0C<float>(0), 1, 4, 0, 0,
                           CRMODE_F32toF16_NONE);
    if (!isLast)
      set(PIPE_V, PIPE_M);
    order(PIPE_V, PIPE_MTE3);
    storeTile(c + row * kTile, UB<half>(0), kTile, kTile, kTile);
    if (!isLast)
      set(PIPE_MTE3, PIPE_V);
  }
}

TEST(GemmTest, PipelinedOnTwoCores) {
  constexpr int64_t rows = 2 * kTilesOfRows * kTile;
  std::vector<half> a = randomMatrix(rows * kDepth, 1),
                    b = randomMatrix(kDepth * kTile, 2), c(rows * kTile);
  flags = Flags();
  Report report = launch(
      2,
      +[](Gm<half> a, Gm<half> b, Gm<half> c) {
        flags = Flags();
        pipelined(a, b, c);
      },
      gm(a), gm(b), gm(c));
  expectNear(c, multiply(a, b, rows, kDepth, kTile), std::sqrt(kDepth));
  ASSERT_EQ(report.cores.size(), 2u);
  EXPECT_EQ(report.cores[1].mads, 12);
  EXPECT_EQ(report.total.mads, 24);
  EXPECT_EQ(report.total.criticalCycles, report.cores[1].criticalCycles);
}

TEST(GemmTest, PipelinedNeedsAllFlags) {
  constexpr int64_t rows = kTilesOfRows * kTile;
  std::vector<half> a = randomMatrix(rows * kDepth, 1),
                    b = randomMatrix(kDepth * kTile, 2), c(rows * kTile);
  // 12 steps: two flags forward in each, two back in all but two; and for each
  // of three tiles two forward, and two back for all but one.
  expectAllFlagsNeeded([&] { launch(1, pipelined, gm(a), gm(b), gm(c)); },
                       12 * 2 + 10 * 2 + 3 * 2 + 2 * 2);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

CHIMERA_NPU_GLOBAL void copyHalves(Gm<half> in, Gm<half> out) {
  copy_gm_to_ubuf(UB<half>(0), in, 1, 2, 0, 0);
  pipe_barrier(PIPE_ALL);
  copy_ubuf_to_gm(out, UB<half>(0), 1, 2, 0, 0);
}
CHIMERA_NPU_GLOBAL void castHalves(Gm<half> in, Gm<float> out) {
  copy_gm_to_ubuf(UB<half>(0), in, 1, 4, 0, 0);
  pipe_barrier(PIPE_ALL);
  vconv_f162f32(UB<float>(128), UB<half>(0), 1, 1, 1, 8, 4);
  pipe_barrier(PIPE_ALL);
  copy_ubuf_to_gm(out, UB<float>(128), 1, 8, 0, 0);
}
CHIMERA_NPU_ENTRY(copyHalves, half, half)
CHIMERA_NPU_ENTRY(castHalves, half, float)

TEST(EntryTest, TwoKernels) {
  std::vector<half> in = randomMatrix(64, 1), copied(32);
  std::vector<float> cast(64);
  std::vector<char> json(1 << 16);
  auto capacity = static_cast<int64_t>(json.size());

  void *copyArrays[] = {in.data(), copied.data()};
  const int64_t copyElements[] = {64, 32};
  ASSERT_EQ(
      copyHalves_launch(copyArrays, copyElements, 1, json.data(), capacity), 0)
      << json.data();
  EXPECT_TRUE(std::equal(copied.begin(), copied.end(), in.begin()));
  EXPECT_NE(std::string(json.data())
                .find("\"GM->UB\": {\"read\": 64, \"written\": 64, "
                      "\"instructions\": 1}"),
            std::string::npos)
      << json.data();

  void *castArrays[] = {in.data(), cast.data()};
  const int64_t castElements[] = {64, 64};
  ASSERT_EQ(
      castHalves_launch(castArrays, castElements, 1, json.data(), capacity), 0)
      << json.data();
  EXPECT_TRUE(std::equal(cast.begin(), cast.end(), in.begin(),
                         [](float x, half y) { return x == float(y); }));

  // Arrays that are too small, and room for the report that is.
  const int64_t fewer[] = {64, 31};
  EXPECT_EQ(copyHalves_launch(copyArrays, fewer, 1, json.data(), capacity), 1);
  EXPECT_TRUE(startsWith(json.data(), "{\"error\": \"OutOfBounds\""));
  EXPECT_EQ(copyHalves_launch(copyArrays, copyElements, 1, json.data(), 100),
            1);
  EXPECT_TRUE(startsWith(json.data(), "{\"error\": \"Launch\""));
  EXPECT_EQ(
      copyHalves_launch(copyArrays, copyElements, 0, json.data(), capacity), 1);
}
