//===- SplitMaskedMoves.cpp - Parts of vectors in whole pieces ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without AVX-512 a store of some lanes is an instruction of microcode (Zen 3
// takes 15 cycles for vmaskmovps and 2 for three stores), and lanes narrower
// than 32 bits have none: LLVM moves one by one. How many lanes a tail has is
// mostly known, so that it can be moved in pieces of a power of two.
//
//===----------------------------------------------------------------------===//

#include "Features.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace chimera {
#define GEN_PASS_DEF_SPLITMASKEDMOVESPASS
#include "Chimera/Conversion/X86Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The number of lanes that `mask` has, if these are the first ones and neither
/// none nor all.
static std::optional<int64_t> countFirstLanes(Value mask) {
  DenseElementsAttr lanes;
  if (!matchPattern(mask, m_Constant(&lanes)) ||
      !lanes.getElementType().isInteger(1))
    return std::nullopt;
  int64_t count = 0;
  bool ended = false;
  for (bool isOn : lanes.getValues<bool>()) {
    if (isOn && ended)
      return std::nullopt;
    ended |= !isOn;
    count += isOn;
  }
  if (count == 0 || !ended)
    return std::nullopt;
  return count;
}

namespace {

/// Neighbouring lanes of a vector.
struct Piece {
  int64_t first = 0;
  int64_t lanes = 0;
};

/// Moves of the first lanes of a vector, piece by piece.
class PieceMover {
public:
  PieceMover(Operation *op, VectorType type, Value memory,
             std::optional<uint64_t> alignment)
      : builder(op), loc(op->getLoc()), type(type), memory(memory),
        alignment(alignment.value_or(1)) {}

  void store(Value vector, int64_t count) {
    for (Piece piece : piecesOf(count)) {
      Value part = vector;
      if (piece.lanes == 1)
        part = LLVM::ExtractElementOp::create(builder, loc, vector,
                                              constant(piece.first));
      else
        part = LLVM::ShuffleVectorOp::create(builder, loc, vector, vector,
                                             lanesOf(piece));
      LLVM::StoreOp::create(builder, loc, part, addressOf(piece),
                            alignmentOf(piece));
    }
  }

  /// The lanes after the first `count` are those of `otherwise`.
  Value load(int64_t count, Value otherwise) {
    Value vector = otherwise;
    for (Piece piece : piecesOf(count)) {
      Type partType = type.getElementType();
      if (piece.lanes > 1)
        partType = VectorType::get(piece.lanes, partType);
      Value part = LLVM::LoadOp::create(builder, loc, partType,
                                        addressOf(piece), alignmentOf(piece));
      vector = insert(vector, part, piece);
    }
    return vector;
  }

private:
  static SmallVector<Piece> piecesOf(int64_t count) {
    SmallVector<Piece> pieces;
    for (int64_t first = 0; first < count;) {
      auto lanes =
          static_cast<int64_t>(llvm::bit_floor<uint64_t>(count - first));
      pieces.push_back({first, lanes});
      first += lanes;
    }
    return pieces;
  }

  static SmallVector<int32_t> lanesOf(Piece piece) {
    return llvm::to_vector(
        llvm::seq<int32_t>(piece.first, piece.first + piece.lanes));
  }

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), value);
  }

  int64_t elementBytes() const {
    return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }

  Value addressOf(Piece piece) {
    if (piece.first == 0)
      return memory;
    return LLVM::GEPOp::create(builder, loc, memory.getType(),
                               type.getElementType(), memory,
                               LLVM::GEPArg(static_cast<int32_t>(piece.first)),
                               LLVM::GEPNoWrapFlags::inbounds);
  }

  unsigned alignmentOf(Piece piece) const {
    return std::gcd<uint64_t>(alignment, piece.first * elementBytes());
  }

  Value insert(Value vector, Value part, Piece piece) {
    if (piece.lanes == 1)
      return LLVM::InsertElementOp::create(builder, loc, vector, part,
                                           constant(piece.first));
    // As long as the vector, then in place of its lanes.
    auto all = static_cast<int32_t>(type.getNumElements());
    SmallVector<int32_t> widened(all, -1);
    std::iota(widened.begin(), widened.begin() + piece.lanes, 0);
    Value wide =
        LLVM::ShuffleVectorOp::create(builder, loc, part, part, widened);
    SmallVector<int32_t> lanes = llvm::to_vector(llvm::seq<int32_t>(0, all));
    for (int32_t lane : llvm::seq<int32_t>(0, piece.lanes))
      lanes[piece.first + lane] = all + lane;
    return LLVM::ShuffleVectorOp::create(builder, loc, vector, wide, lanes);
  }

  OpBuilder builder;
  Location loc;
  VectorType type;
  Value memory;
  uint64_t alignment;
};

} // namespace

/// True if vectors of this type can be moved in pieces: elements take bytes.
static bool hasPieces(VectorType type) {
  return type.getRank() == 1 && !type.isScalable() &&
         type.getElementType().isIntOrFloat() &&
         type.getElementTypeBitWidth() % 8 == 0;
}

static void splitStore(LLVM::MaskedStoreOp store) {
  auto type = dyn_cast<VectorType>(store.getValue().getType());
  std::optional<int64_t> count = countFirstLanes(store.getMask());
  if (!type || !hasPieces(type) || !count)
    return;
  PieceMover(store, type, store.getData(), store.getAlignment())
      .store(store.getValue(), *count);
  store.erase();
}

/// Lanes of 32 bits and more are loaded as fast as a whole vector.
static void splitLoad(LLVM::MaskedLoadOp load) {
  auto type = dyn_cast<VectorType>(load.getRes().getType());
  std::optional<int64_t> count = countFirstLanes(load.getMask());
  if (!type || !hasPieces(type) || type.getElementTypeBitWidth() >= 32 ||
      !count || load.getNontemporal())
    return;
  OpBuilder builder(load);
  Value otherwise = load.getPassThru();
  if (!otherwise)
    otherwise = LLVM::PoisonOp::create(builder, load.getLoc(), type);
  Value loaded = PieceMover(load, type, load.getData(), load.getAlignment())
                     .load(*count, otherwise);
  load.getRes().replaceAllUsesWith(loaded);
  load.erase();
}

namespace {
struct SplitMaskedMovesPass
    : chimera::impl::SplitMaskedMovesPassBase<SplitMaskedMovesPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> machine =
        resolveTarget(getOperation(), target);
    if (failed(machine))
      return signalPassFailure();
    if (hasFeatures(*machine, {"avx512f", "avx512vl", "avx512bw"}))
      return;
    getOperation()->walk(splitStore);
    getOperation()->walk(splitLoad);
  }
};
} // namespace
