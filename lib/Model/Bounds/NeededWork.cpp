//===- NeededWork.cpp - What has to be read and computed ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works backwards from the outputs. Since no loop occurs in two indices of an
// access, what is needed of a tensor is a product of positions along each of
// its dimensions.
//
//===----------------------------------------------------------------------===//

#include "Bounds/NeededWork.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace llvm;
using namespace chimera::model;

namespace {

/// To go through more values of the loops of one index would take longer than
/// planning does.
constexpr double mostCombinations = 1 << 22;

/// Some of the numbers from 0 to below an extent.
class Positions {
public:
  explicit Positions(int64_t extent = 0) : extent(extent), count(extent) {}

  int64_t size() const { return count; }
  bool has(int64_t position) const {
    return marks.empty() ? position < extent : marks.test(position);
  }
  void clear() {
    marks = BitVector(extent);
    count = 0;
  }
  int64_t first() const { return marks.empty() ? 0 : marks.find_first(); }
  /// After `clear`.
  void add(int64_t position) {
    count += !marks.test(position);
    marks.set(position);
  }
  bool operator==(const Positions &other) const {
    if (count != other.count || extent != other.extent)
      return false;
    return count == extent || marks == other.marks;
  }

private:
  int64_t extent;
  int64_t count;
  /// Empty: all of them.
  BitVector marks;
};

/// What one index reads along its dimension.
struct Reach {
  Positions positions;
  /// Combinations of loop values that fall into the tensor, and the fewest of
  /// them for any values of the loops of the output.
  double points = 0, fewest = 0;
  /// False if there were too many to count; `positions` are then some of those
  /// that are read.
  bool isCounted = true;
};

/// What an access reads.
struct Region {
  SmallVector<Positions, 4> dimensions;
  bool isCounted = true;

  double size() const {
    double size = 1;
    for (const Positions &positions : dimensions)
      size *= positions.size();
    return size;
  }
};

class NeededWorkFinder {
public:
  explicit NeededWorkFinder(const ChainProblem &problem) : problem(problem) {}

  NeededWork run();

private:
  using LoopValues = SmallVector<Positions, 8>;

  void visit(unsigned index);
  LoopValues neededValues(const Operator &op) const;
  /// Takes out the values with which a factor lies in the padding.
  void dropPadding(const Operator &op, LoopValues &values) const;
  void dropPadding(const Index &index, const Term &own, int64_t shape,
                   LoopValues &values) const;
  bool reachesPadding(const Index &index, int64_t shape) const;
  std::vector<int64_t> sums(ArrayRef<Term> terms, int64_t offset,
                            const LoopValues &values) const;
  Index longestTerm(const Index &index, const LoopValues &values) const;
  Reach reach(const Operator &op, const Index &index, int64_t shape,
              const LoopValues &values) const;
  Region regionOf(const Operator &op, const Access &access,
                  const LoopValues &values) const;
  void need(TensorId tensor, const Region &region);

  OperatorWork recognise(const Operator &op, const LoopValues &needed,
                         const LoopValues &values) const;
  /// Enters one index of an input; false if it has no known structure.
  bool enterIndex(const Operator &op, unsigned input, const Index &index,
                  int64_t shape, const LoopValues &values,
                  SmallVectorImpl<unsigned> &uses, SmallVectorImpl<bool> &joint,
                  OperatorWork &neededWork) const;
  bool isWindow(const Operator &op, const Access &other, const Index &index,
                const LoopValues &values, OperatorWork &neededWork) const;
  const Tensor &tensorOf(const Access &access) const {
    return problem.tensors[access.tensor];
  }

  const ChainProblem &problem;
  NeededWork neededWork;
  /// What is needed of the intermediates; of the others, what the access that
  /// reads most of them reads.
  std::vector<std::optional<Region>> regions;
  /// Intermediates of which different readers need different parts.
  std::vector<bool> isContested;
};

NeededWork NeededWorkFinder::run() {
  regions.resize(problem.tensors.size());
  isContested.assign(problem.tensors.size(), false);
  neededWork.operators.resize(problem.operators.size());
  for (unsigned index = problem.operators.size(); index-- > 0;)
    visit(index);
  for (auto [op, own] : zip(problem.operators, neededWork.operators))
    for (const Access &input : op.inputs)
      if (isContested[input.tensor])
        own.isRecognised = false;
  for (auto [tensor, region] : zip(problem.tensors, regions)) {
    double elements = tensor.role == Role::Output;
    if (tensor.role == Role::Output)
      for (int64_t extent : tensor.shape)
        elements *= extent;
    else if (region)
      elements = region->size();
    neededWork.elements.push_back(elements);
  }
  return std::move(neededWork);
}

void NeededWorkFinder::visit(unsigned index) {
  const Operator &op = problem.operators[index];
  LoopValues needed = neededValues(op);
  for (const Access &operand : op.epilogue)
    need(operand.tensor, regionOf(op, operand, needed));
  LoopValues values = needed;
  dropPadding(op, values);
  for (const Access &input : op.inputs)
    need(input.tensor, regionOf(op, input, values));
  neededWork.operators[index] = recognise(op, needed, values);
}

NeededWorkFinder::LoopValues
NeededWorkFinder::neededValues(const Operator &op) const {
  LoopValues values;
  for (const Loop &loop : problem.loops)
    values.emplace_back(loop.extent);
  const std::optional<Region> &region = regions[op.output.tensor];
  if (tensorOf(op.output).role == Role::Output || !region)
    return values;
  for (auto [index, positions] : zip(op.output.indices, region->dimensions))
    if (index.isLoop())
      values[index.terms[0].loop] = positions;
  return values;
}

void NeededWorkFinder::dropPadding(const Operator &op,
                                   LoopValues &values) const {
  for (const Access &input : op.inputs)
    for (auto [index, shape] : zip(input.indices, tensorOf(input).shape))
      if (reachesPadding(index, shape))
        for (const Term &term : index.terms)
          dropPadding(index, term, shape, values);
}

bool NeededWorkFinder::reachesPadding(const Index &index, int64_t shape) const {
  int64_t last = index.offset;
  for (Term term : index.terms)
    last += term.factor * (problem.loops[term.loop].extent - 1);
  return index.offset < 0 || last >= shape;
}

/// Keeps the values of the term's loop for which those of the others can make
/// the index fall into the tensor.
void NeededWorkFinder::dropPadding(const Index &index, const Term &own,
                                   int64_t shape, LoopValues &values) const {
  SmallVector<Term, 2> others;
  double combinations = 1;
  for (const Term &term : index.terms)
    if (&term != &own) {
      others.push_back(term);
      combinations *= values[term.loop].size();
    }
  if (combinations > mostCombinations)
    return;
  std::vector<int64_t> rests = sums(others, index.offset, values);
  sort(rests);
  Positions before = values[own.loop];
  values[own.loop].clear();
  for (int64_t value = 0; value < problem.loops[own.loop].extent; ++value) {
    auto rest = lower_bound(rests, -own.factor * value);
    if (before.has(value) && rest != rests.end() &&
        *rest + own.factor * value < shape)
      values[own.loop].add(value);
  }
}

std::vector<int64_t> NeededWorkFinder::sums(ArrayRef<Term> terms,
                                            int64_t offset,
                                            const LoopValues &values) const {
  std::vector<int64_t> sums = {offset};
  for (Term term : terms) {
    std::vector<int64_t> longer;
    for (int64_t sum : sums)
      for (int64_t v = 0; v < problem.loops[term.loop].extent; ++v)
        if (values[term.loop].has(v))
          longer.push_back(sum + term.factor * v);
    sums = std::move(longer);
  }
  return sums;
}

/// Keeps the term with the most values and gives the others one of theirs.
Index NeededWorkFinder::longestTerm(const Index &index,
                                    const LoopValues &values) const {
  Index result;
  result.offset = index.offset;
  auto *longest = max_element(index.terms, [&](Term one, Term other) {
    return values[one.loop].size() < values[other.loop].size();
  });
  for (const Term &term : index.terms)
    if (&term == longest)
      result.terms.push_back(term);
    else
      result.offset += term.factor * values[term.loop].first();
  return result;
}

Reach NeededWorkFinder::reach(const Operator &op, const Index &index,
                              int64_t shape, const LoopValues &values) const {
  Reach result;
  if (index.isLoop() && problem.loops[index.terms[0].loop].extent <= shape) {
    result.positions = values[index.terms[0].loop];
    return result;
  }
  SmallVector<Term, 2> outer, inner;
  double combinations = 1;
  for (Term term : index.terms) {
    (op.output.hasLoop(term.loop) ? outer : inner).push_back(term);
    combinations *= values[term.loop].size();
  }
  if (combinations > mostCombinations && index.terms.size() > 1) {
    result = reach(op, longestTerm(index, values), shape, values);
    result.isCounted = false;
    return result;
  }
  result.positions = Positions(shape);
  result.positions.clear();
  result.fewest = combinations;
  std::vector<int64_t> steps = sums(inner, 0, values);
  for (int64_t start : sums(outer, index.offset, values)) {
    double points = 0;
    for (int64_t step : steps)
      if (start + step >= 0 && start + step < shape) {
        result.positions.add(start + step);
        ++points;
      }
    result.points += points;
    result.fewest = std::min(result.fewest, points);
  }
  return result;
}

Region NeededWorkFinder::regionOf(const Operator &op, const Access &access,
                                  const LoopValues &values) const {
  Region region;
  for (auto [index, shape] : zip(access.indices, tensorOf(access).shape)) {
    Reach along = reach(op, index, shape, values);
    region.isCounted &= along.isCounted;
    region.dimensions.push_back(std::move(along.positions));
  }
  return region;
}

/// Of several readers of a tensor, the one that reads most stands for all.
void NeededWorkFinder::need(TensorId tensor, const Region &region) {
  std::optional<Region> &known = regions[tensor];
  if (problem.tensors[tensor].role == Role::Intermediate &&
      (!region.isCounted ||
       (known && !(known->dimensions == region.dimensions))))
    isContested[tensor] = true;
  if (!known || region.size() > known->size())
    known = region;
}

//===----------------------------------------------------------------------===//
// Contractions and convolutions
//===----------------------------------------------------------------------===//

/// Every loop has to index two of the three tensors (or all, like a batch):
/// then the Loomis-Whitney inequality holds. For windows see `isWindow`.
OperatorWork NeededWorkFinder::recognise(const Operator &op,
                                         const LoopValues &needed,
                                         const LoopValues &values) const {
  OperatorWork result;
  if (op.inputs.size() != 2 || op.inputs[0].tensor == op.inputs[1].tensor)
    return result;
  result.multiplyAdds = result.fewest = 1;
  SmallVector<unsigned, 8> uses(problem.loops.size(), 0);
  SmallVector<bool, 8> joint(problem.loops.size(), false);
  for (const Index &index : op.output.indices) {
    if (!index.isLoop())
      return result;
    ++uses[index.terms[0].loop];
  }
  for (unsigned input : {0, 1})
    for (auto [index, shape] :
         zip(op.inputs[input].indices, tensorOf(op.inputs[input]).shape))
      if (!enterIndex(op, input, index, shape, values, uses, joint, result))
        return result;
  for (LoopId loop : op.loops) {
    if (values[loop].size() != 1 && uses[loop] < 2)
      return result;
    if (op.output.hasLoop(loop) && !(values[loop] == needed[loop]))
      result.fewest = 0;
    if (joint[loop])
      continue;
    result.multiplyAdds *= values[loop].size();
    if (!op.output.hasLoop(loop))
      result.fewest *= values[loop].size();
  }
  for (unsigned input : {0, 1})
    result.inputs[input] = regionOf(op, op.inputs[input], values).size();
  result.output = 1;
  for (const Index &index : op.output.indices)
    result.output *= needed[index.terms[0].loop].size();
  result.isRecognised = result.multiplyAdds > 0;
  return result;
}

bool NeededWorkFinder::enterIndex(const Operator &op, unsigned input,
                                  const Index &index, int64_t shape,
                                  const LoopValues &values,
                                  SmallVectorImpl<unsigned> &uses,
                                  SmallVectorImpl<bool> &joint,
                                  OperatorWork &neededWork) const {
  for (Term term : index.terms)
    ++uses[term.loop];
  if (index.terms.size() < 2)
    return true;
  Reach along = reach(op, index, shape, values);
  if (!along.isCounted)
    return false;
  for (Term term : index.terms) {
    if (joint[term.loop])
      return false;
    joint[term.loop] = true;
  }
  neededWork.multiplyAdds *= along.points;
  neededWork.fewest *= along.fewest;
  // An index that tells all values of its loops apart is as good as several.
  bool tellsApart = along.points == along.positions.size();
  return tellsApart ||
         isWindow(op, op.inputs[1 - input], index, values, neededWork);
}

/// Recognises s * p + d * r with p a loop of the output and r a reduction. The
/// taps r = (s / g) r' + r'' with the same r' (g the greatest common divisor)
/// see each input element in one place only, so each r' is a matrix product.
/// The same can be done with p instead; what gives fewer products counts.
bool NeededWorkFinder::isWindow(const Operator &op, const Access &other,
                                const Index &index, const LoopValues &values,
                                OperatorWork &neededWork) const {
  SmallVector<Term, 2> moving;
  for (Term term : index.terms)
    if (values[term.loop].size() != 1)
      moving.push_back(term);
  if (moving.size() != 2)
    return false;
  if (!op.output.hasLoop(moving[0].loop))
    std::swap(moving[0], moving[1]);
  auto [place, tap] = std::pair(moving[0], moving[1]);
  if (!op.output.hasLoop(place.loop) || op.output.hasLoop(tap.loop) ||
      other.hasLoop(place.loop) || !other.hasLoop(tap.loop))
    return false;
  int64_t common = std::gcd(place.factor, tap.factor);
  int64_t taps = problem.loops[tap.loop].extent,
          places = problem.loops[place.loop].extent;
  neededWork.overlap *= std::min(divideCeilSigned(taps, place.factor / common),
                                 divideCeilSigned(places, tap.factor / common));
  return true;
}

} // namespace

NeededWork chimera::model::findNeededWork(const ChainProblem &problem) {
  return NeededWorkFinder(problem).run();
}
