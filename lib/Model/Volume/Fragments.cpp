//===- Fragments.cpp - Blocks in the registers of threads -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Fragments.h"

#include "Volume/FragmentRows.h"
#include "Volume/MaskedTiles.h"
#include "Volume/RefillingLoops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace chimera::model;

static bool hasWindows(const Access &access) {
  return !all_of(access.indices,
                 [](const Index &index) { return index.isLoop(); });
}

namespace {

/// Left operands of an instruction that a thread holds: the one in use and the
/// next.
constexpr int64_t operandsHeld = 2;
constexpr int64_t registerBytes = 4;
/// What is done element by element has its arguments and results at once of one
/// in so many sums: ptxas spills from about there on.
constexpr int64_t elementwiseShare = 8;

class FragmentPlanner {
public:
  FragmentPlanner(const ChainProblem &problem, const Machine &machine,
                  const Schedule &schedule)
      : problem(problem), unit(*machine.matrix), threadGroups(*machine.groups),
        level(machine.levels.back()), schedule(schedule),
        tiles(problem, schedule) {}

  FragmentPlan run();

private:
  using Sizes = SmallVector<int64_t, 8>;

  LoopId rowsOf(unsigned op) const {
    return loopAt(problem.operators[op].output, 1);
  }
  LoopId columnsOf(unsigned op) const {
    return loopAt(problem.operators[op].output, 0);
  }
  /// The loop of an access's last index, or of one before.
  static LoopId loopAt(const Access &access, unsigned fromLast) {
    return access.indices[access.indices.size() - 1 - fromLast]
        .terms.front()
        .loop;
  }
  bool isIntermediate(TensorId tensor) const {
    return problem.tensors[tensor].role == Role::Intermediate;
  }
  LoopId reductionOf(unsigned op) const;
  /// Sides of factors in the innermost level are multiples of this.
  int64_t side() const { return std::lcm(unit.columns, unit.depth); }
  int64_t rowsOfBlock() const {
    return plan.groups / plan.sharers * plan.rowTiles * unit.rows;
  }
  Sizes sizesAfter(unsigned op, size_t depth) const;
  unsigned lastReader(unsigned op) const;

  ArrayRef<NestLoop> loopsInside(unsigned op) const;
  std::string findObstacle() const;
  std::string findObstacle(unsigned op) const;
  bool boundsAreKnown(unsigned op) const;
  int64_t registersOf(unsigned op, size_t depth, int64_t bytes) const;
  int64_t registersDuring(unsigned op) const;
  int64_t factorBytes(unsigned op) const;
  void shareRows(int64_t wanted);
  void countStages();
  std::string findSharingObstacle() const;

  const ChainProblem &problem;
  const MatrixUnit &unit;
  const ThreadGroups &threadGroups;
  const MemoryLevel &level;
  const Schedule &schedule;
  MaskedTiles tiles;
  FragmentPlan plan;
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The reduction of the products: those over taps are loops around these.
LoopId FragmentPlanner::reductionOf(unsigned op) const {
  const Operator &description = problem.operators[op];
  return *find_if(description.loops, [&](LoopId loop) {
    return description.isReduction(loop) && !isTap(problem, loop);
  });
}

/// The largest tiles inside the first `depth` loops around `op`.
FragmentPlanner::Sizes FragmentPlanner::sizesAfter(unsigned op,
                                                   size_t depth) const {
  Sizes sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back(loop.extent);
  for (const NestLoop &loop : ArrayRef(tiles.pathOf(op)).take_front(depth))
    sizes[loop.loop] = std::min(sizes[loop.loop], loop.tile);
  return sizes;
}

/// The last operator that reads the output of `op`.
unsigned FragmentPlanner::lastReader(unsigned op) const {
  TensorId output = problem.operators[op].output;
  auto reads = [&](const Access &access) { return access == output; };
  unsigned last = op;
  for (auto [index, reader] : enumerate(problem.operators))
    if (any_of(reader.inputs, reads) || any_of(reader.epilogue, reads))
      last = index;
  return last;
}

//===----------------------------------------------------------------------===//
// What cannot be followed
//===----------------------------------------------------------------------===//

/// Loops on the way to `op` inside which something is held.
ArrayRef<NestLoop> FragmentPlanner::loopsInside(unsigned op) const {
  return ArrayRef(tiles.pathOf(op))
      .drop_front(
          std::min(tiles.depthOfSums(op), tiles.getTree().loops.size()));
}

/// Loops over parts of what is held become straight code: each has to run over
/// as much in every iteration of the loops around it. A reduction around all
/// operators is no such loop.
bool FragmentPlanner::boundsAreKnown(unsigned op) const {
  for (const NestLoop &loop : loopsInside(op)) {
    size_t place = &loop - tiles.pathOf(op).begin();
    if (place < tiles.getTree().loops.size() &&
        problem.operators[op].isReduction(loop.loop))
      continue;
    int64_t size = problem.loops[loop.loop].extent;
    for (const NestLoop *outer = tiles.pathOf(op).begin(); outer != &loop;
         ++outer) {
      if (outer->loop != loop.loop)
        continue;
      if (size % outer->tile != 0)
        return false;
      size = outer->tile;
    }
  }
  return true;
}

std::string FragmentPlanner::findObstacle(unsigned op) const {
  const Operator &description = problem.operators[op];
  if (description.output.indices.size() < 2)
    return "a result has no rows and columns";
  if (rowsOf(op) != rowsOf(0))
    return "operators have different rows";
  if (count_if(description.loops, [&](LoopId loop) {
        return description.isReduction(loop) && !isTap(problem, loop);
      }) != 1)
    return "an operator adds up over several loops, or only over taps";
  Sizes innermost = sizesAfter(op, tiles.pathOf(op).size());
  for (LoopId loop : description.loops)
    if (isTap(problem, loop) && innermost[loop] != 1)
      return "a block has several taps of windows";
  for (const NestLoop &loop : loopsInside(op))
    if (loop.loop == rowsOf(op))
      return "rows of what registers hold are cut";
  Sizes sizes = sizesAfter(op, tiles.depthOfSums(op));
  for (const Index &index : description.output.indices) {
    LoopId loop = index.terms.front().loop;
    if (loop != rowsOf(op) && loop != columnsOf(op) && sizes[loop] != 1)
      return "sums of several matrices of a batch are held";
  }
  // Of products of one row each, the rows are those of a batch.
  for (const Access &input : description.inputs)
    if (input.hasLoop(rowsOf(op)) && input.hasLoop(columnsOf(op)) &&
        sizes[rowsOf(op)] != 1)
      return "rows have right operands of their own";
  if (!boundsAreKnown(op))
    return "parts of what registers hold differ from iteration to iteration";
  for (const Access &input : description.inputs) {
    if (!isIntermediate(input))
      continue;
    if (hasWindows(input))
      return "windows show an intermediate, which registers cannot";
    if (loopAt(input, 0) != reductionOf(op) || !input.hasLoop(rowsOf(op)))
      return "registers can only hold a left operand";
    if (schedule.homeOf(input) != schedule.levels.size() - 1)
      return "an intermediate leaves the block";
  }
  return {};
}

std::string FragmentPlanner::findObstacle() const {
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    if (std::string reason = findObstacle(op); !reason.empty())
      return reason;
  return {};
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

void FragmentPlanner::shareRows(int64_t wanted) {
  int64_t rows = sizesAfter(0, tiles.getTree().loops.size())[rowsOf(0)];
  RowShares shares =
      chimera::model::shareRows(rows, unit.rows, wanted, threadGroups);
  plan.rowTiles = shares.rowTiles;
  plan.sharers = std::max<int64_t>(1, schedule.registerTile.depth);
  plan.groups = shares.groups * plan.sharers;
  plan.availableRegisters = threadGroups.availableRegisters(plan.groups);
}

/// Of each thread, for the output of `op` inside `depth` loops, with elements
/// of `bytes`.
int64_t FragmentPlanner::registersOf(unsigned op, size_t depth,
                                     int64_t bytes) const {
  int64_t columns = sizesAfter(op, depth)[columnsOf(op)];
  if (isIntermediate(problem.operators[op].output) && plan.sharers > 1)
    columns = alignTo(columns, side()) / plan.sharers;
  int64_t instructions =
      plan.rowTiles * divideCeilSigned(columns, unit.columns);
  return instructions * unit.rows * unit.columns / threadGroups.threads *
         bytes / registerBytes;
}

/// Of each thread while blocks of `op` run.
int64_t FragmentPlanner::registersDuring(unsigned op) const {
  int64_t elementBytes =
      problem.tensors[problem.operators[op].inputs.front()].elementBytes;
  int64_t operand = unit.rows * unit.depth * elementBytes / registerBytes /
                    threadGroups.threads;
  // Threads hold pairs of columns.
  int64_t rowsOfThread = unit.rows * (unit.columns / 2) / threadGroups.threads;
  int64_t registers =
      registersBesideTiles(threadGroups, plan.rowTiles, operand);
  for (auto [index, other] : enumerate(problem.operators)) {
    const Tensor &tensor = problem.tensors[other.output];
    size_t start = tiles.depthOfSums(index);
    bool isWaiting =
        index != op && start < commonDepth(tiles.getTree(), op, index);
    if (index == op || isWaiting) {
      int64_t held = registersOf(index, start, tensor.heldBytes());
      registers += held + (index == op ? held / elementwiseShare : 0);
      registers += other.states.size() * plan.rowTiles * rowsOfThread;
    } else if (index < op && op <= lastReader(index)) {
      registers += registersOf(index, start, tensor.elementBytes);
    }
  }
  return registers;
}

/// Of the factors of `op` that come from outside.
int64_t FragmentPlanner::factorBytes(unsigned op) const {
  int64_t bytes = 0;
  int64_t rows = rowsOfBlock();
  for (const Access &input : problem.operators[op].inputs) {
    if (isIntermediate(input))
      continue;
    size_t innermost = tiles.pathOf(op).size();
    bool isRefilled = tiles.depthOf(op, input, innermost) >
                      static_cast<size_t>(schedule.numParallel);
    Sizes sizes = sizesAfter(op, innermost);
    int64_t tile =
        problem.tensors[input].elementBytes *
        alignTo(sizes[reductionOf(op)], side()) *
        (input.hasLoop(columnsOf(op)) ? alignTo(sizes[columnsOf(op)], side())
                                      : rows);
    int64_t copies = isRefilled ? schedule.registerTile.stagesIn(level) : 1;
    bytes += alignTo(tile * copies, factorAlignment);
  }
  return bytes;
}

void FragmentPlanner::countStages() {
  for (const RefillingLoops &loops :
       findRefillingLoops(problem, schedule, tiles.getTree())) {
    plan.stages = schedule.registerTile.stagesIn(level);
    plan.trips = std::max(plan.trips, loops.trips);
  }
}

/// Why groups cannot share columns as `plan` says, empty if they can.
std::string FragmentPlanner::findSharingObstacle() const {
  if (plan.sharers == 1)
    return {};
  std::optional<LoopId> columns = problem.operators.back().rescaledBy;
  if (!columns || problem.operators.size() != 2)
    return "groups can only share the columns of a softmax";
  if (plan.groups != plan.sharers || plan.groups > threadGroups.most)
    return "groups that share columns have rows of several groups";
  for (unsigned op : {0, 1})
    for (const NestLoop &loop :
         ArrayRef(tiles.pathOf(op))
             .drop_front(std::min<size_t>(schedule.numParallel,
                                          tiles.pathOf(op).size())))
      if (loop.loop != *columns)
        return "groups share columns that another loop is inside of";
  Sizes sizes = sizesAfter(0, tiles.pathOf(0).size());
  if (alignTo(sizes[*columns], side()) % (plan.sharers * side()) != 0)
    return "a tile has too few columns to share";
  // Sums of all groups but the first are where tiles were.
  int64_t sums = registersOf(1, tiles.depthOfSums(1), registerBytes);
  int64_t bytes = sums * registerBytes * threadGroups.threads;
  if ((plan.sharers - 1) * bytes > plan.factorBytes)
    return "sums of groups that share columns need more than their tiles";
  return {};
}

FragmentPlan FragmentPlanner::run() {
  plan.obstacle = findObstacle();
  if (!plan.obstacle.empty())
    return std::move(plan);
  // Half as many rows for each group if registers do not do.
  for (int64_t wanted = std::max<int64_t>(1, schedule.registerTile.rows);
       wanted >= 1; wanted /= 2) {
    shareRows(wanted);
    plan.registers = 0;
    for (unsigned op = 0; op < problem.operators.size(); ++op)
      plan.registers = std::max(plan.registers, registersDuring(op));
    if (plan.registers <= plan.availableRegisters)
      break;
  }
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    plan.factorBytes += factorBytes(op);
  countStages();
  plan.obstacle = findSharingObstacle();
  plan.factorBytes += bytesOfSharers(plan.sharers, rowsOfBlock());
  if (!plan.obstacle.empty())
    return std::move(plan);
  if (plan.registers > plan.availableRegisters)
    plan.obstacle = "tiles need " + std::to_string(plan.registers) +
                    " registers of each thread, there are " +
                    std::to_string(plan.availableRegisters);
  else if (plan.factorBytes > level.usableBytes())
    plan.obstacle = "tiles need " + std::to_string(plan.factorBytes) +
                    " bytes of " + level.name + ", there are " +
                    std::to_string(level.usableBytes());
  return std::move(plan);
}

RowShares chimera::model::shareRows(int64_t rows, int64_t unitRows,
                                    int64_t wanted,
                                    const ThreadGroups &groups) {
  RowShares shares;
  int64_t tiles = divideCeilSigned(rows, unitRows);
  shares.rowTiles = std::max(divideCeilSigned(tiles, groups.most),
                             std::clamp<int64_t>(wanted, 1, tiles));
  shares.groups = divideCeilSigned(tiles, shares.rowTiles);
  return shares;
}

int64_t chimera::model::bytesOfSharers(int64_t sharers, int64_t rows) {
  if (sharers == 1)
    return 0;
  return 2 * alignTo(sharers * rows * registerBytes, factorAlignment);
}

int64_t chimera::model::registersBesideTiles(const ThreadGroups &groups,
                                             int64_t rowTiles,
                                             int64_t operandRegisters) {
  return groups.reserved + operandsHeld * operandRegisters * rowTiles;
}

static bool isProduct(const Operator &op) {
  return op.inputs.size() == 2 && !op.output.indices.empty() &&
         !hasWindows(op.output) && none_of(op.inputs, [](const Access &input) {
           return input.indices.empty();
         });
}

bool chimera::model::multipliesTiles(const ChainProblem &problem) {
  return all_of(problem.operators, [&](const Operator &op) {
    return isProduct(op) && all_of(op.inputs, [&](const Access &input) {
             return !hasWindows(input) ||
                    problem.tensors[input].role == Role::Input;
           });
  });
}

bool chimera::model::readsWindows(const ChainProblem &problem) {
  return any_of(problem.operators, [](const Operator &op) {
    return any_of(op.inputs, hasWindows);
  });
}

bool chimera::model::isTap(const ChainProblem &problem, LoopId loop) {
  return any_of(problem.operators, [&](const Operator &op) {
    return op.isReduction(loop) && any_of(op.inputs, [&](const Access &input) {
             return any_of(input.indices, [&](const Index &index) {
               return index.hasLoop(loop) && !index.isLoop();
             });
           });
  });
}

bool chimera::model::hasFragments(const ChainProblem &problem,
                                  const Machine &machine) {
  return machine.matrix && machine.groups &&
         all_of(problem.operators, isProduct);
}

std::optional<ChainProblem>
chimera::model::withFragmentRows(const ChainProblem &problem,
                                 const Machine &machine) {
  if (!hasFragments(problem, machine))
    return std::nullopt;
  std::optional<ChainProblem> changed;
  for (unsigned number = 0; number < problem.operators.size(); ++number) {
    const Operator &op = problem.operators[number];
    ArrayRef<Index> indices = op.output.indices;
    if (indices.size() < 2 || op.rowLoop == op.vectorLoop ||
        indices.back().terms.front().loop != op.vectorLoop)
      continue;
    LoopId rows = indices.drop_back().back().terms.front().loop;
    bool usesVectorsAgain = any_of(op.inputs, [&](const Access &input) {
      return input.hasLoop(op.vectorLoop) && !input.hasLoop(rows);
    });
    if (rows == op.rowLoop || !usesVectorsAgain)
      continue;
    if (!changed)
      changed = problem;
    changed->operators[number].rowLoop = rows;
  }
  return changed;
}

FragmentPlan chimera::model::planFragments(const ChainProblem &problem,
                                           const Machine &machine,
                                           const Schedule &schedule) {
  return FragmentPlanner(problem, machine, schedule).run();
}
