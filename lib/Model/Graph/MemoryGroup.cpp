//===- MemoryGroup.cpp - Operators that share loops over rows -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One iteration works on a slice of each tensor. If all slices fit a level,
// what lies between operators never leaves it, and what several of them read is
// read once; if not, each operator brings in what it reads.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/MemoryGroup.h"

#include "Cost/CostModel.h"

#include "Chimera/Model/Report.h"
#include "Chimera/Model/RowTiling.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace chimera::model;

/// A tensor that takes no more than this share of a level is still there from
/// one group to the next. It depends on the tensor alone, so that costs add up.
static constexpr double residentShare = 0.5;

StringRef chimera::model::describe(GroupRefusal refusal) {
  switch (refusal) {
  case GroupRefusal::None:
    return "there is no reason";
  case GroupRefusal::Opaque:
    return "nothing is known of one of them";
  case GroupRefusal::Product:
    return "one of them is a product or convolution, which chains are made of";
  case GroupRefusal::View:
    return "one of them only renames indices, and runs no code";
  case GroupRefusal::SeveralEnds:
    return "more than one of them makes nothing for the others";
  case GroupRefusal::Turned:
    return "one of them turns columns into rows, which takes square tiles of "
           "its own";
  case GroupRefusal::NoCommonRows:
    return "there are no rows that all of them can make one after the other";
  }
  llvm_unreachable("unknown refusal");
}

bool chimera::model::isView(const GraphOperator &op) {
  return op.body == BodyKind::Move && op.instructions == 0;
}

/// True if what `op` takes does not depend on its group: it runs no code, or by
/// itself.
static bool isFree(const GraphOperator &op) {
  return isView(op) || op.plannedSeconds || op.body == BodyKind::Opaque;
}

/// The loop over neighbouring elements of what `access` names.
static std::optional<LoopId> contiguousLoop(const GraphAccess &access) {
  if (access.isReshaped || access.indices.empty() ||
      !access.indices.back().isLoop())
    return std::nullopt;
  return access.indices.back().terms[0].loop;
}

/// True if `op` reads something along another dimension than it writes, so that
/// vectors have to be turned.
static bool turnsColumns(const GraphOperator &op) {
  std::optional<LoopId> written = contiguousLoop(op.outputs.back());
  return op.body == BodyKind::Move && written &&
         any_of(op.inputs, [&](const GraphAccess &input) {
           std::optional<LoopId> read = contiguousLoop(input);
           return read && read != written && input.hasLoop(*written);
         });
}

/// The loop along which `op` reduces rows of a tensor, if it does. What
/// products add up are vectors.
static std::optional<LoopId> loopOfReducedRows(const GraphOperator &op) {
  if (op.body != BodyKind::Arithmetic)
    return std::nullopt;
  for (const GraphAccess &input : op.inputs)
    if (std::optional<LoopId> loop = contiguousLoop(input);
        loop && op.isReduction(*loop))
      return loop;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// The only member that makes nothing for other members.
std::optional<OperatorId>
MemoryGroupPlanner::findEnd(ArrayRef<OperatorId> members) const {
  std::optional<OperatorId> end;
  for (OperatorId op : members) {
    bool isRead = any_of(uses.after[op], [&](OperatorId reader) {
      return binary_search(members, reader);
    });
    if (isRead)
      continue;
    if (end)
      return std::nullopt;
    end = op;
  }
  return end;
}

/// The loops of `op` that index `numDims` dimensions of `output` from
/// `firstDim` on, if each is the loop itself and indexes all outputs of `op`.
static std::optional<SmallVector<LoopId, 4>> getRows(const GraphOperator &op,
                                                     const GraphAccess &output,
                                                     unsigned firstDim,
                                                     unsigned numDims) {
  SmallVector<LoopId, 4> rows;
  if (output.isReshaped || output.indices.size() < firstDim + numDims)
    return std::nullopt;
  for (const Index &index : ArrayRef(output.indices).slice(firstDim, numDims)) {
    if (!index.isLoop())
      return std::nullopt;
    rows.push_back(index.terms[0].loop);
  }
  bool cutsAll = all_of(op.outputs, [&](const GraphAccess &other) {
    return all_of(rows, [&](LoopId loop) { return other.hasLoop(loop); });
  });
  return cutsAll ? std::optional(rows) : std::nullopt;
}

/// The loops of the producer that make what one iteration of the reader's
/// `rows` reads through `read`.
static std::optional<SmallVector<LoopId, 4>>
getProducerRows(const GraphOperator &producer, const GraphAccess &written,
                const GraphAccess &read, ArrayRef<LoopId> rows) {
  if (read.isReshaped || written.isReshaped)
    return std::nullopt;
  SmallVector<LoopId, 4> producerRows;
  for (LoopId loop : rows) {
    const Index *index = find_if(read.indices, [&](const Index &index) {
      return index.isLoop() && index.hasLoop(loop);
    });
    if (index == read.indices.end())
      return std::nullopt;
    const Index &dim = written.indices[index - read.indices.begin()];
    if (!dim.isLoop())
      return std::nullopt;
    producerRows.push_back(dim.terms[0].loop);
  }
  bool cutsAll = all_of(producer.outputs, [&](const GraphAccess &output) {
    return all_of(producerRows,
                  [&](LoopId loop) { return output.hasLoop(loop); });
  });
  return cutsAll ? std::optional(producerRows) : std::nullopt;
}

/// True if the loops of `group` cut what each member makes into what the others
/// need in one iteration.
bool MemoryGroupPlanner::cutsRows(ArrayRef<OperatorId> members,
                                  const MemoryGroup &group) const {
  const GraphOperator &last = graph.operators[group.end];
  SmallDenseMap<OperatorId, SmallVector<LoopId, 4>> rowsOf;
  auto rows = getRows(last, last.outputs.back(), group.firstDim, group.numDims);
  if (!rows)
    return false;
  rowsOf[group.end] = *rows;
  // Readers come behind what they read.
  for (OperatorId reader : reverse(members)) {
    auto known = rowsOf.find(reader);
    if (known == rowsOf.end())
      return false;
    SmallVector<LoopId, 4> readerRows = known->second;
    for (const GraphAccess &read : graph.operators[reader].inputs) {
      OperatorId producer = uses.producer[read.tensor];
      if (producer == GraphUses::none || !binary_search(members, producer))
        continue;
      const GraphOperator &op = graph.operators[producer];
      const GraphAccess *written = find_if(op.outputs, [&](const auto &output) {
        return output.tensor == read.tensor;
      });
      auto found = getProducerRows(op, *written, read, readerRows);
      if (!found)
        return false;
      auto [place, isNew] = rowsOf.try_emplace(producer, *found);
      if (!isNew && place->second != *found)
        return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Bytes of tensors that members read from outside, write for outside, and
/// share with each other.
struct MemoryGroupPlanner::Traffic {
  SmallVector<double> read, written;
  /// Of what is written, what other groups read: it gets a buffer.
  SmallVector<double> buffers;
  /// The reads and writes of what stays inside, and the second and further
  /// reads of what comes from outside.
  SmallVector<double> inside;
  /// What is written and takes more goes past the caches.
  double streamedBytes = 0;

  /// Bytes that come into a level that lacks a part of what stays inside. Of
  /// what it has room for, a share lies with other threads.
  double into(const MemoryLevel &level, bool isOutermost, double missing,
              double shareOfOthers) const {
    double least = level.usableBytes() * residentShare, bytes = 0;
    auto add = [&](ArrayRef<double> tensors, double factor) {
      for (double tensor : tensors)
        bytes += factor * tensor * (tensor > least ? 1 : shareOfOthers);
    };
    add(read, 1);
    if (isOutermost || level.ways == 0)
      add(written, 1);
    // A cache reads what is written for the first time. What leaves one for
    // another meanwhile has a way of its own.
    if (level.ways > 0)
      for (double tensor : written)
        if (tensor <= streamedBytes)
          add(tensor, 1);
    for (double tensor : inside)
      if (tensor > least)
        bytes += missing * tensor;
    return bytes;
  }
};

MemoryGroupPlanner::Traffic
MemoryGroupPlanner::getTraffic(ArrayRef<OperatorId> members) const {
  Traffic traffic;
  traffic.streamedBytes = streamedBytes(machine);
  SmallDenseMap<TensorId, unsigned> reads;
  for (OperatorId op : members) {
    if (isFree(graph.operators[op]))
      continue;
    for (const GraphAccess &input : graph.operators[op].inputs) {
      // Of a tensor of which a part is read, that part.
      double whole = graph.tensors[input.tensor].bytes();
      double part = graph.operators[op].iterations() *
                    graph.tensors[input.tensor].elementBytes;
      double bytes = std::min(whole, part);
      OperatorId producer = uses.producer[input.tensor];
      bool isInside = producer != GraphUses::none &&
                      binary_search(members, producer) &&
                      !isFree(graph.operators[producer]);
      if (!isInside && reads[input.tensor]++ == 0)
        traffic.read.push_back(bytes);
      else
        traffic.inside.push_back(bytes);
    }
    for (const GraphAccess &output : graph.operators[op].outputs) {
      bool isRead = graph.tensors[output.tensor].isResult ||
                    any_of(uses.readers[output.tensor], [&](OperatorId reader) {
                      return !binary_search(members, reader) ||
                             isFree(graph.operators[reader]);
                    });
      // Of a tensor of which a part is replaced, that part.
      double whole = graph.tensors[output.tensor].bytes();
      double part = graph.operators[op].iterations() *
                    graph.tensors[output.tensor].elementBytes;
      double bytes = std::min(whole, part);
      (isRead ? traffic.written : traffic.inside).push_back(bytes);
      if (isRead && !graph.tensors[output.tensor].isResult)
        traffic.buffers.push_back(bytes);
    }
  }
  return traffic;
}

/// Cycles of one core's vector unit; as a bound, without loads and stores.
double MemoryGroupPlanner::getCycles(ArrayRef<OperatorId> members,
                                     bool isBound) const {
  const VectorUnit &unit = machine.unit;
  double cycles = 0;
  for (OperatorId op : members) {
    const GraphOperator &graphOp = graph.operators[op];
    if (isFree(graphOp))
      continue;
    double vectors = graphOp.iterations() /
                     static_cast<double>(std::max<int64_t>(1, unit.lanes));
    double arithmetic =
        (graphOp.instructions + graphOp.exponentials * unit.exponentialCost) /
        unit.fmaPerCycle;
    double perVector = arithmetic;
    if (!isBound) {
      double loads = graphOp.inputs.size() / unit.loadsPerCycle;
      if (turnsColumns(graphOp))
        loads *= machine.overheads.transposeFactor;
      double stores = graphOp.hasReduction()
                          ? 0
                          : graphOp.outputs.size() / unit.storesPerCycle;
      perVector = std::max({arithmetic, loads, stores});
    }
    if (std::optional<LoopId> loop = loopOfReducedRows(graphOp);
        loop && !isBound) {
      // A row takes whole vectors, whose lanes are brought together.
      double columns = static_cast<double>(graphOp.extents[*loop]);
      double rows = graphOp.iterations() / std::max(1.0, columns);
      vectors = rows * std::ceil(columns / static_cast<double>(unit.lanes));
      cycles += rows * lanesTogether(unit) / unit.fmaPerCycle;
    }
    cycles += vectors * perVector;
  }
  return cycles;
}

double MemoryGroupPlanner::bound(ArrayRef<OperatorId> members) const {
  Traffic traffic = getTraffic(members);
  const MemoryLevel &outermost = machine.levels.front();
  double workers = std::max<int64_t>(1, threads);
  double moved = traffic.into(outermost, /*isOutermost=*/true, /*missing=*/0,
                              /*shareOfOthers=*/0) /
                 bandwidthInto(outermost, std::max<int64_t>(1, threads));
  double computed = getCycles(members, /*isBound=*/true) / workers /
                    machine.unit.cyclesPerSecond;
  return std::max(moved, computed);
}

/// Iterations of the loops over rows.
double MemoryGroupPlanner::countSteps(const MemoryGroup &group) const {
  const GraphOperator &last = graph.operators[group.end];
  double steps = 1;
  for (unsigned dim = 0; dim < group.numDims; ++dim) {
    const Index &index = last.outputs.back().indices[group.firstDim + dim];
    steps *= static_cast<double>(last.extents[index.terms[0].loop]);
  }
  return steps;
}

/// Bytes of what one of `steps` iterations touches of all tensors that depend
/// on the loops over rows.
double MemoryGroupPlanner::getSliceBytes(ArrayRef<OperatorId> members,
                                         double steps) const {
  double bytes = 0;
  SmallVector<TensorId> seen;
  auto add = [&](const GraphAccess &access) {
    const GraphTensor &tensor = graph.tensors[access.tensor];
    if (is_contained(seen, access.tensor))
      return;
    seen.push_back(access.tensor);
    // What is smaller than the number of iterations does not depend on them.
    if (static_cast<double>(tensor.elements()) >= steps)
      bytes += static_cast<double>(tensor.bytes()) / steps;
  };
  for (OperatorId op : members) {
    for (const GraphAccess &input : graph.operators[op].inputs)
      add(input);
    for (const GraphAccess &output : graph.operators[op].outputs)
      add(output);
  }
  return bytes;
}

/// The figures from which tasks follow.
RowGroup MemoryGroupPlanner::getRowGroup(ArrayRef<OperatorId> members,
                                         const MemoryGroup &group) const {
  const GraphOperator &last = graph.operators[group.end];
  const GraphAccess &output = last.outputs.back();
  RowGroup rows;
  for (const Index &index :
       ArrayRef(output.indices).slice(group.firstDim, group.numDims))
    rows.extents.push_back(last.extents[index.terms[0].loop]);
  rows.numOperations = static_cast<int64_t>(members.size());
  rows.rowBytes = getSliceBytes(members, countSteps(group));
  rows.elementBytes =
      static_cast<double>(graph.tensors[output.tensor].elementBytes);
  rows.cutsRows = group.numDims == output.indices.size();
  rows.hasVectorsAlongRows =
      group.numDims > 0 && group.firstDim > 0 &&
      group.firstDim + group.numDims == output.indices.size();
  for (OperatorId op : members) {
    const GraphOperator &member = graph.operators[op];
    (member.exponentials > 0 ? rows.functionElements : rows.plainElements) +=
        member.iterations();
  }
  return rows;
}

MemoryGroupPlanner::Task
MemoryGroupPlanner::getTask(ArrayRef<OperatorId> members, const RowGroup &rows,
                            double steps, int64_t workers) const {
  Task task;
  double share = std::ceil(steps / static_cast<double>(workers));
  double rowsOfOne = std::min(rowsOfTask(rows, machine), share);
  task.bytes = std::max(1.0, rows.rowBytes * rowsOfOne);
  // In columns next to each other every row starts anew.
  if (rows.hasVectorsAlongRows && !rows.cutsRows)
    for (OperatorId op : members)
      task.startCycles += graph.operators[op].iterations() / rowsOfOne *
                          static_cast<double>(machine.unit.fmaLatency);
  return task;
}

double MemoryGroupPlanner::getSeconds(ArrayRef<OperatorId> members,
                                      const Task &task, int64_t workers) const {
  Traffic traffic = getTraffic(members);
  Stages stages;
  stages.add((getCycles(members, /*isBound=*/false) + task.startCycles) /
             workers / machine.unit.cyclesPerSecond);
  for (const MemoryLevel &level : machine.levels) {
    bool isOutermost = &level == machine.levels.begin();
    // Of a task that has no room a level keeps what it can.
    double kept = std::min(1.0, level.usableBytes() / task.bytes);
    stages.add(traffic.into(level, isOutermost, 1 - kept,
                            shareOfOthers(level, machine, workers)) /
               bandwidthInto(level, workers));
  }
  const Overheads &overheads = machine.overheads;
  double seconds = stages.total() + machine.launchSeconds;
  // The system provides large buffers page by page, again in each run.
  if (overheads.freshBytesPerSecond > 0)
    for (double bytes : traffic.buffers)
      if (bytes >= overheads.reusedBytes)
        seconds += bytes / (workers * overheads.freshBytesPerSecond);
  return workers > 1 ? seconds + overheads.regionSeconds : seconds;
}

/// Why `members`, which are several, are not one group, whatever their loops.
GroupRefusal
MemoryGroupPlanner::findRefusal(ArrayRef<OperatorId> members) const {
  for (OperatorId op : members) {
    if (graph.operators[op].body == BodyKind::Opaque)
      return GroupRefusal::Opaque;
    if (graph.operators[op].body == BodyKind::Product)
      return GroupRefusal::Product;
    if (isView(graph.operators[op]))
      return GroupRefusal::View;
    if (turnsColumns(graph.operators[op]))
      return GroupRefusal::Turned;
  }
  return findEnd(members) ? GroupRefusal::None : GroupRefusal::SeveralEnds;
}

/// Takes `group` if it is faster than `best`, on as many threads as it gets.
void MemoryGroupPlanner::takeIfFaster(ArrayRef<OperatorId> members,
                                      MemoryGroup group,
                                      MemoryGroup &best) const {
  double steps = countSteps(group);
  RowGroup rows = getRowGroup(members, group);
  auto workers = static_cast<int64_t>(
      std::min<double>(steps, std::max<int64_t>(1, threads)));
  if (!isWorthThreads(rows, machine, workers))
    workers = 1;
  Task task = getTask(members, rows, steps, workers);
  group.seconds = getSeconds(members, task, workers);
  if (group.seconds >= best.seconds)
    return;
  best = group;
  best.taskBytes = task.bytes;
}

std::optional<MemoryGroup>
MemoryGroupPlanner::plan(ArrayRef<OperatorId> members,
                         GroupRefusal *refusal) const {
  GroupRefusal found = GroupRefusal::None;
  MemoryGroup best;
  best.seconds = std::numeric_limits<double>::infinity();
  bool isAlone = members.size() == 1;
  if (!isAlone)
    found = findRefusal(members);
  if (found == GroupRefusal::None) {
    MemoryGroup group;
    group.end = *findEnd(members);
    size_t rank = graph.operators[group.end].outputs.back().indices.size();
    if (isAlone)
      takeIfFaster(members, group, best);
    for (group.firstDim = 0; group.firstDim < rank; ++group.firstDim)
      for (group.numDims = 1; group.firstDim + group.numDims <= rank;
           ++group.numDims) {
        if (!cutsRows(members, group))
          break;
        takeIfFaster(members, group, best);
      }
    if (!std::isfinite(best.seconds))
      found = GroupRefusal::NoCommonRows;
  }
  if (refusal)
    *refusal = found;
  if (found != GroupRefusal::None)
    return std::nullopt;
  Traffic traffic = getTraffic(members);
  for (double bytes : traffic.read)
    best.compulsoryBytes += bytes;
  for (double bytes : traffic.written)
    best.compulsoryBytes += bytes;
  best.bytes = best.compulsoryBytes;
  if (best.taskBytes >
      static_cast<double>(machine.levels.front().usableBytes()))
    for (double bytes : traffic.inside)
      best.bytes += bytes;
  return best;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// True if no group of several holds `op`, whatever the others are.
static bool runsAlone(const GraphOperator &op) {
  // Of what is written in another order no loop makes a row.
  auto isReordered = [](const GraphAccess &output) {
    return output.isReshaped;
  };
  return op.body == BodyKind::Opaque || op.body == BodyKind::Product ||
         isView(op) || any_of(op.outputs, isReordered) || turnsColumns(op);
}

MemoryGroupPricer::MemoryGroupPricer(const OperatorGraph &graph,
                                     const Machine &machine, int64_t threads)
    : graph(graph), planner(graph, machine, threads) {
  for (const GraphOperator &op : graph.operators)
    alone.push_back(runsAlone(op));
}

bool MemoryGroupPricer::mayGrow(ArrayRef<OperatorId> members) {
  return members.size() <= mostMembers &&
         none_of(members, [&](OperatorId op) { return alone[op]; });
}

bool MemoryGroupPricer::isLegal(ArrayRef<OperatorId> members) {
  return planner.plan(members).has_value();
}

double MemoryGroupPricer::bound(ArrayRef<OperatorId> members) {
  return planner.bound(members);
}

double MemoryGroupPricer::cost(ArrayRef<OperatorId> members) {
  const GraphOperator &first = graph.operators[members.front()];
  if (first.plannedSeconds)
    return *first.plannedSeconds;
  if (isView(first) || first.body == BodyKind::Opaque)
    return 0;
  std::optional<MemoryGroup> group = planner.plan(members);
  return group ? group->seconds : std::numeric_limits<double>::infinity();
}
