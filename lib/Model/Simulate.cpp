//===- Simulate.cpp - Volume and live set by walking every block ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The referee of the closed forms: a plain interpreter of loop trees. It opens
// a buffer where a generated program would allocate and fill it, closes it
// where the program would write it back and free it, runs every block in
// between, and counts bytes as they go. It shares nothing with `evaluate` but
// the loop tree.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"

#include <set>
#include <vector>

using namespace llvm;
using namespace chimera::model;

namespace {

/// The part of a loop that the walk is in.
struct Range {
  int64_t begin = 0, size = 0;
};

/// A tensor's buffer in the level.
struct Buffer {
  /// Loops around the body the buffer belongs to.
  unsigned depth = 0;
  /// Operators that touch it.
  unsigned firstUser = 0, lastUser = 0;
  bool isOpen = false;
  int64_t bytes = 0;
  /// Where the parts of an output begin that have been written before.
  std::set<std::vector<int64_t>> written;
};

/// The epilogue of one operator.
struct Epilogue {
  bool exists = false;
  /// Loops around it; it runs when the next loop inwards has ended.
  unsigned depth = 0;
  /// The operands with the depth of the body that streams them in.
  SmallVector<std::pair<TensorId, unsigned>, 2> streams;
};

class Simulator {
public:
  Simulator(const ChainProblem &problem, const Schedule &schedule,
            unsigned level);

  Evaluation run();

private:
  void placeBuffers();
  void placeEpilogues();
  unsigned innermostIndexing(TensorId tensor, ArrayRef<NestLoop> loops) const;

  void walkShared(unsigned depth);
  void walkOperator(unsigned op);
  void walkSubtree(unsigned op, unsigned depth);
  void runBlock(unsigned op);
  void runEpilogue(unsigned op, unsigned depth);
  void streamEpilogues(unsigned op, unsigned depth);
  /// Runs `body` for every part of `loop` inside the current part.
  template <typename Body>
  void forEachPart(const NestLoop &loop, Body body);

  void open(TensorId tensor);
  void close(TensorId tensor);
  int64_t currentBytes(TensorId tensor) const;
  int64_t intermediateBytes(TensorId tensor) const;

  const ChainProblem &problem;
  LoopTree tree;
  std::vector<Buffer> buffers;
  std::vector<Epilogue> epilogues;
  std::vector<std::vector<NestLoop>> paths;
  SmallVector<Range, 6> ranges;
  /// Extents that the shared path of the whole schedule leaves to a buffer of
  /// an intermediate, which is allocated inside it.
  SmallVector<int64_t, 6> intermediateExtents;
  int64_t openBytes = 0;
  Evaluation result;
};

Simulator::Simulator(const ChainProblem &problem, const Schedule &schedule,
                     unsigned level)
    : problem(problem), tree(buildLoopTree(problem, schedule, level)) {
  for (const Loop &loop : problem.loops) {
    ranges.push_back({0, loop.extent});
    intermediateExtents.push_back(loop.extent);
  }
  unsigned last = schedule.levels.size() - 1;
  for (const NestLoop &loop : buildLoopTree(problem, schedule, last).shared)
    intermediateExtents[loop.loop] = loop.tile;
  for (const auto &subtree : tree.subtrees) {
    paths.emplace_back(tree.shared.begin(), tree.shared.end());
    paths.back().insert(paths.back().end(), subtree.begin(), subtree.end());
  }
  result.traffic.resize(problem.tensors.size());
  placeBuffers();
  placeEpilogues();
}

unsigned Simulator::innermostIndexing(TensorId tensor,
                                      ArrayRef<NestLoop> loops) const {
  unsigned depth = 0;
  for (const auto &[index, loop] : enumerate(loops))
    if (problem.indexes(tensor, loop.loop))
      depth = index + 1;
  return depth;
}

void Simulator::placeBuffers() {
  buffers.resize(problem.tensors.size());
  std::vector<bool> seen(problem.tensors.size(), false);
  for (unsigned index = 0; index < problem.operators.size(); ++index) {
    const Operator &op = problem.operators[index];
    auto touch = [&](TensorId tensor) {
      Buffer &buffer = buffers[tensor];
      bool intermediate = problem.tensors[tensor].role == Role::Intermediate;
      if (!seen[tensor])
        buffer.firstUser = index;
      buffer.lastUser = index;
      buffer.depth = intermediate ? tree.shared.size()
                                  : innermostIndexing(tensor, paths[index]);
      seen[tensor] = true;
    };
    for_each(op.inputs, touch);
    touch(op.output);
    for (TensorId operand : op.epilogue)
      if (problem.tensors[operand].role == Role::Intermediate)
        touch(operand);
  }
  // What only epilogues read never gets a buffer.
  for (TensorId tensor = 0; tensor < seen.size(); ++tensor)
    if (!seen[tensor])
      buffers[tensor].depth = ~0u;
}

void Simulator::placeEpilogues() {
  epilogues.resize(problem.operators.size());
  for (auto [op, path, epilogue] : zip(problem.operators, paths, epilogues)) {
    epilogue.exists = op.hasEpilogue || !op.epilogue.empty();
    epilogue.depth = tree.shared.size();
    if (problem.tensors[op.output].role == Role::Output) {
      epilogue.depth = 0;
      while (epilogue.depth < path.size() &&
             problem.indexes(op.output, path[epilogue.depth].loop))
        ++epilogue.depth;
    }
    for (TensorId operand : op.epilogue)
      if (problem.tensors[operand].role == Role::Input)
        epilogue.streams.push_back(
            {operand,
             innermostIndexing(operand, ArrayRef<NestLoop>(path).take_front(
                                            epilogue.depth))});
  }
}

Evaluation Simulator::run() {
  walkShared(0);
  return result;
}

template <typename Body>
void Simulator::forEachPart(const NestLoop &loop, Body body) {
  Range whole = ranges[loop.loop];
  for (int64_t offset = 0; offset < whole.size; offset += loop.tile) {
    ranges[loop.loop] = {whole.begin + offset,
                         std::min(loop.tile, whole.size - offset)};
    body();
  }
  ranges[loop.loop] = whole;
}

void Simulator::walkShared(unsigned depth) {
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    streamEpilogues(op, depth);
  if (depth == tree.shared.size()) {
    for (unsigned op = 0; op < problem.operators.size(); ++op)
      walkOperator(op);
    return;
  }
  for (TensorId tensor = 0; tensor < buffers.size(); ++tensor)
    if (buffers[tensor].depth == depth)
      open(tensor);
  forEachPart(tree.shared[depth], [&] { walkShared(depth + 1); });
  for (unsigned op = 0; op < problem.operators.size(); ++op)
    if (problem.tensors[problem.operators[op].output].role == Role::Output)
      runEpilogue(op, depth);
  for (TensorId tensor = 0; tensor < buffers.size(); ++tensor)
    if (buffers[tensor].depth == depth)
      close(tensor);
}

/// One operator's share of the innermost body of the shared path. Buffers of
/// this body live from their first user to their last.
void Simulator::walkOperator(unsigned op) {
  unsigned depth = tree.shared.size();
  for (TensorId tensor = 0; tensor < buffers.size(); ++tensor)
    if (buffers[tensor].depth == depth && buffers[tensor].firstUser == op)
      open(tensor);
  walkSubtree(op, depth);
  if (problem.tensors[problem.operators[op].output].role == Role::Intermediate)
    runEpilogue(op, depth);
  for (TensorId tensor = 0; tensor < buffers.size(); ++tensor)
    if (buffers[tensor].depth == depth && buffers[tensor].lastUser == op)
      close(tensor);
}

void Simulator::walkSubtree(unsigned op, unsigned depth) {
  const Operator &info = problem.operators[op];
  SmallVector<TensorId, 4> here;
  if (depth > tree.shared.size()) {
    streamEpilogues(op, depth);
    here.assign(info.inputs.begin(), info.inputs.end());
    here.push_back(info.output);
    erase_if(here, [&](TensorId id) { return buffers[id].depth != depth; });
  }
  for_each(here, [&](TensorId tensor) { open(tensor); });
  if (depth == paths[op].size())
    runBlock(op);
  else
    forEachPart(paths[op][depth], [&] { walkSubtree(op, depth + 1); });
  if (problem.tensors[info.output].role == Role::Output)
    runEpilogue(op, depth);
  for_each(here, [&](TensorId tensor) { close(tensor); });
}

void Simulator::runBlock(unsigned op) {
  auto isOpen = [&](TensorId tensor) { return buffers[tensor].isOpen; };
  const Operator &info = problem.operators[op];
  assert(all_of(info.inputs, isOpen) && isOpen(info.output) &&
         "a block touches a tensor without buffer");
  (void)info;
  (void)isOpen;
  result.liveBytes = std::max(result.liveBytes, openBytes);
}

/// Runs the epilogue of `op` if it belongs at `depth`. An output that is no
/// longer in its buffer passes once more.
void Simulator::runEpilogue(unsigned op, unsigned depth) {
  if (!epilogues[op].exists || epilogues[op].depth != depth)
    return;
  TensorId output = problem.operators[op].output;
  if (buffers[output].isOpen)
    return;
  result.traffic[output].readBytes += currentBytes(output);
  result.traffic[output].writeBytes += currentBytes(output);
}

void Simulator::streamEpilogues(unsigned op, unsigned depth) {
  for (auto [operand, streamDepth] : epilogues[op].streams)
    if (streamDepth == depth)
      result.traffic[operand].readBytes += currentBytes(operand);
}

void Simulator::open(TensorId tensor) {
  Buffer &buffer = buffers[tensor];
  assert(!buffer.isOpen && "a buffer is opened twice");
  buffer.isOpen = true;
  Role role = problem.tensors[tensor].role;
  buffer.bytes = role == Role::Intermediate ? intermediateBytes(tensor)
                                            : currentBytes(tensor);
  openBytes += buffer.bytes;
  std::vector<int64_t> begin;
  for (LoopId loop : problem.tensors[tensor].dims)
    begin.push_back(ranges[loop].begin);
  bool isRevisit = role == Role::Output && !buffer.written.insert(begin).second;
  if (role == Role::Input || isRevisit)
    result.traffic[tensor].readBytes += buffer.bytes;
}

void Simulator::close(TensorId tensor) {
  Buffer &buffer = buffers[tensor];
  assert(buffer.isOpen && "a buffer is closed twice");
  buffer.isOpen = false;
  openBytes -= buffer.bytes;
  if (problem.tensors[tensor].role == Role::Output)
    result.traffic[tensor].writeBytes += buffer.bytes;
}

int64_t Simulator::currentBytes(TensorId tensor) const {
  int64_t bytes = problem.tensors[tensor].elementBytes;
  for (LoopId loop : problem.tensors[tensor].dims)
    bytes *= ranges[loop].size;
  return bytes;
}

int64_t Simulator::intermediateBytes(TensorId tensor) const {
  int64_t bytes = problem.tensors[tensor].elementBytes;
  for (LoopId loop : problem.tensors[tensor].dims)
    bytes *= std::min(ranges[loop].size, intermediateExtents[loop]);
  return bytes;
}

} // namespace

Evaluation chimera::model::simulate(const ChainProblem &problem,
                                    const Schedule &schedule, unsigned level) {
  return Simulator(problem, schedule, level).run();
}
