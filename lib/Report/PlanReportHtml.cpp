//===- PlanReportHtml.cpp - Reports as pages ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file that loads nothing: style and drawings are in it, and no script is
// needed. Whatever comes from the program is escaped.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanReportText.h"
#include "PlanReportSvg.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace chimera;
using namespace chimera::report;

static constexpr StringLiteral kStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #ffffff; --card: #f6f7f9; --ink: #1b2027; --soft: #5c6673;
  --rule: #d9dee5; --plan: #1f6feb; --other: #d2790f; --bound: #8a94a3;
  --good: #1a7f4b; --warn: #b35900; --limit: #cf2f3c;
  --c0: #1f6feb; --c1: #d2790f; --c2: #1a8f5c; --c3: #a445b2;
  --c4: #b08800; --c5: #0b8ea0; --c6: #c93c63; --c7: #6a737d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --card: #1c2027; --ink: #e6e9ee; --soft: #9aa4b2;
    --rule: #323842; --plan: #5aa2ff; --other: #f0a349; --bound: #7d8796;
    --good: #53c98a; --warn: #f0a349; --limit: #ff7079;
    --c0: #5aa2ff; --c1: #f0a349; --c2: #53c98a; --c3: #d28be0;
    --c4: #e0c04a; --c5: #4cc4d6; --c6: #ff86a5; --c7: #a2abb6;
  }
}
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin: 0; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
section { border-top: 1px solid var(--rule); margin-top: 2rem; padding-top: 1.5rem; }
/* Chains that are out of sight are laid out when they come into it. */
section { content-visibility: auto; contain-intrinsic-size: auto 70rem; }
@media print { section { content-visibility: visible; break-before: page; } }
p { margin: .4rem 0; } .soft { color: var(--soft); } a { color: var(--plan); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
td:not(:last-child), th { white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } .wide { overflow-x: auto; }
code { font: 13px/1.5 ui-monospace, monospace; }
.badge { border: 1px solid currentColor; border-radius: 1rem; font-size: .8rem;
  padding: .1rem .6rem; margin-left: .6rem; white-space: nowrap; }
.fused, .given, .single { color: var(--good); } .partly, .split, .unfused { color: var(--warn); }
.figures { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.figure { background: var(--card); border-radius: .5rem; padding: .5rem 1rem; }
.figure b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.loop { border: 1px solid var(--rule); border-left: 4px solid var(--soft);
  border-radius: .4rem; background: var(--card); margin: .35rem 0;
  padding: .3rem .6rem; width: fit-content; min-width: 14rem; }
.loop .loop { background: var(--ground); } .loop .loop .loop { background: var(--card); }
.loop.parallel { border-left-style: double; border-left-width: 8px; }
.op { border-radius: .4rem; background: var(--plan); color: var(--ground);
  margin: .35rem 0; padding: .25rem .6rem; width: fit-content; }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-end; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--soft); }
.key span { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin-right: .3rem; }
svg { max-width: 100%; height: auto; }
svg .label { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .strong { fill: var(--ink); font-weight: 600; }
svg .axis { stroke: var(--soft); } svg .grid { stroke: var(--rule); }
svg .limit { stroke: var(--limit); stroke-dasharray: 5 4; stroke-width: 1.5; }
svg .plan { fill: var(--plan); } svg .other { fill: var(--other); }
svg .bound { fill: var(--bound); } svg .line { fill: none; stroke-width: 2; }
svg .dot.line { fill: var(--ground); }
svg .group { fill: var(--card); stroke: var(--rule); stroke-width: 1; }
svg .group.chain { stroke: var(--plan); stroke-width: 2; }
svg .group.memory { stroke: var(--good); stroke-width: 2; }
svg .stored { fill: none; stroke: var(--bound); stroke-width: 1.2; }
)css";

namespace {

class HtmlWriter {
public:
  explicit HtmlWriter(raw_ostream &os) : os(os) {}

  void write(ArrayRef<ChainPlan> plans, ArrayRef<GraphPlan> partitions);

private:
  void writeColours();
  void writeSummary(ArrayRef<ChainPlan> plans);
  void writeChain(const ChainPlan &plan, size_t number);
  void writePartition(const GraphPlan &plan, size_t number);
  void writeFigures(const ChainPlan &plan);
  void writeProblem(const model::ChainProblem &problem);
  void writeBytes(const ChainPlan &plan);
  void writeRoofline(const ChainPlan &plan);
  void writeKernel(const model::KernelReport &kernel);
  void writeTree(const model::KernelReport &kernel);
  void writeTimes(const model::KernelReport &kernel);
  void writeLive(const model::KernelReport &kernel);
  void writeTraffic(const model::KernelReport &kernel);
  void writeForm(const model::KernelReport &kernel);
  void writeRunnersUp(const ChainPlan &plan);
  void writeAlternative(const ChainPlan &plan);

  void startTable(ArrayRef<StringRef> header);
  void addRow(ArrayRef<std::string> cells);
  void endTable() { os << "</table></div>\n"; }
  void figure(StringRef name, StringRef value) {
    os << "<div class=\"figure\">" << escape(name) << "<b>" << escape(value)
       << "</b></div>\n";
  }
  void swatch(StringRef style, StringRef name) {
    os << "<span><i style=\"background:var(--" << style << ")\"></i>"
       << escape(name) << "</span>\n";
  }

  raw_ostream &os;
};

} // namespace

void HtmlWriter::startTable(ArrayRef<StringRef> header) {
  os << "<div class=\"wide\"><table>\n<tr>";
  for (StringRef cell : header)
    os << "<th>" << escape(cell) << "</th>";
  os << "</tr>\n";
}

void HtmlWriter::addRow(ArrayRef<std::string> cells) {
  os << "<tr>";
  for (const std::string &cell : cells)
    os << "<td>" << escape(cell) << "</td>";
  os << "</tr>\n";
}

void HtmlWriter::writeColours() {
  for (unsigned index = 0; index < kNumColours; ++index)
    os << formatv("svg .fill.c{0} {{ fill: var(--c{0}); } svg .line.c{0} {{ "
                  "stroke: var(--c{0}); }\n",
                  index);
}

void HtmlWriter::writeFigures(const ChainPlan &plan) {
  os << "<div class=\"figures\">\n";
  if (!plan.kernels.empty()) {
    figure("predicted", formatSeconds(ChainPlan::secondsOf(plan.kernels)));
    figure("kernels", std::to_string(plan.kernels.size()));
  }
  if (plan.verdict.fused)
    figure("as one kernel", formatSeconds(plan.verdict.fused->seconds));
  if (UnfusedFigures unfused = getUnfused(plan); unfused.isKnown)
    figure("as separate operators", formatSeconds(unfused.seconds));
  os << "</div>\n";
}

void HtmlWriter::writeProblem(const model::ChainProblem &problem) {
  os << "<details><summary>Operators, loops and tensors</summary>\n";
  startTable({"operator", "computes", "multiply-adds"});
  for (const model::Operator &op : problem.operators)
    addRow({op.name, report::describeOperator(problem, op),
            std::to_string(problem.multiplyAdds(op))});
  endTable();
  startTable({"loop", "extent"});
  for (const model::Loop &loop : problem.loops)
    addRow({loop.name, std::to_string(loop.extent)});
  endTable();
  startTable({"tensor", "role", "shape", "size"});
  for (auto [id, tensor] : enumerate(problem.tensors))
    addRow({tensor.name,
            describe(tensor.role).str() + (tensor.isStored ? ", stored" : ""),
            describeShape(tensor),
            formatBytes(problem.sizeOf(id) * tensor.elementBytes)});
  endTable();
  os << "</details>\n";
}

void HtmlWriter::writeBytes(const ChainPlan &plan) {
  os << "<h3>Bytes moved into and out of each level</h3>\n"
     << "<p class=\"soft\">Each level has a scale of its own.</p>\n";
  drawBytes(os, plan);
  startTable(
      {"level", "this plan", "bound", "ratio", "what the bound rests on"});
  for (auto [index, level] : enumerate(plan.machine.levels)) {
    int64_t bytes = ChainPlan::bytesOf(plan.kernels, index);
    const model::Bound &bound = plan.bounds[index];
    addRow({level.name, formatBytes(bytes), formatBytes(bound.bytes),
            bound.bytes > 0
                ? formatRatio(static_cast<double>(bytes) / bound.bytes)
                : "-",
            describeBound(bound)});
  }
  endTable();
}

void HtmlWriter::writeRoofline(const ChainPlan &plan) {
  os << "<h3>Roofline</h3>\n<p class=\"soft key\">Filled: this plan. ";
  if (!plan.alternative.empty())
    os << "Hollow: " << escape(getAlternativeName(plan)) << ". ";
  os << "Triangles: what the bounds allow.</p>\n<p class=\"key\">\n";
  for (auto [index, level] : enumerate(plan.machine.levels))
    swatch("c" + std::to_string(index % kNumColours),
           level.name + ", " +
               formatBandwidth(model::bandwidthInto(level, plan.threads)));
  os << "</p>\n";
  drawRoofline(os, plan);
}

void HtmlWriter::writeTree(const model::KernelReport &kernel) {
  unsigned open = 0;
  auto closeTo = [&](unsigned depth) {
    for (; open > depth; --open)
      os << "</div>\n";
  };
  for (const TreeLine &line : listTree(kernel)) {
    closeTo(line.depth);
    if (line.op) {
      const model::Operator &op = kernel.problem.operators[*line.op];
      os << "<div class=\"op\">" << escape(op.name) << " <code>"
         << escape(line.tiles) << "</code>"
         << (op.hasEpilogue ? ", then element by element" : "") << "</div>\n";
      continue;
    }
    os << "<div class=\"loop" << (line.isParallel ? " parallel" : "") << "\">"
       << escape(line.loop) << " by " << line.tile << " of " << line.extent
       << " <span class=\"soft\">" << escape(line.describeLevel())
       << "</span>\n";
    ++open;
  }
  closeTo(0);
  os << "<p class=\"soft\">Register tile: "
     << escape(describeRegisters(kernel.problem, kernel.plan)) << "</p>\n";
}

void HtmlWriter::writeTimes(const model::KernelReport &kernel) {
  const model::Plan &plan = kernel.plan;
  os << "<p>Predicted " << formatSeconds(plan.seconds) << ", limited by <b>"
     << escape(describeBottleneck(plan)) << "</b>; arithmetic alone takes "
     << formatSeconds(plan.computeSeconds) << ". "
     << escape(describeRecomputation(kernel.problem, plan)) << "</p>\n";
  startTable({"level", "in", "out", "time", "live", "capacity",
              "bound for this kernel"});
  for (auto [level, detail] : zip_equal(plan.levels, kernel.levels))
    addRow({level.name, formatBytes(level.bytes - level.writtenBytes),
            formatBytes(level.writtenBytes), formatSeconds(level.seconds),
            formatBytes(level.liveBytes), formatBytes(level.capacityBytes),
            formatBytes(detail.bound.bytes)});
  endTable();
}

void HtmlWriter::writeLive(const model::KernelReport &kernel) {
  os << "<p class=\"key\">Held while each operator runs, against the capacity "
        "(dashed):\n";
  for (auto [id, tensor] : enumerate(kernel.problem.tensors))
    swatch("c" + std::to_string(id % kNumColours), tensor.name);
  os << "</p>\n<div class=\"charts\">\n";
  for (unsigned level = 0; level < kernel.levels.size(); ++level)
    drawLive(os, kernel, level);
  os << "</div>\n";
}

void HtmlWriter::writeTraffic(const model::KernelReport &kernel) {
  os << "<details><summary>Bytes by tensor</summary>\n";
  SmallVector<std::string> names = {"tensor"};
  for (const model::LevelCost &level : kernel.plan.levels) {
    names.push_back(level.name + " in");
    names.push_back(level.name + " out");
  }
  startTable(SmallVector<StringRef>(names.begin(), names.end()));
  for (auto [id, tensor] : enumerate(kernel.problem.tensors)) {
    SmallVector<std::string> row = {tensor.name};
    for (const model::LevelReport &level : kernel.levels) {
      row.push_back(formatBytes(level.evaluation.traffic[id].readBytes));
      row.push_back(formatBytes(level.evaluation.traffic[id].writeBytes));
    }
    addRow(row);
  }
  endTable();
  os << "</details>\n";
}

void HtmlWriter::writeKernel(const model::KernelReport &kernel) {
  os << "<h3>Kernel " << escape(listOperators(kernel.problem)) << "</h3>\n";
  writeTree(kernel);
  writeTimes(kernel);
  writeForm(kernel);
  writeLive(kernel);
  writeTraffic(kernel);
}

/// What rounding and further loops change of the closed form.
void HtmlWriter::writeForm(const model::KernelReport &kernel) {
  std::optional<FormTable> form = describeForm(kernel);
  if (!form)
    return;
  os << "<p class=\"soft\">" << escape(form->title) << "</p>\n";
  startTable({"from", "tiles", "volume"});
  for (const FormLine &line : form->lines)
    addRow({line.source, line.order, formatBytes(line.bytes)});
  endTable();
}

void HtmlWriter::writeRunnersUp(const ChainPlan &plan) {
  if (!plan.verdict.fused || plan.verdict.runnersUp.empty())
    return;
  os << "<h3>Other loop orders</h3>\n"
     << "<p class=\"soft\">Of the whole chain as one kernel.</p>\n";
  startTable({"order", "predicted", "against the best", "limited by"});
  double best = plan.verdict.fused->seconds;
  auto add = [&](const model::Plan &candidate, std::string loss) {
    addRow({describeOrder(plan.problem, candidate.schedule),
            formatSeconds(candidate.seconds), std::move(loss),
            describeBottleneck(candidate)});
  };
  add(*plan.verdict.fused, "best");
  for (const model::Plan &candidate : plan.verdict.runnersUp)
    add(candidate, formatLoss(candidate.seconds, best));
  endTable();
}

void HtmlWriter::writeAlternative(const ChainPlan &plan) {
  if (plan.alternative.empty())
    return;
  os << "<details><summary>Not chosen: " << escape(getAlternativeName(plan))
     << "</summary>\n";
  for (const model::KernelReport &kernel : plan.alternative)
    writeKernel(kernel);
  os << "</details>\n";
}

void HtmlWriter::writeChain(const ChainPlan &plan, size_t number) {
  StringRef verdict = getText(plan.outcome);
  os << formatv("<section id=\"chain{0}\">\n<h2>Chain {0}: {1}"
                "<span class=\"badge {2}\">{3}</span></h2>\n",
                number, escape(listOperators(plan.problem)),
                verdict.split(' ').first, verdict)
     << "<p class=\"soft\">" << escape(describePlace(plan)) << "<br>"
     << escape(describeMachine(plan)) << "</p>\n<p>"
     << escape(describeReason(plan)) << ".</p>\n";
  if (!plan.obstacle.empty())
    os << "<p class=\"soft\">No code can be generated yet: "
       << escape(plan.obstacle) << ".</p>\n";
  writeFigures(plan);
  writeProblem(plan.problem);
  if (!plan.kernels.empty()) {
    writeBytes(plan);
    writeRoofline(plan);
    for (const model::KernelReport &kernel : plan.kernels)
      writeKernel(kernel);
    writeRunnersUp(plan);
    writeAlternative(plan);
  }
  os << "</section>\n";
}

void HtmlWriter::writeSummary(ArrayRef<ChainPlan> plans) {
  if (plans.empty()) {
    os << "<p>No chain was planned.</p>\n";
    return;
  }
  os << "<div class=\"wide\"><table>\n<tr><th>chain</th><th>operators</th>"
        "<th>verdict</th><th>predicted</th><th>separate operators</th>"
        "<th>place</th></tr>\n";
  for (auto [number, plan] : enumerate(plans)) {
    UnfusedFigures unfused = getUnfused(plan);
    os << formatv("<tr><td><a href=\"#chain{0}\">{0}</a></td>", number)
       << "<td>" << escape(listOperators(plan.problem)) << "</td><td>"
       << getText(plan.outcome) << "</td><td>"
       << (plan.kernels.empty()
               ? "-"
               : formatSeconds(ChainPlan::secondsOf(plan.kernels)))
       << "</td><td>"
       << (unfused.isKnown ? formatSeconds(unfused.seconds) : "-")
       << "</td><td>" << escape(describePlace(plan)) << "</td></tr>\n";
  }
  os << "</table></div>\n";
}

void HtmlWriter::writePartition(const GraphPlan &plan, size_t number) {
  os << formatv("<section id=\"partition{0}\">\n<h2>Partition {0}</h2>\n",
                number)
     << "<p class=\"soft\">" << escape(describePlace(plan)) << "<br>"
     << escape(plan.target) << ", " << plan.threads
     << (plan.threads == 1 ? " thread" : " threads") << "</p>\n<p>"
     << plan.graph.operators.size() << " operators in " << plan.groups.size()
     << " groups: " << escape(plan.proof) << ".</p>\n<div class=\"figures\">\n";
  figure("predicted", formatSeconds(plan.seconds));
  figure("by themselves", formatSeconds(plan.separateSeconds));
  figure("kernels", std::to_string(plan.countKernels()));
  figure("moved", formatBytes(static_cast<int64_t>(plan.bytes())));
  os << "</div>\n";
  if (plan.groups.size() <= kMostDrawnGroups)
    drawGroups(os, plan);
  os << "<details><summary>Groups</summary>\n";
  startTable({"group", "kind", "operators", "predicted", "by themselves",
              "moves", "at least"});
  for (const GroupPlan &group : plan.groups)
    addRow({std::to_string(group.id), group.kind, listOperators(plan, group),
            formatSeconds(group.seconds), formatSeconds(group.aloneSeconds),
            formatBytes(static_cast<int64_t>(group.bytes)),
            formatBytes(static_cast<int64_t>(group.compulsoryBytes))});
  endTable();
  os << "</details>\n<details><summary>What is stored between groups, and why"
        "</summary>\n";
  startTable({"tensor", "size", "from", "to", "why", "rules"});
  for (const StoredTensor &between : plan.stored) {
    const model::GraphTensor &tensor = plan.graph.tensors[between.tensor];
    addRow({tensor.name, formatBytes(tensor.bytes()),
            std::to_string(plan.groups[between.writer].id),
            std::to_string(plan.groups[between.reader].id), between.reason,
            between.rule});
  }
  endTable();
  os << "</details>\n</section>\n";
}

void HtmlWriter::write(ArrayRef<ChainPlan> plans,
                       ArrayRef<GraphPlan> partitions) {
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>Plans</title>\n<style>"
     << kStyle;
  writeColours();
  os << "</style>\n</head>\n<body>\n<h1>Plans</h1>\n";
  writeSummary(plans);
  for (auto [number, plan] : enumerate(plans))
    writeChain(plan, number);
  for (auto [number, plan] : enumerate(partitions))
    writePartition(plan, number);
  os << "</body>\n</html>\n";
}

void report::writeHtml(raw_ostream &os, ArrayRef<ChainPlan> plans,
                       ArrayRef<GraphPlan> partitions) {
  HtmlWriter(os).write(plans, partitions);
}
