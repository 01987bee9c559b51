//===- PutBackChains.h - Undo chains ----------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_PUTBACKCHAINS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_PUTBACKCHAINS_H

#include "Chimera/Chain/ChainAnalysis.h"

namespace chimera {

/// Puts the operators of `chain` back in its place.
void putBack(ChainOp chain);

/// The same for a chain that no code is generated from, with a remark that says
/// why: `obstacle`, in words. The remark is on the operation that is the cause,
/// if `analysis` knows one.
void putBack(ChainOp chain, const ChainAnalysis &analysis,
             const llvm::Twine &obstacle);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_PUTBACKCHAINS_H
