//===- Plan.cpp - What the planner decided --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/ScheduleConversion.h"
#include "Chimera/Runner/Report.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;

//===----------------------------------------------------------------------===//
// Loop tree
//===----------------------------------------------------------------------===//

namespace {
/// Draws the loop tree of a schedule with one line per loop and operator.
class TreeDrawing {
public:
  TreeDrawing(ChainAnalysis &analysis, const model::Schedule &schedule)
      : analysis(analysis), schedule(schedule) {
    for (const model::LevelSchedule &level : schedule.levels)
      for (const model::TiledLoop &loop : level.order)
        order.push_back({loop.loop, level.name});
  }

  std::string draw() {
    model::LoopNest tree = model::buildLoopTree(analysis.problem, schedule,
                                                schedule.levels.size() - 1);
    SmallVector<int64_t> tiles;
    for (const model::Loop &loop : analysis.problem.loops)
      tiles.push_back(loop.extent);
    drawNest(tree, 0, tiles);
    return text;
  }

private:
  void drawNest(const model::LoopNest &nest, unsigned depth,
                SmallVector<int64_t> tiles) {
    for (const model::NestLoop &loop : nest.loops)
      drawLoop(loop, depth++, tiles);
    for (const model::LoopNest &part : nest.parts)
      drawNest(part, depth, tiles);
    if (nest.parts.empty())
      drawOperator(nest.firstOperator, depth);
  }

  void drawLoop(const model::NestLoop &nest, unsigned depth,
                SmallVectorImpl<int64_t> &tiles) {
    const model::Loop &loop = analysis.problem.loops[nest.loop];
    StringRef level = schedule.levels[nest.level].name;
    os.indent(2 * depth) << "for " << loop.name << " by " << nest.tile << " of "
                         << tiles[nest.loop] << "  (" << level;
    if (isParallel(nest.loop, level)) {
      bool isSplit = analysis.problem.operators.back().rescaledBy == nest.loop;
      os << (isSplit ? ", parallel, combined" : ", parallel");
    }
    os << ")\n";
    tiles[nest.loop] = nest.tile;
  }

  void drawOperator(unsigned index, unsigned depth) {
    const model::Operator &op = analysis.problem.operators[index];
    SmallVector<int64_t, 8> tiles = model::tilesAt(
        analysis.problem, schedule, schedule.levels.size() - 1, index);
    os.indent(2 * depth) << op.name;
    for (model::LoopId loop : op.loops)
      os << ' ' << analysis.problem.loops[loop].name << '=' << tiles[loop];
    if (op.hasEpilogue)
      os << ", then elementwise";
    if (llvm::is_contained(schedule.rolling, op.output.tensor))
      os << ", of which only what is new";
    os << '\n';
  }

  bool isParallel(model::LoopId loop, StringRef level) const {
    auto parallel =
        ArrayRef(order).take_front(static_cast<size_t>(schedule.numParallel));
    return llvm::any_of(parallel, [&](const auto &entry) {
      return entry.first == loop && entry.second == level;
    });
  }

  ChainAnalysis &analysis;
  const model::Schedule &schedule;
  /// All loops of the order with their levels.
  SmallVector<std::pair<model::LoopId, StringRef>> order;
  /// The tile of each loop at the place that is being drawn.
  std::string text;
  llvm::raw_string_ostream os{text};
};
} // namespace

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

static void describeOrder(ScheduleAttr schedule, ChainReport &report) {
  for (LevelScheduleAttr level : schedule.getLevels())
    for (TiledLoopAttr loop : level.getOrder())
      report.order.push_back(
          {level.getName().str(), loop.getName().str(), loop.getTile()});
}

static void describeRegisters(ScheduleAttr schedule, ChainAnalysis &analysis,
                              llvm::raw_ostream &os) {
  RegisterTileAttr tile = schedule.getRegisters();
  os << "register tile " << tile.getRows() << " rows x " << tile.getVectors()
     << " vectors, " << tile.getBroadcasts() << " for broadcasts, "
     << tile.getDepth() << " deep";
  if (StringAttr kernel = tile.getKernel())
    os << ", by micro kernel " << kernel;
  if (tile.getStages() > 0)
    os << ", " << tile.getStages() << " copies of tiles that are filled again";
  os << '\n';
  auto list = [&](StringRef what, ArrayRef<int64_t> inputs) {
    if (inputs.empty())
      return;
    os << what << " inputs ";
    llvm::interleaveComma(inputs, os, [&](int64_t position) {
      os << position;
      for (auto [tensor, value] :
           llvm::zip(analysis.problem.tensors, analysis.tensors)) {
        auto argument = dyn_cast<BlockArgument>(value);
        if (argument && argument.getArgNumber() == position) {
          os << " (" << tensor.name << ")";
          return;
        }
      }
    });
    os << '\n';
  };
  list("packed", schedule.getPacked());
  list("staged", schedule.getStaged());
  list("prepacked", schedule.getPrepacked());
  if (!schedule.getHeld().empty())
    os << "sums held through the reduction\n";
}

static void describeSchedule(ChainOp chain, ScheduleAttr attribute,
                             ChainAnalysis &analysis, ChainReport &report) {
  FailureOr<model::Schedule> schedule =
      convertSchedule(chain, attribute, analysis);
  if (failed(schedule) || schedule->levels.empty())
    return;
  report.drawing = TreeDrawing(analysis, *schedule).draw();
  llvm::raw_string_ostream os(report.drawing);
  describeRegisters(attribute, analysis, os);
}

static std::string describeOperator(const model::Operator &op) {
  return op.hasEpilogue ? op.name + " + elementwise" : op.name;
}

static void describePlan(PlanAttr plan, ChainReport &report) {
  report.verdict = stringifyVerdict(plan.getVerdict()).str();
  report.reason = plan.getReason().str();
  report.operators = plan.getOperators();
  report.seconds = 1e-9 * static_cast<double>(plan.getNanoseconds());
  report.unfusedSeconds =
      1e-9 * static_cast<double>(plan.getUnfusedNanoseconds());
  for (LevelPlanAttr level : plan.getLevels())
    report.levels.push_back({level.getName().str(), level.getPredicted(),
                             level.getUnfused(), level.getBound(),
                             level.getCapacity(), level.getUsed()});
}

/// True for contractions and convolutions, but not for pools.
static bool isContraction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && (linalg::isaContractionOpInterface(linalgOp) ||
                      multipliesTensors(linalgOp));
}

static ChainReport describeChain(ChainOp chain) {
  ChainReport report;
  chain.walk([&](linalg::LinalgOp op) {
    if (isContraction(op))
      ++report.operators;
  });
  // A chain that no plan fits has no schedule and is dissolved.
  report.verdict = "unfused";
  report.reason = "no schedule fits the target";
  if (PlanAttr plan = chain.getPlanAttr())
    describePlan(plan, report);
  ScheduleAttr schedule = chain.getScheduleAttr();
  if (schedule)
    describeOrder(schedule, report);
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, /*emitErrors=*/false);
  if (failed(analysis))
    return report;
  for (const model::Operator &op : analysis->problem.operators)
    report.operatorNames.push_back(describeOperator(op));
  if (schedule)
    describeSchedule(chain, schedule, *analysis, report);
  return report;
}

double chimera::runner::getPredictedSeconds(const PlanReport &plan) {
  double seconds = 0;
  for (const ChainReport &chain : plan.chains)
    seconds += chain.seconds;
  return seconds;
}

bool chimera::runner::isPreparation(const GraphPlan &partition,
                                    ArrayRef<GraphPlan> all) {
  return llvm::any_of(all, [&](const GraphPlan &other) {
    return partition.function == other.function + "_prepare";
  });
}

double chimera::runner::getPredictedSeconds(ArrayRef<GraphPlan> partitions) {
  double seconds = 0;
  for (const GraphPlan &partition : partitions)
    if (!isPreparation(partition, partitions))
      seconds += partition.seconds;
  return seconds;
}

PlanReport chimera::runner::describePlan(func::FuncOp function) {
  PlanReport report;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto chain = dyn_cast<ChainOp>(op)) {
      report.chains.push_back(describeChain(chain));
      return WalkResult::skip();
    }
    if (isContraction(op))
      ++report.contractionsOutside;
    return WalkResult::advance();
  });
  return report;
}
