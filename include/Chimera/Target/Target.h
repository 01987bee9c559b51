//===- Target.h - Named and detected machines -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets by name. All knowledge about particular hardware is in lib/Target, as
// attributes; nothing else in the project compares names.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TARGET_TARGET_H
#define CHIMERA_TARGET_TARGET_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// The name under which a module carries a target of its own.
inline constexpr llvm::StringLiteral kTargetAttrName = "chimera.target";

/// The names `getTarget` knows, `host` first.
llvm::SmallVector<llvm::StringRef> getTargetNames();

/// The target of that name; null if there is none. `host` is the machine we run
/// on: its caches and cores as the system reports them, its rates from the
/// nearest named target.
TargetAttr getTarget(mlir::MLIRContext *context, llvm::StringRef name);

/// The target for `op`: the `chimera.target` attribute of the closest enclosing
/// operation that has one, else the target named `name`. Emits an error on `op`
/// and fails if neither exists.
llvm::FailureOr<TargetAttrInterface> resolveTarget(mlir::Operation *op,
                                                   llvm::StringRef name);

} // namespace chimera

#endif // CHIMERA_TARGET_TARGET_H
