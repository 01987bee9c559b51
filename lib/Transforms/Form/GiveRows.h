//===- GiveRows.h - Rows for products of a vector ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_GIVEROWS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_GIVEROWS_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// Makes products of one row, in place, of the products of a vector by a matrix
/// that `chain`, whose body is normalized, consists of. Leaves other chains as
/// they are.
void giveRows(ChainOp chain);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_GIVEROWS_H
