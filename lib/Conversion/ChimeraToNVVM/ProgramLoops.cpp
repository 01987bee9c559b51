//===- ProgramLoops.cpp - Loops of a thread block, and their copies -------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that chooses tiles copies those of later iterations ahead; one over
// parts of values in registers becomes straight code.
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace chimera;

/// Parts of a reduction whose loads are on their way at the same time.
static constexpr int64_t partsTogether = 4;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Starts the copies of tiles that are the same for the whole program.
void ProgramEmitter::fillStatic() {
  for (auto &[key, tile] : program.getTiles()) {
    if (tile.home)
      continue;
    FailureOr<GlobalTile> from = locate(tile.source, indices);
    if (failed(from))
      continue;
    shared.fill(tile, kernel.constant(0), *from);
    isStaticPending = true;
  }
  if (isStaticPending)
    shared.commit();
}

/// Waits for `tile` if no loop has done so.
void ProgramEmitter::ensureFilled(const SharedTile &tile) {
  if (tile.home || !isStaticPending)
    return;
  shared.await(0);
  isStaticPending = false;
}

/// Starts the copies for the iteration at `index`, if there is one.
void ProgramEmitter::fillAt(StreamingLoop &loop, Value index, Value stage) {
  kernel.createIf(kernel.isLess(index, loop.upper), [&] {
    ProgramIndices there = indices;
    there.set(loop.op.getInductionVar(), index);
    for (const SharedTile *tile : loop.tiles)
      if (FailureOr<GlobalTile> from = locate(tile->source, there);
          succeeded(from))
        shared.fill(*tile, stage, *from);
  });
}

void ProgramEmitter::startStreaming(StreamingLoop &loop) {
  if (loop.tiles.empty() || loop.ahead() == 0)
    return;
  // Threads may be in the last iteration of this loop's previous run.
  if (depth > 0)
    kernel.synchronize();
  for (int64_t stage = 0; stage < loop.ahead(); ++stage) {
    fillAt(loop, kernel.add(loop.lower, stage * loop.step),
           kernel.constant(stage));
    shared.commit();
  }
}

/// At the start of the iteration at `index`.
void ProgramEmitter::advance(StreamingLoop &loop, Value index) {
  if (loop.tiles.empty())
    return;
  Value trip = kernel.div(kernel.sub(index, loop.lower), loop.step);
  Value place = kernel.rem(trip, loop.stages);
  if (loop.ahead() == 0) {
    kernel.synchronize();
    fillAt(loop, index, place);
    shared.commit();
    shared.await(0);
  } else {
    shared.await(loop.ahead() - 1);
    Value next = kernel.add(index, loop.ahead() * loop.step);
    fillAt(loop, next, kernel.rem(kernel.add(trip, loop.ahead()), loop.stages));
    shared.commit();
  }
  isStaticPending = false;
  for (const SharedTile *tile : loop.tiles)
    shared.use(*tile, place);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// True if `loop` has an iteration wherever it runs. The bound of a causal mask
/// is the least of several: each is looked at.
bool ProgramEmitter::runsForSure(scf::ForOp loop) {
  using Bounds = ValueBoundsConstraintSet;
  Value upper = loop.getUpperBound();
  SmallVector<Bounds::Variable> ends;
  if (auto least = upper.getDefiningOp<affine::AffineMinOp>())
    for (unsigned end = 0; end < least.getMap().getNumResults(); ++end)
      ends.emplace_back(least.getMap().getSubMap(end),
                        ValueRange(least.getOperands()));
  else
    ends.emplace_back(OpFoldResult(upper));
  return llvm::all_of(ends, [&](const Bounds::Variable &end) {
    return Bounds::compare(OpFoldResult(loop.getLowerBound()), Bounds::LT, end);
  });
}

LogicalResult ProgramEmitter::emitLoop(scf::ForOp op) {
  StreamingLoop loop;
  loop.op = op;
  std::optional<int64_t> step = getConstantIntValue(op.getStep());
  if (!step || !op.getStep().getType().isIndex())
    return fail("a loop's step is not known");
  loop.step = *step;
  loop.lower = indices.get(kernel, op.getLowerBound());
  loop.upper = indices.get(kernel, op.getUpperBound());
  for (auto &[key, tile] : program.getTiles())
    if (tile.home == op) {
      loop.tiles.push_back(&tile);
      loop.stages = tile.stages;
    }
  int64_t carriedBefore = carriedRegisters;
  SmallVector<Value> inits;
  for (Value init : op.getInits()) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    if (failed(fragment))
      return failure();
    if (!program.isCarried(init))
      carriedRegisters += fragment->registers();
  }
  startStreaming(loop);
  bool wasPending = isStaticPending;
  ++depth;
  LogicalResult emitted =
      program.mustUnroll(op) ? unroll(loop) : emitRolled(loop);
  --depth;
  // Who has waited for an iteration's tiles has waited for all before them.
  isStaticPending = wasPending && (loop.tiles.empty() || !runsForSure(op));
  if (depth == 0 && succeeded(emitted))
    emitted = addSharersBehind(op);
  carriedRegisters = carriedBefore;
  return emitted;
}

/// Adds up what warps that share rows have carried through `loop`, if it runs a
/// product along whose reduction each has a part.
LogicalResult ProgramEmitter::addSharersBehind(scf::ForOp loop) {
  bool addsUp = false;
  loop.walk([&](BlockOp block) {
    const Contraction *contraction = program.getContraction(block);
    addsUp |= contraction && contraction->depthSharers > 1;
  });
  if (!addsUp)
    return success();
  for (Value result : loop.getResults())
    if (auto found = values.find(result); found != values.end() &&
                                          !found->second.isRows &&
                                          failed(addSharers(found->second)))
      return failure();
  return success();
}

/// Gives the arguments of the loop's body the parts `values`, one after the
/// other.
void ProgramEmitter::bindArguments(scf::ForOp op, ValueRange parts) {
  for (auto [argument, init] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getInits())) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    size_t count = fragment->parts.size();
    llvm::copy(parts.take_front(count), fragment->parts.begin());
    parts = parts.drop_front(count);
    values[argument] = *fragment;
  }
}

/// The parts of what an iteration hands on.
FailureOr<SmallVector<Value>> ProgramEmitter::takeYielded(scf::ForOp op) {
  SmallVector<Value> parts;
  for (auto [init, yielded] :
       llvm::zip_equal(op.getInits(), op.getYieldedValues())) {
    if (program.isLocal(init) != program.isLocal(yielded))
      return fail("a loop carries a value that changes its place");
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> before = getFragment(init);
    FailureOr<Fragment> after = getFragment(yielded);
    if (failed(after) || before->parts.size() != after->parts.size() ||
        before->elementType != after->elementType)
      return fail("a loop carries a value that changes its shape");
    fragments.complete(*after);
    llvm::append_range(parts, after->parts);
  }
  return parts;
}

LogicalResult ProgramEmitter::unroll(StreamingLoop &loop) {
  scf::ForOp op = loop.op;
  std::optional<int64_t> lower = getConstantIntValue(loop.lower);
  std::optional<int64_t> upper = getConstantIntValue(loop.upper);
  if (!lower || !upper)
    return fail("a loop over parts of values in registers has bounds that are "
                "not known");
  SmallVector<Value> parts;
  for (Value init : op.getInits())
    if (program.isLocal(init))
      llvm::append_range(parts, getFragment(init)->parts);
  for (int64_t index = *lower; index < *upper; index += loop.step) {
    bindArguments(op, parts);
    indices.set(op.getInductionVar(), kernel.constant(index));
    advance(loop, kernel.constant(index));
    if (failed(emitBody(*op.getBody())))
      return failure();
    FailureOr<SmallVector<Value>> yielded = takeYielded(op);
    if (failed(yielded))
      return failure();
    parts = *yielded;
  }
  bindArguments(op, parts);
  for (auto [argument, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (values.contains(argument))
      values[result] = Fragment(values[argument]);
  return success();
}

/// True if `op` goes over the parts of a reduction.
bool ProgramEmitter::combines(scf::ForOp op) {
  scf::ForallOp combination = program.getCombination().forall;
  return combination && combination->isProperAncestor(op);
}

LogicalResult ProgramEmitter::emitRolled(StreamingLoop &loop) {
  scf::ForOp op = loop.op;
  SmallVector<Value> inits;
  for (Value init : op.getInits()) {
    if (!program.isLocal(init))
      continue;
    FailureOr<Fragment> fragment = getFragment(init);
    fragments.complete(*fragment);
    llvm::append_range(inits, fragment->parts);
  }
  auto newLoop =
      scf::ForOp::create(kernel.builder, loc(), loop.lower, loop.upper,
                         kernel.constant(loop.step), inits);
  // Tiles are as large as registers allow: two iterations at a time are too
  // much.
  if (!loop.tiles.empty())
    KernelBuilder::keepRolled(newLoop);
  else if (combines(op))
    KernelBuilder::unroll(newLoop, partsTogether);
  // Of an iteration before, if there is one.
  KernelBuilder::Reads before = kernel.reads;
  kernel.reads.scratch.fill(true);
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.setInsertionPointToStart(newLoop.getBody());
    indices.set(op.getInductionVar(), newLoop.getInductionVar());
    bindArguments(op, newLoop.getRegionIterArgs());
    advance(loop, newLoop.getInductionVar());
    if (failed(emitBody(*op.getBody())))
      return failure();
    FailureOr<SmallVector<Value>> yielded = takeYielded(op);
    if (failed(yielded))
      return failure();
    // A loop that carries nothing has its terminator already.
    if (!inits.empty())
      scf::YieldOp::create(kernel.builder, loc(), *yielded);
  }
  if (!runsForSure(op))
    kernel.reads.add(before);
  bindArguments(op, newLoop.getResults());
  for (auto [argument, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (values.contains(argument))
      values[result] = Fragment(values[argument]);
  return success();
}
