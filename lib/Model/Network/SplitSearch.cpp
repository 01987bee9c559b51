//===- SplitSearch.cpp - Which loop of each operator is cut ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/SplitSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace chimera::model;

namespace {

/// In which forms processes have a tensor: bit 0 for all of it, bit d + 1 for
/// their parts along dimension d.
using Forms = uint32_t;

/// The forms of tensors that are still to be read, in order of their ids.
using State = std::vector<std::pair<unsigned, Forms>>;

/// The cheapest way into a state.
struct Step {
  double compute = 0, network = 0;
  /// The step before, in the steps of the operator before.
  size_t before = 0;
  unsigned choice = 0;
  Cut kept = wholeTensor;

  double seconds() const { return compute + network; }
};

class Searcher {
public:
  Searcher(const SplitProblem &problem, const SplitLimits &limits);

  std::optional<Split> run();

private:
  /// Adds all ways to run operator `op` after step `before`, which led to
  /// `state`.
  void extend(unsigned op, size_t before, const State &state, const Step &step);
  void keepResults(unsigned op, unsigned choice, State state, Step step);
  void finish(unsigned op, State state, const Step &step);
  double exchange(State &state, unsigned tensor, Cut wanted) const;
  void prune();
  std::optional<Split> trace() const;

  const SplitProblem &problem;
  const SplitLimits &limits;
  /// By tensor, the last operator that reads it; those that are results are
  /// read at the end.
  std::vector<unsigned> lastReader;
  std::map<State, Step> states;
  /// The steps of each operator, in the order of its states.
  std::vector<std::vector<Step>> history;
  bool isOptimal = true;
};

} // namespace

static Forms formOf(Cut cut) { return 1U << (cut + 1); }

Searcher::Searcher(const SplitProblem &problem, const SplitLimits &limits)
    : problem(problem), limits(limits), lastReader(problem.tensors.size(), 0) {
  for (auto [id, op] : llvm::enumerate(problem.operators))
    for (unsigned tensor : op.operands)
      lastReader[tensor] = id;
  for (auto [id, tensor] : llvm::enumerate(problem.tensors))
    if (tensor.isResult)
      lastReader[id] = problem.operators.size();
}

/// Seconds until processes have `tensor` as wanted, which they then have beside
/// what they had.
double Searcher::exchange(State &state, unsigned tensor, Cut wanted) const {
  const SplitTensor &figures = problem.tensors[tensor];
  if (figures.isFree)
    return 0;
  auto known = llvm::find_if(
      state, [&](const auto &entry) { return entry.first == tensor; });
  Forms &forms = known->second;
  if (forms & (formOf(wholeTensor) | formOf(wanted)))
    return 0;
  forms |= formOf(wanted);
  CollectiveKind kind = wanted == wholeTensor ? CollectiveKind::AllGather
                                              : CollectiveKind::AllToAll;
  return problem.network.getSeconds(
      {kind, figures.bytes / problem.processes, problem.processes});
}

void Searcher::finish(unsigned op, State state, const Step &step) {
  llvm::erase_if(
      state, [&](const auto &entry) { return lastReader[entry.first] <= op; });
  auto [known, isNew] = states.try_emplace(std::move(state), step);
  if (!isNew && step.seconds() < known->second.seconds())
    known->second = step;
}

/// Results that are parts of a sum are combined: as a whole, or dealt out along
/// any dimension that divides.
void Searcher::keepResults(unsigned op, unsigned choice, State state,
                           Step step) {
  const SplitOperator &figures = problem.operators[op];
  const SplitChoice &taken = figures.choices[choice];
  auto keep = [&](State next, Step made, Cut kept) {
    for (auto [position, tensor] : llvm::enumerate(figures.results))
      next.push_back(
          {tensor, formOf(taken.isPartial ? kept : taken.results[position])});
    llvm::sort(next);
    made.kept = kept;
    finish(op, std::move(next), made);
  };
  if (!taken.isPartial)
    return keep(std::move(state), step, wholeTensor);
  const SplitTensor &result = problem.tensors[figures.results.front()];
  Step whole = step;
  whole.network += problem.network.getSeconds(
      {CollectiveKind::AllReduce, result.bytes, problem.processes});
  keep(state, whole, wholeTensor);
  step.network += problem.network.getSeconds(
      {CollectiveKind::ReduceScatter, result.bytes, problem.processes});
  for (auto [dim, size] : llvm::enumerate(result.shape))
    if (size != 0 && size % problem.processes == 0)
      keep(state, step, static_cast<Cut>(dim));
}

void Searcher::extend(unsigned op, size_t before, const State &state,
                      const Step &step) {
  const SplitOperator &figures = problem.operators[op];
  for (auto [number, choice] : llvm::enumerate(figures.choices)) {
    if (llvm::is_contained(limits.excluded,
                           std::pair<unsigned, unsigned>(op, number)))
      continue;
    Step next = step;
    next.before = before;
    next.choice = number;
    next.compute += choice.seconds;
    State forms = state;
    for (auto [tensor, wanted] :
         llvm::zip_equal(figures.operands, choice.operands))
      next.network += exchange(forms, tensor, wanted);
    keepResults(op, number, std::move(forms), next);
  }
}

/// Drops the states that cost most, if there are too many.
void Searcher::prune() {
  if (states.size() <= limits.mostStates)
    return;
  isOptimal = false;
  std::vector<double> costs;
  for (const auto &[state, step] : states)
    costs.push_back(step.seconds());
  std::nth_element(costs.begin(), costs.begin() + limits.mostStates,
                   costs.end());
  double most = costs[limits.mostStates];
  for (auto entry = states.begin(); entry != states.end();)
    entry = entry->second.seconds() >= most && states.size() > 1
                ? states.erase(entry)
                : std::next(entry);
}

std::optional<Split> Searcher::run() {
  states[{}] = Step();
  for (unsigned op = 0; op < problem.operators.size(); ++op) {
    std::map<State, Step> from;
    std::swap(from, states);
    history.emplace_back();
    size_t before = 0;
    for (const auto &[state, step] : from) {
      history.back().push_back(step);
      extend(op, before++, state, step);
    }
    if (states.empty())
      return std::nullopt;
    prune();
  }
  // What the program returns is whole.
  std::map<State, Step> from;
  std::swap(from, states);
  history.emplace_back();
  size_t before = 0;
  for (auto &[state, step] : from) {
    history.back().push_back(step);
    State forms = state;
    Step next = step;
    next.before = before++;
    for (auto [tensor, form] : state)
      next.network += exchange(forms, tensor, wholeTensor);
    finish(problem.operators.size(), std::move(forms), next);
  }
  return trace();
}

std::optional<Split> Searcher::trace() const {
  const Step *step = &states.begin()->second;
  Split split;
  split.computeSeconds = step->compute;
  split.networkSeconds = step->network;
  split.isOptimal = isOptimal;
  split.choices.resize(problem.operators.size());
  split.kept.resize(problem.operators.size());
  for (size_t op = problem.operators.size(); op > 0; --op) {
    step = &history[op][step->before];
    split.choices[op - 1] = step->choice;
    split.kept[op - 1] = step->kept;
  }
  return split;
}

std::optional<Split> chimera::model::findSplit(const SplitProblem &problem,
                                               const SplitLimits &limits) {
  return Searcher(problem, limits).run();
}
