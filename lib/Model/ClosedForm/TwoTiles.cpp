//===- TwoTiles.cpp - The best two tiles in reals -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the logarithms of the tiles, volume and live sets are sums of exponentials
// and thus convex. So the largest second tile that fits beside a first one is a
// concave function of it, and the volume along that boundary is convex: it is
// least where its derivative is zero while one phase is the tightest, where two
// phases are equally tight, or at an end. These are few points, and all are
// looked at.
//
// Derivative: with S the room of the phase, p, r, c its coefficients, V =
// a / x + b / y and p x + r y + c x y = S, multipliers give
//
//   a / (x^2 (p + c y)) = b / (y^2 (r + c x)),
//
// and with the constraint a (S - p x)^2 = b (p r + c S) x^2.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/ClosedForm.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace chimera::model;

namespace {

class Minimizer {
public:
  explicit Minimizer(const TwoTileForm &form) : form(form) {}

  std::optional<TwoTileOptimum> run() {
    double least = form.first.leastTile, most = form.first.mostTile;
    most = std::min(most, largestFirst(form.second.leastTile));
    if (most < least || largestSecond(least) < form.second.leastTile)
      return std::nullopt;
    // Below that the second tile is whole, and a larger first one is free.
    least = std::clamp(largestFirst(form.second.mostTile), least, most);
    auto consider = [&](double first) {
      // No number: not the boundary that it was derived from.
      if (!std::isnan(first))
        tryFirst(std::clamp(first, least, most));
    };
    consider(least);
    consider(most);
    for (const TwoTileForm::Phase &phase : form.phases)
      consider(stationaryPoint(phase));
    for (const TwoTileForm::Phase &phase : form.phases)
      for (const TwoTileForm::Phase &other : form.phases)
        if (&phase < &other)
          for (double first : intersections(phase, other))
            consider(first);
    return best;
  }

private:
  double room(const TwoTileForm::Phase &phase) const {
    return form.capacityBytes - phase.rest;
  }

  static double quotient(double room, double bytesPerIteration) {
    if (bytesPerIteration > 0)
      return room / bytesPerIteration;
    return room >= 0 ? std::numeric_limits<double>::infinity() : -1;
  }

  double largestFirst(double second) const {
    double tile = std::numeric_limits<double>::infinity();
    for (const TwoTileForm::Phase &phase : form.phases)
      tile = std::min(tile, quotient(room(phase) - phase.perSecond * second,
                                     phase.perFirst + phase.perBoth * second));
    return tile;
  }

  double largestSecond(double first) const {
    double tile = std::numeric_limits<double>::infinity();
    for (const TwoTileForm::Phase &phase : form.phases)
      tile = std::min(tile, quotient(room(phase) - phase.perFirst * first,
                                     phase.perSecond + phase.perBoth * first));
    return tile;
  }

  double stationaryPoint(const TwoTileForm::Phase &phase) const {
    double a = std::sqrt(form.first.bytesPerTrip * form.first.extent);
    double b = form.second.bytesPerTrip * form.second.extent;
    double mixed =
        phase.perFirst * phase.perSecond + phase.perBoth * room(phase);
    return room(phase) * a / (phase.perFirst * a + std::sqrt(b * mixed));
  }

  /// Where both phases are as tight as can be:
  /// (S - p x) / (r + c x) = (S' - p' x) / (r' + c' x).
  SmallVector<double, 2> intersections(const TwoTileForm::Phase &left,
                                       const TwoTileForm::Phase &right) const {
    double square =
        right.perFirst * left.perBoth - left.perFirst * right.perBoth;
    double linear = room(left) * right.perBoth - room(right) * left.perBoth +
                    right.perFirst * left.perSecond -
                    left.perFirst * right.perSecond;
    double constant =
        room(left) * right.perSecond - room(right) * left.perSecond;
    if (square == 0)
      return {-constant / linear};
    double root = std::sqrt(linear * linear - 4 * square * constant);
    return {(-linear - root) / (2 * square), (-linear + root) / (2 * square)};
  }

  void tryFirst(double first) {
    TwoTileOptimum tiles;
    tiles.firstTile = first;
    tiles.secondTile = std::clamp(largestSecond(first), form.second.leastTile,
                                  form.second.mostTile);
    auto bytesOf = [](const TwoTileForm::Loop &loop, double tile) {
      return loop.bytesPerTrip * loop.extent / tile;
    };
    tiles.bytes = form.constantBytes + bytesOf(form.first, first) +
                  bytesOf(form.second, tiles.secondTile);
    if (!best || tiles.bytes < best->bytes)
      best = tiles;
  }

  const TwoTileForm &form;
  std::optional<TwoTileOptimum> best;
};

} // namespace

std::optional<TwoTileOptimum>
chimera::model::minimize(const TwoTileForm &form) {
  return Minimizer(form).run();
}
