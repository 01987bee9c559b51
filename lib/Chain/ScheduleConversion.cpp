//===- ScheduleConversion.cpp - Schedules to and from attributes ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Chain/ScheduleConversion.h"

#include <functional>

using namespace mlir;
using namespace chimera;

/// The loop that the schedule calls `name`.
static FailureOr<model::LoopId> findLoop(ChainOp chain, StringRef name,
                                         const model::ChainProblem &problem) {
  for (auto [id, loop] : llvm::enumerate(problem.loops))
    if (loop.name == name)
      return id;
  InFlightDiagnostic diagnostic = chain.emitError("schedule names loop '")
                                  << name << "', but the chain's loops are ";
  llvm::interleaveComma(
      problem.loops, diagnostic,
      [&](const model::Loop &known) { diagnostic << known.name; });
  return failure();
}

/// Loops have their names from the chain's body, which a pass may have changed
/// since the schedule was made: then a name can mean another loop.
static LogicalResult verifyExtents(ChainOp chain, ScheduleAttr attribute,
                                   const model::ChainProblem &problem) {
  for (LoopExtentAttr loop : attribute.getExtents()) {
    FailureOr<model::LoopId> id = findLoop(chain, loop.getName(), problem);
    if (failed(id))
      return failure();
    if (int64_t extent = problem.loops[*id].extent; extent != loop.getExtent())
      return chain.emitError("schedule was made for a loop '")
             << loop.getName() << "' of " << loop.getExtent()
             << " iterations, but the chain's has " << extent
             << ": the chain has changed since; drop the schedule and run "
                "chimera-schedule again";
  }
  return success();
}

/// Adds what the operators call `inputs`, which the schedule `verb`s: an input
/// that is read in several ways is as many tensors.
static LogicalResult addTensors(ChainOp chain, ArrayRef<int64_t> inputs,
                                StringRef verb, const ChainAnalysis &analysis,
                                SmallVectorImpl<model::TensorId> &tensors) {
  for (int64_t input : inputs) {
    if (input >= static_cast<int64_t>(chain.getInputs().size()))
      return chain.emitError("schedule ")
             << verb << " input " << input << ", but the chain has "
             << chain.getInputs().size();
    Value argument = chain.getBody().getArgument(input);
    size_t numBefore = tensors.size();
    for (auto [id, value] : llvm::enumerate(analysis.tensors))
      if (value == argument)
        tensors.push_back(id);
    if (tensors.size() == numBefore)
      return chain.emitError("schedule ")
             << verb << " input " << input
             << ", which is no tensor that an operator reads";
  }
  return success();
}

/// Of an input that is read in several ways, those are packed that can be.
static LogicalResult addPacked(ChainOp chain, ScheduleAttr attribute,
                               const ChainAnalysis &analysis,
                               model::Schedule &schedule) {
  auto canBePacked = [&](model::TensorId tensor) {
    model::Schedule only;
    only.packed = {tensor};
    return !llvm::errorToBool(model::verifyPacked(analysis.problem, only));
  };
  for (int64_t input : attribute.getPacked()) {
    SmallVector<model::TensorId> tensors;
    if (failed(addTensors(chain, input, "packs", analysis, tensors)))
      return failure();
    if (llvm::any_of(tensors, canBePacked))
      llvm::erase_if(tensors, std::not_fn(canBePacked));
    schedule.packed.append(tensors.begin(), tensors.end());
  }
  return success();
}

/// The loops around which kernels ask for data, as attribute and model call
/// them.
static constexpr std::pair<PrefetchLoops, model::Prefetching::Loops>
    prefetchLoops[] = {{PrefetchLoops::None, model::Prefetching::Loops::None},
                       {PrefetchLoops::Fixed, model::Prefetching::Loops::Fixed},
                       {PrefetchLoops::Any, model::Prefetching::Loops::Any}};

static model::Prefetching convertPrefetch(PrefetchAttr attribute) {
  auto loops = llvm::find_if(prefetchLoops, [&](const auto &pair) {
    return pair.first == attribute.getLoops();
  });
  return {attribute.getPart(), loops->second};
}

PrefetchAttr chimera::getPrefetchAttr(MLIRContext *context,
                                      const model::Prefetching &prefetch) {
  if (prefetch == model::Prefetching())
    return {};
  auto loops = llvm::find_if(prefetchLoops, [&](const auto &pair) {
    return pair.second == prefetch.loops;
  });
  return PrefetchAttr::get(context, prefetch.partBytes, loops->first);
}

static model::OperatorSet toSet(ArrayRef<int64_t> operators) {
  model::OperatorSet set = 0;
  for (int64_t op : operators)
    set |= model::OperatorSet(1) << op;
  return set;
}

static SmallVector<int64_t> toList(model::OperatorSet set) {
  SmallVector<int64_t> operators;
  for (int64_t op = 0; op < 32; ++op)
    if (set >> op & 1)
      operators.push_back(op);
  return operators;
}

static std::optional<model::BlockForms> convertBlocks(BlocksAttr attribute) {
  if (!attribute)
    return std::nullopt;
  model::BlockForms forms;
  if (RowLayoutAttr rows = attribute.getRows())
    forms.rows = {rows.getLine(), rows.getApart()};
  forms.ahead = toSet(attribute.getAhead());
  forms.repeated = toSet(attribute.getRepeated());
  forms.base2 = toSet(attribute.getBase2());
  forms.clips = attribute.getClip();
  forms.folds = attribute.getFold();
  if (PrefetchAttr prefetch = attribute.getPrefetch())
    forms.prefetch = convertPrefetch(prefetch);
  return forms;
}

static BlocksAttr convertBlocks(MLIRContext *context,
                                const std::optional<model::BlockForms> &forms) {
  if (!forms)
    return {};
  RowLayoutAttr rows;
  if (forms->rows)
    rows =
        RowLayoutAttr::get(context, forms->rows->lineBytes, forms->rows->apart);
  return BlocksAttr::get(context, rows, toList(forms->ahead),
                         toList(forms->repeated), toList(forms->base2),
                         getPrefetchAttr(context, forms->prefetch),
                         forms->clips, forms->folds);
}

FailureOr<model::Schedule>
chimera::convertSchedule(ChainOp chain, ScheduleAttr attribute,
                         const ChainAnalysis &analysis) {
  const model::ChainProblem &problem = analysis.problem;
  if (failed(verifyExtents(chain, attribute, problem)))
    return failure();
  model::Schedule schedule;
  unsigned numOperators = problem.operators.size();
  model::OperatorSet everyone =
      numOperators < 32 ? (model::OperatorSet(1) << numOperators) - 1 : ~0u;
  // What the levels so far leave of each loop to each operator.
  std::vector<SmallVector<int64_t>> extents(numOperators);
  for (auto &left : extents)
    for (const model::Loop &loop : problem.loops)
      left.push_back(loop.extent);

  for (LevelScheduleAttr level : attribute.getLevels()) {
    model::LevelSchedule &order = schedule.levels.emplace_back();
    order.name = level.getName().str();
    for (TiledLoopAttr loop : level.getOrder()) {
      FailureOr<model::LoopId> id = findLoop(chain, loop.getName(), problem);
      if (failed(id))
        return failure();
      model::OperatorSet around = toSet(loop.getOperators());
      if (around & ~everyone)
        return chain.emitError("schedule puts loop '")
               << loop.getName() << "' around an operator that the chain does "
               << "not have; it has " << numOperators;
      for (unsigned op = 0; op < numOperators; ++op) {
        if (around && !(around >> op & 1))
          continue;
        if (loop.getTile() > extents[op][*id])
          return chain.emitError("schedule gives loop '")
                 << loop.getName() << "' a tile of " << loop.getTile()
                 << " at level '" << level.getName()
                 << "', but its extent there "
                 << "is " << extents[op][*id];
        extents[op][*id] = loop.getTile();
      }
      order.order.push_back({*id, loop.getTile(), around});
    }
  }

  schedule.numParallel = attribute.getParallel();
  schedule.blocks = convertBlocks(attribute.getBlocks());
  RegisterTileAttr registers = attribute.getRegisters();
  schedule.registerTile = {registers.getRows(), registers.getVectors(),
                           registers.getBroadcasts(), registers.getDepth()};
  if (StringAttr kernel = registers.getKernel())
    schedule.registerTile.kernel = kernel.str();
  schedule.registerTile.part = registers.getPart();
  schedule.registerTile.stages = registers.getStages();
  if (failed(addPacked(chain, attribute, analysis, schedule)) ||
      failed(addTensors(chain, attribute.getStaged(), "stages", analysis,
                        schedule.staged)) ||
      failed(addTensors(chain, attribute.getPrepacked(), "prepacks", analysis,
                        schedule.prepacked)))
    return failure();
  for (StringAttr name : attribute.getRolling()) {
    auto tensor = llvm::find_if(problem.tensors, [&](const auto &known) {
      return known.name == name.getValue();
    });
    if (tensor == problem.tensors.end())
      return chain.emitError("schedule names rolling tensor ")
             << name << ", which the chain does not have";
    schedule.rolling.push_back(tensor - problem.tensors.begin());
  }
  schedule.held = toSet(attribute.getHeld());
  return schedule;
}

RegisterTileAttr chimera::getRegisterTileAttr(MLIRContext *context,
                                              const model::RegisterTile &tile) {
  StringAttr kernel = tile.kernel.empty()
                          ? StringAttr()
                          : StringAttr::get(context, tile.kernel);
  return RegisterTileAttr::get(context, tile.rows, tile.vectors,
                               tile.broadcasts, tile.depth, kernel, tile.part,
                               tile.stages);
}

/// The loops that a schedule for `analysis` is made for.
static SmallVector<LoopExtentAttr> getExtents(MLIRContext *context,
                                              const ChainAnalysis &analysis) {
  SmallVector<LoopExtentAttr> extents;
  for (const model::Loop &loop : analysis.problem.loops)
    extents.push_back(LoopExtentAttr::get(context, loop.name, loop.extent));
  return extents;
}

ScheduleAttr chimera::complete(ScheduleAttr attribute,
                               const model::Schedule &schedule,
                               const ChainAnalysis &analysis) {
  MLIRContext *context = attribute.getContext();
  return ScheduleAttr::get(
      context, attribute.getLevels(), attribute.getParallel(),
      attribute.getRegisters(), attribute.getPacked(), attribute.getStaged(),
      attribute.getPrepacked(), attribute.getRolling(), attribute.getHeld(),
      getExtents(context, analysis), convertBlocks(context, schedule.blocks));
}

ScheduleAttr chimera::convertSchedule(MLIRContext *context,
                                      const model::Schedule &schedule,
                                      const ChainAnalysis &analysis) {
  SmallVector<LevelScheduleAttr> levels;
  for (const model::LevelSchedule &level : schedule.levels) {
    SmallVector<TiledLoopAttr> order;
    for (const model::TiledLoop &loop : level.order)
      order.push_back(TiledLoopAttr::get(context,
                                         analysis.problem.loops[loop.loop].name,
                                         loop.tile, toList(loop.operators)));
    levels.push_back(LevelScheduleAttr::get(context, level.name, order));
  }
  auto inputsOf = [&](ArrayRef<model::TensorId> tensors) {
    llvm::SmallSetVector<int64_t, 4> inputs;
    for (model::TensorId tensor : tensors)
      if (auto argument = dyn_cast<BlockArgument>(analysis.tensors[tensor]))
        inputs.insert(argument.getArgNumber());
    return inputs.takeVector();
  };
  SmallVector<StringAttr> rolling;
  for (model::TensorId tensor : schedule.rolling)
    rolling.push_back(
        StringAttr::get(context, analysis.problem.tensors[tensor].name));
  return ScheduleAttr::get(context, levels, schedule.numParallel,
                           getRegisterTileAttr(context, schedule.registerTile),
                           inputsOf(schedule.packed), inputsOf(schedule.staged),
                           inputsOf(schedule.prepacked), rolling,
                           toList(schedule.held), getExtents(context, analysis),
                           convertBlocks(context, schedule.blocks));
}
