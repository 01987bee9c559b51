//===- RunningProgram.cpp - Faults of the program that is run -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunningProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <unistd.h>

using namespace chimera::run;

/// What is run, for the signal handler.
static const char *volatile running = "";

/// Only calls what is safe in a signal handler.
static void reportSignal(int signal) {
  auto print = [](const char *text) {
    (void)!write(STDERR_FILENO, text, std::strlen(text));
  };
  print("chimera-run: error: ");
  print(signal == SIGABRT  ? "aborted"
        : signal == SIGILL ? "illegal instruction"
        : signal == SIGFPE ? "arithmetic exception"
                           : "invalid memory access");
  print(" while ");
  print(running);
  print("\n");
  _exit(1);
}

RunningProgram::RunningProgram(const char *what) {
  running = what;
  struct sigaction action = {};
  action.sa_handler = reportSignal;
  // LLVM's handlers come with a stack of their own, for when the stack is what
  // overflowed.
  action.sa_flags = SA_ONSTACK;
  for (auto [signal, before] : llvm::zip(signals, previous))
    sigaction(signal, &action, &before);
}

RunningProgram::~RunningProgram() {
  for (auto [signal, before] : llvm::zip(signals, previous))
    sigaction(signal, &before, nullptr);
}
