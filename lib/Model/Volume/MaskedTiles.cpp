//===- MaskedTiles.cpp - The tiles that a program goes over ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without masks a sum over tiles is a product of sums over loops. The loops of
// masks are gone over together, tile by tile, but for the innermost one, whose
// tiles differ in the last only. So are loops of which some follow from others.
//
//===----------------------------------------------------------------------===//

#include "Volume/MaskedTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {

/// Goes over the tiles that the loops of masks make.
class MaskedLoopWalk {
public:
  /// How often tiles have which sizes along the loops of masks.
  using Counts = std::map<SmallVector<int64_t, 2>, int64_t>;

  MaskedLoopWalk(const ChainProblem &problem, ArrayRef<LoopId> loops,
                 ArrayRef<NestLoop> path, ArrayRef<bool> isSkipping, bool clips)
      : problem(problem), loops(loops), clips(clips) {
    for (LoopId loop : loops)
      ranges.push_back({0, problem.loops[loop].extent});
    for (auto [loop, skips] : zip(path, isSkipping))
      if (is_contained(loops, loop.loop))
        steps.push_back({loop, skips});
  }

  Counts run() {
    visit(0);
    return std::move(counts);
  }

private:
  struct Range {
    int64_t offset = 0, size = 0;
  };
  struct Step {
    NestLoop loop;
    bool skips = false;
  };

  Range &rangeOf(LoopId loop) {
    return ranges[find(loops, loop) - loops.begin()];
  }
  Range boundsOf(const Step &step);
  void visit(size_t index);
  void count(int64_t times);

  const ChainProblem &problem;
  ArrayRef<LoopId> loops;
  bool clips;
  SmallVector<Step, 6> steps;
  /// Where along each of `loops` the tile at hand is.
  SmallVector<Range, 2> ranges;
  Counts counts;
};

} // namespace

/// The part of a loop's range, counted from where that starts, that its tiles
/// run over.
MaskedLoopWalk::Range MaskedLoopWalk::boundsOf(const Step &step) {
  Range column = rangeOf(step.loop.loop);
  int64_t lower = 0, upper = column.size;
  for (const Band &band : problem.bands) {
    if (!step.skips || band.column != step.loop.loop)
      continue;
    Range row = rangeOf(band.row);
    int64_t first = row.offset - column.offset;
    if (band.most)
      upper = std::min(upper, first + row.size - 1 + *band.most);
    if (band.least)
      lower = std::max<int64_t>(
          lower,
          alignDown(std::max<int64_t>(0, first + *band.least), step.loop.tile));
  }
  return {lower, upper - lower};
}

void MaskedLoopWalk::count(int64_t times) {
  SmallVector<int64_t, 2> sizes;
  for (const Range &range : ranges)
    sizes.push_back(range.size);
  counts[sizes] += times;
}

void MaskedLoopWalk::visit(size_t index) {
  if (index == steps.size())
    return count(1);
  const Step &step = steps[index];
  Range bounds = boundsOf(step);
  if (bounds.size <= 0)
    return;
  Range &range = rangeOf(step.loop.loop);
  Range whole = range;
  int64_t tile = step.loop.tile, end = bounds.offset + bounds.size;
  int64_t offset = bounds.offset;
  bool isClipped = clips && step.skips;
  if (index + 1 == steps.size()) {
    // All tiles but the last are whole.
    int64_t others = divideCeilSigned(bounds.size, tile) - 1;
    range.size = tile;
    if (others > 0)
      count(others);
    offset += others * tile;
  }
  for (; offset < end; offset += tile) {
    int64_t size = std::min(tile, whole.size - offset);
    if (isClipped)
      size = std::min(size, clippedSize(tile, end - offset));
    range = {whole.offset + offset, size};
    visit(index + 1);
  }
  range = whole;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// True if an operator reads what another one makes by other loops.
static bool hasDerivedLoops(const ChainProblem &problem) {
  return any_of(problem.operators, [&](const Operator &op) {
    return any_of(op.inputs, [&](const Access &input) {
      return problem.tensors[input].role == Role::Intermediate &&
             any_of(input.indices,
                    [](const Index &index) { return !index.isLoop(); });
    });
  });
}

MaskedTiles::MaskedTiles(const ChainProblem &problem, const Schedule &schedule)
    : problem(problem), schedule(schedule),
      tree(buildLoopTree(problem, schedule, schedule.levels.size() - 1)) {
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    paths.push_back(model::pathOf(tree, op));
    depths.push_back(paths.back().size());
    isSkipping.emplace_back(paths.back().size(), false);
  }
  for (const Band &band : problem.bands)
    for (LoopId loop : {band.row, band.column})
      if (!is_contained(maskedLoops, loop))
        maskedLoops.push_back(loop);
  if (!maskedLoops.empty())
    markSkipping(tree, 0);
  if (!hasDerivedLoops(problem))
    return;
  structure.emplace(problem);
  derivedAxes.resize(structure->numAxes());
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (structure->isDerived(loop))
      derivedAxes[structure->axisOf(loop)] = true;
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    walked.emplace_back(tree, op);
}

void MaskedTiles::addLoop(unsigned op, LoopId loop, int64_t tile) {
  paths[op].push_back(
      {loop, tile, paths[op].empty() ? 0u : paths[op].back().level});
  isSkipping[op].push_back(false);
  if (structure)
    walked[op].steps.push_back({loop, tile, {op, op}, false});
}

void MaskedTiles::forEachPart(unsigned op, size_t depth, LoopId loop,
                              function_ref<void(ArrayRef<Range>)> visit) const {
  // No image rolls.
  RollingSteps rolling(problem.loops.size());
  AxisWalk walk(*structure, walked[op], rolling, structure->axisOf(loop));
  walk.forEachPart(depth, [&](ArrayRef<Range> ranges) {
    // Where nothing is made no tile is.
    if (none_of(structure->derivedLoopsOf(op), [&](LoopId derived) {
          return structure->axisOf(derived) == structure->axisOf(loop) &&
                 ranges[derived].size() <= 0;
        }))
      visit(ranges);
  });
}

/// Finds the loops of `nest`, and inside it, which leave tiles out: those
/// around scores and what the last operator makes of them, which then rescales
/// what it has.
void MaskedTiles::markSkipping(const LoopNest &nest, size_t depth) {
  const Operator &last = problem.operators[nest.lastOperator];
  for (auto [index, loop] : enumerate(nest.loops)) {
    bool isParallel = depth + index < static_cast<size_t>(schedule.numParallel);
    if (!isParallel && nest.size() > 1 && last.rescaledBy == loop.loop)
      for (unsigned op = nest.firstOperator; op <= nest.lastOperator; ++op)
        isSkipping[op][depth + index] = true;
  }
  for (const LoopNest &part : nest.parts)
    markSkipping(part, depth + nest.loops.size());
}

MaskedTiles::Sizes MaskedTiles::sizesAfter(unsigned op, size_t depth) const {
  Sizes sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back({{loop.extent, 1}});
  for (const NestLoop &loop : ArrayRef(paths[op]).take_front(depth))
    sizes[loop.loop] = cutParts(sizes[loop.loop], loop.tile);
  for (LoopId loop : problem.operators[op].loops) {
    if (!isDerived(loop))
      continue;
    std::map<int64_t, int64_t, std::greater<>> counts;
    forEachPart(op, depth, loop,
                [&](ArrayRef<Range> ranges) { ++counts[ranges[loop].size()]; });
    sizes[loop].clear();
    for (auto [size, count] : counts)
      sizes[loop].push_back({size, count});
  }
  return sizes;
}

/// True if loop `index` on the path to `op` makes its tiles of `tensor` others.
bool MaskedTiles::affects(unsigned op, size_t index, TensorId tensor) const {
  LoopId loop = paths[op][index].loop;
  if (!structure)
    return problem.indexes(tensor, loop);
  const Operator &description = problem.operators[op];
  auto isAffected = [&](const Access &access) {
    return access == tensor &&
           contains(structure->affecting(access, walked[op].steps[index].group),
                    loop);
  };
  return isAffected(description.output) ||
         any_of(description.inputs, isAffected) ||
         any_of(description.epilogue, isAffected);
}

size_t MaskedTiles::depthOf(unsigned op, TensorId tensor, size_t most) const {
  size_t depth = most;
  size_t least = schedule.numParallel;
  while (depth > least && !affects(op, depth - 1, tensor))
    --depth;
  return depth;
}

size_t MaskedTiles::depthOfSums(unsigned op) const {
  const Operator &description = problem.operators[op];
  TensorId output = description.output;
  if (problem.tensors[output].role != Role::Intermediate) {
    auto inside =
        ArrayRef(paths[op])
            .take_front(depths[op])
            .drop_front(std::min<size_t>(schedule.numParallel, depths[op]));
    return find_if(inside,
                   [&](const NestLoop &loop) {
                     return description.isReduction(loop.loop);
                   }) -
           paths[op].begin();
  }
  auto reads = [&](const Access &access) { return access == output; };
  size_t depth = depths[op];
  for (auto [index, reader] : enumerate(problem.operators))
    if (any_of(reader.inputs, reads) || any_of(reader.epilogue, reads))
      depth = std::min(depth, commonDepth(tree, op, index));
  return depth;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

int64_t
MaskedTiles::sumOver(unsigned op, size_t depth,
                     function_ref<int64_t(LoopId, int64_t)> factor) const {
  int64_t product = 1;
  for (unsigned axis = 0; axis < derivedAxes.size(); ++axis) {
    if (!derivedAxes[axis])
      continue;
    LoopSet loops = structure->loopsOn(axis);
    int64_t sum = 0;
    forEachPart(op, depth, countr_zero(loops), [&](ArrayRef<Range> ranges) {
      int64_t term = 1;
      for (LoopSet left = loops; left; left &= left - 1)
        term *= factor(countr_zero(left), ranges[countr_zero(left)].size());
      sum += term;
    });
    product *= sum;
  }
  for (auto [loop, parts] : enumerate(sizesAfter(op, depth))) {
    if (is_contained(maskedLoops, loop) || isOnDerivedAxis(loop))
      continue;
    int64_t sum = 0;
    for (Parts part : parts)
      sum += part.count * factor(loop, part.size);
    product *= sum;
  }
  if (maskedLoops.empty())
    return product;
  int64_t sum = 0;
  MaskedLoopWalk walk(
      problem, maskedLoops, ArrayRef(paths[op]).take_front(depth),
      ArrayRef(isSkipping[op]).take_front(depth), /*clips=*/false);
  for (const auto &[sizes, count] : walk.run()) {
    int64_t term = count;
    for (auto [loop, size] : zip(maskedLoops, sizes))
      term *= factor(loop, size);
    sum += term;
  }
  return product * sum;
}

SmallVector<int64_t> MaskedTiles::clippedSizes(unsigned op, size_t depth,
                                               LoopId loop) const {
  size_t place = find(maskedLoops, loop) - maskedLoops.begin();
  MaskedLoopWalk walk(
      problem, maskedLoops, ArrayRef(paths[op]).take_front(depth),
      ArrayRef(isSkipping[op]).take_front(depth), /*clips=*/true);
  SmallVector<int64_t> found;
  for (const auto &[sizes, count] : walk.run())
    if (!is_contained(found, sizes[place]))
      found.push_back(sizes[place]);
  llvm::sort(found, std::greater<>());
  return found;
}

/// How many values of all loops in `terms`, plus `offset`, are from 0 to
/// `size`.
static int64_t countInside(const ChainProblem &problem, ArrayRef<Term> terms,
                           int64_t offset, int64_t size) {
  auto [loop, factor] = terms.front();
  int64_t extent = problem.loops[loop].extent;
  if (terms.size() == 1) {
    int64_t begin = divideCeilSigned(-offset, factor),
            end = divideCeilSigned(size - offset, factor);
    begin = std::clamp<int64_t>(begin, 0, extent);
    return std::clamp<int64_t>(end, begin, extent) - begin;
  }
  int64_t count = 0;
  for (int64_t value = 0; value < extent; ++value)
    count +=
        countInside(problem, terms.drop_front(), offset + value * factor, size);
  return count;
}

/// Of windows the tiles have one tap each, so that each pair of a pixel and a
/// tap belongs to one of them.
int64_t MaskedTiles::elementsOf(unsigned op, const Access &access,
                                size_t depth) const {
  int64_t elements = sumOver(op, depth, [&](LoopId loop, int64_t size) {
    return access.hasLoop(loop) ? size : 1;
  });
  for (auto [index, size] :
       zip_equal(access.indices, problem.tensors[access].shape)) {
    if (index.isLoop())
      continue;
    int64_t all = 1;
    for (const Term &term : index.terms)
      all *= problem.loops[term.loop].extent;
    elements =
        elements / all * countInside(problem, index.terms, index.offset, size);
  }
  return elements;
}

/// True if an operator before `op` multiplies the same tile of `tensor`, which
/// moves inside the first `depth` loops.
bool MaskedTiles::isTakenBefore(unsigned op, TensorId tensor,
                                size_t depth) const {
  return any_of(seq<unsigned>(0, op), [&](unsigned other) {
    return is_contained(problem.operators[other].inputs, tensor) &&
           depth <= commonDepth(tree, op, other) &&
           depthOf(other, tensor, paths[other].size()) == depth;
  });
}

SmallVector<Traffic, 6> MaskedTiles::traffic() const {
  SmallVector<Traffic, 6> traffic(problem.tensors.size());
  auto read = [&](unsigned op, const Access &access, size_t depth,
                  int64_t times = 1) {
    const Tensor &tensor = problem.tensors[access];
    if (tensor.role == Role::Input)
      traffic[access].readBytes +=
          elementsOf(op, access, depth) / times * tensor.elementBytes;
  };
  auto leave = [&](unsigned op, const Access &access) {
    int64_t bytes = elementsOf(op, access, schedule.numParallel) *
                    problem.tensors[access].heldBytes();
    traffic[access].writeBytes += bytes;
    traffic[access].readBytes += bytes;
  };
  for (auto [index, op] : enumerate(problem.operators)) {
    for (const Access &input : op.inputs)
      if (size_t depth = depthOf(index, input, paths[index].size());
          !isTakenBefore(index, input, depth))
        read(index, input, depth);
    size_t end = depthOfSums(index);
    bool isLast = index + 1 == paths.size();
    int64_t parts = isLast ? countSplitParts(problem, schedule, tree) : 1;
    for (const Access &operand : op.epilogue)
      read(index, operand, depthOf(index, operand, end), parts);
    const Tensor &output = problem.tensors[op.output];
    if (output.role == Role::Output || output.isStored)
      traffic[op.output].writeBytes +=
          elementsOf(index, op.output, end) / parts * output.elementBytes;
    if (parts > 1) {
      leave(index, op.output);
      for (const Access &state : op.states)
        leave(index, state);
    }
  }
  return traffic;
}

int64_t chimera::model::clippedSize(int64_t tile, int64_t size) {
  // Whole vectors of any machine, and few sizes to generate code for.
  constexpr int64_t vector = 16, mostSizes = 2;
  int64_t unit = alignTo(divideCeilSigned(tile, mostSizes), vector);
  return std::min<int64_t>(tile, alignTo(size, unit));
}

SmallVector<int64_t> chimera::model::clippedSizes(const ChainProblem &problem,
                                                  const Schedule &schedule,
                                                  unsigned op, size_t depth,
                                                  LoopId loop) {
  return MaskedTiles(problem, schedule).clippedSizes(op, depth, loop);
}
