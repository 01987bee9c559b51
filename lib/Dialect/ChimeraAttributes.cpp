//===- ChimeraAttributes.cpp - Schedules, plans, targets ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is verified here needs no chain: signs, ranges, names that occur twice.
// Whether a schedule suits a chain on a machine is the model's `verify`.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// A loop name stands without quotes where it is an identifier.
static ParseResult parseLoopName(AsmParser &parser, std::string &name) {
  return parser.parseKeywordOrString(&name);
}

static void printLoopName(AsmPrinter &printer, StringRef name) {
  printer.printKeywordOrString(name);
}

/// `l = 64, m = 32`
static ParseResult parseLoopOrder(AsmParser &parser,
                                  SmallVector<TiledLoopAttr> &order) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string name;
    int64_t tile = 0;
    if (parseLoopName(parser, name) || parser.parseEqual() ||
        parser.parseInteger(tile))
      return failure();
    auto loop = TiledLoopAttr::getChecked([&] { return parser.emitError(loc); },
                                          parser.getContext(), name, tile);
    if (!loop)
      return failure();
    order.push_back(loop);
    return success();
  });
}

static void printLoopOrder(AsmPrinter &printer, ArrayRef<TiledLoopAttr> order) {
  llvm::interleaveComma(order, printer, [&](TiledLoopAttr loop) {
    printLoopName(printer, loop.getName());
    printer << " = " << loop.getTile();
  });
}

/// `, cpu = "haswell", features = "+avx2"`, either or none.
static ParseResult parseCodeGenTarget(AsmParser &parser, StringAttr &cpu,
                                      StringAttr &features) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return failure();
    StringAttr *value = llvm::StringSwitch<StringAttr *>(key)
                            .Case("cpu", &cpu)
                            .Case("features", &features)
                            .Default(nullptr);
    if (!value || *value)
      return parser.emitError(loc, "expected 'cpu' or 'features', each once");
    if (parser.parseEqual() || parser.parseAttribute(*value))
      return failure();
  }
  return success();
}

static void printCodeGenTarget(AsmPrinter &printer, StringAttr cpu,
                               StringAttr features) {
  if (cpu)
    printer << ", cpu = " << cpu;
  if (features)
    printer << ", features = " << features;
}

#include "Chimera/IR/ChimeraEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Chimera/IR/ChimeraAttributes.cpp.inc"

void ChimeraDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Chimera/IR/ChimeraAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Fails unless every one of the named figures is positive.
static LogicalResult
verifyPositive(EmitError emitError,
               ArrayRef<std::pair<StringRef, int64_t>> figures) {
  for (auto [name, value] : figures)
    if (value < 1)
      return emitError() << "'" << name << "' must be positive, got " << value;
  return success();
}

LogicalResult TiledLoopAttr::verify(EmitError emitError, StringRef name,
                                    int64_t tile) {
  if (name.empty())
    return emitError() << "a loop needs a name";
  if (tile < 1)
    return emitError() << "the tile of loop '" << name
                       << "' must be positive, got " << tile;
  return success();
}

LogicalResult LevelScheduleAttr::verify(EmitError emitError, StringRef name,
                                        ArrayRef<TiledLoopAttr> order) {
  if (name.empty())
    return emitError() << "a level needs a name";
  llvm::StringSet<> seen;
  for (TiledLoopAttr loop : order)
    if (!seen.insert(loop.getName()).second)
      return emitError() << "loop '" << loop.getName()
                         << "' occurs twice in level '" << name << "'";
  return success();
}

LogicalResult RegisterTileAttr::verify(EmitError emitError, int64_t rows,
                                       int64_t vectors, int64_t broadcasts,
                                       int64_t depth) {
  return verifyPositive(emitError, {{"rows", rows},
                                    {"vectors", vectors},
                                    {"broadcasts", broadcasts},
                                    {"depth", depth}});
}

LogicalResult ScheduleAttr::verify(EmitError emitError,
                                   ArrayRef<LevelScheduleAttr> levels,
                                   int64_t parallel, RegisterTileAttr,
                                   ArrayRef<int64_t> packed) {
  if (levels.empty())
    return emitError() << "a schedule needs at least one level";
  llvm::StringSet<> seen;
  int64_t numLoops = 0;
  for (LevelScheduleAttr level : levels) {
    if (!seen.insert(level.getName()).second)
      return emitError() << "level '" << level.getName() << "' occurs twice";
    numLoops += level.getOrder().size();
  }
  if (parallel < 0 || parallel > numLoops)
    return emitError() << "'parallel' must be between 0 and the number of "
                          "loops, "
                       << numLoops << ", got " << parallel;
  for (int64_t input : packed)
    if (input < 0)
      return emitError() << "'packed' lists the inputs of the chain from 0 on, "
                            "got "
                         << input;
  return success();
}

LogicalResult MemoryLevelAttr::verify(EmitError emitError, StringRef name,
                                      int64_t capacity, int64_t usable,
                                      int64_t coreBandwidth,
                                      int64_t chipBandwidth, int64_t sharers,
                                      int64_t line, int64_t ways) {
  if (name.empty())
    return emitError() << "a level needs a name";
  if (usable > 100)
    return emitError() << "'usable' is a percentage, got " << usable;
  if (ways < 0)
    return emitError() << "'ways' must not be negative, got " << ways;
  return verifyPositive(emitError, {{"capacity", capacity},
                                    {"usable", usable},
                                    {"core_bandwidth", coreBandwidth},
                                    {"chip_bandwidth", chipBandwidth},
                                    {"sharers", sharers},
                                    {"line", line}});
}

LogicalResult VectorUnitAttr::verify(EmitError emitError, int64_t bits,
                                     int64_t registers, int64_t fma,
                                     int64_t load, int64_t store,
                                     int64_t latency, int64_t clock) {
  if (bits % 32 != 0)
    return emitError() << "'bits' must be a multiple of 32, got " << bits;
  return verifyPositive(emitError, {{"bits", bits},
                                    {"registers", registers},
                                    {"fma", fma},
                                    {"load", load},
                                    {"store", store},
                                    {"latency", latency},
                                    {"clock", clock}});
}

LogicalResult TargetAttr::verify(EmitError emitError, StringRef name,
                                 int64_t cores, VectorUnitAttr,
                                 ArrayRef<MemoryLevelAttr> levels, StringAttr,
                                 StringAttr) {
  if (name.empty())
    return emitError() << "a target needs a name";
  if (cores < 1)
    return emitError() << "'cores' must be positive, got " << cores;
  if (levels.empty())
    return emitError() << "a target needs at least one memory level";
  llvm::StringSet<> seen;
  for (MemoryLevelAttr level : levels)
    if (!seen.insert(level.getName()).second)
      return emitError() << "level '" << level.getName() << "' occurs twice";
  for (size_t i = 1; i < levels.size(); ++i)
    if (levels[i].getCapacity() > levels[i - 1].getCapacity())
      return emitError() << "levels go from slow to fast, but '"
                         << levels[i].getName() << "' is larger than '"
                         << levels[i - 1].getName() << "'";
  return success();
}

LogicalResult OuterProductAttr::verify(EmitError emitError, int64_t lanes,
                                       RegisterTileAttr) {
  return verifyPositive(emitError, {{"lanes", lanes}});
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

FailureOr<model::Machine> TargetAttr::getMachine(Type elementType) const {
  if (!elementType.isF32())
    return failure();
  VectorUnitAttr unit = getUnit();
  model::Machine machine;
  machine.name = getName().str();
  machine.cores = getCores();
  machine.unit.lanes = unit.getBits() / 32;
  machine.unit.registers = unit.getRegisters();
  machine.unit.fmaPerCycle = unit.getFma();
  machine.unit.loadsPerCycle = unit.getLoad();
  machine.unit.storesPerCycle = unit.getStore();
  machine.unit.fmaLatency = unit.getLatency();
  machine.unit.cyclesPerSecond = unit.getClock();
  for (MemoryLevelAttr level : getLevels()) {
    model::MemoryLevel figures;
    figures.name = level.getName().str();
    figures.capacityBytes = level.getCapacity();
    figures.usableShare = level.getUsable() / 100.0;
    figures.bytesPerSecondPerCore = level.getCoreBandwidth();
    figures.bytesPerSecond = level.getChipBandwidth();
    figures.sharers = level.getSharers();
    figures.lineBytes = level.getLine();
    figures.ways = level.getWays();
    machine.levels.push_back(figures);
  }
  return machine;
}

MicroKernelAttrInterface
TargetAttr::getMicroKernel(const model::RegisterTile &tile) const {
  auto registers = RegisterTileAttr::get(getContext(), tile.rows, tile.vectors,
                                         tile.broadcasts, tile.depth);
  return cast<MicroKernelAttrInterface>(
      OuterProductAttr::get(getContext(), getUnit().getBits() / 32, registers));
}

StringRef TargetAttr::getCpu() const {
  return getCpuName() ? getCpuName().getValue() : StringRef();
}

StringRef TargetAttr::getCpuFeatures() const {
  return getFeatureString() ? getFeatureString().getValue() : StringRef();
}

/// Levels answer with a map of their figures, so that a query can go on with
/// "capacity", "line" and so on.
static Attribute describeLevel(MLIRContext *context, MemoryLevelAttr level) {
  SmallVector<DataLayoutEntryInterface> entries;
  for (auto [name, value] :
       std::initializer_list<std::pair<StringRef, int64_t>>{
           {"capacity", level.getCapacity()},
           {"line", level.getLine()},
           {"sharers", level.getSharers()},
           {"ways", level.getWays()}})
    entries.push_back(DataLayoutEntryAttr::get(
        StringAttr::get(context, name),
        IntegerAttr::get(IntegerType::get(context, 64), value)));
  return MapAttr::get(context, entries);
}

FailureOr<Attribute> TargetAttr::query(DataLayoutEntryKey key) const {
  auto id = dyn_cast<StringAttr>(key);
  if (!id)
    return failure();
  if (id.getValue() == "cores")
    return Attribute(
        IntegerAttr::get(IntegerType::get(getContext(), 64), getCores()));
  for (MemoryLevelAttr level : getLevels())
    if (level.getName() == id.getValue())
      return describeLevel(getContext(), level);
  return failure();
}
