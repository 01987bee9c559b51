//===- RunningProgram.h - Faults of the program that is run -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program may divide by zero or fail an assertion of its own. That is the
// user's mistake and ends in one line. A signal at any other time is a defect
// of the compiler and keeps its stack trace and its signal.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_RUNNINGPROGRAM_H
#define CHIMERA_TOOLS_CHIMERA_RUN_RUNNINGPROGRAM_H

#include <array>
#include <csignal>

namespace chimera::run {

/// While it lives, compiled code runs: a fatal signal prints "<signal> while
/// <what>" and ends the process with status 1. These do not nest.
class RunningProgram {
public:
  explicit RunningProgram(const char *what);
  ~RunningProgram();
  RunningProgram(const RunningProgram &) = delete;
  RunningProgram &operator=(const RunningProgram &) = delete;

private:
  static constexpr std::array signals = {SIGABRT, SIGBUS, SIGFPE, SIGILL,
                                         SIGSEGV};
  /// Of each signal, what happens at other times.
  std::array<struct sigaction, signals.size()> previous;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_RUNNINGPROGRAM_H
