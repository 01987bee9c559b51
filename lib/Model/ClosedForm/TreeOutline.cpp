//===- TreeOutline.cpp - What a tree moves and holds at least -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClosedForm/TreeOutline.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

/// The places in `order` of the loops whose trips replace the tile of `access`:
/// those of `op` that do not index it, outside the last that does.
static LoopSet replacingLoops(const Operator &op, const Access &access,
                              ArrayRef<TiledLoop> order) {
  LoopSet loops = 0, outside = 0;
  for (const auto &[place, entry] : enumerate(order)) {
    if (!op.hasLoop(entry.loop))
      continue;
    if (access.hasLoop(entry.loop))
      loops = outside;
    else
      outside |= bitOf(place);
  }
  return loops;
}

/// The tile of `access` as a product of the tiles of `order`.
static Monomial tileOf(const Access &access, int64_t elementBytes,
                       ArrayRef<TiledLoop> order, ArrayRef<int64_t> left) {
  Monomial tile;
  tile.factor = elementBytes;
  for (const Index &index : access.indices)
    for (const Term &term : index.terms) {
      const auto *entry = find_if(order, [&](const TiledLoop &candidate) {
        return candidate.loop == term.loop;
      });
      if (entry == order.end())
        tile.factor *= left[term.loop];
      else
        tile.loops |= bitOf(entry - order.begin());
    }
  return tile;
}

TreeOutline chimera::model::outlineOf(const ChainProblem &problem,
                                      const Schedule &schedule, unsigned level,
                                      const Transfer &transfer,
                                      ArrayRef<TiledLoop> order,
                                      ArrayRef<int64_t> left) {
  TreeOutline outline;
  SmallVector<TensorId, 6> seen;
  auto move = [&](const Operator &op, const Access &access, int64_t times) {
    const Tensor &tensor = problem.tensors[access];
    int64_t once = problem.sizeOf(access) *
                   std::min(tensor.elementBytes, tensor.heldBytes());
    outline.volume.push_back(
        {times * once, replacingLoops(op, access, order), {}});
    // The first time nothing comes back.
    if (times > 1)
      outline.volume.push_back({-once, 0, {}});
  };
  for (const Operator &op : problem.operators) {
    SmallVector<Monomial, 6> &live = outline.live.emplace_back();
    auto hold = [&](const Access &access, int64_t elementBytes) {
      bool isInside = problem.tensors[access].role == Role::Intermediate &&
                      schedule.homeOf(access) > level;
      if (!isInside)
        live.push_back(tileOf(access, elementBytes, order, left));
    };
    for (const Access &input : op.inputs) {
      bool isInput = problem.tensors[input].role == Role::Input;
      if (isInput || transfer.holdsResults)
        hold(input, problem.tensors[input].elementBytes);
      if (!isInput || is_contained(seen, input.tensor))
        continue;
      seen.push_back(input);
      move(op, input, 1);
    }
    if (transfer.holdsResults)
      hold(op.output, problem.tensors[op.output].heldBytes());
    if (problem.tensors[op.output].role == Role::Output &&
        transfer.holdsResults)
      move(op, op.output, op.rescaledBy ? 1 : 2);
  }
  return outline;
}
