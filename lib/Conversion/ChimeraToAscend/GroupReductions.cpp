//===- GroupReductions.cpp - Sums and extrema of tiles --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along rows, repeats are combined element by element until one is left, that
// becomes a number, and the number a block. Newer cores have instructions for
// the last two steps. For others, and for what they have no instruction for,
// halves are combined down to a block, in which elements are moved one by one:
// a sum of which all elements but one are left out.
//
// Along columns, rows are combined one after the other.
//
//===----------------------------------------------------------------------===//

#include "GroupKernel.h"
#include "VectorKinds.h"

#include <limits>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;
using model::kBlockLanes;
using model::kVectorLanes;
using model::VectorStep;

VectorKind GroupKernel::combinerOf(const VectorStep &step) const {
  return *getBinaryKind(*group.values[step.value].op);
}

/// What changes nothing. Where there are no infinities, the largest numbers.
double GroupKernel::identityOf(VectorKind kind) const {
  if (kind == VectorKind::Add)
    return 0;
  if (kind == VectorKind::Mul)
    return 1;
  double most = saturate(architecture, std::numeric_limits<double>::infinity());
  return kind == VectorKind::Max ? -most : most;
}

Value GroupKernel::partialOf(const VectorStep &step) {
  bool hasRows = program.hasRows(program.values[step.value].axes);
  return homeAddress(hasRows ? Home::Partial : Home::Block, step.partial[0]);
}

void GroupKernel::startReduction(const VectorStep &step) {
  const model::VectorValue &value = program.values[step.value];
  Ref to;
  to.home = model::homeOf(program, value.axes);
  to.address = homeAddress(to.home, *step.home);
  refs[step.value] = to;
  if (isPartial(step))
    to = {partialOf(step), to.home == Home::Rows ? Home::Partial : Home::Block};
  dup(to, identityOf(combinerOf(step)));
}

void GroupKernel::accumulate(const VectorStep &step) {
  const model::VectorValue &value = program.values[step.value];
  VectorKind kind = combinerOf(step);
  Ref from = homeOf(value.operands[0]), to = homeOf(step.value);
  if (isPartial(step)) {
    to.address = partialOf(step);
    accumulateRows(kind, to, from, program.hasRows(value.axes));
  } else if (from.home != to.home) {
    accumulateColumns(kind, to, from);
  } else {
    emitVector(kind, to, {to, from});
  }
}

/// Of rows in `from`, the elements to as many as an instruction works on, for
/// each row or for all. Of the last ones only those that exist take part.
void GroupKernel::accumulateRows(VectorKind kind, Ref sums, Ref from,
                                 bool keepsRows) {
  int64_t pitch = model::tilePitch(tiling), pitchBlocks = pitch / kBlockLanes;
  constexpr int64_t longest = 255;
  Value zero = code.number(0), one = code.number(1);
  Value whole = code.mul(code.div(columnsHere, kVectorLanes), kVectorLanes);
  auto withRest = [&](llvm::function_ref<void(Value)> body) {
    code.loop(whole, columnsHere, kVectorLanes, [&](Value column) {
      Type i64 = builder.getI64Type();
      auto constant = [&](int64_t number) {
        return arith::ConstantIntOp::create(builder, code.loc, i64, number)
            .getResult();
      };
      Value width = builder.createOrFold<arith::IndexCastOp>(
          code.loc, i64, code.sub(columnsHere, column));
      Value bits = builder.createOrFold<arith::SubIOp>(
          code.loc,
          builder.createOrFold<arith::ShLIOp>(code.loc, constant(1), width),
          constant(1));
      withMask(bits, [&] { body(column); });
    });
  };
  bool byColumns = keepsRows && pitchBlocks <= longest &&
                   tiling.rows * kVectorLanes >= tiling.columns;
  if (byColumns) {
    auto combine = [&](Value column) {
      forRepeats(
          rowsHere, tiling.rows, maxRepeat, [&](Value first, Value count) {
            Value at = code.offset(sums.address, code.mul(first, kVectorLanes));
            Value with = code.offset(from.address,
                                     code.add(code.mul(first, pitch), column));
            VectorOp::create(builder, code.loc, kind, at, ValueRange{at, with},
                             Value(), count, ArrayRef<int64_t>{1, 1, 1},
                             ArrayRef<int64_t>{8, 8, pitchBlocks});
          });
    };
    code.loop(zero, whole, kVectorLanes, combine);
    withRest(combine);
    return;
  }
  code.loop(zero, rowsOf(from.home), 1, [&](Value row) {
    Value start = code.offset(from.address, code.mul(row, pitch));
    Value to = keepsRows
                   ? code.offset(sums.address, code.mul(row, kVectorLanes))
                   : sums.address;
    auto combine = [&](Value column, Value count) {
      VectorOp::create(builder, code.loc, kind, to,
                       ValueRange{code.offset(start, column), to}, Value(),
                       count, ArrayRef<int64_t>{1, 1, 1},
                       ArrayRef<int64_t>{0, 8, 0});
    };
    code.loop(zero, code.div(whole, kVectorLanes), maxRepeat, [&](Value first) {
      combine(code.mul(first, kVectorLanes),
              code.part(code.div(whole, kVectorLanes), first, maxRepeat));
    });
    withRest([&](Value column) { combine(column, one); });
  });
}

/// Row after row of `from`.
void GroupKernel::accumulateColumns(VectorKind kind, Ref sums, Ref from) {
  int64_t pitch =
      from.home == Home::Tile ? model::tilePitch(tiling) : kBlockLanes;
  int64_t whole = pitch / kVectorLanes * kVectorLanes, rest = pitch - whole;
  constexpr int64_t longest = 255;
  Value zero = code.number(0), one = code.number(1);
  int64_t distance = pitch / kBlockLanes;
  int64_t atOnce = distance > longest ? 1 : maxRepeat;
  auto combine = [&](Value column) {
    Value to = code.offset(sums.address, column);
    forRepeats(rowsHere, tiling.rows, atOnce, [&](Value first, Value count) {
      Value with =
          code.offset(from.address, code.add(code.mul(first, pitch), column));
      VectorOp::create(builder, code.loc, kind, to, ValueRange{with, to},
                       Value(), count, ArrayRef<int64_t>{1, 1, 1},
                       ArrayRef<int64_t>{0, std::min(distance, longest), 0});
    });
  };
  if (distance > longest) {
    // Distances between rows are longer than an instruction has them.
    code.loop(zero, rowsHere, 1, [&](Value row) {
      Value start = code.offset(from.address, code.mul(row, pitch));
      auto add = [&](Value column, Value count) {
        Value to = code.offset(sums.address, column);
        VectorOp::create(builder, code.loc, kind, to,
                         ValueRange{to, code.offset(start, column)}, Value(),
                         count, ArrayRef<int64_t>{1, 1, 1},
                         ArrayRef<int64_t>{8, 8, 8});
      };
      forRepeats(code.number(whole / kVectorLanes), whole / kVectorLanes,
                 maxRepeat, [&](Value first, Value count) {
                   add(code.mul(first, kVectorLanes), count);
                 });
      if (rest)
        withLanes(rest, [&] { add(code.number(whole), one); });
    });
    return;
  }
  code.loop(zero, code.number(whole), kVectorLanes, combine);
  if (rest)
    withLanes(rest, [&] { combine(code.number(whole)); });
}

/// One number for each row of `sums`, in a block.
void GroupKernel::finishReduction(const VectorStep &step) {
  if (!isPartial(step))
    return;
  VectorKind kind = combinerOf(step);
  Ref to = homeOf(step.value);
  Value sums = partialOf(step), rows = rowsOf(to.home);
  int64_t mostRows = mostRowsOf(to.home);
  Value first = temporary(step, 0).address, second = temporary(step, 1).address;
  Type f32 = builder.getF32Type();
  bool hasBlocks = (kind == VectorKind::Add || kind == VectorKind::Max) &&
                   hasInstruction(architecture, "vcgadd", f32) &&
                   hasInstruction(architecture, "vbrcb", f32);
  if (!hasBlocks) {
    if (kind != VectorKind::Add)
      combineLanes(kind, sums, first, rows);
    // A sum of all, or of the one that is left, to each element of the block.
    for (int64_t i = 0; i < kBlockLanes; ++i) {
      Value at = code.offset(to.address, code.number(i));
      if (kind != VectorKind::Add) {
        moveLane(at, sums, 0, rows, mostRows, kBlockLanes, 8);
        continue;
      }
      forRepeats(rows, mostRows, maxRepeat, [&](Value row, Value count) {
        ReduceOp::create(builder, code.loc, ReduceKind::AddAll,
                         code.offset(at, code.mul(row, kBlockLanes)),
                         code.offset(sums, code.mul(row, kVectorLanes)), count,
                         /*blocks=*/1, /*repeats=*/8,
                         builder.getI64IntegerAttr(kBlockLanes));
      });
    }
    return;
  }
  ReduceKind reduce =
      kind == VectorKind::Max ? ReduceKind::Max : ReduceKind::Add;
  forRepeats(rows, mostRows, maxRepeat, [&](Value row, Value count) {
    ReduceOp::create(builder, code.loc, reduce,
                     code.offset(first, code.mul(row, kBlockLanes)),
                     code.offset(sums, code.mul(row, kVectorLanes)), count,
                     /*blocks=*/1, /*repeats=*/8, IntegerAttr());
  });
  Value blocks = code.ceilDiv(rows, kBlockLanes);
  int64_t mostBlocks = llvm::divideCeil(mostRows, kBlockLanes);
  forRepeats(blocks, mostBlocks, maxRepeat, [&](Value block, Value count) {
    Value from = code.offset(first, code.mul(block, kVectorLanes)),
          between = code.offset(second, code.mul(block, kBlockLanes));
    ReduceOp::create(builder, code.loc, reduce, between, from, count,
                     /*blocks=*/1, /*repeats=*/8, IntegerAttr());
    BroadcastOp::create(builder, code.loc,
                        code.offset(to.address, code.mul(block, kVectorLanes)),
                        between, count);
  });
}

/// Combines the elements of each repeat in its first one.
void GroupKernel::combineLanes(VectorKind kind, Value sums, Value temporary,
                               Value rows) {
  auto combine = [&](int64_t lanes, Value with, int64_t distance) {
    withLanes(lanes, [&] {
      forRepeats(rows, tiling.rows, maxRepeat, [&](Value row, Value count) {
        Value at = code.offset(sums, code.mul(row, kVectorLanes));
        VectorOp::create(
            builder, code.loc, kind, at,
            ValueRange{
                at, code.offset(with, code.mul(row, distance * kBlockLanes))},
            Value(), count, ArrayRef<int64_t>{1, 1, 1},
            ArrayRef<int64_t>{8, 8, distance});
      });
    });
  };
  for (int64_t lanes = kVectorLanes / 2; lanes >= kBlockLanes; lanes /= 2)
    combine(lanes, code.offset(sums, code.number(lanes)), 8);
  for (int64_t lanes = kBlockLanes / 2; lanes >= 1; lanes /= 2) {
    for (int64_t i = 0; i < lanes; ++i)
      moveLane(code.offset(temporary, code.number(i)), sums, lanes + i, rows,
               tiling.rows, kBlockLanes, 8);
    combine(lanes, temporary, 1);
  }
}
