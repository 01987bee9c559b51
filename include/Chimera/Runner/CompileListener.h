//===- CompileListener.h - How far a compilation is -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole networks take seconds to compile, with exact plans minutes. Whoever
// waits for one hears here what is being done.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_COMPILELISTENER_H
#define CHIMERA_RUNNER_COMPILELISTENER_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstddef>

namespace chimera::runner {

/// Hears what a compilation does, one thing at a time: on the thread that asked
/// for it, or on one that compiles kernels. All functions may be left out.
class CompileListener {
public:
  virtual ~CompileListener();

  /// `stage` is what is done from now on: "plan", "lower", "optimize", "emit
  /// code", ...
  virtual void began(llvm::StringRef stage) {}
  /// The stage that began last is over, after so many seconds.
  virtual void ended(llvm::StringRef stage, double seconds) {}
  /// The program has so many structured operations.
  virtual void counted(size_t operators) {}
  /// One more chain is planned.
  virtual void planned() {}
  /// Machine code is there for one more of `all` functions.
  virtual void emitted(size_t all) {}
};

/// One stage of a compilation, from here to the end of the scope. `listener`
/// may be null.
class Stage {
public:
  Stage(CompileListener *listener, llvm::StringRef name);
  ~Stage();
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

private:
  CompileListener *listener;
  llvm::StringRef name;
  std::chrono::steady_clock::time_point start;
};

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_COMPILELISTENER_H
