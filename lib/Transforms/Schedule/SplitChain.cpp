//===- SplitChain.cpp - Cut a chain into several --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One value leaves each operator with its epilogue, so a chain is cut at these
// values: an operator takes along everything its value depends on, up to the
// values of others. Fills, empty tensors and constants are cloned as needed.
//
//===----------------------------------------------------------------------===//

#include "Schedule/SplitChain.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/OpenSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace chimera;

ChainSplitter::ChainSplitter(ChainOp chain, const ChainAnalysis &analysis)
    : chain(chain), analysis(analysis) {
  for (auto [argument, input] :
       llvm::zip_equal(chain.getBody().getArguments(), chain.getInputs()))
    outside.map(argument, input);
}

/// True if `op` makes `value` for others.
static bool makes(const ChainOperator &op, Value value) {
  Operation *definition = value.getDefiningOp();
  return op.getResult() == value ||
         (definition && (definition == op.maximum || definition == op.sum));
}

/// What `op` makes before a softmax: the score, if there is one.
static Value getScore(ChainOperator op) {
  if (!op.exponential)
    return op.getResult();
  return op.epilogue ? op.epilogue.getResult(0) : op.contraction->getResult(0);
}

bool ChainSplitter::isResult(Value value) const {
  return llvm::any_of(analysis.operators, [&](const ChainOperator &op) {
    return makes(op, value);
  });
}

/// Adds what `value` depends on to `operations`, and to `inputs` what operators
/// outside `range` and the chain's inputs contribute.
void ChainSplitter::collect(Value value, OperatorRange range,
                            OperationSet &operations, ValueSet &inputs) const {
  auto isInside = [&](const ChainOperator &op) { return makes(op, value); };
  auto inRange = ArrayRef(analysis.operators).slice(range.begin, range.size());
  Operation *definition = value.getDefiningOp();
  bool isForeign = isResult(value) && llvm::none_of(inRange, isInside);
  if (!definition || isForeign) {
    inputs.insert(value);
    return;
  }
  if (operations.contains(definition))
    return;
  for (Value operand : getReadValues(definition))
    collect(operand, range, operations, inputs);
  operations.insert(definition);
}

SmallVector<Operation *>
ChainSplitter::inOrder(const OperationSet &operations) const {
  SmallVector<Operation *> sorted(operations.begin(), operations.end());
  llvm::sort(sorted, [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  });
  return sorted;
}

SmallVector<Value> ChainSplitter::getResults(OperatorRange range) {
  ValueSet read;
  OperationSet operations;
  for (unsigned index = 0; index < analysis.operators.size(); ++index)
    if (!range.has(index)) {
      operations.clear();
      collect(analysis.operators[index].getResult(), {index, index + 1},
              operations, read);
    }
  operations.clear();
  Operation *yield = chain.getBody().front().getTerminator();
  for (Value value : yield->getOperands())
    collect(value, OperatorRange(), operations, read);

  SmallVector<Value> results;
  for (unsigned index = range.begin; index < range.end; ++index)
    if (Value result = analysis.operators[index].getResult();
        read.contains(result))
      results.push_back(result);
  return results;
}

/// The operators of `range` whose softmax is read outside of it. It goes there
/// as well: it reduces whole rows, which no schedule of the range has to offer.
SmallVector<unsigned> ChainSplitter::getCutSoftmaxes(OperatorRange range) {
  SmallVector<unsigned> cut;
  for (unsigned index = range.begin; index < range.end; ++index) {
    const ChainOperator &op = analysis.operators[index];
    bool isReadInside = false;
    for (unsigned reader = index + 1; reader < range.end; ++reader)
      isReadInside |= llvm::is_contained(
          analysis.operators[reader].contraction->getOperands(),
          op.getResult());
    if (op.exponential && !isReadInside)
      cut.push_back(index);
  }
  return cut;
}

/// Copies what computes `value` from values known outside to the outside.
void ChainSplitter::cloneOutside(OpBuilder &builder, Value value) {
  if (outside.contains(value))
    return;
  Operation *definition = value.getDefiningOp();
  for (Value operand : getReadValues(definition))
    cloneOutside(builder, operand);
  builder.clone(*definition, outside);
}

/// What divides rows of no elements is one: divided by their sum, the nothing
/// they come to would be no number. `sum` adds up rows of an open size.
static void divideNothingByOne(OpBuilder &builder, linalg::GenericOp sum,
                               int64_t size) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(sum);
  Location loc = sum.getLoc();
  Value init = sum.getDpsInits().front();
  Type type = getElementTypeOrSelf(init);
  Value count = SizeOp::create(builder, loc, builder.getIndexType(), size);
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       count, none);
  auto number = [&](double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  };
  Value start =
      arith::SelectOp::create(builder, loc, isNone, number(1), number(0));
  Value empty = init.getDefiningOp<linalg::FillOp>().getDpsInits().front();
  sum.setDpsInitOperand(
      0, linalg::FillOp::create(builder, loc, start, empty).getResult(0));
}

/// Copies the sum of the softmax of `op`, along a row, to the outside.
void ChainSplitter::cloneSum(OpBuilder &builder, ChainOperator op) {
  Value value = op.sum.getResult(0);
  if (outside.contains(value))
    return;
  cloneOutside(builder, value);
  auto sum = outside.lookup(value).getDefiningOp<linalg::GenericOp>();
  OpenSizes open(sum);
  for (auto [size, kind] :
       llvm::zip_equal(sum.getStaticLoopRanges(), sum.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction && open.isOpen(size))
      divideNothingByOne(builder, sum, size);
}

/// Moves the operators of `range` into a chain of their own, which reads what
/// the operators before it, already moved, have produced.
ChainOp ChainSplitter::isolate(OpBuilder &builder, OperatorRange range) {
  SmallVector<Value> results = getResults(range);
  SmallVector<unsigned> cut = getCutSoftmaxes(range);
  for (unsigned index : cut)
    for (Value &result : results)
      if (result == analysis.operators[index].getResult())
        result = getScore(analysis.operators[index]);
  OperationSet operations;
  ValueSet inputs;
  for (unsigned index = range.begin; index < range.end; ++index) {
    const ChainOperator &op = analysis.operators[index];
    bool isCut = llvm::is_contained(cut, index);
    collect(isCut ? getScore(op) : op.getResult(), range, operations, inputs);
  }

  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(outside.lookup(input));
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  auto part = ChainOp::create(builder, chain.getLoc(), types, operands,
                              /*schedule=*/nullptr, /*plan=*/nullptr);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = part.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Operation *operation : inOrder(operations))
    builder.clone(*operation, mapping);
  SmallVector<Value> yielded;
  for (auto [result, value] : llvm::zip_equal(results, part.getResults())) {
    yielded.push_back(mapping.lookup(result));
    outside.map(result, value);
  }
  YieldOp::create(builder, chain.getLoc(), yielded);
  builder.setInsertionPointAfter(part);
  for (unsigned index : cut) {
    cloneOutside(builder, analysis.operators[index].getResult());
    cloneSum(builder, analysis.operators[index]);
  }
  return part;
}

/// What lies between operators and the end of the chain, such as a reshape,
/// goes to the outside.
void ChainSplitter::replaceYields(OpBuilder &builder) {
  OperationSet operations;
  ValueSet inputs;
  Operation *yield = chain.getBody().front().getTerminator();
  for (Value value : yield->getOperands())
    collect(value, OperatorRange(), operations, inputs);
  for (Operation *operation : inOrder(operations))
    builder.clone(*operation, outside);
  for (auto [result, value] :
       llvm::zip_equal(chain.getResults(), yield->getOperands()))
    result.replaceAllUsesWith(outside.lookup(value));
}

SmallVector<ChainOp> ChainSplitter::split(ArrayRef<OperatorRange> ranges) {
  OpBuilder builder(chain);
  SmallVector<ChainOp> parts;
  for (OperatorRange range : ranges)
    parts.push_back(isolate(builder, range));
  replaceYields(builder);
  chain.erase();
  return parts;
}
