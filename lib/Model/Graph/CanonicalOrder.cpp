//===- CanonicalOrder.cpp - An order that programs do not choose ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators are told apart by what they are, by what leads to them and by what
// follows. Those that look alike all the same are most likely interchangeable;
// the program decides between them.
//
//===----------------------------------------------------------------------===//

#include "Graph/CanonicalOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/bit.h"

#include <queue>
#include <tuple>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Looks
//===----------------------------------------------------------------------===//

namespace {

/// A number for what has been added in this order, the same in every process.
/// (The hashes of LLVM need not be.)
class Digest {
public:
  Digest &add(uint64_t value) {
    state += value + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
    return *this;
  }
  Digest &addSorted(SmallVectorImpl<uint64_t> &values) {
    llvm::sort(values);
    add(values.size());
    for (uint64_t value : values)
      add(value);
    return *this;
  }
  uint64_t get() const { return state; }

private:
  uint64_t state = 0;
};

/// What each operator looks like.
class Looks {
public:
  Looks(const OperatorGraph &graph, const GraphUses &uses)
      : graph(graph), uses(uses), self(graph.operators.size()), up(self.size()),
        down(self.size()) {
    describeOperators();
    describeWhatLeadsHere();
    describeWhatFollows();
  }

  std::vector<uint64_t> get() const;

private:
  void describeOperators();
  void describeWhatLeadsHere();
  void describeWhatFollows();
  void addAccess(Digest &digest, const GraphAccess &access) const;
  uint64_t describeReaders(TensorId tensor, uint64_t start) const;

  const OperatorGraph &graph;
  const GraphUses &uses;
  std::vector<uint64_t> self, up, down;
};

} // namespace

void Looks::addAccess(Digest &digest, const GraphAccess &access) const {
  const GraphTensor &tensor = graph.tensors[access.tensor];
  digest.add(tensor.elementBytes).add(tensor.isResult).add(tensor.isConstant);
  for (int64_t extent : tensor.shape)
    digest.add(extent);
  digest.add(access.isReshaped);
  for (const Index &index : access.indices) {
    digest.add(index.offset).add(index.terms.size());
    for (const Term &term : index.terms)
      digest.add(term.loop).add(term.factor);
  }
  for (unsigned dim : access.indirect)
    digest.add(dim);
}

void Looks::describeOperators() {
  for (auto [id, op] : enumerate(graph.operators)) {
    Digest digest;
    digest.add(static_cast<uint64_t>(op.body));
    digest.add(bit_cast<uint64_t>(op.instructions));
    digest.add(bit_cast<uint64_t>(op.exponentials));
    for (int64_t extent : op.extents)
      digest.add(extent);
    for (const GraphAccess &input : op.inputs)
      addAccess(digest.add(1), input);
    for (const GraphAccess &output : op.outputs)
      addAccess(digest.add(2), output);
    self[id] = digest.get();
  }
}

void Looks::describeWhatLeadsHere() {
  for (auto [id, op] : enumerate(graph.operators)) {
    Digest digest;
    digest.add(self[id]);
    for (TensorId input : op.inputs) {
      OperatorId producer = uses.producer[input];
      digest.add(producer == GraphUses::none ? 1 : up[producer]);
    }
    up[id] = digest.get();
  }
}

/// Those who read `tensor`, and where.
uint64_t Looks::describeReaders(TensorId tensor, uint64_t start) const {
  SmallVector<uint64_t> readers;
  for (OperatorId reader : uses.readers[tensor])
    for (auto [position, input] : enumerate(graph.operators[reader].inputs))
      if (input.tensor == tensor)
        readers.push_back(Digest().add(down[reader]).add(position).get());
  return Digest().add(start).addSorted(readers).get();
}

void Looks::describeWhatFollows() {
  for (OperatorId op : reverse(seq<OperatorId>(self.size()))) {
    Digest digest;
    digest.add(up[op]);
    for (TensorId output : graph.operators[op].outputs)
      digest.add(describeReaders(output, 0));
    down[op] = digest.get();
  }
}

/// With what is seen along shared inputs and by neighbours.
std::vector<uint64_t> Looks::get() const {
  std::vector<uint64_t> looks(self.size());
  std::vector<uint64_t> shared(graph.tensors.size());
  for (auto [tensor, producer] : enumerate(uses.producer))
    if (producer == GraphUses::none)
      shared[tensor] = describeReaders(tensor, 1);
  for (auto [id, op] : enumerate(graph.operators)) {
    Digest digest;
    digest.add(down[id]);
    for (TensorId input : op.inputs)
      digest.add(uses.producer[input] == GraphUses::none
                     ? shared[input]
                     : down[uses.producer[input]]);
    looks[id] = digest.get();
  }
  return looks;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::vector<OperatorId>
chimera::model::orderCanonically(const OperatorGraph &graph,
                                 function_ref<bool(OperatorId)> runsAlone) {
  GraphUses uses(graph);
  size_t size = graph.operators.size();
  std::vector<uint64_t> looks = Looks(graph, uses).get();
  // Operators on the longest path to an end.
  std::vector<int64_t> height(size);
  for (OperatorId op : reverse(seq<OperatorId>(size)))
    for (OperatorId reader : uses.after[op])
      height[op] = std::max(height[op], height[reader] + 1);

  // What runs alone comes first. Else the operator whose last producer has just
  // run is next; of several, that which is nearest to an end. What waits for
  // nobody runs when nothing else can, and what has most behind it first; so
  // does what waits only for what runs alone.
  using Priority = std::tuple<bool, int64_t, int64_t, uint64_t, int64_t>;
  std::priority_queue<Priority> ready;
  std::vector<size_t> numAwaited(size);
  std::vector<int64_t> times(size, -1);
  auto push = [&](OperatorId op) {
    int64_t time = -1;
    for (OperatorId producer : uses.before[op])
      time = std::max(time, times[producer]);
    times[op] = time;
    int64_t urgency = time < 0 ? height[op] : -height[op];
    ready.push(
        {runsAlone(op), time, urgency, looks[op], -static_cast<int64_t>(op)});
  };
  for (OperatorId op : seq<OperatorId>(size)) {
    numAwaited[op] = uses.before[op].size();
    if (numAwaited[op] == 0)
      push(op);
  }
  std::vector<OperatorId> order;
  while (!ready.empty()) {
    auto op = static_cast<OperatorId>(-std::get<4>(ready.top()));
    ready.pop();
    if (!runsAlone(op))
      times[op] = order.size();
    for (OperatorId reader : uses.after[op])
      if (--numAwaited[reader] == 0)
        push(reader);
    order.push_back(op);
  }
  return order;
}

OperatorGraph chimera::model::reorder(const OperatorGraph &graph,
                                      ArrayRef<OperatorId> order) {
  OperatorGraph reordered;
  reordered.tensors = graph.tensors;
  for (OperatorId op : order)
    reordered.operators.push_back(graph.operators[op]);
  return reordered;
}

GroupMembers BlockPricer::expand(ArrayRef<OperatorId> members) const {
  GroupMembers expanded;
  for (OperatorId member : members)
    expanded.append(blocks[member]);
  // Nearly always they are in order.
  if (!llvm::is_sorted(expanded))
    llvm::sort(expanded, std::less<>());
  return expanded;
}
