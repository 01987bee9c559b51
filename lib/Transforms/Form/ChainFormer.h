//===- ChainFormer.h - Which operators become chains ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbours join where that makes a chain, one edge after the other. What
// makes a chain a builder says.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H

#include "Form/ChainBuilder.h"

#include "llvm/ADT/MapVector.h"

namespace chimera {

/// Why operators are in no chain.
using MissedOperators = llvm::MapVector<mlir::Operation *, std::string>;

/// Forms chains of several of `candidates`, the operators of a block that may
/// be part of one. `missed` gets the others, with reasons.
void formChains(OperatorList candidates, const ChainBuilder &builder,
                MissedOperators &missed);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H
