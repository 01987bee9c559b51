//===- NearTies.cpp - Plans that take about as long -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/NearTies.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace chimera::model;

double chimera::model::exposureOf(const Plan &plan) {
  double seconds = 0;
  for (const LevelCost &level : ArrayRef(plan.levels).drop_back())
    seconds += level.seconds;
  return seconds;
}

void NearTies::add(const Plan &plan) {
  double exposure = exposureOf(plan);
  if (any_of(plans, [&](const Plan &other) {
        return other.seconds <= plan.seconds && exposureOf(other) <= exposure;
      }))
    return;
  double least = plan.seconds;
  for (const Plan &other : plans)
    least = std::min(least, other.seconds);
  double most = least * (1 + timeError);
  erase_if(plans, [&](const Plan &other) {
    return other.seconds > most ||
           (plan.seconds <= other.seconds && exposure <= exposureOf(other));
  });
  if (plan.seconds <= most)
    plans.push_back(plan);
}

/// What a plan loses by its predicted time has to come back if nothing is
/// hidden, and more than the error.
std::optional<Plan> NearTies::takeSafest() {
  if (plans.empty())
    return std::nullopt;
  auto worstOf = [](const Plan &plan) {
    return plan.seconds + exposureOf(plan);
  };
  const Plan *fastest = &plans.front(), *safest = fastest;
  for (const Plan &plan : plans) {
    if (plan.seconds < fastest->seconds)
      fastest = &plan;
    if (worstOf(plan) < worstOf(*safest))
      safest = &plan;
  }
  bool isSafer =
      worstOf(*fastest) - worstOf(*safest) > timeError * fastest->seconds;
  return isSafer ? *safest : *fastest;
}
