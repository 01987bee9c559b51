//===- GirCheck.cpp - What may be wrong with a Gir ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph that passes is one that every unit can run without waiting for what
// never comes, and that leaves every result where it belongs.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Gir.h"

#include "Gir/GirWalk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/Twine.h"

#include <tuple>

using namespace llvm;
using namespace chimera::model;

namespace {

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

class Checker {
public:
  Checker(const Gir &gir, const Machine *machine)
      : gir(gir), machine(machine), writer(gir.slices.size()),
        stores(gir.tensors.size()) {}

  Error check();

private:
  /// Where a node stands.
  struct Position {
    unsigned stage = 0;
    size_t node = 0;
  };

  Error checkParts();
  Error checkStage(unsigned stage);
  Error checkIds(unsigned stage, const GirNode &node) const;
  Error checkSlice(unsigned stage, const GirNode &node, SliceId slice) const;
  Error checkPattern(const GirNode &node) const;
  Error checkReads(Position at, const GirNode &node) const;
  Error checkLoad(Position at, const GirNode &node) const;
  Error checkStore(const GirStage &stage, const GirNode &node) const;
  Error checkTensors() const;
  Error checkRoom() const;
  bool isSynced(Position from, Position to) const;
  const GirNode &nodeAt(Position at) const {
    return gir.stages[at.stage].nodes[at.node];
  }
  std::string nameOf(SliceId slice) const {
    if (gir.isValue(slice))
      return "%" + std::to_string(slice);
    return "'" + gir.tensors[*gir.slices[slice].tensor].name + "'";
  }

  const Gir &gir;
  const Machine *machine;
  /// By slice.
  std::vector<std::optional<Position>> writer;
  /// By tensor.
  std::vector<std::optional<Position>> stores;
};

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Error Checker::checkParts() {
  if (gir.units < 1 || gir.unitsPerBlock < 1)
    return fail("there are no units");
  for (const GirLoop &loop : gir.loops)
    if (loop.extent < 1 || loop.tile < 1)
      return fail("loop '" + loop.name + "' has no iterations or no tiles");
  for (const GirTensor &tensor : gir.tensors) {
    if (tensor.elements < 1 || tensor.elementBytes < 1)
      return fail("tensor '" + tensor.name + "' has no elements");
    if (tensor.level > 0 && (tensor.isInput || tensor.isResult))
      return fail("tensor '" + tensor.name +
                  "' comes from outside or leaves, so it lies in memory");
    if (machine && tensor.level > machine->levels.size())
      return fail("tensor '" + tensor.name + "' lies in a level that is none");
  }
  for (const GirSlice &slice : gir.slices) {
    if (slice.tensor && *slice.tensor >= gir.tensors.size())
      return fail("a slice is a part of a tensor that is none");
    for (const GirExtent &extent : {slice.num, slice.width}) {
      if (extent.size < 1)
        return fail("a slice has no elements");
      if (extent.loop && *extent.loop >= gir.loops.size())
        return fail("a loop that is none cuts a slice");
      if (extent.loop && gir.loops[*extent.loop].tile != extent.size)
        return fail("a slice is not as large as the tile of loop '" +
                    gir.loops[*extent.loop].name + "' that cuts it");
    }
    if (slice.num.loop && slice.num.loop == slice.width.loop)
      return fail("a loop cuts a slice in both directions");
    for (const Term &term : slice.terms)
      if (term.loop >= gir.loops.size() || term.factor < 0)
        return fail("a slice starts by a loop that is none, or backwards");
    bool hasRuns = slice.num.size > 1;
    if (slice.tensor && hasRuns && slice.stride < slice.width.size)
      return fail("runs of a slice of '" + gir.tensors[*slice.tensor].name +
                  "' overlap");
    if (slice.tensor &&
        slice.elementBytes != gir.tensors[*slice.tensor].elementBytes)
      return fail("a slice of '" + gir.tensors[*slice.tensor].name +
                  "' has elements of another size");
    if (!slice.tensor && slice.stride != slice.width.size)
      return fail("a value is no run");
  }
  return Error::success();
}

/// The loops that `slice` depends on are around `node`, and it stays in its
/// tensor.
Error Checker::checkSlice(unsigned stage, const GirNode &node,
                          SliceId slice) const {
  const GirStage &around = gir.stages[stage];
  const GirSlice &of = gir.slices[slice];
  auto isOutside = [&](LoopId loop) {
    return positionOf(around, loop) >= node.depth;
  };
  for (const GirExtent &extent : {of.num, of.width})
    if (extent.loop && isOutside(*extent.loop))
      return fail("loop '" + gir.loops[*extent.loop].name + "' cuts " +
                  nameOf(slice) + " of a node that it is not around");
  int64_t first = of.offset, last = of.offset;
  const GirExtent extents[] = {of.num, of.width};
  std::optional<LoopId> cuts[] = {of.num.loop, of.width.loop};
  int64_t steps[] = {of.stride, 1};
  for (const Term &term : of.terms) {
    if (isOutside(term.loop))
      return fail("loop '" + gir.loops[term.loop].name + "' moves " +
                  nameOf(slice) + " of a node that it is not around");
    if (!is_contained(cuts, term.loop))
      last += term.factor * (gir.loops[term.loop].count() - 1);
  }
  for (auto [extent, loop, step] : zip(extents, cuts, steps)) {
    int64_t most = step * (extent.size - 1);
    if (loop) {
      const GirLoop &cut = gir.loops[*loop];
      int64_t factor = 0;
      for (const Term &term : of.terms)
        if (term.loop == *loop)
          factor = term.factor;
      int64_t edge = cut.count() - 1;
      most = factor * edge + step * (cut.sizeAt(edge) - 1);
      if (edge > 0)
        most = std::max(most, factor * (edge - 1) + step * (cut.tile - 1));
    }
    last += most;
  }
  if (!gir.isValue(slice) &&
      (first < 0 || last >= gir.tensors[*of.tensor].elements))
    return fail("a slice leaves " + nameOf(slice));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Error Checker::checkIds(unsigned stage, const GirNode &node) const {
  if (node.output >= gir.slices.size() || node.inputs.empty() ||
      any_of(node.inputs,
             [&](SliceId input) { return input >= gir.slices.size(); }))
    return fail("a " + describe(node.kind) + " has a slice that is none");
  if (node.depth > gir.stages[stage].tasks.size())
    return fail("a " + describe(node.kind) +
                " is inside of more loops than there are");
  if (node.kind != GirKind::Elementwise && node.inputs.size() != 1)
    return fail("a " + describe(node.kind) + " has more than one input");
  return Error::success();
}

/// The patterns of inputs and output agree as far as the node keeps them.
Error Checker::checkPattern(const GirNode &node) const {
  const GirSlice &to = gir.slices[node.output];
  const GirSlice &from = gir.slices[node.inputs[0]];
  auto mismatch = [&](StringRef what) {
    return fail("the " + what + " of a " + describe(node.kind) + " of " +
                nameOf(node.inputs[0]) + " to " + nameOf(node.output) +
                " disagree");
  };
  if (node.kind != GirKind::Move && !gir.isBoundary(node)) {
    if (!gir.isValue(node.output) ||
        !all_of(node.inputs, [&](SliceId input) { return gir.isValue(input); }))
      return fail("a " + describe(node.kind) + " works on " +
                  nameOf(node.inputs[0]) + ", which is no value");
  }
  GirExtent one;
  switch (node.kind) {
  case GirKind::Move:
    if (!gir.isValue(node.inputs[0]) && !gir.isValue(node.output))
      return fail("a move from tensor to tensor has no value between");
    if (!from.hasPatternOf(to) || from.elementBytes != to.elementBytes)
      return mismatch("patterns");
    return Error::success();
  case GirKind::Elementwise:
    for (SliceId input : node.inputs)
      if (!gir.slices[input].hasPatternOf(to))
        return mismatch("patterns");
    return Error::success();
  case GirKind::Broadcast:
  case GirKind::Reduce: {
    bool isReduce = node.kind == GirKind::Reduce;
    const GirSlice &wide = isReduce ? from : to;
    const GirSlice &narrow = isReduce ? to : from;
    bool isAlongRuns = node.axis == GirAxis::Num;
    if (!((isAlongRuns ? narrow.num : narrow.width) == one) ||
        !(isAlongRuns ? narrow.width == wide.width : narrow.num == wide.num))
      return mismatch("patterns");
    return Error::success();
  }
  case GirKind::Sync:
    if (gir.isBoundary(node)) {
      if (from.tensor != to.tensor)
        return mismatch("tensors");
      return Error::success();
    }
    if (node.scope != GirScope::Unit)
      return fail("a sync between values of one unit has the scope of a unit");
    if (!(from.num == to.width) || !(from.width == to.num))
      return mismatch("patterns");
    return Error::success();
  }
  return Error::success();
}

/// What `node` reads of values is there, in registers if it is said to be.
Error Checker::checkReads(Position at, const GirNode &node) const {
  for (SliceId input : node.inputs) {
    if (!gir.isValue(input))
      continue;
    const std::optional<Position> &from = writer[input];
    if (!from || from->stage != at.stage)
      return fail(nameOf(input) + " is read where nothing has written it");
    const GirNode &made = nodeAt(*from);
    bool isBarrier = made.kind == GirKind::Reduce || made.kind == GirKind::Sync;
    bool isSamePass = made.depth == node.depth && made.pass == node.pass;
    if (isSamePass && isBarrier)
      return fail(nameOf(input) + " is read in the pass that makes it, before "
                                  "all of it is there");
    bool isInRegisters =
        machine && gir.slices[input].level > machine->levels.size();
    if (isInRegisters && (!isSamePass || node.kind == GirKind::Sync))
      return fail(nameOf(input) + " does not stay in registers until it is "
                                  "read");
  }
  return Error::success();
}

/// True if some sync hands on what is stored at `from` to who loads at `to`.
bool Checker::isSynced(Position from, Position to) const {
  SliceId stored = nodeAt(from).output, loaded = nodeAt(to).inputs[0];
  GirScope least = findScope(gir, {from.stage, stored}, {to.stage, loaded});
  if (least == GirScope::Lane)
    return true;
  for (unsigned between : seq(from.stage, to.stage))
    for (const GirNode &node : gir.stages[between].nodes)
      if (gir.isBoundary(node) && node.inputs[0] == stored &&
          node.output == loaded && node.scope >= least)
        return true;
  return false;
}

Error Checker::checkLoad(Position at, const GirNode &node) const {
  SliceId part = node.inputs[0];
  TensorId tensor = *gir.slices[part].tensor;
  if (gir.tensors[tensor].isInput)
    return Error::success();
  const std::optional<Position> &from = stores[tensor];
  if (!from)
    return fail(nameOf(part) + " is loaded where nothing has stored it");
  if (from->stage == at.stage) {
    if (gir.slices[nodeAt(*from).output].isSamePart(gir.slices[part]))
      return Error::success();
    return fail("a task loads of " + nameOf(part) +
                " what other tasks store in the same stage");
  }
  if (!isSynced(*from, at))
    return fail(nameOf(part) + " is loaded where another unit has stored it, "
                               "without a sync of their scope");
  return Error::success();
}

/// A store covers all of its tensor, and every element once.
Error Checker::checkStore(const GirStage &stage, const GirNode &node) const {
  const GirSlice &slice = gir.slices[node.output];
  const GirTensor &tensor = gir.tensors[*slice.tensor];
  if (tensor.isInput)
    return fail("an input, '" + tensor.name + "', is stored to");
  // Distance of neighbours along each direction, and how many there are.
  SmallVector<std::pair<int64_t, int64_t>, 6> steps;
  for (LoopId loop : stage.tasks)
    if (gir.loops[loop].count() > 1 &&
        none_of(slice.terms, [&](Term term) { return term.loop == loop; }))
      return fail("tasks along '" + gir.loops[loop].name + "' all store '" +
                  tensor.name + "'");
  for (const Term &term : slice.terms) {
    const GirLoop &loop = gir.loops[term.loop];
    bool isNum = slice.num.loop == term.loop;
    if (isNum || slice.width.loop == term.loop) {
      int64_t step = isNum ? slice.stride : 1;
      if (loop.count() > 1 && term.factor != step * loop.tile)
        return fail("tiles of '" + tensor.name + "' do not lie side by side");
      steps.push_back({step, loop.extent});
    } else {
      steps.push_back({term.factor, loop.count()});
    }
  }
  auto cutBy = [&](const GirExtent &extent) {
    return extent.loop && any_of(slice.terms, [&](Term term) {
             return term.loop == *extent.loop;
           });
  };
  if (!cutBy(slice.num))
    steps.push_back({slice.stride, slice.num.size});
  if (!cutBy(slice.width))
    steps.push_back({1, slice.width.size});
  llvm::sort(steps);
  int64_t next = 1;
  for (auto [step, count] : steps) {
    if (count == 1)
      continue;
    if (step != next)
      return fail("'" + tensor.name + "' is stored with gaps or twice");
    next *= count;
  }
  if (slice.offset != 0 || next != tensor.elements)
    return fail("'" + tensor.name + "' is not stored as a whole");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Error Checker::checkStage(unsigned stage) {
  const GirStage &now = gir.stages[stage];
  for (auto [position, loop] : enumerate(now.tasks))
    if (loop >= gir.loops.size() || positionOf(now, loop) != position)
      return fail("a stage has a loop that is none, or one twice");
  std::tuple<bool, unsigned, unsigned> before;
  for (auto [id, node] : enumerate(now.nodes)) {
    if (Error error = checkIds(stage, node))
      return error;
    if (Error error = checkPattern(node))
      return error;
    std::tuple key(gir.isBoundary(node), node.depth, node.pass);
    if (!gir.isBoundary(node) && key < before)
      return fail("nodes do not follow each other by depth and pass");
    before = key;
    if (gir.isBoundary(node))
      continue;
    for (SliceId input : node.inputs)
      if (Error error = checkSlice(stage, node, input))
        return error;
    if (Error error = checkSlice(stage, node, node.output))
      return error;
    Position here{stage, id};
    if (Error error = checkReads(here, node))
      return error;
    if (gir.isLoad(node))
      if (Error error = checkLoad(here, node))
        return error;
    if (writer[node.output])
      return fail(nameOf(node.output) + " is written twice");
    writer[node.output] = here;
    if (!gir.isStore(node))
      continue;
    if (Error error = checkStore(now, node))
      return error;
    std::optional<Position> &store = stores[*gir.slices[node.output].tensor];
    if (store)
      return fail(nameOf(node.output) + " is stored twice");
    store = here;
  }
  return Error::success();
}

Error Checker::checkTensors() const {
  for (auto [tensor, store] : zip(gir.tensors, stores))
    if (tensor.isResult && !store)
      return fail("result '" + tensor.name + "' is not stored");
  return Error::success();
}

Error Checker::checkRoom() const {
  for (unsigned stage : seq(gir.stages.size()))
    for (auto [level, bytes] :
         enumerate(liveBytes(gir, stage, machine->levels.size())))
      if (bytes > roomAt(gir, *machine, level + 1))
        return fail("a unit holds " + Twine(bytes) + " bytes in " +
                    machine->levels[level].name + ", which has room for " +
                    Twine(roomAt(gir, *machine, level + 1)));
  return Error::success();
}

Error Checker::check() {
  if (Error error = checkParts())
    return error;
  for (unsigned stage : seq(gir.stages.size()))
    if (Error error = checkStage(stage))
      return error;
  if (Error error = checkTensors())
    return error;
  return machine ? checkRoom() : Error::success();
}

} // namespace

Error Gir::check(const Machine *machine) const {
  return Checker(*this, machine).check();
}
