//===- ProgressLine.h - What a compilation is at ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_PROGRESSLINE_H
#define CHIMERA_TOOLS_CHIMERA_RUN_PROGRESSLINE_H

#include "Chimera/Runner/CompileListener.h"

#include <chrono>

namespace chimera::run {

/// Shows on a terminal, in one line of standard error that goes when the stage
/// is over, what is being done; with `verbose`, on a terminal or not, a line
/// for each stage with the seconds that it took.
class ProgressLine : public runner::CompileListener {
public:
  explicit ProgressLine(bool verbose);
  ~ProgressLine() override { clear(); }

  void began(llvm::StringRef stage) override;
  void ended(llvm::StringRef stage, double seconds) override;
  void counted(size_t operators) override;
  void planned() override;
  void emitted(size_t all) override;

private:
  /// Draws the line if the last time is a while ago.
  void show();
  void draw();
  void clear();

  bool verbose, isTerminal, isShown = false;
  llvm::StringRef stage;
  size_t operators = 0, chains = 0, functions = 0, allFunctions = 0;
  const std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn = start;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_PROGRESSLINE_H
