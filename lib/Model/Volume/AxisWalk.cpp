//===- AxisWalk.cpp - Sums over the blocks along one axis -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Volume/AxisWalk.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;
using namespace chimera::model;

/// Before everything.
static constexpr int64_t nothingYet = std::numeric_limits<int64_t>::min();

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

unsigned chimera::model::bodyDepth(const ChainStructure &structure,
                                   const Path &path, const Access &access,
                                   unsigned end) {
  LoopSet affecting = 0;
  std::optional<Group> group;
  for (; end > 0; --end) {
    const Path::Step &step = path.steps[end - 1];
    if (group != step.group) {
      group = step.group;
      affecting = structure.affecting(access, *group);
    }
    if (contains(affecting, step.loop))
      break;
  }
  return end;
}

RollingSteps chimera::model::findRollingSteps(const ChainStructure &structure,
                                              ArrayRef<Path> paths, unsigned op,
                                              const Schedule &schedule) {
  const ChainProblem &problem = structure.getProblem();
  RollingSteps steps(problem.loops.size());
  for (TensorId tensor : schedule.rolling) {
    std::optional<unsigned> producer = structure.producerOf(tensor);
    if (!producer)
      continue;
    const Path &path = paths[*producer];
    const Access &output = problem.operators[*producer].output;
    unsigned depth = bodyDepth(structure, path, output,
                               path.commonDepth(structure.usersOf(tensor)));
    if (depth == 0 || depth <= schedule.numParallel ||
        !path.steps[depth - 1].group.has(op))
      continue;
    for (LoopId loop : structure.derivedLoopsOf(*producer))
      steps[loop] = depth - 1;
  }
  return steps;
}

int64_t chimera::model::countParts(int64_t size, ArrayRef<int64_t> tiles) {
  if (tiles.empty())
    return 1;
  int64_t tile = tiles.front();
  if (size <= tile)
    return countParts(size, tiles.drop_front());
  int64_t parts = size / tile * countParts(tile, tiles.drop_front());
  if (int64_t edge = size % tile)
    parts += countParts(edge, tiles.drop_front());
  return parts;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

int64_t MeasuredDim::measure(Range range) const {
  if (range.size() <= 0)
    return 0;
  if (elementBytes == 0)
    return range.size();
  int64_t first = range.begin * elementBytes / unitBytes;
  int64_t last = divideCeilSigned(range.end * elementBytes, unitBytes);
  return (last - first) * unitBytes;
}

/// Along an axis of one loop that indexes plainly, parts make up the whole.
std::optional<AxisWalk::Lengths> AxisWalk::runClosed() const {
  if (measured->dims.empty() && steps.empty())
    return Lengths{1, 1};
  std::optional<LoopId> loop = structure.onlyLoopOf(axis);
  if (!loop || measured->rollsAt)
    return std::nullopt;
  ArrayRef<MeasuredDim> dims = measured->dims;
  int64_t extent = problem.loops[*loop].extent;
  SmallVector<int64_t, 4> tiles;
  for (unsigned step : steps)
    tiles.push_back(path.steps[step].tile);
  if (dims.empty())
    return Lengths{countParts(extent, tiles), 1};
  if (dims.size() > 1 || !dims[0].index->isLoop() || dims[0].extent != extent ||
      dims[0].unitBytes > 1)
    return std::nullopt;
  return Lengths{extent, tiles.empty() ? extent : tiles.back()};
}

void AxisWalk::findSteps() {
  steps.clear();
  for (unsigned step = 0; step < measured->end; ++step)
    if (structure.axisOf(path.steps[step].loop) == axis &&
        measured->walks(path, step))
      steps.push_back(step);
}

SmallVector<int64_t, 32> AxisWalk::keyOf(const MeasuredAxis &measured) {
  this->measured = &measured;
  findSteps();
  // Small numbers share a word.
  SmallVector<int64_t, 32> key;
  auto orNone = [](std::optional<unsigned> number) -> int64_t {
    return number ? *number + 1 : 0;
  };
  key.push_back(int64_t(axis) << 40 | orNone(measured.neededOf) << 20 |
                orNone(measured.rollsAt));
  for (const MeasuredDim &dim : measured.dims) {
    key.push_back(dim.extent);
    key.push_back(dim.elementBytes << 32 | dim.unitBytes);
    key.push_back(dim.index->offset);
    for (const Term &term : dim.index->terms)
      key.push_back(term.factor << 8 | term.loop);
    key.push_back(-1);
  }
  for (unsigned step : steps) {
    const Path::Step &info = path.steps[step];
    key.push_back(int64_t(step) << 48 | int64_t(info.loop) << 32 |
                  int64_t(info.group.first) << 16 | info.group.last);
    key.push_back(info.tile);
  }
  for (LoopId loop = 0; loop < rollingSteps.size(); ++loop)
    if (rollingSteps[loop] && structure.axisOf(loop) == axis)
      key.push_back(-(int64_t(loop) << 32 | (*rollingSteps[loop] + 1)));
  return key;
}

AxisWalk::Lengths AxisWalk::run(const MeasuredAxis &measured) {
  this->measured = &measured;
  findSteps();
  if (std::optional<Lengths> closed = runClosed())
    return *closed;
  auto [known, isNew] =
      structure.lengthsKnown().try_emplace(asKey(keyOf(measured)));
  if (!isNew)
    return known->second;
  lengths = Lengths();
  auto measure = [&] { leaf(); };
  visitLeaf = measure;
  start();
  walk(steps);
  known->second = lengths;
  return lengths;
}

void AxisWalk::forEachRange(LoopId loop, LoopSet affecting,
                            function_ref<void(Range)> visit) {
  MeasuredAxis everything;
  everything.end = path.steps.size();
  everything.affecting = affecting;
  measured = &everything;
  findSteps();
  auto visitRange = [&] { visit(ranges[loop]); };
  visitLeaf = visitRange;
  start();
  walk(steps);
}

void AxisWalk::forEachPart(unsigned end,
                           function_ref<void(ArrayRef<Range>)> visit) {
  MeasuredAxis everything;
  everything.end = everything.fresh = end;
  measured = &everything;
  findSteps();
  auto visitRanges = [&] { visit(ranges); };
  visitLeaf = visitRanges;
  start();
  walk(steps);
}

/// Calls `visit` with each loop in `loops`.
template <typename Visit>
static void forEachLoop(LoopSet loops, Visit visit) {
  for (; loops; loops &= loops - 1)
    visit(static_cast<LoopId>(countr_zero(loops)));
}

void AxisWalk::start() {
  ranges.resize_for_overwrite(problem.loops.size());
  needs.resize_for_overwrite(problem.loops.size());
  madeUpTo.resize_for_overwrite(problem.loops.size());
  forEachLoop(structure.loopsOn(axis), [&](LoopId loop) {
    ranges[loop] = needs[loop] = {0, problem.loops[loop].extent};
    madeUpTo[loop] = nothingYet;
  });
  readUpTo.assign(measured->dims.size(), nothingYet);
  follow({0, static_cast<unsigned>(problem.operators.size() - 1)});
}

Range AxisWalk::rangeOf(const Index &index, int64_t extent) const {
  Range range{index.offset, index.offset + 1};
  for (const Term &term : index.terms) {
    Range values = ranges[term.loop];
    if (measured->neededOf && structure.isDerived(term.loop) &&
        structure.ownerOf(term.loop) == *measured->neededOf)
      values = needs[term.loop];
    if (values.size() <= 0)
      return Range();
    range.begin += term.factor * values.begin;
    range.end += term.factor * (values.end - 1);
  }
  range.begin = std::clamp<int64_t>(range.begin, 0, extent);
  range.end = std::clamp<int64_t>(range.end, range.begin, extent);
  return range;
}

/// Brings derived loops up to date, readers before producers.
void AxisWalk::follow(Group group) {
  for (unsigned op = group.last + 1; op-- > group.first;)
    for (LoopId loop : structure.derivedLoopsOf(op)) {
      if (structure.axisOf(loop) != axis || !structure.follows(loop, group))
        continue;
      Range hull;
      for (const Index &demand : structure.demandsOn(loop)) {
        // What readers need follows from what they themselves make.
        Range range{demand.offset, demand.offset + 1};
        bool isEmpty = false;
        for (const Term &term : demand.terms) {
          Range values = ranges[term.loop];
          isEmpty |= values.size() <= 0;
          range.begin += term.factor * values.begin;
          range.end += term.factor * (values.end - 1);
        }
        int64_t extent = problem.loops[loop].extent;
        range.begin = std::clamp<int64_t>(range.begin, 0, extent);
        range.end = std::clamp<int64_t>(range.end, 0, extent);
        if (isEmpty || range.size() <= 0)
          continue;
        if (hull.size() > 0) {
          range.begin = std::min(range.begin, hull.begin);
          range.end = std::max(range.end, hull.end);
        }
        hull = range;
      }
      needs[loop] = hull;
      hull.begin = std::min(std::max(hull.begin, madeUpTo[loop]), hull.end);
      ranges[loop] = hull;
    }
}

void AxisWalk::walk(ArrayRef<unsigned> steps) {
  if (steps.empty())
    return visitLeaf();
  unsigned step = steps.front();
  const Path::Step &info = path.steps[step];
  SmallVector<std::pair<Range, Range>, 8> outer;
  forEachLoop(structure.loopsOn(axis), [&](LoopId loop) {
    outer.emplace_back(ranges[loop], needs[loop]);
  });
  auto setMade = [&](auto upTo) {
    forEachLoop(structure.loopsOn(axis), [&](LoopId loop) {
      if (rollingSteps[loop] == step)
        madeUpTo[loop] = upTo(loop);
    });
  };
  if (measured->rollsAt == step)
    readUpTo.assign(measured->dims.size(), nothingYet);
  Range whole = ranges[info.loop];
  for (int64_t begin = whole.begin; begin < whole.end; begin += info.tile) {
    ranges[info.loop] = {begin, std::min(begin + info.tile, whole.end)};
    needs[info.loop] = ranges[info.loop];
    follow(info.group);
    walk(steps.drop_front());
    setMade(
        [&](LoopId loop) { return std::max(madeUpTo[loop], needs[loop].end); });
  }
  setMade([](LoopId) { return nothingYet; });
  const auto *saved = outer.begin();
  forEachLoop(structure.loopsOn(axis), [&](LoopId loop) {
    std::tie(ranges[loop], needs[loop]) = *saved++;
  });
}

void AxisWalk::leaf() {
  int64_t product = 1;
  for (const auto &[place, dim] : enumerate(measured->dims)) {
    Range range = rangeOf(*dim.index, dim.extent);
    if (measured->rollsAt) {
      Range rest = range;
      rest.begin = std::min(std::max(range.begin, readUpTo[place]), range.end);
      readUpTo[place] = std::max(readUpTo[place], range.end);
      range = rest;
    }
    product *= dim.measure(range);
  }
  lengths.sum += product;
  lengths.most = std::max(lengths.most, product);
}
