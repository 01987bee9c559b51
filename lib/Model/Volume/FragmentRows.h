//===- FragmentRows.h - The rows that groups of threads hold ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro kernels of other machines take for rows the longest loop that uses a
// vector again. What registers of threads hold has the rows of a result, its
// last dimension but one, be it short: of an image that is higher than wide,
// pixels of a line.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_FRAGMENTROWS_H
#define CHIMERA_LIB_MODEL_VOLUME_FRAGMENTROWS_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"

#include <optional>

namespace chimera::model {

/// `problem` with rows for the registers of threads; nothing if `machine` has
/// none, or these are its rows.
std::optional<ChainProblem> withFragmentRows(const ChainProblem &problem,
                                             const Machine &machine);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_FRAGMENTROWS_H
