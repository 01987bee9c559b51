//===- Evaluate.cpp - Volume and live set in closed form ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heart of the model. Every tensor has one buffer per level, and the buffer
// belongs to the body of the innermost loop that indexes the tensor: it is
// filled when the body is entered and written back when it is left. So the
// loops inside that body cost nothing, the loops that index the tensor walk
// over it once together, and every other loop around repeats the walk. Parts
// are clipped at the edges, so a walk moves the tensor's size and never more.
//
// An intermediate has one buffer for all levels: the one that the shared path
// of the whole schedule leaves room for.
//
// Operands of an epilogue are streamed: their volume counts, but they occupy no
// buffer.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

int64_t Evaluation::volumeBytes() const {
  int64_t bytes = 0;
  for (const Traffic &tensor : traffic)
    bytes += tensor.readBytes + tensor.writeBytes;
  return bytes;
}

namespace {

using Path = SmallVector<NestLoop, 14>;

/// Parts into which `size` falls when it is cut by `tiles`, one inside the
/// other: an outer edge part is smaller and so has fewer inner parts.
int64_t countParts(int64_t size, ArrayRef<int64_t> tiles) {
  if (tiles.empty())
    return 1;
  int64_t tile = tiles.front();
  if (size <= tile)
    return countParts(size, tiles.drop_front());
  int64_t parts = size / tile * countParts(tile, tiles.drop_front());
  if (int64_t edge = size % tile)
    parts += countParts(edge, tiles.drop_front());
  return parts;
}

class Evaluator {
public:
  Evaluator(const ChainProblem &problem, const Schedule &schedule,
            unsigned level);

  Evaluation run() const;

private:
  /// Number of loops of `path` down to the innermost that indexes `tensor`.
  unsigned bodyDepth(TensorId tensor, ArrayRef<NestLoop> path) const;
  /// How often the walk over `tensor` is repeated on `path`.
  int64_t walks(TensorId tensor, ArrayRef<NestLoop> path) const;
  int64_t bytesOf(TensorId tensor) const;

  void countInput(TensorId tensor, Evaluation &result) const;
  void countOutput(unsigned op, Evaluation &result) const;
  void countEpilogue(unsigned op, Evaluation &result) const;

  bool uses(unsigned op, TensorId tensor) const;
  bool isIndexedInSubtree(TensorId tensor) const;
  bool isLive(TensorId tensor, unsigned op) const;
  int64_t bufferBytes(TensorId tensor) const;
  int64_t liveBytes() const;

  const ChainProblem &problem;
  LoopTree tree;
  /// The loops around each operator's blocks: shared path and subtree.
  SmallVector<Path, 3> paths;
  /// What each loop leaves inside the level, and inside the shared path of the
  /// whole schedule.
  SmallVector<int64_t, 6> tiles, sharedTiles;
};

Evaluator::Evaluator(const ChainProblem &problem, const Schedule &schedule,
                     unsigned level)
    : problem(problem), tree(buildLoopTree(problem, schedule, level)),
      tiles(tilesAt(problem, schedule, level)) {
  for (const auto &subtree : tree.subtrees) {
    paths.emplace_back(tree.shared.begin(), tree.shared.end());
    paths.back().append(subtree.begin(), subtree.end());
  }
  for (const Loop &loop : problem.loops)
    sharedTiles.push_back(loop.extent);
  for (const NestLoop &loop : tree.shared)
    sharedTiles[loop.loop] = loop.tile;
  if (unsigned last = schedule.levels.size() - 1; level < last)
    for (const NestLoop &loop : buildLoopTree(problem, schedule, last).shared)
      sharedTiles[loop.loop] = loop.tile;
}

Evaluation Evaluator::run() const {
  Evaluation result;
  result.traffic.resize(problem.tensors.size());
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (problem.tensors[tensor].role == Role::Input)
      countInput(tensor, result);
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    if (problem.tensors[problem.operators[op].output].role == Role::Output)
      countOutput(op, result);
    countEpilogue(op, result);
  }
  result.liveBytes = liveBytes();
  return result;
}

unsigned Evaluator::bodyDepth(TensorId tensor, ArrayRef<NestLoop> path) const {
  unsigned depth = path.size();
  while (depth > 0 && !problem.indexes(tensor, path[depth - 1].loop))
    --depth;
  return depth;
}

int64_t Evaluator::walks(TensorId tensor, ArrayRef<NestLoop> path) const {
  ArrayRef<NestLoop> around = path.take_front(bodyDepth(tensor, path));
  int64_t count = 1;
  for (LoopId loop = 0; loop < problem.loops.size(); ++loop) {
    if (problem.indexes(tensor, loop))
      continue;
    SmallVector<int64_t, 4> cuts;
    for (const NestLoop &nested : around)
      if (nested.loop == loop)
        cuts.push_back(nested.tile);
    count *= countParts(problem.loops[loop].extent, cuts);
  }
  return count;
}

int64_t Evaluator::bytesOf(TensorId tensor) const {
  return problem.sizeOf(tensor) * problem.tensors[tensor].elementBytes;
}

bool Evaluator::uses(unsigned op, TensorId tensor) const {
  const Operator &user = problem.operators[op];
  return user.output == tensor || is_contained(user.inputs, tensor);
}

/// True if a subtree walks over `tensor`. All its users agree on that, since
/// each of them has all the loops that index it.
bool Evaluator::isIndexedInSubtree(TensorId tensor) const {
  for (const auto &subtree : tree.subtrees)
    for (const NestLoop &loop : subtree)
      if (problem.indexes(tensor, loop.loop))
        return true;
  return false;
}

/// A buffer that belongs to a body of the shared path is filled once for all
/// operators inside; one in a subtree is filled by each of them.
void Evaluator::countInput(TensorId tensor, Evaluation &result) const {
  bool perOperator = isIndexedInSubtree(tensor);
  int64_t count = 0;
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    if (uses(op, tensor) && (perOperator || count == 0))
      count += walks(tensor, paths[op]);
  result.traffic[tensor].readBytes += count * bytesOf(tensor);
}

/// Every visit ends with a write; every visit but the first starts with a read
/// of the partial sums. Accumulators start at zero for free.
void Evaluator::countOutput(unsigned op, Evaluation &result) const {
  TensorId tensor = problem.operators[op].output;
  int64_t visits = walks(tensor, paths[op]);
  result.traffic[tensor].writeBytes += visits * bytesOf(tensor);
  result.traffic[tensor].readBytes += (visits - 1) * bytesOf(tensor);
}

void Evaluator::countEpilogue(unsigned op, Evaluation &result) const {
  const Operator &user = problem.operators[op];
  if (!user.hasEpilogue && user.epilogue.empty())
    return;
  // An intermediate is finished when the operator's subtree is; an output, when
  // its outermost reduction loop is.
  ArrayRef<NestLoop> around = tree.shared;
  TensorId output = user.output;
  if (problem.tensors[output].role == Role::Output) {
    around =
        ArrayRef<NestLoop>(paths[op]).take_while([&](const NestLoop &loop) {
          return problem.indexes(output, loop.loop);
        });
    // Is the finished part more than one buffer, it passes once more.
    if (bodyDepth(output, paths[op]) > around.size()) {
      result.traffic[output].readBytes += bytesOf(output);
      result.traffic[output].writeBytes += bytesOf(output);
    }
  }
  for (TensorId operand : user.epilogue)
    if (problem.tensors[operand].role == Role::Input)
      result.traffic[operand].readBytes +=
          walks(operand, around) * bytesOf(operand);
}

/// True if `tensor` has a buffer while the blocks of `op` run.
bool Evaluator::isLive(TensorId tensor, unsigned op) const {
  bool intermediate = problem.tensors[tensor].role == Role::Intermediate;
  unsigned first = ~0u, last = 0;
  for (unsigned user = 0; user < problem.operators.size(); ++user)
    if (uses(user, tensor) ||
        (intermediate &&
         is_contained(problem.operators[user].epilogue, tensor))) {
      first = std::min(first, user);
      last = user;
    }
  if (first == ~0u)
    return false;
  if (intermediate)
    return first <= op && op <= last;
  if (isIndexedInSubtree(tensor))
    return uses(op, tensor);
  // The body holds loops of the shared path: the buffer outlives an iteration.
  if (bodyDepth(tensor, tree.shared) < tree.shared.size())
    return true;
  return first <= op && op <= last;
}

int64_t Evaluator::bufferBytes(TensorId tensor) const {
  const Tensor &info = problem.tensors[tensor];
  int64_t bytes = info.elementBytes;
  for (LoopId loop : info.dims)
    bytes *= info.role == Role::Intermediate ? sharedTiles[loop] : tiles[loop];
  return bytes;
}

int64_t Evaluator::liveBytes() const {
  int64_t most = 0;
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    int64_t bytes = 0;
    for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
      if (isLive(tensor, op))
        bytes += bufferBytes(tensor);
    most = std::max(most, bytes);
  }
  return most;
}

} // namespace

Evaluation chimera::model::evaluate(const ChainProblem &problem,
                                    const Schedule &schedule, unsigned level) {
  return Evaluator(problem, schedule, level).run();
}
