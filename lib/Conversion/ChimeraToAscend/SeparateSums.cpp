//===- SeparateSums.cpp - Sums that are results ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeparateSums.h"

#include "Tile.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

namespace {

/// The sums of one tile of a result, or the numbers of its rows.
class SumSeparator {
public:
  SumSeparator(Value tile, scf::ForallOp forall)
      : tile(tile), forall(forall),
        builder(OpBuilder::atBlockBegin(forall.getBody())),
        loc(forall.getLoc()) {}

  /// False if the tile is left as it is.
  bool run();

private:
  bool findUsers();
  bool readExtents();
  Value createBuffer();
  MicroKernelOp createCopy(Value buffer);
  void readFrom(MicroKernelOp kernel, Value buffer);
  void replace(Value from, Value to, Operation *except);

  Value tile;
  scf::ForallOp forall;
  OpBuilder builder;
  Location loc;
  /// Kernels that work on the whole tile, and the last operation that works on
  /// any of it.
  SmallVector<MicroKernelOp> kernels;
  Operation *last = nullptr;
  /// The extents that each dimension has.
  SmallVector<SmallVector<int64_t>> extents;
};

} // namespace

/// Finds what works on the tile. False if that is something else than kernels
/// and parts of it.
bool SumSeparator::findUsers() {
  SmallVector<Value> parts = {tile};
  for (size_t index = 0; index < parts.size(); ++index)
    for (Operation *user : parts[index].getUsers()) {
      Operation *top = forall.getBody()->findAncestorOpInBlock(*user);
      if (!top)
        continue;
      if (!last || last->isBeforeInBlock(top))
        last = top;
      auto kernel = dyn_cast<MicroKernelOp>(user);
      if (auto part = dyn_cast<memref::SubViewOp>(user))
        parts.push_back(part);
      else if (!kernel)
        return false;
      else if (index == 0)
        kernels.push_back(kernel);
    }
  return !kernels.empty();
}

/// Reads the extents off a kernel that works on the whole tile.
bool SumSeparator::readExtents() {
  MicroKernelOp kernel = kernels.front();
  unsigned operand =
      llvm::find(kernel->getOperands(), tile) - kernel->operand_begin();
  AffineMap map = kernel.getMaps()[operand];
  if (!map.isProjectedPermutation())
    return false;
  for (unsigned index = 0; index < map.getNumResults(); ++index)
    extents.push_back(kernel.getExtentsOf(map.getDimPosition(index)));
  return llvm::none_of(extents, [](const auto &all) { return all.empty(); });
}

/// Memory for the tile where it is largest, and the part that there is of it.
Value SumSeparator::createBuffer() {
  auto subview = tile.getDefiningOp<memref::SubViewOp>();
  if (subview && forall->isProperAncestor(subview))
    builder.setInsertionPointAfter(subview);
  auto type = cast<MemRefType>(tile.getType());
  SmallVector<int64_t> shape;
  for (const SmallVector<int64_t> &all : extents)
    shape.push_back(*llvm::max_element(all));
  Value buffer = memref::AllocOp::create(
      builder, loc, MemRefType::get(shape, type.getElementType()));
  if (type.hasStaticShape())
    return buffer;
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  llvm::SmallBitVector dropped = subview.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(subview.getMixedSizes()))
    if (!dropped[dim])
      sizes.push_back(size);
  return memref::SubViewOp::create(
      builder, loc, buffer, SmallVector<OpFoldResult>(shape.size(), zero),
      sizes, SmallVector<OpFoldResult>(shape.size(), one));
}

/// A kernel behind all others that hands on what is in `buffer`.
MicroKernelOp SumSeparator::createCopy(Value buffer) {
  builder.setInsertionPointAfter(last);
  auto identity = builder.getMultiDimIdentityMap(extents.size());
  SmallVector<Attribute> listed;
  for (const SmallVector<int64_t> &all : extents)
    listed.push_back(builder.getI64ArrayAttr(all));
  auto copy = MicroKernelOp::create(
      builder, loc, TypeRange(), MicroKernelKind::Elementwise, buffer, tile,
      builder.getAffineMapArrayAttr({identity, identity}),
      builder.getStrArrayAttr(
          SmallVector<StringRef>(extents.size(), "parallel")),
      builder.getArrayAttr(listed), MicroKernelAttrInterface(),
      MicroKernelAttrInterface(), /*overwrite=*/false, TapsAttr(),
      /*streamed=*/false, /*rowwise=*/IntegerAttr());
  Type element = cast<MemRefType>(tile.getType()).getElementType();
  Block &body = copy.getBody().emplaceBlock();
  body.addArguments({element, element}, {loc, loc});
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  YieldOp::create(inside, loc, body.getArgument(0));
  return copy;
}

/// Lets `kernel`, which updates the tile, read `buffer` for what it held.
void SumSeparator::readFrom(MicroKernelOp kernel, Value buffer) {
  SmallVector<AffineMap> maps = kernel.getMaps();
  unsigned place = kernel.getInputs().size();
  maps.insert(maps.begin() + place, maps[place]);
  kernel.getInputsMutable().append(buffer);
  kernel.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  Block &body = kernel.getBody().front();
  BlockArgument former = body.getArgument(place);
  Value read = body.insertArgument(place, former.getType(), loc);
  former.replaceAllUsesWith(read);
}

/// Lets everything in the loop but `except` work on `to` instead of `from`, and
/// on parts of it.
void SumSeparator::replace(Value from, Value to, Operation *except) {
  for (OpOperand &use : llvm::make_early_inc_range(from.getUses())) {
    Operation *user = use.getOwner();
    if (user == except || !forall->isProperAncestor(user))
      continue;
    auto part = dyn_cast<memref::SubViewOp>(user);
    if (!part) {
      use.set(to);
      continue;
    }
    OpBuilder here(part);
    Value other = memref::SubViewOp::create(
        here, part.getLoc(), to, part.getMixedOffsets(), part.getMixedSizes(),
        part.getMixedStrides());
    replace(part.getResult(), other, except);
    if (part.use_empty())
      part.erase();
  }
}

bool SumSeparator::run() {
  if (!findUsers() || !readExtents())
    return false;
  Value buffer = createBuffer();
  auto finish = dyn_cast<MicroKernelOp>(last);
  bool updates = finish && finish.getKind() == MicroKernelKind::Elementwise &&
                 llvm::is_contained(kernels, finish) &&
                 llvm::count(finish->getOperands(), tile) == 1 &&
                 finish.getOutputs().size() == 1 && finish.getOutput() == tile;
  if (updates)
    readFrom(finish, buffer);
  else
    finish = createCopy(buffer);
  replace(tile, buffer, finish);
  return true;
}

/// The part of memory outside of `forall` that a task works on and `value` is
/// in; null if that memory is the task's own.
static Value findTile(Value value, scf::ForallOp forall) {
  while (forall.getRegion().isAncestor(value.getParentRegion())) {
    auto subview = value.getDefiningOp<memref::SubViewOp>();
    if (!subview)
      return {};
    Value source = subview.getSource();
    bool isOutside = !forall.getRegion().isAncestor(source.getParentRegion());
    if (isOutside)
      return value;
    value = source;
  }
  return value;
}

void ascend::separateSums(scf::ForallOp forall) {
  llvm::SetVector<Value> sums;
  llvm::MapVector<Value, unsigned> numWriters;
  forall.walk([&](MicroKernelOp kernel) {
    for (Value output : kernel.getOutputs()) {
      Type type = getElementTypeOrSelf(output);
      bool isProduct = kernel.getKind() == MicroKernelKind::Contraction;
      Value tile = findTile(output, forall);
      if (!tile || !(type.isF32() || (isProduct && type.isInteger(32))))
        continue;
      ++numWriters[tile];
      if (isProduct)
        sums.insert(tile);
    }
  });
  for (Value tile : sums)
    SumSeparator(tile, forall).run();
  // Numbers of rows are begun and updated; results are written once.
  for (auto [tile, writers] : numWriters) {
    auto memory = getWhole(tile).getDefiningOp<memref::AllocOp>();
    if (writers > 1 && memory && !sums.contains(tile) &&
        SumSeparator(tile, forall).run())
      memory->setAttr(kRowsAttrName, UnitAttr::get(memory.getContext()));
  }
}
