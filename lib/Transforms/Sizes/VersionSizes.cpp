//===- VersionSizes.cpp - Functions at the sizes they are planned for -----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

namespace chimera {
#define GEN_PASS_DEF_VERSIONSIZESPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// `f_1x128`.
static std::string nameVersion(func::FuncOp function, ArrayRef<int64_t> sizes) {
  std::string name = function.getName().str() + "_";
  llvm::raw_string_ostream os(name);
  llvm::interleave(sizes, os, "x");
  return name;
}

static LogicalResult addVersion(func::FuncOp function, ArrayRef<int64_t> sizes,
                                SymbolTable &symbols) {
  func::FuncOp version = function.clone();
  version.setName(nameVersion(function, sizes));
  version.setPrivate();
  version->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
  version->setAttr(ChimeraDialect::getVersionAttrName(),
                   StringAttr::get(function.getContext(), function.getName()));
  if (failed(fixSizes(version, sizes))) {
    version.erase();
    return failure();
  }
  symbols.insert(version, std::next(Block::iterator(function)));
  return success();
}

namespace {
struct VersionSizesPass
    : chimera::impl::VersionSizesPassBase<VersionSizesPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    StringRef attribute = ChimeraDialect::getSizesAttrName();
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      auto cases = function->getAttrOfType<ArrayAttr>(attribute);
      function->removeAttr(attribute);
      if (!cases || function.isExternal())
        continue;
      // Each is inserted right behind the function.
      for (auto sizes : llvm::reverse(cases.getAsRange<DenseI64ArrayAttr>()))
        if (failed(addVersion(function, sizes.asArrayRef(), symbols)))
          return signalPassFailure();
    }
  }
};
} // namespace
