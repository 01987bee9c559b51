//===- Routes.h - What moves where inside a core ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a machine whose programs move all data by themselves, a plan is more than
// its levels: operands go on from the innermost level to the memories at the
// matrix unit, sums come out of another, and what is done element by element
// needs them in a third. Which ways there are, the machine says (its routes);
// how much goes along each, and how much room tiles take at either end, follows
// from the schedule.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_ROUTES_H
#define CHIMERA_MODEL_ROUTES_H

#include "Chimera/Model/Schedule.h"

#include <algorithm>
#include <optional>

namespace chimera::model {

/// What moves along one route in all.
struct RouteTraffic {
  std::string source, destination;
  int64_t bytes = 0;
  /// Of one core, at the full speed of the route; and of what no level counts
  /// and nobody waits for, which goes on beside everything else.
  double seconds = 0, besideSeconds = 0;
};

/// The room that tiles take in one memory of a core.
struct MemoryUse {
  std::string name;
  int64_t bytes = 0, capacityBytes = 0;
};

struct RoutePlan {
  llvm::SmallVector<RouteTraffic, 8> routes;
  llvm::SmallVector<MemoryUse, 5> memories;
  /// Of one core, the time for what the core of the matrix unit hands to those
  /// of the vector units through main memory and waits for to come back:
  /// nothing else of it goes on meanwhile.
  double waitSeconds = 0;
  /// Kernels that follow the schedule, one after the other: two where parts of
  /// a softmax's columns are shared out, of which the second combines what the
  /// tasks of the first have left in main memory. The memories have room for
  /// either.
  int64_t launches = 1;
  /// Of one core, the time until all that the second kernel reads is there.
  double combineSeconds = 0;
  /// Why no program can follow the schedule, if so.
  std::string obstacle;
};

/// Column groups of sums that an epilogue has room for besides its operands and
/// its result: more than any of those that occur in networks needs. Vector
/// units in cores of their own have to know which rows theirs are, and what
/// they hand over is another group than what they keep.
inline int64_t vectorGroups(bool isAtUnit) { return isAtUnit ? 10 : 12; }

/// Where the vector units are in cores of their own, so many of them belong to
/// a matrix unit and share the rows of its tiles, each in whole steps: those
/// that an instruction covers beside a block for each row.
inline constexpr int64_t vectorCores = 2, vectorCoreRows = 8;
inline int64_t rowsOfVectorCore(int64_t rows) {
  int64_t step = vectorCores * vectorCoreRows;
  return (rows + step - 1) / step * vectorCoreRows;
}

/// Where the vector unit keeps lanes apart, the rows of what is reduced lie
/// along the lanes: a row of a column group has one lane each of 16 rows of the
/// tile. It works on so many of them at a time, and has as much room for one
/// number of each of `rows` rows, which takes `laneRowBytes`: a repeat for 16
/// of them.
inline constexpr int64_t laneRowBytes = 16;
inline int64_t laneGroupRows(int64_t rows) {
  constexpr int64_t least = 64, fractal = 16;
  return std::max(least, (rows / 2 + fractal - 1) / fractal * fractal);
}

/// The steps in which the matrix unit takes a block: panels of `columns`, and
/// in each the reduction, `depth` at a time. Half of an operand's memory takes
/// a step while the other half is in use.
struct UnitSteps {
  int64_t columns = 0, depth = 0;
  /// Of the operands' memories, what both halves use.
  int64_t lhsBytes = 0, rhsBytes = 0;
};

/// The steps for blocks of up to so many rows, columns and elements to reduce,
/// with factors of `elementBytes`: panels of as many columns as the right
/// operand has room for, one instruction deep; then as deep as both have room
/// for. None if there are too many rows. `isRepeated` says that others follow
/// which add to the same sums.
std::optional<UnitSteps> chooseUnitSteps(const MatrixUnit &unit, int64_t rows,
                                         int64_t columns, int64_t depth,
                                         int64_t elementBytes,
                                         bool isRepeated = false);

/// The rows of a tile that a convolution reads: `pixels` neighbours in the
/// result are `stride` apart in the image, and `taps` neighbours there count
/// for each. On chip those that one tap counts for follow each other: the tile
/// has a part for each remainder of `stride` that a tap has.
struct LineOfPixels {
  int64_t stride = 1, taps = 1;

  int64_t numParts() const { return std::min(stride, taps); }
  /// Rows of part `part`, for that many pixels.
  int64_t rowsOf(int64_t part, int64_t pixels) const {
    return pixels + (taps - 1 - part) / stride;
  }
  /// Pixels that there has to be room for if `pixels` are read `step` at a
  /// time, in whole fractals.
  int64_t roomFor(int64_t pixels, int64_t step, int64_t fractal) const {
    int64_t last = (pixels - 1) / step * step;
    return last + (step + fractal - 1) / fractal * fractal;
  }
};

/// True if `machine` says how operands reach its matrix unit and sums leave it,
/// and `problem` consists of products of two tensors that are indexed by loops
/// alone, or of which one is an image under windows.
bool hasRoutes(const ChainProblem &problem, const Machine &machine);

/// False if `machine` writes main memory in whole blocks, and rows of what
/// `problem` makes are no multiples of them.
bool writesWholeBlocks(const ChainProblem &problem, const Machine &machine);

/// True if no vector unit has to touch the sums of `op`: what follows them, a
/// ReLU or a narrower type, every route out of the matrix unit of `machine`
/// does.
bool leavesByRoute(const Operator &op, const Machine &machine);

/// True if the vector unit has the rows of `problem` along the lanes of
/// vectors: it keeps lanes apart, rows are reduced, results are of 16 bits,
/// which is what it transposes, and nothing that it reads would have to come
/// transposed from main memory.
bool runsInLanes(const ChainProblem &problem, const Machine &machine);

/// What `schedule` moves along the routes of `machine`, if `hasRoutes`. Exact:
/// equal to what the program counts that is made of it. The rules:
///
/// - *Sides.* The columns of a tile are its last dimension, its rows the one
///   other that is longer than one, or one row without a loop. On chip both are
///   rounded up to the shape of the unit; main memory is read in whole bursts
///   of the innermost level and written as it is. Where the unit is deeper than
///   it has columns, as for bytes, both sides are multiples of the depth; the
///   rows of sums, and of a left operand at the unit whose columns are what is
///   reduced, of its rows.
/// - *Operands.* A factor of a contraction comes from main memory into the
///   innermost level inside the innermost loop on its operator's path that
///   affects it; for every block it goes on to the unit, the left one again for
///   every panel of columns that the right one's memory takes at once.
/// - *Windows.* A tile of an image is what lies under the windows of pixels in
///   one row or column of the result: its rows are pixels, for each tap across
///   and in the parts of a `LineOfPixels`. For each tap its own pixels go on
///   to the unit, with the filters' matrix for the tap.
///   A tile of several rows of pixels, or of several images, is as many
///   products, one after the other.
/// - *Images in between.* What windows take of an intermediate lies in the
///   innermost level as they take it, border included, with room for the
///   windows of all that producer and reader have in common. Only pixels that
///   are made, and that a window takes, go there; zeros come by no route.
/// - *Sums.* They have room for the operator's tile where its outermost
///   reduction loop starts; an intermediate's, where its producer and its
///   readers part. There they leave, once the reduction is done: by the memory
///   of the vector unit if an epilogue follows that is not done on the way
///   (`leavesByRoute`); an intermediate to the
///   innermost level, an output to main memory.
/// - *Softmax.* Scores, and what is rescaled with every block of them, leave
///   with every block for the memory of the vector unit, where they have room
///   and are added up.
/// - *Blocks.* Where main memory is written in whole blocks, rows of a result
///   are made of them, or there is no plan.
/// - *Parts.* Where tasks share a softmax's columns, each leaves its sums, in
///   the type that they are added up in, and maximum and sum of each row, a
///   block each; a second kernel reads them all and does what is left.
/// - *Lanes.* Where the vector unit keeps lanes apart, a softmax of which it
///   reads nothing from main memory, and whose columns no tasks share, runs
///   transposed (`runsInLanes`): on chip, and at the units, rows of tiles are
///   columns, but for factors in main memory.
/// - *Epilogues.* Their operands go from main memory to the vector unit's
///   memory, inside the innermost loop around the epilogue that affects them.
/// - *Room.* A factor's tile is in the innermost level as often as the level
///   has buffers if a core fills it more than once; at the unit, each half of a
///   memory takes a part of the depth while the other is in use. The vector
///   unit has two places for column groups of everything that comes or goes
///   (one if there is only one group), whole tiles of truth values, whole rows
///   of what is the same for all rows, a block for each row and state of a
///   softmax, and `vectorGroups` groups to work with.
///
/// `threads` is the number of cores that share the tasks.
RoutePlan planRoutes(const ChainProblem &problem, const Machine &machine,
                     const Schedule &schedule, int64_t threads);

} // namespace chimera::model

#endif // CHIMERA_MODEL_ROUTES_H
