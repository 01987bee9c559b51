//===- DispatchVersions.cpp - Which version runs --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers/ResultAttribute.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

namespace chimera {
#define GEN_PASS_DEF_DISPATCHVERSIONSPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// True if values of the types `from` can be passed as `to`.
static bool areCompatible(TypeRange from, TypeRange to) {
  return llvm::equal(from, to, [](Type left, Type right) {
    return left == right || memref::CastOp::areCastCompatible(left, right);
  });
}

/// Fails if `version` cannot be called in the place of `general`.
static LogicalResult verifyVersion(func::FuncOp general, func::FuncOp version) {
  FunctionType type = general.getFunctionType(),
               own = version.getFunctionType();
  if (general.isExternal() ||
      !areCompatible(type.getInputs(), own.getInputs()) ||
      !areCompatible(own.getResults(), type.getResults()))
    return version.emitError("is a version of '")
           << general.getName()
           << "', which must have a body, and the same arguments and results "
              "up "
              "to sizes that are not known";
  Attribute equal = version->getAttr(ChimeraDialect::getEqualSizesAttrName());
  auto isDim = [&](int64_t argument, int64_t dim) {
    if (argument < 0 || argument >= int64_t(type.getNumInputs()))
      return false;
    auto memref = dyn_cast<MemRefType>(type.getInput(argument));
    return memref && dim >= 0 && dim < memref.getRank();
  };
  auto areDims = [&](Attribute group) {
    auto dims = dyn_cast<DenseI64ArrayAttr>(group);
    if (!dims || dims.empty() || dims.size() % 2 != 0)
      return false;
    for (int64_t place = 0; place < dims.size(); place += 2)
      if (!isDim(dims[place], dims[place + 1]))
        return false;
    return true;
  };
  auto groups = dyn_cast_or_null<ArrayAttr>(equal);
  if (!equal || (groups && llvm::all_of(groups, areDims)))
    return success();
  return version.emitError("'")
         << ChimeraDialect::getEqualSizesAttrName()
         << "' must list, for each size, the arguments that have it and their "
            "dimensions in turn, got "
         << equal;
}

namespace {

/// Makes one function call the versions of another.
class Dispatcher {
public:
  Dispatcher(func::FuncOp general, SymbolTable &symbols)
      : general(general), symbols(symbols), builder(general),
        loc(general.getLoc()) {}

  void run(ArrayRef<func::FuncOp> versions);

private:
  func::FuncOp replace(func::FuncOp function, const Twine &newName);
  Value testSizes(ValueRange arguments, func::FuncOp version,
                  llvm::function_ref<bool(unsigned)> isTested);
  SmallVector<Value> call(func::FuncOp function, ValueRange arguments,
                          TypeRange results);
  SmallVector<Value> callFirst(ArrayRef<func::FuncOp> versions,
                               ValueRange arguments, TypeRange results);
  void dispatchPreparations(ArrayRef<func::FuncOp> preparations,
                            func::FuncOp ofGeneral, StringRef name);

  func::FuncOp general;
  SymbolTable &symbols;
  OpBuilder builder;
  Location loc;
  bool isCallableFromC = false;
};

} // namespace

/// A function without a body that stands for `function`, which becomes private
/// under a name like `newName`. Calls of it are calls of the new one.
func::FuncOp Dispatcher::replace(func::FuncOp function, const Twine &newName) {
  func::FuncOp outer = function.cloneWithoutRegions();
  symbols.remove(function);
  function.setName(builder.getStringAttr(newName));
  function.setPrivate();
  function->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
  symbols.insert(function);
  symbols.insert(outer, Block::iterator(function));
  return outer;
}

/// The dimensions of arguments that `version` takes to be equal.
static SmallVector<ArrayRef<int64_t>> getEqualSizes(func::FuncOp version) {
  SmallVector<ArrayRef<int64_t>> groups;
  if (auto equal = version->getAttrOfType<ArrayAttr>(
          ChimeraDialect::getEqualSizesAttrName()))
    for (auto group : equal.getAsRange<DenseI64ArrayAttr>())
      groups.push_back(group.asArrayRef());
  return groups;
}

/// True if the arguments for which `isTested` have the sizes of `version`.
Value Dispatcher::testSizes(ValueRange arguments, func::FuncOp version,
                            llvm::function_ref<bool(unsigned)> isTested) {
  Value fits;
  auto getSize = [&](unsigned argument, unsigned dim) -> Value {
    return memref::DimOp::create(builder, loc, arguments[argument], dim);
  };
  auto require = [&](Value size, Value expected) {
    Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        size, expected);
    fits = fits ? arith::AndIOp::create(builder, loc, fits, equal).getResult()
                : equal;
  };
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !isTested(index))
      continue;
    auto wanted = cast<MemRefType>(version.getArgumentTypes()[index]);
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim) && !wanted.isDynamicDim(dim))
        require(getSize(index, dim), arith::ConstantIndexOp::create(
                                         builder, loc, wanted.getDimSize(dim)));
  }
  for (ArrayRef<int64_t> dims : getEqualSizes(version)) {
    Value first = getSize(dims[0], dims[1]);
    for (size_t place = 2; place < dims.size(); place += 2)
      require(first, getSize(dims[place], dims[place + 1]));
  }
  if (!fits)
    fits = arith::ConstantIntOp::create(builder, loc, /*value=*/1, /*width=*/1);
  return fits;
}

/// Calls `function`, whose memrefs may have other static sizes.
SmallVector<Value> Dispatcher::call(func::FuncOp function, ValueRange arguments,
                                    TypeRange results) {
  auto convert = [&](Value value, Type type) -> Value {
    if (value.getType() == type)
      return value;
    return memref::CastOp::create(builder, loc, type, value);
  };
  SmallVector<Value> passed;
  for (auto [argument, type] :
       llvm::zip_equal(arguments, function.getArgumentTypes()))
    passed.push_back(convert(argument, type));
  auto callOp = func::CallOp::create(builder, loc, function, passed);
  SmallVector<Value> returned;
  for (auto [result, type] : llvm::zip_equal(callOp.getResults(), results))
    returned.push_back(convert(result, type));
  return returned;
}

/// Calls the first of `versions` that fits, or the general function.
SmallVector<Value> Dispatcher::callFirst(ArrayRef<func::FuncOp> versions,
                                         ValueRange arguments,
                                         TypeRange results) {
  if (versions.empty())
    return call(general, arguments, results);
  func::FuncOp version = versions.front();
  // Results are as large as follows from the other arguments.
  Value fits = testSizes(arguments, version, [&](unsigned index) {
    return !general.getArgAttr(index, kResultAttrName);
  });
  auto ifOp = scf::IfOp::create(builder, loc, results, fits,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> make) {
    builder.setInsertionPointToStart(block);
    SmallVector<Value> values = make();
    if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(builder, loc, values);
  };
  fill(ifOp.thenBlock(), [&] { return call(version, arguments, results); });
  fill(ifOp.elseBlock(),
       [&] { return callFirst(versions.drop_front(), arguments, results); });
  return SmallVector<Value>(ifOp.getResults());
}

/// What is prepared for the general function and for versions, in turn.
void Dispatcher::dispatchPreparations(ArrayRef<func::FuncOp> preparations,
                                      func::FuncOp ofGeneral, StringRef name) {
  func::FuncOp outer;
  if (ofGeneral) {
    outer = replace(ofGeneral, general.getName() + "_prepare");
  } else {
    // Results are no business of preparations.
    func::FuncOp first = preparations.front();
    ArrayRef<Type> types =
        general.getArgumentTypes().take_front(first.getNumArguments());
    outer = func::FuncOp::create(builder, loc, name,
                                 builder.getFunctionType(types, {}));
    if (isCallableFromC)
      outer->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                     builder.getUnitAttr());
    symbols.insert(outer);
  }
  OpBuilder::InsertionGuard guard(builder);
  Block *body = outer.addEntryBlock();
  builder.setInsertionPointToStart(body);
  if (ofGeneral)
    call(ofGeneral, body->getArguments(), {});
  StringRef constant = ChimeraDialect::getConstantAttrName();
  for (func::FuncOp preparation : preparations) {
    Value fits =
        testSizes(body->getArguments(), preparation, [&](unsigned index) {
          return general.getArgAttr(index, constant) != nullptr;
        });
    auto ifOp = scf::IfOp::create(builder, loc, fits);
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    call(preparation, body->getArguments(), {});
  }
  func::ReturnOp::create(builder, loc);
}

void Dispatcher::run(ArrayRef<func::FuncOp> versions) {
  // A function of that name that does something else is left alone.
  auto findPreparation = [&](StringRef name) -> func::FuncOp {
    auto found = symbols.lookup<func::FuncOp>((name + "_prepare").str());
    if (!found || found.getNumResults() > 0 ||
        found.getNumArguments() > general.getNumArguments() ||
        !areCompatible(
            general.getArgumentTypes().take_front(found.getNumArguments()),
            found.getArgumentTypes()))
      return {};
    return found;
  };
  std::string name = general.getName().str();
  SmallVector<func::FuncOp> preparations;
  for (func::FuncOp version : versions)
    if (func::FuncOp found = findPreparation(version.getName()))
      preparations.push_back(found);
  func::FuncOp ofGeneral = findPreparation(name);

  func::FuncOp outer = replace(general, name + "_any");
  isCallableFromC =
      outer->hasAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
  Block *body = outer.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> results = callFirst(
      versions, body->getArguments(), general.getFunctionType().getResults());
  func::ReturnOp::create(builder, loc, results);
  builder.setInsertionPoint(general);
  if (ofGeneral || !preparations.empty())
    dispatchPreparations(preparations, ofGeneral, name + "_prepare");
}

namespace {
struct DispatchVersionsPass
    : chimera::impl::DispatchVersionsPassBase<DispatchVersionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<StringAttr, SmallVector<func::FuncOp>> versions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto name = dyn_cast_or_null<StringAttr>(
              function->removeAttr(ChimeraDialect::getVersionAttrName())))
        versions[name].push_back(function);
    for (auto &[name, ofOne] : versions) {
      auto general = symbols.lookup<func::FuncOp>(name);
      if (!general) {
        ofOne.front().emitError("is a version of '")
            << name.getValue() << "', which is not in this module";
        return signalPassFailure();
      }
      for (func::FuncOp version : ofOne)
        if (failed(verifyVersion(general, version)))
          return signalPassFailure();
      Dispatcher(general, symbols).run(ofOne);
      for (func::FuncOp version : ofOne)
        version->removeAttr(ChimeraDialect::getEqualSizesAttrName());
    }
  }
};
} // namespace
