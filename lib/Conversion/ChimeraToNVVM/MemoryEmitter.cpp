//===- MemoryEmitter.cpp - Code of a group that waits for memory ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryEmitter.h"

#include "Chimera/IR/ElementBytes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value MemoryEmitter::bothOrNull(Value left, Value right) {
  if (!left || !right)
    return left ? left : right;
  return kernel.both(left, right);
}

/// The indices of axes `first` to `end`, of which `linear` counts the places.
void MemoryEmitter::split(Value linear, unsigned first, unsigned end,
                          MutableArrayRef<Value> indices) {
  for (unsigned axis = end; axis-- > first;) {
    int64_t extent = program.getExtents()[axis];
    indices[axis] = axis == first ? linear : kernel.rem(linear, extent);
    linear = kernel.div(linear, extent);
  }
}

/// What is the same for all steps of a thread.
void MemoryEmitter::createRow() {
  block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  row.isOfRow = true;
  row.indices.assign(program.getExtents().size(), kernel.constant(0));
  if (group.isAcrossRows) {
    inRows = kernel.rem(kernel.thread, tiling.rows);
    inTeam = kernel.div(kernel.thread, tiling.rows);
    row.width = tiling.vector;
  } else if (group.reduces) {
    inTeam = kernel.rem(kernel.thread, tiling.team);
    inRows = kernel.div(kernel.thread, tiling.team);
  } else {
    inTeam = kernel.rem(kernel.thread, tiling.team);
    inRows = kernel.div(kernel.thread, tiling.team);
    return;
  }
  int64_t chunks = group.rows / row.width;
  Value chunk = kernel.add(kernel.mul(block, tiling.rows), inRows);
  if (chunks % tiling.rows != 0)
    row.exists = kernel.isLess(chunk, kernel.constant(chunks));
  split(kernel.mul(chunk, row.width), 0, program.getNumRowAxes(), row.indices);
}

/// Vector `step` of the thread; `number` says which, if that is known.
MemoryEmitter::Place MemoryEmitter::createPlace(Value step,
                                                std::optional<int64_t> number) {
  if (group.isTurned)
    return createTurnedPlace(step);
  Place place;
  place.step = step;
  place.indices = row.indices;
  place.exists = row.exists;
  place.width = tiling.vector;
  unsigned first = program.getNumRowAxes(), end = program.getExtents().size();
  int64_t along = group.isAcrossRows ? 1 : tiling.vector;
  int64_t chunks = group.columns / along, team = tiling.team;
  Value chunk = kernel.add(kernel.mul(step, team), inTeam);
  if (!group.reduces) {
    team = tiling.threads();
    chunk = kernel.add(kernel.add(kernel.mul(block, team * tiling.steps),
                                  kernel.mul(step, team)),
                       kernel.thread);
    if (chunks % (team * tiling.steps) != 0)
      place.exists = kernel.isLess(chunk, kernel.constant(chunks));
  } else if (number && (*number + 1) * team > chunks) {
    place.exists =
        bothOrNull(place.exists, kernel.isLess(chunk, kernel.constant(chunks)));
  }
  split(kernel.mul(chunk, along), first, end, place.indices);
  return place;
}

/// A place in a square tile: the lanes of a warp are along the vector's axis.
MemoryEmitter::Place MemoryEmitter::createTurnedPlace(Value step) {
  Place place = row;
  place.isOfRow = false;
  place.step = step;
  unsigned across = *program.getVectorAxis(), down = *program.getTurnedAxis();
  auto add = [&](unsigned axis, Value offset) {
    place.indices[axis] = kernel.add(place.indices[axis], offset);
    int64_t extent = program.getExtents()[axis];
    if (extent % model::turnedTile != 0)
      place.exists =
          bothOrNull(place.exists, kernel.isLess(place.indices[axis],
                                                 kernel.constant(extent)));
  };
  add(across, inTeam);
  add(down, kernel.add(kernel.mul(step, tiling.rows), inRows));
  return place;
}

/// What is left of all elements behind the last vector, one for each of the
/// first threads.
MemoryEmitter::Place MemoryEmitter::createEnd() {
  int64_t rest = group.columns % tiling.vector;
  Value global = kernel.add(kernel.mul(block, tiling.threads()), kernel.thread);
  Place place;
  place.step = kernel.constant(0);
  place.exists = kernel.isLess(global, kernel.constant(rest));
  place.indices = {kernel.add(global, group.columns - rest)};
  return place;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// All elements of the tensor that `access` is a part of, in their order.
Value MemoryEmitter::getFlat(const MemoryAccess &access) {
  Value memref = arguments.lookup(access.base);
  auto type = cast<MemRefType>(memref.getType());
  int64_t count = type.getNumElements();
  return memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({count}, type.getElementType()), memref, 0,
      ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
}

Value MemoryEmitter::getOffset(const MemoryAccess &access, const Place &place) {
  Value offset = kernel.constant(access.offset);
  for (auto [stride, index] : llvm::zip_equal(access.strides, place.indices))
    if (stride != 0)
      offset = kernel.add(offset, kernel.mul(index, stride));
  return offset;
}

/// `make`, where `exists`; otherwise zeros.
static Value makeIf(KernelBuilder &kernel, Value exists, Type type,
                    llvm::function_ref<Value()> make) {
  if (!exists)
    return make();
  OpBuilder &builder = kernel.builder;
  Value zero =
      arith::ConstantOp::create(builder, kernel.loc, builder.getZeroAttr(type));
  auto ifOp = scf::IfOp::create(builder, kernel.loc, type, exists,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, kernel.loc, make());
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, kernel.loc, zero);
  return ifOp.getResult(0);
}

/// Bytes that a vector in memory starts at a multiple of.
static llvm::MaybeAlign alignmentOf(Type element, int64_t width) {
  return llvm::Align(std::min<int64_t>(16, bytesOf(element) * width));
}

Value MemoryEmitter::loadPlain(const MemoryAccess &access, const Place &place) {
  Type element = access.elementType;
  Value flat = getFlat(access), offset = getOffset(access, place);
  int64_t width = place.width;
  bool isOne = width == 1 || !program.isAlongVector(access);
  auto type = vectorOf(element, isOne ? 1 : width);
  Value loaded = makeIf(kernel, place.exists, type, [&]() -> Value {
    if (isOne || program.isContiguous(access))
      return vector::LoadOp::create(builder, loc, type, flat, offset,
                                    /*nontemporal=*/false,
                                    alignmentOf(element, type.getDimSize(0)));
    SmallVector<Value> elements;
    int64_t stride = access.strides[*program.getVectorAxis()];
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(memref::LoadOp::create(
          builder, loc, flat, kernel.add(offset, i * stride)));
    return vector::FromElementsOp::create(builder, loc, type, elements);
  });
  return fit(widenVector(loaded), width);
}

bool MemoryEmitter::isKept(unsigned load) const {
  const model::ThreadAccess &figures = group.loads[load];
  return tiling.home == model::RowHome::Shared && figures.isOfColumns &&
         figures.isAlongVector && figures.passes > 1;
}

/// Where a thread's vector is in what is kept in shared memory.
Value MemoryEmitter::getKeptPlace(const Place &place) {
  return kernel.mul(
      kernel.add(kernel.mul(place.step, tiling.threads()), kernel.thread),
      tiling.vector);
}

Value MemoryEmitter::load(unsigned index, Place &place) {
  if (Value known = place.loaded.lookup(index))
    return known;
  const MemoryAccess &access = program.getLoads()[index];
  // Indices of a row's number would be those of a column.
  if (!place.isOfRow && group.reduces && !program.isOfColumns(access))
    return fit(load(index, row), place.width);
  Value value;
  auto type = vectorOf(widen(access.elementType), place.width);
  if (Value tile = tiles.lookup(index)) {
    Value down = kernel.add(kernel.mul(place.step, tiling.rows), inRows);
    value = vector::LoadOp::create(
        builder, loc, type, tile,
        kernel.add(kernel.mul(down, model::turnedTile + 1), inTeam));
  } else if (isKept(index)) {
    if (filled.contains(index)) {
      value = vector::LoadOp::create(
          builder, loc, type, kept.lookup(index), getKeptPlace(place),
          /*nontemporal=*/false,
          alignmentOf(type.getElementType(), place.width));
    } else {
      value = loadPlain(access, place);
      vector::StoreOp::create(builder, loc, value, kept.lookup(index),
                              getKeptPlace(place), /*nontemporal=*/false,
                              alignmentOf(type.getElementType(), place.width));
    }
  } else {
    value = loadPlain(access, place);
  }
  place.loaded[index] = value;
  return value;
}

void MemoryEmitter::store(const MemoryAccess &access, Value value,
                          const Place &place) {
  Type element = access.elementType;
  value = narrowVector(fit(value, place.width), element);
  auto write = [&] {
    Value flat = getFlat(access), offset = getOffset(access, place);
    if (place.width == 1 || program.isContiguous(access)) {
      vector::StoreOp::create(builder, loc, value, flat, offset,
                              /*nontemporal=*/false,
                              alignmentOf(element, place.width));
      return;
    }
    int64_t stride = access.strides[*program.getVectorAxis()];
    for (int64_t i = 0; i < place.width; ++i)
      memref::StoreOp::create(builder, loc,
                              vector::ExtractOp::create(builder, loc, value, i),
                              flat, kernel.add(offset, i * stride));
  };
  if (place.exists)
    kernel.createIf(place.exists, write);
  else
    write();
}

/// Memory of the block.
Value MemoryEmitter::createShared(int64_t elements, Type type) {
  if (!sharedMemory) {
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                                 MemRefLayoutAttrInterface(), space);
    sharedMemory = gpu::DynamicSharedMemoryOp::create(builder, loc, bytes);
  }
  Attribute space = cast<MemRefType>(sharedMemory.getType()).getMemorySpace();
  Value made = memref::ViewOp::create(
      builder, loc,
      MemRefType::get({elements}, type, MemRefLayoutAttrInterface(), space),
      sharedMemory, kernel.constant(sharedBytes), ValueRange());
  sharedBytes += llvm::alignTo(elements * bytesOf(type), 16);
  return made;
}

/// Reads what is turned with the lanes of a warp along its own rows, into tiles
/// with a column more than there are lanes: so neither way has bank conflicts.
void MemoryEmitter::fillTiles() {
  unsigned across = *program.getVectorAxis(), down = *program.getTurnedAxis();
  constexpr int64_t tile = model::turnedTile;
  ArrayRef<int64_t> extents = program.getExtents();
  // Which tile the block has.
  Value rest = block;
  for (unsigned axis = extents.size(); axis-- > 0;) {
    bool isTiled = axis == across || axis == down;
    int64_t count =
        isTiled ? llvm::divideCeil(extents[axis], tile) : extents[axis];
    Value own = kernel.rem(rest, count);
    row.indices[axis] = isTiled ? kernel.mul(own, tile) : own;
    rest = kernel.div(rest, count);
  }
  for (auto [index, access] : llvm::enumerate(program.getLoads())) {
    if (!program.isTurned(access) || program.isContiguous(access))
      continue;
    Type element = widen(access.elementType);
    tiles[index] = createShared(tile * (tile + 1), element);
    Values values, places;
    for (int64_t step = 0; step < tiling.steps; ++step) {
      Place place = row;
      Value inAcross = kernel.add(inRows, step * tiling.rows);
      place.indices[down] = kernel.add(place.indices[down], inTeam);
      place.indices[across] = kernel.add(place.indices[across], inAcross);
      for (unsigned axis : {across, down})
        if (extents[axis] % tile != 0)
          place.exists = bothOrNull(
              place.exists, kernel.isLess(place.indices[axis],
                                          kernel.constant(extents[axis])));
      values.push_back(loadPlain(access, place));
      places.push_back(kernel.add(kernel.mul(inTeam, tile + 1), inAcross));
    }
    for (auto [value, place] : llvm::zip_equal(values, places))
      vector::StoreOp::create(builder, loc, value, tiles[index], place);
  }
  gpu::BarrierOp::create(builder, loc);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What a number is computed as.
Type MemoryEmitter::widen(Type type) {
  return type.isF16() || type.isBF16() ? builder.getF32Type() : type;
}

VectorType MemoryEmitter::vectorOf(Type element, int64_t width) {
  return VectorType::get({width}, element);
}

Value MemoryEmitter::widenVector(Value value) {
  auto type = cast<VectorType>(value.getType());
  Type wide = widen(type.getElementType());
  if (wide == type.getElementType())
    return value;
  return arith::ExtFOp::create(builder, loc, vectorOf(wide, type.getDimSize(0)),
                               value);
}

Value MemoryEmitter::narrowVector(Value value, Type element) {
  auto type = cast<VectorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return arith::TruncFOp::create(builder, loc,
                                 vectorOf(element, type.getDimSize(0)), value);
}

Value MemoryEmitter::splat(Value scalar, int64_t width) {
  Value wide = vector::BroadcastOp::create(
      builder, loc, vectorOf(scalar.getType(), width), scalar);
  return widenVector(wide);
}

/// `value` with so many elements, which are all the same if it has one.
Value MemoryEmitter::fit(Value value, int64_t width) {
  auto type = cast<VectorType>(value.getType());
  if (type.getDimSize(0) == width)
    return value;
  return vector::BroadcastOp::create(
      builder, loc, vectorOf(type.getElementType(), width),
      vector::ExtractOp::create(builder, loc, value, 0));
}

Value MemoryEmitter::valueOf(const MemoryOperand &operand, Place &place) {
  switch (operand.kind) {
  case MemoryOperand::Kind::Unused:
    return {};
  case MemoryOperand::Kind::Scalar:
    return splat(arguments.lookup(operand.scalar), place.width);
  case MemoryOperand::Kind::Loaded:
    return load(operand.load, place);
  case MemoryOperand::Kind::Made:
    return getMade(operand.made, place);
  }
  llvm_unreachable("unknown operand");
}

/// What a member makes at `place`, or of its row.
Value MemoryEmitter::getMade(OpResult result, Place &place) {
  const MemoryMember &member = *program.getMember(result.getOwner());
  bool isOfRow = member.isOfRow || member.reduces;
  if (isOfRow && !place.isOfRow)
    return fit(getMade(result, row), place.width);
  if (Value known = place.made.lookup(result))
    return known;
  Values made = runBody(member, place);
  for (auto [other, value] : llvm::zip(member.op->getResults(), made))
    place.made[other] = value;
  return place.made.lookup(result);
}

Value MemoryEmitter::getIndexVector(unsigned axis, const Place &place) {
  Value index = splat(place.indices[axis], place.width);
  if (program.getVectorAxis() != axis || place.width == 1)
    return index;
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < place.width; ++i)
    numbers.push_back(builder.getIndexAttr(i));
  auto type = cast<VectorType>(index.getType());
  Value within = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, numbers));
  return arith::AddIOp::create(builder, loc, index, within);
}

/// The operation that combines result number `index` of a reduction.
static Operation *getCombiner(const MemoryMember &member, unsigned index) {
  linalg::LinalgOp op = member.op;
  return op.getBlock()->getTerminator()->getOperand(index).getDefiningOp();
}

/// What the body makes; of a reduction, what is to be combined.
MemoryEmitter::Values MemoryEmitter::runBody(const MemoryMember &member,
                                             Place &place) {
  linalg::LinalgOp op = member.op;
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(member.operands, op.getBlock()->getArguments()))
    if (operand.kind != MemoryOperand::Kind::Unused &&
        !(member.reduces &&
          llvm::is_contained(op.getRegionOutputArgs(), argument)))
      mapping.map(argument, valueOf(operand, place));
  SmallPtrSet<Operation *, 2> combiners;
  if (member.reduces)
    for (unsigned index = 0; index < op->getNumResults(); ++index)
      combiners.insert(getCombiner(member, index));
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested))
      mapping.map(index.getResult(),
                  getIndexVector(member.axes[index.getDim()], place));
    else if (!combiners.contains(&nested) &&
             !mapOperation(nested, mapping, place.width))
      return {};
  }
  Values values;
  for (auto [index, yielded] :
       llvm::enumerate(op.getBlock()->getTerminator()->getOperands())) {
    Value value = yielded;
    if (member.reduces) {
      Operation *combiner = getCombiner(member, index);
      BlockArgument before = op.getRegionOutputArgs()[index];
      value = combiner->getOperand(combiner->getOperand(0) == before);
    }
    if (!mapping.contains(value)) {
      if (!arguments.contains(value)) {
        (void)refused.set(op, "a value is neither computed nor loaded");
        return {};
      }
      mapping.map(value, splat(arguments.lookup(value), place.width));
    }
    values.push_back(mapping.lookup(value));
  }
  return values;
}

/// Copies one operation of a body. False if it has no form here.
bool MemoryEmitter::mapOperation(Operation &op, IRMapping &mapping,
                                 int64_t width) {
  auto fail = [&] {
    (void)refused.set(&op, "'" + op.getName().getStringRef() +
                               "' has no form for vectors of a GPU");
    return false;
  };
  if (op.hasTrait<OpTrait::ConstantLike>()) {
    mapping.map(op.getResult(0), splat(builder.clone(op)->getResult(0), width));
    return true;
  }
  Values operands;
  for (Value operand : op.getOperands()) {
    if (!mapping.contains(operand)) {
      if (!arguments.contains(operand))
        return fail();
      mapping.map(operand, splat(arguments.lookup(operand), width));
    }
    operands.push_back(mapping.lookup(operand));
  }
  if (!OpTrait::hasElementwiseMappableTraits(&op) || op.getNumResults() != 1 ||
      isa<arith::BitcastOp>(op))
    return fail();
  Type type = op.getResult(0).getType(), wide = widen(type);
  Value value;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    // To a narrow type it is rounded; between it and f32 nothing is lost.
    auto from = cast<VectorType>(operands[0].getType()).getElementType();
    value = operands[0];
    if (isa<arith::TruncFOp>(op))
      value = widenVector(narrowVector(value, type));
    else if (from != wide)
      return fail();
  } else if (wide.isF32()) {
    value = functions.map(op, operands);
  }
  if (!value) {
    if (op.getDialect()->getNamespace() == "math" && !isa<math::FmaOp>(op))
      return fail();
    Operation *copy = builder.clone(op, mapping);
    copy->getResult(0).setType(vectorOf(wide, width));
    value = copy->getResult(0);
  }
  mapping.map(op.getResult(0), value);
  return true;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What changes nothing, for elements that do not exist.
Value MemoryEmitter::getNeutral(const Accumulator &accumulator, int64_t width) {
  TypedAttr attribute = *arith::getNeutralElement(accumulator.combiner);
  return splat(arith::ConstantOp::create(builder, loc, attribute), width);
}

Value MemoryEmitter::combine(Operation *combiner, Value left, Value right) {
  if (getElementTypeOrSelf(left).isF32())
    if (Value value = functions.map(*combiner, {left, right}))
      return value;
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), left);
  mapping.map(combiner->getOperand(1), right);
  Operation *copy = builder.clone(*combiner, mapping);
  copy->getResult(0).setType(left.getType());
  return copy->getResult(0);
}

/// What the lane at `distance` has of `vector`.
Value MemoryEmitter::shuffle(Value vector, int64_t distance) {
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  Values elements;
  for (int64_t i = 0; i < type.getDimSize(0); ++i) {
    Value word = vector::ExtractOp::create(builder, loc, vector, i);
    if (bits < 32)
      word = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), word);
    word = kernel.exchange(word, distance);
    if (bits < 32)
      word = arith::TruncIOp::create(builder, loc, element, word);
    elements.push_back(word);
  }
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

/// Through shared memory: each warp, or each thread if a warp has rows of its
/// own, leaves what it has, and all read what belongs to their row.
Value MemoryEmitter::combineWarps(const Accumulator &accumulator, Value value) {
  auto type = cast<VectorType>(value.getType());
  Type element = type.getElementType();
  int64_t warps = tiling.threads() / warpSize, width = type.getDimSize(0);
  int64_t parts = tiling.team / warpSize, columns = 1;
  Value warp = kernel.div(kernel.thread, warpSize), own = warp,
        first = kernel.mul(inRows, parts), writes;
  if (group.isAcrossRows) {
    bool isThread = tiling.rows >= warpSize;
    parts = isThread ? tiling.team : warps;
    columns = tiling.rows;
    own = kernel.add(kernel.mul(isThread ? inTeam : warp, columns), inRows);
    first = inRows;
    if (!isThread)
      writes = kernel.isLess(kernel.lane, kernel.constant(columns));
  } else {
    writes = kernel.isLess(kernel.lane, kernel.constant(1));
  }
  int64_t count = group.isAcrossRows ? parts * columns : warps;
  Value memory = createShared(width * count, element);
  auto write = [&] {
    for (int64_t i = 0; i < width; ++i)
      memref::StoreOp::create(builder, loc,
                              vector::ExtractOp::create(builder, loc, value, i),
                              memory, kernel.add(own, i * count));
  };
  if (writes)
    kernel.createIf(writes, write);
  else
    write();
  gpu::BarrierOp::create(builder, loc);
  Value sum;
  for (int64_t part = 0; part < parts; ++part) {
    Values elements;
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(memref::LoadOp::create(
          builder, loc, memory, kernel.add(first, i * count + part * columns)));
    Value other = vector::FromElementsOp::create(builder, loc, type, elements);
    sum = sum ? combine(accumulator.combiner, sum, other) : other;
  }
  return sum;
}

/// The combination of what all threads of the team have.
Value MemoryEmitter::reduceTeam(const Accumulator &accumulator) {
  Value value = accumulator.sum;
  auto type = cast<VectorType>(value.getType());
  if (!group.isAcrossRows && type.getDimSize(0) > 1) {
    Value whole = value;
    auto at = [&](int64_t place) -> Value {
      return vector::FromElementsOp::create(
          builder, loc, vectorOf(type.getElementType(), 1),
          Value(vector::ExtractOp::create(builder, loc, whole, place)));
    };
    value = at(0);
    for (int64_t i = 1; i < type.getDimSize(0); ++i)
      value = combine(accumulator.combiner, value, at(i));
  }
  int64_t least = group.isAcrossRows ? tiling.rows : 1;
  int64_t end = std::min<int64_t>(
      warpSize, group.isAcrossRows ? tiling.threads() : tiling.team);
  for (int64_t distance = least; distance < end; distance *= 2)
    value = combine(accumulator.combiner, value, shuffle(value, distance));
  bool isInWarp = group.isAcrossRows ? tiling.threads() <= warpSize
                                     : tiling.team <= warpSize;
  return isInWarp || tiling.team == 1 ? value
                                      : combineWarps(accumulator, value);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Evaluates what belongs to rows, before loops need it, and starts the
/// accumulators.
void MemoryEmitter::startPass(unsigned pass) {
  accumulators.clear();
  for (const MemoryMember &member : program.getMembers()) {
    if (member.pass > pass)
      continue;
    for (const MemoryOperand &operand : member.operands) {
      if (operand.kind == MemoryOperand::Kind::Loaded && group.reduces &&
          !program.isOfColumns(program.getLoads()[operand.load]))
        load(operand.load, row);
      if (operand.kind != MemoryOperand::Kind::Made)
        continue;
      const MemoryMember &maker = *program.getMember(operand.made.getOwner());
      if (maker.isOfRow && !maker.reduces)
        getMade(operand.made, row);
    }
    if (!member.reduces || member.pass != pass)
      continue;
    for (OpResult result : member.op->getResults()) {
      Accumulator &own = accumulators.emplace_back();
      own.member = &member;
      own.result = result;
      own.combiner = getCombiner(member, result.getResultNumber());
      own.sum = getNeutral(own, tiling.vector);
    }
  }
}

/// Adds up what is at `place`, and stores what is made there.
void MemoryEmitter::runStep(unsigned pass, Place &place) {
  const MemoryMember *last = nullptr;
  Values values;
  for (Accumulator &own : accumulators) {
    if (own.member != last)
      values = runBody(*own.member, place);
    last = own.member;
    if (values.empty())
      return;
    Value value = values[own.result.getResultNumber()];
    if (place.exists)
      value = arith::SelectOp::create(builder, loc,
                                      splat(place.exists, place.width), value,
                                      getNeutral(own, place.width));
    own.sum = combine(own.combiner, own.sum, value);
  }
  for (const MemoryStore &result : program.getStores()) {
    const MemoryMember &maker = *program.getMember(result.result.getOwner());
    if (maker.isOfRow || maker.reduces || maker.pass != pass)
      continue;
    if (Value value = getMade(result.result, place))
      store(result.access, value, place);
  }
}

/// The first `count` vectors of the thread, which exist for all of them.
void MemoryEmitter::runLoop(unsigned pass, int64_t count) {
  Values sums;
  for (Accumulator &own : accumulators)
    sums.push_back(own.sum);
  auto loop =
      scf::ForOp::create(builder, loc, kernel.constant(0),
                         kernel.constant(count), kernel.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    for (auto [own, sum] :
         llvm::zip_equal(accumulators, loop.getRegionIterArgs()))
      own.sum = sum;
    Place place = createPlace(loop.getInductionVar(), std::nullopt);
    runStep(pass, place);
    sums.clear();
    for (Accumulator &own : accumulators)
      sums.push_back(own.sum);
    if (sums.empty())
      builder.setInsertionPoint(loop.getBody()->getTerminator());
    else
      scf::YieldOp::create(builder, loc, sums);
  }
  KernelBuilder::unroll(loop, 4);
  for (auto [own, sum] : llvm::zip_equal(accumulators, loop.getResults()))
    own.sum = sum;
}

void MemoryEmitter::runPass(unsigned pass) {
  bool writes =
      llvm::any_of(program.getStores(), [&](const MemoryStore &store) {
        const MemoryMember &maker = *program.getMember(store.result.getOwner());
        return !maker.isOfRow && !maker.reduces && maker.pass == pass;
      });
  if (accumulators.empty() && !writes)
    return;
  if (tiling.home == model::RowHome::Registers) {
    for (Place &place : steps)
      runStep(pass, place);
    return;
  }
  int64_t along = group.isAcrossRows ? 1 : tiling.vector;
  int64_t whole = group.columns / along / tiling.team;
  if (whole > 0)
    runLoop(pass, whole);
  if (whole < tiling.steps) {
    Place place = createPlace(kernel.constant(whole), whole);
    runStep(pass, place);
  }
  // What the pass has loaded is there from now on.
  for (auto [index, access] : llvm::enumerate(group.loads))
    if (isKept(index))
      filled.insert(index);
}

/// The results of the pass's reductions, for all threads of the team.
void MemoryEmitter::finishPass() {
  for (Accumulator &own : accumulators) {
    Value value = reduceTeam(own);
    linalg::LinalgOp op = own.member->op;
    unsigned operand = op.getTiedOpOperand(own.result)->getOperandNumber();
    if (Value before = valueOf(own.member->operands[operand], row))
      value = combine(own.combiner, before, value);
    row.made[own.result] = value;
  }
}

/// Results of rows: one thread of the team stores them.
void MemoryEmitter::storeRows() {
  for (const MemoryStore &result : program.getStores()) {
    const MemoryMember &maker = *program.getMember(result.result.getOwner());
    if (!maker.isOfRow && !maker.reduces)
      continue;
    Value value = getMade(result.result, row);
    if (!value)
      return;
    Place place = row;
    place.exists =
        bothOrNull(row.exists, kernel.isLess(inTeam, kernel.constant(1)));
    store(result.access, value, place);
  }
}

LogicalResult MemoryEmitter::emit(Refusal &refusal) {
  kernel.createThread();
  createRow();
  if (group.isTurned)
    fillTiles();
  if (tiling.home == model::RowHome::Registers) {
    for (int64_t step = 0; step < tiling.steps; ++step)
      steps.push_back(createPlace(kernel.constant(step), step));
  } else {
    for (auto [index, access] : llvm::enumerate(program.getLoads()))
      if (isKept(index))
        kept[index] =
            createShared(tiling.threads() * tiling.steps * tiling.vector,
                         widen(access.elementType));
  }
  for (unsigned pass = 0; pass < program.getNumPasses(); ++pass) {
    startPass(pass);
    runPass(pass);
    finishPass();
  }
  if (!group.reduces && !group.isTurned && group.columns % tiling.vector != 0) {
    Place end = createEnd();
    runStep(0, end);
  }
  storeRows();
  if (refused.op)
    return refusal.set(refused.op, refused.reason);
  return success();
}
