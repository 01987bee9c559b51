//===- SolveForms.cpp - Plans from closed forms ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instead of searching, each level from the outside in takes the order and the
// tiles of its best closed form. At the innermost level a few families are
// priced, since the one that moves least may keep the units waiting.
//
//===----------------------------------------------------------------------===//

#include "Search/Solver.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Families that are priced at the innermost level.
static constexpr unsigned innermostForms = 3;

/// The families without the loops that level `level` has already; with
/// `sharedOnly`, those whose loops go around all operators.
SmallVector<OrderFamily, 9> Solver::familiesInside(const Schedule &schedule,
                                                   unsigned level,
                                                   bool sharedOnly) const {
  SmallVector<OrderFamily, 9> inside;
  for (OrderFamily family : families) {
    erase_if(family.loops, [&](LoopId loop) {
      return any_of(schedule.levels[level].order,
                    [&](const TiledLoop &entry) { return entry.loop == loop; });
    });
    if (!sharedOnly ||
        all_of(family.loops, [&](LoopId loop) { return isShared(loop); }))
      inside.push_back(std::move(family));
  }
  return inside;
}

/// Takes the best form for level `level` of `schedule` and goes on inside.
/// Volumes are those of `completed`, the schedule with the smallest
/// intermediates; they will be larger, but not than the innermost level, for
/// which there is room left.
void Solver::takeOuterForm(const Schedule &completed, const Schedule &schedule,
                           unsigned level, unsigned parallelLevel,
                           const Order &parallel) {
  TileRule rule = outerTiles();
  int64_t capacity = costModel.capacityAt(schedule, level);
  if (problem.operators.size() > 1)
    capacity -= costModel.capacityAt(schedule, innermost());
  FamilySearch search(structure, completed, level, capacity,
                      transferInto(machine.levels[level], threads),
                      {rule.granularity, rule.alignment});
  for (const ClosedForm &form :
       search.best(familiesInside(schedule, level, /*sharedOnly=*/true), 1)) {
    Schedule next = schedule;
    next.levels[level].order = form.order;
    searchFrom(next, level + 1, parallelLevel, parallel);
  }
}

void Solver::takeInnermostForms(Innermost &level, ArrayRef<LoopId> loops) {
  // Tiles that are no smaller keep the micro kernel busy.
  TileRule rule = outerTiles();
  FamilySearch search(structure, level.schedule, innermost(),
                      costModel.capacityAt(level.schedule, innermost()),
                      transferInto(machine.levels.back(), threads),
                      {rule.granularity, rule.alignment});
  SmallVector<OrderFamily, 9> inside =
      familiesInside(level.schedule, innermost(), /*sharedOnly=*/false);
  // Some leave intermediates that levels outside have no room for.
  unsigned numPriced = 0;
  for (const ClosedForm &form : search.best(inside, inside.size())) {
    numPriced += priceChoice(level, loops, form.order);
    if (numPriced == innermostForms)
      return;
  }
}
