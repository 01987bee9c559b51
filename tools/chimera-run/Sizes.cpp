//===- Sizes.cpp - Programs with dynamic sizes at given ones --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Runner/Compiler.h"
#include "Chimera/Transforms/Sizes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

std::string chimera::run::toString(const Sizes &sizes) {
  return llvm::join(
      llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }),
      "x");
}

/// Which dimensions `groups` are, as in "1 (dimension 0 of argument 0)".
static std::string describe(ArrayRef<SizeGroup> groups) {
  std::string text = std::to_string(groups.size());
  llvm::raw_string_ostream os(text);
  os << " (";
  llvm::interleaveComma(groups, os, [&](const SizeGroup &group) {
    os << "dimension " << group.front().dim << " of argument "
       << group.front().argument;
  });
  os << ')';
  return text;
}

static Error checkCount(func::FuncOp function, ArrayRef<SizeGroup> groups,
                        const Sizes &sizes) {
  if (sizes.size() == groups.size())
    return Error::success();
  std::string has = groups.empty() ? "no dynamic sizes"
                                   : "dynamic sizes: " + describe(groups);
  return createStringError("'" + function.getName() + "' has " + has +
                           ", but the case " + toString(sizes) + " has " +
                           Twine(sizes.size()));
}

Error chimera::run::setSizes(const Options &options, func::FuncOp entry) {
  if (options.sizes.empty())
    return Error::success();
  Builder builder(entry.getContext());
  SmallVector<SizeGroup> groups = groupDynamicDims(entry);
  SmallVector<Attribute> cases;
  for (const Sizes &sizes : options.sizes) {
    if (Error error = checkCount(entry, groups, sizes))
      return error;
    cases.push_back(builder.getDenseI64ArrayAttr(sizes));
  }
  entry->setAttr(ChimeraDialect::getSizesAttrName(),
                 builder.getArrayAttr(cases));
  return Error::success();
}

Expected<std::vector<Sizes>> chimera::run::getCases(const Options &options,
                                                    func::FuncOp entry) {
  SmallVector<SizeGroup> groups = groupDynamicDims(entry);
  std::vector<Sizes> cases = options.at;
  if (cases.empty())
    if (auto planned =
            entry->getAttrOfType<ArrayAttr>(ChimeraDialect::getSizesAttrName()))
      if (!planned.empty())
        if (auto first = dyn_cast<DenseI64ArrayAttr>(planned[0]))
          cases.push_back(first.asArrayRef().vec());
  if (cases.empty() && !groups.empty())
    return createStringError("'" + entry.getName() +
                             "' has dynamic sizes: " + describe(groups) +
                             "; say with --sizes what to plan for, or with "
                             "--at what to run");
  for (const Sizes &sizes : cases)
    if (Error error = checkCount(entry, groups, sizes))
      return std::move(error);
  if (cases.empty())
    cases.emplace_back();
  return cases;
}

Expected<OwningOpRef<ModuleOp>> chimera::run::fixModule(ModuleOp module,
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
                               Twine(count) + " dynamic sizes; --at has " +
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

func::FuncOp chimera::run::findVersion(ModuleOp planned, func::FuncOp entry) {
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

std::string chimera::run::describeVersions(ModuleOp planned, StringRef entry) {
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
    std::string open =
        "any, by a plan for " + toString(sizes.asArrayRef().vec());
    std::string guard = describeGuard(function);
    any = guard.empty() ? open : open + ", if " + guard + "; " + any;
  }
  if (parts.empty() && any == plain)
    return "";
  parts.push_back(any);
  return llvm::join(parts, "; ");
}
