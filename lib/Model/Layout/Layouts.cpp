//===- Layouts.cpp - In which order images lie in memory ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Layouts.h"
#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/MemoryPass.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <queue>

using namespace llvm;
using namespace chimera::model;

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

double chimera::model::secondsToReorder(double bytes, int64_t elementBytes,
                                        const Machine &machine,
                                        int64_t threads) {
  MemoryPass pass;
  pass.writtenBytes = bytes;
  // A launch of its own, which reads what is in memory.
  if (machine.groups) {
    pass.readBytes = bytes;
    return secondsOf(pass, machine, threads);
  }
  // Whoever wants the other order would have read what is read here.
  // A square of registers is transposed in stages, each with a shuffle for each
  // of its vectors. As many of these start at a time as multiply-adds.
  double vectors = bytes / elementBytes / machine.unit.lanes;
  pass.cycles =
      vectors * Log2_64_Ceil(machine.unit.lanes) / machine.unit.fmaPerCycle;
  return secondsOf(pass, machine, threads);
}

double chimera::model::secondsToCopy(double bytes, const Machine &machine,
                                     int64_t threads) {
  // As above, of what is there in any case nothing counts.
  MemoryPass pass;
  pass.writtenBytes = bytes;
  return secondsOf(pass, machine, threads);
}

/// What a step of the reduction reads of planes lies in as many places as there
/// are channels, in pieces of a row. Of 15 layers of networks one took 43 %
/// longer than with channels last, half of them 12 % and more, of which edges
/// of tiles explain about half (Zen 3).
static constexpr double planeFactor = 1.05;

/// Cycles of a multiply-add of one element, edges of vectors and of register
/// tiles counted.
static double cyclesPerStep(const ConvolutionFigures &figures, bool isLast,
                            const VectorUnit &unit) {
  int64_t columns =
      isLast ? figures.filters : figures.width * figures.joinedRows;
  int64_t rows = isLast ? figures.width : figures.filters;
  int64_t depth = divideCeilSigned(figures.depth, unit.depth);
  RegisterTile tile = selectRegisterTile(unit, rows, columns, depth);
  // No vector serves several rows.
  if (figures.isDepthwise || tile.rows == 0)
    return static_cast<double>(divideCeilSigned(columns, unit.lanes)) /
           static_cast<double>(columns) / unit.depth / unit.fmaPerCycle;
  return blockCycles(unit, tile, rows, columns, depth, /*loadsOutput=*/false) /
         static_cast<double>(rows * columns * figures.depth);
}

double chimera::model::secondsOf(const ConvolutionFigures &figures,
                                 ImageLayout layout, const Machine &machine,
                                 int64_t threads) {
  bool isLast = layout == ImageLayout::ChannelsLast;
  const VectorUnit &unit = machine.unit;
  double seconds = figures.multiplyAdds * cyclesPerStep(figures, isLast, unit) /
                   unit.cyclesPerSecond / std::max<int64_t>(1, threads);
  if (!isLast && !figures.isDepthwise)
    seconds *= planeFactor;
  // Vectors of pixels that taps move lie across two lines. Where each is used
  // once, loading them takes longer than the arithmetic.
  if (!isLast && figures.isDepthwise && figures.hasTapsAlongRows)
    seconds *= std::max(1.0, 2 * unit.fmaPerCycle / unit.loadsPerCycle);
  // What is far apart is copied first, for all filters of a group.
  if (!isLast && figures.stride > 1) {
    double copy = machine.overheads.transposeFactor * unit.fmaPerCycle *
                  (1 / unit.loadsPerCycle + 1 / unit.storesPerCycle);
    seconds *= 1 + copy / (figures.isDepthwise ? 1 : figures.filters);
  }
  if (isLast && figures.filterBytes > 0)
    seconds += secondsToReorder(figures.filterBytes, figures.elementBytes,
                                machine, threads);
  return seconds;
}

/// A register tile whose rows lie next to each other finds those of each step
/// of the reduction in a line of its own, and waits so many cycles for it: 1x1
/// convolutions of 128 to 1024 channels took up to 4 % longer than with
/// channels last with tiles of 13 x 2 vectors of 16 lanes (Zen 4), 4 to 15 %
/// with 6 x 2 of eight (the same) and 6 to 35 % (Zen 3).
static constexpr double cyclesOfLine = 1;

double chimera::model::usesWorthTransposing(const Machine &machine) {
  constexpr int64_t many = 1 << 12;
  RegisterTile tile =
      selectRegisterTile(machine.unit, many, many * machine.unit.lanes, many);
  double cyclesOfUse =
      cyclesOfLine / static_cast<double>(tile.rows * tile.vectors);
  // What the program takes comes from memory, and so does its copy if it is of
  // any size: no arithmetic hides that.
  MemoryPass pass;
  pass.readBytes = pass.writtenBytes = 1e9;
  double elements = pass.readBytes / sizeof(float);
  return secondsOf(pass, machine, /*threads=*/1) / elements *
         machine.unit.cyclesPerSecond / cyclesOfUse;
}

static bool isLast(ArrayRef<ImageLayout> layouts, unsigned op) {
  return layouts[op] == ImageLayout::ChannelsLast;
}

double chimera::model::secondsOf(const LayoutProblem &problem,
                                 ArrayRef<ImageLayout> layouts) {
  double seconds = 0;
  for (auto [index, op] : enumerate(problem.operations))
    seconds += isLast(layouts, index) ? op.channelsLast : op.asGiven;
  for (const LayoutProblem::Image &image : problem.images) {
    bool made = image.maker && isLast(layouts, *image.maker);
    bool differs = (made && image.isReadOutside) ||
                   any_of(image.readers, [&](unsigned reader) {
                     return isLast(layouts, reader) != made;
                   });
    seconds += differs ? image.secondsToReorder : 0;
  }
  return seconds;
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

namespace {

/// A directed graph with capacities, through which as much flows as can, by
/// Dinic's algorithm.
class FlowGraph {
public:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;

  unsigned addNode() {
    edges.emplace_back();
    return edges.size() - 1;
  }
  void addEdge(unsigned from, unsigned to, int64_t capacity) {
    edges[from].push_back(
        {to, static_cast<unsigned>(edges[to].size()), capacity});
    edges[to].push_back({from, static_cast<unsigned>(edges[from].size() - 1),
                         /*capacity=*/0});
  }
  /// The nodes on the side of `source` of a smallest cut, as many as there can
  /// be.
  std::vector<bool> cut(unsigned source, unsigned sink);

private:
  struct Edge {
    unsigned to;
    /// Index of the edge back.
    unsigned back;
    int64_t capacity;
  };

  bool findDistances(unsigned source, unsigned sink);
  std::vector<bool> findSide(unsigned sink) const;
  int64_t push(unsigned node, unsigned sink, int64_t most);

  std::vector<std::vector<Edge>> edges;
  std::vector<int> distances;
  std::vector<size_t> next;
};

} // namespace

bool FlowGraph::findDistances(unsigned source, unsigned sink) {
  distances.assign(edges.size(), -1);
  distances[source] = 0;
  std::queue<unsigned> pending({source});
  for (; !pending.empty(); pending.pop())
    for (const Edge &edge : edges[pending.front()])
      if (edge.capacity > 0 && distances[edge.to] < 0) {
        distances[edge.to] = distances[pending.front()] + 1;
        pending.push(edge.to);
      }
  return distances[sink] >= 0;
}

int64_t FlowGraph::push(unsigned node, unsigned sink, int64_t most) {
  if (node == sink)
    return most;
  for (size_t &index = next[node]; index < edges[node].size(); ++index) {
    Edge &edge = edges[node][index];
    if (edge.capacity == 0 || distances[edge.to] != distances[node] + 1)
      continue;
    int64_t pushed = push(edge.to, sink, std::min(most, edge.capacity));
    if (pushed == 0)
      continue;
    edge.capacity -= pushed;
    edges[edge.to][edge.back].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> FlowGraph::cut(unsigned source, unsigned sink) {
  while (findDistances(source, sink)) {
    next.assign(edges.size(), 0);
    while (push(source, sink, unlimited) > 0)
      ;
  }
  return findSide(sink);
}

/// The nodes from which nothing more can flow to `sink`.
std::vector<bool> FlowGraph::findSide(unsigned sink) const {
  std::vector<bool> side(edges.size(), true);
  side[sink] = false;
  std::queue<unsigned> pending({sink});
  for (; !pending.empty(); pending.pop())
    for (const Edge &edge : edges[pending.front()])
      if (side[edge.to] && edges[edge.to][edge.back].capacity > 0) {
        side[edge.to] = false;
        pending.push(edge.to);
      }
  return side;
}

static int64_t toPicoseconds(double seconds) {
  return seconds == LayoutProblem::impossible
             ? FlowGraph::unlimited
             : static_cast<int64_t>(std::llround(seconds * 1e12));
}

LayoutPlan chimera::model::chooseLayouts(const LayoutProblem &problem) {
  FlowGraph graph;
  // Channels are last on the side of the source.
  unsigned source = graph.addNode(), sink = graph.addNode();
  std::vector<unsigned> nodes;
  for (const LayoutProblem::Operation &op : problem.operations) {
    unsigned node = nodes.emplace_back(graph.addNode());
    graph.addEdge(source, node, toPicoseconds(op.asGiven));
    graph.addEdge(node, sink, toPicoseconds(op.channelsLast));
  }
  for (const LayoutProblem::Image &image : problem.images) {
    unsigned maker = image.maker ? nodes[*image.maker] : sink;
    int64_t seconds = toPicoseconds(image.secondsToReorder);
    // Both are there if one reader wants what the maker does not: a node that
    // follows any reader to the one side costs as much as the maker is away
    // from it.
    unsigned anyLast = graph.addNode(), anyGiven = graph.addNode();
    graph.addEdge(anyLast, maker, seconds);
    graph.addEdge(maker, anyGiven, seconds);
    for (unsigned reader : image.readers) {
      graph.addEdge(nodes[reader], anyLast, FlowGraph::unlimited);
      graph.addEdge(anyGiven, nodes[reader], FlowGraph::unlimited);
    }
    if (image.isReadOutside)
      graph.addEdge(anyGiven, sink, FlowGraph::unlimited);
  }
  std::vector<bool> side = graph.cut(source, sink);
  LayoutPlan plan;
  for (unsigned node : nodes)
    plan.layouts.push_back(side[node] ? ImageLayout::ChannelsLast
                                      : ImageLayout::AsGiven);
  plan.seconds = secondsOf(problem, plan.layouts);
  return plan;
}
