//===- AffineSum.cpp - Sums of indices and what they fit into -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/AffineSum.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace chimera;

AffineSum chimera::addMultiple(AffineSum lhs, const AffineSum &rhs,
                               int64_t factor) {
  for (auto [dim, own] : rhs.factors)
    lhs.factors[dim] += factor * own;
  lhs.constant += factor * rhs.constant;
  return lhs;
}

std::optional<AffineSum> chimera::multiply(const AffineSum &lhs,
                                           const AffineSum &rhs) {
  if (lhs.factors.empty())
    return addMultiple({}, rhs, lhs.constant);
  if (rhs.factors.empty())
    return addMultiple({}, lhs, rhs.constant);
  return std::nullopt;
}

std::pair<double, double> chimera::getRange(const AffineSum &sum,
                                            ArrayRef<int64_t> extents) {
  double least = sum.constant, most = sum.constant;
  for (auto [dim, factor] : sum.factors) {
    double end = static_cast<double>(factor) * (extents[dim] - 1);
    (factor < 0 ? least : most) += end;
  }
  return {least, most};
}

bool chimera::fits32Bits(const AffineSum &sum, ArrayRef<int64_t> extents) {
  auto [least, most] = getRange(sum, extents);
  double magnitude = most - least + std::abs(static_cast<double>(sum.constant));
  return magnitude < 0x1p31 && llvm::all_of(
                                   sum.factors,
                                   [](auto factor) {
                                     return std::abs(factor.second) < int64_t(1)
                                                                          << 31;
                                   });
}

std::optional<AffineSum> chimera::getIfExact(std::optional<AffineSum> sum,
                                             ArrayRef<int64_t> extents,
                                             Type type) {
  if (!sum || !fits32Bits(*sum, extents) || !type.isIntOrIndex())
    return std::nullopt;
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, bits - 1);
  auto [least, most] = getRange(*sum, extents);
  if (least < -limit || most >= limit)
    return std::nullopt;
  return sum;
}

std::optional<AffineSum> chimera::getConstantSum(Attribute value) {
  auto number = dyn_cast_if_present<IntegerAttr>(value);
  if (!number || number.getValue().getSignificantBits() > 32)
    return std::nullopt;
  return AffineSum{{}, number.getValue().getSExtValue()};
}

std::optional<AffineSum>
chimera::combineSums(StringRef name, Type type, Type operandType,
                     ArrayRef<std::optional<AffineSum>> operands,
                     ArrayRef<int64_t> extents) {
  if (operands.empty() ||
      llvm::any_of(operands, [](const auto &sum) { return !sum; }))
    return std::nullopt;
  const AffineSum &lhs = *operands.front(), &rhs = *operands.back();
  if (name == "arith.index_cast" || name == "arith.extsi")
    return getIfExact(lhs, extents, type);
  // Negative numbers in fewer bits would become positive.
  if (name == "arith.index_castui" &&
      (operandType.isIndex() || getRange(lhs, extents).first >= 0))
    return getIfExact(lhs, extents, type);
  if (name == "arith.addi")
    return getIfExact(addMultiple(lhs, rhs, 1), extents, type);
  if (name == "arith.subi")
    return getIfExact(addMultiple(lhs, rhs, -1), extents, type);
  if (name == "arith.muli")
    return getIfExact(multiply(lhs, rhs), extents, type);
  return std::nullopt;
}
