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

#include "Chimera/Model/GirTemplates.h"
#include "Chimera/Model/MappingType.h"
#include "Chimera/Model/MemoryGroup.h"
#include "Chimera/Target/Target.h"
#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
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

static remark::RemarkOpts named(StringRef name) {
  return remark::RemarkOpts::name(name).category("chimera");
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
      : block(readBlock(block)), memory(this->block.graph, machine, threads),
        planner(memory.getPlanner()), pricer(this->block, memory) {}

  LogicalResult run(PartitionSearchKind search);
  /// Writes each group that waits for memory as a graph of moves.
  void printMoves(llvm::raw_ostream &os, const model::Machine &machine,
                  int64_t threads) const;
  const BlockGraph &getBlock() const { return block; }

private:
  LogicalResult verifyGiven(PartitionSearchKind search);
  LogicalResult verifyChosen();
  void attach();
  void report(PartitionSearchKind search);
  void reportBoundaries();
  std::string explain(unsigned writer, unsigned reader);
  GroupKind getKind(ArrayRef<model::OperatorId> members) const;
  bool passesAnother(unsigned writer, unsigned reader) const;

  BlockGraph block;
  model::MemoryGroupPricer memory;
  const model::MemoryGroupPlanner &planner;
  GivenGroups pricer;
  model::Partition partition;
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

/// True if what `reader` needs of `writer` goes through a third group as well.
bool BlockPartitioner::passesAnother(unsigned writer, unsigned reader) const {
  SmallVector<unsigned> open;
  llvm::DenseSet<unsigned> seen;
  auto visit = [&](unsigned group, bool isFirst) {
    for (model::OperatorId op : partition.groups[group])
      for (model::OperatorId next : planner.getUses().after[op]) {
        unsigned other = groupOf[next];
        if (other == group || (isFirst && other == reader))
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

/// Says for each tensor between two groups why they are two.
void BlockPartitioner::reportBoundaries() {
  const model::GraphUses &uses = planner.getUses();
  for (auto [tensor, readers] : llvm::enumerate(uses.readers)) {
    model::OperatorId writer = uses.producer[tensor];
    if (writer == model::GraphUses::none)
      continue;
    for (model::OperatorId reader : readers) {
      bool isOpaque =
          llvm::any_of(std::array{writer, reader}, [&](model::OperatorId op) {
            return block.graph.operators[op].body == model::BodyKind::Opaque;
          });
      if (groupOf[writer] == groupOf[reader] || isOpaque)
        continue;
      model::MappingType first = classify(block.graph.operators[writer]);
      model::MappingType second = classify(block.graph.operators[reader]);
      std::string text = llvm::formatv(
          "{0} bytes are stored between groups {1} and {2}: {3} (rules for "
          "{4} before {5}: {6})",
          block.graph.tensors[tensor].bytes(),
          getGroup(block.operations[writer]).getId(),
          getGroup(block.operations[reader]).getId(),
          explain(groupOf[writer], groupOf[reader]), describe(first.mapping),
          describe(second.mapping), getWord(combine(first, second).verdict));
      remark::missed(block.operations[reader]->getLoc(), named("boundary"))
          << text;
    }
  }
}

void BlockPartitioner::report(PartitionSearchKind search) {
  // Where nothing is known of anything, there is nothing to say.
  bool isKnown = llvm::any_of(block.graph.operators, [](const auto &op) {
    return op.body != model::BodyKind::Opaque;
  });
  if (!isKnown || !block.operations.front()->getContext()->getRemarkEngine())
    return;
  double apart = separateOperators(block.graph, memory).seconds;
  std::string proof = "chosen by rules";
  if (search == PartitionSearchKind::Exact)
    proof = partition.isProved
                ? "optimal"
                : llvm::formatv("not proved optimal: no partition takes less "
                                "than {0:F1} us",
                                partition.leastSeconds * 1e6)
                      .str();
  remark::passed(block.operations.front()->getLoc(), named("partition"))
      << llvm::formatv("{0} operators in {1} groups: {2:F1} us, by themselves "
                       "{3:F1} us ({4}; {5} ideals, {6} extensions, {7} costs)",
                       block.operations.size(), partition.groups.size(),
                       partition.seconds * 1e6, apart * 1e6, proof,
                       partition.numIdeals, partition.numExtensions,
                       partition.numCosts)
             .str();
  for (const model::GroupMembers &members : partition.groups) {
    std::optional<model::MemoryGroup> group = planner.plan(members);
    if (members.size() < 2 || !group)
      continue;
    double alone = 0;
    for (model::OperatorId op : members)
      alone += memory.cost(op);
    Operation *last = block.operations[members.back()];
    remark::passed(last->getLoc(), named("group"))
        << llvm::formatv("group {0} of {1} operators: {2:F1} us, by themselves "
                         "{3:F1} us; moves {4} bytes, {5} at least",
                         getGroup(last).getId(), members.size(),
                         group->seconds * 1e6, alone * 1e6,
                         static_cast<int64_t>(group->bytes),
                         static_cast<int64_t>(group->compulsoryBytes))
               .str();
  }
  reportBoundaries();
}

LogicalResult BlockPartitioner::run(PartitionSearchKind search) {
  if (failed(verifyGiven(search)))
    return failure();
  switch (search) {
  case PartitionSearchKind::Exact:
    partition = findPartition(block.graph, pricer);
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
  report(search);
  return success();
}

void BlockPartitioner::printMoves(llvm::raw_ostream &os,
                                  const model::Machine &machine,
                                  int64_t threads) const {
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
    for (Block *block : blocks) {
      BlockPartitioner partitioner(*block, machine,
                                   threads == 0 ? machine.cores : threads);
      // Other functions print at the same time.
      std::string text;
      llvm::raw_string_ostream stream(text);
      if (printGraph)
        print(stream, partitioner.getBlock().graph);
      if (failed(partitioner.run(search)))
        return signalPassFailure();
      if (printGir)
        partitioner.printMoves(stream, machine,
                               threads == 0 ? machine.cores : threads);
      llvm::errs() << text;
    }
  }
};
} // namespace
