//===- MemoryProgram.cpp - A group that waits for memory ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryProgram.h"

#include "Chimera/IR/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallSet.h"

#include <numeric>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

const MemoryMember *MemoryProgram::getMember(Operation *op) const {
  const MemoryMember *found = llvm::find_if(
      members, [&](const MemoryMember &member) { return member.op == op; });
  return found == members.end() ? nullptr : found;
}

/// True if a tensor of `type` can be read or written by a kernel.
static bool isKnownTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 0)
    return false;
  Type element = tensor.getElementType();
  return isa<Float16Type, BFloat16Type, Float32Type>(element) ||
         (element.isInteger() && llvm::isPowerOf2_32(bytesOf(element)) &&
          element.getIntOrFloatBitWidth() % 8 == 0);
}

LogicalResult MemoryProgram::readMembers(ArrayRef<linalg::LinalgOp> ops,
                                         Refusal &refusal) {
  for (linalg::LinalgOp op : ops) {
    if (!op.hasPureTensorSemantics() || op->getNumResults() == 0)
      return refusal.set(op, "it does not make tensors");
    for (Value operand : op->getOperands()) {
      Type type = operand.getType();
      if (isa<TensorType>(type) ? !isKnownTensor(type) : !type.isIntOrFloat())
        return refusal.set(op, "a tensor is not of static shape, or not of "
                               "f16, bf16, f32 or whole bytes");
    }
    MemoryMember member;
    member.op = op;
    member.reduces = op.getNumReductionLoops() > 0;
    if (failed(readBody(member, refusal)))
      return failure();
    members.push_back(std::move(member));
  }
  return success();
}

/// Checks that results do not depend on each other, and that what is reduced is
/// combined by an operation whose order does not matter.
LogicalResult MemoryProgram::readBody(const MemoryMember &member,
                                      Refusal &refusal) {
  linalg::LinalgOp op = member.op;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation() ||
        map.getNumResults() != op.getNumParallelLoops())
      return refusal.set(op, "a result has not one element for each iteration "
                             "of its parallel loops");
    if (!member.reduces)
      continue;
    BlockArgument before = op.getMatchingBlockArgument(&init);
    Value yielded = op.getBlock()->getTerminator()->getOperand(
        init.getOperandNumber() - op.getNumDpsInputs());
    Operation *combiner = yielded.getDefiningOp();
    bool isPlain = combiner && combiner->getNumOperands() == 2 &&
                   combiner->getNumResults() == 1 && yielded.hasOneUse() &&
                   before.hasOneUse() &&
                   llvm::is_contained(combiner->getOperands(), before) &&
                   combiner->hasTrait<OpTrait::IsCommutative>() &&
                   arith::getNeutralElement(combiner);
    if (!isPlain)
      return refusal.set(op, "a reduction is not by one operation whose order "
                             "does not matter");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

namespace {

/// Finds out which loops of different operations are the same.
class AxisFinder {
public:
  explicit AxisFinder(MutableArrayRef<MemoryMember> members)
      : members(members) {
    for (auto [index, member] : llvm::enumerate(members)) {
      first.push_back(numLoops);
      for (unsigned loop = 0; loop < member.op.getNumLoops(); ++loop)
        loops.insert(numLoops++);
    }
  }

  void followTensors();
  void followInputs();
  void followResults();
  /// Numbers the axes; fails if two loops of an operation are one axis.
  LogicalResult number(SmallVectorImpl<int64_t> &extents,
                       SmallVectorImpl<bool> &isColumn);

private:
  unsigned idOf(unsigned member, unsigned loop) { return first[member] + loop; }
  std::optional<unsigned> findMember(Operation *op) {
    for (auto [index, member] : llvm::enumerate(members))
      if (member.op == op)
        return index;
    return std::nullopt;
  }
  void unite(unsigned left, unsigned right) { loops.unionSets(left, right); }
  bool areApart(unsigned left, unsigned right);
  void uniteDims(unsigned left, AffineMap leftMap, unsigned right,
                 AffineMap rightMap);

  MutableArrayRef<MemoryMember> members;
  SmallVector<unsigned> first;
  unsigned numLoops = 0;
  llvm::EquivalenceClasses<unsigned> loops;
};

} // namespace

/// The maker's loops and the reader's are those of the tensor between them.
void AxisFinder::followTensors() {
  for (auto [reader, member] : llvm::enumerate(members))
    for (OpOperand &operand : member.op->getOpOperands()) {
      auto result = dyn_cast<OpResult>(operand.get());
      std::optional<unsigned> maker =
          result ? findMember(result.getOwner()) : std::nullopt;
      if (!maker)
        continue;
      linalg::LinalgOp op = members[*maker].op;
      AffineMap written =
          op.getMatchingIndexingMap(op.getTiedOpOperand(result));
      AffineMap read = member.op.getMatchingIndexingMap(&operand);
      for (auto [from, to] :
           llvm::zip_equal(written.getResults(), read.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(to))
          unite(idOf(*maker, cast<AffineDimExpr>(from).getPosition()),
                idOf(reader, loop.getPosition()));
    }
}

/// True if no operation would have two loops that are one axis.
bool AxisFinder::areApart(unsigned left, unsigned right) {
  for (auto [index, member] : llvm::enumerate(members)) {
    bool hasLeft = false, hasRight = false;
    for (unsigned loop = 0; loop < member.op.getNumLoops(); ++loop) {
      hasLeft |= loops.isEquivalent(idOf(index, loop), left);
      hasRight |= loops.isEquivalent(idOf(index, loop), right);
    }
    if (hasLeft && hasRight)
      return false;
  }
  return true;
}

/// Unites what indexes the same dimensions, as far as that keeps the loops of
/// every operation apart.
void AxisFinder::uniteDims(unsigned left, AffineMap leftMap, unsigned right,
                           AffineMap rightMap) {
  SmallVector<int64_t, 4> leftExtents = members[left].op.getStaticLoopRanges(),
                          rightExtents =
                              members[right].op.getStaticLoopRanges();
  for (auto [from, to] :
       llvm::zip_equal(leftMap.getResults(), rightMap.getResults())) {
    auto leftLoop = dyn_cast<AffineDimExpr>(from);
    auto rightLoop = dyn_cast<AffineDimExpr>(to);
    if (!leftLoop || !rightLoop ||
        leftExtents[leftLoop.getPosition()] !=
            rightExtents[rightLoop.getPosition()])
      continue;
    unsigned leftId = idOf(left, leftLoop.getPosition());
    unsigned rightId = idOf(right, rightLoop.getPosition());
    if (loops.isEquivalent(leftId, rightId) || areApart(leftId, rightId))
      unite(leftId, rightId);
  }
}

/// Those who read the same tensor go over it together.
void AxisFinder::followInputs() {
  for (unsigned right = 1; right < members.size(); ++right)
    for (OpOperand *rightInput : members[right].op.getDpsInputOperands())
      for (unsigned left = 0; left < right; ++left)
        for (OpOperand *leftInput : members[left].op.getDpsInputOperands())
          if (leftInput->get() == rightInput->get() &&
              isa<TensorType>(leftInput->get().getType()))
            uniteDims(left, members[left].op.getMatchingIndexingMap(leftInput),
                      right,
                      members[right].op.getMatchingIndexingMap(rightInput));
}

/// So do those who make parts of one tensor.
void AxisFinder::followResults() {
  MemoryMember &last = members.back();
  OpOperand &lastInit = *(last.op.getDpsInitsMutable().end() - 1);
  for (unsigned other = 0; other + 1 < members.size(); ++other) {
    OpOperand &init = *(members[other].op.getDpsInitsMutable().end() - 1);
    if (init.get().getType() == lastInit.get().getType())
      uniteDims(other, members[other].op.getMatchingIndexingMap(&init),
                members.size() - 1, last.op.getMatchingIndexingMap(&lastInit));
  }
}

LogicalResult AxisFinder::number(SmallVectorImpl<int64_t> &extents,
                                 SmallVectorImpl<bool> &isColumn) {
  llvm::DenseMap<unsigned, unsigned> axisOf;
  for (auto [index, member] : llvm::enumerate(members)) {
    SmallVector<int64_t, 4> ranges = member.op.getStaticLoopRanges();
    auto kinds = member.op.getIteratorTypesArray();
    for (unsigned loop = 0; loop < ranges.size(); ++loop) {
      auto [axis, isNew] = axisOf.try_emplace(
          loops.getLeaderValue(idOf(index, loop)), extents.size());
      if (isNew) {
        extents.push_back(ranges[loop]);
        isColumn.push_back(false);
      }
      isColumn[axis->second] = isColumn[axis->second] ||
                               kinds[loop] == utils::IteratorType::reduction;
      if (extents[axis->second] != ranges[loop] ||
          llvm::is_contained(member.axes, axis->second))
        return failure();
      member.axes.push_back(axis->second);
    }
  }
  return success();
}

LogicalResult MemoryProgram::uniteAxes(Refusal &refusal) {
  AxisFinder finder(members);
  finder.followTensors();
  finder.followInputs();
  if (members.size() > 1)
    finder.followResults();
  if (failed(finder.number(extents, isColumn)))
    return refusal.set(getRoot(),
                       "two loops of an operation are one of another");
  return shareRows(refusal);
}

/// Checks that every operation has all rows, and all columns or none.
LogicalResult MemoryProgram::shareRows(Refusal &refusal) {
  // What reduces nothing has columns alone.
  figures.reduces = llvm::is_contained(isColumn, true);
  if (!figures.reduces)
    isColumn.assign(isColumn.size(), true);
  size_t numColumns = llvm::count(isColumn, true);
  for (MemoryMember &member : members) {
    size_t own = llvm::count_if(member.axes,
                                [&](unsigned axis) { return isColumn[axis]; });
    member.isOfRow = own == 0 && numColumns > 0;
    if (member.axes.size() - own != extents.size() - numColumns ||
        (own != 0 && own != numColumns))
      return refusal.set(member.op, "its loops are not those of the group");
    if (!member.reduces)
      continue;
    for (auto [axis, kind] :
         llvm::zip_equal(member.axes, member.op.getIteratorTypesArray()))
      if (isColumn[axis] != (kind == utils::IteratorType::reduction))
        return refusal.set(member.op, "it reduces a part of the columns");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Adds `factor` times `expr`, a sum of loops, to the access. Fails if it is no
/// sum.
static LogicalResult addIndex(MemoryAccess &access, const MemoryMember &member,
                              AffineExpr expr, int64_t factor) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    access.offset += factor * constant.getValue();
    return success();
  }
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    access.strides[member.axes[loop.getPosition()]] += factor;
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Add)
    return success(
        succeeded(addIndex(access, member, binary.getLHS(), factor)) &&
        succeeded(addIndex(access, member, binary.getRHS(), factor)));
  if (auto constant = binary && expr.getKind() == AffineExprKind::Mul
                          ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                          : AffineConstantExpr())
    return addIndex(access, member, binary.getLHS(),
                    factor * constant.getValue());
  return failure();
}

FailureOr<MemoryAccess> MemoryProgram::readAccess(const MemoryMember &member,
                                                  AffineMap map, Value tensor) {
  TensorView view = TensorView::of(tensor);
  MemoryAccess access;
  access.base = view.base;
  access.elementType =
      cast<RankedTensorType>(tensor.getType()).getElementType();
  access.offset = view.offset;
  access.strides.assign(extents.size(), 0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), view.strides))
    if (failed(addIndex(access, member, expr, stride)))
      return failure();
  // Of an axis with one element nothing is known, and nothing needed.
  for (auto [stride, extent] : llvm::zip_equal(access.strides, extents))
    if (extent == 1)
      stride = 0;
  return access;
}

/// The number that all elements of `tensor` are; null if they are not.
static Value findNumber(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  if (fill && matchPattern(fill.getInputs()[0], m_Constant()))
    return fill.getInputs()[0];
  return {};
}

LogicalResult MemoryProgram::readOperands(Refusal &refusal) {
  for (MemoryMember &member : members) {
    linalg::LinalgOp op = member.op;
    for (OpOperand &operand : op->getOpOperands()) {
      MemoryOperand &read = member.operands.emplace_back();
      auto result = dyn_cast<OpResult>(operand.get());
      if (!op.payloadUsesValueFromOperand(&operand))
        continue;
      if (!isa<TensorType>(operand.get().getType())) {
        read.kind = MemoryOperand::Kind::Scalar;
        read.scalar = operand.get();
      } else if (result && getMember(result.getOwner())) {
        read.kind = MemoryOperand::Kind::Made;
        read.made = result;
      } else if (Value number = findNumber(operand.get())) {
        read.kind = MemoryOperand::Kind::Scalar;
        read.scalar = number;
      } else {
        FailureOr<MemoryAccess> access = readAccess(
            member, op.getMatchingIndexingMap(&operand), operand.get());
        if (failed(access))
          return refusal.set(op, "an index is no sum of loops");
        read.kind = MemoryOperand::Kind::Loaded;
        read.load = llvm::find(loads, *access) - loads.begin();
        if (read.load == loads.size())
          loads.push_back(std::move(*access));
      }
    }
  }
  return success();
}

/// The operation that writes `result` into a part of a tensor, if that is all
/// that becomes of both.
static tensor::InsertSliceOp findInsert(linalg::LinalgOp op, OpResult result) {
  auto slice = op.getTiedOpOperand(result)
                   ->get()
                   .getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || !result.hasOneUse())
    return {};
  auto insert = dyn_cast<tensor::InsertSliceOp>(*result.user_begin());
  if (!insert || insert.getSource() != result ||
      insert.getDest() != slice.getSource() ||
      insert.getMixedOffsets() != slice.getMixedOffsets() ||
      insert.getMixedSizes() != slice.getMixedSizes() ||
      insert.getMixedStrides() != slice.getMixedStrides())
    return {};
  // Nobody else sees what was there before.
  Operation *source = slice.getSource().getDefiningOp();
  bool isOwn = isa_and_nonnull<tensor::EmptyOp, bufferization::AllocTensorOp,
                               tensor::InsertSliceOp>(source);
  bool isAlone =
      llvm::all_of(slice.getSource().getUsers(), [&](Operation *user) {
        return user == insert || (user == slice && slice->hasOneUse());
      });
  return isOwn && isAlone ? insert : tensor::InsertSliceOp();
}

LogicalResult MemoryProgram::readStores(Refusal &refusal) {
  for (MemoryMember &member : members)
    for (OpResult result : member.op->getResults()) {
      bool isInside = !result.use_empty() &&
                      llvm::all_of(result.getUsers(), [&](Operation *user) {
                        return getMember(user) != nullptr;
                      });
      if (isInside)
        continue;
      MemoryStore &store = stores.emplace_back();
      store.result = result;
      OpOperand *init = member.op.getTiedOpOperand(result);
      Value written = result;
      if (tensor::InsertSliceOp insert = findInsert(member.op, result)) {
        store.insert = insert;
        written = init->get();
      }
      FailureOr<MemoryAccess> access =
          readAccess(member, member.op.getMatchingIndexingMap(init), written);
      if (failed(access))
        return refusal.set(member.op, "an index is no sum of loops");
      store.access = *access;
      // Parts that members write one after the other are parts of one tensor.
      for (const MemoryStore &other : ArrayRef(stores).drop_back())
        if (other.insert && store.access.base == other.insert->getResult(0))
          store.access.base = other.access.base;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void MemoryProgram::countPasses() {
  figures.passes = 1;
  for (MemoryMember &member : members) {
    for (const MemoryOperand &operand : member.operands)
      if (operand.kind == MemoryOperand::Kind::Made) {
        const MemoryMember *maker = getMember(operand.made.getOwner());
        member.pass = std::max(member.pass, maker->pass + maker->reduces);
      }
    if (member.reduces)
      figures.reductions += member.op->getNumResults();
    if (!member.isOfRow)
      figures.passes = std::max<int64_t>(figures.passes, member.pass + 1);
  }
}

namespace {

/// Finds the passes over a row that need what is loaded or computed for each of
/// its elements, if each does what it needs anew, or takes what is there.
class PassCounter {
public:
  PassCounter(const MemoryProgram &program, bool keeps)
      : program(program), keeps(keeps), ofLoads(program.getLoads().size()) {}

  void run();

  using Passes = llvm::SmallSet<unsigned, 4>;
  const Passes &ofLoad(unsigned load) const { return ofLoads[load]; }
  /// The most values that one pass leaves to the next.
  int64_t countHeld() const;

private:
  void visit(const MemoryMember &member, unsigned pass);

  const MemoryProgram &program;
  bool keeps;
  SmallVector<Passes> ofLoads;
  llvm::MapVector<Value, Passes> ofMade;
};

} // namespace

void PassCounter::visit(const MemoryMember &member, unsigned pass) {
  for (const MemoryOperand &operand : member.operands) {
    if (operand.kind == MemoryOperand::Kind::Loaded)
      ofLoads[operand.load].insert(pass);
    if (operand.kind != MemoryOperand::Kind::Made)
      continue;
    const MemoryMember &maker = *program.getMember(operand.made.getOwner());
    if (maker.isOfRow || maker.reduces)
      continue;
    bool isThere = !ofMade[operand.made].empty();
    ofMade[operand.made].insert(pass);
    if (!isThere || !keeps)
      visit(maker, pass);
  }
}

void PassCounter::run() {
  for (unsigned pass = 0; pass < program.getNumPasses(); ++pass) {
    for (const MemoryMember &member : program.getMembers())
      if (member.reduces && member.pass == pass)
        visit(member, pass);
    for (const MemoryStore &store : program.getStores()) {
      const MemoryMember &maker = *program.getMember(store.result.getOwner());
      if (maker.isOfRow || maker.reduces || maker.pass != pass)
        continue;
      bool isThere = !ofMade[store.result].empty();
      ofMade[store.result].insert(pass);
      if (!isThere || !keeps)
        visit(maker, pass);
    }
  }
}

int64_t PassCounter::countHeld() const {
  int64_t most = 0;
  for (unsigned pass = 0; pass + 1 < program.getNumPasses(); ++pass) {
    auto isHeld = [&](const Passes &passes) {
      return llvm::any_of(passes, [&](unsigned p) { return p <= pass; }) &&
             llvm::any_of(passes, [&](unsigned p) { return p > pass; });
    };
    int64_t held = llvm::count_if(
        ofMade, [&](const auto &made) { return isHeld(made.second); });
    for (auto [load, passes] : llvm::enumerate(ofLoads))
      held += program.isOfColumns(program.getLoads()[load]) && isHeld(passes);
    most = std::max(most, held);
  }
  return most;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool MemoryProgram::isOfColumns(const MemoryAccess &access) const {
  return llvm::any_of(ArrayRef(access.strides).drop_front(numRowAxes),
                      [](int64_t stride) { return stride != 0; });
}

/// Sorts the axes as memory has them: by the strides of a result with all of
/// them, or else of what is read most.
void MemoryProgram::orderAxes() {
  auto countElements = [&](const MemoryAccess &access) {
    double count = 1;
    for (auto [stride, extent] : llvm::zip_equal(access.strides, extents))
      count *= stride != 0 ? static_cast<double>(extent) : 1;
    return count;
  };
  const MemoryAccess *lead = nullptr;
  auto consider = [&](const MemoryAccess &access) {
    if (!lead || countElements(access) > countElements(*lead))
      lead = &access;
  };
  for (const MemoryStore &store : llvm::reverse(stores))
    consider(store.access);
  for (const MemoryAccess &load : loads)
    consider(load);
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, extents.size()));
  llvm::sort(order, [&](unsigned left, unsigned right) {
    auto rank = [&](unsigned axis) {
      return std::make_tuple(static_cast<bool>(isColumn[axis]),
                             lead ? -lead->strides[axis] : 0, axis);
    };
    return rank(left) < rank(right);
  });
  unsigned numRows = llvm::count(isColumn, false);
  permuteAxes(order, numRows);
}

void MemoryProgram::permuteAxes(ArrayRef<unsigned> order, unsigned numRows) {
  auto permute = [&](auto &list) {
    auto old = list;
    for (auto [to, from] : llvm::enumerate(order))
      list[to] = old[from];
  };
  permute(extents);
  permute(isColumn);
  for (MemoryAccess &load : loads)
    permute(load.strides);
  for (MemoryStore &store : stores)
    permute(store.access.strides);
  for (MemoryMember &member : members)
    for (unsigned &axis : member.axes)
      axis = llvm::find(order, axis) - order.begin();
  numRowAxes = numRows;
}

/// Makes one axis of neighbours that all tensors have one behind the other, so
/// that their elements need no index of their own.
void MemoryProgram::joinAxes() {
  for (MemoryMember &member : members)
    if (member.op.hasIndexSemantics())
      return;
  auto canJoin = [&](unsigned outer) {
    auto isOne = [&](const MemoryAccess &access) {
      return access.strides[outer] ==
             access.strides[outer + 1] * extents[outer + 1];
    };
    return isColumn[outer] == isColumn[outer + 1] &&
           llvm::all_of(loads, isOne) &&
           llvm::all_of(stores, [&](const MemoryStore &store) {
             return isOne(store.access);
           });
  };
  for (unsigned inner = extents.size(); inner-- > 1;) {
    unsigned outer = inner - 1;
    if (!canJoin(outer))
      continue;
    extents[outer + 1] *= extents[outer];
    extents.erase(extents.begin() + outer);
    if (!isColumn[outer])
      --numRowAxes;
    isColumn.erase(isColumn.begin() + outer);
    for (MemoryAccess &load : loads)
      load.strides.erase(load.strides.begin() + outer);
    for (MemoryStore &store : stores)
      store.access.strides.erase(store.access.strides.begin() + outer);
  }
}

/// The axis along which most bytes are contiguous; it becomes the last of its
/// kind. What is stored decides where that is even.
void MemoryProgram::chooseVectorAxis() {
  SmallVector<double> bytes(extents.size(), 0);
  auto add = [&](const MemoryAccess &access, double weight) {
    double own = bytesOf(access.elementType) * weight;
    for (auto [stride, extent] : llvm::zip_equal(access.strides, extents))
      own *= stride != 0 ? static_cast<double>(extent) : 1;
    for (auto [axis, stride] : llvm::enumerate(access.strides))
      if (stride == 1)
        bytes[axis] += own;
  };
  for (const MemoryAccess &load : loads)
    add(load, 1);
  for (const MemoryStore &store : stores)
    add(store.access, figures.reduces ? 1 : 1000);
  double *most = llvm::max_element(bytes);
  if (most == bytes.end() || *most == 0)
    return;
  unsigned axis = most - bytes.begin();
  unsigned last = isColumn[axis] ? extents.size() - 1 : numRowAxes - 1;
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, extents.size()));
  order.erase(order.begin() + axis);
  order.insert(order.begin() + last, axis);
  permuteAxes(order, numRowAxes);
  vectorAxis = last;
}

/// The axis, another than that of vectors, along which all that is not
/// contiguous there is.
void MemoryProgram::findTurnedAxis() {
  if (figures.reduces || !vectorAxis)
    return;
  std::optional<unsigned> found;
  for (const MemoryAccess &load : loads) {
    if (!isAlongVector(load) || isContiguous(load))
      continue;
    auto one = llvm::find(load.strides, 1);
    if (one == load.strides.end())
      continue;
    unsigned axis = one - load.strides.begin();
    if (found && found != axis)
      return;
    found = axis;
  }
  // A tile of few rows would be empty for the most part.
  constexpr int64_t least = 8;
  if (found && extents[*found] >= least && extents[*vectorAxis] >= least)
    turnedAxis = found;
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

/// True if `op` takes many instructions.
static bool isSlow(Operation &op) {
  return isa<math::ExpOp, math::Exp2Op, math::ErfOp, math::TanhOp,
             math::RsqrtOp, math::SqrtOp, arith::DivFOp, arith::DivSIOp,
             arith::DivUIOp>(op);
}

/// The most elements that are contiguous, and aligned, wherever a vector
/// starts.
static int64_t countVector(const MemoryProgram &program) {
  unsigned axis = *program.getVectorAxis();
  ArrayRef<int64_t> extents = program.getExtents();
  int64_t divisor = 16;
  bool isFlat = extents.size() == 1 && !program.getFigures().reduces;
  // What is left at the end of all is done one by one.
  if (!isFlat)
    divisor = std::gcd(divisor, extents[axis]);
  auto add = [&](const MemoryAccess &access) {
    if (!program.isContiguous(access))
      return;
    divisor = std::gcd(divisor, access.offset);
    for (auto [other, stride] : llvm::enumerate(access.strides))
      if (other != axis)
        divisor = std::gcd(divisor, stride);
  };
  for (const MemoryAccess &load : program.getLoads())
    add(load);
  for (const MemoryStore &store : program.getStores())
    add(store.access);
  return divisor & -divisor;
}

void MemoryProgram::countFigures() {
  for (auto [axis, extent] : llvm::enumerate(extents))
    (axis < numRowAxes ? figures.rows : figures.columns) *= extent;
  figures.isAcrossRows = vectorAxis && *vectorAxis < numRowAxes;
  figures.isTurned = turnedAxis.has_value();
  if (figures.isTurned) {
    int64_t tile = model::turnedTile;
    figures.tiles = figures.columns / extents[*vectorAxis] /
                    extents[*turnedAxis] *
                    llvm::divideCeil(extents[*vectorAxis], tile) *
                    llvm::divideCeil(extents[*turnedAxis], tile);
  } else if (vectorAxis) {
    figures.mostVector = countVector(*this);
  }
  PassCounter anew(*this, /*keeps=*/false), kept(*this, /*keeps=*/true);
  anew.run();
  kept.run();
  figures.heldNumbers = kept.countHeld();
  llvm::DenseSet<Value> seen;
  auto describe = [&](const MemoryAccess &access, int64_t passes) {
    model::ThreadAccess own;
    own.elementBytes = bytesOf(access.elementType);
    own.isOfColumns = isOfColumns(access);
    own.isAlongVector = isAlongVector(access);
    own.passes = passes;
    double elements = 1;
    for (auto [stride, extent] : llvm::zip_equal(access.strides, extents))
      elements *= stride != 0 ? static_cast<double>(extent) : 1;
    figures.bytes += elements * own.elementBytes;
    return own;
  };
  for (auto [load, access] : llvm::enumerate(loads))
    figures.loads.push_back(
        describe(access, std::max<size_t>(1, anew.ofLoad(load).size())));
  for (const MemoryStore &store : stores)
    figures.stores.push_back(describe(store.access, 1));
  figures.instructions = 0;
  for (MemoryMember &member : members)
    if (!member.isOfRow)
      for (Operation &nested : member.op.getBlock()->without_terminator())
        (isSlow(nested) ? figures.functions : figures.instructions) += 1;
}

FailureOr<MemoryProgram> MemoryProgram::read(ArrayRef<linalg::LinalgOp> ops,
                                             Refusal &refusal) {
  MemoryProgram program;
  if (failed(program.readMembers(ops, refusal)) ||
      failed(program.uniteAxes(refusal)) ||
      failed(program.readOperands(refusal)) ||
      failed(program.readStores(refusal)))
    return failure();
  program.countPasses();
  program.orderAxes();
  program.joinAxes();
  program.chooseVectorAxis();
  program.findTurnedAxis();
  program.countFigures();
  return program;
}
