//===- Schedule.h - The decision for a chain --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is a block order with tiles for every memory level.
//
// Each level lists loops from the outside in, each with the tile it leaves to
// the levels inside; a loop a level does not list keeps the tile it had. The
// levels, read one after the other, make a single order P, and one rule turns P
// into a loop tree. All operators start together. A loop of P that concerns all
// operators which are still together goes around them; a loop that does not
// parts them into runs of neighbours, and each run goes on by itself:
//
//   P = m, l, k, n:  for m { for l { for k { GEMM1 }  for n { GEMM2 } } }
//   P = m, k, l, n:  for m { for k { for l { GEMM1 } }
//                            for l { for n { GEMM2 } } }
//
// A loop concerns the operators that have it, and those whose output is, along
// some dimension, needed only in the part that the loop's tile reads (the rows
// under a convolution's windows; the loop inside a window does not count). It
// cannot go around both an operator that reduces over it and one that reads the
// result. A loop of one trip is no loop.
//
// A loop may also be put around producers that it does not concern: these are
// then *recomputed* in each of its iterations.
//
// Parallel loops are no reductions, with one exception. The loop along which
// the last operator corrects itself (an online softmax) may be *split*: each of
// its parallel parts has accumulators and states of its own, and what they come
// to is combined when all are done. Then the epilogue runs.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_SCHEDULE_H
#define CHIMERA_MODEL_SCHEDULE_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"

#include <optional>
#include <vector>

namespace chimera::model {

/// A set of operators, one bit each.
using OperatorSet = uint32_t;

/// One loop of the order with the extent it leaves to the inside.
struct TiledLoop {
  LoopId loop = 0;
  int64_t tile = 1;
  /// The operators the loop goes around; none means those it concerns. Others
  /// may be listed only to be recomputed: their output must be an intermediate
  /// whose readers are all in the loop.
  OperatorSet operators = 0;

  bool operator==(const TiledLoop &other) const {
    return loop == other.loop && tile == other.tile &&
           operators == other.operators;
  }
};

/// The loops that move tiles into one memory level.
struct LevelSchedule {
  std::string name;
  llvm::SmallVector<TiledLoop, 6> order;
};

/// The register tile: `rows` x `vectors` accumulators (the paper's MI and NI),
/// `broadcasts` registers for the broadcast operand (MII), and `depth` steps of
/// the reduction unrolled into one loop body (KI).
struct RegisterTile {
  int64_t rows = 0, vectors = 0, broadcasts = 0, depth = 1;
  /// The name, in Machine::kernels, of the micro kernel whose tile this is.
  std::string kernel = {};
  /// Iterations of the innermost of several loops of a reduction that kernels
  /// take before they turn to another iteration of the others, if constants
  /// supply the vectors: channels of a tap. 0 for `reductionPart`.
  int64_t part = 0;
  /// Copies of each tile of factors that a loop fills again, in the innermost
  /// level, where threads hold what they compute; 0 for those that the level
  /// has.
  int64_t stages = 0;

  /// Those in `innermost`.
  int64_t stagesIn(const MemoryLevel &innermost) const {
    return stages > 0 ? stages : innermost.buffers;
  }
};

/// How far apart the rows of an intermediate lie in a cache: a row begins with
/// a line, and rows that would be a multiple of `apart` lines apart are a line
/// longer.
struct RowLayout {
  int64_t lineBytes = 0, apart = 0;
};

/// What the kernels of products ask for while they compute, so that it is near
/// when it is read.
struct Prefetching {
  /// Loops in which kernels ask for what the next iteration copies, has of
  /// what was prepared before the call, or has of a matrix that several tiles
  /// of rows use in place: none; those with a kernel in loops of
  /// fixed trip counts; or all.
  enum class Loops { None, Fixed, Any };

  /// Bytes that the kernels of one operator may ask for of what the next one in
  /// the same loop reads, or of the next tile of such a matrix. If there are
  /// more, they ask for none of them.
  int64_t partBytes = 0;
  Loops loops = Loops::None;

  bool operator==(const Prefetching &other) const {
    return partBytes == other.partBytes && loops == other.loops;
  }
};

/// How the blocks inside the loops are made.
struct BlockForms {
  /// None: rows follow each other, and each intermediate has a buffer of its
  /// own.
  std::optional<RowLayout> rows;
  /// Operators whose sums the first tile of their reduction overwrites, ahead
  /// of the loop over the others.
  OperatorSet ahead = 0;
  /// Operators whose scores are computed for the maximum of a softmax, and
  /// again for the exponentials, instead of being stored.
  OperatorSet repeated = 0;
  /// Operators of whose scores the exponentials are powers of two.
  OperatorSet base2 = 0;
  /// True if tiles end where a mask does, and tiles of one operator that a mask
  /// rules out are left out.
  bool clips = false;
  /// True if the tasks along the rows of a mask are taken from both ends by
  /// turns, so that neighbouring tasks together have as much to do as others.
  bool folds = false;
  Prefetching prefetch;
};

struct Schedule {
  /// Slowest level first, in the order of Machine::levels. A level whose order
  /// is empty adds no loops.
  llvm::SmallVector<LevelSchedule, 3> levels;
  /// Leading loops of P that run in parallel.
  int64_t numParallel = 0;
  RegisterTile registerTile;
  /// Inputs copied, tile by tile, into contiguous memory where they enter the
  /// innermost level.
  llvm::SmallVector<TensorId, 2> packed;
  /// Inputs copied where they enter the level outside the innermost: in the
  /// order of their rows, which memory likes, into the tiles of the innermost
  /// level, which then lie contiguously.
  llvm::SmallVector<TensorId, 2> staged;
  /// Inputs that lie in tiles of the innermost level before the first loop.
  llvm::SmallVector<TensorId, 2> prepacked;
  /// Tensors whose buffer, where the parts of consecutive iterations overlap,
  /// keeps what it has: of an input only the new part is read, of an
  /// intermediate only the new part is computed. Without it the overlap (halo)
  /// is read or computed again, as it is from one iteration of a parallel loop
  /// to the next.
  llvm::SmallVector<TensorId, 2> rolling;
  /// Operators whose last loops, over the rows of a register tile and, inside,
  /// over the reduction, run in the micro kernel: it keeps the sums of a tile
  /// in registers through all of the reduction. What moves is that of the
  /// loops.
  OperatorSet held = 0;
  /// For each tensor the level that holds it whole, if it is an intermediate:
  /// at levels outside and at this one it moves nothing, at levels inside it is
  /// written and read like an output and an input. Empty: the innermost level
  /// for all.
  llvm::SmallVector<unsigned, 6> homes;
  /// None if nobody has decided.
  std::optional<BlockForms> blocks;

  /// Index of the level at which `tensor` is held.
  unsigned homeOf(TensorId tensor) const {
    return homes.empty() ? levels.size() - 1 : homes[tensor];
  }
};

/// A loop of the tree. One-trip loops are dropped.
struct NestLoop {
  LoopId loop = 0;
  int64_t tile = 1;
  /// Index into Schedule::levels.
  unsigned level = 0;

  bool operator==(const NestLoop &other) const {
    return loop == other.loop && tile == other.tile && level == other.level;
  }
};

/// Loops around some neighbouring operators, and what is inside: the blocks of
/// the operator if there is only one, else the parts, one after the other.
struct LoopNest {
  unsigned firstOperator = 0, lastOperator = 0;
  llvm::SmallVector<NestLoop, 6> loops;
  std::vector<LoopNest> parts;

  unsigned size() const { return lastOperator - firstOperator + 1; }
  bool has(unsigned op) const {
    return firstOperator <= op && op <= lastOperator;
  }
  /// The part that `op` is in.
  const LoopNest &partOf(unsigned op) const;
  bool operator==(const LoopNest &other) const {
    return firstOperator == other.firstOperator &&
           lastOperator == other.lastOperator && loops == other.loops &&
           parts == other.parts;
  }
};

/// Resolves the order of `schedule` down to level `level` (inclusive).
LoopNest buildLoopTree(const ChainProblem &problem, const Schedule &schedule,
                       unsigned level);

/// A derived loop (Problem.h) and what the readers index by its range.
struct DerivedLoop {
  LoopId loop = 0;
  Index needed;
};

/// The derived loops of operators in `nest` whose ranges follow from those of
/// other loops there, as all readers are there, too. Readers come before what
/// they read. Of readers that need different ranges, one is taken.
llvm::SmallVector<DerivedLoop, 4> derivedLoopsIn(const ChainProblem &problem,
                                                 const LoopNest &nest);

/// An intermediate that rolls in code: along the last loop of `nest`, through
/// the range of derived loop `derived`.
struct RollingRange {
  const LoopNest *nest = nullptr;
  LoopId derived = 0;
};

/// Where in `tree`, the one of `schedule` down to the innermost level,
/// intermediate `tensor` of Schedule::rolling rolls in generated code. None
/// if it does along no loop; if other loops follow in the nest, or move its
/// windows; and if other operators come first, which would have nothing to do
/// where nothing new is needed.
std::optional<RollingRange> findRollingRange(const ChainProblem &problem,
                                             const Schedule &schedule,
                                             const LoopNest &tree,
                                             TensorId tensor);

/// Gives operators of `nest` loops of their own where a part would hand on more
/// than one tensor: as many blocks, larger buffers. Code has the loops of the
/// tree after this.
void separateCrossing(const ChainProblem &problem, LoopNest &nest);

/// Removes from `tree` the loops that Schedule::held leaves to micro kernels.
/// Code has the loops of the tree after this.
void leaveLoopsToKernels(const ChainProblem &problem, const Schedule &schedule,
                         LoopNest &tree);

/// The place of the split loop in `tree`, if one of its parallel loops is that.
std::optional<unsigned> findSplit(const ChainProblem &problem,
                                  const Schedule &schedule,
                                  const LoopNest &tree);

/// The loops around `op`, from the outside in.
llvm::SmallVector<NestLoop, 12> pathOf(const LoopNest &tree, unsigned op);

/// What a tile of `tile` iterations is clipped to if a mask leaves something of
/// the first `size` alone. Units of half a tile keep the sizes few, for each of
/// which there is code; at the end of the loop the tile may be shorter still.
int64_t clippedSize(int64_t tile, int64_t size);

/// The sizes along `loop`, the column of a mask, that tiles inside the first
/// `depth` loops around operator `op` have if those of sequential loops around
/// several operators are clipped; the largest first.
llvm::SmallVector<int64_t> clippedSizes(const ChainProblem &problem,
                                        const Schedule &schedule, unsigned op,
                                        size_t depth, LoopId loop);

/// The most iterations that are left of each loop inside level `level`, on the
/// way to the blocks of operator `op`.
llvm::SmallVector<int64_t, 8> tilesAt(const ChainProblem &problem,
                                      const Schedule &schedule, unsigned level,
                                      unsigned op);

/// Says why `schedule` cannot be run for `problem` on `machine`, if so: unknown
/// level or loop, tile below one or above the extent left by the level outside,
/// a loop listed twice for an operator in a level, parallel loops that are not
/// a prefix, do not go around all operators or are a reduction that cannot be
/// split, packed tensors that are no inputs, prepacked ones that cannot be, a
/// live set above a level's usable capacity, a register tile above the register
/// file.
llvm::Error verify(const ChainProblem &problem, const Machine &machine,
                   const Schedule &schedule);

/// The part of `verify` that needs no machine and whose violation would make
/// wrong code: what it says of parallel loops.
llvm::Error verifyParallel(const ChainProblem &problem,
                           const Schedule &schedule);

/// The columns of the tiles that input `access` of operator `op` lies in if it
/// is prepacked: the innermost tile of the operator's vector loop. None if it
/// cannot be: another operator reads it, its last dimension is not the vector
/// loop, that loop is not cut, or a tile further out is no multiple of the
/// innermost one.
std::optional<int64_t> prepackedColumns(const ChainProblem &problem,
                                        const Schedule &schedule, unsigned op,
                                        const Access &access);

/// Says which tensor of Schedule::packed cannot be, if so: packing brings the
/// vectors of a factor together, so one operator has to read it along them.
llvm::Error verifyPacked(const ChainProblem &problem, const Schedule &schedule);

/// Makes `schedule`, which was found for the extents that are planned for, hold
/// for any extents of the loops that are open: each of them gets a tile, no
/// kernel takes all of a reduction over one, and none is split.
void holdForAnyExtent(const ChainProblem &problem, Schedule &schedule);

/// Says which open loop has no tile where code for any extent needs one, if
/// any.
llvm::Error verifyOpen(const ChainProblem &problem, const Schedule &schedule);

/// Decides how the blocks of `schedule` are made on `machine`.
BlockForms chooseBlocks(const ChainProblem &problem, const Machine &machine,
                        const Schedule &schedule);

/// Says which operator of Schedule::blocks cannot be made so, if any.
llvm::Error verifyBlocks(const ChainProblem &problem, const Schedule &schedule);

/// Says which operator of Schedule::held has no such loops, if any: its last
/// ones, none of them parallel, have to be over the reduction, and all loops
/// have to leave it no more rows than a register tile has.
llvm::Error verifyHeld(const ChainProblem &problem, const Schedule &schedule);

/// Says which tensor of Schedule::prepacked cannot be, if so.
llvm::Error verifyPrepacked(const ChainProblem &problem,
                            const Schedule &schedule);

} // namespace chimera::model

#endif // CHIMERA_MODEL_SCHEDULE_H
