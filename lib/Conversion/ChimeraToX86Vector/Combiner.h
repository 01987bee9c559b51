//===- Combiner.h - How a reduction combines two values ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction on vectors combines in another order than its body says. That
// asks for an operation whose order does not matter, and for a value to start
// from that changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_COMBINER_H
#define CHIMERA_LIB_CONVERSION_COMBINER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace chimera {

class Combiner {
public:
  /// The combiner of a body that takes the accumulator as `held` and yields
  /// `yielded`: a sum, a product, a maximum, ... of `held` and something that
  /// does not depend on it. With `hasAvx512`, vectors of 512 bits are combined
  /// by instructions of AVX-512.
  static std::optional<Combiner> find(mlir::BlockArgument held,
                                      mlir::Value yielded, bool hasAvx512);

  mlir::Operation *getOperation() const { return operation; }
  /// What the body combines with the accumulator.
  mlir::Value getContribution() const { return contribution; }

  /// A vector of values that change nothing.
  mlir::Value getNeutral(mlir::OpBuilder &builder, mlir::VectorType type) const;
  /// Exactly what the body does, on vectors.
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value accumulator,
                      mlir::Value value) const;
  /// The same, but if `losesNans` anything where `value` is not a number.
  mlir::Value combineFast(mlir::OpBuilder &builder, mlir::Value accumulator,
                          mlir::Value value) const;
  /// True if a result must not be a number once an element is not, and
  /// combineFast does not see to it.
  bool losesNans() const;
  /// True if combineFast does exactly what the body does, NaNs included.
  bool isExact() const;

private:
  mlir::Operation *operation = nullptr;
  mlir::Value contribution;
  bool hasAvx512 = false;
};

/// Combines the lanes of each of `rows`, at most as many as they have lanes:
/// lane i of the result, which has a lane for each, is row i combined. Takes
/// one step per row and a few more, where each row by itself takes several.
mlir::Value combineLanes(mlir::OpBuilder &builder, mlir::Location loc,
                         const Combiner &combiner,
                         llvm::SmallVector<mlir::Value> rows);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_COMBINER_H
