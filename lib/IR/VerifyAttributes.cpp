//===- VerifyAttributes.cpp - What targets and parts may be ---------------===//
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

#include "VerifyFigures.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Model/Machine.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace chimera;

LogicalResult MemoryLevelAttr::verify(EmitError emitError, StringRef name,
                                      int64_t capacity, int64_t usable,
                                      int64_t coreBandwidth,
                                      int64_t chipBandwidth, int64_t sharers,
                                      int64_t line, int64_t ways,
                                      int64_t buffers, int64_t burst,
                                      int64_t mostBuffers, int64_t latency) {
  if (name.empty())
    return emitError() << "a level needs a name";
  if (usable > 100)
    return emitError() << "'usable' is a percentage, got " << usable;
  if (ways < 0)
    return emitError() << "'ways' must not be negative, got " << ways;
  if (mostBuffers != 0 && mostBuffers < buffers)
    return emitError() << "'most_buffers' must not be below 'buffers', "
                       << buffers << ", got " << mostBuffers;
  if (latency < 0)
    return emitError() << "'latency' must not be negative, got " << latency;
  return verifyPositive(emitError, {{"capacity", capacity},
                                    {"usable", usable},
                                    {"core_bandwidth", coreBandwidth},
                                    {"chip_bandwidth", chipBandwidth},
                                    {"sharers", sharers},
                                    {"line", line},
                                    {"buffers", buffers},
                                    {"burst", burst}});
}

LogicalResult VectorTuningAttr::verify(EmitError emitError, int64_t chains,
                                       int64_t accumulators, int64_t rowVectors,
                                       int64_t ahead, int64_t streams,
                                       int64_t streamAhead, int64_t fetchLevel,
                                       int64_t line, int64_t interleaved,
                                       int64_t reducedRows) {
  if (fetchLevel > 2)
    return emitError() << "'fetch_level' must be 1 or 2, got " << fetchLevel;
  return verifyPositive(emitError, {{"chains", chains},
                                    {"accumulators", accumulators},
                                    {"row_vectors", rowVectors},
                                    {"ahead", ahead},
                                    {"streams", streams},
                                    {"stream_ahead", streamAhead},
                                    {"fetch_level", fetchLevel},
                                    {"line", line},
                                    {"interleaved", interleaved},
                                    {"reduced_rows", reducedRows}});
}

LogicalResult VectorUnitAttr::verify(EmitError emitError, int64_t bits,
                                     int64_t registers, int64_t fma,
                                     int64_t load, int64_t store,
                                     int64_t latency, int64_t clock,
                                     int64_t exponential, VectorTuningAttr) {
  if (bits % 32 != 0)
    return emitError() << "'bits' must be a multiple of 32, got " << bits;
  return verifyPositive(emitError, {{"bits", bits},
                                    {"registers", registers},
                                    {"fma", fma},
                                    {"load", load},
                                    {"store", store},
                                    {"latency", latency},
                                    {"clock", clock},
                                    {"exponential", exponential}});
}

static LogicalResult verifyElementType(EmitError emitError, Type type) {
  if (type.isIntOrFloat())
    return success();
  return emitError() << "'type' must be an integer or float type, got " << type;
}

LogicalResult DotProductAttr::verify(EmitError emitError, Type type,
                                     int64_t depth, int64_t fma,
                                     int64_t latency) {
  if (failed(verifyElementType(emitError, type)))
    return failure();
  return verifyPositive(emitError,
                        {{"depth", depth}, {"fma", fma}, {"latency", latency}});
}

LogicalResult MatrixUnitAttr::verify(EmitError emitError, Type type,
                                     int64_t rows, int64_t columns,
                                     int64_t depth, int64_t macs,
                                     int64_t latency, int64_t accumulators,
                                     int64_t lhs, int64_t rhs, int64_t load,
                                     int64_t store, int64_t clock,
                                     int64_t interleave) {
  if (failed(verifyElementType(emitError, type)) ||
      failed(verifyPositive(emitError, {{"rows", rows},
                                        {"columns", columns},
                                        {"depth", depth},
                                        {"macs", macs},
                                        {"latency", latency},
                                        {"accumulators", accumulators},
                                        {"lhs", lhs},
                                        {"rhs", rhs},
                                        {"load", load},
                                        {"store", store},
                                        {"clock", clock},
                                        {"interleave", interleave}})))
    return failure();
  constexpr int64_t accumulatorBytes = 4;
  int64_t elementBytes = bytesOf(type);
  struct Operand {
    StringRef name;
    int64_t bytes, needed;
  };
  for (Operand operand : {Operand{"accumulators", accumulators,
                                  rows * columns * accumulatorBytes},
                          Operand{"lhs", lhs, rows * depth * elementBytes},
                          Operand{"rhs", rhs, depth * columns * elementBytes}})
    if (operand.bytes < operand.needed)
      return emitError() << "one instruction needs " << operand.needed
                         << " bytes of '" << operand.name << "', got "
                         << operand.bytes;
  return success();
}

LogicalResult BufferAttr::verify(EmitError emitError, StringRef name,
                                 BufferRole holds, int64_t capacity,
                                 bool lanes) {
  if (name.empty())
    return emitError() << "a buffer needs a name";
  if (lanes && holds != BufferRole::Vectors)
    return emitError() << "'" << name << "' has lanes, but holds no vectors";
  return verifyPositive(emitError, {{"capacity", capacity}});
}

LogicalResult RouteAttr::verify(EmitError emitError, StringRef source,
                                StringRef destination, int64_t bandwidth, bool,
                                bool, bool blocks) {
  if (source == destination)
    return emitError() << "a route must lead from one memory to another, got '"
                       << source << "' twice";
  if (blocks && destination != model::Machine::mainMemory)
    return emitError() << "the route to '" << destination
                       << "' has blocks, which only '"
                       << model::Machine::mainMemory << "' has";
  return verifyPositive(emitError, {{"bandwidth", bandwidth}});
}

LogicalResult ThreadGroupsAttr::verify(EmitError emitError, int64_t threads,
                                       int64_t most, int64_t units,
                                       int64_t rate, int64_t registers,
                                       int64_t file, int64_t reserved) {
  if (failed(verifyPositive(emitError, {{"threads", threads},
                                        {"most", most},
                                        {"units", units},
                                        {"rate", rate},
                                        {"registers", registers},
                                        {"file", file},
                                        {"reserved", reserved}})))
    return failure();
  if (rate > 100)
    return emitError() << "'rate' is a percentage, got " << rate;
  if (reserved >= registers)
    return emitError() << "'reserved' leaves none of " << registers
                       << " registers";
  return success();
}

LogicalResult OverheadsAttr::verify(EmitError emitError, int64_t block,
                                    int64_t transpose, int64_t run,
                                    int64_t runCost, int64_t followed,
                                    int64_t reach, int64_t collision,
                                    int64_t beside, int64_t region,
                                    int64_t handover, int64_t fresh,
                                    int64_t reused) {
  for (auto [name, figure] :
       std::initializer_list<std::pair<StringRef, int64_t>>{
           {"block", block},
           {"transpose", transpose},
           {"run", run},
           {"run_cost", runCost},
           {"followed", followed},
           {"reach", reach},
           {"collision", collision},
           {"beside", beside},
           {"region", region},
           {"handover", handover},
           {"fresh", fresh},
           {"reused", reused}})
    if (figure < 0)
      return emitError() << "'" << name << "' must not be negative, got "
                         << figure;
  return success();
}

LogicalResult TransferAttr::verify(EmitError emitError, int64_t bytes,
                                   int64_t time) {
  if (bytes < 0 || time < 1)
    return emitError() << "bytes must not be negative and take time, got "
                       << bytes << " in " << time << " ns";
  return success();
}

static LogicalResult verifyTransfers(EmitError emitError,
                                     ArrayRef<TransferAttr> transfers) {
  if (transfers.empty())
    return emitError() << "a table needs at least one transfer";
  for (auto [before, after] : llvm::zip(transfers, transfers.drop_front()))
    if (before.getBytes() >= after.getBytes() ||
        before.getTime() > after.getTime())
      return emitError() << "transfers go from small to large, and larger ones "
                            "take no less time; "
                         << after.getBytes() << " bytes come after "
                         << before.getBytes();
  return success();
}

LogicalResult ExchangeAttr::verify(EmitError emitError, CollectiveKind /*kind*/,
                                   int64_t processes,
                                   ArrayRef<TransferAttr> transfers) {
  if (processes < 2)
    return emitError() << "a group has at least two processes, got "
                       << processes;
  return verifyTransfers(emitError, transfers);
}

LogicalResult NetworkAttr::verify(EmitError emitError, StringRef /*source*/,
                                  ArrayRef<TransferAttr> transfers,
                                  ArrayRef<ExchangeAttr> measured,
                                  int64_t processor) {
  if (processor < 0 || processor > 100)
    return emitError() << "a transfer keeps the processor for 0 to 100 percent "
                          "of its time, got "
                       << processor;
  // All-reduces of two are what `transfers` has.
  llvm::SmallDenseSet<std::pair<int64_t, int64_t>> seen = {
      {static_cast<int64_t>(CollectiveKind::AllReduce), 2}};
  for (ExchangeAttr table : measured)
    if (!seen.insert(
                 {static_cast<int64_t>(table.getKind()), table.getProcesses()})
             .second)
      return emitError() << "a network has two tables of "
                         << stringifyCollectiveKind(table.getKind())
                         << " in groups of " << table.getProcesses();
  return verifyTransfers(emitError, transfers);
}

LogicalResult PartAttr::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               ArrayRef<DenseI64ArrayAttr> axes,
                               ArrayRef<int64_t> grid) {
  if (axes.size() != shape.size())
    return emitError() << "a tensor of " << shape.size()
                       << " dimensions needs as many lists of axes, got "
                       << axes.size();
  if (llvm::any_of(grid, [](int64_t size) { return size < 1; }))
    return emitError() << "the axes of a grid have at least one process each";
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [size, split] : llvm::zip_equal(shape, axes)) {
    int64_t count = 1;
    for (int64_t axis : split.asArrayRef()) {
      if (axis < 0 || axis >= static_cast<int64_t>(grid.size()) ||
          !seen.insert(axis).second)
        return emitError() << "axis " << axis
                           << " is not one of the grid, or cuts twice";
      count *= grid[axis];
    }
    if (size < 0 || size % count != 0)
      return emitError() << "a dimension of " << size << " has no " << count
                         << " equal parts";
  }
  return success();
}

int64_t PartAttr::getCount(unsigned dim) const {
  int64_t count = 1;
  for (int64_t axis : getAxes()[dim].asArrayRef())
    count *= getGrid()[axis];
  return count;
}

/// Fails if two of the units are for the same element type.
template <typename AttrT>
static LogicalResult verifyOnePerType(EmitError emitError, StringRef kind,
                                      ArrayRef<AttrT> units) {
  llvm::SmallPtrSet<Type, 4> seen;
  for (AttrT unit : units)
    if (!seen.insert(unit.getType()).second)
      return emitError() << "'" << kind << "' has more than one unit for "
                         << unit.getType();
  return success();
}

LogicalResult TargetAttr::verify(
    EmitError emitError, StringRef name, int64_t cores, VectorUnitAttr,
    ArrayRef<MemoryLevelAttr> levels, ArrayRef<DotProductAttr> dots,
    ArrayRef<MatrixUnitAttr> matrix, ArrayRef<BufferAttr> buffers,
    ArrayRef<RouteAttr> routes, ThreadGroupsAttr, OverheadsAttr, int64_t launch,
    int64_t stack, NetworkAttr, StringAttr, StringAttr, StringAttr) {
  if (name.empty())
    return emitError() << "a target needs a name";
  if (cores < 1)
    return emitError() << "'cores' must be positive, got " << cores;
  if (launch < 0)
    return emitError() << "'launch' must not be negative, got " << launch;
  if (stack < 0)
    return emitError() << "'stack' must not be negative, got " << stack;
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
  if (failed(verifyOnePerType(emitError, "dots", dots)) ||
      failed(verifyOnePerType(emitError, "matrix", matrix)))
    return failure();
  llvm::SmallDenseSet<unsigned> roles;
  for (BufferAttr buffer : buffers) {
    if (!seen.insert(buffer.getName()).second)
      return emitError() << "memory '" << buffer.getName() << "' occurs twice";
    if (!roles.insert(static_cast<unsigned>(buffer.getHolds())).second)
      return emitError() << "two buffers hold "
                         << stringifyBufferRole(buffer.getHolds());
  }
  seen.insert(model::Machine::mainMemory);
  for (RouteAttr route : routes)
    for (StringRef end : {route.getSource(), route.getDestination()})
      if (!seen.contains(end))
        return emitError() << "a route leads to or from '" << end
                           << "', which is no level, no buffer and not '"
                           << model::Machine::mainMemory << "'";
  return success();
}
