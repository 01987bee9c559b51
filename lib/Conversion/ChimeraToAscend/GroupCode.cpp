//===- GroupCode.cpp - Instructions on tiles ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each value of a group becomes instructions on a tile, in f32.
//
//===----------------------------------------------------------------------===//

#include "GroupKernel.h"
#include "VectorKinds.h"

#include "../Support/OddRational.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;
using model::kBlockLanes;
using model::kVectorLanes;
using model::VectorStep;
using model::VectorValueId;

//===----------------------------------------------------------------------===//
// Repeats and lanes
//===----------------------------------------------------------------------===//

Value GroupKernel::asNumber(double number) {
  return arith::ConstantOp::create(builder, code.loc,
                                   builder.getF32FloatAttr(number));
}

/// Runs `body` with the number of the first of so many repeats, at most
/// `atOnce`, until all `count`, at most `most`, are done.
void GroupKernel::forRepeats(Value count, int64_t most, int64_t atOnce,
                             llvm::function_ref<void(Value, Value)> body) {
  if (most <= atOnce) {
    body(code.number(0), count);
    return;
  }
  code.loop(code.number(0), count, atOnce,
            [&](Value first) { body(first, code.part(count, first, atOnce)); });
}

void GroupKernel::withMask(Value bits, llvm::function_ref<void()> body) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, code.loc, builder.getI64Type(),
                                        value)
        .getResult();
  };
  SetVectorMaskOp::create(builder, code.loc, constant(0), bits);
  body();
  SetVectorMaskOp::create(builder, code.loc, constant(-1), constant(-1));
}

/// Only the first `lanes` elements of a repeat take part.
void GroupKernel::withLanes(int64_t lanes, llvm::function_ref<void()> body) {
  Value bits = arith::ConstantIntOp::create(
      builder, code.loc, builder.getI64Type(), (int64_t(1) << lanes) - 1);
  withMask(bits, body);
}

Value GroupKernel::repeatsOf(Home home) {
  int64_t pitch = model::tilePitch(tiling);
  switch (home) {
  case Home::Tile:
    return code.ceilDiv(code.mul(rowsHere, pitch), kVectorLanes);
  case Home::Columns:
    return code.number(llvm::divideCeil(pitch, kVectorLanes));
  case Home::Rows:
    return code.ceilDiv(rowsHere, kBlockLanes);
  case Home::Block:
    return code.number(1);
  case Home::Partial:
    return rowsHere;
  }
  llvm_unreachable("unknown home");
}

int64_t GroupKernel::mostRepeats(Home home) const {
  return model::homeElements(home, tiling) / kVectorLanes;
}

GroupKernel::Ref GroupKernel::homeOf(VectorValueId id) const {
  return refs.lookup(id);
}

GroupKernel::Ref GroupKernel::temporary(const VectorStep &step,
                                        unsigned number) {
  Home home = model::homeOf(program, program.values[step.value].axes);
  return {homeAddress(home, step.temporaries[number]), home};
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The number in all elements.
void GroupKernel::dup(Ref to, double number) {
  emitVector(VectorKind::Dup, to, {}, asNumber(number));
}

/// One instruction on all of `to`, which has the rows and columns of all
/// sources.
void GroupKernel::emitVector(VectorKind kind, Ref to, ArrayRef<Ref> sources,
                             Value scalar) {
  bool isMixed =
      to.home == Home::Tile && llvm::any_of(sources, [](Ref source) {
        return source.home == Home::Rows || source.home == Home::Columns;
      });
  if (isMixed) {
    emitMixed(kind, to, sources);
    return;
  }
  SmallVector<int64_t> blocks = {1}, repeats = {8};
  for (Ref source : sources) {
    bool isSame = source.home == to.home;
    blocks.push_back(isSame ? 1 : 0);
    repeats.push_back(isSame ? 8 : 0);
  }
  forRepeats(repeatsOf(to.home), mostRepeats(to.home), maxRepeat,
             [&](Value first, Value count) {
               Value at = code.mul(first, kVectorLanes);
               SmallVector<Value> addresses;
               for (Ref source : sources)
                 addresses.push_back(source.home == to.home
                                         ? code.offset(source.address, at)
                                         : source.address);
               VectorOp::create(builder, code.loc, kind,
                                code.offset(to.address, at), addresses, scalar,
                                count, blocks, repeats);
             });
}

/// On a tile, with operands that are the same for all rows or all columns:
/// repeat after repeat along a row, or row after row.
void GroupKernel::emitMixed(VectorKind kind, Ref to, ArrayRef<Ref> sources) {
  int64_t pitch = model::tilePitch(tiling), pitchBlocks = pitch / kBlockLanes;
  int64_t whole = pitch / kVectorLanes, rest = pitch % kVectorLanes;
  constexpr int64_t longest = 255;
  bool byRows = pitchBlocks > longest || tiling.rows < whole;
  SmallVector<Ref> operands = {to};
  llvm::append_range(operands, sources);
  auto emitAt = [&](Value row, Value column, Value count) {
    SmallVector<Value> addresses;
    SmallVector<int64_t> blocks, repeats;
    for (Ref operand : operands) {
      bool hasRows = operand.home == Home::Tile || operand.home == Home::Rows,
           hasColumns =
               operand.home == Home::Tile || operand.home == Home::Columns;
      int64_t rowPitch = hasColumns ? pitch : kBlockLanes;
      Value at = code.number(0);
      if (hasRows)
        at = code.add(at, code.mul(row, rowPitch));
      if (hasColumns)
        at = code.add(at, column);
      addresses.push_back(code.offset(operand.address, at));
      blocks.push_back(hasColumns ? 1 : 0);
      repeats.push_back(byRows    ? (hasColumns ? 8 : 0)
                        : hasRows ? rowPitch / kBlockLanes
                                  : 0);
    }
    Value number = kind == VectorKind::Adds ? asNumber(0) : Value();
    VectorOp::create(builder, code.loc, kind, addresses.front(),
                     ArrayRef(addresses).drop_front(), number, count, blocks,
                     repeats);
  };
  Value zero = code.number(0), one = code.number(1);
  Value end = code.number(whole * kVectorLanes);
  if (!byRows) {
    auto emitColumn = [&](Value column) {
      forRepeats(
          rowsHere, tiling.rows, maxRepeat,
          [&](Value first, Value count) { emitAt(first, column, count); });
    };
    code.loop(zero, end, kVectorLanes, emitColumn);
    if (rest)
      withLanes(rest, [&] { emitColumn(end); });
    return;
  }
  code.loop(zero, rowsHere, 1, [&](Value row) {
    if (whole)
      forRepeats(code.number(whole), whole, maxRepeat,
                 [&](Value first, Value count) {
                   emitAt(row, code.mul(first, kVectorLanes), count);
                 });
    if (rest)
      withLanes(rest, [&] { emitAt(row, end, one); });
  });
}

/// From f32 to f16 or back, `elements` next to each other.
void GroupKernel::convert(bool isNarrow, Value to, Value from, Value elements,
                          int64_t most) {
  int64_t toRepeat = isNarrow ? 4 : 8, fromRepeat = isNarrow ? 8 : 4;
  forRepeats(code.ceilDiv(elements, kVectorLanes),
             llvm::divideCeil(most, kVectorLanes), maxRepeat,
             [&](Value first, Value count) {
               Value at = code.mul(first, kVectorLanes);
               VectorOp::create(builder, code.loc,
                                isNarrow ? VectorKind::Narrow
                                         : VectorKind::Widen,
                                code.offset(to, at), code.offset(from, at),
                                Value(), count, ArrayRef<int64_t>{1, 1},
                                ArrayRef<int64_t>{toRepeat, fromRepeat});
             });
}

/// Element `lane` of the first block of each repeat, `distance` blocks apart,
/// to places that are `results` elements apart: the sum of one element.
void GroupKernel::moveLane(Value to, Value from, int64_t lane, Value repeats,
                           int64_t most, int64_t results, int64_t distance) {
  constexpr int64_t longest = 255;
  Value bit = arith::ConstantIntOp::create(
      builder, code.loc, builder.getI64Type(), int64_t(1) << lane);
  int64_t atOnce = distance > longest ? 1 : maxRepeat;
  withMask(bit, [&] {
    forRepeats(repeats, most, atOnce, [&](Value first, Value count) {
      ReduceOp::create(
          builder, code.loc, ReduceKind::AddAll,
          code.offset(to, code.mul(first, results)),
          code.offset(from, code.mul(first, distance * kBlockLanes)), count,
          /*blocks=*/1, std::min(distance, longest),
          builder.getI64IntegerAttr(results));
    });
  });
}

/// `id` where `to` is, for each of its elements.
GroupKernel::Ref GroupKernel::spread(VectorValueId id, Ref to) {
  if (isNumber(id))
    dup(to, getNumber(id));
  else if (homeOf(id).home == to.home)
    return homeOf(id);
  else
    emitVector(VectorKind::Adds, to, homeOf(id), asNumber(0));
  return to;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Makes f32 of what was loaded; what has no columns becomes a block for each
/// row.
void GroupKernel::bring(const VectorStep &step, Ref to, Value slot) {
  if (!step.home)
    return;
  Value where = isPieceLoad(step.value) ? slot : code.number(0);
  Value from = getAddress(code, loaded[step.value], where);
  bool isNarrow = loaded[step.value].elementType.isF16();
  if (to.home == Home::Tile || to.home == Home::Columns) {
    convert(/*isNarrow=*/false, to.address, from,
            code.mul(repeatsOf(to.home), kVectorLanes),
            model::homeElements(to.home, tiling));
    return;
  }
  Value rows = rowsOf(to.home), packed = from;
  int64_t mostRows = mostRowsOf(to.home);
  if (isNarrow) {
    packed = temporary(step, 0).address;
    convert(/*isNarrow=*/false, packed, from, rows, mostRows);
  }
  Value blocks = code.ceilDiv(rows, kBlockLanes);
  if (hasInstruction(architecture, "vbrcb", builder.getF32Type())) {
    forRepeats(blocks, llvm::divideCeil(mostRows, kBlockLanes), maxRepeat,
               [&](Value first, Value count) {
                 BroadcastOp::create(
                     builder, code.loc,
                     code.offset(to.address, code.mul(first, kVectorLanes)),
                     code.offset(packed, code.mul(first, kBlockLanes)), count);
               });
    return;
  }
  for (int64_t lane = 0; lane < std::min(mostRows, kBlockLanes); ++lane)
    for (int64_t i = 0; i < kBlockLanes; ++i)
      moveLane(code.offset(to.address, code.number(lane * kBlockLanes + i)),
               packed, lane, blocks, llvm::divideCeil(mostRows, kBlockLanes),
               kVectorLanes, 1);
}

/// Of a number where there is no instruction with one.
void GroupKernel::emitExtremum(VectorKind kind, const VectorStep &step, Ref to,
                               Ref from, double number) {
  if (hasInstruction(architecture, stringifyVectorKind(withScalar(kind)),
                     builder.getF32Type())) {
    emitVector(withScalar(kind), to, from, asNumber(number));
    return;
  }
  Ref block{homeAddress(Home::Block, step.blocks[0]), Home::Block};
  dup(block, number);
  emitVector(kind, to, {from, block});
}

void GroupKernel::computeBinary(VectorKind kind, const VectorStep &step,
                                Ref to) {
  ArrayRef<VectorValueId> operands = program.values[step.value].operands;
  VectorValueId a = operands[0], b = operands[1];
  if (!isNumber(a) && !isNumber(b)) {
    emitVector(kind, to, {homeOf(a), homeOf(b)});
    return;
  }
  bool isFirst = isNumber(a);
  Ref x = homeOf(isFirst ? b : a);
  double number = getNumber(isFirst ? a : b);
  switch (kind) {
  case VectorKind::Add:
  case VectorKind::Mul:
    emitVector(withScalar(kind), to, x, asNumber(number));
    return;
  case VectorKind::Sub:
    if (isFirst) {
      emitVector(VectorKind::Muls, to, x, asNumber(-1));
      emitVector(VectorKind::Adds, to, to, asNumber(number));
    } else {
      emitVector(VectorKind::Adds, to, x, asNumber(-number));
    }
    return;
  case VectorKind::Max:
  case VectorKind::Min:
    emitExtremum(kind, step, to, x, number);
    return;
  default: {
    Ref block{homeAddress(Home::Block, step.blocks[0]), Home::Block};
    dup(block, number);
    emitVector(kind, to,
               isFirst ? ArrayRef<Ref>{block, x} : ArrayRef<Ref>{x, block});
  }
  }
}

void GroupKernel::computeOddRational(const VectorStep &step, Ref to, Ref x,
                                     const OddRational &function) {
  Ref square = temporary(step, 0), sum = temporary(step, 1);
  emitExtremum(VectorKind::Min, step, to, x, function.limit);
  emitExtremum(VectorKind::Max, step, to, to, -function.limit);
  emitVector(VectorKind::Mul, square, {to, to});
  auto evaluate = [&](ArrayRef<double> coefficients) {
    emitVector(VectorKind::Muls, sum, square, asNumber(coefficients.back()));
    for (double coefficient :
         llvm::reverse(coefficients.drop_back().drop_front())) {
      emitVector(VectorKind::Adds, sum, sum, asNumber(coefficient));
      emitVector(VectorKind::Mul, sum, {sum, square});
    }
    emitVector(VectorKind::Adds, sum, sum, asNumber(coefficients.front()));
  };
  evaluate(function.numerator);
  emitVector(VectorKind::Mul, to, {to, sum});
  evaluate(function.denominator);
  emitVector(VectorKind::Div, to, {to, sum});
}

/// A bit for each element. Where all repeats of a selection take the same bits,
/// those of each repeat are a block of their own.
void GroupKernel::computeCompare(const VectorStep &step, Ref to) {
  const model::VectorValue &value = program.values[step.value];
  Ref a = spread(value.operands[0], temporary(step, 0)),
      b = spread(value.operands[1], temporary(step, 1));
  Value bits = homeAddress(to.home, *step.home, builder.getI8Type());
  bool isOwn = !selectsOn(architecture);
  // Bits of several repeats start with a block.
  int64_t atOnce = isOwn ? 1 : maxRepeat / 4 * 4;
  int64_t bytes = isOwn ? blockBytes : kVectorLanes / 8;
  forRepeats(repeatsOf(to.home), mostRepeats(to.home), atOnce,
             [&](Value first, Value count) {
               Value at = code.mul(first, kVectorLanes);
               CompareOp::create(builder, code.loc,
                                 *getCompareKind(*group.values[step.value].op),
                                 code.offset(bits, code.mul(first, bytes)),
                                 code.offset(a.address, at),
                                 code.offset(b.address, at), count);
             });
}

void GroupKernel::computeSelect(const VectorStep &step, Ref to) {
  const model::VectorValue &value = program.values[step.value];
  Ref mask = homeOf(value.operands[0]);
  Ref a = spread(value.operands[1], temporary(step, 0)),
      b = spread(value.operands[2], temporary(step, 1));
  auto place = mask.address.getDefiningOp<AddressOp>();
  Value bits = code.address(Memory::UB, builder.getI8Type(), place.getBytes());
  bool isOwn = !selectsOn(architecture);
  int64_t atOnce = isOwn ? 1 : maxRepeat / 4 * 4;
  int64_t bytes = isOwn ? blockBytes : kVectorLanes / 8;
  forRepeats(repeatsOf(to.home), mostRepeats(to.home), atOnce,
             [&](Value first, Value count) {
               Value at = code.mul(first, kVectorLanes);
               SelectOp::create(
                   builder, code.loc, code.offset(to.address, at),
                   code.offset(a.address, at), code.offset(b.address, at),
                   code.offset(bits, code.mul(first, bytes)), count, isOwn);
             });
}

void GroupKernel::compute(const VectorStep &step, Ref to) {
  const model::VectorValue &value = program.values[step.value];
  const GroupValue &what = group.values[step.value];
  if (what.code == GroupCode::Spread) {
    if (isNumber(value.operands[0]))
      dup(to, getNumber(value.operands[0]));
    else
      emitVector(VectorKind::Adds, to, homeOf(value.operands[0]), asNumber(0));
    return;
  }
  if (what.code == GroupCode::Round) {
    int64_t most = model::homeElements(to.home, tiling);
    Value elements = code.mul(repeatsOf(to.home), kVectorLanes);
    Value narrow =
        homeAddress(to.home, step.temporaries[0], builder.getF16Type());
    convert(/*isNarrow=*/true, narrow, homeOf(value.operands[0]).address,
            elements, most);
    convert(/*isNarrow=*/false, to.address, narrow, elements, most);
    return;
  }
  Operation &op = *what.op;
  if (std::optional<VectorKind> kind = getBinaryKind(op))
    return computeBinary(*kind, step, to);
  if (isa<arith::CmpFOp>(op))
    return computeCompare(step, to);
  if (isa<arith::SelectOp>(op))
    return computeSelect(step, to);
  Ref x = homeOf(value.operands[0]);
  if (std::optional<VectorKind> kind = getUnaryKind(op))
    return emitVector(*kind, to, x);
  if (isa<math::TanhOp, math::ErfOp>(op))
    return computeOddRational(step, to, x,
                              isa<math::TanhOp>(op) ? getTanh() : getErf());
  if (isa<arith::NegFOp>(op))
    return emitVector(VectorKind::Muls, to, x, asNumber(-1));
  if (isa<math::Exp2Op>(op)) {
    emitVector(VectorKind::Muls, to, x, asNumber(std::log(2.0)));
    emitVector(VectorKind::Exp, to, to);
    return;
  }
  assert(isa<math::RsqrtOp>(op) && "no other operation has costs");
  Ref block{homeAddress(Home::Block, step.blocks[0]), Home::Block};
  emitVector(VectorKind::Sqrt, to, x);
  dup(block, 1);
  emitVector(VectorKind::Div, to, {block, to});
}
