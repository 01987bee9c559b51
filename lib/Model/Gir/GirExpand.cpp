//===- GirExpand.cpp - One graph for a set of operators -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operator by operator: load what the stage does not have yet, spread it over
// the operator's directions, compute, reduce, store what others want.
//
//===----------------------------------------------------------------------===//

#include "Gir/GirExpand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <tuple>

using namespace llvm;
using namespace chimera::model;

namespace {

class Expander {
public:
  Expander(const OperatorGraph &graph, const AxisSet &set, const GirPlan &plan,
           ArrayRef<bool> isResult, const Machine &machine, int64_t threads)
      : graph(graph), set(set), plan(plan), isResult(isResult),
        machine(machine), tensorOf(graph.tensors.size()) {
    gir.units = std::max<int64_t>(1, threads);
  }

  std::optional<Gir> expand(GirRefusal &why);

private:
  bool refuse(GirRefusal reason) {
    refusal = reason;
    return false;
  }

  // Stages.
  void makeLoops();
  void assignStages();
  void makeStages();
  bool reducesParts(const AxisOperator &op) const {
    return plan.parted && op.reduces(*plan.parted);
  }

  // Slices.
  TensorId addTensor(TensorId tensor);
  GirExtent extentOf(std::optional<unsigned> axis) const;
  std::optional<SliceId> addPart(const AxisAccess &access, bool &isTurned);
  SliceId addValue(GirExtent num, GirExtent width, int64_t elementBytes);
  SliceId turnedValue(SliceId value);
  unsigned depthOf(unsigned stage, SliceId slice) const;
  void addNode(unsigned stage, GirNode node, unsigned leastDepth = 0);

  // Operators.
  std::optional<SliceId> load(unsigned stage, const AxisAccess &access);
  bool store(unsigned stage, SliceId value, const AxisAccess &access);
  SliceId spread(unsigned stage, const AxisOperator &op, SliceId value,
                 unsigned depth);
  SliceId reduce(unsigned stage, const AxisOperator &op, SliceId value);
  bool reduceInParts(unsigned stage, SliceId value, const AxisAccess &output);
  bool emit(size_t index);
  bool finish(unsigned stage, SliceId value, const AxisAccess &output);
  void addSyncs();
  bool isReadElsewhere(TensorId tensor, unsigned stage) const;

  const OperatorGraph &graph;
  const AxisSet &set;
  const GirPlan &plan;
  ArrayRef<bool> isResult;
  const Machine &machine;
  GirRefusal refusal = GirRefusal::NoPattern;

  Gir gir;
  /// By axis, its loop over tasks.
  SmallVector<std::optional<LoopId>, 4> loopOf;
  /// By operator.
  SmallVector<unsigned, 8> stageOf;
  /// By tensor of the graph.
  std::vector<std::optional<TensorId>> tensorOf;
  /// Values by tensor and stage.
  struct Held {
    TensorId tensor;
    unsigned stage;
    SliceId value;
  };
  SmallVector<Held, 16> held;
  /// What was loaded, to load it once.
  struct Loaded {
    unsigned stage;
    SliceId part, value;
  };
  SmallVector<Loaded, 16> loaded;
  SmallVector<unsigned, 0> depths;
};

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void Expander::makeLoops() {
  loopOf.resize(set.size());
  for (unsigned axis : seq(set.size())) {
    if (plan.tiles[axis] == 0)
      continue;
    loopOf[axis] = static_cast<LoopId>(gir.loops.size());
    gir.loops.push_back({("i" + Twine(gir.loops.size())).str(),
                         set.extents[axis], plan.tiles[axis]});
  }
}

/// Operator by operator, or in as few stages as parts of reductions allow: even
/// ones go over parts, odd ones combine them.
void Expander::assignStages() {
  SmallVector<unsigned, 0> madeIn(graph.tensors.size(), 0);
  unsigned next = 0;
  for (const AxisOperator &op : set.operators) {
    unsigned stage = 0;
    if (!plan.isMerged) {
      stage = next++;
      if (reducesParts(op))
        ++next;
    } else {
      for (const AxisAccess &input : op.inputs)
        stage = std::max(stage, madeIn[input.tensor]);
      if (plan.parted && op.has[*plan.parted])
        stage += stage % 2;
      else if (plan.parted && stage % 2 == 0 &&
               any_of(op.outputs, [&](const AxisAccess &output) {
                 return isResult[output.tensor];
               }))
        ++stage;
    }
    stageOf.push_back(stage);
    for (const AxisAccess &output : op.outputs)
      madeIn[output.tensor] = stage + (reducesParts(op) ? 1 : 0);
  }
}

void Expander::makeStages() {
  unsigned count = 0;
  for (auto [op, stage] : zip(set.operators, stageOf))
    count = std::max(count, stage + (reducesParts(op) ? 2 : 1));
  gir.stages.resize(count);
  // Loops outside slices first, then those that cut them, then parts.
  SmallVector<unsigned, 4> order;
  for (unsigned axis : seq(set.size()))
    if (axis != plan.num && axis != plan.width)
      order.push_back(axis);
  for (auto axis : {plan.num, plan.width})
    if (axis && axis != plan.parted)
      order.push_back(*axis);
  if (plan.parted)
    order.push_back(*plan.parted);
  for (auto [stage, tasks] : enumerate(gir.stages))
    for (unsigned axis : order) {
      bool isCombined =
          plan.isMerged ? stage % 2 == 1 : !is_contained(stageOf, stage);
      if (!loopOf[axis] || (axis == plan.parted && isCombined))
        continue;
      bool isIn = plan.isMerged;
      if (!isIn)
        for (auto [op, own] : zip(set.operators, stageOf))
          isIn |= op.has[axis] &&
                  (own == stage || (reducesParts(op) && own + 1 == stage));
      if (isIn)
        tasks.tasks.push_back(*loopOf[axis]);
    }
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

TensorId Expander::addTensor(TensorId tensor) {
  if (!tensorOf[tensor]) {
    const GraphTensor &from = graph.tensors[tensor];
    tensorOf[tensor] = static_cast<TensorId>(gir.tensors.size());
    GirTensor &added = gir.tensors.emplace_back();
    added.name = from.name;
    added.elementBytes = from.elementBytes;
    added.elements = from.elements();
    added.isResult = isResult[tensor];
    added.isInput = none_of(set.operators, [&](const AxisOperator &op) {
      return any_of(op.outputs, [&](const AxisAccess &output) {
        return output.tensor == tensor;
      });
    });
  }
  return *tensorOf[tensor];
}

GirExtent Expander::extentOf(std::optional<unsigned> axis) const {
  if (!axis)
    return {};
  if (loopOf[*axis])
    return {plan.tiles[*axis], loopOf[*axis]};
  return {set.extents[*axis], std::nullopt};
}

/// The part of a tensor in a task. `isTurned` says that its runs go along what
/// is `num` of the operator.
std::optional<SliceId> Expander::addPart(const AxisAccess &access,
                                         bool &isTurned) {
  int64_t along = plan.num ? access.strides[*plan.num] : 0;
  int64_t within = plan.width ? access.strides[*plan.width] : 0;
  GirSlice slice;
  slice.tensor = addTensor(access.tensor);
  slice.elementBytes = graph.tensors[access.tensor].elementBytes;
  slice.offset = access.offset;
  isTurned = within > 1;
  if (within > 1 && along > 1) {
    refuse(GirRefusal::NoPattern);
    return std::nullopt;
  }
  if (isTurned) {
    slice.num = extentOf(plan.width);
    slice.stride = within;
    if (along == 1)
      slice.width = extentOf(plan.num);
  } else {
    if (along) {
      slice.num = extentOf(plan.num);
      slice.stride = along;
    }
    if (within)
      slice.width = extentOf(plan.width);
  }
  if (slice.num.size == 1 && !slice.num.loop)
    slice.stride = std::max<int64_t>(1, slice.width.size);
  // Rows that lie closer together than they are long would overlap.
  if (slice.num.size > 1 && slice.stride < slice.width.size) {
    refuse(GirRefusal::NoPattern);
    return std::nullopt;
  }
  for (unsigned axis : seq(set.size()))
    if (loopOf[axis] && access.strides[axis])
      slice.terms.push_back(
          {*loopOf[axis], access.strides[axis] * plan.tiles[axis]});
  gir.slices.push_back(slice);
  return static_cast<SliceId>(gir.slices.size() - 1);
}

SliceId Expander::addValue(GirExtent num, GirExtent width,
                           int64_t elementBytes) {
  GirSlice slice;
  slice.num = num;
  slice.width = width;
  slice.stride = width.size;
  slice.elementBytes = elementBytes;
  gir.slices.push_back(slice);
  return static_cast<SliceId>(gir.slices.size() - 1);
}

SliceId Expander::turnedValue(SliceId value) {
  const GirSlice &from = gir.slices[value];
  return addValue(from.width, from.num, from.elementBytes);
}

/// How many loops of the stage decide where `slice` is and how large.
unsigned Expander::depthOf(unsigned stage, SliceId slice) const {
  const GirSlice &of = gir.slices[slice];
  ArrayRef<LoopId> tasks = gir.stages[stage].tasks;
  for (size_t depth = tasks.size(); depth > 0; --depth) {
    LoopId loop = tasks[depth - 1];
    if (of.num.loop == loop || of.width.loop == loop ||
        any_of(of.terms, [&](Term term) { return term.loop == loop; }))
      return depth;
  }
  return 0;
}

void Expander::addNode(unsigned stage, GirNode node, unsigned leastDepth) {
  depths.resize(gir.slices.size(), 0);
  node.depth = std::max(leastDepth, depthOf(stage, node.output));
  for (SliceId input : node.inputs)
    node.depth = std::max({node.depth, depths[input], depthOf(stage, input)});
  depths[node.output] = node.depth;
  gir.stages[stage].nodes.push_back(std::move(node));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::optional<SliceId> Expander::load(unsigned stage,
                                      const AxisAccess &access) {
  for (const Held &has : held)
    if (has.tensor == access.tensor && has.stage == stage)
      return has.value;
  bool isTurned = false;
  std::optional<SliceId> part = addPart(access, isTurned);
  if (!part)
    return std::nullopt;
  for (const Loaded &has : loaded)
    if (has.stage == stage &&
        gir.slices[has.part].isSamePart(gir.slices[*part])) {
      gir.slices.pop_back();
      return has.value;
    }
  GirNode move;
  move.inputs = {*part};
  GirSlice slice = gir.slices[*part];
  SliceId value = addValue(slice.num, slice.width, slice.elementBytes);
  move.output = value;
  addNode(stage, move);
  if (isTurned) {
    GirNode turn;
    turn.kind = GirKind::Sync;
    turn.scope = GirScope::Unit;
    turn.inputs = {value};
    value = turn.output = turnedValue(value);
    addNode(stage, turn);
  }
  loaded.push_back({stage, *part, value});
  return value;
}

/// True if the part begins and ends at the boundary of a line in every task.
static bool hasWholeLines(const Gir &gir, const GirSlice &slice,
                          int64_t lineBytes) {
  auto isWhole = [&](int64_t elements) {
    return elements * slice.elementBytes % lineBytes == 0;
  };
  int64_t width =
      slice.width.loop ? gir.loops[*slice.width.loop].extent : slice.width.size;
  bool isRun = slice.num.size == 1 && !slice.num.loop;
  return isWhole(slice.offset) && isWhole(width) && isWhole(slice.width.size) &&
         (isRun || isWhole(slice.stride)) &&
         all_of(slice.terms, [&](Term term) { return isWhole(term.factor); });
}

bool Expander::store(unsigned stage, SliceId value, const AxisAccess &access) {
  bool isTurned = false;
  std::optional<SliceId> part = addPart(access, isTurned);
  if (!part)
    return false;
  if (isTurned) {
    GirNode turn;
    turn.kind = GirKind::Sync;
    turn.scope = GirScope::Unit;
    turn.inputs = {value};
    value = turn.output = turnedValue(value);
    addNode(stage, turn);
  }
  GirNode move;
  move.inputs = {value};
  move.output = *part;
  const GirTensor &tensor = gir.tensors[*gir.slices[*part].tensor];
  if (plan.bypasses && tensor.isResult && machine.levels[0].ways > 0 &&
      tensor.elements * tensor.elementBytes >
          machine.levels[0].usableBytes() / 2)
    move.bypasses =
        hasWholeLines(gir, gir.slices[*part], machine.levels[0].lineBytes);
  addNode(stage, move);
  // Whoever runs for a task what others run too would store it again.
  ArrayRef<LoopId> tasks = gir.stages[stage].tasks;
  for (LoopId loop : tasks)
    if (none_of(gir.slices[*part].terms,
                [&](Term term) { return term.loop == loop; }))
      return refuse(GirRefusal::NoCommonUnit);
  return true;
}

/// Broadcasts `value` along the directions that `op` has and it has not.
SliceId Expander::spread(unsigned stage, const AxisOperator &op, SliceId value,
                         unsigned depth) {
  for (auto [axis, along, extent] :
       {std::tuple(plan.num, GirAxis::Num, &GirSlice::num),
        std::tuple(plan.width, GirAxis::Width, &GirSlice::width)}) {
    if (!axis || !op.has[*axis] || gir.slices[value].*extent == extentOf(axis))
      continue;
    GirSlice wider = gir.slices[value];
    wider.*extent = extentOf(axis);
    GirNode node;
    node.kind = GirKind::Broadcast;
    node.axis = along;
    node.inputs = {value};
    value = node.output = addValue(wider.num, wider.width, wider.elementBytes);
    addNode(stage, node, depth);
  }
  return value;
}

SliceId Expander::reduce(unsigned stage, const AxisOperator &op,
                         SliceId value) {
  for (auto [axis, along, extent] :
       {std::tuple(plan.width, GirAxis::Width, &GirSlice::width),
        std::tuple(plan.num, GirAxis::Num, &GirSlice::num)}) {
    if (!axis || !op.reduces(*axis))
      continue;
    GirSlice less = gir.slices[value];
    less.*extent = GirExtent();
    GirNode node;
    node.kind = GirKind::Reduce;
    node.axis = along;
    node.inputs = {value};
    value = node.output = addValue(less.num, less.width, less.elementBytes);
    addNode(stage, node);
  }
  return value;
}

/// Stores what a part adds up, and adds up the parts in the next stage.
bool Expander::reduceInParts(unsigned stage, SliceId value,
                             const AxisAccess &output) {
  bool isAlongRuns = plan.parted == plan.num;
  int64_t within = isAlongRuns && plan.width ? output.strides[*plan.width] : 0;
  // Parts lie one after the other, so what a part has must be a run.
  if (within > 1 || (!isAlongRuns && plan.num && output.strides[*plan.num]))
    return refuse(GirRefusal::NoPattern);
  const GraphTensor &tensor = graph.tensors[output.tensor];
  LoopId loop = *loopOf[*plan.parted];
  int64_t parts = gir.loops[loop].count();
  GirTensor scratch;
  scratch.name = tensor.name + ".parts";
  scratch.elementBytes = tensor.elementBytes;
  scratch.elements = parts * tensor.elements();
  auto scratchId = static_cast<TensorId>(gir.tensors.size());
  gir.tensors.push_back(scratch);

  GirSlice part;
  part.tensor = scratchId;
  part.elementBytes = scratch.elementBytes;
  part.offset = output.offset;
  if (within)
    part.width = extentOf(plan.width);
  part.stride = part.width.size;
  for (unsigned axis : seq(set.size()))
    if (loopOf[axis] && axis != plan.parted && output.strides[axis])
      part.terms.push_back(
          {*loopOf[axis], output.strides[axis] * plan.tiles[axis]});
  GirSlice all = part;
  part.terms.push_back({loop, tensor.elements()});
  all.num = {parts, std::nullopt};
  all.stride = tensor.elements();
  gir.slices.push_back(part);
  GirNode move;
  move.inputs = {value};
  move.output = static_cast<SliceId>(gir.slices.size() - 1);
  addNode(stage, move);
  for (LoopId task : gir.stages[stage].tasks)
    if (none_of(part.terms, [&](Term term) { return term.loop == task; }))
      return refuse(GirRefusal::NoCommonUnit);

  gir.slices.push_back(all);
  GirNode back;
  back.inputs = {static_cast<SliceId>(gir.slices.size() - 1)};
  back.output = addValue(all.num, all.width, all.elementBytes);
  addNode(stage + 1, back);
  GirNode combine;
  combine.kind = GirKind::Reduce;
  combine.axis = GirAxis::Num;
  combine.inputs = {back.output};
  combine.output = addValue(GirExtent(), all.width, all.elementBytes);
  addNode(stage + 1, combine);
  return finish(stage + 1, combine.output, output);
}

bool Expander::isReadElsewhere(TensorId tensor, unsigned stage) const {
  for (auto [op, own] : zip(set.operators, stageOf))
    if (own != stage && any_of(op.inputs, [&](const AxisAccess &input) {
          return input.tensor == tensor;
        }))
      return true;
  return false;
}

/// What becomes of a value that is an output of an operator.
bool Expander::finish(unsigned stage, SliceId value, const AxisAccess &output) {
  GirExtent num, width;
  if (plan.num && output.strides[*plan.num])
    num = extentOf(plan.num);
  if (plan.width && output.strides[*plan.width])
    width = extentOf(plan.width);
  const GirSlice &slice = gir.slices[value];
  if (!(slice.num == num) || !(slice.width == width) ||
      slice.elementBytes != graph.tensors[output.tensor].elementBytes)
    return refuse(GirRefusal::NoPattern);
  held.push_back({output.tensor, stage, value});
  if (!isResult[output.tensor] && !isReadElsewhere(output.tensor, stage))
    return true;
  return store(stage, value, output);
}

bool Expander::emit(size_t index) {
  const AxisOperator &op = set.operators[index];
  const GraphOperator &from = graph.operators[op.id];
  unsigned stage = stageOf[index];
  SmallVector<SliceId, 3> values;
  unsigned depth = 0;
  for (const AxisAccess &input : op.inputs) {
    std::optional<SliceId> value = load(stage, input);
    if (!value)
      return false;
    values.push_back(*value);
    depth = std::max(depth, depths[*value]);
  }
  GirExtent num, width;
  if (plan.num && op.has[*plan.num])
    num = extentOf(plan.num);
  if (plan.width && op.has[*plan.width])
    width = extentOf(plan.width);
  for (auto extent : {num, width})
    if (extent.loop)
      depth = std::max<unsigned>(depth,
                                 find(gir.stages[stage].tasks, *extent.loop) -
                                     gir.stages[stage].tasks.begin() + 1);
  for (SliceId &value : values)
    value = spread(stage, op, value, depth);
  for (auto [position, output] : enumerate(op.outputs)) {
    SliceId value = 0;
    if (from.body == BodyKind::Move) {
      value = values[0];
    } else {
      GirNode node;
      node.kind = GirKind::Elementwise;
      node.function = op.id * 4 + static_cast<int64_t>(position);
      node.instructions = position == 0 ? from.instructions : 0;
      node.exponentials = position == 0 ? from.exponentials : 0;
      node.inputs = values;
      value = node.output =
          addValue(num, width, graph.tensors[output.tensor].elementBytes);
      addNode(stage, node, depth);
    }
    value = reduce(stage, op, value);
    bool isDone = reducesParts(op) ? reduceInParts(stage, value, output)
                                   : finish(stage, value, output);
    if (!isDone)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Syncs
//===----------------------------------------------------------------------===//

/// Everybody waits between the stage that stores a tensor and one that loads
/// it.
void Expander::addSyncs() {
  for (auto [reader, stage] : enumerate(gir.stages))
    for (const GirNode &node : stage.nodes) {
      if (!gir.isLoad(node))
        continue;
      for (GirStage &earlier : MutableArrayRef(gir.stages).take_front(reader)) {
        SmallVector<GirNode, 2> syncs;
        for (const GirNode &other : earlier.nodes)
          if (gir.isStore(other) && gir.slices[other.output].tensor ==
                                        gir.slices[node.inputs[0]].tensor) {
            GirNode sync;
            sync.kind = GirKind::Sync;
            sync.scope = GirScope::Device;
            sync.inputs = {other.output};
            sync.output = node.inputs[0];
            syncs.push_back(sync);
          }
        earlier.nodes.insert(earlier.nodes.end(), syncs.begin(), syncs.end());
      }
    }
}

std::optional<Gir> Expander::expand(GirRefusal &why) {
  makeLoops();
  assignStages();
  makeStages();
  for (size_t op : seq(set.operators.size()))
    if (!emit(op)) {
      why = refusal;
      return std::nullopt;
    }
  addSyncs();
  return std::move(gir);
}

} // namespace

std::optional<Gir>
chimera::model::expandPlan(const OperatorGraph &graph, const AxisSet &set,
                           const GirPlan &plan, ArrayRef<bool> isResult,
                           const Machine &machine, int64_t threads,
                           GirRefusal &why) {
  return Expander(graph, set, plan, isResult, machine, threads).expand(why);
}
