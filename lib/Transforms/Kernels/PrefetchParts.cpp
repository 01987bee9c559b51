//===- PrefetchParts.cpp - What the next part of a loop reads -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fused loop computes a tile of one product, then of the next. Each of them
// begins with tiles of inputs that nobody has touched yet, far from the core,
// while the one before is busy with what it has: time enough to fetch them.
//
//===----------------------------------------------------------------------===//

#include "Kernels/Prefetch.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace chimera;

namespace {

/// The body of a loop whose parts follow each other.
class PartFetcher {
public:
  PartFetcher(Operation *loop, const PartBytes &partBytes);

  void fetch();

private:
  /// The loops and kernels that compute one product.
  struct Part {
    SmallVector<Operation *> ops;
    SmallVector<MicroKernelOp> kernels;
  };

  Value getTile(Value operand);
  int64_t getMostBytes(const Part &carrier) const;
  void fetchFor(const Part &reader, const Part &carrier, bool isNext);

  LoopLikeOpInterface loop;
  const PartBytes &partBytes;
  Block *body;
  /// The variable that changes from one iteration to the next.
  Value iv;
  SmallVector<Part> parts;
};

} // namespace

/// True if `kernel` multiplies with vectors that it loads by itself.
static bool readsThroughCaches(MicroKernelOp kernel) {
  MicroKernelAttrInterface implementation = kernel.getImplementationAttr();
  return kernel.getKind() == MicroKernelKind::Contraction && implementation &&
         llvm::any_of(llvm::seq(kernel->getNumOperands()),
                      [&](unsigned operand) {
                        return implementation.getLayout(kernel, operand).kind ==
                               LayoutKind::Contiguous;
                      });
}

/// True if `op`, a kernel or a loop, adds to what `before` has computed.
static bool continues(Operation *op, Operation *before) {
  ValueRange held;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    held = loop.getInitArgs();
  else if (auto kernel = dyn_cast<MicroKernelOp>(op))
    held = kernel.getOutputs();
  return llvm::any_of(
      held, [&](Value value) { return value.getDefiningOp() == before; });
}

PartFetcher::PartFetcher(Operation *op, const PartBytes &partBytes)
    : loop(cast<LoopLikeOpInterface>(op)), partBytes(partBytes),
      body(&op->getRegion(0).front()), iv(loop.getLoopInductionVars()->back()) {
  for (Operation &nested : *body) {
    SmallVector<MicroKernelOp> kernels;
    nested.walk([&](MicroKernelOp kernel) {
      if (readsThroughCaches(kernel))
        kernels.push_back(kernel);
    });
    if (kernels.empty())
      continue;
    if (parts.empty() || !continues(&nested, parts.back().ops.back()))
      parts.emplace_back();
    parts.back().ops.push_back(&nested);
    llvm::append_range(parts.back().kernels, kernels);
  }
}

/// What the body has of the tensor from outside that `operand` is a slice or a
/// copy of. Null if it is made inside.
Value PartFetcher::getTile(Value operand) {
  if (auto copy = operand.getDefiningOp<MicroKernelOp>())
    if (copy.getKind() == MicroKernelKind::Pack)
      operand = copy.getInputs().front();
  Value tile;
  while (auto slice = operand.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!tile && slice->getBlock() == body)
      tile = operand;
    operand = slice.getSource();
  }
  return loop.isDefinedOutsideOfLoop(operand) ? tile : Value();
}

/// The largest extents of `tile`; none if they are not known.
static SmallVector<int64_t> getBounds(Value tile) {
  SmallVector<int64_t> bounds;
  auto type = cast<RankedTensorType>(tile.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    FailureOr<int64_t> bound = type.getDimSize(dim);
    if (type.isDynamicDim(dim))
      bound = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB, {tile, dim}, /*stopCondition=*/nullptr,
          /*closedUB=*/true);
    if (failed(bound))
      return {};
    bounds.push_back(*bound);
  }
  return bounds;
}

void PartFetcher::fetch() {
  if (parts.size() < 2)
    return;
  for (size_t index = 0; index < parts.size(); ++index) {
    bool isNext = index + 1 == parts.size();
    fetchFor(parts[isNext ? 0 : index + 1], parts[index], isNext);
  }
}

/// What all kernels of `carrier` may ask for.
int64_t PartFetcher::getMostBytes(const Part &carrier) const {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (MicroKernelOp kernel : carrier.kernels)
    most = std::min(most, partBytes.lookup(kernel));
  return most;
}

/// Lets the kernels of `carrier` ask for what is new for `reader`, or will be
/// in the next iteration.
void PartFetcher::fetchFor(const Part &reader, const Part &carrier,
                           bool isNext) {
  int64_t mostBytes = getMostBytes(carrier);
  if (mostBytes == 0)
    return;
  SetVector<Value> tiles;
  for (MicroKernelOp kernel : reader.kernels)
    for (Value input : kernel.getInputs())
      if (Value tile = getTile(input))
        tiles.insert(tile);
  Operation *first = carrier.ops.front();
  OpBuilder builder(first);
  SmallVector<Ahead> due;
  int64_t bytes = 0;
  for (Value tile : tiles) {
    SmallVector<int64_t> bounds = getBounds(tile);
    if (bounds.empty() || !tile.getDefiningOp()->isBeforeInBlock(first))
      continue;
    Value iteration = isNext ? getNextIteration(builder, loop) : iv;
    Ahead ahead = moveAhead(builder, tile, bounds, iv, iteration);
    if (!ahead)
      continue;
    bytes += llvm::product_of(bounds) * bytesOf(getElementTypeOrSelf(tile));
    due.push_back(std::move(ahead));
  }
  if (bytes > mostBytes)
    return;
  // The last of several ops is a loop; before it comes its first tile.
  Operation *last = carrier.ops.back();
  for (const Ahead &ahead : due)
    for (MicroKernelOp kernel : carrier.kernels)
      if (last->isAncestor(kernel))
        letFetch(kernel, ahead, loop);
}

void chimera::fetchForNextPart(Operation *root, const PartBytes &partBytes) {
  SmallVector<Operation *> loops;
  root->walk([&](Operation *op) {
    if (isa<scf::ForOp, scf::ForallOp>(op))
      loops.push_back(op);
  });
  for (Operation *op : loops)
    PartFetcher(op, partBytes).fetch();
}
