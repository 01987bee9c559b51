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

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using namespace llvm;
using namespace chimera::model;

namespace {

//===----------------------------------------------------------------------===//
// Ranges and boxes
//===----------------------------------------------------------------------===//

/// Consecutive values of a loop or of an index.
struct Range {
  int64_t begin = 0, end = 0;

  bool isEmpty() const { return end <= begin; }
  int64_t size() const { return isEmpty() ? 0 : end - begin; }
  bool operator<(const Range &other) const {
    return std::make_pair(begin, end) < std::make_pair(other.begin, other.end);
  }
};

/// The smallest range that covers both.
Range hull(Range a, Range b) {
  if (a.isEmpty())
    return b;
  if (b.isEmpty())
    return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A part of a tensor: a range per dimension.
using Box = std::vector<Range>;

int64_t elementsOf(const Box &box) {
  int64_t elements = 1;
  for (Range range : box)
    elements *= range.size();
  return elements;
}

/// The smallest box that covers both.
Box hull(const Box &a, const Box &b) {
  if (elementsOf(a) == 0)
    return b;
  if (elementsOf(b) == 0)
    return a;
  Box covering;
  for (auto [left, right] : zip(a, b))
    covering.push_back(hull(left, right));
  return covering;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// A place in the loop tree: inside the first `depth` loops of `nest`.
struct Place {
  const LoopNest *nest = nullptr;
  unsigned depth = 0;

  bool operator==(const Place &other) const {
    return nest == other.nest && depth == other.depth;
  }
  bool holdsLoop() const { return depth < nest->loops.size(); }
  bool holdsParts() const { return !holdsLoop() && !nest->parts.empty(); }
};

/// Goes through the loop tree of one level and keeps the ranges of the loops
/// up to date. What happens on the way is up to the derived class.
class Walk {
public:
  Walk(const ChainProblem &problem, const Schedule &schedule, unsigned level);
  virtual ~Walk() = default;

protected:
  struct Reader {
    unsigned op;
    const Access *access;
  };

  void walk();

  virtual void enter(Place) {}
  virtual void leave(Place) {}
  virtual void beforePart(Place, const LoopNest &) {}
  virtual void afterPart(Place, const LoopNest &) {}
  virtual void runBlock(unsigned) {}

  /// What the current ranges make `access` touch.
  Box boxOf(const Access &access) const;
  /// The innermost body around all users of an intermediate.
  Place bodyAround(TensorId tensor) const;
  /// The body of the innermost loop that affects `access` of operator `op`
  /// among those around `limit`, or the body around everything.
  Place bodyAffecting(unsigned op, const Access &access, Place limit) const;
  /// Where the blocks of an operator are.
  Place blocksOf(unsigned op) const;
  bool isIntermediate(TensorId tensor) const {
    return problem.tensors[tensor].role == Role::Intermediate;
  }

  const ChainProblem &problem;
  const Schedule &schedule;
  const unsigned level;
  /// True if the loop of this body is parallel: nothing is left by the
  /// iteration before.
  bool runsInParallel(const Place &body) const {
    return body.nest == &tree && body.depth <= schedule.numParallel;
  }

  const LoopNest tree;
  std::vector<Range> ranges;
  /// For intermediates.
  std::vector<unsigned> producers;
  std::vector<std::vector<Reader>> readers;

private:
  /// An intermediate whose buffer rolls, and how far it has been made.
  struct Roll {
    TensorId tensor = 0;
    /// Where the loop is along which it rolls.
    Place loop;
    /// Per dimension, the end of what is needed in this iteration, and of what
    /// the iterations before have made (0: nothing).
    std::vector<int64_t> needed, made;
  };

  void walkBody(Place place);
  void walkLoop(Place place);
  void findRolls();
  void updateDemand(const LoopNest &nest);
  Roll *rollOf(TensorId tensor);
  bool isTogether(const LoopNest &nest, TensorId tensor) const;
  bool isDerived(TensorId tensor, unsigned dim) const;
  Range demandOf(TensorId tensor, unsigned dim) const;
  Range rangeOf(const Index &index) const;
  std::set<LoopId> affectedBy(Place loop) const;

  std::vector<Roll> rolls;
};

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
  bool runsAnewIn(unsigned op, Place place) const;
  int64_t bytesOf(TensorId tensor, const Box &box, int64_t elementBytes) const;
  int64_t newBytes(const Buffer &buffer) const;

  const Transfer transfer;
  std::vector<Buffer> buffers;
  std::vector<Epilogue> epilogues;
  /// Parts of what operators produce that have been written before.
  std::map<TensorId, std::set<Box>> written;
  /// Which buffers are open while an operator's blocks run.
  std::vector<std::vector<bool>> openAt;
  Evaluation result;
};

TrafficCounter::TrafficCounter(const ChainProblem &problem,
                               const Schedule &schedule, unsigned level,
                               const Transfer &transfer)
    : Walk(problem, schedule, level), transfer(transfer),
      epilogues(problem.operators.size()), openAt(problem.operators.size()) {
  result.traffic.resize(problem.tensors.size());
  result.liveAt.resize(problem.operators.size());
  placeBuffers();
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    placeEpilogue(op);
}

Evaluation TrafficCounter::run() {
  walk();
  std::vector<int64_t> intermediateElements =
      IntermediateSizer(problem, schedule).run();
  for (auto [openBuffers, live] : zip(openAt, result.liveAt)) {
    for (auto [isOpen, buffer] : zip(openBuffers, buffers)) {
      if (!isOpen)
        continue;
      const Tensor &tensor = problem.tensors[buffer.tensor];
      bool isInput = tensor.role == Role::Input;
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
  if (written[buffer.tensor].insert(buffer.box).second)
    return;
  // So the last write was not the final one.
  int64_t held = bytesOf(buffer.tensor, buffer.box, tensor.heldBytes());
  traffic.readBytes += held;
  traffic.writeBytes += held;
  if (tensor.role != Role::State)
    traffic.writeBytes -=
        bytesOf(buffer.tensor, buffer.box, tensor.elementBytes);
}

void TrafficCounter::close(Buffer &buffer) {
  assert(buffer.isOpen && "a buffer is closed twice");
  buffer.isOpen = false;
  const Tensor &tensor = problem.tensors[buffer.tensor];
  if (buffer.isAtHome || !buffer.isProduced || tensor.role == Role::State)
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
  if (!epilogues[index].exists || isThere || isAtHome(output))
    return;
  int64_t bytes =
      bytesOf(output, boxOf(output), problem.tensors[output].elementBytes);
  result.traffic[output].readBytes += bytes;
  result.traffic[output].writeBytes += bytes;
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
