//===- CostModel.h - Predicted time of a schedule ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns volumes and block sizes into seconds. The solver asks for the price of
// many schedules of one problem, so the costModel keeps what they have in
// common: the register tiles for blocks and the verdicts on cache conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_COST_COSTMODEL_H
#define CHIMERA_LIB_MODEL_COST_COSTMODEL_H

#include "Cost/BlockCost.h"
#include "Problem/Parts.h"
#include "Volume/OrderFormula.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace chimera::model {

/// Cycles and times are cut off only if they are too many by more than this
/// share, which is far above what rounding and the tolerance of ties come to.
inline constexpr double cutOffMargin = 1e-6;

/// The times of stages that run side by side, and the time of all of them: the
/// slowest and the part of the others that does not overlap with it.
class Stages {
public:
  void add(double seconds) {
    longest = std::max(longest, seconds);
    sum += seconds;
  }
  /// A stage of which `foreseen` seconds are for what comes in the order in
  /// which it lies, fetched ahead: behind a slower stage they are hidden. One
  /// stage is like this.
  void add(double seconds, double foreseen) {
    add(seconds);
    ofForeseen = seconds;
    hidden = foreseen;
  }
  double total() const {
    double others = sum - longest - (longest > ofForeseen ? hidden : 0);
    return longest + exposedShare * others;
  }
  /// The time of all with one or two more stages.
  double with(double seconds) const {
    Stages more = *this;
    more.add(seconds);
    return more.total();
  }
  double with(double first, double second) const {
    Stages more = *this;
    more.add(first);
    return more.with(second);
  }
  /// The time of one more stage that brings the total to `limit`.
  double room(double limit) const {
    double asSlowest = limit - exposedShare * sum;
    if (asSlowest >= longest)
      return asSlowest;
    return (limit - total()) / exposedShare;
  }

private:
  /// Part of the stages' time that the slowest stage does not hide. It keeps
  /// the solver from wasting bandwidth where the arithmetic is the limit. Not
  /// measured: chosen so that short attention chains, whose plans come out
  /// within one per cent of each other, are fused.
  static constexpr double exposedShare = 0.2;

  double longest = 0, sum = 0, ofForeseen = 0, hidden = 0;
};

/// True if a call finds all of `bytes`, what it and others use, in `level`,
/// where the call before has left it.
bool keepsAll(const MemoryLevel &level, double bytes);

/// Instructions that bring the lanes of a vector together: a move and a
/// combination, which waits for it, halve them.
inline double lanesTogether(const VectorUnit &unit) {
  return 2 * llvm::Log2_64_Ceil(std::max<int64_t>(1, unit.lanes));
}

class CostModel {
public:
  CostModel(const ChainStructure &structure, const Machine &machine,
            const SolveOptions &options)
      : structure(structure), problem(structure.getProblem()), machine(machine),
        threads(std::max<int64_t>(1, options.threads)),
        registerTiles(tilesOf(machine)) {}

  /// The input whose vectors along columns the micro kernel loads, if it comes
  /// from outside.
  const Access *vectorOperand(const Operator &op) const;
  /// The full price of `schedule`. Without the innermost level, which `isOpen`
  /// says is not decided, lines collide as little as they may.
  Plan price(const Schedule &schedule, bool isOpen = false) const {
    return *priceBelow(schedule, std::numeric_limits<double>::infinity(),
                       isOpen);
  }
  /// The price of `schedule` if it takes less than `limit` seconds. Of most
  /// candidates a part of the price is enough to see that they do not.
  std::optional<Plan> priceBelow(const Schedule &schedule, double limit,
                                 bool isOpen = false) const;

  /// Seconds of arithmetic on the busiest core that no plan goes below.
  double leastSeconds(const Schedule &schedule) const;

  /// The share of the work, and of what moves, that is left at the least where
  /// tiles are left out of which masks leave nothing; 1 where none are.
  double leastShare() const { return leastShareKnown; }

  /// All register tiles worth considering, and the indices of those worth
  /// comparing for blocks of at most `rows` x `vectors`: no tile that another
  /// one contains, as blocks are cut into equal parts anyway.
  llvm::ArrayRef<RegisterTile> getRegisterTiles() const {
    return registerTiles;
  }
  llvm::ArrayRef<unsigned> registerTilesFor(int64_t rows,
                                            int64_t vectors) const;

  /// The parts into which the loops on `path` cut those of its operator.
  llvm::SmallVector<PartList, 6>
  partsOfLoops(const Path &path, const RollingSteps &rollingSteps) const;

  /// Cycles of all blocks of `op` if its loops have these parts.
  double operatorCycles(const Operator &op,
                        llvm::ArrayRef<llvm::ArrayRef<Parts>> parts,
                        const RegisterTile &tile,
                        CrossingVectors crossing = {}) const;
  /// Cycles of the elementwise operations after `op`: in registers, right after
  /// the last step of a reduction that is not cut, or in a pass of their own.
  double epilogueCycles(const Operator &op, bool inRegisters = true) const;
  /// The share of `op`'s taps that is left, at best, where those on padding are
  /// left out.
  double leastTapsOf(const Operator &op) const;
  /// Cycles of correcting the output of `op` for `parts` parts of the loop that
  /// rescales it.
  double rescaleCycles(const Operator &op, int64_t parts) const;
  /// Seconds it takes to make one of the parts of the split loop, none without
  /// one.
  double combineSeconds(const Schedule &schedule) const;

  /// The same sum as `operatorCycles` in another order, which takes less time
  /// but rounds differently: over the sizes of register tiles, each with its
  /// number, and apart from how the reduction is cut.
  struct RoughCycles {
    double once = 0, perDepth = 0, perBlock = 0;

    /// The cycles of `blocks` blocks, `depths` for one reduction.
    double of(int64_t blocks, int64_t depths) const {
      return once + (depths - 1) * perDepth + blocks * perBlock;
    }
  };
  RoughCycles roughCycles(const Operator &op, llvm::ArrayRef<Parts> rows,
                          llvm::ArrayRef<Parts> vectors) const;

  /// Packs the vector operands that cannot be used in place, and packs or
  /// stages those for which the copy is cheaper than cache conflicts and short
  /// runs.
  void choosePacking(Schedule &schedule) const;

  /// How a vector operand that can be staged comes in, if the levels outside
  /// the innermost are decided.
  struct Arrival {
    const Operator *op = nullptr;
    const Access *operand = nullptr;
    /// Into the level outside the innermost.
    int64_t bytes = 0;
    /// Of the transfer from memory at full speed; nothing if a call finds the
    /// operand in the outermost level.
    double memorySeconds = 0;
    /// What the levels outside the innermost leave of each loop, and what all
    /// do.
    llvm::SmallVector<int64_t, 6> outerTiles, tiles;
  };
  /// Those of `schedule`, whose innermost level need not be decided.
  llvm::SmallVector<Arrival, 2> arrivalsAt(const Schedule &schedule) const {
    return mayStage ? arrivalsAt(schedule, workOf(schedule))
                    : llvm::SmallVector<Arrival, 2>();
  }
  /// How an operand gets from where it lies to the micro kernel.
  enum class Way { InPlace, Packed, Staged };
  static Way wayOf(const Schedule &schedule, TensorId tensor);
  /// The tasks that the parallel loops make.
  struct Tasks {
    int64_t count = 1;
    /// Share of the whole work that the busiest thread does.
    double busiestShare = 1;
  };

  /// Seconds that nothing hides: of short runs from memory, where the innermost
  /// tiles are `tiles`, and of staging.
  double arrivalSeconds(const Arrival &arrival, llvm::ArrayRef<int64_t> tiles,
                        Way way, const Tasks &tasks) const;

  /// True of tiles of matrices; what windows read again in rows of images lies
  /// closer together.
  bool waitsForCollisions(const Operator &op, const Access &operand) const;
  /// Seconds that `bytes` of tiles `tiles` of `operand`, read in pieces of
  /// `piece` bytes, take into the innermost level beyond its bandwidth: if
  /// their lines evict each other, they come page by page.
  double collidingSeconds(const Access &operand, llvm::ArrayRef<int64_t> tiles,
                          int64_t bytes, int64_t piece,
                          const Tasks &tasks) const;
  /// The same of what kernels read in place, `read` bytes of which the schedule
  /// moves `moved` into the innermost level, beside the arithmetic. What comes
  /// into the level outside is fetched ahead, what is read again from there is
  /// not.
  double rereadSeconds(const Schedule &schedule, const Access &operand,
                       llvm::ArrayRef<int64_t> tiles, int64_t read,
                       int64_t moved, const Tasks &tasks) const;
  /// The same of the partial sums that operator `op` reads again of its result.
  double partialSumSeconds(const Schedule &schedule, const Operator &op,
                           llvm::ArrayRef<int64_t> tiles,
                           const Traffic &traffic, const Tasks &tasks) const;
  /// Seconds that nothing hides, to get again what evicts itself from the level
  /// outside the innermost, of `read` bytes of the vector operand of operator
  /// `op`.
  double outsideSeconds(const Schedule &schedule, unsigned op,
                        const Access &operand, llvm::ArrayRef<int64_t> tiles,
                        int64_t read, const Tasks &tasks) const;
  /// Seconds of packing `moved` bytes of `operand` by tiles `tiles`.
  double copySeconds(const Schedule &schedule, const Operator &op,
                     const Access &operand, llvm::ArrayRef<int64_t> tiles,
                     int64_t moved, const Tasks &tasks) const;
  /// Bytes of a row of `operand` that a kernel reads side by side.
  int64_t pieceBytes(const Schedule &schedule, const Access &operand,
                     llvm::ArrayRef<int64_t> tiles) const;

  /// Bytes that could come into the innermost level while it gets lines of
  /// `bytes` of `operand` again that kernels read but once. They go down a
  /// panel, as wide as their register tile, before the next. Of each row, the
  /// line that the next panel starts in, if this one has a part of it, and the
  /// one that the hardware fetches ahead are gone when they are read, if their
  /// sets have no room for all.
  double lostBytes(const Schedule &schedule, const Access &operand,
                   llvm::ArrayRef<int64_t> tiles, int64_t bytes) const;

  /// Seconds of packing on one core that no plan can avoid, if `bytesOf` says
  /// how much of a tensor reaches the innermost level.
  double
  unavoidablePacking(llvm::function_ref<int64_t(TensorId)> bytesOf) const;

  /// True if no two operators read the same vector operand.
  bool operandsArePrivate() const;

  /// What an operand whose lines collide in the innermost level costs: seconds
  /// of packing on one core, or bytes more than are moved anyway.
  struct ConflictCost {
    double packing = 0;
    int64_t bytes = 0;
    /// True if it can be staged instead.
    bool canStage = false;
  };
  /// The cost of the vector operand of `op`, if it is not strided but collides.
  std::optional<ConflictCost>
  conflictCost(const Operator &op, llvm::ArrayRef<int64_t> tiles,
               llvm::ArrayRef<PartList> parts, const RegisterTile &tile,
               llvm::function_ref<int64_t(TensorId)> bytesOf) const;

  /// Bytes a plan may fill at `level`, for each of the threads that share it.
  int64_t capacityAt(const Schedule &schedule, unsigned level) const;

  llvm::SmallVector<int64_t, 4> capacitiesOf(const Schedule &schedule) const;

  Tasks tasksOf(const Schedule &schedule) const;
  /// Those of parallel `loops` where the loops of the problem have `sizes`.
  Tasks tasksOf(llvm::ArrayRef<NestLoop> loops,
                llvm::ArrayRef<int64_t> sizes) const;
  /// The share of the work that the thread with most of it has, if masks leave
  /// rows of different length to tasks.
  std::optional<double> busiestOfMask(const Schedule &schedule,
                                      const LoopNest &tree) const;
  /// `count` tasks that are all alike.
  Tasks evenTasks(int64_t count) const;
  /// Parts of the split loop; 1 without one.
  int64_t countSplitParts(const Schedule &schedule) const;
  /// The outermost level that is each thread's own, if passes leave lines there
  /// that the chain reads.
  std::optional<unsigned> levelOfPasses() const;
  /// Seconds that these passes wait for lines which other threads have read.
  double handoverSeconds(const Schedule &schedule) const;
  /// A parallel loop, and the number of its iterations.
  struct ThreadLoop {
    LoopId loop = 0;
    int64_t trips = 1;
  };
  llvm::SmallVector<ThreadLoop, 4>
  threadLoopsOf(const Schedule &schedule) const;
  /// The share of a tensor that each thread uses but does not own, if each owns
  /// as much of it, in the order of memory, as any other.
  double foreignShare(const Access &access,
                      llvm::ArrayRef<ThreadLoop> loops) const;
  /// Seconds to start a kernel with these tasks.
  double startSeconds(const Tasks &tasks) const;
  /// Bytes per second that all busy threads together bring into `level`, where
  /// what is there already counts: no end of them if that is all.
  double bandwidth(const Tasks &tasks, unsigned level) const;
  /// Of what crosses the boundary of `level`, the bytes that take another way
  /// out than the one by which it is filled: results, where programs move them
  /// along routes of their own.
  int64_t leavingBytes(unsigned level) const {
    return level + 1 == machine.levels.size() ? resultBytes : 0;
  }

private:
  static llvm::SmallVector<RegisterTile, 8> tilesOf(const Machine &machine) {
    if (!machine.matrix) {
      llvm::SmallVector<RegisterTile, 8> tiles;
      if (machine.hasRegisterTiles)
        tiles = maximalRegisterTiles(machine.unit);
      for (const KernelShape &kernel : machine.kernels)
        tiles.push_back(kernelTile(machine.unit, kernel));
      return tiles;
    }
    if (machine.groups)
      return {groupTile(*machine.matrix, *machine.groups)};
    return maximalMatrixTiles(*machine.matrix);
  }

  /// What the path to an operator makes of its work.
  struct Work {
    llvm::SmallVector<PartList, 6> parts;
    /// How often all of it is repeated (recomputation).
    int64_t repeats = 1;
    /// Parts in which the softmax is made that rescales the output.
    int64_t rescales = 1;
    /// Elements of a rolling output that move in its buffer, all in all.
    int64_t keptElements = 0;
  };
  std::vector<Work> workOf(const Schedule &schedule) const;
  int64_t countSoftmaxParts(const Path &path, LoopId loop) const;
  /// Cycles that parts of a softmax take besides those for each element.
  double softmaxPartCycles(const Operator &op, const Work &work) const;
  llvm::SmallVector<Arrival, 2> arrivalsAt(const Schedule &schedule,
                                           llvm::ArrayRef<Work> works) const;
  /// The size of the largest part of each loop.
  static llvm::SmallVector<int64_t, 6>
  largestOf(llvm::ArrayRef<PartList> parts);
  double leastCycles() const;
  double leastVisitedShare() const;
  int64_t countKept(const Operator &op, const Path &path,
                    const Work &work) const;
  double arithmeticCycles(const Schedule &schedule,
                          llvm::ArrayRef<Work> works) const;
  double leastKernelCycles(const KernelShape &kernel) const;
  double countResultVectors(const Operator &op) const;
  double countLeastMultiplyAdds() const;
  /// How the groups of the tasks that a core runs at a time share its units:
  /// the best case, if nothing is known of a schedule.
  struct Occupancy {
    /// Tasks at a time.
    int64_t tasks = mostTasks;
    /// How much longer products take as units are left over, and everything
    /// else as groups wait for themselves.
    double idle = 1, waiting = 1;

    /// More would not shorten anything that is counted.
    static constexpr int64_t mostTasks = 8;
  };
  Occupancy occupancyOf(const Schedule &schedule) const;
  /// What the blocks of an operator come to: how many there are, and the cycles
  /// that all take.
  struct BlockCycles {
    double count = 0, cycles = 0;
  };
  /// Of `op`, where threads hold what they compute.
  BlockCycles groupCycles(const Operator &op,
                          llvm::ArrayRef<llvm::ArrayRef<Parts>> parts,
                          const RegisterTile &tile,
                          const Occupancy &occupancy) const;
  /// Cycles that cores wait as operators start loops of their own.
  double restartCyclesOf(const LoopNest &tree) const;
  /// Cycles that cores wait inside loops for tiles that are on their way, if
  /// the blocks of each operator come to `blocks`.
  double arrivalCyclesOf(const Schedule &schedule, const LoopNest &tree,
                         llvm::ArrayRef<BlockCycles> blocks,
                         const Occupancy &occupancy) const;
  double groupEpilogueCycles(const Operator &op) const;
  /// How many times as many elements as there are the epilogue of `op` works
  /// on.
  double groupEpilogueShare(const Operator &op,
                            llvm::ArrayRef<llvm::ArrayRef<Parts>> parts) const;
  double panelDecodingCycles(const Operator &op, int64_t columns) const;
  /// The instructions that decode a vector of codes for `rows` rows.
  double decodeInstructionsOf(const Operator &op, int64_t rows) const;
  /// Steps of the reduction that an instruction of the vector unit multiplies
  /// at once. For several, single elements must lie side by side.
  struct Neighbours {
    int64_t count = 1;
    bool areCopied = false;
  };
  Neighbours neighboursOf(const Operator &op) const;
  bool haveNeighbours(const Operator &op, const Access &elements) const;
  double copyCycles(int64_t elements, bool isTransposed,
                    double crossing = 0) const;
  double groupRescaleCycles(const Operator &op, int64_t parts) const;
  double groupCombineCycles(const Schedule &schedule, int64_t parts) const;
  double matrixCycles(const Operator &op,
                      llvm::ArrayRef<llvm::ArrayRef<Parts>> parts,
                      const RegisterTile &tile) const;
  double tileSumSeconds(const Evaluation &innermost, const Tasks &tasks) const;

  /// True if vectors of the operand run along the reduction instead: for a few
  /// rows an inner product takes no longer than to read it.
  bool isReadInRows(const Operator &op, const Access &operand) const;
  /// The matrix that `op` multiplies so; null if there is none.
  const Access *matrixReadInRows(const Operator &op) const;
  double innerProductCycles(const Operator &op, const Access &matrix,
                            llvm::ArrayRef<llvm::ArrayRef<Parts>> parts) const;
  bool isReadUnpacked(const Schedule &schedule, const Operator &op,
                      const Access &operand) const;
  bool readsRuns(const Schedule &schedule, const Operator &op,
                 const Access &input) const;
  double readingSeconds(const Schedule &schedule, const Operator &op,
                        llvm::ArrayRef<int64_t> tiles,
                        const Tasks &tasks) const;
  /// Rows of `operand` of which blocks of `op` with these tiles read a piece
  /// before they come to the next piece of the first.
  int64_t rowsOfPiece(const Schedule &schedule, const Operator &op,
                      const Access &operand,
                      llvm::ArrayRef<int64_t> tiles) const;
  /// Bytes that could come from memory while pieces of more rows are waited for
  /// than a processor follows.
  double brokenRunBytes(const Schedule &schedule,
                        llvm::ArrayRef<Work> works) const;
  /// Bytes that could come into the level outside the innermost while short
  /// runs are looked for in the outermost.
  double shortRunBytes(const Schedule &schedule,
                       llvm::ArrayRef<Work> works) const;
  /// The matrix that `op` reads in the order of its rows, along columns or, for
  /// inner products, along the reduction.
  const Access *operandInOrder(const Operator &op) const;
  /// Bytes that could come into that level while it takes turns between
  /// streams: for all but matrices that are read in order.
  double besideBytes(const Evaluation &evaluation, int64_t leaving) const;
  bool needsPacking(const Operator &op, const Access &operand) const;
  double crossingShare(const Operator &op, const Access &access) const;
  double crossingShareOfCopy(const Operator &op, const Access &operand,
                             const Work &work) const;
  CrossingVectors crossingVectors(const Schedule &schedule, const Operator &op,
                                  const Work &work) const;
  double crossingSeconds(const Schedule &schedule, const Operator &op,
                         const Access &operand, const Work &work,
                         const Tasks &tasks) const;
  bool isStrided(const Operator &op, const Access &operand) const;
  /// True if the lines of the operand's tile evict each other from `level`.
  bool conflicts(const Access &operand, llvm::ArrayRef<int64_t> tiles,
                 unsigned level) const;
  /// The share of these lines that their sets in `level` have no room for.
  double crowdedShare(const Access &operand, llvm::ArrayRef<int64_t> tiles,
                      unsigned level) const;
  double computeCrowdedShare(const Access &operand,
                             llvm::ArrayRef<int64_t> tiles,
                             const MemoryLevel &cache) const;
  /// True if the tile of `operand` collides in the level outside the innermost,
  /// which then keeps none of it.
  bool collidesOutside(const Schedule &schedule, unsigned op,
                       const Access &operand) const;
  /// Bytes that neighbour each other in memory in a tile of `operand`.
  int64_t runBytes(const Access &operand, llvm::ArrayRef<int64_t> tiles) const;
  int64_t matrixBytes(const Operator &op, const Access &operand) const;
  /// True if `operand` may be copied where it enters the level outside the
  /// innermost; see Schedule::staged.
  bool canStage(const Operator &op, const Access &operand) const;
  llvm::SmallVector<double, 4> findMissShares() const;
  bool findStageable() const;
  /// What the loops of the levels outside the innermost leave of each loop.
  llvm::SmallVector<int64_t, 6> outerTiles(const Schedule &schedule,
                                           unsigned op) const;
  /// Bytes that reach the innermost level if `operand` is used in place but
  /// does not stay there from one row of register tiles to the next.
  int64_t refetchedBytes(const Operator &op, const Access &operand,
                         llvm::ArrayRef<PartList> parts,
                         const RegisterTile &tile) const;
  bool isOfSoftmax(unsigned op, LoopId column) const;
  /// The share of its iterations that masks leave an operator: in tiles that
  /// loops around all operators make, and in the blocks of its own loops.
  struct Visited {
    double byTiles = 1, byProducts = 1;
  };
  /// `tree` are the loops of the innermost level.
  Visited visitedBy(const Schedule &schedule, const LoopNest &tree,
                    unsigned op) const;
  /// Bytes into the innermost level of constants that stream past sums in
  /// registers.
  int64_t streamedBytes(const Schedule &schedule,
                        const Evaluation &innermost) const;
  void addLevel(Stages &stages, const Schedule &schedule, unsigned level,
                const Evaluation &evaluation, double seconds,
                const Tasks &tasks) const;
  int64_t softmaxBytes(const Schedule &schedule, unsigned level) const;
  int64_t allocatedBytes(const Schedule &schedule, unsigned level,
                         const Evaluation &evaluation) const;
  double packingSeconds(const Operator &op, const Access &operand,
                        int64_t bytes) const;
  /// Bytes of an input that are packed if `moved` come into the innermost
  /// level: every task packs for itself, though one thread that runs several
  /// finds there what the one before has read.
  int64_t packedBytes(const Schedule &schedule, TensorId tensor,
                      int64_t moved) const;

  const ChainStructure &structure;
  const ChainProblem &problem;
  const Machine &machine;
  int64_t threads;
  llvm::SmallVector<RegisterTile, 8> registerTiles;
  /// True if some operand may be staged.
  bool mayStage = findStageable();
  /// The multiply-adds of all operators without taps on padding.
  double leastMultiplyAdds = countLeastMultiplyAdds();
  double leastShareKnown = leastVisitedShare();
  /// What results take, each once; nothing where they have no route.
  int64_t resultBytes = countResultBytes();
  /// The share of transfers into each level that is left, since a call finds
  /// there what the call before has left.
  llvm::SmallVector<double, 4> missShares = findMissShares();

  /// What moves from memory and into the level outside the innermost. The
  /// innermost level does not matter to either, so that many candidates in a
  /// row share it.
  struct OuterTraffic {
    llvm::SmallVector<int64_t, 32> key;
    decltype(Evaluation::traffic) fromMemory, staged;
  };
  int64_t countResultBytes() const;
  const OuterTraffic &outerTrafficOf(const Schedule &schedule) const;
  mutable OuterTraffic lastOuterTraffic;

  mutable double leastCyclesKnown = -1;

  /// The cycles of one register tile, apart from the depth.
  struct TileFigures {
    double step = 0, fresh = 0, loaded = 0;
  };
  TileFigures computeFigures(int64_t rows, int64_t vectors, int64_t neighbours,
                             double decodeInstructions) const;
  const TileFigures &figuresOf(int64_t rows, int64_t vectors,
                               int64_t neighbours) const;
  /// Without and with dot products.
  mutable std::array<std::vector<TileFigures>, 2> tileFigures;

  mutable std::map<std::pair<int64_t, int64_t>, llvm::SmallVector<unsigned, 8>>
      registerTileCache;
  mutable std::map<llvm::SmallVector<int64_t, 6>, double> crowdedShares;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_COST_COSTMODEL_H
