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
// it is still using, a barrier holds it back, unless a flag does: one that was
// raised behind the earlier instruction, or by a pipe that had waited for such
// a flag. Zeros in L1 come the way that copies do, which have to wait for them
// where they go to the same tile. Otherwise the pipes that move data need no
// barrier: what one of them writes only others read, and these it waits for.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Ascend/Ascend.h"
#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetOperations.h"

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
  /// A copy. No two of them write the same bytes unless somebody has read them
  /// in between.
  bool copies = false;
  /// The blocks of 32 bytes are `first` and others a multiple of `step` on.
  int64_t first = 0, step = 1;
  /// Which tile of the place it is to, if a loop goes over these: the loop's
  /// index, here or in an iteration before.
  Value tile = {};
  bool isBefore = false;

  bool operator<(const Access &other) const {
    return asTuple() < other.asTuple();
  }
  bool conflictsWith(const Access &other) const {
    return place == other.place && (writes || other.writes) &&
           !(copies && other.copies) && mayMeet(other);
  }

private:
  std::tuple<AccessedPlace, bool, bool, int64_t, int64_t, const void *, bool>
  asTuple() const {
    return {place,   writes, copies, first, step, tile.getAsOpaquePointer(),
            isBefore};
  }
  bool mayMeet(const Access &other) const {
    if (tile && tile == other.tile && isBefore != other.isBefore)
      return false;
    int64_t common = std::gcd(step, other.step);
    int64_t distance = first - other.first;
    return common == 0 ? distance == 0 : distance % common == 0;
  }
};

/// Erases the elements of a set or map of which `isOver` is true.
template <class Container, class Predicate>
static void eraseFrom(Container &elements, Predicate isOver) {
  for (auto it = elements.begin(); it != elements.end();)
    it = isOver(*it) ? elements.erase(it) : std::next(it);
}

/// A flag between two pipes: its number or, if that varies, the value.
struct Flag {
  Pipe from, to;
  std::optional<int64_t> number;
  Value value;

  template <class Op>
  explicit Flag(Op op) : from(op.getFrom()), to(op.getTo()) {
    number = getConstantIntValue(op.getEvent());
    if (!number)
      value = op.getEvent();
  }
  bool operator<(const Flag &other) const {
    return asTuple() < other.asTuple();
  }

private:
  std::tuple<Pipe, Pipe, std::optional<int64_t>, const void *> asTuple() const {
    return {from, to, number, value.getAsOpaquePointer()};
  }
};

/// Who is sure that an access is over: pipes, and who waits for some flags. A
/// pipe raises a flag once all is over that it has begun or is sure of.
struct Knowledge {
  std::set<Pipe> pipes;
  std::set<Flag> flags;

  /// Keeps what `other` has, too. True if there was more.
  bool keepCommon(const Knowledge &other) {
    size_t before = pipes.size() + flags.size();
    llvm::set_intersect(pipes, other.pipes);
    llvm::set_intersect(flags, other.flags);
    return pipes.size() + flags.size() < before;
  }
};

/// What the pipes that compute have begun, and do not know to be over.
class Begun {
public:
  bool conflicts(Pipe pipe, const Access &access) const {
    return llvm::any_of(accesses, [&](const auto &entry) {
      return entry.first.first == pipe &&
             access.conflictsWith(entry.first.second);
    });
  }
  void begin(Pipe pipe, const Access &access) {
    accesses[{pipe, access}] = Knowledge();
  }
  /// `pipe` waits until all that it has begun is over, or all pipes do.
  void finish(Pipe pipe) {
    eraseFrom(accesses, [&](const auto &entry) {
      return pipe == Pipe::All || entry.first.first == pipe;
    });
  }
  void raise(const Flag &flag);
  void wait(const Flag &flag);
  /// `op`, or one iteration of it, is over: its flags with numbers that vary
  /// say nothing any more, nor do the tiles of loops in it.
  void leave(Operation *op);
  /// What may have begun here or in `other`. True if that is more, or less is
  /// known of it.
  bool join(const Begun &other);

private:
  std::map<std::pair<Pipe, Access>, Knowledge> accesses;
};

/// Finds the instructions that a barrier has to precede.
class Ordering {
public:
  void run(Region &kernel);
  void insert();

private:
  void visit(Region &region, Begun &begun);
  void visit(Operation *op, Begun &begun);
  void visitInstruction(Operation *op, Pipe pipe, ArrayRef<Access> accesses,
                        Begun &begun);

  llvm::SetVector<std::pair<Operation *, Pipe>> late;
  /// What iterations of loops leave to those that follow.
  llvm::DenseMap<Operation *, Begun> leftByIterations;
};

} // namespace

void Begun::raise(const Flag &flag) {
  for (auto &[access, knowledge] : accesses)
    if (access.first == flag.from || knowledge.pipes.count(flag.from))
      knowledge.flags.insert(flag);
}

void Begun::wait(const Flag &flag) {
  for (auto &[access, knowledge] : accesses)
    if (knowledge.flags.erase(flag))
      knowledge.pipes.insert(flag.to);
  eraseFrom(accesses, [](const auto &entry) {
    return entry.second.pipes.count(entry.first.first) > 0;
  });
}

void Begun::leave(Operation *op) {
  auto isInside = [&](Value value) {
    return value && op->isAncestor(value.getParentBlock()->getParentOp());
  };
  std::map<std::pair<Pipe, Access>, Knowledge> left;
  for (auto &[begun, knowledge] : accesses) {
    auto [pipe, access] = begun;
    eraseFrom(knowledge.flags,
              [&](const Flag &flag) { return isInside(flag.value); });
    bool isIndex =
        access.tile && access.tile.getParentBlock()->getParentOp() == op;
    if (isIndex && !access.isBefore)
      access.isBefore = true;
    else if (isInside(access.tile) && !isIndex)
      access.tile = Value();
    auto [entry, isNew] = left.try_emplace({pipe, access}, knowledge);
    if (!isNew)
      entry->second.keepCommon(knowledge);
  }
  accesses = std::move(left);
}

bool Begun::join(const Begun &other) {
  bool changed = false;
  for (const auto &[access, knowledge] : other.accesses) {
    auto [entry, isNew] = accesses.try_emplace(access, knowledge);
    changed |= isNew || entry->second.keepCommon(knowledge);
  }
  return changed;
}

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

/// The index of the loop that goes over tiles of a place, each at another
/// multiple of it, if `pointer` is to such a tile: they do not overlap.
static Value getTileIndex(Value pointer) {
  auto offset = pointer.getDefiningOp<OffsetOp>();
  if (!offset || !offset.getBase().getDefiningOp<AddressOp>())
    return {};
  Value index = offset.getElements();
  if (auto product = index.getDefiningOp<arith::MulIOp>();
      product && matchPattern(product.getRhs(), m_Constant()) &&
      !matchPattern(product.getRhs(), m_Zero()))
    index = product.getLhs();
  auto argument = dyn_cast<BlockArgument>(index);
  bool isIndex = argument && argument.getArgNumber() == 0 &&
                 isa<scf::ForOp>(argument.getOwner()->getParentOp());
  return isIndex ? index : Value();
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

/// The one block of a repeat that `vector` writes, if it fills no other ones:
/// the mask before it says so.
static std::optional<int64_t> findOnlyBlock(VectorOp vector) {
  if (!vector.getSources().empty() ||
      !isConstantIntValue(vector.getRepeat(), 1))
    return std::nullopt;
  Operation *before = vector->getPrevNode();
  while (before && before->getNumRegions() == 0 &&
         !isa<SetVectorMaskOp>(before))
    before = before->getPrevNode();
  auto mask = dyn_cast_if_present<SetVectorMaskOp>(before);
  APInt high, low;
  if (!mask || !matchPattern(mask.getHigh(), m_ConstantInt(&high)) ||
      !matchPattern(mask.getLow(), m_ConstantInt(&low)))
    return std::nullopt;
  APInt elements = high.concat(low);
  unsigned inBlock = 256 / vector.getDestination()
                               .getType()
                               .getElementType()
                               .getIntOrFloatBitWidth();
  if (elements.isZero())
    return std::nullopt;
  unsigned first = elements.countTrailingZeros() / inBlock,
           last = (elements.getActiveBits() - 1) / inBlock;
  return first == last ? std::optional<int64_t>(first) : std::nullopt;
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
  if (std::optional<int64_t> only = findOnlyBlock(vector)) {
    access.first += *only * vector.getBlocks()[index];
    access.step = 0;
  }
}

/// True if `op` is a loop that has an iteration.
static bool runsForSure(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return false;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound());
  return lower && upper && *lower < *upper;
}

/// True if `copy` goes the way that zeros in L1 come, too.
static bool isToL1(CopyOp copy) {
  switch (copy.getKind()) {
  case CopyKind::GmToCbuf:
  case CopyKind::GmToCbufNd2Nz:
  case CopyKind::GmToCbufNd2NzB8:
    return true;
  default:
    return false;
  }
}

/// What the vector unit writes first and reads after.
static SmallVector<Access> getVectorAccesses(Operation *op) {
  SmallVector<Access> accesses;
  auto vector = dyn_cast<VectorOp>(op);
  for (Value operand : op->getOperands()) {
    if (!isa<PtrType>(operand.getType()))
      continue;
    Access access{getPlace(operand), accesses.empty(), isa<CopyOp>(op)};
    access.tile = getTileIndex(operand);
    if (vector)
      setBlocks(vector, accesses.size(), operand, access);
    accesses.push_back(access);
  }
  return accesses;
}

void Ordering::visitInstruction(Operation *op, Pipe pipe,
                                ArrayRef<Access> accesses, Begun &begun) {
  if (llvm::any_of(accesses, [&](const Access &access) {
        return begun.conflicts(pipe, access);
      }))
    late.insert({op, pipe});
  if (late.contains({op, pipe}))
    begun.finish(pipe);
  for (const Access &access : accesses)
    begun.begin(pipe, access);
}

void Ordering::visit(Operation *op, Begun &begun) {
  if (auto mad = dyn_cast<MadOp>(op)) {
    Access sums{getPlace(mad.getC()), /*writes=*/true};
    sums.tile = getTileIndex(mad.getC());
    if (isLong(mad))
      begun.begin(Pipe::M, sums);
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
  if (auto clear = dyn_cast<ClearOp>(op)) {
    Access zeros{getPlace(clear.getDestination()), /*writes=*/true};
    zeros.tile = getTileIndex(clear.getDestination());
    return visitInstruction(op, Pipe::MTE2, zeros, begun);
  }
  if (copy && isToL1(copy))
    return visitInstruction(op, Pipe::MTE2,
                            Access{getPlace(copy.getDestination()), true, true},
                            begun);
  if (auto barrier = dyn_cast<PipeBarrierOp>(op))
    return begun.finish(barrier.getPipe());
  if (auto raised = dyn_cast<SetFlagOp>(op))
    return begun.raise(Flag(raised));
  if (auto awaited = dyn_cast<WaitFlagOp>(op))
    return begun.wait(Flag(awaited));
  // A region may run or not, that of a loop also after itself.
  Begun before = begun;
  if (runsForSure(op))
    begun = Begun();
  for (Region &region : op->getRegions()) {
    Begun entry = before, inside;
    entry.join(leftByIterations[op]);
    do {
      inside = entry;
      visit(region, inside);
      inside.leave(op);
    } while (isa<scf::ForOp>(op) && entry.join(inside));
    if (isa<scf::ForOp>(op))
      leftByIterations[op] = inside;
    begun.join(inside);
  }
}

/// A barrier serves what follows, too. Where it is needed only for what an
/// iteration leaves to the next one, that is found when what follows has been
/// seen: the second round knows it ahead.
void Ordering::run(Region &kernel) {
  for (int round = 0; round < 2; ++round) {
    late.clear();
    Begun begun;
    visit(kernel, begun);
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
    ordering.run(getOperation().getBody());
    ordering.insert();
  }
};
} // namespace
