//===- Padding.h - Windows that reach beyond an image -----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window at the border of an image has taps on padding, which are zeros and
// add nothing. Of 3 x 3 windows on 7 x 7 pixels with a padding of one these are
// 18 % of all taps. Which taps count follows from the pixel: a tile of one row
// of pixels leaves out whole rows of taps, and a micro kernel whose rows are
// the pixels of an image's row leaves out those that are nobody's.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PADDING_H
#define CHIMERA_MODEL_PADDING_H

#include "Chimera/Model/Schedule.h"

namespace chimera::model {

/// One dimension of the windows through which an operator reads an input. What
/// counts are the iterations with
///     begin <= pixelFactor * pixel + tapFactor * tap < end.
struct PaddedWindow {
  /// The loop over pixels of the operator's result, and the one over taps, a
  /// reduction.
  LoopId pixel = 0, tap = 0;
  int64_t pixelFactor = 1, tapFactor = 1;
  int64_t begin = 0, end = 0;
  /// True if vectors run along the input's channels, so that no row of a micro
  /// kernel is a pixel's alone.
  bool hasVectors = false;

  /// Of `taps` taps those that count for any of `size` pixels from `first` on:
  /// the first and the number of them.
  std::pair<int64_t, int64_t> tapsOf(int64_t first, int64_t size,
                                     int64_t taps) const;
};

/// The dimensions of `op`'s windows that reach into padding of an input. Those
/// are left out in which a window lies in padding altogether. None of an
/// operator whose result is read through windows: its tiles are no tiles of its
/// loops.
llvm::SmallVector<PaddedWindow, 2> paddedWindowsOf(const ChainProblem &problem,
                                                   const Operator &op);

/// True if the kernels of `op` leave out the taps on padding of each pixel by
/// itself where its loops are `path`: pixels are their rows, whole rows of the
/// image.
bool leavesOutByRows(const Operator &op, const PaddedWindow &window,
                     llvm::ArrayRef<NestLoop> path);

/// The share of operator `op`'s multiply-adds that are left if taps on padding
/// are left out where its loops are `path`, from the outermost to those around
/// a block.
double shareOfTaps(const ChainProblem &problem, const Operator &op,
                   llvm::ArrayRef<NestLoop> path);

/// The same for the loops that leave the least.
double leastShareOfTaps(const ChainProblem &problem, const Operator &op);

} // namespace chimera::model

#endif // CHIMERA_MODEL_PADDING_H
