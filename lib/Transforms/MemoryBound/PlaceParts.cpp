//===- PlaceParts.cpp - Parts of tensors where they belong ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part that an operation or a loop nest of the same block starts from an
// empty tensor starts from its place in the whole instead. The whole is then
// updated part by part, in the order in which they are made, as bufferization
// wants it: extract the place, compute, insert.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/PlaceParts.h"

#include "Buffers/Updates.h"

#include "Chimera/Chain/OpenSizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Where a part starts
//===----------------------------------------------------------------------===//

namespace {
/// What makes a part.
struct Maker {
  /// The operand through which the part comes from an empty tensor.
  OpOperand *start = nullptr;
  /// The operations of the block that touch the part first and last.
  Operation *first = nullptr, *last = nullptr;
};
} // namespace

static bool isEmpty(Operation *op) {
  auto alloc = dyn_cast_if_present<bufferization::AllocTensorOp>(op);
  return isa_and_present<tensor::EmptyOp>(op) || (alloc && !alloc.getCopy());
}

/// What makes `part` in `block`, from an empty tensor of its type. Nothing if
/// what is in between hands on anything else.
static Maker findMaker(Value part, Block *block) {
  Maker maker;
  Value value = part;
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (isEmpty(op))
      return maker;
    if (op->getBlock() != block)
      return {};
    maker.start = getUpdated(result);
    if (!maker.start || maker.start->get().getType() != part.getType())
      return {};
    // What others start from too has to be kept for them.
    Value start = maker.start->get();
    if (!isEmpty(start.getDefiningOp()) && !start.hasOneUse())
      return {};
    maker.first = op;
    if (!maker.last)
      maker.last = op;
    value = maker.start->get();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

namespace {

/// A tensor that is made of parts.
class Whole {
public:
  explicit Whole(Operation *op) : op(op), builder(op) {}

  void addPart(Value value, ArrayRef<OpFoldResult> offsets);
  /// Builds the tensor; what no part covers is `border`, if anything. `low` and
  /// `high` say how much that is along each dimension.
  Value build(RankedTensorType type, Attribute border = {},
              ArrayRef<int64_t> low = {}, ArrayRef<int64_t> high = {});

private:
  struct Part {
    Value value;
    SmallVector<OpFoldResult> offsets;
    Maker maker;
  };

  void chooseMakers();
  Value fillBorder(Value whole, Attribute border, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high);
  Value fill(Value whole, Value number, ArrayRef<int64_t> offsets,
             ArrayRef<int64_t> sizes);
  Value copy(Value part, Value place);
  Value extract(Value whole, ArrayRef<OpFoldResult> offsets, Type type);
  Value insert(Value part, Value whole, ArrayRef<OpFoldResult> offsets);
  SmallVector<OpFoldResult> getSizes(Type type) {
    return getAsIndexOpFoldResult(builder.getContext(),
                                  cast<RankedTensorType>(type).getShape());
  }
  SmallVector<OpFoldResult> getOnes(size_t rank) {
    return SmallVector<OpFoldResult>(rank, builder.getIndexAttr(1));
  }
  Location loc() { return op->getLoc(); }

  Operation *op;
  OpBuilder builder;
  SmallVector<Part> parts;
};

} // namespace

void Whole::addPart(Value value, ArrayRef<OpFoldResult> offsets) {
  parts.push_back(
      {value, llvm::to_vector(offsets), findMaker(value, op->getBlock())});
}

/// Parts in the order they are made in, copied ones last. Where two are made at
/// the same time, or a part is there twice, one is copied.
void Whole::chooseMakers() {
  llvm::sort(parts, [](const Part &a, const Part &b) {
    if (!a.maker.first || a.maker.first == b.maker.first)
      return false;
    return !b.maker.first || a.maker.first->isBeforeInBlock(b.maker.first);
  });
  Operation *last = nullptr;
  SmallVector<Part> made, copied;
  for (Part &part : parts) {
    if (!part.maker.first || (last && !last->isBeforeInBlock(part.maker.first)))
      part.maker = {};
    else
      last = part.maker.last;
    (part.maker.first ? made : copied).push_back(part);
  }
  parts = std::move(made);
  llvm::append_range(parts, copied);
}

Value Whole::extract(Value whole, ArrayRef<OpFoldResult> offsets, Type type) {
  return tensor::ExtractSliceOp::create(
      builder, loc(), cast<RankedTensorType>(type), whole, offsets,
      getSizes(type), getOnes(offsets.size()));
}

Value Whole::insert(Value part, Value whole, ArrayRef<OpFoldResult> offsets) {
  return tensor::InsertSliceOp::create(builder, loc(), part, whole, offsets,
                                       getSizes(part.getType()),
                                       getOnes(offsets.size()));
}

Value Whole::copy(Value part, Value place) {
  int64_t rank = cast<RankedTensorType>(part.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc(), part.getType(), part, place, maps, iterators,
             [](OpBuilder &body, Location loc, ValueRange elements) {
               linalg::YieldOp::create(body, loc, elements[0]);
             })
      .getResult(0);
}

Value Whole::fill(Value whole, Value number, ArrayRef<int64_t> offsets,
                  ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return whole;
  auto at = getAsIndexOpFoldResult(builder.getContext(), offsets);
  Value slab =
      extract(whole, at, RankedTensorType::get(sizes, number.getType()));
  Value filled =
      linalg::FillOp::create(builder, loc(), number, slab).getResult(0);
  return insert(filled, whole, at);
}

/// The slabs before and behind the middle along each dimension, as long as the
/// middle in those before it.
Value Whole::fillBorder(Value whole, Attribute border, ArrayRef<int64_t> low,
                        ArrayRef<int64_t> high) {
  Value number =
      arith::ConstantOp::create(builder, loc(), cast<TypedAttr>(border));
  SmallVector<int64_t> offsets(low.size(), 0),
      sizes(cast<RankedTensorType>(whole.getType()).getShape());
  for (size_t dim = 0; dim < low.size(); ++dim) {
    int64_t size = sizes[dim];
    sizes[dim] = low[dim];
    whole = fill(whole, number, offsets, sizes);
    sizes[dim] = high[dim];
    offsets[dim] = size - high[dim];
    whole = fill(whole, number, offsets, sizes);
    offsets[dim] = low[dim];
    sizes[dim] = size - low[dim] - high[dim];
  }
  return whole;
}

Value Whole::build(RankedTensorType type, Attribute border,
                   ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  chooseMakers();
  Operation *first = parts.empty() ? nullptr : parts.front().maker.first;
  builder.setInsertionPoint(first ? first : op);
  // Tensors whose first parts are the same are two all the same: of empty ones
  // one would be left, which each would have to be copied from.
  Value whole =
      bufferization::AllocTensorOp::create(builder, loc(), type, ValueRange());
  if (border)
    whole = fillBorder(whole, border, low, high);
  for (Part &part : parts) {
    Type partType = part.value.getType();
    builder.setInsertionPoint(part.maker.first ? part.maker.first : op);
    Value place = extract(whole, part.offsets, partType);
    Value made = part.value;
    if (part.maker.first) {
      Operation *empty = part.maker.start->get().getDefiningOp();
      part.maker.start->set(place);
      if (empty->use_empty())
        empty->erase();
      builder.setInsertionPointAfter(part.maker.last);
    } else {
      made = copy(part.value, place);
    }
    whole = insert(made, whole, part.offsets);
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// Concatenations and padding
//===----------------------------------------------------------------------===//

static bool areStatic(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || (tensor.hasStaticShape() && !tensor.getEncoding());
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

void chimera::placeParts(tensor::ConcatOp concat) {
  if (!areStatic(concat))
    return;
  RankedTensorType type = concat.getResultType();
  Whole whole(concat);
  OpenSizes open(concat);
  // Parts may be made, and placed, anywhere before.
  OpBuilder builder(concat.getContext());
  builder.setInsertionPointToStart(concat->getBlock());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  AffineExpr begin, length;
  bindSymbols(builder.getContext(), begin, length);
  for (Value part : concat.getInputs()) {
    auto partType = cast<RankedTensorType>(part.getType());
    // A part without elements might start where the whole ends.
    if (partType.getNumElements() == 0)
      continue;
    whole.addPart(part, offsets);
    // Open sizes are values: as numbers they would not be told from what else
    // is added to them.
    Location loc = concat.getLoc();
    OpFoldResult &offset = offsets[concat.getDim()];
    offset = affine::makeComposedFoldedAffineApply(
        builder, loc, begin + length,
        {offset,
         open.getSize(builder, loc, partType.getDimSize(concat.getDim()))});
  }
  concat.getResult().replaceAllUsesWith(whole.build(type));
  concat.erase();
}

void chimera::placeParts(tensor::PadOp pad) {
  Attribute number;
  Value border = pad.getConstantPaddingValue();
  SmallVector<int64_t> low(pad.getStaticLow()), high(pad.getStaticHigh());
  auto isNatural = [](int64_t amount) {
    return !ShapedType::isDynamic(amount) && amount >= 0;
  };
  if (!areStatic(pad) || pad.getSourceType().getNumElements() == 0 || !border ||
      !matchPattern(border, m_Constant(&number)) ||
      !llvm::all_of(low, isNatural) || !llvm::all_of(high, isNatural))
    return;
  Whole whole(pad);
  whole.addPart(pad.getSource(), getAsIndexOpFoldResult(pad.getContext(), low));
  pad.getResult().replaceAllUsesWith(
      whole.build(pad.getResultType(), number, low, high));
  pad.erase();
}
