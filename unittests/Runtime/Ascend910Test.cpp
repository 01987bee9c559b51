//===- Ascend910Test.cpp - What a 910 does otherwise ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the instructions that other cores have, the 910 lacks some, or has them
// for halves only; it has fewer events and no infinities.
//
//===----------------------------------------------------------------------===//

#define CHIMERA_NPU_ARCH 910
#include "TestGemm.h"

using namespace chimera_npu;
using namespace chimera_npu::test;

static_assert(hasInstruction(A910, Op::vcgmax, /*isHalf=*/true));
static_assert(!hasInstruction(A910, Op::vcgmax, /*isHalf=*/false));
static_assert(hasInstruction(A910, Op::vcadd, /*isHalf=*/false));
static_assert(!hasInstruction(A910, Op::vrelu, /*isHalf=*/false));
static_assert(!hasInstruction(A910, Op::vbrcb, /*isHalf=*/false));
static_assert(!hasInstruction(A910, Op::vmaxs, /*isHalf=*/true));
static_assert(!hasInstruction(A310P, Op::copy_gm_to_ubuf_pad, /*isHalf=*/true));
static_assert(!hasInstruction(A910B, Op::copy_ubuf_to_cbuf, /*isHalf=*/true));

/// Why a kernel of one statement fails.
#define EXPECT_ERROR(MESSAGE, ...)                                             \
  EXPECT_PRED2(startsWith, failure([] { launch(1, +[] { __VA_ARGS__; }); }),   \
               MESSAGE)

TEST(Ascend910Test, FourEvents) {
  EXPECT_ERROR("Flag", set_flag(PIPE_V, PIPE_MTE3, 3));
  EXPECT_ERROR("Parameter: flag PIPE_V to PIPE_MTE3 EVENT_ID4 does not exist",
               set_flag(PIPE_V, PIPE_MTE3, 4));
}

TEST(Ascend910Test, NoInfinities) {
  EXPECT_ERROR("Parameter", vector_dup(UB<float>(0), -INFINITY, 1, 1, 8));
  EXPECT_ERROR("Parameter: vmuls (PIPE_V #3), core 0: an operand is infinite",
               vector_dup(UB<float>(0), 1e30f, 1, 1, 8);
               pipe_barrier(PIPE_V);
               vmuls(UB<float>(256), UB<float>(0), 1e30f, 1, 1, 1, 8, 8);
               pipe_barrier(PIPE_V);
               vmuls(UB<float>(0), UB<float>(256), 0.0f, 1, 1, 1, 8, 8));
}
