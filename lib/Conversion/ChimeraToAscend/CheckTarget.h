//===- CheckTarget.h - Whether a target is what code is for -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans are made for the figures of a target, code is made of the instructions
// of its cpu. Where these are for something else, plans would be for another
// machine than the code.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CHECKTARGET_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CHECKTARGET_H

#include "KernelLowering.h"

#include <string>

namespace chimera::ascend {

/// What kernels on `machine` run on, whose cube unit is offered as `cubes`.
Cores getCores(const model::Machine &machine, llvm::ArrayRef<Cube> cubes,
               Architecture architecture);

/// What the instructions of `cores` are made for and `machine` is not like;
/// empty if it is.
std::string findMismatch(const model::Machine &machine, const Cores &cores);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_CHECKTARGET_H
