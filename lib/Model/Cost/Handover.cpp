//===- Handover.cpp - Lines that change the core --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core that writes a line which another core has read takes the line back
// first. A pass that copies what a chain reads is shared out among the threads
// in the order of memory: if a thread reads anything but the share it has
// written, lines change hands in every run of the program, and the pass has
// nothing to compute while it waits for them.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"
#include "Problem/Structure.h"
#include "Schedule/LoopTree.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace chimera::model;

/// The leading parallel loops whose iterations different threads run at the
/// same time, and how often each of them runs.
SmallVector<CostModel::ThreadLoop, 4>
CostModel::threadLoopsOf(const Schedule &schedule) const {
  std::shared_ptr<const KnownTree> tree =
      findTree(structure, schedule, schedule.levels.size() - 1);
  SmallVector<int64_t, 6> size;
  for (const Loop &loop : problem.loops)
    size.push_back(loop.extent);
  SmallVector<ThreadLoop, 4> loops;
  int64_t count = 1;
  for (const NestLoop &loop :
       ArrayRef(tree->nest.loops).take_front(schedule.numParallel)) {
    if (count >= threads)
      break;
    int64_t trips = divideCeilSigned(size[loop.loop], loop.tile);
    loops.push_back({loop.loop, trips});
    count *= trips;
    size[loop.loop] = loop.tile;
  }
  return loops;
}

double CostModel::foreignShare(const Access &access,
                               ArrayRef<ThreadLoop> loops) const {
  SmallVector<unsigned, 4> order = orderInMemory(problem.tensors[access]);
  // Groups of threads that use parts of their own, and parts in the order of
  // memory, which the threads of a group share out among them.
  int64_t parts = 1, ordered = 1;
  auto *dim = order.begin();
  for (const ThreadLoop &loop : loops) {
    if (!access.hasLoop(loop.loop))
      continue;
    bool isNext = dim != order.end() && access.indices[*dim].hasLoop(loop.loop);
    if (isNext && ordered == parts)
      ordered *= loop.trips;
    parts *= loop.trips;
    if (isNext)
      ++dim;
  }
  auto most = static_cast<double>(threads);
  double own = std::min(1.0, static_cast<double>(ordered) / most);
  return (1 - own) / std::min(most, static_cast<double>(parts));
}

std::optional<unsigned> CostModel::levelOfPasses() const {
  if (machine.startsTasksInOrder() || machine.overheads.handoverSeconds == 0 ||
      none_of(problem.tensors,
              [](const Tensor &tensor) { return tensor.isMadeByPass; }))
    return std::nullopt;
  const auto *own = find_if(machine.levels, [&](const MemoryLevel &level) {
    return level.ways != 0 && level.sharers < threads;
  });
  if (own == machine.levels.end())
    return std::nullopt;
  return own - machine.levels.begin();
}

/// Of a tensor that is more than the caches hold, no line is there any more
/// when the pass comes to it.
double CostModel::handoverSeconds(const Schedule &schedule) const {
  std::optional<unsigned> own = levelOfPasses();
  if (!own)
    return 0;
  const MemoryLevel &level = machine.levels[*own];
  int64_t most = *own > 0 ? machine.levels[*own - 1].capacityBytes
                          : threads * level.capacityBytes;
  SmallVector<ThreadLoop, 4> loops = threadLoopsOf(schedule);
  SmallVector<TensorId, 6> counted;
  double lines = 0;
  auto count = [&](const Access &access) {
    const Tensor &tensor = problem.tensors[access];
    int64_t bytes = problem.sizeOf(access) * tensor.elementBytes;
    if (!tensor.isMadeByPass || is_contained(counted, access.tensor) ||
        bytes > most)
      return;
    counted.push_back(access.tensor);
    lines += foreignShare(access, loops) * bytes / level.lineBytes;
  };
  for (const Operator &op : problem.operators) {
    for_each(op.inputs, count);
    for_each(op.epilogue, count);
  }
  return lines * machine.overheads.handoverSeconds;
}
