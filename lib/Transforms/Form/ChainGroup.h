//===- ChainGroup.h - What could become a chain -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds, in a block of ordinary linalg, the operations that a chain would hold:
// contractions whose results reach one last contraction and nothing else, with
// the operations on the way. Changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H
#define CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SetVector.h"

namespace chimera {

/// Contractions in program order. The last one consumes, at the end of every
/// path, what the others produce.
using ContractionRun = llvm::SmallVector<mlir::linalg::LinalgOp>;

/// Why a contraction was not taken into a chain.
enum class MissedReason {
  None,
  Buffers,
  Convolution,
  ElementType,
  Shape,
  Form,
  Alone,
  UsedOutside,
  UnsupportedBetween,
  NoCommonLoop,
  NoSoftmax,
  NotNormalized,
  NotByItself
};

/// The reason in words, to follow "not in a chain: ".
llvm::StringRef getText(MissedReason reason);

/// Whether and why `op` can be no part of any chain; floats narrower than f32
/// are an obstacle unless they `mayBeNarrow`.
MissedReason getObstacle(mlir::linalg::LinalgOp op, bool mayBeNarrow);

/// Splits the contractions among `candidates`, all of one block and in program
/// order, into runs as long as possible. Every contraction is in one run; most
/// runs of real programs hold one.
llvm::SmallVector<ContractionRun>
findRuns(llvm::ArrayRef<mlir::linalg::LinalgOp> candidates);

/// The contractions of `allowed` that reach `last` and nothing else, `last`
/// included, in program order.
ContractionRun
getContractionsReaching(mlir::linalg::LinalgOp last,
                        const llvm::SetVector<mlir::Operation *> &allowed);

/// The contraction whose rows a softmax works on before `op` reads them, in any
/// spelling. Null if there is none.
mlir::linalg::LinalgOp findSoftmaxProducer(mlir::linalg::LinalgOp op);

/// The contractions of `run` with all that a chain of them clones: what lies
/// between them, the operations of `tail` after them, and what merely moves or
/// makes operands of either. Producers come before consumers; the last one is
/// the one whose result the chain yields.
llvm::SmallVector<mlir::Operation *>
getGroup(const ContractionRun &run, llvm::ArrayRef<mlir::Operation *> tail);

/// The elementwise operations that could follow the last contraction `op`
/// within its chain: each is the only user of the one before. May include
/// reshapes, but not at the end.
llvm::SmallVector<mlir::Operation *> getTail(mlir::linalg::LinalgOp op);

/// Clones `group`, in program order, into a chain in front of the operation
/// after its last one. The chain yields what stands for `results`.
ChainOp cloneIntoChain(llvm::ArrayRef<mlir::Operation *> group,
                       mlir::ValueRange results);

/// Why `op`, which is the only contraction of its run, has no neighbour to form
/// a chain with.
MissedReason explainNeighbours(mlir::linalg::LinalgOp op, bool mayBeNarrow);

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_FORM_CHAINGROUP_H
