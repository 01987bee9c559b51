//===- Network.cpp - What exchanges between processes cost ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Network.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace chimera::model;

llvm::StringRef chimera::model::getName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all-reduce";
  case CollectiveKind::AllGather:
    return "all-gather";
  case CollectiveKind::ReduceScatter:
    return "reduce-scatter";
  case CollectiveKind::AllToAll:
    return "all-to-all";
  case CollectiveKind::Broadcast:
    return "broadcast";
  }
  llvm_unreachable("unknown collective");
}

int64_t chimera::model::getWireBytes(const Collective &collective) {
  int64_t others = collective.processes - 1, payload = collective.payloadBytes;
  if (others < 1)
    return 0;
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return llvm::divideCeil(2 * others * payload, collective.processes);
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return llvm::divideCeil(others * payload, collective.processes);
  case CollectiveKind::AllGather:
    return others * payload;
  case CollectiveKind::Broadcast:
    return payload;
  }
  llvm_unreachable("unknown collective");
}

/// Between entries a straight line, beyond the last two the line through them.
static double interpolate(llvm::ArrayRef<Network::Transfer> transfers,
                          int64_t bytes) {
  const Network::Transfer &first = transfers.front();
  if (bytes <= first.bytes || transfers.size() == 1)
    return first.seconds;
  // The first entry that is large enough, or the last one.
  const auto *upper = llvm::find_if(transfers.drop_front(),
                                    [&](const Network::Transfer &transfer) {
                                      return transfer.bytes >= bytes;
                                    });
  if (upper == transfers.end())
    --upper;
  const Network::Transfer &from = *(upper - 1), &to = *upper;
  double slope = (to.seconds - from.seconds) / (to.bytes - from.bytes);
  return from.seconds + slope * (bytes - from.bytes);
}

/// The one of the largest group of at most `processes`; null if there is none.
static const Network::Table *findTable(llvm::ArrayRef<Network::Table> tables,
                                       CollectiveKind kind, int64_t processes) {
  const Network::Table *found = nullptr;
  for (const Network::Table &table : tables)
    if (table.kind == kind && table.processes <= processes &&
        (!found || table.processes > found->processes))
      found = &table;
  return found;
}

double Network::getSeconds(const Collective &collective) const {
  if (collective.processes < 2)
    return 0;
  const Table *table =
      findTable(measured, collective.kind, collective.processes);
  if (!table)
    table =
        findTable(measured, CollectiveKind::AllReduce, collective.processes);
  llvm::ArrayRef<Transfer> times = table ? table->transfers : transfers;
  int64_t doublings = llvm::Log2_64_Ceil(collective.processes) -
                      llvm::Log2_64_Ceil(table ? table->processes : 2);
  return interpolate(times, getWireBytes(collective)) +
         doublings * times.front().seconds;
}
