//===- X86.h - x86 processors -----------------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TARGET_X86_H
#define CHIMERA_LIB_TARGET_X86_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// Names of the x86 targets in the table.
llvm::SmallVector<llvm::StringRef> getX86TargetNames();

/// The x86 target of that name, or null.
TargetAttr getX86Target(mlir::MLIRContext *context, llvm::StringRef name);

/// The machine we run on.
TargetAttr detectX86Host(mlir::MLIRContext *context);

} // namespace chimera

#endif // CHIMERA_LIB_TARGET_X86_H
