//===- RowFigures.cpp - Groups of rows in figures -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the model is told of a group, and what its members can do. Both are the
// same facts: a decision that is written by hand is held against them.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/MemoryBoundOps.h"
#include "MemoryBound/RowFusionGroup.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/ElementBytes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;

static double getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return 0;
  double bytes = bytesOf(tensor.getElementType());
  for (int64_t extent : tensor.getShape())
    bytes *= extent;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Who reads what
//===----------------------------------------------------------------------===//

bool chimera::isReadInGroup(const RowFusionGroup &group, OpResult result) {
  return llvm::any_of(result.getUsers(),
                      [&](Operation *user) { return group.has(user); });
}

bool chimera::isReadOutside(const RowFusionGroup &group, OpResult result) {
  return llvm::any_of(result.getUsers(),
                      [&](Operation *user) { return !group.has(user); });
}

bool chimera::canStoreLate(const RowFusionGroup &group, OpOperand &use) {
  auto result = dyn_cast<OpResult>(use.get());
  auto reader = dyn_cast<linalg::LinalgOp>(use.getOwner());
  if (!result || !reader || !group.has(reader) ||
      !group.has(result.getOwner()) || !isReadOutside(group, result))
    return false;
  auto maker = cast<linalg::LinalgOp>(result.getOwner());
  OpOperand *init = maker.getTiedOpOperand(result);
  AffineMap map = maker.getMatchingIndexingMap(init);
  // Not what is a number or two for each row.
  bool isRow =
      map.getNumResults() > 0 &&
      !group.getRow(maker, map.getDimPosition(map.getNumResults() - 1));
  return isRow && !maker.payloadUsesValueFromOperand(init) &&
         reader.getNumReductionLoops() > 0 && reader.isDpsInput(&use) &&
         reader.getMatchingIndexingMap(&use).getNumResults() ==
             reader.getNumLoops();
}

/// True if iterations of `first` are iterations of `second`, rows included.
static bool haveSameLoops(const RowFusionGroup &group, linalg::LinalgOp first,
                          linalg::LinalgOp second) {
  return first.getStaticLoopRanges() == second.getStaticLoopRanges() &&
         group.members.find(first)->second ==
             group.members.find(second)->second;
}

SmallVector<OpOperand *> chimera::findOwnParts(const RowFusionGroup &group,
                                               Operation *member) {
  SmallVector<OpOperand *> parts;
  auto add = [&](linalg::LinalgOp op) {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value value = operand->get();
      if (!isa<RankedTensorType>(value.getType()) ||
          group.has(value.getDefiningOp()) ||
          llvm::any_of(parts,
                       [&](OpOperand *part) { return part->get() == value; }))
        continue;
      AffineMap map = op.getMatchingIndexingMap(operand);
      auto cuts = [&](size_t row) {
        return group.extents[row] == 1 ||
               map.isFunctionOfDim(group.members.find(op)->second[row]);
      };
      if (llvm::all_of(llvm::seq(group.extents.size()), cuts))
        parts.push_back(operand);
    }
  };
  auto op = cast<linalg::LinalgOp>(member);
  add(op);
  for (const auto &other : group.members) {
    if (other.first == member)
      break;
    auto before = cast<linalg::LinalgOp>(other.first);
    if (haveSameLoops(group, before, op))
      add(before);
  }
  return parts;
}

/// True if all that becomes of `value`, maybe as a part of another tensor, is
/// that the function returns it.
static bool isHandedOut(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<FunctionOpInterface>(user->getParentOp()) &&
        user->hasTrait<OpTrait::IsTerminator>())
      return true;
    if (isReshape(user) ||
        isa<tensor::InsertSliceOp, tensor::ExtractSliceOp, tensor::CastOp>(
            user))
      return isHandedOut(user->getResult(0));
    // Somebody writes another part.
    auto op = dyn_cast<linalg::LinalgOp>(user);
    return op && op.isDpsInit(&use) && !op.payloadUsesValueFromOperand(&use);
  });
}

double chimera::countProgramBytes(FunctionOpInterface function) {
  double bytes = 0;
  Block &body = function.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments())
    bytes += getBytes(argument.getType());
  for (Operation &nested : body)
    if (isa<linalg::LinalgOp, LoopLikeOpInterface>(nested))
      for (Type type : nested.getResultTypes())
        bytes += getBytes(type);
  return bytes;
}

/// True if `op` reduces neighbours in memory side by side.
static bool reducesColumns(linalg::LinalgOp op) {
  std::optional<unsigned> dim = findVectorDim(op.getIndexingMapsArray());
  return op.getNumReductionLoops() > 0 && dim &&
         op.getIteratorTypesArray()[*dim] == utils::IteratorType::parallel;
}

//===----------------------------------------------------------------------===//
// Decisions by hand
//===----------------------------------------------------------------------===//

static bool canPassCaches(const RowFusionGroup &group, linalg::LinalgOp op) {
  return llvm::all_of(op->getResults(), [&](OpResult result) {
    return isReadOutside(group, result) && !isReadInGroup(group, result);
  });
}

std::optional<std::string> chimera::findMisuse(const RowFusionGroup &group,
                                               RowTilingAttr tiling) {
  auto count = static_cast<int64_t>(group.members.size());
  SmallVector<int64_t> listed(tiling.getStreamed());
  llvm::append_range(listed, tiling.getAhead());
  llvm::append_range(listed, tiling.getLate());
  for (auto [number, rows] : tiling.getRowwisePairs())
    listed.push_back(number);
  for (int64_t number : listed)
    if (number >= count)
      return llvm::formatv("there is no member {0}, only {1}", number, count);
  for (int64_t number : tiling.getStreamed())
    if (!canPassCaches(group, group.getMember(number)))
      return llvm::formatv("member {0} cannot send past the caches what other "
                           "members read; say under 'late' who stores it",
                           number);
  for (auto [number, rows] : tiling.getRowwisePairs())
    if (!reducesColumns(cast<linalg::LinalgOp>(group.getMember(number))))
      return llvm::formatv("member {0} does not reduce along columns, so there "
                           "are no rows that it could read at once",
                           number);
  for (auto [maker, storer] : tiling.getLatePairs()) {
    Operation *by = group.getMember(storer);
    bool isStored =
        llvm::any_of(group.getMember(maker)->getUses(), [&](OpOperand &use) {
          return use.getOwner() == by && canStoreLate(group, use);
        });
    if (!isStored)
      return llvm::formatv("member {0} does not add up, element by element, "
                           "what member {1} makes for others as well",
                           storer, maker);
  }
  for (int64_t number : tiling.getAhead())
    if (findOwnParts(group, group.getMember(number)).empty())
      return llvm::formatv("neither member {0} nor one before it with the same "
                           "loops reads a tensor from outside of which each "
                           "task has a part of its own",
                           number);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

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

/// The loop over rows along which the input of a copy is contiguous, if that is
/// another than the last one, which its result is contiguous along.
static std::optional<size_t> findTurned(const RowFusionGroup &group) {
  linalg::LinalgOp root = group.getRoot();
  if (group.members.size() > 1 || !isMovement(root))
    return std::nullopt;
  AffineMap input = root.getIndexingMapsArray().front();
  if (input.getNumResults() == 0)
    return std::nullopt;
  std::optional<unsigned> row =
      group.getRow(root, input.getDimPosition(input.getNumResults() - 1));
  if (!row || *row + 1 == group.extents.size())
    return std::nullopt;
  return *row;
}

/// True if no member has its vectors along another loop than the innermost one
/// over rows, as a sum of each row has.
static bool areVectorsAlongRows(const RowFusionGroup &group) {
  return llvm::all_of(group.members, [](const auto &member) {
    auto op = cast<linalg::LinalgOp>(member.first);
    std::optional<unsigned> dim = findVectorDim(op.getIndexingMapsArray());
    return !dim || *dim == member.second.back();
  });
}

/// The members that can store `result`.
static SmallVector<size_t, 2> findSums(const RowFusionGroup &group,
                                       OpResult result) {
  SmallVector<size_t, 2> sums;
  for (size_t number = 0; number < group.members.size(); ++number)
    if (llvm::any_of(result.getUses(), [&](OpOperand &use) {
          return use.getOwner() == group.getMember(number) &&
                 canStoreLate(group, use);
        }))
      sums.push_back(number);
  return sums;
}

/// The tensor that `init` is, or is a part of.
static RankedTensorType getWhole(Value init) {
  while (auto slice = init.getDefiningOp<tensor::ExtractSliceOp>())
    init = slice.getSource();
  return cast<RankedTensorType>(init.getType());
}

static model::RowMember describeMember(const RowFusionGroup &group,
                                       linalg::LinalgOp op) {
  model::RowMember member;
  // Windows that overlap are not read in rows, and are more than there is.
  if (reducesColumns(op))
    for (OpOperand *input : op.getDpsInputOperands())
      if (Operation *maker = input->get().getDefiningOp();
          !group.has(maker) && !isa_and_present<WindowsOp>(maker))
        member.columnBytes =
            std::max(member.columnBytes, getBytes(input->get().getType()));
  for (OpResult result : op->getResults()) {
    model::RowResult &made = member.results.emplace_back();
    RankedTensorType whole = getWhole(op.getTiedOpOperand(result)->get());
    made.bytes = getBytes(whole);
    if (whole.getRank() > 1)
      made.rowElements = whole.getShape().back();
    made.isReadByMembers = isReadInGroup(group, result);
    made.isReadOutside = isReadOutside(group, result);
    made.isReadLater = !isHandedOut(result);
    made.sums = findSums(group, result);
  }
  return member;
}

/// Says of each tensor from outside who asks for it: the last one that calls
/// functions while it reads it; or else the last one that could read it again,
/// from a cache, since another member has.
static void findLastReaders(const RowFusionGroup &group,
                            model::RowGroup &figures) {
  llvm::MapVector<Value, size_t> busy, near;
  llvm::DenseSet<Value> seen;
  for (auto [number, member] : llvm::enumerate(group.members)) {
    bool isBusy = countWork(cast<linalg::LinalgOp>(member.first)).functions > 0;
    for (OpOperand *operand : findOwnParts(group, member.first)) {
      if (isBusy && operand->getOwner() == member.first)
        busy[operand->get()] = number;
      if (!seen.insert(operand->get()).second)
        near[operand->get()] = number;
    }
  }
  for (auto [value, number] : near)
    busy.insert({value, number});
  for (auto [value, number] : busy) {
    double &most = figures.members[number].ownBytes;
    most = std::max(most, getBytes(value.getType()));
  }
}

model::RowGroup chimera::getFigures(const RowFusionGroup &group,
                                    double programBytes) {
  model::RowGroup figures;
  figures.extents.assign(group.extents.begin(), group.extents.end());
  figures.numOperations = group.members.size();
  figures.cutsRows =
      group.extents.size() ==
      group.getRoot().getIndexingMapsArray().back().getNumResults();
  figures.hasVectorsAlongRows = figures.cutsRows && areVectorsAlongRows(group);
  if (figures.cutsRows)
    figures.turned = findTurned(group);
  figures.elementBytes =
      bytesOf(getElementTypeOrSelf(group.getRoot()->getResults().back()));
  figures.programBytes = programBytes;
  for (const auto &[op, rows] : group.members)
    figures.members.push_back(
        describeMember(group, cast<linalg::LinalgOp>(op)));
  findLastReaders(group, figures);
  llvm::DenseSet<Value> seen;
  for (const auto &[op, rows] : group.members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    double elements = 1;
    for (int64_t extent : linalgOp.getStaticLoopRanges())
      elements *= extent;
    (countWork(linalgOp).functions > 0 ? figures.functionElements
                                       : figures.plainElements) += elements;
    for (OpOperand &operand : op->getOpOperands()) {
      // An output counts as the result it becomes.
      Value value = linalgOp.isDpsInit(&operand)
                        ? linalgOp.getTiedOpResult(&operand)
                        : operand.get();
      if (seen.insert(value).second)
        figures.rowBytes += getRowBytes(group, operand);
      figures.hasVectorsAlongRows |= isAlongRows(group, operand);
    }
  }
  return figures;
}
