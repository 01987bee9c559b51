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
  /// Floats narrower than f32 are no obstacle if they `mayBeNarrow`.
  explicit CompiledChains(bool mayBeNarrow) : mayBeNarrow(mayBeNarrow) {}

  bool belongTogether(mlir::linalg::LinalgOp producer,
                      mlir::linalg::LinalgOp reader) const override;
  /// One operator makes a chain, too.
  std::string findReason(OperatorList operators) const override;
  std::string commit(OperatorList operators) const override;

private:
  bool mayBeNarrow;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_COMPILEDCHAINS_H
