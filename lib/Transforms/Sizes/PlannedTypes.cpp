//===- PlannedTypes.cpp - Tensors as large as is planned for --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes/PlannedTypes.h"

#include "Chimera/Chain/OpenSizes.h"

using namespace mlir;
using namespace chimera;

PlannedTypes::PlannedTypes(Operation *root) {
  root->walk([&](func::FuncOp function) { replaceTypes(function); });
}

PlannedTypes::~PlannedTypes() {
  for (auto [value, type] : types)
    value.setType(type);
}

void PlannedTypes::replaceTypes(func::FuncOp function) {
  OpenSizes open(function);
  if (open.empty())
    return;
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      replaceType(result, open);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          replaceType(argument, open);
  });
}

void PlannedTypes::replaceType(Value value, const OpenSizes &open) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return;
  if (llvm::none_of(type.getShape(),
                    [&](int64_t size) { return open.isOpen(size); }))
    return;
  SmallVector<int64_t> planned = llvm::map_to_vector(
      type.getShape(), [&](int64_t size) { return open.getPlanned(size); });
  types.emplace_back(value, type);
  value.setType(type.clone(planned));
}
