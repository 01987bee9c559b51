//===- PlanReportMarkdown.cpp - Reports as text ---------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanReportText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace chimera;
using namespace chimera::report;

namespace {

using Row = SmallVector<std::string, 8>;

/// A table whose columns line up in the text, too.
class Table {
public:
  explicit Table(Row header) { rows.push_back(std::move(header)); }

  void add(Row row) { rows.push_back(std::move(row)); }
  void write(raw_ostream &os) const {
    SmallVector<size_t, 8> widths(rows[0].size(), 3);
    for (const Row &row : rows)
      for (auto [width, cell] : zip_equal(widths, row))
        width = std::max(width, cell.size());
    for (const auto &[index, row] : enumerate(rows)) {
      for (auto [width, cell] : zip_equal(widths, row))
        os << "| " << left_justify(cell, width) << ' ';
      os << "|\n";
      if (index > 0)
        continue;
      for (size_t width : widths)
        os << '|' << std::string(width + 2, '-');
      os << "|\n";
    }
    os << '\n';
  }

private:
  std::vector<Row> rows;
};

class MarkdownWriter {
public:
  explicit MarkdownWriter(raw_ostream &os) : os(os) {}

  void write(ArrayRef<ChainPlan> plans, ArrayRef<GraphPlan> partitions);

private:
  void writeSummary(ArrayRef<ChainPlan> plans);
  void writeChain(const ChainPlan &plan, size_t number);
  void writePartition(const GraphPlan &plan, size_t number);
  void writeProblem(const model::ChainProblem &problem);
  void writeLevels(const ChainPlan &plan);
  void writeRooflines(const ChainPlan &plan);
  void writeKernel(const model::KernelReport &kernel);
  void writeTree(const model::KernelReport &kernel);
  void writeTimes(const model::KernelReport &kernel);
  void writeForm(const model::KernelReport &kernel);
  void writeTraffic(const model::KernelReport &kernel);
  void writeLive(const model::KernelReport &kernel);
  void writeRunnersUp(const ChainPlan &plan);
  void writeAlternative(const ChainPlan &plan);

  raw_ostream &os;
};

} // namespace

void MarkdownWriter::writeProblem(const model::ChainProblem &problem) {
  os << "Loops: ";
  interleaveComma(problem.loops, os, [&](const model::Loop &loop) {
    os << loop.name << " = " << loop.extent;
  });
  os << ".\n\n";
  Table operators({"operator", "computes", "multiply-adds"});
  for (const model::Operator &op : problem.operators)
    operators.add({op.name, "`" + describeOperator(problem, op) + "`",
                   std::to_string(problem.multiplyAdds(op))});
  operators.write(os);
  Table tensors({"tensor", "role", "shape", "size"});
  for (auto [id, tensor] : enumerate(problem.tensors))
    tensors.add(
        {tensor.name,
         describe(tensor.role).str() + (tensor.isStored ? ", stored" : ""),
         describeShape(tensor),
         formatBytes(problem.sizeOf(id) * tensor.elementBytes)});
  tensors.write(os);
}

void MarkdownWriter::writeLevels(const ChainPlan &plan) {
  os << "### Bytes moved into and out of each level\n\n";
  UnfusedFigures unfused = getUnfused(plan);
  Table table({"level", "this plan", "one kernel", "separate operators",
               "bound", "this plan / bound", "what the bound rests on"});
  for (auto [index, level] : enumerate(plan.machine.levels)) {
    int64_t bytes = ChainPlan::bytesOf(plan.kernels, index);
    const model::Bound &bound = plan.bounds[index];
    table.add({level.name, formatBytes(bytes),
               plan.verdict.fused
                   ? formatBytes(plan.verdict.fused->levels[index].bytes)
                   : "-",
               unfused.isKnown ? formatBytes(unfused.bytes[index]) : "-",
               formatBytes(bound.bytes),
               bound.bytes > 0
                   ? formatRatio(static_cast<double>(bytes) / bound.bytes)
                   : "-",
               describeBound(bound)});
  }
  table.write(os);
}

void MarkdownWriter::writeRooflines(const ChainPlan &plan) {
  os << "### Roofline\n\n";
  Table table({"level", "bandwidth", "plan", "FLOP per byte", "attainable",
               "predicted"});
  int64_t work = plan.problem.multiplyAdds();
  for (auto [index, level] : enumerate(plan.machine.levels)) {
    auto add = [&, index = index, &level = level](StringRef name, int64_t bytes,
                                                  double seconds) {
      model::RooflinePoint point = model::placeUnderRoof(
          plan.machine, plan.threads, index, work, bytes, seconds);
      table.add({level.name,
                 formatBandwidth(model::bandwidthInto(level, plan.threads)),
                 name.str(), formatRatio(point.intensity),
                 formatFlops(point.attainable), formatFlops(point.flops)});
    };
    add("this plan", ChainPlan::bytesOf(plan.kernels, index),
        ChainPlan::secondsOf(plan.kernels));
    if (plan.alternative.empty())
      continue;
    add(plan.outcome == ChainOutcome::Fused ? "separate operators"
                                            : "one kernel",
        ChainPlan::bytesOf(plan.alternative, index),
        ChainPlan::secondsOf(plan.alternative));
  }
  table.write(os);
}

void MarkdownWriter::writeTree(const model::KernelReport &kernel) {
  os << "```\n";
  for (const TreeLine &line : listTree(kernel)) {
    os.indent(2 * line.depth);
    if (line.op) {
      const model::Operator &op = kernel.problem.operators[*line.op];
      os << op.name << ' ' << line.tiles
         << (op.hasEpilogue ? ", then element by element\n" : "\n");
      continue;
    }
    os << "for " << line.loop << " by " << line.tile << " of " << line.extent
       << "  (" << line.describeLevel() << ")\n";
  }
  os << "```\n\nRegister tile: "
     << describeRegisters(kernel.problem, kernel.plan) << ".\n\n";
}

void MarkdownWriter::writeTimes(const model::KernelReport &kernel) {
  const model::Plan &plan = kernel.plan;
  os << "Predicted " << formatSeconds(plan.seconds) << ", limited by "
     << describeBottleneck(plan) << "; arithmetic alone takes "
     << formatSeconds(plan.computeSeconds) << ".";
  if (std::string again = describeRecomputation(kernel.problem, plan);
      !again.empty())
    os << " There are " << again << ".";
  os << "\n\n";
  Table table({"level", "in", "out", "time", "live", "capacity", "filled",
               "bound for this kernel"});
  for (auto [level, detail] : zip_equal(plan.levels, kernel.levels))
    table.add(
        {level.name, formatBytes(level.bytes - level.writtenBytes),
         formatBytes(level.writtenBytes), formatSeconds(level.seconds),
         formatBytes(level.liveBytes), formatBytes(level.capacityBytes),
         formatv("{0:F0} %", 100.0 * level.liveBytes /
                                 std::max<int64_t>(1, level.capacityBytes)),
         formatBytes(detail.bound.bytes)});
  table.write(os);
}

/// What rounding and further loops change of the closed form.
void MarkdownWriter::writeForm(const model::KernelReport &kernel) {
  std::optional<FormTable> form = describeForm(kernel);
  if (!form)
    return;
  os << form->title << ":\n\n";
  Table table({"from", "tiles", "volume"});
  for (const FormLine &line : form->lines)
    table.add({line.source, line.order, formatBytes(line.bytes)});
  table.write(os);
}

void MarkdownWriter::writeTraffic(const model::KernelReport &kernel) {
  Row header = {"tensor"};
  for (const model::LevelCost &level : kernel.plan.levels) {
    header.push_back(level.name + " in");
    header.push_back(level.name + " out");
  }
  Table table(header);
  for (auto [id, tensor] : enumerate(kernel.problem.tensors)) {
    Row row = {tensor.name};
    for (const model::LevelReport &level : kernel.levels) {
      const model::Traffic &traffic = level.evaluation.traffic[id];
      row.push_back(formatBytes(traffic.readBytes));
      row.push_back(formatBytes(traffic.writeBytes));
    }
    table.add(row);
  }
  os << "Bytes by tensor:\n\n";
  table.write(os);
}

void MarkdownWriter::writeLive(const model::KernelReport &kernel) {
  Table table({"level", "while", "live", "of", "made up of"});
  for (auto [cost, level] : zip_equal(kernel.plan.levels, kernel.levels))
    for (auto [index, op] : enumerate(kernel.problem.operators)) {
      std::string parts;
      for (const model::LiveBuffer &buffer : level.buffers)
        if (buffer.during >> index & 1)
          parts += (parts.empty() ? "" : ", ") +
                   kernel.problem.tensors[buffer.tensor].name + " " +
                   formatBytes(buffer.bytes);
      table.add({cost.name, op.name,
                 formatBytes(level.evaluation.liveAt[index]),
                 formatBytes(cost.capacityBytes), parts});
    }
  os << "What the levels hold while each operator runs:\n\n";
  table.write(os);
}

void MarkdownWriter::writeKernel(const model::KernelReport &kernel) {
  os << "### Kernel " << listOperators(kernel.problem) << "\n\n";
  writeTree(kernel);
  writeTimes(kernel);
  writeForm(kernel);
  writeTraffic(kernel);
  writeLive(kernel);
}

void MarkdownWriter::writeRunnersUp(const ChainPlan &plan) {
  if (!plan.verdict.fused || plan.verdict.runnersUp.empty())
    return;
  os << "### Other loop orders\n\nOf the whole chain as one kernel.\n\n";
  Table table({"order", "predicted", "against the best", "limited by"});
  double best = plan.verdict.fused->seconds;
  auto add = [&](const model::Plan &candidate, std::string loss) {
    table.add({describeOrder(plan.problem, candidate.schedule),
               formatSeconds(candidate.seconds), std::move(loss),
               describeBottleneck(candidate)});
  };
  add(*plan.verdict.fused, "best");
  for (const model::Plan &candidate : plan.verdict.runnersUp)
    add(candidate, formatLoss(candidate.seconds, best));
  table.write(os);
}

void MarkdownWriter::writeAlternative(const ChainPlan &plan) {
  if (plan.alternative.empty())
    return;
  os << "### Not chosen: "
     << (plan.outcome == ChainOutcome::Fused ? "separate operators"
                                             : "one kernel")
     << "\n\n";
  for (const model::KernelReport &kernel : plan.alternative) {
    os << "Kernel " << listOperators(kernel.problem) << ":\n\n";
    writeTree(kernel);
    writeTimes(kernel);
  }
}

void MarkdownWriter::writeChain(const ChainPlan &plan, size_t number) {
  os << "## Chain " << number << ": " << listOperators(plan.problem) << "\n\n"
     << "**" << getText(plan.outcome) << "**: " << describeReason(plan)
     << ".\n\n"
     << "- at " << describePlace(plan) << "\n- for " << describeMachine(plan)
     << '\n';
  if (!plan.kernels.empty())
    os << "- predicted " << formatSeconds(ChainPlan::secondsOf(plan.kernels))
       << '\n';
  if (plan.verdict.fused)
    os << "- as one kernel " << formatSeconds(plan.verdict.fused->seconds)
       << '\n';
  if (UnfusedFigures unfused = getUnfused(plan); unfused.isKnown)
    os << "- as separate operators " << formatSeconds(unfused.seconds) << '\n';
  if (!plan.obstacle.empty())
    os << "- no code can be generated yet: " << plan.obstacle << '\n';
  os << '\n';
  writeProblem(plan.problem);
  if (plan.kernels.empty())
    return;
  writeLevels(plan);
  writeRooflines(plan);
  for (const model::KernelReport &kernel : plan.kernels)
    writeKernel(kernel);
  writeRunnersUp(plan);
  writeAlternative(plan);
}

void MarkdownWriter::writeSummary(ArrayRef<ChainPlan> plans) {
  if (plans.empty()) {
    os << "No chain was planned.\n";
    return;
  }
  Table table({"chain", "operators", "verdict", "predicted",
               "separate operators", "place"});
  for (auto [number, plan] : enumerate(plans)) {
    UnfusedFigures unfused = getUnfused(plan);
    table.add({std::to_string(number), listOperators(plan.problem),
               getText(plan.outcome).str(),
               plan.kernels.empty()
                   ? "-"
                   : formatSeconds(ChainPlan::secondsOf(plan.kernels)),
               unfused.isKnown ? formatSeconds(unfused.seconds) : "-",
               describePlace(plan)});
  }
  table.write(os);
}

void MarkdownWriter::writePartition(const GraphPlan &plan, size_t number) {
  os << "## Partition " << number << "\n\n"
     << plan.graph.operators.size() << " operators in " << plan.groups.size()
     << " groups: " << formatSeconds(plan.seconds) << ", by themselves "
     << formatSeconds(plan.separateSeconds) << " (" << plan.proof
     << ").\n\n- at " << describePlace(plan) << "\n- for " << plan.target
     << ", " << plan.threads << (plan.threads == 1 ? " thread" : " threads")
     << "\n- " << plan.countKernels() << " kernels move "
     << formatBytes(static_cast<int64_t>(plan.bytes())) << "\n\n";
  Table groups({"group", "kind", "operators", "predicted", "by themselves",
                "moves", "at least"});
  for (const GroupPlan &group : plan.groups)
    groups.add({std::to_string(group.id), group.kind,
                listOperators(plan, group), formatSeconds(group.seconds),
                formatSeconds(group.aloneSeconds),
                formatBytes(static_cast<int64_t>(group.bytes)),
                formatBytes(static_cast<int64_t>(group.compulsoryBytes))});
  groups.write(os);
  if (plan.stored.empty())
    return;
  os << "What is stored between groups:\n\n";
  Table stored({"tensor", "size", "from", "to", "why", "rules"});
  for (const StoredTensor &between : plan.stored) {
    const model::GraphTensor &tensor = plan.graph.tensors[between.tensor];
    stored.add({tensor.name, formatBytes(tensor.bytes()),
                std::to_string(plan.groups[between.writer].id),
                std::to_string(plan.groups[between.reader].id), between.reason,
                between.rule});
  }
  stored.write(os);
}

void MarkdownWriter::write(ArrayRef<ChainPlan> plans,
                           ArrayRef<GraphPlan> partitions) {
  os << "# Plans\n\n";
  writeSummary(plans);
  for (auto [number, plan] : enumerate(plans))
    writeChain(plan, number);
  for (auto [number, plan] : enumerate(partitions))
    writePartition(plan, number);
}

void report::writeMarkdown(raw_ostream &os, ArrayRef<ChainPlan> plans,
                           ArrayRef<GraphPlan> partitions) {
  MarkdownWriter(os).write(plans, partitions);
}
