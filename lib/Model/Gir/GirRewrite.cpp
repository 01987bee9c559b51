//===- GirRewrite.cpp - Rules that rewrite a Gir --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the rules apply, and what each makes of a graph.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/GirRewrite.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;
using namespace chimera::model;

GirRuleKind chimera::model::kindOf(GirRule rule) {
  if (rule <= GirRule::Raise)
    return GirRuleKind::Insertion;
  return rule <= GirRule::Unturn ? GirRuleKind::Merging : GirRuleKind::Swapping;
}

StringRef chimera::model::describe(GirRule rule) {
  static constexpr const char *words[] = {
      "narrow",    "join",           "raise",     "forward",
      "share",     "drop",           "skip",      "unturn",
      "swap move", "swap broadcast", "swap turn", "swap reduce"};
  return words[static_cast<size_t>(rule)];
}

namespace {

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

struct Place {
  unsigned stage = 0;
  size_t node = 0;
};

/// Who reads values and who loads tensors.
class Uses {
public:
  explicit Uses(const Gir &gir)
      : writer(gir.slices.size()), reads(gir.slices.size(), 0),
        loads(gir.tensors.size()), stores(gir.tensors.size()) {
    for (auto [stage, each] : enumerate(gir.stages))
      for (auto [id, node] : enumerate(each.nodes)) {
        if (gir.isBoundary(node))
          continue;
        Place here{static_cast<unsigned>(stage), id};
        writer[node.output] = here;
        for (SliceId input : once(node.inputs))
          ++reads[input];
        if (gir.isLoad(node))
          loads[*gir.slices[node.inputs[0]].tensor].push_back(here);
        if (gir.isStore(node))
          stores[*gir.slices[node.output].tensor].push_back(here);
      }
  }

  /// By slice: the node that writes it, and how many read it.
  std::vector<std::optional<Place>> writer;
  SmallVector<unsigned, 0> reads;
  /// By tensor.
  std::vector<SmallVector<Place, 2>> loads, stores;

private:
  /// The slices of a list, each once.
  static SmallVector<SliceId, 3> once(SmallVector<SliceId, 3> slices) {
    llvm::sort(slices);
    slices.erase(llvm::unique(slices), slices.end());
    return slices;
  }
};

/// True if nobody outside sees `tensor`.
bool isScratch(const GirTensor &tensor) {
  return !tensor.isInput && !tensor.isResult;
}

/// The one slice that an elementwise node reads, if it is one.
std::optional<SliceId> operandOf(const GirNode &node) {
  if (node.kind != GirKind::Elementwise || !all_equal(node.inputs))
    return std::nullopt;
  return node.inputs[0];
}

bool isTurn(const Gir &gir, const GirNode &node) {
  return node.kind == GirKind::Sync && gir.isValue(node.inputs[0]);
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

class Finder {
public:
  explicit Finder(const Gir &gir) : gir(gir), uses(gir) {}

  std::vector<GirStep> find();

private:
  void add(GirRule rule, unsigned stage, size_t node = 0,
           unsigned otherStage = 0, size_t other = 0) {
    steps.push_back({rule, stage, node, other, otherStage});
  }
  void findInStage(unsigned stage);
  void findSwap(unsigned stage, size_t node);
  void findRaises();
  bool mayJoin(unsigned stage) const;
  std::optional<unsigned> stageLoading(SliceId part) const;

  const Gir &gir;
  Uses uses;
  std::vector<GirStep> steps;
};

std::optional<unsigned> Finder::stageLoading(SliceId part) const {
  for (const Place &load : uses.loads[*gir.slices[part].tensor])
    if (gir.stages[load.stage].nodes[load.node].inputs[0] == part)
      return load.stage;
  return std::nullopt;
}

/// Stages join if the second has nothing that the first passes on by a sync.
bool Finder::mayJoin(unsigned stage) const {
  const GirStage &first = gir.stages[stage], &second = gir.stages[stage + 1];
  return first.tasks == second.tasks &&
         none_of(first.nodes, [&](const GirNode &node) {
           return gir.isBoundary(node) &&
                  stageLoading(node.output) == stage + 1;
         });
}

void Finder::findSwap(unsigned stage, size_t id) {
  ArrayRef<GirNode> nodes = gir.stages[stage].nodes;
  const GirNode &node = nodes[id];
  std::optional<SliceId> operand = operandOf(node);
  if (!operand || uses.reads[node.output] != 1)
    return;
  const auto *reader = find_if(nodes, [&](const GirNode &other) {
    return is_contained(other.inputs, node.output);
  });
  if (reader == nodes.end())
    return;
  size_t other = reader - nodes.begin();
  if (reader->kind == GirKind::Broadcast)
    add(GirRule::SwapBroadcast, stage, id, stage, other);
  if (isTurn(gir, *reader))
    add(GirRule::SwapTurn, stage, id, stage, other);
  if (reader->kind == GirKind::Reduce && node.isMonotone &&
      reader->reduction == GirReduction::Max)
    add(GirRule::SwapReduce, stage, id, stage, other);
  if (!gir.isStore(*reader))
    return;
  TensorId tensor = *gir.slices[reader->output].tensor;
  if (isScratch(gir.tensors[tensor]) && uses.loads[tensor].size() == 1)
    add(GirRule::SwapMove, stage, id, stage, other);
}

void Finder::findInStage(unsigned stage) {
  ArrayRef<GirNode> nodes = gir.stages[stage].nodes;
  for (auto [id, node] : enumerate(nodes)) {
    if (gir.isBoundary(node)) {
      std::optional<unsigned> reader = stageLoading(node.output);
      if (!reader || findScope(gir, {stage, node.inputs[0]},
                               {*reader, node.output}) < node.scope)
        add(GirRule::Narrow, stage, id);
      continue;
    }
    findSwap(stage, id);
    if (isTurn(gir, node)) {
      const Place &from = *uses.writer[node.inputs[0]];
      if (isTurn(gir, nodes[from.node]))
        add(GirRule::Unturn, stage, id, stage, from.node);
    }
    if (gir.isStore(node)) {
      TensorId tensor = *gir.slices[node.output].tensor;
      if (isScratch(gir.tensors[tensor]) && uses.loads[tensor].empty())
        add(GirRule::Drop, stage, id);
      // A value that was loaded from the same place of another tensor.
      const Place &from = *uses.writer[node.inputs[0]];
      const GirNode &made = nodes[from.node];
      if (isScratch(gir.tensors[tensor]) && gir.isLoad(made) &&
          !uses.loads[tensor].empty()) {
        GirSlice moved = gir.slices[made.inputs[0]];
        TensorId source = *moved.tensor;
        moved.tensor = tensor;
        if (gir.tensors[source].elements == gir.tensors[tensor].elements &&
            gir.tensors[source].level >= gir.tensors[tensor].level &&
            moved.isSamePart(gir.slices[node.output]))
          add(GirRule::Skip, stage, id, stage, from.node);
      }
    }
    if (!gir.isLoad(node))
      continue;
    for (auto [before, other] : enumerate(nodes.take_front(id))) {
      if (gir.isStore(other) &&
          gir.slices[other.output].isSamePart(gir.slices[node.inputs[0]]))
        add(GirRule::Forward, stage, id, stage, before);
      if (gir.isLoad(other) && other.depth <= node.depth &&
          gir.slices[other.inputs[0]].isSamePart(gir.slices[node.inputs[0]]))
        add(GirRule::Share, stage, id, stage, before);
    }
  }
}

/// What no sync of the whole device passes on may lie further in.
void Finder::findRaises() {
  for (auto [id, tensor] : enumerate(gir.tensors)) {
    if (!isScratch(tensor) || tensor.level > 0 || uses.stores[id].size() != 1 ||
        uses.loads[id].empty())
      continue;
    const Place &store = uses.stores[id][0];
    SliceId stored = gir.stages[store.stage].nodes[store.node].output;
    if (all_of(uses.loads[id], [&](const Place &load) {
          SliceId part = gir.stages[load.stage].nodes[load.node].inputs[0];
          return findScope(gir, {store.stage, stored}, {load.stage, part}) <=
                 GirScope::Block;
        }))
      add(GirRule::Raise, store.stage, store.node);
  }
}

std::vector<GirStep> Finder::find() {
  for (unsigned stage : seq(gir.stages.size())) {
    findInStage(stage);
    if (stage + 1 < gir.stages.size() && mayJoin(stage))
      add(GirRule::Join, stage);
  }
  findRaises();
  return std::move(steps);
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

class Rewriter {
public:
  Rewriter(Gir &gir, const GirStep &step) : gir(gir), step(step) {}

  void apply(const Machine &machine);

private:
  std::vector<GirNode> &nodes() { return gir.stages[step.stage].nodes; }
  GirNode &node() { return nodes()[step.node]; }
  GirNode &other() { return nodes()[step.other]; }
  void replace(SliceId old, SliceId by);
  void join();
  void skip();
  void swapMove();
  void swapNeighbours();
  void removeUnused();

  Gir &gir;
  const GirStep &step;
};

/// Whoever reads `old` in the stage reads `by`.
void Rewriter::replace(SliceId old, SliceId by) {
  for (GirNode &reader : nodes())
    for (SliceId &input : reader.inputs)
      if (input == old)
        input = by;
}

void Rewriter::join() {
  GirStage &first = gir.stages[step.stage],
           &second = gir.stages[step.stage + 1];
  first.nodes.insert(first.nodes.end(), second.nodes.begin(),
                     second.nodes.end());
  gir.stages.erase(gir.stages.begin() + step.stage + 1);
}

/// Loads of a copy become loads of what was copied, behind a sync of their own.
void Rewriter::skip() {
  TensorId copy = *gir.slices[node().output].tensor;
  SliceId source = other().inputs[0];
  TensorId tensor = *gir.slices[source].tensor;
  std::optional<Place> store;
  for (auto [stage, each] : enumerate(gir.stages))
    for (auto [id, made] : enumerate(each.nodes))
      if (gir.isStore(made) && gir.slices[made.output].tensor == tensor)
        store = Place{static_cast<unsigned>(stage), id};
  for (auto [stage, each] : enumerate(gir.stages))
    for (GirNode &load : each.nodes) {
      if (!gir.isLoad(load) || gir.slices[load.inputs[0]].tensor != copy)
        continue;
      GirSlice part = gir.slices[load.inputs[0]];
      part.tensor = tensor;
      gir.slices.push_back(part);
      load.inputs[0] = static_cast<SliceId>(gir.slices.size() - 1);
      if (!store || store->stage == stage)
        continue;
      GirNode sync;
      sync.kind = GirKind::Sync;
      sync.scope = GirScope::Device;
      sync.inputs = {gir.stages[store->stage].nodes[store->node].output};
      sync.output = load.inputs[0];
      gir.stages[store->stage].nodes.push_back(sync);
    }
  nodes().erase(nodes().begin() + step.node);
}

/// Stores the operand in place of the result, and computes behind the load.
void Rewriter::swapMove() {
  GirNode moved = node();
  GirNode &store = other();
  SliceId operand = *operandOf(moved);
  TensorId tensor = *gir.slices[store.output].tensor;
  int64_t elementBytes = gir.slices[operand].elementBytes;
  store.inputs[0] = operand;
  gir.tensors[tensor].elementBytes = elementBytes;
  for (GirSlice &part : gir.slices)
    if (part.tensor == tensor)
      part.elementBytes = elementBytes;
  nodes().erase(nodes().begin() + step.node);
  for (GirStage &stage : gir.stages)
    for (auto [id, load] : enumerate(stage.nodes)) {
      if (!gir.isLoad(load) || gir.slices[load.inputs[0]].tensor != tensor)
        continue;
      GirSlice raw = gir.slices[load.output];
      raw.elementBytes = elementBytes;
      moved.depth = load.depth;
      moved.output = load.output;
      gir.slices.push_back(raw);
      load.output = static_cast<SliceId>(gir.slices.size() - 1);
      for (SliceId &input : moved.inputs)
        input = load.output;
      stage.nodes.insert(stage.nodes.begin() + id + 1, moved);
      return;
    }
}

/// Arithmetic and the broadcast, sync or maximum behind it change places.
void Rewriter::swapNeighbours() {
  GirNode moved = node(), passed = other();
  SliceId operand = *operandOf(moved);
  GirSlice between = gir.slices[passed.output];
  between.elementBytes = gir.slices[operand].elementBytes;
  gir.slices.push_back(between);
  auto fresh = static_cast<SliceId>(gir.slices.size() - 1);
  moved.output = passed.output;
  moved.depth = passed.depth;
  for (SliceId &input : moved.inputs)
    input = fresh;
  passed.inputs[0] = operand;
  passed.output = fresh;
  other() = passed;
  nodes().insert(nodes().begin() + step.other + 1, moved);
  nodes().erase(nodes().begin() + step.node);
}

/// Takes out stores that nobody loads, values that nobody reads, and syncs that
/// pass on nothing.
void Rewriter::removeUnused() {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    Uses uses(gir);
    for (GirStage &stage : gir.stages)
      llvm::erase_if(stage.nodes, [&](const GirNode &node) {
        bool isUnused = false;
        if (gir.isBoundary(node))
          isUnused =
              !uses.writer[node.inputs[0]] || uses.reads[node.output] == 0;
        else if (gir.isValue(node.output))
          isUnused = uses.reads[node.output] == 0;
        isDone &= !isUnused;
        return isUnused;
      });
  }
  // A tensor that nothing moves any more takes no room.
  Uses uses(gir);
  for (auto [id, tensor] : enumerate(gir.tensors))
    if (uses.stores[id].empty())
      tensor.level = 0;
}

void Rewriter::apply(const Machine &machine) {
  switch (step.rule) {
  case GirRule::Narrow: {
    GirScope scope = GirScope::Lane;
    SliceId stored = node().inputs[0], loaded = node().output;
    for (auto [stage, each] : enumerate(gir.stages))
      for (const GirNode &load : each.nodes)
        if (gir.isLoad(load) && load.inputs[0] == loaded)
          scope = findScope(gir, {step.stage, stored},
                            {static_cast<unsigned>(stage), loaded});
    if (scope == GirScope::Lane)
      nodes().erase(nodes().begin() + step.node);
    else
      node().scope = scope;
    break;
  }
  case GirRule::Join:
    join();
    break;
  case GirRule::Raise:
    gir.tensors[*gir.slices[node().output].tensor].level =
        static_cast<GirLevel>(machine.levels.size());
    break;
  case GirRule::Forward:
    replace(node().output, other().inputs[0]);
    break;
  case GirRule::Share:
    replace(node().output, other().output);
    break;
  case GirRule::Drop:
    nodes().erase(nodes().begin() + step.node);
    break;
  case GirRule::Skip:
    skip();
    break;
  case GirRule::Unturn:
    replace(node().output, other().inputs[0]);
    break;
  case GirRule::SwapMove:
    swapMove();
    break;
  case GirRule::SwapBroadcast:
  case GirRule::SwapTurn:
  case GirRule::SwapReduce:
    swapNeighbours();
    break;
  }
  removeUnused();
}

} // namespace

std::vector<GirStep> chimera::model::findSteps(const Gir &gir) {
  return Finder(gir).find();
}

std::optional<Gir> chimera::model::applyStep(const Gir &gir,
                                             const GirStep &step,
                                             const Machine &machine) {
  Gir rewritten = gir;
  Rewriter(rewritten, step).apply(machine);
  llvm::erase_if(rewritten.stages,
                 [](const GirStage &stage) { return stage.nodes.empty(); });
  if (!placeValues(rewritten, machine))
    return std::nullopt;
  return rewritten;
}

SmallVector<int64_t, 6> chimera::model::measureOf(const Gir &gir) {
  SmallVector<int64_t, 6> measure(6, 0);
  measure[3] = static_cast<int64_t>(gir.stages.size());
  int64_t before = 0, all = 0;
  for (const GirStage &stage : gir.stages)
    all += static_cast<int64_t>(stage.nodes.size());
  for (const GirStage &stage : gir.stages)
    for (const GirNode &node : stage.nodes) {
      ++before;
      if (gir.isBoundary(node))
        measure[4] += 1 + static_cast<int64_t>(node.scope);
      else if (node.kind == GirKind::Move) {
        const GirSlice &part =
            gir.slices[gir.isLoad(node) ? node.inputs[0] : node.output];
        measure[0] += part.tensor && gir.tensors[*part.tensor].level == 0;
        ++measure[1];
      } else if (node.kind == GirKind::Sync)
        ++measure[2];
      else if (node.kind == GirKind::Elementwise)
        measure[5] += all - before;
    }
  return measure;
}
