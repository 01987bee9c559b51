//===- SolveHeld.cpp - Sums that registers keep ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block that fits the innermost level has a part of a long reduction, and
// comes back to its sums for every other part. The alternative is a tile of
// registers that keeps its sums through all of the reduction, while constants
// that lie in the order of reading stream through the level: more bytes, and
// nothing to come back to.
//
//===----------------------------------------------------------------------===//

#include "Search/Solver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// Steps of the reduction for which it is worth while to take up sums.
static constexpr int64_t leastDepths[] = {512, 1024};

/// Steps of the reduction for which partial sums are seldom read again. Their
/// rows may lie in pages of their own.
static constexpr int64_t fewSumsDepth = 256;

/// Vectors of the panels that levels outside are cut into.
static constexpr int64_t panelVectors = 2;

/// Register tiles take as long as each other if their cycles differ by less.
static constexpr double tieOfTiles = 0.05;

/// Loads of `tile` for each of its multiply-adds, on `rows` x `vectors` of
/// them.
static double loadsOf(const RegisterTile &tile, int64_t rows, int64_t vectors) {
  BalancedSplit down = splitEvenly(rows, tile.rows),
                across = splitEvenly(vectors, tile.vectors);
  return static_cast<double>(down.large + down.small) / rows +
         static_cast<double>(across.large + across.small) / vectors;
}

/// The register tile for `op` if no loop of the innermost level cuts it: of
/// those that take about as many cycles as the quickest, the one with the
/// fewest loads. Each is an instruction more, for which a core may have no time
/// when it serves another thread as well.
RegisterTile Solver::tileForHeld(const Innermost &level,
                                 const Operator &op) const {
  SmallVector<ArrayRef<Parts>, 6> parts(level.parts.begin(), level.parts.end());
  int64_t rows = parts[op.rowLoop].front().size;
  int64_t vectors =
      divideCeilSigned(parts[op.vectorLoop].front().size, machine.unit.lanes);
  ArrayRef<RegisterTile> tiles = costModel.getRegisterTiles();
  SmallVector<double, 8> cycles;
  for (const RegisterTile &tile : tiles)
    cycles.push_back(costModel.operatorCycles(op, parts, tile));
  double most = (1 + tieOfTiles) * *min_element(cycles);
  const RegisterTile *best = nullptr;
  for (auto [tile, own] : zip(tiles, cycles))
    if (own <= most &&
        (!best || loadsOf(tile, rows, vectors) < loadsOf(*best, rows, vectors)))
      best = &tile;
  return *best;
}

/// True if a kernel of `op` may hold its sums: it multiplies by constants,
/// which can lie in the order of reading; or no part of its reduction fits.
bool Solver::mayHold(const Operator &op) const {
  bool needsTo = hasSmallTiles && partedLoop(problem, op) && !op.rescaledBy &&
                 op.rowLoop != op.vectorLoop;
  return !inSteps && (needsTo || hasConstantVectors(problem, op));
}

/// What tiles of `level`, outside the innermost, may be. Right outside of it
/// there are also those that kernels come back to less often, and those for
/// sums that kernels hold: less volume than with others would be no help.
SmallVector<Solver::TileRule, 3> Solver::rulesAt(unsigned level) const {
  TileRule last = outerTiles();
  SmallVector<TileRule, 3> rules = {last};
  if (level + 1 != innermost())
    return rules;
  // What only repeats kernels makes room for the reduction.
  for (LoopId loop : tiledLoops)
    if (tileUnit(loop) == 0)
      last.granularity[loop] = 1;
  auto mayBeDeep = [&](const Operator &op) {
    return !inSteps && !op.rescaledBy;
  };
  if (std::optional<TileRule> rule =
          deeperRule(last, fewSumsDepth, mayBeDeep)) {
    rules.push_back(*rule);
    last = *rule;
  }
  auto holds = [&](const Operator &op) { return mayHold(op); };
  for (int64_t depth : leastDepths)
    if (std::optional<TileRule> rule = deeperRule(last, depth, holds)) {
      rules.push_back(*rule);
      last = *rule;
    }
  return rules;
}

/// `rule` for operators that are `wanted`, with `depth` steps of their
/// reductions in each tile; none if it has them.
std::optional<Solver::TileRule>
Solver::deeperRule(TileRule rule, int64_t depth,
                   function_ref<bool(const Operator &)> wanted) const {
  bool isDeeper = false;
  for (const Operator &op : problem.operators) {
    if (!wanted(op))
      continue;
    int64_t steps = 1;
    for (LoopId loop : op.loops)
      if (op.isReduction(loop))
        steps *= problem.loops[loop].extent;
    for (LoopId loop : tiledLoops) {
      if (!op.isReduction(loop))
        continue;
      int64_t others = steps / problem.loops[loop].extent;
      int64_t least = alignTo(divideCeilSigned(depth, others), tileUnit(loop));
      isDeeper |= least > rule.granularity[loop];
      rule.granularity[loop] = std::max(rule.granularity[loop], least);
    }
    // Whole panels, so that constants can be prepacked.
    rule.alignment[op.vectorLoop] = std::lcm(rule.alignment[op.vectorLoop],
                                             panelVectors * machine.unit.lanes);
  }
  if (!isDeeper)
    return std::nullopt;
  return rule;
}

/// Columns of the panels in which constants that vectors along `loop` load are
/// kept already; 0 if that is left to the plan.
int64_t Solver::keptColumns(LoopId loop) const {
  for (const Operator &op : problem.operators)
    if (const Access *operand = costModel.vectorOperand(op);
        operand && op.vectorLoop == loop)
      if (int64_t columns = problem.tensors[*operand].panelColumns)
        return columns;
  return 0;
}

/// True if `schedule` reads constants from the panels in which they are kept.
bool Solver::keepsPanels(const Schedule &schedule) const {
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Access *operand = costModel.vectorOperand(op);
    if (!operand)
      continue;
    int64_t columns = problem.tensors[*operand].panelColumns;
    if (columns &&
        (!is_contained(schedule.prepacked, operand->tensor) ||
         prepackedColumns(problem, schedule, index, *operand) != columns))
      return false;
  }
  return true;
}

/// Columns of a panel of `tile`, if `columns` are cut into equal parts.
int64_t Solver::panelColumns(const Operator &op, int64_t columns,
                             const RegisterTile &tile) const {
  if (int64_t kept = keptColumns(op.vectorLoop))
    return kept;
  int64_t vectors = divideCeilSigned(columns, machine.unit.lanes);
  return splitEvenly(vectors, tile.vectors).size * machine.unit.lanes;
}

/// True if the constants of the only operator come in the order in which they
/// lie: panel by panel, or as wide as they are where the reduction has to be
/// whole.
bool Solver::streams(const Schedule &schedule) const {
  const Operator &op = problem.operators.front();
  return any_of(op.inputs, [&](const Access &input) {
    return problem.tensors[input].isConstant &&
           (partedLoop(problem, op) ||
            prepackedColumns(problem, schedule, 0, input));
  });
}

/// Lets the kernel of the only operator hold its sums if blocks would cut the
/// reduction: loops of one tile of registers, its panel of constants around all
/// other loops or inside of them.
void Solver::searchHeld(const Innermost &level, ArrayRef<LoopId> loops) {
  const Operator &op = problem.operators.front();
  if (problem.operators.size() > 1 || !mayHold(op))
    return;
  SmallVector<int64_t, 8> size = leftBy(problem, level.schedule, innermost());
  RegisterTile tile = tileForHeld(level, op);
  int64_t columns = panelColumns(op, size[op.vectorLoop], tile);
  SmallVector<TiledLoop, 1> panel;
  if (columns < size[op.vectorLoop])
    panel.push_back({op.vectorLoop, columns});
  SmallVector<TiledLoop, 4> around, inside;
  int64_t rows = tile.rows * (machine.matrix ? machine.matrix->rows : 1);
  if (size[op.rowLoop] > rows)
    inside.push_back({op.rowLoop, rows});
  int64_t depth = hasSmallTiles ? machine.unit.depth : depthUnit();
  for (LoopId loop : loops)
    if (op.isReduction(loop) && size[loop] > depth)
      inside.push_back({loop, depth});
    else if (!op.isReduction(loop) && loop != op.vectorLoop &&
             loop != op.rowLoop && size[loop] > 1)
      around.push_back({loop, 1});
  auto isCut = [&](const TiledLoop &entry) {
    return !is_contained(loops, entry.loop);
  };
  if (any_of(panel, isCut) || any_of(inside, isCut) || inside.empty() ||
      !op.isReduction(inside.back().loop))
    return;
  for (bool isPanelOutside : {true, false}) {
    if (!isPanelOutside && (around.empty() || panel.empty()))
      break;
    Schedule schedule = level.schedule;
    schedule.registerTile = tile;
    schedule.held = 1;
    auto &order = schedule.levels[innermost()].order;
    append_range(order, isPanelOutside ? ArrayRef(panel) : ArrayRef(around));
    append_range(order, isPanelOutside ? ArrayRef(around) : ArrayRef(panel));
    append_range(order, inside);
    markParallel(schedule);
    auto priceWith = [&](int64_t numParallel) {
      Schedule candidate = schedule;
      candidate.numParallel = numParallel;
      dropUnheld(candidate);
      if (candidate.held && (hasSmallTiles || streams(candidate)))
        pricePlan(candidate);
    };
    priceWith(schedule.numParallel);
    // A kernel goes down the rows itself unless they are tasks.
    int64_t outsideKernel = -static_cast<int64_t>(inside.size());
    for (const LevelSchedule &known : schedule.levels)
      outsideKernel += known.order.size();
    if (outsideKernel < schedule.numParallel)
      priceWith(outsideKernel);
  }
}

/// Takes operators off Schedule::held that do not have the loops for it.
void Solver::dropUnheld(Schedule &schedule) const {
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    if (!canHold(structure, schedule, op))
      schedule.held &= ~(OperatorSet(1) << op);
}
