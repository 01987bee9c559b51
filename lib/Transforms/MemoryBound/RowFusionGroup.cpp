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

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace chimera;

RowTilingAttr chimera::getRowTiling(Operation *op) {
  return op->getAttrOfType<RowTilingAttr>(
      ChimeraDialect::getRowTilingAttrName());
}

linalg::LinalgOp RowFusionGroup::getRoot() const {
  return cast<linalg::LinalgOp>(members.back().first);
}

linalg::LinalgOp RowFusionGroup::getMember(int64_t number) const {
  return cast<linalg::LinalgOp>((members.begin() + number)->first);
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

bool chimera::isRoot(linalg::LinalgOp op) {
  if (op.getNumLoops() == 0)
    return false;
  return llvm::any_of(op->getUses(), [&](OpOperand &use) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!user || !user.isDpsInit(&use))
      return true;
    // A member overwrites memory of its own if it does not read what was there.
    return !isa<linalg::FillOp>(op) &&
           (user.payloadUsesValueFromOperand(&use) || !canBeMember(user));
  });
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

namespace {

class GroupFinder {
public:
  GroupFinder(linalg::LinalgOp root, ArrayRef<unsigned> dims,
              const TakenOperations &taken)
      : root(root), dims(dims), taken(taken) {}

  std::optional<RowFusionGroup> find();

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
  /// Of the root's last result, those that loops go over.
  ArrayRef<unsigned> dims;
  const TakenOperations &taken;
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
  for (unsigned dim : dims)
    rows.push_back(output.getDimPosition(dim));
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

/// True if `chimera-partition` has put the operations into different groups.
static bool areSeparate(Operation *left, Operation *right) {
  StringRef name = ChimeraDialect::getGroupAttrName();
  auto first = left->getAttrOfType<GroupAttr>(name);
  auto second = right->getAttrOfType<GroupAttr>(name);
  return first && second && first.getId() != second.getId();
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
      excluded.contains(producer) || taken.contains(producer) ||
      getRowTiling(producer) || areSeparate(producer, root) ||
      !canBeMember(producer))
    return nullptr;
  Rows rows = getProducerRows(use, group.members[consumer]);
  if (!rows)
    return producer;
  auto [known, isNew] = group.members.insert({producer, *rows});
  return isNew || known->second == *rows ? nullptr : producer.getOperation();
}

/// What `op` reads. Loops instead of `op` do not read memory that it
/// overwrites, unless the result belongs there.
static llvm::SetVector<Value> getReadValues(Operation *op, bool becomesLoops) {
  llvm::SetVector<Value> read;
  linalg::LinalgOp member;
  if (becomesLoops)
    member = dyn_cast<linalg::LinalgOp>(op);
  for (OpOperand &operand : op->getOpOperands())
    if (!member || !member.isDpsInit(&operand) ||
        member.payloadUsesValueFromOperand(&operand) ||
        operand.get().getDefiningOp<tensor::ExtractSliceOp>())
      read.insert(operand.get());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

/// A member from which a path leads to another through an operation that is
/// none, if there is one. Otherwise notes what has to move behind the root.
Operation *GroupFinder::findDetour() {
  group.delayed.clear();
  // The operations of another group run together, and their results are there
  // at once.
  auto unitOf = [&](Operation *op) {
    Operation *other = taken.lookup(op);
    return other ? other : op;
  };
  llvm::DenseMap<Operation *, Operation *> origins;
  Operation *end = root->getNextNode();
  for (Operation *op = group.members.front().first; op != end;
       op = op->getNextNode()) {
    Operation *origin = nullptr;
    for (Value value : getReadValues(op, taken.contains(op))) {
      Operation *definition = value.getDefiningOp();
      if (Operation *known = origins.lookup(unitOf(definition)))
        origin = known;
      else if (group.has(definition) && !group.has(op))
        origin = definition;
    }
    if (!origin)
      continue;
    if (group.has(op) || !isMemoryEffectFree(op))
      return origin;
    origins[unitOf(op)] = origin;
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

std::optional<RowFusionGroup> GroupFinder::find() {
  while (!grow())
    ;
  if (group.members.empty())
    return std::nullopt;
  for (unsigned loop : group.members.back().second)
    group.extents.push_back(root.getStaticLoopRanges()[loop]);
  return std::move(group);
}

std::optional<RowFusionGroup>
chimera::findRowGroup(linalg::LinalgOp root, ArrayRef<unsigned> dims,
                      const TakenOperations &taken) {
  if (!dims.empty())
    return GroupFinder(root, dims, taken).find();
  RowFusionGroup alone;
  alone.members.insert({root, {}});
  return alone;
}

/// The dimensions that the loops of `tiling` go over, in words.
static std::string nameLoops(RowTilingAttr tiling) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (tiling.getDims().empty()) {
    stream << "the first " << tiling.getTiles().size() << " dimension(s)";
  } else {
    stream << "dimension(s) ";
    llvm::interleaveComma(tiling.getDims(), stream);
  }
  return text;
}

FailureOr<RowFusionGroup>
chimera::findTiledGroup(linalg::LinalgOp root, const TakenOperations &taken) {
  auto fail = [&](StringRef reason) {
    return root->emitError("'") << ChimeraDialect::getRowTilingAttrName()
                                << "' cannot be applied: " << reason;
  };
  if (!canBeMember(root))
    return fail("only linalg.generic and linalg.fill on static tensors that "
                "are indexed by projected permutations get loops over rows; "
                "drop the attribute");
  if (!isRoot(root))
    return fail("nothing reads what the operation makes, but as the start of "
                "sums; drop the attribute, or put it on an operation whose "
                "result is read");
  SmallVector<unsigned> dims = getRowTiling(root).getLoopDims();
  std::optional<RowFusionGroup> group = findRowGroup(root, dims, taken);
  if (!group)
    return fail("not all results are cut by loops over " +
                nameLoops(getRowTiling(root)) +
                " of the last one; list other tiles, or none for no loops");
  if (std::optional<std::string> misuse =
          findMisuse(*group, getRowTiling(root)))
    return fail(*misuse);
  return std::move(*group);
}
