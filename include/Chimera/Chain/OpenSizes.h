//===- OpenSizes.h - Sizes that types have placeholders for -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code for any sizes is formed and planned with placeholders in its types, so
// that whatever works on static shapes works on these. A placeholder is a large
// prime that divides no other number of the function: a size of which it is a
// factor is that of an open dimension, or a product with one. Sums of such
// sizes are placeholders of their own.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_OPENSIZES_H
#define CHIMERA_CHAIN_OPENSIZES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace chimera {

/// Stands, behind other extents that a loop may have, for any that is smaller;
/// alone, for any.
constexpr int64_t anyExtent = 0;

class OpenSizes {
public:
  /// A placeholder that is a sum of sizes, and its terms: products of sizes,
  /// each a multiple of placeholders before it, and a number.
  struct Sum {
    int64_t size;
    llvm::SmallVector<int64_t> terms;
  };

  /// Those of the function around `op`; none if it lists none.
  explicit OpenSizes(mlir::Operation *op);

  /// Adds a placeholder, which is planned for as its terms are.
  void add(Sum sum);

  bool empty() const { return placeholders.empty(); }
  llvm::ArrayRef<int64_t> getPlaceholders() const { return placeholders; }
  /// Those of sizes that arguments have.
  llvm::ArrayRef<int64_t> getOwnPlaceholders() const {
    return getPlaceholders().drop_back(sums.size());
  }
  /// Those that are sums.
  llvm::ArrayRef<Sum> getSums() const { return sums; }
  /// True if `size` is not known.
  bool isOpen(int64_t size) const;
  /// `size` with what is planned for in place of placeholders.
  int64_t getPlanned(int64_t size) const;
  /// `size` as `chimera.size` reads it, if it is not known; else as a number.
  mlir::OpFoldResult getSize(mlir::OpBuilder &builder, mlir::Location loc,
                             int64_t size) const;
  /// Which placeholders are factors of `size`, as often as they are, and what
  /// else it is a multiple of.
  std::pair<llvm::SmallVector<unsigned>, int64_t> factor(int64_t size) const;

private:
  llvm::SmallVector<int64_t, 2> placeholders, planned;
  llvm::SmallVector<Sum, 0> sums;
};

} // namespace chimera

#endif // CHIMERA_CHAIN_OPENSIZES_H
