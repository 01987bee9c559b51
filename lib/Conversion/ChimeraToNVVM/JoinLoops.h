//===- JoinLoops.h - One loop of nested ones --------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop starts its copies anew whenever it begins: nobody asked for its first
// tile ahead. The taps and channels of a convolution are several loops, one
// directly inside the other. As one loop they begin once.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_JOINLOOPS_H
#define CHIMERA_LIB_CONVERSION_JOINLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace chimera {

/// Makes one loop of those in `forall` that do nothing but run another one, of
/// known bounds, and choose what it works on.
void joinLoops(mlir::scf::ForallOp forall);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_JOINLOOPS_H
