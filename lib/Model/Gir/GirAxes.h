//===- GirAxes.h - What the loops of a set have in common -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators have loops of their own. Those that index the same elements of a
// tensor are one *axis* of the set: what cuts the tasks of one operator along
// it cuts those of all. Accesses count elements in memory, so a reshape is
// nothing special: it makes an axis fall into parts.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_GIR_GIRAXES_H
#define CHIMERA_LIB_MODEL_GIR_GIRAXES_H

#include "Chimera/Model/GirTemplates.h"

namespace chimera::model {

/// An access along axes.
struct AxisAccess {
  TensorId tensor = 0;
  int64_t offset = 0;
  /// By axis, elements between neighbours; 0 where the axis does not matter.
  llvm::SmallVector<int64_t, 4> strides;
};

struct AxisOperator {
  OperatorId id = 0;
  /// By axis, if it has a loop along it.
  llvm::SmallVector<bool, 4> has;
  llvm::SmallVector<AxisAccess, 3> inputs, outputs;

  bool reduces(unsigned axis) const {
    return has[axis] && llvm::all_of(outputs, [&](const AxisAccess &output) {
             return output.strides[axis] == 0;
           });
  }
};

/// A set of operators along its axes.
struct AxisSet {
  /// By axis. Axes that could be one are.
  llvm::SmallVector<int64_t, 4> extents;
  std::vector<AxisOperator> operators;

  unsigned size() const { return extents.size(); }
};

/// Finds the axes of `members`, or why there are none. With `composesMoves`,
/// who reads what a move has made reads what the move has read, so that moves
/// that nobody else waits for (`isResult`, by tensor) vanish.
std::optional<AxisSet> findAxes(const OperatorGraph &graph,
                                llvm::ArrayRef<OperatorId> members,
                                llvm::ArrayRef<bool> isResult,
                                bool composesMoves, GirRefusal &why);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_GIR_GIRAXES_H
