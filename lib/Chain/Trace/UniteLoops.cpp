//===- UniteLoops.cpp - Which dimensions are the same loop ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator runs in the loops of what it reads, so far as it can. What is
// read through a window, or besides by a loop that has to be another one, is
// made in loops of its own, whose ranges follow from those of the readers.
//
//===----------------------------------------------------------------------===//

#include "Trace/ChainTrace.h"

#include <optional>
#include <set>

using namespace mlir;
using namespace chimera;

namespace {

class LoopUniter {
public:
  explicit LoopUniter(ChainTrace &trace)
      : trace(trace), steps(trace.steps), readings(trace.readings),
        dimensions(trace.dimensions) {}

  void run();

private:
  void uniteFactors(const std::set<const Reading *> &apart);
  std::set<const Reading *> findApart();
  void uniteSiblings(const Reading &windowed);
  void uniteOrAlign(DimId written, DimId read);
  bool isInOneOperator(DimId first, DimId second);
  bool isReducedBefore(DimId dim, unsigned end);
  bool isUnderWindow(DimId dim) const;
  DimId getMover(const Reading &reading);
  bool isInside(const Reading &reading) const {
    return steps[reading.producer].owner == steps[reading.reader].owner;
  }

  ChainTrace &trace;
  const std::vector<Step> &steps;
  const std::vector<Reading> &readings;
  Dimensions &dimensions;
};

} // namespace

/// True if an operator iterates over both dimensions, as in the product of an
/// intermediate with its own transpose.
bool LoopUniter::isInOneOperator(DimId first, DimId second) {
  return llvm::any_of(trace.operators, [&](unsigned id) {
    auto has = [&](DimId wanted) {
      return llvm::any_of(steps[id].dims, [&](DimId dim) {
        return dimensions.areSame(dim, wanted);
      });
    };
    return has(first) && has(second);
  });
}

/// True if an operator up to number `end` reduces over `dim`.
bool LoopUniter::isReducedBefore(DimId dim, unsigned end) {
  for (unsigned index = 0; index <= end; ++index) {
    const Step &step = trace.getOperator(index);
    for (auto [own, iterator] :
         llvm::zip_equal(step.dims, step.getOp().getIteratorTypesArray()))
      if (iterator == utils::IteratorType::reduction &&
          dimensions.areSame(own, dim))
        return true;
  }
  return false;
}

bool LoopUniter::isUnderWindow(DimId dim) const {
  return llvm::any_of(readings, [&](const Reading &reading) {
    return !reading.read.isPlain && dimensions.areSame(reading.written, dim);
  });
}

/// Makes both the same loop unless an operator would have it twice.
void LoopUniter::uniteOrAlign(DimId written, DimId read) {
  if (dimensions.areSame(written, read))
    return;
  if (isInOneOperator(written, read))
    dimensions.align(written, read);
  else
    dimensions.unite(written, read);
}

/// The dimension of an operator that moves with the dimension it reads: the one
/// it reads itself, or the one that moves a window step by step. `written` if
/// there is none.
DimId LoopUniter::getMover(const Reading &reading) {
  const Step &reader = steps[reading.reader];
  SmallVector<utils::IteratorType> iterators =
      reader.getOp().getIteratorTypesArray();
  for (auto [term, factor] : reading.read.terms)
    for (auto [dim, iterator] : llvm::zip_equal(reader.dims, iterators))
      if (dim == term && factor == 1 &&
          iterator == utils::IteratorType::parallel &&
          dimensions.getExtent(dim) == dimensions.getExtent(reading.written))
        return dim;
  return reading.written;
}

/// Lets all that read what `windowed` reads run in one loop. What is read is
/// not made in that loop, but as far ahead as the window needs.
void LoopUniter::uniteSiblings(const Reading &windowed) {
  std::optional<DimId> common;
  for (const Reading &sibling : readings) {
    DimId mover = getMover(sibling);
    if (!sibling.isFactor || mover == sibling.written ||
        steps[sibling.producer].owner != steps[windowed.producer].owner ||
        !dimensions.areSame(sibling.written, windowed.written))
      continue;
    if (sibling.read.isPlain)
      dimensions.align(sibling.written, mover);
    if (!common)
      common = mover;
    uniteOrAlign(*common, mover);
  }
}

/// Lets operators run in the loops of what they read as factors, but for those
/// that are `apart`.
void LoopUniter::uniteFactors(const std::set<const Reading *> &apart) {
  for (const Reading &reading : readings)
    if (reading.isFactor && reading.read.isPlain && !apart.count(&reading))
      uniteOrAlign(reading.written, reading.read.getDim());
}

/// The readings whose dimension others read by a window, or, later in the
/// chain, from under one. What is read is made in a loop of its own then.
std::set<const Reading *> LoopUniter::findApart() {
  std::set<const Reading *> apart;
  auto addReadersOf = [&](const Reading &reading) {
    for (const Reading &other : readings)
      if (steps[other.producer].owner == steps[reading.producer].owner &&
          dimensions.areSame(other.written, reading.written))
        apart.insert(&other);
  };
  for (const Reading &reading : readings)
    if (!reading.read.isPlain)
      addReadersOf(reading);

  // What lies under a window is known only when factors are united.
  Dimensions before = dimensions;
  uniteFactors(apart);
  SmallVector<const Reading *> under;
  for (const Reading &reading : readings)
    if (!reading.isFactor && !isInside(reading) && reading.read.isPlain &&
        isUnderWindow(reading.written) &&
        !dimensions.areSame(reading.written, reading.read.getDim()))
      under.push_back(&reading);
  dimensions = std::move(before);
  for (const Reading *reading : under)
    addReadersOf(*reading);
  return apart;
}

/// Dimensions of one epilogue are those of its operator. An operator runs in
/// the loops of what it reads, but for windows. So does an epilogue that reads
/// an earlier intermediate, unless something in between reduces over the loop
/// or lays windows on it.
void LoopUniter::run() {
  for (const Reading &reading : readings)
    if (isInside(reading) && reading.read.isPlain)
      dimensions.unite(reading.written, reading.read.getDim());
  std::set<const Reading *> apart = findApart();
  uniteFactors(apart);
  for (const Reading *reading : apart)
    uniteSiblings(*reading);
  for (const Reading &reading : readings) {
    if (reading.isFactor || isInside(reading) || !reading.read.isPlain)
      continue;
    unsigned end = steps[reading.reader].owner;
    DimId read = reading.read.getDim();
    if (isUnderWindow(reading.written) || apart.count(&reading) ||
        isReducedBefore(reading.written, end) || isReducedBefore(read, end))
      dimensions.align(reading.written, read);
    else
      uniteOrAlign(reading.written, read);
  }
}

void chimera::uniteDimensions(ChainTrace &trace) { LoopUniter(trace).run(); }
