//===- Taps.h - Taps on padding ---------------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Windows at the border of an image reach into padding. Memory has zeros there,
// so that views show whole windows; what is multiplied with them is left out
// where a tile of pixels has it in common: the range of a loop over taps
// follows from that of the loop over pixels (Model/Padding.h). Where a program
// is in charge of its memories, windows are whole: the filters of a task would
// come again for each row of pixels.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_TAPS_H
#define CHIMERA_LIB_TRANSFORMS_TILE_TAPS_H

#include "Tile/BlockBuilder.h"

#include "Chimera/Model/Padding.h"

namespace chimera {

class TapClipper {
public:
  /// Code for `tree` goes where `builder` stands.
  TapClipper(mlir::OpBuilder &builder, const ChainAnalysis &analysis,
             const model::Schedule &schedule, const model::LoopNest &tree,
             mlir::Location loc);

  /// `source`, which `access` reads, with the padding that its windows reach.
  mlir::Value buildPadding(const model::Access &access,
                           mlir::Value source) const;

  /// Notes where loops over pixels are at the `start`, outside all loops.
  void begin(TreePosition &start) const;
  /// Brings the ranges of taps up to date with the tile of `loop`, and adds to
  /// `moved` how far they moved.
  void follow(model::LoopId loop, TreePosition &position,
              llvm::SmallVectorImpl<LoopOffset> &moved) const;

private:
  std::pair<mlir::OpFoldResult, mlir::OpFoldResult>
  findRange(const model::PaddedWindow &window,
            const TreePosition &position) const;

  mlir::OpBuilder &builder;
  const model::ChainProblem &problem;
  mlir::Location loc;
  /// Windows whose taps no loop of the tree cuts.
  llvm::SmallVector<model::PaddedWindow> windows;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_TAPS_H
