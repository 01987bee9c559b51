//===- Network.h - What exchanges between processes cost --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other processes are one more level of memory, above all others. Bytes are
// exact: they follow from shapes alone. Time comes from a table that was
// measured between two processes, and is a heuristic for more of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_NETWORK_H
#define CHIMERA_MODEL_NETWORK_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace chimera::model {

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast
};

llvm::StringRef getName(CollectiveKind kind);

/// An exchange in a group of `processes`.
struct Collective {
  CollectiveKind kind;
  /// Bytes that each process hands over: of an all-gather its part, of all
  /// others the tensor that is combined, dealt out or sent to all.
  int64_t payloadBytes;
  int64_t processes;
};

/// Bytes that the busiest process of the group sends, and receives as many, if
/// no more move than have to: 2 (P - 1) / P of the payload for an all-reduce,
/// (P - 1) / P for a reduce-scatter and an all-to-all, P - 1 parts for an
/// all-gather, the payload for a broadcast. Rounded up.
int64_t getWireBytes(const Collective &collective);

/// Time by size, of exchanges between two processes.
struct Network {
  struct Transfer {
    int64_t bytes;
    double seconds;
  };
  /// With rising bytes; empty: there is no network.
  std::vector<Transfer> transfers;
  /// The part of a transfer's time in which it keeps the core that computes: 1
  /// if the processor copies, 0 if the network moves bytes by itself.
  double processorShare = 1;

  bool exists() const { return !transfers.empty(); }
  /// Two processes exchange `bytes`: between entries of the table a straight
  /// line, beyond its last two the line through them.
  double getSeconds(int64_t bytes) const;
  /// The bytes on the wire at the table's rate, and for each doubling of the
  /// group beyond two processes the time of the smallest exchange once more.
  double getSeconds(const Collective &collective) const;
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_NETWORK_H
