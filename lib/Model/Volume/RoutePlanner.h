//===- RoutePlanner.h - What moves where inside a core ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a schedule on a core that moves its tiles by itself: what tiles take
// (RouteTiles.cpp), and the routes and memories they go through (Routes.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_VOLUME_ROUTEPLANNER_H
#define CHIMERA_LIB_MODEL_VOLUME_ROUTEPLANNER_H

#include "Chimera/Model/Routes.h"
#include "Volume/MaskedTiles.h"

namespace chimera::model {

class RoutePlanner {
public:
  RoutePlanner(const ChainProblem &problem, const Machine &machine,
               const Schedule &schedule, int64_t threads);

  RoutePlan run();

private:
  using Sizes = MaskedTiles::Sizes;
  using PathLoops = MaskedTiles::PathLoops;

  const std::string &nameOf(Buffer::Role role) const;
  const std::string &level() const { return machine.levels.back().name; }

  /// One row alone has no loop.
  struct Sides {
    std::optional<LoopId> rows;
    LoopId columns;
  };
  Sides sidesOf(const Access &access, const Sizes &sizes) const;
  int64_t padded(unsigned op, const Access &access, size_t depth,
                 int64_t side) const;
  int64_t inGroups(unsigned op, const Access &access, size_t depth,
                   int64_t width) const;
  int64_t bytesRead(unsigned op, const Access &access, size_t depth) const;
  int64_t pad(Sides sides, LoopId loop, int64_t size, int64_t side) const;
  int64_t paddingOf(Sides sides) const;
  int64_t rowsOf(Sides sides, const Sizes &sizes) const;
  int64_t rowsInVectors(int64_t rows) const;
  int64_t room(const Access &access, const Sizes &sizes, int64_t rowSide) const;
  int64_t roomInLevel(const Access &access, const Sizes &sizes) const;
  int64_t roomOfSums(const Access &access, const Sizes &sizes) const;
  int64_t side() const;
  bool areBytes() const;
  int64_t rowSideOf(const Operator &op, const Access &lhs) const;

  bool hasRoute(llvm::StringRef from, llvm::StringRef to) const;
  bool hasVectorsAtUnit() const;
  void move(llvm::StringRef from, llvm::StringRef to, int64_t bytes,
            bool isAwaited = false);
  void use(llvm::StringRef memory, int64_t bytes, bool isShared = false);
  bool leavesByBlocks(unsigned op) const;
  bool staysAtUnit(unsigned op) const;
  bool runsOnce(const PathLoops &path, size_t index) const;
  bool isMatrix(const Access &access, const Sizes &sizes) const;
  LoopId mainLoop(const Index &index) const;
  const Index &indexOfRows(const Access &access, const Sizes &sizes) const;
  std::optional<LineOfPixels> lineOf(const Access &access,
                                     const Sizes &sizes) const;
  LineOfPixels lineAlong(const Index &index, const Sizes &sizes) const;
  void addLines(unsigned op);
  const Access *findReading(unsigned op, unsigned &reader) const;
  void checkFrame(unsigned op, unsigned reader, const Access &reading);
  int64_t frameElements(unsigned op, unsigned reader,
                        const Access &reading) const;
  int64_t framedElements(unsigned op, const Access &reading) const;
  int64_t sumAlong(unsigned op, size_t depth, LoopId loop,
                   llvm::function_ref<int64_t(int64_t, int64_t)> factor) const;
  int64_t rowsInside(const Access &access, size_t index,
                     const LineOfPixels *line, int64_t first,
                     int64_t size) const;
  int64_t bytesOfImage(unsigned op, const Access &access, size_t depth) const;
  void planFactors(unsigned op);
  void planUnit(unsigned op);
  void planResult(unsigned op);
  void planVectors(unsigned op, size_t depth);
  int64_t roomOfOperands(const Operator &op, const Sides &sides, int64_t rows,
                         int64_t columns) const;
  int64_t roomOfStates(unsigned op, int64_t rows) const;
  void planParts(llvm::StringRef from);
  void planLanes(unsigned op, size_t depth);

  const ChainProblem &problem;
  const Machine &machine;
  const Schedule &schedule;
  MaskedTiles tiles;
  /// Tasks that share the columns of a softmax, of the last operator.
  int64_t parts;
  /// True if tiles are transposed on chip.
  bool inLanes;
  int64_t tasks = 1;
  /// True if a core has several tasks.
  bool isRepeated = false;
  /// What the kernel that combines them takes of the vector unit's memory.
  int64_t roomOfSecond = 0;
  /// Of the largest column group.
  int64_t mostGroupElements = 0;
  RoutePlan plan;
  /// By route, what cores hand each other through main memory, and of that what
  /// they wait for.
  llvm::SmallVector<int64_t, 8> handedBytes, awaitedBytes;
};

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_VOLUME_ROUTEPLANNER_H
