//===- ScheduleConversion.h - Schedules as attributes -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SCHEDULECONVERSION_H
#define CHIMERA_CHAIN_SCHEDULECONVERSION_H

#include "Chimera/Chain/ChainAnalysis.h"

namespace chimera {

/// The model's schedule for an attribute. Fails with an error on `chain` if the
/// attribute names loops or inputs that the chain does not have, was made for
/// loops of other extents, or lists tiles that do not nest.
llvm::FailureOr<model::Schedule> convertSchedule(ChainOp chain,
                                                 ScheduleAttr attribute,
                                                 const ChainAnalysis &analysis);

/// The attribute for a schedule of the model.
ScheduleAttr convertSchedule(mlir::MLIRContext *context,
                             const model::Schedule &schedule,
                             const ChainAnalysis &analysis);

/// `attribute`, which can run, with the loops that it is for, and with what has
/// been decided of the blocks for `schedule`, which it is.
ScheduleAttr complete(ScheduleAttr attribute, const model::Schedule &schedule,
                      const ChainAnalysis &analysis);

RegisterTileAttr getRegisterTileAttr(mlir::MLIRContext *context,
                                     const model::RegisterTile &tile);

/// Null if kernels are to ask for nothing.
PrefetchAttr getPrefetchAttr(mlir::MLIRContext *context,
                             const model::Prefetching &prefetch);

} // namespace chimera

#endif // CHIMERA_CHAIN_SCHEDULECONVERSION_H
