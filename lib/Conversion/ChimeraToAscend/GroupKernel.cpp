//===- GroupKernel.cpp - Kernels of the vector unit -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tasks, passes and copies. What runs when, and where it lies, is in the
// schedule.
//
//===----------------------------------------------------------------------===//

#include "GroupKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;
using model::VectorStep;
using model::VectorValueId;
using Kind = model::VectorValue::Kind;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool GroupKernel::isPieceLoad(VectorValueId id) const {
  return program.values[id].kind == Kind::Load &&
         !llvm::is_contained(schedule.constants, id) &&
         !llvm::is_contained(schedule.taskLoads, id);
}

void GroupKernel::allocate() {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type();
  auto typeOf = [&](unsigned tensor) {
    return program.tensors[tensor].elementBytes == 4 ? f32 : f16;
  };
  bool hasPieces = false;
  for (auto [id, value] : llvm::enumerate(program.values)) {
    if (value.kind != Kind::Load)
      continue;
    hasPieces |= isPieceLoad(id);
    loaded[id] = places.allocate(
        Memory::UB, typeOf(value.tensor),
        tensorBytes(program, program.tensors[value.tensor], tiling),
        isPieceLoad(id) ? 2 : 1, Pipe::V, Pipe::V);
  }
  auto addStage = [&](std::optional<Place> &stage, bool isNeeded,
                      int64_t count) {
    if (isNeeded)
      stage = places.allocate(Memory::UB, f32, 0, count, Pipe::MTE2, Pipe::V);
  };
  addStage(pieceStage, hasPieces, 2);
  addStage(taskStage, !schedule.taskLoads.empty(), 1);
  addStage(constantStage, !schedule.constants.empty(), 1);
  auto allocateOwn = [&](Type type, int64_t bytes, int64_t count) {
    return places.allocate(Memory::UB, type, bytes, count, Pipe::V, Pipe::V);
  };
  for (const model::VectorStore &store : program.stores) {
    Outlet outlet;
    Type type = typeOf(store.tensor);
    outlet.place = places.allocate(
        Memory::UB, type,
        tensorBytes(program, program.tensors[store.tensor], tiling), 2, Pipe::V,
        Pipe::MTE3);
    if (int64_t bytes = tailBytes(program, store, tiling, core)) {
      outlet.tail = allocateOwn(type, bytes, 2);
      if (type.isF16())
        outlet.tailNumbers = allocateOwn(
            f32, llvm::alignTo(bytes / 2, model::kVectorLanes) * 4, 1);
    }
    if (!program.hasColumns(program.values[store.value].axes))
      outlet.packed =
          allocateOwn(f32, model::homeElements(Home::Rows, tiling) * 4, 1);
    outlets.push_back(outlet);
  }
  for (unsigned kind = 0; kind < model::kNumVectorHomes; ++kind)
    for (unsigned i = 0; i < schedule.homes[kind]; ++i)
      homes[kind].push_back(
          allocateOwn(f32, model::homeElements(Home(kind), tiling) * 4, 1));
}

Value GroupKernel::homeAddress(Home home, unsigned number, Type type) {
  Place place = homes[unsigned(home)][number];
  if (type)
    place.elementType = type;
  return getAddress(code, place, code.number(0));
}

//===----------------------------------------------------------------------===//
// Tasks and passes
//===----------------------------------------------------------------------===//

int64_t GroupKernel::tileOf(unsigned axis) const {
  if (axis == program.columnAxis())
    return tiling.columns;
  return axis == program.rowAxis() ? tiling.rows : 1;
}

/// The tile begins at `start` along `axis`.
void GroupKernel::setTile(unsigned axis, Value start) {
  starts[axis] = start;
  Value whole = code.number(program.extents[axis]);
  if (axis == program.columnAxis())
    columnsHere = code.part(whole, start, tiling.columns);
  else if (axis == program.rowAxis())
    rowsHere = code.part(whole, start, tiling.rows);
}

void GroupKernel::emit() {
  allocate();
  Value zero = code.number(0);
  starts.assign(program.extents.size(), zero);
  rowsHere = code.number(tiling.rows);
  columnsHere = code.number(tiling.columns);
  for (const Place &place : places.getAll())
    startFree(code, place);
  Value core = BlockIdxOp::create(builder, code.loc, builder.getIndexType());
  Value cores = BlockNumOp::create(builder, code.loc, builder.getIndexType());
  emitConstants(core);
  Value tasks = code.number(schedule.tasks);
  auto loop = scf::ForOp::create(builder, code.loc, core, tasks, cores);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emitTask(loop.getInductionVar(), cores);
  }
  // Every core has loaded constants that has had a task.
  if (constantStage) {
    auto last = scf::ForOp::create(builder, code.loc, core, tasks, tasks);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(last.getBody());
    setFree(code, *constantStage, zero);
  }
  for (const Place &place : places.getAll())
    endFree(code, place);
}

/// What stays the same for all tasks of a core, if it has any.
void GroupKernel::emitConstants(Value firstTask) {
  if (!constantStage)
    return;
  Value tasks = code.number(schedule.tasks), zero = code.number(0);
  auto once = scf::ForOp::create(builder, code.loc, firstTask, tasks, tasks);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(once.getBody());
  waitFree(code, *constantStage, zero);
  for (VectorValueId id : schedule.constants)
    load(id, zero);
  setFull(code, *constantStage, zero);
  waitFull(code, *constantStage, zero);
}

void GroupKernel::emitTask(Value task, Value cores) {
  Value slot =
      code.rem(builder.createOrFold<arith::DivSIOp>(code.loc, task, cores), 2);
  model::AxisSet reduced = program.reducedAxes();
  Value rest = task;
  for (unsigned axis = program.extents.size(); axis-- > 0;) {
    int64_t tile = tileOf(axis),
            count = llvm::divideCeil(program.extents[axis], tile);
    if (reduced >> axis & 1 || count == 1) {
      setTile(axis, code.number(0));
      continue;
    }
    setTile(axis, code.mul(code.rem(rest, count), tile));
    rest = code.div(rest, count);
  }
  refs.clear();
  stored.clear();
  Value zero = code.number(0);
  if (taskStage) {
    waitFree(code, *taskStage, zero);
    for (VectorValueId id : schedule.taskLoads)
      load(id, zero);
    setFull(code, *taskStage, zero);
    waitFull(code, *taskStage, zero);
  }
  for (const model::VectorPass &pass : schedule.passes)
    emitPass(pass, slot);
  if (taskStage)
    setFree(code, *taskStage, zero);
}

void GroupKernel::emitPass(const model::VectorPass &pass, Value slot) {
  if (!pass.isLoop) {
    emitSteps(pass.body, slot, /*isLoop=*/false);
    emitSteps(pass.finish, slot, /*isLoop=*/false);
    return;
  }
  for (const VectorStep &step : pass.body)
    if (program.values[step.value].kind == Kind::Reduce)
      startReduction(step);
  emitPieces(pass);
  for (const VectorStep &step : pass.body)
    if (program.values[step.value].kind == Kind::Reduce) {
      finishReduction(step);
      store(step, slot);
    }
  emitSteps(pass.finish, slot, /*isLoop=*/false);
}

/// The body of `pass` for each piece of what is reduced.
void GroupKernel::emitPieces(const model::VectorPass &pass) {
  SmallVector<Value> oldStarts = starts;
  Value oldRows = rowsHere, oldColumns = columnsHere;
  OpBuilder::InsertionGuard guard(builder);
  Value number = code.number(0);
  for (unsigned axis = 0; axis < program.extents.size(); ++axis) {
    int64_t extent = program.extents[axis], tile = tileOf(axis);
    if (!(program.reducedAxes() >> axis & 1) || extent <= tile)
      continue;
    auto loop = scf::ForOp::create(builder, code.loc, code.number(0),
                                   code.number(extent), code.number(tile));
    builder.setInsertionPointToStart(loop.getBody());
    Value start = loop.getInductionVar();
    number = code.add(code.mul(number, llvm::divideCeil(extent, tile)),
                      code.div(start, tile));
    setTile(axis, start);
  }
  emitSteps(pass.body, code.rem(number, 2), /*isLoop=*/true);
  starts = oldStarts;
  rowsHere = oldRows;
  columnsHere = oldColumns;
}

void GroupKernel::emitSteps(ArrayRef<VectorStep> steps, Value slot,
                            bool isLoop) {
  SmallVector<VectorValueId> loads;
  for (const VectorStep &step : steps)
    if (isPieceLoad(step.value))
      loads.push_back(step.value);
  if (!loads.empty()) {
    waitFree(code, *pieceStage, slot);
    for (VectorValueId id : loads)
      load(id, slot);
    setFull(code, *pieceStage, slot);
    waitFull(code, *pieceStage, slot);
  }
  for (const VectorStep &step : steps) {
    if (program.values[step.value].kind != Kind::Reduce) {
      emitStep(step, slot);
      continue;
    }
    if (!isLoop)
      startReduction(step);
    accumulate(step);
    if (!isLoop) {
      finishReduction(step);
      store(step, slot);
    }
  }
  if (!loads.empty())
    setFree(code, *pieceStage, slot);
}

/// Computes a value and hands it on if it is a result.
void GroupKernel::emitStep(const VectorStep &step, Value slot) {
  const model::VectorValue &value = program.values[step.value];
  Ref to;
  to.home = model::homeOf(program, value.axes);
  if (step.home) {
    to.address = homeAddress(to.home, *step.home);
  } else if (value.kind == Kind::Load) {
    Value where = isPieceLoad(step.value) ? slot : code.number(0);
    to.address = getAddress(code, loaded[step.value], where);
  } else {
    for (auto [number, store] : llvm::enumerate(program.stores))
      if (store.value == step.value) {
        waitFree(code, outlets[number].place, slot);
        to.address = getAddress(code, outlets[number].place, slot);
        break;
      }
  }
  if (value.kind == Kind::Load)
    bring(step, to, slot);
  else
    compute(step, to);
  refs[step.value] = to;
  store(step, slot);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The first element of the tile at hand in main memory.
Value GroupKernel::getMemory(unsigned number) {
  Value memref = group.tensors[number], root = memref;
  while (Operation *op = root.getDefiningOp())
    root = op->getOperand(0);
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  Value elements = code.number(offset);
  const model::VectorTensor &tensor = program.tensors[number];
  for (auto [axis, start] : llvm::enumerate(starts))
    if (tensor.axes >> axis & 1)
      elements = code.add(elements, code.mul(start, tensor.strides[axis]));
  auto pointer =
      PtrType::get(builder.getContext(), Memory::GM, type.getElementType());
  Value base =
      UnrealizedConversionCastOp::create(builder, code.loc, pointer, root)
          .getResult(0);
  return code.offset(base, elements);
}

/// `rows` runs of `run` elements, `rowStride` elements apart in main memory and
/// `pitch` in UB.
void GroupKernel::copyRows(bool isLoad, Value memory, Value buffer,
                           int64_t elementBytes, Value rows, Value run,
                           int64_t rowStride, int64_t pitch) {
  Value zero = code.number(0), one = code.number(1);
  auto copy = [&](Value memory, Value buffer, Value bursts, Value length,
                  Value memoryGap, Value bufferGap) {
    CopyKind kind = core.movesBytes
                        ? isLoad ? CopyKind::GmToUbufPad : CopyKind::UbufToGmPad
                    : isLoad ? CopyKind::GmToUbuf
                             : CopyKind::UbufToGm;
    // Of instructions that move bytes, the distance in main memory is first.
    bool isMemoryFirst = core.movesBytes || isLoad;
    code.copy(kind, isLoad ? buffer : memory, isLoad ? memory : buffer, bursts,
              length, isMemoryFirst ? memoryGap : bufferGap,
              isMemoryFirst ? bufferGap : memoryGap);
  };
  std::optional<int64_t> count = getConstantIntValue(rows),
                         width = getConstantIntValue(run);
  int64_t blockElements = blockBytes / elementBytes;
  Value blocks = code.ceilDiv(run, blockElements);
  Value bufferGap = code.sub(code.number(pitch / blockElements), blocks);
  if (count == 1) {
    copy(memory, buffer, one,
         core.movesBytes ? code.mul(run, elementBytes) : blocks, zero, zero);
    return;
  }
  constexpr int64_t longest = 65535;
  bool isDense = width && *width == rowStride && *width == pitch &&
                 tiling.rows * pitch / blockElements <= longest;
  if (isDense) {
    copy(memory, buffer, one,
         core.movesBytes ? code.mul(rows, pitch * elementBytes)
                         : code.mul(rows, pitch / blockElements),
         zero, zero);
    return;
  }
  if (core.movesBytes) {
    copy(memory, buffer, rows, code.mul(run, elementBytes),
         code.mul(code.sub(code.number(rowStride), run), elementBytes),
         bufferGap);
    return;
  }
  int64_t strideBlocks = rowStride / blockElements;
  if (rowStride % blockElements == 0 && strideBlocks <= longest) {
    copy(memory, buffer, rows, blocks,
         code.sub(code.number(strideBlocks), blocks), bufferGap);
    return;
  }
  code.loop(zero, rows, 1, [&](Value row) {
    copy(code.offset(memory, code.mul(row, rowStride)),
         code.offset(buffer, code.mul(row, pitch)), one, blocks, zero, zero);
  });
}

void GroupKernel::load(VectorValueId id, Value slot) {
  unsigned number = program.values[id].tensor;
  const model::VectorTensor &tensor = program.tensors[number];
  bool hasRows = program.hasRows(tensor.axes),
       hasColumns = program.hasColumns(tensor.axes);
  Value one = code.number(1);
  copyRows(/*isLoad=*/true, getMemory(number),
           getAddress(code, loaded[id], slot), tensor.elementBytes,
           hasRows && hasColumns ? rowsHere : one,
           hasColumns ? columnsHere
           : hasRows  ? rowsHere
                      : one,
           hasRows ? tensor.strides[*program.rowAxis()] : 0,
           model::tilePitch(tiling));
}

/// Hands on what `step` has computed, to all that it is a result for, once.
void GroupKernel::store(const VectorStep &step, Value slot) {
  if (!stored.insert(step.value).second)
    return;
  for (auto [number, store] : llvm::enumerate(program.stores))
    if (store.value == step.value)
      this->store(number, step, slot);
}

void GroupKernel::store(unsigned number, const VectorStep &step, Value slot) {
  const model::VectorStore &entry = program.stores[number];
  const Outlet &outlet = outlets[number];
  Ref value = refs[step.value];
  bool isInPlace = model::storesInPlace(program, entry),
       isNarrow = outlet.place.elementType.isF16();
  Value zero = code.number(0), to = getAddress(code, outlet.place, slot);
  if (!isInPlace)
    waitFree(code, outlet.place, slot);
  if (outlet.packed) {
    // One element of each block, side by side.
    Value packed = getAddress(code, *outlet.packed, zero);
    moveLane(packed, value.address, 0, rowsOf(value.home),
             mostRowsOf(value.home), 1, 1);
    value = {packed, Home::Columns};
    int64_t most = mostRowsOf(homeOf(step.value).home);
    if (isNarrow)
      convert(/*isNarrow=*/true, to, packed, code.number(most), most);
    else
      forRepeats(code.number(llvm::divideCeil(most, model::kVectorLanes)),
                 llvm::divideCeil(most, model::kVectorLanes), maxRepeat,
                 [&](Value first, Value count) {
                   Value at = code.mul(first, model::kVectorLanes);
                   VectorOp::create(
                       builder, code.loc, VectorKind::Adds, code.offset(to, at),
                       code.offset(packed, at), asNumber(0), count,
                       ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
                 });
  } else if (isNarrow) {
    int64_t elements = model::homeElements(value.home, tiling);
    convert(/*isNarrow=*/true, to, value.address,
            code.mul(repeatsOf(value.home), model::kVectorLanes), elements);
  } else if (!isInPlace) {
    emitVector(VectorKind::Adds, {to, value.home}, value, asNumber(0));
  }
  if (outlet.tail)
    buildTail(number, value, slot);
  setFull(code, outlet.place, slot);
  waitFull(code, outlet.place, slot);
  copyOut(number, slot);
  setFree(code, outlet.place, slot);
}

/// The last elements of each row, as a block: one after the other is moved to
/// where it belongs.
void GroupKernel::buildTail(unsigned number, Ref value, Value slot) {
  const model::VectorStore &entry = program.stores[number];
  const Outlet &outlet = outlets[number];
  bool hasColumns = program.hasColumns(program.values[entry.value].axes);
  int64_t extent = hasColumns ? program.columns() : program.rows(),
          tile = hasColumns ? tiling.columns : tiling.rows;
  int64_t last = extent - (llvm::divideCeil(extent, tile) - 1) * tile;
  int64_t elements = blockBytes / program.tensors[entry.tensor].elementBytes;
  Value run = hasColumns ? columnsHere : rowsHere;
  Value whole = code.mul(code.div(run, elements), elements);
  bool isTile = value.home == Home::Tile;
  Value rows = isTile ? rowsHere : code.number(1);
  int64_t mostRows = isTile ? tiling.rows : 1;
  Value numbers = outlet.tailNumbers
                      ? getAddress(code, *outlet.tailNumbers, code.number(0))
                      : getAddress(code, *outlet.tail, slot);
  code.loop(whole, run, elements, [&](Value) {
    for (int64_t i = 0; i < elements; ++i) {
      int64_t column = last - elements + i,
              block = column / model::kBlockLanes * model::kBlockLanes;
      moveLane(code.offset(numbers, code.number(i)),
               code.offset(value.address, code.number(block)), column - block,
               rows, mostRows, elements,
               model::tilePitch(tiling) / model::kBlockLanes);
    }
    if (outlet.tailNumbers)
      convert(/*isNarrow=*/true, getAddress(code, *outlet.tail, slot), numbers,
              code.mul(rows, elements), mostRows * elements);
  });
}

void GroupKernel::copyOut(unsigned number, Value slot) {
  const model::VectorStore &entry = program.stores[number];
  const Outlet &outlet = outlets[number];
  const model::VectorTensor &tensor = program.tensors[entry.tensor];
  bool hasRows = program.hasRows(tensor.axes),
       hasColumns = program.hasColumns(tensor.axes);
  Value one = code.number(1), zero = code.number(0);
  Value rows = hasRows && hasColumns ? rowsHere : one;
  Value run = hasColumns ? columnsHere : hasRows ? rowsHere : one;
  int64_t stride = hasRows ? tensor.strides[*program.rowAxis()] : 0,
          pitch = model::tilePitch(tiling);
  Value memory = getMemory(entry.tensor),
        from = getAddress(code, outlet.place, slot);
  if (!outlet.tail) {
    copyRows(/*isLoad=*/false, memory, from, tensor.elementBytes, rows, run,
             stride, pitch);
    return;
  }
  int64_t elements = blockBytes / tensor.elementBytes;
  Value whole = code.mul(code.div(run, elements), elements);
  constexpr int64_t once = int64_t(1) << 40;
  code.loop(zero, whole, once, [&](Value) {
    copyRows(/*isLoad=*/false, memory, from, tensor.elementBytes, rows, whole,
             stride, pitch);
  });
  code.loop(whole, run, elements, [&](Value) {
    // Some elements are there already.
    PipeBarrierOp::create(builder, code.loc, Pipe::MTE3);
    copyRows(/*isLoad=*/false,
             code.offset(memory, code.sub(run, code.number(elements))),
             getAddress(code, *outlet.tail, slot), tensor.elementBytes, rows,
             code.number(elements), stride, elements);
  });
}
