//===- Overlap.cpp - Exchange one block while the next is computed --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Overlap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace chimera::model;

double chimera::model::getSeconds(const BlockedExchange &exchange,
                                  const Collective &collective,
                                  const Network &network) {
  Collective block = collective;
  block.payloadBytes =
      llvm::divideCeil(collective.payloadBytes, exchange.blocks);
  double transfer = network.getSeconds(block),
         compute = exchange.computeSeconds;
  double step = std::max(compute + network.processorShare * transfer, transfer);
  return compute + (exchange.blocks - 1) * step + transfer;
}

size_t chimera::model::findFastest(llvm::ArrayRef<BlockedExchange> candidates,
                                   const Collective &collective,
                                   const Network &network) {
  const BlockedExchange *fastest =
      llvm::min_element(candidates, [&](const BlockedExchange &one,
                                        const BlockedExchange &other) {
        return getSeconds(one, collective, network) <
               getSeconds(other, collective, network);
      });
  return fastest - candidates.begin();
}
