//===- VectorCode.cpp - Code for the vector unit --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// Elements of f32 in a block and in a repeat.
static constexpr int64_t blockElements = 8, repeatElements = 64;

static int64_t getBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// A place for one group of f32, used by the vector unit alone.
Value VectorCode::temporary() {
  SmallVector<KernelLowering::Scratch> &scratch = lowering.scratch;
  auto *free =
      llvm::find_if(scratch, [](const auto &entry) { return !entry.isTaken; });
  if (free == scratch.end()) {
    Place place = lowering.places.allocate(Memory::UB, builder.getF32Type(),
                                           lowering.maxGroupRows * fractal *
                                               getBytes(builder.getF32Type()),
                                           1, Pipe::V, Pipe::V);
    scratch.push_back({place});
    free = &scratch.back();
  }
  free->isTaken = true;
  Value address = getAddress(code, free->place, code.number(0));
  taken[address] = free - scratch.begin();
  return address;
}

/// Gives a place back, if it is one.
void VectorCode::release(Value address) {
  auto found = taken.find(address);
  if (found == taken.end())
    return;
  lowering.scratch[found->second].isTaken = false;
  taken.erase(found);
}

Value VectorCode::asNumber(double number) {
  return arith::ConstantOp::create(builder, code.loc,
                                   builder.getF32FloatAttr(number));
}

/// Brings the elements of a tensor that has columns only into UB, as f32.
LogicalResult VectorCode::bringColumns(unsigned input) {
  Value source = kernel.getInputs()[input];
  OpBuilder::InsertionGuard guard(builder);
  Operation *position = lowering.findPosition(kernel, source);
  builder.setInsertionPoint(position);
  FailureOr<TileRef> traced = traceTile(code, source);
  if (failed(traced))
    return lowering.fail("an operand is not a plain part of a tensor");
  const TileRef &tile = *traced;
  Type type = tile.getRootType().getElementType();
  if (tile.isOnChip() || (!type.isF16() && !type.isF32()))
    return lowering.fail("an operand of an elementwise operation is neither "
                         "f16 nor f32, or made by another one");
  int64_t elements = llvm::alignTo(output.maxColumns, repeatElements);
  Value zero = code.number(0), one = code.number(1);
  Value count = code.number(tile.sizes[tile.dims.back()]);
  Place place = lowering.places.allocate(
      Memory::UB, type, elements * getBytes(type), 1, Pipe::MTE2, Pipe::V);
  Value to = getAddress(code, place, zero);
  Value from = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, type), tile.root)
          .getResult(0),
      getLinearOffset(code, tile));
  waitFree(code, place, zero);
  code.copy(CopyKind::GmToUbufPad, to, from, one,
            code.mul(count, getBytes(type)), zero, zero);
  setFull(code, place, zero);
  waitFull(code, place, zero);
  Place wide = lowering.places.allocate(
      Memory::UB, builder.getF32Type(),
      elements * getBytes(builder.getF32Type()), 1, Pipe::V, Pipe::V);
  Value columns = getAddress(code, wide, zero);
  Value repeat = code.number(elements / repeatElements);
  if (type.isF16())
    VectorOp::create(builder, code.loc, VectorKind::Widen, columns, to, Value(),
                     repeat, ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 4});
  else
    VectorOp::create(builder, code.loc, VectorKind::Adds, columns, to,
                     asNumber(0), repeat, ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{8, 8});
  setFree(code, place, zero);
  inputs[input].columns = columns;
  return success();
}

LogicalResult VectorCode::prepareInput(unsigned input) {
  Value value = kernel.getInputs()[input];
  AffineMap map = kernel.getMaps()[input];
  if (!isa<MemRefType>(value.getType()))
    return lowering.fail("an elementwise operation reads a value that is no "
                         "tensor");
  bool hasRows = map.isFunctionOfDim(output.rowLoop),
       hasColumns = map.isFunctionOfDim(output.columnLoop);
  if (!hasRows && hasColumns) {
    if (map.getDimPosition(map.getNumResults() - 1) != output.columnLoop)
      return lowering.fail("columns of an operand are not next to each other");
    return bringColumns(input);
  }
  FailureOr<Matrix> matrix = lowering.getMatrix(value, map, kernel);
  if (failed(matrix) || matrix->rowLoop != output.rowLoop ||
      matrix->columnLoop != output.columnLoop)
    return lowering.fail("an elementwise operation reads a tile of another "
                         "shape, or transposed");
  inputs[input].matrix = *matrix;
  Type type = matrix->tile.getRootType().getElementType();
  auto buffer = lowering.buffers.find(matrix->tile.root);
  if (buffer != lowering.buffers.end()) {
    if (buffer->second.place.memory != Memory::L0C)
      return lowering.fail("an elementwise operation reads what another one "
                           "made");
    inputs[input].isSum = true;
    return success();
  }
  if (!type.isF16() && !type.isF32())
    return lowering.fail("an elementwise operation reads numbers that are "
                         "neither f16 nor f32");
  inputs[input].place = lowering.places.allocate(
      Memory::UB, type, output.maxRows * fractal * getBytes(type), 2,
      Pipe::MTE2, Pipe::V);
  return success();
}

LogicalResult VectorCode::prepare() {
  if (kernel.getOutputs().size() != 1)
    return lowering.fail("an elementwise operation has several results");
  FailureOr<Matrix> matrix =
      lowering.getMatrix(kernel.getOutput(), kernel.getMaps().back(), kernel);
  if (failed(matrix))
    return lowering.fail("the result of an elementwise operation is no matrix");
  output = *matrix;
  Type type = output.tile.getRootType().getElementType();
  if (!type.isF16())
    return lowering.fail("the result of an elementwise operation is not f16");
  if (output.maxRows / groupRowsPerRepeat > maxRepeat)
    return lowering.fail("a tile has more rows than one instruction takes");
  rows = code.padded(code.number(output.rows()));
  outputPlace = lowering.places.allocate(
      Memory::UB, type, output.maxRows * fractal * getBytes(type), 2, Pipe::V,
      Pipe::MTE3);
  inputs.resize(kernel.getInputs().size());
  for (unsigned input = 0; input < inputs.size(); ++input)
    if (failed(prepareInput(input)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions on a group
//===----------------------------------------------------------------------===//

void VectorCode::emitUnary(VectorKind kind, Value to, Value from) {
  VectorOp::create(builder, code.loc, kind, to, from, Value(), repeats(),
                   ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
}

void VectorCode::emitScalar(VectorKind kind, Value to, Value from,
                            double number) {
  VectorOp::create(builder, code.loc, kind, to, from, asNumber(number),
                   repeats(), ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{8, 8});
}

/// The number everywhere in a group.
void VectorCode::dup(Value to, double number) {
  VectorOp::create(builder, code.loc, VectorKind::Dup, to, ValueRange(),
                   asNumber(number), repeats(), ArrayRef<int64_t>{1},
                   ArrayRef<int64_t>{8});
}

static std::optional<double> getNumber(Value value) {
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValueAsDouble();
  return std::nullopt;
}

LogicalResult VectorCode::emitBinary(VectorKind kind, Value to, Operand a,
                                     Operand b) {
  bool commutes = kind != VectorKind::Sub && kind != VectorKind::Div;
  if (commutes && a.shape != Shape::Group)
    std::swap(a, b);
  // With a number there is an instruction of its own where the order does not
  // matter; otherwise the number is written out.
  for (Operand *operand : {&a, &b}) {
    if (operand->shape != Shape::Number)
      continue;
    double number = *getNumber(operand->value);
    if (commutes && operand == &b) {
      VectorKind withScalar = kind == VectorKind::Add   ? VectorKind::Adds
                              : kind == VectorKind::Mul ? VectorKind::Muls
                              : kind == VectorKind::Max ? VectorKind::Maxs
                                                        : VectorKind::Mins;
      emitScalar(withScalar, to, a.value, number);
      return success();
    }
    operand->value = temporary();
    operand->shape = Shape::Group;
    dup(operand->value, number);
  }
  if (a.shape == Shape::Group && b.shape == Shape::Group) {
    VectorOp::create(builder, code.loc, kind, to, ValueRange{a.value, b.value},
                     Value(), repeats(), ArrayRef<int64_t>{1, 1, 1},
                     ArrayRef<int64_t>{8, 8, 8});
    return success();
  }
  // Of a group's two columns of blocks one at a time: the same block of the
  // bias for all rows.
  auto distance = [](const Operand &operand) {
    return operand.shape == Shape::Group ? int64_t(2) : int64_t(0);
  };
  for (int64_t half = 0; half < 2; ++half) {
    Value first = code.number(half * blockElements);
    VectorOp::create(
        builder, code.loc, kind, code.offset(to, first),
        ValueRange{code.offset(a.value, first), code.offset(b.value, first)},
        Value(), code.div(rows, blockElements),
        ArrayRef<int64_t>{2, distance(a), distance(b)},
        ArrayRef<int64_t>{16, 8 * distance(a), 8 * distance(b)});
  }
  return success();
}

/// tanh(x) = 1 - 2 / (exp(2x) + 1), which goes to its limits as exp does.
LogicalResult VectorCode::emitTanh(Value to, Operand x) {
  Value two = temporary();
  emitScalar(VectorKind::Muls, to, x.value, 2);
  emitUnary(VectorKind::Exp, to, to);
  emitScalar(VectorKind::Adds, to, to, 1);
  dup(two, 2);
  VectorOp::create(builder, code.loc, VectorKind::Div, to, ValueRange{two, to},
                   Value(), repeats(), ArrayRef<int64_t>{1, 1, 1},
                   ArrayRef<int64_t>{8, 8, 8});
  emitScalar(VectorKind::Muls, to, to, -1);
  emitScalar(VectorKind::Adds, to, to, 1);
  return success();
}

/// Abramowitz and Stegun 7.1.26, off by at most 1.5e-7: with t = 1 / (1 +
/// p|x|), erf(|x|) = 1 - t (a1 + t (a2 + ...)) exp(-x^2).
LogicalResult VectorCode::emitErf(Value to, Operand x) {
  constexpr double p = 0.3275911;
  constexpr double factors[] = {1.061405429, -1.453152027, 1.421413741,
                                -0.284496736, 0.254829592};
  Value t = temporary(), sum = temporary(), tail = temporary();
  auto binary = [&](VectorKind kind, Value result, Value a, Value b) {
    VectorOp::create(builder, code.loc, kind, result, ValueRange{a, b}, Value(),
                     repeats(), ArrayRef<int64_t>{1, 1, 1},
                     ArrayRef<int64_t>{8, 8, 8});
  };
  emitUnary(VectorKind::Abs, t, x.value);
  emitScalar(VectorKind::Muls, t, t, p);
  emitScalar(VectorKind::Adds, t, t, 1);
  dup(sum, 1);
  binary(VectorKind::Div, t, sum, t);
  dup(sum, factors[0]);
  for (double factor : ArrayRef(factors).drop_front()) {
    binary(VectorKind::Mul, sum, sum, t);
    emitScalar(VectorKind::Adds, sum, sum, factor);
  }
  binary(VectorKind::Mul, sum, sum, t);
  binary(VectorKind::Mul, tail, x.value, x.value);
  emitScalar(VectorKind::Muls, tail, tail, -1);
  emitUnary(VectorKind::Exp, tail, tail);
  binary(VectorKind::Mul, sum, sum, tail);
  emitScalar(VectorKind::Muls, sum, sum, -1);
  emitScalar(VectorKind::Adds, sum, sum, 1);
  // The sign of x, as a number.
  constexpr double huge = 1e30;
  emitScalar(VectorKind::Muls, t, x.value, huge);
  emitScalar(VectorKind::Mins, t, t, 1);
  emitScalar(VectorKind::Maxs, t, t, -1);
  binary(VectorKind::Mul, to, sum, t);
  return success();
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

static std::optional<VectorKind> getBinaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<arith::AddFOp>([](auto) { return VectorKind::Add; })
      .Case<arith::SubFOp>([](auto) { return VectorKind::Sub; })
      .Case<arith::MulFOp>([](auto) { return VectorKind::Mul; })
      .Case<arith::DivFOp>([](auto) { return VectorKind::Div; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [](auto) { return VectorKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [](auto) { return VectorKind::Min; })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<VectorKind> getUnaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<math::ExpOp>([](auto) { return VectorKind::Exp; })
      .Case<math::LogOp>([](auto) { return VectorKind::Ln; })
      .Case<math::SqrtOp>([](auto) { return VectorKind::Sqrt; })
      .Case<math::AbsFOp>([](auto) { return VectorKind::Abs; })
      .Default([](Operation *) { return std::nullopt; });
}

FailureOr<VectorCode::Operand> VectorCode::emitOperation(Operation &op) {
  auto operandOf = [&](unsigned index) {
    Value value = op.getOperand(index);
    auto found = operands.find(value);
    return found == operands.end()
               ? Operand{Shape::Number, value, value.getType()}
               : found->second;
  };
  // Everything is f32 in UB; what narrows the result is its last step.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    if (isa<arith::TruncFOp>(op) &&
        !llvm::all_of(op.getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); })) {
      lowering.reason = "an elementwise operation rounds on the way";
      return failure();
    }
    return operandOf(0);
  }
  Operand result{Shape::Group, temporary(), builder.getF32Type()};
  auto asGroup = [&](Operand operand) {
    if (operand.shape == Shape::Group)
      return operand;
    Value zero = temporary();
    dup(zero, 0);
    Operand group{Shape::Group, temporary(), operand.type};
    (void)emitBinary(VectorKind::Add, group.value,
                     {Shape::Group, zero, operand.type}, operand);
    return group;
  };
  if (std::optional<VectorKind> kind = getBinaryKind(op)) {
    Operand a = operandOf(0), b = operandOf(1);
    if (a.shape == Shape::Columns && b.shape != Shape::Group)
      a = asGroup(a);
    else if (b.shape == Shape::Columns && a.shape != Shape::Group)
      b = asGroup(b);
    if (failed(emitBinary(*kind, result.value, a, b)))
      return failure();
    return result;
  }
  Operand x = asGroup(operandOf(0));
  if (std::optional<VectorKind> kind = getUnaryKind(op)) {
    emitUnary(*kind, result.value, x.value);
    return result;
  }
  if (isa<arith::NegFOp>(op)) {
    emitScalar(VectorKind::Muls, result.value, x.value, -1);
    return result;
  }
  if (isa<math::TanhOp>(op) && succeeded(emitTanh(result.value, x)))
    return result;
  if (isa<math::ErfOp>(op) && succeeded(emitErf(result.value, x)))
    return result;
  lowering.reason =
      ("the vector unit has no code for '" + op.getName().getStringRef() + "'")
          .str();
  return failure();
}

/// Column group `column` of an input, as f32 in UB.
VectorCode::Operand VectorCode::readGroup(unsigned input, Value column,
                                          Value slot) {
  const Input &source = inputs[input];
  Type f32 = builder.getF32Type();
  if (source.columns)
    return {Shape::Columns, code.offset(source.columns, column), f32};
  const Matrix &matrix = *source.matrix;
  Value zero = code.number(0), one = code.number(1);
  if (source.isSum) {
    Value to = temporary();
    code.copy(CopyKind::MatrixCcToUbuf, to, lowering.getSums(matrix, column),
              one, code.div(rows, fractal), zero, zero);
    return {Shape::Group, to, f32};
  }
  Type type = matrix.tile.getRootType().getElementType();
  Matrix group = matrix;
  OpFoldResult &offset = group.tile.offsets[matrix.columnDim],
               &size = group.tile.sizes[matrix.columnDim];
  Value whole = code.number(matrix.columns());
  offset = code.add(code.number(offset), column);
  size = code.part(whole, column, fractal);
  Value from = getAddress(code, *source.place, slot);
  waitFree(code, *source.place, slot);
  lowering.copyFromMemory(group, CopyKind::GmToUbufPad, from, output.maxRows);
  setFull(code, *source.place, slot);
  waitFull(code, *source.place, slot);
  Value to = temporary();
  if (type.isF16())
    VectorOp::create(builder, code.loc, VectorKind::Widen, to, from, Value(),
                     repeats(), ArrayRef<int64_t>{1, 1},
                     ArrayRef<int64_t>{8, 4});
  else
    emitScalar(VectorKind::Adds, to, from, 0);
  setFree(code, *source.place, slot);
  return {Shape::Group, to, f32};
}

/// Hands column group `column` of the result on.
void VectorCode::write(Value column, Value slot) {
  Value from = getAddress(code, *outputPlace, slot);
  Value zero = code.number(0), one = code.number(1);
  const TileRef &tile = output.tile;
  auto buffer = lowering.buffers.find(tile.root);
  setFull(code, *outputPlace, slot);
  waitFull(code, *outputPlace, slot);
  if (buffer != lowering.buffers.end()) {
    int64_t pitch = padToFractal(tile.getRootType().getDimSize(output.rowDim));
    Value start = code.add(code.number(tile.offsets[output.columnDim]), column);
    Value row = code.number(tile.offsets[output.rowDim]);
    Value to =
        code.offset(getAddress(code, buffer->second.place, zero),
                    code.add(code.mul(start, pitch), code.mul(row, fractal)));
    code.copy(CopyKind::UbufToCbuf, to, from, one, rows, zero, zero);
  } else {
    Type type = tile.getRootType().getElementType();
    int64_t bytes = getBytes(type);
    Value to = code.offset(
        UnrealizedConversionCastOp::create(
            builder, code.loc,
            PtrType::get(builder.getContext(), Memory::GM, type), tile.root)
            .getResult(0),
        code.add(getLinearOffset(code, tile), column));
    Value width = code.part(code.number(output.columns()), column, fractal);
    code.copy(CopyKind::UbufToGmPad, to, from, code.number(output.rows()),
              code.mul(width, bytes),
              code.number(getStride(tile, output.rowDim) * bytes),
              code.number(fractal * bytes / blockBytes));
  }
  setFree(code, *outputPlace, slot);
}

/// Gives back the places of what `op` has read and nobody reads later.
void VectorCode::releaseUnused(Operation &op) {
  for (Value operand : op.getOperands()) {
    auto found = operands.find(operand);
    if (found == operands.end())
      continue;
    bool isRead = llvm::any_of(operand.getUsers(), [&](Operation *user) {
      return op.isBeforeInBlock(user);
    });
    // Conversions hand on the place of what they convert.
    bool isShared = llvm::any_of(operands, [&](const auto &other) {
      return other.first != operand &&
             other.second.value == found->second.value;
    });
    if (!isRead && !isShared)
      release(found->second.value);
  }
}

LogicalResult VectorCode::emitBody(Value column) {
  Value slot = code.rem(code.div(column, fractal), 2);
  Block &body = kernel.getBody().front();
  for (unsigned input = 0; input < inputs.size(); ++input)
    operands[body.getArgument(input)] = readGroup(input, column, slot);
  for (Operation &op : body.without_terminator()) {
    if (matchPattern(&op, m_Constant()))
      continue;
    FailureOr<Operand> result = emitOperation(op);
    if (failed(result))
      return failure();
    operands[op.getResult(0)] = *result;
    releaseUnused(op);
  }
  auto found = operands.find(body.getTerminator()->getOperand(0));
  if (found == operands.end() || found->second.shape != Shape::Group)
    return lowering.fail("the result of an elementwise operation does not "
                         "depend on a matrix");
  waitFree(code, *outputPlace, slot);
  VectorOp::create(builder, code.loc, VectorKind::Narrow,
                   getAddress(code, *outputPlace, slot), found->second.value,
                   Value(), repeats(), ArrayRef<int64_t>{1, 1},
                   ArrayRef<int64_t>{4, 8});
  write(column, slot);
  for (const auto &[address, index] : taken)
    lowering.scratch[index].isTaken = false;
  taken.clear();
  return success();
}

LogicalResult VectorCode::emit() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  if (failed(prepare()))
    return failure();
  LogicalResult result = success();
  code.loop(code.number(0), code.number(output.columns()), fractal,
            [&](Value column) { result = emitBody(column); });
  return result;
}
