//===- PlannedChains.h - Chains that the model plans ------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDCHAINS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDCHAINS_H

#include "Form/ChainFormer.h"

namespace chimera {

/// Builds every chain that the model can plan. The operators stay as they are.
class PlannedChains : public ChainBuilder {
public:
  /// Long chains of convolutions take long to plan: the planner goes through
  /// all ways to cut them.
  double getMostRatio() const override { return 4; }
  std::string findReason(OperatorList operators) const override;
  std::string commit(OperatorList operators) const override;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDCHAINS_H
