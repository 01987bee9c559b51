//===- KernelLanes.cpp - Rows along the lanes of vectors ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no instruction combines the elements of a block or spreads them, a
// softmax runs transposed: scores are keys times queries, so that in UB a row
// of a column group is a key and has one lane for each of 16 queries. Rows of
// the schedule are columns of tiles on chip, and maxima and sums are found lane
// by lane. Factors in memory lie as they are: the cube unit takes them either
// way.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// True if rows are reduced that lie along lanes; `model::runsInLanes` says the
/// same of a chain.
bool KernelLowering::canRunInLanes() {
  if (!isCoupled() || !keepsLanes(architecture))
    return false;
  auto isRows = [](const Buffer &buffer) {
    auto isContraction = [](MicroKernelOp kernel) {
      return kernel.getKind() == MicroKernelKind::Contraction;
    };
    return llvm::none_of(buffer.writers, isContraction) &&
           llvm::none_of(buffer.readers, isContraction);
  };
  bool hasRows = false;
  for (MicroKernelOp kernel : kernels) {
    if (!needsVectors(kernel))
      continue;
    for (OpOperand &operand : kernel->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      FailureOr<TileRef> tile = traceTile(code, operand.get());
      auto buffer = buffers.find(tile->root);
      bool isOnChip = buffer != buffers.end();
      if (isOnChip && isRows(buffer->second)) {
        hasRows = true;
        continue;
      }
      bool isOutput = operand.getOperandNumber() >= kernel.getInputs().size();
      // What comes from memory would have to be transposed, and halves alone
      // are transposed on their way back.
      bool fits =
          isOnChip ? !buffer->second.frame
                   : isOutput && tile->getRootType().getElementType().isF16();
      if (!fits || tile->getRootType().getRank() < 2)
        return false;
    }
  }
  return hasRows;
}

/// Lets the first `count` elements of a repeat take part, not all 64.
void KernelLowering::setFirstLanes(Value count) {
  Type i64 = builder.getI64Type();
  Value one = arith::ConstantIntOp::create(builder, code.loc, i64, 1),
        none = arith::ConstantIntOp::create(builder, code.loc, i64, 0);
  Value end = builder.createOrFold<arith::ShLIOp>(
      code.loc, one,
      builder.createOrFold<arith::IndexCastOp>(code.loc, i64, count));
  SetVectorMaskOp::create(
      builder, code.loc, none,
      builder.createOrFold<arith::SubIOp>(code.loc, end, one));
}

/// Moves what a contraction has left at `from` to `to`, or adds it, a part of a
/// column group at a time.
void KernelLowering::moveSumsInLanes(const Matrix &sums, Value to, Value from,
                                     bool isAdded) {
  Value zero = code.number(0), one = code.number(1);
  Value rows = code.padded(code.number(sums.rows()));
  auto [between, number] =
      isAdded ? takeScratch() : std::pair<Value, unsigned>();
  Value middle = between;
  auto move = [&](Value target, Value source, Value count) {
    code.copy(CopyKind::MatrixCcToUbuf, isAdded ? middle : target, source, one,
              code.div(count, fractal), zero, zero);
    if (isAdded)
      VectorOp::create(builder, code.loc, VectorKind::Add, target,
                       ValueRange{target, middle}, Value(),
                       code.div(count, fractal / 4), ArrayRef<int64_t>{1, 1, 1},
                       ArrayRef<int64_t>{8, 8, 8});
  };
  code.loop(zero, code.number(sums.columns()), fractal, [&](Value column) {
    Value group = code.offset(to, code.mul(column, sums.pitch())),
          source = code.offset(from, code.mul(column, rows));
    if (!isAdded)
      return move(group, source, rows);
    code.loop(zero, rows, maxGroupRows, [&](Value first) {
      Value start = code.mul(first, fractal);
      move(code.offset(group, start), code.offset(source, start),
           code.part(rows, first, maxGroupRows));
    });
  });
  if (isAdded)
    releaseScratch(number);
}
