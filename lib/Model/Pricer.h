//===- Pricer.h - Predicted time of a schedule ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns volumes and block sizes into seconds. The solver asks for the price of
// thousands of schedules of one problem, so the pricer keeps what they have in
// common: the cycles of blocks and the verdicts on cache conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_PRICER_H
#define CHIMERA_LIB_MODEL_PRICER_H

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <tuple>

namespace chimera::model {

/// `count` parts of a loop that all have the same size.
struct Parts {
  int64_t size = 0, count = 0;
};
using PartList = llvm::SmallVector<Parts, 4>;

class Pricer {
public:
  Pricer(const ChainProblem &problem, const Machine &machine,
         const SolveOptions &options)
      : problem(problem), machine(machine),
        threads(std::max<int64_t>(1, options.threads)),
        registerTiles(maximalRegisterTiles(machine.unit)) {}

  /// The full price of `schedule`.
  Plan price(const Schedule &schedule) const;

  /// Seconds of arithmetic on the busiest core at full speed.
  double idealSeconds(const Schedule &schedule) const;

  /// Chooses the register tile with the least arithmetic, and returns the
  /// seconds of arithmetic and epilogues on the busiest core. They depend on
  /// tiles and parallel loops only, not on the order of the rest.
  double chooseRegisterTile(Schedule &schedule) const;

  /// Packs the vector operands that cannot be used in place, and those for
  /// which the copy is cheaper than the cache conflicts.
  void choosePacking(Schedule &schedule) const;

  /// Bytes a plan may fill at `level`, for each of the threads that share it.
  int64_t capacityAt(const Schedule &schedule, unsigned level) const;

  /// Bytes per second that all busy threads together bring into `level`.
  double bandwidth(const Schedule &schedule, unsigned level) const;

  /// Sum of the parts of time that do not all overlap.
  static double combine(llvm::ArrayRef<double> seconds);

private:
  /// Share of the whole work that the busiest thread does.
  double busiestShare(const Schedule &schedule) const;
  llvm::SmallVector<PartList, 6> partsOfLoops(const Schedule &schedule) const;

  double operatorCycles(const Operator &op, llvm::ArrayRef<PartList> parts,
                        const RegisterTile &tile) const;
  double arithmeticCycles(llvm::ArrayRef<PartList> parts,
                          const RegisterTile &tile) const;
  double epilogueCycles(const Operator &op) const;
  double cachedBlockCycles(const RegisterTile &tile, int64_t rows,
                           int64_t columns, int64_t depth,
                           bool loadsOutput) const;

  llvm::SmallVector<RegisterTile, 8>
  registerTilesFor(int64_t rows, int64_t columns, int64_t depth) const;

  /// The input whose vectors the micro kernel loads, if it comes from outside.
  std::optional<TensorId> vectorOperand(const Operator &op) const;
  bool isStrided(const Operator &op, TensorId operand) const;
  bool conflicts(TensorId operand, llvm::ArrayRef<int64_t> tiles) const;
  bool computeConflict(TensorId operand, llvm::ArrayRef<int64_t> tiles) const;
  /// Bytes that reach the innermost level if `operand` is used in place but
  /// does not stay there from one row of register tiles to the next.
  int64_t refetchedBytes(const Operator &op, TensorId operand,
                         llvm::ArrayRef<PartList> parts,
                         const RegisterTile &tile) const;
  double packingSeconds(const Operator &op, TensorId operand,
                        int64_t bytes) const;

  const ChainProblem &problem;
  const Machine &machine;
  int64_t threads;
  llvm::SmallVector<RegisterTile, 8> registerTiles;

  using BlockKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  mutable llvm::DenseMap<BlockKey, double> blockCache;
  mutable std::map<llvm::SmallVector<int64_t, 6>, bool> conflictCache;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_PRICER_H
