//===- AddResultSizes.cpp - The sizes of results before a call ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"
#include "Sizes/FixSizes.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace chimera {
#define GEN_PASS_DEF_ADDRESULTSIZESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static bool hasDynamicResults(func::FuncOp function) {
  return llvm::any_of(function.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  });
}

/// Lets `function` return the dynamic sizes of what it returns.
static void returnSizes(func::FuncOp function) {
  auto end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  OpBuilder builder(end);
  Location loc = end.getLoc();
  SmallVector<Value> sizes;
  for (Value result : end.getOperands()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(arith::IndexCastOp::create(
            builder, loc, builder.getI64Type(),
            tensor::DimOp::create(builder, loc, result, dim)));
  }
  Value all = tensor::FromElementsOp::create(builder, loc, sizes);
  end->setOperands(all);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), all.getType()));
  function.removeResAttrsAttr();
}

/// Assertions are tested by the call itself.
static void dropAssertions(func::FuncOp function) {
  SmallVector<cf::AssertOp> assertions;
  function.walk([&](cf::AssertOp op) { assertions.push_back(op); });
  for (cf::AssertOp op : assertions)
    op.erase();
}

/// Takes the sizes of results from what they are made of, as far as possible.
/// What only the results need is dead then.
static void resolveSizes(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  // What does not converge is as right as what does.
  (void)applyPatternsGreedily(function, std::move(patterns));
  propagateShapes(function);
}

/// True if `op` computes with sizes of arguments or numbers in them.
static bool isSizeComputation(Operation &op) {
  if (isa<tensor::DimOp, tensor::ExtractOp>(op))
    return isa<BlockArgument>(op.getOperand(0));
  return isa<tensor::FromElementsOp, func::ReturnOp>(op) ||
         isa_and_present<arith::ArithDialect, affine::AffineDialect>(
             op.getDialect());
}

/// The function with the sizes of the results of `function`; null if these are
/// not known before it runs.
static func::FuncOp createSizes(func::FuncOp function, StringRef name) {
  func::FuncOp sizes = function.clone();
  sizes.setName(name);
  sizes->removeAttr(ChimeraDialect::getSizesAttrName());
  sizes.removeArgAttrsAttr();
  returnSizes(sizes);
  dropAssertions(sizes);
  // Sizes of sizes come in several rounds where shapes are computed.
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    resolveSizes(sizes);
    if (llvm::all_of(sizes.getBody().front(), isSizeComputation))
      return sizes;
  }
  sizes.erase();
  return nullptr;
}

namespace {
struct AddResultSizesPass
    : chimera::impl::AddResultSizesPassBase<AddResultSizesPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (function.isPublic() && llvm::hasSingleElement(function.getBody()) &&
          hasDynamicResults(function))
        addSizes(function, symbols);
  }

private:
  static void addSizes(func::FuncOp function, SymbolTable &symbols) {
    auto refuse = [&] {
      return remark::missed(function.getLoc(), named("sizes-unknown"));
    };
    std::string name = (function.getName() + "_sizes").str();
    if (symbols.lookup(name)) {
      refuse() << "callers have to know the sizes of results: there is a '" +
                      name + "' already";
      return;
    }
    func::FuncOp sizes = createSizes(function, name);
    if (!sizes) {
      refuse() << "callers have to know the sizes of results: they depend on "
                  "what is computed";
      return;
    }
    symbols.insert(sizes, std::next(Block::iterator(function)));
  }
};
} // namespace
