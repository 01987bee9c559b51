//===- OperandPlacement.cpp - Operands in place, packed or staged ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it costs to use the operand that supplies vectors where it lies, and
// what to copy it into the shape the micro kernel wants: strided lanes, lines
// that collide in a cache, and short runs from memory.
//
//===----------------------------------------------------------------------===//

#include "Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace chimera::model;

/// Ways of a set that one operand may take before it evicts itself. The other
/// ways hold the lines of the other operands.
static constexpr double waysShare = 0.75;
/// What comes from outside and leaves is still in a level from the call before,
/// all of it, if it takes no more than this share; the rest is for what happens
/// between the calls.
static constexpr double keptShare = 0.5;
/// Addresses as far apart as this fall into one set of the first level.
static constexpr int64_t pageBytes = 4096;
/// Lines that come in while one comes back that had been fetched ahead and was
/// evicted: as measured on Zen 5.
static constexpr double lostLineCost = 4;

/// What runs of `run` bytes from memory take beyond their share of the
/// bandwidth.
static double runCost(const Machine &machine, int64_t run) {
  const Overheads &overheads = machine.overheads;
  return overheads.shortRunCost * std::min(1.0, overheads.shortRunBytes / run);
}

const Access *CostModel::vectorOperand(const Operator &op) const {
  if (!machine.readsOperandsInPlace())
    return nullptr;
  for (const Access &input : op.inputs)
    if (input.hasLoop(op.vectorLoop) &&
        problem.tensors[input].role == Role::Input)
      return isReadInRows(op, input) ? nullptr : &input;
  return nullptr;
}

/// True if neighbours in memory are what `op` sums up, a part or more. Windows
/// are no vectors: their taps are few, and each has channels of its own.
static bool hasSumsInRows(const ChainProblem &problem, const Operator &op,
                          const Access &operand) {
  if (count_if(op.loops, [&](LoopId loop) { return op.isReduction(loop); }) > 1)
    return false;
  for (auto [index, stride] :
       zip(operand.indices, problem.tensors[operand].strides))
    if (stride == 1)
      return index.terms.size() == 1 && op.isReduction(index.terms[0].loop) &&
             problem.loops[index.terms[0].loop].extent >= reductionPart;
  return false;
}

bool CostModel::isReadInRows(const Operator &op, const Access &operand) const {
  // There are inner products for vectors only.
  if (machine.matrix || problem.tensors[operand].isConstant ||
      !isStrided(op, operand) || !hasSumsInRows(problem, op, operand))
    return false;
  int64_t rows = 1;
  for (LoopId loop : op.loops)
    if (op.output.hasLoop(loop) && !operand.hasLoop(loop))
      rows *= problem.loops[loop].extent;
  return rows <= mostRowsOfReading;
}

/// True if kernels of `op` read `operand`, constants that no level but the
/// outermost holds, where the program has them: no tile of theirs is made
/// before the first call.
bool CostModel::isReadUnpacked(const Schedule &schedule, const Operator &op,
                               const Access &operand) const {
  return machine.readsOperandsInPlace() &&
         problem.tensors[operand].isConstant &&
         !is_contained(schedule.prepacked, operand.tensor) &&
         !is_contained(schedule.packed, operand.tensor) &&
         matrixBytes(op, operand) >
             machine.levels[machine.levels.size() - 2].usableBytes();
}

/// True if kernels of `op` read `input` where it lies and no copy could help.
bool CostModel::readsRuns(const Schedule &schedule, const Operator &op,
                          const Access &input) const {
  return input.hasLoop(op.vectorLoop) &&
         problem.tensors[input].role == Role::Input &&
         (isReadInRows(op, input) || isReadUnpacked(schedule, op, input));
}

/// What memory takes longer for if a kernel reads the rows of its tiles in
/// short runs.
double CostModel::readingSeconds(const Schedule &schedule, const Operator &op,
                                 ArrayRef<int64_t> tiles,
                                 const Tasks &tasks) const {
  if (machine.levels.size() < 2)
    return 0;
  double seconds = 0;
  for (const Access &input : op.inputs)
    if (readsRuns(schedule, op, input))
      seconds += outerTrafficOf(schedule).fromMemory[input].readBytes /
                 bandwidth(tasks, 0) * runCost(machine, runBytes(input, tiles));
  return seconds;
}

/// The extent of `loop` outside the loops of `level`.
static int64_t extentAround(const ChainProblem &problem,
                            const Schedule &schedule, unsigned level,
                            LoopId loop) {
  while (level-- > 0)
    for (const TiledLoop &tiled : schedule.levels[level].order)
      if (tiled.loop == loop)
        return tiled.tile;
  return problem.loops[loop].extent;
}

int64_t CostModel::rowsOfPiece(const Schedule &schedule, const Operator &op,
                               const Access &operand,
                               ArrayRef<int64_t> tiles) const {
  SmallVector<int64_t, 6> covered(tiles);
  int64_t rows = 1;
  for (const Index &index : operand.indices)
    if (!index.hasLoop(op.vectorLoop))
      rows *= index.extent(tiles);
  // A block reads a panel of its columns, and then the next one.
  int64_t panel = schedule.registerTile.vectors * machine.unit.lanes;
  if (tiles[op.vectorLoop] > panel)
    return rows;
  for (unsigned level = schedule.levels.size(); level-- > 0;)
    for (const TiledLoop &tiled : reverse(schedule.levels[level].order)) {
      int64_t all = extentAround(problem, schedule, level, tiled.loop);
      if (all <= covered[tiled.loop] || !operand.hasLoop(tiled.loop))
        continue;
      if (tiled.loop == op.vectorLoop)
        return rows;
      rows *= llvm::divideCeil(all, covered[tiled.loop]);
      covered[tiled.loop] = all;
    }
  return rows;
}

double CostModel::brokenRunBytes(const Schedule &schedule,
                                 ArrayRef<Work> works) const {
  if (machine.levels.size() < 2)
    return 0;
  double bytes = 0;
  for (const auto &[op, work] : zip(problem.operators, works)) {
    const Access *operand = vectorOperand(op);
    if (!operand || problem.tensors[*operand].isConstant ||
        needsPacking(op, *operand) ||
        is_contained(schedule.packed, operand->tensor) ||
        is_contained(schedule.staged, operand->tensor))
      continue;
    SmallVector<int64_t, 6> tiles = largestOf(work.parts);
    if (rowsOfPiece(schedule, op, *operand, tiles) >
        machine.overheads.followedRows)
      bytes += outerTrafficOf(schedule).fromMemory[*operand].readBytes *
               runCost(machine, runBytes(*operand, tiles));
  }
  return bytes;
}

bool CostModel::waitsForCollisions(const Operator &op,
                                   const Access &operand) const {
  return !needsPacking(op, operand) &&
         all_of(operand.indices,
                [](const Index &index) { return index.terms.size() == 1; });
}

const Access *CostModel::operandInOrder(const Operator &op) const {
  if (const Access *operand = vectorOperand(op))
    return waitsForCollisions(op, *operand) ? operand : nullptr;
  return matrixReadInRows(op);
}

int64_t CostModel::pieceBytes(const Schedule &schedule, const Access &operand,
                              ArrayRef<int64_t> tiles) const {
  int64_t panel = schedule.registerTile.vectors * machine.unit.lanes *
                  problem.tensors[operand].elementBytes;
  return std::min(runBytes(operand, tiles), panel);
}

/// The share of a page by which rows of `operand` lie apart.
static double pagesApart(const Tensor &tensor) {
  int64_t apart = pageBytes;
  for (int64_t stride : tensor.strides)
    if (stride > 1)
      apart = std::min(apart, stride * tensor.elementBytes);
  return static_cast<double>(apart) / pageBytes;
}

double CostModel::collidingSeconds(const Access &operand,
                                   ArrayRef<int64_t> tiles, int64_t bytes,
                                   int64_t piece, const Tasks &tasks) const {
  unsigned innermost = machine.levels.size() - 1;
  if (!conflicts(operand, tiles, innermost))
    return 0;
  double pieces = static_cast<double>(bytes) / piece;
  double cycles = pieces * pagesApart(problem.tensors[operand]) *
                  machine.overheads.collisionCycles;
  double seconds = tasks.busiestShare * cycles / machine.unit.cyclesPerSecond;
  return std::max(0.0, seconds - bytes / bandwidth(tasks, innermost));
}

double CostModel::rereadSeconds(const Schedule &schedule, const Access &operand,
                                ArrayRef<int64_t> tiles, int64_t read,
                                int64_t moved, const Tasks &tasks) const {
  int64_t first = moved;
  if (machine.levels.size() > 1)
    first = std::min(first, outerTrafficOf(schedule).staged[operand].readBytes);
  return collidingSeconds(operand, tiles, read - first,
                          pieceBytes(schedule, operand, tiles), tasks);
}

double CostModel::partialSumSeconds(const Schedule &schedule,
                                    const Operator &op, ArrayRef<int64_t> tiles,
                                    const Traffic &traffic,
                                    const Tasks &tasks) const {
  if (problem.tensors[op.output].role != Role::Output)
    return 0;
  return collidingSeconds(op.output, tiles, traffic.readBytes,
                          pieceBytes(schedule, op.output, tiles), tasks);
}

double CostModel::outsideSeconds(const Schedule &schedule, unsigned op,
                                 const Access &operand, ArrayRef<int64_t> tiles,
                                 int64_t read, const Tasks &tasks) const {
  if (!collidesOutside(schedule, op, operand))
    return 0;
  double again = std::max<int64_t>(
      0, read - outerTrafficOf(schedule).staged[operand].readBytes);
  return again * (1 + machine.overheads.runBytes / runBytes(operand, tiles)) /
         bandwidth(tasks, machine.levels.size() - 2);
}

double CostModel::copySeconds(const Schedule &schedule, const Operator &op,
                              const Access &operand, ArrayRef<int64_t> tiles,
                              int64_t moved, const Tasks &tasks) const {
  double seconds =
      tasks.busiestShare *
      packingSeconds(op, operand, packedBytes(schedule, operand, moved));
  if (!waitsForCollisions(op, operand))
    return seconds;
  // Where loads take two lines, too few are under way to hide the next level.
  seconds += 2 * crossingShare(op, operand) * moved /
             bandwidth(tasks, machine.levels.size() - 1);
  // Pages come while the copy works, which goes along a row of the tile before
  // the next.
  return std::max(seconds, collidingSeconds(operand, tiles, moved,
                                            runBytes(operand, tiles), tasks));
}

double CostModel::lostBytes(const Schedule &schedule, const Access &operand,
                            ArrayRef<int64_t> tiles, int64_t bytes) const {
  double share = crowdedShare(operand, tiles, machine.levels.size() - 1);
  if (share == 0)
    return 0;
  int64_t run = pieceBytes(schedule, operand, tiles);
  int64_t line = machine.levels.back().lineBytes;
  int64_t lines = run % line == 0 ? 1 : 2;
  return lostLineCost * share * lines * line * bytes / run;
}

double CostModel::shortRunBytes(const Schedule &schedule,
                                ArrayRef<Work> works) const {
  double keptShare = 1 - missShares.front();
  if (machine.levels.size() < 3 || keptShare == 0)
    return 0;
  double bytes = 0;
  for (const auto &[index, op] : enumerate(problem.operators))
    for (const Access &input : op.inputs) {
      bool isStaged = is_contained(schedule.staged, input.tensor);
      bool comesInTiles = &input == vectorOperand(op) && canStage(op, input);
      if (!comesInTiles && !readsRuns(schedule, op, input))
        continue;
      int64_t run = runBytes(input, isStaged ? outerTiles(schedule, index)
                                             : largestOf(works[index].parts));
      bytes += keptShare * outerTrafficOf(schedule).staged[input].readBytes *
               machine.overheads.runBytes / run;
    }
  return bytes;
}

/// True if `operand` cannot be used as it lies: neighbouring columns are not
/// neighbours in memory, or the matrix unit wants those along the reduction
/// side by side.
bool CostModel::needsPacking(const Operator &op, const Access &operand) const {
  return isStrided(op, operand) ||
         (machine.matrix && machine.matrix->interleave > 1);
}

/// True if neighbouring lanes are not neighbours in memory.
bool CostModel::isStrided(const Operator &op, const Access &operand) const {
  const Tensor &tensor = problem.tensors[operand];
  for (auto [index, stride] : zip(operand.indices, tensor.strides))
    for (const Term &term : index.terms)
      if (term.loop == op.vectorLoop)
        return stride * term.factor != 1;
  return false;
}

bool CostModel::conflicts(const Access &operand, ArrayRef<int64_t> tiles,
                          unsigned level) const {
  return crowdedShare(operand, tiles, level) > 0;
}

double CostModel::crowdedShare(const Access &operand, ArrayRef<int64_t> tiles,
                               unsigned level) const {
  if (problem.tensors[operand].hasRowsApart)
    return 0;
  SmallVector<int64_t, 6> key = {operand.tensor, level};
  for (const Index &index : operand.indices)
    key.push_back(index.extent(tiles));
  auto [entry, isNew] = crowdedShares.try_emplace(std::move(key), 0);
  if (isNew)
    entry->second = computeCrowdedShare(operand, tiles, machine.levels[level]);
  return entry->second;
}

/// Counts the lines of the operand's tile that fall into each set of `cache`,
/// as many as it has room for: the others are like them, and that they are too
/// many is no collision.
double CostModel::computeCrowdedShare(const Access &operand,
                                      ArrayRef<int64_t> tiles,
                                      const MemoryLevel &cache) const {
  if (cache.ways == 0)
    return 0;
  int64_t sets = std::max<int64_t>(1, cache.capacityBytes /
                                          (cache.lineBytes * cache.ways));
  int64_t allowed = std::max<int64_t>(1, cache.ways * waysShare);
  const Tensor &tensor = problem.tensors[operand];
  // Runs of neighbouring elements take whole lines; the other dimensions step
  // from run to run.
  int64_t runBytes = tensor.elementBytes;
  SmallVector<Parts, 4> steps;
  for (auto [index, stride] : zip(operand.indices, tensor.strides)) {
    int64_t extent = index.extent(tiles);
    if (stride == 1)
      runBytes *= extent;
    else
      steps.push_back({stride * tensor.elementBytes, extent});
  }
  SmallVector<int64_t, 0> used(sets, 0);
  SmallVector<int64_t, 4> position(steps.size(), 0);
  int64_t lines = 0, crowded = 0;
  while (lines < sets * allowed) {
    int64_t begin = 0;
    for (auto [index, step] : zip(position, steps))
      begin += index * step.size;
    int64_t last = (begin + runBytes - 1) / cache.lineBytes;
    for (int64_t line = begin / cache.lineBytes; line <= last; ++line) {
      ++lines;
      if (++used[line % sets] > allowed)
        ++crowded;
    }
    unsigned dim = steps.size();
    while (dim > 0 && ++position[dim - 1] == steps[dim - 1].count)
      position[--dim] = 0;
    if (dim == 0)
      break;
  }
  return static_cast<double>(crowded) / lines;
}

bool CostModel::collidesOutside(const Schedule &schedule, unsigned op,
                                const Access &operand) const {
  return machine.levels.size() > 1 && machine.levels.back().ways != 0 &&
         conflicts(operand, outerTiles(schedule, op),
                   machine.levels.size() - 2);
}

int64_t CostModel::refetchedBytes(const Operator &op, const Access &operand,
                                  ArrayRef<PartList> parts,
                                  const RegisterTile &tile) const {
  int64_t passes = 1;
  for (LoopId loop : op.loops) {
    if (operand.hasLoop(loop))
      continue;
    if (loop != op.rowLoop) {
      passes *= countOf(parts[loop]);
      continue;
    }
    int64_t rowTiles = 0;
    for (Parts part : parts[loop])
      rowTiles +=
          part.count *
          divideCeilSigned(part.size, tile.rows * machine.rowsPerInstruction());
    passes *= rowTiles;
  }
  const Tensor &tensor = problem.tensors[operand];
  // Strided lanes fetch a line for each element.
  int64_t unit = isStrided(op, operand) ? machine.levels.back().lineBytes
                                        : tensor.elementBytes;
  return passes * problem.sizeOf(operand) * unit;
}

double CostModel::copyCycles(int64_t elements, bool isTransposed,
                             double crossing) const {
  const VectorUnit &unit = machine.unit;
  double vectors = static_cast<double>(elements) / unit.lanes;
  double cycles =
      vectors * ((1 + crossing) / unit.loadsPerCycle + 1 / unit.storesPerCycle);
  return isTransposed ? cycles * machine.overheads.transposeFactor : cycles;
}

double CostModel::packingSeconds(const Operator &op, const Access &operand,
                                 int64_t bytes) const {
  int64_t elements = bytes / problem.tensors[operand].elementBytes;
  bool isTransposed = isStrided(op, operand);
  double cycles =
      copyCycles(elements, isTransposed, crossingShare(op, operand));
  // Squares of vectors are turned as a whole, whatever is in them.
  int64_t columns = problem.loops[op.vectorLoop].extent;
  if (isTransposed)
    cycles *= static_cast<double>(alignTo(columns, machine.unit.lanes)) /
              static_cast<double>(columns);
  return cycles / machine.unit.cyclesPerSecond;
}

SmallVector<int64_t, 6> CostModel::largestOf(ArrayRef<PartList> parts) {
  SmallVector<int64_t, 6> sizes;
  for (const PartList &list : parts)
    sizes.push_back(list.front().size);
  return sizes;
}

int64_t CostModel::runBytes(const Access &operand,
                            ArrayRef<int64_t> tiles) const {
  const Tensor &tensor = problem.tensors[operand];
  int64_t elements = 1;
  // Dimensions from the innermost on, for as long as the tile has all of one.
  for (unsigned dim = tensor.shape.size(); dim-- > 0;) {
    if (tensor.strides[dim] != elements)
      break;
    int64_t extent = operand.indices[dim].extent(tiles);
    elements *= std::min(extent, tensor.shape[dim]);
    if (extent < tensor.shape[dim])
      break;
  }
  return elements * tensor.elementBytes;
}

/// Bytes of the matrix that one iteration of the batch loops of `op` reads.
int64_t CostModel::matrixBytes(const Operator &op,
                               const Access &operand) const {
  const Tensor &tensor = problem.tensors[operand];
  auto isBatch = [&](LoopId loop) {
    return op.output.hasLoop(loop) &&
           all_of(op.inputs,
                  [&](const Access &input) { return input.hasLoop(loop); });
  };
  int64_t bytes = tensor.elementBytes;
  for (auto [index, size] : zip(operand.indices, tensor.shape))
    if (!any_of(index.terms,
                [&](const Term &term) { return isBatch(term.loop); }))
      bytes *= size;
  return bytes;
}

/// A matrix that the outer level holds comes in whole in any order, as the
/// hardware fetches the neighbours of what is read.
bool CostModel::canStage(const Operator &op, const Access &operand) const {
  if (machine.levels.size() < 2 || machine.levels.back().ways == 0 ||
      problem.tensors[operand].isConstant ||
      problem.tensors[operand].role != Role::Input ||
      needsPacking(op, operand) ||
      matrixBytes(op, operand) <=
          machine.levels[machine.levels.size() - 2].usableBytes())
    return false;
  auto readers = count_if(problem.operators, [&](const Operator &reader) {
    return any_of(
               reader.inputs,
               [&](const Access &input) { return input == operand.tensor; }) ||
           any_of(reader.epilogue,
                  [&](const Access &input) { return input == operand.tensor; });
  });
  return readers == 1 && all_of(operand.indices, [](const Index &index) {
           return index.terms.size() == 1 && index.terms[0].factor == 1;
         });
}

int64_t CostModel::packedBytes(const Schedule &schedule, TensorId tensor,
                               int64_t moved) const {
  if (threads > 1 || schedule.numParallel == 0)
    return moved;
  unsigned innermost = machine.levels.size() - 1;
  Transfer transfer = transferInto(machine.levels[innermost], threads);
  transfer.isPrivate = true;
  return Evaluator(structure, schedule, innermost, transfer)
      .run()
      .traffic[tensor]
      .readBytes;
}

/// Where the vector operand of an operator lies while blocks read it: whatever
/// costs least in seconds of copying and of transfers. Tiles made before the
/// first call cost nothing, and nothing reads faster.
void CostModel::choosePacking(Schedule &schedule) const {
  unsigned innermost = machine.levels.size() - 1;
  std::vector<Work> works;
  std::optional<Evaluation> evaluation;
  schedule.packed.clear();
  schedule.staged.clear();
  schedule.prepacked.clear();
  SmallVector<Arrival, 2> arrivals;
  if (mayStage) {
    works = workOf(schedule);
    arrivals = arrivalsAt(schedule, works);
  }
  Tasks tasks = tasksOf(schedule);
  double share = tasks.busiestShare;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Access *operand = vectorOperand(op);
    if (!operand || is_contained(schedule.packed, operand->tensor))
      continue;
    if (problem.tensors[*operand].isConstant &&
        prepackedColumns(problem, schedule, index, *operand)) {
      schedule.prepacked.push_back(*operand);
      // Zeros and scales come along with the codes.
      for (const Access &input : op.inputs)
        if (op.decodeInstructions > 0 && input.tensor != operand->tensor &&
            problem.tensors[input].isConstant &&
            prepackedColumns(problem, schedule, index, input))
          schedule.prepacked.push_back(input);
      continue;
    }
    if (works.empty())
      works = workOf(schedule);
    const auto &parts = works[index].parts;
    SmallVector<int64_t, 6> tiles = largestOf(parts);
    bool isForced = needsPacking(op, *operand);
    bool collides = !isForced && conflicts(*operand, tiles, innermost);
    auto arrival = find_if(arrivals, [&, current = &op](const Arrival &known) {
      return known.op == current;
    });
    double crossing =
        isForced ? 0
                 : crossingSeconds(schedule, op, *operand, works[index], tasks);
    if (!isForced && !collides && crossing == 0 && arrival == arrivals.end())
      continue;
    if (!evaluation)
      evaluation = Evaluator(structure, schedule, innermost,
                             transferInto(machine.levels[innermost], threads))
                       .run();
    int64_t moved = evaluation->traffic[*operand].readBytes;
    double packing = copySeconds(schedule, op, *operand, tiles, moved, tasks);
    int64_t read =
        collides ? refetchedBytes(op, *operand, parts, schedule.registerTile)
                 : moved;
    double inPlace = (read - moved) / bandwidth(tasks, innermost);
    if (waitsForCollisions(op, *operand)) {
      double compute = share * arithmeticCycles(schedule, works) /
                           machine.contractionClock() -
                       crossing;
      double transfer = moved / bandwidth(tasks, innermost);
      auto secondsMore = [&](double moreTransfer, double moreCompute) {
        Stages plain, with;
        plain.add(transfer);
        with.add(transfer + moreTransfer);
        return with.with(compute + moreCompute) - plain.with(compute);
      };
      auto outside = [&, number = index](int64_t bytes) {
        return outsideSeconds(schedule, number, *operand, tiles, bytes, tasks);
      };
      double again = inPlace + rereadSeconds(schedule, *operand, tiles, read,
                                             moved, tasks);
      inPlace = secondsMore(again, outside(read) + crossing);
      packing = secondsMore(0, packing + outside(moved));
    } else {
      inPlace += crossing;
    }
    auto arriving = [&](Way way) {
      return arrival == arrivals.end()
                 ? 0
                 : arrivalSeconds(*arrival, tiles, way, tasks);
    };
    inPlace += arriving(Way::InPlace);
    packing += arriving(Way::Packed);
    bool packs = isForced || packing < inPlace;
    double least = packs ? packing : inPlace;
    if (arrival != arrivals.end() && arriving(Way::Staged) < least)
      schedule.staged.push_back(*operand);
    else if (packs)
      schedule.packed.push_back(*operand);
  }
}

SmallVector<int64_t, 6> CostModel::outerTiles(const Schedule &schedule,
                                              unsigned op) const {
  SmallVector<int64_t, 6> tiles;
  for (const Loop &loop : problem.loops)
    tiles.push_back(loop.extent);
  for (const LevelSchedule &level : ArrayRef(schedule.levels).drop_back())
    for (const TiledLoop &entry : level.order)
      if (entry.operators == 0 || entry.operators >> op & 1)
        tiles[entry.loop] = entry.tile;
  return tiles;
}

SmallVector<CostModel::Arrival, 2>
CostModel::arrivalsAt(const Schedule &schedule, ArrayRef<Work> works) const {
  SmallVector<Arrival, 2> arrivals;
  for (const auto &[index, op] : enumerate(problem.operators)) {
    const Access *operand = vectorOperand(op);
    if (operand && canStage(op, *operand))
      arrivals.push_back({&op, operand, 0, 0, outerTiles(schedule, index),
                          largestOf(works[index].parts)});
  }
  if (arrivals.empty())
    return arrivals;
  const OuterTraffic &traffic = outerTrafficOf(schedule);
  Tasks tasks = tasksOf(schedule);
  for (Arrival &arrival : arrivals) {
    arrival.bytes = traffic.staged[*arrival.operand].readBytes;
    arrival.memorySeconds =
        traffic.fromMemory[*arrival.operand].readBytes / bandwidth(tasks, 0);
  }
  return arrivals;
}

bool chimera::model::keepsAll(const MemoryLevel &level, double bytes) {
  return bytes <= keptShare * level.usableBytes();
}

/// The share of what comes from outside and leaves that a call does not find
/// where the call before left it: nothing of what half fills a level, all of
/// what fills it, which evicts itself. Of machines whose levels are caches
/// throughout: others are filled by programs, anew in each call.
SmallVector<double, 4> CostModel::findMissShares() const {
  SmallVector<double, 4> shares(machine.levels.size(), 1);
  if (any_of(machine.levels,
             [](const MemoryLevel &level) { return level.ways == 0; }))
    return shares;
  double outside = problem.otherBytes, inside = 0;
  for (const auto &[id, tensor] : enumerate(problem.tensors)) {
    bool isOutside = tensor.role == Role::Input || tensor.role == Role::Output;
    double bytes = static_cast<double>(problem.sizeOf(id)) *
                   (isOutside ? tensor.elementBytes : tensor.heldBytes());
    (isOutside || tensor.isStored ? outside : inside) += bytes;
  }
  for (auto [share, level] : zip(shares, machine.levels)) {
    double room = level.usableBytes();
    if (outside + inside > room)
      break;
    share =
        std::clamp((outside / room - keptShare) / (1 - keptShare), 0.0, 1.0);
  }
  return shares;
}

const CostModel::OuterTraffic &
CostModel::outerTrafficOf(const Schedule &schedule) const {
  SmallVector<int64_t, 32> key = {schedule.numParallel};
  append_range(key, schedule.homes);
  for (const LevelSchedule &level : ArrayRef(schedule.levels).drop_back()) {
    key.push_back(-1);
    for (const TiledLoop &entry : level.order)
      append_range(key,
                   ArrayRef<int64_t>{entry.loop, entry.tile,
                                     static_cast<int64_t>(entry.operators)});
  }
  if (key == lastOuterTraffic.key)
    return lastOuterTraffic;
  auto evaluateAt = [&](unsigned level) {
    return Evaluator(structure, schedule, level,
                     transferInto(machine.levels[level], threads))
        .run()
        .traffic;
  };
  lastOuterTraffic = {std::move(key), evaluateAt(0),
                      evaluateAt(machine.levels.size() - 2)};
  return lastOuterTraffic;
}

CostModel::Way CostModel::wayOf(const Schedule &schedule, TensorId tensor) {
  if (is_contained(schedule.staged, tensor))
    return Way::Staged;
  return is_contained(schedule.packed, tensor) ? Way::Packed : Way::InPlace;
}

double CostModel::arrivalSeconds(const Arrival &arrival,
                                 ArrayRef<int64_t> tiles, Way way,
                                 const Tasks &tasks) const {
  auto runSeconds = [&](ArrayRef<int64_t> read) {
    return arrival.memorySeconds *
           runCost(machine, runBytes(*arrival.operand, read));
  };
  if (way != Way::Staged)
    return runSeconds(tiles);
  // The copy is written, which fetches its lines, and read again. A row is
  // written piece by piece into panels that lie apart.
  const Access &operand = *arrival.operand;
  int64_t piece = runBytes(operand, tiles), panel = piece;
  for (const Index &index : operand.indices)
    if (!index.hasLoop(arrival.op->vectorLoop))
      panel *= index.extent(arrival.outerTiles);
  double pages = std::min(1.0, static_cast<double>(panel) / pageBytes) *
                 arrival.bytes / piece;
  double cycles = pages * machine.overheads.collisionCycles;
  return runSeconds(arrival.outerTiles) +
         tasks.busiestShare *
             (packingSeconds(*arrival.op, operand, arrival.bytes) +
              cycles / machine.unit.cyclesPerSecond) +
         3 * arrival.bytes / bandwidth(tasks, machine.levels.size() - 1);
}

double
CostModel::unavoidablePacking(function_ref<int64_t(TensorId)> bytesOf) const {
  double seconds = 0;
  for (const Operator &op : problem.operators) {
    const Access *operand = vectorOperand(op);
    if (operand && needsPacking(op, *operand))
      seconds += packingSeconds(op, *operand, bytesOf(*operand));
  }
  return seconds;
}

bool CostModel::findStageable() const {
  return any_of(problem.operators, [&](const Operator &op) {
    const Access *operand = vectorOperand(op);
    return operand && canStage(op, *operand);
  });
}

bool CostModel::operandsArePrivate() const {
  return all_of(problem.operators, [&](const Operator &op) {
    const Access *operand = vectorOperand(op);
    return !operand || count_if(problem.operators, [&](const Operator &user) {
                         return any_of(user.inputs, [&](const Access &input) {
                           return input == operand->tensor;
                         });
                       }) == 1;
  });
}

std::optional<CostModel::ConflictCost>
CostModel::conflictCost(const Operator &op, ArrayRef<int64_t> tiles,
                        ArrayRef<PartList> parts, const RegisterTile &tile,
                        function_ref<int64_t(TensorId)> bytesOf) const {
  const Access *operand = vectorOperand(op);
  // Constants are prepacked, or cost more than this says.
  if (!operand || problem.tensors[*operand].isConstant ||
      needsPacking(op, *operand) ||
      !conflicts(*operand, tiles, machine.levels.size() - 1))
    return std::nullopt;
  int64_t moved = bytesOf(*operand);
  ConflictCost cost;
  cost.packing = packingSeconds(op, *operand, moved);
  cost.bytes = refetchedBytes(op, *operand, parts, tile) - moved;
  cost.canStage = canStage(op, *operand);
  return cost;
}
