//===- Machine.h - The hardware figures the model uses ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain data, filled in from a target attribute. The model has no other source
// of knowledge about hardware.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_MACHINE_H
#define CHIMERA_MODEL_MACHINE_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace chimera::model {

/// One on-chip memory level and the route that fills it from the next slower
/// one.
struct MemoryLevel {
  std::string name;
  int64_t capacityBytes = 0;
  /// Part of the capacity a plan may fill; the rest is left to the
  /// replacement policy, the stack and the other operand streams.
  double usableShare = 0.8;
  /// Bytes per second one core can bring in from the next slower level.
  double bytesPerSecondPerCore = 0;
  /// Bytes per second all cores together can bring in.
  double bytesPerSecond = 0;
  /// Cores that share one instance of this level.
  int64_t sharers = 1;
  int64_t lineBytes = 64;
  /// Associativity; 0 for an explicitly managed memory.
  int64_t ways = 0;

  int64_t usableBytes() const {
    return static_cast<int64_t>(capacityBytes * usableShare);
  }
};

/// The arithmetic of one core for one element type.
struct VectorUnit {
  /// Elements of one vector register.
  int64_t lanes = 0;
  int64_t registers = 0;
  /// Vector instructions of each kind that start per cycle.
  double fmaPerCycle = 2;
  double loadsPerCycle = 2;
  double storesPerCycle = 1;
  /// Cycles from the start of an FMA to its result.
  int64_t fmaLatency = 4;
  double cyclesPerSecond = 0;

  double peakFlops() const { return 2 * lanes * fmaPerCycle * cyclesPerSecond; }
};

struct Machine {
  std::string name;
  /// Slowest (largest) level first, e.g. L3, L2, L1. Behind the first lies the
  /// main memory, which is not listed.
  llvm::SmallVector<MemoryLevel, 4> levels;
  VectorUnit unit;
  int64_t cores = 1;
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_MACHINE_H
