//===- MemoryPass.cpp - Time of work that waits for memory ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MemoryPass.h"

#include "Cost/CostModel.h"

#include "Chimera/Model/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace chimera::model;

/// Memory at the end of the heap that an allocator keeps however small its
/// buffers are. glibc begins with 128 KiB and goes on with twice the largest
/// buffer that was ever freed: 3 MiB in a process that has compiled a program
/// or loaded a matrix.
static constexpr double keptBytes = 3 << 20;
/// What an allocator adds to its heap beyond what it is asked for (glibc:
/// M_TOP_PAD).
static constexpr double padBytes = 128 << 10;

double chimera::model::freshBytes(ArrayRef<double> buffers,
                                  const Machine &machine) {
  if (machine.overheads.freshBytesPerSecond == 0 || buffers.empty())
    return 0;
  SmallVector<double> sorted(buffers);
  sort(sorted, std::greater<>());
  auto reused = static_cast<double>(machine.overheads.reusedBytes);
  double mapped = 0, joined = 0, others = 0, largest = 0;
  for (double bytes : sorted) {
    if (bytes >= reused) {
      mapped += bytes;
    } else if (joined + bytes < reused) {
      joined += bytes;
    } else {
      others += bytes;
      largest = std::max(largest, bytes);
    }
  }
  largest = std::max(largest, joined);
  bool isReturned =
      joined + others > std::max(2 * largest - padBytes, keptBytes);
  return mapped + (isReturned ? joined + others : 0);
}

static double secondsOnThreads(const MemoryPass &pass, const Machine &machine,
                               int64_t threads) {
  auto workers = static_cast<double>(std::max<int64_t>(1, threads));
  Stages stages;
  stages.add(pass.cycles / workers / machine.unit.cyclesPerSecond);
  for (const MemoryLevel &level : machine.levels) {
    double instances = std::max(1.0, workers / level.sharers);
    if (pass.readBytes + pass.writtenBytes <= instances * level.usableBytes())
      continue;
    double allocated = level.ways == 0 ? 0 : pass.writtenBytes;
    stages.add((pass.readBytes + pass.writtenBytes + allocated) /
               bandwidthInto(level, std::max<int64_t>(1, threads)));
  }
  const Overheads &overheads = machine.overheads;
  double seconds = stages.total() + machine.launchSeconds;
  if (threads > 1)
    seconds += overheads.regionSeconds;
  if (overheads.freshBytesPerSecond > 0)
    seconds += pass.freshBytes / (workers * overheads.freshBytesPerSecond);
  return seconds;
}

double chimera::model::secondsOf(const MemoryPass &pass, const Machine &machine,
                                 int64_t threads) {
  double seconds = secondsOnThreads(pass, machine, threads);
  // A short pass stays on one thread (isWorthThreads).
  return threads > 1 ? std::min(seconds, secondsOnThreads(pass, machine, 1))
                     : seconds;
}
