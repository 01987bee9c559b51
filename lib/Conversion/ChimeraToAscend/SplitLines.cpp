//===- SplitLines.cpp - Rows of pixels one by one -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitLines.h"

#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// The loops of `kernel` along its result, beside columns and rows: all but the
/// last one of those that are longer than one.
static SmallVector<unsigned> findLines(MicroKernelOp kernel) {
  SmallVector<unsigned> lines;
  AffineMap map = kernel.getMaps()[kernel.getInputs().size()];
  if (!map.isProjectedPermutation() || map.getNumResults() < 3 ||
      !kernel.getBody().getOps<IndexOp>().empty())
    return lines;
  for (unsigned index = 0; index + 1 < map.getNumResults(); ++index) {
    unsigned loop = map.getDimPosition(index);
    SmallVector<int64_t> extents = kernel.getExtentsOf(loop);
    if (extents.empty())
      return {};
    if (*llvm::max_element(extents) > 1)
      lines.push_back(loop);
  }
  if (!lines.empty())
    lines.pop_back();
  return lines;
}

/// The part of `operand`, which `map` indexes, in iteration `index` of `loop`.
static Value slice(OpBuilder &builder, Location loc, Value operand,
                   AffineMap map, unsigned loop, Value index) {
  std::optional<unsigned> place =
      map.getResultPosition(builder.getAffineDimExpr(loop));
  if (!place || !isa<MemRefType>(operand.getType()))
    return operand;
  unsigned rank = map.getNumResults();
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
      strides(rank, builder.getIndexAttr(1)),
      sizes = memref::getMixedSizes(builder, loc, operand);
  offsets[*place] = index;
  sizes[*place] = builder.getIndexAttr(1);
  return memref::SubViewOp::create(builder, loc, operand, offsets, sizes,
                                   strides);
}

/// Puts a loop along `loop` around `kernel`.
static void split(MicroKernelOp kernel, unsigned loop) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  SmallVector<AffineMap> maps = kernel.getMaps();
  unsigned output = kernel.getInputs().size();
  unsigned place =
      *maps[output].getResultPosition(builder.getAffineDimExpr(loop));
  auto number = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  Value extent = builder.createOrFold<memref::DimOp>(
      loc, kernel.getOutputs()[0], static_cast<int64_t>(place));
  auto around = scf::ForOp::create(builder, loc, number(0), extent, number(1));
  builder.setInsertionPointToStart(around.getBody());
  SmallVector<Value> operands;
  for (auto [operand, map] : llvm::zip_equal(kernel->getOperands(), maps))
    operands.push_back(
        slice(builder, loc, operand, map, loop, around.getInductionVar()));
  kernel->moveBefore(around.getBody()->getTerminator());
  kernel->setOperands(operands);
  SmallVector<Attribute> extents(kernel.getExtents()->getValue());
  extents[loop] = builder.getI64ArrayAttr({1});
  kernel.setExtentsAttr(builder.getArrayAttr(extents));
}

/// True if `kernel` writes the same number everywhere.
static bool isFill(MicroKernelOp kernel) {
  return kernel.getKind() == MicroKernelKind::Elementwise &&
         kernel.getInputs().empty();
}

void ascend::splitLines(scf::ForallOp forall) {
  SmallVector<MicroKernelOp> kernels;
  forall.walk([&](MicroKernelOp kernel) {
    if (!isFill(kernel))
      kernels.push_back(kernel);
  });
  for (MicroKernelOp kernel : kernels)
    for (unsigned loop : findLines(kernel))
      split(kernel, loop);
}
