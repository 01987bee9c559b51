//===- Sizes.cpp - Programs with dynamic sizes at given ones --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Sizes.h"

#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/Runner/Compiler.h"
#include "Chimera/Transforms/Sizes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

std::string chimera::runner::toString(const Sizes &sizes) {
  return llvm::join(
      llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }),
      "x");
}

bool chimera::runner::hasDynamicSizes(func::FuncOp entry) {
  return !groupDynamicDims(entry).empty();
}

std::string chimera::runner::describeDynamicSizes(func::FuncOp entry) {
  SmallVector<SizeGroup> groups = groupDynamicDims(entry);
  if (groups.empty())
    return "no dynamic sizes";
  std::string text = "dynamic sizes: " + std::to_string(groups.size());
  llvm::raw_string_ostream os(text);
  os << " (";
  llvm::interleaveComma(groups, os, [&](const SizeGroup &group) {
    os << "dimension " << group.front().dim << " of argument "
       << group.front().argument;
  });
  os << ')';
  return text;
}

Error chimera::runner::checkSizes(func::FuncOp entry, const Sizes &sizes) {
  if (sizes.size() == groupDynamicDims(entry).size())
    return Error::success();
  return createStringError("'" + entry.getName() + "' has " +
                           describeDynamicSizes(entry) + ", but the case " +
                           toString(sizes) + " has " + Twine(sizes.size()));
}

Error chimera::runner::setSizes(func::FuncOp entry, ArrayRef<Sizes> cases) {
  Builder builder(entry.getContext());
  SmallVector<Attribute> attributes;
  for (const Sizes &sizes : cases) {
    if (Error error = checkSizes(entry, sizes))
      return error;
    attributes.push_back(builder.getDenseI64ArrayAttr(sizes));
  }
  if (!attributes.empty())
    entry->setAttr(ChimeraDialect::getSizesAttrName(),
                   builder.getArrayAttr(attributes));
  return Error::success();
}

std::optional<Sizes> chimera::runner::getFirstSizes(func::FuncOp entry) {
  auto cases =
      entry->getAttrOfType<ArrayAttr>(ChimeraDialect::getSizesAttrName());
  if (!cases || cases.empty())
    return std::nullopt;
  auto first = dyn_cast<DenseI64ArrayAttr>(cases[0]);
  return first ? std::optional<Sizes>(first.asArrayRef().vec()) : std::nullopt;
}

Expected<OwningOpRef<ModuleOp>> chimera::runner::fixModule(ModuleOp module,
                                                           const Sizes &sizes) {
  OwningOpRef<ModuleOp> fixed = module.clone();
  if (needsFrontEnd(*fixed))
    if (Error error = runFrontEnd(*fixed))
      return std::move(error);
  for (auto function : fixed->getOps<func::FuncOp>()) {
    size_t count = groupDynamicDims(function).size();
    function->removeAttr(ChimeraDialect::getSizesAttrName());
    if (!function.isPublic() || count == 0)
      continue;
    if (count > sizes.size())
      return createStringError("'" + function.getName() + "' has " +
                               Twine(count) + " dynamic sizes, got " +
                               Twine(sizes.size()));
    if (failed(fixSizes(function, ArrayRef(sizes).take_front(count))))
      return createStringError("the sizes of '" + function.getName() +
                               "' cannot be fixed");
    for (Type type : function.getResultTypes())
      if (auto shaped = dyn_cast<RankedTensorType>(type);
          shaped && !shaped.hasStaticShape())
        return createStringError("'" + function.getName() +
                                 "' has a result whose sizes do not follow "
                                 "from those of its arguments");
  }
  return fixed;
}

func::FuncOp chimera::runner::findVersion(ModuleOp planned,
                                          func::FuncOp entry) {
  func::FuncOp open;
  for (auto function : planned.getOps<func::FuncOp>()) {
    auto versionOf = function->getAttrOfType<StringAttr>(
        ChimeraDialect::getVersionAttrName());
    if (!versionOf || versionOf.getValue() != entry.getName())
      continue;
    if (function.getArgumentTypes() == entry.getArgumentTypes())
      return function;
    if (function->hasAttr(ChimeraDialect::getOpenSizesAttrName()))
      open = function;
  }
  return open ? open : planned.lookupSymbol<func::FuncOp>(entry.getName());
}

/// The dimensions that `version` takes to be equal, as in "dimension 0 of
/// arguments 0, 1".
static std::string describeGuard(func::FuncOp version) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto equal = version->getAttrOfType<ArrayAttr>(
      ChimeraDialect::getEqualSizesAttrName());
  if (!equal)
    return text;
  llvm::interleave(
      equal.getAsRange<DenseI64ArrayAttr>(), os,
      [&](DenseI64ArrayAttr group) {
        for (int64_t place = 0; place < group.size(); place += 2)
          os << (place ? " = " : "") << "dimension " << group[place + 1]
             << " of argument " << group[place];
      },
      ", ");
  return text;
}

std::string chimera::runner::describeVersions(ModuleOp planned,
                                              StringRef entry) {
  SmallVector<std::string> parts;
  const StringRef plain = "others as they are written";
  std::string any = plain.str();
  for (auto function : planned.getOps<func::FuncOp>()) {
    auto versionOf = function->getAttrOfType<StringAttr>(
        ChimeraDialect::getVersionAttrName());
    bool isVersion = versionOf && versionOf.getValue() == entry;
    auto sizes = function->getAttrOfType<DenseI64ArrayAttr>(
        ChimeraDialect::getPlannedSizesAttrName());
    if (isVersion && !sizes)
      parts.push_back(function.getName().drop_front(entry.size() + 1).str());
    if (!sizes || (!isVersion && function.getName() != entry))
      continue;
    ArrayRef<int64_t> own =
        sizes.asArrayRef().drop_back(OpenSizes(function).getSums().size());
    std::string open = "any, by a plan for " + toString(own.vec());
    std::string guard = describeGuard(function);
    any = guard.empty() ? open : open + ", if " + guard + "; " + any;
  }
  if (parts.empty() && any == plain)
    return "";
  parts.push_back(any);
  return llvm::join(parts, "; ");
}
