//===- OpenSizes.cpp - Placeholders for sizes that are not known ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With placeholders in the types of arguments, shapes become static as they do
// with sizes. What a program computes with sizes otherwise must not: it takes
// them from `chimera.size`. Tensors side by side are as long as a sum, which
// gets a placeholder of its own. Operations by which the size of one dimension
// is another than a product of sizes, such as padding and convolutions along
// it, are refused: nothing could tell that a number comes from a placeholder.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpenSizes.h"

#include "Sizes/AssertedSizes.h"
#include "Sizes/FixSizes.h"
#include "Sizes/ShapeValues.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Placeholders
//===----------------------------------------------------------------------===//

static bool isPrime(int64_t number) {
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return true;
}

/// Large numbers that `function` spells.
static SmallVector<int64_t> findLargeNumbers(func::FuncOp function) {
  SmallVector<int64_t> numbers;
  auto add = [&](int64_t number) {
    if (std::abs(number) >= ChimeraDialect::getLeastPlaceholder())
      numbers.push_back(number);
  };
  auto addType = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      llvm::for_each(tensor.getShape(), add);
  };
  llvm::for_each(function.getArgumentTypes(), addType);
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), addType);
    for (NamedAttribute attribute : op->getAttrs())
      attribute.getValue().walk([&](Attribute inner) {
        if (auto integer = dyn_cast<IntegerAttr>(inner);
            integer && integer.getValue().getSignificantBits() <= 64)
          add(integer.getValue().getSExtValue());
      });
  });
  return numbers;
}

/// Primes that divide no number of `function`.
static SmallVector<int64_t> choosePlaceholders(func::FuncOp function,
                                               size_t count) {
  SmallVector<int64_t> numbers = findLargeNumbers(function), placeholders;
  for (int64_t next = ChimeraDialect::getLeastPlaceholder() + 1;
       placeholders.size() < count; next += 2)
    if (isPrime(next) && llvm::none_of(numbers, [&](int64_t number) {
          return number % next == 0;
        }))
      placeholders.push_back(next);
  return placeholders;
}

//===----------------------------------------------------------------------===//
// What depends on sizes
//===----------------------------------------------------------------------===//

/// Operands of `op` that say what shape a tensor has.
static MutableArrayRef<OpOperand> getShapeOperands(Operation *op) {
  bool makesShape = isa<tensor::EmptyOp>(op) ||
                    (isa<tensor::FromElementsOp>(op) &&
                     llvm::all_of(op->getUsers(), [](Operation *user) {
                       return isa<tensor::ReshapeOp>(user);
                     }));
  if (makesShape)
    return op->getOpOperands();
  if (isa<tensor::ExpandShapeOp>(op))
    return op->getOpOperands().drop_front();
  return {};
}

/// Makes sizes of `slice` numbers along dimensions that have as many.
static void fixSliceSizes(tensor::ExtractSliceOp slice,
                          const ShapeValues &values) {
  unsigned next = 0;
  for (auto [dim, size] : llvm::enumerate(slice.getStaticSizes())) {
    if (!ShapedType::isDynamic(size))
      continue;
    OpOperand &operand = slice.getSizesMutable()[next++];
    std::optional<int64_t> number = values.getNumber(operand.get());
    std::optional<int64_t> whole = values.getSize(slice.getSource(), dim);
    if (!number || !whole || !values.isAtLeast(*whole, *number))
      continue;
    OpBuilder builder(slice);
    operand.set(
        arith::ConstantIndexOp::create(builder, slice.getLoc(), *number));
  }
}

/// Lists sums among the sizes of `function`. Fails if it spells a number that
/// would look like one.
static LogicalResult nameSums(func::FuncOp function, const OpenSizes &open) {
  if (open.getSums().empty())
    return success();
  Builder builder(function.getContext());
  SmallVector<int64_t> numbers = findLargeNumbers(function), planned;
  SmallVector<Attribute> terms;
  for (const OpenSizes::Sum &sum : open.getSums()) {
    if (llvm::any_of(numbers,
                     [&](int64_t number) { return number % sum.size == 0; }))
      return failure();
    terms.push_back(builder.getDenseI64ArrayAttr(sum.terms));
  }
  for (int64_t placeholder : open.getPlaceholders())
    planned.push_back(open.getPlanned(placeholder));
  function->setAttr(ChimeraDialect::getOpenSizesAttrName(),
                    builder.getDenseI64ArrayAttr(open.getPlaceholders()));
  function->setAttr(ChimeraDialect::getPlannedSizesAttrName(),
                    builder.getDenseI64ArrayAttr(planned));
  function->setAttr(ChimeraDialect::getOpenSumsAttrName(),
                    builder.getArrayAttr(terms));
  return success();
}

/// Makes shapes of numbers, and takes sizes that are used otherwise from
/// operations. Returns the operation that asks for a size that is no product,
/// if there is one.
static Operation *separateSizes(func::FuncOp function) {
  ShapeValues values(function, /*takesSums=*/true);
  const OpenSizes &open = values.getOpenSizes();
  if (failed(nameSums(function, open)))
    return function;
  auto isOpen = [&](int64_t number) { return open.isOpen(number); };
  SmallVector<std::pair<Operation *, int64_t>> known;
  SmallVector<Operation *> dead;
  Operation *obstacle = nullptr;
  OpBuilder builder(function.getContext());
  function.walk([&](Operation *op) {
    for (OpOperand &operand : getShapeOperands(op))
      if (std::optional<int64_t> number = values.getNumber(operand.get())) {
        builder.setInsertionPoint(op);
        operand.set(arith::ConstantOp::create(
            builder, op->getLoc(),
            builder.getIntegerAttr(operand.get().getType(), *number)));
      }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      fixSliceSizes(slice, values);
    if (auto dim = dyn_cast<tensor::DimOp>(op)) {
      std::optional<int64_t> index = dim.getConstantIndex();
      std::optional<int64_t> size =
          index ? values.getSize(dim.getSource(), *index) : std::nullopt;
      if (size)
        known.push_back({op, *size});
      else if (!obstacle)
        obstacle = op;
    } else if (isa<arith::CmpIOp>(op)) {
      if (std::optional<int64_t> result = values.getNumber(op->getResult(0)))
        known.push_back({op, *result});
    } else if (auto check = dyn_cast<cf::AssertOp>(op)) {
      if (values.getNumber(check.getArg()) == 1)
        dead.push_back(op);
    }
  });
  if (obstacle)
    return obstacle;
  for (Operation *op : dead)
    op->erase();
  for (auto [op, number] : known) {
    builder.setInsertionPoint(op);
    Value result =
        isOpen(number)
            ? SizeOp::create(builder, op->getLoc(), builder.getIndexType(),
                             number)
                  .getResult()
            : arith::ConstantOp::create(
                  builder, op->getLoc(),
                  builder.getIntegerAttr(op->getResult(0).getType(), number))
                  .getResult();
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What may be done with open dimensions
//===----------------------------------------------------------------------===//

/// True if each dimension of an operand of `op` that is open, or has an open
/// loop in its index, is indexed by one loop.
static bool hasPlainOpenIndices(linalg::LinalgOp op, const OpenSizes &open) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (OpOperand &operand : op->getOpOperands())
    for (auto [expr, size] :
         llvm::zip_equal(op.getMatchingIndexingMap(&operand).getResults(),
                         op.getShape(&operand))) {
      if (isa<AffineDimExpr, AffineConstantExpr>(expr))
        continue;
      bool isOpen = open.isOpen(size);
      for (auto [loop, extent] : llvm::enumerate(extents))
        isOpen |= expr.isFunctionOfDim(loop) && open.isOpen(extent);
      if (isOpen)
        return false;
    }
  return true;
}

/// True if dimensions whose sizes differ before and after `op` are not open.
static bool keepsOpenSizes(Operation *op, const OpenSizes &open) {
  auto source = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return source.getRank() == result.getRank() &&
         llvm::all_of(llvm::zip_equal(source.getShape(), result.getShape()),
                      [&](auto sizes) {
                        auto [before, after] = sizes;
                        return before == after ||
                               (!open.isOpen(before) && !open.isOpen(after));
                      });
}

/// True if `op`, which is not in a region of another, leaves products of sizes
/// what they are.
static bool keepsProducts(Operation &op, const ShapeValues &values) {
  const OpenSizes &open = values.getOpenSizes();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasPureTensorSemantics() &&
           hasPlainOpenIndices(linalgOp, open);
  // What is cut to a known size may be any part of an open one; to an open
  // size, there must be as much for any sizes.
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return llvm::all_of(llvm::zip_equal(slice.getSourceType().getShape(),
                                        slice.getStaticSizes()),
                        [&](auto sizes) {
                          auto [before, after] = sizes;
                          return !ShapedType::isDynamic(after) &&
                                 (!open.isOpen(after) ||
                                  values.isAtLeast(before, after));
                        });
  if (isa<tensor::PadOp>(op))
    return keepsOpenSizes(&op, open);
  // What lies side by side along sizes that are open is as large as a sum that
  // has a name.
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    int64_t dim = concat.getDim();
    return open.isOpen(concat.getResultType().getDimSize(dim)) ||
           llvm::none_of(concat->getOperandTypes(), [&](Type type) {
             return open.isOpen(cast<RankedTensorType>(type).getDimSize(dim));
           });
  }
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          linalg::SoftmaxOp, SizeOp, func::ReturnOp, cf::AssertOp,
          arith::ConstantOp>(op))
    return true;
  // Computing with numbers, or with tensors of one shape element by element.
  return isa<affine::AffineApplyOp>(op) ||
         isa<arith::ArithDialect, math::MathDialect>(op.getDialect());
}

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || (shaped.hasRank() && shaped.hasStaticShape());
}

/// The first operation of `function`, or the function, for which sizes would be
/// other than products; null if there is none.
static Operation *findObstacle(func::FuncOp function) {
  ShapeValues values(function);
  if (!function.getBody().hasOneBlock() ||
      !llvm::all_of(function.getArgumentTypes(), isStatic))
    return function;
  for (Operation &op : function.getBody().front())
    if (!llvm::all_of(op.getResultTypes(), isStatic) ||
        !keepsProducts(op, values))
      return &op;
  return nullptr;
}

LogicalResult chimera::openSizes(func::FuncOp function,
                                 ArrayRef<int64_t> planned,
                                 Operation *&obstacle) {
  SmallVector<SizeGroup> groups = groupDynamicDims(function);
  SmallVector<int64_t> placeholders =
      choosePlaceholders(function, groups.size());
  Builder builder(function.getContext());
  function->setAttr(ChimeraDialect::getOpenSizesAttrName(),
                    builder.getDenseI64ArrayAttr(placeholders));
  function->setAttr(ChimeraDialect::getPlannedSizesAttrName(),
                    builder.getDenseI64ArrayAttr(planned));
  fixArguments(function, groups, placeholders);
  takeAssertedSizes(function);
  obstacle = separateSizes(function);
  if (!obstacle) {
    propagateShapes(function);
    fixResults(function);
    obstacle = findObstacle(function);
  }
  return success(!obstacle);
}
