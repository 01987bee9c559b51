//===- OnlineSoftmax.cpp - A softmax computed tile by tile ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/OnlineSoftmax.h"

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

/// Copies the exponential of a softmax, as `op` has it, for `score` in a row
/// with `maximum`. Returns the copy of `value`, something in its body.
static Value cloneExponential(OpBuilder &builder, const ChainOperator &op,
                              Value score, Value maximum, Value value) {
  linalg::GenericOp exponential = op.exponential, rows = op.maximum;
  IRMapping mapping;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(exponential.getRegion(), captured);
  for (Value constant : captured)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (OpOperand *input : exponential.getDpsInputOperands()) {
    bool isMaximum = input->get() == rows.getResult(0);
    mapping.map(exponential.getMatchingBlockArgument(input),
                isMaximum ? maximum : score);
  }
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *operation) {
    return operation->getBlock() == exponential.getBlock();
  };
  if (failed(getBackwardSlice(value, &needed, options)))
    llvm_unreachable("bodies of generic operations are plain");
  for (Operation *nested : needed)
    builder.clone(*nested, mapping);
  return mapping.lookup(value);
}

static Value getYielded(linalg::GenericOp op) {
  return op.getBlock()->getTerminator()->getOperand(0);
}

static Value cloneExponential(OpBuilder &builder, const ChainOperator &op,
                              Value score, Value maximum) {
  return cloneExponential(builder, op, score, maximum,
                          getYielded(op.exponential));
}

/// What the exponential of a softmax subtracts from the score, if it is the
/// exponential of a difference in the type of sums; else null. It depends on
/// the row alone: other softmaxes are none to the analysis.
static Value findShift(const ChainOperator &op) {
  linalg::GenericOp generic = op.exponential;
  auto exponential = getYielded(generic).getDefiningOp<math::ExpOp>();
  if (!exponential || !canBeSum(exponential.getType()))
    return {};
  auto difference = exponential.getOperand().getDefiningOp<arith::SubFOp>();
  auto isScore = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == generic.getBlock() &&
           generic.getMatchingOpOperand(argument)->get() !=
               linalg::GenericOp(op.maximum).getResult(0);
  };
  if (!difference || !isScore(difference.getLhs()))
    return {};
  return difference.getRhs();
}

/// The combination of what a reduction has, `own`, with the next element.
static Value createMaximum(OpBuilder &builder, Location loc, Value own,
                           Value element) {
  return arith::MaximumFOp::create(builder, loc, own, element,
                                   arith::FastMathFlags::nnan);
}

SmallVector<Value> OnlineSoftmax::createStates(unsigned op,
                                               const TreePosition &position) {
  SmallVector<Value> states;
  for (const model::Access &state : problem.operators[op].states)
    states.push_back(blocks.buildBuffer(state, position));
  return states;
}

SmallVector<Value> OnlineSoftmax::clearStates(unsigned op,
                                              const TreePosition &position,
                                              ArrayRef<Value> states) {
  double neutral[] = {-INFINITY, 0};
  SmallVector<Value> cleared;
  for (auto [index, state] : llvm::enumerate(problem.operators[op].states))
    cleared.push_back(
        blocks.buildFill(op, state, neutral[index], position, states[index]));
  std::optional<model::LoopId> along = problem.operators[op].rescaledBy;
  if (cleared.size() > 1 && along && problem.loops[*along].isOpen)
    cleared[1] = startSum(op, position, position.extents[*along], cleared[1]);
  return cleared;
}

/// Rows of no elements weigh nothing, but are divided by their sum: it is one
/// if there are `count` elements, none, and zero else.
Value OnlineSoftmax::startSum(unsigned op, const TreePosition &position,
                              OpFoldResult count, Value state) {
  OpBuilder &builder = blocks.getBuilder();
  Type type = blocks.getSumType();
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isNone = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      getValueOrCreateConstantIndexOp(builder, loc, count), none);
  Value start = arith::SelectOp::create(builder, loc, isNone,
                                        createNumber(builder, loc, type, 1),
                                        createNumber(builder, loc, type, 0));
  model::TensorId tensor = problem.operators[op].states[1];
  ArrayRef<model::LoopId> loops = blocks.madeDimsOf(tensor);
  BlockBuilder::Operand number = {
      start, AffineMap::get(loops.size(), 0, builder.getContext())};
  return blocks.buildGeneric(op, loops, position, number,
                             blocks.atLoops(state, tensor, loops),
                             [](OpBuilder &, ValueRange scalars) {
                               return SmallVector<Value>{scalars[0]};
                             })[0];
}

/// The factor that `epilogue` multiplies elements by, if that is all.
static std::optional<double> getEpilogueScale(linalg::GenericOp epilogue) {
  Value yielded = getYielded(epilogue);
  auto factors = matchProduct(yielded);
  if (!factors || yielded.getParentBlock() != epilogue.getBlock())
    return std::nullopt;
  BlockArgument element =
      epilogue.getMatchingBlockArgument(epilogue.getDpsInputOperand(0));
  for (auto [lhs, rhs] :
       {*factors, ValuePair(factors->second, factors->first)}) {
    APFloat factor(0.0f);
    if (lhs == element && matchPattern(rhs, m_ConstantFloat(&factor)))
      return factor.convertToDouble();
  }
  return std::nullopt;
}

bool OnlineSoftmax::repeatsEpilogue(unsigned op) const {
  return blocks.getForms().repeated >> op & 1;
}

/// True if exponentials of `op` are rounded to few digits, whatever becomes of
/// denormal numbers.
static bool roundsExponentials(const ChainOperator &op) {
  return op.narrowed && flushesDenormals(getYielded(op.narrowed));
}

/// The exponential of `score` in a row with `maximum`. Where vectors have to
/// compute it, a power of two takes half the reduction of the argument, and a
/// factor before the difference nothing: rounding the argument changes what is
/// far below the greatest exponential of the row only, less the further it is.
/// If the exponential is rounded, nor does the factor behind the difference:
/// rounding the difference in two parts changes all of the row alike.
Value OnlineSoftmax::createExponential(unsigned op,
                                       const TreePosition &position,
                                       OpBuilder &body, Value score,
                                       Value maximum) {
  const ChainOperator &producer = analysis.operators[op];
  bool isPower = blocks.getForms().base2 >> op & 1;
  Value shift = isPower ? findShift(producer) : Value();
  if (!shift)
    return cloneExponential(body, producer,
                            finishElement(op, position, body, score), maximum);
  auto createConstant = [&](double value) {
    return createNumber(body, loc, blocks.getSumType(), value);
  };
  shift = cloneExponential(body, producer, score, maximum, shift);
  std::optional<double> scale;
  if (repeatsEpilogue(op))
    scale = getEpilogueScale(producer.epilogue);
  if (roundsExponentials(producer)) {
    Value element = scale ? score : finishElement(op, position, body, score);
    Value start =
        createProduct(body, loc, shift, createConstant(-llvm::numbers::log2e));
    Value exponent = math::FmaOp::create(
        body, loc, element,
        createConstant(llvm::numbers::log2e * scale.value_or(1)), start);
    return math::Exp2Op::create(body, loc, exponent);
  }
  Value difference;
  if (scale) {
    Value negated = arith::NegFOp::create(body, loc, shift);
    difference =
        math::FmaOp::create(body, loc, score, createConstant(*scale), negated);
  } else {
    Value element = finishElement(op, position, body, score);
    difference = arith::SubFOp::create(body, loc, element, shift);
  }
  Value exponent = createProduct(body, loc, difference,
                                 createConstant(llvm::numbers::log2e));
  return math::Exp2Op::create(body, loc, exponent);
}

/// The element that `score` becomes.
Value OnlineSoftmax::finishElement(unsigned op, const TreePosition &position,
                                   OpBuilder &body, Value score) {
  if (!repeatsEpilogue(op))
    return score;
  return blocks.cloneEpilogue(blocks.readEpilogue(op, position), body, {},
                              score);
}

/// Finishes the elements of a tile of scores, unless that is done again later,
/// and the maximum of its rows.
std::pair<Value, Value> OnlineSoftmax::buildScore(unsigned op,
                                                  const TreePosition &position,
                                                  Value score, Value maximum,
                                                  model::TensorId rows) {
  model::TensorId scores = problem.operators[op].output;
  ArrayRef<model::LoopId> loops = blocks.dimsOf(scores);
  if (!analysis.operators[op].epilogue || repeatsEpilogue(op)) {
    std::optional<double> scale;
    if (repeatsEpilogue(op))
      scale = getEpilogueScale(analysis.operators[op].epilogue);
    // A positive factor keeps the order: the maximum alone is scaled.
    bool isOrdered = scale && *scale > 0;
    maximum = blocks.buildGeneric(
        op, loops, position, blocks.atLoops(score, scores, loops),
        blocks.atLoops(maximum, rows, loops),
        [&](OpBuilder &body, ValueRange scalars) {
          Value element = scalars[0];
          if (!isOrdered)
            element = finishElement(op, position, body, element);
          return SmallVector<Value>{
              createMaximum(body, loc, scalars[1], element)};
        })[0];
    if (!isOrdered)
      return {score, maximum};
    ArrayRef<model::LoopId> rowLoops = blocks.dimsOf(rows);
    maximum = blocks.buildGeneric(op, rowLoops, position, {},
                                  blocks.atLoops(maximum, rows, rowLoops),
                                  [&](OpBuilder &body, ValueRange scalars) {
                                    return SmallVector<Value>{finishElement(
                                        op, position, body, scalars[0])};
                                  })[0];
    return {score, maximum};
  }
  BlockBuilder::Epilogue epilogue = blocks.readEpilogue(op, position);
  SmallVector<Value> results = blocks.buildGeneric(
      op, loops, position, epilogue.inputs,
      {blocks.atLoops(score, scores, loops),
       blocks.atLoops(maximum, rows, loops)},
      [&](OpBuilder &body, ValueRange scalars) {
        ValueRange own = scalars.take_back(2);
        Value element = blocks.cloneEpilogue(epilogue, body, scalars, own[0]);
        return SmallVector<Value>{element,
                                  createMaximum(body, loc, own[1], element)};
      });
  return {results[0], results[1]};
}

/// Brings maximum and sum of rows, and what operator `reader` has accumulated,
/// in line with the `highest` scores of another tile of operator `op`.
void OnlineSoftmax::correct(unsigned op, unsigned reader,
                            const TreePosition &position, Value highest,
                            MutableArrayRef<Value> carried) {
  const model::Operator &description = problem.operators[reader];
  model::TensorId state = description.states[0], output = description.output;
  ArrayRef<model::LoopId> rows = blocks.dimsOf(state),
                          products = blocks.dimsOf(output);
  SmallVector<Value> results = blocks.buildGeneric(
      reader, rows, position, blocks.atLoops(highest, state, rows),
      {blocks.atLoops(carried[1], state, rows),
       blocks.atLoops(carried[2], state, rows),
       blocks.atLoops(blocks.buildBuffer(state, position), state, rows)},
      [&](OpBuilder &body, ValueRange scalars) {
        Value maximum = createMaximum(body, loc, scalars[1], scalars[0]);
        Value factor =
            cloneExponential(body, analysis.operators[op], scalars[1], maximum);
        Value sum = createProduct(body, loc, scalars[2], factor);
        return SmallVector<Value>{maximum, sum, factor};
      });
  carried[1] = results[0];
  carried[2] = results[1];
  carried[0] = blocks.buildGeneric(reader, products, position,
                                   blocks.atLoops(results[2], state, products),
                                   blocks.atLoops(carried[0], output, products),
                                   [&](OpBuilder &body, ValueRange scalars) {
                                     return SmallVector<Value>{createProduct(
                                         body, loc, scalars[1], scalars[0])};
                                   })[0];
}

/// The operator that keeps the states.
unsigned OnlineSoftmax::findReader() const {
  unsigned reader = 0;
  while (problem.operators[reader].states.empty())
    ++reader;
  return reader;
}

void OnlineSoftmax::combine(const TreePosition &position, ArrayRef<Value> part,
                            MutableArrayRef<Value> carried) {
  unsigned reader = findReader(), op = 0;
  while (!analysis.operators[op].exponential)
    ++op;
  const model::Operator &description = problem.operators[reader];
  model::TensorId state = description.states[0], output = description.output;
  ArrayRef<model::LoopId> rows = blocks.dimsOf(state),
                          products = blocks.dimsOf(output);
  auto buildRows = [&] {
    return blocks.atLoops(blocks.buildBuffer(state, position), state, rows);
  };
  SmallVector<Value> results = blocks.buildGeneric(
      reader, rows, position,
      {blocks.atLoops(part[1], state, rows),
       blocks.atLoops(part[2], state, rows)},
      {blocks.atLoops(carried[1], state, rows),
       blocks.atLoops(carried[2], state, rows), buildRows(), buildRows()},
      [&](OpBuilder &body, ValueRange scalars) {
        Value maximum = createMaximum(body, loc, scalars[2], scalars[0]);
        const ChainOperator &producer = analysis.operators[op];
        Value factor = cloneExponential(body, producer, scalars[2], maximum);
        Value weight = cloneExponential(body, producer, scalars[0], maximum);
        Value before = createProduct(body, loc, scalars[3], factor);
        Value added = createProduct(body, loc, scalars[1], weight);
        Value sum = createSum(body, loc, before, added);
        return SmallVector<Value>{maximum, sum, factor, weight};
      });
  carried[1] = results[0];
  carried[2] = results[1];
  carried[0] = blocks.buildGeneric(
      reader, products, position,
      {blocks.atLoops(results[2], state, products),
       blocks.atLoops(results[3], state, products),
       blocks.atLoops(part[0], output, products)},
      blocks.atLoops(carried[0], output, products),
      [&](OpBuilder &body, ValueRange scalars) {
        Value before = createProduct(body, loc, scalars[3], scalars[0]);
        Value added = createProduct(body, loc, scalars[2], scalars[1]);
        return SmallVector<Value>{createSum(body, loc, before, added)};
      })[0];
}

/// `value` converted as `narrowed` converts.
static Value narrowAs(linalg::GenericOp narrowed, OpBuilder &body,
                      Value value) {
  Value yielded = getYielded(narrowed);
  Value narrow = createNarrowed(body, value.getLoc(), yielded.getType(), value);
  if (flushesDenormals(yielded))
    setFlushesDenormals(narrow);
  return narrow;
}

Value OnlineSoftmax::finishScore(unsigned op, const TreePosition &position,
                                 Value score, bool isCorrected,
                                 MutableArrayRef<Value> carried) {
  unsigned reader = findReader();
  model::TensorId scores = problem.operators[op].output;
  model::TensorId most = problem.operators[reader].states[0];
  ArrayRef<model::LoopId> elements = blocks.dimsOf(scores);
  Value &maximum = carried[1], &sum = carried[2];
  Value highest = maximum;
  if (isCorrected)
    highest = blocks.buildFill(reader, most, -INFINITY, position,
                               blocks.buildBuffer(most, position));
  std::tie(score, highest) = buildScore(op, position, score, highest, most);
  if (isCorrected)
    correct(op, reader, position, highest, carried);
  else
    maximum = highest;

  // In the place of the score, unless what is read is of another type.
  linalg::GenericOp narrowed = analysis.operators[op].narrowed;
  Type type = getElementTypeOrSelf(analysis.operators[op].result);
  SmallVector<BlockBuilder::Operand> inputs = {
      blocks.atLoops(maximum, most, elements)};
  BlockBuilder::Operand destination = blocks.atLoops(score, scores, elements);
  bool isRounded = narrowed && type == getElementTypeOrSelf(score);
  if (narrowed && !isRounded) {
    inputs.push_back(destination);
    destination.value = blocks.buildBuffer(scores, position, type);
  }
  SmallVector<Value> results = blocks.buildGeneric(
      op, elements, position, inputs,
      {destination, blocks.atLoops(sum, most, elements)},
      [&](OpBuilder &body, ValueRange scalars) {
        Value exponential =
            createExponential(op, position, body, scalars[1], scalars[0]);
        Value added = createSum(body, loc, scalars.back(), exponential);
        if (isRounded)
          exponential =
              createRounded(body, loc, getNarrowedType(narrowed), exponential);
        else if (narrowed)
          exponential = narrowAs(narrowed, body, exponential);
        return SmallVector<Value>{exponential, added};
      });
  sum = results[1];
  return results[0];
}
