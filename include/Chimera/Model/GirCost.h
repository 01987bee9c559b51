//===- GirCost.h - Bytes and seconds of a Gir -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The nodes of a Gir are regular, so what they move has closed forms. A second
// account comes from walking every task of every unit, which is what the tests
// compare the first with.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_GIRCOST_H
#define CHIMERA_MODEL_GIRCOST_H

#include "Chimera/Model/Gir.h"

namespace chimera::model {

/// Bytes across the boundary outside a level.
struct GirTraffic {
  int64_t read = 0, written = 0;
  /// Read because a cache wants to have what is written.
  int64_t allocated = 0;

  int64_t total() const { return read + written + allocated; }
  bool operator==(const GirTraffic &other) const {
    return read == other.read && written == other.written &&
           allocated == other.allocated;
  }
};

struct GirCost {
  /// By level, outermost first.
  llvm::SmallVector<GirTraffic, 4> levels;
  /// Of one core for all tasks.
  double cycles = 0;
  int64_t passes = 0;
  /// Stages that another has to wait for, by scope.
  llvm::SmallVector<int64_t, 4> syncs = {0, 0, 0, 0};
  double seconds = 0;
};

/// What `gir` costs on its units, one a thread of `machine`. Its check must
/// have succeeded.
GirCost costOf(const Gir &gir, const Machine &machine);

/// What a walk over all tasks has found.
struct GirSimulation {
  llvm::SmallVector<GirTraffic, 4> levels;
  /// The most that one unit held of values at each level at any time.
  llvm::SmallVector<int64_t, 4> mostLive;
  /// By tensor, what it holds in the end.
  std::vector<std::vector<int64_t>> tensors;
};

/// Runs `gir` task by task and element by element on integers, with the values
/// that `inputs` has by tensor. Says so if a node reads what nobody wrote, or
/// what another unit wrote and no sync has passed on, if an element is stored
/// twice, or a result is left out.
llvm::Expected<GirSimulation>
simulateGir(const Gir &gir, const Machine &machine,
            const std::vector<std::vector<int64_t>> &inputs);

/// Stands for the function of an elementwise node: the functions of two nodes
/// differ if their numbers do. A monotone one is.
int64_t applyFunction(int64_t function, llvm::ArrayRef<int64_t> operands);

} // namespace chimera::model

#endif // CHIMERA_MODEL_GIRCOST_H
