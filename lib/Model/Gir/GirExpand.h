//===- GirExpand.h - One graph for a set of operators -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says what becomes of every axis; from there on a graph follows node by
// node.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GIR_GIREXPAND_H
#define CHIMERA_LIB_MODEL_GIR_GIREXPAND_H

#include "Gir/GirAxes.h"

namespace chimera::model {

/// What becomes of the axes of a set.
struct GirPlan {
  /// The axes along runs and within runs, if any.
  std::optional<unsigned> num, width;
  /// By axis, the tile of a loop over tasks; 0 if slices have all of it. Of
  /// axes that are neither along nor within runs it is 1.
  llvm::SmallVector<int64_t, 4> tiles;
  /// The axis whose reductions are done in parts, one a tile.
  std::optional<unsigned> parted;
  bool bypasses = false;
  /// Otherwise each operator is a stage of its own.
  bool isMerged = true;
};

/// The graph that `plan` makes of `set`, or why there is none. `isResult` says
/// of every tensor of `graph` whether the set has to store it.
std::optional<Gir> expandPlan(const OperatorGraph &graph, const AxisSet &set,
                              const GirPlan &plan,
                              llvm::ArrayRef<bool> isResult,
                              const Machine &machine, int64_t threads,
                              GirRefusal &why);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GIR_GIREXPAND_H
