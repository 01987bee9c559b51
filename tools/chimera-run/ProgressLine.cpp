//===- ProgressLine.cpp - What a compilation is at ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

using namespace chimera::run;
using llvm::StringRef;

/// A line that moves faster cannot be read, and what is over before is not
/// worth one.
static constexpr std::chrono::milliseconds minInterval(200);

/// True if standard error is a terminal on which a line can be drawn again.
static bool canRedraw() {
  const char *terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && StringRef(terminal) != "dumb";
}

ProgressLine::ProgressLine(bool verbose)
    : verbose(verbose), isTerminal(canRedraw()) {}

void ProgressLine::began(StringRef name) {
  stage = name;
  if (isTerminal && std::chrono::steady_clock::now() - start > minInterval)
    draw();
}

void ProgressLine::ended(StringRef name, double seconds) {
  clear();
  if (verbose)
    llvm::errs() << llvm::formatv("chimera-run: {0,-12} {1,8:F3} s\n", name,
                                  seconds);
}

void ProgressLine::counted(size_t number) {
  operators = number;
  show();
}

void ProgressLine::planned() {
  ++chains;
  show();
}

void ProgressLine::emitted(size_t all) {
  ++functions;
  allFunctions = all;
  show();
}

void ProgressLine::show() {
  if (isTerminal && std::chrono::steady_clock::now() - drawn > minInterval)
    draw();
}

void ProgressLine::draw() {
  drawn = std::chrono::steady_clock::now();
  clear();
  llvm::errs() << stage << ": " << operators << " operators, " << chains
               << " chains planned";
  if (allFunctions > 0)
    llvm::errs() << ", " << functions << " of " << allFunctions
                 << " kernels compiled";
  isShown = true;
}

void ProgressLine::clear() {
  if (isShown)
    llvm::errs() << "\r\033[K";
  isShown = false;
}
