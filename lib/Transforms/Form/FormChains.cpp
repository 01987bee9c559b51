//===- FormChains.cpp - Wrap chains of contractions -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries chains on copies: the operations of a candidate are cloned into a
// `chimera.chain`, which is normalized and analyzed. Only if it comes out in
// the form that the other passes take do the originals go; otherwise the copy
// does, and the program is what it was.
//
//===----------------------------------------------------------------------===//

#include "Form/ChainGroup.h"
#include "Form/FormGeneralChains.h"
#include "Form/NormalizeChain.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace chimera {
#define GEN_PASS_DEF_FORMCHAINSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// One attempt
//===----------------------------------------------------------------------===//

/// What the contractions of a chain must have in common.
enum class CommonLoop {
  /// A loop that is parallel for all of them.
  Parallel,
  /// Any loop. Vector-matrix products have no more than the loop that one
  /// produces and the next reduces.
  Any,
  /// None: the chain has one contraction.
  None
};

/// What keeps `chain` with `numContractions` from being one, if anything.
static MissedReason check(ChainOp chain, size_t numContractions,
                          CommonLoop wanted, bool mayBeNarrow) {
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, /*emitErrors=*/false);
  if (failed(analysis) || !isLowerable(*analysis) ||
      analysis->operators.size() != numContractions ||
      (isNarrow(*analysis) && !mayBeNarrow))
    return MissedReason::NotNormalized;
  if (wanted == CommonLoop::None)
    return MissedReason::None;
  const model::ChainProblem &problem = analysis->problem;
  for (model::LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (problem.isShared(loop) &&
        (wanted == CommonLoop::Any || !problem.isReduction(loop)))
      return MissedReason::None;
  return MissedReason::NoCommonLoop;
}

namespace {

/// A run of contractions with some of the elementwise operations after it, and
/// the chain that was built for them.
class Attempt {
public:
  Attempt(ContractionRun run, ArrayRef<Operation *> tail, CommonLoop wanted,
          bool mayBeNarrow)
      : run(std::move(run)), tail(tail), wanted(wanted),
        mayBeNarrow(mayBeNarrow) {}

  /// Builds the chain beside the original operations. The reason says why there
  /// is none.
  MissedReason build();
  /// Puts the chain in the place of the original operations.
  void commit();
  /// Takes the chain back.
  void drop() { formed.erase(); }

private:
  ContractionRun run;
  ArrayRef<Operation *> tail;
  CommonLoop wanted;
  bool mayBeNarrow;
  SmallVector<Operation *> group;
  FormedChain formed;
};

} // namespace

MissedReason Attempt::build() {
  group = getGroup(run, tail);
  ChainOp chain = cloneIntoChain(group, group.back()->getResult(0));
  if (failed(normalizeBody(chain))) {
    chain.erase();
    return MissedReason::NotNormalized;
  }
  formed = moveBoundaryOut(chain);
  MissedReason reason = check(formed.chain, run.size(), wanted, mayBeNarrow);
  if (reason != MissedReason::None)
    formed.erase();
  return reason;
}

void Attempt::commit() {
  group.back()->getResult(0).replaceAllUsesWith(formed.result);
  // Preparations may have other users; those stay.
  for (Operation *op : llvm::reverse(group))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class FormChainsPass
    : public chimera::impl::FormChainsPassBase<FormChainsPass> {
public:
  using Base::Base;
  void runOnOperation() override;

private:
  void formLoweredChains();
  void formChains(SmallVector<linalg::LinalgOp> candidates);
  void formAttention(SmallVectorImpl<linalg::LinalgOp> &candidates);
  void formLoneChains(ArrayRef<linalg::LinalgOp> candidates);
  bool formChainsOfRun(const ContractionRun &run, CommonLoop wanted);
  bool formChain(const ContractionRun &run, CommonLoop wanted);
  MissedReason buildChain(const ContractionRun &run, CommonLoop wanted);
  ContractionRun findLongestStart(ArrayRef<linalg::LinalgOp> run,
                                  CommonLoop wanted);
  void note(ArrayRef<linalg::LinalgOp> run, MissedReason reason);
  void reportMissed();

  struct Missed {
    Location loc;
    MissedReason reason;
  };
  /// The contractions that are in no chain with others, in the order they were
  /// looked at. Those that became a chain by themselves are gone.
  llvm::MapVector<Operation *, Missed> missed;
  llvm::SmallPtrSet<Operation *, 8> taken;
};

} // namespace

static remark::RemarkOpts named(StringRef name) {
  return remark::RemarkOpts::name(name).category("chimera");
}

void FormChainsPass::note(ArrayRef<linalg::LinalgOp> run, MissedReason reason) {
  for (linalg::LinalgOp op : run)
    missed.insert_or_assign(op, Missed{op->getLoc(), reason});
}

void FormChainsPass::reportMissed() {
  for (auto &[op, contraction] : missed)
    remark::missed(contraction.loc, named("not-in-chain")) << remark::add(
        "not in a chain: {0}", getText(contraction.reason).str());
}

/// Forms a chain of exactly `run`, with as much as possible of what follows it.
/// The reason says why there is none.
MissedReason FormChainsPass::buildChain(const ContractionRun &run,
                                        CommonLoop wanted) {
  SmallVector<Operation *> tail = getTail(run.back());
  MissedReason reason = MissedReason::None;
  for (size_t length = tail.size() + 1; length-- > 0;) {
    Attempt attempt(run, ArrayRef(tail).take_front(length), wanted, narrow);
    reason = attempt.build();
    if (reason != MissedReason::None)
      continue;
    attempt.commit();
    break;
  }
  return reason;
}

bool FormChainsPass::formChain(const ContractionRun &run, CommonLoop wanted) {
  Location loc = run.back()->getLoc();
  MissedReason reason = buildChain(run, wanted);
  if (reason != MissedReason::None) {
    note(run, reason);
    return false;
  }
  remark::passed(loc, named("chain"))
      << remark::add("formed a chain of {0} contractions", run.size());
  for (linalg::LinalgOp op : run) {
    missed.erase(op);
    taken.insert(op);
  }
  return true;
}

/// The longest part of `run` that forms a chain and holds the first
/// contraction. Empty if there is none.
ContractionRun FormChainsPass::findLongestStart(ArrayRef<linalg::LinalgOp> run,
                                                CommonLoop wanted) {
  ContractionRun longest;
  llvm::SetVector<Operation *> allowed;
  for (linalg::LinalgOp last : run) {
    allowed.insert(last);
    ContractionRun part = getContractionsReaching(last, allowed);
    if (part.size() < 2 || part.front() != run.front())
      continue;
    Attempt attempt(part, {}, wanted, narrow);
    if (MissedReason reason = attempt.build(); reason != MissedReason::None) {
      // Whatever comes later would hold this part.
      note(part, reason);
      break;
    }
    attempt.drop();
    longest = part;
  }
  return longest;
}

/// Forms one chain of all of `run` if possible, else several of parts of it,
/// earlier ones first. False if there is none.
bool FormChainsPass::formChainsOfRun(const ContractionRun &run,
                                     CommonLoop wanted) {
  if (formChain(run, wanted))
    return true;
  if (run.size() == 2)
    return false;
  bool formed = false;
  llvm::SetVector<linalg::LinalgOp> remaining(run.begin(), run.end());
  while (remaining.size() > 1) {
    ContractionRun part = findLongestStart(remaining.getArrayRef(), wanted);
    if (!part.empty() && formChain(part, wanted))
      formed = true;
    else
      part = {remaining.front()};
    for (linalg::LinalgOp op : part)
      remaining.remove(op);
  }
  return formed;
}

/// Forms the chains of two contractions with a softmax between them, and takes
/// them out of `candidates`.
void FormChainsPass::formAttention(
    SmallVectorImpl<linalg::LinalgOp> &candidates) {
  llvm::SetVector<linalg::LinalgOp> left(candidates.begin(), candidates.end());
  for (linalg::LinalgOp second : llvm::to_vector(candidates)) {
    linalg::LinalgOp first = findSoftmaxProducer(second);
    if (!first || !left.contains(first) || !left.contains(second))
      continue;
    if (!formChain({first, second}, CommonLoop::Parallel)) {
      note({first, second}, MissedReason::NoSoftmax);
      continue;
    }
    left.remove(first);
    left.remove(second);
  }
  candidates.assign(left.begin(), left.end());
}

/// Forms the chains among `candidates`, the supported contractions of a block.
void FormChainsPass::formChains(SmallVector<linalg::LinalgOp> candidates) {
  formAttention(candidates);
  SmallVector<ContractionRun> runs = findRuns(candidates);
  bool explain = getContext().getRemarkEngine() != nullptr;
  for (const ContractionRun &run : runs)
    if (explain && run.size() == 1 && !missed.contains(run.front()))
      note(run, explainNeighbours(run.front(), narrow));
  for (const ContractionRun &run : runs)
    if (run.size() > 1 && !formChainsOfRun(run, CommonLoop::Parallel))
      formChainsOfRun(run, CommonLoop::Any);
  formLoneChains(candidates);
}

/// Makes a chain of its own of each of `candidates` that is in none, so that it
/// is planned and runs through the same kernels.
void FormChainsPass::formLoneChains(ArrayRef<linalg::LinalgOp> candidates) {
  for (linalg::LinalgOp op : candidates)
    if (!taken.contains(op) &&
        buildChain({op}, CommonLoop::None) != MissedReason::None)
      note({op}, MissedReason::NotByItself);
}

void FormChainsPass::runOnOperation() {
  if (kinds == ChainKinds::All)
    formGeneralChains(getOperation());
  else
    formLoweredChains();
  if (!printProblem)
    return;
  getOperation()->walk([](ChainOp chain) {
    FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
    if (succeeded(analysis))
      chimera::printProblem(llvm::errs(), analysis->problem);
  });
}

void FormChainsPass::formLoweredChains() {
  missed.clear();
  taken.clear();
  llvm::MapVector<Block *, SmallVector<linalg::LinalgOp>> candidates;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ChainOp, BlockOp, MicroKernelOp>(op))
      return WalkResult::skip();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return WalkResult::advance();
    if (isContractionLike(linalgOp)) {
      MissedReason obstacle = getObstacle(linalgOp, narrow);
      if (obstacle == MissedReason::None)
        candidates[op->getBlock()].push_back(linalgOp);
      else
        note(linalgOp, obstacle);
    }
    return WalkResult::skip();
  });
  for (auto &[block, contractions] : candidates)
    formChains(contractions);
  reportMissed();
}
