//===- InsertBarriers.cpp - Order within the pipes that compute -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipe starts an instruction before the one ahead of it is done. Where the
// vector or the cube unit uses what it has just computed, or computes anew what
// it is still using, a barrier holds it back. The pipes that move data need
// none: what one of them writes only others read, and these it waits for.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <map>
#include <numeric>
#include <set>

namespace chimera {
#define GEN_PASS_DEF_INSERTASCENDBARRIERSPASS
#include "Chimera/Conversion/AscendPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

namespace {

/// A tile's place on chip: its memory and its first byte there. Places do not
/// overlap, and an address says the place that it is in.
using AccessedPlace = std::pair<Memory, int64_t>;

struct Access {
  AccessedPlace place;
  bool writes = false;
  /// Results of the cube unit on their way to UB. No two such copies write the
  /// same bytes unless somebody has read them in between.
  bool copies = false;
  /// The blocks of 32 bytes are `first` and others a multiple of `step` on.
  int64_t first = 0, step = 1;

  bool operator<(const Access &other) const {
    return std::tie(place, writes, copies, first, step) <
           std::tie(other.place, other.writes, other.copies, other.first,
                    other.step);
  }
  bool conflictsWith(const Access &other) const {
    return place == other.place && (writes || other.writes) &&
           !(copies && other.copies) && mayMeet(other);
  }

private:
  bool mayMeet(const Access &other) const {
    int64_t common = std::gcd(step, other.step);
    int64_t distance = first - other.first;
    return common == 0 ? distance == 0 : distance % common == 0;
  }
};

/// What the pipes that compute have begun since their last barriers.
struct Begun {
  std::map<Pipe, std::set<Access>> accesses;

  bool add(const Begun &other) {
    bool changed = false;
    for (const auto &[pipe, added] : other.accesses)
      for (const Access &access : added)
        changed |= accesses[pipe].insert(access).second;
    return changed;
  }
};

/// Finds the instructions that a barrier has to precede.
class Ordering {
public:
  void visit(Region &region, Begun &begun);
  void insert();

private:
  void visit(Operation *op, Begun &begun);
  void visitInstruction(Operation *op, Pipe pipe, ArrayRef<Access> accesses,
                        Begun &begun);

  llvm::SetVector<std::pair<Operation *, Pipe>> late;
};

} // namespace

/// The least that `bytes` can be: what varies in an address is not negative.
static int64_t getLeast(Value bytes) {
  APInt constant;
  if (matchPattern(bytes, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (auto sum = bytes.getDefiningOp<arith::AddIOp>())
    return getLeast(sum.getLhs()) + getLeast(sum.getRhs());
  return 0;
}

/// A tile that has two places in turn counts as one: other pipes hand these
/// over with flags, which order the vector unit, too.
static AccessedPlace getPlace(Value pointer) {
  while (auto offset = pointer.getDefiningOp<OffsetOp>())
    pointer = offset.getBase();
  auto address = pointer.getDefiningOp<AddressOp>();
  return {cast<PtrType>(pointer.getType()).getMemory(),
          address ? getLeast(address.getBytes()) : 0};
}

/// The least that `extent` has of fractals: one, if it is not known.
static int64_t getLeastFractals(Value extent) {
  constexpr int64_t side = 16;
  APInt constant;
  return matchPattern(extent, m_ConstantInt(&constant))
             ? llvm::divideCeil(constant.getZExtValue(), side)
             : 1;
}

/// True if the cube unit takes so long for these sums that it is done with the
/// same ones of the product before. The number is that of public kernels.
static bool isLong(MadOp mad) {
  constexpr int64_t fractals = 10;
  return getLeastFractals(mad.getM()) * getLeastFractals(mad.getN()) >=
         fractals;
}

/// Which blocks the operand of `vector` after `index` others is, if what it
/// starts at is known: the halves of wide elements take turns.
static void setBlocks(VectorOp vector, unsigned index, Value pointer,
                      Access &access) {
  constexpr int64_t block = 32;
  int64_t bytes = 0;
  while (auto offset = pointer.getDefiningOp<OffsetOp>()) {
    APInt elements;
    if (!matchPattern(offset.getElements(), m_ConstantInt(&elements)))
      return;
    bytes += elements.getSExtValue() *
             offset.getType().getElementType().getIntOrFloatBitWidth() / 8;
    pointer = offset.getBase();
  }
  if (bytes % block != 0)
    return;
  access.first = bytes / block;
  access.step = std::gcd(vector.getBlocks()[index], vector.getRepeats()[index]);
}

/// What the vector unit writes first and reads after.
static SmallVector<Access> getVectorAccesses(Operation *op) {
  SmallVector<Access> accesses;
  auto vector = dyn_cast<VectorOp>(op);
  for (Value operand : op->getOperands()) {
    if (!isa<PtrType>(operand.getType()))
      continue;
    Access access{getPlace(operand), accesses.empty(), isa<CopyOp>(op)};
    if (vector)
      setBlocks(vector, accesses.size(), operand, access);
    accesses.push_back(access);
  }
  return accesses;
}

void Ordering::visitInstruction(Operation *op, Pipe pipe,
                                ArrayRef<Access> accesses, Begun &begun) {
  std::set<Access> &earlier = begun.accesses[pipe];
  bool conflicts = llvm::any_of(accesses, [&](const Access &access) {
    return llvm::any_of(earlier, [&](const Access &other) {
      return access.conflictsWith(other);
    });
  });
  if (conflicts)
    late.insert({op, pipe});
  if (late.contains({op, pipe}))
    earlier.clear();
  earlier.insert(accesses.begin(), accesses.end());
}

void Ordering::visit(Operation *op, Begun &begun) {
  if (auto mad = dyn_cast<MadOp>(op)) {
    Access sums{getPlace(mad.getC()), /*writes=*/true};
    if (isLong(mad))
      begun.accesses[Pipe::M].insert(sums);
    else
      visitInstruction(op, Pipe::M, sums, begun);
    return;
  }
  auto copy = dyn_cast<CopyOp>(op);
  if (isa<VectorOp, ReduceOp, BroadcastOp, TransposeOp, CompareOp, SelectOp>(
          op) ||
      (copy && copy.getKind() == CopyKind::MatrixCcToUbuf)) {
    visitInstruction(op, Pipe::V, getVectorAccesses(op), begun);
    return;
  }
  // A region may run or not, that of a loop also after itself.
  Begun before = begun;
  for (Region &region : op->getRegions()) {
    Begun entry = before, inside;
    do {
      inside = entry;
      visit(region, inside);
    } while (isa<scf::ForOp>(op) && entry.add(inside));
    begun.add(inside);
  }
}

void Ordering::visit(Region &region, Begun &begun) {
  for (Block &block : region)
    for (Operation &op : block)
      visit(&op, begun);
}

void Ordering::insert() {
  for (auto [op, pipe] : late) {
    OpBuilder builder(op);
    PipeBarrierOp::create(builder, op->getLoc(), pipe);
  }
}

namespace {
struct InsertAscendBarriersPass
    : chimera::impl::InsertAscendBarriersPassBase<InsertAscendBarriersPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!getOperation()->hasAttr(kKernelAttrName))
      return;
    Ordering ordering;
    Begun begun;
    ordering.visit(getOperation().getBody(), begun);
    ordering.insert();
  }
};
} // namespace
