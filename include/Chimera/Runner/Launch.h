//===- Launch.h - Several processes of one program --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of several processes is started like any other; MPI starts the
// processes. Whoever wants other machines, or another binding, starts the tool
// under mpirun.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_LAUNCH_H
#define CHIMERA_RUNNER_LAUNCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace chimera::runner {

/// True in a process that MPI has started.
bool isStartedByMPI();

/// Its number, before MPI is asked.
int64_t getStartedNumber();

/// Becomes mpirun (CHIMERA_MPIRUN, else `mpirun`), which starts this program
/// with the same arguments as so many processes. Returns if that fails.
llvm::Error startProcesses(int64_t processes, int64_t threads,
                           llvm::ArrayRef<const char *> arguments);

/// Compiles the transport for the MPI that has started us (by CHIMERA_MPICC,
/// else its `mpicc`) and loads it, with what counts.
llvm::Error loadTransport();

/// The name and version of the MPI that the transport was compiled for.
std::string getMPIVersion();

/// Calls and bytes of a kind of collective in this process until now.
std::pair<int64_t, int64_t> getCounted(int32_t kind);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_LAUNCH_H
