//===- CompiledChains.h - Chains that code is generated from ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_COMPILEDCHAINS_H
#define CHIMERA_LIB_TRANSFORMS_FORM_COMPILEDCHAINS_H

#include "Form/ChainFormer.h"

namespace chimera {

/// Builds chains in the form of ChainAnalysis.h: the operators reach the last
/// one and nothing else, and what lies between them can be brought into that
/// form.
class CompiledChains : public ChainBuilder {
public:
  /// There is code for products of `factors`.
  explicit CompiledChains(llvm::ArrayRef<mlir::Type> factors)
      : factors(factors) {}

  bool belongTogether(mlir::linalg::LinalgOp producer,
                      mlir::linalg::LinalgOp reader) const override;
  /// One operator makes a chain, too.
  std::string findReason(OperatorList operators) const override;
  std::string commit(OperatorList operators) const override;

private:
  llvm::SmallVector<mlir::Type> factors;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_COMPILEDCHAINS_H
