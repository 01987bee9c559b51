//===- CheckMicroKernels.h - Kernels against their meaning ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A micro kernel of a user's says what it computes; whether it does can only be
// found out by running it. It is run on random matrices of extents that consist
// of whole tiles, and of extents with edges, and compared with the sum of
// products in higher precision.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_CHECKMICROKERNELS_H
#define CHIMERA_TOOLS_CHIMERA_RUN_CHECKMICROKERNELS_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::run {

/// Checks every micro kernel in the file `path`, and prints a line for each
/// that is right. Fails, saying what is expected, at the first that is not.
llvm::Error checkMicroKernels(llvm::StringRef path,
                              runner::CompileOptions options, uint64_t seed,
                              mlir::MLIRContext &context);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_CHECKMICROKERNELS_H
