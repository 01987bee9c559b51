//===- Network.h - Measure exchanges between processes ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measured is what compiled programs call, with the transport that serves them.
// Between two exchanges programs compute: each is measured alone, after caches
// have been filled with other data.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_CALIBRATE_NETWORK_H
#define CHIMERA_TOOLS_CHIMERA_CALIBRATE_NETWORK_H

#include "Chimera/IR/Chimera.h"

#include "llvm/Support/Error.h"

namespace chimera::calibrate {

/// Measures the network among `processes` that MPI has started, each of which
/// calls this: all collectives, between two processes of two halves and, of
/// more than two, among all. Takes some seconds. In the first process `report`
/// gets a line for each table, which says how well the all-reduces of two
/// predict it.
llvm::Expected<NetworkAttr>
measureNetwork(mlir::MLIRContext *context, int64_t processes,
               llvm::function_ref<void(const llvm::Twine &line)> report);

} // namespace chimera::calibrate

#endif // CHIMERA_TOOLS_CHIMERA_CALIBRATE_NETWORK_H
