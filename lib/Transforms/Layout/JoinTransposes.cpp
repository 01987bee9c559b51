//===- JoinTransposes.cpp - Transposes of fewer dimensions ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images change between channels first and channels last as squares of vectors
// of channels and of pixels of a row. Rows of 56 pixels are three and a half
// vectors, of which every other one begins in the middle of a line. As the
// pixels of a plane stay together, they can be a row.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

namespace chimera {
#define GEN_PASS_DEF_JOINTRANSPOSESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The dimensions of the result of a transpose that follow each other in its
/// operand as well, those that do together.
static SmallVector<ReassociationIndices>
findRuns(ArrayRef<int64_t> permutation) {
  SmallVector<ReassociationIndices> runs;
  for (auto [dim, source] : llvm::enumerate(permutation)) {
    if (dim == 0 || permutation[dim - 1] + 1 != source)
      runs.emplace_back();
    runs.back().push_back(static_cast<int64_t>(dim));
  }
  return runs;
}

/// True if columns become rows, and a run of several dimensions has the last
/// one of the operand or of the result: rows get longer.
static bool makesRowsLonger(ArrayRef<ReassociationIndices> runs,
                            ArrayRef<int64_t> permutation) {
  auto last = static_cast<int64_t>(permutation.size()) - 1;
  return permutation.back() != last &&
         llvm::any_of(runs, [&](const ReassociationIndices &run) {
           return run.size() > 1 &&
                  (run.back() == last || permutation[run.back()] == last);
         });
}

/// Lets `op` transpose a tensor in which dimensions that stay together are one,
/// if rows are longer then.
static void joinDimensions(IRRewriter &rewriter, linalg::TransposeOp op) {
  auto type = cast<RankedTensorType>(op->getResultTypes().front());
  SmallVector<ReassociationIndices> runs = findRuns(op.getPermutation());
  if (!type.hasStaticShape() || !makesRowsLonger(runs, op.getPermutation()))
    return;
  SmallVector<ReassociationIndices> sources;
  for (const ReassociationIndices &run : runs) {
    ReassociationIndices &source = sources.emplace_back();
    for (int64_t dim : run)
      source.push_back(op.getPermutation()[dim]);
  }
  llvm::sort(sources, [](const ReassociationIndices &left,
                         const ReassociationIndices &right) {
    return left.front() < right.front();
  });
  SmallVector<int64_t> order;
  for (const ReassociationIndices &run : runs)
    order.push_back(llvm::find_if(sources,
                                  [&](const ReassociationIndices &source) {
                                    return source.front() ==
                                           op.getPermutation()[run.front()];
                                  }) -
                    sources.begin());
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value joined =
      tensor::CollapseShapeOp::create(rewriter, loc, op.getInput(), sources);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc,
      applyPermutation(cast<RankedTensorType>(joined.getType()).getShape(),
                       order),
      type.getElementType());
  Value transposed =
      linalg::TransposeOp::create(rewriter, loc, joined, empty, order)
          ->getResult(0);
  rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, type, transposed,
                                                     runs);
}

/// True if what `op` makes becomes a part of a larger tensor: it is written
/// there, rows of pixels apart.
static bool makesPart(linalg::TransposeOp op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<tensor::PadOp, tensor::ConcatOp, tensor::InsertSliceOp>(user);
  });
}

namespace {
struct JoinTransposesPass
    : chimera::impl::JoinTransposesPassBase<JoinTransposesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::TransposeOp> transposes;
    getOperation()->walk([&](linalg::TransposeOp op) {
      // What is transposed before the first call is best as it is.
      if (op.hasPureTensorSemantics() && !isSameInEveryCall(op.getInput()) &&
          !makesPart(op))
        transposes.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::TransposeOp op : transposes)
      joinDimensions(rewriter, op);
  }
};
} // namespace
