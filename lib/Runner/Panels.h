//===- Panels.h - The panels that constants are packed in -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_RUNNER_PANELS_H
#define CHIMERA_LIB_RUNNER_PANELS_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::runner {

/// Notes in `functions` which constants the chains of `module`, which is
/// planned, pack in panels, for other programs that read the same ones
/// (`markPanels`). Of a constant that is packed several times, the first panels
/// count.
void findPanels(mlir::ModuleOp module,
                llvm::MutableArrayRef<Function> functions);

} // namespace chimera::runner

#endif // CHIMERA_LIB_RUNNER_PANELS_H
