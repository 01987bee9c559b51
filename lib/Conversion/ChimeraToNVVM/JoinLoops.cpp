//===- JoinLoops.cpp - One loop of nested ones ----------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;

namespace {

/// A loop whose iterations are known.
struct KnownLoop {
  int64_t lower = 0, step = 1, trips = 0;

  static std::optional<KnownLoop> read(scf::ForOp loop) {
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound()),
                           step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || !step || *step <= 0 || *lower >= *upper ||
        !loop.getInductionVar().getType().isIndex())
      return std::nullopt;
    return KnownLoop{*lower, *step,
                     llvm::divideCeilSigned(*upper - *lower, *step)};
  }

  /// What the loop counts in iteration number `trip`.
  Value countAt(OpBuilder &builder, Location loc, Value trip) const {
    AffineExpr number = builder.getAffineDimExpr(0);
    return getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, number * step + lower, OpFoldResult(trip)));
  }
};

} // namespace

/// True if `loop` works on parts of what it carries: such a loop becomes
/// straight code.
static bool cutsCarried(scf::ForOp loop) {
  return llvm::any_of(loop.getRegionIterArgs(), [](Value carried) {
    return llvm::any_of(
        carried.getUsers(),
        llvm::IsaPred<tensor::ExtractSliceOp, tensor::InsertSliceOp>);
  });
}

/// The loop in `outer` if all that is carried passes through it, and the rest
/// of the body does not touch that.
static scf::ForOp findInner(scf::ForOp outer) {
  scf::ForOp inner;
  for (Operation &op : outer.getBody()->without_terminator()) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !inner) {
      inner = loop;
      continue;
    }
    if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op))
      return {};
  }
  if (!inner || cutsCarried(inner) ||
      !llvm::equal(inner.getInits(), outer.getRegionIterArgs()) ||
      !llvm::equal(inner.getResults(), outer.getYieldedValues()))
    return {};
  auto isUsedOnce = [](Value value) { return value.hasOneUse(); };
  bool isPassed = llvm::all_of(outer.getRegionIterArgs(), isUsedOnce) &&
                  llvm::all_of(inner.getResults(), isUsedOnce);
  return isPassed ? inner : scf::ForOp();
}

/// Makes one loop of `outer` and the one inside, if it does nothing else.
static bool joinLoop(scf::ForOp outer) {
  scf::ForOp inner = findInner(outer);
  if (!inner)
    return false;
  std::optional<KnownLoop> outside = KnownLoop::read(outer),
                           inside = KnownLoop::read(inner);
  if (!outside || !inside)
    return false;
  OpBuilder builder(outer);
  Location loc = outer.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  IRMapping mapping;
  auto fill = [&](OpBuilder &body, Location, Value trip, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    builder.restoreInsertionPoint(body.saveInsertionPoint());
    Value count = constant(inside->trips);
    Value first = arith::DivUIOp::create(builder, loc, trip, count);
    Value second = arith::RemUIOp::create(builder, loc, trip, count);
    mapping.map(outer.getInductionVar(), outside->countAt(builder, loc, first));
    mapping.map(inner.getInductionVar(), inside->countAt(builder, loc, second));
    mapping.map(inner.getRegionIterArgs(), carried);
    for (Operation &op : outer.getBody()->without_terminator())
      if (&op != inner)
        builder.clone(op, mapping);
    for (Operation &op : inner.getBody()->without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> yielded;
    for (Value value : inner.getYieldedValues())
      yielded.push_back(mapping.lookupOrDefault(value));
    scf::YieldOp::create(builder, loc, yielded);
  };
  auto joined = scf::ForOp::create(builder, loc, constant(0),
                                   constant(outside->trips * inside->trips),
                                   constant(1), outer.getInits(), fill);
  outer.replaceAllUsesWith(joined.getResults());
  outer.erase();
  return true;
}

void chimera::joinLoops(scf::ForallOp forall) {
  auto joinAny = [&] {
    return forall
        .walk<WalkOrder::PreOrder>([](scf::ForOp loop) {
          return joinLoop(loop) ? WalkResult::interrupt()
                                : WalkResult::advance();
        })
        .wasInterrupted();
  };
  while (joinAny()) {
  }
}
