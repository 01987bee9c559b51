//===- OpenSizes.cpp - Sizes that types have placeholders for -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpenSizes.h"

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace chimera;

OpenSizes::OpenSizes(Operation *op) {
  Operation *function = isa<FunctionOpInterface>(op)
                            ? op
                            : op->getParentOfType<FunctionOpInterface>();
  if (!function)
    return;
  auto read = [&](StringRef name, SmallVectorImpl<int64_t> &numbers) {
    if (auto listed = function->getAttrOfType<DenseI64ArrayAttr>(name))
      llvm::append_range(numbers, listed.asArrayRef());
  };
  read(ChimeraDialect::getOpenSizesAttrName(), placeholders);
  read(ChimeraDialect::getPlannedSizesAttrName(), planned);
}

std::pair<SmallVector<unsigned>, int64_t>
OpenSizes::factor(int64_t size) const {
  SmallVector<unsigned> factors;
  for (auto [index, placeholder] : llvm::enumerate(placeholders))
    while (size != 0 && size % placeholder == 0) {
      factors.push_back(index);
      size /= placeholder;
    }
  return {factors, size};
}

bool OpenSizes::isOpen(int64_t size) const {
  return !factor(size).first.empty();
}

int64_t OpenSizes::getPlanned(int64_t size) const {
  auto [factors, rest] = factor(size);
  for (unsigned index : factors)
    rest *= planned[index];
  return rest;
}
