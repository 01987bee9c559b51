//===- Routes.cpp - What moves where inside a core ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Routes.h"

#include "Chimera/Model/Fragments.h"
#include "Volume/RoutePlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

using namespace llvm;
using namespace chimera::model;

/// Bytes of a sum and of half of one, sums in an instruction of the vector
/// unit, and bytes of one of its blocks.
static constexpr int64_t sumBytes = 4, halfBytes = 2, repeatSums = 64,
                         unitBlock = 32;

RoutePlanner::RoutePlanner(const ChainProblem &problem, const Machine &machine,
                           const Schedule &schedule, int64_t threads)
    : problem(problem), machine(machine), schedule(schedule),
      tiles(problem, schedule),
      parts(countSplitParts(problem, schedule, tiles.getTree())),
      inLanes(parts == 1 && runsInLanes(problem, machine)) {
  for (const NestLoop &loop :
       ArrayRef(tiles.getTree().loops).take_front(schedule.numParallel))
    tasks *= divideCeilSigned(problem.loops[loop.loop].extent, loop.tile);
  isRepeated = tasks > threads;
  if (readsWindows(problem))
    for (unsigned op = 0; op < problem.operators.size(); ++op)
      addLines(op);
}

//===----------------------------------------------------------------------===//
// Routes and memories
//===----------------------------------------------------------------------===//

const std::string &RoutePlanner::nameOf(Buffer::Role role) const {
  static const std::string none;
  for (const Buffer &buffer : machine.buffers)
    if (buffer.role == role)
      return buffer.name;
  return none;
}

/// True if the vector unit can work on what the matrix unit has computed. Where
/// it is in another core, sums only leave.
bool RoutePlanner::hasVectorsAtUnit() const {
  return hasRoute(nameOf(Buffer::Role::Sums), nameOf(Buffer::Role::Vectors));
}

bool RoutePlanner::hasRoute(StringRef from, StringRef to) const {
  return any_of(machine.routes, [&](const Route &route) {
    return route.source == from && route.destination == to;
  });
}

/// `bytes` along the shortest way there is. What passes main memory, one core
/// hands to another, and waits until it is there if `isAwaited`.
void RoutePlanner::move(StringRef from, StringRef to, int64_t bytes,
                        bool isAwaited) {
  std::map<std::string, size_t> reachedBy;
  std::deque<std::string> open = {from.str()};
  while (!open.empty() && !reachedBy.count(to.str())) {
    std::string at = open.front();
    open.pop_front();
    for (auto [index, route] : enumerate(machine.routes))
      if (route.source == at && route.destination != from &&
          reachedBy.try_emplace(route.destination, index).second)
        open.push_back(route.destination);
  }
  if (!reachedBy.count(to.str())) {
    plan.obstacle = ("there is no way from " + from + " to " + to).str();
    return;
  }
  SmallVector<size_t, 2> way;
  bool isHanded = false;
  for (std::string at = to.str(); at != from;
       at = machine.routes[reachedBy[at]].source) {
    way.push_back(reachedBy[at]);
    isHanded |= at != to && at == Machine::mainMemory;
  }
  for (size_t index : way) {
    plan.routes[index].bytes += bytes;
    handedBytes[index] += isHanded ? bytes : 0;
    awaitedBytes[index] += isHanded && isAwaited ? bytes : 0;
  }
}

/// Room for a tile of its own, or, if `isShared`, one that all take in turn.
void RoutePlanner::use(StringRef memory, int64_t bytes, bool isShared) {
  for (MemoryUse &entry : plan.memories)
    if (entry.name == memory)
      entry.bytes =
          isShared ? std::max(entry.bytes, bytes) : entry.bytes + bytes;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void RoutePlanner::planFactors(unsigned op) {
  const PathLoops &path = tiles.pathOf(op);
  for (const Access &input : problem.operators[op].inputs) {
    const Tensor &tensor = problem.tensors[input];
    size_t depth = tiles.depthOf(op, input, path.size());
    Sizes sizes = tiles.sizesAfter(op, depth);
    if (tensor.role == Role::Intermediate) {
      if (lineOf(input, sizes) && !isMatrix(input, sizes))
        plan.obstacle = "windows over an intermediate are cut";
      continue;
    }
    if (!isMatrix(input, sizes))
      plan.obstacle = "a tile of an operand is more than one matrix";
    bool isRefilled = isRepeated;
    for (size_t index = schedule.numParallel; index < depth; ++index)
      isRefilled |= !runsOnce(path, index);
    move(Machine::mainMemory, level(), bytesRead(op, input, depth));
    use(level(), roomInLevel(input, sizes) * tensor.elementBytes *
                     (isRefilled ? machine.levels.back().buffers : 1));
  }
}

/// How the operands of each block go to the unit.
void RoutePlanner::planUnit(unsigned op) {
  const Operator &description = problem.operators[op];
  const MatrixUnit &unit = *machine.matrix;
  size_t innermost = tiles.pathOf(op).size();
  Sizes sizes = tiles.sizesAfter(op, innermost);
  Sides result = sidesOf(description.output, sizes);
  const Access *lhs = &description.inputs[0], *rhs = &description.inputs[1];
  if (lhs->hasLoop(result.columns))
    std::swap(lhs, rhs);
  int64_t elementBytes = problem.tensors[*lhs].elementBytes;
  int64_t depth = 1;
  bool hasTaps = false;
  for (LoopId loop : description.loops) {
    if (!description.isReduction(loop))
      continue;
    int64_t size = sizes[loop].front().size;
    if (isTap(problem, loop))
      hasTaps |= size > 1;
    else
      depth = std::max(depth, size);
  }
  int64_t rowSide = rowSideOf(description, *lhs);
  std::optional<UnitSteps> steps =
      chooseUnitSteps(unit, alignTo(rowsOf(result, sizes), rowSide),
                      alignTo(sizes[result.columns].front().size, side()),
                      depth, elementBytes, hasTaps);
  if (!steps) {
    plan.obstacle = "a tile has more rows than the unit has room for";
    return;
  }
  Sides left = sidesOf(*lhs, sizes);
  // The left operand once for each panel of the block's columns.
  move(level(), nameOf(Buffer::Role::Lhs),
       elementBytes * paddingOf(left) *
           tiles.sumOver(
               op, innermost, [&](LoopId loop, int64_t size) -> int64_t {
                 if (lhs->hasLoop(loop))
                   return pad(left, loop, size,
                              description.isReduction(loop) ? side() : rowSide);
                 return loop == result.columns
                            ? divideCeilSigned(size, steps->columns)
                            : 1;
               }));
  move(level(), nameOf(Buffer::Role::Rhs),
       padded(op, *rhs, innermost, side()) * elementBytes);
  use(nameOf(Buffer::Role::Lhs), steps->lhsBytes, /*isShared=*/true);
  use(nameOf(Buffer::Role::Rhs), steps->rhsBytes, /*isShared=*/true);
}

/// True if the sums of `op` are worked on in more than one place: scores before
/// a softmax, and what is rescaled with every block of them. They leave for the
/// memory of the vector unit with every block and are added up there.
bool RoutePlanner::leavesByBlocks(unsigned op) const {
  const Operator &description = problem.operators[op];
  for (auto [index, other] : enumerate(problem.operators)) {
    auto reads = [](const Operator &reader, TensorId tensor) {
      return any_of(reader.inputs,
                    [&](const Access &input) { return input == tensor; });
    };
    if (!other.states.empty() && reads(other, description.output))
      return true;
    if (description.states.empty() || !reads(description, other.output))
      continue;
    // Loops whose iterations are tasks have one block each.
    size_t common = commonDepth(tiles.getTree(), op, index),
           ofTask = std::min<size_t>(common, schedule.numParallel);
    if (any_of(ArrayRef(tiles.pathOf(op)).slice(ofTask, common - ofTask),
               [&](const NestLoop &loop) {
                 return loop.loop == description.rescaledBy;
               }))
      return true;
  }
  return false;
}

/// True if the sums of `op` wait at the unit for those of another operator, a
/// gate for what it lets pass, to be finished with them.
bool RoutePlanner::staysAtUnit(unsigned op) const {
  TensorId output = problem.operators[op].output;
  return problem.tensors[output].role == Role::Intermediate &&
         none_of(problem.operators, [&](const Operator &reader) {
           return any_of(reader.inputs,
                         [&](const Access &input) { return input == output; });
         });
}

/// The room that the operands of an epilogue, of `rows` and `columns` of sums,
/// take in the memory of the vector unit.
int64_t RoutePlanner::roomOfOperands(const Operator &op, const Sides &sides,
                                     int64_t rows, int64_t columns) const {
  int64_t places = columns > machine.matrix->columns ? 2 : 1;
  int64_t groupElements = rows * machine.matrix->columns;
  int64_t bytes = 0;
  for (const Access &operand : op.epilogue) {
    // Sums come from another core as those of the operator itself do.
    if (problem.tensors[operand].role == Role::Intermediate) {
      bytes += hasVectorsAtUnit() ? 0 : places * groupElements * sumBytes;
      continue;
    }
    int64_t elementBytes = problem.tensors[operand].elementBytes;
    bool hasRows = sides.rows && operand.hasLoop(*sides.rows);
    // Truth values come as whole rows of blocks, and turn to halves first.
    bool isTruth = elementBytes == 1;
    int64_t wholeColumns =
        alignTo(columns, isTruth ? 2 * repeatSums : repeatSums);
    if ((hasRows || !sides.rows) && !operand.hasLoop(sides.columns)) {
      // A block for each number, which may be widened before.
      bytes += alignTo(rows, repeatSums) *
                   (elementBytes + (elementBytes < sumBytes ? sumBytes : 0)) +
               rows * unitBlock;
      continue;
    }
    bytes += !hasRows  ? wholeColumns * (elementBytes + sumBytes +
                                         (isTruth ? halfBytes : 0))
             : isTruth ? rows * alignTo(columns, unitBlock)
                       : places * groupElements * elementBytes;
  }
  return bytes;
}

/// The room of maximum and sum, of what another block makes of them, and of
/// both as they leave.
int64_t RoutePlanner::roomOfStates(unsigned op, int64_t rows) const {
  int64_t numStates = problem.operators[op].states.size();
  return numStates * (1 + leavesByBlocks(op) + (parts > 1)) * rows * unitBlock;
}

/// The room of the vector unit for what `op` makes, at `depth` on its path.
void RoutePlanner::planVectors(unsigned op, size_t depth) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const Tensor &tensor = problem.tensors[output];
  const MatrixUnit &unit = *machine.matrix;
  Sizes sizes = tiles.sizesAfter(op, depth);
  Sides sides = sidesOf(output, sizes);
  int64_t rows = rowsInVectors(rowsOf(sides, sizes));
  int64_t groupElements = rows * unit.columns;
  mostGroupElements = std::max(mostGroupElements, groupElements);
  // Of what comes and goes, one group moves while another is worked on.
  int64_t columns = alignTo(sizes[sides.columns].front().size, unit.columns);
  int64_t places = columns > unit.columns ? 2 : 1;
  // A second kernel does what follows the parts.
  bool isInParts = parts > 1 && op + 1 == problem.operators.size();
  int64_t resultBytes = isInParts ? sumBytes : tensor.elementBytes;
  int64_t bytes = staysAtUnit(op) ? 0 : places * groupElements * resultBytes;
  // Bytes are made of halves, of two column groups at once.
  if (tensor.elementBytes == 1 && !staysAtUnit(op))
    bytes = rows * side() *
            ((columns > side() ? 2 : 1) * tensor.elementBytes + halfBytes);
  // Sums that come from another core have places, too.
  if (!staysAtUnit(op) && !hasVectorsAtUnit())
    bytes += places * groupElements * sumBytes;
  if (!isInParts)
    bytes += roomOfOperands(description, sides, rows, columns);
  if (leavesByBlocks(op))
    bytes += roomOfSums(output, sizes) /
             alignTo(rowsOf(sides, sizes), machine.matrix->rows) * rows *
             sumBytes;
  bytes += roomOfStates(op, rows);
  use(nameOf(Buffer::Role::Vectors), bytes);
}

/// The same where rows lie along lanes.
void RoutePlanner::planLanes(unsigned op, size_t depth) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  Sizes sizes = tiles.sizesAfter(op, depth);
  Sides sides = sidesOf(output, sizes);
  int64_t rows =
      alignTo(sizes[sides.columns].front().size, machine.matrix->columns);
  int64_t groupElements = laneGroupRows(rows) * machine.matrix->columns;
  mostGroupElements = std::max(mostGroupElements, groupElements);
  // Parts of a group go on; as rows they leave with the whole group.
  const Tensor &tensor = problem.tensors[output];
  int64_t elements =
      tensor.role == Role::Intermediate
          ? 2 * groupElements
          : std::min<int64_t>(rows / machine.matrix->columns, 2) *
                machine.matrix->columns *
                alignTo(rowsOf(sides, sizes), machine.matrix->rows);
  int64_t bytes = staysAtUnit(op) ? 0 : elements * tensor.elementBytes;
  if (leavesByBlocks(op))
    bytes += roomOfSums(output, sizes) * sumBytes;
  int64_t numStates = description.states.size() * (leavesByBlocks(op) ? 2 : 1);
  use(nameOf(Buffer::Role::Vectors), bytes + numStates * rows * laneRowBytes);
}

/// How what an operator has made goes on.
void RoutePlanner::planResult(unsigned op) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const Tensor &tensor = problem.tensors[output];
  size_t depth = tiles.depthOfSums(op);
  Sizes sizes = tiles.sizesAfter(op, depth);
  bool isIntermediate = tensor.role == Role::Intermediate;
  const std::string &sums = nameOf(Buffer::Role::Sums);
  const std::string &vectors = nameOf(Buffer::Role::Vectors);
  unsigned reader = 0;
  const Access *reading = findReading(op, reader);
  if (reading)
    checkFrame(op, reader, *reading);
  // Rows of pixels are as many matrices.
  if (!readsWindows(problem) && !isMatrix(output, sizes))
    plan.obstacle = "a tile of a result is more than one matrix";
  Sides sides = sidesOf(output, sizes);
  if (rowsOf(sides, sizes) >
      rowsOf(sides, tiles.sizesAfter(op, tiles.pathOf(op).size())))
    plan.obstacle = "the rows of sums are cut";
  // Groups of them pass the vector unit, where it is on the way.
  // A second kernel finishes what is left in parts.
  bool isInParts = parts > 1 && op + 1 == problem.operators.size(),
       isWorkedOn = !isInParts &&
                    (description.hasEpilogue || !description.epilogue.empty()),
       passesVectors =
           (isWorkedOn &&
            (areBytes() || !leavesByRoute(description, machine))) ||
           leavesByBlocks(op) || staysAtUnit(op) ||
           (hasVectorsAtUnit() &&
            !hasRoute(sums, isIntermediate ? level() : Machine::mainMemory));
  if (inLanes)
    planLanes(op, depth);
  else if (hasVectorsAtUnit() || passesVectors)
    planVectors(op, depth);
  else if (isInParts)
    use(vectors, roomOfStates(op, rowsInVectors(rowsOf(sides, sizes))));
  if (!hasVectorsAtUnit() && passesVectors && reading)
    plan.obstacle =
        "an image between windows passes vector units in other cores";
  size_t sumDepth = leavesByBlocks(op) ? tiles.pathOf(op).size() : depth;
  Sizes sumSizes = tiles.sizesAfter(op, sumDepth);
  use(sums, roomOfSums(output, sumSizes) * tensor.heldBytes());
  auto countElements = [&](size_t where, int64_t elementBytes) {
    return passesVectors && !hasVectorsAtUnit()
               ? inGroups(op, output, where,
                          std::max(machine.matrix->columns,
                                   unitBlock / elementBytes))
               : padded(op, output, where, machine.matrix->rows);
  };
  int64_t elements = countElements(depth, tensor.elementBytes);
  std::string from = sums;
  if (passesVectors) {
    move(sums, vectors,
         countElements(sumDepth, tensor.heldBytes()) * tensor.heldBytes(),
         /*isAwaited=*/isIntermediate);
    from = vectors;
  }
  if (staysAtUnit(op))
    return;
  if (isIntermediate) {
    move(from, level(),
         (reading ? framedElements(op, *reading) : elements) *
             tensor.elementBytes,
         /*isAwaited=*/true);
    use(level(), (reading ? frameElements(op, reader, *reading)
                          : roomInLevel(output, sizes)) *
                     tensor.elementBytes);
  } else if (isInParts) {
    return planParts(from);
  } else {
    move(from, Machine::mainMemory,
         tiles.elementsOf(op, output, depth) * tensor.elementBytes);
  }
  for (const Access &operand : description.epilogue) {
    if (problem.tensors[operand].role == Role::Intermediate)
      continue;
    // Cores that share rows all need what is the same for them.
    bool isForAll = !hasVectorsAtUnit() && operand.hasLoop(sides.columns) &&
                    !(sides.rows && operand.hasLoop(*sides.rows));
    move(Machine::mainMemory, vectors,
         bytesRead(op, operand, tiles.depthOf(op, operand, depth)) *
             (isForAll ? vectorCores : 1));
  }
}

/// What tasks that share the columns of a softmax leave, and the kernel that
/// combines it.
void RoutePlanner::planParts(StringRef from) {
  unsigned op = problem.operators.size() - 1;
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const std::string &vectors = nameOf(Buffer::Role::Vectors);
  size_t depth = schedule.numParallel, end = tiles.pathOf(op).size();
  int64_t sums = tiles.elementsOf(op, output, depth) * sumBytes, states = 0;
  for (const Access &state : description.states)
    states += tiles.elementsOf(op, state, depth) * unitBlock;
  move(from, Machine::mainMemory, sums);
  move(vectors, Machine::mainMemory, states);
  move(Machine::mainMemory, vectors, sums + states);
  for (const Access &operand : description.epilogue)
    move(Machine::mainMemory, vectors,
         bytesRead(op, operand, tiles.depthOf(op, operand, depth)) / parts);
  move(vectors, Machine::mainMemory,
       tiles.elementsOf(op, output, depth) / parts *
           problem.tensors[output].elementBytes);
  plan.launches = 2;
  for (const Route &route : machine.routes)
    if (route.source == Machine::mainMemory && route.destination == vectors)
      plan.combineSeconds = (sums + states) / route.bytesPerSecond;
  // Each core with a vector unit has rows of its own here.
  Sizes sizes = tiles.sizesAfter(op, depth);
  Sides sides = sidesOf(output, sizes);
  const MatrixUnit &unit = *machine.matrix;
  int64_t rows = alignTo(rowsOf(sides, sizes), unit.rows);
  int64_t columns = alignTo(sizes[sides.columns].front().size, unit.columns);
  int64_t places = columns > unit.columns ? 2 : 1;
  // All sums; maximum, sum and scales of what there is and of a part; the
  // part's maximum and sum; groups that leave, and to work with; what comes, in
  // groups or, of one row alone, as it is and widened.
  int64_t numRows = 3 * description.states.size();
  roomOfSecond = rows * (columns * sumBytes + numRows * unitBlock) +
                 rows * unit.columns *
                     (places * problem.tensors[output].elementBytes +
                      vectorGroups(hasVectorsAtUnit()) * sumBytes) +
                 (sides.rows ? rows * unit.columns * places * sumBytes
                             : 2 * alignTo(columns, repeatSums) * sumBytes) +
                 roomOfOperands(description, sides, rows, columns);
  // It takes all that a task leaves at once, and so does the first.
  Sizes inner = tiles.sizesAfter(op, end);
  auto isCut = [&](const Index &index) {
    LoopId loop = mainLoop(index);
    return sizes[loop].front().size > inner[loop].front().size;
  };
  if (any_of(output.indices, isCut))
    plan.obstacle = "the sums of a part are cut";
}

RoutePlan RoutePlanner::run() {
  for (const Route &route : machine.routes)
    plan.routes.push_back({route.source, route.destination});
  handedBytes.assign(plan.routes.size(), 0);
  awaitedBytes.assign(plan.routes.size(), 0);
  plan.memories.push_back({level(), 0, machine.levels.back().usableBytes()});
  for (const Buffer &buffer : machine.buffers)
    plan.memories.push_back({buffer.name, 0, buffer.capacityBytes});
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    planFactors(op);
    planUnit(op);
    planResult(op);
  }
  // None of them where no operator has the vector unit at hand.
  use(nameOf(Buffer::Role::Vectors),
      vectorGroups(hasVectorsAtUnit()) * mostGroupElements * sumBytes);
  if (parts > 1)
    use(nameOf(Buffer::Role::Vectors), roomOfSecond, /*isShared=*/true);
  if (areBytes() && (readsWindows(problem) ||
                     any_of(problem.operators,
                            [](const auto &op) { return !op.states.empty(); })))
    plan.obstacle = "no program multiplies bytes under windows, or scores of a "
                    "softmax of them";
  if (!writesWholeBlocks(problem, machine))
    plan.obstacle = "rows of a result end within a block of memory";
  for (auto [index, route] : enumerate(machine.routes)) {
    RouteTraffic &traffic = plan.routes[index];
    traffic.seconds = traffic.bytes / route.bytesPerSecond;
    // What comes into the levels is counted there.
    int64_t beside = route.source == Machine::mainMemory ? handedBytes[index]
                                                         : traffic.bytes;
    traffic.besideSeconds =
        (beside - awaitedBytes[index]) / route.bytesPerSecond;
    plan.waitSeconds += awaitedBytes[index] / route.bytesPerSecond;
  }
  for (const MemoryUse &memory : plan.memories)
    if (memory.bytes > memory.capacityBytes && plan.obstacle.empty())
      plan.obstacle = "tiles need " + std::to_string(memory.bytes) +
                      " bytes of " + memory.name + ", there are " +
                      std::to_string(memory.capacityBytes);
  return std::move(plan);
}

std::optional<UnitSteps>
chimera::model::chooseUnitSteps(const MatrixUnit &unit, int64_t rows,
                                int64_t columns, int64_t depth,
                                int64_t elementBytes, bool isRepeated) {
  const int64_t columnSide = std::lcm(unit.columns, unit.depth);
  auto up = [](int64_t size, int64_t side) -> int64_t {
    return alignTo(size, side);
  };
  auto down = [](int64_t size, int64_t side) -> int64_t {
    return alignDown(size, side);
  };
  rows = up(rows, unit.rows);
  int64_t lhsElements = unit.lhsBytes / elementBytes,
          rhsElements = unit.rhsBytes / elementBytes;
  UnitSteps steps;
  steps.columns = std::min(up(columns, unit.columns),
                           down(rhsElements / unit.depth, columnSide));
  steps.depth =
      std::min({up(depth, unit.depth), down(lhsElements / rows, unit.depth),
                down(rhsElements / steps.columns, unit.depth)});
  if (steps.depth == 0)
    return std::nullopt;
  int64_t second = steps.depth;
  if (!isRepeated)
    second = std::min(second, up(depth, unit.depth) - steps.depth);
  auto bytes = [&](int64_t half, int64_t side) {
    return second > 0 ? half + side * second * elementBytes
                      : side * steps.depth * elementBytes;
  };
  steps.lhsBytes = bytes(unit.lhsBytes, rows);
  steps.rhsBytes = bytes(unit.rhsBytes, steps.columns);
  return steps;
}

/// True if `op` reads an image through windows that move along its rows and
/// columns, with the channels last. Windows may reach beyond rows and columns.
static bool isImage(const ChainProblem &problem, const Operator &op,
                    const Access &access) {
  size_t rank = access.indices.size();
  if (rank < 2 || !access.indices.back().isLoop() ||
      !op.isReduction(access.indices.back().terms.front().loop))
    return false;
  return all_of(ArrayRef(access.indices).drop_back(), [&](const Index &index) {
    unsigned numPixels = 0, numTaps = 0;
    for (const Term &term : index.terms) {
      bool isPixel = op.output.hasLoop(term.loop);
      // Taps are neighbours.
      if (!isPixel && term.factor != 1)
        return false;
      (isPixel ? numPixels : numTaps) += 1;
    }
    return numPixels == 1 && numTaps <= 1;
  });
}

bool chimera::model::hasRoutes(const ChainProblem &problem,
                               const Machine &machine) {
  auto has = [&](Buffer::Role role) {
    return any_of(machine.buffers,
                  [&](const Buffer &buffer) { return buffer.role == role; });
  };
  if (!machine.matrix || machine.routes.empty() || !has(Buffer::Role::Lhs) ||
      !has(Buffer::Role::Rhs) || !has(Buffer::Role::Sums) ||
      !has(Buffer::Role::Vectors))
    return false;
  auto isPlain = [](const Access &access) {
    return !access.indices.empty() &&
           all_of(access.indices,
                  [](const Index &index) { return index.isLoop(); });
  };
  return all_of(problem.operators, [&](const Operator &op) {
    // A result that is one row may have one number beside it.
    bool isRow = op.output.indices.size() == 1;
    return op.inputs.size() == 2 && isPlain(op.output) &&
           all_of(op.epilogue,
                  [&](const Access &operand) {
                    return isPlain(operand) ||
                           (isRow && operand.indices.empty());
                  }) &&
           (all_of(op.inputs, isPlain) ||
            (any_of(op.inputs, isPlain) &&
             all_of(op.inputs, [&](const Access &input) {
               return isPlain(input) || isImage(problem, op, input);
             })));
  });
}

bool chimera::model::runsInLanes(const ChainProblem &problem,
                                 const Machine &machine) {
  bool keepsLanes = any_of(
      machine.buffers, [](const Buffer &entry) { return entry.keepsLanes; });
  auto isInside = [&](const Access &access) {
    return problem.tensors[access].role == Role::Intermediate;
  };
  return keepsLanes && !readsWindows(problem) &&
         any_of(problem.operators,
                [](const Operator &op) { return !op.states.empty(); }) &&
         all_of(problem.operators, [&](const Operator &op) {
           return op.output.indices.size() > 1 &&
                  (isInside(op.output) ||
                   problem.tensors[op.output].elementBytes == halfBytes) &&
                  all_of(op.epilogue, isInside);
         });
}

bool chimera::model::writesWholeBlocks(const ChainProblem &problem,
                                       const Machine &machine) {
  if (!hasRoutes(problem, machine) ||
      none_of(machine.routes,
              [](const Route &route) { return route.writesBlocks; }))
    return true;
  return all_of(problem.operators, [&](const Operator &op) {
    LoopId columns = op.output.indices.back().terms.front().loop;
    return problem.tensors[op.output].role == Role::Intermediate ||
           problem.loops[columns].extent % machine.matrix->columns == 0;
  });
}

bool chimera::model::leavesByRoute(const Operator &op, const Machine &machine) {
  auto isFrom = [&](StringRef name, Buffer::Role role) {
    return any_of(machine.buffers, [&](const Buffer &buffer) {
      return buffer.name == name && buffer.role == role;
    });
  };
  if (op.epilogueExponentials > 0 || !op.epilogue.empty() ||
      op.epilogueCost > op.routeInstructions)
    return false;
  bool needsRelu = op.epilogueCost > 0, hasWay = false;
  for (const Route &route : machine.routes) {
    if (!isFrom(route.source, Buffer::Role::Sums))
      continue;
    // Where vector units take sums, there is no other way for them.
    if (isFrom(route.destination, Buffer::Role::Vectors))
      return false;
    // Whichever way they take.
    if (!route.converts || (needsRelu && !route.hasRelu))
      return false;
    hasWay = true;
  }
  return hasWay;
}

RoutePlan chimera::model::planRoutes(const ChainProblem &problem,
                                     const Machine &machine,
                                     const Schedule &schedule,
                                     int64_t threads) {
  return RoutePlanner(problem, machine, schedule, threads).run();
}
