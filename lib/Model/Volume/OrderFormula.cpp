//===- OrderFormula.cpp - Volume of an order as a formula -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Volume/OrderFormula.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

void SubsetProducts::assign(ArrayRef<int64_t> values) {
  products.resize_for_overwrite(size_t(1) << values.size());
  products[0] = 1;
  size_t known = 1;
  for (int64_t value : values) {
    for (size_t subset = 0; subset < known; ++subset)
      products[known + subset] = products[subset] * value;
    known *= 2;
  }
}

SmallVector<int64_t, 8> chimera::model::leftBy(const ChainProblem &problem,
                                               const Schedule &schedule,
                                               unsigned level) {
  SmallVector<int64_t, 8> left;
  for (const Loop &loop : problem.loops)
    left.push_back(loop.extent);
  for (const LevelSchedule &outer :
       ArrayRef(schedule.levels).take_front(level + 1))
    for (const TiledLoop &entry : outer.order)
      left[entry.loop] = std::min(left[entry.loop], entry.tile);
  return left;
}

int64_t chimera::model::countTrips(const ChainProblem &problem,
                                   const Schedule &schedule, unsigned level,
                                   LoopId loop, int64_t tile) {
  SmallVector<int64_t, 4> cuts;
  for (const LevelSchedule &outer : ArrayRef(schedule.levels).take_front(level))
    for (const TiledLoop &entry : outer.order)
      if (entry.loop == loop)
        cuts.push_back(entry.tile);
  cuts.push_back(tile);
  return countParts(problem.loops[loop].extent, cuts);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

unsigned WindowTable::add(const Path &path, const RollingSteps &rollingSteps,
                          unsigned axis, const MeasuredAxis &measured,
                          bool isMost) {
  SmallVector<int64_t, 32> key =
      AxisWalk(structure, path, rollingSteps, axis).keyOf(measured);
  key.push_back(isMost);
  auto [entry, isNew] = known.try_emplace(asKey(key), windows.size());
  if (!isNew)
    return entry->second;
  Window window;
  window.path = path;
  window.rollingSteps = rollingSteps;
  window.axis = axis;
  window.measured = measured;
  window.isMost = isMost;
  for (unsigned step = 0; step < measured.end; ++step) {
    const Path::Step &info = path.steps[step];
    if (info.tile != openTile || structure.axisOf(info.loop) != axis ||
        !measured.walks(path, step))
      continue;
    window.openSteps.push_back(step);
    window.loops |= bitOf(info.loop);
  }
  windows.push_back(std::move(window));
  return entry->second;
}

int64_t WindowTable::valueOf(unsigned index,
                             function_ref<int64_t(LoopId)> tileOf) {
  Window &window = windows[index];
  SmallVector<int64_t, 2> tiles;
  for (unsigned step : window.openSteps)
    tiles.push_back(tileOf(window.path.steps[step].loop));
  // Most depend on one tile.
  auto [value, isNew] = [&]() -> std::pair<int64_t *, bool> {
    if (tiles.size() == 1) {
      auto entry = window.ofTile.try_emplace(tiles.front(), 0);
      return {&entry.first->second, entry.second};
    }
    auto entry = window.values.try_emplace(asKey(tiles), 0);
    return {&entry.first->second, entry.second};
  }();
  if (isNew) {
    for (auto [step, tile] : zip(window.openSteps, tiles))
      window.path.steps[step].tile = tile;
    AxisWalk walk(structure, window.path, window.rollingSteps, window.axis);
    AxisWalk::Lengths lengths = walk.run(window.measured);
    *value = window.isMost ? lengths.most : lengths.sum;
  }
  return *value;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// Adds `term` to a sum of terms with different variables.
static void addTerm(SmallVectorImpl<Monomial> &sum, const Monomial &term) {
  if (term.factor == 0)
    return;
  auto *same = find_if(
      sum, [&](const Monomial &other) { return other.hasVariables(term); });
  if (same == sum.end())
    sum.push_back(term);
  else
    same->factor += term.factor;
}

Monomial OrderFormula::termOf(const Evaluator &evaluator, const KnownTree &tree,
                              const Evaluator::Parts &parts, bool isMost,
                              ArrayRef<LoopId> numbering,
                              WindowTable &windows) {
  const Path &path = tree.paths[parts.op];
  const RollingSteps &rollingSteps = evaluator.rollingStepsOf(parts.op);
  Monomial term;
  term.factor = evaluator.elementFactor(parts);
  auto addPlain = [&](const Evaluator::PlainAxis &axis,
                      const MeasuredAxis &measured) {
    if (!axis.open) {
      std::optional<AxisLengths> lengths =
          evaluator.lengthsAlong(axis, path, measured);
      if (lengths)
        term.factor *= isMost ? lengths->most : lengths->sum;
      return lengths.has_value();
    }
    // Parts of a plain index make up the whole; the largest is the tile.
    if (isMost == axis.dim.has_value())
      term.loops |= bitOf(find(numbering, axis.loop) - numbering.begin());
    else if (axis.dim)
      term.factor *= *axis.dim;
    return true;
  };
  auto addAxis = [&](unsigned axis, const MeasuredAxis &measured) {
    bool isOpen = false;
    for (unsigned step = 0; step < measured.end; ++step)
      isOpen |= path.steps[step].tile == openTile &&
                structure.axisOf(path.steps[step].loop) == axis &&
                measured.walks(path, step);
    if (!isOpen) {
      AxisWalk::Lengths lengths =
          AxisWalk(structure, path, rollingSteps, axis).run(measured);
      term.factor *= isMost ? lengths.most : lengths.sum;
      return;
    }
    unsigned window = windows.add(path, rollingSteps, axis, measured, isMost);
    term.windows.push_back(window);
    if (!is_contained(usedWindows, window))
      usedWindows.push_back(window);
  };
  evaluator.forEachAxis(tree, parts, addPlain, addAxis);
  llvm::sort(term.windows);
  return term;
}

OrderFormula::OrderFormula(const ChainStructure &structure,
                           const Schedule &schedule, unsigned level,
                           const Transfer &transfer, ArrayRef<LoopId> numbering,
                           WindowTable &windows)
    : structure(structure) {
  Evaluator evaluator(structure, schedule, level, transfer);
  evaluator.countTraffic([&](const Evaluator::Parts &parts, int64_t readTimes,
                             int64_t writeTimes) {
    Monomial term = termOf(evaluator, evaluator.treeOfLevel(), parts, false,
                           numbering, windows);
    int64_t once = term.factor;
    term.factor = once * (readTimes + writeTimes);
    addTerm(volume, term);
    term.factor = once * readTimes;
    if (term.factor)
      reads.push_back({parts.access.tensor, term});
  });
}

void OrderFormula::addLive(const Schedule &schedule, unsigned level,
                           const Transfer &transfer, ArrayRef<LoopId> numbering,
                           WindowTable &windows) {
  Evaluator evaluator(structure, schedule, level, transfer);
  live.resize(structure.getProblem().operators.size());
  evaluator.countLive([&](const Evaluator::Parts &parts, OperatorSet during,
                          bool isHome) {
    const KnownTree &tree =
        isHome ? evaluator.treeOfAll() : evaluator.treeOfLevel();
    Monomial term = termOf(evaluator, tree, parts, true, numbering, windows);
    // A tile that a loop replaces is filled more than once.
    if (!isHome && parts.extent.end > 0)
      term.factor *= transfer.buffers;
    for (unsigned op = 0; op < live.size(); ++op)
      if (during >> op & 1)
        addTerm(live[op], term);
  });
}

int64_t OrderFormula::volumeBytes(const SubsetProducts &trips,
                                  ArrayRef<int64_t> windows) const {
  int64_t bytes = 0;
  for (const Monomial &term : volume)
    bytes += term.at(trips, windows);
  return bytes;
}

int64_t OrderFormula::liveBytes(const SubsetProducts &tiles,
                                ArrayRef<int64_t> windows) const {
  int64_t most = 0;
  for (const auto &tensors : live) {
    int64_t bytes = 0;
    for (const Monomial &term : tensors)
      bytes += term.at(tiles, windows);
    most = std::max(most, bytes);
  }
  return most;
}

int64_t OrderFormula::readBytes(TensorId tensor, const SubsetProducts &trips,
                                ArrayRef<int64_t> windows) const {
  int64_t bytes = 0;
  for (const auto &[of, term] : reads)
    if (of == tensor)
      bytes += term.at(trips, windows);
  return bytes;
}
