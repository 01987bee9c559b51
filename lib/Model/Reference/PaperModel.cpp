//===- PaperModel.cpp - The model as the paper has it ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithm 1 line by line and what the paper derives from it, so that its
// figures can be set beside the exact ones. It pads edges (footprint times
// trips), lets one-trip loops end reuse, charges an accumulator once and counts
// no buffer outside the operator that uses it.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/PaperModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;
using namespace chimera::model;

std::vector<Permutation> chimera::model::listOrders(ArrayRef<LoopId> loops) {
  SmallVector<unsigned, 6> places;
  for (unsigned place = 0; place < loops.size(); ++place)
    places.push_back(place);
  std::vector<Permutation> orders;
  do {
    orders.emplace_back();
    for (unsigned place : places)
      orders.back().push_back(loops[place]);
  } while (std::next_permutation(places.begin(), places.end()));
  return orders;
}

//===----------------------------------------------------------------------===//
// Algorithm 1
//===----------------------------------------------------------------------===//

/// The elements that a tile takes along one dimension, halo included.
static int64_t extentOf(const Index &index, ArrayRef<int64_t> tiles) {
  int64_t extent = 1;
  for (const Term &term : index.terms)
    extent += term.factor * (tiles[term.loop] - 1);
  return extent;
}

/// Line 7: the elements that one block touches.
static int64_t footprintOf(const Access &access, ArrayRef<int64_t> tiles) {
  int64_t footprint = 1;
  for (const Index &index : access.indices)
    footprint *= extentOf(index, tiles);
  return footprint;
}

static bool isPrivate(const ChainProblem &problem, LoopId loop) {
  return count_if(problem.operators,
                  [&](const Operator &op) { return op.hasLoop(loop); }) == 1;
}

/// Lines 17 to 19: consumers do not see the private loops of `op`.
static void erasePrivateLoops(const ChainProblem &problem, const Operator &op,
                              Permutation &permutation) {
  erase_if(permutation, [&](LoopId loop) {
    return op.hasLoop(loop) && isPrivate(problem, loop);
  });
}

static SmallVector<Access, 3> accessesOf(const Operator &op) {
  SmallVector<Access, 3> accesses(op.inputs.begin(), op.inputs.end());
  accesses.push_back(op.output);
  return accesses;
}

/// Lines 9 to 15: the loops whose trips multiply the movement of one tensor of
/// one operator, innermost first.
static Permutation loopsMoving(const Operator &op, const Access &access,
                               ArrayRef<LoopId> permutation) {
  Permutation loops;
  bool keepReuse = true;
  for (LoopId loop : reverse(permutation)) {
    if (!op.hasLoop(loop))
      continue;
    if (access.hasLoop(loop))
      keepReuse = false;
    if (!keepReuse)
      loops.push_back(loop);
  }
  return loops;
}

/// The largest total footprint of an operator.
static int64_t memoryUsageOf(const ChainProblem &problem,
                             ArrayRef<int64_t> tiles) {
  int64_t usage = 0;
  for (const Operator &op : problem.operators) {
    int64_t total = 0;
    for (const Access &access : accessesOf(op))
      total += footprintOf(access, tiles);
    usage = std::max(usage, total);
  }
  return usage;
}

PaperEstimate chimera::model::evaluatePaper(const ChainProblem &problem,
                                            ArrayRef<LoopId> permutation,
                                            ArrayRef<int64_t> tiles) {
  PaperEstimate estimate;
  estimate.movement.resize(problem.tensors.size());
  estimate.footprint.resize(problem.tensors.size());
  Permutation remaining(permutation);
  for (const Operator &op : problem.operators) {
    for (const Access &access : accessesOf(op)) {
      int64_t footprint = footprintOf(access, tiles);
      estimate.footprint[access] = footprint;
      if (problem.tensors[access].role == Role::Intermediate)
        continue;
      int64_t movement = footprint;
      for (LoopId loop : loopsMoving(op, access, remaining))
        movement *= divideCeilSigned(problem.loops[loop].extent, tiles[loop]);
      estimate.movement[access] += movement;
      estimate.volume += movement;
    }
    erasePrivateLoops(problem, op, remaining);
  }
  estimate.memoryUsage = memoryUsageOf(problem, tiles);
  return estimate;
}

//===----------------------------------------------------------------------===//
// Table III and Figure 2
//===----------------------------------------------------------------------===//

static bool isWindow(const Index &index) {
  return index.terms.size() != 1 || index.terms.front().factor != 1;
}

static PaperProduct describeFootprint(const Access &access) {
  PaperProduct product;
  for (const Index &index : access.indices) {
    if (isWindow(index))
      product.windows.push_back(index);
    else
      product.tiles.push_back(index.terms.front().loop);
  }
  return product;
}

/// The tiles of a loop, all of them together, are its extent; windows overlap.
static PaperProduct describeMovement(const Access &access,
                                     ArrayRef<LoopId> moving) {
  PaperProduct product = describeFootprint(access);
  std::swap(product.extents, product.tiles);
  for (LoopId loop : moving)
    if (!is_contained(product.extents, loop))
      product.trips.push_back(loop);
  sort(product.extents);
  sort(product.trips);
  return product;
}

/// Observations 1 and 2 on the loops of `permutation` that are left, and
/// observation 3 on those that are not.
static SmallVector<LoopId, 4> loopsOfReuse(const Access &access,
                                           ArrayRef<LoopId> permutation,
                                           ArrayRef<LoopId> remaining) {
  SmallVector<LoopId, 4> loops;
  for (LoopId loop : permutation)
    if (!is_contained(remaining, loop))
      loops.push_back(loop);
  for (LoopId loop : reverse(remaining)) {
    if (access.hasLoop(loop))
      break;
    loops.push_back(loop);
  }
  sort(loops);
  return loops;
}

SmallVector<PaperColumn, 6>
chimera::model::tabulatePaper(const ChainProblem &problem,
                              ArrayRef<LoopId> permutation) {
  SmallVector<PaperColumn, 6> columns(problem.tensors.size());
  Permutation remaining(permutation);
  for (const Operator &op : problem.operators) {
    for (const Access &access : accessesOf(op)) {
      PaperColumn &column = columns[access];
      column.footprint = describeFootprint(access);
      column.reusedAlong = loopsOfReuse(access, permutation, remaining);
      if (problem.tensors[access].role != Role::Intermediate)
        column.movement.push_back(
            describeMovement(access, loopsMoving(op, access, remaining)));
    }
    erasePrivateLoops(problem, op, remaining);
  }
  return columns;
}

static std::string symbolOf(const ChainProblem &problem, LoopId loop) {
  return StringRef(problem.loops[loop].name).upper();
}

static std::string printWindow(const ChainProblem &problem,
                               const Index &index) {
  std::string text = "(";
  int64_t rest = 1;
  for (const Term &term : index.terms) {
    if (term.factor != 1)
      text += std::to_string(term.factor) + "*";
    text += "T_" + symbolOf(problem, term.loop) + "+";
    rest -= term.factor;
  }
  if (rest == 0)
    text.pop_back();
  else if (rest < 0)
    text.back() = '-';
  return text + (rest ? std::to_string(std::abs(rest)) : "") + ")";
}

std::string PaperProduct::print(const ChainProblem &problem) const {
  SmallVector<std::string, 6> factors;
  bool areLetters = all_of(extents, [&](LoopId loop) {
    return problem.loops[loop].name.size() == 1;
  });
  for (LoopId loop : extents) {
    if (areLetters && !factors.empty())
      factors.back() += symbolOf(problem, loop);
    else
      factors.push_back(symbolOf(problem, loop));
  }
  for (LoopId loop : tiles)
    factors.push_back("T_" + symbolOf(problem, loop));
  for (const Index &index : windows)
    factors.push_back(printWindow(problem, index));
  for (LoopId loop : trips) {
    std::string symbol = symbolOf(problem, loop);
    factors.push_back("ceil(" + symbol + "/T_" + symbol + ")");
  }
  return factors.empty() ? "1" : join(factors, "*");
}

int64_t PaperProduct::value(const ChainProblem &problem,
                            ArrayRef<int64_t> tileSizes) const {
  int64_t value = 1;
  for (LoopId loop : extents)
    value *= problem.loops[loop].extent;
  for (LoopId loop : tiles)
    value *= tileSizes[loop];
  for (const Index &index : windows)
    value *= extentOf(index, tileSizes);
  for (LoopId loop : trips)
    value *= divideCeilSigned(problem.loops[loop].extent, tileSizes[loop]);
  return value;
}

std::string PaperColumn::printMovement(const ChainProblem &problem) const {
  SmallVector<std::string, 1> products;
  for (const PaperProduct &product : movement)
    products.push_back(product.print(problem));
  return products.empty() ? "0" : join(products, " + ");
}

//===----------------------------------------------------------------------===//
// Equations 1 to 3
//===----------------------------------------------------------------------===//

namespace {

/// Goes through the tiles of the loops that the volume depends on, largest
/// first. Without windows, the volume grows with the trips and memory usage
/// with the tiles, which cuts the search short.
class PaperTileSearch {
public:
  PaperTileSearch(const ChainProblem &problem, ArrayRef<LoopId> permutation,
                  int64_t capacity, ArrayRef<int64_t> granularity);

  std::optional<PaperOptimum> run();

private:
  SmallVector<int64_t, 0> usefulTiles(LoopId loop) const;
  int64_t volume() const;
  void search(unsigned place);

  const ChainProblem &problem;
  int64_t capacity;
  ArrayRef<int64_t> granularity;
  SmallVector<PaperProduct, 6> products;
  bool isMonotone = true;
  SmallVector<LoopId, 6> weighted;
  SmallVector<SmallVector<int64_t, 0>, 6> tilesOf;
  SmallVector<int64_t, 6> tiles;
  PaperOptimum best;
};

} // namespace

PaperTileSearch::PaperTileSearch(const ChainProblem &problem,
                                 ArrayRef<LoopId> permutation, int64_t capacity,
                                 ArrayRef<int64_t> granularity)
    : problem(problem), capacity(capacity), granularity(granularity) {
  best.permutation.assign(permutation.begin(), permutation.end());
  for (const PaperColumn &column : tabulatePaper(problem, permutation))
    append_range(products, column.movement);
  auto weighs = [&](LoopId loop) {
    return any_of(products, [&](const PaperProduct &product) {
      return is_contained(product.trips, loop) ||
             any_of(product.windows,
                    [&](const Index &index) { return index.hasLoop(loop); });
    });
  };
  for (const PaperProduct &product : products)
    isMonotone &= product.windows.empty();
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    tiles.push_back(std::min(granularity[loop], problem.loops[loop].extent));
    if (!weighs(loop))
      continue;
    weighted.push_back(loop);
    tilesOf.push_back(usefulTiles(loop));
    tiles.back() = problem.loops[loop].extent;
  }
}

/// The smallest tile for every number of trips, largest first.
SmallVector<int64_t, 0> PaperTileSearch::usefulTiles(LoopId loop) const {
  int64_t extent = problem.loops[loop].extent;
  SmallVector<int64_t, 0> useful = {extent};
  for (int64_t trips = 2; useful.back() > granularity[loop]; ++trips) {
    int64_t tile = std::max(granularity[loop], divideCeilSigned(extent, trips));
    if (tile < useful.back())
      useful.push_back(tile);
  }
  return useful;
}

int64_t PaperTileSearch::volume() const {
  int64_t sum = 0;
  for (const PaperProduct &product : products)
    sum += product.value(problem, tiles);
  return sum;
}

/// Loops that are not decided have their whole extent.
void PaperTileSearch::search(unsigned place) {
  if (isMonotone && volume() >= best.volume)
    return;
  if (place == weighted.size()) {
    int64_t usage = memoryUsageOf(problem, tiles);
    if (usage > capacity || volume() >= best.volume)
      return;
    best.tiles = tiles;
    best.volume = volume();
    best.memoryUsage = usage;
    return;
  }
  int64_t &tile = tiles[weighted[place]];
  bool isLast = place + 1 == weighted.size();
  for (int64_t useful : tilesOf[place]) {
    tile = useful;
    if (isLast && memoryUsageOf(problem, tiles) > capacity)
      continue;
    search(place + 1);
    // Smaller tiles make more trips.
    if (isMonotone && (isLast || volume() >= best.volume))
      break;
  }
  tile = problem.loops[weighted[place]].extent;
}

std::optional<PaperOptimum> PaperTileSearch::run() {
  best.volume = std::numeric_limits<int64_t>::max();
  search(0);
  if (best.tiles.empty())
    return std::nullopt;
  return best;
}

std::optional<PaperOptimum>
chimera::model::minimizePaper(const ChainProblem &problem,
                              ArrayRef<LoopId> permutation, int64_t capacity,
                              ArrayRef<int64_t> granularity) {
  return PaperTileSearch(problem, permutation, capacity, granularity).run();
}

std::optional<PaperPlan>
chimera::model::planPaper(const ChainProblem &problem, const Machine &machine,
                          ArrayRef<Permutation> orders,
                          ArrayRef<int64_t> granularity) {
  int64_t elementBytes = problem.tensors.front().elementBytes;
  PaperPlan plan;
  for (const MemoryLevel &level : machine.levels) {
    std::optional<PaperOptimum> least;
    for (const Permutation &order : orders) {
      auto optimum = minimizePaper(
          problem, order, level.capacityBytes / elementBytes, granularity);
      if (optimum && (!least || optimum->volume < least->volume))
        least = optimum;
    }
    if (!least)
      return std::nullopt;
    double bytes = static_cast<double>(least->volume) * elementBytes;
    plan.costs.push_back(bytes / level.bytesPerSecond);
    plan.seconds = std::max(plan.seconds, plan.costs.back());
    plan.levels.push_back(*least);
  }
  return plan;
}

PaperClosedForm chimera::model::solvePaperClosedForm(int64_t m, int64_t n,
                                                     int64_t k, int64_t l,
                                                     int64_t capacity,
                                                     int64_t alpha) {
  PaperClosedForm form;
  double a = alpha, mc = capacity;
  form.tile = -a + std::sqrt(a * a + mc);
  form.volume = 2.0 * m * l * (k + n) / form.tile;
  auto whole = static_cast<int64_t>(form.tile);
  form.tileM = std::min(whole, m);
  form.tileL = std::min(whole, l);
  form.roundedVolume = (m * k + m * n) * divideCeilSigned(l, form.tileL) +
                       (k * l + n * l) * divideCeilSigned(m, form.tileM);
  auto consider = [&](int64_t extent, int64_t tile) {
    double root = std::sqrt(mc), size = extent;
    form.ratioBound =
        std::max(form.ratioBound, 1 + form.tile / size + 1.0 / tile);
    form.looseRatioBound = std::max(form.looseRatioBound,
                                    1 + root / size + 1 / std::min(size, root));
  };
  consider(m, form.tileM);
  consider(l, form.tileL);
  return form;
}

//===----------------------------------------------------------------------===//
// Micro kernel
//===----------------------------------------------------------------------===//

double chimera::model::paperIntensity(const RegisterTile &tile, int64_t depth) {
  double accumulators = tile.rows * tile.vectors;
  return accumulators * depth /
         (depth * (tile.rows + tile.vectors) + 2 * accumulators);
}

RegisterTile
chimera::model::selectPaperKernel(int64_t registers, int64_t depth,
                                  const PaperKernelLimits &limits) {
  RegisterTile best;
  for (int64_t vectors = 1; 2 * vectors + 1 <= registers; ++vectors) {
    RegisterTile tile;
    tile.vectors = vectors;
    // Intensity grows with MI too.
    tile.rows = (registers - vectors - 1) / vectors;
    int64_t left = registers - vectors - tile.rows * vectors;
    tile.broadcasts = left >= 2 && tile.rows % 2 == 0 ? 2 : 1;
    tile.depth = depth;
    if (limits.vectors % vectors != 0 ||
        tile.rows * vectors < limits.accumulators)
      continue;
    if (best.rows == 0 ||
        paperIntensity(tile, depth) >= paperIntensity(best, depth))
      best = tile;
  }
  return best;
}
