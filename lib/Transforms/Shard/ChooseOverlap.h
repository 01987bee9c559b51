//===- ChooseOverlap.h - In how many blocks to exchange ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSEOVERLAP_H
#define CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSEOVERLAP_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace chimera {

/// What was chosen for a function.
struct Overlap {
  /// Seconds that it takes less than without.
  double savedSeconds = 0;
  int64_t numOverlapped = 0;
};

/// Says for each all-reduce of `function` in how many blocks it is exchanged,
/// each while the next is computed: in as many as take the least time by the
/// model.
Overlap chooseOverlap(mlir::func::FuncOp function,
                      const model::Machine &machine, int64_t threads,
                      OverlapMode mode);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_SHARD_CHOOSEOVERLAP_H
