//===- PlaceValues.cpp - Passes and homes of values -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass goes over slices once and has registers for what it passes on. What a
// later pass reads again needs a home, and so does what later tasks read.
//
//===----------------------------------------------------------------------===//

#include "Gir/GirWalk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <tuple>

using namespace llvm;
using namespace chimera::model;

namespace {

/// From when to when a value is needed in its stage.
struct Life {
  static constexpr size_t none = ~size_t(0);

  /// The node that makes it.
  size_t writer = none;
  unsigned firstPass = 0, lastPass = 0;
  /// It is there for several tasks.
  bool isShared = false;
  /// It is made by a node that has to be done with all of it.
  bool isWhole = false;

  bool exists() const { return writer != none; }
  bool isStreamed() const {
    return !isShared && !isWhole && firstPass == lastPass;
  }
};

/// True if what `node` makes is not there before it has seen all it reads.
bool isBarrier(const GirNode &node) {
  return node.kind == GirKind::Reduce || node.kind == GirKind::Sync;
}

SmallVector<Life, 0> livesOf(const Gir &gir, const GirStage &stage) {
  SmallVector<Life, 0> lives(gir.slices.size());
  for (auto [id, node] : enumerate(stage.nodes)) {
    for (SliceId input : node.inputs) {
      if (!gir.isValue(input) || !lives[input].exists())
        continue;
      Life &life = lives[input];
      const GirNode &writer = stage.nodes[life.writer];
      life.isShared |= writer.depth < node.depth;
      life.lastPass = std::max(life.lastPass, node.pass);
      // A transpose reads columns of what others wrote in rows.
      life.isWhole |= node.kind == GirKind::Sync;
    }
    if (gir.isBoundary(node) || !gir.isValue(node.output))
      continue;
    Life &life = lives[node.output];
    life.writer = id;
    life.firstPass = life.lastPass = node.pass;
    life.isWhole = isBarrier(node);
  }
  return lives;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The earliest pass for each node.
void assignEarliest(const Gir &gir, GirStage &stage) {
  SmallVector<size_t, 0> writer(gir.slices.size(), Life::none);
  SmallVector<size_t, 0> storedBy(gir.tensors.size(), Life::none);
  for (size_t id : seq(stage.nodes.size())) {
    GirNode &node = stage.nodes[id];
    node.pass = 0;
    if (gir.isBoundary(node))
      continue;
    auto wait = [&](size_t other, bool isForAll) {
      if (other != Life::none && stage.nodes[other].depth == node.depth)
        node.pass =
            std::max(node.pass, stage.nodes[other].pass + (isForAll ? 1 : 0));
    };
    for (SliceId input : node.inputs) {
      if (gir.isValue(input)) {
        size_t other = writer[input];
        wait(other, other != Life::none && isBarrier(stage.nodes[other]));
      } else {
        wait(storedBy[*gir.slices[input].tensor], /*isForAll=*/true);
      }
    }
    if (gir.isValue(node.output))
      writer[node.output] = id;
    else
      storedBy[*gir.slices[node.output].tensor] = id;
  }
}

/// Lets loads and broadcasts wait for their readers, and arithmetic that alone
/// reads them.
void delay(const Gir &gir, GirStage &stage) {
  constexpr unsigned never = ~0u;
  SmallVector<unsigned, 0> firstRead(gir.slices.size(), never),
      reads(gir.slices.size(), 0);
  for (const GirNode &node : stage.nodes)
    for (SliceId input : node.inputs)
      ++reads[input];
  SmallVector<unsigned, 0> depthOfReader(gir.slices.size(), 0);
  for (GirNode &node : reverse(stage.nodes)) {
    if (gir.isBoundary(node))
      continue;
    bool canWait = node.kind == GirKind::Broadcast || gir.isLoad(node);
    if (node.kind == GirKind::Elementwise)
      canWait =
          all_of(node.inputs, [&](SliceId input) { return reads[input] == 1; });
    if (canWait && gir.isValue(node.output) &&
        firstRead[node.output] != never &&
        depthOfReader[node.output] == node.depth)
      node.pass = std::max(node.pass, firstRead[node.output]);
    for (SliceId input : node.inputs) {
      firstRead[input] = std::min(firstRead[input], node.pass);
      depthOfReader[input] = std::max(depthOfReader[input], node.depth);
    }
  }
}

/// By depth, then by pass; those between stages last.
void order(const Gir &gir, GirStage &stage) {
  auto keyOf = [&](size_t id) {
    const GirNode &node = stage.nodes[id];
    return std::tuple(gir.isBoundary(node), node.depth, node.pass, id);
  };
  auto ids = to_vector<32>(seq(stage.nodes.size()));
  llvm::sort(ids, [&](size_t a, size_t b) { return keyOf(a) < keyOf(b); });
  std::vector<GirNode> nodes;
  for (size_t id : ids)
    nodes.push_back(std::move(stage.nodes[id]));
  stage.nodes = std::move(nodes);
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

/// Bytes of values at `level`: of shared ones at any time, of the others in the
/// pass that has most. What a pass makes takes the room of as much that it is
/// the last to read, since it goes over both together.
int64_t liveAt(const Gir &gir, ArrayRef<Life> lives, GirLevel level) {
  int64_t shared = 0;
  unsigned passes = 0;
  SmallVector<SliceId, 16> here;
  for (auto [id, life] : enumerate(lives)) {
    if (!life.exists() || gir.slices[id].level != level)
      continue;
    if (life.isShared) {
      shared += gir.bytesOf(id);
      continue;
    }
    here.push_back(id);
    passes = std::max(passes, life.lastPass + 1);
  }
  int64_t most = 0;
  for (unsigned pass : seq(passes)) {
    int64_t live = 0;
    SmallVector<int64_t, 8> dying;
    for (SliceId id : here)
      if (lives[id].firstPass < pass && lives[id].lastPass == pass &&
          !lives[id].isWhole)
        dying.push_back(gir.bytesOf(id));
    for (SliceId id : here) {
      if (lives[id].firstPass > pass || lives[id].lastPass < pass)
        continue;
      if (lives[id].firstPass == pass && !lives[id].isWhole) {
        auto *room = find(dying, gir.bytesOf(id));
        if (room != dying.end()) {
          dying.erase(room);
          continue;
        }
      }
      live += gir.bytesOf(id);
    }
    most = std::max(most, live);
  }
  return shared + most;
}

/// Bytes of tensors that were raised to `level`, for one unit.
int64_t raisedAt(const Gir &gir, GirLevel level) {
  int64_t bytes = 0;
  for (const GirTensor &tensor : gir.tensors)
    if (tensor.level == level)
      bytes += tensor.elements * tensor.elementBytes;
  return (bytes + gir.units - 1) / gir.units;
}

bool placeStage(Gir &gir, GirStage &stage, const Machine &machine) {
  assignEarliest(gir, stage);
  delay(gir, stage);
  order(gir, stage);
  auto numLevels = static_cast<GirLevel>(machine.levels.size());
  SmallVector<Life, 0> lives = livesOf(gir, stage);
  for (auto [id, life] : enumerate(lives))
    if (life.exists())
      gir.slices[id].level = life.isStreamed() ? numLevels + 1 : numLevels;
  for (GirLevel level = numLevels; level > 0; --level) {
    int64_t room = roomAt(gir, machine, level) - raisedAt(gir, level);
    while (liveAt(gir, lives, level) > room) {
      std::optional<SliceId> largest;
      for (auto [id, life] : enumerate(lives))
        if (life.exists() && gir.slices[id].level == level &&
            (!largest || gir.bytesOf(id) > gir.bytesOf(*largest)))
          largest = id;
      if (!largest || level == 1)
        return false;
      gir.slices[*largest].level = level - 1;
    }
  }
  return true;
}

} // namespace

int64_t chimera::model::roomAt(const Gir &gir, const Machine &machine,
                               GirLevel level) {
  const MemoryLevel &memory = machine.levels[level - 1];
  return memory.usableBytes() / memory.buffers /
         std::max<int64_t>(1, std::min(memory.sharers, gir.units));
}

bool chimera::model::placeValues(Gir &gir, const Machine &machine) {
  return all_of(gir.stages, [&](GirStage &stage) {
    return placeStage(gir, stage, machine);
  });
}

SmallVector<int64_t, 4>
chimera::model::liveBytes(const Gir &gir, unsigned stage, unsigned numLevels) {
  SmallVector<int64_t, 4> live;
  SmallVector<Life, 0> lives = livesOf(gir, gir.stages[stage]);
  for (GirLevel level = 1; level <= numLevels; ++level)
    live.push_back(liveAt(gir, lives, level) + raisedAt(gir, level));
  return live;
}
