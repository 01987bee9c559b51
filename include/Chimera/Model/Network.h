//===- Network.h - What exchanges between processes cost --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other processes are one more level of memory, above all others. Bytes are
// exact: they follow from shapes alone. Time comes from tables that were
// measured, of all-reduces between two processes at least. It is a heuristic
// for other collectives and larger groups that have no table of their own.
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

/// Time by size.
struct Network {
  /// What so many bytes on the wire take.
  struct Transfer {
    int64_t bytes;
    double seconds;
  };
  /// Of one kind of collective in groups of `processes`, with rising bytes.
  struct Table {
    CollectiveKind kind;
    int64_t processes;
    std::vector<Transfer> transfers;
  };

  /// Of all-reduces between two processes; empty: there is no network.
  std::vector<Transfer> transfers;
  /// What was measured beside them.
  std::vector<Table> measured;
  /// The part of a transfer's time in which it keeps the core that computes: 1
  /// if the processor copies, 0 if the network moves bytes by itself.
  double processorShare = 1;

  bool exists() const { return !transfers.empty(); }
  /// The bytes on the wire by the table of this kind for the largest group that
  /// is no larger than this one, else by that of all-reduces; for each doubling
  /// of the group beyond the table's, the time of its smallest exchange once
  /// more.
  double getSeconds(const Collective &collective) const;
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_NETWORK_H
