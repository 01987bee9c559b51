//===- Elementwise.cpp - Elementwise operations and copies ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything around contractions: what follows them element by element, fills,
// and the copies that bring operands into the layout a kernel reads.
//
//===----------------------------------------------------------------------===//

#include "MicroKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

namespace {

class ElementwiseEmitter : public MicroKernelEmitter {
public:
  using MicroKernelEmitter::MicroKernelEmitter;

  LogicalResult emit();

private:
  bool isCovered();
  void emitVector(SmallVector<Value> &point, int64_t count);
  Value vectorize(Value scalar, IRMapping &mapping);
};

class TransposedCopyEmitter : public MicroKernelEmitter {
public:
  using MicroKernelEmitter::MicroKernelEmitter;

  LogicalResult emit();

private:
  void emitSquare(Value row, int64_t rows, Value column, int64_t columns);

  /// The dimension along which the source is contiguous.
  unsigned sourceDim = 0;
  SmallVector<Value> point;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// True if every operation of the body works on vectors as on scalars, and
/// every operand is a scalar, does not run along the vector, or is contiguous.
bool ElementwiseEmitter::isCovered() {
  for (unsigned operand = 0; operand < maps.size(); ++operand)
    if (indexes(operand, vectorDim) && !isContiguous(operand))
      return false;
  return llvm::all_of(
      op.getBody().front().without_terminator(), [](Operation &nested) {
        return nested.hasTrait<OpTrait::ConstantLike>() ||
               (OpTrait::hasElementwiseMappableTraits(&nested) &&
                nested.getNumResults() == 1);
      });
}

LogicalResult ElementwiseEmitter::emit() {
  if (!isCovered())
    return failure();
  SmallVector<unsigned> outer;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (dim != vectorDim)
      outer.push_back(dim);
  SmallVector<Value> point(op.getNumDims());
  int64_t extent = extents[vectorDim], full = extent - extent % lanes;
  buildNest(outer, point, [&] {
    buildLoop(0, full, lanes, [&](Value iv) {
      point[vectorDim] = iv;
      emitVector(point, lanes);
    });
    if (full == extent)
      return;
    point[vectorDim] = constant(full);
    emitVector(point, extent - full);
  });
  return success();
}

void ElementwiseEmitter::emitVector(SmallVector<Value> &point, int64_t count) {
  Block &body = op.getBody().front();
  IRMapping mapping;
  for (auto [operand, argument] : llvm::enumerate(body.getArguments())) {
    if (argument.use_empty())
      continue;
    mapping.map(argument, indexes(operand, vectorDim)
                              ? loadVector(operand, point, count)
                              : loadBroadcast(operand, point));
  }
  for (Operation &nested : body.without_terminator()) {
    if (nested.hasTrait<OpTrait::ConstantLike>()) {
      Operation *scalar = builder.clone(nested);
      mapping.map(nested.getResult(0),
                  vector::BroadcastOp::create(
                      builder, loc(),
                      vectorType(scalar->getResult(0).getType()),
                      scalar->getResult(0)));
      continue;
    }
    Operation *vectorised = builder.clone(nested, mapping);
    Value result = vectorised->getResult(0);
    result.setType(vectorType(result.getType()));
  }
  Value yielded = body.getTerminator()->getOperand(0);
  storeVector(mapping.lookup(yielded), point, count);
}

LogicalResult chimera::emitElementwise(OpBuilder &builder, MicroKernelOp op,
                                       int64_t lanes,
                                       ArrayRef<int64_t> extents) {
  return ElementwiseEmitter(builder, op, lanes, extents).emit();
}

//===----------------------------------------------------------------------===//
// Transposed copies
//===----------------------------------------------------------------------===//

LogicalResult TransposedCopyEmitter::emit() {
  AffineMap source = maps.front();
  auto type = dyn_cast<MemRefType>(op->getOperand(0).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || source.getNumResults() == 0 || !isContiguous(outputIndex()) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return failure();
  sourceDim = source.getDimPosition(source.getNumResults() - 1);
  if (sourceDim == vectorDim || !indexes(0, vectorDim))
    return failure();

  SmallVector<unsigned> outer;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (dim != vectorDim && dim != sourceDim)
      outer.push_back(dim);
  point.assign(op.getNumDims(), Value());
  int64_t rows = extents[vectorDim], columns = extents[sourceDim];
  auto forEachPart = [&](int64_t extent,
                         llvm::function_ref<void(Value, int64_t)> body) {
    int64_t full = extent - extent % lanes;
    buildLoop(0, full, lanes, [&](Value iv) { body(iv, lanes); });
    if (full < extent)
      body(constant(full), extent - full);
  };
  buildNest(outer, point, [&] {
    forEachPart(rows, [&](Value row, int64_t numRows) {
      forEachPart(columns, [&](Value column, int64_t numColumns) {
        emitSquare(row, numRows, column, numColumns);
      });
    });
  });
  return success();
}

/// Reads `rows` vectors along the source's contiguous dimension, writes
/// `columns` vectors along the output's.
void TransposedCopyEmitter::emitSquare(Value row, int64_t rows, Value column,
                                       int64_t columns) {
  Type elementType = getElementTypeOrSelf(op.getOutput());
  auto squareType = VectorType::get({lanes, lanes}, elementType);
  Value square = arith::ConstantOp::create(builder, loc(), squareType,
                                           builder.getZeroAttr(squareType));
  point[sourceDim] = column;
  for (int64_t i = 0; i < rows; ++i) {
    point[vectorDim] = add(row, i);
    square =
        vector::InsertOp::create(builder, loc(), loadVector(0, point, columns),
                                 square, ArrayRef<int64_t>{i});
  }
  Value transposed = vector::TransposeOp::create(builder, loc(), square,
                                                 ArrayRef<int64_t>{1, 0});
  point[vectorDim] = row;
  for (int64_t j = 0; j < columns; ++j) {
    point[sourceDim] = add(column, j);
    storeVector(vector::ExtractOp::create(builder, loc(), transposed,
                                          ArrayRef<int64_t>{j}),
                point, rows);
  }
}

LogicalResult chimera::emitTransposedCopy(OpBuilder &builder, MicroKernelOp op,
                                          int64_t lanes,
                                          ArrayRef<int64_t> extents) {
  return TransposedCopyEmitter(builder, op, lanes, extents).emit();
}
