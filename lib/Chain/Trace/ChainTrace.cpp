//===- ChainTrace.cpp - What computes and what is read --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace/ChainTrace.h"

#include "Chimera/Chain/OpKinds.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Positions ChainTrace::getPositions(const Step &step, OpOperand &operand) const {
  linalg::LinalgOp op = step.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (keepsUnits)
    llvm::replace(extents, int64_t(1), ShapedType::kDynamic);
  Positions positions;
  for (auto [expr, extent] :
       llvm::zip_equal(op.getMatchingIndexingMap(&operand).getResults(),
                       op.getShape(&operand))) {
    AffineIndex index = *linearize(expr, extents);
    Position &position = positions.emplace_back();
    position.offset = index.offset;
    for (auto [loop, factor] : index.terms)
      position.terms.push_back({step.dims[loop], factor});
    position.isPlain = index.terms.size() == 1 && index.offset == 0 &&
                       index.terms[0].second == 1 &&
                       dimensions.getExtent(position.getDim()) == extent;
  }
  return positions;
}

Positions ChainTrace::getResultPositions(const Step &step, Value result) const {
  linalg::LinalgOp op = step.op;
  return getPositions(step, *op.getTiedOpOperand(cast<OpResult>(result)));
}

namespace {

class ChainTracer {
public:
  ChainTracer(ChainOp chain, bool keepsUnits, Complaint &complaint)
      : chain(chain), complaint(complaint) {
    trace.keepsUnits = keepsUnits;
    if (keepsUnits)
      trace.dimensions.keepUnits();
  }

  FailureOr<ChainTrace> run();

private:
  LogicalResult addStep(linalg::LinalgOp op);
  LogicalResult traceUse(Step &step, OpOperand *operand);
  LogicalResult traceBack(Use &use);
  LogicalResult traceMove(Operation *move, Positions &positions);
  LogicalResult traceLinalg(linalg::LinalgOp move, Positions &positions);
  LogicalResult traceExpand(tensor::ExpandShapeOp op, Positions &positions);
  LogicalResult traceCollapse(tensor::CollapseShapeOp op, Positions &positions);
  LogicalResult tracePad(tensor::PadOp op, Positions &positions);
  LogicalResult noteReadings(Step &step, const Use &use, bool isFactor);

  ChainOp chain;
  Complaint &complaint;
  ChainTrace trace;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

LogicalResult ChainTracer::traceLinalg(linalg::LinalgOp move,
                                       Positions &positions) {
  AffineMap inputMap = move.getIndexingMapsArray()[0];
  AffineMap outputMap = move.getIndexingMapsArray()[1];
  SmallVector<int64_t> extents = move.getStaticLoopRanges();
  SmallVector<std::optional<Position>> ofLoop(extents.size());
  for (auto [expr, position] :
       llvm::zip_equal(outputMap.getResults(), positions))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      ofLoop[dim.getPosition()] = position;
  Positions moved;
  for (AffineExpr expr : inputMap.getResults()) {
    Position &position = moved.emplace_back();
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || extents[dim.getPosition()] == 1)
      continue;
    if (!ofLoop[dim.getPosition()])
      return complaint.raise(move, "it writes an element more than once");
    position = *ofLoop[dim.getPosition()];
  }
  positions = std::move(moved);
  return success();
}

LogicalResult ChainTracer::traceExpand(tensor::ExpandShapeOp op,
                                       Positions &positions) {
  Positions moved;
  for (auto [group, extent] : llvm::zip_equal(op.getReassociationIndices(),
                                              op.getSrcType().getShape())) {
    SmallVector<int64_t> real;
    for (int64_t dim : group)
      if (!positions[dim].isUnit())
        real.push_back(dim);
    if (real.size() <= 1) {
      // What is left out has extent one, unless the index is fixed.
      bool isWhole = real.empty()
                         ? extent == 1
                         : op.getResultType().getDimSize(real[0]) == extent;
      if (!isWhole)
        return complaint.raise(op, "it is read in part");
      moved.push_back(real.empty() ? Position() : positions[real[0]]);
      continue;
    }
    SmallVector<DimId> parts;
    int64_t elements = 1;
    for (int64_t dim : real) {
      if (!positions[dim].isPlain)
        return complaint.raise(op, "it splits a dimension under a window");
      parts.push_back(positions[dim].getDim());
      elements *= trace.dimensions.getExtent(parts.back());
    }
    if (elements != extent)
      return complaint.raise(op, "it is read in part");
    Position &position = moved.emplace_back();
    DimId whole = trace.dimensions.add(extent);
    trace.dimensions.split(whole, parts);
    position.terms.push_back({whole, 1});
    position.isPlain = true;
  }
  positions = std::move(moved);
  return success();
}

LogicalResult ChainTracer::traceCollapse(tensor::CollapseShapeOp op,
                                         Positions &positions) {
  Positions moved(op.getSrcType().getRank());
  for (auto [group, position] :
       llvm::zip_equal(op.getReassociationIndices(), positions)) {
    SmallVector<int64_t> real;
    for (int64_t dim : group)
      if (op.getSrcType().getDimSize(dim) != 1)
        real.push_back(dim);
    if (real.size() == 1)
      moved[real[0]] = position;
    // All extents are one: an index can only be padding around it.
    if (real.empty())
      moved[group.back()] = position;
    if (real.size() <= 1)
      continue;
    if (!position.isPlain)
      return complaint.raise(op, "it merges dimensions under a window");
    SmallVector<DimId> parts;
    for (int64_t dim : real) {
      DimId part = trace.dimensions.add(op.getSrcType().getDimSize(dim));
      moved[dim].terms.push_back({part, 1});
      moved[dim].isPlain = true;
      parts.push_back(part);
    }
    trace.dimensions.split(position.getDim(), parts);
  }
  positions = std::move(moved);
  return success();
}

LogicalResult ChainTracer::tracePad(tensor::PadOp op, Positions &positions) {
  for (auto [position, low, high] :
       llvm::zip_equal(positions, op.getMixedLowPad(), op.getMixedHighPad())) {
    int64_t before = *getConstantIntValue(low);
    position.offset -= before;
    if (before || *getConstantIntValue(high))
      position.isPlain = false;
  }
  return success();
}

LogicalResult ChainTracer::traceMove(Operation *move, Positions &positions) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(move))
    return traceExpand(expand, positions);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(move))
    return traceCollapse(collapse, positions);
  if (auto pad = dyn_cast<tensor::PadOp>(move))
    return tracePad(pad, positions);
  return traceLinalg(cast<linalg::LinalgOp>(move), positions);
}

LogicalResult ChainTracer::traceBack(Use &use) {
  while (Operation *move = use.root.getDefiningOp()) {
    if (trace.getStep(use.root) || !isMove(move))
      break;
    if (failed(traceMove(move, use.positions)))
      return failure();
    use.root = move->getOperand(0);
  }
  Operation *start = use.root.getDefiningOp();
  if (start && !trace.getStep(use.root) && !isStart(start))
    return complaint.raise(start, "it is not an operation that chains hold");
  return success();
}

/// Notes which dimensions of others' results a step reads.
LogicalResult ChainTracer::noteReadings(Step &step, const Use &use,
                                        bool isFactor) {
  if (!step.isOperator)
    for (const Position &position : use.positions)
      if (!position.isPlain && !position.isUnit())
        return complaint.raise(step.op,
                               "it reads a window, or a part, of what an "
                               "operator makes");
  const Step *producer = trace.getStep(use.root);
  if (!producer)
    return success();
  for (auto [read, written] : llvm::zip_equal(
           use.positions, trace.getResultPositions(*producer, use.root))) {
    if (written.isPlain)
      trace.readings.push_back({trace.stepOf[use.root],
                                static_cast<unsigned>(trace.steps.size()),
                                isFactor, written.getDim(), read});
    else if (!read.isUnit())
      return complaint.raise(step.op, "it reads a window of a single element");
  }
  return success();
}

LogicalResult ChainTracer::traceUse(Step &step, OpOperand *operand) {
  if (!isa<RankedTensorType>(operand->get().getType()))
    return success();
  Use use{operand->get(), trace.getPositions(step, *operand)};
  bool isFactor = step.isOperator && !step.op.isDpsInit(operand);
  if (failed(traceBack(use)) || failed(noteReadings(step, use, isFactor)))
    return failure();
  step.uses.push_back(std::move(use));
  step.operands.push_back(operand);
  return success();
}

LogicalResult ChainTracer::addStep(linalg::LinalgOp op) {
  Step step;
  step.op = op;
  step.isOperator = isComputeIntensive(op) || isSupportedOperator(op);
  if (!step.isOperator && !isPointwise(op))
    return complaint.raise(
        op, "it is no contraction or convolution of static tensors "
            "and does not work on single elements or rows");
  for (int64_t extent : op.getStaticLoopRanges())
    step.dims.push_back(trace.dimensions.add(extent));
  for (OpOperand *input : op.getDpsInputOperands())
    if (failed(traceUse(step, input)))
      return failure();
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init) && failed(traceUse(step, &init)))
      return failure();

  std::optional<unsigned> owner;
  for (const Use &use : step.uses)
    if (const Step *producer = trace.getStep(use.root))
      owner = std::max(owner.value_or(0), producer->owner);
  if (step.isOperator) {
    owner = trace.operators.size();
    trace.operators.push_back(trace.steps.size());
  } else if (!owner) {
    return complaint.raise(op,
                           "it does not depend on any operator of the chain");
  }
  step.owner = *owner;
  for (Value value : op->getResults())
    trace.stepOf[value] = trace.steps.size();
  trace.steps.push_back(std::move(step));
  return success();
}

FailureOr<ChainTrace> ChainTracer::run() {
  for (Operation &op : chain.getBody().front().without_terminator()) {
    if (isStart(&op) || isMove(&op))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp) {
      bool isScalar = llvm::none_of(
          op.getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
      if (isScalar)
        continue;
      return complaint.raise(&op, "it is not an operation that chains hold");
    }
    if (failed(addStep(linalgOp)))
      return failure();
  }
  if (trace.operators.empty())
    return complaint.raise(chain, "it has no contraction or convolution");
  uniteDimensions(trace);
  if (failed(trace.dimensions.solve()))
    return complaint.raise(chain,
                           "reshapes cut a dimension at places that do not "
                           "nest");
  return std::move(trace);
}

FailureOr<ChainTrace> chimera::traceChain(ChainOp chain, bool keepsUnits,
                                          Complaint &complaint) {
  return ChainTracer(chain, keepsUnits, complaint).run();
}
