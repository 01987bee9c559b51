//===- WidenFloats.cpp - Narrow floats computed and kept in f32 -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector units compute in f32. If tensors were f16 or bf16, each element would
// be converted whenever a kernel reads it, and each result converted twice
// between two operators. So a tensor that the program computes is kept in f32,
// and so is what arithmetic on narrow types yields; where the program converts
// a number to a narrow type, it is rounded. What comes from outside stays as it
// is and is converted by whoever reads it (see WidenFactors.cpp). What is
// multiplied stays narrow where kernels multiply it so.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"
#include "Form/ConvertElements.h"
#include "Form/WidenedBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {
#define GEN_PASS_DEF_WIDENFLOATSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

class FloatWidener {
public:
  /// Keeps numbers of `types` in f32, but for factors of `factorTypes`.
  FloatWidener(func::FuncOp func, ArrayRef<Type> types,
               ArrayRef<Type> factorTypes, bool roundsAll)
      : func(func), builder(func.getContext()),
        wideType(getWideType(func.getContext())), types(types),
        factorTypes(factorTypes), roundsAll(roundsAll) {}

  void run();

private:
  bool isWidened(Type type) const { return llvm::is_contained(types, type); }
  bool isWidened(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && !type.getEncoding() && isWidened(type.getElementType());
  }
  RankedTensorType widen(Type type) const {
    return cast<RankedTensorType>(type).clone(wideType);
  }

  void widen(linalg::LinalgOp op);
  void widenFill(linalg::FillOp op);
  void widenSoftmax(linalg::SoftmaxOp op);
  void move(Operation *op);
  bool sinkWidening(Operation *op);
  Value getNarrow(Value input);
  bool multipliesNarrow(linalg::LinalgOp op);
  bool chooseInputs(linalg::LinalgOp op, SmallVectorImpl<Value> &inputs,
                    SmallVectorImpl<AffineMap> &maps);
  void replace(Operation *op, ValueRange results, bool rounds);

  Value getWide(Value value);
  Value getWideStart(Value init);
  void narrowWhatIsRead();

  func::FuncOp func;
  OpBuilder builder;
  Type wideType;
  ArrayRef<Type> types, factorTypes;
  bool roundsAll;
  /// What the program computes, in f32, by what it was.
  llvm::DenseMap<Value, Value> computed;
  /// What the program computed and converted, by what it is in f32.
  llvm::DenseMap<Value, Value> sources;
  /// What comes from outside, converted, by what it is.
  llvm::DenseMap<Value, Value> copies;
  /// Operations that others stand for.
  llvm::SetVector<Operation *> replaced;
  /// What computes something in f32 that is read in narrow types alone.
  llvm::SetVector<Operation *> unused;
};

} // namespace

//===----------------------------------------------------------------------===//
// How operations are read
//===----------------------------------------------------------------------===//

/// True if `op` converts a tensor to a wider type and does nothing else but, at
/// most, exchange dimensions.
static bool isWidening(linalg::LinalgOp op) {
  if (!isParallel(op) || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  return yielded.getDefiningOp<arith::ExtFOp>() &&
         skipWidening(yielded) == op.getBlock()->getArgument(0) &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); }) &&
         op.getIndexingMapsArray().back().isIdentity();
}

static bool movesTensors(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ReshapeOp,
             tensor::CastOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::PadOp, tensor::ConcatOp>(op);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// `value` in f32: as it was computed, or a copy of what comes from outside.
Value FloatWidener::getWide(Value value) {
  if (Value wide = computed.lookup(value))
    return wide;
  Value &copy = copies[value];
  if (!copy) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    copy = createConverted(builder, value, wideType);
  }
  return copy;
}

/// The same of what a result starts from, which may have no elements yet.
Value FloatWidener::getWideStart(Value init) {
  if (!init.getDefiningOp<tensor::EmptyOp>())
    return getWide(init);
  return tensor::EmptyOp::create(
      builder, init.getLoc(),
      tensor::getMixedSizes(builder, init.getLoc(), init), wideType);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Lets `results`, which are wide where those of `op` are of a widened type,
/// stand for the results of `op`.
void FloatWidener::replace(Operation *op, ValueRange results, bool rounds) {
  for (auto [old, result] : llvm::zip_equal(op->getResults(), results)) {
    if (!isWidened(old)) {
      old.replaceAllUsesWith(result);
      continue;
    }
    Type narrow = getElementTypeOrSelf(old);
    computed[old] =
        rounds ? createAllRounded(builder, result, narrow) : Value(result);
  }
  replaced.insert(op);
}

/// What `input` is a conversion of, if that is of a narrow type, or `input`.
Value FloatWidener::getNarrow(Value input) {
  if (Value narrow = sources.lookup(input))
    return narrow;
  auto widening = input.getDefiningOp<linalg::LinalgOp>();
  return widening && isWidening(widening) ? widening.getDpsInputs()[0] : input;
}

/// True if `op` is a product that kernels compute of factors as narrow as its.
bool FloatWidener::multipliesNarrow(linalg::LinalgOp op) {
  return multipliesTensors(op) &&
         llvm::all_of(op.getDpsInputs(), [&](Value input) {
           return llvm::is_contained(factorTypes,
                                     getElementTypeOrSelf(getNarrow(input)));
         });
}

/// The inputs of `op` as they are to be read, and their indexing maps. False if
/// all are as they were.
bool FloatWidener::chooseInputs(linalg::LinalgOp op,
                                SmallVectorImpl<Value> &inputs,
                                SmallVectorImpl<AffineMap> &maps) {
  bool isProduct = multipliesTensors(op), isNarrow = multipliesNarrow(op);
  bool hasChanged = false;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value input = operand->get();
    AffineMap map = op.getMatchingIndexingMap(operand);
    auto widening = input.getDefiningOp<linalg::LinalgOp>();
    if (isWidened(input)) {
      if (!isNarrow && computed.contains(input))
        input = getWide(input);
    } else if (isNarrow && sources.contains(input)) {
      input = sources.lookup(input);
    } else if (isProduct && widening && isWidening(widening) &&
               isWidened(widening.getDpsInputs()[0])) {
      input = widening.getDpsInputs()[0];
      map = widening.getIndexingMapsArray()[0].compose(map);
    }
    hasChanged |= input != operand->get();
    inputs.push_back(input);
    maps.push_back(map);
  }
  return hasChanged;
}

void FloatWidener::widen(linalg::LinalgOp op) {
  if (isMovement(op) && !computed.contains(op.getDpsInputs()[0]))
    return;
  // A copy of what has the type already.
  if (isWidening(op) && op.getIndexingMapsArray()[0].isIdentity() &&
      getElementTypeOrSelf(op->getResult(0)) == wideType)
    if (Value wide = computed.lookup(op.getDpsInputs()[0])) {
      sources[wide] = op.getDpsInputs()[0];
      return replace(op, wide, /*rounds=*/false);
    }
  SmallVector<Value> inputs, starts;
  SmallVector<AffineMap> maps;
  bool hasChanged = chooseInputs(op, inputs, maps);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    bool isNarrow = isWidened(init.get());
    starts.push_back(isNarrow ? getWideStart(init.get()) : init.get());
    maps.push_back(op.getMatchingIndexingMap(&init));
    hasChanged |= isNarrow;
  }
  if (!hasChanged)
    return;

  bool isSum = op.getNumReductionLoops() > 0, isUnrounded = false;
  auto inTypes = [this](Type type) { return isWidened(type); };
  auto generic = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(ValueRange(starts)), inputs, starts, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &body, Location loc, ValueRange scalars) {
        WidenedBody widened(body, inTypes, computed);
        linalg::YieldOp::create(
            body, loc,
            widened.emit(*op.getBlock(), scalars, roundsAll && !isSum));
        isUnrounded = widened.isUnrounded();
      });
  replace(op, generic.getResults(), roundsAll && isUnrounded);
}

void FloatWidener::widenFill(linalg::FillOp op) {
  if (!isWidened(op.getOutputs()[0]) || op->getNumResults() != 1)
    return;
  Value number = op.getInputs()[0];
  FloatAttr constant;
  if (!matchPattern(number, m_Constant(&constant)))
    return widen(op);
  number =
      createNumber(builder, op.getLoc(), wideType, constant.getValueAsDouble());
  Value start = getWideStart(op.getOutputs()[0]);
  auto fill = linalg::FillOp::create(builder, op.getLoc(), number, start);
  replace(op, fill.getResults(), /*rounds=*/false);
}

void FloatWidener::widenSoftmax(linalg::SoftmaxOp op) {
  if (!isWidened(op.getInput()) || !isWidened(op.getOutput()) ||
      op->getNumResults() != 1)
    return;
  Value input = getWide(op.getInput());
  Value start = getWideStart(op.getOutput());
  auto softmax = linalg::SoftmaxOp::create(
      builder, op.getLoc(), start.getType(), input, start, op.getDimension());
  replace(op, softmax->getResults(), roundsAll);
}

/// Moves what `op`, a movement, moves before it is converted rather than after.
bool FloatWidener::sinkWidening(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  auto widening = op->getOperand(0).getDefiningOp<linalg::LinalgOp>();
  if (!widening || !isWidening(widening) ||
      !widening.getIndexingMapsArray()[0].isIdentity())
    return false;
  Value source = widening.getDpsInputs()[0];
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!isWidened(source) || computed.contains(source) || !type)
    return false;
  Operation *moved = nullptr;
  if (isReshape(op)) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), source);
    moved = builder.clone(*op, mapping);
    moved->getResult(0).setType(type.clone(getElementTypeOrSelf(source)));
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
             linalgOp && isMovement(linalgOp)) {
    Location loc = op->getLoc();
    Value empty = tensor::EmptyOp::create(
        builder, loc,
        tensor::getMixedSizes(builder, loc, linalgOp.getDpsInits()[0]),
        getElementTypeOrSelf(source));
    moved = linalg::GenericOp::create(
        builder, loc, empty.getType(), source, empty,
        linalgOp.getIndexingMapsArray(), linalgOp.getIteratorTypesArray(),
        [&](OpBuilder &body, Location, ValueRange scalars) {
          linalg::YieldOp::create(body, loc, scalars[0]);
        });
  } else {
    return false;
  }
  Value wide =
      createConverted(builder, moved->getResult(0), type.getElementType());
  op->getResult(0).replaceAllUsesWith(wide);
  replaced.insert(op);
  return true;
}

/// `op` on wide tensors, if one of those that it moves is.
void FloatWidener::move(Operation *op) {
  if (!isWidened(op->getResult(0)) ||
      llvm::none_of(op->getOperands(),
                    [&](Value value) { return computed.contains(value); }))
    return;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isWidened(operand))
      mapping.map(operand, getWide(operand));
  Operation *moved = builder.clone(*op, mapping);
  moved->getResult(0).setType(widen(op->getResult(0).getType()));
  if (auto pad = dyn_cast<tensor::PadOp>(moved)) {
    OpBuilder::InsertionGuard guard(builder);
    Operation *yield = pad.getRegion().front().getTerminator();
    builder.setInsertionPoint(yield);
    Value number = yield->getOperand(0);
    FloatAttr constant;
    yield->setOperand(
        0, matchPattern(number, m_Constant(&constant))
               ? createNumber(builder, op->getLoc(), wideType,
                              constant.getValueAsDouble())
               : arith::ExtFOp::create(builder, op->getLoc(), wideType, number)
                     .getResult());
  }
  replace(op, moved->getResults(), /*rounds=*/false);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// `wide` in the type `narrow`: what it was before it became wide, if what
/// computes it ends with that and is there for nobody else.
static Value createNarrow(OpBuilder &builder, Value wide, Type narrow) {
  auto op = wide.getDefiningOp<linalg::GenericOp>();
  arith::ExtFOp widening;
  if (op && wide.use_empty() && op->getNumResults() == 1 && isParallel(op) &&
      op.getMatchingBlockArgument(&op.getDpsInitsMutable()[0]).use_empty())
    widening = op.getBody()
                   ->getTerminator()
                   ->getOperand(0)
                   .getDefiningOp<arith::ExtFOp>();
  if (!widening || widening.getIn().getType() != narrow ||
      isa<BlockArgument>(widening.getIn()))
    return createConverted(builder, wide, narrow);
  Location loc = op.getLoc();
  auto clone = cast<linalg::GenericOp>(builder.clone(*op));
  builder.setInsertionPoint(clone);
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, wide), narrow);
  clone.getDpsInitsMutable()[0].set(empty);
  clone.getResult(0).setType(cast<RankedTensorType>(empty.getType()));
  clone.getMatchingBlockArgument(&clone.getDpsInitsMutable()[0])
      .setType(narrow);
  Operation *yield = clone.getBody()->getTerminator();
  Operation *last = yield->getOperand(0).getDefiningOp();
  yield->setOperand(0, last->getOperand(0));
  if (last->use_empty())
    last->erase();
  return clone.getResult(0);
}

/// Converts what is read by operations that want it narrow.
void FloatWidener::narrowWhatIsRead() {
  for (Operation *op : replaced)
    for (Value old : op->getResults()) {
      Value wide = computed.lookup(old);
      if (!wide || llvm::all_of(old.getUsers(), [&](Operation *user) {
            return replaced.contains(user);
          }))
        continue;
      builder.setInsertionPointAfterValue(wide);
      Type type = getElementTypeOrSelf(old);
      Value narrow = createNarrow(builder, wide, type);
      old.replaceUsesWithIf(narrow, [&](OpOperand &use) {
        return !replaced.contains(use.getOwner());
      });
      if (llvm::is_contained(factorTypes, type) &&
          llvm::all_of(narrow.getUsers(), [](Operation *user) {
            return isa<linalg::LinalgOp>(user) &&
                   multipliesTensors(cast<linalg::LinalgOp>(user));
          }))
        setFlushesDenormals(narrow.getDefiningOp<linalg::GenericOp>()
                                .getBody()
                                ->getTerminator()
                                ->getOperand(0));
      if (Operation *definition = wide.getDefiningOp();
          definition && isOpTriviallyDead(definition))
        unused.insert(definition);
    }
}

void FloatWidener::run() {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == func)
      return WalkResult::advance();
    ops.push_back(op);
    bool isWhole = isa<linalg::LinalgOp, tensor::PadOp, ChainOp>(op);
    return isWhole ? WalkResult::skip() : WalkResult::advance();
  });
  for (Operation *op : ops) {
    builder.setInsertionPointAfter(op);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && !linalgOp.hasPureTensorSemantics())
      continue;
    if (sinkWidening(op))
      continue;
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      widenFill(fill);
    else if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
      widenSoftmax(softmax);
    else if (linalgOp)
      widen(linalgOp);
    else if (movesTensors(op))
      move(op);
  }
  narrowWhatIsRead();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (Operation *op : unused)
    if (isOpTriviallyDead(op))
      op->erase();
  for (Operation *op : llvm::reverse(ops))
    if (!replaced.contains(op) && isOpTriviallyDead(op))
      op->erase();
}

/// The narrow types that are computed with block by block, on vectors.
static SmallVector<Type> findWidenedTypes(Operation *op,
                                          TargetAttrInterface target) {
  SmallVector<Type> types = getFactorTypes(op->getContext());
  llvm::erase_if(types, [&](Type type) {
    return !isNarrowFloat(type) || !areMultipliedByBlocks(op, target, type);
  });
  return types;
}

namespace {
struct WidenFloatsPass : chimera::impl::WidenFloatsPassBase<WidenFloatsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    SmallVector<Type> types = findWidenedTypes(getOperation(), *found);
    if (types.empty())
      return;
    SmallVector<Type> factorTypes = types;
    llvm::erase_if(factorTypes, [&](Type type) {
      return areAllMultipliedInSumType(getOperation(), *found, type);
    });
    FloatWidener(getOperation(), types, factorTypes, roundAll).run();
  }
};
} // namespace
