//===- PrepareConstants.cpp - Compute constants once ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"

#include "Chimera/Chain/SameInEveryCall.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace chimera {
#define GEN_PASS_DEF_PREPARECONSTANTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Moves what one function prepares into a function of its own.
class Preparer {
public:
  Preparer(func::FuncOp function, SymbolTable &symbols, int64_t &bytesLeft)
      : function(function), symbols(symbols), bytesLeft(bytesLeft) {}

  LogicalResult run();

private:
  bool takesRoom(PrepareOp op);
  LogicalResult createPreparation();
  LogicalResult prepare(PrepareOp op, const SetVector<Operation *> &operations);

  func::FuncOp function, preparation;
  SymbolTable &symbols;
  /// Values of `function` in `preparation`.
  IRMapping mapping;
  int64_t &bytesLeft;
};

} // namespace

/// True, and the room is taken, if there is enough left for what `op` prepares.
bool Preparer::takesRoom(PrepareOp op) {
  auto refuse = [&]() {
    return remark::missed(op.getLoc(), named("not-prepared"));
  };
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat()) {
    refuse() << "computed in every call: only numbers of a static shape have a "
                "place to be kept in";
    return false;
  }
  int64_t bytes = bytesOf(type.getElementType());
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      bytes = std::numeric_limits<int64_t>::max();
  if (bytes > bytesLeft) {
    refuse() << "computed in every call: preparing it would take "
             << remark::metric("bytes", bytes);
    return false;
  }
  bytesLeft -= bytes;
  return true;
}

/// A function with the arguments of the first, and nothing in it yet.
LogicalResult Preparer::createPreparation() {
  if (!SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    return function.emitError("has constants to prepare, but is called in this "
                              "module, where nobody prepares them; inline it, "
                              "or remove '")
           << ChimeraDialect::getConstantAttrName() << "'";
  std::string name = (function.getName() + "_prepare").str();
  if (symbols.lookup(name))
    return function.emitError("has constants to prepare, but '")
           << name << "' exists already; rename that, or remove '"
           << ChimeraDialect::getConstantAttrName() << "'";
  preparation = function.cloneWithoutRegions();
  preparation.setName(name);
  preparation.setFunctionType(FunctionType::get(function.getContext(),
                                                function.getArgumentTypes(),
                                                /*results=*/{}));
  preparation.removeResAttrsAttr();
  preparation->removeAttr(ChimeraDialect::getVersionAttrName());
  preparation->removeAttr(ChimeraDialect::getEqualSizesAttrName());
  symbols.insert(preparation, std::next(Block::iterator(function)));
  Block *body = preparation.addEntryBlock();
  mapping.map(function.getArguments(), body->getArguments());
  auto builder = OpBuilder::atBlockEnd(body);
  // The preparation may take this process's part of something, and runs first.
  for (CheckGridOp check : function.getOps<CheckGridOp>())
    builder.clone(*check);
  func::ReturnOp::create(builder, function.getLoc());
  return success();
}

LogicalResult Preparer::prepare(PrepareOp op,
                                const SetVector<Operation *> &operations) {
  if (!preparation && failed(createPreparation()))
    return failure();
  OpBuilder builder(preparation.getBody().front().getTerminator());
  for (Operation *operation : operations) {
    if (operation->getNumResults() > 0 &&
        mapping.contains(operation->getResult(0)))
      continue;
    if (auto inner = dyn_cast<PrepareOp>(operation))
      mapping.map(inner.getResult(), mapping.lookup(inner.getSource()));
    else
      builder.clone(*operation, mapping);
  }

  auto tensor = cast<RankedTensorType>(op.getType());
  auto type = MemRefType::get(tensor.getShape(), tensor.getElementType());
  Location loc = op.getLoc();
  OpBuilder atModule(function);
  auto global = memref::GlobalOp::create(
      atModule, loc, (function.getName() + "_prepared").str(),
      atModule.getStringAttr("private"), type, atModule.getUnitAttr(),
      /*constant=*/false, /*alignment=*/atModule.getI64IntegerAttr(64));
  StringAttr name = symbols.insert(global);

  Value memory = memref::GetGlobalOp::create(builder, loc, type, name);
  auto store = bufferization::MaterializeInDestinationOp::create(
      builder, loc, mapping.lookup(op.getSource()), memory);
  store.setRestrict(true);
  store.setWritable(true);

  builder.setInsertionPoint(op);
  memory = memref::GetGlobalOp::create(builder, loc, type, name);
  Value prepared = bufferization::ToTensorOp::create(builder, loc, tensor,
                                                     memory, /*restrict=*/true);
  op.getResult().replaceAllUsesWith(prepared);
  return success();
}

LogicalResult Preparer::run() {
  SmallVector<PrepareOp> ops;
  function.walk([&](PrepareOp op) { ops.push_back(op); });
  // From the last on: what is prepared for something that is prepared goes with
  // it.
  for (PrepareOp op : llvm::reverse(ops)) {
    Value source = op.getSource();
    if (!op->use_empty()) {
      FailureOr<SetVector<Operation *>> operations =
          findConstantComputation(source);
      if (succeeded(operations) && !operations->empty() && takesRoom(op)) {
        if (failed(prepare(op, *operations)))
          return failure();
      } else {
        op.getResult().replaceAllUsesWith(source);
      }
    }
    op.erase();
    SmallVector<Operation *> unused = {source.getDefiningOp()};
    while (!unused.empty()) {
      Operation *last = unused.pop_back_val();
      if (!last || isa<PrepareOp>(last) || !isOpTriviallyDead(last))
        continue;
      for (Value operand : last->getOperands())
        if (!llvm::is_contained(unused, operand.getDefiningOp()))
          unused.push_back(operand.getDefiningOp());
      last->erase();
    }
  }
  return success();
}

namespace {
struct PrepareConstantsPass
    : chimera::impl::PrepareConstantsPassBase<PrepareConstantsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    int64_t bytesLeft = maxBytes;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(Preparer(function, symbols, bytesLeft).run()))
        return signalPassFailure();
  }
};
} // namespace
