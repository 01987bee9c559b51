//===- Solver.h - The search for a plan -------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of `solve`. Its parts are in Solve.cpp (parallel loops and outer
// levels), SolveParted.cpp (operators that part at an outer level),
// SolveInnermost.cpp (blocks), SolveHeld.cpp (sums that registers keep) and
// SolveForms.cpp (plans from closed forms).
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_SEARCH_SOLVER_H
#define CHIMERA_LIB_MODEL_SEARCH_SOLVER_H

#include "ClosedForm/Families.h"
#include "Search/Blocks.h"
#include "Search/NearTies.h"
#include "Search/VolumeSearch.h"

#include "Chimera/Model/Fragments.h"
#include "Chimera/Model/Routes.h"

namespace chimera::model {

class Solver {
public:
  Solver(const ChainProblem &problem, const Machine &machine,
         const SolveOptions &options)
      : problem(problem), machine(machine),
        threads(std::max<int64_t>(1, options.threads)), structure(problem),
        costModel(structure, machine, options), runnersUp(options.runnersUp),
        isExhaustive(options.isExhaustive), families(familiesOf(problem)),
        fromForms(options.tiles == TileSource::ClosedForm &&
                  hasClosedForm(problem, machine)) {}

  std::optional<Plan> run();

  /// The best plans of other orders that were priced, best first.
  llvm::SmallVector<Plan, 4> takeRunnersUp();

private:
  using Order = llvm::SmallVector<TiledLoop, 6>;

  bool indexesEverything(LoopId loop) const;
  /// True if `loop` can go around all operators.
  bool isShared(LoopId loop) const;
  bool isParallel(LoopId loop) const {
    return isShared(loop) && !problem.isReduction(loop) &&
           llvm::none_of(problem.operators, [&](const Operator &op) {
             return llvm::is_contained(op.completes, loop);
           });
  }
  std::optional<LoopId> splittableLoop() const;
  void addSplits(llvm::SmallVectorImpl<Order> &prefixes, const Order &batch,
                 int64_t tasks, LoopId loop) const;
  void classifyLoops();
  bool hasTaps() const;
  void cutTaps();
  void findOverlaps();
  llvm::SmallVector<Order, 8> parallelPrefixes() const;
  void addBlockShapes(llvm::SmallVectorImpl<Order> &prefixes,
                      const Order &batch, int64_t tasks,
                      const LoopList &loops) const;
  Order cutInto(int64_t missing, const Order &batch,
                llvm::ArrayRef<LoopId> loops) const;
  Schedule emptySchedule() const;
  unsigned parallelLevel(const Order &parallel) const;
  void markParallel(Schedule &schedule) const;
  void addInMemoryOrder(llvm::SmallVectorImpl<Order> &prefixes) const;

  bool mayLoseData() const;
  void searchAll();
  void searchFrom(Schedule schedule, unsigned level, unsigned parallelLevel,
                  const Order &parallel);
  Schedule withSmallestIntermediates(const Schedule &schedule) const;
  void searchOuter(const Schedule &schedule, unsigned level,
                   unsigned parallelLevel, const Order &parallel);
  void searchInnermost(const Schedule &schedule);

  /// Operators that run one by one inside level `level`, each with loops of its
  /// own; intermediates stay at that level.
  void searchParted(const Schedule &schedule, unsigned level);
  void searchBands(const Schedule &schedule, unsigned level);
  void tryParted(Schedule schedule, unsigned level);
  /// The best plan of operator `op` by itself on a block that leaves `sizes`
  /// iterations of each loop, for the levels inside `level`; or nothing.
  const std::optional<Plan> &planBlock(unsigned op, unsigned level,
                                       llvm::ArrayRef<int64_t> sizes);

  /// An order of the innermost level, ready for many blocks.
  struct InnerOrder {
    LoopOrder loops;
    OrderFormula shape;
    /// The places of its loops that run in parallel.
    LoopSet parallel = 0;
    int64_t capacityBytes = 0;
  };
  /// A block in the loops of an order.
  struct Candidate {
    const Block *block = nullptr;
    const InnerOrder *order = nullptr;
    double estimate = 0;
    size_t index = 0;
  };
  /// The innermost level inside decided outer ones.
  struct Innermost {
    explicit Innermost(const ChainStructure &structure) : windows(structure) {}

    Schedule schedule;
    /// The times of the outer levels.
    Stages others;
    /// Tasks that the loops decided make.
    CostModel::Tasks tasks;
    llvm::SmallVector<LoopTiles, 6> loops;
    llvm::SmallVector<CostModel::Arrival, 2> arrivals;
    /// The parts of all loops before this level cuts them.
    llvm::SmallVector<PartList, 6> parts;
    /// The loops by their places.
    llvm::SmallVector<LoopId, 6> numbering;
    /// By the places of the loops they consist of: orders, and those of which
    /// nothing is known yet.
    std::vector<std::vector<InnerOrder>> orders;
    std::vector<std::vector<const LoopOrder *>> unshaped;
    std::vector<Candidate> candidates;
    /// What the loops' tiles make of the block at hand.
    SubsetProducts tiles, trips;
    WindowTable windows;
    llvm::SmallVector<int64_t, 16> windowValues;
  };

  llvm::SmallVector<OrderFamily, 9> familiesInside(const Schedule &schedule,
                                                   unsigned level,
                                                   bool sharedOnly) const;
  void takeOuterForm(const Schedule &completed, const Schedule &schedule,
                     unsigned level, unsigned parallelLevel,
                     const Order &parallel);
  void takeInnermostForms(Innermost &level, llvm::ArrayRef<LoopId> loops);

  int64_t tileUnit(LoopId loop) const;
  bool runsOverGroups(LoopId loop) const;
  int64_t depthUnit() const;
  int64_t partOf(LoopId loop) const;
  int64_t tilePart() const;
  bool runsAlong(LoopId loop, LoopId Operator::*kernelLoop) const;
  llvm::SmallVector<int64_t, 16> kernelTiles(LoopId loop, int64_t size) const;
  void addKernelTiles(LoopId loop, int64_t size, int64_t unit,
                      llvm::SmallVectorImpl<int64_t> &tiles) const;
  llvm::SmallVector<int64_t, 4> kernelUnits(LoopId loop) const;
  llvm::SmallVector<PartList, 6> partsWithin(const Schedule &schedule) const;
  LoopTiles makeLoopTiles(const Schedule &schedule, LoopId loop,
                          llvm::ArrayRef<int64_t> tiles,
                          llvm::ArrayRef<Parts> parts) const;
  void searchBlocks(Innermost &level, llvm::ArrayRef<LoopId> loops);
  bool isLimitedByInnermost(const Plan &plan) const;
  double transferredBytes(int64_t volume) const;
  int64_t mostBytesInto(const Innermost &level) const;
  void searchLeastTraffic(Innermost &level, llvm::ArrayRef<LoopId> loops);
  bool priceChoice(Innermost &level, llvm::ArrayRef<LoopId> loops,
                   llvm::ArrayRef<TiledLoop> order);
  RegisterTile tileForHeld(const Innermost &level, const Operator &op) const;
  bool mayHold(const Operator &op) const;
  bool streams(const Schedule &schedule) const;
  void searchHeld(const Innermost &level, llvm::ArrayRef<LoopId> loops);
  int64_t panelColumns(const Operator &op, int64_t columns,
                       const RegisterTile &tile) const;
  int64_t keptColumns(LoopId loop) const;
  bool keepsPanels(const Schedule &schedule) const;
  void fitHeld(Schedule &schedule, unsigned level) const;
  void dropUnheld(Schedule &schedule) const;
  void addOrders(Innermost &level, llvm::ArrayRef<LoopId> loops);
  llvm::ArrayRef<InnerOrder> innerOrders(Innermost &level, LoopSet places);
  std::vector<Block> enumerateBlocks(const Innermost &level) const;
  double limit() const {
    return best ? best->seconds : std::numeric_limits<double>::infinity();
  }
  double leastWithArrivals(const Innermost &level,
                           llvm::ArrayRef<int64_t> tiles, double compute,
                           double transfer) const;
  static void setBlock(Innermost &level, const Block &block);
  void tryBlock(Innermost &level, const Block &block);
  void tryOrder(Innermost &level, Candidate candidate);
  llvm::ArrayRef<LoopOrder> ordersOf(const Schedule &schedule, unsigned level,
                                     llvm::ArrayRef<LoopId> loops);
  bool canWin(Innermost &level, const Candidate &candidate) const;
  bool priceCandidate(Innermost &level, const Candidate &candidate);
  void chooseRolling(Schedule &schedule) const;
  bool pricePlan(Schedule &schedule);
  bool mayShareColumns() const;
  bool priceGroups(Schedule &schedule);
  bool priceStages(Schedule &schedule, const FragmentPlan &fragments);
  bool pricePlanOf(Schedule &schedule);
  bool priceTiles(Schedule &schedule);
  double worthPricing() const;
  bool takePlan(const Plan &plan);
  void addToOrders(const Plan &plan);
  std::optional<Schedule> withWholePanels(const Schedule &schedule);
  std::optional<Schedule> withPanelsOfWords(const Schedule &schedule) const;
  double leastTimeWith(const Schedule &schedule, unsigned level,
                       int64_t bytes) const;
  /// The tiles that a level may have.
  struct TileRule {
    /// No tile of a loop is smaller, and each is a multiple of its alignment.
    llvm::SmallVector<int64_t, 6> granularity, alignment;
  };
  TileRule outerTiles() const;
  llvm::SmallVector<TileRule, 3> rulesAt(unsigned level) const;
  std::optional<TileRule>
  deeperRule(TileRule rule, int64_t depth,
             llvm::function_ref<bool(const Operator &)> wanted) const;
  std::vector<LevelChoice> leastChoices(LevelFormulas &formulas,
                                        const Schedule &schedule,
                                        llvm::ArrayRef<LoopId> loops,
                                        const TileRule &rule, int64_t bound);
  size_t mostChoices(const Schedule &schedule) const;
  static llvm::SmallVector<unsigned, 32> orderOf(const Schedule &schedule);

  unsigned innermost() const { return machine.levels.size() - 1; }
  Evaluation evaluateAt(const Schedule &schedule, unsigned level) const {
    return Evaluator(structure, schedule, level,
                     transferInto(machine.levels[level], threads))
        .run();
  }

  const ChainProblem &problem;
  const Machine &machine;
  int64_t threads;
  ChainStructure structure;
  CostModel costModel;
  unsigned runnersUp;
  bool isExhaustive;
  /// Orders with closed forms, and whether plans come from these alone.
  llvm::SmallVector<OrderFamily, 9> families;
  bool fromForms;
  /// Tiles may be smaller than is of use otherwise, since no others fit.
  bool hasSmallTiles = false;
  /// Loops over the taps of windows are cut as others are.
  bool cutsTaps = false;
  /// What blocks compute is in registers of threads.
  bool inFragments = hasFragments(problem, machine);
  /// Memories that a program is in charge of hold whole steps of the matrix
  /// unit.
  bool inSteps = inFragments || hasRoutes(problem, machine);
  bool operandsArePrivate = costModel.operandsArePrivate();
  /// Strided operands are packed at least once each, by all threads together.
  double leastPacking = costModel.unavoidablePacking([&](TensorId tensor) {
    return problem.sizeOf(tensor) * problem.tensors[tensor].elementBytes;
  }) / threads;
  /// The orders of each list of loops.
  std::map<LoopList, std::vector<LoopOrder>> orderCache;
  /// Tensors whose tiles can overlap.
  llvm::SmallVector<TensorId, 2> overlapping;
  /// Loops that index every tensor, and the others.
  LoopList batchLoops, tiledLoops;
  /// The reduction that the parallel loops at hand split.
  std::optional<TiledLoop> split;
  std::optional<Plan> best;
  /// Plans that take about as long.
  NearTies ties;
  /// The best plan of each of the best orders, sorted: those that are wanted
  /// and one more, which may be the best of all.
  std::vector<std::pair<llvm::SmallVector<unsigned, 32>, Plan>> bestOfOrders;
  /// Plans of blocks by operator, level and sizes.
  std::map<llvm::SmallVector<int64_t, 10>, std::optional<Plan>> blockPlans;
  /// The lowest estimate of all candidates seen.
  double leastEstimate = std::numeric_limits<double>::infinity();
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_SEARCH_SOLVER_H
