//===- Waves.h - What tasks that run at the same time share -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the hardware starts tasks in the order of the parallel loops, one as
// soon as another ends, those that run at the same time are neighbours: a wave.
// A level outside the cores serves all of them, and what several need comes in
// once. So its tiles are those of waves, whatever the schedule.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_WAVES_H
#define CHIMERA_LIB_MODEL_VOLUME_WAVES_H

#include "Problem/Structure.h"

#include "Chimera/Model/Schedule.h"

namespace chimera::model {

/// True if level number `level` of `machine` serves the tasks of a wave.
bool servesWaves(const Machine &machine, unsigned level);

/// `schedule` with the loops around waves of `tasks` tasks in place of those
/// that it has at level number `level` and outside: the last parallel loops run
/// inside a wave, of the one before it has a part. A wave that begins and ends
/// within another's part is counted as if it did not. The level keeps what the
/// next wave needs, too, or, if `streams`, what tasks need in one iteration of
/// the loops around all operators: tasks of a wave are about as far.
Schedule scheduleOfWaves(const ChainStructure &structure,
                         const Schedule &schedule, unsigned level,
                         int64_t tasks, bool streams);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_WAVES_H
