//===- Gir.h - Memory-intensive work as moves of slices ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a norm or a softmax costs is what it moves. In a Gir, after PowerFusion
// (arXiv 2307.04995), nothing moves implicitly: the nodes are moves of slices
// between memories, arithmetic on slices, and synchronisations, and around them
// stands how parallel units share the tasks. Whoever counts the moves knows the
// bytes.
//
// docs/gir.md says what the paper leaves open and what is meant here.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_GIR_H
#define CHIMERA_MODEL_GIR_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"

#include <algorithm>
#include <vector>

namespace chimera::model {

/// Index into Gir::slices.
using SliceId = unsigned;
/// A memory: 0 lies outside all levels of the machine, n is `levels[n - 1]`,
/// and one more are the registers of a lane.
using GirLevel = unsigned;

/// A loop that is cut into tiles, the last of which may be smaller.
struct GirLoop {
  std::string name;
  int64_t extent = 1, tile = 1;

  int64_t count() const { return (extent + tile - 1) / tile; }
  int64_t sizeAt(int64_t coordinate) const {
    return std::min(tile, extent - coordinate * tile);
  }
};

/// An array of which slices are moved. Elements are counted in the order in
/// which they lie in memory.
struct GirTensor {
  std::string name;
  int64_t elementBytes = 4, elements = 1;
  bool isInput = false, isResult = false;
  /// Where it lies. Inputs and results lie in memory; what is neither may have
  /// been raised to a level that its writers and readers share.
  GirLevel level = 0;
};

/// Elements along one direction of a slice: a tile of a loop, or a number.
struct GirExtent {
  int64_t size = 1;
  std::optional<LoopId> loop;

  bool operator==(const GirExtent &other) const {
    return size == other.size && loop == other.loop;
  }
};

/// `num` runs of `width` contiguous elements, at a distance of `stride`.
struct GirSlice {
  /// The tensor of which it is a part. If there is none it is a value: what one
  /// unit holds from the node that writes it to the last one that reads it.
  std::optional<TensorId> tensor;
  /// Where a value lies.
  GirLevel level = 0;
  int64_t elementBytes = 4;
  /// The first element, for parts of tensors: `offset`, and for each term its
  /// factor times the tiles of the loop that lie before.
  int64_t offset = 0;
  llvm::SmallVector<Term, 3> terms;
  GirExtent num, width;
  /// Between runs; of values it is the width.
  int64_t stride = 1;

  bool hasPatternOf(const GirSlice &other) const {
    return num == other.num && width == other.width;
  }
  /// True if both are the same elements of one tensor in the same order.
  bool isSamePart(const GirSlice &other) const {
    return tensor && tensor == other.tensor && offset == other.offset &&
           terms == other.terms && hasPatternOf(other) &&
           (stride == other.stride || num.size == 1);
  }
};

/// Who takes part in an exchange, from the narrowest on.
enum class GirScope {
  /// A lane and itself: nobody has to wait.
  Lane,
  /// Lanes of one unit.
  Unit,
  /// Units of one block.
  Block,
  /// All units.
  Device,
};

enum class GirKind { Move, Elementwise, Reduce, Broadcast, Sync };

/// A direction in a slice.
enum class GirAxis { Num, Width };

enum class GirReduction { Add, Max };

/// One instruction block.
struct GirNode {
  GirKind kind = GirKind::Move;
  /// It runs whenever one of the first `depth` loops of its stage moves on. A
  /// node of the full depth runs in every task, one of depth 0 once in every
  /// unit.
  unsigned depth = 0;
  /// Nodes of one pass go over their slices together, so that what one passes
  /// on to another stays in registers.
  unsigned pass = 0;
  llvm::SmallVector<SliceId, 3> inputs;
  SliceId output = 0;

  /// Elementwise: which function it is, as far as anyone has to tell functions
  /// apart; vector instructions for each vector and, among them, exponentials.
  int64_t function = 0;
  double instructions = 1, exponentials = 0;
  /// Elementwise: f(x) >= f(y) if x >= y, so that it commutes with a maximum.
  bool isMonotone = false;
  /// Reduce and broadcast: along what.
  GirAxis axis = GirAxis::Width;
  GirReduction reduction = GirReduction::Add;
  /// Sync: who waits for whom. One between two parts of a tensor parts stages;
  /// one between values changes their pattern: it turns runs into columns.
  GirScope scope = GirScope::Device;
  /// Move: the store goes around all caches.
  bool bypasses = false;
};

/// Tasks that need not wait for each other. Units take them in order, each as
/// many as the others or, the last ones, fewer.
struct GirStage {
  /// Loops over tasks, outermost first.
  llvm::SmallVector<LoopId, 4> tasks;
  /// By depth, then by pass, then in the order in which they run. The syncs
  /// that part this stage from later ones come last.
  std::vector<GirNode> nodes;
};

/// A graph of moves and arithmetic with its parallel structure.
struct Gir {
  std::vector<GirLoop> loops;
  std::vector<GirTensor> tensors;
  std::vector<GirSlice> slices;
  std::vector<GirStage> stages;
  int64_t units = 1, unitsPerBlock = 1;

  /// Says what is wrong with the graph, if anything: ids out of range; patterns
  /// that disagree; a slice with several writers, or read before it is written;
  /// a reader in another unit without a sync of sufficient scope; a value that
  /// ought to be in registers from one pass to another; a result that is not
  /// stored exactly once; with a machine, more than a level holds.
  llvm::Error check(const Machine *machine = nullptr) const;

  int64_t tasksOf(const GirStage &stage) const;
  int64_t tasksPerUnit(const GirStage &stage) const {
    return (tasksOf(stage) + units - 1) / units;
  }
  bool isValue(SliceId slice) const { return !slices[slice].tensor; }
  /// True if `node` moves a part of a tensor into a value.
  bool isLoad(const GirNode &node) const {
    return node.kind == GirKind::Move && !isValue(node.inputs[0]);
  }
  /// True if `node` moves a value into a part of a tensor.
  bool isStore(const GirNode &node) const {
    return node.kind == GirKind::Move && !isValue(node.output);
  }
  /// True if `node` stands between stages.
  bool isBoundary(const GirNode &node) const {
    return node.kind == GirKind::Sync && !isValue(node.inputs[0]);
  }
  /// Bytes of a value or part, as far as no edge cuts it.
  int64_t bytesOf(SliceId slice) const {
    const GirSlice &s = slices[slice];
    return s.num.size * s.width.size * s.elementBytes;
  }
};

/// Where a stage stores or loads a slice.
struct GirPlace {
  unsigned stage = 0;
  SliceId slice = 0;
};

/// The narrowest scope in which all elements that `reader` loads of a tensor
/// come from those `writer` stored: Lane if every task loads what it stored, as
/// it stored it; Unit or Block if every unit or block does.
GirScope findScope(const Gir &gir, GirPlace writer, GirPlace reader);

/// What a stage holds at each level, in bytes for one unit, or for one block if
/// it is a tensor. The registers of lanes are not counted: what is there passes
/// by.
llvm::SmallVector<int64_t, 4> liveBytes(const Gir &gir, unsigned stage,
                                        unsigned numLevels);

/// Orders the nodes of every stage in as few passes as dependences allow, and
/// gives each value a home: registers if one pass has all its nodes, otherwise
/// the innermost level; where that has no room for all, the largest go further
/// out. False if there is no room.
bool placeValues(Gir &gir, const Machine &machine);

/// The graph as text, one node a line, and back. Values are numbered in the
/// order of their writers.
std::string printGir(const Gir &gir);
llvm::Expected<Gir> parseGir(llvm::StringRef text);

/// A scope, kind or reduction in a word.
llvm::StringRef describe(GirScope scope);
llvm::StringRef describe(GirKind kind);
llvm::StringRef describe(GirReduction reduction);

} // namespace chimera::model

#endif // CHIMERA_MODEL_GIR_H
