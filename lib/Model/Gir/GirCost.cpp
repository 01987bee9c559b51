//===- GirCost.cpp - Bytes and seconds of a Gir ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All tasks in closed form: how often a node runs, on slices of which sizes,
// and how many lines they touch. Sizes differ at the edge of two loops at most,
// and where a line starts is a matter of remainders.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirCost.h"

#include "Cost/CostModel.h"
#include "Gir/GirWalk.h"

#include "Chimera/Model/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <numeric>

using namespace llvm;
using namespace chimera::model;

namespace {

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// Lines of `unitsPerLine` units that a slice touches which starts `start`
/// units behind a boundary. A unit divides elements and lines.
int64_t countLines(int64_t start, int64_t num, int64_t width, int64_t stride,
                   int64_t unitsPerLine) {
  auto linesOfRun = [&](int64_t first, int64_t length) {
    return (first % unitsPerLine + length - 1) / unitsPerLine + 1;
  };
  // No line lies between two runs, so all are one.
  if (num == 1 || stride - width < unitsPerLine)
    return linesOfRun(start, (num - 1) * stride + width);
  int64_t period = unitsPerLine / std::gcd(unitsPerLine, stride), lines = 0;
  for (int64_t run : seq(std::min(num, period)))
    lines += (num - run + period - 1) / period *
             linesOfRun(start + run * stride, width);
  return lines;
}

/// Sizes that slices have in some tasks, and which coordinates of the loops
/// that cut them these tasks have.
struct Part {
  int64_t num = 1, width = 1;
  /// By position in the stage: first coordinate and how many there are.
  SmallVector<std::pair<int64_t, int64_t>, 4> ranges;
};

/// One or two parts of the coordinates of a loop: those with whole tiles, and
/// the last one if its tile is smaller.
SmallVector<std::pair<int64_t, int64_t>, 2> partsOf(const GirLoop &loop) {
  int64_t count = loop.count();
  if (loop.extent % loop.tile == 0)
    return {{0, count}};
  if (count == 1)
    return {{0, 1}};
  return {{0, count - 1}, {count - 1, 1}};
}

/// Counts what the nodes of one depth of a stage do on all units.
class DepthCounter {
public:
  DepthCounter(const Gir &gir, const GirStage &stage, unsigned depth);

  /// How often the nodes run.
  int64_t executions() const { return regular + repeated(); }
  /// The sum of `measure(num, width)` over all executions.
  template <typename Measure>
  double sum(const GirSlice &slice, Measure measure) const {
    double total = 0;
    for (const Part &part : parts(slice)) {
      double times = 1;
      for (auto [first, count] : part.ranges)
        times *= static_cast<double>(count);
      total += times * measure(part.num, part.width);
    }
    for (const auto &[coordinates, times] : again)
      total += static_cast<double>(times) *
               measure(sizeOf(gir, stage, slice.num, coordinates),
                       sizeOf(gir, stage, slice.width, coordinates));
    return total;
  }
  int64_t bytes(const GirSlice &slice) const {
    return static_cast<int64_t>(sum(slice, [&](int64_t num, int64_t width) {
      return static_cast<double>(num * width * slice.elementBytes);
    }));
  }
  /// Bytes of all lines that `slice` touches, execution by execution.
  int64_t lineBytes(const GirSlice &slice, int64_t bytesPerLine) const;

private:
  int64_t repeated() const {
    int64_t times = 0;
    for (const auto &[coordinates, count] : again)
      times += count;
    return times;
  }
  SmallVector<Part, 4> parts(const GirSlice &slice) const;

  const Gir &gir;
  const GirStage &stage;
  unsigned depth;
  /// Executions if one unit had all tasks.
  int64_t regular = 1;
  /// Where units begin in the middle of what another one has begun.
  std::vector<std::pair<SmallVector<int64_t, 4>, int64_t>> again;
};

DepthCounter::DepthCounter(const Gir &gir, const GirStage &stage,
                           unsigned depth)
    : gir(gir), stage(stage), depth(depth) {
  int64_t inner = 1;
  for (auto [position, loop] : enumerate(stage.tasks))
    (position < depth ? regular : inner) *= gir.loops[loop].count();
  if (inner == 1)
    return;
  int64_t tasks = regular * inner, perUnit = gir.tasksPerUnit(stage);
  if (depth == 0) {
    if (int64_t others = (tasks - 1) / perUnit)
      again.push_back({SmallVector<int64_t, 4>(stage.tasks.size(), 0), others});
    return;
  }
  for (int64_t task = perUnit; task < tasks; task += perUnit) {
    if (task % inner == 0)
      continue;
    SmallVector<int64_t, 4> coordinates(stage.tasks.size(), 0);
    int64_t prefix = task / inner;
    for (size_t position = depth; position-- > 0;) {
      int64_t count = gir.loops[stage.tasks[position]].count();
      coordinates[position] = prefix % count;
      prefix /= count;
    }
    again.push_back({coordinates, 1});
  }
}

SmallVector<Part, 4> DepthCounter::parts(const GirSlice &slice) const {
  Part all;
  all.num = slice.num.size;
  all.width = slice.width.size;
  for (LoopId loop : ArrayRef(stage.tasks).take_front(depth))
    all.ranges.push_back({0, gir.loops[loop].count()});
  SmallVector<Part, 4> parts = {all};
  for (auto extent : {&GirSlice::num, &GirSlice::width}) {
    if (!(slice.*extent).loop)
      continue;
    const GirLoop &loop = gir.loops[*(slice.*extent).loop];
    unsigned position = positionOf(stage, *(slice.*extent).loop);
    SmallVector<Part, 4> cut;
    for (const Part &part : parts)
      for (auto range : partsOf(loop)) {
        Part piece = part;
        piece.ranges[position] = range;
        (extent == &GirSlice::num ? piece.num : piece.width) =
            loop.sizeAt(range.first);
        cut.push_back(piece);
      }
    parts = std::move(cut);
  }
  return parts;
}

int64_t DepthCounter::lineBytes(const GirSlice &slice,
                                int64_t bytesPerLine) const {
  int64_t unit = std::gcd(bytesPerLine, slice.elementBytes);
  int64_t unitsPerLine = bytesPerLine / unit;
  int64_t unitsPerElement = slice.elementBytes / unit;
  auto linesAt = [&](int64_t start, int64_t num, int64_t width) {
    return countLines(start, num, width * unitsPerElement,
                      slice.stride * unitsPerElement, unitsPerLine);
  };
  int64_t lines = 0;
  for (const Part &part : parts(slice)) {
    // How many executions start how far behind a boundary.
    SmallVector<int64_t, 64> starts(unitsPerLine, 0);
    starts[slice.offset * unitsPerElement % unitsPerLine] = 1;
    for (auto [position, range] : enumerate(part.ranges)) {
      auto [first, count] = range;
      LoopId loop = stage.tasks[position];
      int64_t step = 0;
      for (const Term &term : slice.terms)
        if (term.loop == loop)
          step = term.factor * unitsPerElement % unitsPerLine;
      int64_t period = unitsPerLine / std::gcd(unitsPerLine, step);
      SmallVector<int64_t, 64> moved(unitsPerLine, 0);
      for (int64_t ahead : seq(std::min(count, period))) {
        int64_t times = (count - ahead + period - 1) / period;
        int64_t shift = (first + ahead) * step % unitsPerLine;
        for (int64_t start : seq(unitsPerLine))
          moved[(start + shift) % unitsPerLine] += times * starts[start];
      }
      starts = std::move(moved);
    }
    for (int64_t start : seq(unitsPerLine))
      if (starts[start])
        lines += starts[start] * linesAt(start, part.num, part.width);
  }
  for (const auto &[coordinates, times] : again)
    lines += times * linesAt(baseOf(gir, stage, slice, coordinates) *
                                 unitsPerElement % unitsPerLine,
                             sizeOf(gir, stage, slice.num, coordinates),
                             sizeOf(gir, stage, slice.width, coordinates));
  return lines * bytesPerLine;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Adds up the nodes of one stage.
class StageCounter {
public:
  StageCounter(const Gir &gir, const GirStage &stage, const Machine &machine)
      : gir(gir), stage(stage), machine(machine),
        traffic(machine.levels.size()), moved(gir.tensors.size(), 0) {}

  void run();

  const Gir &gir;
  const GirStage &stage;
  const Machine &machine;
  SmallVector<GirTraffic, 4> traffic;
  /// By tensor, bytes across the outermost boundary.
  SmallVector<int64_t, 0> moved;
  double cycles = 0;
  int64_t passes = 0;
  GirScope scope = GirScope::Lane;
  /// What short runs take beyond their share, in bytes at full bandwidth.
  double shortRunBytes = 0;

private:
  void runPass(ArrayRef<GirNode> nodes);
  void moveTensor(const DepthCounter &counter, const GirNode &node);
  void moveValue(const DepthCounter &counter, SliceId value, bool isWritten);
  double vectorsOf(const DepthCounter &counter, SliceId slice) const {
    return counter.sum(gir.slices[slice], [&](int64_t num, int64_t width) {
      return static_cast<double>(num * divideCeil(width, lanes()));
    });
  }
  int64_t lanes() const { return std::max<int64_t>(1, machine.unit.lanes); }
};

void StageCounter::moveTensor(const DepthCounter &counter,
                              const GirNode &node) {
  bool isStore = gir.isStore(node);
  const GirSlice &slice = gir.slices[isStore ? node.output : node.inputs[0]];
  const GirTensor &tensor = gir.tensors[*slice.tensor];
  int64_t lineBytes = 0, bytes = 0;
  for (auto [level, memory] : enumerate(machine.levels)) {
    if (level < tensor.level)
      continue;
    if (lineBytes != memory.lineBytes) {
      lineBytes = memory.lineBytes;
      bytes = counter.lineBytes(slice, lineBytes);
    }
    GirTraffic &here = traffic[level];
    if (!isStore) {
      here.read += bytes;
    } else {
      here.written += bytes;
      if (memory.ways > 0 && !node.bypasses)
        here.allocated += bytes;
    }
    if (level == 0) {
      moved[*slice.tensor] += bytes;
      int64_t run = slice.width.size * slice.elementBytes;
      if (slice.num.size > 1 && slice.stride > slice.width.size)
        shortRunBytes += bytes * machine.overheads.shortRunCost *
                         std::min(1.0, machine.overheads.shortRunBytes / run);
    }
    // It goes from the core to memory and stops nowhere.
    if (node.bypasses)
      break;
  }
}

void StageCounter::moveValue(const DepthCounter &counter, SliceId value,
                             bool isWritten) {
  const GirSlice &slice = gir.slices[value];
  if (slice.level >= machine.levels.size())
    return;
  int64_t bytes = counter.bytes(slice);
  for (GirTraffic &inside : drop_begin(traffic, slice.level))
    (isWritten ? inside.written : inside.read) += bytes;
}

void StageCounter::runPass(ArrayRef<GirNode> nodes) {
  DepthCounter counter(gir, stage, nodes[0].depth);
  const VectorUnit &unit = machine.unit;
  SmallVector<SliceId, 16> atHand;
  double loads = 0, stores = 0, instructions = 0;
  for (const GirNode &node : nodes) {
    if (gir.isBoundary(node)) {
      scope = std::max(scope, node.scope);
      continue;
    }
    for (SliceId input : node.inputs) {
      if (!gir.isValue(input) || is_contained(atHand, input))
        continue;
      atHand.push_back(input);
      loads += vectorsOf(counter, input);
      moveValue(counter, input, /*isWritten=*/false);
    }
    if (node.kind == GirKind::Move && (gir.isLoad(node) || gir.isStore(node))) {
      moveTensor(counter, node);
      (gir.isLoad(node) ? loads : stores) += vectorsOf(counter, node.output);
    }
    if (node.kind == GirKind::Elementwise)
      instructions +=
          vectorsOf(counter, node.output) *
          (node.instructions +
           node.exponentials * static_cast<double>(unit.exponentialCost));
    if (node.kind == GirKind::Sync)
      loads +=
          vectorsOf(counter, node.output) * machine.overheads.transposeFactor;
    if (!gir.isValue(node.output))
      continue;
    atHand.push_back(node.output);
    // What is read in place is there already.
    if (gir.isLoad(node) || gir.slices[node.output].level > traffic.size())
      continue;
    stores += vectorsOf(counter, node.output);
    moveValue(counter, node.output, /*isWritten=*/true);
  }
  cycles +=
      instructions / unit.fmaPerCycle + loads / unit.loadsPerCycle +
      stores / unit.storesPerCycle +
      machine.overheads.blockCycles * static_cast<double>(counter.executions());
  ++passes;
}

void StageCounter::run() {
  ArrayRef<GirNode> nodes = stage.nodes;
  while (!nodes.empty()) {
    const GirNode &first = nodes.front();
    if (gir.isBoundary(first)) {
      scope = std::max(scope, first.scope);
      nodes = nodes.drop_front();
      continue;
    }
    size_t count = find_if(nodes,
                           [&](const GirNode &node) {
                             return gir.isBoundary(node) ||
                                    node.depth != first.depth ||
                                    node.pass != first.pass;
                           }) -
                   nodes.begin();
    runPass(nodes.take_front(count));
    nodes = nodes.drop_front(count);
  }
}

} // namespace

GirCost chimera::model::costOf(const Gir &gir, const Machine &machine) {
  GirCost cost;
  cost.levels.resize(machine.levels.size());
  std::vector<StageCounter> stages;
  SmallVector<int64_t, 0> moved(gir.tensors.size(), 0);
  for (const GirStage &stage : gir.stages) {
    stages.emplace_back(gir, stage, machine).run();
    for (auto [sum, bytes] : zip(moved, stages.back().moved))
      sum += bytes;
  }
  double footprint = 0;
  for (auto [tensor, bytes] : zip(gir.tensors, moved))
    footprint += static_cast<double>(
        std::min(tensor.elements * tensor.elementBytes, bytes));

  auto threads = static_cast<double>(std::max<int64_t>(1, gir.units));
  for (const StageCounter &counter : stages) {
    int64_t tasks = gir.tasksOf(counter.stage);
    int64_t perUnit = gir.tasksPerUnit(counter.stage);
    int64_t busy = divideCeil(tasks, perUnit);
    Stages time;
    time.add(counter.cycles * static_cast<double>(perUnit) /
             static_cast<double>(tasks) / machine.unit.cyclesPerSecond);
    double exposed = 0;
    for (auto [level, memory] : enumerate(machine.levels)) {
      const GirTraffic &traffic = counter.traffic[level];
      cost.levels[level].read += traffic.read;
      cost.levels[level].written += traffic.written;
      cost.levels[level].allocated += traffic.allocated;
      double instances = std::max(1.0, threads / memory.sharers);
      // All that the graph moves is there already.
      if (footprint <= instances * memory.usableBytes())
        continue;
      time.add(static_cast<double>(traffic.total()) /
               bandwidthInto(memory, busy));
      if (level == 0)
        exposed = counter.shortRunBytes / bandwidthInto(memory, busy);
    }
    cost.seconds += time.total() + exposed;
    if (gir.units > 1 && busy > 1)
      cost.seconds += machine.overheads.regionSeconds;
    cost.cycles += counter.cycles;
    cost.passes += counter.passes;
    ++cost.syncs[static_cast<size_t>(counter.scope)];
  }
  cost.seconds += machine.launchSeconds;
  return cost;
}
