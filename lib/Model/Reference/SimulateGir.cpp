//===- SimulateGir.cpp - A Gir task by task and element by element --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The referee of a Gir's closed forms, and of the rules that rewrite it: every
// unit runs its tasks one after the other on buffers of its own, every element
// knows who stored it, and every line that a slice touches is written down.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirCost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/Twine.h"

#include <set>

using namespace llvm;
using namespace chimera::model;

int64_t chimera::model::applyFunction(int64_t function,
                                      ArrayRef<int64_t> operands) {
  auto result = static_cast<uint64_t>(function) + 1;
  for (auto [position, operand] : enumerate(operands))
    result += (static_cast<uint64_t>(function) + 2 * position + 3) *
              static_cast<uint64_t>(operand);
  return static_cast<int64_t>(result);
}

namespace {

/// Who stored an element, and when.
struct Origin {
  int64_t unit = -1;
  unsigned stage = 0;
};

struct RunBuffer {
  int64_t num = 0, width = 0;
  std::vector<int64_t> elements;

  int64_t &at(int64_t run, int64_t element) {
    return elements[run * width + element];
  }
};

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

int64_t addUp(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

class Simulator {
public:
  Simulator(const Gir &gir, const Machine &machine)
      : gir(gir), machine(machine) {
    result.levels.resize(machine.levels.size());
    result.mostLive.assign(machine.levels.size(), 0);
  }

  Expected<GirSimulation> run(const std::vector<std::vector<int64_t>> &inputs);

private:
  Error runStage();
  Error runTask(std::optional<unsigned> kept);
  Error runNode(const GirNode &node);
  Error load(const GirSlice &slice, RunBuffer &buffer);
  Error store(const GirSlice &slice, const RunBuffer &buffer);
  void compute(const GirNode &node, RunBuffer &output);
  void countLines(const GirSlice &slice, bool isStore, bool bypasses);
  void countValue(SliceId value, bool isWritten);
  void countLive(size_t next);
  Error mayRead(const Origin &origin, StringRef tensor) const;

  int64_t positionOf(LoopId loop) const {
    return coordinates[llvm::find(tasks(), loop) - tasks().begin()];
  }
  ArrayRef<LoopId> tasks() const { return gir.stages[stage].tasks; }
  int64_t sizeOf(const GirExtent &extent) const {
    if (!extent.loop)
      return extent.size;
    const GirLoop &loop = gir.loops[*extent.loop];
    int64_t before = positionOf(*extent.loop) * loop.tile;
    return std::min(loop.tile, loop.extent - before);
  }
  int64_t startOf(const GirSlice &slice) const {
    int64_t start = slice.offset;
    for (const Term &term : slice.terms)
      start += positionOf(term.loop) * term.factor;
    return start;
  }

  const Gir &gir;
  const Machine &machine;
  GirSimulation result;
  std::vector<std::vector<Origin>> origins;
  /// The widest sync behind each stage.
  SmallVector<GirScope, 4> behind;

  // Where the walk is.
  unsigned stage = 0;
  int64_t unit = 0;
  SmallVector<int64_t, 4> coordinates;
  std::vector<RunBuffer> buffers;
  /// What the pass at hand has seen.
  std::set<SliceId> atHand;
  /// By slice, the last node of the stage that reads it.
  std::vector<size_t> lastReader;
};

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

void Simulator::countLines(const GirSlice &slice, bool isStore, bool bypasses) {
  unsigned home = gir.tensors[*slice.tensor].level;
  for (unsigned level = home; level < machine.levels.size(); ++level) {
    const MemoryLevel &memory = machine.levels[level];
    std::set<int64_t> lines;
    for (int64_t run : seq(sizeOf(slice.num)))
      for (int64_t element : seq(sizeOf(slice.width))) {
        int64_t at = startOf(slice) + run * slice.stride + element;
        for (int64_t byte : seq(slice.elementBytes))
          lines.insert((at * slice.elementBytes + byte) / memory.lineBytes);
      }
    int64_t bytes = static_cast<int64_t>(lines.size()) * memory.lineBytes;
    GirTraffic &traffic = result.levels[level];
    (isStore ? traffic.written : traffic.read) += bytes;
    if (isStore && memory.ways > 0 && !bypasses)
      traffic.allocated += bytes;
    if (bypasses)
      return;
  }
}

void Simulator::countValue(SliceId value, bool isWritten) {
  const GirSlice &slice = gir.slices[value];
  int64_t bytes =
      buffers[value].num * buffers[value].width * slice.elementBytes;
  for (unsigned level = slice.level; level < machine.levels.size(); ++level)
    (isWritten ? result.levels[level].written : result.levels[level].read) +=
        bytes;
}

/// What is held before node `next` for it or later ones.
void Simulator::countLive(size_t next) {
  SmallVector<int64_t, 4> live(machine.levels.size(), 0);
  for (auto [id, buffer] : enumerate(buffers)) {
    GirLevel level = gir.slices[id].level;
    if (buffer.elements.empty() || level == 0 || level > live.size() ||
        lastReader[id] < next)
      continue;
    live[level - 1] += static_cast<int64_t>(buffer.elements.size()) *
                       gir.slices[id].elementBytes;
  }
  for (auto [most, bytes] : zip(result.mostLive, live))
    most = std::max(most, bytes);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Error Simulator::mayRead(const Origin &origin, StringRef tensor) const {
  if (origin.unit < 0)
    return fail("'" + tensor + "' is read where nobody has stored anything");
  if (origin.unit == unit)
    return Error::success();
  GirScope widest = GirScope::Lane;
  for (unsigned between = origin.stage; between < stage; ++between)
    widest = std::max(widest, behind[between]);
  bool isInBlock = origin.unit / gir.unitsPerBlock == unit / gir.unitsPerBlock;
  if (widest == GirScope::Device || (widest == GirScope::Block && isInBlock))
    return Error::success();
  return fail("'" + tensor +
              "' is read where another unit has stored it, "
              "without a sync");
}

Error Simulator::load(const GirSlice &slice, RunBuffer &buffer) {
  TensorId tensor = *slice.tensor;
  for (int64_t run : seq(buffer.num))
    for (int64_t element : seq(buffer.width)) {
      int64_t at = startOf(slice) + run * slice.stride + element;
      if (at < 0 || at >= gir.tensors[tensor].elements)
        return fail("'" + gir.tensors[tensor].name + "' is left");
      if (!gir.tensors[tensor].isInput)
        if (Error error =
                mayRead(origins[tensor][at], gir.tensors[tensor].name))
          return error;
      buffer.at(run, element) = result.tensors[tensor][at];
    }
  return Error::success();
}

Error Simulator::store(const GirSlice &slice, const RunBuffer &buffer) {
  TensorId tensor = *slice.tensor;
  for (int64_t run : seq(sizeOf(slice.num)))
    for (int64_t element : seq(sizeOf(slice.width))) {
      int64_t at = startOf(slice) + run * slice.stride + element;
      if (at < 0 || at >= gir.tensors[tensor].elements)
        return fail("'" + gir.tensors[tensor].name + "' is left");
      Origin &origin = origins[tensor][at];
      if (origin.unit >= 0)
        return fail("'" + gir.tensors[tensor].name + "' is stored twice");
      origin.unit = unit;
      origin.stage = stage;
      result.tensors[tensor][at] =
          buffer.elements[run * buffer.width + element];
    }
  return Error::success();
}

void Simulator::compute(const GirNode &node, RunBuffer &output) {
  RunBuffer &input = buffers[node.inputs[0]];
  for (int64_t run : seq(output.num))
    for (int64_t element : seq(output.width)) {
      int64_t &value = output.at(run, element);
      switch (node.kind) {
      case GirKind::Move:
        value = input.at(run, element);
        break;
      case GirKind::Sync:
        value = input.at(element, run);
        break;
      case GirKind::Broadcast:
        value =
            node.axis == GirAxis::Num ? input.at(0, element) : input.at(run, 0);
        break;
      case GirKind::Elementwise: {
        SmallVector<int64_t, 4> operands;
        for (SliceId operand : node.inputs)
          operands.push_back(buffers[operand].at(run, element));
        value = applyFunction(node.function, operands);
        break;
      }
      case GirKind::Reduce:
        bool isAlongRuns = node.axis == GirAxis::Num;
        for (int64_t step : seq(isAlongRuns ? input.num : input.width)) {
          int64_t next =
              isAlongRuns ? input.at(step, element) : input.at(run, step);
          if (step == 0)
            value = next;
          else
            value = node.reduction == GirReduction::Add ? addUp(value, next)
                                                        : std::max(value, next);
        }
        break;
      }
    }
}

Error Simulator::runNode(const GirNode &node) {
  for (SliceId input : node.inputs)
    if (!gir.slices[input].tensor) {
      if (buffers[input].elements.empty())
        return fail("a value is read before it is there");
      if (atHand.insert(input).second)
        countValue(input, /*isWritten=*/false);
    }
  const GirSlice &to = gir.slices[node.output];
  if (to.tensor) {
    countLines(to, /*isStore=*/true, node.bypasses);
    return store(to, buffers[node.inputs[0]]);
  }
  RunBuffer output;
  output.num = sizeOf(to.num);
  output.width = sizeOf(to.width);
  output.elements.assign(output.num * output.width, 0);
  const GirSlice &from = gir.slices[node.inputs[0]];
  if (from.tensor) {
    countLines(from, /*isStore=*/false, /*bypasses=*/false);
    if (Error error = load(from, output))
      return error;
  } else {
    compute(node, output);
  }
  buffers[node.output] = std::move(output);
  atHand.insert(node.output);
  if (!from.tensor && to.level <= machine.levels.size())
    countValue(node.output, /*isWritten=*/true);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Runs a task of which the first `kept` coordinates are those of the task
/// before, if there is one.
Error Simulator::runTask(std::optional<unsigned> kept) {
  // Nothing is left of what this task makes anew.
  for (const GirNode &node : gir.stages[stage].nodes)
    if (!kept || *kept < node.depth)
      buffers[node.output] = RunBuffer();
  std::optional<std::pair<unsigned, unsigned>> pass;
  for (auto [id, node] : enumerate(gir.stages[stage].nodes)) {
    if (node.kind == GirKind::Sync && gir.slices[node.inputs[0]].tensor)
      continue;
    // Nothing has moved on that it depends on.
    if (kept && *kept >= node.depth)
      continue;
    if (pass != std::pair(node.depth, node.pass)) {
      pass = {node.depth, node.pass};
      atHand.clear();
      countLive(id);
    }
    if (Error error = runNode(node))
      return error;
  }
  return Error::success();
}

Error Simulator::runStage() {
  const GirStage &now = gir.stages[stage];
  lastReader.assign(gir.slices.size(), 0);
  for (auto [id, node] : enumerate(now.nodes))
    for (SliceId input : node.inputs)
      lastReader[input] = id;
  int64_t tasks = 1;
  for (LoopId loop : now.tasks)
    tasks *= (gir.loops[loop].extent - 1) / gir.loops[loop].tile + 1;
  int64_t perUnit = (tasks - 1) / gir.units + 1;
  for (unit = 0; unit < gir.units; ++unit) {
    buffers.assign(gir.slices.size(), RunBuffer());
    for (int64_t task = unit * perUnit;
         task < std::min(tasks, (unit + 1) * perUnit); ++task) {
      SmallVector<int64_t, 4> previous = coordinates;
      coordinates.assign(now.tasks.size(), 0);
      int64_t rest = task;
      for (size_t dim = now.tasks.size(); dim-- > 0;) {
        const GirLoop &loop = gir.loops[now.tasks[dim]];
        int64_t count = (loop.extent - 1) / loop.tile + 1;
        coordinates[dim] = rest % count;
        rest /= count;
      }
      std::optional<unsigned> kept;
      if (task != unit * perUnit)
        for (kept = 0; coordinates[*kept] == previous[*kept];)
          ++*kept;
      if (Error error = runTask(kept))
        return error;
    }
  }
  return Error::success();
}

Expected<GirSimulation>
Simulator::run(const std::vector<std::vector<int64_t>> &inputs) {
  result.tensors = inputs;
  for (auto [id, tensor] : enumerate(gir.tensors)) {
    result.tensors[id].resize(tensor.elements, 0);
    origins.emplace_back(tensor.isInput ? 0 : tensor.elements);
  }
  for (const GirStage &each : gir.stages) {
    behind.push_back(GirScope::Lane);
    for (const GirNode &node : each.nodes)
      if (node.kind == GirKind::Sync && gir.slices[node.inputs[0]].tensor)
        behind.back() = std::max(behind.back(), node.scope);
  }
  for (stage = 0; stage < gir.stages.size(); ++stage)
    if (Error error = runStage())
      return error;
  for (auto [id, tensor] : enumerate(gir.tensors))
    if (tensor.isResult &&
        any_of(origins[id], [](Origin origin) { return origin.unit < 0; }))
      return fail("'" + tensor.name + "' is not stored as a whole");
  return std::move(result);
}

} // namespace

Expected<GirSimulation>
chimera::model::simulateGir(const Gir &gir, const Machine &machine,
                            const std::vector<std::vector<int64_t>> &inputs) {
  return Simulator(gir, machine).run(inputs);
}
