//===- AnnotateBranches.cpp - What loops say to LLVM, said by branches ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop's annotation comes to the branch back as an attribute among others:
// upstream's conversion of branches hands all of them on as they are. LLVM's
// branches have a place of their own for it, and the translation to LLVM IR
// reads no other.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/TypeSwitch.h"

namespace chimera {
#define GEN_PASS_DEF_ANNOTATEBRANCHESPASS
#include "Chimera/Conversion/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

template <typename BranchOp>
static void takeAnnotation(BranchOp branch) {
  StringAttr name = branch.getLoopAnnotationAttrName();
  auto annotation = dyn_cast_if_present<LLVM::LoopAnnotationAttr>(
      branch->getDiscardableAttr(name));
  if (!annotation)
    return;
  branch->removeDiscardableAttr(name);
  branch.setLoopAnnotationAttr(annotation);
}

namespace {
class AnnotateBranchesPass
    : public chimera::impl::AnnotateBranchesPassBase<AnnotateBranchesPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      TypeSwitch<Operation *>(op).Case<LLVM::BrOp, LLVM::CondBrOp>(
          [](auto branch) { takeAnnotation(branch); });
    });
  }
};
} // namespace
