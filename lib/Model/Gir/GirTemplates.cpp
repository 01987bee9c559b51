//===- GirTemplates.cpp - Graphs for a set of operators -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which axes slices go along, which are cut into tasks and how finely: all
// combinations that can run, in sizes near powers of two.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirTemplates.h"

#include "Gir/GirExpand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace llvm;
using namespace chimera::model;

StringRef chimera::model::describe(GirRefusal refusal) {
  switch (refusal) {
  case GirRefusal::NotMemoryIntensive:
    return "has an operator that is no elementwise one, reduction or move";
  case GirRefusal::Indirect:
    return "a value decides what is read";
  case GirRefusal::Window:
    return "an index adds up loops, or leaves the tensor";
  case GirRefusal::NoCommonUnit:
    return "no task has all that it reads";
  case GirRefusal::NoTasks:
    return "reductions leave more than two directions for a slice";
  case GirRefusal::NoPattern:
    return "slices are no runs of contiguous elements";
  case GirRefusal::NoRoom:
    return "the least slices do not fit";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// What leaves the set, and what it has to move
//===----------------------------------------------------------------------===//

/// By tensor, whether `members` make it and somebody else wants it.
static SmallVector<bool, 0> findResults(const OperatorGraph &graph,
                                        ArrayRef<OperatorId> members) {
  SmallVector<bool, 0> isResult(graph.tensors.size(), false);
  for (OperatorId member : members)
    for (const GraphAccess &output : graph.operators[member].outputs)
      isResult[output.tensor] = graph.tensors[output.tensor].isResult;
  SmallVector<bool, 0> isMember(graph.operators.size(), false);
  SmallVector<bool, 0> isMade(graph.tensors.size(), false);
  for (OperatorId member : members) {
    isMember[member] = true;
    for (const GraphAccess &output : graph.operators[member].outputs)
      isMade[output.tensor] = true;
  }
  for (auto [id, op] : enumerate(graph.operators))
    if (!isMember[id])
      for (const GraphAccess &input : op.inputs)
        if (isMade[input.tensor])
          isResult[input.tensor] = true;
  // What nobody reads is there for its own sake.
  SmallVector<bool, 0> isRead(graph.tensors.size(), false);
  for (const GraphOperator &op : graph.operators)
    for (const GraphAccess &input : op.inputs)
      isRead[input.tensor] = true;
  for (auto [tensor, isWanted] : enumerate(isResult))
    isWanted |= isMade[tensor] && !isRead[tensor];
  return isResult;
}

double chimera::model::compulsoryBytes(const OperatorGraph &graph,
                                       ArrayRef<OperatorId> members) {
  SmallVector<bool, 0> isResult = findResults(graph, members);
  SmallVector<bool, 0> isMade(graph.tensors.size(), false);
  SmallVector<double, 0> elements(graph.tensors.size(), 0);
  std::vector<SmallVector<const GraphAccess *, 4>> seen(graph.tensors.size());
  auto touch = [&](const GraphOperator &op, const GraphAccess &access) {
    if (any_of(seen[access.tensor], [&](const GraphAccess *other) {
          return other->indices == access.indices &&
                 other->isReshaped == access.isReshaped;
        }))
      return;
    seen[access.tensor].push_back(&access);
    double touched = 1;
    for (auto [loop, extent] : enumerate(op.extents))
      if (access.isReshaped || access.hasLoop(loop))
        touched *= static_cast<double>(extent);
    elements[access.tensor] += touched;
  };
  for (OperatorId member : members) {
    const GraphOperator &op = graph.operators[member];
    for (const GraphAccess &input : op.inputs)
      if (!isMade[input.tensor])
        touch(op, input);
    for (const GraphAccess &output : op.outputs) {
      isMade[output.tensor] = true;
      if (isResult[output.tensor])
        touch(op, output);
    }
  }
  double bytes = 0;
  for (auto [tensor, touched] : zip(graph.tensors, elements))
    bytes += static_cast<double>(tensor.elementBytes) *
             std::min(touched, static_cast<double>(tensor.elements()));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t mostGraphs = 200;

/// Tiles that cut `extent` into equal parts of about `least` times powers of
/// two, the smallest first. The last one is all of it.
SmallVector<int64_t, 8> tilesOf(int64_t extent, int64_t least, int64_t most) {
  SmallVector<int64_t, 8> tiles;
  for (int64_t size = least; size < extent && size <= most; size *= 2) {
    int64_t tile = alignTo(divideCeil(extent, divideCeil(extent, size)), least);
    if (tile < extent && !is_contained(tiles, tile))
      tiles.push_back(tile);
  }
  return tiles;
}

class Planner {
public:
  Planner(const OperatorGraph &graph, ArrayRef<OperatorId> members,
          const Machine &machine, int64_t threads, bool isMerged)
      : graph(graph), members(members), machine(machine), threads(threads),
        isMerged(isMerged), isResult(findResults(graph, members)),
        mayBypass(storesBeyondCaches()) {}

  std::vector<std::pair<GirTemplate, Gir>> plan(GirRefusal &why);

private:
  bool isReduced(unsigned axis) const {
    return any_of(set.operators,
                  [&](const AxisOperator &op) { return op.reduces(axis); });
  }
  /// How many loops of a task can be along `axis`: all operators that store
  /// something have to have it.
  bool mayCut(unsigned axis) const;
  void planAlong(std::optional<unsigned> num, std::optional<unsigned> width);
  void addSizes(const GirPlan &plan);
  void add(GirPlan plan);
  bool storesBeyondCaches() const;

  const OperatorGraph &graph;
  ArrayRef<OperatorId> members;
  const Machine &machine;
  int64_t threads;
  bool isMerged;
  SmallVector<bool, 0> isResult;
  bool mayBypass;
  AxisSet set;
  GirRefusal refusal = GirRefusal::NoTasks;
  std::vector<std::pair<GirTemplate, Gir>> graphs;
};

bool Planner::mayCut(unsigned axis) const {
  if (isReduced(axis))
    return false;
  return !isMerged || none_of(set.operators, [&](const AxisOperator &op) {
    return !op.has[axis] && any_of(op.outputs, [&](const AxisAccess &output) {
      return isResult[output.tensor];
    });
  });
}

bool Planner::storesBeyondCaches() const {
  if (machine.levels[0].ways == 0)
    return false;
  return any_of(enumerate(graph.tensors), [&](auto entry) {
    return isResult[entry.index()] &&
           entry.value().bytes() > machine.levels[0].usableBytes() / 2;
  });
}

void Planner::add(GirPlan plan) {
  plan.isMerged = isMerged;
  for (bool bypasses : {false, true}) {
    if ((bypasses && !mayBypass) || graphs.size() >= mostGraphs)
      return;
    plan.bypasses = bypasses;
    GirRefusal why = refusal;
    std::optional<Gir> gir =
        expandPlan(graph, set, plan, isResult, machine, threads, why);
    if (!gir) {
      if (graphs.empty())
        refusal = why;
      return;
    }
    GirTemplate decision;
    auto sizeAlong = [&](std::optional<unsigned> axis) -> int64_t {
      if (!axis)
        return 0;
      return plan.tiles[*axis] ? plan.tiles[*axis] : set.extents[*axis];
    };
    decision.rows = sizeAlong(plan.num);
    decision.width = sizeAlong(plan.width);
    if (plan.parted)
      decision.parts =
          divideCeil(set.extents[*plan.parted], plan.tiles[*plan.parted]);
    decision.bypasses = bypasses;
    graphs.push_back({decision, std::move(*gir)});
  }
}

/// All sizes of tasks along the directions of slices.
void Planner::addSizes(const GirPlan &plan) {
  auto sizesAlong = [&](std::optional<unsigned> axis, int64_t least,
                        int64_t most) {
    SmallVector<int64_t, 8> sizes;
    if (!axis)
      return SmallVector<int64_t, 8>{0};
    if (plan.parted == axis) {
      // The same parts for any number of threads, and so the same results.
      int64_t cores = std::max<int64_t>(2, machine.cores);
      for (int64_t parts = cores; parts <= 64 * cores; parts *= 4)
        if (int64_t tile =
                alignTo(divideCeil(set.extents[*axis], parts), least);
            tile < set.extents[*axis] && !is_contained(sizes, tile))
          sizes.push_back(tile);
      return sizes;
    }
    if (mayCut(*axis))
      sizes = tilesOf(set.extents[*axis], least, most);
    sizes.push_back(0);
    return sizes;
  };
  int64_t lanes = std::max<int64_t>(1, machine.unit.lanes);
  bool isFlat = !plan.num;
  for (int64_t num : sizesAlong(plan.num, 1, 128))
    for (int64_t width :
         sizesAlong(plan.width, lanes, isFlat ? 1 << 16 : 16 * lanes)) {
      GirPlan sized = plan;
      if (plan.num)
        sized.tiles[*plan.num] = num;
      if (plan.width)
        sized.tiles[*plan.width] = width;
      add(sized);
    }
}

void Planner::planAlong(std::optional<unsigned> num,
                        std::optional<unsigned> width) {
  GirPlan plan;
  plan.num = num;
  plan.width = width;
  plan.tiles.assign(set.size(), 0);
  for (unsigned axis : seq(set.size())) {
    if (axis == num || axis == width)
      continue;
    if (!mayCut(axis))
      return;
    plan.tiles[axis] = 1;
  }
  addSizes(plan);
  for (auto axis : {num, width})
    if (axis && isReduced(*axis)) {
      plan.parted = axis;
      addSizes(plan);
    }
}

std::vector<std::pair<GirTemplate, Gir>> Planner::plan(GirRefusal &why) {
  std::optional<AxisSet> found =
      findAxes(graph, members, isResult, isMerged, why);
  if (!found)
    return {};
  set = std::move(*found);
  if (set.size() == 0)
    planAlong(std::nullopt, std::nullopt);
  for (unsigned width : reverse(seq(set.size()))) {
    for (unsigned num : reverse(seq(set.size())))
      if (num != width)
        planAlong(num, width);
    planAlong(std::nullopt, width);
  }
  why = refusal;
  return std::move(graphs);
}

} // namespace

std::vector<std::pair<GirTemplate, Gir>>
chimera::model::expandGir(const OperatorGraph &graph,
                          ArrayRef<OperatorId> members, const Machine &machine,
                          int64_t threads, GirRefusal *why, bool merged) {
  GirRefusal reason = GirRefusal::NoTasks;
  auto graphs = Planner(graph, members, machine, threads, merged).plan(reason);
  if (why)
    *why = reason;
  return graphs;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

std::optional<GirChoice> chimera::model::chooseGir(const OperatorGraph &graph,
                                                   ArrayRef<OperatorId> members,
                                                   const Machine &machine,
                                                   int64_t threads,
                                                   GirRefusal *why) {
  auto graphs = expandGir(graph, members, machine, threads, why);
  std::optional<GirChoice> best;
  unsigned priced = 0;
  for (auto &[decision, gir] : graphs) {
    if (!placeValues(gir, machine))
      continue;
    ++priced;
    GirCost cost = costOf(gir, machine);
    auto bytes =
        static_cast<double>(cost.levels[0].read + cost.levels[0].written);
    if (best && std::tie(cost.seconds, bytes) >=
                    std::tie(best->seconds, best->bytesIntoOutermost))
      continue;
    if (!best)
      best.emplace();
    best->graph = std::move(gir);
    best->decision = decision;
    best->seconds = cost.seconds;
    best->bytesIntoOutermost = bytes;
    best->cost = std::move(cost);
  }
  if (best) {
    best->candidates = priced;
    best->compulsoryBytes = compulsoryBytes(graph, members);
  } else if (why && !graphs.empty()) {
    *why = GirRefusal::NoRoom;
  }
  return best;
}
