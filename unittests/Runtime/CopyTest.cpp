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
