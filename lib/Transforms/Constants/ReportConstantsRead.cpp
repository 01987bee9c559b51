//===- ReportConstantsRead.cpp - Say when a constant is packed ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is prepared of constants is a copy of them, in another layout. A host
// that needs the originals for nothing else can free each as soon as it was
// read for the last time; waiting for the end would take the memory of both.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace chimera {
#define GEN_PASS_DEF_REPORTCONSTANTSREADPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The last operation of `block` that reads `buffer` or a view of it, or null.
static Operation *findLastReader(Value buffer, Block &block) {
  Operation *last = nullptr;
  SmallVector<Value> views = {buffer};
  while (!views.empty()) {
    for (Operation *user : views.pop_back_val().getUsers()) {
      // A result may be a part of the buffer.
      llvm::append_range(
          views, llvm::make_filter_range(user->getResults(), [](Value result) {
            return isa<BaseMemRefType>(result.getType());
          }));
      Operation *reader = block.findAncestorOpInBlock(*user);
      if (reader && (!last || last->isBeforeInBlock(reader)))
        last = reader;
    }
  }
  return last;
}

/// The function that is called with the number of a constant.
static func::FuncOp getReport(ModuleOp module) {
  StringRef name = "chimera_constant_read";
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = builder.getFunctionType({builder.getI64Type()}, {});
  auto report = func::FuncOp::create(builder, module.getLoc(), name, type);
  report.setPrivate();
  return report;
}

/// Reports in `preparation` those constants of `function` that it alone reads.
static void reportReads(func::FuncOp function, func::FuncOp preparation) {
  Block &body = preparation.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!function.getArgAttr(number, ChimeraDialect::getConstantAttrName()) ||
        !isa<BaseMemRefType>(argument.getType()) ||
        !function.getArgument(number).use_empty())
      continue;
    Operation *last = findLastReader(argument, body);
    if (!last)
      continue;
    OpBuilder builder(last->getContext());
    builder.setInsertionPointAfter(last);
    Location loc = last->getLoc();
    Value index = arith::ConstantIntOp::create(builder, loc, number, 64);
    auto module = preparation->getParentOfType<ModuleOp>();
    func::CallOp::create(builder, loc, getReport(module), index);
  }
}

namespace {
struct ReportConstantsReadPass
    : chimera::impl::ReportConstantsReadPassBase<ReportConstantsReadPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      auto preparation = module.lookupSymbol<func::FuncOp>(
          (function.getName() + "_prepare").str());
      if (function.isExternal() || !preparation || preparation.isExternal() ||
          preparation.getNumArguments() > function.getNumArguments() ||
          !llvm::hasSingleElement(preparation.getBody()))
        continue;
      reportReads(function, preparation);
    }
  }
};
} // namespace
