//===- Layouts.h - In which order images lie in memory ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program hands in and takes back images with their channels first; between
// its operations the order is ours. A convolution over channels that lie next
// to each other has whole vectors of filters, one over planes has vectors of
// pixels of a row, which rarely fit. Changing the order takes a pass over the
// tensor, once however many operations read it.
//
// With two orders to choose from, the cheapest assignment is a minimum cut: the
// time of an operation in the one order is an edge from the source, in the
// other an edge to the sink, and each reordering has an edge between them. It
// is exact for programs of any shape. (Boykov, Veksler and Zabih, "Fast
// approximate energy minimization via graph cuts", 2001, for two labels.)
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_LAYOUTS_H
#define CHIMERA_MODEL_LAYOUTS_H

#include "Chimera/Model/Machine.h"

#include "llvm/ADT/SmallVector.h"

#include <limits>
#include <optional>
#include <vector>

namespace chimera::model {

/// The order of an image's dimensions.
enum class ImageLayout {
  /// As the program has them.
  AsGiven,
  /// Those of space, then channels.
  ChannelsLast
};

/// A convolution as far as the layout matters.
struct ConvolutionFigures {
  double multiplyAdds = 0;
  /// Multiply-adds of an element of the result.
  int64_t depth = 1;
  /// Filters of a group: what vectors run along if channels are last.
  int64_t filters = 1;
  /// Extent and stride of the last dimension of space: what vectors run along
  /// otherwise. A stride keeps neighbours apart, which then are copied first.
  int64_t width = 1, stride = 1;
  /// Rows of an image that vectors run along as if they were one: all of them
  /// if no window tells them apart.
  int64_t joinedRows = 1;
  /// True if every channel has a filter of its own, so that no vector serves
  /// several filters, and whether its taps move vectors along a row.
  bool isDepthwise = false;
  bool hasTapsAlongRows = false;
  /// Bytes of filters that have to be brought into another order in each run if
  /// channels are last, and of one of their elements.
  double filterBytes = 0;
  int64_t elementBytes = 4;
};

/// Seconds of the convolution on `threads` threads of `machine`.
double secondsOf(const ConvolutionFigures &figures, ImageLayout layout,
                 const Machine &machine, int64_t threads);

/// Seconds to bring `bytes` of elements of `elementBytes` into another order.
double secondsToReorder(double bytes, int64_t elementBytes,
                        const Machine &machine, int64_t threads);

/// Seconds to copy `bytes` in the order that they have.
double secondsToCopy(double bytes, const Machine &machine, int64_t threads);

/// The operand that gives a product its rows may be read from a copy, in which
/// what is summed up lies next to each other, or across, where rows do. The
/// copy takes less time if each element is multiplied by so many vectors.
double usesWorthTransposing(const Machine &machine);

/// The same for an operand that is read through windows, whose planes come
/// again for every tap, and for one of which neighbours along what is summed up
/// are multiplied at once, which every panel of columns brings together: 1x1
/// convolutions of 256 channels in bf16 take as long across with 32 and 96
/// filters, and 6 to 8 % longer with 128 to 256 (Zen 4).
inline constexpr double repeatedUsesWorthTransposing = 8;

/// The operations of a program and the images that they hand on.
struct LayoutProblem {
  static constexpr double impossible = std::numeric_limits<double>::infinity();

  /// Seconds in each layout; `impossible` if it cannot be in one, not in both.
  struct Operation {
    double asGiven = 0, channelsLast = 0;
  };
  /// A tensor in the layout of the operation that makes it, and if others read
  /// it in the other one, there as well.
  struct Image {
    /// Index of an operation; none if it comes from outside, as it is given.
    std::optional<unsigned> maker;
    std::vector<unsigned> readers;
    /// True if something else reads it, as it is given.
    bool isReadOutside = false;
    double secondsToReorder = 0;
  };
  std::vector<Operation> operations;
  std::vector<Image> images;
};

struct LayoutPlan {
  /// The layout of each operation.
  std::vector<ImageLayout> layouts;
  double seconds = 0;
};

/// Seconds of `problem` with the operations in `layouts`.
double secondsOf(const LayoutProblem &problem,
                 llvm::ArrayRef<ImageLayout> layouts);

/// The layouts that take the least time; of those that take the same, the ones
/// with the most operations whose channels are last: what follows a convolution
/// runs with it, as long as it has the same layout. Time is counted in
/// picoseconds.
LayoutPlan chooseLayouts(const LayoutProblem &problem);

} // namespace chimera::model

#endif // CHIMERA_MODEL_LAYOUTS_H
