//===- PlanTables.cpp - What plans move, and what they could move ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints, for the chains of the paper's Tables IV and V on every named machine,
// what the plan moves into the slowest and into the fastest level, beside the
// unfused plans, the paper's closed form, and the lower bound. Figures are
// those of the model, which the tests hold against a simulation; nothing is
// run.
//
//   chimera-plan-tables [TARGET...]
//
//===----------------------------------------------------------------------===//

#include "PlanCases.h"

#include "Chimera/Model/Algorithms.h"
#include "Chimera/Model/PaperModel.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace chimera::model;
using namespace chimera::plans;

/// Every input read once, every output written once.
static int64_t compulsoryBytes(const ChainProblem &problem) {
  constexpr int64_t moreThanAnyMemory = int64_t(1) << 40;
  return findBound(problem, moreThanAnyMemory).bytes;
}

static std::string kibibytes(int64_t bytes) {
  return formatv("{0:F0}", bytes / 1024.0);
}

static std::string ratio(int64_t bytes, int64_t reference) {
  return formatv("{0:F2}", static_cast<double>(bytes) / reference);
}

//===----------------------------------------------------------------------===//
// The paper's tiles
//===----------------------------------------------------------------------===//

/// The paper's lower bound of the tiles of k and n.
static constexpr int64_t alpha = 16;

namespace {
/// The paper's order m, l, k, n with tiles for a single level.
struct PaperTiles {
  Permutation permutation;
  SmallVector<int64_t, 6> tiles;

  Schedule schedule() const {
    Schedule schedule;
    schedule.levels.emplace_back();
    for (LoopId loop : permutation)
      schedule.levels[0].order.push_back({loop, tiles[loop]});
    return schedule;
  }
};
} // namespace

/// For two matrix products the closed form. For two convolutions, which have
/// none, the tiles of m and l with which Algorithm 1 counts the least volume,
/// windows whole. Capacity is counted in elements of the size in which the
/// intermediate is held. Nothing if there is no room, or if the second layer
/// has windows: Algorithm 1 does not know tiles of an intermediate that
/// overlap.
static std::optional<PaperTiles> findPaperTiles(const Case &entry,
                                                const ChainProblem &problem,
                                                int64_t capacityBytes) {
  if (entry.m.empty())
    return std::nullopt;
  const Tensor &intermediate = problem.tensors[problem.operators[0].output];
  int64_t capacity = capacityBytes / intermediate.heldBytes();
  auto extentOf = [&](LoopId loop) { return problem.loops[loop].extent; };
  PaperTiles paper;
  for (const Loop &loop : problem.loops)
    paper.tiles.push_back(loop.extent);
  // Both kinds start with a batch, whose items have nothing in common.
  paper.tiles[0] = 1;
  paper.permutation = {0};
  append_range(paper.permutation, entry.m);
  append_range(paper.permutation, ArrayRef({entry.l, entry.k, entry.n}));
  for (LoopId loop : {entry.k, entry.n})
    paper.tiles[loop] = std::min(alpha, extentOf(loop));
  if (entry.m.size() == 1) {
    LoopId m = entry.m.front();
    PaperClosedForm form =
        solvePaperClosedForm(extentOf(m), extentOf(entry.n), extentOf(entry.k),
                             extentOf(entry.l), capacity, alpha);
    paper.tiles[m] = form.tileM;
    paper.tiles[entry.l] = form.tileL;
    return paper;
  }
  SmallVector<int64_t, 6> granularity = paper.tiles;
  granularity[entry.l] = 1;
  for (LoopId loop : entry.m)
    granularity[loop] = 1;
  auto optimum =
      minimizePaper(problem, paper.permutation, capacity, granularity);
  if (!optimum)
    return std::nullopt;
  paper.tiles = optimum->tiles;
  return paper;
}

//===----------------------------------------------------------------------===//
// A case on one machine
//===----------------------------------------------------------------------===//

namespace {

class CaseReport {
public:
  CaseReport(const Case &entry, const NamedMachine &target);

  void printRow(raw_ostream &os) const;
  /// Why it is not fused, if so.
  void printReason(raw_ostream &os) const;

private:
  void printLevel(raw_ostream &os, unsigned level) const;
  std::string planned(std::optional<int64_t> bytes, bool isChosen) const;
  int64_t capacityAt(unsigned level) const;
  std::string counted(const std::optional<Schedule> &schedule) const;
  std::string exactAt(unsigned level) const;
  std::string paperAt(unsigned level) const;

  const Case &entry;
  const Machine &machine;
  ChainProblem problem;
  Verdict verdict;
  SmallVector<Bound, 3> bounds;
  int64_t compulsory;
};

CaseReport::CaseReport(const Case &entry, const NamedMachine &target)
    : entry(entry), machine(target.machine),
      problem(inTypeOf(target, entry.problem)),
      compulsory(compulsoryBytes(problem)) {
  SolveOptions options;
  options.threads = machine.cores;
  verdict = judge(problem, machine, options);
  bounds = findBounds(problem, machine, options);
}

std::string CaseReport::planned(std::optional<int64_t> bytes,
                                bool isChosen) const {
  if (!bytes)
    return "none";
  std::string text = ratio(*bytes, compulsory);
  return isChosen ? "**" + text + "**" : text;
}

/// The room that the fused plan has.
int64_t CaseReport::capacityAt(unsigned level) const {
  return verdict.fused ? verdict.fused->levels[level].capacityBytes
                       : machine.levels[level].usableBytes();
}

/// What a schedule of a single level moves.
std::string CaseReport::counted(const std::optional<Schedule> &schedule) const {
  if (!schedule)
    return "n/a";
  return ratio(evaluate(problem, *schedule, 0).volumeBytes(), compulsory);
}

/// The least there is with tiles no smaller than the paper's.
std::string CaseReport::exactAt(unsigned level) const {
  SmallVector<int64_t, 8> granularity(problem.loops.size(), 1);
  granularity[entry.l] = granularity[entry.k] = granularity[entry.n] = alpha;
  return counted(solveVolume(problem, capacityAt(level), granularity));
}

std::string CaseReport::paperAt(unsigned level) const {
  auto paper = findPaperTiles(entry, problem, capacityAt(level));
  if (!paper)
    return "n/a";
  return counted(paper->schedule());
}

void CaseReport::printLevel(raw_ostream &os, unsigned level) const {
  std::optional<int64_t> fused, unfused;
  if (verdict.fused)
    fused = verdict.fused->levels[level].bytes;
  if (!verdict.unfusedBytes.empty())
    unfused = verdict.unfusedBytes[level];
  std::optional<int64_t> chosen = verdict.fuse ? fused : unfused;
  StringRef term = bounds[level].term == BoundTerm::Compulsory
                       ? StringRef("compulsory")
                       : describe(bounds[level].term).split(',').first;
  os << " " << (chosen ? kibibytes(*chosen) : "none") << " | "
     << planned(fused, verdict.fuse) << " | " << planned(unfused, !verdict.fuse)
     << " | " << exactAt(level) << " | " << paperAt(level) << " | "
     << ratio(bounds[level].bytes, compulsory) << " " << term << " |";
}

void CaseReport::printRow(raw_ostream &os) const {
  os << "| " << entry.name << " | " << kibibytes(compulsory) << " |";
  printLevel(os, 0);
  printLevel(os, machine.levels.size() - 1);
  os << "\n";
}

void CaseReport::printReason(raw_ostream &os) const {
  if (!verdict.fuse)
    os << "- " << entry.name << " in parts: " << verdict.explain() << "\n";
}

} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static void printTarget(raw_ostream &os, const NamedMachine &target,
                        ArrayRef<Case> cases) {
  const Machine &machine = target.machine;
  os << "## " << target.name << "\n\n"
     << target.type << ", " << machine.cores << " cores";
  for (const MemoryLevel &level : machine.levels) {
    os << ", " << level.name << " " << level.capacityBytes / 1024 << " KiB";
    if (level.sharers > 1)
      os << " for " << level.sharers;
  }
  os << "\n\n| case | compulsory, KiB |";
  for (const std::string &name :
       {machine.levels.front().name, machine.levels.back().name})
    os << " into " << name
       << ", KiB | fused | unfused | exact | paper | bound |";
  os << "\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  std::vector<CaseReport> reports;
  for (const Case &entry : cases) {
    reports.emplace_back(entry, target);
    reports.back().printRow(os);
  }
  os << "\n";
  for (const CaseReport &report : reports)
    report.printReason(os);
  os << "\n";
}

/// A chain that fits one level but for its intermediate: the closed form cuts
/// both loops of it, and moves twice of what one has to.
static void printSingleLevel(raw_ostream &os, Case entry) {
  constexpr int64_t capacityBytes = 4 * (256 << 10);
  entry.problem.loops[0].extent = 1;
  for (Tensor &tensor : entry.problem.tensors)
    tensor.shape[0] = 1;
  const ChainProblem &problem = entry.problem;
  int64_t compulsory = compulsoryBytes(problem);
  SmallVector<int64_t, 6> granularity(problem.loops.size(), 1);
  std::optional<Schedule> exact =
      solveVolume(problem, capacityBytes, granularity);
  auto paper = findPaperTiles(entry, problem, capacityBytes);
  os << "## " << entry.name << ", one item, one level of 256 Ki elements\n\n"
     << "| | bytes | of compulsory |\n|---|---|---|\n";
  auto print = [&](StringRef what, int64_t bytes) {
    os << "| " << what << " | " << bytes << " | " << ratio(bytes, compulsory)
       << " |\n";
  };
  print("compulsory", compulsory);
  if (exact)
    print("exact plan", evaluate(problem, *exact, 0).volumeBytes());
  if (paper) {
    int64_t byTable = 0;
    for (const PaperColumn &column : tabulatePaper(problem, paper->permutation))
      for (const PaperProduct &product : column.movement)
        byTable += product.value(problem, paper->tiles);
    print("paper's tiles, counted by its Table III",
          byTable * problem.tensors.front().elementBytes);
    print("paper's tiles, counted by its Algorithm 1, which pads edges",
          evaluatePaper(problem, paper->permutation, paper->tiles).volume *
              problem.tensors.front().elementBytes);
    print("paper's tiles, counted exactly",
          evaluate(problem, paper->schedule(), 0).volumeBytes());
  }
  os << "\n";
}

int main(int argc, char **argv) {
  mlir::MLIRContext context;
  std::vector<Case> cases = readGemmChains();
  printSingleLevel(outs(), cases.front());
  for (Case &entry : readConvChains())
    cases.push_back(std::move(entry));
  SmallVector<StringRef> names(argv + 1, argv + argc);
  if (names.empty()) {
    names = chimera::getTargetNames();
    names.erase(find(names, "host"));
  }
  for (StringRef name : names)
    printTarget(outs(), getMachine(context, name), cases);
  return 0;
}
