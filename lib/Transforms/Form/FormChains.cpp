//===- FormChains.cpp - Wrap operators into chains ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chains that code is generated from come first. What is left joins to chains
// that can only be planned, so that nothing runs slower for being planned; an
// operator that joins no other is a chain by itself if code is generated from
// it.
//
//===----------------------------------------------------------------------===//

#include "Form/ChainFormer.h"
#include "Form/MissedReason.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/OpKinds.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"

namespace chimera {
#define GEN_PASS_DEF_FORMCHAINSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static bool hasEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

/// Why `op` can be no operator of a chain that is planned; empty if it can.
static StringRef getPlanningObstacle(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return missed::buffers;
  if (!llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty))
    return missed::shape;
  if (llvm::any_of(op->getOperandTypes(), hasEncoding))
    return missed::encoding;
  return isComputeIntensive(op) ? "" : missed::form;
}

/// Why no code is generated from `op`, as far as its own form tells, where
/// there is code for what `support` says.
static LoweringObstacle getLoweringObstacle(linalg::LinalgOp op,
                                            const OperatorSupport &support) {
  if (!isSupportedOperator(op) ||
      !llvm::all_of(op->getOperandTypes(), isStaticAndNotEmpty))
    return LoweringObstacle::Operator;
  if (!support.hasWindows && !isSupportedContraction(op))
    return LoweringObstacle::Windows;
  return support.computes(*op.getBlock()) ? LoweringObstacle::None
                                          : LoweringObstacle::ElementType;
}

namespace {

/// Forms the chains of a block.
class BlockFormer {
public:
  /// There is code for what `support` says.
  BlockFormer(OperatorList operators, const OperatorSupport &support);

  void formCompiledChains();
  void formPlannedChains();
  void formLoneChains();
  /// Says why operators are in no chain with others.
  void report() const;

private:
  struct Candidate {
    /// Gone once it is part of a chain.
    linalg::LinalgOp op;
    Location loc;
    StringRef planningObstacle;
    LoweringObstacle loweringObstacle;
    bool isTaken = false;
    /// Why it joined no other.
    std::string reason;

    bool mayBeCompiled() const {
      return loweringObstacle == LoweringObstacle::None;
    }
  };

  void formChainsOf(llvm::function_ref<bool(Candidate &)> mayJoin,
                    const ChainBuilder &builder);

  OperatorSupport support;
  ChainBuilder compiler;
  std::vector<Candidate> candidates;
};

} // namespace

BlockFormer::BlockFormer(OperatorList operators, const OperatorSupport &support)
    : support(support), compiler(ChainForm::Compiled, support) {
  for (linalg::LinalgOp op : operators) {
    StringRef obstacle = getPlanningObstacle(op);
    candidates.push_back({op, op.getLoc(), obstacle,
                          getLoweringObstacle(op, support),
                          /*isTaken=*/false, obstacle.str()});
  }
}

/// Joins those of the candidates that are in no chain yet and that `mayJoin`.
void BlockFormer::formChainsOf(llvm::function_ref<bool(Candidate &)> mayJoin,
                               const ChainBuilder &builder) {
  SmallVector<linalg::LinalgOp> operators;
  SmallVector<Candidate *> members;
  for (Candidate &candidate : candidates)
    if (!candidate.isTaken && mayJoin(candidate)) {
      members.push_back(&candidate);
      operators.push_back(candidate.op);
    }
  MissedOperators missed;
  formChains(operators, builder, missed);
  for (Candidate *member : members) {
    auto reason = missed.find(member->op.getOperation());
    member->isTaken = reason == missed.end();
    // Who is alone now may have had a neighbour before.
    if (!member->isTaken &&
        (member->reason.empty() || reason->second != missed::alone))
      member->reason = reason->second;
  }
}

void BlockFormer::formCompiledChains() {
  formChainsOf([](Candidate &candidate) { return candidate.mayBeCompiled(); },
               compiler);
}

void BlockFormer::formPlannedChains() {
  formChainsOf(
      [](Candidate &candidate) { return candidate.planningObstacle.empty(); },
      ChainBuilder(ChainForm::Planned, support));
}

/// Makes a chain of its own of each operator that is in none, so that it is
/// planned and runs through the same kernels.
void BlockFormer::formLoneChains() {
  for (Candidate &candidate : candidates)
    if (!candidate.isTaken && candidate.mayBeCompiled() &&
        !compiler.commit(candidate.op).empty())
      candidate.reason = missed::notByItself.str();
}

void BlockFormer::report() const {
  for (const Candidate &candidate : candidates) {
    if (candidate.isTaken)
      continue;
    std::string text = candidate.reason;
    if (candidate.planningObstacle.empty() && !candidate.mayBeCompiled())
      text += "; no code is generated from it: " +
              getText(candidate.loweringObstacle, support);
    remark::missed(candidate.loc, named("not-in-chain"))
        << remark::add("not in a chain: {0}", text);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FormChainsPass : chimera::impl::FormChainsPassBase<FormChainsPass> {
  using Base::Base;

  void runOnOperation() override {
    // A wrong option is an error even where there is nothing to form.
    if (failed(resolveTarget(getOperation(), target)))
      return signalPassFailure();
    llvm::MapVector<Block *, SmallVector<linalg::LinalgOp>> operators;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ChainOp, BlockOp, MicroKernelOp>(op))
        return WalkResult::skip();
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (!linalgOp)
        return WalkResult::advance();
      if (isOperatorLike(linalgOp))
        operators[op->getBlock()].push_back(linalgOp);
      return WalkResult::skip();
    });
    for (auto &[block, ofBlock] : operators) {
      Operation *scope = block->getParentOp();
      FailureOr<TargetAttrInterface> found = resolveTarget(scope, target);
      if (failed(found))
        return signalPassFailure();
      BlockFormer former(ofBlock, getOperatorSupport(scope, *found));
      former.formCompiledChains();
      if (!compiledOnly)
        former.formPlannedChains();
      former.formLoneChains();
      if (!compiledOnly)
        former.report();
    }
    if (!printProblem)
      return;
    getOperation()->walk([](ChainOp chain) {
      FailureOr<ChainAnalysis> analysis = analyzeChain(chain);
      if (succeeded(analysis))
        chimera::printProblem(llvm::errs(), analysis->problem);
    });
  }
};
} // namespace
