//===- SeparateCores.cpp - A kernel of two kinds of cores -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeparateCores.h"

#include "Chimera/Ascend/Ascend.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

void ascend::removeDead(func::FuncOp kernel) {
  bool changed = true;
  while (changed) {
    changed = false;
    SmallVector<Operation *> dead;
    kernel.walk([&](Operation *op) {
      bool isUnusedAlloc = isa<memref::AllocOp>(op) &&
                           llvm::all_of(op->getUsers(), [](Operation *user) {
                             return isa<memref::DeallocOp>(user);
                           });
      if (isUnusedAlloc || isOpTriviallyDead(op))
        dead.push_back(op);
    });
    for (Operation *op : dead) {
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        user->erase();
      op->erase();
      changed = true;
    }
  }
}

/// Leaves of `kernel`, called `name`, what cores of kind `core` do.
static void keepPart(func::FuncOp kernel, StringRef name, CoreKind core) {
  SmallVector<Operation *> others;
  kernel.walk([&](Operation *op) {
    std::optional<CoreKind> own = getCore(op);
    if (own && *own != core)
      others.push_back(op);
  });
  // Uses come after what they use.
  for (Operation *op : llvm::reverse(others))
    if (op->use_empty())
      op->erase();
  removeDead(kernel);
  StringRef kind = stringifyCoreKind(core);
  kernel.setName((name + "_" + kind).str());
  kernel->setAttr(kCoreAttrName, StringAttr::get(kernel.getContext(), kind));
}

void ascend::separateCores(func::FuncOp kernel) {
  WalkResult found =
      kernel.walk([](SetCrossFlagOp) { return WalkResult::interrupt(); });
  if (!found.wasInterrupted())
    return;
  std::string name = kernel.getName().str();
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  auto vector = cast<func::FuncOp>(builder.clone(*kernel));
  keepPart(kernel, name, CoreKind::Cube);
  keepPart(vector, name, CoreKind::Vector);
}
