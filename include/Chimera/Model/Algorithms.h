//===- Algorithms.h - Evaluate, simulate, solve, bound, judge ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms of the model: free functions over a problem, a machine and a
// schedule. None of them keeps state; all are deterministic.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_ALGORITHMS_H
#define CHIMERA_MODEL_ALGORITHMS_H

#include "Chimera/Model/Schedule.h"

#include <optional>

namespace chimera::model {

//===----------------------------------------------------------------------===//
// Volume and live set
//===----------------------------------------------------------------------===//

/// Bytes one tensor moves across the boundary outside a level.
struct Traffic {
  int64_t readBytes = 0;
  int64_t writeBytes = 0;
};

struct Evaluation {
  /// One entry per tensor of the problem; intermediates move nothing.
  llvm::SmallVector<Traffic, 6> traffic;
  /// The largest live set over all points of the loop tree, in bytes.
  int64_t liveBytes = 0;

  int64_t volumeBytes() const;
};

/// The data that `schedule` moves into and out of level `level`, and the bytes
/// it keeps there. Exact: equal to what `simulate` counts.
///
/// A tensor's buffer belongs to the body of the innermost loop that indexes it.
/// Intermediates have one buffer for all levels, of the extents that the shared
/// path of the whole schedule leaves. Operands of epilogues are streamed: they
/// count as traffic, not as live. An epilogue runs where its operator's
/// outermost reduction loop ends (on an intermediate: at the end of the shared
/// path's body); if the output is larger than its buffer there, it passes once
/// more.
Evaluation evaluate(const ChainProblem &problem, const Schedule &schedule,
                    unsigned level);

/// The same figures, counted by walking every block of the schedule with
/// explicit buffers. Written independently of `evaluate`; takes time
/// proportional to the number of blocks.
Evaluation simulate(const ChainProblem &problem, const Schedule &schedule,
                    unsigned level);

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// The register tile with the fewest cycles on `rows` x `columns` x `depth`
/// blocks, edges included, under MI * NI + NI + MII <= registers. That takes in
/// the FMA latency (enough independent accumulators) and the load ports. Ties
/// go to the highest arithmetic intensity of the paper's section V-B,
/// MI * NI * KI / (KI (MI + NI) + 2 MI NI), then to more vectors.
RegisterTile selectRegisterTile(const VectorUnit &unit, int64_t rows,
                                int64_t columns, int64_t depth);

/// The register tiles no other tile contains: for every number of vectors, the
/// most rows that fit the register file. Since blocks are cut into equal parts,
/// a smaller tile is never better than the part of a larger one.
llvm::SmallVector<RegisterTile, 8> maximalRegisterTiles(const VectorUnit &unit);

/// Splits `extent` into as few parts of at most `part` as possible, as equal as
/// possible: `large` parts of size `size`, then `small` parts of `size - 1`.
struct BalancedSplit {
  int64_t size = 0, large = 0, small = 0;
};
BalancedSplit splitEvenly(int64_t extent, int64_t part);

/// Cycles one core needs for one block of `rows` x `columns` x `depth`
/// multiply-adds whose operands are in the innermost level. `loadsOutput`
/// charges loading the accumulators instead of zeroing them.
double blockCycles(const VectorUnit &unit, const RegisterTile &tile,
                   int64_t rows, int64_t columns, int64_t depth,
                   bool loadsOutput);

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What the model predicts for one level of a plan.
struct LevelCost {
  std::string name;
  int64_t bytes = 0;
  int64_t liveBytes = 0;
  int64_t capacityBytes = 0;
  double seconds = 0;
};

/// A schedule with its predicted cost.
struct Plan {
  Schedule schedule;
  /// In the order of Machine::levels.
  llvm::SmallVector<LevelCost, 3> levels;
  /// Arithmetic, epilogues and packing, on the busiest core.
  double computeSeconds = 0;
  /// The slowest of compute and all levels (equation 3 of the paper), plus the
  /// part of the others that does not overlap with it.
  double seconds = 0;
};

struct SolveOptions {
  /// Threads the parallel loops are spread over.
  int64_t threads = 1;
};

/// The plan with the lowest predicted time, or nothing if none was found that
/// fits the machine. The innermost level is searched over all loop trees with
/// the tiles that suit the micro kernel; each outer level contributes the few
/// orders with the least volume, so plans are good but not proved best.
std::optional<Plan> solve(const ChainProblem &problem, const Machine &machine,
                          const SolveOptions &options);

/// The cost of a schedule that somebody else made and `verify` accepts.
Plan price(const ChainProblem &problem, const Machine &machine,
           const Schedule &schedule, const SolveOptions &options);

/// The schedule with the smallest volume for a single level of `usableBytes`,
/// compute and parallelism left out of account (equation 1 of the paper).
/// `granularity` is the smallest tile of each loop. Exact integers.
std::optional<Schedule> solveVolume(const ChainProblem &problem,
                                    int64_t usableBytes,
                                    llvm::ArrayRef<int64_t> granularity);

//===----------------------------------------------------------------------===//
// Verdict and bound
//===----------------------------------------------------------------------===//

enum class Reason {
  /// The intermediate stays on chip and saves more than it costs.
  SavesTraffic,
  /// The plan does as much work, but in one pass with less overhead.
  SavesTime,
  /// No fused plan fits the memory levels.
  DoesNotFit,
  /// Separate operators are predicted to be faster.
  UnfusedIsFaster,
};

/// The reason in the words of a report.
llvm::StringRef describe(Reason reason);

struct Verdict {
  bool fuse = false;
  Reason reason = Reason::DoesNotFit;
  /// Absent if no fused plan fits.
  std::optional<Plan> fused;
  /// One plan per operator.
  llvm::SmallVector<Plan, 2> unfused;
  /// Bytes per level of all unfused plans together.
  llvm::SmallVector<int64_t, 3> unfusedBytes;
  double unfusedSeconds = 0;
  /// I/O lower bound per level, in bytes.
  llvm::SmallVector<int64_t, 3> boundBytes;
};

/// The problem of one operator alone: its intermediates become input or output.
ChainProblem isolate(const ChainProblem &problem, unsigned op);

/// Fuse iff the predicted time beats that of the best unfused plans.
Verdict judge(const ChainProblem &problem, const Machine &machine,
              const SolveOptions &options);

/// Bytes that any schedule without recomputation moves into a level of
/// `capacityBytes` (this level and everything nearer to the core): the
/// compulsory volume and, for one or two contractions, the bounds B1 to B4 of
/// docs/model.md.
int64_t lowerBound(const ChainProblem &problem, int64_t capacityBytes);

/// The lower bound for each of the machine's levels, when all threads' share of
/// that level and of everything nearer to the cores counts as its capacity.
/// Holds for any schedule of `problem`, be it a whole chain or one operator.
llvm::SmallVector<int64_t, 3> lowerBounds(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options);

//===----------------------------------------------------------------------===//
// The paper's evaluator
//===----------------------------------------------------------------------===//

/// Algorithm 1 of the paper, to the letter: permutation and decomposition
/// parameters in, data movement volume and memory usage out, in elements.
/// Ignores liveness and counts one-trip loops; kept to compare with.
struct PaperEstimate {
  /// Data movement and footprint per tensor of the problem.
  llvm::SmallVector<int64_t, 6> movement, footprint;
  int64_t volume = 0;
  int64_t memoryUsage = 0;
};
PaperEstimate evaluatePaper(const ChainProblem &problem,
                            llvm::ArrayRef<LoopId> permutation,
                            llvm::ArrayRef<int64_t> tiles);

} // namespace chimera::model

#endif // CHIMERA_MODEL_ALGORITHMS_H
