//===- OrderFormula.h - Volume of an order as a formula ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a fixed order, volume and live set are sums of products: a constant times
// the trips (volume) or the tiles (live set) of some of its loops, and times
// the lengths of windows, which are functions of the tile of one loop each. The
// searches derive these sums once per order and then fill in thousands of
// tiles, which takes nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_ORDERFORMULA_H
#define CHIMERA_LIB_MODEL_VOLUME_ORDERFORMULA_H

#include "Volume/Evaluator.h"

#include "llvm/ADT/DenseMap.h"

namespace chimera::model {

/// The products of all subsets of some values; a subset's place is the number
/// that has the bits of its values' places.
class SubsetProducts {
public:
  void assign(llvm::ArrayRef<int64_t> values);
  int64_t operator[](LoopSet subset) const {
    return static_cast<int64_t>(products[subset]);
  }

private:
  // Subsets that no formula asks for may overflow.
  llvm::SmallVector<uint64_t, 32> products;
};

/// Lengths along axes of windows, as functions of the tiles of the open loops
/// of the axis. Equal functions are kept once.
class WindowTable {
public:
  explicit WindowTable(const ChainStructure &structure)
      : structure(structure) {}

  /// Number of the function that measures `measured` on `path`; the sum or the
  /// largest length. Some loop that it walks is open.
  unsigned add(const Path &path, const RollingSteps &rollingSteps,
               unsigned axis, const MeasuredAxis &measured, bool isMost);

  unsigned size() const { return windows.size(); }
  bool dependsOn(unsigned window, LoopId loop) const {
    return contains(windows[window].loops, loop);
  }
  bool dependsOnAny(unsigned window, LoopSet loops) const {
    return windows[window].loops & loops;
  }
  /// True if it is the largest length, not the sum.
  bool isLargest(unsigned window) const { return windows[window].isMost; }
  int64_t valueOf(unsigned window, llvm::function_ref<int64_t(LoopId)> tileOf);

private:
  struct Window {
    Path path;
    RollingSteps rollingSteps;
    unsigned axis = 0;
    MeasuredAxis measured;
    llvm::SmallVector<unsigned, 2> openSteps;
    LoopSet loops = 0;
    bool isMost = false;
    /// By the tiles of the open steps: of one, or of several.
    llvm::DenseMap<int64_t, int64_t> ofTile;
    llvm::StringMap<int64_t> values;
  };

  const ChainStructure &structure;
  std::vector<Window> windows;
  llvm::StringMap<unsigned> known;
};

/// `factor` times one figure of each loop in `loops` and of each window.
struct Monomial {
  int64_t factor = 0;
  LoopSet loops = 0;
  llvm::SmallVector<unsigned, 2> windows;

  int64_t at(const SubsetProducts &products,
             llvm::ArrayRef<int64_t> windowValues) const {
    int64_t value = factor * products[loops];
    for (unsigned window : windows)
      value *= windowValues[window];
    return value;
  }
  bool hasVariables(const Monomial &other) const {
    return loops == other.loops && windows == other.windows;
  }
};

/// Volume and live set of a level as functions of the tiles of the open loops
/// of its order.
class OrderFormula {
public:
  /// Loops of level `level` of `schedule` whose tile is `openTile` are open.
  /// Bit i of the formulas' sets stands for loop `numbering[i]`.
  ///
  /// The formulas hold as long as each of the loops makes more than one trip,
  /// and the levels inside leave it no larger tiles. Without the live set until
  /// `addLive` is called with the same.
  OrderFormula(const ChainStructure &structure, const Schedule &schedule,
               unsigned level, const Transfer &transfer,
               llvm::ArrayRef<LoopId> numbering, WindowTable &windows);
  void addLive(const Schedule &schedule, unsigned level,
               const Transfer &transfer, llvm::ArrayRef<LoopId> numbering,
               WindowTable &windows);
  bool hasLive() const { return !live.empty(); }

  int64_t volumeBytes(const SubsetProducts &trips,
                      llvm::ArrayRef<int64_t> windows) const;
  int64_t liveBytes(const SubsetProducts &tiles,
                    llvm::ArrayRef<int64_t> windows) const;
  /// What `tensor` alone brings in.
  int64_t readBytes(TensorId tensor, const SubsetProducts &trips,
                    llvm::ArrayRef<int64_t> windows) const;

  /// The windows that the formulas use.
  llvm::ArrayRef<unsigned> getWindows() const { return usedWindows; }
  /// The sum that makes the volume, and for each operator the one that makes
  /// what is live while its blocks run.
  llvm::ArrayRef<Monomial> getVolume() const { return volume; }
  llvm::ArrayRef<llvm::SmallVector<Monomial, 6>> getLive() const {
    return live;
  }

private:
  Monomial termOf(const Evaluator &evaluator, const KnownTree &tree,
                  const Evaluator::Parts &parts, bool isMost,
                  llvm::ArrayRef<LoopId> numbering, WindowTable &windows);

  const ChainStructure &structure;
  llvm::SmallVector<unsigned, 8> usedWindows;
  llvm::SmallVector<Monomial, 6> volume;
  llvm::SmallVector<std::pair<TensorId, Monomial>, 8> reads;
  /// The tensors that are live while the blocks of each operator run.
  llvm::SmallVector<llvm::SmallVector<Monomial, 6>, 3> live;
};

/// What the entries down to level `level` leave of each loop. Derived loops,
/// which follow from others, keep their extent.
llvm::SmallVector<int64_t, 8> leftBy(const ChainProblem &problem,
                                     const Schedule &schedule, unsigned level);

/// Parts into which `loop` falls if level `level` of `schedule` also cuts it
/// into parts of `tile`.
int64_t countTrips(const ChainProblem &problem, const Schedule &schedule,
                   unsigned level, LoopId loop, int64_t tile);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_ORDERFORMULA_H
