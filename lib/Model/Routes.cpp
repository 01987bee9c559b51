//===- Routes.cpp - What moves where inside a core ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Routes.h"

#include "Pricer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <deque>
#include <functional>

using namespace llvm;
using namespace chimera::model;

namespace {

/// Bytes of a sum, sums in an instruction of the vector unit, and bytes of one
/// of its blocks.
constexpr int64_t sumBytes = 4, repeatSums = 64, unitBlock = 32;

/// The sizes that each loop has at some place of a path.
using Sizes = SmallVector<PartList, 6>;

class RoutePlanner {
public:
  RoutePlanner(const ChainProblem &problem, const Machine &machine,
               const Schedule &schedule, int64_t threads)
      : problem(problem), machine(machine), schedule(schedule),
        tree(buildLoopTree(problem, schedule, schedule.levels.size() - 1)) {
    for (const NestLoop &loop :
         ArrayRef(tree.loops).take_front(schedule.numParallel))
      tasks *= divideCeilSigned(problem.loops[loop.loop].extent, loop.tile);
    isRepeated = tasks > threads;
  }

  RoutePlan run();

private:
  using PathLoops = SmallVector<NestLoop, 12>;

  const std::string &nameOf(Buffer::Role role) const;
  const std::string &level() const { return machine.levels.back().name; }

  Sizes sizesAfter(const PathLoops &path, size_t depth) const;
  size_t depthOf(const PathLoops &path, TensorId tensor, size_t most) const;
  size_t sharedDepth(unsigned op, unsigned other) const;
  size_t depthOfEpilogue(unsigned op) const;
  struct Sides {
    LoopId rows, columns;
  };
  Sides sidesOf(const Access &access, const Sizes &sizes) const;
  /// How often tiles of a mask's two loops have which sizes.
  using Pairs = std::map<std::pair<int64_t, int64_t>, int64_t>;
  Pairs pairsOf(unsigned op, const PathLoops &path, size_t depth) const;
  int64_t sumOver(unsigned op, const PathLoops &path, size_t depth,
                  function_ref<int64_t(LoopId, int64_t)> factor) const;
  int64_t exact(unsigned op, const Access &access, const PathLoops &path,
                size_t depth) const;
  int64_t padded(unsigned op, const Access &access, const PathLoops &path,
                 size_t depth) const;
  int64_t pad(Sides sides, LoopId loop, int64_t size) const;
  int64_t room(const Access &access, const Sizes &sizes) const;

  void move(StringRef from, StringRef to, int64_t bytes);
  void use(StringRef memory, int64_t bytes, bool isShared = false);
  bool leavesByBlocks(unsigned op) const;
  bool runsOnce(const PathLoops &path, size_t index) const;
  bool isMatrix(const Access &access, const Sizes &sizes) const;
  void planFactors(unsigned op);
  void planUnit(unsigned op);
  void planResult(unsigned op);
  void planVectors(unsigned op, const PathLoops &path, size_t depth);

  const ChainProblem &problem;
  const Machine &machine;
  const Schedule &schedule;
  LoopNest tree;
  int64_t tasks = 1;
  /// True if a core has several tasks.
  bool isRepeated = false;
  /// Of the largest column group.
  int64_t mostGroupElements = 0;
  RoutePlan plan;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Sizes RoutePlanner::sizesAfter(const PathLoops &path, size_t depth) const {
  Sizes sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back({{loop.extent, 1}});
  for (const NestLoop &loop : ArrayRef(path).take_front(depth))
    sizes[loop.loop] = cutParts(sizes[loop.loop], loop.tile);
  return sizes;
}

/// Loops on `path`, of the first `most`, up to the innermost one that affects
/// `tensor`; the parallel loops are around everything.
size_t RoutePlanner::depthOf(const PathLoops &path, TensorId tensor,
                             size_t most) const {
  size_t depth = most;
  size_t least = schedule.numParallel;
  while (depth > least && !problem.indexes(tensor, path[depth - 1].loop))
    --depth;
  return depth;
}

/// Loops around both operators.
size_t RoutePlanner::sharedDepth(unsigned op, unsigned other) const {
  size_t depth = 0;
  const LoopNest *nest = &tree;
  while (nest) {
    depth += nest->loops.size();
    auto part = find_if(nest->parts, [&](const LoopNest &inner) {
      return inner.has(op) && inner.has(other);
    });
    nest = part == nest->parts.end() ? nullptr : &*part;
  }
  return depth;
}

/// Loops around the place where the sums of `op` begin and end.
size_t RoutePlanner::depthOfEpilogue(unsigned op) const {
  PathLoops path = pathOf(tree, op);
  const Operator &description = problem.operators[op];
  TensorId output = description.output;
  if (problem.tensors[output].role == Role::Intermediate) {
    size_t common = path.size();
    for (auto [index, reader] : enumerate(problem.operators)) {
      auto reads = [&](const Access &access) { return access == output; };
      if (none_of(reader.inputs, reads) && none_of(reader.epilogue, reads))
        continue;
      common = std::min(common, sharedDepth(op, index));
    }
    return common;
  }
  const auto *reduction = find_if(path, [&](const NestLoop &loop) {
    return description.isReduction(loop.loop);
  });
  return reduction - path.begin();
}

RoutePlanner::Sides RoutePlanner::sidesOf(const Access &access,
                                          const Sizes &sizes) const {
  auto loopAt = [&](size_t index) {
    return access.indices[index].terms.front().loop;
  };
  size_t last = access.indices.size() - 1;
  Sides sides = {loopAt(last), loopAt(last)};
  if (last == 0)
    return sides;
  sides.rows = loopAt(last - 1);
  for (size_t index = 0; index < last; ++index)
    if (sizes[loopAt(index)].front().size > 1)
      sides.rows = loopAt(index);
  return sides;
}

/// Tiles of a mask's two loops that are not left out, by their sizes, after
/// `depth` loops of the path of `op`.
RoutePlanner::Pairs RoutePlanner::pairsOf(unsigned op, const PathLoops &path,
                                          size_t depth) const {
  Pairs pairs;
  const Band &band = problem.bands.front();
  size_t shared = 0;
  for (unsigned other = 0; other < problem.operators.size(); ++other)
    if (other != op)
      shared = sharedDepth(op, other);
  struct Tile {
    int64_t offset, size;
  };
  std::function<void(size_t, Tile, Tile)> visit = [&](size_t index, Tile row,
                                                      Tile column) {
    while (index < depth && path[index].loop != band.row &&
           path[index].loop != band.column)
      ++index;
    if (index == depth) {
      ++pairs[{row.size, column.size}];
      return;
    }
    const NestLoop &loop = path[index];
    bool isRow = loop.loop == band.row;
    Tile &whole = isRow ? row : column;
    int64_t lower = 0, upper = whole.size;
    if (!isRow && index < shared) {
      int64_t first = row.offset - column.offset;
      if (band.most)
        upper = std::min(upper, first + row.size - 1 + *band.most);
      if (band.least)
        lower = std::max(
            lower, static_cast<int64_t>(alignDown(
                       std::max<int64_t>(0, first + *band.least), loop.tile)));
    }
    for (int64_t offset = lower; offset < upper; offset += loop.tile) {
      Tile part = {whole.offset + offset,
                   std::min(loop.tile, whole.size - offset)};
      visit(index + 1, isRow ? part : row, isRow ? column : part);
    }
  };
  visit(0, {0, problem.loops[band.row].extent},
        {0, problem.loops[band.column].extent});
  return pairs;
}

/// The sum over all tiles at `depth` of the product of `factor`, of a loop and
/// the size that a tile has along it.
int64_t
RoutePlanner::sumOver(unsigned op, const PathLoops &path, size_t depth,
                      function_ref<int64_t(LoopId, int64_t)> factor) const {
  Sizes sizes = sizesAfter(path, depth);
  bool hasBand = !problem.bands.empty();
  int64_t product = 1;
  for (LoopId loop = 0; loop < sizes.size(); ++loop) {
    if (hasBand && (loop == problem.bands.front().row ||
                    loop == problem.bands.front().column))
      continue;
    int64_t sum = 0;
    for (Parts parts : sizes[loop])
      sum += parts.count * factor(loop, parts.size);
    product *= sum;
  }
  if (!hasBand)
    return product;
  int64_t sum = 0;
  for (const auto &[pair, count] : pairsOf(op, path, depth))
    sum += count * factor(problem.bands.front().row, pair.first) *
           factor(problem.bands.front().column, pair.second);
  return product * sum;
}

/// Elements of all tiles of `access` at `depth` together, as they are.
int64_t RoutePlanner::exact(unsigned op, const Access &access,
                            const PathLoops &path, size_t depth) const {
  return sumOver(op, path, depth, [&](LoopId loop, int64_t size) {
    return access.hasLoop(loop) ? size : 1;
  });
}

/// The same with the sides of each tile rounded up to fractals.
int64_t RoutePlanner::padded(unsigned op, const Access &access,
                             const PathLoops &path, size_t depth) const {
  Sides sides = sidesOf(access, sizesAfter(path, depth));
  return sumOver(op, path, depth, [&](LoopId loop, int64_t size) {
    return access.hasLoop(loop) ? pad(sides, loop, size) : 1;
  });
}

/// `size` as a side of a tile takes it.
int64_t RoutePlanner::pad(Sides sides, LoopId loop, int64_t size) const {
  bool isSide = loop == sides.rows || loop == sides.columns;
  return isSide ? alignTo(size, machine.matrix->rows) : size;
}

/// True if a mask leaves one iteration of a loop, the same for all rows.
bool RoutePlanner::runsOnce(const PathLoops &path, size_t index) const {
  LoopId loop = path[index].loop;
  if (problem.bands.empty() || problem.bands.front().column != loop ||
      !problem.bands.front().most)
    return false;
  const Band &band = problem.bands.front();
  bool isCut = any_of(ArrayRef(path).take_front(index), [&](NestLoop outer) {
    return outer.loop == band.row || outer.loop == loop;
  });
  return !isCut &&
         problem.loops[band.row].extent - 1 + *band.most <= path[index].tile;
}

/// True if a tile of `access` has at most two sides.
bool RoutePlanner::isMatrix(const Access &access, const Sizes &sizes) const {
  return count_if(access.indices, [&](const Index &index) {
           return sizes[index.terms.front().loop].front().size > 1;
         }) <= 2;
}

/// Elements of the largest tile of `access`, rounded up.
int64_t RoutePlanner::room(const Access &access, const Sizes &sizes) const {
  Sides sides = sidesOf(access, sizes);
  int64_t elements = 1;
  for (const Index &index : access.indices) {
    LoopId loop = index.terms.front().loop;
    int64_t size = sizes[loop].front().size;
    bool isSide = loop == sides.rows || loop == sides.columns;
    elements *= isSide ? alignTo(size, machine.matrix->rows) : size;
  }
  return elements;
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

/// `bytes` along the shortest way there is.
void RoutePlanner::move(StringRef from, StringRef to, int64_t bytes) {
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
  for (std::string at = to.str(); at != from;
       at = machine.routes[reachedBy[at]].source)
    plan.routes[reachedBy[at]].bytes += bytes;
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
  PathLoops path = pathOf(tree, op);
  for (const Access &input : problem.operators[op].inputs) {
    const Tensor &tensor = problem.tensors[input];
    if (tensor.role == Role::Intermediate)
      continue;
    size_t depth = depthOf(path, input, path.size());
    Sizes sizes = sizesAfter(path, depth);
    if (!isMatrix(input, sizes))
      plan.obstacle = "a tile of an operand is more than one matrix";
    bool isRefilled = isRepeated;
    for (size_t index = schedule.numParallel; index < depth; ++index)
      isRefilled |= !runsOnce(path, index);
    move(Machine::mainMemory, level(),
         exact(op, input, path, depth) * tensor.elementBytes);
    use(level(), room(input, sizes) * tensor.elementBytes *
                     (isRefilled ? machine.levels.back().buffers : 1));
  }
}

/// How the operands of each block go to the unit.
void RoutePlanner::planUnit(unsigned op) {
  const Operator &description = problem.operators[op];
  const MatrixUnit &unit = *machine.matrix;
  PathLoops path = pathOf(tree, op);
  Sizes sizes = sizesAfter(path, path.size());
  Sides result = sidesOf(description.output, sizes);
  const Access *lhs = &description.inputs[0], *rhs = &description.inputs[1];
  if (!lhs->hasLoop(result.rows))
    std::swap(lhs, rhs);
  int64_t elementBytes = problem.tensors[*lhs].elementBytes;
  int64_t depth = 1;
  for (LoopId loop : description.loops)
    if (description.isReduction(loop))
      depth = std::max(depth, sizes[loop].front().size);
  std::optional<UnitSteps> steps =
      chooseUnitSteps(unit, sizes[result.rows].front().size,
                      sizes[result.columns].front().size, depth, elementBytes);
  if (!steps) {
    plan.obstacle = "a tile has more rows than the unit has room for";
    return;
  }
  Sides left = sidesOf(*lhs, sizes);
  // The left operand once for each panel of the block's columns.
  move(level(), nameOf(Buffer::Role::Lhs),
       elementBytes * sumOver(op, path, path.size(),
                              [&](LoopId loop, int64_t size) -> int64_t {
                                if (lhs->hasLoop(loop))
                                  return pad(left, loop, size);
                                return loop == result.columns
                                           ? divideCeilSigned(size,
                                                              steps->columns)
                                           : 1;
                              }));
  move(level(), nameOf(Buffer::Role::Rhs),
       padded(op, *rhs, path, path.size()) * elementBytes);
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
    PathLoops path = pathOf(tree, op);
    if (any_of(ArrayRef(path).take_front(sharedDepth(op, index)),
               [&](const NestLoop &loop) {
                 return loop.loop == description.rescaledBy;
               }))
      return true;
  }
  return false;
}

/// The room of the vector unit for what `op` makes, at `depth` on its path.
void RoutePlanner::planVectors(unsigned op, const PathLoops &path,
                               size_t depth) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const Tensor &tensor = problem.tensors[output];
  const MatrixUnit &unit = *machine.matrix;
  Sizes sizes = sizesAfter(path, depth);
  Sides sides = sidesOf(output, sizes);
  int64_t rows = alignTo(sizes[sides.rows].front().size, unit.rows);
  int64_t groupElements = rows * unit.columns;
  mostGroupElements = std::max(mostGroupElements, groupElements);
  // Of what comes and goes, one group moves while another is worked on.
  int64_t columns = alignTo(sizes[sides.columns].front().size, unit.columns);
  int64_t places = columns > unit.columns ? 2 : 1;
  int64_t bytes = places * groupElements * tensor.elementBytes;
  for (const Access &operand : description.epilogue) {
    int64_t elementBytes = problem.tensors[operand].elementBytes;
    int64_t wholeColumns = alignTo(columns, repeatSums);
    bytes += operand.hasLoop(sides.rows)
                 ? places * groupElements * elementBytes
                 : wholeColumns * (elementBytes + sumBytes);
  }
  if (leavesByBlocks(op))
    bytes += room(output, sizes) * sumBytes;
  // Maximum and sum, and what another block makes of them.
  int64_t numStates = description.states.size() * (leavesByBlocks(op) ? 2 : 1);
  bytes += numStates * rows * unitBlock;
  use(nameOf(Buffer::Role::Vectors), bytes);
}

/// How what an operator has made goes on.
void RoutePlanner::planResult(unsigned op) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const Tensor &tensor = problem.tensors[output];
  PathLoops path = pathOf(tree, op);
  size_t depth = depthOfEpilogue(op);
  Sizes sizes = sizesAfter(path, depth);
  bool isIntermediate = tensor.role == Role::Intermediate;
  const std::string &sums = nameOf(Buffer::Role::Sums);
  const std::string &vectors = nameOf(Buffer::Role::Vectors);
  if (!isMatrix(output, sizes))
    plan.obstacle = "a tile of a result is more than one matrix";
  planVectors(op, path, depth);
  size_t sumDepth = leavesByBlocks(op) ? path.size() : depth;
  Sizes sumSizes = sizesAfter(path, sumDepth);
  use(sums, room(output, sumSizes) * tensor.heldBytes());
  int64_t elements = padded(op, output, path, depth);
  std::string from = sums;
  if (description.hasEpilogue || !description.epilogue.empty() ||
      leavesByBlocks(op)) {
    move(sums, vectors,
         padded(op, output, path, sumDepth) * tensor.heldBytes());
    from = vectors;
  }
  if (isIntermediate) {
    move(from, level(), elements * tensor.elementBytes);
    use(level(), room(output, sizes) * tensor.elementBytes);
  } else {
    move(from, Machine::mainMemory,
         exact(op, output, path, depth) * tensor.elementBytes);
  }
  for (const Access &operand : description.epilogue) {
    if (problem.tensors[operand].role == Role::Intermediate)
      continue;
    move(Machine::mainMemory, vectors,
         exact(op, operand, path, depthOf(path, operand, depth)) *
             problem.tensors[operand].elementBytes);
  }
}

RoutePlan RoutePlanner::run() {
  for (const Route &route : machine.routes)
    plan.routes.push_back({route.source, route.destination});
  plan.memories.push_back({level(), 0, machine.levels.back().usableBytes()});
  for (const Buffer &buffer : machine.buffers)
    plan.memories.push_back({buffer.name, 0, buffer.capacityBytes});
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    planFactors(op);
    planUnit(op);
    planResult(op);
  }
  use(nameOf(Buffer::Role::Vectors),
      vectorGroups * mostGroupElements * sumBytes);
  if (plan.obstacle.empty() && findSplit(problem, schedule, tree))
    plan.obstacle = "no core combines the parts of a row that others have";
  for (auto [traffic, route] : zip(plan.routes, machine.routes))
    traffic.seconds = traffic.bytes / route.bytesPerSecond;
  for (const MemoryUse &memory : plan.memories)
    if (memory.bytes > memory.capacityBytes && plan.obstacle.empty())
      plan.obstacle = "tiles need " + std::to_string(memory.bytes) +
                      " bytes of " + memory.name + ", there are " +
                      std::to_string(memory.capacityBytes);
  return std::move(plan);
}

std::optional<UnitSteps> chimera::model::chooseUnitSteps(const MatrixUnit &unit,
                                                         int64_t rows,
                                                         int64_t columns,
                                                         int64_t depth,
                                                         int64_t elementBytes) {
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
                           down(rhsElements / unit.depth, unit.columns));
  steps.depth =
      std::min({up(depth, unit.depth), down(lhsElements / rows, unit.depth),
                down(rhsElements / steps.columns, unit.depth)});
  if (steps.depth == 0)
    return std::nullopt;
  int64_t second = std::min(steps.depth, up(depth, unit.depth) - steps.depth);
  auto bytes = [&](int64_t half, int64_t side) {
    return second > 0 ? half + side * second * elementBytes
                      : side * steps.depth * elementBytes;
  };
  steps.lhsBytes = bytes(unit.lhsBytes, rows);
  steps.rhsBytes = bytes(unit.rhsBytes, steps.columns);
  return steps;
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
  return problem.consistsOfProducts() &&
         all_of(problem.operators, [&](const Operator &op) {
           return all_of(op.epilogue, isPlain);
         });
}

RoutePlan chimera::model::planRoutes(const ChainProblem &problem,
                                     const Machine &machine,
                                     const Schedule &schedule,
                                     int64_t threads) {
  return RoutePlanner(problem, machine, schedule, threads).run();
}
