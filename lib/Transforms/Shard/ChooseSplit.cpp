//===- ChooseSplit.cpp - Cut a program that does not say how --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSplit.h"

#include "../Graph/BlockGraph.h"
#include "Annotations.h"
#include "Generators.h"

#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/IR/Collectives.h"
#include "Chimera/Model/MemoryGroup.h"
#include "Chimera/Model/SplitSearch.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

double chimera::priceFunction(func::FuncOp function,
                              const model::Machine &machine, int64_t threads) {
  BlockGraph block = readBlock(function.getBody().front());
  double network = 0;
  for (Operation &op : function.getBody().front())
    if (std::optional<model::Collective> collective = getCollective(&op))
      network += machine.network.getSeconds(*collective);
  // A collective is priced by the network alone; what is the same in every call
  // is computed once.
  for (auto [id, op] : llvm::enumerate(block.operations))
    if (getCollective(op) ||
        (op->getNumResults() == 1 &&
         succeeded(findConstantComputation(op->getResult(0)))))
      block.graph.operators[id].plannedSeconds = 0;
  model::MemoryGroupPricer pricer(block.graph, machine, threads);
  return findPartition(block.graph, pricer).seconds + network;
}

namespace {
/// Prices one operator of a block by itself, with one loop cut or none.
class OperatorPricer {
public:
  OperatorPricer(Block &block, const SplitSetting &setting)
      : setting(setting), block(readBlock(block)) {
    for (auto [id, op] : llvm::enumerate(this->block.operations))
      ids[op] = id;
  }

  double getSeconds(Operation *op, int loop) const;
  bool isProduct(Operation *op) const {
    auto id = ids.find(op);
    return id != ids.end() &&
           block.graph.operators[id->second].body == model::BodyKind::Product;
  }

private:
  const SplitSetting &setting;
  BlockGraph block;
  llvm::DenseMap<Operation *, model::OperatorId> ids;
};
} // namespace

double OperatorPricer::getSeconds(Operation *op, int loop) const {
  auto id = ids.find(op);
  if (id == ids.end())
    return 0;
  model::OperatorGraph graph;
  graph.operators.push_back(block.graph.operators[id->second]);
  graph.tensors = block.graph.tensors;
  model::GraphOperator &own = graph.operators.front();
  bool isCut = loop >= 0 && isa<linalg::LinalgOp>(op) &&
               loop < static_cast<int>(own.extents.size());
  if (isCut) {
    own.extents[loop] /= setting.processes;
    auto cut = [&](const model::GraphAccess &access) {
      for (auto [size, index] :
           llvm::zip(graph.tensors[access.tensor].shape, access.indices))
        if (llvm::any_of(index.terms, [&](const auto &term) {
              return static_cast<int>(term.loop) == loop;
            }))
          size /= setting.processes;
    };
    for (const model::GraphAccess &access : own.inputs)
      cut(access);
    for (const model::GraphAccess &access : own.outputs)
      cut(access);
  }
  model::MemoryGroupPricer pricer(graph, setting.machine, setting.threads);
  double seconds = pricer.cost(model::OperatorId(0));
  return loop >= 0 && !isCut ? seconds / setting.processes : seconds;
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

namespace {
/// The operators of a function and the ways to cut each of them.
class ProblemBuilder {
public:
  ProblemBuilder(func::FuncOp function, const SplitSetting &setting)
      : function(function), setting(setting),
        prices(function.getBody().front(), setting) {}

  void build();
  bool isProduct(Operation *op) const { return prices.isProduct(op); }

  model::SplitProblem problem;
  SmallVector<Operation *> operations;

private:
  unsigned getTensorId(Value value);
  void addOperator(Operation &op);
  void addChoices(shard::ShardingInterface op, model::SplitOperator &made);
  std::optional<model::SplitChoice> cut(shard::ShardingInterface op, int loop);
  void requireCutConstants(Operation *op, model::SplitOperator &made);
  bool comesFromConstants(Value value);

  func::FuncOp function;
  const SplitSetting &setting;
  OperatorPricer prices;
  llvm::DenseMap<Value, unsigned> ids;
};
} // namespace

unsigned ProblemBuilder::getTensorId(Value value) {
  auto [known, isNew] = ids.try_emplace(value, problem.tensors.size());
  if (!isNew)
    return known->second;
  RankedTensorType type = getTensor(value);
  model::SplitTensor tensor;
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  Type element = type.getElementType();
  tensor.bytes = type.getNumElements() *
                 (element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : 8);
  tensor.isFree =
      isa<BlockArgument>(value) || isGenerator(value.getDefiningOp());
  problem.tensors.push_back(std::move(tensor));
  return known->second;
}

/// True if `value` is the same in every call.
bool ProblemBuilder::comesFromConstants(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() < function.getNumArguments() &&
           function.getArgAttr(argument.getArgNumber(),
                               ChimeraDialect::getConstantAttrName());
  Operation *op = value.getDefiningOp();
  return !isGenerator(op) &&
         isa<linalg::TransposeOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp>(op) &&
         comesFromConstants(op->getOperand(0));
}

static model::Cut getCut(Value value, const shard::Sharding &sharding) {
  if (!getTensor(value) || !sharding)
    return model::wholeTensor;
  for (auto [dim, axes] : llvm::enumerate(sharding.getSplitAxes()))
    if (!axes.asArrayRef().empty())
      return static_cast<model::Cut>(dim);
  return model::wholeTensor;
}

/// What is computed of weights costs nothing, so of cuts that take the same
/// time any would do. This much for each byte makes it the one with least in
/// memory.
static constexpr double kSecondsOfByte = 1e-18;

/// `op` with `loop` cut, if that can be done.
std::optional<model::SplitChoice>
ProblemBuilder::cut(shard::ShardingInterface op, int loop) {
  Operation *operation = op;
  auto kinds = op.getLoopIteratorTypes();
  model::SplitChoice choice;
  choice.loop = loop;
  shard::ShardingArray axes(kinds.size());
  if (loop >= 0) {
    axes[loop].push_back(0);
    choice.isPartial = kinds[loop] == utils::IteratorType::reduction;
    if (!canCutLoop(op, loop))
      return std::nullopt;
  }
  shard::ShardingOption option(
      axes,
      FlatSymbolRefAttr::get(shard::GridOp(setting.grid).getSymNameAttr()));
  FailureOr<std::vector<shard::Sharding>> shardings =
      op.getShardingAnnotations(option);
  if (failed(shardings))
    return std::nullopt;
  ArrayRef<shard::Sharding> all = *shardings;
  auto operands = all.take_front(operation->getNumOperands()),
       results = all.drop_front(operation->getNumOperands());
  if (loop >= 0) {
    FailureOr<shard::ShardingOption> taken =
        op.getShardingOption(operands, results);
    if (failed(taken) || taken->empty ||
        static_cast<int>(taken->shardingArray.size()) <= loop ||
        taken->shardingArray[loop].empty())
      return std::nullopt;
  }
  auto add = [&](ValueRange values, ArrayRef<shard::Sharding> cuts,
                 SmallVectorImpl<model::Cut> &into) {
    for (auto [value, sharding] : llvm::zip_equal(values, cuts)) {
      RankedTensorType type = getTensor(value);
      if (!type)
        continue;
      model::Cut cut = getCut(value, sharding);
      if (cut != model::wholeTensor &&
          type.getDimSize(cut) % setting.processes != 0)
        return false;
      into.push_back(cut);
    }
    return true;
  };
  if (!add(operation->getOperands(), operands, choice.operands) ||
      !add(operation->getResults(), results, choice.results))
    return std::nullopt;
  Value result = operation->getResult(0);
  if (!comesFromConstants(result))
    choice.seconds = prices.getSeconds(operation, loop);
  else if (loop < 0)
    choice.seconds =
        kSecondsOfByte * problem.tensors[getTensorId(result)].bytes;
  return choice;
}

/// Weights of a model that is cut do not fit one process, as a rule: products
/// have a part of them wherever they can.
void ProblemBuilder::requireCutConstants(Operation *op,
                                         model::SplitOperator &made) {
  if (!prices.isProduct(op))
    return;
  unsigned position = 0;
  for (Value operand : op->getOperands()) {
    RankedTensorType type = getTensor(operand);
    if (!type)
      continue;
    unsigned own = position++;
    if (type.getRank() < 2 || !comesFromConstants(operand))
      continue;
    auto cuts = [&](const model::SplitChoice &choice) {
      return choice.operands[own] != model::wholeTensor;
    };
    if (llvm::any_of(made.choices, cuts))
      llvm::erase_if(made.choices,
                     [&](const auto &choice) { return !cuts(choice); });
  }
}

void ProblemBuilder::addOperator(Operation &op) {
  auto shardable = cast<shard::ShardingInterface>(op);
  model::SplitOperator made;
  for (Value operand : op.getOperands())
    if (getTensor(operand))
      made.operands.push_back(getTensorId(operand));
  for (Value result : op.getResults())
    if (getTensor(result))
      made.results.push_back(getTensorId(result));
  int loops = shardable.getLoopIteratorTypes().size();
  for (int loop = -1; loop < loops; ++loop)
    if (std::optional<model::SplitChoice> choice = cut(shardable, loop))
      made.choices.push_back(std::move(*choice));
  requireCutConstants(&op, made);
  problem.operators.push_back(std::move(made));
  operations.push_back(&op);
}

void ProblemBuilder::build() {
  problem.processes = setting.processes;
  problem.network = setting.machine.network;
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isGenerator(&op) && isa<shard::ShardingInterface>(op) &&
        llvm::any_of(op.getResults(), getTensor))
      addOperator(op);
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (getTensor(result))
      problem.tensors[getTensorId(result)].isResult = true;
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

namespace {
/// Annotates every tensor and every reader of one.
class Annotator {
public:
  Annotator(func::FuncOp function, shard::GridOp grid)
      : function(function), grid(grid), builder(function.getContext()) {}

  void annotate(const ProblemBuilder &problem, const model::Split &split);

private:
  Value makeShard(Value value, model::Cut cut, bool forUsers);
  void define(Value value, model::Cut made, model::Cut kept);
  void read(OpOperand &operand, model::Cut wanted);
  void defineGenerator(Value value, model::Cut cut);

  func::FuncOp function;
  shard::GridOp grid;
  OpBuilder builder;
  /// The forms that each tensor has had so far, first the one that it is in.
  llvm::DenseMap<Value, SmallVector<std::pair<model::Cut, Value>>> forms;
};
} // namespace

Value Annotator::makeShard(Value value, model::Cut cut, bool forUsers) {
  MLIRContext *context = builder.getContext();
  SmallVector<shard::GridAxesAttr> axes(std::max(cut, 0),
                                        shard::GridAxesAttr::get(context, {}));
  axes.push_back(
      cut == model::wholeTensor
          ? shard::GridAxesAttr::get(context, {})
          : shard::GridAxesAttr::get(context, ArrayRef<shard::GridAxis>{0}));
  Value sharding = shard::ShardingOp::create(
      builder, value.getLoc(), FlatSymbolRefAttr::get(grid.getSymNameAttr()),
      ArrayRef(axes));
  return shard::ShardOp::create(builder, value.getLoc(), value.getType(), value,
                                sharding, forUsers);
}

void Annotator::define(Value value, model::Cut made, model::Cut kept) {
  builder.setInsertionPointAfterValue(value);
  Value own = makeShard(value, made, /*forUsers=*/false);
  if (kept != made)
    own = makeShard(own, kept, /*forUsers=*/true);
  forms[value] = {{kept, own}};
}

void Annotator::defineGenerator(Value value, model::Cut cut) {
  for (OpOperand &operand : value.getDefiningOp()->getOpOperands())
    if (getTensor(operand.get())) {
      defineGenerator(operand.get(), cut);
      read(operand, cut);
    }
  define(value, cut, cut);
}

void Annotator::read(OpOperand &operand, model::Cut wanted) {
  Value value = operand.get();
  if (isGenerator(value.getDefiningOp()) && !forms.contains(value))
    defineGenerator(value, wanted);
  auto &known = forms[value];
  auto find = [&](model::Cut cut) {
    return llvm::find_if(ArrayRef(known).drop_front(),
                         [&](const auto &form) { return form.first == cut; });
  };
  const auto *same = find(wanted);
  if (same != known.end())
    return operand.set(same->second);
  const auto *whole = find(model::wholeTensor);
  Value from = known.front().first != wanted && whole != known.end()
                   ? whole->second
                   : known.front().second;
  builder.setInsertionPoint(operand.getOwner());
  Value made = makeShard(from, wanted, /*forUsers=*/true);
  known.push_back({wanted, made});
  operand.set(made);
}

/// How all readers of an argument want it, or whole if they do not agree.
static std::map<unsigned, model::Cut>
findArgumentCuts(const ProblemBuilder &problem, const model::Split &split) {
  std::map<unsigned, model::Cut> cuts;
  for (auto [id, op] : llvm::enumerate(problem.problem.operators))
    for (auto [tensor, cut] :
         llvm::zip_equal(op.operands, op.choices[split.choices[id]].operands)) {
      auto [known, isNew] = cuts.try_emplace(tensor, cut);
      if (!isNew && known->second != cut)
        known->second = model::wholeTensor;
    }
  return cuts;
}

void Annotator::annotate(const ProblemBuilder &problem,
                         const model::Split &split) {
  std::map<unsigned, model::Cut> cuts = findArgumentCuts(problem, split);
  llvm::DenseMap<Value, model::Cut> arguments;
  for (auto [op, figures] :
       llvm::zip_equal(problem.operations, problem.problem.operators)) {
    unsigned position = 0;
    for (Value operand : op->getOperands())
      if (getTensor(operand)) {
        unsigned tensor = figures.operands[position++];
        arguments[operand] = cuts[tensor];
      }
  }
  Operation *end = function.getBody().front().getTerminator();
  for (Value result : end->getOperands())
    if (isa<BlockArgument>(result))
      arguments[result] = model::wholeTensor;
  for (Value argument : function.getArguments())
    if (getTensor(argument)) {
      auto cut = arguments.find(argument);
      model::Cut own =
          cut == arguments.end() ? model::wholeTensor : cut->second;
      define(argument, own, own);
    }
  for (auto [id, op] : llvm::enumerate(problem.operations)) {
    const model::SplitChoice &choice =
        problem.problem.operators[id].choices[split.choices[id]];
    unsigned position = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (getTensor(operand.get()))
        read(operand, choice.operands[position++]);
    position = 0;
    for (Value result : op->getResults())
      if (getTensor(result)) {
        model::Cut made = choice.results[position++];
        define(result, made, choice.isPartial ? split.kept[id] : made);
      }
  }
  for (OpOperand &operand : end->getOpOperands())
    if (getTensor(operand.get()))
      read(operand, model::wholeTensor);
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// True if dimension `dim` of `value` counts groups of columns that a reshape
/// has made of a row, as attention makes its heads.
static bool isOfGroups(Value value, unsigned dim) {
  while (auto transpose = value.getDefiningOp<linalg::TransposeOp>()) {
    dim = transpose.getPermutation()[dim];
    value = transpose.getInput();
  }
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand)
    return false;
  ArrayRef<int64_t> sizes = expand.getResultType().getShape();
  for (const ReassociationIndices &group : expand.getReassociationIndices())
    if (llvm::is_contained(group, dim))
      return llvm::any_of(group, [&](int64_t inner) {
        return inner > static_cast<int64_t>(dim) && sizes[inner] > 1;
      });
  return false;
}

/// What a loop of the product `op` is called.
static StringRef nameProductLoop(linalg::LinalgOp op, unsigned loop) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims))
    return "";
  if (llvm::is_contained(dims->k, loop))
    return "the reduction";
  if (llvm::is_contained(dims->m, loop))
    return "rows";
  if (llvm::is_contained(dims->n, loop))
    return "columns";
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    std::optional<unsigned> dim =
        map.getResultPosition(getAffineDimExpr(loop, op.getContext()));
    if (dim && isOfGroups(operand->get(), *dim))
      return "heads";
  }
  return "the batch";
}

/// A loop of `op` as users know it: by what it is to a product, or the
/// dimension that it indexes.
static std::string nameLoop(Operation *op, unsigned loop, bool isProduct) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    StringRef name = isProduct ? nameProductLoop(structured, loop) : "";
    if (!name.empty())
      return name.str();
    if (structured.getIteratorTypesArray()[loop] ==
        utils::IteratorType::reduction)
      return "the reduction";
  }
  SmallVector<AffineMap> maps =
      cast<shard::ShardingInterface>(op).getIndexingMaps();
  AffineExpr expr = getAffineDimExpr(loop, op->getContext());
  if (auto dim = maps.back().getResultPosition(expr))
    return llvm::formatv("dimension {0} of its result", *dim);
  if (auto dim = maps.front().getResultPosition(expr))
    return llvm::formatv("dimension {0} of what it reads", *dim);
  return llvm::formatv("loop {0}", loop);
}

static std::string describe(const ProblemBuilder &problem, unsigned op,
                            unsigned choice) {
  int loop = problem.problem.operators[op].choices[choice].loop;
  Operation *operation = problem.operations[op];
  StringRef name = operation->getName().stripDialect();
  if (loop < 0)
    return llvm::formatv("{0} whole on all processes", name);
  return llvm::formatv("{0} cut along {1}", name,
                       nameLoop(operation, loop, problem.isProduct(operation)));
}

std::optional<std::string>
chimera::annotateBestSplit(func::FuncOp function, const SplitSetting &setting) {
  ProblemBuilder builder(function, setting);
  builder.build();
  if (builder.problem.operators.empty())
    return std::nullopt;
  for (auto [op, figures] :
       llvm::zip_equal(builder.operations, builder.problem.operators))
    if (figures.choices.empty()) {
      op->emitError("can be neither cut nor whole among what is cut");
      return std::nullopt;
    }
  std::optional<model::Split> best = findSplit(builder.problem);
  if (!best)
    return std::nullopt;
  // What comes next does the longest operator in another way.
  unsigned longest = 0;
  auto secondsOf = [&](unsigned op) {
    double most = 0;
    for (const model::SplitChoice &choice :
         builder.problem.operators[op].choices)
      most = std::max(most, choice.seconds);
    return most;
  };
  for (unsigned op = 0; op < builder.problem.operators.size(); ++op)
    if (secondsOf(op) > secondsOf(longest))
      longest = op;
  model::SplitLimits limits;
  limits.excluded = {{longest, best->choices[longest]}};
  std::optional<model::Split> next = findSplit(builder.problem, limits);
  std::string text = llvm::formatv(
      "operators one by one: {0:F1} us and {1:F1} us for exchanges, with {2}",
      best->computeSeconds * 1e6, best->networkSeconds * 1e6,
      describe(builder, longest, best->choices[longest]));
  text += next ? llvm::formatv(
                     "; with {0} they would take {1:F1} us and {2:F1} us",
                     describe(builder, longest, next->choices[longest]),
                     next->computeSeconds * 1e6, next->networkSeconds * 1e6)
                     .str()
               : "; it cannot be cut in another way";
  if (!best->isOptimal)
    text += " (not proved optimal)";
  Annotator(function, setting.grid).annotate(builder, *best);
  return text;
}
