//===- Timing.h - Times and the machine's limits ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times are of warm runs: everything a program touches has been touched before.
// Programs that are compared take turns, so that a change of the clock or a
// neighbour on the machine meets them alike. Limits are measured, not looked
// up, on all threads at once, those that programs run on: fused multiply-adds
// on registers, between the programs' turns, and the sum of a buffer.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_TIMING_H
#define CHIMERA_RUNNER_TIMING_H

#include "Chimera/Runner/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace chimera::runner {

/// In seconds. `spread` is the distance between the quartiles.
struct Samples {
  double best = 0;
  double median = 0;
  double spread = 0;
  int64_t count = 0;
};

/// The type whose peak products of `factor` are measured by: its own if this
/// machine multiplies it faster than f32.
ElementKind getPeakKind(ElementKind factor);

/// Operations per second of fused multiply-adds (two each): of the best slice
/// of time and of the median one, which a neighbour or a lower clock slows down
/// like other programs.
struct Peak {
  double best = 0;
  double median = 0;
};

/// Measures the peak of `threads` threads at once, for what getPeakKind says,
/// with the widest vectors or the tiles of this machine, in slices of about a
/// tenth of a millisecond.
class PeakMeter {
public:
  /// Takes some slices that do not count, to bring the clock up.
  explicit PeakMeter(int64_t threads, ElementKind kind = ElementKind::F32);

  /// Takes slices for about `seconds`, one at least.
  void measure(double seconds);

  /// Over all slices so far.
  Peak getPeak() const;

private:
  /// In a slice's time over `divisor`.
  double measureSlice(int64_t divisor = 1) const;

  int64_t threads;
  ElementKind kind;
  std::vector<double> rates;
};

/// Times each of `runs`, taking turns, for about `seconds` each. After each
/// turn `meter` measures for a part of its time: both meet the same clock.
llvm::SmallVector<Samples>
timeInTurns(llvm::ArrayRef<llvm::function_ref<void()>> runs, PeakMeter &meter,
            double seconds = 0.5);

/// Time of one call.
double timeOnce(llvm::function_ref<void()> run);

/// Bytes per second of summing a buffer of at least `bytes`, each of `threads`
/// threads its part. The buffer has been read before: a small one comes from
/// caches. Takes about a fifth of a second or five reads. Fails if there is no
/// memory.
llvm::Expected<double> measureRead(int64_t threads, double bytes);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_TIMING_H
