//===- SimulatedWalk.cpp - A plain interpreter of loop trees --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference/SimulatedWalk.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;
using namespace chimera::model::simulation;

Walk::Walk(const ChainProblem &problem, const Schedule &schedule,
           unsigned level)
    : problem(problem), schedule(schedule), level(level),
      tree(buildLoopTree(problem, schedule, level)) {
  for (const Loop &loop : problem.loops)
    ranges.push_back({0, loop.extent});
  producers.resize(problem.tensors.size());
  readers.resize(problem.tensors.size());
  for (const auto &[index, op] : enumerate(problem.operators)) {
    producers[op.output] = index;
    for (const auto *accesses : {&op.inputs, &op.epilogue})
      for (const Access &access : *accesses)
        readers[access].push_back({unsigned(index), &access});
  }
  findRolls();
}

void Walk::walk() {
  updateDemand(tree);
  walkBody({&tree, 0});
}

void Walk::walkBody(Place place) {
  const LoopNest &nest = *place.nest;
  enter(place);
  if (place.holdsLoop())
    walkLoop(place);
  else if (nest.parts.empty())
    runBlock(nest.firstOperator);
  else
    for (const LoopNest &part : nest.parts) {
      beforePart(place, part);
      walkBody({&part, 0});
      afterPart(place, part);
    }
  leave(place);
}

void Walk::walkLoop(Place place) {
  NestLoop loop = place.nest->loops[place.depth];
  const std::vector<Range> saved = ranges;
  Range whole = ranges[loop.loop];
  SmallVector<Roll *, 2> rolling;
  for (Roll &roll : rolls)
    if (roll.loop == place)
      rolling.push_back(&roll);
  for (int64_t begin = whole.begin; begin < whole.end; begin += loop.tile) {
    ranges = saved;
    ranges[loop.loop] = {begin, std::min(begin + loop.tile, whole.end)};
    updateDemand(*place.nest);
    walkBody({place.nest, place.depth + 1});
    for (Roll *roll : rolling)
      for (auto [made, needed] : zip(roll->made, roll->needed))
        made = std::max(made, needed);
  }
  for (Roll *roll : rolling)
    fill(roll->made, 0);
  ranges = saved;
}

//===----------------------------------------------------------------------===//
// Demand
//===----------------------------------------------------------------------===//

Range Walk::rangeOf(const Index &index) const {
  Range range{index.offset, index.offset + 1};
  for (Term term : index.terms) {
    Range values = ranges[term.loop];
    if (values.isEmpty())
      return {};
    range.begin += term.factor * values.begin;
    range.end += term.factor * (values.end - 1);
  }
  return range;
}

Box Walk::boxOf(const Access &access) const {
  Box box;
  for (auto [index, extent] :
       zip(access.indices, problem.tensors[access].shape))
    box.push_back(intersect(rangeOf(index), {0, extent}));
  return box;
}

bool Walk::isTogether(const LoopNest &nest, TensorId tensor) const {
  return nest.has(producers[tensor]) &&
         all_of(readers[tensor],
                [&](const Reader &reader) { return nest.has(reader.op); });
}

/// True if the producer's loop along `dim` has the range that readers with
/// other loops ask for.
bool Walk::isDerived(TensorId tensor, unsigned dim) const {
  LoopId made =
      problem.operators[producers[tensor]].output.indices[dim].terms[0].loop;
  return none_of(readers[tensor], [&](const Reader &reader) {
    const Index &index = reader.access->indices[dim];
    return index.isLoop() && index.hasLoop(made);
  });
}

Range Walk::demandOf(TensorId tensor, unsigned dim) const {
  Range demand, whole{0, problem.tensors[tensor].shape[dim]};
  for (const Reader &reader : readers[tensor])
    demand =
        hull(demand, intersect(rangeOf(reader.access->indices[dim]), whole));
  return demand;
}

/// Sets the derived loops of the operators in `nest`, consumers first.
void Walk::updateDemand(const LoopNest &nest) {
  for (unsigned op = nest.lastOperator + 1; op-- > nest.firstOperator;) {
    const Access &output = problem.operators[op].output;
    if (!isIntermediate(output) || !isTogether(nest, output))
      continue;
    Roll *roll = rollOf(output);
    for (unsigned dim = 0; dim < output.indices.size(); ++dim) {
      if (!isDerived(output, dim))
        continue;
      LoopId loop = output.indices[dim].terms[0].loop;
      Range demand = demandOf(output, dim);
      if (roll && affectedBy(roll->loop).count(loop)) {
        roll->needed[dim] = demand.isEmpty() ? 0 : demand.end;
        demand.begin = std::max(demand.begin, roll->made[dim]);
      }
      ranges[loop] = demand;
    }
  }
}

/// A rolling buffer is the one of the whole schedule, so it rolls along a loop
/// of this tree only if no level inside has another around all its users.
void Walk::findRolls() {
  for (TensorId tensor : schedule.rolling) {
    if (!isIntermediate(tensor))
      continue;
    unsigned producer = producers[tensor];
    const Access &output = problem.operators[producer].output;
    Place body = bodyAffecting(producer, output, bodyAround(tensor));
    if (body.depth == 0 || runsInParallel(body))
      continue;
    unsigned last = schedule.levels.size() - 1;
    if (level < last) {
      Walk whole(problem, schedule, last);
      Place inner =
          whole.bodyAffecting(producer, output, whole.bodyAround(tensor));
      if (inner.nest->loops[inner.depth - 1].level > level)
        continue;
    }
    std::vector<int64_t> ends(output.indices.size(), 0);
    rolls.push_back({tensor, {body.nest, body.depth - 1}, ends, ends});
  }
}

Walk::Roll *Walk::rollOf(TensorId tensor) {
  auto roll = find_if(rolls, [&](Roll &r) { return r.tensor == tensor; });
  return roll == rolls.end() ? nullptr : &*roll;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The loops whose ranges can change with the loop of the tree at `loop`.
std::set<LoopId> Walk::affectedBy(Place loop) const {
  const LoopNest &nest = *loop.nest;
  std::set<LoopId> affected = {nest.loops[loop.depth].loop};
  auto isAffected = [&](const Index &index) {
    return any_of(index.terms,
                  [&](Term term) { return affected.count(term.loop) != 0; });
  };
  for (unsigned op = nest.lastOperator + 1; op-- > nest.firstOperator;) {
    const Access &output = problem.operators[op].output;
    if (!isIntermediate(output) || !isTogether(nest, output))
      continue;
    for (unsigned dim = 0; dim < output.indices.size(); ++dim)
      if (isDerived(output, dim) &&
          any_of(readers[output], [&](const Reader &reader) {
            return isAffected(reader.access->indices[dim]);
          }))
        affected.insert(output.indices[dim].terms[0].loop);
  }
  return affected;
}

Place Walk::bodyAround(TensorId tensor) const {
  const LoopNest *nest = &tree;
  while (true) {
    auto inner = find_if(nest->parts, [&](const LoopNest &part) {
      return isTogether(part, tensor);
    });
    if (inner == nest->parts.end())
      return {nest, unsigned(nest->loops.size())};
    nest = &*inner;
  }
}

Place Walk::blocksOf(unsigned op) const {
  const LoopNest *nest = &tree;
  while (!nest->parts.empty())
    nest = &nest->partOf(op);
  return {nest, unsigned(nest->loops.size())};
}

Place Walk::bodyAffecting(unsigned op, const Access &access,
                          Place limit) const {
  Place body{&tree, 0};
  for (const LoopNest *nest = &tree;; nest = &nest->partOf(op)) {
    bool isLast = nest == limit.nest;
    unsigned depths = isLast ? limit.depth : nest->loops.size();
    for (unsigned depth = 0; depth < depths; ++depth)
      if (any_of(affectedBy({nest, depth}),
                 [&](LoopId loop) { return access.hasLoop(loop); }))
        body = {nest, depth + 1};
    if (isLast)
      return body;
  }
}
