//===- GirTextTest.cpp - A Gir as text ------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of graphs, which says all of them, and a norm by hand.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirCost.h"

#include "Gir/TestGraphs.h"
#include "TestProblems.h"

#include "gtest/gtest.h"

using namespace chimera::model;
using namespace llvm;

namespace {

/// A layer norm of 64 rows of 256, four rows a task: the example of
/// docs/gir.md.
constexpr const char *layerNorm = R"(gir units 2 block 1
loop i0 64 by 4
tensor x 16384 x 4 input
tensor gamma 256 x 4 input
tensor beta 256 x 4 input
tensor y 16384 x 4 result
stage i0
  0.0 move gamma [ 0 ] < 1 x 256 stride 256 > to %0 < 1 x 256 bytes 4 level 3 >
  0.0 move beta [ 0 ] < 1 x 256 stride 256 > to %1 < 1 x 256 bytes 4 level 3 >
  1.0 move x [ 0 + 1024 i0 ] < 4 by i0 x 256 stride 256 > to %2 < 4 by i0 x 256 bytes 4 level 3 >
  1.0 elementwise f 0 instructions 1 exponentials 0 %2 to %3 < 4 by i0 x 256 bytes 4 level 4 >
  1.0 reduce add width %3 to %4 < 4 by i0 x 1 bytes 4 level 3 >
  1.1 broadcast width %4 to %5 < 4 by i0 x 256 bytes 4 level 4 >
  1.1 elementwise f 4 instructions 1 exponentials 0 %2 %5 to %6 < 4 by i0 x 256 bytes 4 level 3 >
  1.1 elementwise f 8 instructions 1 exponentials 0 %6 to %7 < 4 by i0 x 256 bytes 4 level 4 >
  1.1 reduce add width %7 to %8 < 4 by i0 x 1 bytes 4 level 3 >
  1.2 elementwise f 12 instructions 3 exponentials 1 %8 to %9 < 4 by i0 x 1 bytes 4 level 4 >
  1.2 broadcast width %9 to %10 < 4 by i0 x 256 bytes 4 level 4 >
  1.2 broadcast num %0 to %11 < 4 by i0 x 256 bytes 4 level 4 >
  1.2 broadcast num %1 to %12 < 4 by i0 x 256 bytes 4 level 4 >
  1.2 elementwise f 16 instructions 2 exponentials 0 %6 %10 %11 %12 to %13 < 4 by i0 x 256 bytes 4 level 4 >
  1.2 move %13 to y [ 0 + 1024 i0 ] < 4 by i0 x 256 stride 256 >
)";

Gir makeNorm() {
  OperatorGraph graph = makeLayerNorm(64, 256);
  for (auto &[decision, gir] : expandGir(graph, allOf(graph), makeZen5(), 2))
    if (decision.rows == 4 && decision.width == 256) {
      EXPECT_TRUE(placeValues(gir, makeZen5()));
      return gir;
    }
  return {};
}

TEST(GirText, SaysALayerNorm) {
  Gir norm = makeNorm();
  EXPECT_EQ(printGir(norm), layerNorm);
  // 64 KiB in and out, and gamma and beta for each of two units.
  GirCost cost = costOf(norm, makeZen5());
  for (const GirTraffic &traffic : cost.levels) {
    EXPECT_EQ(traffic.read, 65536 + 2 * 2 * 1024);
    EXPECT_EQ(traffic.written, 65536);
  }
  EXPECT_EQ(cost.passes, 4);
  // What the passes hand on: %0, %1, and %2 or %6 in its place, and %4 or %8.
  EXPECT_EQ(liveBytes(norm, 0, 3)[2], 2 * 1024 + 4 * 1024 + 2 * 16);
}

TEST(GirText, ReadsWhatItHasWritten) {
  std::mt19937 random(5);
  for (int graphs = 0; graphs < 300;) {
    OperatorGraph graph = makeRandomGraph(random);
    Machine machine = makeRandomMachine(random);
    auto expanded = expandGir(graph, allOf(graph), machine, 1 + random() % 4,
                              nullptr, random() % 2 == 0);
    if (expanded.empty())
      continue;
    Gir gir = expanded[random() % expanded.size()].second;
    if (!placeValues(gir, machine))
      continue;
    ++graphs;
    std::string text = printGir(gir);
    Expected<Gir> read = parseGir(text);
    ASSERT_TRUE(bool(read)) << toString(read.takeError()) << "\n" << text;
    EXPECT_EQ(printGir(*read), text);
    Error error = read->check(&machine);
    ASSERT_FALSE(bool(error)) << toString(std::move(error)) << "\n" << text;
    EXPECT_EQ(costOf(*read, machine).seconds, costOf(gir, machine).seconds);
  }
}

TEST(GirText, SaysWhatIsWrong) {
  auto wrong = [](const Twine &text) {
    Expected<Gir> gir = parseGir(text.str());
    return gir ? "nothing" : toString(gir.takeError());
  };
  EXPECT_EQ(wrong("gir units two block 1"), "line 1: 'two' is no number");
  EXPECT_EQ(wrong("loop i 8"), "line 1: expected 'by' before ''");
  EXPECT_EQ(wrong("\nstage i"), "line 2: there is no loop 'i'");
  EXPECT_EQ(wrong("0.0 move"), "line 1: a node stands before the first stage");
  EXPECT_EQ(wrong("stage\n0.0 fly"), "line 2: there is no node 'fly'");
  EXPECT_EQ(wrong("stage\n0.0 sync world"),
            "line 2: there is no scope 'world'");
  EXPECT_EQ(wrong("stage\n0.0 move %0 to"), "line 2: nothing has written '%0'");
  EXPECT_EQ(wrong("tensor x 8 x 4 input\nstage\n0.0 move x [ 0 ] < 1 x 8"),
            "line 3: expected 'stride' before ''");
  EXPECT_EQ(wrong("gir units 1 block 1 2"), "line 1: '2' is too much");
  // Nothing that is left out of a right text leaves a parser behind that hangs.
  std::string text = printGir(makeNorm());
  for (size_t size = 0; size < text.size(); size += 7)
    (void)wrong(text.substr(0, size));
}

} // namespace
