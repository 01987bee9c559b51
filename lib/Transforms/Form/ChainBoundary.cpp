//===- ChainBoundary.cpp - What a chain need not hold ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After normalization the reshapes, slices and copies that are left in a chain
// touch only its operands or its result. They are put around a new chain, into
// which the rest is copied in the order the analysis wants.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Form/NormalizeChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

namespace {

/// Builds the final chain from a normalized one, starting from its result: an
/// operation is copied after what it reads, inside or in front of the chain.
class BoundaryMover {
public:
  explicit BoundaryMover(ChainOp chain)
      : chain(chain), inside(chain.getContext()), outside(chain) {}

  FormedChain run();

private:
  Value emitInside(Value value);
  Value emitOutside(Value value);
  bool isKnownOutside(Value value);
  void emitOperation(Operation *op);

  ChainOp chain;
  OpBuilder inside, outside;
  Block *body = nullptr;
  IRMapping insideValues, outsideValues;
  llvm::DenseMap<Value, bool> knownOutside;
  /// The input of the new chain for each value outside.
  llvm::DenseMap<Value, Value> arguments;
  SmallVector<Value> inputs;
  FormedChain formed;
};

} // namespace

/// True if `value` depends on the operands of the chain alone and can be had
/// without a contraction. Sources are for either side to copy.
bool BoundaryMover::isKnownOutside(Value value) {
  if (isa<BlockArgument>(value))
    return true;
  auto [it, isNew] = knownOutside.insert({value, false});
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  bool isMovable = isReshape(op) || isa<tensor::ExtractSliceOp>(op) ||
                   (generic && isParallel(generic));
  bool known = isMovable && llvm::all_of(getReadValues(op), [&](Value read) {
                 Operation *producer = read.getDefiningOp();
                 return (producer && isStart(producer)) || isKnownOutside(read);
               });
  knownOutside[value] = known;
  return known;
}

Value BoundaryMover::emitOutside(Value value) {
  if (outsideValues.contains(value))
    return outsideValues.lookup(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return chain.getInputs()[argument.getArgNumber()];
  Operation *op = value.getDefiningOp();
  for (Value read : getReadValues(op))
    outsideValues.map(read, emitOutside(read));
  formed.operations.push_back(outside.clone(*op, outsideValues));
  return outsideValues.lookup(value);
}

/// Copies `op` into the chain, after what it reads. The contraction that an
/// elementwise operation finishes comes right before it, after any other.
void BoundaryMover::emitOperation(Operation *op) {
  linalg::GenericOp finished;
  if (auto generic = dyn_cast<linalg::GenericOp>(op);
      generic && isParallel(generic))
    finished = getFinishedContraction(generic);
  llvm::SetVector<Value> values = getReadValues(op);
  if (finished) {
    for (Value value : values)
      if (value.getDefiningOp<linalg::GenericOp>() && !isKnownOutside(value) &&
          value != finished.getResult(0))
        emitInside(value);
    emitInside(finished.getResult(0));
  }
  for (Value value : values)
    emitInside(value);
  inside.clone(*op, insideValues);
}

Value BoundaryMover::emitInside(Value value) {
  if (insideValues.contains(value))
    return insideValues.lookup(value);
  if (isKnownOutside(value)) {
    Value input = emitOutside(value);
    auto [it, isNew] = arguments.insert({input, Value()});
    if (isNew) {
      inputs.push_back(input);
      it->second = body->addArgument(input.getType(), value.getLoc());
    }
    insideValues.map(value, it->second);
  } else {
    emitOperation(value.getDefiningOp());
  }
  return insideValues.lookup(value);
}

FormedChain BoundaryMover::run() {
  Region region;
  body = &region.emplaceBlock();
  inside.setInsertionPointToEnd(body);

  // The reshapes and transposes that come after everything else stay outside.
  Value yielded = chain.getBody().front().getTerminator()->getOperand(0);
  Value value = yielded;
  auto isStep = [](Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return isReshape(op) ||
           (generic && isMovement(generic) &&
            generic.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>());
  };
  while (!isa<BlockArgument>(value) && isStep(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);

  YieldOp::create(inside, chain.getLoc(), emitInside(value));
  formed.chain = ChainOp::create(outside, chain.getLoc(), value.getType(),
                                 inputs, nullptr, nullptr);
  formed.chain.getBody().takeBody(region);
  formed.operations.push_back(formed.chain);
  outsideValues.map(value, formed.chain.getResult(0));
  formed.results = {emitOutside(yielded)};
  chain.erase();
  return std::move(formed);
}

FormedChain chimera::moveBoundaryOut(ChainOp chain) {
  return BoundaryMover(chain).run();
}
