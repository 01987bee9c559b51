//===- FindAssembler.cpp - Machine code needs ptxas -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream finds out at the end of a compilation that there is no ptxas, and
// prints the whole kernel with the error.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace chimera {
#define GEN_PASS_DEF_FINDASSEMBLERPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

/// Looks where upstream does.
static bool isInstalled(StringRef program) {
  llvm::SmallString<128> folder(NVVM::getCUDAToolkitPath());
  llvm::sys::path::append(folder, "bin");
  return llvm::sys::findProgramByName(program, {folder}) ||
         llvm::sys::findProgramByName(program);
}

namespace {
struct FindAssemblerPass
    : chimera::impl::FindAssemblerPassBase<FindAssemblerPass> {
  using Base::Base;

  void runOnOperation() override {
    if (isInstalled("ptxas"))
      return;
    emitError(getOperation()->getLoc())
        << "machine code for GPUs needs ptxas, which is neither in PATH nor in "
           "the CUDA toolkit; format=isa stops at PTX and does without";
    signalPassFailure();
  }
};
} // namespace
