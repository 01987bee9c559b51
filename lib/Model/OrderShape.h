//===- OrderShape.h - Volume of an order as a formula -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a fixed order, volume and live set are sums of products: a constant times
// the trips (volume) or the tiles (live set) of some of its loops. The searches
// derive these sums once per order and then fill in thousands of tiles, which
// takes nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_ORDERSHAPE_H
#define CHIMERA_LIB_MODEL_ORDERSHAPE_H

#include "Chimera/Model/Algorithms.h"

namespace chimera::model {

/// A set of loops, one bit each.
using LoopSet = uint64_t;
inline LoopSet bitOf(unsigned index) { return LoopSet(1) << index; }

/// What the evaluation asks of a problem again and again.
struct ChainSets {
  explicit ChainSets(const ChainProblem &problem);

  const ChainProblem &problem;
  /// The loops that index each tensor, those of each operator, and those shared
  /// by all operators.
  llvm::SmallVector<LoopSet, 6> tensors, operators;
  LoopSet shared = 0;
  /// Bytes of each whole tensor.
  llvm::SmallVector<int64_t, 6> bytes;
};

/// `evaluate` for many schedules of one problem.
Evaluation evaluate(const ChainSets &sets, const Schedule &schedule,
                    unsigned level);

/// `factor` times one figure of each loop in `loops`.
struct Monomial {
  int64_t factor = 0;
  LoopSet loops = 0;
};

/// The products of all subsets of some values; a subset's place is the number
/// that has the bits of its values' places.
class SubsetProducts {
public:
  void assign(llvm::ArrayRef<int64_t> values);
  int64_t operator[](LoopSet subset) const {
    return static_cast<int64_t>(products[subset]);
  }
  int64_t of(const Monomial &term) const {
    return term.factor * (*this)[term.loops];
  }

private:
  // Subsets that no formula asks for may overflow.
  llvm::SmallVector<uint64_t, 32> products;
};

/// Volume and live set of a level as functions of the tiles of the last loops
/// of its order.
class OrderShape {
public:
  /// The loops in `order` follow what level `level` of `schedule` holds
  /// already. Bit i of the formulas' sets stands for loop `numbering[i]`.
  ///
  /// The formulas hold as long as each of the loops makes more than one trip,
  /// and the levels inside leave it no larger tiles.
  OrderShape(const ChainSets &sets, const Schedule &schedule, unsigned level,
             llvm::ArrayRef<LoopId> order, llvm::ArrayRef<LoopId> numbering);

  int64_t volumeBytes(const SubsetProducts &trips) const;
  int64_t liveBytes(const SubsetProducts &tiles) const;
  /// What `tensor` alone brings in.
  int64_t readBytes(TensorId tensor, const SubsetProducts &trips) const;

private:
  llvm::SmallVector<Monomial, 6> volume;
  llvm::SmallVector<std::pair<TensorId, Monomial>, 8> reads;
  /// The tensors that are live while the blocks of each operator run.
  llvm::SmallVector<llvm::SmallVector<Monomial, 6>, 3> live;
};

/// Parts into which `loop` falls if level `level` of `schedule` also cuts it
/// into parts of `tile`.
int64_t countTrips(const ChainProblem &problem, const Schedule &schedule,
                   unsigned level, LoopId loop, int64_t tile);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_ORDERSHAPE_H
