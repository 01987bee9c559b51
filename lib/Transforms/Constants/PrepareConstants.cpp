//===- PrepareConstants.cpp - Compute constants once ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers/ResultAttribute.h"
#include "Constants/PreparedElements.h"
#include "NamedRemarks.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/SameInEveryCall.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"

#include <limits>

namespace chimera {
#define GEN_PASS_DEF_PREPARECONSTANTSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {

/// Makes functions that compute a value of constants. Values that are computed
/// alike, as those of a network's layers are, have one function.
class Recipes {
public:
  explicit Recipes(SymbolTable &symbols) : symbols(symbols) {}

  /// A function that does `operations`, which compute `value`, and writes that
  /// to its last argument, of `type`; the others are `constants`.
  func::FuncOp get(func::FuncOp origin, Value value, MemRefType type,
                   const SetVector<Operation *> &operations,
                   ArrayRef<BlockArgument> constants);

private:
  SymbolTable &symbols;
  llvm::StringMap<func::FuncOp> known;
};

/// Moves what one function prepares into a function of its own.
class Preparer {
public:
  Preparer(func::FuncOp function, SymbolTable &symbols, Recipes &recipes,
           int64_t &bytesLeft)
      : function(function), symbols(symbols), recipes(recipes),
        bytesLeft(bytesLeft) {}

  LogicalResult run();

private:
  bool takesRoom(PrepareOp op);
  LogicalResult createPreparation();
  LogicalResult prepare(PrepareOp op, const SetVector<Operation *> &operations);

  func::FuncOp function, preparation;
  SymbolTable &symbols;
  Recipes &recipes;
  int64_t &bytesLeft;
  SmallVector<std::pair<HeldArgument, memref::GlobalOp>> held;
};

} // namespace

/// True if what `function` computes from can be printed in few words.
static bool isShort(func::FuncOp function) {
  constexpr int64_t most = 4096;
  AttrTypeWalker walker;
  walker.addWalk([&](ElementsAttr elements) {
    bool isShort = elements.isSplat() || elements.size() <= most;
    return isShort && !isa<DenseResourceElementsAttr>(elements)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  WalkResult result = function.walk([&](Operation *op) {
    return WalkResult(walker.walk(op->getAttrDictionary()));
  });
  return !result.wasInterrupted();
}

static std::string hash(StringRef text) {
  auto bytes = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(bytes, /*LowerCase=*/true);
}

func::FuncOp Recipes::get(func::FuncOp origin, Value value, MemRefType type,
                          const SetVector<Operation *> &operations,
                          ArrayRef<BlockArgument> constants) {
  Location loc = value.getLoc();
  auto types = llvm::map_to_vector(
      constants, [](BlockArgument constant) { return constant.getType(); });
  types.push_back(type);
  OwningOpRef<func::FuncOp> recipe = func::FuncOp::create(
      loc, "prepare_value",
      FunctionType::get(loc.getContext(), types, /*results=*/{}));
  recipe->setPrivate();
  Block *body = recipe->addEntryBlock();
  IRMapping mapping;
  for (auto [constant, argument] :
       llvm::zip(constants, body->getArguments().drop_back()))
    mapping.map(constant, argument);
  auto builder = OpBuilder::atBlockEnd(body);
  for (Operation *operation : operations)
    // What is prepared for something that is prepared goes with it.
    if (auto inner = dyn_cast<PrepareOp>(operation))
      mapping.map(inner.getResult(), mapping.lookup(inner.getSource()));
    else
      builder.clone(*operation, mapping);
  // The operator that a constant is for makes no difference to what it is.
  recipe->walk([](BlockOp block) { block.setOperatorName("constant"); });
  auto store = bufferization::MaterializeInDestinationOp::create(
      builder, loc, mapping.lookup(value), body->getArguments().back());
  store.setRestrict(true);
  store.setWritable(true);
  recipe->setArgAttr(types.size() - 1, kResultAttrName,
                     UnitAttr::get(loc.getContext()));
  func::ReturnOp::create(builder, loc);

  std::string text;
  if (isShort(*recipe)) {
    llvm::raw_string_ostream os(text);
    recipe->print(os, OpPrintingFlags().useLocalScope());
    func::FuncOp same = known.lookup(text);
    if (same && OperationEquivalence::isRegionEquivalentTo(
                    &recipe->getBody(), &same.getBody(),
                    OperationEquivalence::IgnoreLocations))
      return same;
  }
  recipe->getOperation()->setDiscardableAttrs(
      origin->getDiscardableAttrDictionary());
  recipe->setNoInline(true);
  recipe->getOperation()->setDiscardableAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(loc.getContext(), LLVM::Linkage::Internal));
  const StringRef ofOrigin[] = {ChimeraDialect::getVersionAttrName(),
                                ChimeraDialect::getEqualSizesAttrName(),
                                ChimeraDialect::getOpenSizesAttrName(),
                                ChimeraDialect::getPlannedSizesAttrName(),
                                ChimeraDialect::getOpenSumsAttrName(),
                                LLVM::LLVMDialect::getEmitCWrapperAttrName()};
  for (StringRef name : ofOrigin)
    recipe->getOperation()->removeDiscardableAttr(name);
  func::FuncOp result = recipe.release();
  symbols.insert(result);
  if (!text.empty())
    known[text] = result;
  // Without a text the value is like no other.
  result->setAttr(
      ChimeraDialect::getRecipeAttrName(),
      StringAttr::get(loc.getContext(), text.empty() ? "" : hash(text)));
  return result;
}

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
  auto tensor = cast<RankedTensorType>(op.getType());
  auto type = MemRefType::get(tensor.getShape(), tensor.getElementType());
  Location loc = op.getLoc();
  OpBuilder atModule(function);
  auto global = memref::GlobalOp::create(
      atModule, loc, (function.getName() + "_prepared").str(),
      atModule.getStringAttr("private"), type, atModule.getUnitAttr(),
      /*constant=*/false, /*alignment=*/atModule.getI64IntegerAttr(64));
  StringAttr name = symbols.insert(global);
  if (std::optional<HeldArgument> argument = findHeldArgument(op))
    held.emplace_back(*argument, global);

  SmallVector<BlockArgument> constants = findArguments(operations);
  func::FuncOp recipe =
      recipes.get(function, op.getSource(), type, operations, constants);
  OpBuilder builder(preparation.getBody().front().getTerminator());
  SmallVector<Value> operands;
  for (Value constant : constants)
    operands.push_back(
        preparation.getArgument(cast<BlockArgument>(constant).getArgNumber()));
  Value memory = memref::GetGlobalOp::create(builder, loc, type, name);
  operands.push_back(memory);
  func::CallOp::create(builder, loc, recipe, operands);

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
      for (Value value : getReadValues(last))
        if (!llvm::is_contained(unused, value.getDefiningOp()))
          unused.push_back(value.getDefiningOp());
      last->erase();
    }
  }
  for (auto &[argument, memory] : held)
    readPreparedElements(argument, memory);
  return success();
}

namespace {
struct PrepareConstantsPass
    : chimera::impl::PrepareConstantsPassBase<PrepareConstantsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Recipes recipes(symbols);
    int64_t bytesLeft = maxBytes;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(Preparer(function, symbols, recipes, bytesLeft).run()))
        return signalPassFailure();
  }
};
} // namespace
