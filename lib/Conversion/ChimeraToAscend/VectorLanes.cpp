//===- VectorLanes.cpp - Vectors of which each lane is a row --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of a softmax that runs in lanes (KernelLanes.cpp). What is worked
// on at once is a part of a column group: 16 rows of the schedule, along lanes,
// and some of their columns, one below the other, four to a repeat. One number
// for each row is there four times, so that it is a repeat, which is read again
// and again beside a group. A group is reduced by an instruction whose result
// is its second source; the four numbers for a row that are left are combined
// under masks.
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// Elements of one number for each row of a group from one row to the next.
static constexpr int64_t copies = 4;

/// Where, of a tile in UB, the part is that is worked on.
Value VectorCode::locateInLanes(const Access &access) {
  Value start = code.add(code.mul(current, lowering.pitchInUb(access.matrix)),
                         code.mul(part.first, fractal));
  return code.offset(access.address, start);
}

VectorCode::Operand VectorCode::readInLanes(const Access &access) {
  using Kind = Access::Kind;
  switch (access.kind) {
  case Kind::Rows:
    return {Shape::Rows, access.address};
  case Kind::Tile:
    return {Shape::Group, locateInLanes(access)};
  case Kind::Sums: {
    Value to = temporary(), zero = code.number(0);
    code.copy(CopyKind::MatrixCcToUbuf, to,
              code.offset(lowering.getSums(access.matrix, current),
                          code.mul(part.first, fractal)),
              code.number(1), code.div(part.rows, fractal), zero, zero);
    return {Shape::Group, to};
  }
  default:
    llvm_unreachable("in lanes nothing comes from memory");
  }
}

/// Hands the part on: into L1, or to rows that leave with the whole group.
LogicalResult VectorCode::writeInLanes(const Access &access, Value yielded,
                                       Operand value, Value slot) {
  if (access.kind == Access::Kind::Tile) {
    auto found = inPlace.find(yielded.getDefiningOp());
    if (found == inPlace.end() || &accesses[found->second] != &access)
      emitScalar(VectorKind::Adds, locateInLanes(access), value.value, 0);
    return success();
  }
  auto narrow = [&](Value to) {
    VectorOp::create(builder, code.loc, VectorKind::Narrow, to, value.value,
                     Value(), repeats(Shape::Group), ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{4, 8});
  };
  if (leavesInRows(access)) {
    Value halves = temporary(builder.getF16Type());
    narrow(halves);
    TransposeOp::create(
        builder, code.loc,
        code.offset(getAddress(code, *access.place, slotInLanes()), part.first),
        halves, code.div(part.rows, fractal),
        ArrayRef<int64_t>{maxColumns / fractal, 1},
        ArrayRef<int64_t>{1, fractal});
    return success();
  }
  waitFree(code, *access.place, slot);
  Value from = getAddress(code, *access.place, slot);
  narrow(from);
  setFull(code, *access.place, slot);
  waitFull(code, *access.place, slot);
  const Matrix &output = access.matrix;
  const TileRef &tile = output.tile;
  Value column = code.add(code.number(tile.offsets[output.columnDim]), current),
        row = code.add(code.number(tile.offsets[output.rowDim]), part.first),
        zero = code.number(0);
  const Place &place = lowering.buffers.find(tile.root)->second.place;
  Value to = code.offset(getAddress(code, place, zero),
                         code.add(lowering.getLineStart(output),
                                  code.add(code.mul(column, output.pitch()),
                                           code.mul(row, fractal))));
  code.copy(CopyKind::UbufToCbuf, to, from, code.number(1), part.rows, zero,
            zero);
  setFree(code, *access.place, slot);
  return success();
}

/// Lets the rows of a group leave for memory.
void VectorCode::storeInLanes(const Access &access) {
  const Matrix &output = access.matrix;
  const TileRef &tile = output.tile;
  Value slot = slotInLanes();
  setFull(code, *access.place, slot);
  waitFull(code, *access.place, slot);
  int64_t stride = getStride(tile, output.columnDim);
  Value to = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, builder.getF16Type()),
          tile.root)
          .getResult(0),
      code.add(getLinearOffset(code, tile), code.mul(current, stride)));
  Value blocks = code.div(columns, fractal);
  code.copy(CopyKind::UbufToGm, to, getAddress(code, *access.place, slot),
            code.part(code.number(output.columns()), current, fractal), blocks,
            code.sub(code.number(maxColumns / fractal), blocks),
            code.sub(code.number(stride / fractal), blocks));
  setFree(code, *access.place, slot);
}

/// Combines the part with what there is of those before, each repeat with the
/// result of the one before it. Of the last one, columns that exist take part.
void VectorCode::accumulateInLanes(const Reduction &reduction) {
  Value group = asGroup(getOperand(reduction.element)).value;
  auto combine = [&](Value from, Value repeat) {
    VectorOp::create(builder, code.loc,
                     reduction.isMaximum ? VectorKind::Max : VectorKind::Add,
                     reduction.group, ValueRange{from, reduction.group},
                     Value(), repeat, ArrayRef<int64_t>{1, 1, 1},
                     ArrayRef<int64_t>{0, 8, 0});
  };
  Value repeat = code.div(part.count, groupRowsPerRepeat);
  if (llvm::none_of(kernel.getExtentsOf(*columnLoop),
                    [](int64_t extent) { return extent % groupRowsPerRepeat; }))
    return combine(group, repeat);
  // There may be less than a repeat.
  code.loop(code.number(0), repeat, maxRepeat,
            [&](Value) { combine(group, repeat); });
  code.loop(
      code.mul(repeat, groupRowsPerRepeat), part.count, groupRowsPerRepeat,
      [&](Value row) {
        lowering.setFirstLanes(code.mul(code.sub(part.count, row), fractal));
        combine(code.offset(group, code.mul(row, fractal)), code.number(1));
        lowering.resetLanes();
      });
}

/// Combines the four numbers that are left for each row, and that with what was
/// known of it.
void VectorCode::finishInLanes(const Reduction &reduction) {
  VectorKind kind = reduction.isMaximum ? VectorKind::Max : VectorKind::Add;
  Value group = reduction.group;
  for (int64_t half = copies / 2; half > 0; half /= 2) {
    lowering.setFirstLanes(code.number(half * fractal));
    VectorOp::create(
        builder, code.loc, kind, group,
        ValueRange{group, code.offset(group, code.number(half * fractal))},
        Value(), code.number(1), ArrayRef<int64_t>{1, 1, 1},
        ArrayRef<int64_t>{8, 8, 8});
  }
  // Under the mask for one number of each row, which goes to all four.
  constexpr int64_t blocks = fractal / blockElements;
  Value state = code.offset(reduction.state, code.mul(current, copies));
  VectorOp::create(builder, code.loc, kind, state, ValueRange{state, group},
                   Value(), code.number(copies), ArrayRef<int64_t>{1, 1, 1},
                   ArrayRef<int64_t>{blocks, blocks, 0});
  lowering.resetLanes();
}

LogicalResult VectorCode::emitInLanes() {
  LogicalResult result = success();
  Value zero = code.number(0);
  code.loop(zero, rows, fractal, [&](Value row) {
    for (const Reduction &reduction : reductions)
      VectorOp::create(builder, code.loc, VectorKind::Dup, reduction.group,
                       ValueRange(), asNumber(getStart(reduction)),
                       code.number(1), ArrayRef<int64_t>{1},
                       ArrayRef<int64_t>{8});
    current = row;
    for (const Access &access : accesses)
      if (leavesInRows(access))
        waitFree(code, *access.place, slotInLanes());
    code.loop(zero, columns, groupRows(), [&](Value first) {
      part.first = first;
      part.count = code.part(columns, first, groupRows());
      part.rows = code.padded(part.count);
      if (succeeded(result))
        result = emitGroup(row, /*isEdge=*/false);
    });
    for (const Reduction &reduction : reductions)
      finishInLanes(reduction);
    for (const Access &access : accesses)
      if (leavesInRows(access))
        storeInLanes(access);
  });
  return result;
}

/// The number of each row, or a block with that of each column of the part.
VectorCode::Operand VectorCode::emitIndexInLanes(IndexOp op) {
  if (rowLoop == op.getDim())
    return {Shape::Rows, lowering.getRowNumbers()};
  if (op.getDim() != columnLoop)
    return {Shape::Number, asNumber(0)};
  Value result = temporary();
  emitScalar(VectorKind::Adds, result, lowering.getColumnNumbers(),
             asScalar(part.first), Shape::Columns);
  return {Shape::Columns, result};
}

/// `operand` as what works on one repeat at a time reads it: one number for
/// each row of a group is a repeat already.
VectorCode::Operand VectorCode::asRepeats(Operand operand, Shape shape) {
  bool isRepeat = lowering.inLanes && !selectsOn(lowering.architecture) &&
                  operand.shape == Shape::Rows && !operand.isMask;
  return isRepeat ? operand : asShape(operand, shape);
}

/// The repeat from element `first` on, or the one that is there for all.
Value VectorCode::locateRepeat(Operand operand, Value first, Shape shape) {
  return operand.shape == shape
             ? code.offset(operand.value, first)
             : code.offset(operand.value, code.mul(current, copies));
}

/// A group beside one number for each row, the same repeat again and again, or
/// one for each column, with each of the two columns of blocks.
void VectorCode::emitBinaryInLanes(VectorKind kind, Value to, Operand a,
                                   Operand b) {
  auto at = [&](const Operand &operand, int64_t half) {
    return operand.shape == Shape::Group
               ? code.offset(operand.value, code.number(half * blockElements))
           : operand.shape == Shape::Rows
               ? code.offset(operand.value, code.mul(current, copies))
               : operand.value;
  };
  if (a.shape == Shape::Rows || b.shape == Shape::Rows) {
    auto distance = [](const Operand &operand) -> int64_t {
      return operand.shape == Shape::Rows ? 0 : 8;
    };
    VectorOp::create(builder, code.loc, kind, to,
                     ValueRange{at(a, 0), at(b, 0)}, Value(),
                     repeats(Shape::Group), ArrayRef<int64_t>{1, 1, 1},
                     ArrayRef<int64_t>{8, distance(a), distance(b)});
    return;
  }
  auto distance = [](const Operand &operand) -> int64_t {
    return operand.shape == Shape::Group ? 2 : 1;
  };
  for (int64_t half = 0; half < 2; ++half)
    VectorOp::create(builder, code.loc, kind,
                     code.offset(to, code.number(half * blockElements)),
                     ValueRange{at(a, half), at(b, half)}, Value(),
                     repeats(Shape::Columns),
                     ArrayRef<int64_t>{2, distance(a), distance(b)},
                     ArrayRef<int64_t>{16, 8 * distance(a), 8 * distance(b)});
}
