//===- Families.cpp - What the families have in common --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Families.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace chimera;

TargetAttr chimera::parseKnownTarget(MLIRContext *context, StringRef text) {
  context->getOrLoadDialect<ChimeraDialect>();
  return cast<TargetAttr>(parseAttribute(text, context));
}

TargetFigures::TargetFigures(TargetAttr target)
    : context(target.getContext()), name(target.getName()),
      cores(target.getCores()), unit(target.getUnit()), dots(target.getDots()),
      matrix(target.getMatrix()), buffers(target.getBuffers()),
      routes(target.getRoutes()), groups(target.getGroups()),
      overheads(target.getOverheads()), launch(target.getLaunch()),
      stack(target.getStack()), network(target.getNetwork()),
      triple(target.getTripleName()), cpu(target.getCpuName()),
      features(target.getFeatureString()) {
  for (MemoryLevelAttr level : target.getLevels())
    levels.push_back(
        {level.getName().str(), level.getCapacity(), level.getUsable(),
         level.getCoreBandwidth(), level.getChipBandwidth(), level.getSharers(),
         level.getLine(), level.getWays(), level.getBuffers(), level.getBurst(),
         level.getMostBuffers(), level.getLatency()});
}

TargetAttr TargetFigures::assemble(
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<MemoryLevelAttr> attributes;
  for (const Level &level : levels) {
    auto attribute = MemoryLevelAttr::getChecked(
        emitError, context, StringRef(level.name), level.capacity, level.usable,
        level.coreBandwidth, level.chipBandwidth, level.sharers, level.line,
        level.ways, level.buffers, level.burst, level.mostBuffers,
        level.latency);
    if (!attribute)
      return {};
    attributes.push_back(attribute);
  }
  // `getChecked` has an overload for exactly these types.
  return TargetAttr::getChecked(
      emitError, context, StringRef(name), cores, unit, ArrayRef(attributes),
      ArrayRef(dots), ArrayRef(matrix), ArrayRef(buffers), ArrayRef(routes),
      groups, overheads, launch, stack, network, triple, cpu, features);
}

void TargetFigures::setCores(int64_t count) {
  for (Level &level : levels) {
    if (level.sharers == 1)
      level.chipBandwidth = level.coreBandwidth * count;
    else if (level.sharers == cores)
      level.sharers = count;
  }
  cores = count;
}
