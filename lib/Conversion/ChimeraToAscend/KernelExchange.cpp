//===- KernelExchange.cpp - Between cores of a block ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the vector units are in cores of their own, sums go to them through
// main memory, in column groups as they lie in L0C, so that what one vector
// core has of a group, half of its rows, is one burst. What they make for
// another product comes back in column groups, too, which is how L1 wants it.
// Each such place in memory is a block's own and has two flags, which count how
// often it is full and how often it is free.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// What a place in memory starts at a multiple of: addresses that are none cost
/// a part of the rate.
static constexpr int64_t workspaceAlignment = 512;

int64_t KernelLowering::rowsInUb(int64_t rows) const {
  return isMixed ? model::rowsOfVectorCore(rows) : padToFractal(rows);
}

/// Flags between the cores of a block.
int64_t KernelLowering::takeCrossFlags(int64_t count) {
  int64_t first = numCrossFlags;
  numCrossFlags += count;
  if (numCrossFlags > getNumCrossFlags(architecture) && reason.empty())
    reason = ("it needs more than " + Twine(getNumCrossFlags(architecture)) +
              " flags between cores")
                 .str();
  return first;
}

/// Where the part of the workspace of `type` is that this block has. How much
/// it is shows at the end.
Value KernelLowering::getWorkspace(Type type) {
  auto *found = llvm::find_if(
      workspaces, [&](const auto &entry) { return entry.type == type; });
  if (found != workspaces.end())
    return found->start;
  auto kernel = tasks->getParentOfType<func::FuncOp>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tasks);
  Workspace workspace;
  workspace.type = type;
  Value memory = kernel.getBody().addArgument(
      PtrType::get(builder.getContext(), Memory::GM, type), code.loc);
  workspace.size = arith::ConstantIndexOp::create(builder, code.loc, 0);
  Value first = arith::MulIOp::create(builder, code.loc, tasks.getLowerBound(),
                                      workspace.size);
  workspace.start =
      OffsetOp::create(builder, code.loc, memory.getType(), memory, first);
  workspaces.push_back(workspace);
  return workspace.start;
}

Exchange KernelLowering::makeExchange(Operation *position, Type type,
                                      int64_t elements, CoreKind producer,
                                      Pipe producerPipe, Pipe consumerPipe) {
  Exchange exchange;
  exchange.type = type;
  exchange.producer = producer;
  exchange.producerPipe = producerPipe;
  exchange.consumerPipe = consumerPipe;
  // Tasks take turns with two places, as far as there are flags.
  bool isOfTask = position->getParentOp() == tasks && isRepeated;
  exchange.count =
      isOfTask && numCrossFlags + 4 <= getNumCrossFlags(architecture) ? 2 : 1;
  exchange.elements = llvm::alignTo(elements, workspaceAlignment * 8 /
                                                  type.getIntOrFloatBitWidth());
  exchange.full = takeCrossFlags(exchange.count);
  exchange.free = takeCrossFlags(exchange.count);
  getWorkspace(type);
  Workspace &workspace = *llvm::find_if(
      workspaces, [&](const auto &entry) { return entry.type == type; });
  exchange.first = workspace.elements;
  workspace.elements += exchange.count * exchange.elements;
  exchange.slot = exchange.count == 2 ? getSlot(position) : code.number(0);
  exchanges.push_back(exchange);
  return exchange;
}

Value KernelLowering::locate(const Exchange &exchange) {
  return code.offset(getWorkspace(exchange.type),
                     code.add(code.number(exchange.first),
                              code.mul(exchange.slot, exchange.elements)));
}

/// All places are free before the first task, and after the last one.
void KernelLowering::finishExchanges() {
  for (Exchange exchange : exchanges)
    for (int64_t slot = 0; slot < exchange.count; ++slot) {
      builder.setInsertionPoint(tasks);
      exchange.slot = code.number(slot);
      setFree(code, exchange);
      builder.setInsertionPointAfter(tasks);
      exchange.slot = code.number(slot);
      waitFree(code, exchange);
    }
  for (Workspace &workspace : workspaces)
    workspace.size.getDefiningOp<arith::ConstantOp>().setValueAttr(
        builder.getIndexAttr(workspace.elements));
}

/// What the vector cores have of `rows` rows: where this one's start, and how
/// many there are.
std::pair<Value, Value> KernelLowering::shareRows(Value rows) {
  constexpr int64_t step = model::vectorCoreRows;
  Value half = code.mul(
      code.ceilDiv(code.ceilDiv(rows, model::vectorCores), step), step);
  Value core = SubBlockIdxOp::create(builder, code.loc, builder.getIndexType());
  Value first = code.mul(core, half);
  Value count = code.max(code.min(code.sub(rows, first), half), 0);
  return {first, count};
}

Exchange KernelLowering::handOver(const Matrix &matrix, MicroKernelOp kernel) {
  return handOver(matrix, getSums(matrix, code.number(0)), kernel);
}

/// Lets the cube core hand `sums`, those of `matrix`, on, one column group
/// behind the other.
Exchange KernelLowering::handOver(const Matrix &matrix, Value sums,
                                  MicroKernelOp kernel) {
  Type type = cast<PtrType>(sums.getType()).getElementType();
  Exchange exchange =
      makeExchange(kernel, type, matrix.maxRows * matrix.maxColumns,
                   CoreKind::Cube, Pipe::FIX, Pipe::MTE2);
  Value rows = code.number(matrix.rows());
  waitFree(code, exchange);
  code.copy(CopyKind::MatrixCcToGmNz, locate(exchange), sums, rows,
            code.padded(code.number(matrix.columns())), code.padded(rows),
            code.number(matrix.maxRows));
  setFull(code, exchange);
  waitFull(code, exchange);
  return exchange;
}

/// Lets the vector cores take what a contraction has left in `block` to the
/// tile in UB that it is for, or add it.
void KernelLowering::addSums(const Matrix &sums, const Place &block,
                             bool isAdded, MicroKernelOp kernel) {
  Value zero = code.number(0);
  setFull(code, block, zero);
  waitFull(code, block, zero);
  Exchange exchange = handOver(sums, getAddress(code, block, zero), kernel);
  setFree(code, block, zero);
  int64_t pitch = pitchInUb(sums);
  bool isOneGroup = sums.tile.shape[sums.columnDim] <= fractal;
  Place place = places.allocate(Memory::UB, builder.getF32Type(),
                                pitch * fractal * sizeof(float),
                                isOneGroup ? 1 : 2, Pipe::MTE2, Pipe::V,
                                /*isFilledOnce=*/false, /*turn=*/0);
  Value to = getTileAddress(sums);
  Value first, count;
  std::tie(first, count) = shareRows(code.number(sums.rows()));
  Value repeat = code.mul(code.ceilDiv(count, model::vectorCoreRows),
                          model::vectorCoreRows * fractal / 64);
  {
    OpBuilder::InsertionGuard guard(builder);
    code.goOnIfAny(count);
    code.loop(zero, code.number(sums.columns()), fractal, [&](Value column) {
      Value slot = isOneGroup ? zero : code.rem(code.div(column, fractal), 2);
      Value group = code.offset(to, code.mul(column, pitch));
      Value from = bringRows(exchange, sums, place, slot, column, first, count);
      if (isAdded)
        VectorOp::create(builder, code.loc, VectorKind::Add, group,
                         ValueRange{group, from}, Value(), repeat,
                         ArrayRef<int64_t>{1, 1, 1},
                         ArrayRef<int64_t>{8, 8, 8});
      else
        VectorOp::create(builder, code.loc, VectorKind::Adds, group, from,
                         arith::ConstantOp::create(builder, code.loc,
                                                   builder.getF32FloatAttr(0)),
                         repeat, ArrayRef<int64_t>{1, 1},
                         ArrayRef<int64_t>{8, 8});
      setFree(code, place, slot);
    });
  }
  setFree(code, exchange);
}

/// Brings the `count` rows from `first` on of column group `column` of what
/// another core has put into `exchange` to `place`.
Value KernelLowering::bringRows(const Exchange &exchange, const Matrix &matrix,
                                const Place &place, Value slot, Value column,
                                Value first, Value count) {
  Value zero = code.number(0);
  Value to = getAddress(code, place, slot);
  Value from =
      code.offset(locate(exchange), code.add(code.mul(column, matrix.maxRows),
                                             code.mul(first, fractal)));
  waitFree(code, place, slot);
  code.copy(CopyKind::GmToUbuf, to, from, code.number(1),
            code.mul(count, fractal * sizeof(float) / blockBytes), zero, zero);
  setFull(code, place, slot);
  waitFull(code, place, slot);
  return to;
}

/// Lets the cube core take what the vector cores have made of `matrix`, a
/// factor of a product, to L1.
void KernelLowering::takeBack(const Exchange &exchange, const Matrix &matrix) {
  const TileRef &tile = matrix.tile;
  const Place &place = buffers.find(tile.root)->second.place;
  int64_t pitch = matrix.pitch();
  Value rows = code.number(matrix.rows());
  Value start = code.add(
      getLineStart(matrix),
      code.add(code.mul(code.number(tile.offsets[matrix.columnDim]), pitch),
               code.mul(code.number(tile.offsets[matrix.rowDim]),
                        sideOf(exchange.type))));
  setFull(code, exchange);
  waitFull(code, exchange);
  code.copy(CopyKind::GmToCbuf,
            code.offset(getAddress(code, place, code.number(0)), start),
            locate(exchange),
            code.ceilDiv(code.number(matrix.columns()), sideOf(exchange.type)),
            rows, code.sub(code.number(matrix.maxRows), rows),
            code.sub(code.number(pitch), rows));
  setFree(code, exchange);
}
