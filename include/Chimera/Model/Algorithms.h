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

#include "Chimera/Model/Bounds.h"
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
  /// One entry per tensor of the problem.
  llvm::SmallVector<Traffic, 6> traffic;
  /// Bytes of the buffers that are there while the blocks of each operator run.
  llvm::SmallVector<int64_t, 3> liveAt;
  /// The largest of these: the live set.
  int64_t liveBytes = 0;

  int64_t volumeBytes() const;
};

/// How data gets into a level.
struct Transfer {
  /// Memory moves in units of this many bytes (cache lines, bursts).
  int64_t unitBytes = 1;
  /// Buffers of a tile that is replaced while another is in use.
  int64_t buffers = 1;
  /// Each core has a memory of its own: a task of the parallel loops finds
  /// nothing that another one has left.
  bool isPrivate = false;
  /// See MemoryLevel::holdsResults; counts for chains that multiply tiles.
  bool holdsResults = true;
};
/// What goes into `level` if `threads` run the parallel loops.
Transfer transferInto(const MemoryLevel &level, int64_t threads = 1);
/// What goes into `level` of `machine` by `schedule`, which may ask for more
/// copies of a tile than the level has.
Transfer transferInto(const Machine &machine, const Schedule &schedule,
                      unsigned level, int64_t threads);

/// The data that `schedule` moves into and out of level `level`, and the bytes
/// it keeps there. Exact: equal to what `simulate` counts. The rules:
///
/// - *Ranges.* Each iteration of a loop of the tree leaves a range of
///   iterations of its loop to the inside; where several operators are still
///   together and none of an intermediate's readers is outside, the range of
///   a producer's derived loop is the smallest that covers what the readers'
///   ranges read of it, clipped to the tensor. If the intermediate is rolling,
///   the part that the previous iteration of the innermost loop around all its
///   users that affects it has made is cut off. When operators part, ranges
///   stay as they are but for each operator's own loops.
/// - *Buffers.* An operand's buffer belongs to the body of the innermost loop
///   on its operator's path that affects the operator's range of it, and if the
///   level is private inside all parallel loops; operators together there share
///   it. An intermediate at its home level or outside it
///   has one buffer for all levels, in the innermost body around all its users
///   in the tree of the whole schedule, as large as the readers need there.
///   A buffer is open from its body's first part that uses it to the last; if
///   the body holds a single loop, around all of that. Each has its largest
///   size from the start (elements outside the tensor take no room); outputs,
///   states and intermediates in heldBytes. A buffer that is filled more than
///   once, and is no intermediate at home, counts `transfer.buffers` times.
/// - *Traffic.* Opening the buffer of an input reads its range; if it is
///   rolling, only what the previous iteration of the body's own loop has not
///   read. A produced tensor is written when its buffer closes, and read when
///   it opens unless that part is fresh. Partial sums, states among them, move
///   in heldBytes, the final write (of each part, after its last visit) in
///   elementBytes; states have no final write. An output's parts are fresh when
///   first visited, an intermediate's when first visited since its producer
///   was started anew, that is, inside the innermost body around all its users.
///   Intermediates at home move nothing, but if they are stored, each run of
///   the producer writes what it has made.
/// - *Epilogues.* Operands are streamed: traffic, not live, with the body of
///   the innermost loop around the epilogue that affects them. The epilogue of
///   an output runs where the operator's outermost reduction loop ends; of an
///   intermediate, in the innermost body around all its users. If the output is
///   not in its buffer there, it passes once more (in elementBytes), unless
///   it is an intermediate at home. An intermediate as operand is a use of it
///   at home, and is streamed like an input at levels inside.
/// - *Splits.* To the output and the states of the last operator a split loop
///   is one that indexes them: each part has its own, and all their writes move
///   heldBytes. Afterwards every iteration of the other parallel loops reads
///   its range of all parts, streams the operands of the epilogue, which runs
///   there, and writes its range of the output.
/// - *Registers.* Where the level does not hold results, outputs, states and
///   intermediates at home take no room in it, and a part of an output moves
///   once, when it is finished, if the chain multiplies tiles (Fragments.h),
///   and nothing is split.
/// - *Units.* Along its longest dimension with stride 1 (the last of equal
///   ones; of an intermediate, the last dimension) a part of a tensor takes all
///   the units it touches, if each row starts at the boundary of one. A tensor
///   without such a dimension takes whole units for every element.
Evaluation evaluate(const ChainProblem &problem, const Schedule &schedule,
                    unsigned level, const Transfer &transfer = {});

/// For every tensor the level that holds it if it is an intermediate: the
/// innermost one, unless that has no room. Then the largest intermediates move
/// outwards, one level at a time, until everything fits or the outermost level
/// is reached.
llvm::SmallVector<unsigned, 6> findHomes(const ChainProblem &problem,
                                         const Machine &machine,
                                         const Schedule &schedule,
                                         llvm::ArrayRef<int64_t> capacities,
                                         int64_t threads);

/// The same figures, counted by walking every block of the schedule with
/// explicit buffers. Written independently of `evaluate`; takes time
/// proportional to the number of blocks.
Evaluation simulate(const ChainProblem &problem, const Schedule &schedule,
                    unsigned level, const Transfer &transfer = {});

/// Multiply-adds that each operator executes, those of recomputation included.
llvm::SmallVector<int64_t, 3> countMultiplyAdds(const ChainProblem &problem,
                                                const Schedule &schedule);

/// The same by walking every block.
llvm::SmallVector<int64_t, 3> simulateMultiplyAdds(const ChainProblem &problem,
                                                   const Schedule &schedule);

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

/// True if `rows` rows of `columns` elements as one take fewer cycles, by more
/// than the model's error, than each alone: a row may be a tile and a rest with
/// too few accumulators for the latency of a multiply-add.
bool fillTilesAsOne(const VectorUnit &unit, int64_t rows, int64_t columns);

/// Kernels that use a matrix for at most so many rows are limited by reading
/// it.
inline constexpr int64_t mostRowsOfReading = 4;

/// True if a matrix unit that loads tiles from a cache can do all products of
/// `problem`: its extents are known, and each product adds up along a loop that
/// both factors have, decodes nothing and leaves out no taps.
bool runsOnTiles(const ChainProblem &problem);

/// Elements that lie apart along the reduction are copied side by side for dot
/// products if so many columns use each of them: two vectors of `lanes`.
inline int64_t leastColumnsOfPairs(int64_t lanes) { return 2 * lanes; }

/// Kernels that sum up over several loops, the channels of each tap of a
/// window, take so many iterations of the innermost one by turns with all of
/// the others. Blocks hold multiples of it, so that every plan adds up in the
/// same order.
inline constexpr int64_t reductionPart = 8;

/// The same where constants supply the vectors of a vector unit. A tile of sums
/// goes over its constants often, so these should come in the order in which
/// they lie in memory, and its pixels line by line.
inline constexpr int64_t longReductionPart = 256;

/// RegisterTile::part of plans for `machine` that have long parts; 0 if none
/// do.
int64_t longPartOf(const Machine &machine);

/// The loop of which kernels of `op` take a part at a time: the innermost of
/// several over which it adds up.
std::optional<LoopId> partedLoop(const ChainProblem &problem,
                                 const Operator &op);

/// Of `part`, a RegisterTile::part, what kernels of `op` take: the bits of a
/// result depend on it, so it must not depend on anything a plan decides.
int64_t reductionPartOf(const ChainProblem &problem, const Operator &op,
                        int64_t part);

/// What tiles of reduction `loop` of `op` have to be multiples of for one order
/// of its sums in all plans of tiles with `part`, a RegisterTile::part; the
/// extent if they have to be whole, 1 if any will do.
int64_t orderedUnit(const ChainProblem &problem, const Operator &op,
                    LoopId loop, int64_t part);

/// True if code of `schedule` adds up in the order in which a single kernel
/// would: the same for any number of threads.
bool addsUpInOrder(const ChainProblem &problem, const Schedule &schedule);

/// True if a factor of `op` that is the same in every call supplies vectors
/// while rows pass by.
bool hasConstantVectors(const ChainProblem &problem, const Operator &op);

/// The register tiles no other tile contains: for every number of vectors, the
/// most rows that fit the register file. Since blocks are cut into equal parts,
/// a smaller tile is never better than the part of a larger one.
llvm::SmallVector<RegisterTile, 8> maximalRegisterTiles(const VectorUnit &unit);

/// Operations per second of what does the contractions of one core, at best:
/// its unit, or a kernel that is declared to be faster.
double coreFlops(const Machine &machine);

/// The kernel whose tile `tile` is; null if it is that of none.
const KernelShape *findKernel(const Machine &machine, const RegisterTile &tile);

/// The register tile of `kernel`.
RegisterTile kernelTile(const VectorUnit &unit, const KernelShape &kernel);

/// The register tile on which the parts of a block are computed that a kernel
/// with tiles of one size, here `tile`, leaves at its edges: the same one, or
/// as much of it as the registers hold.
RegisterTile edgeTile(const VectorUnit &unit, const RegisterTile &tile);

/// Cycles of a block of `rows` x `columns` x `depth` on `kernel`, with its
/// edges on `edgeTile`. Sums that are not loaded are zeroed first, as the
/// kernel adds to what is there.
double kernelCycles(const VectorUnit &unit, const KernelShape &kernel,
                    int64_t rows, int64_t columns, int64_t depth,
                    bool loadsOutput);

/// The same for a matrix unit, in instructions: `rows` x `vectors` results that
/// fit the accumulators, whose operands fit beside them.
llvm::SmallVector<RegisterTile, 8> maximalMatrixTiles(const MatrixUnit &unit);

/// Rows of instructions that a group may take: with more, hardly a column is
/// left.
inline constexpr int64_t mostGroupRows = 4;
/// The register tile of a group of threads: the most rows of instructions, and
/// all columns that its threads have room for with one.
RegisterTile groupTile(const MatrixUnit &unit, const ThreadGroups &groups);

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
  /// What crosses the boundary outside the level, and how much of it is
  /// written.
  int64_t bytes = 0;
  int64_t writtenBytes = 0;
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
  /// Tasks that the parallel loops make.
  int64_t tasks = 1;
  /// Multiply-adds of all operators, those of recomputation included.
  int64_t multiplyAdds = 0;
  /// The slowest of compute and all levels (equation 3 of the paper), plus the
  /// part of the others that does not overlap with it.
  double seconds = 0;
};

/// Predicted times that differ by less than this share say nothing of which is
/// shorter: an assumption; `benchmarks/regret` shows how far predictions are
/// off.
inline constexpr double timeError = 0.03;

/// What `plan` loses at worst if its time is wrong, to compare with others:
/// seconds of its transfers one after the other, as if none were hidden. What
/// comes into the innermost level is next to the arithmetic and is.
double exposureOf(const Plan &plan);

/// Where the orders and tiles of a plan come from.
enum class TileSource {
  /// A search over all orders and useful tiles.
  Exact,
  /// Closed forms (ClosedForm.h) alone, a level at a time from the outside in:
  /// plans in a fraction of the time, which may take longer. What has no closed
  /// form, or no room for its tiles, is searched.
  ClosedForm
};

struct SolveOptions {
  /// Threads the parallel loops are spread over.
  int64_t threads = 1;
  /// Plans of other orders to keep besides the best.
  unsigned runnersUp = 0;
  /// Follows every order of outer levels, and prices every block, that a bound
  /// does not rule out, not only the few with the least volume or the lowest
  /// estimates. Takes several times as long.
  bool isExhaustive = false;
  TileSource tiles = TileSource::Exact;
};

/// The plan with the lowest predicted time, or nothing if none was found that
/// fits the machine. The innermost level is searched over all loop trees with
/// the tiles that suit the micro kernel and, where its traffic takes longest,
/// those with the least volume; each outer level contributes the few orders
/// with the least volume, so plans are good but not proved best.
std::optional<Plan> solve(const ChainProblem &problem, const Machine &machine,
                          const SolveOptions &options,
                          llvm::SmallVectorImpl<Plan> *runnersUp = nullptr);

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
// Verdict
//===----------------------------------------------------------------------===//

/// Why a chain runs as it does, and what two figures show it.
enum class Reason {
  /// The chain has one operator: there is nothing to fuse.
  SingleOperator,
  /// Fused: fewer bytes move into the slowest level. Unfused and fused bytes.
  SavesTraffic,
  /// Fused: as many bytes move, but in one pass with less overhead. Unfused and
  /// fused seconds.
  SavesTime,
  /// Not fused: an intermediate, at its smallest, is larger than every level.
  /// Its bytes and the usable bytes of the largest level.
  IntermediateTooLarge,
  /// Not fused: no plan of the whole chain fits all levels. No figures.
  DoesNotFit,
  /// No plan: memory is written in whole blocks, and rows of the result end
  /// within one. No figures.
  WritesPartOfBlock,
  /// Not fused: what is computed again costs more than it saves. Seconds of
  /// arithmetic fused and unfused.
  RecomputationCosts,
  /// Not fused: the operators are limited by arithmetic, which fusing does not
  /// reduce. Seconds of arithmetic and of the slowest transfer, unfused.
  ComputeBound,
  /// Not fused: the loops that all operators share make too few tasks for the
  /// cores. Tasks and threads.
  TooFewTasks,
  /// Not fused: a fused plan moves more into the level that limits it, since
  /// operators have to agree on tiles. Fused and unfused bytes.
  MovesMore,
  /// Not fused, though nothing of the above: fused and unfused seconds.
  UnfusedIsFaster,
  /// Fused: the times differ by no more than the model may be wrong, and less
  /// moves into the slowest level. Unfused and fused seconds.
  SaferFused,
  /// Not fused: the same, but a fused plan moves more. Fused and unfused
  /// seconds.
  SaferUnfused,
  /// Times of convolutions do not differ by more than their error, all kernels
  /// are limited by arithmetic, and separate operators have less of it.
  LessArithmetic,
};

/// The reason in the words of a report.
llvm::StringRef describe(Reason reason);

/// Neighbouring operators that run as one kernel.
struct Segment {
  unsigned first = 0, last = 0;
  Plan plan;
  /// Seconds of what runs between these operators and the next ones: a softmax
  /// that is cut off from its reader, and pages for the buffers between.
  double secondsAfter = 0;

  double seconds() const { return plan.seconds + secondsAfter; }
};

struct Verdict {
  /// True if the whole chain is to run as one kernel.
  bool fuse = false;
  Reason reason = Reason::DoesNotFit;
  /// The figures that go with the reason, in its order, and their unit
  /// ("bytes", "s", "tasks"; empty without figures); for bytes, into which
  /// level.
  double figures[2] = {0, 0};
  std::string unit, level;
  /// The best plan for the whole chain; absent if none fits.
  std::optional<Plan> fused;
  /// One plan per operator; fewer if one has none.
  llvm::SmallVector<Plan, 2> unfused;
  /// Bytes per level of all unfused plans together; empty if there are not all.
  llvm::SmallVector<int64_t, 3> unfusedBytes;
  /// Of all unfused plans and of what runs between them.
  double unfusedSeconds = 0;
  /// The fastest way to cut the chain into kernels: one segment if it is fused,
  /// one per operator if nothing is. Empty if some operator has no plan.
  llvm::SmallVector<Segment, 2> segments;
  double seconds = 0;
  /// The best plans of the whole chain in other loop orders, best first.
  llvm::SmallVector<Plan, 4> runnersUp;
  /// I/O lower bound per level, in bytes.
  llvm::SmallVector<int64_t, 3> boundBytes;

  /// The reason with its figures, as in "a fused plan moves more: 5 bytes
  /// against 3 bytes into L2".
  std::string explain() const;
};

/// The problem of operators `first` to `last` alone: what others make is an
/// input, what others read is an output.
ChainProblem isolate(const ChainProblem &problem, unsigned first,
                     unsigned last);
inline ChainProblem isolate(const ChainProblem &problem, unsigned op) {
  return isolate(problem, op, op);
}

/// Seconds of what runs between operators `first` to `last`, as one kernel, and
/// the operators that read what they make: see Segment::secondsAfter.
double secondsAfter(const ChainProblem &problem, const Machine &machine,
                    unsigned first, unsigned last, const SolveOptions &options);

/// Cuts the chain into kernels such that the predicted time is least.
Verdict judge(const ChainProblem &problem, const Machine &machine,
              const SolveOptions &options);

} // namespace chimera::model

#endif // CHIMERA_MODEL_ALGORITHMS_H
