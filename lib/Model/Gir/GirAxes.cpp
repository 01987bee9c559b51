//===- GirAxes.cpp - What the loops of a set have in common ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves come first: an access behind a move becomes one before it, digit by
// digit of the positions that the move goes through.
//
// Where two operators go over a tensor that one of them makes, the loops that
// step alike are united. If they step through it in another grouping, they are
// split first, at all steps that either has.
//
//===----------------------------------------------------------------------===//

#include "Gir/GirAxes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <tuple>

using namespace llvm;
using namespace chimera::model;

namespace {

/// A loop of one operator.
struct OwnLoop {
  unsigned op = 0;
  int64_t extent = 1;
  /// The loop that stands for all it is united with.
  unsigned leader = 0;
};

/// An access by loops: which ones, and how far they step.
struct OwnAccess {
  TensorId tensor = 0;
  int64_t offset = 0;
  SmallVector<Term, 4> steps;

  int64_t stepOf(unsigned loop) const {
    for (const Term &step : steps)
      if (step.loop == loop)
        return step.factor;
    return 0;
  }
};

struct OwnOperator {
  OperatorId id = 0;
  bool isMove = false;
  /// A move that nobody waits for any more.
  bool isGone = false;
  SmallVector<unsigned, 4> loops;
  SmallVector<OwnAccess, 3> inputs, outputs;
};

class AxisFinder {
public:
  AxisFinder(const OperatorGraph &graph, GirRefusal &why)
      : graph(graph), why(why), producer(graph.tensors.size(), nullptr) {}

  bool addOperator(OperatorId id);
  void composeMoves(ArrayRef<bool> isResult);
  std::optional<AxisSet> find();

private:
  bool refuse(GirRefusal reason) {
    why = reason;
    return false;
  }
  bool addAccess(const GraphOperator &op, const GraphAccess &access,
                 ArrayRef<unsigned> loops,
                 SmallVectorImpl<OwnAccess> &accesses);
  bool splitAlike();
  bool split(unsigned loop, int64_t inner);
  bool splitAt(const OwnAccess &access, int64_t step);
  bool isDense(const OwnAccess &access) const;
  bool compose(OwnAccess &input, const OwnOperator &move);
  bool uniteMade();
  void uniteShared();
  unsigned leaderOf(unsigned loop) const {
    while (loops[loop].leader != loop)
      loop = loops[loop].leader;
    return loop;
  }
  bool unite(unsigned a, unsigned b);
  AxisSet makeAxes() const;
  static bool mayJoin(const AxisSet &set, unsigned outer, unsigned inner);
  static void join(AxisSet &set, unsigned outer, unsigned inner);

  const OperatorGraph &graph;
  GirRefusal &why;
  std::vector<OwnLoop> loops;
  std::vector<OwnOperator> operators;
  /// By tensor, how the set writes it.
  SmallVector<const OwnAccess *, 0> producer;
};

//===----------------------------------------------------------------------===//
// Loops and steps
//===----------------------------------------------------------------------===//

bool AxisFinder::addAccess(const GraphOperator &op, const GraphAccess &access,
                           ArrayRef<unsigned> own,
                           SmallVectorImpl<OwnAccess> &accesses) {
  if (!access.indirect.empty())
    return refuse(GirRefusal::Indirect);
  OwnAccess &added = accesses.emplace_back();
  added.tensor = access.tensor;
  SmallVector<int64_t, 4> steps(op.extents.size(), 0);
  int64_t step = 1;
  if (access.isReshaped) {
    for (size_t loop = op.extents.size(); loop-- > 0;) {
      steps[loop] = step;
      step *= op.extents[loop];
    }
    if (step != graph.tensors[access.tensor].elements())
      return refuse(GirRefusal::NoPattern);
  } else {
    ArrayRef<int64_t> shape = graph.tensors[access.tensor].shape;
    for (size_t dim = shape.size(); dim-- > 0; step *= shape[dim]) {
      const Index &index = access.indices[dim];
      if (index.terms.size() > 1)
        return refuse(GirRefusal::Window);
      int64_t last = index.offset;
      for (const Term &term : index.terms) {
        steps[term.loop] += term.factor * step;
        last += term.factor * (op.extents[term.loop] - 1);
      }
      // What lies outside is padding.
      if (index.offset < 0 || last >= shape[dim])
        return refuse(GirRefusal::Window);
      added.offset += index.offset * step;
    }
  }
  for (auto [loop, factor] : enumerate(steps))
    if (factor != 0 && op.extents[loop] > 1)
      added.steps.push_back({own[loop], factor});
  return true;
}

bool AxisFinder::addOperator(OperatorId id) {
  const GraphOperator &op = graph.operators[id];
  if (op.body != BodyKind::Arithmetic && op.body != BodyKind::Move)
    return refuse(GirRefusal::NotMemoryIntensive);
  if (op.body == BodyKind::Move && (op.inputs.size() != 1 || op.hasReduction()))
    return refuse(GirRefusal::NoPattern);
  OwnOperator &added = operators.emplace_back();
  added.id = id;
  added.isMove = op.body == BodyKind::Move;
  SmallVector<unsigned, 4> own;
  for (int64_t extent : op.extents) {
    auto loop = static_cast<unsigned>(loops.size());
    loops.push_back(
        {static_cast<unsigned>(operators.size() - 1), extent, loop});
    own.push_back(loop);
    if (extent > 1)
      added.loops.push_back(loop);
  }
  for (const GraphAccess &input : op.inputs)
    if (!addAccess(op, input, own, added.inputs))
      return false;
  for (const GraphAccess &output : op.outputs)
    if (!addAccess(op, output, own, added.outputs))
      return false;
  return true;
}

/// True if the steps go over all elements of the tensor once.
bool AxisFinder::isDense(const OwnAccess &access) const {
  SmallVector<Term, 4> steps = access.steps;
  llvm::sort(steps, [](Term a, Term b) { return a.factor < b.factor; });
  int64_t next = 1;
  for (const Term &step : steps) {
    if (step.factor != next)
      return false;
    next *= loops[step.loop].extent;
  }
  return access.offset == 0 && next == graph.tensors[access.tensor].elements();
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// Splits off the innermost `inner` iterations of `loop`.
bool AxisFinder::split(unsigned loop, int64_t inner) {
  if (loops[loop].extent % inner != 0)
    return refuse(GirRefusal::NoCommonUnit);
  auto added = static_cast<unsigned>(loops.size());
  unsigned op = loops[loop].op;
  loops.push_back({op, inner, added});
  loops[loop].extent /= inner;
  OwnOperator &owner = operators[op];
  owner.loops.insert(llvm::find(owner.loops, loop) + 1, added);
  for (auto *accesses : {&owner.inputs, &owner.outputs})
    for (OwnAccess &access : *accesses)
      if (int64_t step = access.stepOf(loop)) {
        for (Term &term : access.steps)
          if (term.loop == loop)
            term.factor *= inner;
        access.steps.push_back({added, step});
      }
  return true;
}

/// Splits the loop that steps across `step` elements, if one does.
bool AxisFinder::splitAt(const OwnAccess &access, int64_t step) {
  for (const Term &term : SmallVector<Term, 4>(access.steps))
    if (term.factor < step && step < term.factor * loops[term.loop].extent) {
      if (step % term.factor != 0)
        return refuse(GirRefusal::NoCommonUnit);
      return split(term.loop, step / term.factor);
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Makes an access to what `move` writes one to what it reads, if each loop of
/// the reader steps along one loop of the move and never carries over.
bool AxisFinder::compose(OwnAccess &input, const OwnOperator &move) {
  const OwnAccess &output = move.outputs[0], &source = move.inputs[0];
  if (move.outputs.size() != 1 || !isDense(output) ||
      graph.tensors[output.tensor].elementBytes !=
          graph.tensors[source.tensor].elementBytes)
    return false;
  for (const Term &digit : output.steps)
    if (!splitAt(input, digit.factor))
      return false;
  OwnAccess composed;
  composed.tensor = source.tensor;
  composed.offset = source.offset;
  for (const Term &digit : output.steps) {
    int64_t extent = loops[digit.loop].extent;
    int64_t step = source.stepOf(digit.loop);
    int64_t first = input.offset / digit.factor % extent, last = first;
    for (const Term &own : input.steps) {
      if (own.factor < digit.factor || own.factor >= digit.factor * extent)
        continue;
      if (own.factor % digit.factor != 0)
        return false;
      int64_t along = own.factor / digit.factor;
      last += along * (loops[own.loop].extent - 1);
      if (step)
        composed.steps.push_back({own.loop, along * step});
    }
    if (last >= extent)
      return false;
    composed.offset += first * step;
  }
  input = std::move(composed);
  return true;
}

void AxisFinder::composeMoves(ArrayRef<bool> isResult) {
  SmallVector<OwnOperator *, 0> madeBy(graph.tensors.size(), nullptr);
  SmallVector<bool, 0> isRead(graph.tensors.size(), false);
  for (OwnOperator &op : operators) {
    for (OwnAccess &input : op.inputs) {
      OwnOperator *move = madeBy[input.tensor];
      if (!move || !compose(input, *move))
        isRead[input.tensor] = true;
    }
    if (op.isMove)
      madeBy[op.outputs[0].tensor] = &op;
  }
  for (OwnOperator &op : operators)
    op.isGone = op.isMove && none_of(op.outputs, [&](const OwnAccess &output) {
                  return isRead[output.tensor] || isResult[output.tensor];
                });
}

//===----------------------------------------------------------------------===//
// Splitting alike
//===----------------------------------------------------------------------===//

/// Splits loops until writers and readers step through what the set makes
/// alike.
bool AxisFinder::splitAlike() {
  size_t before = 0;
  while (before != loops.size()) {
    before = loops.size();
    for (OwnOperator &reader : operators)
      for (OwnAccess &input : reader.inputs) {
        const OwnAccess *output = producer[input.tensor];
        if (!output)
          continue;
        if (!isDense(input) || !isDense(*output))
          return refuse(GirRefusal::NoCommonUnit);
        for (const Term &step : SmallVector<Term, 4>(output->steps))
          if (!splitAt(input, step.factor))
            return false;
        for (const Term &step : SmallVector<Term, 4>(input.steps))
          if (!splitAt(*output, step.factor))
            return false;
      }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Uniting
//===----------------------------------------------------------------------===//

/// False if an operator would have two loops along one axis.
bool AxisFinder::unite(unsigned a, unsigned b) {
  a = leaderOf(a);
  b = leaderOf(b);
  if (a == b)
    return true;
  if (loops[a].extent != loops[b].extent)
    return false;
  SmallVector<bool, 8> hasA(operators.size(), false);
  for (auto [id, loop] : enumerate(loops))
    if (leaderOf(id) == a)
      hasA[loop.op] = true;
  for (auto [id, loop] : enumerate(loops))
    if (leaderOf(id) == b && hasA[loop.op])
      return false;
  loops[std::max(a, b)].leader = std::min(a, b);
  return true;
}

bool AxisFinder::uniteMade() {
  for (const OwnOperator &reader : operators)
    for (const OwnAccess &input : reader.inputs)
      if (const OwnAccess *output = producer[input.tensor])
        for (const Term &step : input.steps)
          for (const Term &other : output->steps)
            if (step.factor == other.factor && !unite(step.loop, other.loop))
              return refuse(GirRefusal::NoCommonUnit);
  return true;
}

/// What several operators read from outside ties them together where nothing
/// speaks against it.
void AxisFinder::uniteShared() {
  SmallVector<const OwnAccess *, 16> seen;
  for (const OwnOperator &op : operators)
    for (const OwnAccess &input : op.inputs) {
      if (op.isGone || producer[input.tensor])
        continue;
      for (const OwnAccess *other : seen)
        if (other->tensor == input.tensor)
          for (const Term &step : input.steps)
            for (const Term &known : other->steps)
              if (step.factor == known.factor)
                (void)unite(known.loop, step.loop);
      seen.push_back(&input);
    }
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

AxisSet AxisFinder::makeAxes() const {
  AxisSet set;
  SmallVector<unsigned, 16> axisOf(loops.size(), ~0u);
  auto byLoops = to_vector<16>(seq(operators.size()));
  llvm::sort(byLoops, [&](size_t a, size_t b) {
    size_t ofA = operators[a].loops.size(), ofB = operators[b].loops.size();
    return std::tuple(ofB, a) < std::tuple(ofA, b);
  });
  for (size_t op : byLoops) {
    if (operators[op].isGone)
      continue;
    for (unsigned loop : operators[op].loops) {
      unsigned leader = leaderOf(loop);
      if (axisOf[leader] == ~0u) {
        axisOf[leader] = set.size();
        set.extents.push_back(loops[loop].extent);
      }
      axisOf[loop] = axisOf[leader];
    }
  }
  for (const OwnOperator &op : operators) {
    if (op.isGone)
      continue;
    AxisOperator &added = set.operators.emplace_back();
    added.id = op.id;
    added.has.assign(set.size(), false);
    for (unsigned loop : op.loops)
      added.has[axisOf[loop]] = true;
    auto add = [&](const OwnAccess &access,
                   SmallVectorImpl<AxisAccess> &accesses) {
      AxisAccess &along = accesses.emplace_back();
      along.tensor = access.tensor;
      along.offset = access.offset;
      along.strides.assign(set.size(), 0);
      for (const Term &step : access.steps)
        along.strides[axisOf[step.loop]] += step.factor;
    };
    for (const OwnAccess &input : op.inputs)
      add(input, added.inputs);
    for (const OwnAccess &output : op.outputs)
      add(output, added.outputs);
  }
  return set;
}

/// True if everyone who goes along one of two axes steps through both as
/// through one.
bool AxisFinder::mayJoin(const AxisSet &set, unsigned outer, unsigned inner) {
  for (const AxisOperator &op : set.operators) {
    if (op.has[outer] != op.has[inner])
      return false;
    for (const auto *accesses : {&op.inputs, &op.outputs})
      for (const AxisAccess &access : *accesses)
        if (access.strides[outer] != access.strides[inner] * set.extents[inner])
          return false;
  }
  return true;
}

void AxisFinder::join(AxisSet &set, unsigned outer, unsigned inner) {
  set.extents[inner] *= set.extents[outer];
  set.extents.erase(set.extents.begin() + outer);
  for (AxisOperator &op : set.operators) {
    op.has.erase(op.has.begin() + outer);
    for (auto *accesses : {&op.inputs, &op.outputs})
      for (AxisAccess &access : *accesses)
        access.strides.erase(access.strides.begin() + outer);
  }
}

std::optional<AxisSet> AxisFinder::find() {
  for (const OwnOperator &op : operators)
    for (const OwnAccess &output : op.outputs)
      producer[output.tensor] = op.isGone ? nullptr : &output;
  if (!splitAlike() || !uniteMade())
    return std::nullopt;
  uniteShared();
  AxisSet set = makeAxes();
  for (unsigned outer = 0; outer < set.size();) {
    auto inners = seq(set.size());
    auto inner = llvm::find_if(inners, [&](unsigned axis) {
      return axis != outer && mayJoin(set, outer, axis);
    });
    if (inner == inners.end()) {
      ++outer;
      continue;
    }
    join(set, outer, *inner);
    outer = 0;
  }
  return set;
}

} // namespace

std::optional<AxisSet> chimera::model::findAxes(const OperatorGraph &graph,
                                                ArrayRef<OperatorId> members,
                                                ArrayRef<bool> isResult,
                                                bool composesMoves,
                                                GirRefusal &why) {
  AxisFinder finder(graph, why);
  for (OperatorId member : members)
    if (!finder.addOperator(member))
      return std::nullopt;
  if (composesMoves)
    finder.composeMoves(isResult);
  return finder.find();
}
