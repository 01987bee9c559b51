//===- Families.cpp - The closed forms of one level -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which orders are families is known beforehand; what they move and hold comes
// from the formula of the tree, so that element sizes, epilogues, states,
// several buffers and the levels outside need no forms of their own.
//
//===----------------------------------------------------------------------===//

#include "ClosedForm/Families.h"

#include "Chimera/Model/Fragments.h"
#include "Chimera/Model/Routes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <map>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

namespace {

/// A family with the letters of docs/model.md for loops.
struct NamedOrder {
  const char *name, *letters;
};

/// C[m,l] = A[m,k] * B[k,l]; E[m,n] = C * D[l,n].
constexpr NamedOrder ordersOfTwo[] = {
    {"tiles of C", "mlkn"}, {"E stays", "mlk"},    {"A stays", "mln"},
    {"A and E stay", "ml"}, {"B stays", "lmn"},    {"D stays", "lmk"},
    {"B and D stay", "lm"}, {"rows of C", "mknl"}, {"columns of C", "lknm"},
};

/// C[m,n] = A[m,k] * B[k,n].
constexpr NamedOrder ordersOfOne[] = {
    {"C stays", "mnk"}, {"A stays", "mkn"}, {"B stays", "nkm"}};

/// The loops that play the parts of m, l, k and n.
class Roles {
public:
  /// Gives `loop` the part `letter`; false if another loop has it.
  bool assign(char letter, LoopId loop) {
    return loops.try_emplace(letter, loop).second;
  }
  SmallVector<LoopId, 4> loopsOf(StringRef letters) const {
    SmallVector<LoopId, 4> result;
    for (char letter : letters)
      if (auto entry = loops.find(letter); entry != loops.end())
        result.push_back(entry->second);
    return result;
  }

private:
  std::map<char, LoopId> loops;
};

} // namespace

SmallVector<LoopId, 4>
chimera::model::batchLoopsOf(const ChainProblem &problem) {
  SmallVector<LoopId, 4> loops;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop)
    if (all_of(seq<TensorId>(0, problem.tensors.size()),
               [&](TensorId tensor) { return problem.indexes(tensor, loop); }))
      loops.push_back(loop);
  return loops;
}

/// The part of `loop` in one contraction, 0 if it has none.
static char partInOne(const ChainProblem &problem, LoopId loop) {
  const Operator &op = problem.operators.front();
  if (!op.output.hasLoop(loop))
    return op.hasLoop(loop) ? 'k' : 0;
  bool isLeft = op.inputs[0].hasLoop(loop),
       isRight = op.inputs[1].hasLoop(loop);
  return isLeft == isRight ? 0 : isLeft ? 'm' : 'n';
}

static char partInTwo(const ChainProblem &problem, LoopId loop) {
  const Operator &first = problem.operators[0], &second = problem.operators[1];
  bool isOfC = first.output.hasLoop(loop), isOfE = second.output.hasLoop(loop);
  if (isOfC)
    return isOfE ? 'm' : second.hasLoop(loop) ? 'l' : 0;
  if (isOfE)
    return first.hasLoop(loop) ? 0 : 'n';
  return second.hasLoop(loop) ? 0 : 'k';
}

static std::optional<Roles> findRoles(const ChainProblem &problem) {
  unsigned numOperators = problem.operators.size();
  if (numOperators > 2 || !problem.consistsOfProducts())
    return std::nullopt;
  if (numOperators == 2 && !is_contained(problem.operators[1].inputs,
                                         TensorId(problem.operators[0].output)))
    return std::nullopt;
  Roles roles;
  SmallVector<LoopId, 4> batch = batchLoopsOf(problem);
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    if (problem.loops[loop].extent == 1 || is_contained(batch, loop))
      continue;
    char part =
        numOperators == 2 ? partInTwo(problem, loop) : partInOne(problem, loop);
    if (!part || !roles.assign(part, loop))
      return std::nullopt;
  }
  return roles;
}

SmallVector<OrderFamily, 9>
chimera::model::familiesOf(const ChainProblem &problem) {
  SmallVector<OrderFamily, 9> families;
  std::optional<Roles> roles = findRoles(problem);
  if (!roles)
    return families;
  ArrayRef<NamedOrder> orders = ordersOfOne;
  if (problem.operators.size() == 2)
    orders = ordersOfTwo;
  for (const NamedOrder &order : orders)
    families.push_back({order.name, roles->loopsOf(order.letters)});
  return families;
}

bool chimera::model::hasClosedForm(const ChainProblem &problem) {
  return findRoles(problem).has_value();
}

bool chimera::model::hasClosedForm(const ChainProblem &problem,
                                   const Machine &machine) {
  return hasClosedForm(problem) && !hasFragments(problem, machine) &&
         !hasRoutes(problem, machine);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

FamilySearch::FamilySearch(const ChainStructure &structure,
                           const Schedule &schedule, unsigned level,
                           int64_t capacityBytes, const Transfer &transfer,
                           const TileLimits &limits)
    : structure(structure), problem(structure.getProblem()), schedule(schedule),
      level(level), capacityBytes(capacityBytes), transfer(transfer),
      limits(limits), windows(structure),
      size(leftBy(problem, schedule, level)), useful(problem.loops.size()) {}

const UsefulTiles &FamilySearch::usefulTiles(LoopId loop) {
  if (!useful[loop])
    useful[loop] =
        findUsefulTiles(problem, schedule, level, loop, size[loop], limits);
  return *useful[loop];
}

/// The places of `formula`'s loops whose trips its volume counts.
static SmallVector<unsigned, 2> weightedPlaces(const OrderFormula &formula,
                                               size_t numLoops) {
  LoopSet counted = 0;
  for (const Monomial &term : formula.getVolume())
    counted |= term.loops;
  SmallVector<unsigned, 2> places;
  for (unsigned place = 0; place < numLoops; ++place)
    if (contains(counted, place))
      places.push_back(place);
  return places;
}

/// The tree of those of `loops` that can be cut, with its best real tiles.
std::optional<FamilySearch::Tree>
FamilySearch::makeTree(ArrayRef<LoopId> loops) {
  SmallVector<LoopId, 4> cut;
  for (LoopId loop : loops)
    if (!usefulTiles(loop).empty())
      cut.push_back(loop);
  auto &entries = schedule.levels[level].order;
  size_t prefix = entries.size();
  for (LoopId loop : cut)
    entries.push_back({loop, openTile});
  Tree tree{cut,
            OrderFormula(structure, schedule, level, transfer, cut, windows),
            {},
            {}};
  tree.formula.addLive(schedule, level, transfer, cut, windows);
  entries.resize(prefix);
  tree.weighted = weightedPlaces(tree.formula, cut.size());
  // Neither have windows a form.
  if (tree.weighted.size() > 2 || !tree.formula.getWindows().empty())
    return std::nullopt;
  // A number that no loop has stands for one of a single trip.
  unsigned places[] = {unsigned(cut.size()), unsigned(cut.size()) + 1};
  TwoTileForm form;
  form.capacityBytes = capacityBytes;
  TwoTileForm::Loop *sides[] = {&form.first, &form.second};
  for (const auto &[side, place] : enumerate(tree.weighted)) {
    LoopId loop = cut[place];
    *sides[side] = {double(problem.loops[loop].extent),
                    double(usefulTiles(loop).tiles.back()), double(size[loop]),
                    0};
    places[side] = place;
  }
  SubsetProducts trips, tiles;
  SmallVector<int64_t, 4> smallest;
  for (LoopId loop : cut)
    smallest.push_back(usefulTiles(loop).tiles.back());
  tiles.assign(smallest);
  trips.assign(SmallVector<int64_t, 4>(cut.size(), 1));
  addTerms(form, tree.formula.getVolume(), tree.formula.getLive(), places[0],
           places[1], trips, tiles);
  std::optional<TwoTileOptimum> optimum = minimize(form);
  if (!optimum)
    return std::nullopt;
  tree.optimum = *optimum;
  return tree;
}

ClosedForm FamilySearch::inReals(const OrderFamily &family,
                                 const Tree &tree) const {
  ClosedForm result;
  result.family = family.name.str();
  double tiles[] = {tree.optimum.firstTile, tree.optimum.secondTile};
  for (const auto &[side, place] : enumerate(tree.weighted))
    result.realTiles.push_back({tree.loops[place], tiles[side]});
  result.realBytes = tree.optimum.bytes;
  result.bytes = std::numeric_limits<int64_t>::max();
  return result;
}

/// Rounds the tiles of `tree`, and of the trees in which a loop is whole that
/// is next to it, and keeps what moves less than `result`. False if nothing
/// does.
bool FamilySearch::round(const Tree &tree, ClosedForm &result) {
  const UsefulTiles onlyTile = {{1}, {1}};
  const UsefulTiles *sides[] = {&onlyTile, &onlyTile};
  SmallVector<int64_t, 4> tiles, trips;
  for (LoopId loop : tree.loops) {
    tiles.push_back(usefulTiles(loop).tiles.back());
    trips.push_back(usefulTiles(loop).trips.back());
  }
  for (const auto &[side, place] : enumerate(tree.weighted))
    sides[side] = &usefulTiles(tree.loops[place]);
  auto choose = [&](size_t first, size_t second) {
    size_t chosen[] = {first, second};
    for (const auto &[side, place] : enumerate(tree.weighted)) {
      tiles[place] = sides[side]->tiles[chosen[side]];
      trips[place] = sides[side]->trips[chosen[side]];
    }
  };
  SubsetProducts products;
  auto liveBytes = [&] {
    products.assign(tiles);
    return tree.formula.liveBytes(products, {});
  };
  auto fits = [&](size_t first, size_t second) {
    choose(first, second);
    return liveBytes() <= capacityBytes;
  };
  auto bytesOf = [&](size_t first, size_t second) {
    choose(first, second);
    products.assign(trips);
    return tree.formula.volumeBytes(products, {});
  };
  bool isBetter = false;
  if (auto rounded =
          roundToNeighbours(tree.optimum, *sides[0], *sides[1], fits, bytesOf);
      rounded && rounded->bytes < result.bytes) {
    isBetter = true;
    choose(rounded->first, rounded->second);
    result.bytes = rounded->bytes;
    result.order = schedule.levels[level].order;
    for (auto [loop, tile] : zip(tree.loops, tiles))
      result.order.push_back({loop, tile});
    widenFreeLoops(tree, result);
  }
  double real[] = {tree.optimum.firstTile, tree.optimum.secondTile};
  for (const auto &[side, place] : enumerate(tree.weighted)) {
    if (real[side] <= sides[side]->tiles.front())
      continue;
    SmallVector<LoopId, 4> others(tree.loops);
    others.erase(others.begin() + place);
    if (std::optional<Tree> whole = makeTree(others))
      isBetter |= round(*whole, result);
  }
  return isBetter;
}

/// Gives the room that is left to the loops whose trips cost no volume.
void FamilySearch::widenFreeLoops(const Tree &tree, ClosedForm &result) {
  auto entries =
      MutableArrayRef<TiledLoop>(result.order).take_back(tree.loops.size());
  SmallVector<int64_t, 4> tiles;
  for (const TiledLoop &entry : entries)
    tiles.push_back(entry.tile);
  SubsetProducts products;
  auto liveBytes = [&] {
    products.assign(tiles);
    return tree.formula.liveBytes(products, {});
  };
  for (const auto &[place, loop] : enumerate(tree.loops)) {
    if (is_contained(tree.weighted, place))
      continue;
    for (int64_t tile : usefulTiles(loop).tiles) {
      tiles[place] = tile;
      if (liveBytes() <= capacityBytes)
        break;
    }
    entries[place].tile = tiles[place];
  }
  result.liveBytes = liveBytes();
}

std::optional<ClosedForm> FamilySearch::solve(const OrderFamily &family) {
  std::optional<Tree> tree = makeTree(family.loops);
  if (!tree)
    return std::nullopt;
  ClosedForm result = inReals(family, *tree);
  if (!round(*tree, result))
    return std::nullopt;
  return result;
}

SmallVector<ClosedForm, 3> FamilySearch::best(ArrayRef<OrderFamily> families,
                                              size_t most) {
  std::vector<std::optional<Tree>> trees;
  SmallVector<size_t, 9> order;
  for (const OrderFamily &family : families) {
    trees.push_back(makeTree(family.loops));
    if (trees.back())
      order.push_back(trees.size() - 1);
  }
  sort(order, [&](size_t left, size_t right) {
    return std::tie(trees[left]->optimum.bytes, left) <
           std::tie(trees[right]->optimum.bytes, right);
  });
  SmallVector<ClosedForm, 3> forms;
  for (size_t index : order) {
    const Tree &tree = *trees[index];
    // Sorted: no later family can be better either.
    if (forms.size() == most && tree.optimum.bytes >= forms.back().bytes)
      break;
    ClosedForm form = inReals(families[index], tree);
    if (!round(tree, form))
      continue;
    auto *place = llvm::upper_bound(
        forms, form, [](const ClosedForm &left, const ClosedForm &right) {
          return left.bytes < right.bytes;
        });
    forms.insert(place, form);
    if (forms.size() > most)
      forms.pop_back();
  }
  return forms;
}

//===----------------------------------------------------------------------===//
// A single level
//===----------------------------------------------------------------------===//

/// A level of its own, in which a batch is outermost.
static Schedule levelWithBatch(const ChainProblem &problem) {
  Schedule schedule;
  schedule.levels.emplace_back();
  for (LoopId loop : batchLoopsOf(problem))
    if (problem.loops[loop].extent > 1)
      schedule.levels[0].order.push_back({loop, 1});
  return schedule;
}

std::optional<ClosedForm>
chimera::model::solveClosedForm(const ChainProblem &problem,
                                int64_t usableBytes,
                                ArrayRef<int64_t> granularity) {
  ChainStructure structure(problem);
  FamilySearch search(structure, levelWithBatch(problem), 0, usableBytes,
                      Transfer(), {granularity, {}});
  SmallVector<ClosedForm, 3> best = search.best(familiesOf(problem), 1);
  if (best.empty())
    return std::nullopt;
  return best.front();
}

SmallVector<ClosedForm, 9>
chimera::model::solveClosedForms(const ChainProblem &problem,
                                 int64_t usableBytes,
                                 ArrayRef<int64_t> granularity) {
  ChainStructure structure(problem);
  FamilySearch search(structure, levelWithBatch(problem), 0, usableBytes,
                      Transfer(), {granularity, {}});
  SmallVector<ClosedForm, 9> forms;
  for (const OrderFamily &family : familiesOf(problem))
    if (std::optional<ClosedForm> form = search.solve(family))
      forms.push_back(*form);
  return forms;
}
