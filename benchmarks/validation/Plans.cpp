//===- Plans.cpp - Schedules with the data movement predicted for them ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the model says, for a cache simulator to confirm or not.
//
//   chimera-cache-plans              the names of the cases
//   chimera-cache-plans CASE COUNT   the case; the plan that the model chooses
//                                    for it; COUNT schedules with random orders
//                                    and tiles, evenly spread from the least
//                                    volume found to sixteen times as much,
//                                    all such that a cache keeps what they mean
//                                    to keep and no more
//   chimera-cache-plans CASE COUNT any   the same of all schedules that fit
//
// One JSON object per line. Tiles cover whole cache lines.
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "Reach.h"

#include "Chimera/Model/Algorithms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

using namespace llvm;
using namespace chimera::model;
using namespace chimera::validation;

namespace {

/// A chain and a cache. The caches have enough ways for conflicts not to
/// matter.
struct Case {
  StringRef name;
  ChainSizes sizes;
  int64_t capacityBytes, ways;

  /// What is not left to the program itself.
  int64_t holdableBytes() const { return capacityBytes * 15 / 16; }
};

const Case cases[] = {
    {"cube", {1, 512, {512, 512, 512}, {1, 1}, 0}, 32 << 10, 256},
    {"g1", {1, 512, {64, 512, 64}, {1, 1}, 0}, 48 << 10, 192},
    {"c3", {56, 56, {64, 128, 64}, {3, 1}, 1}, 64 << 10, 256},
    {"c6", {56, 56, {64, 64, 64}, {1, 3}, 1}, 64 << 10, 256},
    {"dw", {56, 56, {144, 144, 32}, {3, 1}, 1, true}, 32 << 10, 256},
    {"mlp", {1, 128, {768, 3072, 768}, {1, 1}, 0}, 256 << 10, 256},
};

/// A schedule and what is to be known of it.
struct Candidate {
  std::string loops;
  int64_t fetchedBytes = 0, writtenBytes = 0, liveBytes = 0;
  Reach reach;
};

class Planner {
public:
  explicit Planner(const Case &info)
      : info(info), problem(makeChain(info.sizes, 1)),
        inLines(makeChain(info.sizes, lineElements)) {}

  Error run(unsigned count, bool isAny, raw_ostream &os);

private:
  std::optional<Schedule> choosePlan(int64_t &usableBytes) const;
  SmallVector<TensorId, 2> rolling() const;
  Schedule makeRandomSchedule();
  int64_t randomBelow(int64_t bound) { return random() % bound; }
  Schedule inElements(Schedule schedule) const;
  Candidate examine(const Schedule &schedule) const;
  bool isMeant(const Schedule &schedule) const;
  bool fits(const Schedule &schedule) const;
  std::vector<Candidate> collect(bool isAny);

  const Case &info;
  const ChainProblem problem, inLines;
  std::mt19937 random{1};
};

//===----------------------------------------------------------------------===//
// Predictions
//===----------------------------------------------------------------------===//

std::string spell(const ChainProblem &problem, const LoopNest &nest) {
  std::string text;
  for (const NestLoop &loop : nest.loops)
    text += (text.empty() ? "" : ",") + problem.loops[loop.loop].name + ":" +
            std::to_string(loop.tile);
  for (const LoopNest &part : nest.parts)
    text += "|" + spell(problem, part);
  return text;
}

/// What a write-allocate cache fetches: every read, every line of an output
/// each time it is visited, and the buffer of the intermediate once.
int64_t countFetches(const ChainProblem &problem, const Evaluation &evaluation,
                     const Reach &reach) {
  int64_t bytes = reach.intermediateBytes;
  for (auto [tensor, traffic] : zip(problem.tensors, evaluation.traffic))
    bytes +=
        tensor.role == Role::Output ? traffic.writeBytes : traffic.readBytes;
  return bytes;
}

Candidate Planner::examine(const Schedule &schedule) const {
  Evaluation evaluation = evaluate(problem, schedule, 0, {lineBytes, 1});
  Candidate candidate;
  candidate.loops = spell(problem, buildLoopTree(problem, schedule, 0));
  candidate.reach = reachOf(problem, schedule);
  candidate.fetchedBytes = countFetches(problem, evaluation, candidate.reach);
  for (const Traffic &traffic : evaluation.traffic)
    candidate.writtenBytes += traffic.writeBytes;
  candidate.liveBytes = evaluation.liveBytes;
  return candidate;
}

/// A schedule for `inLines` as one for `problem`.
Schedule Planner::inElements(Schedule schedule) const {
  for (TiledLoop &entry : schedule.levels[0].order)
    if (isChannel(problem.loops[entry.loop]))
      entry.tile *= lineElements;
  schedule.rolling = rolling();
  return schedule;
}

/// The halo of an image that is still in the cache is not fetched again.
SmallVector<TensorId, 2> Planner::rolling() const {
  SmallVector<TensorId, 2> tensors;
  if (!info.sizes.isMatrixProduct())
    tensors.push_back(problem.operators[0].inputs[0].tensor);
  return tensors;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// The model's plan for the largest share of the cache, in steps of 5 %, with
/// which the cache can hold what the plan means to keep.
std::optional<Schedule> Planner::choosePlan(int64_t &usableBytes) const {
  SmallVector<int64_t, 12> granularity(problem.loops.size(), 1);
  for (int64_t percent = 95; percent > 0; percent -= 5) {
    usableBytes = info.capacityBytes * percent / 100;
    std::optional<Schedule> plan =
        solveVolume(inLines, usableBytes, granularity);
    if (!plan)
      break;
    Schedule schedule = inElements(*plan);
    if (reachOf(problem, schedule).neededBytes <= info.holdableBytes())
      return schedule;
  }
  return std::nullopt;
}

Schedule Planner::makeRandomSchedule() {
  SmallVector<LoopId, 12> loops;
  for (auto [loop, description] : enumerate(inLines.loops))
    if (description.extent > 1)
      loops.push_back(loop);
  for (size_t left = loops.size(); left > 1; --left)
    std::swap(loops[left - 1], loops[randomBelow(left)]);
  Schedule schedule;
  schedule.levels.emplace_back();
  for (LoopId loop : loops) {
    int64_t extent = inLines.loops[loop].extent, tile = extent;
    if (randomBelow(4) != 0)
      tile = std::llround(std::exp(std::log(static_cast<double>(extent)) *
                                   randomBelow(1024) / 1024));
    schedule.levels[0].order.push_back({loop, tile});
  }
  return inElements(schedule);
}

/// True if the cache executes the schedule as it is meant: it keeps what the
/// schedule keeps and, by a margin, not more.
bool Planner::isMeant(const Schedule &schedule) const {
  Reach reach = reachOf(problem, schedule);
  return reach.neededBytes <= info.holdableBytes() &&
         reach.surplusBytes >= info.capacityBytes * 5 / 4;
}

/// All that a memory managed by the schedule would ask for, with room to spare.
bool Planner::fits(const Schedule &schedule) const {
  return evaluate(problem, schedule, 0).liveBytes <= info.capacityBytes * 4 / 5;
}

/// Distinct random schedules in the order of their volumes.
std::vector<Candidate> Planner::collect(bool isAny) {
  constexpr unsigned attempts = 1000000;
  std::vector<Candidate> found;
  std::set<std::string> seen;
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    Schedule schedule = makeRandomSchedule();
    if (!(isAny ? fits(schedule) : isMeant(schedule)))
      continue;
    Candidate candidate = examine(schedule);
    if (seen.insert(candidate.loops).second)
      found.push_back(candidate);
  }
  llvm::sort(found, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.fetchedBytes, a.loops) <
           std::tie(b.fetchedBytes, b.loops);
  });
  return found;
}

/// Picks `count` of the sorted candidates, each volume about the same factor
/// above the one before.
std::vector<Candidate> spread(ArrayRef<Candidate> sorted, unsigned count) {
  constexpr double widest = 16;
  std::vector<Candidate> picked;
  if (sorted.empty())
    return picked;
  double least = sorted.front().fetchedBytes;
  size_t next = 0;
  for (unsigned index = 0; index < count && next < sorted.size(); ++index) {
    double target = least * std::pow(widest, double(index) / count);
    while (next < sorted.size() && sorted[next].fetchedBytes < target)
      ++next;
    if (next < sorted.size())
      picked.push_back(sorted[next++]);
  }
  return picked;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void print(const Candidate &candidate, raw_ostream &os) {
  os << json::Value(json::Object{
            {"loops", candidate.loops},
            {"fetched", candidate.fetchedBytes},
            {"written", candidate.writtenBytes},
            {"live", candidate.liveBytes},
            {"needed", candidate.reach.neededBytes},
            {"surplus", candidate.reach.surplusBytes},
        })
     << "\n";
}

Error Planner::run(unsigned count, bool isAny, raw_ostream &os) {
  int64_t usableBytes = 0;
  std::optional<Schedule> plan = choosePlan(usableBytes);
  if (!plan)
    return createStringError("no plan fits the cache of case '" + info.name +
                             "'");
  os << json::Value(json::Object{
            {"name", info.name},
            {"sizes", info.sizes.str()},
            {"capacity", info.capacityBytes},
            {"ways", info.ways},
            {"usable", usableBytes},
        })
     << "\n";
  print(examine(*plan), os);
  for (const Candidate &candidate : spread(collect(isAny), count))
    print(candidate, os);
  return Error::success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 1) {
    for (const Case &info : cases)
      outs() << info.name << "\n";
    return 0;
  }
  unsigned count = 0;
  bool isAny = argc == 4 && StringRef(argv[3]) == "any";
  const Case *info =
      find_if(cases, [&](const Case &other) { return other.name == argv[1]; });
  if ((argc != 3 && !isAny) || info == std::end(cases) ||
      StringRef(argv[2]).getAsInteger(10, count)) {
    errs() << "chimera-cache-plans: error: usage: chimera-cache-plans "
              "[CASE COUNT [any]]\n";
    return 1;
  }
  if (Error error = Planner(*info).run(count, isAny, outs())) {
    errs() << "chimera-cache-plans: error: " << toString(std::move(error))
           << "\n";
    return 1;
  }
  return 0;
}
