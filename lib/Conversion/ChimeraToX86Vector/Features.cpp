//===- Features.cpp - Which instructions a target has ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Features.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace chimera;

bool chimera::hasFeatures(TargetAttrInterface target,
                          ArrayRef<StringRef> needed) {
  StringRef cpu = target.getCpu();
  llvm::StringMap<bool> features;
  if (cpu.empty()) {
    // A virtual machine takes long to answer.
    static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    features = host;
  } else {
    SmallVector<StringRef> known;
    llvm::X86::getFeaturesForCPU(cpu, known);
    for (StringRef feature : known)
      features[feature] = true;
  }
  for (StringRef feature : llvm::split(target.getCpuFeatures(), ','))
    if (!feature.empty())
      features[feature.drop_front()] = feature.front() == '+';
  return llvm::all_of(
      needed, [&](StringRef feature) { return features.lookup(feature); });
}
