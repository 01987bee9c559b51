//===- ScalarExpressions.cpp - What an element is computed from -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ScalarExpressions.h"

#include "Chimera/Chain/OpKinds.h"
#include "Softmax/OnlineCorrection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

ExprId ExprPool::add(Expr expr) {
  for (ExprId operand : expr.operands) {
    expr.isElement |= nodes[operand].isElement;
    expr.holdsReduction |= nodes[operand].holdsReduction;
  }
  if (expr.kind == Expr::Kind::RowReduction) {
    expr.isElement = false;
    expr.holdsReduction = true;
  } else {
    expr.isElement |= llvm::is_contained(expr.dims, rowDim);
  }
  Key key(static_cast<int>(expr.kind), expr.type.getAsOpaquePointer(),
          expr.attribute.getAsOpaquePointer(), expr.tensor.getAsOpaquePointer(),
          expr.name.str(),
          std::vector<unsigned>(expr.dims.begin(), expr.dims.end()),
          std::vector<unsigned>(expr.operands.begin(), expr.operands.end()));
  auto [it, isNew] = known.insert({std::move(key), nodes.size()});
  if (isNew) {
    sums.push_back(getSum(expr));
    nodes.push_back(std::move(expr));
  }
  return it->second;
}

ExprId ExprPool::number(TypedAttr value) {
  Expr expr;
  expr.kind = Expr::Kind::Number;
  expr.type = value.getType();
  expr.attribute = value;
  return add(std::move(expr));
}

ExprId ExprPool::number(double value, Type type) {
  Builder builder(context);
  if (isa<FloatType>(type))
    return number(builder.getFloatAttr(type, value));
  return number(cast<TypedAttr>(
      builder.getIntegerAttr(type, static_cast<int64_t>(value))));
}

ExprId ExprPool::tensor(Value value, ArrayRef<PointDim> dims) {
  Expr expr;
  expr.kind = Expr::Kind::Tensor;
  expr.type = getElementTypeOrSelf(value.getType());
  expr.tensor = value;
  expr.dims.assign(dims.begin(), dims.end());
  return add(std::move(expr));
}

ExprId ExprPool::index(PointDim dim) {
  Expr expr;
  expr.kind = Expr::Kind::Index;
  expr.type = IndexType::get(context);
  expr.dims = {dim};
  return add(std::move(expr));
}

ExprId ExprPool::operation(StringRef name, Type type, ArrayRef<ExprId> operands,
                           DictionaryAttr attributes) {
  Expr expr;
  expr.kind = Expr::Kind::Operation;
  expr.type = type;
  expr.attribute = attributes ? attributes : DictionaryAttr::get(context);
  // The context owns registered names.
  expr.name = OperationName(name, context).getStringRef();
  expr.operands.assign(operands.begin(), operands.end());
  bool isCommutative =
      OperationName(name, context).hasTrait<OpTrait::IsCommutative>();
  // Numbers come last, as canonical operations have them.
  if (isCommutative)
    llvm::sort(expr.operands, [&](ExprId left, ExprId right) {
      bool isLeftNumber = nodes[left].kind == Expr::Kind::Number;
      bool isRightNumber = nodes[right].kind == Expr::Kind::Number;
      return std::tie(isLeftNumber, left) < std::tie(isRightNumber, right);
    });
  if (expr.name == arith::CmpIOp::getOperationName())
    compareSums(expr);
  return add(std::move(expr));
}

ExprId ExprPool::compare(StringRef name, int64_t predicate, ExprId lhs,
                         ExprId rhs) {
  Builder builder(context);
  NamedAttribute attribute =
      builder.getNamedAttr("predicate", builder.getI64IntegerAttr(predicate));
  return operation(name, builder.getI1Type(), {lhs, rhs},
                   builder.getDictionaryAttr(attribute));
}

ExprId ExprPool::rowReduction(StringRef combiner, ExprId element) {
  Expr expr;
  expr.kind = Expr::Kind::RowReduction;
  expr.type = nodes[element].type;
  expr.name = OperationName(combiner, context).getStringRef();
  expr.operands = {element};
  return add(std::move(expr));
}

std::optional<double> ExprPool::getNumber(ExprId id) const {
  auto value = dyn_cast_or_null<FloatAttr>(nodes[id].attribute);
  if (nodes[id].kind != Expr::Kind::Number || !value)
    return std::nullopt;
  return value.getValueAsDouble();
}

bool ExprPool::isNegativeInfinity(ExprId id) const {
  std::optional<double> value = getNumber(id);
  return value && std::isinf(*value) && *value < 0;
}

bool ExprPool::isLowestNumber(ExprId id) const {
  std::optional<double> value = getNumber(id);
  return value && isLowest(*value);
}

bool ExprPool::isZero(ExprId id) const {
  std::optional<double> value = getNumber(id);
  return value && *value == 0;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

std::optional<AffineSum> ExprPool::getSum(const Expr &expr) const {
  switch (expr.kind) {
  case Expr::Kind::Index:
    return getIfExact(AffineSum{{{expr.dims[0], 1}}, 0}, extents, expr.type);
  case Expr::Kind::Number:
    return expr.type.isInteger(1) ? std::nullopt
                                  : getConstantSum(expr.attribute);
  case Expr::Kind::Operation: {
    if (expr.operands.empty())
      return std::nullopt;
    SmallVector<std::optional<AffineSum>> operands;
    for (ExprId operand : expr.operands)
      operands.push_back(sums[operand]);
    return combineSums(expr.name, expr.type, nodes[expr.operands[0]].type,
                       operands, extents);
  }
  case Expr::Kind::Tensor:
  case Expr::Kind::RowReduction:
    return std::nullopt;
  }
  llvm_unreachable("unknown kind of expression");
}

/// The predicate with the sides exchanged; none if it is unsigned.
static std::optional<arith::CmpIPredicate>
exchangeSides(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  constexpr std::pair<Predicate, Predicate> pairs[] = {
      {Predicate::eq, Predicate::eq},   {Predicate::ne, Predicate::ne},
      {Predicate::slt, Predicate::sgt}, {Predicate::sle, Predicate::sge},
      {Predicate::sgt, Predicate::slt}, {Predicate::sge, Predicate::sle}};
  for (auto [own, exchanged] : pairs)
    if (predicate == own)
      return exchanged;
  return std::nullopt;
}

/// Brings `expr`, if it compares sums of indices, into one form: what runs
/// along the row, on the left, against what does not, in 32 bits.
void ExprPool::compareSums(Expr &expr) {
  auto predicate = static_cast<arith::CmpIPredicate>(
      cast<IntegerAttr>(cast<DictionaryAttr>(expr.attribute).get("predicate"))
          .getInt());
  std::optional<arith::CmpIPredicate> exchanged = exchangeSides(predicate);
  std::optional<AffineSum> lhs = sums[expr.operands[0]],
                           rhs = sums[expr.operands[1]];
  if (!exchanged || !lhs || !rhs)
    return;
  AffineSum sum = addMultiple(*lhs, *rhs, -1);
  if (!fits32Bits(sum, extents))
    return;

  Type i32 = IntegerType::get(context, 32);
  auto term = [&](PointDim dim, int64_t factor) {
    ExprId value = operation("arith.index_cast", i32, {index(dim)});
    if (factor == 1)
      return value;
    return operation("arith.muli", i32, {value, number(factor, i32)});
  };
  int64_t along = sum.factors.count(rowDim) ? sum.factors[rowDim] : 0;
  int64_t sign = along < 0 ? 1 : -1;
  ExprId left = along == 0 ? number(0, i32) : term(rowDim, std::abs(along));
  ExprId right = number(sign * sum.constant, i32);
  for (auto [dim, factor] : sum.factors)
    if (dim != rowDim && factor != 0)
      right = operation("arith.addi", i32, {right, term(dim, sign * factor)});
  if (along < 0)
    predicate = *exchanged;
  Builder builder(context);
  expr.operands = {left, right};
  expr.attribute = builder.getDictionaryAttr(builder.getNamedAttr(
      "predicate", builder.getI64IntegerAttr(static_cast<int64_t>(predicate))));
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void ExprPool::collectLeaves(ExprId id, llvm::DenseSet<ExprId> &seen,
                             SmallVectorImpl<ExprId> &leaves) const {
  if (!seen.insert(id).second)
    return;
  if (nodes[id].kind == Expr::Kind::Tensor)
    leaves.push_back(id);
  for (ExprId operand : nodes[id].operands)
    collectLeaves(operand, seen, leaves);
}

static unsigned getPlace(ArrayRef<PointDim> domain, PointDim dim) {
  return std::distance(domain.begin(), llvm::find(domain, dim));
}

Value ExprPool::emitScalar(OpBuilder &builder, Location loc, ExprId id,
                           ArrayRef<PointDim> domain,
                           std::map<ExprId, Value> &known) {
  if (auto it = known.find(id); it != known.end())
    return it->second;
  const Expr &expr = nodes[id];
  Value value;
  switch (expr.kind) {
  case Expr::Kind::Number:
    value = arith::ConstantOp::create(builder, loc,
                                      cast<TypedAttr>(expr.attribute));
    break;
  case Expr::Kind::Index:
    value =
        linalg::IndexOp::create(builder, loc, getPlace(domain, expr.dims[0]));
    break;
  case Expr::Kind::Operation: {
    OperationState state(loc, expr.name);
    for (ExprId operand : expr.operands)
      state.addOperands(emitScalar(builder, loc, operand, domain, known));
    state.addAttributes(cast<DictionaryAttr>(expr.attribute).getValue());
    state.addTypes(expr.type);
    value = builder.create(state)->getResult(0);
    break;
  }
  case Expr::Kind::Tensor:
  case Expr::Kind::RowReduction:
    llvm_unreachable("tensors are known, reductions are not elementwise");
  }
  known[id] = value;
  return value;
}

Value ExprPool::emit(OpBuilder &builder, Location loc, ExprId expr,
                     ArrayRef<PointDim> domain, ArrayRef<int64_t> extents) {
  llvm::DenseSet<ExprId> seen;
  SmallVector<ExprId> leaves;
  collectLeaves(expr, seen, leaves);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (ExprId leaf : leaves) {
    inputs.push_back(nodes[leaf].tensor);
    auto places = llvm::map_to_vector(
        nodes[leaf].dims, [&](PointDim dim) { return getPlace(domain, dim); });
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(domain.size(), places, context));
  }
  maps.push_back(builder.getMultiDimIdentityMap(domain.size()));
  Type type = nodes[expr].type;
  Value empty = tensor::EmptyOp::create(builder, loc, extents, type);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), inputs, empty, maps,
      SmallVector<utils::IteratorType>(domain.size(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location bodyLoc, ValueRange arguments) {
        std::map<ExprId, Value> known;
        for (auto [leaf, argument] : llvm::zip(leaves, arguments))
          known[leaf] = argument;
        linalg::YieldOp::create(body, bodyLoc,
                                emitScalar(body, bodyLoc, expr, domain, known));
      });
  return generic.getResult(0);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Longer bodies are no part of a softmax: reading one goes as deep as its
/// operations depend on each other.
static constexpr size_t mostOperationsOfBody = 1000;

/// The dimension of each loop of `op` when result `result` is at `dims`.
static std::optional<SmallVector<PointDim>> getLoops(linalg::GenericOp op,
                                                     unsigned result,
                                                     ArrayRef<PointDim> dims,
                                                     PointDim rest) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  if (!map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<PointDim> loops(op.getNumLoops(), rest);
  for (auto [index, dim] : llvm::enumerate(dims))
    loops[map.getDimPosition(index)] = dim;
  return loops;
}

/// True if `op` turns truth values into bytes: they are read as those.
static bool isWidening(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getResultTypes().size() == 1 &&
         getElementTypeOrSelf(op.getDpsInputs()[0].getType()).isInteger(1) &&
         getElementTypeOrSelf(op.getResultTypes()[0]).isInteger(8) &&
         op.getIndexingMapsArray()[0].isIdentity() &&
         isa<BlockArgument>(op.getDpsInputs()[0]);
}

std::optional<ExprId> ExprReader::read(Value value, ArrayRef<PointDim> dims) {
  if (auto it = leaves.find(value); it != leaves.end()) {
    Leaf &leaf = it->second;
    if (!leaf.dims)
      leaf.dims.emplace(dims);
    if (ArrayRef<PointDim>(*leaf.dims) != dims)
      return std::nullopt;
    ExprId element = pool.tensor(value, dims);
    if (leaf.factor == 1)
      return element;
    Type type = pool[element].type;
    return pool.operation("arith.mulf", type,
                          {element, pool.number(leaf.factor, type)});
  }
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return pool.tensor(value, dims);
  if (auto fill = dyn_cast<linalg::FillOp>(definition))
    return read(fill.getInputs()[0], {});
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant)) {
      if (!elements.isSplat())
        return std::nullopt;
      constant = elements.getSplatValue<Attribute>();
    }
    auto number = dyn_cast<TypedAttr>(constant);
    if (!number)
      return std::nullopt;
    return pool.number(number);
  }
  // A reshape is left only where it can be made outside the chain.
  if (isReshape(definition))
    return pool.tensor(value, dims);
  auto generic = dyn_cast<linalg::GenericOp>(definition);
  if (!generic)
    return std::nullopt;
  if (isWidening(generic))
    return pool.tensor(value, dims);
  std::pair<const void *, std::vector<unsigned>> key(
      value.getAsOpaquePointer(),
      std::vector<unsigned>(dims.begin(), dims.end()));
  if (auto it = memo.find(key); it != memo.end())
    return it->second;
  std::optional<ExprId> result =
      readGeneric(generic, cast<OpResult>(value).getResultNumber(), dims);
  memo[key] = result;
  return result;
}

std::optional<ExprId> ExprReader::readGeneric(linalg::GenericOp op,
                                              unsigned result,
                                              ArrayRef<PointDim> dims) {
  std::optional<SmallVector<PointDim>> loops =
      getLoops(op, result, dims, rowDim);
  if (!loops || !op.hasPureTensorSemantics() ||
      op.getBlock()->getOperations().size() > mostOperationsOfBody)
    return std::nullopt;
  if (op.getNumReductionLoops() > 0)
    return readReduction(op, result, *loops);
  Scalars known;
  return readScalar(op, op.getBlock()->getTerminator()->getOperand(result),
                    *loops, known);
}

/// True if `init` is what `combiner` starts from without effect.
static bool isNeutral(const ExprPool &pool, StringRef combiner, ExprId init) {
  const Expr &expr = pool[init];
  if (expr.kind != Expr::Kind::Number)
    return false;
  if (std::optional<double> value = pool.getNumber(init)) {
    if (combiner == "arith.addf")
      return *value == 0;
    bool isIgnored = combiner == "arith.maxnumf" && std::isnan(*value);
    return isIgnored || isLowest(*value);
  }
  auto value = dyn_cast<IntegerAttr>(expr.attribute);
  return value && ((combiner == "arith.andi" && value.getValue().isAllOnes()) ||
                   (combiner == "arith.ori" && value.getValue().isZero()));
}

std::optional<ExprId> ExprReader::readReduction(linalg::GenericOp op,
                                                unsigned result,
                                                ArrayRef<PointDim> loops) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  if (reduced.size() != 1 || op.getStaticLoopRanges()[reduced[0]] != rowExtent)
    return std::nullopt;
  for (auto [loop, dim] : llvm::enumerate(loops))
    if ((loop == reduced[0]) != (dim == rowDim))
      return std::nullopt;
  BlockArgument accumulator = op.getRegionOutputArgs()[result];
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(result).getDefiningOp();
  if (!combiner ||
      !isa<arith::MaximumFOp, arith::MaxNumFOp, arith::AddFOp, arith::AndIOp,
           arith::OrIOp>(combiner) ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return std::nullopt;
  unsigned position = combiner->getOperand(0) == accumulator ? 1 : 0;
  Scalars known;
  std::optional<ExprId> element =
      readScalar(op, combiner->getOperand(position), loops, known);
  std::optional<ExprId> init = read(op.getDpsInits()[result], {});
  StringRef name = combiner->getName().getStringRef();
  if (!element || !init || !isNeutral(pool, name, *init))
    return std::nullopt;
  ExprId reduction = pool.rowReduction(name, *element);
  // The least finite number comes out of rows that are masked entirely.
  std::optional<double> least = pool.getNumber(*init);
  if (name != "arith.addf" && least && std::isfinite(*least))
    return pool.operation(name, pool[reduction].type, {reduction, *init});
  return reduction;
}

std::optional<ExprId> ExprReader::readScalar(linalg::GenericOp op, Value value,
                                             ArrayRef<PointDim> loops,
                                             Scalars &known) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    // What a reduction has so far is not an element of anything.
    if (op.isDpsInit(&operand) && op.getNumReductionLoops() > 0)
      return std::nullopt;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation())
      return std::nullopt;
    return read(operand.get(), applyPermutationMap<PointDim>(map, loops));
  }
  Operation *nested = value.getDefiningOp();
  if (!nested || nested->getBlock() != op.getBlock())
    return read(value, {});
  if (auto it = known.find(value); it != known.end())
    return it->second;
  std::optional<ExprId> result = readOperation(op, nested, loops, known);
  known[value] = result;
  return result;
}

std::optional<ExprId> ExprReader::readOperation(linalg::GenericOp op,
                                                Operation *nested,
                                                ArrayRef<PointDim> loops,
                                                Scalars &known) {
  if (auto index = dyn_cast<linalg::IndexOp>(nested))
    return pool.index(loops[index.getDim()]);
  if (nested->getNumResults() != 1 || nested->getNumRegions() != 0 ||
      !isMemoryEffectFree(nested))
    return std::nullopt;
  if (Attribute constant; matchPattern(nested, m_Constant(&constant)))
    return pool.number(cast<TypedAttr>(constant));
  SmallVector<ExprId> operands;
  SmallVector<Attribute> constants;
  for (Value operand : nested->getOperands()) {
    std::optional<ExprId> id = readScalar(op, operand, loops, known);
    if (!id)
      return std::nullopt;
    operands.push_back(*id);
    bool isNumber = pool[*id].kind == Expr::Kind::Number;
    constants.push_back(isNumber ? pool[*id].attribute : Attribute());
  }
  // On a copy, since folding may change operations.
  OpBuilder builder(nested->getContext());
  Operation *copy = builder.clone(*nested);
  SmallVector<OpFoldResult> folded;
  bool isFolded =
      succeeded(copy->fold(constants, folded)) && folded.size() == 1;
  copy->erase();
  if (isFolded) {
    if (auto number = dyn_cast_if_present<Attribute>(folded[0]))
      return pool.number(cast<TypedAttr>(number));
    return readScalar(op, cast<Value>(folded[0]), loops, known);
  }
  return pool.operation(nested->getName().getStringRef(),
                        nested->getResult(0).getType(), operands,
                        nested->getAttrDictionary());
}
