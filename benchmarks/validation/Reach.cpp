//===- Reach.cpp - What a cache has to hold for a schedule ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reach.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;
using namespace chimera::model;
using namespace chimera::validation;

namespace {

/// Iterations that are left of each loop.
using Sizes = SmallVector<int64_t, 12>;

class ReachFinder {
public:
  ReachFinder(const ChainProblem &problem, const Schedule &schedule)
      : problem(problem), tree(buildLoopTree(problem, schedule, 0)),
        intermediateBytes(
            bytesOf(problem.operators[0].output, sizesInside(tree.loops))),
        wholeBytes(intermediateBytes + operandBytes(0, 0u) +
                   operandBytes(1, 0u)) {}

  Reach run();

private:
  Sizes sizesInside(ArrayRef<NestLoop> loops) const;
  Sizes sizesInside(unsigned op, unsigned ownLoops) const;
  int64_t bytesOf(const Access &access, const Sizes &sizes) const;
  int64_t operandBytes(unsigned op, const Sizes &sizes) const;
  int64_t operandBytes(unsigned op, unsigned ownLoops) const {
    return operandBytes(op, sizesInside(op, ownLoops));
  }
  int64_t replacedBytes(unsigned op, const Sizes &sizes, LoopId loop) const;
  ArrayRef<NestLoop> ownLoops(unsigned op) const {
    return tree.partOf(op).loops;
  }
  bool indexesIntermediate(LoopId loop) const;
  unsigned loopsAroundPass(unsigned op) const;
  bool keepsOperandsInSharedLoops() const;
  int64_t replacedByInnermostSharedLoop() const;
  int64_t bytesUntilReturn(unsigned op) const;
  int64_t bytesFromBlockToBlock(unsigned op) const;

  const ChainProblem &problem;
  const LoopNest tree;
  const int64_t intermediateBytes;
  /// What an iteration of all loops around both operators touches.
  const int64_t wholeBytes;
};

Sizes ReachFinder::sizesInside(ArrayRef<NestLoop> loops) const {
  Sizes sizes;
  for (const Loop &loop : problem.loops)
    sizes.push_back(loop.extent);
  for (const NestLoop &loop : loops)
    sizes[loop.loop] = loop.tile;
  // The first operator makes what the second reads.
  const Access &made = problem.operators[0].output;
  for (auto [index, demand] :
       zip(made.indices, problem.operators[1].inputs[0].indices)) {
    int64_t needed = 1;
    for (Term term : demand.terms)
      needed += term.factor * (sizes[term.loop] - 1);
    int64_t &size = sizes[index.terms[0].loop];
    size = std::min(size, needed);
  }
  return sizes;
}

/// Inside the loops around both operators and some of the operator's own.
Sizes ReachFinder::sizesInside(unsigned op, unsigned number) const {
  Sizes sizes = sizesInside(tree.loops);
  for (const NestLoop &loop : ownLoops(op).take_front(number))
    sizes[loop.loop] = std::min(sizes[loop.loop], loop.tile);
  return sizes;
}

int64_t ReachFinder::bytesOf(const Access &access, const Sizes &sizes) const {
  const Tensor &tensor = problem.tensors[access];
  int64_t bytes = tensor.elementBytes;
  for (auto [index, extent] : zip(access.indices, tensor.shape)) {
    int64_t elements = 1;
    for (Term term : index.terms)
      elements += term.factor * (sizes[term.loop] - 1);
    bytes *= std::min(elements, extent);
  }
  return bytes;
}

/// What an operator touches apart from the intermediate.
int64_t ReachFinder::operandBytes(unsigned op, const Sizes &sizes) const {
  const Operator &info = problem.operators[op];
  int64_t bytes = bytesOf(info.inputs[1], sizes);
  return bytes + (op == 0 ? bytesOf(info.inputs[0], sizes)
                          : bytesOf(info.output, sizes));
}

/// What of it an iteration of `loop` replaces.
int64_t ReachFinder::replacedBytes(unsigned op, const Sizes &sizes,
                                   LoopId loop) const {
  const Operator &info = problem.operators[op];
  int64_t bytes = 0;
  for (const Access *access :
       {&info.inputs[1], op == 0 ? &info.inputs[0] : &info.output})
    if (access->hasLoop(loop))
      bytes += bytesOf(*access, sizes);
  return bytes;
}

bool ReachFinder::indexesIntermediate(LoopId loop) const {
  return problem.operators[0].output.hasLoop(loop) ||
         problem.operators[1].inputs[0].hasLoop(loop);
}

/// How many of an operator's own loops are outside those that pass over the
/// intermediate part by part.
unsigned ReachFinder::loopsAroundPass(unsigned op) const {
  ArrayRef<NestLoop> loops = ownLoops(op);
  return find_if(loops,
                 [&](const NestLoop &loop) {
                   return indexesIntermediate(loop.loop);
                 }) -
         loops.begin();
}

/// True if some operand stays while loops around both operators run.
bool ReachFinder::keepsOperandsInSharedLoops() const {
  if (tree.loops.empty())
    return false;
  LoopId innermost = tree.loops.back().loop;
  for (unsigned op : {0, 1}) {
    const Operator &info = problem.operators[op];
    for (const Access *access :
         {&info.inputs[1], op == 0 ? &info.inputs[0] : &info.output}) {
      bool isReplaced = any_of(ownLoops(op), [&](const NestLoop &loop) {
        return access->hasLoop(loop.loop);
      });
      if (!isReplaced && !access->hasLoop(innermost))
        return true;
    }
  }
  return false;
}

/// What is touched until the tiles that the innermost loop around an operator
/// replaces come again, which is in the next iteration of the loop outside it.
int64_t ReachFinder::bytesUntilReturn(unsigned op) const {
  ArrayRef<NestLoop> loops = ownLoops(op);
  if (loops.size() > 1)
    return intermediateBytes + operandBytes(op, loops.size() - 1);
  if (loops.size() == 1)
    return wholeBytes;
  if (tree.loops.empty())
    return std::numeric_limits<int64_t>::max();
  Sizes outer = sizesInside(ArrayRef(tree.loops).drop_back());
  return bytesOf(problem.operators[0].output, outer) + operandBytes(0, outer) +
         operandBytes(1, outer);
}

/// From one block to the next, the old tiles are there beside the new.
int64_t ReachFinder::bytesFromBlockToBlock(unsigned op) const {
  ArrayRef<NestLoop> loops = ownLoops(op);
  Sizes block = sizesInside(op, loops.size());
  int64_t bytes = intermediateBytes + operandBytes(op, block);
  if (loops.empty())
    loops = tree.loops;
  return loops.empty() ? bytes
                       : bytes + replacedBytes(op, block, loops.back().loop);
}

/// An iteration of the innermost loop around both operators leaves the tiles
/// behind that the next one replaces.
int64_t ReachFinder::replacedByInnermostSharedLoop() const {
  Sizes sizes = sizesInside(tree.loops);
  LoopId innermost = tree.loops.back().loop;
  return std::max(replacedBytes(0, sizes, innermost),
                  replacedBytes(1, sizes, innermost));
}

Reach ReachFinder::run() {
  int64_t needed = keepsOperandsInSharedLoops()
                       ? wholeBytes + replacedByInnermostSharedLoop()
                       : 0;
  int64_t surplus = std::numeric_limits<int64_t>::max();
  // The first operator's last pass over the intermediate is followed by the
  // second operator's first.
  int64_t passes = intermediateBytes;
  for (unsigned op : {0, 1}) {
    passes += operandBytes(op, loopsAroundPass(op));
    needed = std::max(needed, bytesFromBlockToBlock(op));
    surplus = std::min(surplus, bytesUntilReturn(op));
  }
  return {std::max(needed, passes), surplus, intermediateBytes};
}

} // namespace

Reach chimera::validation::reachOf(const ChainProblem &problem,
                                   const Schedule &schedule) {
  return ReachFinder(problem, schedule).run();
}
