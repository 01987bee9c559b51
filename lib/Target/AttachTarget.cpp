//===- AttachTarget.cpp - Write the target down in the program ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Target/Passes.h"
#include "Chimera/Target/Target.h"

namespace chimera {
#define GEN_PASS_DEF_ATTACHTARGETPASS
#include "Chimera/Target/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

namespace {
struct AttachTargetPass
    : chimera::impl::AttachTargetPassBase<AttachTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetAttrInterface> resolved =
        resolveTarget(getOperation(), target);
    if (failed(resolved))
      return signalPassFailure();
    getOperation()->setDiscardableAttr(kTargetAttrName, *resolved);
  }
};
} // namespace
