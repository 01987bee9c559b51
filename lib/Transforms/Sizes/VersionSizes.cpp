//===- VersionSizes.cpp - Functions at the sizes they are planned for -----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedRemarks.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Transforms/Passes.h"
#include "Chimera/Transforms/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
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
                                SmallVectorImpl<func::FuncOp> &versions) {
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
  versions.push_back(version);
  return success();
}

/// Sizes to plan for if nobody says which: the last one, most often the length
/// of a sequence or the only batch, is the one that is large.
static SmallVector<int64_t> getCommonSizes(size_t count) {
  constexpr int64_t large = 256, small = 2;
  SmallVector<int64_t> sizes(count, small);
  sizes.back() = large;
  return sizes;
}

/// The largest of each size in `cases`.
static SmallVector<int64_t> getLargestSizes(ArrayRef<DenseI64ArrayAttr> cases) {
  SmallVector<int64_t> largest(cases.front().size(), 1);
  for (DenseI64ArrayAttr sizes : cases)
    for (auto [most, size] : llvm::zip_equal(largest, sizes.asArrayRef()))
      most = std::max(most, size);
  return largest;
}

/// The dimensions that are assumed to be equal, argument and dimension in turn.
static ArrayAttr describeEqual(Builder &builder, ArrayRef<SizeGroup> groups) {
  SmallVector<Attribute> equal;
  for (const SizeGroup &group : groups) {
    if (group.size() == 1)
      continue;
    SmallVector<int64_t> dims;
    for (ArgumentDim dim : group) {
      dims.push_back(dim.argument);
      dims.push_back(dim.dim);
    }
    equal.push_back(builder.getDenseI64ArrayAttr(dims));
  }
  return builder.getArrayAttr(equal);
}

/// True if there is nothing in `function` that chains are made of, as in those
/// that tell the sizes of results.
static bool hasNoOperators(func::FuncOp function) {
  return !function
              .walk([](linalg::LinalgOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// Adds a version of `function` for any sizes, or puts it in its place.
static void addOpenVersion(func::FuncOp &function, ArrayRef<int64_t> planned,
                           SmallVectorImpl<func::FuncOp> &versions,
                           SymbolTable &symbols) {
  auto refuse = [&](Location place, const Twine &why) {
    remark::missed(place, named("sizes"))
        << ("no chains are formed for sizes that are not planned for: " + why)
               .str();
  };
  // Callers would have to have the same types.
  if (!SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    return refuse(function.getLoc(),
                  "the function is called in this module; inline it");
  func::FuncOp version = function.clone();
  Operation *obstacle = nullptr;
  if (failed(openSizes(version, planned, obstacle))) {
    refuse(obstacle->getLoc(),
           "'" + obstacle->getName().getStringRef() +
               "' has sizes that are neither products of the program's nor "
               "known sums; list sizes to plan for in 'chimera.sizes'");
    version.erase();
    return;
  }
  SmallVector<SizeGroup> groups = groupDynamicDims(function);
  Builder builder(function.getContext());
  ArrayAttr equal = describeEqual(builder, groups);
  if (equal.empty()) {
    auto place = std::next(Block::iterator(function));
    symbols.erase(function);
    symbols.insert(version, place);
    function = version;
    return;
  }
  version.setName(function.getName().str() + "_open");
  version.setPrivate();
  version->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
  version->setAttr(ChimeraDialect::getVersionAttrName(),
                   builder.getStringAttr(function.getName()));
  version->setAttr(ChimeraDialect::getEqualSizesAttrName(), equal);
  versions.push_back(version);
}

namespace {
struct VersionSizesPass
    : chimera::impl::VersionSizesPassBase<VersionSizesPass> {
  using Base::Base;

  void runOnOperation() override;
  LogicalResult addVersions(func::FuncOp function, SymbolTable &symbols);
};
} // namespace

LogicalResult VersionSizesPass::addVersions(func::FuncOp function,
                                            SymbolTable &symbols) {
  StringRef attribute = ChimeraDialect::getSizesAttrName();
  SmallVector<DenseI64ArrayAttr> cases;
  if (auto listed = function->getAttrOfType<ArrayAttr>(attribute))
    cases = llvm::to_vector(listed.getAsRange<DenseI64ArrayAttr>());
  function->removeAttr(attribute);
  size_t count = function.isExternal() ? 0 : groupDynamicDims(function).size();
  if (count == 0 && cases.empty())
    return success();
  SmallVector<func::FuncOp> versions;
  for (DenseI64ArrayAttr sizes : cases)
    if (failed(addVersion(function, sizes.asArrayRef(), versions)))
      return failure();
  if (count > 0 && !hasNoOperators(function))
    addOpenVersion(function,
                   cases.empty() ? getCommonSizes(count)
                                 : getLargestSizes(cases),
                   versions, symbols);
  for (func::FuncOp version : llvm::reverse(versions))
    symbols.insert(version, std::next(Block::iterator(function)));
  return success();
}

void VersionSizesPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
    if (failed(addVersions(function, symbols)))
      return signalPassFailure();
}
