//===- AffineSum.h - Sums of indices and what they fit into -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks compare positions, which are sums of indices and numbers. What follows
// from such a comparison follows from the sums, as long as the program computes
// them in types that hold all their values: i8 wraps at 128 rows.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_AFFINESUM_H
#define CHIMERA_CHAIN_AFFINESUM_H

#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

#include <map>
#include <optional>

namespace chimera {

/// A sum of indices times factors, and a constant.
struct AffineSum {
  std::map<unsigned, int64_t> factors;
  int64_t constant = 0;
};

/// `lhs` + `factor` * `rhs`.
AffineSum addMultiple(AffineSum lhs, const AffineSum &rhs, int64_t factor);

/// The product of two sums; nothing if both depend on indices.
std::optional<AffineSum> multiply(const AffineSum &lhs, const AffineSum &rhs);

/// The least and the largest value of `sum` where each index is less than its
/// extent.
std::pair<double, double> getRange(const AffineSum &sum,
                                   llvm::ArrayRef<int64_t> extents);

/// True if the terms of `sum` can be added up in any order in 32 bits.
bool fits32Bits(const AffineSum &sum, llvm::ArrayRef<int64_t> extents);

/// `sum` if a program that computes it in `type` computes no other number, and
/// 32 bits hold it as well.
std::optional<AffineSum> getIfExact(std::optional<AffineSum> sum,
                                    llvm::ArrayRef<int64_t> extents,
                                    mlir::Type type);

/// The number that `value` is, if it is a constant integer that fits 32 bits.
std::optional<AffineSum> getConstantSum(mlir::Attribute value);

/// What the operation `name` with a result of `type` makes of `operands`, of
/// which the first is of `operandType`; nothing if that is no sum.
std::optional<AffineSum>
combineSums(llvm::StringRef name, mlir::Type type, mlir::Type operandType,
            llvm::ArrayRef<std::optional<AffineSum>> operands,
            llvm::ArrayRef<int64_t> extents);

} // namespace chimera

#endif // CHIMERA_CHAIN_AFFINESUM_H
