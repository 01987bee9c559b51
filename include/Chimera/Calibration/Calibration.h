//===- Calibration.h - Measure the figures of a target ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target that was only described has the clock, the bandwidths and the costs
// of the system that its kind usually has. These can be measured on the machine
// itself. What is measured becomes part of the target: nothing is measured
// while a program is planned.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CALIBRATION_CALIBRATION_H
#define CHIMERA_CALIBRATION_CALIBRATION_H

#include "Chimera/Target/TargetFigures.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace chimera::runner {

/// Of an instruction that adds to a vector register: how many start in a cycle,
/// and after how many cycles the next one can add to the same register.
struct InstructionRates {
  double perCycle = 0;
  double latency = 0;
};

/// What one core does in a cycle of its `clock`, in Hz.
struct CoreRates {
  double clock = 0;
  InstructionRates fma;
  double loadsPerCycle = 0;
  double storesPerCycle = 0;
  /// For each type that was asked for, unless this machine has no dot products
  /// of it that are one instruction.
  llvm::SmallVector<std::optional<InstructionRates>> dots;
};

/// Measures this core: FMAs of f32, loads and stores of registers of `bits`,
/// from and to the nearest cache, and dot products of the types `dots`. Takes
/// about a tenth of a second. Fails if the machine has no such registers.
llvm::Expected<CoreRates> measureCoreRates(int64_t bits,
                                           llvm::ArrayRef<mlir::Type> dots);

/// Bytes per second at which a thread touches memory that the system has yet to
/// provide. Fails if there is none.
llvm::Expected<double> measureFresh();

/// Seconds to start and end a parallel loop of `threads` threads that do
/// nothing.
double measureRegion(int64_t threads);

/// Seconds that it takes a thread longer to write a line that another one has
/// read since than to write one that nobody else has: the most of several
/// buffers, since it depends on where the system puts them. Fails if there is
/// no memory.
llvm::Expected<double> measureHandover();

/// Vector instructions, at the rate of FMAs, that the exponentials of one
/// register take in a kernel that does nothing else, for `target`.
llvm::Expected<double> measureExponential(TargetAttr target);

/// Bytes per second at which our kernel reads a matrix of about `bytes` for one
/// vector, with the streams of `target`.
llvm::Expected<double> measureReading(TargetAttr target, int64_t bytes);

/// The same for four vectors and a matrix that is contiguous across them, of
/// which kernels read pieces of the rows.
llvm::Expected<double> measureReadingPieces(TargetAttr target, int64_t bytes);

/// How many times as long as a copy it takes a kernel for `target` to turn the
/// columns of a matrix in the nearest caches into vectors.
llvm::Expected<double> measureTransposing(TargetAttr target);

/// Seconds that one core takes, beyond those for the bytes at
/// `bytesPerSecond`, to find the next run of neighbours among `bytes` of rows
/// that are read in tiles.
llvm::Expected<double> measureRuns(int64_t bytes, double bytesPerSecond);

/// Seconds that one core takes for every page of which it reads a piece, if the
/// lines evict each other from the innermost level and stay in the next one.
llvm::Expected<double> measureCollision();

/// `target`, which describes this machine, with figures measured on `threads`
/// threads: what a core starts in a cycle, the clock that FMAs are sustained
/// at, how much of the outermost cache is its own, what comes into each cache
/// level with one thread and with all, the exponential, what is asked for
/// ahead, the streams, and the overheads `region`, `handover`, `fresh`,
/// `transpose`, `reach` and `collision`. Takes some ten seconds. `report` gets
/// a line for each.
llvm::Expected<TargetAttr>
calibrate(TargetAttr target, int64_t threads,
          llvm::function_ref<void(const llvm::Twine &line)> report);

} // namespace chimera::runner

#endif // CHIMERA_CALIBRATION_CALIBRATION_H
