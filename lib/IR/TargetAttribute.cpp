//===- TargetAttribute.cpp - A target as the model's machine --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures of a target attribute, in the units of the model and as answers
// to DLTI queries.
//
//===----------------------------------------------------------------------===//

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace chimera;

//===----------------------------------------------------------------------===//
// Figures for the model
//===----------------------------------------------------------------------===//

/// The unit for `type`, or null.
template <typename AttrT>
static AttrT findUnit(ArrayRef<AttrT> units, Type type) {
  const AttrT *unit =
      llvm::find_if(units, [&](AttrT unit) { return unit.getType() == type; });
  return unit == units.end() ? AttrT() : *unit;
}

static model::MemoryLevel getFigures(MemoryLevelAttr level) {
  model::MemoryLevel figures;
  figures.name = level.getName().str();
  figures.capacityBytes = level.getCapacity();
  figures.usableShare = level.getUsable() / 100.0;
  figures.bytesPerSecondPerCore = level.getCoreBandwidth();
  figures.bytesPerSecond = level.getChipBandwidth();
  figures.sharers = level.getSharers();
  figures.lineBytes = level.getLine();
  figures.ways = level.getWays();
  figures.buffers = level.getBuffers();
  figures.burstBytes = level.getBurst();
  figures.mostBuffers = level.getMostBuffers();
  figures.latencyCycles = static_cast<double>(level.getLatency());
  return figures;
}

static model::VectorUnit getFigures(VectorUnitAttr unit) {
  model::VectorUnit figures;
  figures.lanes = unit.getBits() / 32;
  figures.registers = unit.getRegisters();
  figures.fmaPerCycle = unit.getFma();
  figures.loadsPerCycle = unit.getLoad();
  figures.storesPerCycle = unit.getStore();
  figures.fmaLatency = unit.getLatency();
  figures.cyclesPerSecond = unit.getClock();
  figures.exponentialCost = unit.getExponential();
  return figures;
}

/// Lets `unit` compute dot products instead of multiply-adds.
static void addFigures(model::VectorUnit &unit, DotProductAttr dot) {
  unit.depth = dot.getDepth();
  unit.fmaPerCycle = dot.getFma();
  unit.fmaLatency = dot.getLatency();
}

static model::MatrixUnit getFigures(MatrixUnitAttr unit) {
  model::MatrixUnit figures;
  figures.rows = unit.getRows();
  figures.columns = unit.getColumns();
  figures.depth = unit.getDepth();
  figures.multiplyAddsPerCycle = unit.getMacs();
  figures.latency = unit.getLatency();
  figures.accumulatorBytes = unit.getAccumulators();
  figures.lhsBytes = unit.getLhs();
  figures.rhsBytes = unit.getRhs();
  figures.loadBytesPerCycle = unit.getLoad();
  figures.storeBytesPerCycle = unit.getStore();
  figures.cyclesPerSecond = unit.getClock();
  figures.interleave = unit.getInterleave();
  return figures;
}

static model::Buffer getFigures(BufferAttr buffer) {
  auto getRole = [](BufferRole role) {
    switch (role) {
    case BufferRole::Lhs:
      return model::Buffer::Role::Lhs;
    case BufferRole::Rhs:
      return model::Buffer::Role::Rhs;
    case BufferRole::Sums:
      return model::Buffer::Role::Sums;
    case BufferRole::Vectors:
      return model::Buffer::Role::Vectors;
    }
    llvm_unreachable("unknown role");
  };
  return {buffer.getName().str(), getRole(buffer.getHolds()),
          buffer.getCapacity(), buffer.getLanes()};
}

static model::ThreadGroups getFigures(ThreadGroupsAttr groups) {
  model::ThreadGroups figures;
  figures.threads = groups.getThreads();
  figures.most = groups.getMost();
  figures.units = groups.getUnits();
  figures.rate = groups.getRate() / 100.0;
  figures.registersPerThread = groups.getRegisters();
  figures.registersPerCore = groups.getFile();
  figures.reserved = groups.getReserved();
  return figures;
}

static model::Overheads getFigures(const OverheadFigures &overheads) {
  model::Overheads figures;
  figures.blockCycles = overheads.block;
  figures.transposeFactor = overheads.transpose / 100.0;
  figures.shortRunBytes = overheads.run;
  figures.shortRunCost = overheads.runCost / 100.0;
  figures.followedRows = overheads.followed;
  figures.runBytes = overheads.reach;
  figures.collisionCycles = overheads.collision;
  figures.besideCost = overheads.beside / 100.0;
  figures.regionSeconds = overheads.region * 1e-9;
  figures.handoverSeconds = overheads.handover * 1e-9;
  figures.freshBytesPerSecond = overheads.fresh;
  figures.reusedBytes = overheads.reused;
  return figures;
}

static std::vector<model::Network::Transfer>
getFigures(ArrayRef<TransferAttr> transfers) {
  std::vector<model::Network::Transfer> figures;
  for (TransferAttr transfer : transfers)
    figures.push_back({transfer.getBytes(), transfer.getTime() * 1e-9});
  return figures;
}

static model::CollectiveKind getFigures(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return model::CollectiveKind::AllReduce;
  case CollectiveKind::AllGather:
    return model::CollectiveKind::AllGather;
  case CollectiveKind::ReduceScatter:
    return model::CollectiveKind::ReduceScatter;
  case CollectiveKind::AllToAll:
    return model::CollectiveKind::AllToAll;
  case CollectiveKind::Broadcast:
    return model::CollectiveKind::Broadcast;
  }
  llvm_unreachable("unknown collective");
}

static model::Network getFigures(NetworkAttr network) {
  model::Network figures{
      getFigures(network.getTransfers()), {}, network.getProcessor() / 100.0};
  for (ExchangeAttr table : network.getMeasured())
    figures.measured.push_back({getFigures(table.getKind()),
                                table.getProcesses(),
                                getFigures(table.getTransfers())});
  return figures;
}

model::Machine TargetAttr::getCommonFigures() const {
  model::Machine machine;
  machine.name = getName().str();
  machine.cores = getCores();
  machine.launchSeconds = getLaunch() * 1e-9;
  machine.unit = getFigures(getUnit());
  machine.stackBytes = getStack();
  machine.overheads = getFigures(getOverheads() ? getOverheads().getFigures()
                                                : OverheadFigures());
  if (getNetwork())
    machine.network = getFigures(getNetwork());
  if (getGroups())
    machine.groups = getFigures(getGroups());
  for (MemoryLevelAttr level : getLevels())
    machine.levels.push_back(getFigures(level));
  for (BufferAttr buffer : getBuffers())
    machine.buffers.push_back(getFigures(buffer));
  for (RouteAttr route : getRoutes())
    machine.routes.push_back(
        {route.getSource().str(), route.getDestination().str(),
         static_cast<double>(route.getBandwidth()), route.getConverts(),
         route.getRelu(), route.getBlocks()});
  return machine;
}

FailureOr<model::Machine> TargetAttr::getMachine(Type elementType) const {
  DotProductAttr dot = findUnit(getDots(), elementType);
  MatrixUnitAttr matrix = findUnit(getMatrix(), elementType);
  bool isWide = elementType == getWideType(getContext());
  if (!isWide && !dot && !matrix)
    return failure();
  model::Machine machine = getCommonFigures();
  machine.unit.hasByteDots =
      isWide && llvm::any_of(getDots(), [](DotProductAttr given) {
        return given.getType().isInteger(8) && given.getDepth() == 4;
      });
  if (dot)
    addFigures(machine.unit, dot);
  if (matrix) {
    machine.matrix = getFigures(matrix);
    machine.levels.back().holdsResults = !machine.groups;
  }
  return machine;
}

static StringRef valueOf(StringAttr text) {
  return text ? text.getValue() : StringRef();
}

StringRef TargetAttr::getTriple() const { return valueOf(getTripleName()); }

StringRef TargetAttr::getCpu() const { return valueOf(getCpuName()); }

StringRef TargetAttr::getCpuFeatures() const {
  return valueOf(getFeatureString());
}

//===----------------------------------------------------------------------===//
// DLTI queries
//===----------------------------------------------------------------------===//

using Figures = ArrayRef<std::pair<StringRef, int64_t>>;

static Attribute makeNumber(MLIRContext *context, int64_t value) {
  return IntegerAttr::get(IntegerType::get(context, 64), value);
}

/// A map, so that a query can go on with the name of a figure.
static Attribute describe(MLIRContext *context, Figures figures) {
  SmallVector<DataLayoutEntryInterface> entries;
  for (auto [name, value] : figures)
    entries.push_back(DataLayoutEntryAttr::get(StringAttr::get(context, name),
                                               makeNumber(context, value)));
  return MapAttr::get(context, entries);
}

static Attribute describe(MemoryLevelAttr level) {
  return describe(level.getContext(), {{"capacity", level.getCapacity()},
                                       {"line", level.getLine()},
                                       {"sharers", level.getSharers()},
                                       {"ways", level.getWays()},
                                       {"buffers", level.getBuffers()},
                                       {"burst", level.getBurst()},
                                       {"most_buffers", level.getMostCopies()},
                                       {"latency", level.getLatency()}});
}

static Attribute describe(MatrixUnitAttr unit) {
  return describe(unit.getContext(), {{"rows", unit.getRows()},
                                      {"columns", unit.getColumns()},
                                      {"depth", unit.getDepth()},
                                      {"macs", unit.getMacs()},
                                      {"latency", unit.getLatency()},
                                      {"accumulators", unit.getAccumulators()},
                                      {"lhs", unit.getLhs()},
                                      {"rhs", unit.getRhs()},
                                      {"clock", unit.getClock()}});
}

/// The matrix units by element type.
static Attribute describe(MLIRContext *context,
                          ArrayRef<MatrixUnitAttr> units) {
  SmallVector<DataLayoutEntryInterface> entries;
  for (MatrixUnitAttr unit : units)
    entries.push_back(DataLayoutEntryAttr::get(unit.getType(), describe(unit)));
  return MapAttr::get(context, entries);
}

FailureOr<Attribute> TargetAttr::query(DataLayoutEntryKey key) const {
  auto id = dyn_cast<StringAttr>(key);
  if (!id)
    return failure();
  if (id.getValue() == "cores")
    return makeNumber(getContext(), getCores());
  if (id.getValue() == "launch")
    return makeNumber(getContext(), getLaunch());
  for (MemoryLevelAttr level : getLevels())
    if (level.getName() == id.getValue())
      return describe(level);
  if (id.getValue() == "matrix" && !getMatrix().empty())
    return describe(getContext(), getMatrix());
  return failure();
}
