//===- Place.h - Where tiles lie on chip ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tile has a place of its own for the whole kernel. A tile that is filled
// again and again has two, so that one is filled while the other is in use, and
// a pair of flags for each keeps those who fill and those who use it apart:
//
//   wait (free)  fill  set (full)  ...  wait (full)  use  set (free)
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_PLACE_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_PLACE_H

#include "Code.h"

#include <array>
#include <string>

namespace chimera::ascend {

/// Bytes of each memory, by number.
using Capacities = std::array<int64_t, 6>;

/// A place on chip, once or twice, with the flags between its two pipes.
struct Place {
  Memory memory = Memory::L1;
  mlir::Type elementType;
  /// Of the first, and of one.
  int64_t address = 0, bytes = 0;
  int64_t count = 1;
  Pipe producer = Pipe::MTE2, consumer = Pipe::MTE1;
  /// The event of the first.
  int64_t event = 0;

  /// True if one pipe fills and uses it, which keeps its own order.
  bool needsFlags() const { return producer != consumer; }
};

/// Gives out places and events until something is used up.
class Places {
public:
  explicit Places(const Capacities &capacities) : capacities(capacities) {}

  /// `count` places for `bytes` bytes each.
  Place allocate(Memory memory, mlir::Type elementType, int64_t bytes,
                 int64_t count, Pipe producer, Pipe consumer);
  /// What is used up, if anything.
  llvm::StringRef getFailure() const { return failure; }
  llvm::ArrayRef<Place> getAll() const { return all; }
  int64_t getUsed(Memory memory) const {
    return used[static_cast<unsigned>(memory)];
  }

private:
  Capacities capacities;
  Capacities used = {};
  /// Events of each pair of pipes that have been given out.
  std::array<std::array<int64_t, 7>, 7> events = {};
  std::string failure;
  llvm::SmallVector<Place> all;
};

/// The copy of `place` that has number `slot`.
mlir::Value getAddress(Code &code, const Place &place, mlir::Value slot);
void waitFree(Code &code, const Place &place, mlir::Value slot);
void setFull(Code &code, const Place &place, mlir::Value slot);
void waitFull(Code &code, const Place &place, mlir::Value slot);
void setFree(Code &code, const Place &place, mlir::Value slot);
/// At the start of a kernel all places are free; at its end they have to be.
void startFree(Code &code, const Place &place);
void endFree(Code &code, const Place &place);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_PLACE_H
