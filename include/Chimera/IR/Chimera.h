//===- Chimera.h - The Chimera dialect --------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes and interfaces of the dialect, in one header.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_CHIMERA_H
#define CHIMERA_IR_CHIMERA_H

#include "Chimera/Model/Schedule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace chimera {
class MicroKernelAttrInterface;
} // namespace chimera

#include "Chimera/IR/ChimeraAttrInterfaces.h.inc"
#include "Chimera/IR/ChimeraDialect.h.inc"
#include "Chimera/IR/ChimeraEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Chimera/IR/ChimeraAttributes.h.inc"

#define GET_OP_CLASSES
#include "Chimera/IR/ChimeraOps.h.inc"

namespace chimera {

/// True if `body` takes two factors and an accumulator and ends with
/// accumulator + factor * factor in f32 arithmetic, in any order of operands.
/// Narrower factors are widened first.
bool multipliesAndAdds(mlir::Block &body);

/// Attaches the bufferization of `chimera.micro_kernel` to the dialect.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace chimera

#endif // CHIMERA_IR_CHIMERA_H
