//===- PaperGroups.cpp - Kernels of whole networks by the paper's rules ---===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the groups that the search of Gao et al. and TVM's rules find for
// exported programs, as JSON. Rules alone decide here: no group is refused
// because no code could be made of it.
//
// The paper counts operators as Relay has them, so programs are brought close
// to that: what is computed from constants is gone, padding is a part of what
// reads it, and the bias of a convolution is an operator. Reshapes and slices,
// for which no code runs, are kernels neither before nor after.
//
//   chimera-paper-groups FILE.mlir...
//
//===----------------------------------------------------------------------===//

#include "Graph/BlockGraph.h"

#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/InitAll.h"
#include "Chimera/Model/MemoryGroup.h"
#include "Chimera/Model/PaperPartition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace chimera;

namespace {

/// Makes operators that a framework would have of those of a block.
class FrameworkGraph {
public:
  explicit FrameworkGraph(Block &block) : block(readBlock(block)) {
    for (auto [op, from] :
         llvm::zip_equal(this->block.operations, this->block.graph.operators))
      add(*op, from);
    graph.tensors = std::move(this->block.graph.tensors);
    graph.tensors.append(added);
  }

  model::OperatorGraph take() { return std::move(graph); }

private:
  void add(Operation &source, model::GraphOperator op);
  void addBias(model::GraphOperator &product);

  BlockGraph block;
  model::OperatorGraph graph;
  SmallVector<model::GraphTensor, 0> added;
  /// What is read in place of a tensor with padding.
  llvm::DenseMap<model::TensorId, model::TensorId> unpadded;
};

/// Prices nothing and lets rules decide.
class AnyGroup : public model::GroupPricer {
public:
  bool mayGrow(ArrayRef<model::OperatorId>) override { return true; }
  bool isLegal(ArrayRef<model::OperatorId>) override { return true; }
  double bound(ArrayRef<model::OperatorId>) override { return 0; }
  double cost(ArrayRef<model::OperatorId>) override { return 0; }
};

} // namespace

void FrameworkGraph::add(Operation &source, model::GraphOperator op) {
  if (llvm::all_of(source.getResults(), isSameInEveryCall))
    return;
  for (model::GraphAccess &input : op.inputs)
    if (auto found = unpadded.find(input.tensor); found != unpadded.end())
      input.tensor = found->second;
  if (isa<tensor::PadOp>(source)) {
    unpadded[op.outputs.front().tensor] = op.inputs.front().tensor;
    return;
  }
  graph.operators.push_back(std::move(op));
  model::GraphOperator &last = graph.operators.back();
  if (last.body == model::BodyKind::Product && last.inputs.size() > 2)
    addBias(last);
}

/// Puts an addition behind a product whose sums do not start at zero.
void FrameworkGraph::addBias(model::GraphOperator &product) {
  model::GraphAccess result = product.outputs.front();
  model::GraphAccess start = product.inputs.pop_back_val();
  model::TensorId whole = result.tensor;
  model::GraphTensor sums = block.graph.tensors[whole];
  sums.isResult = false;
  model::GraphOperator bias;
  bias.name = "bias";
  for (int64_t extent : sums.shape)
    bias.extents.push_back(extent);
  auto getWhole = [&](model::TensorId tensor) {
    model::GraphAccess access;
    access.tensor = tensor;
    for (size_t dim = 0; dim < sums.shape.size(); ++dim)
      access.indices.push_back(model::Index(dim));
    return access;
  };
  model::TensorId between = block.graph.tensors.size() + added.size();
  added.push_back(sums);
  product.outputs.front().tensor = between;
  bias.inputs.push_back(getWhole(between));
  bias.inputs.push_back(getWhole(start.tensor));
  bias.outputs.push_back(getWhole(whole));
  graph.operators.push_back(std::move(bias));
}

/// Groups for which code runs.
static int64_t countKernels(const model::OperatorGraph &graph,
                            const model::Partition &partition) {
  return llvm::count_if(partition.groups,
                        [&](ArrayRef<model::OperatorId> group) {
                          return llvm::any_of(group, [&](model::OperatorId op) {
                            return !model::isView(graph.operators[op]);
                          });
                        });
}

static llvm::json::Object count(func::FuncOp function) {
  model::OperatorGraph graph =
      FrameworkGraph(function.getBody().front()).take();
  AnyGroup pricer;
  llvm::json::Object counts;
  counts["separate"] =
      countKernels(graph, model::separateOperators(graph, pricer));
  counts["greedy"] =
      countKernels(graph, model::partitionGreedily(graph, pricer));
  counts["paper"] =
      countKernels(graph, model::searchAsPaper(graph, pricer).partition);
  return counts;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  chimera::registerAllDialects(registry);
  MLIRContext context(registry);
  llvm::json::Object all;
  for (StringRef file : ArrayRef(argv, argc).drop_front()) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
    if (!module)
      return 1;
    // Of several functions the largest is the network.
    func::FuncOp largest;
    for (auto function : module->getOps<func::FuncOp>())
      if (!function.isExternal() &&
          (!largest || function.front().getOperations().size() >
                           largest.front().getOperations().size()))
        largest = function;
    if (!largest) {
      llvm::errs() << file << ": there is no function\n";
      return 1;
    }
    all[file] = count(largest);
  }
  llvm::outs() << llvm::json::Value(std::move(all)) << "\n";
  return 0;
}
