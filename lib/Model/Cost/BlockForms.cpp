//===- BlockForms.cpp - How the blocks of a schedule are made -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a schedule leave open how the blocks inside them are made. That
// follows from figures of the machine: from its innermost level, from where
// sums are, and from what its vector unit takes for stores and exponentials.
//
//===----------------------------------------------------------------------===//

#include "Schedule/LoopTree.h"

#include "Chimera/Model/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace chimera::model;

/// A register tile reads one line from each of some neighbouring rows. Rows
/// that share no more than this part of the sets drive each other out.
static constexpr int64_t fewSets = 16;

/// Of the level outside the innermost, what may come into it ahead of time.
/// More drives out what is in use: with the weights of a perceptron, programs
/// became slower (docs/rationale.md, "Packing is where the model says a tile
/// enters").
static constexpr double aheadShare = 1.0 / 8;

static OperatorSet bitOfOperator(unsigned op) { return OperatorSet(1) << op; }

/// True if what operator `op` makes are the scores of a softmax that its reader
/// corrects.
static bool makesScores(const ChainProblem &problem, unsigned op) {
  return any_of(problem.operators, [&](const Operator &reader) {
    return reader.rescaledBy &&
           is_contained(reader.inputs, problem.operators[op].output.tensor);
  });
}

/// True if the results of `op` have fewer bytes than its sums.
static bool isNarrowed(const ChainProblem &problem, const Operator &op) {
  const Tensor &output = problem.tensors[op.output];
  return output.elementBytes < output.heldBytes();
}

/// True if a loop around `op` alone, the innermost one of `loops` that a mask
/// concerns, leaves out the tiles that the mask rules out.
static bool leavesOut(const ChainProblem &problem, unsigned op,
                      ArrayRef<NestLoop> loops) {
  auto isOfMask = [&](const NestLoop &loop) {
    return any_of(problem.bands, [&](const Band &band) {
      return band.row == loop.loop || band.column == loop.loop;
    });
  };
  return isOfMask(loops.front()) && none_of(loops.drop_front(), isOfMask) &&
         (makesScores(problem, op) || problem.operators[op].rescaledBy);
}

/// True if every tile that the `outer` loops leave of loop `inner` is longer
/// than that loop's. Of a loop that is open, a tile may be anything.
static bool isCutEverywhere(const ChainProblem &problem,
                            ArrayRef<NestLoop> outer, const NestLoop &inner) {
  if (problem.loops[inner.loop].isOpen)
    return false;
  SmallVector<int64_t, 4> sizes = {problem.loops[inner.loop].extent};
  for (const NestLoop &loop : outer) {
    if (loop.loop != inner.loop)
      continue;
    SmallVector<int64_t, 4> parts;
    for (int64_t size : sizes) {
      if (size >= loop.tile)
        parts.push_back(loop.tile);
      if (size % loop.tile != 0)
        parts.push_back(size % loop.tile);
    }
    sizes = parts;
  }
  return all_of(sizes, [&](int64_t size) { return size > inner.tile; });
}

/// True if one loop, of `op` alone and of several trips, has all that is added
/// up for the operator, so that its first tile can overwrite the sums.
static bool canStartAhead(const ChainProblem &problem, const Schedule &schedule,
                          bool clips, unsigned op) {
  LoopNest tree = buildLoopTree(problem, schedule, schedule.levels.size() - 1);
  separateCrossing(problem, tree);
  leaveLoopsToKernels(problem, schedule, tree);
  const LoopNest *leaf = &tree;
  while (!leaf->parts.empty())
    leaf = &leaf->partOf(op);
  SmallVector<NestLoop, 12> path = pathOf(tree, op);
  const Operator &description = problem.operators[op];
  auto isReduction = [&](const NestLoop &loop) {
    return description.isReduction(loop.loop);
  };
  size_t numParallel = schedule.numParallel;
  size_t place = find_if(drop_begin(path, std::min(numParallel, path.size())),
                         isReduction) -
                 path.begin();
  if (place == path.size() || place < path.size() - leaf->loops.size())
    return false;
  ArrayRef<NestLoop> inside = ArrayRef(path).drop_front(place);
  return none_of(inside.drop_front(), isReduction) &&
         isCutEverywhere(problem, ArrayRef(path).take_front(place),
                         inside.front()) &&
         !(clips && leavesOut(problem, op, inside));
}

/// Only caches take what nobody has a place for yet. In loops whose trip counts
/// vary, asking takes longer than what it saves (measured).
static Prefetching choosePrefetching(const Machine &machine) {
  Prefetching prefetch;
  if (machine.levels.back().ways == 0)
    return prefetch;
  prefetch.loops = Prefetching::Loops::Fixed;
  if (size_t size = machine.levels.size(); size > 1)
    prefetch.partBytes = machine.levels[size - 2].usableBytes() * aheadShare;
  return prefetch;
}

/// True if rows of a mask are among the parallel loops, which come first.
static bool cutsRowsOfMask(const ChainProblem &problem,
                           const Schedule &schedule) {
  int64_t left = schedule.numParallel;
  for (const LevelSchedule &level : schedule.levels)
    for (const TiledLoop &entry : level.order)
      if (left-- > 0 && entry.loop == problem.bands[0].row)
        return true;
  return false;
}

BlockForms chimera::model::chooseBlocks(const ChainProblem &problem,
                                        const Machine &machine,
                                        const Schedule &schedule) {
  BlockForms forms;
  const MemoryLevel &innermost = machine.levels.back();
  if (int64_t sets = innermost.sets())
    forms.rows = {innermost.lineBytes, std::max<int64_t>(1, sets / fewSets)};
  forms.clips = machine.canClipTiles() && !problem.bands.empty();
  forms.folds = forms.clips && cutsRowsOfMask(problem, schedule);
  forms.prefetch = choosePrefetching(machine);
  const VectorUnit &unit = machine.unit;
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    if (machine.keepsSumsInLevels() &&
        canStartAhead(problem, schedule, forms.clips, op))
      forms.ahead |= bitOfOperator(op);
    if (!makesScores(problem, op))
      continue;
    if (!machine.hasExponentials())
      forms.base2 |= bitOfOperator(op);
    // The product is loaded either way: computing again saves the store.
    std::optional<int64_t> again = problem.operators[op].scoreInstructions;
    if (!again)
      continue;
    // In registers it saves nothing, but a factor becomes part of the
    // exponential, unless that is narrowed.
    bool isFactor = machine.matrix && machine.groups && *again == 1 &&
                    !isNarrowed(problem, problem.operators[op]);
    if (isFactor || (machine.keepsSumsInLevels() &&
                     *again / unit.fmaPerCycle <= 1 / unit.storesPerCycle))
      forms.repeated |= bitOfOperator(op);
  }
  return forms;
}

Error chimera::model::verifyBlocks(const ChainProblem &problem,
                                   const Schedule &schedule) {
  if (!schedule.blocks)
    return Error::success();
  const BlockForms &forms = *schedule.blocks;
  OperatorSet all = forms.ahead | forms.repeated | forms.base2;
  unsigned numOperators = problem.operators.size();
  if (numOperators < 32 && all >> numOperators)
    return createStringError(
        "'blocks' lists an operator that the chain does not have; it has " +
        Twine(numOperators));
  if (forms.folds &&
      (problem.bands.empty() || !cutsRowsOfMask(problem, schedule)))
    return createStringError("'blocks' folds tasks, but no parallel loop is "
                             "along the rows of a mask; take 'fold' away");
  for (unsigned op = 0; op < numOperators; ++op) {
    std::string name = "operator '" + problem.operators[op].name + "'";
    auto isIn = [&](OperatorSet set) { return (set & bitOfOperator(op)) != 0; };
    if (isIn(forms.ahead) && !canStartAhead(problem, schedule, forms.clips, op))
      return createStringError(
          name + " cannot start ahead: all it adds up must be in one loop that "
                 "it has to itself, of two trips or more, of which masks leave "
                 "out none; take it off the list");
    if (isIn(forms.repeated) && !problem.operators[op].scoreInstructions)
      return createStringError(
          name + " has no scores of a softmax that are computed from its "
                 "product alone, to be repeated; take it off the list");
    if (isIn(forms.base2) && !makesScores(problem, op))
      return createStringError(name + " has no scores of a softmax, of which "
                                      "'base2' is; take it off the list");
  }
  return Error::success();
}
