//===- Routes.cpp - What moves where inside a core ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Routes.h"

#include "Chimera/Model/Fragments.h"
#include "Volume/MaskedTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <deque>
#include <map>

using namespace llvm;
using namespace chimera::model;

namespace {

/// Bytes of a sum and of half of one, sums in an instruction of the vector
/// unit, and bytes of one of its blocks.
constexpr int64_t sumBytes = 4, halfBytes = 2, repeatSums = 64, unitBlock = 32;

using Sizes = MaskedTiles::Sizes;

class RoutePlanner {
public:
  RoutePlanner(const ChainProblem &problem, const Machine &machine,
               const Schedule &schedule, int64_t threads)
      : problem(problem), machine(machine), schedule(schedule),
        tiles(problem, schedule) {
    for (const NestLoop &loop :
         ArrayRef(tiles.getTree().loops).take_front(schedule.numParallel))
      tasks *= divideCeilSigned(problem.loops[loop.loop].extent, loop.tile);
    isRepeated = tasks > threads;
    if (readsWindows(problem))
      for (unsigned op = 0; op < problem.operators.size(); ++op)
        addLines(op);
  }

  RoutePlan run();

private:
  using PathLoops = MaskedTiles::PathLoops;

  const std::string &nameOf(Buffer::Role role) const;
  const std::string &level() const { return machine.levels.back().name; }

  /// One row alone has no loop.
  struct Sides {
    std::optional<LoopId> rows;
    LoopId columns;
  };
  Sides sidesOf(const Access &access, const Sizes &sizes) const;
  int64_t padded(unsigned op, const Access &access, size_t depth) const;
  int64_t bytesRead(unsigned op, const Access &access, size_t depth) const;
  int64_t pad(Sides sides, LoopId loop, int64_t size) const;
  int64_t paddingOf(Sides sides) const;
  int64_t rowsOf(Sides sides, const Sizes &sizes) const;
  int64_t room(const Access &access, const Sizes &sizes) const;

  bool hasRoute(StringRef from, StringRef to) const;
  bool hasVectorsAtUnit() const;
  bool narrowsOnTheWayOut() const;
  void move(StringRef from, StringRef to, int64_t bytes);
  void use(StringRef memory, int64_t bytes, bool isShared = false);
  bool leavesByBlocks(unsigned op) const;
  bool staysAtUnit(unsigned op) const;
  bool runsOnce(const PathLoops &path, size_t index) const;
  bool isMatrix(const Access &access, const Sizes &sizes) const;
  LoopId mainLoop(const Index &index) const;
  const Index &indexOfRows(const Access &access, const Sizes &sizes) const;
  std::optional<LineOfPixels> lineOf(const Access &access,
                                     const Sizes &sizes) const;
  LineOfPixels lineAlong(const Index &index, const Sizes &sizes) const;
  void addLines(unsigned op);
  const Access *findReading(unsigned op, unsigned &reader) const;
  void checkFrame(unsigned op, unsigned reader, const Access &reading);
  int64_t frameElements(unsigned op, unsigned reader,
                        const Access &reading) const;
  int64_t framedElements(unsigned op, const Access &reading) const;
  int64_t sumAlong(unsigned op, size_t depth, LoopId loop,
                   function_ref<int64_t(int64_t, int64_t)> factor) const;
  int64_t rowsInside(const Access &access, size_t index,
                     const LineOfPixels *line, int64_t first,
                     int64_t size) const;
  int64_t bytesOfImage(unsigned op, const Access &access, size_t depth) const;
  void planFactors(unsigned op);
  void planUnit(unsigned op);
  void planResult(unsigned op);
  void planVectors(unsigned op, size_t depth);

  const ChainProblem &problem;
  const Machine &machine;
  const Schedule &schedule;
  MaskedTiles tiles;
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

/// The loop of `index` that moves windows, if there are any.
LoopId RoutePlanner::mainLoop(const Index &index) const {
  for (const Term &term : index.terms)
    if (!isTap(problem, term.loop))
      return term.loop;
  return index.terms.front().loop;
}

/// The rows of `access`, if it reads an image through windows: pixels along
/// the side that is longer than one.
std::optional<LineOfPixels> RoutePlanner::lineOf(const Access &access,
                                                 const Sizes &sizes) const {
  if (all_of(access.indices, [](const Index &index) { return index.isLoop(); }))
    return std::nullopt;
  return lineAlong(indexOfRows(access, sizes), sizes);
}

/// The rows of pixels that windows take along `index`.
LineOfPixels RoutePlanner::lineAlong(const Index &index,
                                     const Sizes &sizes) const {
  LineOfPixels line;
  for (const Term &term : index.terms)
    if (isTap(problem, term.loop))
      line.taps = sizes[term.loop].front().size;
    else
      line.stride = term.factor;
  return line;
}

/// A block with several rows of pixels is as many products, one after the
/// other.
void RoutePlanner::addLines(unsigned op) {
  const Access &output = problem.operators[op].output;
  Sizes sizes = tiles.sizesAfter(op, tiles.pathOf(op).size());
  Sides sides = sidesOf(output, sizes);
  for (const Index &index : output.indices) {
    LoopId loop = mainLoop(index);
    if (loop != sides.rows && loop != sides.columns &&
        sizes[loop].front().size > 1)
      tiles.addLoop(op, loop, 1);
  }
}

/// The index of `access` that its rows run along.
const Index &RoutePlanner::indexOfRows(const Access &access,
                                       const Sizes &sizes) const {
  LoopId rows = *sidesOf(access, sizes).rows;
  return *find_if(access.indices,
                  [&](const Index &index) { return index.hasLoop(rows); });
}

RoutePlanner::Sides RoutePlanner::sidesOf(const Access &access,
                                          const Sizes &sizes) const {
  auto loopAt = [&](size_t index) { return mainLoop(access.indices[index]); };
  size_t last = access.indices.size() - 1;
  Sides sides = {std::nullopt, loopAt(last)};
  if (last == 0)
    return sides;
  sides.rows = loopAt(last - 1);
  for (size_t index = 0; index < last; ++index)
    if (sizes[loopAt(index)].front().size > 1 && !isTap(problem, loopAt(index)))
      sides.rows = loopAt(index);
  return sides;
}

/// Elements of all tiles of `access` at `depth` together, with the sides of
/// each rounded up to fractals.
int64_t RoutePlanner::padded(unsigned op, const Access &access,
                             size_t depth) const {
  Sides sides = sidesOf(access, tiles.sizesAfter(op, depth));
  return paddingOf(sides) *
         tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) {
           return access.hasLoop(loop) ? pad(sides, loop, size) : 1;
         });
}

/// The sum over all tiles of `loop` inside the first `depth` loops around `op`
/// of `factor`, of where a tile starts and its size.
int64_t
RoutePlanner::sumAlong(unsigned op, size_t depth, LoopId loop,
                       function_ref<int64_t(int64_t, int64_t)> factor) const {
  if (tiles.isDerived(loop)) {
    int64_t sum = 0;
    tiles.forEachPart(op, depth, loop, [&](ArrayRef<Range> ranges) {
      sum += factor(ranges[loop].begin, ranges[loop].size());
    });
    return sum;
  }
  SmallVector<std::pair<int64_t, int64_t>> places = {
      {0, problem.loops[loop].extent}};
  for (const NestLoop &outer : ArrayRef(tiles.pathOf(op)).take_front(depth)) {
    if (outer.loop != loop)
      continue;
    SmallVector<std::pair<int64_t, int64_t>> inner;
    for (auto [first, size] : places)
      for (int64_t begin = 0; begin < size; begin += outer.tile)
        inner.push_back({first + begin, std::min(outer.tile, size - begin)});
    places = std::move(inner);
  }
  int64_t sum = 0;
  for (auto [first, size] : places)
    sum += factor(first, size);
  return sum;
}

/// How many of the pixels, or rows of pixels, under the windows of `size`
/// neighbours from `first` on are inside the image, along index `index` of
/// `access`: those of `line`, or those of each tap.
int64_t RoutePlanner::rowsInside(const Access &access, size_t index,
                                 const LineOfPixels *line, int64_t first,
                                 int64_t size) const {
  const Index &position = access.indices[index];
  int64_t extent = problem.tensors[access].shape[index], taps = 1, stride = 1;
  for (const Term &term : position.terms)
    if (isTap(problem, term.loop))
      taps = problem.loops[term.loop].extent;
    else
      stride = term.factor;
  int64_t rows = 0;
  for (int64_t part = 0; part < (line ? line->numParts() : taps); ++part) {
    int64_t start = position.offset + first * stride + part;
    int64_t count = line ? line->rowsOf(part, size) : size;
    auto before = [&](int64_t end) {
      return std::clamp<int64_t>(divideCeilSigned(end - start, stride), 0,
                                 count);
    };
    rows += before(extent) - before(0);
  }
  return rows;
}

/// Bytes of an image that all tiles of `access` at `depth` together take in:
/// what lies under their windows, each pixel once for all taps along a row.
int64_t RoutePlanner::bytesOfImage(unsigned op, const Access &access,
                                   size_t depth) const {
  Sizes sizes = tiles.sizesAfter(op, depth);
  std::optional<LineOfPixels> line = lineOf(access, sizes);
  LoopId rows = *sidesOf(access, sizes).rows;
  // Tiles along the loops that windows move with are counted one by one.
  SmallVector<LoopId, 4> moving;
  int64_t pixels = 1;
  for (size_t index = 0; index < access.indices.size(); ++index) {
    const Index &entry = access.indices[index];
    LoopId pixel = mainLoop(entry);
    if (entry.isLoop() || is_contained(moving, pixel))
      continue;
    moving.push_back(pixel);
    const LineOfPixels *own = entry.hasLoop(rows) ? &*line : nullptr;
    pixels *= sumAlong(op, depth, pixel, [&](int64_t first, int64_t size) {
      return rowsInside(access, index, own, first, size);
    });
  }
  LoopId columns = mainLoop(access.indices.back());
  int64_t elementBytes = problem.tensors[access].elementBytes;
  int64_t burst =
      std::max<int64_t>(1, machine.levels.back().burstBytes / elementBytes);
  int64_t counted = 1;
  for (LoopId loop : moving)
    counted *= sumAlong(op, depth, loop, [](int64_t, int64_t) { return 1; });
  int64_t others =
      tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) -> int64_t {
        if (!access.hasLoop(loop) || isTap(problem, loop) ||
            is_contained(moving, loop))
          return 1;
        return loop == columns ? alignTo(size, burst) : size;
      });
  return elementBytes * pixels * (others / counted);
}

/// Bytes of main memory that all tiles of `access` at `depth` together take in:
/// rows come in whole bursts.
int64_t RoutePlanner::bytesRead(unsigned op, const Access &access,
                                size_t depth) const {
  if (lineOf(access, tiles.sizesAfter(op, depth)))
    return bytesOfImage(op, access, depth);
  int64_t elementBytes = problem.tensors[access].elementBytes;
  int64_t burst =
      std::max<int64_t>(1, machine.levels.back().burstBytes / elementBytes);
  LoopId columns = access.indices.back().terms.front().loop;
  return elementBytes *
         tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) -> int64_t {
           if (!access.hasLoop(loop))
             return 1;
           return loop == columns ? alignTo(size, burst) : size;
         });
}

/// `size` as a side of a tile takes it.
int64_t RoutePlanner::pad(Sides sides, LoopId loop, int64_t size) const {
  bool isSide = loop == sides.rows || loop == sides.columns;
  return isSide ? alignTo(size, machine.matrix->rows) : size;
}

/// The rows that one row alone takes, which `pad` does not see.
int64_t RoutePlanner::paddingOf(Sides sides) const {
  return sides.rows ? 1 : machine.matrix->rows;
}

/// The rows of the largest tile.
int64_t RoutePlanner::rowsOf(Sides sides, const Sizes &sizes) const {
  return sides.rows ? sizes[*sides.rows].front().size : 1;
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

/// True if a tile of `access` has at most two sides, for each tap of windows,
/// of which there are all.
bool RoutePlanner::isMatrix(const Access &access, const Sizes &sizes) const {
  unsigned numSides = 0;
  for (const Index &index : access.indices)
    for (const Term &term : index.terms) {
      int64_t size = sizes[term.loop].front().size;
      if (!isTap(problem, term.loop))
        numSides += size > 1;
      else if (size != problem.loops[term.loop].extent)
        return false;
    }
  if (!lineOf(access, sizes))
    return numSides <= 2;
  // Pixels along one side.
  return count_if(ArrayRef(access.indices).drop_back(),
                  [&](const Index &index) {
                    return sizes[mainLoop(index)].front().size > 1;
                  }) <= 1;
}

/// Elements of the largest tile of `access`, rounded up.
int64_t RoutePlanner::room(const Access &access, const Sizes &sizes) const {
  Sides sides = sidesOf(access, sizes);
  int64_t elements = paddingOf(sides);
  for (const Index &index : access.indices) {
    LoopId loop = mainLoop(index);
    int64_t size = sizes[loop].front().size;
    bool isSide = loop == sides.rows || loop == sides.columns;
    elements *= isSide ? alignTo(size, machine.matrix->rows) : size;
  }
  std::optional<LineOfPixels> line = lineOf(access, sizes);
  if (!line)
    return elements;
  int64_t fractal = machine.matrix->rows,
          pixels = alignTo(rowsOf(sides, sizes), fractal), rows = 0;
  for (int64_t part = 0; part < line->numParts(); ++part)
    rows += alignTo(line->rowsOf(part, pixels), fractal);
  for (const Index &index : access.indices)
    for (const Term &term : index.terms)
      if (isTap(problem, term.loop) && !index.hasLoop(*sides.rows))
        rows *= sizes[term.loop].front().size;
  return elements / pixels * rows;
}

//===----------------------------------------------------------------------===//
// Images between operators
//===----------------------------------------------------------------------===//

/// How what `op` makes is read by `reader`, if that is through windows.
const Access *RoutePlanner::findReading(unsigned op, unsigned &reader) const {
  TensorId output = problem.operators[op].output;
  if (problem.tensors[output].role != Role::Intermediate)
    return nullptr;
  for (auto [index, other] : enumerate(problem.operators))
    for (const Access &input : other.inputs)
      if (input == output && any_of(input.indices, [](const Index &read) {
            return !read.isLoop();
          })) {
        reader = index;
        return &input;
      }
  return nullptr;
}

/// Pixels of rows of the image lie behind each other, and windows take rows of
/// them.
void RoutePlanner::checkFrame(unsigned op, unsigned reader,
                              const Access &reading) {
  const Access &output = problem.operators[op].output;
  auto sidesAt = [&](unsigned index, const Access &access) {
    return sidesOf(access, tiles.sizesAfter(index, tiles.pathOf(index).size()));
  };
  size_t rank = reading.indices.size();
  auto hasLines = [&](Sides sides, const Access &access) {
    return rank >= 2 && sides.rows == mainLoop(access.indices[rank - 2]);
  };
  if (!hasLines(sidesAt(op, output), output) ||
      !hasLines(sidesAt(reader, reading), reading))
    plan.obstacle = "windows take columns of an image that another operator "
                    "makes";
  if (count_if(problem.operators, [&](const Operator &other) {
        return is_contained(other.inputs, output.tensor) ||
               is_contained(other.epilogue, output.tensor);
      }) > 1)
    plan.obstacle = "an image under windows is read by several operators";
  // What makes the image would have to leave out the end of its own windows.
  for (auto [index, size] :
       zip_equal(reading.indices, problem.tensors[output].shape)) {
    int64_t end = index.offset + 1;
    for (const Term &term : index.terms)
      end += term.factor * (problem.loops[term.loop].extent - 1);
    if (end < size)
      plan.obstacle = "windows leave out the end of an image that another "
                      "operator makes";
  }
  if (is_contained(schedule.rolling, output.tensor))
    plan.obstacle = "an image that another operator makes does not roll";
}

/// Room for the image that `op` makes under one tile's windows, border
/// included: rows in the parts that a row of windows takes.
int64_t RoutePlanner::frameElements(unsigned op, unsigned reader,
                                    const Access &reading) const {
  size_t rank = reading.indices.size();
  Sizes outer =
            tiles.sizesAfter(reader, commonDepth(tiles.getTree(), op, reader)),
        inner = tiles.sizesAfter(reader, tiles.pathOf(reader).size());
  SmallVector<int64_t> most;
  for (const PartList &parts : outer)
    most.push_back(parts.front().size);
  int64_t fractal = machine.matrix->rows;
  int64_t elements = alignTo(reading.indices.back().extent(most), fractal);
  for (const Index &index : ArrayRef(reading.indices).drop_back(2))
    elements *= index.extent(most);
  const Index &row = reading.indices[rank - 2];
  LineOfPixels line = lineAlong(row, outer);
  int64_t step = inner[mainLoop(row)].front().size,
          pixels = line.roomFor(most[mainLoop(row)], step, fractal), rows = 0;
  for (int64_t part = 0; part < line.numParts(); ++part)
    rows += alignTo(line.rowsOf(part, pixels), fractal);
  return elements * rows;
}

/// Elements that `op` hands on to images under windows: pixels that some window
/// takes, with whole groups of channels.
int64_t RoutePlanner::framedElements(unsigned op, const Access &reading) const {
  const Access &output = problem.operators[op].output;
  size_t depth = tiles.depthOfSums(op), rank = reading.indices.size();
  Sizes sizes = tiles.sizesAfter(op, depth);
  LoopId rows = mainLoop(output.indices[rank - 2]),
         columns = mainLoop(output.indices.back());
  int64_t elements = tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) {
    return !output.hasLoop(loop) ? 1
           : loop == columns     ? alignTo(size, machine.matrix->columns)
                                 : size;
  });
  const Index &row = reading.indices[rank - 2];
  LineOfPixels line = lineAlong(row, sizes);
  if (line.numParts() == line.stride || !tiles.isDerived(rows))
    return elements;
  int64_t all = 0, taken = 0;
  tiles.forEachPart(op, depth, rows, [&](ArrayRef<Range> ranges) {
    int64_t origin = row.offset;
    for (const Term &term : row.terms)
      origin += term.factor * ranges[term.loop].begin;
    all += ranges[rows].size();
    for (int64_t pixel = ranges[rows].begin; pixel < ranges[rows].end; ++pixel)
      taken += (pixel - origin) % line.stride < line.numParts();
  });
  return elements / all * taken;
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

/// True if sums can leave in a narrower type without the vector unit.
bool RoutePlanner::narrowsOnTheWayOut() const {
  return !hasVectorsAtUnit() && any_of(machine.routes, [&](const Route &route) {
    return route.source == nameOf(Buffer::Role::Sums) && route.converts;
  });
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
    use(level(), room(input, sizes) * tensor.elementBytes *
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
  std::optional<UnitSteps> steps = chooseUnitSteps(
      unit, rowsOf(result, sizes), sizes[result.columns].front().size, depth,
      elementBytes, hasTaps);
  if (!steps) {
    plan.obstacle = "a tile has more rows than the unit has room for";
    return;
  }
  Sides left = sidesOf(*lhs, sizes);
  // The left operand once for each panel of the block's columns.
  move(level(), nameOf(Buffer::Role::Lhs),
       elementBytes * paddingOf(left) *
           tiles.sumOver(op, innermost,
                         [&](LoopId loop, int64_t size) -> int64_t {
                           if (lhs->hasLoop(loop))
                             return pad(left, loop, size);
                           return loop == result.columns
                                      ? divideCeilSigned(size, steps->columns)
                                      : 1;
                         }));
  move(level(), nameOf(Buffer::Role::Rhs),
       padded(op, *rhs, innermost) * elementBytes);
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
    if (any_of(ArrayRef(tiles.pathOf(op))
                   .take_front(commonDepth(tiles.getTree(), op, index)),
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

/// The room of the vector unit for what `op` makes, at `depth` on its path.
void RoutePlanner::planVectors(unsigned op, size_t depth) {
  const Operator &description = problem.operators[op];
  const Access &output = description.output;
  const Tensor &tensor = problem.tensors[output];
  const MatrixUnit &unit = *machine.matrix;
  Sizes sizes = tiles.sizesAfter(op, depth);
  Sides sides = sidesOf(output, sizes);
  int64_t rows = alignTo(rowsOf(sides, sizes), unit.rows);
  int64_t groupElements = rows * unit.columns;
  mostGroupElements = std::max(mostGroupElements, groupElements);
  // Of what comes and goes, one group moves while another is worked on.
  int64_t columns = alignTo(sizes[sides.columns].front().size, unit.columns);
  int64_t places = columns > unit.columns ? 2 : 1;
  int64_t bytes =
      staysAtUnit(op) ? 0 : places * groupElements * tensor.elementBytes;
  for (const Access &operand : description.epilogue) {
    // Sums come as those of the operator itself do.
    if (problem.tensors[operand].role == Role::Intermediate)
      continue;
    int64_t elementBytes = problem.tensors[operand].elementBytes;
    bool hasRows = sides.rows && operand.hasLoop(*sides.rows);
    // Truth values come as whole rows of blocks, and turn to halves first.
    bool isTruth = elementBytes == 1;
    int64_t wholeColumns =
        alignTo(columns, isTruth ? 2 * repeatSums : repeatSums);
    bytes += !hasRows  ? wholeColumns * (elementBytes + sumBytes +
                                         (isTruth ? halfBytes : 0))
             : isTruth ? rows * alignTo(columns, unitBlock)
                       : places * groupElements * elementBytes;
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
  if (hasVectorsAtUnit())
    planVectors(op, depth);
  size_t sumDepth = leavesByBlocks(op) ? tiles.pathOf(op).size() : depth;
  Sizes sumSizes = tiles.sizesAfter(op, sumDepth);
  use(sums, room(output, sumSizes) * tensor.heldBytes());
  int64_t elements = padded(op, output, depth);
  std::string from = sums;
  bool isWorkedOn = description.epilogueCost > 0 ||
                    !description.epilogue.empty() || leavesByBlocks(op);
  // Groups of them pass the vector unit, where it is on the way.
  bool passesVectors =
      hasVectorsAtUnit() &&
      !hasRoute(sums, isIntermediate ? level() : Machine::mainMemory);
  if (isWorkedOn || passesVectors ||
      (description.hasEpilogue && !narrowsOnTheWayOut())) {
    move(sums, vectors, padded(op, output, sumDepth) * tensor.heldBytes());
    from = vectors;
  }
  if (staysAtUnit(op))
    return;
  if (isIntermediate) {
    move(from, level(),
         (reading ? framedElements(op, *reading) : elements) *
             tensor.elementBytes);
    use(level(),
        (reading ? frameElements(op, reader, *reading) : room(output, sizes)) *
            tensor.elementBytes);
  } else {
    move(from, Machine::mainMemory,
         tiles.elementsOf(op, output, depth) * tensor.elementBytes);
  }
  for (const Access &operand : description.epilogue) {
    if (problem.tensors[operand].role == Role::Intermediate)
      continue;
    move(Machine::mainMemory, vectors,
         bytesRead(op, operand, tiles.depthOf(op, operand, depth)));
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
  // None of them where no operator has the vector unit at hand.
  use(nameOf(Buffer::Role::Vectors),
      vectorGroups * mostGroupElements * sumBytes);
  if (plan.obstacle.empty() && findSplit(problem, schedule, tiles.getTree()))
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

std::optional<UnitSteps>
chimera::model::chooseUnitSteps(const MatrixUnit &unit, int64_t rows,
                                int64_t columns, int64_t depth,
                                int64_t elementBytes, bool isRepeated) {
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
    return op.inputs.size() == 2 && isPlain(op.output) &&
           all_of(op.epilogue, isPlain) &&
           (all_of(op.inputs, isPlain) ||
            (any_of(op.inputs, isPlain) &&
             all_of(op.inputs, [&](const Access &input) {
               return isPlain(input) || isImage(problem, op, input);
             })));
  });
}

RoutePlan chimera::model::planRoutes(const ChainProblem &problem,
                                     const Machine &machine,
                                     const Schedule &schedule,
                                     int64_t threads) {
  return RoutePlanner(problem, machine, schedule, threads).run();
}
