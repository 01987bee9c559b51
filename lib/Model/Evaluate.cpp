//===- Evaluate.cpp - Volume and live set in closed form ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heart of the model. Every tensor has one buffer per level, and the buffer
// belongs to the body of the innermost loop that indexes the tensor: it is
// filled when the body is entered and written back when it is left. So the
// loops inside that body cost nothing, the loops that index the tensor walk
// over it once together, and every other loop around repeats the walk. Parts
// are clipped at the edges, so a walk moves the tensor's size and never more.
//
// An intermediate has one buffer for all levels: the one that the shared path
// of the whole schedule leaves room for.
//
// Operands of an epilogue are streamed: their volume counts, but they occupy no
// buffer.
//
// The loops at the end of an order may be left open: then the result is not a
// number but a formula over their trips and tiles.
//
//===----------------------------------------------------------------------===//

#include "OrderShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cassert>
#include <limits>

using namespace llvm;
using namespace chimera::model;

int64_t Evaluation::volumeBytes() const {
  int64_t bytes = 0;
  for (const Traffic &tensor : traffic)
    bytes += tensor.readBytes + tensor.writeBytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Sets and formulas
//===----------------------------------------------------------------------===//

static bool contains(LoopSet set, LoopId loop) { return set & bitOf(loop); }

static LoopSet setOf(ArrayRef<LoopId> loops) {
  LoopSet set = 0;
  for (LoopId loop : loops)
    set |= bitOf(loop);
  return set;
}

ChainSets::ChainSets(const ChainProblem &problem) : problem(problem) {
  assert(problem.loops.size() <= 64 && "too many loops for a set");
  shared = ~LoopSet(0);
  for (const Operator &op : problem.operators) {
    operators.push_back(setOf(op.loops));
    shared &= operators.back();
  }
  for (const Tensor &tensor : problem.tensors) {
    tensors.push_back(setOf(tensor.dims));
    if (tensor.role == Role::Intermediate)
      shared &= tensors.back();
    int64_t size = tensor.elementBytes;
    for (LoopId loop : tensor.dims)
      size *= problem.loops[loop].extent;
    bytes.push_back(size);
  }
}

void SubsetProducts::assign(ArrayRef<int64_t> values) {
  products.resize_for_overwrite(size_t(1) << values.size());
  products[0] = 1;
  size_t known = 1;
  for (int64_t value : values) {
    for (size_t subset = 0; subset < known; ++subset)
      products[known + subset] = products[subset] * value;
    known *= 2;
  }
}

/// Parts into which `size` falls when it is cut by `tiles`, one inside the
/// other: an outer edge part is smaller and so has fewer inner parts.
static int64_t countParts(int64_t size, ArrayRef<int64_t> tiles) {
  if (tiles.empty())
    return 1;
  int64_t tile = tiles.front();
  if (size <= tile)
    return countParts(size, tiles.drop_front());
  int64_t parts = size / tile * countParts(tile, tiles.drop_front());
  if (int64_t edge = size % tile)
    parts += countParts(edge, tiles.drop_front());
  return parts;
}

int64_t chimera::model::countTrips(const ChainProblem &problem,
                                   const Schedule &schedule, unsigned level,
                                   LoopId loop, int64_t tile) {
  SmallVector<int64_t, 4> cuts;
  for (const LevelSchedule &outer : ArrayRef(schedule.levels).take_front(level))
    for (const TiledLoop &entry : outer.order)
      if (entry.loop == loop)
        cuts.push_back(entry.tile);
  cuts.push_back(tile);
  return countParts(problem.loops[loop].extent, cuts);
}

//===----------------------------------------------------------------------===//
// The evaluation
//===----------------------------------------------------------------------===//

namespace {

class Evaluator {
public:
  using Sink = function_ref<void(TensorId, Traffic, LoopSet)>;

  Evaluator(const ChainSets &sets, const Schedule &schedule, unsigned level,
            ArrayRef<LoopId> openLoops, ArrayRef<LoopId> numbering);

  /// Calls `sink` with parts of the traffic and the open loops whose trips
  /// multiply them.
  void countTraffic(Sink sink) const;
  /// The bytes `tensor` holds while the blocks of `op` run.
  Monomial liveBytes(TensorId tensor, unsigned op) const;

private:
  /// A loop of the tree: it is on the path to the blocks of every operator that
  /// has it.
  struct Cut {
    LoopId loop = 0;
    int64_t tile = 1;
    bool isOpen = false;
  };

  void addCut(LoopId loop, int64_t tile, bool isOpen);
  void setTiles();
  void addInnerLevels(const Schedule &schedule, unsigned level);
  LoopSet numberOf(LoopId loop) const {
    return bitOf(find(numbering, loop) - numbering.begin());
  }

  /// Number of the first `end` cuts down to the innermost that is on the path
  /// to the blocks of `op` and indexes `tensor`.
  unsigned bodyDepth(TensorId tensor, unsigned op, unsigned end) const;
  /// How often the walk over `tensor` is repeated by the first `end` cuts.
  Monomial walks(TensorId tensor, unsigned op, unsigned end) const;
  void multiplyTrips(Monomial &count, unsigned first, unsigned end) const;

  void countInput(TensorId tensor, Sink sink) const;
  void countOutput(unsigned op, Sink sink) const;
  void countEpilogue(unsigned op, Sink sink) const;
  unsigned epilogueDepth(unsigned op) const;

  bool uses(unsigned op, TensorId tensor) const;
  bool isIndexedInSubtree(TensorId tensor) const;
  bool isLive(TensorId tensor, unsigned op) const;

  const ChainSets &sets;
  const ChainProblem &problem;
  ArrayRef<LoopId> numbering;
  /// The order of the whole tree; the first `numShared` are the shared path.
  SmallVector<Cut, 12> cuts;
  unsigned numShared = 0;
  bool onSharedPath = true;
  /// What the cuts so far leave of each loop.
  SmallVector<int64_t, 8> size;
  /// What each loop leaves inside the level, and inside the shared path of the
  /// whole schedule; that of the loops in the sets is open.
  SmallVector<int64_t, 8> tiles, sharedTiles;
  LoopSet openTiles = 0, openSharedTiles = 0;
};

Evaluator::Evaluator(const ChainSets &sets, const Schedule &schedule,
                     unsigned level, ArrayRef<LoopId> openLoops,
                     ArrayRef<LoopId> numbering)
    : sets(sets), problem(sets.problem), numbering(numbering) {
  for (const Loop &loop : problem.loops)
    size.push_back(loop.extent);
  sharedTiles = size;
  for (const LevelSchedule &outer :
       ArrayRef(schedule.levels).take_front(level + 1))
    for (const TiledLoop &entry : outer.order)
      addCut(entry.loop, entry.tile, /*isOpen=*/false);
  for (LoopId loop : openLoops)
    addCut(loop, 1, /*isOpen=*/true);
  setTiles();
  addInnerLevels(schedule, level);
}

void Evaluator::addCut(LoopId loop, int64_t tile, bool isOpen) {
  if (!isOpen && tile >= size[loop])
    return;
  // Whatever tile an open loop leaves, the levels inside cut it further.
  size[loop] = isOpen ? std::numeric_limits<int64_t>::max() : tile;
  onSharedPath = onSharedPath && contains(sets.shared, loop);
  numShared += onSharedPath;
  cuts.push_back({loop, tile, isOpen});
}

void Evaluator::setTiles() {
  tiles = size;
  for (const auto &[index, cut] : enumerate(cuts)) {
    if (cut.isOpen)
      openTiles |= bitOf(cut.loop);
    if (index >= numShared)
      continue;
    sharedTiles[cut.loop] = cut.tile;
    if (cut.isOpen)
      openSharedTiles |= bitOf(cut.loop);
  }
}

/// Follows the shared path into the levels inside.
void Evaluator::addInnerLevels(const Schedule &schedule, unsigned level) {
  for (const LevelSchedule &inner :
       ArrayRef(schedule.levels).drop_front(level + 1))
    for (const TiledLoop &entry : inner.order) {
      if (entry.tile >= size[entry.loop])
        continue;
      onSharedPath = onSharedPath && contains(sets.shared, entry.loop);
      if (!onSharedPath)
        return;
      size[entry.loop] = entry.tile;
      sharedTiles[entry.loop] = entry.tile;
      openSharedTiles &= ~bitOf(entry.loop);
    }
}

void Evaluator::countTraffic(Sink sink) const {
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (problem.tensors[tensor].role == Role::Input)
      countInput(tensor, sink);
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    if (problem.tensors[problem.operators[op].output].role == Role::Output)
      countOutput(op, sink);
    countEpilogue(op, sink);
  }
}

unsigned Evaluator::bodyDepth(TensorId tensor, unsigned op,
                              unsigned end) const {
  LoopSet indexing = sets.tensors[tensor] & sets.operators[op];
  while (end > 0 && !contains(indexing, cuts[end - 1].loop))
    --end;
  return end;
}

Monomial Evaluator::walks(TensorId tensor, unsigned op, unsigned end) const {
  end = bodyDepth(tensor, op, end);
  Monomial count{1, 0};
  LoopSet left = sets.operators[op] & ~sets.tensors[tensor];
  for (unsigned index = 0; index < end; ++index) {
    LoopId loop = cuts[index].loop;
    if (!contains(left, loop))
      continue;
    left &= ~bitOf(loop);
    multiplyTrips(count, index, end);
  }
  return count;
}

/// Multiplies `count` by the trips that the loop of the cut `first` makes in
/// the cuts from there to `end`. No cut of a loop follows its open one.
void Evaluator::multiplyTrips(Monomial &count, unsigned first,
                              unsigned end) const {
  LoopId loop = cuts[first].loop;
  SmallVector<int64_t, 4> tilesOfLoop;
  for (const Cut &cut : ArrayRef(cuts).slice(first, end - first)) {
    if (cut.loop != loop)
      continue;
    if (cut.isOpen) {
      count.loops |= numberOf(loop);
      return;
    }
    tilesOfLoop.push_back(cut.tile);
  }
  count.factor *= countParts(problem.loops[loop].extent, tilesOfLoop);
}

bool Evaluator::uses(unsigned op, TensorId tensor) const {
  const Operator &user = problem.operators[op];
  return user.output == tensor || is_contained(user.inputs, tensor);
}

/// True if a subtree walks over `tensor`. All its users agree on that, since
/// each of them has all the loops that index it.
bool Evaluator::isIndexedInSubtree(TensorId tensor) const {
  return any_of(ArrayRef(cuts).drop_front(numShared), [&](const Cut &cut) {
    return contains(sets.tensors[tensor], cut.loop);
  });
}

/// A buffer that belongs to a body of the shared path is filled once for all
/// operators inside; one in a subtree is filled by each of them.
void Evaluator::countInput(TensorId tensor, Sink sink) const {
  bool perOperator = isIndexedInSubtree(tensor);
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    if (!uses(op, tensor))
      continue;
    Monomial count = walks(tensor, op, cuts.size());
    sink(tensor, {count.factor * sets.bytes[tensor], 0}, count.loops);
    if (!perOperator)
      return;
  }
}

/// Every visit ends with a write; every visit but the first starts with a read
/// of the partial sums. Accumulators start at zero for free.
void Evaluator::countOutput(unsigned op, Sink sink) const {
  TensorId tensor = problem.operators[op].output;
  Monomial visits = walks(tensor, op, cuts.size());
  int64_t bytes = visits.factor * sets.bytes[tensor];
  sink(tensor, {bytes, bytes}, visits.loops);
  sink(tensor, {-sets.bytes[tensor], 0}, 0);
}

/// Cuts around the epilogue of `op`. An intermediate is finished when the
/// operator's subtree is; an output, when its outermost reduction loop is.
unsigned Evaluator::epilogueDepth(unsigned op) const {
  TensorId output = problem.operators[op].output;
  if (problem.tensors[output].role != Role::Output)
    return numShared;
  LoopSet reduction = sets.operators[op] & ~sets.tensors[output];
  return find_if(
             cuts,
             [&](const Cut &cut) { return contains(reduction, cut.loop); }) -
         cuts.begin();
}

void Evaluator::countEpilogue(unsigned op, Sink sink) const {
  const Operator &user = problem.operators[op];
  if (!user.hasEpilogue && user.epilogue.empty())
    return;
  unsigned depth = epilogueDepth(op);
  TensorId output = user.output;
  // Is the finished part more than one buffer, it passes once more.
  if (problem.tensors[output].role == Role::Output &&
      bodyDepth(output, op, cuts.size()) > depth)
    sink(output, {sets.bytes[output], sets.bytes[output]}, 0);
  for (TensorId operand : user.epilogue)
    if (problem.tensors[operand].role == Role::Input) {
      Monomial count = walks(operand, op, depth);
      sink(operand, {count.factor * sets.bytes[operand], 0}, count.loops);
    }
}

/// True if `tensor` has a buffer while the blocks of `op` run.
bool Evaluator::isLive(TensorId tensor, unsigned op) const {
  bool intermediate = problem.tensors[tensor].role == Role::Intermediate;
  unsigned first = ~0u, last = 0;
  for (unsigned user = 0; user < problem.operators.size(); ++user)
    if (uses(user, tensor) ||
        (intermediate &&
         is_contained(problem.operators[user].epilogue, tensor))) {
      first = std::min(first, user);
      last = user;
    }
  if (first == ~0u)
    return false;
  if (intermediate)
    return first <= op && op <= last;
  if (isIndexedInSubtree(tensor))
    return uses(op, tensor);
  // The body holds loops of the shared path: the buffer outlives an iteration.
  if (bodyDepth(tensor, op, numShared) < numShared)
    return true;
  return first <= op && op <= last;
}

Monomial Evaluator::liveBytes(TensorId tensor, unsigned op) const {
  if (!isLive(tensor, op))
    return Monomial();
  const Tensor &info = problem.tensors[tensor];
  bool intermediate = info.role == Role::Intermediate;
  LoopSet open = intermediate ? openSharedTiles : openTiles;
  Monomial bytes{info.elementBytes, 0};
  for (LoopId loop : info.dims) {
    if (contains(open, loop))
      bytes.loops |= numberOf(loop);
    else
      bytes.factor *= intermediate ? sharedTiles[loop] : tiles[loop];
  }
  return bytes;
}

} // namespace

Evaluation chimera::model::evaluate(const ChainProblem &problem,
                                    const Schedule &schedule, unsigned level) {
  return evaluate(ChainSets(problem), schedule, level);
}

Evaluation chimera::model::evaluate(const ChainSets &sets,
                                    const Schedule &schedule, unsigned level) {
  const ChainProblem &problem = sets.problem;
  Evaluator evaluator(sets, schedule, level, /*openLoops=*/{},
                      /*numbering=*/{});
  Evaluation result;
  result.traffic.resize(problem.tensors.size());
  evaluator.countTraffic([&](TensorId tensor, Traffic part, LoopSet) {
    result.traffic[tensor].readBytes += part.readBytes;
    result.traffic[tensor].writeBytes += part.writeBytes;
  });
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    int64_t bytes = 0;
    for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
      bytes += evaluator.liveBytes(tensor, op).factor;
    result.liveBytes = std::max(result.liveBytes, bytes);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Formulas of an order
//===----------------------------------------------------------------------===//

/// Adds `term` to a sum of terms with different loops.
static void addTerm(SmallVectorImpl<Monomial> &sum, Monomial term) {
  if (term.factor == 0)
    return;
  auto *same = find_if(
      sum, [&](const Monomial &other) { return other.loops == term.loops; });
  if (same == sum.end())
    sum.push_back(term);
  else
    same->factor += term.factor;
}

OrderShape::OrderShape(const ChainSets &sets, const Schedule &schedule,
                       unsigned level, ArrayRef<LoopId> order,
                       ArrayRef<LoopId> numbering) {
  Evaluator evaluator(sets, schedule, level, order, numbering);
  evaluator.countTraffic([&](TensorId tensor, Traffic part, LoopSet loops) {
    reads.push_back({tensor, {part.readBytes, loops}});
    addTerm(volume, {part.readBytes + part.writeBytes, loops});
  });
  live.resize(sets.operators.size());
  for (unsigned op = 0; op < live.size(); ++op)
    for (TensorId tensor = 0; tensor < sets.tensors.size(); ++tensor)
      addTerm(live[op], evaluator.liveBytes(tensor, op));
}

int64_t OrderShape::volumeBytes(const SubsetProducts &trips) const {
  int64_t bytes = 0;
  for (const Monomial &term : volume)
    bytes += trips.of(term);
  return bytes;
}

int64_t OrderShape::liveBytes(const SubsetProducts &tiles) const {
  int64_t most = 0;
  for (const auto &tensors : live) {
    int64_t bytes = 0;
    for (const Monomial &term : tensors)
      bytes += tiles.of(term);
    most = std::max(most, bytes);
  }
  return most;
}

int64_t OrderShape::readBytes(TensorId tensor,
                              const SubsetProducts &trips) const {
  int64_t bytes = 0;
  for (const auto &[of, term] : reads)
    if (of == tensor)
      bytes += trips.of(term);
  return bytes;
}
