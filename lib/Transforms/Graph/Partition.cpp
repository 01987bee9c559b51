//===- Partition.cpp - Which operators of a function run together ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model decides; this pass reads the graph, writes the groups down, and
// says for each tensor between two groups why they are two.
//
//===----------------------------------------------------------------------===//

#include "Graph/BlockGraph.h"
#include "NamedRemarks.h"
#include "Sizes/PlannedTypes.h"

#include "Chimera/Model/GirTemplates.h"
#include "Chimera/Model/MappingType.h"
#include "Chimera/Model/MemoryGroup.h"
#include "Chimera/Report/GraphReport.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace chimera {
#define GEN_PASS_DEF_PARTITIONPASS
#include "Chimera/Transforms/Passes.h.inc"
} // namespace chimera

using namespace mlir;
using namespace chimera;

static GroupAttr getGroup(Operation *op) {
  return op->getAttrOfType<GroupAttr>(ChimeraDialect::getGroupAttrName());
}

namespace {

/// Keeps groups that are given as they are: no others join them, and none of
/// theirs is left out.
class GivenGroups : public model::GroupPricer {
public:
  GivenGroups(const BlockGraph &block, model::GroupPricer &pricer)
      : pricer(pricer) {
    for (auto [id, op] : llvm::enumerate(block.operations)) {
      GroupAttr group = getGroup(op);
      groupOf.push_back(group ? group.getId() : none);
      if (group)
        members[group.getId()].push_back(id);
    }
  }

  /// The operators of each group that is given, by id.
  const std::map<int64_t, model::GroupMembers> &getGroups() const {
    return members;
  }

  bool mayGrow(ArrayRef<model::OperatorId> set) override {
    return llvm::all_of(set,
                        [&](model::OperatorId op) {
                          return groupOf[op] == groupOf[set.front()];
                        }) &&
           pricer.mayGrow(set);
  }
  bool isLegal(ArrayRef<model::OperatorId> set) override {
    auto given = members.find(groupOf[set.front()]);
    return mayGrow(set) &&
           (given == members.end() || set == ArrayRef(given->second)) &&
           pricer.isLegal(set);
  }
  double bound(ArrayRef<model::OperatorId> set) override {
    return pricer.bound(set);
  }
  double cost(ArrayRef<model::OperatorId> set) override {
    auto given = members.find(groupOf[set.front()]);
    // One that is alone is legal for the search in any case.
    if (given != members.end() && set != ArrayRef(given->second))
      return std::numeric_limits<double>::infinity();
    return pricer.cost(set);
  }

private:
  static constexpr int64_t none = -1;
  model::GroupPricer &pricer;
  SmallVector<int64_t> groupOf;
  std::map<int64_t, model::GroupMembers> members;
};

/// Partitions the operators of one block.
class BlockPartitioner {
public:
  BlockPartitioner(Block &block, const model::Machine &machine, int64_t threads)
      : block(readBlock(block)), machine(machine), threads(threads),
        memory(this->block.graph, machine, threads),
        planner(memory.getPlanner()), pricer(this->block, memory) {}

  /// Takes the cheapest partition, one of the next best (`rank`), or one by
  /// rules.
  LogicalResult run(PartitionSearchKind search, unsigned rank);
  /// Writes each group that waits for memory as a graph of moves.
  void printMoves(llvm::raw_ostream &os) const;
  const BlockGraph &getBlock() const { return block; }

private:
  LogicalResult verifyGiven(PartitionSearchKind search);
  LogicalResult verifyChosen();
  void search(unsigned rank);
  void attach();
  void report(PartitionSearchKind search);
  GraphPlan describePartition(PartitionSearchKind search);
  GroupPlan describeGroup(ArrayRef<model::OperatorId> members);
  std::vector<StoredTensor> describeBoundaries();
  void noteRemarks(const GraphPlan &plan);
  std::string explain(unsigned writer, unsigned reader);
  GroupKind getKind(ArrayRef<model::OperatorId> members) const;
  bool passesAnother(unsigned writer, unsigned reader) const;

  BlockGraph block;
  const model::Machine &machine;
  int64_t threads;
  model::MemoryGroupPricer memory;
  const model::MemoryGroupPlanner &planner;
  GivenGroups pricer;
  model::Partition partition;
  /// It is one of the next best, as was asked for.
  bool isRunnerUp = false;
  /// The index of each operator's group in the partition.
  SmallVector<unsigned> groupOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Groups that are given
//===----------------------------------------------------------------------===//

/// Fails with an error if a group that is given cannot run as one.
LogicalResult BlockPartitioner::verifyGiven(PartitionSearchKind search) {
  if (search != PartitionSearchKind::Exact && !pricer.getGroups().empty())
    return block.operations[pricer.getGroups().begin()->second.front()]
               ->emitError("has a group, which only the exact search keeps; "
                           "drop '")
           << ChimeraDialect::getGroupAttrName() << "', or the option 'search'";
  for (const auto &[id, members] : pricer.getGroups()) {
    model::GroupRefusal refusal = model::GroupRefusal::None;
    if (members.size() > 1 && !planner.plan(members, &refusal))
      return block.operations[members.back()]->emitError()
             << "group " << id << " of '" << ChimeraDialect::getGroupAttrName()
             << "' cannot run as one: " << describe(refusal)
             << "; give them other ids, or drop the attribute";
  }
  return success();
}

/// Fails with an error if there is no partition with the groups given.
LogicalResult BlockPartitioner::verifyChosen() {
  if (std::isfinite(partition.seconds))
    return success();
  for (const model::GroupMembers &members : partition.groups) {
    Operation *op = block.operations[members.front()];
    if (!getGroup(op) || std::isfinite(pricer.cost(members)))
      continue;
    return op->emitError() << "group " << getGroup(op).getId() << " of '"
                           << ChimeraDialect::getGroupAttrName()
                           << "' cannot run as one: its operators have nothing "
                              "in common, or depend on each other through "
                              "another group; give them other ids, or drop "
                              "the attribute";
  }
  return block.operations.front()->emitError(
      "no partition takes a finite time; check the figures of the target");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

GroupKind BlockPartitioner::getKind(ArrayRef<model::OperatorId> members) const {
  const model::GraphOperator &first = block.graph.operators[members.front()];
  if (first.body == model::BodyKind::Product)
    return GroupKind::Chain;
  if (first.body == model::BodyKind::Opaque)
    return GroupKind::Opaque;
  return members.size() > 1 ? GroupKind::Memory : GroupKind::Single;
}

/// Writes the groups down. Ids count up in the order in which groups can run;
/// those that are given stay.
void BlockPartitioner::attach() {
  groupOf.assign(block.operations.size(), 0);
  int64_t next = 0;
  auto isTaken = [&](int64_t id) { return pricer.getGroups().count(id) > 0; };
  for (auto [index, members] : llvm::enumerate(partition.groups)) {
    for (model::OperatorId op : members)
      groupOf[op] = index;
    if (getGroup(block.operations[members.front()]))
      continue;
    while (isTaken(next))
      ++next;
    for (model::OperatorId id : members) {
      Operation *op = block.operations[id];
      auto mapping =
          static_cast<Mapping>(classify(block.graph.operators[id]).mapping);
      op->setAttr(
          ChimeraDialect::getGroupAttrName(),
          GroupAttr::get(op->getContext(), next, getKind(members), mapping));
    }
    ++next;
  }
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// True if what `reader` needs of `writer` goes through a third group as well,
/// which then runs between both.
bool BlockPartitioner::passesAnother(unsigned writer, unsigned reader) const {
  SmallVector<unsigned> open;
  llvm::DenseSet<unsigned> seen;
  auto visit = [&](unsigned group, bool isFirst) {
    for (model::OperatorId op : partition.groups[group])
      for (model::OperatorId next : planner.getUses().after[op]) {
        unsigned other = groupOf[next];
        if (other == group || other > reader || (isFirst && other == reader))
          continue;
        if (seen.insert(other).second)
          open.push_back(other);
      }
  };
  visit(writer, /*isFirst=*/true);
  while (!open.empty()) {
    unsigned group = open.pop_back_val();
    if (group == reader)
      return true;
    visit(group, /*isFirst=*/false);
  }
  return false;
}

/// Why two groups, one of which reads what the other makes, are not one.
std::string BlockPartitioner::explain(unsigned writer, unsigned reader) {
  if (passesAnother(writer, reader))
    return "a third group runs between them";
  model::GroupMembers both = partition.groups[writer];
  both.append(partition.groups[reader]);
  llvm::sort(both);
  if (!pricer.mayGrow(both) && memory.mayGrow(both))
    return "one of them was given";
  model::GroupRefusal refusal = model::GroupRefusal::None;
  std::optional<model::MemoryGroup> group = planner.plan(both, &refusal);
  if (!group)
    return describe(refusal).str();
  double apart = memory.cost(partition.groups[writer]) +
                 memory.cost(partition.groups[reader]);
  return llvm::formatv("together they take {0:F1} us, by themselves {1:F1} us",
                       group->seconds * 1e6, apart * 1e6);
}

static StringRef getWord(model::FusionRule::Verdict verdict) {
  switch (verdict) {
  case model::FusionRule::Verdict::Fuse:
    return "fuse";
  case model::FusionRule::Verdict::Ask:
    return "ask";
  case model::FusionRule::Verdict::Refuse:
    return "refuse";
  }
  llvm_unreachable("unknown verdict");
}

/// The tensors between two groups, and why these are two. Of several readers in
/// one group, the first stands for all.
std::vector<StoredTensor> BlockPartitioner::describeBoundaries() {
  std::vector<StoredTensor> stored;
  const model::GraphUses &uses = planner.getUses();
  for (auto [tensor, readers] : llvm::enumerate(uses.readers)) {
    model::OperatorId writer = uses.producer[tensor];
    if (writer == model::GraphUses::none)
      continue;
    for (model::OperatorId reader : readers) {
      bool isKnown = groupOf[writer] == groupOf[reader] ||
                     (!stored.empty() && stored.back().tensor == tensor &&
                      stored.back().reader == groupOf[reader]);
      if (isKnown)
        continue;
      model::MappingType first = classify(block.graph.operators[writer]);
      model::MappingType second = classify(block.graph.operators[reader]);
      StoredTensor between;
      between.tensor = tensor;
      between.readingOperator = reader;
      between.writer = groupOf[writer];
      between.reader = groupOf[reader];
      between.reason = explain(groupOf[writer], groupOf[reader]);
      between.rule =
          llvm::formatv("{0} before {1}: {2}", describe(first.mapping),
                        describe(second.mapping),
                        getWord(combine(first, second).verdict))
              .str();
      stored.push_back(std::move(between));
    }
  }
  return stored;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Bytes of what `members` read from outside and write for outside.
static double countOuterBytes(const model::OperatorGraph &graph,
                              const model::GraphUses &uses,
                              ArrayRef<model::OperatorId> members) {
  llvm::SmallDenseSet<model::TensorId> outer;
  for (model::OperatorId op : members) {
    for (const model::GraphAccess &input : graph.operators[op].inputs)
      if (!llvm::is_contained(members, uses.producer[input.tensor]))
        outer.insert(input.tensor);
    for (const model::GraphAccess &output : graph.operators[op].outputs)
      if (graph.tensors[output.tensor].isResult ||
          !llvm::all_of(uses.readers[output.tensor], [&](auto reader) {
            return llvm::is_contained(members, reader);
          }))
        outer.insert(output.tensor);
  }
  double bytes = 0;
  for (model::TensorId tensor : outer)
    bytes += graph.tensors[tensor].bytes();
  return bytes;
}

GroupPlan BlockPartitioner::describeGroup(ArrayRef<model::OperatorId> members) {
  GroupPlan plan;
  const model::GraphOperator &first = block.graph.operators[members.front()];
  plan.id = getGroup(block.operations[members.front()]).getId();
  plan.kind = stringifyGroupKind(getKind(members)).str();
  plan.operators.assign(members.begin(), members.end());
  plan.seconds = memory.cost(members);
  for (model::OperatorId op : members)
    plan.aloneSeconds += memory.cost(op);
  // Of what nothing is known, loops and operations on whole tensors take time.
  Operation *op = block.operations[members.front()];
  plan.isKernel = first.body == model::BodyKind::Opaque
                      ? op->getNumRegions() > 0
                      : !isView(first);
  if (isView(first) || first.body == model::BodyKind::Opaque)
    return plan;
  plan.compulsoryBytes = plan.bytes =
      countOuterBytes(block.graph, planner.getUses(), members);
  if (first.plannedSeconds)
    plan.bytes = first.plannedBytes;
  else if (std::optional<model::MemoryGroup> group = planner.plan(members)) {
    plan.bytes = group->bytes;
    plan.compulsoryBytes = group->compulsoryBytes;
  }
  return plan;
}

GraphPlan BlockPartitioner::describePartition(PartitionSearchKind search) {
  GraphPlan plan;
  Operation *first = block.operations.front();
  first->getLoc()->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    plan.file = file.getFilename().str();
    plan.line = file.getLine();
    plan.column = file.getColumn();
    return WalkResult::interrupt();
  });
  plan.function = first->getParentOfType<func::FuncOp>().getName().str();
  plan.target = machine.name;
  plan.threads = threads;
  plan.graph = block.graph;
  for (const model::GroupMembers &members : partition.groups)
    plan.groups.push_back(describeGroup(members));
  plan.stored = describeBoundaries();
  plan.seconds = partition.seconds;
  plan.separateSeconds = separateOperators(block.graph, memory).seconds;
  plan.proof = "chosen by rules";
  if (search == PartitionSearchKind::Exact)
    plan.proof = isRunnerUp ? "not the cheapest, as asked for"
                 : partition.isProved
                     ? "optimal"
                     : llvm::formatv("not proved optimal: no partition takes "
                                     "less than {0:F1} us",
                                     partition.leastSeconds * 1e6)
                           .str();
  return plan;
}

/// Says what was decided: of the block, of each group of several operators, and
/// of each tensor between two groups of which something is known.
void BlockPartitioner::noteRemarks(const GraphPlan &plan) {
  remark::passed(block.operations.front()->getLoc(), named("partition"))
      << llvm::formatv("{0} operators in {1} groups: {2:F1} us, by themselves "
                       "{3:F1} us ({4}; {5} ideals, {6} extensions, {7} costs)",
                       block.operations.size(), plan.groups.size(),
                       plan.seconds * 1e6, plan.separateSeconds * 1e6,
                       plan.proof, partition.numIdeals, partition.numExtensions,
                       partition.numCosts)
             .str();
  for (const GroupPlan &group : plan.groups)
    if (group.operators.size() > 1)
      remark::passed(block.operations[group.operators.back()]->getLoc(),
                     named("group"))
          << llvm::formatv("group {0} of {1} operators: {2:F1} us, by "
                           "themselves {3:F1} us; moves {4} bytes, {5} at "
                           "least",
                           group.id, group.operators.size(),
                           group.seconds * 1e6, group.aloneSeconds * 1e6,
                           static_cast<int64_t>(group.bytes),
                           static_cast<int64_t>(group.compulsoryBytes))
                 .str();
  auto isOpaque = [&](unsigned group) {
    return plan.groups[group].kind == stringifyGroupKind(GroupKind::Opaque);
  };
  for (const StoredTensor &between : plan.stored)
    if (!isOpaque(between.writer) && !isOpaque(between.reader))
      remark::missed(block.operations[between.readingOperator]->getLoc(),
                     named("boundary"))
          << llvm::formatv("{0} bytes are stored between groups {1} and {2}: "
                           "{3} (rules for {4})",
                           block.graph.tensors[between.tensor].bytes(),
                           plan.groups[between.writer].id,
                           plan.groups[between.reader].id, between.reason,
                           between.rule)
                 .str();
}

/// True if `op` is part of a loop.
static bool isInLoop(Operation *op) {
  return op->getParentOfType<LoopLikeOpInterface>() != nullptr;
}

void BlockPartitioner::report(PartitionSearchKind search) {
  // Where nothing is known of anything, there is nothing to say. Loops are
  // mostly those of chains, of which others say what they do.
  bool isKnown = llvm::any_of(block.graph.operators, [](const auto &op) {
    return op.body != model::BodyKind::Opaque;
  });
  if (!isKnown || isInLoop(block.operations.front()))
    return;
  MLIRContext *context = block.operations.front()->getContext();
  auto *listener = context->getLoadedDialect<ChimeraDialect>()
                       ->getRegisteredInterface<GraphListener>();
  if (!listener && !context->getRemarkEngine())
    return;
  GraphPlan plan = describePartition(search);
  if (context->getRemarkEngine())
    noteRemarks(plan);
  if (listener)
    listener->partitioned(std::move(plan));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Finds the cheapest partition, or the next best that is asked for.
void BlockPartitioner::search(unsigned rank) {
  std::vector<model::Partition> found =
      findPartitions(block.graph, pricer, size_t(rank) + 1);
  isRunnerUp = rank > 0 && rank < found.size();
  partition = std::move(found[isRunnerUp ? rank : 0]);
  if (rank > 0 && !isRunnerUp && !block.operations.empty())
    remark::missed(block.operations.front()->getLoc(), named("rank"))
        << llvm::formatv("there are {0} partitions besides the cheapest, which "
                         "is kept",
                         found.size() - 1)
               .str();
}

LogicalResult BlockPartitioner::run(PartitionSearchKind kind, unsigned rank) {
  if (failed(verifyGiven(kind)))
    return failure();
  switch (kind) {
  case PartitionSearchKind::Exact:
    search(rank);
    break;
  case PartitionSearchKind::Greedy:
    partition = partitionGreedily(block.graph, pricer);
    break;
  case PartitionSearchKind::Separate:
    partition = separateOperators(block.graph, pricer);
    break;
  }
  if (failed(verifyChosen()))
    return failure();
  attach();
  report(kind);
  return success();
}

void BlockPartitioner::printMoves(llvm::raw_ostream &os) const {
  for (const model::GroupMembers &members : partition.groups) {
    if (getKind(members) != GroupKind::Memory)
      continue;
    os << "group " << getGroup(block.operations[members.front()]).getId();
    model::GirRefusal refusal;
    std::optional<model::GirChoice> choice =
        chooseGir(block.graph, members, machine, threads, &refusal);
    if (!choice) {
      os << ": " << describe(refusal) << "\n";
      continue;
    }
    os << llvm::formatv(": {0} bytes move, {1} at least, {2:F1} us\n",
                        static_cast<int64_t>(choice->bytesIntoOutermost),
                        static_cast<int64_t>(choice->compulsoryBytes),
                        choice->seconds * 1e6)
       << printGir(choice->graph);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PartitionPass : chimera::impl::PartitionPassBase<PartitionPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (failed(verifyPlanningOptions(function, target, threads)))
      return signalPassFailure();
    SmallVector<Block *> blocks;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ChainOp, BlockOp, MicroKernelOp, linalg::LinalgOp, scf::ForallOp,
              scf::ParallelOp>(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return WalkResult::advance();
    });
    FailureOr<TargetAttrInterface> found = resolveTarget(function, target);
    if (failed(found))
      return signalPassFailure();
    model::Machine machine = found->getCommonFigures();
    PlannedTypes planned(function);
    for (Block *block : blocks) {
      BlockPartitioner partitioner(*block, machine,
                                   threads == 0 ? machine.cores : threads);
      // Other functions print at the same time.
      std::string text;
      llvm::raw_string_ostream stream(text);
      if (printGraph)
        print(stream, partitioner.getBlock().graph);
      if (failed(partitioner.run(search, rank)))
        return signalPassFailure();
      if (printGir)
        partitioner.printMoves(stream);
      llvm::errs() << text;
    }
  }
};
} // namespace
