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
  if (auto listed = function->getAttrOfType<ArrayAttr>(
          ChimeraDialect::getOpenSumsAttrName()))
    for (auto [size, terms] :
         llvm::zip_equal(ArrayRef(placeholders).take_back(listed.size()),
                         listed.getAsRange<DenseI64ArrayAttr>()))
      sums.push_back({size, llvm::to_vector(terms.asArrayRef())});
}

void OpenSizes::add(Sum sum) {
  int64_t size = 0;
  for (int64_t term : sum.terms)
    size += getPlanned(term);
  placeholders.push_back(sum.size);
  planned.push_back(size);
  sums.push_back(std::move(sum));
}

OpFoldResult OpenSizes::getSize(OpBuilder &builder, Location loc,
                                int64_t size) const {
  if (!isOpen(size))
    return builder.getIndexAttr(size);
  return SizeOp::create(builder, loc, builder.getIndexType(), size).getResult();
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
