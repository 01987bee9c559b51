//===- GroupProgram.cpp - Groups of operations for the model --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops of different operations are one axis if they step alike through what
// one makes for the other, or through what both read. Axes that follow each
// other in every tensor are one.
//
// Everything is f32 in UB. Numbers are rounded to f16 where a result is stored,
// and where the program says so for what is read again.
//
//===----------------------------------------------------------------------===//

#include "GroupProgram.h"
#include "VectorKinds.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <cmath>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;
using model::AxisSet;
using model::VectorValueId;
using Kind = model::VectorValue::Kind;

namespace {

/// A loop of one of the operations.
using Loop = std::pair<unsigned, unsigned>;

class GroupReader {
public:
  GroupReader(ArrayRef<linalg::LinalgOp> ops, Architecture architecture,
              Refusal &refusal)
      : ops(ops.begin(), ops.end()), architecture(architecture),
        refusal(refusal) {}

  FailureOr<GroupProgram> read();

private:
  /// What a buffer holds: what an operation made through a map, or a constant.
  struct Content {
    unsigned op = 0;
    AffineMap map;
    VectorValueId value = 0;
    bool isConstant = false;
    double number = 0;
  };

  LogicalResult check();
  LogicalResult unifyLoops();
  LogicalResult unify(unsigned op, AffineMap map, unsigned other,
                      AffineMap otherMap, bool isNeeded);
  LogicalResult orderAxes();
  void joinAxes();
  bool mayJoin(unsigned axis);
  LogicalResult readOps();
  LogicalResult readBody(unsigned number);
  FailureOr<VectorValueId> readOperand(unsigned number, OpOperand &operand);
  FailureOr<VectorValueId> addLoad(unsigned number, OpOperand &operand);
  FailureOr<VectorValueId> addScalar(Operation &op);
  FailureOr<VectorValueId> addTruncation(arith::TruncFOp op);
  LogicalResult write(unsigned number, unsigned output);
  LogicalResult addStores();
  FailureOr<unsigned> addTensor(Value memref, AxisSet axes,
                                ArrayRef<int64_t> strides);

  VectorValueId add(GroupValue value, model::VectorValue entry) {
    program.values.push_back(value);
    program.model.values.push_back(std::move(entry));
    return program.values.size() - 1;
  }
  VectorValueId addNumber(double number);
  VectorValueId addSpread(VectorValueId value, AxisSet axes);
  AxisSet axesOf(VectorValueId id) const {
    return program.model.values[id].axes;
  }
  bool isNumber(VectorValueId id) const {
    return program.values[id].code == GroupCode::Number;
  }
  std::optional<unsigned> axisOf(unsigned op, unsigned loop) const;
  AxisSet axesOfMap(unsigned op, AffineMap map) const;
  SmallVector<int64_t> stridesOf(unsigned op, AffineMap map,
                                 MemRefType type) const;
  int64_t cyclesOf(VectorKind kind) const {
    return getRepeatCycles(stringifyVectorKind(kind),
                           Float32Type::get(ops.front()->getContext()));
  }
  LogicalResult fail(Operation *op, const Twine &why) {
    refusal = {op->getLoc(), why.str()};
    return failure();
  }

  SmallVector<linalg::LinalgOp> ops;
  Architecture architecture;
  Refusal &refusal;
  GroupProgram program;

  llvm::EquivalenceClasses<Loop> classes;
  /// The leader of each axis, outermost first, and the number of each.
  SmallVector<Loop> leaders;
  SmallVector<int64_t> extents;
  /// Axis by number before they are joined to axis after.
  SmallVector<unsigned> joined;
  llvm::MapVector<Value, Content> contents;
  /// Values of the body at hand.
  llvm::DenseMap<Value, VectorValueId> known;
};

} // namespace

/// The buffer or argument that `memref` is part of.
static Value getRoot(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp>(op))
      break;
    memref = op->getOperand(0);
  }
  return memref;
}

/// True if nothing but `ops` and what looks at parts uses `memref`.
static bool isUsedBy(ArrayRef<linalg::LinalgOp> ops, Value memref) {
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (isa<memref::SubViewOp, memref::CastOp>(user))
      return isUsedBy(ops, user->getResult(0));
    return isa<memref::DeallocOp>(user) ||
           llvm::any_of(ops, [&](linalg::LinalgOp op) {
             return op.getOperation() == user;
           });
  });
}

bool ascend::isInside(ArrayRef<linalg::LinalgOp> ops, Value memref) {
  Value root = getRoot(memref);
  return root.getDefiningOp<memref::AllocOp>() && isUsedBy(ops, root);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

LogicalResult GroupReader::check() {
  for (linalg::LinalgOp op : ops) {
    bool isKnown = isa<linalg::GenericOp>(op);
    if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
      isKnown = matchPattern(fill.getInputs()[0], m_Constant());
    if (!isKnown || !op.hasPureBufferSemantics())
      return fail(op, "'" + op->getName().getStringRef() +
                          "' is nothing that the vector unit does");
    for (AffineMap map : op.getIndexingMapsArray())
      if (!map.isProjectedPermutation())
        return fail(op, "an operand is indexed by more than loops");
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type)
        continue;
      if (!type.hasStaticShape() ||
          (!type.getElementType().isF16() && !type.getElementType().isF32()))
        return fail(op, "an operand is neither f16 nor f32 of a known shape");
    }
  }
  return success();
}

/// Makes the loops that index the same dimensions one. Without `isNeeded` only
/// if no operation has two of them.
LogicalResult GroupReader::unify(unsigned op, AffineMap map, unsigned other,
                                 AffineMap otherMap, bool isNeeded) {
  llvm::EquivalenceClasses<Loop> merged = classes;
  for (auto [left, right] :
       llvm::zip_equal(map.getResults(), otherMap.getResults()))
    merged.unionSets({op, cast<AffineDimExpr>(left).getPosition()},
                     {other, cast<AffineDimExpr>(right).getPosition()});
  for (const auto *entry : merged) {
    if (!entry->isLeader())
      continue;
    llvm::SmallDenseSet<unsigned> seen;
    for (Loop loop : merged.members(*entry))
      if (!seen.insert(loop.first).second)
        return isNeeded ? fail(ops[op], "two loops would be one") : success();
  }
  classes = std::move(merged);
  return success();
}

LogicalResult GroupReader::unifyLoops() {
  for (auto [number, op] : llvm::enumerate(ops))
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      classes.insert({unsigned(number), loop});
  llvm::DenseMap<Value, std::pair<unsigned, AffineMap>> made, read;
  SmallVector<std::pair<OpOperand *, unsigned>> outside;
  for (auto [number, op] : llvm::enumerate(ops)) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()) ||
          !op.payloadUsesValueFromOperand(&operand))
        continue;
      auto found = made.find(operand.get());
      if (found == made.end()) {
        outside.push_back({&operand, unsigned(number)});
        continue;
      }
      if (failed(unify(number, op.getMatchingIndexingMap(&operand),
                       found->second.first, found->second.second,
                       /*isNeeded=*/true)))
        return failure();
    }
    for (OpOperand &init : op.getDpsInitsMutable())
      made[init.get()] = {unsigned(number), op.getMatchingIndexingMap(&init)};
  }
  for (auto [operand, number] : outside) {
    AffineMap map = ops[number].getMatchingIndexingMap(operand);
    auto [place, isNew] =
        read.try_emplace(operand->get(), std::pair(number, map));
    if (!isNew && failed(unify(number, map, place->second.first,
                               place->second.second, /*isNeeded=*/false)))
      return failure();
  }
  return success();
}

/// Axes in the order of the dimensions of the tensor that has most of them.
LogicalResult GroupReader::orderAxes() {
  SmallVector<Loop> order;
  for (auto [number, op] : llvm::enumerate(ops))
    for (AffineMap map : op.getIndexingMapsArray()) {
      SmallVector<Loop> loops;
      for (AffineExpr dim : map.getResults()) {
        unsigned loop = cast<AffineDimExpr>(dim).getPosition();
        if (op.getStaticLoopRanges()[loop] > 1)
          loops.push_back(classes.getLeaderValue({unsigned(number), loop}));
      }
      if (loops.size() > order.size())
        order = loops;
    }
  leaders = order;
  if (leaders.size() > 16)
    return fail(ops.front(), "it has too many loops");
  extents.assign(leaders.size(), 1);
  for (auto [number, op] : llvm::enumerate(ops))
    for (auto [loop, extent] : llvm::enumerate(op.getStaticLoopRanges())) {
      if (extent == 1)
        continue;
      std::optional<unsigned> axis = axisOf(number, loop);
      if (!axis)
        return fail(op, "no tensor of the group has all of its loops");
      if (extents[*axis] != 1 && extents[*axis] != extent)
        return fail(op, "loops that are one have different extents");
      extents[*axis] = extent;
    }
  return success();
}

std::optional<unsigned> GroupReader::axisOf(unsigned op, unsigned loop) const {
  const Loop *found = llvm::find(leaders, classes.getLeaderValue({op, loop}));
  if (found == leaders.end())
    return std::nullopt;
  unsigned axis = found - leaders.begin();
  return joined.empty() ? axis : joined[axis];
}

AxisSet GroupReader::axesOfMap(unsigned op, AffineMap map) const {
  AxisSet axes = 0;
  for (AffineExpr dim : map.getResults())
    if (std::optional<unsigned> axis =
            axisOf(op, cast<AffineDimExpr>(dim).getPosition()))
      axes |= AxisSet(1) << *axis;
  return axes;
}

/// Elements from one index of each axis to the next. Of joined axes the
/// innermost counts.
SmallVector<int64_t> GroupReader::stridesOf(unsigned op, AffineMap map,
                                            MemRefType type) const {
  SmallVector<int64_t> ofAxes(extents.size(), 0), ofDims;
  int64_t offset;
  if (failed(type.getStridesAndOffset(ofDims, offset)))
    return ofAxes;
  for (auto [dim, stride] : llvm::zip_equal(map.getResults(), ofDims))
    if (std::optional<unsigned> axis =
            axisOf(op, cast<AffineDimExpr>(dim).getPosition()))
      ofAxes[*axis] = stride;
  return ofAxes;
}

/// True if the axis and the one behind it are one for everybody.
bool GroupReader::mayJoin(unsigned axis) {
  AxisSet outer = AxisSet(1) << axis, inner = outer << 1;
  for (auto [number, op] : llvm::enumerate(ops)) {
    AxisSet all = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      if (!type)
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      AxisSet axes = axesOfMap(number, map);
      all |= axes;
      if (((axes & outer) != 0) != ((axes & inner) != 0))
        return false;
      SmallVector<int64_t> strides = stridesOf(number, map, type);
      if ((axes & outer) &&
          strides[axis] != strides[axis + 1] * extents[axis + 1])
        return false;
    }
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (std::optional<unsigned> found = axisOf(number, loop);
          found && !(all >> *found & 1))
        return false;
  }
  return true;
}

void GroupReader::joinAxes() {
  SmallVector<unsigned> to;
  SmallVector<int64_t> sizes;
  for (unsigned axis = 0; axis < extents.size(); ++axis) {
    bool joins = axis > 0 && mayJoin(axis - 1);
    if (joins)
      sizes.back() *= extents[axis];
    else
      sizes.push_back(extents[axis]);
    to.push_back(sizes.size() - 1);
  }
  joined = to;
  extents = sizes;
  if (extents.empty())
    extents.push_back(1);
  program.model.extents.assign(extents.begin(), extents.end());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

VectorValueId GroupReader::addNumber(double number) {
  GroupValue value;
  value.number = number;
  return add(value, {});
}

VectorValueId GroupReader::addSpread(VectorValueId operand, AxisSet axes) {
  GroupValue value;
  value.code = GroupCode::Spread;
  model::VectorValue entry;
  entry.kind = Kind::Compute;
  entry.axes = axes;
  entry.operands = {operand};
  entry.cycles = cyclesOf(VectorKind::Adds);
  return add(value, std::move(entry));
}

/// A tensor in memory, whose runs have to lie along columns, or rows if it has
/// none.
FailureOr<unsigned> GroupReader::addTensor(Value memref, AxisSet axes,
                                           ArrayRef<int64_t> strides) {
  model::VectorTensor tensor;
  tensor.axes = axes;
  tensor.strides.assign(strides.begin(), strides.end());
  tensor.elementBytes =
      cast<MemRefType>(memref.getType()).getElementTypeBitWidth() / 8;
  const model::VectorProgram &model = program.model;
  std::optional<unsigned> run;
  if (model.hasColumns(axes))
    run = model.columnAxis();
  else if (model.hasRows(axes))
    run = model.rowAxis();
  if (run && strides[*run] != 1)
    return fail(ops.front(), "a tensor is not contiguous along what is rows or "
                             "columns of others");
  Value root = getRoot(memref);
  auto type = cast<MemRefType>(root.getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return fail(ops.front(), "a tensor is no plain part of memory");
  program.model.tensors.push_back(std::move(tensor));
  program.tensors.push_back(memref);
  return unsigned(program.tensors.size() - 1);
}

FailureOr<VectorValueId> GroupReader::addLoad(unsigned number,
                                              OpOperand &operand) {
  AffineMap map = ops[number].getMatchingIndexingMap(&operand);
  AxisSet axes = axesOfMap(number, map);
  SmallVector<int64_t> strides =
      stridesOf(number, map, cast<MemRefType>(operand.get().getType()));
  for (auto [id, value] : llvm::enumerate(program.model.values))
    if (value.kind == Kind::Load &&
        program.tensors[value.tensor] == operand.get() &&
        ArrayRef<int64_t>(program.model.tensors[value.tensor].strides) ==
            ArrayRef<int64_t>(strides))
      return VectorValueId(id);
  if (isInside(ops, operand.get()))
    return fail(ops[number], "memory is read that nothing has written");
  FailureOr<unsigned> tensor = addTensor(operand.get(), axes, strides);
  if (failed(tensor))
    return failure();
  GroupValue value;
  value.code = GroupCode::Load;
  model::VectorValue entry;
  entry.kind = Kind::Load;
  entry.axes = axes;
  entry.tensor = *tensor;
  bool isNarrow = program.model.tensors[*tensor].elementBytes != 4;
  entry.cycles = isNarrow ? cyclesOf(VectorKind::Widen) : 0;
  // Numbers of rows next to each other, before each gets a block.
  entry.temporaries = isNarrow && !program.model.hasColumns(axes) ? 1 : 0;
  return add(value, std::move(entry));
}

/// What `operand` of operation `number` holds.
FailureOr<VectorValueId> GroupReader::readOperand(unsigned number,
                                                  OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType())) {
    FloatAttr constant;
    if (matchPattern(operand.get(), m_Constant(&constant)))
      return addNumber(constant.getValueAsDouble());
    return fail(ops[number], "an operand is no constant and no tensor");
  }
  auto found = contents.find(operand.get());
  if (found == contents.end())
    return addLoad(number, operand);
  if (found->second.isConstant)
    return addNumber(found->second.number);
  return found->second.value;
}

/// What `op` computes of numbers alone.
static std::optional<double> fold(Operation &op, ArrayRef<double> numbers) {
  SmallVector<Attribute> operands;
  for (auto [operand, number] : llvm::zip_equal(op.getOperands(), numbers)) {
    if (!isa<FloatType>(operand.getType()))
      return std::nullopt;
    operands.push_back(FloatAttr::get(operand.getType(), number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op.fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  auto folded =
      dyn_cast_or_null<FloatAttr>(dyn_cast<Attribute>(results.front()));
  if (!folded)
    return std::nullopt;
  return folded.getValueAsDouble();
}

/// Rounds what somebody reads again; stores round by themselves.
FailureOr<VectorValueId> GroupReader::addTruncation(arith::TruncFOp op) {
  VectorValueId operand = known.lookup(op.getIn());
  auto linalgOp = cast<linalg::LinalgOp>(op->getParentOp());
  bool isReadAgain = !llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isa<linalg::YieldOp>(user);
  });
  for (Value buffer : linalgOp.getDpsInits())
    isReadAgain |= llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return user != linalgOp && linalgOp->isBeforeInBlock(user) &&
             llvm::any_of(ops, [&](linalg::LinalgOp other) {
               return other.getOperation() == user &&
                      llvm::is_contained(other.getDpsInputs(), buffer);
             });
    });
  if (!isReadAgain || isNumber(operand))
    return operand;
  GroupValue value;
  value.code = GroupCode::Round;
  model::VectorValue entry;
  entry.kind = Kind::Compute;
  entry.axes = axesOf(operand);
  entry.operands = {operand};
  entry.temporaries = 1;
  entry.cycles = cyclesOf(VectorKind::Narrow) + cyclesOf(VectorKind::Widen);
  return add(value, std::move(entry));
}

FailureOr<VectorValueId> GroupReader::addScalar(Operation &op) {
  FloatAttr constant;
  if (matchPattern(&op, m_Constant(&constant)))
    return addNumber(constant.getValueAsDouble());
  if (isa<arith::ExtFOp>(op))
    return known.lookup(op.getOperand(0));
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return addTruncation(truncation);
  SmallVector<VectorValueId> operands;
  for (Value operand : op.getOperands()) {
    auto found = known.find(operand);
    if (found != known.end())
      operands.push_back(found->second);
    else if (matchPattern(operand, m_Constant(&constant)))
      operands.push_back(addNumber(constant.getValueAsDouble()));
    else
      return fail(&op, "a value of a body comes from elsewhere");
  }
  bool hasNumber =
      llvm::any_of(operands, [&](VectorValueId id) { return isNumber(id); });
  auto noCode = [&]() {
    return fail(&op, "the vector unit has no code for '" +
                         op.getName().getStringRef() + "'");
  };
  if (!operands.empty() &&
      llvm::all_of(operands, [&](VectorValueId id) { return isNumber(id); })) {
    SmallVector<double> numbers;
    for (VectorValueId id : operands)
      numbers.push_back(program.values[id].number);
    std::optional<double> folded = fold(op, numbers);
    if (!folded)
      return noCode();
    return addNumber(*folded);
  }
  std::optional<model::VectorValue> entry =
      getCosts(op, hasNumber, architecture);
  if (!entry || op.getNumResults() != 1)
    return noCode();
  auto isMask = [&](VectorValueId id) { return program.values[id].isMask; };
  bool isSelect = isa<arith::SelectOp>(op);
  if (llvm::any_of(ArrayRef(operands).drop_front(isSelect), isMask) ||
      (isSelect && !isMask(operands[0])))
    return noCode();
  for (VectorValueId id : operands)
    entry->axes |= axesOf(id);
  if (isSelect && axesOf(operands[0]) != entry->axes) {
    // Compared again, for each element of the result.
    model::VectorValue compared = program.model.values[operands[0]];
    compared.axes = entry->axes;
    operands[0] = add(program.values[operands[0]], std::move(compared));
  }
  entry->operands.assign(operands.begin(), operands.end());
  GroupValue value;
  value.code = GroupCode::Scalar;
  value.op = &op;
  value.isMask = isa<arith::CmpFOp>(op);
  return add(value, std::move(*entry));
}

/// True if combining with `number` changes nothing.
static bool isIdentity(Operation *combiner, double number) {
  if (isa<arith::AddFOp>(combiner))
    return number == 0;
  if (isa<arith::MulFOp>(combiner))
    return number == 1;
  bool isMaximum = isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner);
  bool ignoresNaN = isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner);
  return (std::isnan(number) && ignoresNaN) ||
         (std::isinf(number) && (number < 0) == isMaximum);
}

/// What operation `number` yields becomes what its output holds.
LogicalResult GroupReader::write(unsigned number, unsigned output) {
  linalg::LinalgOp op = ops[number];
  OpOperand &init = *op.getDpsInitOperand(output);
  AffineMap map = op.getMatchingIndexingMap(&init);
  Value yielded = op.getBlock()->getTerminator()->getOperand(output);
  Content content{number, map};
  AxisSet axes = axesOfMap(number, map), all = axes;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (std::optional<unsigned> axis = axisOf(number, loop))
      all |= AxisSet(1) << *axis;
  if (op.getNumReductionLoops() == 0 || all == axes) {
    content.value = known.lookup(yielded);
    contents[init.get()] = content;
    return success();
  }
  BlockArgument former = op.getMatchingBlockArgument(&init);
  Operation *combiner = yielded.getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaximumFOp,
                       arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp>(
          combiner) ||
      !former.hasOneUse() || !yielded.hasOneUse() ||
      !llvm::is_contained(combiner->getOperands(), former))
    return fail(op, "there is no code for a reduction like this");
  Value element = combiner->getOperand(combiner->getOperand(0) == former);
  VectorValueId reducedId = known.lookup(element);
  AxisSet needed = axesOf(reducedId) | (all & ~axes);
  if (needed != axesOf(reducedId))
    reducedId = addSpread(reducedId, needed);
  GroupValue value;
  value.code = GroupCode::Reduce;
  value.op = combiner;
  model::VectorValue entry;
  entry.kind = Kind::Reduce;
  entry.axes = axesOf(reducedId) & axes;
  entry.operands = {reducedId};
  entry.cycles = cyclesOf(*getBinaryKind(*combiner));
  // What is left of rows becomes one number, and that a block.
  bool reducesColumns = program.model.hasColumns(axesOf(reducedId)) &&
                        !program.model.hasColumns(entry.axes);
  entry.temporaries = reducesColumns ? 2 : 0;
  VectorValueId start = known.lookup(former);
  bool startsFresh =
      isNumber(start) && isIdentity(combiner, program.values[start].number);
  content.value = add(value, std::move(entry));
  if (!startsFresh) {
    GroupValue combined;
    combined.code = GroupCode::Scalar;
    combined.op = combiner;
    std::optional<model::VectorValue> costs =
        getCosts(*combiner, isNumber(start), architecture);
    costs->axes = axesOf(content.value) | axesOf(start);
    costs->operands = {content.value, start};
    content.value = add(combined, std::move(*costs));
  }
  contents[init.get()] = content;
  return success();
}

LogicalResult GroupReader::readBody(unsigned number) {
  linalg::LinalgOp op = ops[number];
  known.clear();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!op.payloadUsesValueFromOperand(&operand))
      continue;
    FailureOr<VectorValueId> value = readOperand(number, operand);
    if (failed(value))
      return failure();
    known[op.getMatchingBlockArgument(&operand)] = *value;
  }
  llvm::SmallPtrSet<Operation *, 2> combiners;
  if (op.getNumReductionLoops() > 0)
    for (Value yielded : op.getBlock()->getTerminator()->getOperands())
      combiners.insert(yielded.getDefiningOp());
  for (Operation &inside : op.getBlock()->without_terminator()) {
    if (combiners.contains(&inside))
      continue;
    FailureOr<VectorValueId> value = addScalar(inside);
    if (failed(value))
      return failure();
    known[inside.getResult(0)] = *value;
  }
  // Constants from outside the body.
  SmallVector<Value> used(op.getBlock()->getTerminator()->getOperands());
  for (Operation *combiner : combiners)
    if (combiner)
      llvm::append_range(used, combiner->getOperands());
  for (Value value : used) {
    FloatAttr constant;
    if (!known.contains(value) && matchPattern(value, m_Constant(&constant)))
      known[value] = addNumber(constant.getValueAsDouble());
  }
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
    if (failed(write(number, output)))
      return failure();
  return success();
}

LogicalResult GroupReader::readOps() {
  for (auto [number, op] : llvm::enumerate(ops)) {
    auto fill = dyn_cast<linalg::FillOp>(op.getOperation());
    FloatAttr constant;
    if (fill && matchPattern(fill.getInputs()[0], m_Constant(&constant))) {
      Content content{unsigned(number), op.getIndexingMapsArray().back()};
      content.isConstant = true;
      content.number = constant.getValueAsDouble();
      contents[fill.getOutputs()[0]] = content;
      continue;
    }
    if (failed(readBody(number)))
      return failure();
  }
  return success();
}

/// What is left in memory that others see.
LogicalResult GroupReader::addStores() {
  unsigned numLoaded = program.tensors.size();
  for (auto &[memref, content] : contents) {
    if (isInside(ops, memref))
      continue;
    linalg::LinalgOp op = ops[content.op];
    for (unsigned tensor = 0; tensor < numLoaded; ++tensor)
      if (getRoot(program.tensors[tensor]) == getRoot(memref))
        return fail(op, "a tensor is both read and written");
    AxisSet axes = axesOfMap(content.op, content.map);
    FailureOr<unsigned> tensor = addTensor(
        memref, axes,
        stridesOf(content.op, content.map, cast<MemRefType>(memref.getType())));
    if (failed(tensor))
      return failure();
    VectorValueId value =
        content.isConstant ? addNumber(content.number) : content.value;
    if (program.values[value].isMask)
      return fail(op, "truth values are stored");
    // A load is no place to store from.
    if (axesOf(value) != axes || isNumber(value) ||
        program.values[value].code == GroupCode::Load)
      value = addSpread(value, axes);
    model::VectorStore store;
    store.value = value;
    store.tensor = *tensor;
    program.model.stores.push_back(store);
  }
  return success();
}

FailureOr<GroupProgram> GroupReader::read() {
  if (failed(check()) || failed(unifyLoops()) || failed(orderAxes()))
    return failure();
  joinAxes();
  if (failed(readOps()) || failed(addStores()))
    return failure();
  return std::move(program);
}

FailureOr<GroupProgram> ascend::readGroup(ArrayRef<linalg::LinalgOp> ops,
                                          Architecture architecture,
                                          Refusal &refusal) {
  return GroupReader(ops, architecture, refusal).read();
}

SmallVector<SmallVector<linalg::LinalgOp>> ascend::findGroups(Block &block) {
  SmallVector<SmallVector<linalg::LinalgOp>> groups;
  std::optional<int64_t> current;
  bool isOpen = false;
  for (Operation &op : block) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp) {
      isOpen &= isa<memref::AllocOp, memref::SubViewOp, memref::CastOp>(op) ||
                op.hasTrait<OpTrait::ConstantLike>();
      continue;
    }
    std::optional<int64_t> id;
    if (auto group = op.getAttrOfType<IntegerAttr>(kGroupAttrName))
      id = group.getInt();
    if (!isOpen || !id || id != current)
      groups.emplace_back();
    groups.back().push_back(linalgOp);
    current = id;
    isOpen = !op.hasAttr(kTilingAttrName);
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

model::VectorCore ascend::getVectorCore(const model::Machine &machine,
                                        Architecture architecture,
                                        MLIRContext *context) {
  Type f32 = Float32Type::get(context);
  model::VectorCore core;
  core.cores = machine.cores;
  core.pieceBytes = getPieceBytes(architecture);
  core.movesBytes = hasInstruction(architecture, "copy_gm_to_ubuf_pad", f32);
  StringRef buffer;
  for (const model::Buffer &entry : machine.buffers)
    if (entry.role == model::Buffer::Role::Vectors) {
      buffer = entry.name;
      core.bufferBytes = entry.capacityBytes;
    }
  // Rates are those of bursts that the innermost level has, which take as long
  // as whole pieces.
  int64_t burst = machine.levels.back().burstBytes;
  double whole = burst > 1 ? double(core.pieceBytes) / double(burst) : 1;
  for (const model::Route &route : machine.routes) {
    double rate = route.bytesPerSecond * whole / machine.unit.cyclesPerSecond;
    if (route.source == model::Machine::mainMemory &&
        route.destination == buffer)
      core.loadBytesPerCycle = rate;
    if (route.source == buffer &&
        route.destination == model::Machine::mainMemory)
      core.storeBytesPerCycle = rate;
  }
  return core;
}
