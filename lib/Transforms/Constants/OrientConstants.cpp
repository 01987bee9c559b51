//===- OrientConstants.cpp - Constants in the order of vectors ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SameInEveryCall.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace chimera {
#define GEN_PASS_DEF_ORIENTCONSTANTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
/// An operand of `contraction` that is to be transposed: an input of the chain
/// whose dimension `columns` vectors lie along.
struct Candidate {
  linalg::LinalgOp contraction;
  OpOperand *operand;
  int64_t columns;
};
} // namespace

static SmallVector<Candidate> findCandidates(ChainAnalysis &analysis) {
  SmallVector<Candidate> candidates;
  for (auto [description, op] :
       llvm::zip_equal(analysis.problem.operators, analysis.operators))
    for (auto [access, operand] : llvm::zip_equal(
             description.inputs, op.contraction.getDpsInputOperands())) {
      auto argument = dyn_cast<BlockArgument>(operand->get());
      if (!argument || !argument.hasOneUse() ||
          !analysis.problem.tensors[access].isConstant)
        continue;
      for (auto [dim, index] : llvm::enumerate(access.indices))
        if (index.isLoop() && index.hasLoop(description.vectorLoop) &&
            dim + 1 < access.indices.size())
          candidates.push_back(
              {op.contraction, operand, static_cast<int64_t>(dim)});
    }
  return candidates;
}

/// Lets the chain read the operand with its columns last.
static void orient(RewriterBase &rewriter, ChainOp chain,
                   const Candidate &candidate) {
  auto argument = cast<BlockArgument>(candidate.operand->get());
  unsigned input = argument.getArgNumber(),
           position = candidate.operand->getOperandNumber();
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> permutation;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != candidate.columns)
      permutation.push_back(dim);
  permutation.push_back(candidate.columns);

  Location loc = chain.getLoc();
  rewriter.setInsertionPoint(chain);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, applyPermutation(type.getShape(), permutation),
      type.getElementType());
  auto transposed = linalg::TransposeOp::create(
      rewriter, loc, chain.getInputs()[input], empty, permutation);
  Value result = transposed->getResult(0);
  Value once = PrepareOp::create(rewriter, loc, result);

  linalg::LinalgOp contraction = candidate.contraction;
  auto generic = dyn_cast<linalg::GenericOp>(contraction.getOperation());
  if (!generic) {
    rewriter.setInsertionPoint(contraction);
    generic = *linalg::generalizeNamedOp(rewriter, contraction);
  }
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  AffineMap map = maps[position];
  maps[position] = AffineMap::get(
      map.getNumDims(), map.getNumSymbols(),
      applyPermutation(map.getResults(), permutation), map.getContext());
  generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  argument.setType(cast<RankedTensorType>(once.getType()));
  chain.getInputsMutable()[input].set(once);
}

namespace {
struct OrientConstantsPass
    : chimera::impl::OrientConstantsPassBase<OrientConstantsPass> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains)
      while (true) {
        FailureOr<ChainAnalysis> analysis =
            analyzeChain(chain, /*emitErrors=*/false);
        if (chain.getSchedule() || failed(analysis) || !isLowerable(*analysis))
          break;
        SmallVector<Candidate> candidates = findCandidates(*analysis);
        if (candidates.empty())
          break;
        orient(rewriter, chain, candidates.front());
      }
  }
};
} // namespace
