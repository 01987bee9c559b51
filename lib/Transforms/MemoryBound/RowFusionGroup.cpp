//===- RowFusionGroup.cpp - Operations that share loops over rows ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group grows from its root along operands. A producer that does not fit is
// set aside and the group grown again without it, so that what was added on its
// behalf goes too.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/RowFusionGroup.h"

#include "MemoryBound/MemoryBoundOps.h"

#include "Chimera/IR/ElementBytes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <tuple>

using namespace mlir;
using namespace chimera;

linalg::LinalgOp RowFusionGroup::getRoot() const {
  return cast<linalg::LinalgOp>(members.back().first);
}

std::optional<unsigned> RowFusionGroup::getRow(Operation *op,
                                               unsigned loop) const {
  const SmallVector<unsigned> &loops = members.find(op)->second;
  const unsigned *found = llvm::find(loops, loop);
  if (found == loops.end())
    return std::nullopt;
  return found - loops.begin();
}

bool chimera::canBeMember(linalg::LinalgOp op) {
  if (findObstacle(op) || op->getNumResults() == 0)
    return false;
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
    return matchPattern(fill.getInputs()[0], m_Constant());
  return isa<linalg::GenericOp>(op) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

namespace {

class GroupFinder {
public:
  GroupFinder(linalg::LinalgOp root, unsigned depth)
      : root(root), depth(depth) {}

  RowFusionGroup find();

private:
  /// The loops over rows of an operation; nothing if it has none that fit.
  using Rows = std::optional<SmallVector<unsigned>>;

  bool grow();
  Rows getRootRows();
  Rows getProducerRows(OpOperand &use, ArrayRef<unsigned> consumerRows);
  Operation *findOutsider(OpOperand &use);
  Operation *findDetour();
  void sortMembers();

  linalg::LinalgOp root;
  unsigned depth;
  llvm::DenseSet<Operation *> excluded;
  RowFusionGroup group;
};

} // namespace

/// True if every result of `op` is cut by all of `rows`.
static bool cutsAllResults(linalg::LinalgOp op, ArrayRef<unsigned> rows) {
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    return llvm::all_of(
        rows, [&](unsigned loop) { return map.isFunctionOfDim(loop); });
  });
}

GroupFinder::Rows GroupFinder::getRootRows() {
  AffineMap output = root.getIndexingMapsArray().back();
  SmallVector<unsigned> rows;
  for (unsigned i = 0; i < depth; ++i)
    rows.push_back(output.getDimPosition(i));
  bool areParallel = llvm::all_of(rows, [&](unsigned loop) {
    return root.getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
  });
  if (!areParallel || !cutsAllResults(root, rows))
    return std::nullopt;
  return rows;
}

/// The loops of the producer of `use` that make the rows that the consumer
/// reads.
GroupFinder::Rows
GroupFinder::getProducerRows(OpOperand &use, ArrayRef<unsigned> consumerRows) {
  auto result = cast<OpResult>(use.get());
  auto producer = cast<linalg::LinalgOp>(result.getOwner());
  auto consumer = cast<linalg::LinalgOp>(use.getOwner());
  AffineMap read = consumer.getMatchingIndexingMap(&use);
  AffineMap written =
      producer.getMatchingIndexingMap(producer.getTiedOpOperand(result));
  SmallVector<unsigned> rows;
  for (unsigned loop : consumerRows) {
    std::optional<unsigned> dim =
        read.getResultPosition(getAffineDimExpr(loop, consumer.getContext()));
    if (!dim)
      return std::nullopt;
    rows.push_back(written.getDimPosition(*dim));
  }
  if (!cutsAllResults(producer, rows))
    return std::nullopt;
  return rows;
}

/// Adds the producer of what `use` reads. If that is or was made a member that
/// does not fit, returns it.
Operation *GroupFinder::findOutsider(OpOperand &use) {
  auto consumer = cast<linalg::LinalgOp>(use.getOwner());
  bool isRead =
      consumer.isDpsInput(&use) || consumer.payloadUsesValueFromOperand(&use);
  auto producer = use.get().getDefiningOp<linalg::LinalgOp>();
  // What fills an accumulator is made anew for every group of rows.
  if (!isRead || !producer || producer->getBlock() != root->getBlock() ||
      isa<linalg::FillOp>(producer.getOperation()) ||
      excluded.contains(producer) || !canBeMember(producer))
    return nullptr;
  Rows rows = getProducerRows(use, group.members[consumer]);
  if (!rows)
    return producer;
  auto [known, isNew] = group.members.insert({producer, *rows});
  return isNew || known->second == *rows ? nullptr : producer.getOperation();
}

/// A member from which a path leads to another through an operation that is
/// none, if there is one. Otherwise notes what has to move behind the root.
Operation *GroupFinder::findDetour() {
  group.delayed.clear();
  llvm::DenseMap<Operation *, Operation *> origins;
  Operation *end = root->getNextNode();
  for (Operation *op = group.members.front().first; op != end;
       op = op->getNextNode()) {
    Operation *origin = nullptr;
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    for (Value value : read) {
      Operation *definition = value.getDefiningOp();
      if (Operation *known = origins.lookup(definition))
        origin = known;
      else if (group.has(definition) && !group.has(op))
        origin = definition;
    }
    if (!origin)
      continue;
    if (group.has(op) || !isMemoryEffectFree(op))
      return origin;
    origins[op] = origin;
    group.delayed.push_back(op);
  }
  return nullptr;
}

void GroupFinder::sortMembers() {
  auto members = group.members.takeVector();
  llvm::sort(members, [](const auto &left, const auto &right) {
    return left.first->isBeforeInBlock(right.first);
  });
  for (auto &member : members)
    group.members.insert(std::move(member));
}

/// Grows a group without what is excluded. False if that led to more that has
/// to be.
bool GroupFinder::grow() {
  group.members.clear();
  Rows rows = getRootRows();
  if (!rows)
    return true;
  group.members.insert({root, *rows});
  // Members are added while their consumers are looked at.
  for (size_t i = 0; i < group.members.size(); ++i)
    for (OpOperand &use : (group.members.begin() + i)->first->getOpOperands())
      if (Operation *outsider = findOutsider(use)) {
        excluded.insert(outsider);
        return false;
      }
  sortMembers();
  if (Operation *detour = findDetour()) {
    excluded.insert(detour);
    return false;
  }
  return true;
}

RowFusionGroup GroupFinder::find() {
  while (!grow())
    ;
  if (!group.members.empty())
    for (unsigned loop : group.members.back().second)
      group.extents.push_back(root.getStaticLoopRanges()[loop]);
  return std::move(group);
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

namespace {

/// What a group of rows costs.
struct GroupFigures {
  /// Bytes of all tensors for one step of the innermost loop over rows.
  double rowBytes = 0;
  /// Elements computed, in units of plain arithmetic.
  double work = 0;
  /// Rows come in multiples of this.
  int64_t unit = 1;
};

} // namespace

/// How many times the arithmetic of one element the functions of a body cost.
static constexpr double expensiveWork = 8;
/// Less work than this is done by the time other threads have started.
static constexpr double leastParallelWork = 16 * 1024;

/// Bytes of the part of `operand` that one step of the innermost loop over rows
/// touches; nothing if it is the same for all steps.
static double getRowBytes(const RowFusionGroup &group, OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  unsigned innermost = group.members.find(op)->second.back();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!type || !map.isFunctionOfDim(innermost))
    return 0;
  double bytes = bytesOf(type.getElementType());
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    if (!group.getRow(op, map.getDimPosition(dim)))
      bytes *= extent;
  return bytes;
}

/// True if vectors run along the innermost loop over rows in `operand`, which
/// has other dimensions.
static bool isAlongRows(const RowFusionGroup &group, OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  unsigned numResults = map.getNumResults();
  return numResults > group.extents.size() &&
         map.getDimPosition(numResults - 1) ==
             group.members.find(op)->second.back();
}

static GroupFigures getFigures(const RowFusionGroup &group,
                               const model::Machine &machine) {
  GroupFigures figures;
  llvm::DenseSet<Value> seen;
  unsigned rootRank =
      group.getRoot().getIndexingMapsArray().back().getNumResults();
  bool alongRows = group.extents.size() == rootRank;
  for (const auto &[op, rows] : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    double work = isExpensive(*linalgOp.getBlock()) ? expensiveWork : 1;
    for (int64_t extent : linalgOp.getStaticLoopRanges())
      work *= extent;
    figures.work += work;
    for (OpOperand &operand : op->getOpOperands()) {
      // An output counts as the result it becomes.
      Value value = linalgOp.isDpsInit(&operand)
                        ? linalgOp.getTiedOpResult(&operand)
                        : operand.get();
      if (seen.insert(value).second)
        figures.rowBytes += getRowBytes(group, operand);
      alongRows |= isAlongRows(group, operand);
    }
  }
  if (alongRows)
    figures.unit = std::max<int64_t>(1, machine.unit.lanes);
  return figures;
}

//===----------------------------------------------------------------------===//
// The best group
//===----------------------------------------------------------------------===//

/// The part of the innermost level but one that a task may take: the other half
/// holds the rows of the task before, on their way out.
static double getPassingBytes(const model::Machine &machine) {
  size_t size = machine.levels.size();
  return machine.levels[size > 1 ? size - 2 : 0].usableBytes() / 2.0;
}

/// True if `tasks` equal tasks leave hardly any of `threads` threads idle.
static bool keepsBusy(double tasks, int64_t threads) {
  return tasks >= 0.8 * threads * std::ceil(tasks / threads);
}

RowFusionGroup chimera::findRowGroup(linalg::LinalgOp root,
                                     const model::Machine &machine,
                                     int64_t threads) {
  unsigned rank = root.getIndexingMapsArray().back().getNumResults();
  if (rank == 0) {
    RowFusionGroup alone;
    alone.members.insert({root, {}});
    return alone;
  }
  // Rows are best whole; the last dimension is cut only if there is no other or
  // if rows are long.
  SmallVector<unsigned> depths;
  for (unsigned depth = rank; depth-- > 1;)
    depths.push_back(depth);
  depths.push_back(rank);

  using Score = std::tuple<bool, size_t, bool>;
  std::optional<Score> best;
  RowFusionGroup chosen;
  for (unsigned depth : depths) {
    RowFusionGroup group = GroupFinder(root, depth).find();
    if (group.members.empty())
      continue;
    GroupFigures figures = getFigures(group, machine);
    double tasks = 1.0 / figures.unit;
    for (int64_t extent : group.extents)
      tasks *= extent;
    Score score = {figures.work < leastParallelWork ||
                       keepsBusy(tasks, threads),
                   group.members.size(),
                   figures.rowBytes * figures.unit <= getPassingBytes(machine)};
    if (best && score <= *best)
      continue;
    best = score;
    chosen = std::move(group);
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

int64_t RowTiling::countTasks(const RowFusionGroup &group) const {
  int64_t tasks = 1;
  for (auto [tile, extent] : llvm::zip_equal(tiles, group.extents))
    tasks *= llvm::divideCeil(extent, tile);
  return tasks;
}

/// Rows that reductions take together: one at a time they wait for each other.
static constexpr double leastRows = 4;

/// How many rows a task takes. Operations that follow each other want them in
/// the innermost level, unless those are too few. One alone reads them once.
static double getRowsOfTask(const RowFusionGroup &group,
                            const GroupFigures &figures,
                            const model::Machine &machine) {
  double bytes = std::max(1.0, figures.rowBytes);
  double many = getPassingBytes(machine) / bytes;
  double rows = machine.levels.back().usableBytes() / bytes;
  double least = std::max<double>(leastRows, figures.unit);
  if (group.members.size() == 1)
    rows = many;
  else if (rows < least)
    rows = std::min(least, many);
  return std::max<double>(rows, figures.unit);
}

/// Evens out the tiles of a loop of `extent` that has `others` times as many
/// tasks as trips: the same number for each thread, and no smaller one at the
/// end if that can be.
static int64_t balance(int64_t tile, int64_t extent, int64_t others,
                       int64_t threads, int64_t unit) {
  int64_t trips = llvm::divideCeil(extent, tile);
  auto isUneven = [&](int64_t trips) {
    return !keepsBusy(static_cast<double>(trips) * others, threads);
  };
  for (int64_t more = trips; more < trips + threads && more <= extent; ++more)
    if (!isUneven(more)) {
      trips = more;
      break;
    }
  tile = llvm::alignTo(llvm::divideCeil(extent, trips), unit);
  for (int64_t even = tile; even > tile / 2; even -= unit)
    if (extent % even == 0)
      return even;
  return std::min(tile, extent);
}

RowTiling chimera::chooseTiling(const RowFusionGroup &group,
                                const model::Machine &machine,
                                int64_t threads) {
  RowTiling tiling;
  if (group.extents.empty())
    return tiling;
  GroupFigures figures = getFigures(group, machine);
  tiling.isParallel = threads > 1 && figures.work >= leastParallelWork;
  int64_t wanted = tiling.isParallel ? threads : 1;

  double rows = getRowsOfTask(group, figures, machine);
  double all = 1;
  for (int64_t extent : group.extents)
    all *= extent;
  // Everybody gets something to do.
  rows =
      std::max<double>(std::min(rows, std::ceil(all / wanted)), figures.unit);
  tiling.tiles.assign(group.extents.size(), 1);
  int64_t others = 1;
  for (int64_t extent : group.extents)
    others *= extent;
  for (size_t row = group.extents.size(); row-- > 0;) {
    int64_t extent = group.extents[row];
    bool isInnermost = row + 1 == group.extents.size();
    int64_t unit = isInnermost ? figures.unit : 1;
    others /= extent;
    if (rows >= extent) {
      tiling.tiles[row] = extent;
      rows /= extent;
      continue;
    }
    int64_t tile = std::max<int64_t>(
        unit, llvm::alignDown(static_cast<int64_t>(rows), unit));
    tiling.tiles[row] = balance(tile, extent, others, wanted, unit);
    break;
  }
  tiling.isParallel &= tiling.countTasks(group) > 1;
  return tiling;
}
