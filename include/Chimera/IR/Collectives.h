//===- Collectives.h - What an exchange moves -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that exchange data between processes, as the model sees them
// and as bufferization does.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_IR_COLLECTIVES_H
#define CHIMERA_IR_COLLECTIVES_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/Network.h"

namespace chimera {

/// `op` as an exchange of the model's; none if it is no collective.
std::optional<model::Collective> getCollective(mlir::Operation *op);

/// Lets one-shot bufferization take collectives.
void registerCollectivesBufferization(mlir::DialectRegistry &registry);

} // namespace chimera

#endif // CHIMERA_IR_COLLECTIVES_H
