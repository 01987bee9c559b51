//===- Simulate.cpp - Volume and live set by walking every block ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The referee of the closed forms: a plain interpreter of loop trees. It walks
// the tree with the range that every loop has at the moment, opens a buffer
// where a generated program would allocate and fill it, closes it where the
// program would write it back and free it, runs every block in between, and
// counts bytes as they go. It shares nothing with `evaluate` but the loop tree.
//
//===----------------------------------------------------------------------===//

#include "Reference/SimulatedWalk.h"

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/Fragments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;
using namespace chimera::model::simulation;

namespace {

//===----------------------------------------------------------------------===//
// Multiply-adds and intermediates
//===----------------------------------------------------------------------===//

class MultiplyAddCounter : public Walk {
public:
  MultiplyAddCounter(const ChainProblem &problem, const Schedule &schedule)
      : Walk(problem, schedule, schedule.levels.size() - 1),
        counts(problem.operators.size(), 0) {}

  SmallVector<int64_t, 3> run() {
    walk();
    return counts;
  }

private:
  void runBlock(unsigned op) override {
    int64_t count = 1;
    for (LoopId loop : problem.operators[op].loops)
      count *= ranges[loop].size();
    counts[op] += count;
  }

  SmallVector<int64_t, 3> counts;
};

/// Finds the most elements that the whole schedule keeps of each intermediate.
class IntermediateSizer : public Walk {
public:
  IntermediateSizer(const ChainProblem &problem, const Schedule &schedule)
      : Walk(problem, schedule, schedule.levels.size() - 1),
        elements(problem.tensors.size(), 0) {
    for (TensorId tensor = 0; tensor < elements.size(); ++tensor)
      bodies.push_back(isIntermediate(tensor) ? bodyAround(tensor) : Place());
  }

  std::vector<int64_t> run() {
    walk();
    return elements;
  }

private:
  void enter(Place place) override {
    for (TensorId tensor = 0; tensor < elements.size(); ++tensor) {
      if (!(bodies[tensor] == place))
        continue;
      Box box = boxOf(problem.operators[producers[tensor]].output);
      for (const Reader &reader : readers[tensor])
        box = hull(box, boxOf(*reader.access));
      elements[tensor] = std::max(elements[tensor], elementsOf(box));
    }
  }

  std::vector<int64_t> elements;
  std::vector<Place> bodies;
};

//===----------------------------------------------------------------------===//
// Traffic and live set
//===----------------------------------------------------------------------===//

/// True if two accesses to a tensor have the same indices.
bool areAlike(const Access &a, const Access &b) {
  return all_of(zip(a.indices, b.indices), [](auto both) {
    const auto &[left, right] = both;
    return left.terms == right.terms && left.offset == right.offset;
  });
}

/// A tensor's buffer in the level. Operators that use it alike share it.
struct Buffer {
  TensorId tensor = 0;
  Place body;
  SmallVector<const Access *, 2> users;
  /// Operators that touch it.
  unsigned firstUser = 0, lastUser = 0;
  /// It holds an intermediate that does not leave it.
  bool isAtHome = false;
  /// An operator makes what it holds.
  bool isProduced = false;
  bool isOpen = false;
  Box box;
  /// What the previous iteration of the body's loop had in it.
  Box previous;
  int64_t mostElements = 0;
  int64_t openings = 0;
};

/// The epilogue of one operator.
struct Epilogue {
  bool exists = false;
  Place place;
  /// The operands with the bodies that stream them in.
  SmallVector<std::pair<const Access *, Place>, 2> streams;
};

class TrafficCounter : public Walk {
public:
  TrafficCounter(const ChainProblem &problem, const Schedule &schedule,
                 unsigned level, const Transfer &transfer);

  Evaluation run();

private:
  void placeBuffers();
  void placeEpilogue(unsigned op);
  Place epiloguePlace(unsigned op) const;
  void addUser(unsigned op, const Access &access, bool isProducer);
  /// Where a buffer belongs that no other task can share.
  Place insideTask(Place body) const {
    if (transfer.isPrivate && body.nest == &tree)
      body.depth =
          std::max<unsigned>(body.depth, std::min<size_t>(schedule.numParallel,
                                                          tree.loops.size()));
    return body;
  }
  bool isAtHome(TensorId tensor) const {
    return isIntermediate(tensor) && level <= schedule.homeOf(tensor);
  }

  void enter(Place place) override;
  void leave(Place place) override;
  void beforePart(Place place, const LoopNest &part) override;
  void afterPart(Place place, const LoopNest &part) override;
  void runBlock(unsigned op) override;

  void open(Buffer &buffer);
  void close(Buffer &buffer);
  void runEpilogue(unsigned op);
  void store(unsigned op);
  bool isPartial(TensorId tensor) const;
  void combine(unsigned depth);
  bool runsAnewIn(unsigned op, Place place) const;
  int64_t bytesOf(TensorId tensor, const Box &box, int64_t elementBytes) const;
  int64_t newBytes(const Buffer &buffer) const;

  const Transfer transfer;
  std::vector<Buffer> buffers;
  std::vector<Epilogue> epilogues;
  /// Parts of what operators produce that have been written before.
  std::map<TensorId, std::set<Box>> written;
  /// The place of the split loop, and the part of it that runs.
  const std::optional<unsigned> split;
  Range splitPart;
  /// What is produced is in the level while it is computed.
  const bool holdsResults;
  /// Which buffers are open while an operator's blocks run.
  std::vector<std::vector<bool>> openAt;
  Evaluation result;
};

TrafficCounter::TrafficCounter(const ChainProblem &problem,
                               const Schedule &schedule, unsigned level,
                               const Transfer &transfer)
    : Walk(problem, schedule, level), transfer(transfer),
      epilogues(problem.operators.size()),
      split(findSplit(problem, schedule, tree)),
      holdsResults(transfer.holdsResults || !multipliesTiles(problem)),
      openAt(problem.operators.size()) {
  result.traffic.resize(problem.tensors.size());
  result.liveAt.resize(problem.operators.size());
  placeBuffers();
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    placeEpilogue(op);
}

Evaluation TrafficCounter::run() {
  walk();
  if (split)
    combine(0);
  std::vector<int64_t> intermediateElements =
      IntermediateSizer(problem, schedule).run();
  for (auto [openBuffers, live] : zip(openAt, result.liveAt)) {
    for (auto [isOpen, buffer] : zip(openBuffers, buffers)) {
      if (!isOpen)
        continue;
      const Tensor &tensor = problem.tensors[buffer.tensor];
      bool isInput = tensor.role == Role::Input;
      if (!holdsResults && (buffer.isProduced || buffer.isAtHome))
        continue;
      int64_t count =
          buffer.openings > 1 && !buffer.isAtHome ? transfer.buffers : 1;
      int64_t elements = buffer.isAtHome ? intermediateElements[buffer.tensor]
                                         : buffer.mostElements;
      live += count * elements *
              (isInput ? tensor.elementBytes : tensor.heldBytes());
    }
    result.liveBytes = std::max(result.liveBytes, live);
  }
  return result;
}

void TrafficCounter::placeBuffers() {
  for (const auto &[index, op] : enumerate(problem.operators)) {
    for (const Access &access : op.inputs)
      addUser(index, access, false);
    addUser(index, op.output, true);
    for (const Access &access : op.states)
      addUser(index, access, true);
    for (const Access &access : op.epilogue)
      if (isAtHome(access))
        addUser(index, access, false);
  }
}

void TrafficCounter::addUser(unsigned op, const Access &access,
                             bool isProducer) {
  bool atHome = isAtHome(access);
  Place body = atHome ? bodyAround(access)
                      : insideTask(bodyAffecting(op, access, blocksOf(op)));
  // Each part accumulates on its own.
  if (isPartial(access) && body.nest == &tree)
    body.depth = std::max(body.depth, *split + 1);
  auto buffer = find_if(buffers, [&](const Buffer &other) {
    return other.tensor == access.tensor && other.body == body &&
           (atHome || (other.isProduced == isProducer &&
                       areAlike(*other.users.front(), access)));
  });
  if (buffer == buffers.end()) {
    buffers.emplace_back();
    buffer = std::prev(buffers.end());
    buffer->tensor = access;
    buffer->body = body;
    buffer->firstUser = op;
    buffer->isAtHome = atHome;
    buffer->isProduced = isProducer;
  }
  buffer->users.push_back(&access);
  buffer->lastUser = op;
}

/// Where the epilogue runs: what it works on is complete there.
Place TrafficCounter::epiloguePlace(unsigned index) const {
  const Operator &op = problem.operators[index];
  if (isIntermediate(op.output))
    return bodyAround(op.output);
  Place blocks = blocksOf(index);
  for (const LoopNest *nest = &tree;; nest = &nest->partOf(index)) {
    for (const auto &[depth, loop] : enumerate(nest->loops))
      if (op.isReduction(loop.loop) || is_contained(op.completes, loop.loop))
        return {nest, unsigned(depth)};
    if (nest == blocks.nest)
      return blocks;
  }
}

void TrafficCounter::placeEpilogue(unsigned index) {
  const Operator &op = problem.operators[index];
  Epilogue &epilogue = epilogues[index];
  epilogue.exists = op.hasEpilogue || !op.epilogue.empty();
  // `combine` runs that of a split reduction.
  if (isPartial(op.output))
    return;
  epilogue.place = epiloguePlace(index);
  for (const Access &operand : op.epilogue)
    if (!isAtHome(operand))
      epilogue.streams.push_back(
          {&operand,
           insideTask(bodyAffecting(index, operand, epilogue.place))});
}

/// True if `place` is where operator `op`, whose output others in the chain
/// read, starts from nothing.
bool TrafficCounter::runsAnewIn(unsigned op, Place place) const {
  const Access &output = problem.operators[op].output;
  return isIntermediate(output) && bodyAround(output) == place;
}

void TrafficCounter::enter(Place place) {
  if (split && place == Place{&tree, *split + 1})
    splitPart = ranges[tree.loops[*split].loop];
  for (const Epilogue &epilogue : epilogues)
    for (auto [operand, body] : epilogue.streams)
      if (body == place)
        result.traffic[*operand].readBytes += bytesOf(
            *operand, boxOf(*operand), problem.tensors[*operand].elementBytes);
  for (const auto &[index, op] : enumerate(problem.operators))
    if (runsAnewIn(index, place)) {
      written[op.output].clear();
      for (const Access &state : op.states)
        written[state].clear();
    }
  if (place.holdsParts())
    return;
  for (Buffer &buffer : buffers) {
    if (buffer.body == place)
      open(buffer);
    // The loop that starts here knows nothing of its last run.
    if (buffer.body == Place{place.nest, place.depth + 1})
      buffer.previous.clear();
  }
}

void TrafficCounter::leave(Place place) {
  if (place.holdsParts())
    return;
  for (unsigned op = 0; op < epilogues.size(); ++op)
    if (epilogues[op].place == place)
      runEpilogue(op);
  for (Buffer &buffer : buffers)
    if (buffer.body == place)
      close(buffer);
}

void TrafficCounter::beforePart(Place place, const LoopNest &part) {
  for (Buffer &buffer : buffers)
    if (buffer.body == place && part.has(buffer.firstUser))
      open(buffer);
}

void TrafficCounter::afterPart(Place place, const LoopNest &part) {
  for (unsigned op = part.firstOperator; op <= part.lastOperator; ++op) {
    if (epilogues[op].place == place)
      runEpilogue(op);
    if (runsAnewIn(op, place))
      store(op);
  }
  for (Buffer &buffer : buffers)
    if (buffer.body == place && part.has(buffer.lastUser))
      close(buffer);
}

void TrafficCounter::runBlock(unsigned op) {
  openAt[op].clear();
  for (const Buffer &buffer : buffers)
    openAt[op].push_back(buffer.isOpen);
}

void TrafficCounter::open(Buffer &buffer) {
  assert(!buffer.isOpen && "a buffer is opened twice");
  buffer.isOpen = true;
  ++buffer.openings;
  buffer.box = boxOf(*buffer.users.front());
  buffer.mostElements = std::max(buffer.mostElements, elementsOf(buffer.box));
  if (buffer.isAtHome)
    return;
  const Tensor &tensor = problem.tensors[buffer.tensor];
  Traffic &traffic = result.traffic[buffer.tensor];
  if (!buffer.isProduced) {
    traffic.readBytes += newBytes(buffer);
    buffer.previous = buffer.box;
    return;
  }
  Box key = buffer.box;
  if (isPartial(buffer.tensor))
    key.push_back(splitPart);
  if (written[buffer.tensor].insert(key).second)
    return;
  int64_t held = bytesOf(buffer.tensor, buffer.box, tensor.heldBytes());
  // It has not left the registers; only the last write is one.
  if (!holdsResults) {
    if (isPartial(buffer.tensor))
      traffic.writeBytes -= held;
    else if (tensor.role != Role::State)
      traffic.writeBytes -=
          bytesOf(buffer.tensor, buffer.box, tensor.elementBytes);
    return;
  }
  traffic.readBytes += held;
  if (isPartial(buffer.tensor))
    return;
  // So the last write was not the final one.
  traffic.writeBytes += held;
  if (tensor.role != Role::State)
    traffic.writeBytes -=
        bytesOf(buffer.tensor, buffer.box, tensor.elementBytes);
}

void TrafficCounter::close(Buffer &buffer) {
  assert(buffer.isOpen && "a buffer is closed twice");
  buffer.isOpen = false;
  const Tensor &tensor = problem.tensors[buffer.tensor];
  if (isPartial(buffer.tensor))
    result.traffic[buffer.tensor].writeBytes +=
        bytesOf(buffer.tensor, buffer.box, tensor.heldBytes());
  if (buffer.isAtHome || !buffer.isProduced || tensor.role == Role::State ||
      isPartial(buffer.tensor))
    return;
  result.traffic[buffer.tensor].writeBytes +=
      bytesOf(buffer.tensor, buffer.box, tensor.elementBytes);
}

/// An output that is no longer in its buffer passes once more.
void TrafficCounter::runEpilogue(unsigned index) {
  const Access &output = problem.operators[index].output;
  bool isThere = any_of(buffers, [&](const Buffer &buffer) {
    return buffer.isOpen && is_contained(buffer.users, &output);
  });
  if (!epilogues[index].exists || isThere || isAtHome(output) || !holdsResults)
    return;
  int64_t bytes =
      bytesOf(output, boxOf(output), problem.tensors[output].elementBytes);
  result.traffic[output].readBytes += bytes;
  result.traffic[output].writeBytes += bytes;
}

/// True for what each part of a split reduction has of its own.
bool TrafficCounter::isPartial(TensorId tensor) const {
  const Operator &last = problem.operators.back();
  return split && (tensor == last.output.tensor ||
                   any_of(last.states, [&](const Access &state) {
                     return state.tensor == tensor;
                   }));
}

/// Makes one of what the parts of the split loop have left, in the tiles of the
/// other parallel loops from `depth` on.
void TrafficCounter::combine(unsigned depth) {
  unsigned numParallel =
      std::min<size_t>(schedule.numParallel, tree.loops.size());
  unsigned last = problem.operators.size() - 1;
  const Operator &op = problem.operators[last];
  for (const Access &operand : op.epilogue) {
    Place body = insideTask(bodyAffecting(last, operand, {&tree, numParallel}));
    if (body == Place{&tree, depth})
      result.traffic[operand].readBytes += bytesOf(
          operand, boxOf(operand), problem.tensors[operand].elementBytes);
  }
  if (depth == numParallel) {
    NestLoop loop = tree.loops[*split];
    int64_t parts =
        divideCeil(problem.loops[loop.loop].extent, uint64_t(loop.tile));
    auto read = [&](const Access &access) {
      result.traffic[access].readBytes +=
          parts *
          bytesOf(access, boxOf(access), problem.tensors[access].heldBytes());
    };
    read(op.output);
    for_each(op.states, read);
    result.traffic[op.output].writeBytes += bytesOf(
        op.output, boxOf(op.output), problem.tensors[op.output].elementBytes);
    return;
  }
  if (depth == split)
    return combine(depth + 1);
  Range &range = ranges[tree.loops[depth].loop];
  Range whole = range;
  for (int64_t begin = whole.begin; begin < whole.end;
       begin += tree.loops[depth].tile) {
    range = {begin, std::min(begin + tree.loops[depth].tile, whole.end)};
    combine(depth + 1);
  }
  range = whole;
}

/// Writes out an intermediate that is wanted outside, too.
void TrafficCounter::store(unsigned index) {
  const Access &output = problem.operators[index].output;
  const Tensor &tensor = problem.tensors[output];
  if (tensor.isStored && isAtHome(output))
    result.traffic[output].writeBytes +=
        bytesOf(output, boxOf(output), tensor.elementBytes);
}

/// The bytes that move for a part of a tensor, in whole units.
int64_t TrafficCounter::bytesOf(TensorId id, const Box &box,
                                int64_t elementBytes) const {
  int64_t elements = elementsOf(box);
  if (elements == 0)
    return 0;
  const Tensor &tensor = problem.tensors[id];
  std::optional<unsigned> dense;
  for (unsigned dim = 0; dim < box.size(); ++dim)
    if (tensor.strides.empty() ||
        (tensor.strides[dim] == 1 &&
         (!dense || tensor.shape[dim] >= tensor.shape[*dense])))
      dense = dim;
  int64_t unit = transfer.unitBytes;
  if (!dense)
    return elements * alignTo(elementBytes, unit);
  Range row = box[*dense];
  int64_t units = divideCeil(row.end * elementBytes, unit) -
                  row.begin * elementBytes / unit;
  return elements / row.size() * units * unit;
}

/// What a buffer has to read when it opens: all of it, or, if it rolls, what
/// the previous iteration has not left there.
int64_t TrafficCounter::newBytes(const Buffer &buffer) const {
  int64_t elementBytes = problem.tensors[buffer.tensor].elementBytes;
  Box rest = buffer.box;
  const Box &old = buffer.previous;
  bool overlaps =
      !isIntermediate(buffer.tensor) && !runsInParallel(buffer.body) &&
      is_contained(schedule.rolling, buffer.tensor) && !old.empty() &&
      all_of(zip(rest, old), [](auto both) {
        return !intersect(std::get<0>(both), std::get<1>(both)).isEmpty();
      });
  if (!overlaps)
    return bytesOf(buffer.tensor, rest, elementBytes);
  int64_t bytes = 0;
  for (unsigned dim = 0; dim < rest.size(); ++dim) {
    Box slab = rest;
    slab[dim].begin = std::max(slab[dim].begin, old[dim].end);
    bytes += bytesOf(buffer.tensor, slab, elementBytes);
    rest[dim] = intersect(rest[dim], old[dim]);
  }
  return bytes;
}

} // namespace

Evaluation chimera::model::simulate(const ChainProblem &problem,
                                    const Schedule &schedule, unsigned level,
                                    const Transfer &transfer) {
  return TrafficCounter(problem, schedule, level, transfer).run();
}

SmallVector<int64_t, 3>
chimera::model::simulateMultiplyAdds(const ChainProblem &problem,
                                     const Schedule &schedule) {
  return MultiplyAddCounter(problem, schedule).run();
}
