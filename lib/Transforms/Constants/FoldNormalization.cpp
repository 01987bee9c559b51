//===- FoldNormalization.cpp - Batch normalisation into filters -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows a product channel by channel is a line: it multiplies with a
// number and adds another one. The factor of each channel goes into its filter,
//
//   (sum of x * w - mean) * scale + shift = sum of x * (w * scale) + rest
//
// and of up to five operations per element one addition is left. Filters and
// lines have to be the same in every call, so that both are computed once.
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"

#include "Chimera/Chain/SameInEveryCall.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_FOLDNORMALIZATIONPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// `factor * x + summand`; null stands for one and for zero.
struct Line {
  Value factor, summand;
};

/// An elementwise operation that makes a line of what it reads as `input`, the
/// same one for all elements of a channel.
struct LinearOp {
  linalg::LinalgOp op;
  OpOperand *input;
};

/// Folds what follows one product.
class Folder {
public:
  Folder(IRRewriter &rewriter, linalg::LinalgOp product)
      : rewriter(rewriter), product(product) {}

  /// False, with nothing changed, if there is nothing to fold.
  bool run();

private:
  bool findFilter();
  void findLines();
  bool isOfChannel(OpOperand &operand, linalg::LinalgOp op);
  bool isFolded(LinearOp linear);
  SmallVector<unsigned> findChannelDims();
  Line computeLine(LinearOp linear, Line before);
  Value scaleFilter(Value factors, ArrayRef<unsigned> dims);
  Value addSummands(Value value, Value summands);

  IRRewriter &rewriter;
  linalg::LinalgOp product;
  OpOperand *filter = nullptr;
  /// Dimensions of the result that are one from there on, if there are.
  tensor::CollapseShapeOp merged;
  /// The dimension of channels.
  std::optional<unsigned> channel;
  SmallVector<LinearOp, 4> lines;
};

} // namespace

//===----------------------------------------------------------------------===//
// Lines in bodies
//===----------------------------------------------------------------------===//

/// True if `op` computes a line of a line: `inputs` says which of its operands
/// are.
static bool keepsLines(Operation &op, ArrayRef<bool> inputs) {
  if (isa<arith::DivFOp>(op))
    return inputs[0] && !inputs[1];
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) &&
         inputs[0] != inputs[1];
}

/// True if the body of `linear` yields a line of its input.
static bool yieldsLine(LinearOp linear) {
  Block *body = linear.op.getBlock();
  llvm::SmallPtrSet<Value, 8> known = {
      linear.op.getMatchingBlockArgument(linear.input)};
  for (Operation &op : body->without_terminator()) {
    auto isLine = llvm::map_to_vector(op.getOperands(), [&](Value operand) {
      return known.contains(operand);
    });
    if (llvm::none_of(isLine, [](bool line) { return line; }))
      continue;
    if (!keepsLines(op, isLine))
      return false;
    known.insert(op.getResult(0));
  }
  return known.contains(body->getTerminator()->getOperand(0));
}

/// What `op` makes of the line `left` or `right` and a number that is the other
/// one: what is no line has its number as the summand.
static Line combine(OpBuilder &builder, Operation &op, Line left, Line right,
                    bool leftIsLine) {
  Location loc = op.getLoc();
  auto multiply = [&](Value value, Value number) -> Value {
    return value ? arith::MulFOp::create(builder, loc, value, number) : Value();
  };
  auto orOne = [&](Value value, Value like) -> Value {
    if (value)
      return value;
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(like.getType(), 1));
  };
  Line line = leftIsLine ? left : right;
  Value number = leftIsLine ? right.summand : left.summand;
  if (isa<arith::MulFOp>(op))
    return {multiply(orOne(line.factor, number), number),
            multiply(line.summand, number)};
  if (isa<arith::DivFOp>(op))
    return {
        arith::DivFOp::create(builder, loc, orOne(line.factor, number), number),
        line.summand ? arith::DivFOp::create(builder, loc, line.summand, number)
                           .getResult()
                     : Value()};
  if (isa<arith::AddFOp>(op))
    return {line.factor, line.summand ? arith::AddFOp::create(
                                            builder, loc, line.summand, number)
                                            .getResult()
                                      : number};
  // A difference, of a line or from one.
  Value negated = arith::NegFOp::create(builder, loc, number);
  if (leftIsLine)
    return {line.factor, line.summand ? arith::SubFOp::create(
                                            builder, loc, line.summand, number)
                                            .getResult()
                                      : negated};
  return {arith::NegFOp::create(builder, loc, orOne(line.factor, number)),
          line.summand
              ? arith::SubFOp::create(builder, loc, number, line.summand)
                    .getResult()
              : number};
}

/// The line that the body of `linear` yields if its input is the line `input`,
/// and `mapping` has numbers for its other arguments.
static Line buildBody(OpBuilder &builder, LinearOp linear, Line input,
                      IRMapping &mapping) {
  llvm::SmallDenseMap<Value, Line> known = {
      {linear.op.getMatchingBlockArgument(linear.input), input}};
  for (Operation &op : linear.op.getBlock()->without_terminator()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value operand) { return known.contains(operand); })) {
      builder.clone(op, mapping);
      continue;
    }
    auto get = [&](Value operand) {
      auto line = known.find(operand);
      return line == known.end()
                 ? Line{Value(), mapping.lookupOrDefault(operand)}
                 : line->second;
    };
    bool leftIsLine = known.contains(op.getOperand(0));
    known[op.getResult(0)] = combine(builder, op, get(op.getOperand(0)),
                                     get(op.getOperand(1)), leftIsLine);
  }
  return known[linear.op.getBlock()->getTerminator()->getOperand(0)];
}

//===----------------------------------------------------------------------===//
// What follows a product
//===----------------------------------------------------------------------===//

/// Finds the factor of the product that is the same in every call.
bool Folder::findFilter() {
  if (!product.hasPureTensorSemantics() || !multipliesTensors(product) ||
      !isZeroFill(product.getDpsInits()[0]) ||
      !product.getIndexingMapsArray().back().isProjectedPermutation())
    return false;
  Type type = getElementTypeOrSelf(product->getResult(0));
  for (OpOperand *input : product.getDpsInputOperands())
    if (type.isF32() && getElementTypeOrSelf(input->get()) == type &&
        isStaticAndNotEmpty(input->get().getType()) &&
        product.getMatchingIndexingMap(input).isProjectedPermutation() &&
        isSameInEveryCall(input->get()))
      filter = input;
  return filter;
}

/// True if `operand` of `op` is one number for each channel, or one for all,
/// and the same in every call.
bool Folder::isOfChannel(OpOperand &operand, linalg::LinalgOp op) {
  if (!getElementTypeOrSelf(operand.get()).isF32() ||
      !isSameInEveryCall(operand.get()))
    return false;
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  for (auto [dim, expr] :
       llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
    if (type.getDimSize(dim) == 1)
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || (channel && *channel != loop.getPosition()))
      return false;
    channel = loop.getPosition();
  }
  return true;
}

/// True if `linear` is a line for each channel.
bool Folder::isFolded(LinearOp linear) {
  linalg::LinalgOp op = linear.op;
  if (!op.hasPureTensorSemantics() || !isParallel(op) || !hasScalarBody(op) ||
      op.hasIndexSemantics() || op->getNumResults() != 1 ||
      op.isDpsInit(linear.input) || !op.getRegionOutputArgs()[0].use_empty() ||
      !op.getMatchingIndexingMap(linear.input).isIdentity() ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      op->getResult(0).getType() != linear.input->get().getType())
    return false;
  return llvm::all_of(op.getDpsInputOperands(),
                      [&](OpOperand *other) {
                        return other == linear.input || isOfChannel(*other, op);
                      }) &&
         yieldsLine(linear);
}

void Folder::findLines() {
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.getUses().begin();
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(use.getOwner());
    if (collapse && !merged && lines.empty()) {
      merged = collapse;
      value = collapse.getResult();
      continue;
    }
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    std::optional<unsigned> before = channel;
    if (!op || op->getBlock() != product->getBlock() || !isFolded({op, &use})) {
      channel = before;
      return;
    }
    lines.push_back({op, &use});
    value = op->getResult(0);
  }
}

/// The dimensions of the filter that are channels, outermost first; none if it
/// does not have all of them.
SmallVector<unsigned> Folder::findChannelDims() {
  SmallVector<int64_t> ofResult = {*channel};
  if (merged)
    ofResult.assign(merged.getReassociationIndices()[*channel]);
  AffineMap result = product.getIndexingMapsArray().back(),
            map = product.getMatchingIndexingMap(filter);
  SmallVector<unsigned> dims;
  for (int64_t dim : ofResult) {
    auto position = map.getResultPosition(result.getResult(dim));
    if (!position)
      return {};
    dims.push_back(*position);
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The line of each channel after `linear`, if it is `before` in front of it.
Line Folder::computeLine(LinearOp linear, Line before) {
  linalg::LinalgOp op = linear.op;
  Location loc = op.getLoc();
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  auto type =
      RankedTensorType::get(whole.getDimSize(*channel), whole.getElementType());
  AffineExpr ofChannel = rewriter.getAffineDimExpr(0);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto add = [&](Value value, AffineMap map) {
    inputs.push_back(value);
    maps.push_back(map);
  };
  for (Value known : {before.factor, before.summand})
    if (known)
      add(known, rewriter.getMultiDimIdentityMap(1));
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (operand == linear.input)
      continue;
    auto tensor = dyn_cast<RankedTensorType>(operand->get().getType());
    SmallVector<AffineExpr> indices;
    if (tensor)
      for (int64_t size : tensor.getShape())
        indices.push_back(size == 1 ? rewriter.getAffineConstantExpr(0)
                                    : ofChannel);
    add(operand->get(), AffineMap::get(1, 0, indices, rewriter.getContext()));
  }
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  maps.append(2, rewriter.getMultiDimIdentityMap(1));
  auto generic = linalg::GenericOp::create(
      rewriter, loc, TypeRange{type, type}, inputs, ValueRange{empty, empty},
      maps, SmallVector<utils::IteratorType>(1, utils::IteratorType::parallel),
      [&](OpBuilder &body, Location, ValueRange arguments) {
        Line line;
        if (before.factor)
          line.factor = arguments.front(), arguments = arguments.drop_front();
        if (before.summand)
          line.summand = arguments.front(), arguments = arguments.drop_front();
        IRMapping mapping;
        for (OpOperand *operand : op.getDpsInputOperands())
          if (operand != linear.input) {
            mapping.map(op.getMatchingBlockArgument(operand),
                        arguments.front());
            arguments = arguments.drop_front();
          }
        line = buildBody(body, linear, line, mapping);
        auto orNumber = [&](Value value, double number) -> Value {
          if (value)
            return value;
          return arith::ConstantOp::create(
              body, loc, body.getFloatAttr(type.getElementType(), number));
        };
        linalg::YieldOp::create(
            body, loc,
            ValueRange{orNumber(line.factor, 1), orNumber(line.summand, 0)});
      });
  return {generic.getResult(0), generic.getResult(1)};
}

/// The filter times the factor of each channel, of which the dimensions `dims`
/// are one.
Value Folder::scaleFilter(Value factors, ArrayRef<unsigned> dims) {
  Location loc = product.getLoc();
  auto type = cast<RankedTensorType>(filter->get().getType());
  if (dims.size() > 1) {
    SmallVector<int64_t> shape;
    for (unsigned dim : dims)
      shape.push_back(type.getDimSize(dim));
    factors = tensor::ExpandShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
        factors,
        ReassociationIndices(llvm::to_vector(llvm::seq<int64_t>(dims.size()))));
  }
  SmallVector<AffineExpr> indices;
  for (unsigned dim : dims)
    indices.push_back(rewriter.getAffineDimExpr(dim));
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                        type.getElementType());
  Value scaled =
      linalg::GenericOp::create(
          rewriter, loc, type, ValueRange{filter->get(), factors}, empty,
          {identity,
           AffineMap::get(type.getRank(), 0, indices, rewriter.getContext()),
           identity},
          SmallVector<utils::IteratorType>(type.getRank(),
                                           utils::IteratorType::parallel),
          [&](OpBuilder &body, Location, ValueRange arguments) {
            Value product =
                arith::MulFOp::create(body, loc, arguments[0], arguments[1]);
            linalg::YieldOp::create(body, loc, product);
          })
          .getResult(0);
  return PrepareOp::create(rewriter, loc, scaled);
}

Value Folder::addSummands(Value value, Value summands) {
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  Value once = PrepareOp::create(rewriter, loc, summands);
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, value),
      type.getElementType());
  return linalg::GenericOp::create(
             rewriter, loc, type, ValueRange{value, once}, empty,
             {identity,
              AffineMap::get(type.getRank(), 0,
                             rewriter.getAffineDimExpr(*channel)),
              identity},
             SmallVector<utils::IteratorType>(type.getRank(),
                                              utils::IteratorType::parallel),
             [&](OpBuilder &body, Location, ValueRange arguments) {
               Value sum =
                   arith::AddFOp::create(body, loc, arguments[0], arguments[1]);
               linalg::YieldOp::create(body, loc, sum);
             })
      .getResult(0);
}

/// True if the body of one of `lines` has an operation of type `OpTy`.
template <typename... OpTy>
static bool have(ArrayRef<LinearOp> lines) {
  return llvm::any_of(lines, [](LinearOp line) {
    return llvm::any_of(line.op.getBlock()->getOperations(),
                        llvm::IsaPred<OpTy...>);
  });
}

bool Folder::run() {
  if (!findFilter())
    return false;
  findLines();
  if (!channel || !have<arith::MulFOp, arith::DivFOp>(lines))
    return false;
  SmallVector<unsigned> dims = findChannelDims();
  if (dims.empty())
    return false;
  // What the lines read may come after the product.
  Operation *last = lines.back().op;
  rewriter.setInsertionPoint(last);
  Line line;
  for (LinearOp linear : lines)
    line = computeLine(linear, line);
  Value scaled = scaleFilter(line.factor, dims);
  Operation *copy = rewriter.clone(*product);
  copy->setOperand(filter->getOperandNumber(), scaled);
  Value value = copy->getResult(0);
  if (merged)
    value = tensor::CollapseShapeOp::create(rewriter, merged.getLoc(),
                                            merged.getResultType(), value,
                                            merged.getReassociationIndices());
  remark::passed(product.getLoc(), named("normalization"))
      << remark::add("the filter is scaled by channels, instead of {0} "
                     "operations on the result",
                     lines.size());
  if (have<arith::AddFOp, arith::SubFOp>(lines))
    value = addSummands(value, line.summand);
  rewriter.replaceOp(last, value);
  for (LinearOp linear : llvm::reverse(ArrayRef(lines).drop_back()))
    rewriter.eraseOp(linear.op);
  if (merged)
    rewriter.eraseOp(merged);
  rewriter.eraseOp(product);
  return true;
}

namespace {
struct FoldNormalizationPass
    : chimera::impl::FoldNormalizationPassBase<FoldNormalizationPass> {
  using Base::Base;

  void runOnOperation() override {
    // Folding erases what follows a product, which is none.
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!isa<ChainOp, BlockOp, linalg::LinalgOp>(op->getParentOp()) &&
          multipliesTensors(op) && !hasQuantizedFactor(op))
        products.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp product : products)
      Folder(rewriter, product).run();
  }
};
} // namespace
