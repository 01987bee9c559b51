//===- PlanReportJson.cpp - Reports as data -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schema is described in docs/report.md. Figures are in bytes, seconds and
// operations per second; names do not change without a new version.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanReportText.h"

#include "Chimera/Model/Fragments.h"
#include "Chimera/Model/MappingType.h"
#include "Chimera/Model/Routes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;
using namespace chimera;
using namespace chimera::report;

namespace {

class JsonWriter {
public:
  explicit JsonWriter(raw_ostream &os) : json(os, /*IndentSize=*/2) {}

  void write(ArrayRef<ChainPlan> plans, ArrayRef<GraphPlan> partitions);

private:
  void text(StringRef key, StringRef value) {
    json.attribute(key,
                   json::isUTF8(value) ? value.str() : json::fixUTF8(value));
  }
  void number(StringRef key, double value) {
    json.attribute(key, std::isfinite(value) ? json::Value(value) : nullptr);
  }
  template <typename Range, typename Writer>
  void list(StringRef key, const Range &range, Writer writer) {
    json.attributeArray(key, [&] {
      for (const auto &element : range)
        json.object([&] { writer(element); });
    });
  }

  void writeChain(const ChainPlan &plan);
  template <typename PlanT>
  void writeLocation(const PlanT &plan);
  void writePartition(const GraphPlan &plan);
  void writeTarget(const ChainPlan &plan);
  void writeProblem(const model::ChainProblem &problem);
  void writeVerdict(const model::Verdict &verdict);
  void writeLevels(const ChainPlan &plan);
  void writeBound(const model::Bound &bound, int64_t bytes);
  void writePoint(StringRef key, const ChainPlan &plan, unsigned level,
                  ArrayRef<model::KernelReport> kernels);
  void writeKernel(const ChainPlan &plan, const model::KernelReport &kernel);
  void writeRoutes(const ChainPlan &plan, const model::KernelReport &kernel);
  void writeFragments(const ChainPlan &plan, const model::KernelReport &kernel);
  void writeTree(const model::KernelReport &kernel);
  void writeLevel(const model::KernelReport &kernel, unsigned index);
  void writePlan(const model::ChainProblem &problem, const model::Plan &plan);
  void writeForm(const model::KernelReport &kernel);

  json::OStream json;
};

} // namespace

void JsonWriter::writeTarget(const ChainPlan &plan) {
  const model::Machine &machine = plan.machine;
  text("name", machine.name);
  json.attribute("cores", machine.cores);
  if (!machine.levels.empty())
    number("peak_flops", model::peakFlops(machine, plan.threads));
  list("levels", machine.levels, [&](const model::MemoryLevel &level) {
    text("name", level.name);
    json.attribute("capacity_bytes", level.capacityBytes);
    json.attribute("usable_bytes", level.usableBytes());
    number("bytes_per_second", model::bandwidthInto(level, plan.threads));
    json.attribute("sharers", level.sharers);
  });
}

void JsonWriter::writeProblem(const model::ChainProblem &problem) {
  list("loops", problem.loops, [&](const model::Loop &loop) {
    text("name", loop.name);
    json.attribute("extent", loop.extent);
  });
  list("tensors", problem.tensors, [&](const model::Tensor &tensor) {
    text("name", tensor.name);
    text("role", describe(tensor.role));
    json.attributeArray("shape", [&] {
      for (int64_t size : tensor.shape)
        json.value(size);
    });
    json.attribute("element_bytes", tensor.elementBytes);
    json.attribute("is_stored", tensor.isStored);
  });
  list("operators", problem.operators, [&](const model::Operator &op) {
    text("name", op.name);
    text("computes", describeOperator(problem, op));
    json.attribute("multiply_adds", problem.multiplyAdds(op));
  });
}

void JsonWriter::writeVerdict(const model::Verdict &verdict) {
  if (verdict.unit.empty())
    return;
  json.attributeObject("figures", [&] {
    number("first", verdict.figures[0]);
    number("second", verdict.figures[1]);
    text("unit", verdict.unit);
    if (!verdict.level.empty())
      text("level", verdict.level);
  });
}

void JsonWriter::writeBound(const model::Bound &bound, int64_t bytes) {
  json.attributeObject("bound", [&] {
    json.attribute("bytes", bound.bytes);
    text("kind", model::describe(bound.kind));
    text("term", model::describe(bound.term));
    json.attribute("looseness", bound.looseness > 0
                                    ? json::Value(bound.looseness)
                                    : nullptr);
    json.attribute("ratio",
                   bound.bytes > 0
                       ? json::Value(static_cast<double>(bytes) / bound.bytes)
                       : nullptr);
  });
}

void JsonWriter::writePoint(StringRef key, const ChainPlan &plan,
                            unsigned level,
                            ArrayRef<model::KernelReport> kernels) {
  if (kernels.empty())
    return json.attribute(key, nullptr);
  model::RooflinePoint point = model::placeUnderRoof(
      plan.machine, plan.threads, level, plan.problem.multiplyAdds(),
      ChainPlan::bytesOf(kernels, level), ChainPlan::secondsOf(kernels));
  json.attributeObject(key, [&] {
    number("flop_per_byte", point.intensity);
    number("attainable_flops", point.attainable);
    number("predicted_flops", point.flops);
  });
}

void JsonWriter::writeLevels(const ChainPlan &plan) {
  UnfusedFigures unfused = getUnfused(plan);
  json.attributeArray("levels", [&] {
    for (unsigned index = 0; index < plan.machine.levels.size(); ++index)
      json.object([&] {
        int64_t bytes = ChainPlan::bytesOf(plan.kernels, index);
        text("name", plan.machine.levels[index].name);
        json.attribute("bytes", bytes);
        json.attribute(
            "fused_bytes",
            plan.verdict.fused
                ? json::Value(plan.verdict.fused->levels[index].bytes)
                : nullptr);
        json.attribute("unfused_bytes", unfused.isKnown
                                            ? json::Value(unfused.bytes[index])
                                            : nullptr);
        writeBound(plan.bounds[index], bytes);
        json.attributeObject("roofline", [&] {
          writePoint("plan", plan, index, plan.kernels);
          writePoint("alternative", plan, index, plan.alternative);
        });
      });
  });
}

void JsonWriter::writeTree(const model::KernelReport &kernel) {
  list("tree", listTree(kernel), [&](const TreeLine &line) {
    json.attribute("depth", line.depth);
    if (line.op) {
      text("operator", kernel.problem.operators[*line.op].name);
      text("tiles", line.tiles);
      return;
    }
    text("loop", line.loop);
    json.attribute("tile", line.tile);
    json.attribute("extent", line.extent);
    text("level", line.level);
    json.attribute("parallel", line.isParallel);
    json.attribute("combined", line.isSplit);
  });
}

void JsonWriter::writeLevel(const model::KernelReport &kernel, unsigned index) {
  const model::ChainProblem &problem = kernel.problem;
  const model::LevelCost &cost = kernel.plan.levels[index];
  const model::LevelReport &level = kernel.levels[index];
  text("name", cost.name);
  json.attribute("bytes", cost.bytes);
  json.attribute("written_bytes", cost.writtenBytes);
  json.attribute("live_bytes", cost.liveBytes);
  json.attribute("capacity_bytes", cost.capacityBytes);
  number("seconds", cost.seconds);
  writeBound(level.bound, cost.bytes);
  json.attributeArray("tensors", [&] {
    for (auto [tensor, traffic] :
         zip_equal(problem.tensors, level.evaluation.traffic))
      json.object([&, &tensor = tensor, &traffic = traffic] {
        text("name", tensor.name);
        json.attribute("read_bytes", traffic.readBytes);
        json.attribute("written_bytes", traffic.writeBytes);
      });
  });
  json.attributeArray("live", [&] {
    for (auto [id, op] : enumerate(problem.operators))
      json.object([&, id = id, &op = op] {
        text("operator", op.name);
        json.attribute("bytes", level.evaluation.liveAt[id]);
        json.attributeArray("buffers", [&] {
          for (const model::LiveBuffer &buffer : level.buffers)
            if (buffer.during >> id & 1)
              json.object([&] {
                text("tensor", problem.tensors[buffer.tensor].name);
                json.attribute("bytes", buffer.bytes);
              });
        });
      });
  });
}

void JsonWriter::writePlan(const model::ChainProblem &problem,
                           const model::Plan &plan) {
  number("seconds", plan.seconds);
  number("compute_seconds", plan.computeSeconds);
  text("limited_by", describeBottleneck(plan));
  json.attribute("multiply_adds", plan.multiplyAdds);
  json.attribute("tasks", plan.tasks);
  text("order", describeOrder(problem, plan.schedule));
}

void JsonWriter::writeForm(const model::KernelReport &kernel) {
  std::optional<model::FormComparison> found =
      model::compareWithForm(kernel.problem, kernel.plan);
  if (!found)
    return;
  auto orderOf = [&](ArrayRef<model::TiledLoop> entries) {
    json.attributeArray("tiles", [&] {
      for (const model::TiledLoop &entry : entries)
        json.object([&] {
          text("loop", kernel.problem.loops[entry.loop].name);
          json.attribute("tile", entry.tile);
        });
    });
  };
  const model::ClosedForm &form = found->form;
  json.attributeObject("closed_form", [&] {
    text("level", kernel.plan.levels[found->level].name);
    text("family", form.family);
    json.attributeObject("real", [&] {
      list("tiles", form.realTiles, [&](std::pair<unsigned, double> tile) {
        text("loop", kernel.problem.loops[tile.first].name);
        number("tile", tile.second);
      });
      number("bytes", form.realBytes);
    });
    json.attributeObject("rounded", [&] {
      orderOf(form.order);
      json.attribute("bytes", form.bytes);
    });
    json.attributeObject("exact", [&] {
      orderOf(found->exact.levels[0].order);
      json.attribute("bytes", found->exactBytes);
    });
  });
}

void JsonWriter::writeRoutes(const ChainPlan &plan,
                             const model::KernelReport &kernel) {
  model::RoutePlan routes = model::planRoutes(
      kernel.problem, plan.machine, kernel.plan.schedule, plan.threads);
  json.attribute("launches", routes.launches);
  list("routes", routes.routes, [&](const model::RouteTraffic &route) {
    text("from", route.source);
    text("to", route.destination);
    json.attribute("bytes", route.bytes);
  });
  list("memories", routes.memories, [&](const model::MemoryUse &memory) {
    text("name", memory.name);
    json.attribute("bytes", memory.bytes);
    json.attribute("capacity_bytes", memory.capacityBytes);
  });
}

void JsonWriter::writeFragments(const ChainPlan &plan,
                                const model::KernelReport &kernel) {
  model::FragmentPlan fragments =
      model::planFragments(kernel.problem, plan.machine, kernel.plan.schedule);
  json.attributeObject("fragments", [&] {
    json.attribute("groups", fragments.groups);
    json.attribute("row_tiles", fragments.rowTiles);
    json.attribute("registers", fragments.registers);
    json.attribute("available_registers", fragments.availableRegisters);
    json.attribute("factor_bytes", fragments.factorBytes);
    json.attribute("stages", fragments.stages);
  });
}

void JsonWriter::writeKernel(const ChainPlan &plan,
                             const model::KernelReport &kernel) {
  const model::RegisterTile &tile = kernel.plan.schedule.registerTile;
  json.attributeArray("operators", [&] {
    for (const model::Operator &op : kernel.problem.operators)
      json.value(op.name);
  });
  writePlan(kernel.problem, kernel.plan);
  json.attributeObject("register_tile", [&] {
    json.attribute("rows", tile.rows);
    json.attribute("vectors", tile.vectors);
    json.attribute("broadcasts", tile.broadcasts);
    json.attribute("depth", tile.depth);
  });
  writeTree(kernel);
  json.attributeArray("levels", [&] {
    for (unsigned level = 0; level < kernel.levels.size(); ++level)
      json.object([&] { writeLevel(kernel, level); });
  });
  writeForm(kernel);
  if (model::hasRoutes(kernel.problem, plan.machine))
    writeRoutes(plan, kernel);
  if (model::hasFragments(kernel.problem, plan.machine))
    writeFragments(plan, kernel);
}

template <typename PlanT>
void JsonWriter::writeLocation(const PlanT &plan) {
  json.attributeObject("location", [&] {
    text("file", plan.file);
    json.attribute("line", plan.line);
    json.attribute("column", plan.column);
    text("function", plan.function);
  });
}

void JsonWriter::writeChain(const ChainPlan &plan) {
  writeLocation(plan);
  text("verdict", getText(plan.outcome));
  text("explanation", plan.explanation);
  writeVerdict(plan.verdict);
  text("obstacle", plan.obstacle);
  text("element_type", plan.elementType);
  json.attribute("threads", plan.threads);
  json.attributeObject("target", [&] { writeTarget(plan); });
  writeProblem(plan.problem);
  UnfusedFigures unfused = getUnfused(plan);
  bool isPlanned = !plan.kernels.empty();
  json.attribute("seconds",
                 isPlanned ? json::Value(ChainPlan::secondsOf(plan.kernels))
                           : nullptr);
  json.attribute("fused_seconds", plan.verdict.fused
                                      ? json::Value(plan.verdict.fused->seconds)
                                      : nullptr);
  json.attribute("unfused_seconds",
                 unfused.isKnown ? json::Value(unfused.seconds) : nullptr);
  if (isPlanned)
    writeLevels(plan);
  auto kernel = [&](const model::KernelReport &kernel) {
    writeKernel(plan, kernel);
  };
  list("kernels", plan.kernels, kernel);
  list("alternative", plan.alternative, kernel);
  list("runners_up", plan.verdict.runnersUp, [&](const model::Plan &candidate) {
    writePlan(plan.problem, candidate);
  });
}

void JsonWriter::writePartition(const GraphPlan &plan) {
  writeLocation(plan);
  text("target", plan.target);
  json.attribute("threads", plan.threads);
  number("seconds", plan.seconds);
  number("separate_seconds", plan.separateSeconds);
  text("proof", plan.proof);
  list("operators", plan.graph.operators, [&](const model::GraphOperator &op) {
    text("name", op.name);
    text("mapping", model::describe(model::classify(op).mapping));
  });
  list("groups", plan.groups, [&](const GroupPlan &group) {
    json.attribute("id", group.id);
    text("kind", group.kind);
    json.attributeArray("operators", [&] {
      for (model::OperatorId op : group.operators)
        json.value(op);
    });
    json.attribute("is_kernel", group.isKernel);
    number("seconds", group.seconds);
    number("separate_seconds", group.aloneSeconds);
    number("bytes", group.bytes);
    number("least_bytes", group.compulsoryBytes);
  });
  list("stored", plan.stored, [&](const StoredTensor &between) {
    const model::GraphTensor &tensor = plan.graph.tensors[between.tensor];
    text("tensor", tensor.name);
    json.attribute("bytes", tensor.bytes());
    json.attribute("from", plan.groups[between.writer].id);
    json.attribute("to", plan.groups[between.reader].id);
    text("reason", between.reason);
    text("rules", between.rule);
  });
}

void JsonWriter::write(ArrayRef<ChainPlan> plans,
                       ArrayRef<GraphPlan> partitions) {
  json.object([&] {
    json.attribute("schema", "chimera-plans");
    json.attribute("version", 1);
    list("chains", plans, [&](const ChainPlan &plan) { writeChain(plan); });
    list("partitions", partitions,
         [&](const GraphPlan &plan) { writePartition(plan); });
  });
}

void report::writeJson(raw_ostream &os, ArrayRef<ChainPlan> plans,
                       ArrayRef<GraphPlan> partitions) {
  JsonWriter(os).write(plans, partitions);
  os << '\n';
}
