//===- Overlap.h - Exchange one block while the next is computed -*- C++
//-*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is exchanged between processes need not be computed whole before: a
// block of rows is on its way while the next is computed. That hides the time
// of the network, but not what the exchange takes of the processor, and costs:
// small blocks read weights again and again, and each exchange has a latency.
// Where the processor itself moves the bytes, as in memory that processes
// share, nothing is hidden.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_OVERLAP_H
#define CHIMERA_MODEL_OVERLAP_H

#include "Chimera/Model/Network.h"

#include "llvm/ADT/ArrayRef.h"

namespace chimera::model {

/// A result that is computed and exchanged in equal blocks.
struct BlockedExchange {
  int64_t blocks = 1;
  /// To compute one of them.
  double computeSeconds = 0;
};

/// Seconds until all blocks of `collective`, which is that of the whole, have
/// been computed and exchanged. One block after another is computed, and
/// exchanged as soon as it is there and the one before has been. Of its
/// exchange, the network's share of the processor comes on top of what is
/// computed meanwhile.
double getSeconds(const BlockedExchange &exchange, const Collective &collective,
                  const Network &network);

/// The fastest of `candidates`, of equal ones the first: its index.
size_t findFastest(llvm::ArrayRef<BlockedExchange> candidates,
                   const Collective &collective, const Network &network);

} // namespace chimera::model

#endif // CHIMERA_MODEL_OVERLAP_H
