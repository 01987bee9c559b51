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

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

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
  case GroupRefusal::NoCommonRows:
    return "there are no rows that all of them can make one after the other";
  }
  llvm_unreachable("unknown refusal");
}

bool chimera::model::isView(const GraphOperator &op) {
  return op.body == BodyKind::Move && op.instructions == 0;
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

/// The loops of `op` that index the first `depth` dimensions of `output`, if
/// each is the loop itself and indexes all outputs of `op`.
static std::optional<SmallVector<LoopId, 4>>
getRows(const GraphOperator &op, const GraphAccess &output, unsigned depth) {
  SmallVector<LoopId, 4> rows;
  if (output.isReshaped || output.indices.size() < depth)
    return std::nullopt;
  for (unsigned dim = 0; dim < depth; ++dim) {
    if (!output.indices[dim].isLoop())
      return std::nullopt;
    rows.push_back(output.indices[dim].terms[0].loop);
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

/// True if loops over the first `depth` dimensions of what `end` makes cut what
/// each member makes into what the others need in one iteration.
bool MemoryGroupPlanner::cutsRows(ArrayRef<OperatorId> members, OperatorId end,
                                  unsigned depth) const {
  const GraphOperator &last = graph.operators[end];
  SmallDenseMap<OperatorId, SmallVector<LoopId, 4>> rowsOf;
  auto rows = getRows(last, last.outputs.back(), depth);
  if (!rows)
    return false;
  rowsOf[end] = *rows;
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

  /// Bytes that pass into a level, or through it.
  double into(const MemoryLevel &level, bool fits) const {
    double least = level.usableBytes() * residentShare, bytes = 0;
    auto add = [&](ArrayRef<double> tensors, double factor) {
      for (double tensor : tensors)
        if (tensor > least)
          bytes += factor * tensor;
    };
    add(read, 1);
    // A cache reads what is written for the first time.
    add(written, level.ways > 0 ? 2 : 1);
    if (!fits)
      add(inside, 1);
    return bytes;
  }
};

MemoryGroupPlanner::Traffic
MemoryGroupPlanner::getTraffic(ArrayRef<OperatorId> members) const {
  Traffic traffic;
  SmallDenseMap<TensorId, unsigned> reads;
  auto isFree = [&](OperatorId op) {
    return isView(graph.operators[op]) || graph.operators[op].plannedSeconds ||
           graph.operators[op].body == BodyKind::Opaque;
  };
  for (OperatorId op : members) {
    if (isFree(op))
      continue;
    for (const GraphAccess &input : graph.operators[op].inputs) {
      // Of a tensor of which a part is read, that part.
      double whole = graph.tensors[input.tensor].bytes();
      double part = graph.operators[op].iterations() *
                    graph.tensors[input.tensor].elementBytes;
      double bytes = std::min(whole, part);
      OperatorId producer = uses.producer[input.tensor];
      bool isInside = producer != GraphUses::none &&
                      binary_search(members, producer) && !isFree(producer);
      if (!isInside && reads[input.tensor]++ == 0)
        traffic.read.push_back(bytes);
      else
        traffic.inside.push_back(bytes);
    }
    for (const GraphAccess &output : graph.operators[op].outputs) {
      bool isRead = graph.tensors[output.tensor].isResult ||
                    any_of(uses.readers[output.tensor], [&](OperatorId reader) {
                      return !binary_search(members, reader) || isFree(reader);
                    });
      double bytes = graph.tensors[output.tensor].bytes();
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
    if (isView(graphOp) || graphOp.plannedSeconds ||
        graphOp.body == BodyKind::Opaque)
      continue;
    double vectors = graphOp.iterations() /
                     static_cast<double>(std::max<int64_t>(1, unit.lanes));
    double arithmetic =
        (graphOp.instructions + graphOp.exponentials * unit.exponentialCost) /
        unit.fmaPerCycle;
    double perVector = arithmetic;
    if (!isBound) {
      double loads = graphOp.inputs.size() / unit.loadsPerCycle;
      double stores = graphOp.hasReduction()
                          ? 0
                          : graphOp.outputs.size() / unit.storesPerCycle;
      perVector = std::max({arithmetic, loads, stores});
    }
    cycles += vectors * perVector;
  }
  return cycles;
}

double MemoryGroupPlanner::bound(ArrayRef<OperatorId> members) const {
  Traffic traffic = getTraffic(members);
  const MemoryLevel &outermost = machine.levels.front();
  double workers = std::max<int64_t>(1, threads);
  double moved = traffic.into(outermost, /*fits=*/true) /
                 bandwidthInto(outermost, std::max<int64_t>(1, threads));
  double computed = getCycles(members, /*isBound=*/true) / workers /
                    machine.unit.cyclesPerSecond;
  return std::max(moved, computed);
}

/// Bytes of what one iteration of the loops over rows touches of all tensors
/// that depend on them.
double MemoryGroupPlanner::getSliceBytes(ArrayRef<OperatorId> members,
                                         OperatorId end, unsigned depth) const {
  const GraphOperator &last = graph.operators[end];
  double steps = 1;
  for (unsigned dim = 0; dim < depth; ++dim)
    steps *= last.extents[last.outputs.back().indices[dim].terms[0].loop];
  double bytes = 0;
  SmallVector<TensorId> seen;
  auto add = [&](const GraphAccess &access) {
    if (is_contained(seen, access.tensor))
      return;
    seen.push_back(access.tensor);
    double whole = graph.tensors[access.tensor].bytes();
    // What is smaller than the number of iterations does not depend on them.
    if (graph.tensors[access.tensor].elements() >= steps)
      bytes += whole / steps;
  };
  for (OperatorId op : members) {
    for (const GraphAccess &input : graph.operators[op].inputs)
      add(input);
    for (const GraphAccess &output : graph.operators[op].outputs)
      add(output);
  }
  return bytes;
}

double MemoryGroupPlanner::getSeconds(ArrayRef<OperatorId> members,
                                      OperatorId end, unsigned depth,
                                      int64_t workers) const {
  Traffic traffic = getTraffic(members);
  double slice = getSliceBytes(members, end, depth);
  Stages stages;
  stages.add(getCycles(members, /*isBound=*/false) / workers /
             machine.unit.cyclesPerSecond);
  for (const MemoryLevel &level : machine.levels)
    stages.add(traffic.into(level, slice <= level.usableBytes()) /
               bandwidthInto(level, workers));
  const Overheads &overheads = machine.overheads;
  double seconds = stages.total() + machine.launchSeconds;
  // The system provides large buffers page by page, again in each run.
  if (overheads.freshBytesPerSecond > 0)
    for (double bytes : traffic.buffers)
      if (bytes >= overheads.reusedBytes)
        seconds += bytes / (workers * overheads.freshBytesPerSecond);
  return workers > 1 ? seconds + overheads.regionSeconds : seconds;
}

std::optional<MemoryGroup>
MemoryGroupPlanner::plan(ArrayRef<OperatorId> members,
                         GroupRefusal *refusal) const {
  auto refuse = [&](GroupRefusal why) {
    if (refusal)
      *refusal = why;
    return std::nullopt;
  };
  if (members.size() > 1)
    for (OperatorId op : members) {
      if (graph.operators[op].body == BodyKind::Opaque)
        return refuse(GroupRefusal::Opaque);
      if (graph.operators[op].body == BodyKind::Product)
        return refuse(GroupRefusal::Product);
      if (isView(graph.operators[op]))
        return refuse(GroupRefusal::View);
    }
  std::optional<OperatorId> end = findEnd(members);
  if (!end)
    return refuse(GroupRefusal::SeveralEnds);
  MemoryGroup best;
  best.end = *end;
  best.seconds = std::numeric_limits<double>::infinity();
  const GraphAccess &output = graph.operators[*end].outputs.back();
  double steps = 1;
  bool isAlone = members.size() == 1;
  for (unsigned depth = isAlone ? 0 : 1; depth <= output.indices.size();
       ++depth) {
    if (depth > 0) {
      if (!cutsRows(members, *end, depth))
        break;
      LoopId row = output.indices[depth - 1].terms[0].loop;
      steps *= graph.operators[*end].extents[row];
    }
    auto most = static_cast<int64_t>(
        std::min<double>(steps, std::max<int64_t>(1, threads)));
    for (int64_t workers : {int64_t(1), most}) {
      double seconds = getSeconds(members, *end, depth, workers);
      if (seconds >= best.seconds)
        continue;
      best.seconds = seconds;
      best.depth = depth;
    }
  }
  if (best.seconds == std::numeric_limits<double>::infinity())
    return refuse(GroupRefusal::NoCommonRows);
  Traffic traffic = getTraffic(members);
  const MemoryLevel &outermost = machine.levels.front();
  for (double bytes : traffic.read)
    best.compulsoryBytes += bytes;
  for (double bytes : traffic.written)
    best.compulsoryBytes += bytes;
  best.bytes = best.compulsoryBytes;
  if (getSliceBytes(members, *end, best.depth) > outermost.usableBytes())
    for (double bytes : traffic.inside)
      best.bytes += bytes;
  return best;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

bool MemoryGroupPricer::mayGrow(ArrayRef<OperatorId> members) {
  return members.size() <= mostMembers && all_of(members, [&](OperatorId op) {
           const GraphOperator &graphOp = graph.operators[op];
           return graphOp.body != BodyKind::Opaque &&
                  graphOp.body != BodyKind::Product && !isView(graphOp);
         });
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
