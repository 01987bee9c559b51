//===- ChainFormer.h - Which operators become chains ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neighbours join where that makes a chain, one edge after the other. What
// makes a chain, and how one takes the place of its operators, a builder says:
// one for chains that code is generated from, one for those that are planned
// only.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H

#include "Form/MissedReason.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {

using OperationSet = llvm::SetVector<mlir::Operation *>;
/// Operators of one block, in program order.
using OperatorList = llvm::ArrayRef<mlir::linalg::LinalgOp>;

/// Makes chains of given operators. Strings say why not, and are empty if there
/// is no reason.
class ChainBuilder {
public:
  virtual ~ChainBuilder();

  /// True if `reader` has to join `producer` before anything else does.
  virtual bool belongTogether(mlir::linalg::LinalgOp producer,
                              mlir::linalg::LinalgOp reader) const {
    return false;
  }
  /// The most multiply-adds per element of an intermediate, as a multiple of
  /// the fewest in the chain, with which it is still kept in it.
  virtual double getMostRatio() const;
  /// Why `operators` make no chain. Leaves the program as it is.
  virtual std::string findReason(OperatorList operators) const = 0;
  /// Puts a chain in the place of `operators`, with as much as possible of what
  /// follows them.
  virtual std::string commit(OperatorList operators) const = 0;
};

/// Why operators are in no chain.
using MissedOperators = llvm::MapVector<mlir::Operation *, std::string>;

/// Forms chains of several of `candidates`, the operators of a block that may
/// be part of one. `missed` gets the others, with reasons.
void formChains(OperatorList candidates, const ChainBuilder &builder,
                MissedOperators &missed);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CHAINFORMER_H
