//===- Specializer.cpp - Code for the extents that occur ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Specializer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Naive semantics
//===----------------------------------------------------------------------===//

void chimera::emitNaive(OpBuilder &builder, MicroKernelOp op) {
  Location loc = op.getLoc();
  if (op.getOverwrite()) {
    Type elementType = getElementTypeOrSelf(op.getOutput());
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(elementType));
    linalg::FillOp::create(builder, loc, zero, op.getOutput());
  }
  SmallVector<utils::IteratorType> iterators;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    iterators.push_back(op.isReduction(dim) ? utils::IteratorType::reduction
                                            : utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, loc, op.getInputs(), op.getOutputs(), op.getMaps(), iterators,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        IRMapping mapping;
        Block &source = op.getBody().front();
        mapping.map(source.getArguments(), arguments);
        for (Operation &nested : source.without_terminator()) {
          if (auto index = dyn_cast<IndexOp>(nested))
            mapping.map(index.getResult(),
                        linalg::IndexOp::create(body, loc, index.getDim()));
          else
            body.clone(nested, mapping);
        }
        SmallVector<Value> yielded;
        for (Value value : source.getTerminator()->getOperands())
          yielded.push_back(mapping.lookupOrDefault(value));
        linalg::YieldOp::create(body, loc, yielded);
      });
}

//===----------------------------------------------------------------------===//
// Specialisation
//===----------------------------------------------------------------------===//

namespace {

/// Where the run-time extent of a dimension can be read.
struct DimSource {
  Value memref;
  unsigned position;
};

class Specializer {
public:
  Specializer(OpBuilder &builder, MicroKernelOp op, TakesAnyExtent takesAny,
              bool takesOpen, llvm::function_ref<void()> emitOthers)
      : builder(builder), op(op), takesAny(takesAny), takesOpen(takesOpen),
        emitOthers(emitOthers), open(op.getNumDims()) {
    extents.assign(op.getNumDims(), ShapedType::kDynamic);
    sources.resize(op.getNumDims());
    for (auto [map, operand] : llvm::zip_equal(op.getMaps(), op->getOperands()))
      if (auto type = dyn_cast<MemRefType>(operand.getType()))
        for (unsigned i = 0; i < map.getNumResults(); ++i) {
          unsigned dim = map.getDimPosition(i);
          if (!type.isDynamicDim(i))
            extents[dim] = type.getDimSize(i);
          sources[dim] = {operand, i};
        }
  }

  /// Emits code for the largest extents of the dimensions that are open, and
  /// for others.
  LogicalResult specializeOpen(EmitForExtents emit);

private:
  LogicalResult specialize(unsigned dim, EmitForExtents emit);
  Value getSize(unsigned dim);
  Value testExtent(Value size, int64_t extent);

  OpBuilder &builder;
  MicroKernelOp op;
  TakesAnyExtent takesAny;
  bool takesOpen;
  llvm::function_ref<void()> emitOthers;
  /// Dimensions that have their extents, or are left dynamic.
  llvm::SmallBitVector open;
  SmallVector<int64_t> extents;
  SmallVector<DimSource> sources;
};

} // namespace

Value Specializer::getSize(unsigned dim) {
  return memref::DimOp::create(builder, op.getLoc(), sources[dim].memref,
                               sources[dim].position);
}

Value Specializer::testExtent(Value size, int64_t extent) {
  Location loc = op.getLoc();
  Value expected = arith::ConstantIndexOp::create(builder, loc, extent);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size,
                               expected);
}

LogicalResult Specializer::specializeOpen(EmitForExtents emit) {
  Value areLargest;
  bool isListed = true;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (!op.isOpen(dim) || !ShapedType::isDynamic(extents[dim]))
      continue;
    open.set(dim);
    SmallVector<int64_t> listed = op.getExtentsOf(dim);
    isListed &= !listed.empty();
    if (listed.empty())
      continue;
    Value isLargest = testExtent(getSize(dim), *llvm::max_element(listed));
    areLargest = areLargest ? arith::AndIOp::create(builder, op.getLoc(),
                                                    areLargest, isLargest)
                                  .getResult()
                            : isLargest;
  }
  if (open.none())
    return specialize(0, emit);
  OpBuilder::InsertionGuard guard(builder);
  if (isListed) {
    auto ifOp = scf::IfOp::create(builder, op.getLoc(), areLargest,
                                  /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    for (unsigned dim : open.set_bits())
      extents[dim] = *llvm::max_element(op.getExtentsOf(dim));
    if (failed(specialize(0, emit)))
      return failure();
    builder.setInsertionPointToStart(ifOp.elseBlock());
    for (unsigned dim : open.set_bits())
      extents[dim] = ShapedType::kDynamic;
  }
  if (takesOpen)
    return specialize(0, emit);
  emitOthers();
  return success();
}

LogicalResult Specializer::specialize(unsigned dim, EmitForExtents emit) {
  if (dim == op.getNumDims())
    return emit(builder, extents);
  if (!ShapedType::isDynamic(extents[dim]) || takesAny(dim) || open[dim])
    return specialize(dim + 1, emit);

  Value size = getSize(dim);
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t extent : op.getExtentsOf(dim)) {
    auto ifOp =
        scf::IfOp::create(builder, op.getLoc(), testExtent(size, extent),
                          /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    extents[dim] = extent;
    if (failed(specialize(dim + 1, emit)))
      return failure();
    builder.setInsertionPointToStart(ifOp.elseBlock());
  }
  extents[dim] = ShapedType::kDynamic;
  emitOthers();
  return success();
}

LogicalResult chimera::specialize(OpBuilder &builder, MicroKernelOp op,
                                  TakesAnyExtent takesAny, bool takesOpen,
                                  EmitForExtents emit,
                                  llvm::function_ref<void()> emitOthers) {
  return Specializer(builder, op, takesAny, takesOpen, emitOthers)
      .specializeOpen(emit);
}
