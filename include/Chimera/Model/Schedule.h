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
// levels, read one after the other, make a single order P. A loop that makes
// one trip is no loop. The longest prefix of P made of loops shared by all
// operators is the *shared path*; the first private loop ends it, and below it
// every operator has its own subtree with the rest of its loops in P's order:
//
//   P = m, l, k, n:  for m { for l { for k { GEMM1 }  for n { GEMM2 } } }
//   P = m, k, l, n:  for m { for k { for l { GEMM1 } }
//                            for l { for n { GEMM2 } } }
//
// `buildLoopTree` applies the rule for the simulation and for the pass that
// generates the loops; the evaluation applies it in closed form, and is tested
// against the simulation.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_SCHEDULE_H
#define CHIMERA_MODEL_SCHEDULE_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"

namespace chimera::model {

/// One loop of the order with the extent it leaves to the inside.
struct TiledLoop {
  LoopId loop = 0;
  int64_t tile = 1;

  bool operator==(const TiledLoop &other) const {
    return loop == other.loop && tile == other.tile;
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
};

/// A loop of the nest with its number of trips, one-trip loops dropped.
struct NestLoop {
  LoopId loop = 0;
  int64_t tile = 1;
  /// Index into Schedule::levels.
  unsigned level = 0;
};

/// The order of a schedule down to and including level `level`, resolved into
/// the shared path and the operators' subtrees.
struct LoopTree {
  llvm::SmallVector<NestLoop, 8> shared;
  /// One subtree per operator.
  llvm::SmallVector<llvm::SmallVector<NestLoop, 6>, 2> subtrees;
};

/// Resolves the order of `schedule` down to level `level` (inclusive).
LoopTree buildLoopTree(const ChainProblem &problem, const Schedule &schedule,
                       unsigned level);

/// The tile each loop has inside level `level`.
llvm::SmallVector<int64_t, 6> tilesAt(const ChainProblem &problem,
                                      const Schedule &schedule, unsigned level);

/// Says why `schedule` cannot be run for `problem` on `machine`, if so: unknown
/// level or loop, tile below one or above the extent left by the level outside,
/// a loop listed twice in a level, parallel loops that are not a prefix, not
/// shared or a reduction, packed tensors that are no inputs, a live set above a
/// level's usable capacity, a register tile above the register file.
llvm::Error verify(const ChainProblem &problem, const Machine &machine,
                   const Schedule &schedule);

/// The part of `verify` that needs no machine and whose violation would make
/// wrong code: parallel loops that are not a prefix, not shared or a reduction.
llvm::Error verifyParallel(const ChainProblem &problem,
                           const Schedule &schedule);

} // namespace chimera::model

#endif // CHIMERA_MODEL_SCHEDULE_H
