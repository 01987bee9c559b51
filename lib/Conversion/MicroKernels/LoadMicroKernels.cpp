//===- LoadMicroKernels.cpp - Micro kernels from a file -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that is compiled with kernels of a user's gets them as part of
// itself: their code in a module inside, and a list that passes ask. From there
// on nothing depends on the file.
//
//===----------------------------------------------------------------------===//

#include "MicroKernelLibrary.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

namespace chimera {
#define GEN_PASS_DEF_LOADMICROKERNELSPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

static constexpr StringLiteral libraryName = "chimera_micro_kernels";

ModuleOp chimera::getMicroKernelLibrary(ModuleOp program) {
  if (auto library = program.lookupSymbol<ModuleOp>(libraryName))
    return library;
  OpBuilder builder = OpBuilder::atBlockEnd(program.getBody());
  return ModuleOp::create(builder, program.getLoc(), libraryName);
}

void chimera::removeMicroKernelLibrary(Operation *root) {
  auto program = dyn_cast<ModuleOp>(root);
  if (!program)
    return;
  program->removeAttr(ChimeraDialect::getMicroKernelsAttrName());
  if (auto library = program.lookupSymbol<ModuleOp>(libraryName))
    library.erase();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Fails, saying what is expected, unless `function` can be the kernel that its
/// attribute says it is.
static LogicalResult verifyKernel(func::FuncOp function, KernelAttr kernel) {
  for (auto [argument, layout] : llvm::enumerate(kernel.getLayouts()))
    if (!layout.getLayout().isProduced())
      return function.emitError("micro kernel '")
             << function.getName() << "' wants argument #" << argument
             << " laid out as '" << stringifyLayoutKind(layout.getKind())
             << "', which no pass does; layouts are 'any' and 'contiguous'";
  FunctionType expected = kernel.getExpectedType();
  if (function.getFunctionType() != expected)
    return function.emitError("micro kernel '")
           << function.getName() << "' must have type " << expected
           << ", as its shape and layouts say, but has "
           << function.getFunctionType();
  if (!function.isExternal() && !function.getBody().hasOneBlock())
    return function.emitError("micro kernel '")
           << function.getName()
           << "' must have one block; use scf for loops and conditions";
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LoadMicroKernelsPass
    : chimera::impl::LoadMicroKernelsPassBase<LoadMicroKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyRegistration(getOperation())))
      return signalPassFailure();
    if (file.empty()) {
      getOperation()->emitError("'file' must name a file with micro kernels");
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> source =
        parseSourceFile<ModuleOp>(file, ParserConfig(&getContext()));
    if (!source || failed(load(*source)))
      signalPassFailure();
  }

private:
  LogicalResult load(ModuleOp source);
  LogicalResult loadKernel(func::FuncOp function);
  LogicalResult declare(Operation *op);

  SmallVector<Attribute> kernels;
};
} // namespace

/// Puts `op`, which kernels refer to, into the program.
LogicalResult LoadMicroKernelsPass::declare(Operation *op) {
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  if (!symbol)
    return op->emitError("is no function; a file of micro kernels holds "
                         "functions and what they refer to");
  ModuleOp program = getOperation();
  if (Operation *known = program.lookupSymbol(symbol.getNameAttr())) {
    if (OperationEquivalence::isEquivalentTo(
            known, op, OperationEquivalence::IgnoreLocations))
      return success();
    return op->emitError("the program has another '")
           << symbol.getName() << "'";
  }
  OpBuilder builder = OpBuilder::atBlockEnd(program.getBody());
  SymbolTable::setSymbolVisibility(builder.clone(*op),
                                   SymbolTable::Visibility::Private);
  return success();
}

/// Kernels without a body are called by C's conventions where they are used.
LogicalResult LoadMicroKernelsPass::loadKernel(func::FuncOp function) {
  StringRef attributeName = ChimeraDialect::getKernelAttrName();
  Attribute attribute = function->getAttr(attributeName);
  if (!attribute) {
    if (function.isExternal())
      return declare(function);
    return function.emitError("'")
           << function.getName() << "' has a body but no '" << attributeName
           << "' to say what micro kernel it is";
  }
  auto kernel = dyn_cast<KernelAttr>(attribute);
  if (!kernel)
    return function.emitError("'")
           << attributeName << "' must be #chimera.kernel<...>, got "
           << attribute;
  if (failed(verifyKernel(function, kernel)))
    return failure();
  function->removeAttr(attributeName);
  SymbolRefAttr name = FlatSymbolRefAttr::get(function);
  if (function.isExternal()) {
    function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                      UnitAttr::get(&getContext()));
    if (failed(declare(function)))
      return failure();
  } else {
    ModuleOp library = getMicroKernelLibrary(getOperation());
    if (library.lookupSymbol(function.getName()))
      return function.emitError("there are two micro kernels '")
             << function.getName() << "'";
    OpBuilder builder = OpBuilder::atBlockEnd(library.getBody());
    function.setPrivate();
    builder.clone(*function);
    name = SymbolRefAttr::get(library.getSymNameAttr(),
                              {FlatSymbolRefAttr::get(function)});
  }
  kernels.push_back(FunctionKernelAttr::get(&getContext(), name, kernel));
  return success();
}

LogicalResult LoadMicroKernelsPass::load(ModuleOp source) {
  ModuleOp program = getOperation();
  StringRef listName = ChimeraDialect::getMicroKernelsAttrName();
  if (auto known = program->getAttrOfType<ArrayAttr>(listName))
    llvm::append_range(kernels, known);
  size_t numKnown = kernels.size();
  for (Operation &op : *source.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (failed(function ? loadKernel(function) : declare(&op)))
      return failure();
  }
  if (kernels.size() == numKnown)
    return source.emitError("holds no micro kernel: no function has a '")
           << ChimeraDialect::getKernelAttrName() << "'";
  program->setAttr(listName, ArrayAttr::get(&getContext(), kernels));
  return success();
}
