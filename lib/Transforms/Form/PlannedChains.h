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

#include "Chimera/Model/ChainLimits.h"

namespace chimera {

/// Builds every chain that the model can plan. The operators stay as they are.
class PlannedChains : public ChainBuilder {
public:
  double getMostRatio() const override { return model::mostWorkRatio; }
  std::string findReason(OperatorList operators) const override;
  std::string commit(OperatorList operators) const override;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_PLANNEDCHAINS_H
