//===- ErrorsTest.cpp - What the model of an AI core refuses ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestGemm.h"

#include <type_traits>
#include <utility>

using namespace chimera_npu;
using namespace chimera_npu::test;

/// Why a kernel with two arguments of 1024 halves fails.
static std::string errorOf(void (*kernel)(Gm<half>, Gm<half>),
                           int64_t cores = 1) {
  std::vector<half> in = randomMatrix(1024, 1), out(1024);
  return failure([&] { launch(cores, kernel, gm(in), gm(out)); });
}

/// The statements make up a kernel with the arguments `in` and `out`.
#define EXPECT_ERROR(MESSAGE, ...)                                             \
  EXPECT_PRED2(startsWith,                                                     \
               errorOf(+[]([[maybe_unused]] Gm<half> in,                       \
                           [[maybe_unused]] Gm<half> out) { __VA_ARGS__; }),   \
               MESSAGE)
#define EXPECT_FINE(...)                                                       \
  EXPECT_EQ(errorOf(+[]([[maybe_unused]] Gm<half> in,                          \
                        [[maybe_unused]] Gm<half> out) { __VA_ARGS__; }),      \
            "")

TEST(ErrorsTest, Capacity) {
  EXPECT_FINE(copy_gm_to_ubuf(UB<half>(253952 - 64), in, 1, 2, 0, 0));
  EXPECT_ERROR("Capacity: copy_gm_to_ubuf (PIPE_MTE2 #1), core 0: UB bytes "
               "[253920, 253984) of 253952",
               copy_gm_to_ubuf(UB<half>(253952 - 32), in, 1, 2, 0, 0));
  EXPECT_ERROR("Capacity", copy_gm_to_cbuf(L1<half>(-32), in, 1, 1, 0, 0));
  EXPECT_ERROR("Capacity", mad(L0C<float>(262144 - 1024), L0A<half>(0),
                               L0B<half>(0), 16, 16, 17, true));
}

TEST(ErrorsTest, Alignment) {
  EXPECT_ERROR("Alignment: copy_gm_to_ubuf (PIPE_MTE2 #1), core 0: UB address "
               "16 is not a multiple of 32",
               copy_gm_to_ubuf(UB<half>(16), in, 1, 2, 0, 0));
  EXPECT_ERROR("Alignment",
               load_cbuf_to_ca(L0A<half>(256), L1<half>(0), 0, 1, 0, false));
  EXPECT_ERROR("Alignment", mad(L0C<float>(512), L0A<half>(0), L0B<half>(0), 16,
                                16, 16, true));
  EXPECT_ERROR("Alignment", vcgmax(UB<half>(8), UB<half>(0), 1, 1, 1, 8));
}

TEST(ErrorsTest, OutOfBounds) {
  EXPECT_ERROR("OutOfBounds: copy_gm_to_ubuf (PIPE_MTE2 #1), core 0: GM bytes "
               "[2050, 2082) of an argument of 2048",
               copy_gm_to_ubuf(UB<half>(0), in + 1025, 1, 1, 0, 0));
  EXPECT_ERROR("OutOfBounds",
               copy_gm_to_ubuf(UB<half>(0), in + -1, 1, 1, 0, 0));
  // The last block may reach beyond the end, to bytes that nobody knows; those
  // that are written may not.
  EXPECT_FINE(copy_gm_to_ubuf(UB<half>(0), in + 1009, 1, 1, 0, 0));
  EXPECT_ERROR(
      "Uninitialized", copy_gm_to_ubuf(UB<half>(0), in + 1009, 1, 1, 0, 0);
      pipe_barrier(PIPE_ALL); copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0));
  EXPECT_ERROR("OutOfBounds", copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
               pipe_barrier(PIPE_ALL);
               copy_ubuf_to_gm(out + 1009, UB<half>(0), 1, 1, 0, 0));
  EXPECT_ERROR("OutOfBounds", static half elsewhere[16]; copy_gm_to_ubuf(
                   UB<half>(0), Gm<half>(elsewhere, 16), 1, 1, 0, 0));
}

TEST(ErrorsTest, Parameter) {
  EXPECT_ERROR("Parameter: vadd (PIPE_V #1), core 0: repeat is 256, not in [1, "
               "255]",
               UB<half> x(0);
               vadd(x, x, x, 256, 1, 1, 1, 8, 8, 8));
  EXPECT_ERROR("Parameter", UB<half> x(0); vabs(x, x, 0, 1, 1, 8, 8));
  EXPECT_ERROR("Parameter", UB<half> x(0); vabs(x, x, 1, 0, 1, 8, 8));
  EXPECT_ERROR("Parameter", UB<half> x(0); vabs(x, x, 1, 1, 1, 256, 8));
  EXPECT_ERROR("Parameter",
               load_cbuf_to_ca(L0A<half>(0), L1<half>(0), 0, 256, 1, false));
  EXPECT_ERROR("Parameter", copy_gm_to_ubuf(UB<half>(0), in, 4096, 1, 0, 0));
  EXPECT_ERROR("Parameter", copy_gm_to_ubuf(UB<half>(0), in, 1, 0, 0, 0));
  EXPECT_ERROR("Parameter", copy_gm_to_ubuf(UB<half>(0), in, 1, 1, -1, 0));
  EXPECT_ERROR("Parameter", pipe_barrier(PIPE_S));
  EXPECT_ERROR("Parameter", set_vector_mask(0, 0));
  EXPECT_ERROR("Parameter", vcgmax(UB<half>(0), UB<half>(512), 2, 0, 1, 8));
  // No flag orders the loads of operands after what empties L0C.
  EXPECT_ERROR("Parameter", set_flag(PIPE_FIX, PIPE_MTE1, 0));
  EXPECT_ERROR("Parameter",
               mad(L0C<float>(0), L0A<half>(0), L0B<half>(0), 0, 16, 16, true));
  EXPECT_ERROR("Parameter", copy_matrix_cc_to_ubuf(UB<half>(0), L0C<float>(0),
                                                   1, 1, 0, 0, CRMODE_NONE));
  EXPECT_ERROR("Parameter", set_flag(PIPE_V, PIPE_M, 8));
  EXPECT_ERROR("Parameter", set_flag(PIPE_V, PIPE_V, 0));
  EXPECT_ERROR("Parameter", set_flag(PIPE_ALL, PIPE_V, 0));
}

TEST(ErrorsTest, Hazard) {
  EXPECT_ERROR("Hazard: copy_ubuf_to_gm (PIPE_MTE3 #1), core 0: reads what "
               "copy_gm_to_ubuf (PIPE_MTE2 #1) wrote with nothing to order "
               "them: UB bytes [32, 64)",
               copy_gm_to_ubuf(UB<half>(32), in, 1, 2, 0, 0);
               copy_ubuf_to_gm(out, UB<half>(32), 1, 1, 0, 0));
  // Write after read, and after write.
  EXPECT_ERROR("Hazard: copy_gm_to_ubuf (PIPE_MTE2 #1), core 0: writes over "
               "what vabs (PIPE_V #1) reads",
               vabs(UB<half>(0), UB<half>(512), 1, 1, 1, 8, 8);
               copy_gm_to_ubuf(UB<half>(512), in, 1, 1, 0, 0));
  EXPECT_ERROR("Hazard: copy_gm_to_ubuf (PIPE_MTE2 #1), core 0: writes over "
               "what vabs (PIPE_V #1) wrote",
               vabs(UB<half>(0), UB<half>(512), 1, 1, 1, 8, 8);
               copy_gm_to_ubuf(UB<half>(224), in, 1, 1, 0, 0));
  EXPECT_FINE(vabs(UB<half>(0), UB<half>(512), 1, 1, 1, 8, 8);
              copy_gm_to_ubuf(UB<half>(256), in, 1, 1, 0, 0));
  // A flag orders what came before it only.
  EXPECT_ERROR("Hazard", copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
               set_flag(PIPE_MTE2, PIPE_MTE3, 0);
               copy_gm_to_ubuf(UB<half>(32), in, 1, 1, 0, 0);
               wait_flag(PIPE_MTE2, PIPE_MTE3, 0);
               copy_ubuf_to_gm(out, UB<half>(0), 1, 2, 0, 0));
  // Through a third pipe, and through all.
  EXPECT_FINE(copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
              set_flag(PIPE_MTE2, PIPE_S, 0); wait_flag(PIPE_MTE2, PIPE_S, 0);
              set_flag(PIPE_S, PIPE_MTE3, 0); wait_flag(PIPE_S, PIPE_MTE3, 0);
              copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0);
              pipe_barrier(PIPE_ALL);
              copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0));
  EXPECT_ERROR("Hazard", copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
               pipe_barrier(PIPE_MTE2); pipe_barrier(PIPE_MTE3);
               copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0));
  // What is overwritten in global memory, and what is read back from it.
  EXPECT_ERROR("Hazard: copy_ubuf_to_gm (PIPE_MTE3 #1), core 0: writes over "
               "what copy_gm_to_ubuf (PIPE_MTE2 #1) reads",
               vector_dup(UB<half>(256), half(1), 1, 1, 8);
               set_flag(PIPE_V, PIPE_MTE3, 0); wait_flag(PIPE_V, PIPE_MTE3, 0);
               copy_gm_to_ubuf(UB<half>(0), out, 1, 1, 0, 0);
               copy_ubuf_to_gm(out, UB<half>(256), 1, 1, 0, 0));
  EXPECT_ERROR("Hazard: copy_gm_to_ubuf (PIPE_MTE2 #2), core 0: reads what "
               "copy_ubuf_to_gm (PIPE_MTE3 #1) wrote with nothing to order "
               "them: GM bytes [64, 66)",
               copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
               pipe_barrier(PIPE_ALL);
               copy_ubuf_to_gm(out + 32, UB<half>(0), 1, 1, 0, 0);
               copy_gm_to_ubuf(UB<half>(32), out, 1, 3, 0, 0));
}

TEST(ErrorsTest, OrderWithinAPipe) {
  EXPECT_ERROR("Hazard: vabs (PIPE_V #2), core 0: reads what vector_dup "
               "(PIPE_V #1) wrote with nothing to order them: UB bytes [0, 32)",
               vector_dup(UB<half>(0), half(1), 1, 1, 8);
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  EXPECT_ERROR("Hazard: vector_dup (PIPE_V #2), core 0: writes over what vabs "
               "(PIPE_V #1) reads",
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8);
               vector_dup(UB<half>(0), half(1), 1, 1, 8));
  EXPECT_ERROR("Hazard: vabs (PIPE_V #2), core 0: writes over what vector_dup "
               "(PIPE_V #1) wrote",
               vector_dup(UB<half>(512), half(1), 1, 1, 8);
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  EXPECT_FINE(vector_dup(UB<half>(0), half(1), 1, 1, 8); pipe_barrier(PIPE_V);
              vabs(UB<half>(0), UB<half>(0), 1, 1, 1, 8, 8));
  // A barrier of another pipe, or one that comes too early.
  EXPECT_ERROR("Hazard", vector_dup(UB<half>(0), half(1), 1, 1, 8);
               pipe_barrier(PIPE_M);
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  EXPECT_ERROR("Hazard", pipe_barrier(PIPE_V);
               vector_dup(UB<half>(0), half(1), 1, 1, 8);
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  // A flag says that all is done to who waits for it, and to whom that is
  // passed on.
  EXPECT_ERROR("Hazard", vector_dup(UB<half>(0), half(1), 1, 1, 8);
               set_flag(PIPE_V, PIPE_S, 0); wait_flag(PIPE_V, PIPE_S, 0);
               vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  EXPECT_FINE(vector_dup(UB<half>(0), half(1), 1, 1, 8);
              set_flag(PIPE_V, PIPE_S, 0); wait_flag(PIPE_V, PIPE_S, 0);
              set_flag(PIPE_S, PIPE_V, 0); wait_flag(PIPE_S, PIPE_V, 0);
              vabs(UB<half>(512), UB<half>(0), 1, 1, 1, 8, 8));
  // A repeat that reads what the one before it wrote, and a sum, which may.
  EXPECT_ERROR("Hazard: vabs (PIPE_V #1), core 0: a repeat reads what an "
               "earlier one wrote: UB bytes [256, 288)",
               vabs(UB<half>(256), UB<half>(0), 2, 1, 1, 8, 8));
  EXPECT_FINE(
      vadd(UB<half>(0), UB<half>(512), UB<half>(0), 3, 1, 1, 1, 0, 8, 0));
  EXPECT_ERROR("Hazard", vadd(UB<half>(0), UB<half>(0), UB<half>(512), 3, 1, 1,
                              1, 0, 0, 8));
  EXPECT_ERROR("Hazard: copy_gm_to_ubuf (PIPE_MTE2 #2)",
               copy_gm_to_ubuf(UB<half>(0), in, 1, 2, 0, 0);
               copy_gm_to_ubuf(UB<half>(32), in, 1, 1, 0, 0));
}

/// Two products with the same sums, of 16 rows and `n` columns.
static void addTwice(int64_t n, bool separated) {
  L1<half> tile(0);
  L0A<half> lhs(0);
  L0B<half> rhs(0);
  vector_dup(UB<half>(0), half(1), 2 * (n / 16), 1, 8);
  pipe_barrier(PIPE_ALL);
  copy_ubuf_to_cbuf(tile, UB<half>(0), 1, n, 0, 0);
  pipe_barrier(PIPE_ALL);
  load_cbuf_to_ca(lhs, tile, 0, 1, 1, false);
  load_cbuf_to_cb(rhs, tile, 0, n / 16, 1, false);
  pipe_barrier(PIPE_ALL);
  mad(L0C<float>(0), lhs, rhs, 16, 16, n, true);
  if (separated)
    pipe_barrier(PIPE_M);
  mad(L0C<float>(0), lhs, rhs, 16, 16, n, false);
}

// Ten fractals take the cube unit long enough to come back to the first.
TEST(ErrorsTest, OrderOfProducts) {
  EXPECT_ERROR("Hazard: mad (PIPE_M #2)", addTwice(144, false));
  EXPECT_FINE(addTwice(144, true));
  EXPECT_FINE(addTwice(160, false));
}

TEST(ErrorsTest, Flag) {
  EXPECT_ERROR("Flag: waits for flag PIPE_V to PIPE_MTE3 EVENT_ID3",
               wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID3));
  EXPECT_ERROR("Flag: flag PIPE_V to PIPE_MTE3 EVENT_ID0 is set twice",
               set_flag(PIPE_V, PIPE_MTE3, 0);
               set_flag(PIPE_V, PIPE_MTE3, 0));
  EXPECT_ERROR("Flag: flag PIPE_V to PIPE_MTE3 EVENT_ID0 is still set",
               set_flag(PIPE_V, PIPE_MTE3, 0));
}

TEST(ErrorsTest, Uninitialized) {
  EXPECT_ERROR("Uninitialized: copy_ubuf_to_gm (PIPE_MTE3 #1)",
               copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0));
  // A copy of nothing is nothing; a result is a result.
  EXPECT_ERROR(
      "Uninitialized", copy_ubuf_to_ubuf(UB<half>(32), UB<half>(0), 1, 1, 0, 0);
      pipe_barrier(PIPE_ALL); copy_ubuf_to_gm(out, UB<half>(32), 1, 1, 0, 0));
  EXPECT_FINE(vabs(UB<half>(0), UB<half>(256), 1, 1, 1, 8, 8);
              pipe_barrier(PIPE_ALL);
              copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0));
  // A lane that was masked out.
  EXPECT_ERROR("Uninitialized", set_vector_mask(0, 0x7fff);
               vector_dup(UB<half>(0), half(1), 1, 1, 8);
               pipe_barrier(PIPE_ALL);
               copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0));
  EXPECT_ERROR("Uninitialized: mad", mad(L0C<float>(0), L0A<half>(0),
                                         L0B<half>(0), 16, 16, 16, false));
}

TEST(ErrorsTest, Launch) {
  EXPECT_PRED2(startsWith, failure([] { pipe_barrier(PIPE_ALL); }), "Launch");
  EXPECT_PRED2(startsWith, errorOf(+[](Gm<half>, Gm<half>) {}, 0), "Launch");
  EXPECT_ERROR("Launch", launch(1, +[] {}));
  // An error leaves nothing behind.
  EXPECT_FINE(pipe_barrier(PIPE_ALL));
}

TEST(ErrorsTest, Cores) {
  // Rows of 16 halves of 17, one to a core, have bytes of their own in blocks
  // that they share.
  auto rows = +[](Gm<half> in, Gm<half> out) {
    copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out + block_idx() * 17, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_EQ(errorOf(rows, 4), "");
  auto overlapping = +[](Gm<half> in, Gm<half> out) {
    copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out + block_idx() * 15, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_PRED2(startsWith, errorOf(overlapping, 2),
               "Hazard: copy_ubuf_to_gm (PIPE_MTE3 #1), core 1: writes "
               "what core 0 writes: GM bytes [30, 32)");
  // Each core reads what the one before it writes; and the one behind it.
  auto readBefore = +[](Gm<half> in, Gm<half> out) {
    Gm<half> from = block_idx() == 0 ? in : out + (block_idx() - 1) * 16;
    copy_gm_to_ubuf(UB<half>(0), from, 1, 1, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out + block_idx() * 16, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_PRED2(startsWith, errorOf(readBefore, 2),
               "Hazard: copy_gm_to_ubuf (PIPE_MTE2 #1), core 1: reads what "
               "core 0 writes");
  auto readBehind = +[](Gm<half>, Gm<half> out) {
    copy_gm_to_ubuf(UB<half>(0), out + (block_idx() + 1) * 16, 1, 1, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out + block_idx() * 16, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_PRED2(startsWith, errorOf(readBehind, 2),
               "Hazard: copy_ubuf_to_gm (PIPE_MTE3 #1), core 1: writes what "
               "core 0 reads");
}

TEST(ErrorsTest, CoresStartAfresh) {
  // What one core left behind is not there for the next.
  auto kernel = +[](Gm<half> in, Gm<half> out) {
    if (block_idx() == 0)
      copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
    pipe_barrier(PIPE_ALL);
    copy_ubuf_to_gm(out + block_idx() * 16, UB<half>(0), 1, 1, 0, 0);
  };
  EXPECT_EQ(errorOf(kernel, 1), "");
  EXPECT_PRED2(startsWith, errorOf(kernel, 2), "Uninitialized");
}

TEST(ErrorsTest, SameArgumentTwice) {
  std::vector<half> both = randomMatrix(64, 1);
  auto kernel = +[](Gm<half> in, Gm<half> out) {
    copy_gm_to_ubuf(UB<half>(0), in, 1, 1, 0, 0);
    set_flag(PIPE_MTE2, PIPE_MTE3, 0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, 0);
    copy_ubuf_to_gm(out, UB<half>(0), 1, 1, 0, 0);
    copy_gm_to_ubuf(UB<half>(32), in, 1, 1, 0, 0);
  };
  Gm<half> first(both.data(), 48), second(both.data() + 8, 48);
  EXPECT_PRED2(startsWith, failure([&] { launch(1, kernel, first, second); }),
               "Hazard");
  Gm<half> apart(both.data() + 16, 48);
  EXPECT_EQ(
      failure([&] { launch(1, kernel, Gm<half>(both.data(), 16), apart); }),
      "");
}

//===----------------------------------------------------------------------===//
// Routes that do not exist
//===----------------------------------------------------------------------===//

#define DETECT(CAN, NAME, ...)                                                 \
  template <class D, class S, class = void>                                    \
  struct CAN : std::false_type {};                                             \
  template <class D, class S>                                                  \
  struct CAN<                                                                  \
      D, S, decltype(NAME(std::declval<D>(), std::declval<S>(), __VA_ARGS__))> \
      : std::true_type {};
DETECT(CanCopyGmToCbuf, copy_gm_to_cbuf, 1, 1, 0, 0)
DETECT(CanCopyUbufToCbuf, copy_ubuf_to_cbuf, 1, 1, 0, 0)
DETECT(CanCopyUbufToUbuf, copy_ubuf_to_ubuf, 1, 1, 0, 0)
DETECT(CanLoadCbufToCa, load_cbuf_to_ca, 0, 1, 0, false)
DETECT(CanDrainToUbuf, copy_matrix_cc_to_ubuf, 1, 1, 0, 0, CRMODE_NONE)
DETECT(CanDrainToCbuf, copy_matrix_cc_to_cbuf, 16, 16, 16, 16, CRMODE_NONE)
DETECT(CanDrainToGm, copy_matrix_cc_to_gm, 16, 16, 16, 16, CRMODE_NONE)

static_assert(CanCopyGmToCbuf<L1<half>, Gm<half>>::value);
static_assert(!CanCopyGmToCbuf<L1<float>, Gm<half>>::value);
static_assert(!CanCopyGmToCbuf<L0A<half>, Gm<half>>::value);
static_assert(CanCopyUbufToCbuf<L1<half>, UB<half>>::value);
static_assert(!CanCopyUbufToCbuf<L0A<half>, UB<half>>::value);
static_assert(!CanCopyUbufToUbuf<UB<half>, L1<half>>::value);
static_assert(CanLoadCbufToCa<L0A<half>, L1<half>>::value);
static_assert(!CanLoadCbufToCa<L0A<half>, UB<half>>::value);
static_assert(!CanLoadCbufToCa<L0B<half>, L1<half>>::value);
static_assert(CanDrainToUbuf<UB<half>, L0C<float>>::value);
static_assert(!CanDrainToUbuf<L1<half>, L0C<float>>::value);
static_assert(!CanDrainToCbuf<L1<half>, L0C<float>>::value);
static_assert(!CanDrainToGm<Gm<half>, L0C<float>>::value);
