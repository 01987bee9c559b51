//===- WidenFactors.cpp - Elements of factors converted once --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels multiply vectors of one factor by single elements of the other. Where
// they multiply narrow floats in f32, they convert a vector when they load it:
// one instruction or two for all that it is multiplied by. An element would
// take as many, whenever it is read. So chains read elements from a copy in
// f32.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"
#include "Form/ConvertElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace chimera {
#define GEN_PASS_DEF_WIDENFACTORSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Converts inputs of chains.
class FactorWidener {
public:
  FactorWidener(func::FuncOp func, TargetAttrInterface target)
      : builder(func.getContext()), target(target) {}

  void run(ChainOp chain);

private:
  bool isWidened(ChainOp chain, Value value);
  Value getCopy(Value value, bool isConstant);
  void setFactor(ChainOp chain, linalg::GenericOp op, OpOperand &factor,
                 Value copy);

  OpBuilder builder;
  TargetAttrInterface target;
  /// Copies by what they are copies of.
  llvm::DenseMap<Value, Value> copies;
};

} // namespace

bool FactorWidener::isWidened(ChainOp chain, Value value) {
  Type type = getElementTypeOrSelf(value);
  return isNarrowFloat(type) && areAllMultipliedInSumType(chain, target, type);
}

/// `value` in f32, converted once if `isConstant`.
Value FactorWidener::getCopy(Value value, bool isConstant) {
  Value &copy = copies[value];
  if (copy)
    return copy;
  builder.setInsertionPointAfterValue(value);
  copy = createConverted(builder, value, getWideType(builder.getContext()));
  if (isConstant)
    copy = PrepareOp::create(builder, value.getLoc(), copy);
  return copy;
}

/// Lets `op`, in `chain`, read `copy` as `factor`.
void FactorWidener::setFactor(ChainOp chain, linalg::GenericOp op,
                              OpOperand &factor, Value copy) {
  auto old = cast<BlockArgument>(factor.get());
  if (old.hasOneUse()) {
    chain.getInputsMutable()[old.getArgNumber()].set(copy);
    old.setType(copy.getType());
  } else {
    chain.getInputsMutable().append(copy);
    factor.set(
        chain.getBody().front().addArgument(copy.getType(), chain.getLoc()));
  }
  BlockArgument scalar = op.getMatchingBlockArgument(&factor);
  for (Operation *user : llvm::make_early_inc_range(scalar.getUsers()))
    if (isa<arith::ExtFOp>(user)) {
      user->getResult(0).replaceAllUsesWith(scalar);
      user->erase();
    }
  scalar.setType(getElementTypeOrSelf(copy));
}

void FactorWidener::run(ChainOp chain) {
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, /*emitErrors=*/false);
  if (chain.getSchedule() || failed(analysis) || !isLowerable(*analysis))
    return;
  for (auto [description, op] :
       llvm::zip_equal(analysis->problem.operators, analysis->operators)) {
    auto generic = dyn_cast<linalg::GenericOp>(op.contraction.getOperation());
    if (!generic)
      continue;
    for (auto [access, factor] :
         llvm::zip_equal(description.inputs, generic.getDpsInputOperands())) {
      auto argument = dyn_cast<BlockArgument>(factor->get());
      if (!argument || access.hasLoop(description.vectorLoop) ||
          !isWidened(chain, argument))
        continue;
      bool isConstant = analysis->problem.tensors[access].isConstant;
      setFactor(
          chain, generic, *factor,
          getCopy(chain.getInputs()[argument.getArgNumber()], isConstant));
    }
  }
}

namespace {
struct WidenFactorsPass
    : chimera::impl::WidenFactorsPassBase<WidenFactorsPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> found =
        resolveTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    FactorWidener widener(getOperation(), *found);
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) { chains.push_back(chain); });
    for (ChainOp chain : chains)
      widener.run(chain);
  }
};
} // namespace
