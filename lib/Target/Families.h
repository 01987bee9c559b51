//===- Families.h - Processors by family ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family of processors has a file with its machines, written as the
// attributes that users write: a figure stands beside its name, and its source
// in a comment above. Units are those of the attributes' descriptions.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TARGET_FAMILIES_H
#define CHIMERA_LIB_TARGET_FAMILIES_H

#include "Chimera/Target/TargetFigures.h"

namespace chimera {

struct HostTopology;

/// The names that each family knows, from general to particular.
llvm::SmallVector<llvm::StringRef> getX86TargetNames();
llvm::SmallVector<llvm::StringRef> getNvidiaTargetNames();
llvm::SmallVector<llvm::StringRef> getAscendTargetNames();

/// The target of that name, or null if it is not of the family.
TargetAttr getX86Target(mlir::MLIRContext *context, llvm::StringRef name);
TargetAttr getNvidiaTarget(mlir::MLIRContext *context, llvm::StringRef name);
TargetAttr getAscendTarget(mlir::MLIRContext *context, llvm::StringRef name);

/// The machine we run on.
TargetAttr detectX86Host(mlir::MLIRContext *context);

/// Replaces cores, capacities, associativities and sharers by what is known of
/// the machine we run on.
void refine(TargetFigures &figures, const HostTopology &topology);

/// The attribute that `text` spells, which must be a valid target.
TargetAttr parseKnownTarget(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace chimera

#endif // CHIMERA_LIB_TARGET_FAMILIES_H
