//===- ScheduleAttributes.cpp - What a schedule may say -------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a schedule that can be verified without the chain it is for. The
// rest is verified where both are at hand (Chimera/Chain/ScheduleConversion.h).
//
//===----------------------------------------------------------------------===//

#include "VerifyFigures.h"

#include "Chimera/IR/Chimera.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace chimera;

LogicalResult TiledLoopAttr::verify(EmitError emitError, StringRef name,
                                    int64_t tile, ArrayRef<int64_t> operators) {
  if (name.empty())
    return emitError() << "a loop needs a name";
  if (tile < 1)
    return emitError() << "the tile of loop '" << name
                       << "' must be positive, got " << tile;
  // Schedules keep operators in 32 bits.
  for (int64_t op : operators)
    if (op < 0 || op >= 32)
      return emitError() << "loop '" << name << "' cannot go around operator "
                         << op;
  return success();
}

LogicalResult LevelScheduleAttr::verify(EmitError emitError, StringRef name,
                                        ArrayRef<TiledLoopAttr> order) {
  if (name.empty())
    return emitError() << "a level needs a name";
  llvm::StringMap<uint32_t> seen;
  for (TiledLoopAttr loop : order) {
    uint32_t around = loop.getOperators().empty() ? ~0u : 0;
    for (int64_t op : loop.getOperators())
      around |= uint32_t(1) << op;
    uint32_t &before = seen[loop.getName()];
    if (before & around)
      return emitError() << "loop '" << loop.getName()
                         << "' occurs twice in level '" << name << "'";
    before |= around;
  }
  return success();
}

LogicalResult RegisterTileAttr::verify(EmitError emitError, int64_t rows,
                                       int64_t vectors, int64_t broadcasts,
                                       int64_t depth, StringAttr kernel,
                                       int64_t part, int64_t stages) {
  if (kernel && kernel.getValue().empty())
    return emitError() << "'kernel' must name a micro kernel";
  // A matrix unit broadcasts nothing.
  if (broadcasts < 0)
    return emitError() << "'broadcasts' must not be negative, got "
                       << broadcasts;
  if (part < 0)
    return emitError() << "'part' must not be negative, got " << part;
  if (stages < 0)
    return emitError() << "'stages' must not be negative, got " << stages;
  return verifyPositive(
      emitError, {{"rows", rows}, {"vectors", vectors}, {"depth", depth}});
}

LogicalResult TapsAttr::verify(EmitError emitError, int64_t pixel, int64_t tap,
                               int64_t pixelFactor, int64_t tapFactor,
                               int64_t begin, int64_t end) {
  if (pixel < 0 || tap < 0 || pixel == tap)
    return emitError() << "'pixel' and 'tap' must be two dimensions, got "
                       << pixel << " and " << tap;
  if (begin >= end)
    return emitError() << "'begin' must be below 'end', got " << begin
                       << " and " << end;
  return verifyPositive(
      emitError, {{"pixel_factor", pixelFactor}, {"tap_factor", tapFactor}});
}

LogicalResult LoopExtentAttr::verify(EmitError emitError, StringRef name,
                                     int64_t extent) {
  if (name.empty())
    return emitError() << "a loop needs a name";
  if (extent < 1)
    return emitError() << "the extent of loop '" << name
                       << "' must be positive, got " << extent;
  return success();
}

LogicalResult RowLayoutAttr::verify(EmitError emitError, int64_t line,
                                    int64_t apart) {
  return verifyPositive(emitError, {{"line", line}, {"apart", apart}});
}

LogicalResult PrefetchAttr::verify(EmitError emitError, int64_t part,
                                   PrefetchLoops) {
  if (part < 0)
    return emitError() << "'part' must not be negative, got " << part
                       << "; 0 asks for nothing";
  return success();
}

LogicalResult BlocksAttr::verify(EmitError emitError, RowLayoutAttr,
                                 ArrayRef<int64_t> ahead,
                                 ArrayRef<int64_t> repeated,
                                 ArrayRef<int64_t> base2, PrefetchAttr, bool,
                                 bool) {
  for (auto [name, operators] :
       {std::pair<StringRef, ArrayRef<int64_t>>("ahead", ahead),
        {"repeated", repeated},
        {"base2", base2}})
    // Schedules keep operators in 32 bits.
    for (int64_t op : operators)
      if (op < 0 || op >= 32)
        return emitError() << "'" << name << "' lists operators of the chain "
                           << "from 0 on, got " << op;
  return success();
}

LogicalResult ScheduleAttr::verify(
    EmitError emitError, ArrayRef<LevelScheduleAttr> levels, int64_t parallel,
    RegisterTileAttr, ArrayRef<int64_t> packed, ArrayRef<int64_t> staged,
    ArrayRef<int64_t> prepacked, ArrayRef<StringAttr>, ArrayRef<int64_t> held,
    ArrayRef<LoopExtentAttr> extents, BlocksAttr) {
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
  for (auto [name, inputs] :
       {std::pair<StringRef, ArrayRef<int64_t>>("packed", packed),
        {"staged", staged},
        {"prepacked", prepacked}})
    for (int64_t input : inputs)
      if (input < 0)
        return emitError() << "'" << name
                           << "' lists the inputs of the chain from 0 on, got "
                           << input;
  // Schedules keep operators in 32 bits.
  for (int64_t op : held)
    if (op < 0 || op >= 32)
      return emitError()
             << "'held' lists operators of the chain from 0 on, got " << op;
  llvm::StringSet<> loops;
  for (LoopExtentAttr loop : extents)
    if (!loops.insert(loop.getName()).second)
      return emitError() << "'extents' lists loop '" << loop.getName()
                         << "' twice";
  return success();
}
