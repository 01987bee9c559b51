//===- Reach.h - What a cache has to hold for a schedule --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model counts what moves if the schedule decides what stays. A cache keeps
// what was used last. The two agree if the cache is large enough to keep what
// the schedule keeps, in spite of the dead data in between, and too small to
// keep more. Both are questions of how many bytes are touched from one use of a
// line to the next.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_BENCHMARKS_VALIDATION_REACH_H
#define CHIMERA_BENCHMARKS_VALIDATION_REACH_H

#include "Chimera/Model/Schedule.h"

namespace chimera::validation {

struct Reach {
  /// Bytes that a cache has to hold to keep what the schedule keeps.
  int64_t neededBytes = 0;
  /// Bytes from which on it keeps more.
  int64_t surplusBytes = 0;
  /// The buffer of the intermediate.
  int64_t intermediateBytes = 0;
};

/// For a chain of two operators and one level.
Reach reachOf(const model::ChainProblem &problem,
              const model::Schedule &schedule);

} // namespace chimera::validation

#endif // CHIMERA_BENCHMARKS_VALIDATION_REACH_H
