//===- ChooseOverlap.cpp - In how many blocks to exchange -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a block takes is not a share of what the whole takes: it reads all of
// the weights. So one block of each size is made, priced like any program, and
// taken away again.
//
//===----------------------------------------------------------------------===//

#include "ChooseOverlap.h"

#include "../Graph/BlockGraph.h"
#include "NamedRemarks.h"
#include "RowBlocks.h"

#include "Chimera/IR/Collectives.h"
#include "Chimera/Model/MemoryGroup.h"
#include "Chimera/Model/Overlap.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;

/// Each block is a kernel of its own.
static constexpr int64_t mostBlocks = 16;

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// Seconds that `operations` of a block take by the model of whole programs.
static double price(const llvm::SetVector<Operation *> &operations,
                    const model::Machine &machine, int64_t threads) {
  if (operations.empty())
    return 0;
  BlockGraph block = readBlock(*operations.front()->getBlock());
  model::OperatorGraph graph;
  graph.tensors = block.graph.tensors;
  for (auto [id, value] : llvm::enumerate(block.values))
    graph.tensors[id].isResult |=
        llvm::any_of(value.getUsers(), [&](Operation *user) {
          return !operations.contains(user);
        });
  for (auto [op, figures] :
       llvm::zip_equal(block.operations, block.graph.operators))
    if (operations.contains(op))
      graph.operators.push_back(figures);
  model::MemoryGroupPricer pricer(graph, machine, threads);
  return findPartition(graph, pricer).seconds;
}

/// What one of the blocks that `operations` are computed in takes.
static std::optional<double> priceBlock(AllReduceOp op, const RowBlocks &blocks,
                                        const model::Machine &machine,
                                        int64_t threads) {
  Operation *before = op->getPrevNode();
  if (!blocks.compute(op, 0))
    return std::nullopt;
  llvm::SetVector<Operation *> made;
  for (Operation *own = op->getPrevNode(); own != before;
       own = own->getPrevNode())
    made.insert(own);
  double seconds = price(made, machine, threads);
  for (Operation *own : made)
    own->erase();
  return seconds;
}

/// All numbers of blocks that `op` can be exchanged in, the whole first: of the
/// same operations, or they could not be compared. None if there is but the
/// whole.
static SmallVector<model::BlockedExchange>
listCandidates(AllReduceOp op, const model::Machine &machine, int64_t threads) {
  SmallVector<model::BlockedExchange> candidates;
  SmallVector<Operation *> operations;
  auto type = cast<ShapedType>(op.getOutput().getType());
  int64_t rows = type.getRank() == 0 ? 1 : type.getDimSize(op.getRowDim());
  for (int64_t count = 2; count <= mostBlocks && rows % count == 0;
       count *= 2) {
    shard::GridOp grid = makeGridOfBlocks(op, count);
    RowBlocks blocks(op.getOutput(), op.getRowDim(), op, grid);
    if (count == 2) {
      operations = blocks.getOperations();
      candidates.push_back(
          {1, price({operations.begin(), operations.end()}, machine, threads)});
    }
    std::optional<double> seconds;
    if (!operations.empty() && operations == blocks.getOperations())
      seconds = priceBlock(op, blocks, machine, threads);
    grid.erase();
    if (!seconds)
      break;
    // What the whole has to read from memory no block finds in a cache.
    double share = candidates.front().computeSeconds / count;
    candidates.push_back({count, std::max(*seconds, share)});
  }
  return candidates;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Annotates `op`; returns the seconds that it takes less.
static double chooseBlocks(AllReduceOp op, const model::Machine &machine,
                           int64_t threads, OverlapMode mode) {
  SmallVector<model::BlockedExchange> candidates =
      listCandidates(op, machine, threads);
  if (candidates.size() < 2) {
    remark::missed(op.getLoc(), namedShard("overlap"))
        << "exchanged as a whole: what leads to it cannot be computed in "
           "blocks of rows";
    return 0;
  }
  model::Collective collective = *getCollective(op);
  auto others = ArrayRef(candidates).drop_front();
  const model::BlockedExchange
      &whole = candidates.front(),
      &best = others[findFastest(others, collective, machine.network)];
  double together = getSeconds(whole, collective, machine.network),
         overlapped = getSeconds(best, collective, machine.network);
  std::string figures = llvm::formatv(
      "{0:F1} us as a whole and {1:F1} us in {2} blocks, of whose "
      "exchange the processor does {3:F0} %",
      together * 1e6, overlapped * 1e6, best.blocks,
      machine.network.processorShare * 100);
  if (overlapped >= together && mode == OverlapMode::Auto) {
    remark::missed(op.getLoc(), namedShard("overlap"))
        << ("exchanged as a whole: with what leads to it " + figures);
    return 0;
  }
  remark::passed(op.getLoc(), namedShard("overlap"))
      << llvm::formatv(
             "exchanged in {0} blocks, each while the next is computed: {1}",
             best.blocks, figures)
             .str();
  op.setBlocks(best.blocks);
  return together - overlapped;
}

Overlap chimera::chooseOverlap(func::FuncOp function,
                               const model::Machine &machine, int64_t threads,
                               OverlapMode mode) {
  Overlap result;
  if (mode == OverlapMode::Never)
    return result;
  for (auto op : function.getBody().front().getOps<AllReduceOp>()) {
    result.savedSeconds += chooseBlocks(op, machine, threads, mode);
    result.numOverlapped += op.getBlocks().has_value();
  }
  return result;
}
