//===- NearTies.h - Plans that take about as long ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predictions do not tell plans apart whose times differ by less than their
// error. Of these the one is taken that loses least if they are wrong: a plan
// that keeps scores in the outermost cache may be predicted to take 2 % less
// than one that keeps them in the second level, and takes a third longer where
// other programs use that cache.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_SEARCH_NEARTIES_H
#define CHIMERA_LIB_MODEL_SEARCH_NEARTIES_H

#include "Chimera/Model/Algorithms.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace chimera::model {

class NearTies {
public:
  void add(const Plan &plan);
  /// The plan with the least sum of its time and its exposure if that is less
  /// by more than the error, else the fastest; nothing if there are none.
  std::optional<Plan> takeSafest();

private:
  /// None of them is beaten by another in time and in exposure.
  llvm::SmallVector<Plan, 4> plans;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_SEARCH_NEARTIES_H
