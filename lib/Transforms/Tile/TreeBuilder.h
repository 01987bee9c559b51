//===- TreeBuilder.h - The loop tree of a chain as code ------- -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies a schedule and decides nothing. The loop tree is the model's own
// (model::buildLoopTree), so the blocks run as they were counted:
//
//   shared loops, parallel ones as one scf.forall
//     for every operator: its subtree, its blocks
//
// If one of the parallel loops splits the reduction of a softmax, every part
// leaves an accumulator and states, and a second loop nest combines them.
//
// Each loop narrows the tensors it indexes to the tile inside it. Tiles at an
// edge are smaller, so their sizes are values; which extents occur is known and
// goes along as the `extents` of the blocks. The loops are built in
// TreeBuilder.cpp, the parallel ones in ParallelLoops.cpp, what masks leave of
// them in MaskedLoops.cpp; the blocks in BlockBuilder.cpp and, for a softmax,
// in OnlineSoftmax.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_TILE_TREEBUILDER_H
#define CHIMERA_TRANSFORMS_TILE_TREEBUILDER_H

#include "Tile/BlockBuilder.h"
#include "Tile/Halo.h"
#include "Tile/OnlineSoftmax.h"
#include "Tile/Staging.h"
#include "Tile/Taps.h"

#include "Chimera/Chain/ChainAnalysis.h"

namespace chimera {

/// Builds the loop tree of a chain's schedule, as the model counted it.
class TreeBuilder {
public:
  TreeBuilder(ChainOp chain, const ChainAnalysis &analysis,
              const model::Schedule &schedule);

  /// Builds the tree before the chain and returns the chain's result.
  mlir::Value build();

private:
  /// What a nest updates: the output of its last operator and, from where it is
  /// initialised on, the states that operator keeps.
  using Carried = llvm::SmallVector<mlir::Value, 3>;
  using Body = llvm::function_ref<Carried(const TreePosition &position,
                                          const Carried &carried)>;

  TreePosition start();
  void noteHalos();
  mlir::Value buildParallel(const TreePosition &position,
                            mlir::Value destination);
  bool isFolded(const model::NestLoop &loop) const;
  mlir::Value fold(const model::NestLoop &loop, const TreePosition &position,
                   mlir::Value iv);
  Carried buildForall(llvm::ArrayRef<model::NestLoop> loops,
                      const TreePosition &position, const Carried &shared,
                      Body body);
  mlir::Value buildSplit(const TreePosition &position, mlir::Value destination);
  mlir::Value buildCombined(const TreePosition &position, const Carried &parts,
                            mlir::Value destination);
  struct Slice {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  Slice sliceAt(unsigned index, const TreePosition &position,
                mlir::OpFoldResult part) const;
  mlir::Value extract(mlir::Value value, const Slice &slice, bool isParted);
  bool makesExponentials(const model::LoopNest &nest) const;
  void startStates(const TreePosition &position, Carried &carried);
  mlir::Value startSums(unsigned op, const TreePosition &position,
                        mlir::Value place);
  Carried buildNest(const model::LoopNest &nest, unsigned depth,
                    const TreePosition &position, Carried carried,
                    bool initialised);
  mlir::Value buildUnderWindows(const model::LoopNest &nest,
                                const TreePosition &position);
  Carried buildParts(const model::LoopNest &nest, const TreePosition &position,
                     Carried carried, bool initialised);
  /// From where to where a loop runs.
  struct Bounds {
    mlir::OpFoldResult lower, upper;
    /// Tiles before this are left out whatever happens.
    int64_t first = 0;
    /// True if a mask may leave only the beginning of the last tile.
    bool isMasked = false;
  };
  Carried buildLoop(const model::LoopNest &nest, const model::NestLoop &loop,
                    const TreePosition &position, const Bounds &bounds,
                    const Carried &carried, Body body);
  bool isSkipping(const model::LoopNest &nest, unsigned depth,
                  bool initialised) const;
  Bounds getBounds(const model::NestLoop &loop, const TreePosition &position);
  Carried fillAround(const model::LoopNest &nest, const model::NestLoop &loop,
                     const TreePosition &position, const Bounds &bounds,
                     Carried carried);
  model::TensorId getCarriedTensor(unsigned op, unsigned index) const;

  /// Narrows `position` to the tile that `loop` of `nest`, which starts at
  /// `first`, has at `offset`. If the tile is clipped, `end` is where what
  /// counts of the loop ends, and `sizes` are those that the tile may have.
  TreePosition narrow(const model::LoopNest &nest, const model::NestLoop &loop,
                      const TreePosition &position, mlir::Value offset,
                      int64_t first = 0, llvm::ArrayRef<int64_t> sizes = {},
                      mlir::Value end = {});
  /// The slice at `position` of `value`, which has dimensions along the loops
  /// `dims` and begins where it does but for the offsets in `moved`.
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<model::LoopId> dims,
                    llvm::ArrayRef<LoopOffset> moved,
                    const TreePosition &position);
  void sliceTensors(const model::NestLoop &loop,
                    llvm::ArrayRef<LoopOffset> moved, TreePosition &position);

  unsigned lastOperator() const { return problem.operators.size() - 1; }
  bool isReductionOf(unsigned op, model::LoopId loop) const {
    return problem.operators[op].isReduction(loop);
  }
  mlir::Location loc() { return chain.getLoc(); }

  mlir::OpBuilder builder;
  ChainOp chain;
  const ChainAnalysis &analysis;
  const model::ChainProblem &problem;
  const model::Schedule &schedule;
  model::LoopNest tree;
  BlockBuilder blocks;
  OnlineSoftmax softmax;
  Stager stager;
  HaloBuilder halos;
  TapClipper taps;
  /// The place of the loop that splits the last operator's reduction.
  std::optional<unsigned> split;
  /// True where the rest of a reduction follows: sums are no result yet.
  bool isPartial = false;
};

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_TILE_TREEBUILDER_H
