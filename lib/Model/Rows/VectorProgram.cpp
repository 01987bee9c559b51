//===- VectorProgram.cpp - Groups on a unit with a buffer -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values are computed when, and where they lie, follows from the tiling
// alone. The lowering emits what stands here step by step, so that bytes and
// room are what was predicted.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/VectorProgram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace chimera::model;
using namespace llvm;
using Kind = VectorValue::Kind;

AxisSet VectorProgram::reducedAxes() const {
  AxisSet reduced = 0;
  for (const VectorValue &value : values)
    if (value.kind == Kind::Reduce)
      reduced |= values[value.operands[0]].axes & ~value.axes;
  return reduced;
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

int64_t chimera::model::tilePitch(const VectorTiling &tiling) {
  // Whole blocks of halves, too.
  return alignTo(tiling.columns, 2 * kBlockLanes);
}

VectorHome chimera::model::homeOf(const VectorProgram &program, AxisSet axes) {
  if (program.hasColumns(axes))
    return program.hasRows(axes) ? VectorHome::Tile : VectorHome::Columns;
  return program.hasRows(axes) ? VectorHome::Rows : VectorHome::Block;
}

int64_t chimera::model::homeElements(VectorHome home,
                                     const VectorTiling &tiling) {
  switch (home) {
  case VectorHome::Tile:
    return alignTo(tiling.rows * tilePitch(tiling), kVectorLanes);
  case VectorHome::Columns:
    return alignTo(tilePitch(tiling), kVectorLanes);
  case VectorHome::Rows:
    return alignTo(tiling.rows, kBlockLanes) * kBlockLanes;
  case VectorHome::Block:
    return kVectorLanes;
  case VectorHome::Partial:
    return tiling.rows * kVectorLanes;
  }
  llvm_unreachable("unknown home");
}

int64_t chimera::model::tensorBytes(const VectorProgram &program,
                                    const VectorTensor &tensor,
                                    const VectorTiling &tiling) {
  int64_t elements = program.hasRows(tensor.axes) ? tiling.rows : 1;
  if (program.hasColumns(tensor.axes))
    elements = homeElements(homeOf(program, tensor.axes), tiling);
  return alignTo(elements, kVectorLanes) * tensor.elementBytes;
}

bool chimera::model::storesInPlace(const VectorProgram &program,
                                   const VectorStore &store) {
  const VectorValue &value = program.values[store.value];
  const auto *first = find_if(program.stores, [&](const VectorStore &other) {
    return other.value == store.value;
  });
  bool isRead = any_of(program.values, [&](const VectorValue &user) {
    return is_contained(user.operands, store.value);
  });
  return value.kind == Kind::Compute && program.hasColumns(value.axes) &&
         !isRead && program.tensors[store.tensor].elementBytes == 4 &&
         first == &store;
}

/// The loop along which a result is contiguous, and what a tile has of it.
static std::pair<int64_t, int64_t>
getRun(const VectorProgram &program, AxisSet axes, const VectorTiling &tiling) {
  if (program.hasColumns(axes))
    return {program.columns(), tiling.columns};
  if (program.hasRows(axes))
    return {program.rows(), tiling.rows};
  return {1, 1};
}

/// What the last tile has of `extent`.
static int64_t lastTile(int64_t extent, int64_t tile) {
  return extent - (divideCeil(extent, tile) - 1) * tile;
}

int64_t chimera::model::tailBytes(const VectorProgram &program,
                                  const VectorStore &store,
                                  const VectorTiling &tiling,
                                  const VectorCore &core) {
  const VectorTensor &tensor = program.tensors[store.tensor];
  AxisSet axes = program.values[store.value].axes;
  if (core.movesBytes || getRun(program, axes, tiling).first *
                                 tensor.elementBytes % core.blockBytes ==
                             0)
    return 0;
  int64_t rows =
      program.hasColumns(axes) && program.hasRows(axes) ? tiling.rows : 1;
  // What is narrowed comes in whole instructions.
  int64_t elements = rows * core.blockBytes / tensor.elementBytes;
  return alignTo(elements, kVectorLanes) * tensor.elementBytes;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// Builds the schedule of a program for a tiling.
class Scheduler {
public:
  Scheduler(const VectorProgram &program, const VectorTiling &tiling,
            const VectorCore &core)
      : program(program), tiling(tiling), core(core),
        reduced(program.reducedAxes()) {}

  std::string run(VectorSchedule &schedule);

private:
  void findCuts(VectorSchedule &schedule);
  std::string findRefusal(const VectorSchedule &schedule) const;
  void findLevels();
  void addWholePass(VectorSchedule &schedule);
  void addLoops(VectorSchedule &schedule);
  void placeValues(VectorSchedule &schedule);

  int64_t countTiles(unsigned axis) const {
    int64_t extent = program.extents[axis];
    if (axis == program.columnAxis())
      return divideCeil(extent, tiling.columns);
    return axis == program.rowAxis() ? divideCeil(extent, tiling.rows) : extent;
  }
  bool isPartial(AxisSet axes) const { return (axes & reduced) != 0; }

  const VectorProgram &program;
  const VectorTiling &tiling;
  const VectorCore &core;
  AxisSet reduced, cutByTasks = 0, cutByPieces = 0;
  /// The pass that computes each value; -1 for what is there before all.
  SmallVector<int, 0> levels;
};

} // namespace

void Scheduler::findCuts(VectorSchedule &schedule) {
  for (unsigned axis = 0; axis < program.extents.size(); ++axis) {
    int64_t tiles = countTiles(axis);
    if (tiles == 1)
      continue;
    bool isReduced = reduced >> axis & 1;
    (isReduced ? cutByPieces : cutByTasks) |= AxisSet(1) << axis;
    (isReduced ? schedule.pieces : schedule.tasks) *= tiles;
  }
}

std::string Scheduler::findRefusal(const VectorSchedule &schedule) const {
  for (const VectorStore &store : program.stores) {
    const VectorTensor &tensor = program.tensors[store.tensor];
    AxisSet axes = program.values[store.value].axes;
    if ((axes & cutByTasks) != cutByTasks)
      return "a result would be stored by several tasks";
    auto [extent, tile] = getRun(program, axes, tiling);
    int64_t bytes = tensor.elementBytes;
    if (core.movesBytes)
      continue;
    if (tile < extent && tile * bytes % core.blockBytes != 0)
      return "tiles of a result start within a block";
    if (extent * bytes % core.blockBytes != 0 &&
        lastTile(extent, tile) * bytes < core.blockBytes)
      return "less than a block of a result is contiguous";
  }
  for (const VectorValue &value : program.values)
    if (value.kind == Kind::Reduce && schedule.pieces > 1 &&
        isPartial(value.axes))
      return "what one reduction leaves is reduced by another, in pieces";
  return "";
}

void Scheduler::findLevels() {
  for (const VectorValue &value : program.values) {
    int level = isPartial(value.axes) ? 0 : -1;
    for (VectorValueId operand : value.operands) {
      bool isThere = value.kind != Kind::Reduce && isPartial(value.axes) &&
                     !isPartial(program.values[operand].axes);
      level = std::max(level, levels[operand] + (isThere ? 1 : 0));
    }
    levels.push_back(level);
  }
}

static VectorStep makeStep(VectorValueId value) {
  VectorStep step;
  step.value = value;
  return step;
}

/// All of what is reduced is there at once.
void Scheduler::addWholePass(VectorSchedule &schedule) {
  VectorPass &pass = schedule.passes.emplace_back();
  for (auto [id, value] : enumerate(program.values))
    if (value.kind != Kind::Number)
      pass.body.push_back(makeStep(id));
}

/// A loop for each level of reductions, which computes anew what it needs.
void Scheduler::addLoops(VectorSchedule &schedule) {
  int last = *max_element(levels);
  for (int level = -1; level <= last; ++level) {
    VectorPass pass;
    pass.isLoop = level >= 0;
    SmallVector<bool, 0> needed(program.values.size(), false);
    for (const VectorStore &store : program.stores)
      if (levels[store.value] == level &&
          isPartial(program.values[store.value].axes))
        needed[store.value] = true;
    for (unsigned id = program.values.size(); id-- > 0;) {
      const VectorValue &value = program.values[id];
      if (value.kind == Kind::Reduce && levels[id] == level)
        needed[id] = true;
      if (needed[id])
        for (VectorValueId operand : value.operands)
          if (isPartial(program.values[operand].axes))
            needed[operand] = true;
    }
    for (auto [id, value] : enumerate(program.values)) {
      if (value.kind == Kind::Number)
        continue;
      if (needed[id])
        pass.body.push_back(makeStep(id));
      else if (!isPartial(value.axes) && levels[id] == level)
        (level < 0 ? pass.body : pass.finish).push_back(makeStep(id));
    }
    if (!pass.body.empty() || !pass.finish.empty())
      schedule.passes.push_back(std::move(pass));
  }
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

namespace {

/// Gives out homes and takes them back.
class Homes {
public:
  explicit Homes(std::array<unsigned, kNumVectorHomes> &counts)
      : counts(counts) {}

  unsigned take(VectorHome kind) {
    SmallVector<unsigned, 8> &free = isFree[unsigned(kind)];
    if (free.empty())
      return counts[unsigned(kind)]++;
    return free.pop_back_val();
  }
  void release(VectorHome kind, unsigned home) {
    isFree[unsigned(kind)].push_back(home);
  }

private:
  std::array<unsigned, kNumVectorHomes> &counts;
  std::array<SmallVector<unsigned, 8>, kNumVectorHomes> isFree;
};

/// Finds homes for the steps of a schedule in the order in which they run.
class Placement {
public:
  Placement(const VectorProgram &program, VectorSchedule &schedule)
      : program(program), schedule(schedule), homes(schedule.homes),
        current(program.values.size()) {}

  void run();

private:
  void open(VectorStep &step);
  void close(VectorStep &step);
  bool needsHome(const VectorValue &value, VectorValueId id) const;
  void takeTemporaries(VectorStep &step);
  void releaseTemporaries(VectorStep &step);
  void releaseUnused(ArrayRef<VectorValueId> operands, size_t step);
  void countUses();
  void countUsesInside(const VectorPass &pass, size_t first);

  VectorHome kindOf(VectorValueId id) const {
    return homeOf(program, program.values[id].axes);
  }

  const VectorProgram &program;
  VectorSchedule &schedule;
  Homes homes;
  SmallVector<std::optional<unsigned>, 0> current;
  /// The number of the last step that uses each value: over all passes or, of
  /// what a loop computes for itself, in that loop.
  SmallVector<size_t, 0> lastUse;
  size_t now = 0;
};

} // namespace

bool Placement::needsHome(const VectorValue &value, VectorValueId id) const {
  switch (value.kind) {
  case Kind::Number:
    return false;
  case Kind::Load:
    // Of f32, with columns, it lies where it was loaded to.
    return program.tensors[value.tensor].elementBytes != 4 ||
           !program.hasColumns(value.axes);
  case Kind::Reduce:
    return true;
  case Kind::Compute:
    return none_of(program.stores, [&](const VectorStore &store) {
      return store.value == id && storesInPlace(program, store);
    });
  }
  llvm_unreachable("unknown kind");
}

void Placement::takeTemporaries(VectorStep &step) {
  const VectorValue &value = program.values[step.value];
  for (int64_t i = 0; i < value.temporaries; ++i)
    step.temporaries.push_back(homes.take(kindOf(step.value)));
  for (int64_t i = 0; i < value.numbers; ++i)
    step.blocks.push_back(homes.take(VectorHome::Block));
  if (value.kind == Kind::Reduce &&
      program.hasColumns(program.values[value.operands[0]].axes) &&
      !program.hasColumns(value.axes))
    step.partial.push_back(homes.take(
        program.hasRows(value.axes) ? VectorHome::Partial : VectorHome::Block));
}

void Placement::releaseTemporaries(VectorStep &step) {
  for (unsigned home : step.temporaries)
    homes.release(kindOf(step.value), home);
  for (unsigned home : step.blocks)
    homes.release(VectorHome::Block, home);
  for (unsigned home : step.partial)
    homes.release(program.hasRows(program.values[step.value].axes)
                      ? VectorHome::Partial
                      : VectorHome::Block,
                  home);
}

void Placement::releaseUnused(ArrayRef<VectorValueId> operands, size_t step) {
  for (VectorValueId operand : operands)
    if (current[operand] && lastUse[operand] <= step) {
      homes.release(kindOf(operand), *current[operand]);
      current[operand].reset();
    }
}

/// Takes what `step` needs. What it replaces may be where its result goes, if
/// each instruction reads an element before it writes it.
void Placement::open(VectorStep &step) {
  const VectorValue &value = program.values[step.value];
  takeTemporaries(step);
  if (value.kind == Kind::Compute && value.temporaries == 0)
    releaseUnused(value.operands, now);
  if (needsHome(value, step.value))
    step.home = current[step.value] = homes.take(kindOf(step.value));
}

void Placement::close(VectorStep &step) {
  releaseTemporaries(step);
  releaseUnused(program.values[step.value].operands, now);
  releaseUnused({step.value}, now);
}

/// Numbers steps as they run. What a loop uses and does not compute is needed
/// until it ends.
void Placement::countUses() {
  lastUse.assign(program.values.size(), 0);
  size_t step = 0;
  auto use = [&](VectorValueId id, size_t at) {
    lastUse[id] = std::max(lastUse[id], at);
  };
  for (VectorPass &pass : schedule.passes) {
    size_t end = step + pass.body.size();
    SmallVector<bool, 0> isInside(program.values.size(), false);
    for (VectorStep &entry : pass.body)
      isInside[entry.value] = true;
    auto count = [&](SmallVectorImpl<VectorStep> &steps, bool isLoop) {
      for (VectorStep &entry : steps) {
        const VectorValue &value = program.values[entry.value];
        use(entry.value, isLoop && value.kind == Kind::Reduce ? end : step);
        for (VectorValueId operand : value.operands)
          use(operand, isLoop && !isInside[operand] ? end : step);
        ++step;
      }
    };
    count(pass.body, pass.isLoop);
    if (pass.isLoop)
      ++step;
    count(pass.finish, /*isLoop=*/false);
  }
}

/// The same for what `pass`, whose first step has number `first`, computes in
/// each iteration.
void Placement::countUsesInside(const VectorPass &pass, size_t first) {
  auto isInside = [&](VectorValueId id) {
    return any_of(pass.body, [&](const VectorStep &step) {
      return step.value == id && program.values[id].kind != Kind::Reduce;
    });
  };
  for (auto [index, step] : enumerate(pass.body)) {
    if (isInside(step.value))
      lastUse[step.value] = first + index;
    for (VectorValueId operand : program.values[step.value].operands)
      if (isInside(operand))
        lastUse[operand] = first + index;
  }
}

void Placement::run() {
  countUses();
  for (VectorPass &pass : schedule.passes) {
    size_t first = now;
    if (pass.isLoop)
      countUsesInside(pass, first);
    if (pass.isLoop)
      // Sums are there from before the loop to its end.
      for (VectorStep &step : pass.body)
        if (program.values[step.value].kind == Kind::Reduce)
          open(step);
    now = first;
    for (VectorStep &step : pass.body) {
      bool stays =
          pass.isLoop && program.values[step.value].kind == Kind::Reduce;
      if (!stays)
        open(step);
      if (!stays)
        close(step);
      else
        releaseUnused(program.values[step.value].operands, now);
      ++now;
    }
    if (pass.isLoop) {
      for (VectorStep &step : pass.body)
        if (program.values[step.value].kind == Kind::Reduce)
          releaseTemporaries(step);
      for (VectorValueId id = 0; id < program.values.size(); ++id)
        releaseUnused({id}, now);
      ++now;
    }
    for (VectorStep &step : pass.finish) {
      open(step);
      close(step);
      ++now;
    }
  }
}

std::string Scheduler::run(VectorSchedule &schedule) {
  findCuts(schedule);
  if (std::string refusal = findRefusal(schedule); !refusal.empty())
    return refusal;
  findLevels();
  if (schedule.pieces == 1)
    addWholePass(schedule);
  else
    addLoops(schedule);
  for (auto [id, value] : enumerate(program.values)) {
    if (value.kind != Kind::Load)
      continue;
    if ((value.axes & (cutByTasks | cutByPieces)) == 0)
      schedule.constants.push_back(id);
    else if (schedule.pieces > 1 && (value.axes & cutByPieces) == 0)
      schedule.taskLoads.push_back(id);
  }
  Placement(program, schedule).run();
  return "";
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

namespace {

/// Adds up what a scheduled program takes.
class Counter {
public:
  Counter(const VectorProgram &program, const VectorTiling &tiling,
          const VectorCore &core, const VectorSchedule &schedule)
      : program(program), tiling(tiling), core(core), schedule(schedule) {}

  VectorFigures run();

private:
  struct Moved {
    int64_t bytes = 0;
    double cycles = 0;
  };

  void countRoom();
  void countLoads();
  void countStores();
  void countCycles();
  Moved load(const VectorTensor &tensor, int64_t rows, int64_t columns) const;
  Moved store(const VectorStore &store, int64_t rows, int64_t columns) const;
  Moved overTiles(AxisSet axes,
                  function_ref<Moved(int64_t, int64_t)> ofTile) const;
  double pieces(int64_t bursts, int64_t bytes) const {
    return double(bursts) * alignTo(bytes, core.pieceBytes);
  }
  double cyclesOf(const VectorStep &step) const;

  const VectorProgram &program;
  const VectorTiling &tiling;
  const VectorCore &core;
  const VectorSchedule &schedule;
  VectorFigures figures;
};

} // namespace

/// A sum over the tiles of all axes in `axes`.
Counter::Moved
Counter::overTiles(AxisSet axes,
                   function_ref<Moved(int64_t, int64_t)> ofTile) const {
  double outer = 1;
  for (unsigned axis = 0; axis + 2 < program.extents.size(); ++axis)
    if (axes >> axis & 1)
      outer *= double(program.extents[axis]);
  auto tilesOf = [&](bool isCut, int64_t extent, int64_t tile) {
    SmallVector<std::pair<int64_t, int64_t>, 2> tiles;
    int64_t count = isCut ? divideCeil(extent, tile) : 1;
    if (count > 1)
      tiles.push_back({tile, count - 1});
    tiles.push_back({lastTile(extent, tile), 1});
    return tiles;
  };
  Moved sum;
  for (auto [rows, rowTiles] :
       tilesOf(program.hasRows(axes), program.rows(), tiling.rows))
    for (auto [columns, columnTiles] :
         tilesOf(program.hasColumns(axes), program.columns(), tiling.columns)) {
      Moved one = ofTile(rows, columns);
      sum.bytes += int64_t(outer) * rowTiles * columnTiles * one.bytes;
      sum.cycles += outer * double(rowTiles * columnTiles) * one.cycles;
    }
  return sum;
}

/// What a tile of `tensor` takes on its way into the buffer.
Counter::Moved Counter::load(const VectorTensor &tensor, int64_t rows,
                             int64_t columns) const {
  bool hasRows = program.hasRows(tensor.axes),
       hasColumns = program.hasColumns(tensor.axes);
  int64_t bursts = hasColumns && hasRows ? rows : 1;
  int64_t run = hasColumns ? columns : hasRows ? rows : 1;
  int64_t bytes = run * tensor.elementBytes;
  int64_t moved = core.movesBytes ? bytes : alignTo(bytes, core.blockBytes);
  bool isOneBurst = bursts > 1 && bytes % core.blockBytes == 0 &&
                    tensor.strides[*program.rowAxis()] == columns &&
                    columns == tilePitch(tiling);
  double cycles =
      isOneBurst ? pieces(1, bursts * moved) : pieces(bursts, moved);
  return {bursts * moved, cycles / core.loadBytesPerCycle};
}

Counter::Moved Counter::store(const VectorStore &store, int64_t rows,
                              int64_t columns) const {
  const VectorTensor &tensor = program.tensors[store.tensor];
  bool hasRows = program.hasRows(tensor.axes),
       hasColumns = program.hasColumns(tensor.axes);
  int64_t bursts = hasColumns && hasRows ? rows : 1;
  int64_t run = hasColumns ? columns : hasRows ? rows : 1;
  int64_t bytes = run * tensor.elementBytes, rest = bytes % core.blockBytes;
  if (core.movesBytes || rest == 0) {
    bool isOneBurst = bursts > 1 && rest == 0 &&
                      tensor.strides[*program.rowAxis()] == columns &&
                      columns == tilePitch(tiling);
    double cycles =
        isOneBurst ? pieces(1, bursts * bytes) : pieces(bursts, bytes);
    return {bursts * bytes, cycles / core.storeBytesPerCycle};
  }
  // The last block again, from where it begins in the row.
  Moved moved{bursts * core.blockBytes, pieces(bursts, core.blockBytes)};
  if (bytes > rest) {
    moved.bytes += bursts * (bytes - rest);
    moved.cycles += pieces(bursts, bytes - rest);
  }
  moved.cycles /= core.storeBytesPerCycle;
  return moved;
}

void Counter::countRoom() {
  int64_t room = 0;
  auto isConstant = [&](VectorValueId id) {
    return is_contained(schedule.constants, id) ||
           is_contained(schedule.taskLoads, id);
  };
  auto add = [&](int64_t bytes, int64_t places) {
    room += places * int64_t(alignTo(bytes, core.blockBytes));
  };
  for (auto [id, value] : enumerate(program.values))
    if (value.kind == Kind::Load)
      add(tensorBytes(program, program.tensors[value.tensor], tiling),
          isConstant(id) ? 1 : 2);
  for (const VectorStore &store : program.stores) {
    add(tensorBytes(program, program.tensors[store.tensor], tiling), 2);
    int64_t tail = tailBytes(program, store, tiling, core);
    add(tail, 2);
    // In f32 before it is narrowed; and what has no columns side by side.
    bool isNarrow = program.tensors[store.tensor].elementBytes != 4;
    if (tail > 0 && isNarrow)
      add(alignTo(tail / core.blockBytes * 2 * kBlockLanes, kVectorLanes) * 4,
          1);
    if (!program.hasColumns(program.values[store.value].axes))
      add(homeElements(VectorHome::Rows, tiling) * 4, 1);
  }
  for (unsigned kind = 0; kind < kNumVectorHomes; ++kind)
    add(homeElements(VectorHome(kind), tiling) * 4, schedule.homes[kind]);
  figures.roomBytes = room;
}

void Counter::countLoads() {
  AxisSet all = (AxisSet(1) << program.extents.size()) - 1;
  AxisSet byTasks = all & ~program.reducedAxes();
  auto add = [&](VectorValueId id, AxisSet axes, double times) {
    const VectorTensor &tensor = program.tensors[program.values[id].tensor];
    Moved moved = overTiles(axes, [&](int64_t rows, int64_t columns) {
      return load(tensor, rows, columns);
    });
    figures.loadedBytes += int64_t(times) * moved.bytes;
    figures.loadCycles += times * moved.cycles;
  };
  for (VectorValueId id : schedule.constants)
    add(id, 0, double(std::min(core.cores, schedule.tasks)));
  for (VectorValueId id : schedule.taskLoads)
    add(id, byTasks, 1);
  for (const VectorPass &pass : schedule.passes)
    for (const VectorStep &step : pass.body)
      if (program.values[step.value].kind == Kind::Load &&
          !is_contained(schedule.constants, step.value) &&
          !is_contained(schedule.taskLoads, step.value))
        add(step.value, all, 1);
}

void Counter::countStores() {
  AxisSet all = (AxisSet(1) << program.extents.size()) - 1;
  AxisSet reduced = program.reducedAxes();
  for (const VectorStore &entry : program.stores) {
    bool isPartial = (program.values[entry.value].axes & reduced) != 0;
    Moved moved = overTiles(isPartial ? all : all & ~reduced,
                            [&](int64_t rows, int64_t columns) {
                              return store(entry, rows, columns);
                            });
    figures.storedBytes += moved.bytes;
    figures.storeCycles += moved.cycles;
  }
}

/// Cycles of the vector unit for one whole tile.
double Counter::cyclesOf(const VectorStep &step) const {
  const VectorValue &value = program.values[step.value];
  AxisSet axes = value.axes;
  if (value.kind == Kind::Reduce)
    axes |= program.values[value.operands[0]].axes;
  double repeats =
      double(homeElements(homeOf(program, axes), tiling)) / kVectorLanes;
  return std::max<double>(3, repeats * double(value.cycles));
}

void Counter::countCycles() {
  double vector = 0;
  for (const VectorPass &pass : schedule.passes) {
    for (const VectorStep &step : pass.body)
      vector +=
          cyclesOf(step) * double(pass.isLoop ? schedule.pieces * schedule.tasks
                                              : schedule.tasks);
    for (const VectorStep &step : pass.finish)
      vector += cyclesOf(step) * double(schedule.tasks);
  }
  // The busiest core has so many of all tasks.
  double rounds = double(divideCeil(schedule.tasks, core.cores));
  double share = rounds / double(schedule.tasks);
  figures.loadCycles *= share;
  figures.storeCycles *= share;
  figures.vectorCycles = vector * share;
  double steps = rounds * double(schedule.pieces);
  figures.loadCycles += steps * core.loadLatency;
  figures.storeCycles += rounds * core.storeLatency;
  double busiest =
      std::max({figures.loadCycles, figures.vectorCycles, figures.storeCycles});
  // The first load and the last store run beside nothing.
  figures.cycles = busiest + (figures.loadCycles + figures.storeCycles) / steps;
}

VectorFigures Counter::run() {
  countRoom();
  countLoads();
  countStores();
  countCycles();
  return figures;
}

VectorPlan chimera::model::planVectorProgram(const VectorProgram &program,
                                             const VectorTiling &tiling,
                                             const VectorCore &core) {
  VectorPlan plan;
  plan.refusal = Scheduler(program, tiling, core).run(plan.schedule);
  if (!plan.refusal.empty())
    return plan;
  plan.figures = Counter(program, tiling, core, plan.schedule).run();
  if (plan.figures.roomBytes > core.bufferBytes)
    plan.refusal = "its tiles take more bytes than the buffer has";
  return plan;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Sizes of tiles along an extent: equal parts, in whole multiples of several
/// units, and no more than `most`.
static SmallVector<int64_t> getSizes(int64_t extent, int64_t most) {
  SmallVector<int64_t> sizes;
  for (int64_t parts = 1; parts <= extent; parts += 1 + parts / 4) {
    int64_t even = divideCeil(extent, parts);
    for (int64_t unit : {1, 8, 16, 64}) {
      int64_t size = std::min<int64_t>(alignTo(even, unit), extent);
      if (size <= most)
        sizes.push_back(size);
    }
  }
  sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  return sizes;
}

std::optional<VectorTiling>
chimera::model::findVectorTiling(const VectorProgram &program,
                                 const VectorCore &core, std::string &refusal) {
  // What one copy counts of rows, and elements that the buffer has room for.
  constexpr int64_t mostRows = 4095;
  std::optional<VectorTiling> best;
  double least = std::numeric_limits<double>::infinity();
  int64_t mostElements = core.bufferBytes / 4;
  for (int64_t columns : getSizes(program.columns(), mostElements))
    for (int64_t rows :
         getSizes(program.rows(), std::min(mostRows, mostElements / columns))) {
      VectorTiling tiling{rows, columns};
      VectorPlan plan = planVectorProgram(program, tiling, core);
      if (!plan.refusal.empty()) {
        refusal = plan.refusal;
        continue;
      }
      if (plan.figures.cycles >= least)
        continue;
      least = plan.figures.cycles;
      best = tiling;
    }
  return best;
}
