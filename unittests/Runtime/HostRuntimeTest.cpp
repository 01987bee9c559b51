//===- HostRuntimeTest.cpp - Parallel loops and failures in a host --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls the runtime as compiled programs do.
//
//===----------------------------------------------------------------------===//

#include "chimera_runtime.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void __kmpc_fork_call(void *location, int32_t count, void *task, ...);
int32_t __kmpc_global_thread_num(void *location);
void __kmpc_barrier(void *location, int32_t thread);
void __kmpc_for_static_init_8u(void *location, int32_t thread, int32_t schedule,
                               int32_t *last, uint64_t *lower, uint64_t *upper,
                               int64_t *stride, int64_t increment,
                               int64_t chunk);
void __kmpc_for_static_fini(void *location, int32_t thread);
}

namespace {

/// A parallel loop of `trips` iterations, and what came of it.
struct Loop {
  explicit Loop(uint64_t trips) : trips(trips), visits(trips) {}

  uint64_t trips;
  std::vector<std::atomic<int>> visits;
  std::atomic<int> last{0}, missed{0};
  /// The iteration that fails; none if it is not below `trips`.
  uint64_t failing = ~uint64_t(0);
};

constexpr int32_t staticSchedule = 34;

void runLoop(int32_t *, int32_t *, void *argument) {
  Loop &loop = **static_cast<Loop **>(argument);
  int32_t thread = __kmpc_global_thread_num(nullptr), last = 0;
  uint64_t lower = 0, upper = loop.trips - 1;
  int64_t stride = 1;
  __kmpc_for_static_init_8u(nullptr, thread, staticSchedule, &last, &lower,
                            &upper, &stride, 1, 0);
  for (uint64_t left = upper - lower + 1, i = lower; left > 0; --left, ++i) {
    if (i == loop.failing)
      chimera_fail("an iteration failed");
    ++loop.visits[i];
  }
  loop.last += last;
  __kmpc_for_static_fini(nullptr, thread);
  __kmpc_barrier(nullptr, thread);
  // Behind the barrier everything is done.
  for (std::atomic<int> &visit : loop.visits)
    loop.missed += visit == 0;
}

void forkLoop(void **arguments) {
  __kmpc_fork_call(nullptr, 1, reinterpret_cast<void *>(runLoop), arguments[0]);
}

int call(Loop &loop, int threads, std::string &message) {
  Loop *address = &loop;
  void *arguments[] = {&address};
  char text[64] = "";
  int failed = chimera_call(forkLoop, arguments, threads, text, sizeof text);
  message = text;
  return failed;
}

TEST(HostRuntimeTest, LoopsVisitEachIterationOnce) {
  for (int threads : {1, 2, 3, 7})
    for (uint64_t trips = 0; trips <= 20; ++trips) {
      Loop loop(trips);
      std::string message;
      EXPECT_EQ(call(loop, threads, message), 0);
      for (std::atomic<int> &visit : loop.visits)
        EXPECT_EQ(visit, 1) << threads << " threads, " << trips << " trips";
      EXPECT_EQ(loop.last, trips > 0);
      EXPECT_EQ(loop.missed, 0);
    }
}

TEST(HostRuntimeTest, FailuresEndTheCall) {
  for (int threads : {1, 2, 3, 7})
    for (uint64_t failing = 0; failing < 9; ++failing) {
      Loop loop(9);
      loop.failing = failing;
      std::string message;
      EXPECT_EQ(call(loop, threads, message), 1);
      EXPECT_EQ(message, "an iteration failed");
      EXPECT_EQ(loop.visits[failing], 0);
      // The next call is none the worse.
      Loop next(9);
      EXPECT_EQ(call(next, threads, message), 0);
      EXPECT_EQ(next.last, 1);
    }
}

TEST(HostRuntimeTest, FailuresOutsideOfLoops) {
  auto fail = +[](void **) { chimera_fail("a long text"); };
  char message[5];
  EXPECT_EQ(chimera_call(fail, nullptr, 2, message, sizeof message), 1);
  EXPECT_STREQ(message, "a lo");
  EXPECT_EQ(chimera_call(fail, nullptr, 2, nullptr, 0), 1);
}

TEST(HostRuntimeTest, CallsFromSeveralThreads) {
  std::vector<std::thread> callers;
  for (uint64_t caller = 0; caller < 4; ++caller)
    callers.emplace_back([caller] {
      for (int round = 0; round < 50; ++round) {
        Loop loop(10 + caller);
        // Two of the four fail.
        loop.failing = caller % 2 ? 3 : ~uint64_t(0);
        std::string message;
        EXPECT_EQ(call(loop, 2, message), caller % 2 ? 1 : 0);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(HostRuntimeTest, FailuresOutsideOfCallsEndTheProcess) {
  // The pool's threads run already.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(chimera_fail("nobody calls"), "nobody calls");
}

/// A memref of rank 2, and the unranked one that points to it.
struct Matrix {
  struct {
    float *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } memref;
  struct {
    int64_t rank;
    void *memref;
  } unranked;

  Matrix(std::vector<float> &memory, int64_t offset, int64_t rowStride,
         int64_t columnStride)
      : memref{memory.data(),
               memory.data(),
               offset,
               {3, 4},
               {rowStride, columnStride}},
        unranked{2, &memref} {}
};

TEST(HostRuntimeTest, CopiesFollowStrides) {
  std::vector<float> from(40), to(40);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = float(i);
  const int64_t strides[][2] = {{4, 1}, {1, 3}, {9, 2}};
  for (auto [fromRow, fromColumn] : strides)
    for (auto [toRow, toColumn] : strides) {
      std::fill(to.begin(), to.end(), -1.f);
      Matrix source(from, 5, fromRow, fromColumn);
      Matrix target(to, 2, toRow, toColumn);
      memrefCopy(sizeof(float), &source.unranked, &target.unranked);
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 4; ++j)
          EXPECT_EQ(to[size_t(2 + i * toRow + j * toColumn)],
                    from[size_t(5 + i * fromRow + j * fromColumn)]);
      EXPECT_EQ(std::count(to.begin(), to.end(), -1.f), 40 - 12);
    }
}

TEST(HostRuntime, TellsWhoListensWhichConstantWasRead) {
  std::vector<int64_t> heard;
  auto note = [](void *context, int64_t argument) {
    static_cast<std::vector<int64_t> *>(context)->push_back(argument);
  };
  chimera_constant_read(1);
  chimera_on_constant_read(note, &heard);
  chimera_constant_read(2);
  std::thread([] { chimera_constant_read(3); }).join();
  chimera_constant_read(4);
  chimera_on_constant_read(nullptr, nullptr);
  chimera_constant_read(5);
  EXPECT_EQ(heard, (std::vector<int64_t>{2, 4}));
}

} // namespace
