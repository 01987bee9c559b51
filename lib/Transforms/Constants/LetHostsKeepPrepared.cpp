//===- LetHostsKeepPrepared.cpp - What a host has prepared already --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model can be several programs: for a prompt and for the tokens after it, or
// for the parts around an operator that nobody compiles. What they prepare of
// the same weights in the same way is kept once by a host that knows how it is
// made.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

namespace chimera {
#define GEN_PASS_DEF_LETHOSTSKEEPPREPAREDPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// The values of an element of the state: the host has the value already, or
/// the program has just computed it. With any other, as 0 at first, it is to be
/// computed.
static constexpr int64_t isThere = 1, isComputed = 2;

namespace {
/// A call that computes one value.
struct Step {
  func::CallOp call;
  StringAttr recipe;
  memref::GetGlobalOp memory;
};
} // namespace

/// Adds the calls in `preparation` that compute values, and those in
/// preparations of versions, which it calls.
static void collectSteps(func::FuncOp preparation, SymbolTable &symbols,
                         DenseSet<Operation *> &seen,
                         SmallVectorImpl<Step> &steps) {
  if (!seen.insert(preparation).second)
    return;
  preparation.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee)
      return;
    auto recipe =
        callee->getAttrOfType<StringAttr>(ChimeraDialect::getRecipeAttrName());
    if (!recipe && !callee.isExternal() && callee.isPrivate())
      return collectSteps(callee, symbols, seen, steps);
    if (!recipe || call.getNumOperands() == 0)
      return;
    if (auto memory =
            call.getOperands().back().getDefiningOp<memref::GetGlobalOp>())
      steps.push_back({call, recipe, memory});
  });
}

/// Which argument of its function `value` is, or none. Versions have the
/// arguments of the function that they are versions of.
static std::optional<int64_t> findArgument(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>())
    value = cast.getSource();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return argument.getArgNumber();
}

/// What `step` prepares; with constants that are no arguments, by no recipe.
static PreparedAttr describe(Step step) {
  MLIRContext *context = step.recipe.getContext();
  SmallVector<int64_t> constants;
  StringAttr recipe = step.recipe;
  for (Value operand : step.call.getOperands().drop_back()) {
    std::optional<int64_t> argument = findArgument(operand);
    if (!argument)
      return PreparedAttr::get(context, step.memory.getNameAttr(), "", {});
    constants.push_back(*argument);
  }
  return PreparedAttr::get(context, step.memory.getNameAttr(), recipe,
                           constants);
}

/// Computes the value of `step` unless the element `number` of `state` says
/// that it is there.
static void guard(Step step, memref::GlobalOp state, int64_t number) {
  OpBuilder builder(step.call);
  Location loc = step.call.getLoc();
  Value states = memref::GetGlobalOp::create(builder, loc, state.getType(),
                                             state.getSymName());
  Value index = arith::ConstantIndexOp::create(builder, loc, number);
  Value known = memref::LoadOp::create(builder, loc, states, index);
  Value there = arith::ConstantIntOp::create(builder, loc, isThere, 8);
  Value isMissing = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne, known, there);
  auto compute = scf::IfOp::create(builder, loc, isMissing);
  step.call->moveBefore(compute.thenYield());
  builder.setInsertionPoint(compute.thenYield());
  Value computed = arith::ConstantIntOp::create(builder, loc, isComputed, 8);
  memref::StoreOp::create(builder, loc, computed, states, index);
}

static void letHostKeep(func::FuncOp preparation, SymbolTable &symbols) {
  SmallVector<Step> steps;
  DenseSet<Operation *> seen;
  collectSteps(preparation, symbols, seen, steps);
  if (steps.empty())
    return;
  OpBuilder builder(preparation);
  auto type = MemRefType::get(steps.size(), builder.getI8Type());
  auto zeros = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()),
      builder.getI8IntegerAttr(0));
  StringRef function = preparation.getName();
  auto state = memref::GlobalOp::create(
      builder, preparation.getLoc(), (function + "d_state").str(),
      /*sym_visibility=*/StringAttr(), type, zeros, /*constant=*/false,
      /*alignment=*/IntegerAttr());
  symbols.insert(state);
  SmallVector<Attribute> prepared;
  for (const auto &[number, step] : llvm::enumerate(steps)) {
    prepared.push_back(describe(step));
    guard(step, state, number);
  }
  preparation->setAttr(ChimeraDialect::getPreparedAttrName(),
                       builder.getArrayAttr(prepared));
}

namespace {
struct LetHostsKeepPreparedPass
    : chimera::impl::LetHostsKeepPreparedPassBase<LetHostsKeepPreparedPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (auto preparation = symbols.lookup<func::FuncOp>(
              (function.getName() + "_prepare").str()))
        if (function.isPublic() && !preparation.isExternal())
          letHostKeep(preparation, symbols);
  }
};
} // namespace
