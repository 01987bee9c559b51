//===- chimera_npu_turns.h - Cores that wait for each other -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by chimera_npu.h, which says what all of this is.
//
// The cores of a block run programs of their own. Here they take turns: each
// runs until it waits for a flag that the others have not set yet. Which of
// them runs when is always the same, and so is what an error says. Hazards do
// not depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_TURNS_H
#define CHIMERA_NPU_TURNS_H

#include "chimera_npu_copy.h"
#include "chimera_npu_machine.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {
namespace detail {

class Turns {
public:
  explicit Turns(Machine &machine) : machine(machine) {}

  /// Runs `program` of every core of a block. Throws what one of them does.
  template <class Program>
  void run(Program program) {
    std::vector<std::thread> threads;
    for (int part = 0; part < kNumParts; ++part)
      threads.emplace_back([this, part, &program] {
        current = this;
        detail::current = &machine;
        try {
          waitForTurn(part);
          program(part);
        } catch (const Stop &) {
        } catch (...) {
          failure = std::current_exception();
        }
        end(part);
      });
    for (std::thread &thread : threads)
      thread.join();
    if (failure)
      std::rethrow_exception(failure);
  }

  /// The core whose turn it is cannot go on without a flag: others can.
  void pass(int flag) {
    int part = turn;
    waitingSince[part] = machine.getNumCrossFlagsSet();
    int next = findNext(part);
    if (next < 0)
      machine.failCrossFlag(flag);
    give(next);
    waitForTurn(part);
  }

  /// Of the thread, and thus of the core that it is.
  static inline thread_local Turns *current = nullptr;

private:
  /// Ends a program because another has failed.
  struct Stop {};

  /// A core that has not ended and need not wait in vain; -1 if there is none.
  int findNext(int part) const {
    for (int distance = 1; distance <= kNumParts; ++distance) {
      int next = (part + distance) % kNumParts;
      if (!hasEnded[next] &&
          waitingSince[next] != machine.getNumCrossFlagsSet())
        return next;
    }
    return -1;
  }

  /// The one behind waits in vain if none can go on, and then says so.
  void end(int part) {
    hasEnded[part] = true;
    int next = findNext(part);
    for (int other = 0; next < 0 && other < kNumParts; ++other)
      if (!hasEnded[other])
        next = other;
    if (next >= 0)
      give(next);
  }

  void give(int next) {
    std::lock_guard<std::mutex> lock(mutex);
    turn = next;
    changed.notify_all();
  }

  void waitForTurn(int part) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return turn == part; });
    if (failure)
      throw Stop();
    machine.enterPart(part);
  }

  Machine &machine;
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  std::exception_ptr failure;
  std::array<bool, kNumParts> hasEnded = {};
  /// How often flags had been set when a core began to wait.
  std::array<int64_t, kNumParts> waitingSince = makeNever();

  static std::array<int64_t, kNumParts> makeNever() {
    std::array<int64_t, kNumParts> never = {};
    never.fill(-1);
    return never;
  }
};

} // namespace detail
} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_TURNS_H
