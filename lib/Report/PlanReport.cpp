//===- PlanReport.cpp - Reports of what was decided -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanReportText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <tuple>

using namespace llvm;
using namespace chimera;
using namespace chimera::report;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

double ChainPlan::secondsOf(ArrayRef<model::KernelReport> kernels) {
  double seconds = 0;
  for (const model::KernelReport &kernel : kernels)
    seconds += kernel.seconds();
  return seconds;
}

int64_t ChainPlan::bytesOf(ArrayRef<model::KernelReport> kernels,
                           unsigned level) {
  int64_t bytes = 0;
  for (const model::KernelReport &kernel : kernels)
    bytes += kernel.plan.levels[level].bytes;
  return bytes;
}

void chimera::sortPlans(MutableArrayRef<ChainPlan> plans) {
  auto key = [](const ChainPlan &plan) {
    return std::tie(plan.file, plan.line, plan.column, plan.function);
  };
  auto isBefore = [&](const ChainPlan &left, const ChainPlan &right) {
    return key(left) < key(right);
  };
  // Plans mostly come in order already.
  for (auto *next = plans.begin(); next != plans.end(); ++next)
    std::rotate(std::upper_bound(plans.begin(), next, *next, isBefore), next,
                next + 1);
}

ReportFormat chimera::getReportFormat(StringRef fileName) {
  if (fileName.ends_with_insensitive(".json"))
    return ReportFormat::Json;
  if (fileName.ends_with_insensitive(".html") ||
      fileName.ends_with_insensitive(".htm"))
    return ReportFormat::Html;
  return ReportFormat::Markdown;
}

void chimera::writeReport(raw_ostream &os, ArrayRef<ChainPlan> plans,
                          ReportFormat format, ArrayRef<GraphPlan> partitions) {
  switch (format) {
  case ReportFormat::Markdown:
    return writeMarkdown(os, plans, partitions);
  case ReportFormat::Json:
    return writeJson(os, plans, partitions);
  case ReportFormat::Html:
    return writeHtml(os, plans, partitions);
  }
}

/// `m by 57.3, l by 16.0`; `whole` if nothing is cut.
static std::string describeTiles(const model::ChainProblem &problem,
                                 const model::ClosedForm &form) {
  std::string text;
  for (auto [loop, tile] : form.realTiles)
    text += (text.empty() ? "" : ", ") +
            formatv("{0} by {1:F1}", problem.loops[loop].name, tile).str();
  return text.empty() ? "whole" : text;
}

std::optional<FormTable>
report::describeForm(const model::KernelReport &kernel) {
  const model::Plan &plan = kernel.plan;
  std::optional<model::FormComparison> found =
      model::compareWithForm(kernel.problem, plan);
  if (!found)
    return std::nullopt;
  const model::LevelSchedule &level = plan.schedule.levels[found->level];
  auto orderOf = [&](ArrayRef<model::TiledLoop> entries) {
    model::Schedule alone;
    alone.levels.push_back({level.name, {entries.begin(), entries.end()}});
    return describeOrder(kernel.problem, alone);
  };
  const model::ClosedForm &form = found->form;
  FormTable table;
  table.title = formatv("{0} alone, with tiles of any size (family: {1})",
                        level.name, form.family)
                    .str();
  table.lines = {
      {"closed form", describeTiles(kernel.problem, form),
       static_cast<int64_t>(form.realBytes)},
      {"rounded", orderOf(form.order), form.bytes},
      {"exact search", orderOf(found->exact.levels[0].order),
       found->exactBytes},
      {"this plan", orderOf(level.order), plan.levels[found->level].bytes}};
  return table;
}

UnfusedFigures report::getUnfused(const ChainPlan &plan) {
  UnfusedFigures figures;
  figures.isKnown = !plan.verdict.unfusedBytes.empty();
  figures.seconds = plan.verdict.unfusedSeconds;
  figures.bytes = plan.verdict.unfusedBytes;
  return figures;
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

/// Three digits of `value`, which is at least one for all but the smallest
/// unit.
static std::string formatScaled(double value, ArrayRef<StringRef> units,
                                double step) {
  unsigned unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text;
  raw_string_ostream(text) << format("%.*f ", digits, value) << units[unit];
  return text;
}

std::string report::formatBytes(int64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  return formatScaled(bytes, {"B", "KiB", "MiB", "GiB", "TiB"}, 1024);
}

std::string report::formatSeconds(double seconds) {
  return formatScaled(seconds * 1e6, {"us", "ms", "s"}, 1000);
}

std::string report::formatFlops(double flops) {
  return formatScaled(flops * 1e-6, {"MFLOP/s", "GFLOP/s", "TFLOP/s"}, 1000);
}

std::string report::formatBandwidth(double bytesPerSecond) {
  return formatScaled(bytesPerSecond * 1e-6, {"MB/s", "GB/s", "TB/s"}, 1000);
}

std::string report::formatRatio(double ratio) {
  return formatv("{0:F2}", ratio);
}

std::string report::formatLoss(double seconds, double best) {
  double percent = best > 0 ? 100 * (seconds / best - 1) : 0;
  return formatv("{0}{1:F1} %", percent < 0 ? "" : "+", percent);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

StringRef report::getText(ChainOutcome outcome) {
  switch (outcome) {
  case ChainOutcome::Single:
    return "single";
  case ChainOutcome::Fused:
    return "fused";
  case ChainOutcome::PartlyFused:
    return "partly fused";
  case ChainOutcome::Split:
    return "split";
  case ChainOutcome::Unfused:
    return "unfused";
  case ChainOutcome::Given:
    return "given";
  }
  return "";
}

std::string report::describeReason(const ChainPlan &plan) {
  const model::Verdict &verdict = plan.verdict;
  bool isModels = plan.explanation == verdict.explain();
  if (!isModels || (verdict.unit != "bytes" && verdict.unit != "s"))
    return plan.explanation;
  auto show = [&](double figure) {
    return verdict.unit == "s" ? formatSeconds(figure)
                               : formatBytes(static_cast<int64_t>(figure));
  };
  std::string text = model::describe(verdict.reason).str() + ": " +
                     show(verdict.figures[0]) + " against " +
                     show(verdict.figures[1]);
  return verdict.level.empty() ? text : text + " into " + verdict.level;
}

template <typename PlanT>
static std::string describePlaceOf(const PlanT &plan) {
  std::string place = plan.file.empty() ? "an unknown place" : plan.file;
  if (plan.line)
    place += formatv(":{0}:{1}", plan.line, plan.column);
  return plan.function.empty() ? place : place + " in @" + plan.function;
}

std::string report::describePlace(const ChainPlan &plan) {
  return describePlaceOf(plan);
}

std::string report::describePlace(const GraphPlan &plan) {
  return describePlaceOf(plan);
}

std::string report::listOperators(const GraphPlan &plan,
                                  const GroupPlan &group) {
  return join(map_range(group.operators,
                        [&](model::OperatorId op) {
                          return plan.graph.operators[op].name;
                        }),
              ", ");
}

std::string report::describeMachine(const ChainPlan &plan) {
  std::string text = plan.machine.name;
  text += formatv(", {0}, {1} {2}", plan.elementType, plan.threads,
                  plan.threads == 1 ? "thread" : "threads");
  if (plan.machine.levels.empty())
    return text;
  text += ", " + formatFlops(model::peakFlops(plan.machine, plan.threads)) +
          " at most";
  for (const model::MemoryLevel &level : plan.machine.levels)
    text += ", " + level.name + " " + formatBytes(level.capacityBytes);
  return text;
}

std::string report::listOperators(const model::ChainProblem &problem) {
  return join(map_range(problem.operators,
                        [](const model::Operator &op) { return op.name; }),
              " > ");
}

std::string report::describeOperator(const model::ChainProblem &problem,
                                     const model::Operator &op) {
  auto list = [&](ArrayRef<model::Access> accesses, StringRef separator) {
    return join(map_range(accesses,
                          [&](const model::Access &access) {
                            return describe(problem, access, " ");
                          }),
                separator);
  };
  std::string text =
      describe(problem, op.output, " ") + " += " + list(op.inputs, " * ");
  if (op.hasEpilogue)
    text += ", then element by element";
  if (!op.epilogue.empty())
    text += " with " + list(op.epilogue, ", ");
  for (model::LoopId loop : op.completes)
    text += ", complete along " + problem.loops[loop].name;
  if (op.rescaledBy)
    text += ", rescaled along " + problem.loops[*op.rescaledBy].name;
  return text;
}

std::string report::describeShape(const model::Tensor &tensor) {
  if (tensor.shape.empty())
    return "1";
  return join(map_range(tensor.shape,
                        [](int64_t size) { return std::to_string(size); }),
              " x ");
}

/// Some loops of one level that go around the same operators.
static std::string describeLoops(const model::ChainProblem &problem,
                                 ArrayRef<model::TiledLoop> loops) {
  std::string text =
      join(map_range(loops,
                     [&](const model::TiledLoop &loop) -> std::string {
                       return formatv("{0} by {1}",
                                      problem.loops[loop.loop].name, loop.tile);
                     }),
           ", ");
  if (loops.front().operators == 0)
    return text;
  SmallVector<StringRef> around;
  for (auto [index, op] : enumerate(problem.operators))
    if (loops.front().operators >> index & 1)
      around.push_back(op.name);
  return "(" + text + ") around " + join(around, " and ");
}

std::string report::describeOrder(const model::ChainProblem &problem,
                                  const model::Schedule &schedule) {
  SmallVector<std::string> levels;
  for (const model::LevelSchedule &level : schedule.levels) {
    SmallVector<std::string> parts;
    ArrayRef<model::TiledLoop> rest = level.order;
    while (!rest.empty()) {
      ArrayRef<model::TiledLoop> run =
          rest.take_while([&](const model::TiledLoop &loop) {
            return loop.operators == rest.front().operators;
          });
      parts.push_back(describeLoops(problem, run));
      rest = rest.drop_front(run.size());
    }
    if (!parts.empty())
      levels.push_back(level.name + ": " + join(parts, ", "));
  }
  return levels.empty() ? "no loops" : join(levels, "; ");
}

static std::string listTensors(const model::ChainProblem &problem,
                               ArrayRef<model::TensorId> tensors) {
  return join(map_range(tensors,
                        [&](model::TensorId tensor) {
                          return problem.tensors[tensor].name;
                        }),
              ", ");
}

std::string report::describeRegisters(const model::ChainProblem &problem,
                                      const model::Plan &plan) {
  const model::Schedule &schedule = plan.schedule;
  const model::RegisterTile &tile = schedule.registerTile;
  std::string text =
      formatv("{0} rows x {1} vectors, {2} for broadcasts, {3} "
              "deep",
              tile.rows, tile.vectors, tile.broadcasts, tile.depth);
  if (!tile.kernel.empty())
    text += ", by micro kernel '" + tile.kernel + "'";
  if (tile.stages > 0)
    text += formatv(", {0} copies of tiles that are filled again", tile.stages);
  if (!schedule.packed.empty())
    text += "; packed: " + listTensors(problem, schedule.packed);
  if (!schedule.staged.empty())
    text += "; staged: " + listTensors(problem, schedule.staged);
  if (!schedule.prepacked.empty())
    text += "; prepacked: " + listTensors(problem, schedule.prepacked);
  if (!schedule.rolling.empty())
    text += "; rolling: " + listTensors(problem, schedule.rolling);
  if (schedule.held != 0)
    text += "; sums held through the reduction";
  text += formatv("; {0} {1}", plan.tasks, plan.tasks == 1 ? "task" : "tasks");
  return text;
}

std::string report::describeBottleneck(const model::Plan &plan) {
  std::optional<unsigned> level = model::findBottleneck(plan);
  return level ? plan.levels[*level].name : "arithmetic";
}

std::string report::describeRecomputation(const model::ChainProblem &problem,
                                          const model::Plan &plan) {
  int64_t least = problem.multiplyAdds();
  if (!model::recomputes(problem, plan))
    return "";
  return formatv("{0:F1} % more multiply-adds than necessary, for parts that "
                 "are computed again",
                 100.0 * (plan.multiplyAdds - least) / least);
}

std::string report::describeBound(const model::Bound &bound) {
  std::string text = model::describe(bound.kind).str();
  if (bound.term != model::BoundTerm::Compulsory)
    text += ": " + model::describe(bound.term).str();
  if (bound.looseness > 0)
    text += formatv("; the best known plans need up to {0:F1} times as much",
                    bound.looseness);
  return text;
}

//===----------------------------------------------------------------------===//
// Loop trees
//===----------------------------------------------------------------------===//

namespace {

class TreeLister {
public:
  explicit TreeLister(const model::KernelReport &kernel)
      : kernel(kernel), schedule(kernel.plan.schedule) {}

  std::vector<TreeLine> run() {
    SmallVector<int64_t> tiles;
    for (const model::Loop &loop : kernel.problem.loops)
      tiles.push_back(loop.extent);
    addNest(kernel.tree, 0, tiles);
    return std::move(lines);
  }

private:
  void addNest(const model::LoopNest &nest, unsigned depth,
               SmallVector<int64_t> tiles) {
    for (auto [place, loop] : enumerate(nest.loops)) {
      TreeLine &line = lines.emplace_back();
      line.depth = depth++;
      line.loop = kernel.problem.loops[loop.loop].name;
      line.level = schedule.levels[loop.level].name;
      line.tile = loop.tile;
      line.extent = tiles[loop.loop];
      line.isParallel = &nest == &kernel.tree &&
                        place < static_cast<uint64_t>(
                                    std::max<int64_t>(0, schedule.numParallel));
      line.isSplit = line.isParallel &&
                     kernel.problem.operators.back().rescaledBy == loop.loop;
      tiles[loop.loop] = loop.tile;
    }
    for (const model::LoopNest &part : nest.parts)
      addNest(part, depth, tiles);
    if (nest.parts.empty())
      addOperator(nest.firstOperator, depth);
  }

  void addOperator(unsigned index, unsigned depth) {
    TreeLine &line = lines.emplace_back();
    line.depth = depth;
    line.op = index;
    auto tiles = model::tilesAt(kernel.problem, schedule,
                                schedule.levels.size() - 1, index);
    SmallVector<std::string> parts;
    for (model::LoopId loop : kernel.problem.operators[index].loops)
      parts.push_back(
          formatv("{0}={1}", kernel.problem.loops[loop].name, tiles[loop]));
    line.tiles = join(parts, " ");
  }

  const model::KernelReport &kernel;
  const model::Schedule &schedule;
  std::vector<TreeLine> lines;
};

} // namespace

std::string TreeLine::describeLevel() const {
  std::string text = level;
  if (isParallel)
    text += ", parallel";
  if (isSplit)
    text += ", combined";
  return text;
}

std::vector<TreeLine> report::listTree(const model::KernelReport &kernel) {
  return TreeLister(kernel).run();
}
