//===- Padding.cpp - Windows that reach beyond an image -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Padding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

std::pair<int64_t, int64_t> PaddedWindow::tapsOf(int64_t first, int64_t size,
                                                 int64_t taps) const {
  int64_t last = first + size - 1;
  int64_t from = divideCeilSigned(begin - pixelFactor * last, tapFactor);
  int64_t to = divideCeilSigned(end - pixelFactor * first, tapFactor);
  from = std::clamp<int64_t>(from, 0, taps);
  return {from, std::clamp<int64_t>(to, from, taps) - from};
}

/// The dimension `index` of windows on `size` elements, if it is one: pixels
/// and taps.
static std::optional<PaddedWindow>
readWindow(const Operator &op, const Index &index, int64_t size) {
  if (index.terms.size() != 2)
    return std::nullopt;
  Term pixel = index.terms[0], tap = index.terms[1];
  if (op.isReduction(pixel.loop))
    std::swap(pixel, tap);
  if (op.isReduction(pixel.loop) || !op.isReduction(tap.loop))
    return std::nullopt;
  PaddedWindow window;
  window.pixel = pixel.loop;
  window.tap = tap.loop;
  window.pixelFactor = pixel.factor;
  window.tapFactor = tap.factor;
  window.begin = -index.offset;
  window.end = size - index.offset;
  return window;
}

/// True if some window reaches into padding, and none lies in it altogether.
static bool reachesBeyond(const PaddedWindow &window, int64_t pixels,
                          int64_t taps) {
  int64_t count = 0;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    int64_t own = window.tapsOf(pixel, 1, taps).second;
    if (own == 0)
      return false;
    count += own;
  }
  return count < pixels * taps;
}

/// True if the ranges of the loops that make `tensor` follow from others.
static bool isReadThroughWindows(const ChainProblem &problem, TensorId tensor) {
  return any_of(problem.operators, [&](const Operator &reader) {
    return any_of(reader.inputs, [&](const Access &input) {
      return input.tensor == tensor &&
             !all_of(input.indices,
                     [](const Index &index) { return index.isLoop(); });
    });
  });
}

SmallVector<PaddedWindow, 2>
chimera::model::paddedWindowsOf(const ChainProblem &problem,
                                const Operator &op) {
  SmallVector<PaddedWindow, 2> windows;
  if (isReadThroughWindows(problem, op.output))
    return windows;
  for (const Access &input : op.inputs) {
    const Tensor &tensor = problem.tensors[input];
    if (tensor.role != Role::Input)
      continue;
    for (auto [index, size] : zip_equal(input.indices, tensor.shape)) {
      std::optional<PaddedWindow> window = readWindow(op, index, size);
      if (!window ||
          !reachesBeyond(*window, problem.loops[window->pixel].extent,
                         problem.loops[window->tap].extent))
        continue;
      window->hasVectors = input.hasLoop(op.vectorLoop);
      windows.push_back(*window);
    }
  }
  return windows;
}

static bool isCut(LoopId loop, ArrayRef<NestLoop> path) {
  return any_of(path,
                [&](const NestLoop &entry) { return entry.loop == loop; });
}

bool chimera::model::leavesOutByRows(const Operator &op,
                                     const PaddedWindow &window,
                                     ArrayRef<NestLoop> path) {
  return window.pixel == op.rowLoop && op.rowLoop != op.vectorLoop &&
         !window.hasVectors && !isCut(window.pixel, path) &&
         !isCut(window.tap, path);
}

/// The taps that `window` leaves for `size` pixels from `first` on, added up
/// over the pixels, where the innermost of `tiles` take what any pixel needs.
static int64_t countTaps(const PaddedWindow &window, int64_t first,
                         int64_t size, int64_t taps, ArrayRef<int64_t> tiles) {
  if (tiles.empty())
    return size * window.tapsOf(first, size, taps).second;
  int64_t count = 0;
  for (int64_t begin = 0; begin < size; begin += tiles.front())
    count +=
        countTaps(window, first + begin, std::min(tiles.front(), size - begin),
                  taps, tiles.drop_front());
  return count;
}

static double shareOf(const ChainProblem &problem, const PaddedWindow &window,
                      ArrayRef<int64_t> tiles) {
  int64_t pixels = problem.loops[window.pixel].extent,
          taps = problem.loops[window.tap].extent;
  return static_cast<double>(countTaps(window, 0, pixels, taps, tiles)) /
         (pixels * taps);
}

double chimera::model::shareOfTaps(const ChainProblem &problem,
                                   const Operator &op,
                                   ArrayRef<NestLoop> path) {
  double share = 1;
  for (const PaddedWindow &window : paddedWindowsOf(problem, op)) {
    if (isCut(window.tap, path))
      continue;
    SmallVector<int64_t, 4> tiles;
    for (const NestLoop &entry : path)
      if (entry.loop == window.pixel)
        tiles.push_back(entry.tile);
    if (leavesOutByRows(op, window, path))
      tiles = {1};
    share *= shareOf(problem, window, tiles);
  }
  return share;
}

double chimera::model::leastShareOfTaps(const ChainProblem &problem,
                                        const Operator &op) {
  double share = 1;
  for (const PaddedWindow &window : paddedWindowsOf(problem, op))
    share *= shareOf(problem, window, {1});
  return share;
}
