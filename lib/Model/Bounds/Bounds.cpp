//===- Bounds.cpp - Bytes no schedule can avoid ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One lemma carries everything. Put the elements that operators touch into
// three classes such that each operator has a tensor in each. Cut an execution
// into windows of S transfers: what is there at the start of a window and what
// arrives in it make 2 S, and by the Loomis-Whitney inequality that much data
// allows for sqrt(x y v) multiply-adds at most. Arrivals are loads, which are
// paid for, or elements that are made on the spot, which are not. So a group of
// operators has a lower bound on its loads, one for each choice of the class
// whose free arrivals are counted one by one; the bound of a chain is the best
// sum over all ways to cut it into groups. docs/model.md has the proofs.
//
// All sizes are in bytes, those of an element the smaller of its sizes in fast
// and slow memory. The work of an operator is weighted with the root of its
// tensors' element sizes, which makes the element-counting proofs go through.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Bounds.h"

#include "Bounds/NeededWork.h"
#include "Chimera/Model/Algorithms.h"
#include "Volume/Evaluator.h"
#include "Volume/MaskedTiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace chimera::model;

namespace {

/// sqrt(27/32): up to this over sqrt(S) the lemma's tangents hold.
const double tangentEnd = std::sqrt(27.0 / 32.0);

/// An operator with the structure of a matrix product or convolution.
struct Work {
  bool isUsable = false;
  bool hasWindows = false;
  double amount = 0;
  /// The part of it that makes one element of the output, at least.
  double perOutput = 0;
  /// The two inputs and the output.
  TensorId tensors[3] = {0, 0, 0};
  double bytes[3] = {0, 0, 0};
};

/// Operators in a row, each reading what the one before makes.
using Path = SmallVector<unsigned, 8>;

/// One of the three classes of the lemma. A tensor that comes from outside
/// arrives by loads only; one that is made here arrives for free once.
struct ElementClass {
  double external = 0, produced = 0;

  double total() const { return external + produced; }
};

/// The loads of a group beyond the compulsory ones.
struct Gain {
  double bytes = 0;
  BoundKind kind = BoundKind::Compulsory;
  BoundTerm term = BoundTerm::Compulsory;

  void raiseTo(const Gain &other) {
    if (other.bytes > bytes)
      *this = other;
  }
};

/// A run of operators of a path to which the lemma is applied.
struct Group {
  ArrayRef<unsigned> operators;
  /// Weights, even and odd tensors.
  ElementClass classes[3];
  double work = 0;
  BoundKind kind = BoundKind::Contraction;
  /// If its only intermediate (in the class of odd tensors) may be made several
  /// times: the size of an element and the work it takes.
  double remadeBytes = 0, remadeWork = 0;

  double external() const {
    return classes[0].external + classes[1].external + classes[2].external;
  }
  double produced() const {
    return classes[0].produced + classes[1].produced + classes[2].produced;
  }
};

class BoundFinder {
public:
  BoundFinder(const ChainProblem &problem, int64_t capacityBytes,
              const BoundOptions &options);

  Bound run();
  /// The bound that rests on the sizes of tensors alone.
  Bound findCompulsory() const;

private:
  void weighOperators();
  double elementBytes(TensorId tensor) const;
  double compulsoryBytes() const;
  bool isExternal(TensorId tensor) const {
    return problem.tensors[tensor].role == Role::Input;
  }
  bool isProduct(TensorId tensor) const {
    return problem.tensors[tensor].role == Role::Output ||
           problem.tensors[tensor].isStored;
  }

  double psi(double work, double free, double from, double to) const;
  double psi(double work, double free) const {
    return psi(work, free, 0, tangentEnd / std::sqrt(capacity));
  }

  void visitPaths();
  void extend(Path &path);
  bool feeds(unsigned producer, unsigned consumer) const;
  bool isDistinct(ArrayRef<unsigned> path) const;
  Gain gainOfPath(ArrayRef<unsigned> path) const;
  Gain gainOfGroup(ArrayRef<unsigned> path, unsigned first,
                   unsigned last) const;
  Gain gainOfGroup(const Group &group) const;
  Group makeGroup(ArrayRef<unsigned> path, unsigned first, unsigned last,
                  bool swapped) const;
  bool allowRemaking(Group &group) const;
  BoundKind kindOf(ArrayRef<unsigned> operators) const;

  void visitGates();
  std::optional<unsigned> gatedInput(unsigned gate, unsigned up) const;
  void boundGate(unsigned gate, unsigned up, std::optional<unsigned> down);

  BoundKind structure() const;

  const ChainProblem &problem;
  const BoundOptions &options;
  NeededWork neededWork;
  SmallVector<Work, 4> works;
  /// Of one memory. With mixed element sizes a window may overshoot by one
  /// element, so the proofs work with a capacity that is one element larger.
  double capacity;
  double overshoot = 0;
  Gain best;
  bool isGate = false;
  unsigned longestPath = 0, numPaths = 0;
};

BoundFinder::BoundFinder(const ChainProblem &problem, int64_t capacityBytes,
                         const BoundOptions &options)
    : problem(problem), options(options), neededWork(findNeededWork(problem)),
      capacity(std::max<int64_t>(1, capacityBytes)) {
  weighOperators();
}

double BoundFinder::elementBytes(TensorId tensor) const {
  const Tensor &info = problem.tensors[tensor];
  return std::min(info.elementBytes, info.heldBytes());
}

void BoundFinder::weighOperators() {
  double smallest = HUGE_VAL, largest = 0;
  for (auto [op, own] : zip(problem.operators, neededWork.operators)) {
    Work &work = works.emplace_back();
    if (!own.isRecognised)
      continue;
    work.isUsable = true;
    work.hasWindows = own.overlap > 1;
    double elements[] = {own.inputs[0], own.inputs[1], own.output};
    TensorId tensors[] = {op.inputs[0], op.inputs[1], op.output};
    double weight = 1 / own.overlap;
    for (unsigned which : {0, 1, 2}) {
      double size = elementBytes(tensors[which]);
      work.tensors[which] = tensors[which];
      work.bytes[which] = elements[which] * size;
      weight *= size;
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
    }
    work.amount = own.multiplyAdds * std::sqrt(weight);
    work.perOutput = own.fewest * std::sqrt(weight);
  }
  if (smallest < largest)
    overshoot = largest;
  capacity += overshoot;
}

double BoundFinder::compulsoryBytes() const {
  double bytes = 0;
  for (TensorId tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (isExternal(tensor) || isProduct(tensor))
      bytes +=
          neededWork.elements[tensor] * problem.tensors[tensor].elementBytes;
  return bytes;
}

/// The most that 2 work u - free S u^2 gets for u in the range.
double BoundFinder::psi(double work, double free, double from,
                        double to) const {
  double u = std::clamp(work / (free * capacity), from, to);
  return 2 * work * u - free * capacity * u * u;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

void BoundFinder::visitPaths() {
  for (unsigned op = 0; op < works.size(); ++op) {
    auto feedsIt = [&](unsigned other) { return feeds(other, op); };
    if (!works[op].isUsable || any_of(seq<unsigned>(0, op), feedsIt))
      continue;
    Path path = {op};
    extend(path);
  }
}

bool BoundFinder::feeds(unsigned producer, unsigned consumer) const {
  return works[producer].isUsable && works[consumer].isUsable &&
         is_contained(ArrayRef(works[consumer].tensors).drop_back(),
                      works[producer].tensors[2]);
}

/// Follows `path` to all its ends. Those whose tensors are not all distinct are
/// cut, since loads of one tensor could then serve two groups.
void BoundFinder::extend(Path &path) {
  // Far more than any chain has.
  constexpr unsigned mostPaths = 4096;
  if (numPaths > mostPaths)
    return;
  bool isEnd = true;
  for (unsigned op = path.back() + 1; op < works.size(); ++op) {
    if (!feeds(path.back(), op))
      continue;
    isEnd = false;
    path.push_back(op);
    extend(path);
    path.pop_back();
  }
  if (!isEnd)
    return;
  ++numPaths;
  unsigned end = 0;
  for (unsigned begin = 0; begin < path.size() && end < path.size(); ++begin) {
    ArrayRef<unsigned> part = ArrayRef(path).slice(begin, 1);
    while (begin + part.size() < path.size() &&
           isDistinct(ArrayRef(path).slice(begin, part.size() + 1)))
      part = ArrayRef(path).slice(begin, part.size() + 1);
    if (begin + part.size() <= end)
      continue;
    end = begin + part.size();
    longestPath = std::max<unsigned>(longestPath, part.size());
    best.raiseTo(gainOfPath(part));
  }
}

bool BoundFinder::isDistinct(ArrayRef<unsigned> path) const {
  SmallVector<TensorId, 16> tensors;
  for (auto [place, op] : enumerate(path))
    for (TensorId tensor : works[op].tensors) {
      bool isLink = place > 0 && tensor == works[path[place - 1]].tensors[2];
      if (is_contained(tensors, tensor) && !isLink)
        return false;
      tensors.push_back(tensor);
    }
  return true;
}

/// The best way to cut the path into groups. A load belongs to one group only:
/// of a tensor between two groups, a load of a partial sum to its producer's, a
/// load of a finished value to its consumer's.
Gain BoundFinder::gainOfPath(ArrayRef<unsigned> path) const {
  SmallVector<Gain, 8> upTo(1);
  for (unsigned last = 0; last < path.size(); ++last) {
    Gain gain = upTo.back();
    for (unsigned first = 0; first <= last; ++first) {
      Gain group = gainOfGroup(path, first, last);
      const Gain &before = upTo[first];
      if (before.bytes > 0 && group.bytes > 0) {
        group.kind = BoundKind::LongChain;
        group.term = BoundTerm::Several;
      } else if (before.bytes > 0) {
        continue;
      }
      group.bytes += before.bytes;
      gain.raiseTo(group);
    }
    upTo.push_back(gain);
  }
  return upTo.back();
}

Gain BoundFinder::gainOfGroup(ArrayRef<unsigned> path, unsigned first,
                              unsigned last) const {
  Gain gain;
  for (bool swapped : {false, true}) {
    Group group = makeGroup(path, first, last, swapped);
    if (!options.recomputation || allowRemaking(group))
      gain.raiseTo(gainOfGroup(group));
  }
  return gain;
}

/// Either input of the first operator can count as its weights.
Group BoundFinder::makeGroup(ArrayRef<unsigned> path, unsigned first,
                             unsigned last, bool swapped) const {
  Group group;
  group.operators = path.slice(first, last - first + 1);
  group.kind = kindOf(group.operators);
  auto enter = [&](unsigned which, TensorId tensor, double bytes) {
    (isExternal(tensor) ? group.classes[which].external
                        : group.classes[which].produced) += bytes;
  };
  for (auto [place, op] : enumerate(group.operators)) {
    const Work &work = works[op];
    // Which of the inputs continues the path.
    bool along = swapped;
    if (place > 0)
      along = work.tensors[0] != works[group.operators[place - 1]].tensors[2];
    enter(0, work.tensors[!along], work.bytes[!along]);
    if (place == 0)
      enter(1, work.tensors[along], work.bytes[along]);
    enter(1 + (place + 1) % 2, work.tensors[2], work.bytes[2]);
    group.work += work.amount;
  }
  return group;
}

/// What may be made several times brings its work along. That is proved for a
/// first operator of which everything comes from outside, alone or with the one
/// behind it.
bool BoundFinder::allowRemaking(Group &group) const {
  const Work &first = works[group.operators.front()];
  if (!isExternal(first.tensors[0]) || !isExternal(first.tensors[1]) ||
      group.operators.size() > 2)
    return false;
  if (group.operators.size() == 2) {
    const Work &second = works[group.operators.back()];
    bool other = second.tensors[0] == first.tensors[2];
    if (!isExternal(second.tensors[other]) ||
        problem.tensors[second.tensors[2]].role != Role::Output)
      return false;
  } else if (problem.tensors[first.tensors[2]].role == Role::Output) {
    return true;
  }
  group.remadeBytes = elementBytes(first.tensors[2]);
  group.remadeWork = first.perOutput;
  return group.remadeWork > 0;
}

/// An intermediate that is made r times adds r - 1 times its work and its free
/// arrivals; the conditions below on u make sure that this only raises a bound.
Gain BoundFinder::gainOfGroup(const Group &group) const {
  Gain gain;
  double memories = options.memories;
  double end = tangentEnd / std::sqrt(capacity);
  auto offer = [&](double loads, BoundTerm term) {
    gain.raiseTo(
        {loads - overshoot * memories - group.external(), group.kind, term});
  };
  double remade = group.remadeBytes, effort = 2 * group.remadeWork;
  if (effort >= remade * std::sqrt(capacity))
    offer(2 * group.work / std::sqrt(capacity) - memories * capacity -
              group.produced(),
          BoundTerm::B2);
  const BoundTerm terms[] = {BoundTerm::B4, BoundTerm::B3, BoundTerm::B1};
  for (unsigned which : {0, 1, 2}) {
    double from = 0, to = end;
    if (remade > 0 && which == 2)
      to = std::min(end, effort / (remade * capacity));
    else if (remade > 0)
      from = remade / effort;
    const ElementClass &free = group.classes[which];
    if (from <= to)
      offer(psi(group.work, free.total(), from, to) + free.external -
                (group.produced() - free.produced),
            terms[which]);
  }
  return gain;
}

BoundKind BoundFinder::kindOf(ArrayRef<unsigned> operators) const {
  bool hasWindows =
      any_of(operators, [&](unsigned op) { return works[op].hasWindows; });
  bool hasStates = any_of(operators, [&](unsigned op) {
    return !problem.operators[op].states.empty();
  });
  if (operators.size() == 1)
    return hasWindows ? BoundKind::Convolution : BoundKind::Contraction;
  if (operators.size() > 2)
    return BoundKind::LongChain;
  if (hasWindows)
    return BoundKind::ConvolutionChain;
  return hasStates ? BoundKind::Attention : BoundKind::Chain;
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

/// G = X V, H = g(G, X W), and mostly Y = H D. The positions of G and H are one
/// class: whatever is at one of them may become the other in place.
void BoundFinder::visitGates() {
  if (options.recomputation)
    return;
  for (unsigned up = 0; up < works.size(); ++up)
    for (unsigned gate = 0; gate < works.size(); ++gate) {
      if (gate == up || !gatedInput(gate, up))
        continue;
      boundGate(gate, up, std::nullopt);
      for (unsigned down = up + 1; down < works.size(); ++down)
        if (feeds(up, down))
          boundGate(gate, up, down);
    }
}

/// The input that both have, if the epilogue of `up` reads what `gate` makes
/// where it writes itself.
std::optional<unsigned> BoundFinder::gatedInput(unsigned gate,
                                                unsigned up) const {
  const Work &one = works[gate], &other = works[up];
  if (!one.isUsable || !other.isUsable || one.bytes[2] <= 0 ||
      one.bytes[2] / elementBytes(one.tensors[2]) !=
          other.bytes[2] / elementBytes(other.tensors[2]))
    return std::nullopt;
  const Operator &op = problem.operators[up];
  bool reads = any_of(op.epilogue, [&](const Access &operand) {
    return operand.tensor == one.tensors[2] &&
           operand.indices == op.output.indices;
  });
  for (unsigned input : {0, 1})
    if (reads &&
        is_contained(ArrayRef(other.tensors).drop_back(), one.tensors[input]))
      return input;
  return std::nullopt;
}

void BoundFinder::boundGate(unsigned gate, unsigned up,
                            std::optional<unsigned> down) {
  const Work &one = works[gate], &other = works[up];
  unsigned shared = *gatedInput(gate, up);
  unsigned weights = other.tensors[0] == one.tensors[shared];
  SmallVector<TensorId, 8> inputs = {
      one.tensors[shared], one.tensors[1 - shared], other.tensors[weights]};
  double external = std::max(one.bytes[shared], other.bytes[1 - weights]) +
                    one.bytes[1 - shared] + other.bytes[weights];
  double work = one.amount + other.amount, made = 0;
  // A position may hold an element of either.
  double small =
      std::min(elementBytes(one.tensors[2]), elementBytes(other.tensors[2]));
  double positions = one.bytes[2] / elementBytes(one.tensors[2]) * small;
  double folded =
      (one.amount * std::sqrt(small / elementBytes(one.tensors[2])) +
       other.amount * std::sqrt(small / elementBytes(other.tensors[2]))) /
      std::sqrt(2.0);
  if (down) {
    const Work &last = works[*down];
    unsigned side = last.tensors[0] == other.tensors[2];
    inputs.push_back(last.tensors[side]);
    external += last.bytes[side];
    made = last.bytes[2];
    work += last.amount;
    folded += last.amount * std::sqrt(small / elementBytes(other.tensors[2]));
  }
  SmallVector<TensorId, 8> sorted = inputs;
  sort(sorted);
  if (!all_of(inputs, [&](TensorId tensor) { return isExternal(tensor); }) ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return;
  isGate = true;
  // When a position is started anew with nothing of it there, the store of what
  // was there pays; so the stores of G that are compulsory must not count.
  double stored = isProduct(one.tensors[2]) ? one.bytes[2] : 0;
  double memories = options.memories;
  double lost = external + made + overshoot * memories;
  double root = std::sqrt(capacity);
  auto offer = [&](double loads, BoundTerm term) {
    best.raiseTo({loads - lost, BoundKind::Gate, term});
  };
  offer(psi(folded, positions) - stored, BoundTerm::B1);
  offer(2 * folded / root - positions - memories * capacity - stored,
        BoundTerm::B2);
  offer(2 * work / root - one.bytes[2] - 2 * other.bytes[2] -
            memories * capacity,
        BoundTerm::B2);
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// The theorem that speaks of the problem as a whole, whether or not it gives
/// more than the compulsory volume.
BoundKind BoundFinder::structure() const {
  unsigned size = problem.operators.size();
  if (isGate && size <= 3)
    return BoundKind::Gate;
  if (longestPath != size)
    return BoundKind::Compulsory;
  return kindOf(to_vector(seq<unsigned>(0, size)));
}

/// Measured over random shapes and capacities; docs/model.md has the table.
static double loosenessOf(BoundKind structure) {
  switch (structure) {
  case BoundKind::Compulsory:
    return 0;
  case BoundKind::Contraction:
    return 1.7;
  case BoundKind::Convolution:
    return 3.7;
  case BoundKind::ConvolutionChain:
    return 4.2;
  case BoundKind::Chain:
  case BoundKind::Attention:
    return 2.1;
  case BoundKind::LongChain:
    return 6.3;
  case BoundKind::Gate:
    return 2.6;
  }
  return 0;
}

/// Leaves room for rounding, relative and absolute.
static int64_t roundUp(double bytes) {
  return static_cast<int64_t>(std::ceil(bytes * (1 - 1e-12) - 1e-6));
}

Bound BoundFinder::findCompulsory() const {
  Bound bound;
  bound.bytes = roundUp(compulsoryBytes());
  return bound;
}

Bound BoundFinder::run() {
  visitPaths();
  visitGates();
  Bound bound;
  bound.kind = best.kind;
  bound.term = best.term;
  bound.looseness = loosenessOf(structure());
  bound.bytes = roundUp(compulsoryBytes() + best.bytes);
  return bound;
}

} // namespace

Bound chimera::model::findBound(const ChainProblem &problem,
                                int64_t capacityBytes,
                                const BoundOptions &options) {
  Bound bound = BoundFinder(problem, capacityBytes, options).run();
  if (!options.recomputation)
    return bound;
  // The looseness was measured without recomputation.
  BoundOptions once = options;
  once.recomputation = false;
  if (bound.bytes < BoundFinder(problem, capacityBytes, once).run().bytes)
    bound.looseness = 0;
  return bound;
}

int64_t chimera::model::lowerBound(const ChainProblem &problem,
                                   int64_t capacityBytes, bool recomputation) {
  BoundOptions options;
  options.recomputation = recomputation;
  return findBound(problem, capacityBytes, options).bytes;
}

/// Registers and the matrix unit's buffers of one core. Bounds have to allow
/// for all of them.
static int64_t bytesInCore(const ChainProblem &problem,
                           const Machine &machine) {
  int64_t elementBytes = 0;
  for (const Tensor &tensor : problem.tensors)
    elementBytes =
        std::max({elementBytes, tensor.elementBytes, tensor.heldBytes()});
  int64_t bytes = machine.unit.registers * machine.unit.lanes * elementBytes;
  if (const std::optional<MatrixUnit> &matrix = machine.matrix)
    bytes += matrix->accumulatorBytes + matrix->lhsBytes + matrix->rhsBytes;
  return bytes;
}

/// What all masks of `problem` leave together, if they are along the same two
/// loops.
static std::optional<Band> intersectBands(const ChainProblem &problem) {
  Band all = problem.bands.front();
  for (const Band &band : problem.bands) {
    if (band.row != all.row || band.column != all.column)
      return std::nullopt;
    if (band.least)
      all.least = std::max(all.least.value_or(*band.least), *band.least);
    if (band.most)
      all.most = std::min(all.most.value_or(*band.most), *band.most);
  }
  return all;
}

/// The problem of no more rows and columns than masks leave something of.
static ChainProblem withoutMasked(ChainProblem problem) {
  if (problem.bands.empty())
    return problem;
  std::optional<Band> band = intersectBands(problem);
  if (!band) {
    for (const Band &other : problem.bands)
      problem.loops[other.row].extent = problem.loops[other.column].extent = 1;
    return problem;
  }
  int64_t &rows = problem.loops[band->row].extent;
  int64_t &columns = problem.loops[band->column].extent;
  int64_t firstRow = band->most ? std::max<int64_t>(0, 1 - *band->most) : 0;
  int64_t endRow = band->least ? std::min(rows, columns - *band->least) : rows;
  int64_t first =
      band->least ? std::max<int64_t>(0, firstRow + *band->least) : 0;
  int64_t end =
      band->most ? std::min(columns, endRow - 1 + *band->most) : columns;
  rows = std::max<int64_t>(1, endRow - firstRow);
  columns = std::max<int64_t>(1, end - first);
  return problem;
}

SmallVector<Bound, 3> chimera::model::findBounds(const ChainProblem &problem,
                                                 const Machine &machine,
                                                 const SolveOptions &options,
                                                 bool recomputation) {
  SmallVector<Bound, 3> bounds;
  for (unsigned level = 0; level < machine.levels.size(); ++level) {
    int64_t sharers = std::max<int64_t>(1, machine.levels[level].sharers);
    int64_t cores = std::min(options.threads, sharers);
    int64_t bytes = cores * bytesInCore(problem, machine);
    for (const MemoryLevel &near : ArrayRef(machine.levels).drop_front(level))
      bytes += divideCeilSigned(cores, std::max<int64_t>(1, near.sharers)) *
               near.capacityBytes;
    BoundOptions own;
    own.recomputation = recomputation;
    own.memories = divideCeilSigned(options.threads, sharers);
    // What is proved of the work holds for all of it, masked or not, and for
    // whole windows.
    bool isPart =
        level + 1 == machine.levels.size() && countsTiles(problem, machine);
    bounds.push_back(
        isPart
            ? BoundFinder(withoutMasked(problem), bytes, own).findCompulsory()
            : findBound(problem, bytes, own));
  }
  return bounds;
}

StringRef chimera::model::describe(BoundKind kind) {
  switch (kind) {
  case BoundKind::Compulsory:
    return "compulsory";
  case BoundKind::Contraction:
    return "one contraction";
  case BoundKind::Convolution:
    return "one convolution";
  case BoundKind::Chain:
    return "two contractions";
  case BoundKind::Attention:
    return "attention";
  case BoundKind::ConvolutionChain:
    return "two convolutions";
  case BoundKind::LongChain:
    return "a chain in groups";
  case BoundKind::Gate:
    return "a gate";
  }
  return "";
}

StringRef chimera::model::describe(BoundTerm term) {
  switch (term) {
  case BoundTerm::Compulsory:
    return "every input once, every output once";
  case BoundTerm::B1:
    return "B1, results are free";
  case BoundTerm::B2:
    return "B2, first arrivals are free";
  case BoundTerm::B3:
    return "B3, rows are free";
  case BoundTerm::B4:
    return "B4, weights are free";
  case BoundTerm::Several:
    return "groups with terms of their own";
  }
  return "";
}

SmallVector<int64_t, 3>
chimera::model::lowerBounds(const ChainProblem &problem, const Machine &machine,
                            const SolveOptions &options) {
  SmallVector<int64_t, 3> bytes;
  for (const Bound &bound : findBounds(problem, machine, options))
    bytes.push_back(bound.bytes);
  return bytes;
}
