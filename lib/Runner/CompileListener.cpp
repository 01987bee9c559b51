//===- CompileListener.cpp - How far a compilation is ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/CompileListener.h"

using namespace chimera::runner;

CompileListener::~CompileListener() = default;

Stage::Stage(CompileListener *listener, llvm::StringRef name)
    : listener(listener), name(name), start(std::chrono::steady_clock::now()) {
  if (listener)
    listener->began(name);
}

Stage::~Stage() {
  if (!listener)
    return;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  listener->ended(name, passed.count());
}
