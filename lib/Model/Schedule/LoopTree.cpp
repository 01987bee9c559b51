//===- LoopTree.cpp - From orders to loop trees ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that knows how a list of tiled loops becomes a loop tree.
//
//===----------------------------------------------------------------------===//

#include "Schedule/LoopTree.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

const LoopNest &LoopNest::partOf(unsigned op) const {
  return *find_if(parts, [&](const LoopNest &part) { return part.has(op); });
}

Path::Path(const LoopNest &tree, unsigned op) : op(op) {
  const LoopNest *nest = &tree;
  while (true) {
    for (const NestLoop &loop : nest->loops)
      steps.push_back({loop.loop,
                       loop.tile,
                       {nest->firstOperator, nest->lastOperator},
                       false});
    if (!nest->loops.empty())
      steps.back().endsNest = true;
    if (nest->parts.empty())
      return;
    nest = &nest->partOf(op);
  }
}

unsigned Path::commonDepth(OperatorSet operators) const {
  unsigned depth = 0;
  while (depth < steps.size() && steps[depth].group.covers(operators))
    ++depth;
  return depth;
}

namespace {

using Entries = SmallVector<std::pair<TiledLoop, unsigned>, 16>;

class LoopTreeBuilder {
public:
  LoopTreeBuilder(const ChainStructure &structure, const Entries &entries)
      : structure(structure), problem(structure.getProblem()),
        entries(entries) {}

  /// Most iterations that are left of each loop at the blocks of an operator.
  using Sizes = SmallVector<int64_t, 16>;

  LoopNest run() {
    leaves.resize(problem.operators.size());
    Group all{0, static_cast<unsigned>(problem.operators.size() - 1)};
    Sizes sizes;
    for (const Loop &loop : problem.loops)
      sizes.push_back(loop.extent);
    follow(all, sizes);
    return build(all, 0, sizes);
  }

  std::vector<Sizes> takeLeaves() { return std::move(leaves); }

private:
  LoopNest build(Group group, size_t place, Sizes sizes);
  void follow(Group group, Sizes &sizes) const;
  OperatorSet membersOf(const TiledLoop &entry, Group group) const;
  SmallVector<Group, 4> split(Group group, OperatorSet members,
                              LoopId loop) const;

  const ChainStructure &structure;
  const ChainProblem &problem;
  const Entries &entries;
  std::vector<Sizes> leaves;
};

/// Brings the most iterations of derived loops up to date.
void LoopTreeBuilder::follow(Group group, Sizes &sizes) const {
  for (unsigned op = group.last + 1; op-- > group.first;)
    for (LoopId loop : structure.derivedLoopsOf(op)) {
      if (!structure.follows(loop, group))
        continue;
      // Readers at different places need more than the largest of them.
      ArrayRef<Index> demands = structure.demandsOn(loop);
      int64_t size = 1;
      for (const Term &term : demands.front().terms)
        size += term.factor * (sizes[term.loop] - 1);
      int64_t extent = problem.loops[loop].extent;
      sizes[loop] =
          structure.demandsAgree(loop) ? std::min(extent, size) : extent;
    }
}

/// The operators of `group` that the loop goes around.
OperatorSet LoopTreeBuilder::membersOf(const TiledLoop &entry,
                                       Group group) const {
  OperatorSet members = 0;
  for (unsigned op = group.last + 1; op-- > group.first;) {
    OperatorSet bit = OperatorSet(1) << op;
    if (!entry.operators) {
      if (structure.concerns(entry.loop, op, group))
        members |= bit;
      continue;
    }
    if (!(entry.operators & bit))
      continue;
    const Access &output = problem.operators[op].output;
    bool isConcerned = problem.operators[op].hasLoop(entry.loop) ||
                       contains(structure.affecting(output, group), entry.loop);
    OperatorSet readers = structure.readersOf(output);
    bool canRecompute = problem.tensors[output].role == Role::Intermediate &&
                        readers && (readers & members) == readers;
    if (isConcerned || canRecompute)
      members |= bit;
  }
  return members;
}

/// Parts `group` into runs of neighbours that stay together under `loop`.
SmallVector<Group, 4> LoopTreeBuilder::split(Group group, OperatorSet members,
                                             LoopId loop) const {
  SmallVector<Group, 4> runs;
  bool mustEnd = true;
  for (unsigned op = group.first; op <= group.last; ++op) {
    bool isMember = members >> op & 1;
    bool wasMember = op > 0 && (members >> (op - 1) & 1);
    if (mustEnd || isMember != wasMember)
      runs.push_back({op, op});
    runs.back().last = op;
    mustEnd = isMember && structure.endsBefore(op, loop, members);
  }
  return runs;
}

LoopNest LoopTreeBuilder::build(Group group, size_t place, Sizes sizes) {
  LoopNest nest;
  nest.firstOperator = group.first;
  nest.lastOperator = group.last;
  for (; place < entries.size(); ++place) {
    auto [entry, level] = entries[place];
    // A loop of one trip is none; one whose tile is still open has several.
    if (entry.tile >= sizes[entry.loop] || sizes[entry.loop] == 1)
      continue;
    OperatorSet members = membersOf(entry, group);
    if (!members)
      continue;
    SmallVector<Group, 4> runs = split(group, members, entry.loop);
    if (runs.size() > 1) {
      nest.parts.reserve(runs.size());
      for (Group run : runs) {
        LoopNest part = build(run, place, sizes);
        // Parts without loops around them are parts of this nest.
        if (part.loops.empty() && !part.parts.empty())
          append_range(nest.parts, part.parts);
        else
          nest.parts.push_back(std::move(part));
      }
      return nest;
    }
    nest.loops.push_back({entry.loop, entry.tile, level});
    if (entry.tile != openTile)
      sizes[entry.loop] = entry.tile;
    follow(group, sizes);
  }
  if (group.first == group.last)
    leaves[group.first] = sizes;
  else {
    nest.parts.reserve(nest.size());
    for (unsigned op = group.first; op <= group.last; ++op)
      nest.parts.push_back(build({op, op}, place, sizes));
  }
  return nest;
}

Entries entriesOf(const Schedule &schedule, unsigned level) {
  Entries entries;
  for (unsigned index = 0; index <= level; ++index)
    for (const TiledLoop &entry : schedule.levels[index].order)
      entries.push_back({entry, index});
  return entries;
}

hash_code hashOf(const Entries &entries) {
  hash_code hash(entries.size());
  for (const auto &[entry, level] : entries)
    hash = hash_combine(hash, entry.loop, entry.tile, entry.operators, level);
  return hash;
}

} // namespace

LoopNest chimera::model::buildLoopTree(const ChainStructure &structure,
                                       const Schedule &schedule,
                                       unsigned level) {
  Entries entries = entriesOf(schedule, level);
  return LoopTreeBuilder(structure, entries).run();
}

std::shared_ptr<const KnownTree>
chimera::model::findTree(const ChainStructure &structure,
                         const Schedule &schedule, unsigned level) {
  Entries entries = entriesOf(schedule, level);
  auto trees = structure.treesKnown();
  std::shared_ptr<const KnownTree> &known =
      trees[hashOf(entries) % trees.size()];
  if (known && known->entries == entries)
    return known;
  auto tree = std::make_shared<KnownTree>();
  tree->entries = std::move(entries);
  LoopTreeBuilder builder(structure, tree->entries);
  tree->nest = builder.run();
  tree->leaves = builder.takeLeaves();
  size_t numOperators = structure.getProblem().operators.size();
  tree->paths.reserve(numOperators);
  for (unsigned op = 0; op < numOperators; ++op)
    tree->paths.emplace_back(tree->nest, op);
  known = std::move(tree);
  return known;
}

LoopNest chimera::model::buildLoopTree(const ChainProblem &problem,
                                       const Schedule &schedule,
                                       unsigned level) {
  return buildLoopTree(ChainStructure(problem), schedule, level);
}

SmallVector<DerivedLoop, 4>
chimera::model::derivedLoopsIn(const ChainProblem &problem,
                               const LoopNest &nest) {
  ChainStructure structure(problem);
  Group group{nest.firstOperator, nest.lastOperator};
  SmallVector<DerivedLoop, 4> derived;
  for (unsigned op = group.last + 1; op-- > group.first;)
    for (LoopId loop : structure.derivedLoopsOf(op))
      if (structure.follows(loop, group))
        derived.push_back({loop, structure.demandsOn(loop).front()});
  return derived;
}

std::optional<RollingRange>
chimera::model::findRollingRange(const ChainStructure &structure,
                                 const Schedule &schedule, const LoopNest &tree,
                                 TensorId tensor) {
  std::optional<unsigned> producer = structure.producerOf(tensor);
  if (!producer ||
      structure.getProblem().tensors[tensor].role != Role::Intermediate)
    return std::nullopt;
  // The innermost nest around all users.
  OperatorSet users = structure.usersOf(tensor);
  auto groupOf = [](const LoopNest &nest) {
    return Group{nest.firstOperator, nest.lastOperator};
  };
  RollingRange range{&tree, 0};
  SmallVector<NestLoop, 12> around(tree.loops.begin(), tree.loops.end());
  while (!range.nest->parts.empty()) {
    const LoopNest &part = range.nest->partOf(*producer);
    if (!groupOf(part).covers(users))
      break;
    range.nest = &part;
    append_range(around, part.loops);
  }
  const LoopNest &nest = *range.nest;
  if (nest.loops.empty() || nest.firstOperator != *producer ||
      around.size() <= static_cast<size_t>(schedule.numParallel))
    return std::nullopt;
  LoopId loop = nest.loops.back().loop;
  unsigned axis = structure.axisOf(loop);
  unsigned numDerived = 0;
  for (LoopId derived : structure.derivedLoopsOf(*producer))
    if (structure.axisOf(derived) == axis) {
      range.derived = derived;
      ++numDerived;
    }
  bool isMovedAlone = all_of(around, [&](const NestLoop &other) {
    return other.loop == loop || structure.axisOf(other.loop) != axis;
  });
  if (numDerived != 1 || !isMovedAlone ||
      !contains(structure.dependencies(range.derived, groupOf(nest)), loop))
    return std::nullopt;
  return range;
}

std::optional<RollingRange>
chimera::model::findRollingRange(const ChainProblem &problem,
                                 const Schedule &schedule, const LoopNest &tree,
                                 TensorId tensor) {
  return findRollingRange(ChainStructure(problem), schedule, tree, tensor);
}

std::optional<unsigned> chimera::model::findSplit(const ChainProblem &problem,
                                                  const Schedule &schedule,
                                                  const LoopNest &tree) {
  unsigned numParallel =
      std::clamp<int64_t>(schedule.numParallel, 0, tree.loops.size());
  for (unsigned place = 0; place < numParallel; ++place)
    if (problem.operators.back().rescaledBy == tree.loops[place].loop)
      return place;
  return std::nullopt;
}

int64_t chimera::model::countSplitParts(const ChainProblem &problem,
                                        const Schedule &schedule,
                                        const LoopNest &tree) {
  std::optional<unsigned> split = findSplit(problem, schedule, tree);
  if (!split)
    return 1;
  const NestLoop &loop = tree.loops[*split];
  return divideCeilSigned(problem.loops[loop.loop].extent, loop.tile);
}

SmallVector<NestLoop, 12> chimera::model::pathOf(const LoopNest &tree,
                                                 unsigned op) {
  SmallVector<NestLoop, 12> path;
  const LoopNest *nest = &tree;
  while (true) {
    append_range(path, nest->loops);
    if (nest->parts.empty())
      return path;
    nest = &nest->partOf(op);
  }
}

size_t chimera::model::commonDepth(const LoopNest &tree, unsigned op,
                                   unsigned other) {
  const LoopNest *nest = &tree;
  size_t depth = nest->loops.size();
  while (!nest->parts.empty() && nest->partOf(op).has(other)) {
    nest = &nest->partOf(op);
    depth += nest->loops.size();
  }
  return depth;
}

SmallVector<int64_t, 8> chimera::model::tilesAt(const ChainProblem &problem,
                                                const Schedule &schedule,
                                                unsigned level, unsigned op) {
  return tilesAt(ChainStructure(problem), schedule, level, op);
}

SmallVector<int64_t, 8> chimera::model::tilesAt(const ChainStructure &structure,
                                                const Schedule &schedule,
                                                unsigned level, unsigned op) {
  std::shared_ptr<const KnownTree> tree = findTree(structure, schedule, level);
  return SmallVector<int64_t, 8>(ArrayRef(tree->leaves[op]));
}

/// True if a kernel has registers for the sums of `rows` rows. One for a matrix
/// unit, which broadcasts nothing, holds those of some tiles after the other.
static bool holdsRows(const RegisterTile &tile, int64_t rows) {
  return tile.broadcasts == 0 || rows <= tile.rows;
}

/// The number of loops at the end of `leaf`, inside `numParallel` parallel
/// ones, that can run in the micro kernel of the operator there.
static size_t countKernelLoops(const ChainStructure &structure,
                               const Schedule &schedule, const LoopNest &leaf,
                               size_t numParallel) {
  const Operator &op = structure.getProblem().operators[leaf.lastOperator];
  auto isReduction = [&](const NestLoop &loop) {
    return op.isReduction(loop.loop);
  };
  ArrayRef<NestLoop> outer = leaf.loops;
  while (outer.size() > numParallel && isReduction(outer.back()))
    outer = outer.drop_back();
  int64_t rows = tilesAt(structure, schedule, schedule.levels.size() - 1,
                         leaf.lastOperator)[op.rowLoop];
  if (outer.size() == leaf.loops.size() || op.rowLoop == op.vectorLoop ||
      !holdsRows(schedule.registerTile, rows))
    return 0;
  if (outer.size() > numParallel && outer.back().loop == op.rowLoop)
    outer = outer.drop_back();
  return leaf.loops.size() - outer.size();
}

/// The nest of `tree` that has the blocks of `op`, and the number of parallel
/// loops it begins with.
static std::pair<LoopNest *, size_t>
leafOf(LoopNest &tree, const Schedule &schedule, unsigned op) {
  LoopNest *leaf = &tree;
  while (!leaf->parts.empty())
    leaf = const_cast<LoopNest *>(&leaf->partOf(op));
  return {leaf, leaf == &tree ? schedule.numParallel : 0};
}

static void leaveLoops(const ChainStructure &structure,
                       const Schedule &schedule, LoopNest &tree) {
  for (unsigned op = 0; op < structure.getProblem().operators.size(); ++op) {
    if (!(schedule.held >> op & 1))
      continue;
    auto [leaf, numParallel] = leafOf(tree, schedule, op);
    leaf->loops.pop_back_n(
        countKernelLoops(structure, schedule, *leaf, numParallel));
  }
}

void chimera::model::leaveLoopsToKernels(const ChainProblem &problem,
                                         const Schedule &schedule,
                                         LoopNest &tree) {
  if (schedule.held)
    leaveLoops(ChainStructure(problem), schedule, tree);
}

LoopNest chimera::model::treeOfCode(const ChainStructure &structure,
                                    const Schedule &schedule) {
  LoopNest tree =
      findTree(structure, schedule, schedule.levels.size() - 1)->nest;
  leaveLoops(structure, schedule, tree);
  return tree;
}

bool chimera::model::canHold(const ChainStructure &structure,
                             const Schedule &schedule, unsigned op) {
  LoopNest tree =
      findTree(structure, schedule, schedule.levels.size() - 1)->nest;
  auto [leaf, numParallel] = leafOf(tree, schedule, op);
  return countKernelLoops(structure, schedule, *leaf, numParallel) > 0;
}

Error chimera::model::verifyHeld(const ChainProblem &problem,
                                 const Schedule &schedule) {
  unsigned numOperators = problem.operators.size();
  if (numOperators < 32 && schedule.held >> numOperators)
    return createStringError(
        "'held' lists an operator that the chain does not have; it has " +
        Twine(numOperators));
  ChainStructure structure(problem);
  for (unsigned op = 0; op < numOperators; ++op)
    if (schedule.held >> op & 1 && !canHold(structure, schedule, op))
      return createStringError(
          "the sums of operator '" + problem.operators[op].name +
          "' cannot be held in registers: its last loops have to be over what "
          "it adds up, and leave no more rows than the " +
          Twine(schedule.registerTile.rows) +
          " of a register tile; take it off the list");
  return Error::success();
}

/// True if an output of a part of `nest` is read outside that part, though it
/// is not the part's last one.
static bool crossesPart(const ChainProblem &problem, const LoopNest &part) {
  for (unsigned op = part.firstOperator; op < part.lastOperator; ++op)
    for (auto [index, reader] : enumerate(problem.operators)) {
      auto reads = [&, output = problem.operators[op].output.tensor](
                       const Access &access) { return access == output; };
      if (!part.has(index) &&
          (any_of(reader.inputs, reads) || any_of(reader.epilogue, reads)))
        return true;
    }
  return false;
}

void chimera::model::separateCrossing(const ChainProblem &problem,
                                      LoopNest &nest) {
  std::vector<LoopNest> parts;
  for (LoopNest &part : nest.parts) {
    if (!crossesPart(problem, part)) {
      separateCrossing(problem, part);
      parts.push_back(part);
      continue;
    }
    for (unsigned op = part.firstOperator; op <= part.lastOperator; ++op) {
      LoopNest alone;
      alone.firstOperator = alone.lastOperator = op;
      for (const NestLoop &loop : pathOf(part, op))
        alone.loops.push_back(loop);
      parts.push_back(alone);
    }
  }
  nest.parts = std::move(parts);
}
