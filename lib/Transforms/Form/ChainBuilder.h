//===- ChainBuilder.h - Chains of given operators ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What makes a chain, and how one takes the place of its operators.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CHAINBUILDER_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CHAINBUILDER_H

#include "Form/ChainGroup.h"

#include "Chimera/IR/MicroKernels.h"
#include "Form/NormalizeChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace chimera {

/// Makes chains of given operators. Strings say why not, and are empty if there
/// is no reason.
class ChainBuilder {
public:
  /// Of chains of `form`, where there is code for what `support` says.
  ChainBuilder(ChainForm form, const OperatorSupport &support)
      : form(form), support(support) {}

  /// The operator that `reader` has to join before any other, if there is one.
  mlir::linalg::LinalgOp findPartner(mlir::linalg::LinalgOp reader) const;
  /// The most multiply-adds per element of an intermediate, as a multiple of
  /// the fewest in the chain, with which it is still kept in it.
  double getMostRatio() const;
  /// Why `operators` make no chain. Leaves the program as it is.
  std::string findReason(OperatorList operators) const;
  /// Puts a chain in the place of `operators`, which may be one, with as much
  /// as possible of what follows them.
  std::string commit(OperatorList operators) const;

private:
  bool isCompiled() const { return form == ChainForm::Compiled; }
  std::string check(ChainOp chain, const ChainGroup &group) const;
  std::string build(const ChainGroup &group, FormedChain &formed) const;
  std::string build(ChainGroup &group, llvm::ArrayRef<size_t> tailLengths,
                    FormedChain &formed) const;

  ChainForm form;
  OperatorSupport support;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CHAINBUILDER_H
