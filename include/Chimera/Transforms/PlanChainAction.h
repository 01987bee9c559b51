//===- PlanChainAction.h - The planning of one chain ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `chimera-schedule` plans each chain as an action of MLIR's: a tool that has a
// handler for actions sees chains as they are planned, and `--log-actions-to`
// lists them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_PLANCHAINACTION_H
#define CHIMERA_TRANSFORMS_PLANCHAINACTION_H

#include "mlir/IR/Action.h"

namespace chimera {

/// Its unit of IR is the `chimera.chain`.
class PlanChainAction : public mlir::tracing::ActionImpl<PlanChainAction> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanChainAction)

  explicit PlanChainAction(llvm::ArrayRef<mlir::IRUnit> units)
      : ActionImpl(units) {}

  static constexpr llvm::StringLiteral tag = "chimera-plan-chain";

  void print(llvm::raw_ostream &os) const override { os << tag; }
};

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_PLANCHAINACTION_H
