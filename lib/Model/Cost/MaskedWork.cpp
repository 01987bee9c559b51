//===- MaskedWork.cpp - What masks leave of an operator's work ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of which a mask leaves nothing are not visited by the loops around all
// operators. A schedule may also cut the last one that is visited down to what
// counts, and leave out smaller tiles in the loops of one operator.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "Volume/Evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

namespace {

/// Columns from `begin` on that end before `end`.
struct Columns {
  int64_t begin = 0, end = 0;
};

/// A loop of a mask: its tiles around all operators, and around one.
struct MaskedLoop {
  LoopId loop;
  int64_t extent, outer, inner;
};

class MaskWalk {
public:
  MaskWalk(const ChainProblem &problem, const MaskedLoop &rows,
           const MaskedLoop &columns, bool clips)
      : problem(problem), rows(rows), columns(columns), clips(clips) {}

  /// What the loops around all operators visit of `height` rows from `first`
  /// on.
  Columns visit(int64_t first, int64_t height) const;
  /// Elements of `visited` that the loops of one operator visit.
  int64_t countInside(int64_t first, int64_t height, Columns visited) const;

private:
  int64_t roundDown(int64_t place, int64_t width) const;
  int64_t roundUp(int64_t place, int64_t width) const;
  Columns findColumns(int64_t first, int64_t height, int64_t width) const;

  const ChainProblem &problem;
  MaskedLoop rows, columns;
  bool clips;
};

} // namespace

/// Multiples of `width` in each of the outer tiles.
int64_t MaskWalk::roundDown(int64_t place, int64_t width) const {
  int64_t origin = alignDown(place, columns.outer);
  return origin + alignDown(place - origin, width);
}

int64_t MaskWalk::roundUp(int64_t place, int64_t width) const {
  int64_t origin = alignDown(place - 1, columns.outer);
  return origin +
         std::min<int64_t>(columns.outer, alignTo(place - origin, width));
}

/// What masks leave of `height` rows, from a tile of `width` columns on.
Columns MaskWalk::findColumns(int64_t first, int64_t height,
                              int64_t width) const {
  Columns left = {0, columns.extent};
  for (const Band &band : problem.bands) {
    if (band.row != rows.loop || band.column != columns.loop)
      continue;
    if (band.least)
      left.begin =
          std::max(left.begin,
                   roundDown(std::max<int64_t>(0, first + *band.least), width));
    if (band.most)
      left.end = std::min(left.end, first + height - 1 + *band.most);
  }
  return left;
}

Columns MaskWalk::visit(int64_t first, int64_t height) const {
  if (columns.outer >= columns.extent)
    return {0, columns.extent};
  Columns left = findColumns(first, height, columns.outer);
  if (left.end <= left.begin)
    return {};
  int64_t size = left.end - left.begin, last = (size - 1) % columns.outer + 1;
  int64_t most = clips ? clippedSize(columns.outer, last) : columns.outer;
  left.end =
      left.begin + std::min(size - last + most, columns.extent - left.begin);
  return left;
}

int64_t MaskWalk::countInside(int64_t first, int64_t height,
                              Columns visited) const {
  int64_t count = 0;
  for (int64_t i = 0; i < height; i += rows.inner) {
    int64_t own = std::min(rows.inner, height - i);
    Columns left = findColumns(first + i, own, columns.inner);
    if (left.end <= 0)
      continue;
    int64_t end = std::min(visited.end, roundUp(left.end, columns.inner));
    count +=
        own * std::max<int64_t>(0, end - std::max(visited.begin, left.begin));
  }
  return count;
}

/// True if operator `op` makes the scores of the softmax along `column`, or
/// reads what becomes of them.
bool CostModel::isOfSoftmax(unsigned op, LoopId column) const {
  return any_of(enumerate(problem.operators), [&](const auto &entry) {
    const Operator &reader = entry.value();
    return reader.rescaledBy == column &&
           (entry.index() == op ||
            is_contained(reader.inputs, problem.operators[op].output.tensor));
  });
}

double CostModel::leastVisitedShare() const {
  if (!leavesTilesOut(problem, machine))
    return 1;
  auto single = [&](LoopId loop) {
    return MaskedLoop{loop, problem.loops[loop].extent, 1, 1};
  };
  MaskedLoop rows = single(problem.bands[0].row),
             columns = single(problem.bands[0].column);
  MaskWalk walk(problem, rows, columns, /*clips=*/false);
  int64_t left = 0;
  for (int64_t row = 0; row < rows.extent; ++row) {
    Columns visited = walk.visit(row, 1);
    left += visited.end - visited.begin;
  }
  return static_cast<double>(left) / (rows.extent * columns.extent);
}

CostModel::Visited CostModel::visitedBy(const Schedule &schedule,
                                        const LoopNest &tree,
                                        unsigned op) const {
  if (problem.bands.empty())
    return {};
  auto describe = [&](LoopId id) {
    int64_t extent = problem.loops[id].extent;
    MaskedLoop result = {id, extent, extent, extent};
    for (const NestLoop &loop : tree.loops)
      if (loop.loop == id)
        result.outer = loop.tile;
    for (const NestLoop &loop : pathOf(tree, op))
      if (loop.loop == id)
        result.inner = loop.tile;
    return result;
  };
  MaskedLoop rows = describe(problem.bands[0].row),
             columns = describe(problem.bands[0].column);
  bool clips = schedule.blocks && schedule.blocks->clips;
  bool skipsInside = clips && isOfSoftmax(op, columns.loop);
  if (columns.outer >= columns.extent && !skipsInside)
    return {};

  MaskWalk walk(problem, rows, columns, clips);
  int64_t byTiles = 0, byProducts = 0;
  for (int64_t first = 0; first < rows.extent; first += rows.outer) {
    int64_t height = std::min(rows.outer, rows.extent - first);
    Columns visited = walk.visit(first, height);
    byTiles += height * (visited.end - visited.begin);
    if (skipsInside)
      byProducts += walk.countInside(first, height, visited);
  }
  double whole = static_cast<double>(rows.extent) * columns.extent;
  return {byTiles / whole, (skipsInside ? byProducts : byTiles) / whole};
}

/// Which of `count` tiles of rows is task number `task`, if they are taken from
/// both ends by turns.
static int64_t foldedPlace(int64_t task, int64_t count) {
  return task % 2 == 0 ? task / 2 : count - 1 - task / 2;
}

/// Threads run neighbouring tasks, as many as any other or one less; cores that
/// move their data by themselves take turns with them. Blocks of a GPU go to
/// whoever is done with one, the long ones first. Tiles of other loops count as
/// equal.
std::optional<double> CostModel::busiestOfMask(const Schedule &schedule,
                                               const LoopNest &tree) const {
  if (problem.bands.empty() || machine.groups)
    return std::nullopt;
  LoopId row = problem.bands[0].row, column = problem.bands[0].column;
  int64_t rows = problem.loops[row].extent,
          columns = problem.loops[column].extent;
  MaskedLoop ofRows = {row, rows, rows, rows},
             ofColumns = {column, columns, columns, columns};
  for (const NestLoop &loop : pathOf(tree, problem.operators.size() - 1))
    if (loop.loop == column)
      ofColumns.outer = ofColumns.inner = loop.tile;
  int64_t outside = 1, inside = 1;
  ArrayRef<NestLoop> parallel =
      ArrayRef(tree.loops).take_front(schedule.numParallel);
  const auto *own =
      find_if(parallel, [&](const NestLoop &loop) { return loop.loop == row; });
  if (own == parallel.end())
    return std::nullopt;
  ofRows.outer = own->tile;
  for (const NestLoop &loop : parallel)
    if (&loop != own)
      (&loop < own ? outside : inside) *=
          divideCeilSigned(problem.loops[loop.loop].extent, loop.tile);

  bool clips = schedule.blocks && schedule.blocks->clips;
  bool folds = schedule.blocks && schedule.blocks->folds;
  MaskWalk walk(problem, ofRows, ofColumns, clips);
  int64_t count = divideCeilSigned(rows, ofRows.outer);
  // What the tasks before each have to do.
  SmallVector<double, 16> before = {0};
  for (int64_t task = 0; task < count; ++task) {
    int64_t first = (folds ? foldedPlace(task, count) : task) * ofRows.outer;
    int64_t height = std::min(ofRows.outer, rows - first);
    Columns visited = walk.visit(first, height);
    before.push_back(before.back() + static_cast<double>(height) *
                                         (visited.end - visited.begin));
  }
  double ofAll = before.back();
  if (ofAll == 0)
    return std::nullopt;
  if (machine.levels.back().ways == 0) {
    constexpr int64_t mostTasks = 1 << 15;
    int64_t tasks = outside * count * inside;
    if (tasks > mostTasks)
      return std::nullopt;
    SmallVector<double, 32> own(std::min(threads, tasks), 0);
    for (int64_t task = 0; task < tasks; ++task) {
      int64_t place = task / inside % count;
      own[task % threads] += before[place + 1] - before[place];
    }
    return *max_element(own) / (ofAll * outside * inside);
  }
  auto workBefore = [&](int64_t task) {
    int64_t round = task / (count * inside), left = task % (count * inside);
    int64_t place = left / inside;
    double own = place < count ? before[place + 1] - before[place] : 0;
    return round * inside * ofAll + before[place] * inside +
           own * (left % inside);
  };
  int64_t tasks = outside * count * inside, most = tasks % threads;
  double busiest = 0;
  for (int64_t thread = 0, first = 0; first < tasks; ++thread) {
    int64_t end = first + tasks / threads + (thread < most ? 1 : 0);
    busiest = std::max(busiest, workBefore(end) - workBefore(first));
    first = end;
  }
  return busiest / (ofAll * outside * inside);
}
