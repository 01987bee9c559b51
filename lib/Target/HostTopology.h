//===- HostTopology.h - Cores and caches as Linux reports them --*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux numbers hardware threads. Those of one core share its arithmetic units
// and its nearest caches, so a plan counts cores: two threads on one core would
// each be promised the whole of both.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TARGET_HOSTTOPOLOGY_H
#define CHIMERA_LIB_TARGET_HOSTTOPOLOGY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace chimera {

struct HostTopology {
  /// A data or unified cache of one core.
  struct Cache {
    /// 1 for L1.
    int64_t level = 0;
    int64_t capacity = 0;
    /// 0 where the system does not say.
    int64_t ways = 0;
    /// Cores that share it.
    int64_t sharers = 1;
  };

  int64_t cores = 0;
  /// One cache of each level: where cores differ, the one that leaves a core
  /// the least, for a plan is the same on all cores.
  llvm::SmallVector<Cache, 3> caches;

  /// The cache of `level`, if it is known.
  const Cache *find(int64_t level) const;
};

/// Reads the directory that Linux keeps about processors for the hardware
/// threads `usable`. A thread of which it says nothing is a core of its own.
HostTopology readHostTopology(llvm::StringRef directory,
                              llvm::ArrayRef<unsigned> usable);

/// The hardware threads that this process may run on.
llvm::SmallVector<unsigned> getUsableThreads();

} // namespace chimera

#endif // CHIMERA_LIB_TARGET_HOSTTOPOLOGY_H
