//===- Halo.h - Intermediates that are read through windows -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which pixels a convolution needs of the image before it follows from its own
// tile: the rows and columns under its windows, of which neighbouring tiles
// share a halo. The loops that make the image are *derived* (Problem.h). Each
// tile of the reader makes what it needs in a buffer with room for all of its
// windows, those parts included that lie outside the image. These are zeros;
// what lies inside is computed, and a view shows the windows. An image that
// *rolls* keeps its buffer from one iteration to the next: what both need moves
// to the front, and only the rest is computed.
//
//     0 0 0 0 0 0     rows -1 to 2 of an image that begins at row 0,
//     0 x x x x 0     for two rows of 3 x 3 windows with a padding of one
//     0 x x x x 0
//     0 x x x x 0
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_HALO_H
#define CHIMERA_LIB_TRANSFORMS_TILE_HALO_H

#include "Tile/BlockBuilder.h"

namespace chimera {

class HaloBuilder {
public:
  /// Code for `tree`, the one of `schedule`, goes where `builder` stands.
  HaloBuilder(mlir::OpBuilder &builder, BlockBuilder &blocks,
              const ChainAnalysis &analysis, const model::Schedule &schedule,
              const model::LoopNest &tree, mlir::Location loc);

  /// Notes where each loop can be at the `start`, outside all loops.
  void begin(TreePosition &start) const;
  /// Notes where `loop` of `nest`, which has just been narrowed, can be.
  void narrow(const model::LoopNest &nest, const model::NestLoop &loop,
              TreePosition &position) const;
  /// Brings the ranges of derived loops of operators in `nest` up to date, and
  /// adds to `moved` how far they moved.
  void follow(const model::LoopNest &nest, TreePosition &position,
              llvm::SmallVectorImpl<LoopOffset> &moved);

  /// True if nothing is computed again of `tensor`, which is to roll.
  bool isKept(model::TensorId tensor) const {
    return llvm::any_of(
        rolls, [&](const Roll &roll) { return roll.tensor == tensor; });
  }
  /// True if operators read `tensor`, an intermediate, through windows.
  bool isReadThroughWindows(model::TensorId tensor) const {
    return readings.contains(tensor);
  }

  /// What a loop carries for the intermediates that roll along it: where it
  /// starts at `position`, at the beginning of an iteration that carries
  /// `values`, and at its end.
  llvm::SmallVector<mlir::Value> startRolling(const model::LoopNest &nest,
                                              const model::NestLoop &loop,
                                              const TreePosition &position);
  void beginRolling(const model::LoopNest &nest, mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> endRolling(const model::LoopNest &nest);

  /// A buffer with room for windows, and the place in it of what is computed.
  struct Frame {
    mlir::Value buffer;
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  /// The windows over what operator `op` makes at `position`: `compute` is
  /// given the place of what is new.
  mlir::Value
  buildWindows(unsigned op, const TreePosition &position,
               llvm::function_ref<mlir::Value(mlir::Value place)> compute);

private:
  /// An intermediate that rolls.
  struct Roll {
    model::TensorId tensor;
    model::LoopId derived;
    const model::LoopNest *nest;
    /// In the iteration at hand: the buffer, where what it has of the image
    /// ends, and where it begins.
    mlir::Value buffer, made, origin;
  };
  Roll *findRoll(model::LoopId derived);
  /// The frame of what operator `op` makes at `position`, zeros outside the
  /// image, with what is there already of an intermediate that rolls.
  Frame buildFrame(unsigned op, const TreePosition &position);
  void keepRows(Roll &roll, unsigned dim, mlir::OpFoldResult origin,
                const TreePosition &position) const;
  mlir::Value computeIn(unsigned op, const Frame &frame,
                        const TreePosition &position,
                        llvm::function_ref<mlir::Value(mlir::Value)> compute);
  int64_t mostOf(const model::Index &needed,
                 const TreePosition &position) const;
  llvm::SmallVector<int64_t> shapeOfFrame(const model::Access &made,
                                          const TreePosition &position) const;
  void advance(const model::LoopNest &nest, const model::NestLoop &loop,
               TreePosition &position) const;
  /// What readers need of a loop, be it inside the image or not.
  struct Hull {
    mlir::OpFoldResult origin, extent;
  };
  Hull findHull(const model::Index &needed, const TreePosition &position) const;
  mlir::Value fillBorder(unsigned op, mlir::Value buffer, unsigned dim,
                         mlir::OpFoldResult lower,
                         mlir::OpFoldResult upper) const;
  mlir::Value fillBorders(unsigned op, mlir::Value buffer, unsigned dim,
                          const Hull &hull, const model::Index &needed,
                          int64_t size, const TreePosition &position) const;

  mlir::OpBuilder &builder;
  BlockBuilder &blocks;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  mlir::Location loc;
  /// Derived loops, and the loops on which their ranges depend.
  llvm::SmallDenseSet<model::LoopId, 8> followed;
  /// How intermediates are read, if by other loops than they are made.
  llvm::SmallDenseMap<model::TensorId, const model::Access *, 4> readings;
  llvm::SmallVector<Roll, 2> rolls;
};

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_HALO_H
