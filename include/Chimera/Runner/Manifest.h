//===- Manifest.h - What a compiled file has, for programs ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever loads a library of compiled functions has to know their arguments and
// results, and what was decided for them. Its form is in docs/json.md.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_MANIFEST_H
#define CHIMERA_RUNNER_MANIFEST_H

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Report.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <vector>

namespace chimera::runner {

struct Manifest {
  llvm::StringRef target;
  ModuleInterface interface;
  /// The plans of all functions.
  PlanReport plan;
  std::vector<Remark> remarks;
  /// From the module to object code.
  double compileSeconds = 0;

  llvm::json::Object toJSON() const;
};

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_MANIFEST_H
