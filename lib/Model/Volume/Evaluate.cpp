//===- Evaluate.cpp - Closed-form volume and live set ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Volume in products of sums, without walking blocks. All parts of one
// traversal of a tensor make up the tensor, so a traversal moves its size
// (with the overlap of windows counted as often as it is read), and
//
//   volume = product over all axes of the sum, over the loops on the axis down
//            to the body the buffer belongs to, of the part's length; an axis
//            the tensor does not have contributes the number of its parts.
//
//===----------------------------------------------------------------------===//

#include "Volume/Evaluator.h"

#include "Volume/MaskedTiles.h"
#include "Volume/Waves.h"

#include "Chimera/Model/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

int64_t Evaluation::volumeBytes() const {
  int64_t bytes = 0;
  for (const Traffic &tensor : traffic)
    bytes += tensor.readBytes + tensor.writeBytes;
  return bytes;
}

Transfer chimera::model::transferInto(const MemoryLevel &level,
                                      int64_t threads) {
  return {level.burstBytes, level.buffers,
          threads > std::max<int64_t>(1, level.sharers), level.holdsResults};
}

Transfer chimera::model::transferInto(const Machine &machine,
                                      const Schedule &schedule, unsigned level,
                                      int64_t threads) {
  Transfer transfer = transferInto(machine.levels[level], threads);
  if (level + 1 == machine.levels.size())
    transfer.buffers = schedule.registerTile.stagesIn(machine.levels[level]);
  return transfer;
}

Evaluator::Evaluator(const ChainStructure &structure, const Schedule &schedule,
                     unsigned level, const Transfer &transfer)
    : structure(structure), problem(structure.getProblem()), schedule(schedule),
      level(level), transfer(transfer),
      ofLevel(findTree(structure, schedule, level)),
      whole(level + 1 == schedule.levels.size()
                ? ofLevel
                : findTree(structure, schedule, schedule.levels.size() - 1)),
      split(findSplit(problem, schedule, here.nest)) {
  // What rolls is decided by the loops of all levels; those of the levels down
  // to this one come first on every path.
  unsigned last = problem.operators.size() - 1;
  for (unsigned op = 0; op <= (schedule.rolling.empty() ? 0 : last); ++op)
    rollingSteps.push_back(
        findRollingSteps(structure, treeOfAll().paths, op, schedule));
}

//===----------------------------------------------------------------------===//
// Products over axes
//===----------------------------------------------------------------------===//

/// The dimension of which a part takes whole units: the longest of those along
/// which neighbours are neighbours in memory.
static std::optional<unsigned> contiguousDim(const Tensor &tensor) {
  std::optional<unsigned> longest;
  unsigned rank = tensor.shape.size();
  if (tensor.strides.empty())
    return rank ? std::optional(rank - 1) : std::nullopt;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (tensor.strides[dim] == 1 &&
        (!longest || tensor.shape[dim] >= tensor.shape[*longest]))
      longest = dim;
  return longest;
}

/// The step whose previous part `parts` leave out, if they roll: only what
/// moves along a single dimension leaves a box behind.
static std::optional<unsigned> rollingStepOf(const ChainStructure &structure,
                                             const Path &path,
                                             const Evaluator::Parts &parts) {
  if (!parts.extent.rolls || parts.extent.end == 0)
    return std::nullopt;
  const Path::Step &last = path.steps[parts.extent.end - 1];
  auto moves = [&](const Index &index) {
    return any_of(index.terms, [&](const Term &term) {
      return contains(structure.dependencies(term.loop, last.group), last.loop);
    });
  };
  if (count_if(parts.access.indices, moves) != 1)
    return std::nullopt;
  return parts.extent.end - 1;
}

void Evaluator::forEachAxis(
    const KnownTree &tree, const Parts &parts,
    function_ref<bool(const PlainAxis &, const MeasuredAxis &)> visitPlain,
    function_ref<void(unsigned axis, const MeasuredAxis &)> visit) const {
  const auto &[access, op, extent] = parts;
  const Tensor &tensor = problem.tensors[access];
  const Path &path = tree.paths[op];
  MeasuredAxis measured;
  measured.end = extent.end;
  measured.fresh = std::min(extent.fresh, extent.end);
  if (extent.fresh < extent.end)
    measured.affecting = affectingLoops(access, path);
  if (extent.split != Extent::LikeOthers) {
    measured.split = split;
    measured.countsSplit = extent.split == Extent::Always;
  }
  if (extent.isNeed)
    measured.neededOf = op;
  std::optional<unsigned> contiguous;
  if (extent.unitBytes > 1)
    contiguous = contiguousDim(tensor);
  std::optional<unsigned> rolling = rollingStepOf(structure, path, parts);
  // Along the others there is one part, of one element.
  uint64_t axes = 0, notPlain = 0;
  SmallVector<PlainAxis, 24> plain(structure.numAxes());
  for (unsigned step = 0; step < measured.end; ++step) {
    if (!measured.walks(path, step))
      continue;
    unsigned axis = structure.axisOf(path.steps[step].loop);
    axes |= bitOf(axis);
    plain[axis].last = step;
    if (path.steps[step].tile == openTile)
      plain[axis].open = step;
  }
  auto axisOf = [&](const Index &index) {
    return index.terms.empty() ? 0 : structure.axisOf(index.terms[0].loop);
  };
  for (const auto &[place, index] : enumerate(access.indices)) {
    unsigned axis = axisOf(index);
    if (plain[axis].dim || !index.isLoop() || place == contiguous)
      notPlain |= bitOf(axis);
    axes |= bitOf(axis);
    plain[axis].dim = tensor.shape[place];
  }
  if (rolling)
    notPlain |= bitOf(structure.axisOf(path.steps[*rolling].loop));
  for (; axes; axes &= axes - 1) {
    unsigned axis = countr_zero(axes);
    std::optional<LoopId> loop = structure.onlyLoopOf(axis);
    if (loop && !contains(notPlain, axis)) {
      plain[axis].loop = *loop;
      if (visitPlain(plain[axis], measured))
        continue;
    }
    measured.dims.clear();
    for (const auto &[place, index] : enumerate(access.indices)) {
      if (axisOf(index) != axis)
        continue;
      MeasuredDim dim{&index, tensor.shape[place]};
      if (place == contiguous) {
        dim.elementBytes = extent.elementBytes;
        dim.unitBytes = extent.unitBytes;
      }
      measured.dims.push_back(dim);
    }
    measured.rollsAt.reset();
    if (rolling && structure.axisOf(path.steps[*rolling].loop) == axis)
      measured.rollsAt = rolling;
    visit(axis, measured);
  }
}

std::optional<AxisLengths>
Evaluator::lengthsAlong(const PlainAxis &axis, const Path &path,
                        const MeasuredAxis &measured) const {
  int64_t extent = problem.loops[axis.loop].extent;
  if (axis.dim) {
    if (*axis.dim != extent)
      return std::nullopt;
    return AxisLengths{extent,
                       axis.last ? path.steps[*axis.last].tile : extent};
  }
  SmallVector<int64_t, 4> tiles;
  for (unsigned step = 0; step <= *axis.last; ++step)
    if (path.steps[step].loop == axis.loop && measured.walks(path, step))
      tiles.push_back(path.steps[step].tile);
  return AxisLengths{countParts(extent, tiles), 1};
}

/// What an element takes by itself: the size goes with the contiguous dimension
/// if that comes in units.
int64_t Evaluator::elementFactor(const Parts &parts) const {
  const Extent &extent = parts.extent;
  if (extent.unitBytes > 1 && contiguousDim(problem.tensors[parts.access]))
    return 1;
  return alignTo(extent.elementBytes, extent.unitBytes);
}

AxisWalk::Lengths Evaluator::measure(const KnownTree &tree,
                                     const Parts &parts) const {
  int64_t factor = elementFactor(parts);
  AxisWalk::Lengths product{factor, factor};
  const Path &path = tree.paths[parts.op];
  auto multiply = [&](AxisLengths lengths) {
    product.sum *= lengths.sum;
    product.most *= lengths.most;
  };
  forEachAxis(
      tree, parts,
      [&](const PlainAxis &axis, const MeasuredAxis &measured) {
        std::optional<AxisLengths> lengths = lengthsAlong(axis, path, measured);
        if (lengths)
          multiply(*lengths);
        return lengths.has_value();
      },
      [&](unsigned axis, const MeasuredAxis &measured) {
        multiply(AxisWalk(structure, path, rollingStepsOf(parts.op), axis)
                     .run(measured));
      });
  return product;
}

/// Loops on `path` that affect `access` where they stand.
LoopSet Evaluator::affectingLoops(const Access &access,
                                  const Path &path) const {
  LoopSet loops = 0, affecting = 0;
  std::optional<Group> group;
  for (const Path::Step &step : path.steps) {
    if (group != step.group) {
      group = step.group;
      affecting = structure.affecting(access, *group);
    }
    loops |= affecting & bitOf(step.loop);
  }
  return loops;
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

bool Evaluator::isAtHome(TensorId tensor) const {
  return problem.tensors[tensor].role == Role::Intermediate &&
         level <= schedule.homeOf(tensor);
}

/// True if what is produced is in the level while it is computed.
bool Evaluator::holdsResults() const {
  return transfer.holdsResults || !multipliesTiles(problem);
}

/// True for what each part of a split loop has of its own.
bool Evaluator::isAccumulated(TensorId tensor) const {
  const Operator &last = problem.operators.back();
  return tensor == last.output.tensor || is_contained(last.states, tensor);
}

unsigned Evaluator::bodyDepthOf(const Access &access, unsigned op) const {
  const Path &path = here.paths[op];
  unsigned outside = taskDepth();
  if (split && isAccumulated(access))
    outside = std::max(outside, *split + 1);
  return std::max(bodyDepth(structure, path, access, path.steps.size()),
                  outside);
}

/// True if `op` and `other` have the same loops around them up to `depth`.
bool Evaluator::areTogether(unsigned op, unsigned other, unsigned depth) const {
  return depth == 0 || here.paths[op].steps[depth - 1].group.has(other);
}

/// True if an operator before `op` fills the same buffer.
bool Evaluator::isFilledBefore(const Access &access, unsigned op,
                               unsigned depth) const {
  for (unsigned other = 0; other < op; ++other)
    for (const Access &read : problem.operators[other].inputs)
      if (read == access.tensor && read.indices == access.indices &&
          areTogether(op, other, depth) && bodyDepthOf(read, other) == depth)
        return true;
  return false;
}

void Evaluator::countInput(const Access &access, unsigned op,
                           TrafficSink sink) const {
  unsigned depth = bodyDepthOf(access, op);
  if (isFilledBefore(access, op, depth))
    return;
  Extent extent = partsAt(depth, elementBytesOf(access));
  extent.rolls = is_contained(schedule.rolling, access.tensor) &&
                 problem.tensors[access].role == Role::Input &&
                 depth > schedule.numParallel;
  sink({access, op, extent}, 1, 0);
}

/// Every visit ends with a write; every visit but a fresh one starts with a
/// read. Accumulators start at zero for free.
void Evaluator::countProduced(const Access &access, unsigned op,
                              TrafficSink sink) const {
  const Tensor &tensor = problem.tensors[access];
  unsigned depth = bodyDepthOf(access, op);
  Extent visits = partsAt(depth, tensor.heldBytes()), fresh = visits;
  fresh.fresh = startOf(op);
  bool isPartial = split && isAccumulated(access);
  if (isPartial)
    fresh.split = Extent::Always;
  if (holdsResults()) {
    sink({access, op, visits}, 1, 1);
    sink({access, op, fresh}, -1, -1);
  }
  if (isPartial) {
    sink({access, op, fresh}, 0, 1);
    return countCombined(access, sink);
  }
  if (tensor.role == Role::State)
    return;
  fresh.elementBytes = tensor.elementBytes;
  sink({access, op, fresh}, 0, 1);
}

/// What the parts of the split loop have come to is read once more, tile by
/// tile of the other parallel loops, and one of them written.
void Evaluator::countCombined(const Access &access, TrafficSink sink) const {
  unsigned last = problem.operators.size() - 1;
  const Tensor &tensor = problem.tensors[access];
  sink({access, last, partsAt(parallelDepth(), tensor.heldBytes())}, 1, 0);
  if (tensor.role == Role::State)
    return;
  Extent combined = partsAt(parallelDepth(), tensor.elementBytes);
  combined.split = Extent::Never;
  sink({access, last, combined}, 0, 1);
}

/// Number of the loops that start `op` anew.
unsigned Evaluator::startOf(unsigned op) const {
  const Access &output = problem.operators[op].output;
  if (problem.tensors[output].role != Role::Intermediate)
    return 0;
  return here.paths[op].commonDepth(structure.usersOf(output));
}

/// What each run of the producer makes of an intermediate that others want.
void Evaluator::countStored(unsigned op, TrafficSink sink) const {
  const Access &output = problem.operators[op].output;
  sink({output, op, partsAt(startOf(op), elementBytesOf(output))}, 0, 1);
}

/// Loops around the epilogue of `op`.
unsigned Evaluator::epilogueDepth(unsigned op) const {
  const Operator &info = problem.operators[op];
  if (problem.tensors[info.output].role == Role::Intermediate)
    return startOf(op);
  const auto &steps = here.paths[op].steps;
  return find_if(steps,
                 [&](const Path::Step &step) {
                   return info.isReduction(step.loop) ||
                          is_contained(info.completes, step.loop);
                 }) -
         steps.begin();
}

void Evaluator::countEpilogue(unsigned op, TrafficSink sink) const {
  const Operator &info = problem.operators[op];
  if (!info.hasEpilogue && info.epilogue.empty())
    return;
  bool isCombined = split && op == problem.operators.size() - 1;
  unsigned depth = isCombined ? parallelDepth() : epilogueDepth(op);
  // Is the finished part more than one buffer, it passes once more.
  if (!isCombined && !isAtHome(info.output) && holdsResults() &&
      bodyDepthOf(info.output, op) > depth)
    sink({info.output, op, partsAt(depth, elementBytesOf(info.output))}, 1, 1);
  for (const Access &operand : info.epilogue) {
    if (isAtHome(operand))
      continue;
    unsigned body =
        std::max(bodyDepth(structure, here.paths[op], operand, depth),
                 std::min(taskDepth(), depth));
    Extent streamed = partsAt(body, elementBytesOf(operand));
    if (isCombined)
      streamed.split = Extent::Never;
    sink({operand, op, streamed}, 1, 0);
  }
}

void Evaluator::countTraffic(TrafficSink sink) const {
  for (const auto &[index, op] : enumerate(problem.operators)) {
    for (const Access &input : op.inputs)
      if (!isAtHome(input))
        countInput(input, index, sink);
    if (!isAtHome(op.output))
      countProduced(op.output, index, sink);
    else if (problem.tensors[op.output].isStored)
      countStored(index, sink);
    for (const Access &state : op.states)
      countProduced(state, index, sink);
    countEpilogue(index, sink);
  }
}

//===----------------------------------------------------------------------===//
// Live set
//===----------------------------------------------------------------------===//

/// True if a buffer in the body inside the first `depth` loops around the
/// operators in `users` is open while `op` runs.
bool Evaluator::isOpen(unsigned depth, OperatorSet users, unsigned op) const {
  const LoopNest *nest = &here.nest;
  unsigned end = nest->loops.size();
  unsigned first = countr_zero(users), last = Log2_32(users);
  while (true) {
    if (!nest->has(op) || !nest->has(first))
      return false;
    // The body holds one loop, and with it everybody inside.
    if (depth < end)
      return true;
    if (nest->parts.empty())
      return true;
    if (depth == end)
      break;
    nest = &nest->partOf(first);
    end += nest->loops.size();
  }
  // The body's parts run one after the other.
  return nest->partOf(first).firstOperator <= op &&
         op <= nest->partOf(last).lastOperator;
}

OperatorSet Evaluator::openDuring(unsigned depth, OperatorSet users) const {
  OperatorSet during = 0;
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    if (isOpen(depth, users, op))
      during |= OperatorSet(1) << op;
  return during;
}

/// An operand that comes and goes tile by tile.
void Evaluator::addTile(const Access &access, unsigned op, OperatorSet users,
                        LiveSink sink) const {
  const Tensor &tensor = problem.tensors[access];
  unsigned depth = bodyDepthOf(access, op);
  Extent extent =
      partsAt(depth, tensor.role == Role::Input ? tensor.elementBytes
                                                : tensor.heldBytes());
  extent.unitBytes = 1;
  sink({access, op, extent}, openDuring(depth, users), false);
}

/// An intermediate at home: one buffer for all levels, as large as the readers
/// need in the innermost body of the whole tree around all users.
void Evaluator::addIntermediate(unsigned op, LiveSink sink) const {
  const Access &output = problem.operators[op].output;
  OperatorSet users = structure.usersOf(output);
  Extent extent = partsAt(treeOfAll().paths[op].commonDepth(users),
                          problem.tensors[output].heldBytes());
  extent.unitBytes = 1;
  extent.isNeed = true;
  sink({output, op, extent},
       openDuring(here.paths[op].commonDepth(users), users), true);
}

/// Operators that share the buffer of `access` with `op`, itself included.
OperatorSet Evaluator::sharersOf(const Access &access, unsigned op) const {
  unsigned depth = bodyDepthOf(access, op);
  OperatorSet sharers = OperatorSet(1) << op;
  for (unsigned other = op + 1; other < problem.operators.size(); ++other)
    for (const Access &read : problem.operators[other].inputs)
      if (read == access.tensor && read.indices == access.indices &&
          areTogether(op, other, depth) && bodyDepthOf(read, other) == depth)
        sharers |= OperatorSet(1) << other;
  return sharers;
}

void Evaluator::countLive(LiveSink sink) const {
  for (const auto &[index, op] : enumerate(problem.operators)) {
    OperatorSet alone = OperatorSet(1) << index;
    for (const auto &[place, input] : enumerate(op.inputs)) {
      // A factor that is squared has one buffer.
      bool isSeen = any_of(ArrayRef(op.inputs).take_front(place),
                           [&, read = &input](const Access &earlier) {
                             return earlier == read->tensor &&
                                    earlier.indices == read->indices;
                           });
      if (!isSeen && !isAtHome(input) &&
          !isFilledBefore(input, index, bodyDepthOf(input, index)))
        addTile(input, index, sharersOf(input, index), sink);
    }
    if (!holdsResults())
      continue;
    if (isAtHome(op.output))
      addIntermediate(index, sink);
    else
      addTile(op.output, index, alone, sink);
    for (const Access &state : op.states)
      addTile(state, index, alone, sink);
  }
}

/// True if the buffer of `parts` is filled more than once.
bool Evaluator::isRefilled(const Parts &parts) const {
  for (unsigned axis = 0; axis < structure.numAxes(); ++axis) {
    MeasuredAxis fillings;
    fillings.end = fillings.fresh = parts.extent.end;
    AxisWalk walk(structure, here.paths[parts.op], rollingStepsOf(parts.op),
                  axis);
    if (walk.run(fillings).sum > 1)
      return true;
  }
  return false;
}

int64_t Evaluator::bytesOfBuffer(const Parts &parts, bool isHome) const {
  int64_t bytes = measure(isHome ? treeOfAll() : here, parts).most;
  if (!isHome && transfer.buffers > 1 && isRefilled(parts))
    bytes *= transfer.buffers;
  return bytes;
}

Evaluation Evaluator::run() const {
  Evaluation result;
  result.traffic.resize(problem.tensors.size());
  countTraffic([&](const Parts &parts, int64_t reads, int64_t writes) {
    int64_t bytes = measure(here, parts).sum;
    result.traffic[parts.access].readBytes += reads * bytes;
    result.traffic[parts.access].writeBytes += writes * bytes;
  });
  result.liveAt.assign(problem.operators.size(), 0);
  countLive([&](const Parts &parts, OperatorSet during, bool isHome) {
    int64_t bytes = bytesOfBuffer(parts, isHome);
    for (unsigned op = 0; op < problem.operators.size(); ++op)
      if (during >> op & 1)
        result.liveAt[op] += bytes;
  });
  result.liveBytes = *max_element(result.liveAt);
  return result;
}

Evaluation chimera::model::evaluate(const ChainProblem &problem,
                                    const Schedule &schedule, unsigned level,
                                    const Transfer &transfer) {
  ChainStructure structure(problem);
  return Evaluator(structure, schedule, level, transfer).run();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

SmallVector<int64_t, 3>
chimera::model::countMultiplyAdds(const ChainProblem &problem,
                                  const Schedule &schedule) {
  return countMultiplyAdds(ChainStructure(problem), schedule);
}

SmallVector<int64_t, 3>
chimera::model::countMultiplyAdds(const ChainStructure &structure,
                                  const Schedule &schedule) {
  const ChainProblem &problem = structure.getProblem();
  std::shared_ptr<const KnownTree> tree =
      findTree(structure, schedule, schedule.levels.size() - 1);
  ArrayRef<Path> paths = tree->paths;
  SmallVector<int64_t, 3> counts;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    RollingSteps rolling = findRollingSteps(structure, paths, index, schedule);
    unsigned end = paths[index].steps.size();
    int64_t count = 1;
    SmallVector<Index, 6> iterations(op.loops.begin(), op.loops.end());
    for (unsigned axis = 0; axis < structure.numAxes(); ++axis) {
      MeasuredAxis points;
      points.end = points.fresh = end;
      for (const Index &values : iterations)
        if (LoopId loop = values.terms[0].loop; structure.axisOf(loop) == axis)
          points.dims.push_back({&values, problem.loops[loop].extent});
      count *= AxisWalk(structure, paths[index], rolling, axis).run(points).sum;
    }
    counts.push_back(count);
  }
  return counts;
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

SmallVector<unsigned, 6> chimera::model::findHomes(const ChainProblem &problem,
                                                   const Machine &machine,
                                                   const Schedule &schedule,
                                                   ArrayRef<int64_t> capacities,
                                                   int64_t threads) {
  return findHomes(ChainStructure(problem), machine, schedule, capacities,
                   threads);
}

SmallVector<unsigned, 6>
chimera::model::findHomes(const ChainStructure &structure,
                          const Machine &machine, const Schedule &schedule,
                          ArrayRef<int64_t> capacities, int64_t threads) {
  const ChainProblem &problem = structure.getProblem();
  unsigned levels = machine.levels.size();
  Schedule trial = schedule;
  trial.homes.assign(problem.tensors.size(), levels - 1);
  for (unsigned level = levels; level-- > 1;) {
    // The buffers of intermediates that this level holds.
    std::vector<std::pair<int64_t, TensorId>> held;
    Evaluator evaluator(structure, trial, level,
                        transferInto(machine.levels[level], threads));
    evaluator.countLive([&](const Evaluator::Parts &parts, OperatorSet,
                            bool isHome) {
      if (isHome && trial.homes[parts.access] == level)
        held.push_back({evaluator.bytesOfLargest(parts), parts.access.tensor});
    });
    llvm::sort(held);
    while (!held.empty() &&
           Evaluator(structure, trial, level,
                     transferInto(machine.levels[level], threads))
                   .run()
                   .liveBytes > capacities[level]) {
      trial.homes[held.back().second] = level - 1;
      held.pop_back();
    }
  }
  return trial.homes;
}

bool chimera::model::leavesTilesOut(const ChainProblem &problem,
                                    const Machine &machine) {
  return !problem.bands.empty() && hasFragments(problem, machine);
}

bool chimera::model::countsTiles(const ChainProblem &problem,
                                 const Machine &machine) {
  return leavesTilesOut(problem, machine) ||
         (readsWindows(problem) && multipliesTiles(problem) &&
          hasFragments(problem, machine));
}

Evaluation chimera::model::evaluateOn(const ChainStructure &structure,
                                      const Machine &machine,
                                      const Schedule &schedule, unsigned level,
                                      int64_t threads) {
  const ChainProblem &problem = structure.getProblem();
  auto evaluate = [&](const Schedule &schedule) {
    return Evaluator(structure, schedule, level,
                     transferInto(machine, schedule, level, threads))
        .run();
  };
  if (servesWaves(machine, level)) {
    auto evaluateWaves = [&](bool streams) {
      return evaluate(
          scheduleOfWaves(structure, schedule, level, threads, streams));
    };
    Evaluation whole = evaluateWaves(/*streams=*/false);
    if (whole.liveBytes <= machine.levels[level].usableBytes())
      return whole;
    // Sums do not stream: tasks hold theirs.
    Evaluation streamed = evaluateWaves(/*streams=*/true);
    for (auto [tensor, ofWhole, ofStreamed] :
         zip(problem.tensors, whole.traffic, streamed.traffic))
      if (tensor.role == Role::Input)
        ofWhole = ofStreamed;
    whole.liveBytes = streamed.liveBytes;
    return whole;
  }
  Evaluation evaluation = evaluate(schedule);
  if (level + 1 == machine.levels.size() && countsTiles(problem, machine) &&
      planFragments(problem, machine, schedule).obstacle.empty())
    evaluation.traffic = MaskedTiles(problem, schedule).traffic();
  return evaluation;
}
