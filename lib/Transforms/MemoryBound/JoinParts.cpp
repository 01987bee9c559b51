//===- JoinParts.cpp - Parts of a row that read the same ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bodies of all parts become one body, which yields what belongs to the
// part that the loop over parts is at.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/JoinParts.h"

#include "MemoryBound/FoldMoves.h"

#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace chimera;

namespace {

/// The operations that make the parts of a concatenation.
class Parts {
public:
  explicit Parts(tensor::ConcatOp concat) : concat(concat) {}

  /// True if they are to be one operation.
  bool collect();
  void join();

private:
  bool fits(linalg::GenericOp part);
  bool areConnected();
  AffineMap addLoop(AffineMap map);
  AffineMap getOutputMap();
  size_t addInput(OpOperand &input);
  void buildBody(OpBuilder &builder, ValueRange arguments);

  tensor::ConcatOp concat;
  SmallVector<linalg::GenericOp> parts;
  /// Where the loop over parts is put among the loops: in front of the one that
  /// the parts are joined along.
  unsigned position = 0;
  /// What the parts read and how, each tensor once, and where each input of
  /// each part is among these.
  SmallVector<OpOperand *> inputs;
  SmallVector<SmallVector<size_t>> places;
};

} // namespace

//===----------------------------------------------------------------------===//
// Which parts become one
//===----------------------------------------------------------------------===//

/// True if both operands are the same elements in the same order of loops.
static bool areSame(OpOperand &left, OpOperand &right) {
  auto mapOf = [](OpOperand &operand) {
    return cast<linalg::LinalgOp>(operand.getOwner())
        .getMatchingIndexingMap(&operand);
  };
  if (mapOf(left) != mapOf(right))
    return false;
  if (left.get() == right.get())
    return true;
  auto first = left.get().getDefiningOp<tensor::ExtractSliceOp>();
  auto second = right.get().getDefiningOp<tensor::ExtractSliceOp>();
  return first && second && first.getSource() == second.getSource() &&
         first.getType() == second.getType() &&
         first.isSameAs(second, [](OpFoldResult a, OpFoldResult b) {
           return isEqualConstantIntOrValue(a, b);
         });
}

/// True if `part` is made like the first one, and only for the concatenation.
bool Parts::fits(linalg::GenericOp part) {
  if (!part || !isElementwise(part) || !part->hasOneUse() ||
      part->getBlock() != concat->getBlock())
    return false;
  linalg::GenericOp first = parts.empty() ? part : parts.front();
  return part.getStaticLoopRanges() == first.getStaticLoopRanges() &&
         part.getIndexingMapsArray().back() ==
             first.getIndexingMapsArray().back();
}

/// True if each part reads, at each point, something that another one reads.
bool Parts::areConnected() {
  llvm::EquivalenceClasses<unsigned> together;
  llvm::DenseMap<size_t, unsigned> readers;
  for (auto [part, placesOfPart] : llvm::enumerate(places)) {
    together.insert(part);
    for (size_t place : placesOfPart) {
      AffineMap map = parts[part].getMatchingIndexingMap(inputs[place]);
      if (map.getNumResults() < map.getNumDims())
        continue;
      auto [known, isNew] = readers.insert({place, part});
      if (!isNew)
        together.unionSets(known->second, part);
    }
  }
  return together.getNumClasses() == 1;
}

/// The place of `input` among those of all parts.
size_t Parts::addInput(OpOperand &input) {
  auto *known = llvm::find_if(
      inputs, [&](OpOperand *other) { return areSame(*other, input); });
  if (known == inputs.end())
    known = &inputs.emplace_back(&input);
  return known - inputs.begin();
}

bool Parts::collect() {
  int64_t numParts = concat.getInputs().size();
  int64_t dim = concat.getDim();
  if (numParts < 2 || numParts > mostPartsOfRow ||
      dim + 1 != concat.getResultType().getRank())
    return false;
  for (Value value : concat.getInputs()) {
    auto part = value.getDefiningOp<linalg::GenericOp>();
    if (!fits(part))
      return false;
    parts.push_back(part);
  }
  position = parts.front().getIndexingMapsArray().back().getDimPosition(dim);
  for (linalg::GenericOp part : parts) {
    places.emplace_back();
    for (OpOperand *input : part.getDpsInputOperands())
      places.back().push_back(addInput(*input));
  }
  return areConnected();
}

//===----------------------------------------------------------------------===//
// The one operation
//===----------------------------------------------------------------------===//

/// `map` with the loop over parts among its loops, which indexes nothing.
AffineMap Parts::addLoop(AffineMap map) { return map.shiftDims(1, position); }

AffineMap Parts::getOutputMap() {
  AffineMap map = addLoop(parts.front().getIndexingMapsArray().back());
  return map.insertResult(getAffineDimExpr(position, map.getContext()),
                          map.getNumResults() - 1);
}

void Parts::buildBody(OpBuilder &builder, ValueRange arguments) {
  SmallVector<Value> yielded;
  for (auto [part, placesOfPart] : llvm::zip_equal(parts, places)) {
    IRMapping mapping;
    for (auto [number, place] : llvm::enumerate(placesOfPart))
      mapping.map(part.getBody()->getArgument(number), arguments[place]);
    for (Operation &nested : part.getBody()->without_terminator())
      builder.clone(nested, mapping);
    yielded.push_back(mapping.lookupOrDefault(
        part.getBody()->getTerminator()->getOperand(0)));
  }
  Location loc = concat.getLoc();
  Value index = linalg::IndexOp::create(builder, loc, position);
  Value value = yielded.back();
  for (size_t part = yielded.size() - 1; part-- > 0;) {
    Value number = arith::ConstantIndexOp::create(builder, loc, part);
    Value isPart = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         index, number);
    value = arith::SelectOp::create(builder, loc, isPart, yielded[part], value);
  }
  linalg::YieldOp::create(builder, loc, value);
}

void Parts::join() {
  OpBuilder builder(concat);
  RankedTensorType whole = concat.getResultType();
  SmallVector<int64_t> shape(whole.getShape());
  int64_t numParts = parts.size(), last = shape.size() - 1;
  shape.back() /= numParts;
  shape.insert(shape.end() - 1, numParts);
  Location loc = concat.getLoc();
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, whole.getElementType());
  SmallVector<Value> read;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : inputs) {
    read.push_back(input->get());
    maps.push_back(addLoop(cast<linalg::LinalgOp>(input->getOwner())
                               .getMatchingIndexingMap(input)));
  }
  maps.push_back(getOutputMap());
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto joined = linalg::GenericOp::create(
      builder, loc, empty.getType(), read, empty, maps, iterators,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        buildBody(body, arguments);
      });
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < last; ++dim)
    groups.push_back({dim});
  groups.push_back({last, last + 1});
  concat.getResult().replaceAllUsesWith(
      tensor::CollapseShapeOp::create(builder, loc, whole, joined.getResult(0),
                                      groups)
          .getResult());
  concat.erase();
  for (linalg::GenericOp part : parts)
    part.erase();
}

bool chimera::joinParts(tensor::ConcatOp concat) {
  Parts parts(concat);
  if (!parts.collect())
    return false;
  parts.join();
  return true;
}
