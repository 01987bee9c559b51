//===- TargetFigures.h - A target whose figures can change ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes are immutable and have many parameters: who derives a target from
// another takes it apart, changes some figures and puts it together again.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TARGET_TARGETFIGURES_H
#define CHIMERA_TARGET_TARGETFIGURES_H

#include "Chimera/IR/Chimera.h"

namespace chimera {

/// A target taken apart, to change some of its figures.
struct TargetFigures {
  explicit TargetFigures(TargetAttr target);

  /// Puts the figures together; null, with an error, if they do not agree.
  TargetAttr
  assemble(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// Gives the machine that many cores. A level of which each core has its own
  /// comes with them; one that all cores share is shared by all.
  void setCores(int64_t count);

  struct Level {
    std::string name;
    int64_t capacity, usable, coreBandwidth, chipBandwidth, sharers, line, ways,
        buffers, burst, mostBuffers, latency;
  };
  mlir::MLIRContext *context;
  std::string name;
  int64_t cores;
  VectorUnitAttr unit;
  llvm::SmallVector<Level, 3> levels;
  llvm::SmallVector<DotProductAttr, 2> dots;
  llvm::SmallVector<MatrixUnitAttr, 4> matrix;
  llvm::SmallVector<BufferAttr, 4> buffers;
  llvm::SmallVector<RouteAttr, 8> routes;
  ThreadGroupsAttr groups;
  OverheadsAttr overheads;
  int64_t launch, stack;
  NetworkAttr network;
  mlir::StringAttr triple, cpu, features;
};

} // namespace chimera

#endif // CHIMERA_TARGET_TARGETFIGURES_H
