//===- RouteTiles.cpp - What tiles take that a program moves --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows and columns of tiles rounded up to what the unit takes, pixels under
// windows, and images between operators.
//
//===----------------------------------------------------------------------===//

#include "Volume/RoutePlanner.h"

#include "Chimera/Model/Fragments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace chimera::model;

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
  // Factors in main memory alone are as the program has them.
  if (inLanes && problem.tensors[access].role != Role::Input)
    return {sides.columns, *sides.rows};
  return sides;
}

/// What sides of tiles are multiples of: those of a fractal and, along the
/// depth, what fractals of bytes have more of than rows.
int64_t RoutePlanner::side() const {
  return std::lcm(machine.matrix->columns, machine.matrix->depth);
}

/// True if the factors are bytes, of which a block of the innermost level has
/// more than a fractal has columns of sums.
bool RoutePlanner::areBytes() const {
  return machine.matrix->depth > machine.matrix->columns;
}

/// What the rows of `lhs`, a left operand, are a multiple of at the unit. Bytes
/// are transposed in squares.
int64_t RoutePlanner::rowSideOf(const Operator &op, const Access &lhs) const {
  bool isTransposed = !op.isReduction(mainLoop(lhs.indices.back()));
  return isTransposed ? side() : machine.matrix->rows;
}

/// Elements of all tiles of `access` at `depth` together, with both sides of
/// each rounded up to `side`.
int64_t RoutePlanner::padded(unsigned op, const Access &access, size_t depth,
                             int64_t side) const {
  Sides sides = sidesOf(access, tiles.sizesAfter(op, depth));
  return paddingOf(sides) *
         tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) {
           return access.hasLoop(loop) ? pad(sides, loop, size, side) : 1;
         });
}

/// Elements of all tiles of `access` at `depth` together, in whole column
/// groups of `width` and of the rows that there are.
int64_t RoutePlanner::inGroups(unsigned op, const Access &access, size_t depth,
                               int64_t width) const {
  LoopId columns = sidesOf(access, tiles.sizesAfter(op, depth)).columns;
  return tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) -> int64_t {
    return !access.hasLoop(loop) ? 1
           : loop == columns     ? alignTo(size, width)
                                 : size;
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
  if (access.indices.empty())
    return elementBytes * burst *
           tiles.sumOver(op, depth, [](LoopId, int64_t) { return 1; });
  LoopId columns = access.indices.back().terms.front().loop;
  return elementBytes *
         tiles.sumOver(op, depth, [&](LoopId loop, int64_t size) -> int64_t {
           if (!access.hasLoop(loop))
             return 1;
           return loop == columns ? alignTo(size, burst) : size;
         });
}

/// `size` as a side of a tile takes it.
int64_t RoutePlanner::pad(Sides sides, LoopId loop, int64_t size,
                          int64_t side) const {
  bool isSide = loop == sides.rows || loop == sides.columns;
  return isSide ? alignTo(size, side) : size;
}

/// The rows that one row alone takes, which `pad` does not see.
int64_t RoutePlanner::paddingOf(Sides sides) const {
  return sides.rows ? 1 : machine.matrix->rows;
}

/// The rows of the largest tile.
int64_t RoutePlanner::rowsOf(Sides sides, const Sizes &sizes) const {
  return sides.rows ? sizes[*sides.rows].front().size : 1;
}

/// The rows of a tile that there is room for where a vector unit works on it.
int64_t RoutePlanner::rowsInVectors(int64_t rows) const {
  return hasVectorsAtUnit() ? alignTo(rows, machine.matrix->rows)
                            : rowsOfVectorCore(rows);
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

/// Elements of the largest tile of `access`, of a factor and of sums.
int64_t RoutePlanner::roomInLevel(const Access &access,
                                  const Sizes &sizes) const {
  return room(access, sizes, side());
}
int64_t RoutePlanner::roomOfSums(const Access &access,
                                 const Sizes &sizes) const {
  return room(access, sizes, machine.matrix->rows);
}

/// Elements of the largest tile of `access`, its rows rounded up to `rowSide`.
int64_t RoutePlanner::room(const Access &access, const Sizes &sizes,
                           int64_t rowSide) const {
  Sides sides = sidesOf(access, sizes);
  int64_t elements = sides.rows ? 1 : rowSide;
  for (const Index &index : access.indices) {
    LoopId loop = mainLoop(index);
    int64_t size = sizes[loop].front().size;
    elements *= loop == sides.columns ? alignTo(size, side())
                : loop == sides.rows  ? alignTo(size, rowSide)
                                      : size;
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
