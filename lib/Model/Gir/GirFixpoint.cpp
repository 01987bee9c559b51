//===- GirFixpoint.cpp - The order in which rules rewrite a Gir -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The paper takes every step it can. That it never loses holds only as long as
// memories have room and arithmetic is free, so here every step is priced.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirCost.h"
#include "Chimera/Model/GirRewrite.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace chimera::model;

namespace {

class Optimizer {
public:
  Optimizer(Gir start, const Machine &machine)
      : gir(std::move(start)), machine(machine),
        seconds(costOf(gir, machine).seconds) {}

  Gir run() {
    Gir start = gir;
    double before = seconds;
    do
      settle();
    while (swapAll() || swapOne());
    return std::move(seconds <= before ? gir : start);
  }

private:
  /// Inserts and merges until nothing merges.
  void settle() {
    do
      takeAll(GirRuleKind::Insertion);
    while (takeAll(GirRuleKind::Merging));
  }
  bool takeAll(GirRuleKind kind);
  bool takeOne(GirRuleKind kind);
  bool swapAll();
  bool swapOne();
  bool keepIfFaster(Optimizer &ahead);

  Gir gir;
  const Machine &machine;
  double seconds;
};

/// Takes the first step of a kind. Merging must not make the graph slower; what
/// insertion is good for shows when something merges.
bool Optimizer::takeOne(GirRuleKind kind) {
  for (const GirStep &step : findSteps(gir)) {
    if (kindOf(step.rule) != kind)
      continue;
    std::optional<Gir> next = applyStep(gir, step, machine);
    if (!next)
      continue;
    double then = costOf(*next, machine).seconds;
    if (kind == GirRuleKind::Merging && then > seconds)
      continue;
    gir = std::move(*next);
    seconds = then;
    return true;
  }
  return false;
}

bool Optimizer::takeAll(GirRuleKind kind) {
  bool isAny = false;
  while (takeOne(kind))
    isAny = true;
  return isAny;
}

bool Optimizer::keepIfFaster(Optimizer &ahead) {
  if (ahead.seconds >= seconds)
    return false;
  gir = std::move(ahead.gir);
  seconds = ahead.seconds;
  return true;
}

/// Lets all arithmetic that stands before moves come after them, which as such
/// gains nothing, and looks what merges then.
bool Optimizer::swapAll() {
  Optimizer ahead(gir, machine);
  bool isAny = false;
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (const GirStep &step : findSteps(ahead.gir)) {
      if (step.rule != GirRule::SwapMove)
        continue;
      std::optional<Gir> next = applyStep(ahead.gir, step, machine);
      if (!next)
        continue;
      ahead.gir = std::move(*next);
      isDone = false;
      isAny = true;
      break;
    }
  }
  if (!isAny)
    return false;
  ahead.seconds = costOf(ahead.gir, machine).seconds;
  ahead.settle();
  return keepIfFaster(ahead);
}

/// The same for one place.
bool Optimizer::swapOne() {
  for (const GirStep &step : findSteps(gir)) {
    if (kindOf(step.rule) != GirRuleKind::Swapping)
      continue;
    std::optional<Gir> next = applyStep(gir, step, machine);
    if (!next)
      continue;
    Optimizer ahead(std::move(*next), machine);
    ahead.settle();
    if (keepIfFaster(ahead))
      return true;
  }
  return false;
}

} // namespace

Gir chimera::model::rewriteGir(Gir gir, const Machine &machine) {
  return Optimizer(std::move(gir), machine).run();
}
