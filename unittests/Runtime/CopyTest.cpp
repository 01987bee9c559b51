//===- CopyTest.cpp - Copies in the model of an AI core -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestGemm.h"

using namespace chimera_npu;
using namespace chimera_npu::test;

static void fill(UB<half> dst, half value) {
  vector_dup(dst, value, 8, 1, 8);
  pipe_barrier(PIPE_ALL);
}

TEST(CopyTest, Gaps) {
  // Two bursts of two blocks, of which the source has three and the destination
  // five to a burst.
  std::vector<half> in = randomMatrix(96, 1), out(160);
  auto kernel = +[](Gm<half> in, Gm<half> out) {
    fill(UB<half>(0), half(7));
    fill(UB<half>(2048), half(8));
    copy_gm_to_ubuf(UB<half>(0), in, 2, 2, 1, 2);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_ubuf(UB<half>(2048), UB<half>(0), 2, 2, 2, 3);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out, UB<half>(2048), 1, 10, 0, 0);
  };
  Report report = launch(1, kernel, gm(in), gm(out));
  for (int i = 0; i < 160; ++i) {
    int burst = i / 80, at = i % 80;
    EXPECT_EQ(out[i], at < 32 ? in[burst * 48 + at] : half(8)) << i;
  }
  EXPECT_EQ(report.total.route(Mem::GM, Mem::UB).read, 128);
  EXPECT_EQ(report.total.route(Mem::UB, Mem::UB).written, 128);
}

TEST(CopyTest, PaddedRows) {
  // Three rows of 17 halves of 20, to two blocks each of three; and back, to
  // rows of 19.
  std::vector<half> in = randomMatrix(57, 1), out(144), rows(55, half(9));
  auto kernel = +[](Gm<half> in, Gm<half> out, Gm<half> rows) {
    fill(UB<half>(0), half(7));
    copy_gm_to_ubuf_pad(UB<half>(0), in, 3, 34, 40, 3);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out, UB<half>(0), 1, 9, 0, 0);
    copy_ubuf_to_gm_pad(rows, UB<half>(0), 3, 34, 38, 3);
  };
  Report report = launch(1, kernel, gm(in), gm(out), gm(rows));
  for (int i = 0; i < 144; ++i) {
    int row = i / 48, at = i % 48;
    EXPECT_EQ(out[i], at < 17   ? in[row * 20 + at]
                      : at < 32 ? half(0)
                                : half(7))
        << i;
  }
  for (int i = 0; i < 55; ++i) {
    int row = i / 19, at = i % 19;
    EXPECT_EQ(rows[i], at < 17 ? in[row * 20 + at] : half(9)) << i;
  }
  EXPECT_EQ(report.total.route(Mem::GM, Mem::UB).read, 3 * 34);
  EXPECT_EQ(report.total.route(Mem::GM, Mem::UB).written, 3 * 64);
  EXPECT_EQ(report.total.route(Mem::UB, Mem::GM).written, 3 * 34 + 288);
  EXPECT_EQ(report.total.cycles[PIPE_MTE2], 2);
}

// The zeros are written, not left from before.
TEST(CopyTest, PaddingIsWritten) {
  std::vector<half> in = randomMatrix(16, 1), out(16);
  auto kernel = +[](Gm<half> in, Gm<half> out) {
    copy_gm_to_ubuf_pad(UB<half>(0), in, 1, 2, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_EQ(failure([&] { launch(1, kernel, gm(in), gm(out)); }), "");
  EXPECT_EQ(out[0], in[0]);
  for (int i = 1; i < 16; ++i)
    EXPECT_EQ(out[i], half(0));
}
