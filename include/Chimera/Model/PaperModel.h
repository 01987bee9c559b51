//===- PaperModel.h - The model as the paper has it -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Zheng et al. (HPCA 2023) print: Algorithm 1, Table III, Figure 2,
// equations 1 to 3, the closed form for two GEMMs and the choice of the micro
// kernel. It is here to be compared with; no plan is made of it. The section
// "Beside the paper's evaluator" of docs/model.md says where it is off.
//
// As in the paper, everything is counted in elements, and operands of epilogues
// are left out.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PAPERMODEL_H
#define CHIMERA_MODEL_PAPERMODEL_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"
#include "Chimera/Model/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace chimera::model {

/// A block order, outermost loop first.
using Permutation = llvm::SmallVector<LoopId, 6>;

/// All orders of `loops`, numbered as in Figure 2: with m, n, k, l the first is
/// mnkl, the sixth mlkn and the last lknm.
std::vector<Permutation> listOrders(llvm::ArrayRef<LoopId> loops);

//===----------------------------------------------------------------------===//
// Algorithm 1
//===----------------------------------------------------------------------===//

/// What Algorithm 1 returns, with the figures of each tensor.
struct PaperEstimate {
  /// Data movement (DM) and footprint (DF) per tensor of the problem.
  llvm::SmallVector<int64_t, 6> movement, footprint;
  /// DV and MU.
  int64_t volume = 0;
  int64_t memoryUsage = 0;
};

/// Algorithm 1 to the letter: permutation and decomposition parameters, one for
/// each loop of the problem, in; data movement volume and memory usage out.
PaperEstimate evaluatePaper(const ChainProblem &problem,
                            llvm::ArrayRef<LoopId> permutation,
                            llvm::ArrayRef<int64_t> tiles);

//===----------------------------------------------------------------------===//
// Table III and Figure 2
//===----------------------------------------------------------------------===//

/// A product of symbols.
struct PaperProduct {
  /// Factors that are the whole extent of a loop, the tile of one, and the
  /// number of its tiles.
  llvm::SmallVector<LoopId, 4> extents, tiles, trips;
  /// Factors that are the elements one tile of a window takes.
  llvm::SmallVector<Index, 2> windows;

  /// In the paper's words: "MK*ceil(L/T_L)", "T_M*T_K".
  std::string print(const ChainProblem &problem) const;
  int64_t value(const ChainProblem &problem,
                llvm::ArrayRef<int64_t> tileSizes) const;
};

/// A column of Table III, and of Figure 2.
struct PaperColumn {
  /// One product for every operator that moves the tensor; intermediates move
  /// nothing.
  llvm::SmallVector<PaperProduct, 1> movement;
  PaperProduct footprint;
  /// Loops that bring no new tile, by the paper's observations 1 to 3, in the
  /// problem's order. Not the same as in Algorithm 1: its line 11 lets a tensor
  /// be reused along all loops its operator does not have, while observation 2
  /// takes reuse away along every loop outside one that moves the tensor.
  llvm::SmallVector<LoopId, 4> reusedAlong;

  /// The sum of the products; "0" if there is none.
  std::string printMovement(const ChainProblem &problem) const;
};

/// One column per tensor: Algorithm 1 in symbols. Extents stand in the order of
/// the problem's loops, tiles in that of the tensor's dimensions, as in the
/// paper. Equal to `evaluatePaper` where tiles divide extents.
llvm::SmallVector<PaperColumn, 6>
tabulatePaper(const ChainProblem &problem, llvm::ArrayRef<LoopId> permutation);

//===----------------------------------------------------------------------===//
// Equations 1 to 3
//===----------------------------------------------------------------------===//

/// The tiles of one order with the least volume.
struct PaperOptimum {
  Permutation permutation;
  /// One for each loop of the problem.
  llvm::SmallVector<int64_t, 6> tiles;
  int64_t volume = 0;
  int64_t memoryUsage = 0;
};

/// Equation 1, min DV subject to MU <= `capacity`, in integers and exactly,
/// with the volume of `tabulatePaper`. `granularity` is the smallest tile of
/// each loop (the paper's alpha); loops that no volume depends on have it.
/// Nothing if that does not fit.
std::optional<PaperOptimum> minimizePaper(const ChainProblem &problem,
                                          llvm::ArrayRef<LoopId> permutation,
                                          int64_t capacity,
                                          llvm::ArrayRef<int64_t> granularity);

/// What equations 2 and 3 make of a machine.
struct PaperPlan {
  /// In the order of Machine::levels.
  llvm::SmallVector<PaperOptimum, 3> levels;
  /// DV_d / bw_d, in seconds.
  llvm::SmallVector<double, 3> costs;
  /// The largest cost.
  double seconds = 0;
};

/// Equation 3: the least max over all levels of DV_d / bw_d subject to
/// MU_d <= MC_d, over `orders`. The parameters of a level occur in its own cost
/// only, so each level is decided alone. Capacities are whole and bandwidths
/// those of all cores; elements have the size of the first tensor's. Nothing if
/// a level has room for no order.
std::optional<PaperPlan> planPaper(const ChainProblem &problem,
                                   const Machine &machine,
                                   llvm::ArrayRef<Permutation> orders,
                                   llvm::ArrayRef<int64_t> granularity);

/// The closed form for two GEMMs in the order m, l, k, n.
struct PaperClosedForm {
  /// T_M* = T_L* = -alpha + sqrt(alpha^2 + MC).
  double tile = 0;
  /// DV* = 2ML(K + N) / T_M*.
  double volume = 0;
  /// min(floor(T*), X) for X = M and L, and their volume by Table III.
  int64_t tileM = 0, tileL = 0;
  int64_t roundedVolume = 0;
  /// What roundedVolume / volume is at most:
  /// max over X of 1 + T_X* / X + 1 / T_X.
  double ratioBound = 0;
  /// The paper's second form, with sqrt(MC) for the tiles. It does not follow
  /// from the first, and can be exceeded.
  double looseRatioBound = 0;
};
PaperClosedForm solvePaperClosedForm(int64_t m, int64_t n, int64_t k, int64_t l,
                                     int64_t capacity, int64_t alpha);

//===----------------------------------------------------------------------===//
// Micro kernel
//===----------------------------------------------------------------------===//

/// What a micro kernel has to respect besides the register file.
struct PaperKernelLimits {
  /// Vectors in a row of the block: a multiple of NI. 0 if any NI will do.
  int64_t vectors = 0;
  /// The least MI * NI, which hides the latency of an FMA ("pipeline depth").
  int64_t accumulators = 1;
};

/// #ComputeInst / #LoadStoreInst of a register tile:
/// MI * NI * KI / (KI * (MI + NI) + 2 * MI * NI) with KI = `depth`.
double paperIntensity(const RegisterTile &tile, int64_t depth);

/// MI, NI, MII and KI with the highest intensity that fit
/// MI * NI + NI + MII <= `registers`. Intensity grows with KI, so KI is the
/// whole `depth`, and it does not depend on MII: that is 2 if it divides MI and
/// there is room, so that a load runs ahead, or else 1. Ties go to more
/// vectors. All zero if nothing fits.
RegisterTile selectPaperKernel(int64_t registers, int64_t depth,
                               const PaperKernelLimits &limits = {});

} // namespace chimera::model

#endif // CHIMERA_MODEL_PAPERMODEL_H
