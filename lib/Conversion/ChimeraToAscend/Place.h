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
#include <map>
#include <optional>
#include <string>

namespace chimera::ascend {

/// Bytes of each memory, by number.
using Capacities = std::array<int64_t, 6>;
/// A number for each two pipes, the one with the lower number first.
using OfPipes = std::array<std::array<int64_t, 7>, 7>;

/// How places make do with fewer events than they would have.
struct EventSharing {
  /// Events that are lacking between two pipes.
  OfPipes lacking = {};
  /// True if it is not enough that double places have one event.
  bool isTight = false;
};

/// A place on chip, once or twice, with the flags between its two pipes.
struct Place {
  Memory memory = Memory::L1;
  mlir::Type elementType;
  /// Of the first, and of one.
  int64_t address = 0, bytes = 0;
  int64_t count = 1;
  Pipe producer = Pipe::MTE2, consumer = Pipe::MTE1;
  /// The event of the first, and how many there are: one for both of two places
  /// where events are scarce, so that one is not filled before the other has
  /// been used.
  int64_t event = 0, numEvents = 1;
  /// True if others have the same event. The place is then free for them as
  /// soon as it is full, and a barrier for all pipes has to end a task.
  bool isJoint = false;
  /// No flag leads from where the matrix unit's sums leave to where operands
  /// are loaded. The matrix unit, which waits for both, passes it on, with this
  /// event.
  int64_t relayEvent = 0;

  /// True if one pipe fills and uses it, which keeps its own order.
  bool needsFlags() const { return producer != consumer; }
  bool isRelayed() const {
    return producer == Pipe::FIX && consumer == Pipe::MTE1;
  }
  /// The pipe that exchanges flags with the producer.
  Pipe getPartner() const { return isRelayed() ? Pipe::M : consumer; }
};

/// A place in main memory, once or twice, where the cores of a block hand tiles
/// over.
struct Exchange {
  mlir::Type type;
  /// The core that fills it, the pipe that does and the one that reads it.
  CoreKind producer = CoreKind::Cube;
  Pipe producerPipe = Pipe::FIX, consumerPipe = Pipe::MTE2;
  /// In the block's part of the workspace, and of one.
  int64_t first = 0, elements = 0;
  int64_t count = 1;
  /// The flags of the first.
  int64_t full = 0, free = 0;
  /// Which one is used now.
  mlir::Value slot;
};

/// Gives out places and events until something is used up.
class Places {
public:
  /// Where events are lacking, double places have one, and places that are
  /// filled once in a task, if they are single or it is tight, have one
  /// together.
  Places(const Capacities &capacities, int64_t numEvents,
         const EventSharing &sharing)
      : capacities(capacities), numEvents(numEvents), sharing(sharing) {}

  /// `count` places for `bytes` bytes each, which tasks fill once or oftener.
  /// Those of one `turn` between the same pipes are never full at the same
  /// time, and can have one event if these are lacking.
  Place allocate(Memory memory, mlir::Type elementType, int64_t bytes,
                 int64_t count, Pipe producer, Pipe consumer,
                 bool isFilledOnce = false,
                 std::optional<unsigned> turn = std::nullopt);
  /// Events that are lacking.
  const OfPipes &getExcess() const { return excess; }
  /// What is used up, if anything.
  llvm::StringRef getFailure() const { return failure; }
  llvm::ArrayRef<Place> getAll() const { return all; }
  int64_t getUsed(Memory memory) const {
    return used[static_cast<unsigned>(memory)];
  }

private:
  int64_t takeEvents(Pipe first, Pipe second, int64_t count);
  void giveEvents(Place &place, bool isFilledOnce,
                  std::optional<unsigned> turn);

  Capacities capacities;
  Capacities used = {};
  int64_t numEvents;
  EventSharing sharing;
  /// The event of joint places, by the lower number, plus one.
  OfPipes jointEvents = {};
  /// The events of those that take turns, by the pipes and the turn.
  std::map<std::tuple<Pipe, Pipe, unsigned>, int64_t> turnEvents;
  /// Events that have been given out.
  OfPipes events = {}, excess = {};
  std::string failure;
  llvm::SmallVector<Place> all;
};

/// The copy of `place` that has number `slot`.
mlir::Value getAddress(Code &code, const Place &place, mlir::Value slot);
void waitFree(Code &code, const Place &place, mlir::Value slot);
void setFull(Code &code, const Place &place, mlir::Value slot);
void waitFull(Code &code, const Place &place, mlir::Value slot);
void setFree(Code &code, const Place &place, mlir::Value slot);
void waitFree(Code &code, const Exchange &exchange);
void setFull(Code &code, const Exchange &exchange);
void waitFull(Code &code, const Exchange &exchange);
void setFree(Code &code, const Exchange &exchange);
/// At the start of a kernel all places are free; at its end they have to be.
void startFree(Code &code, const Place &place);
void endFree(Code &code, const Place &place);

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_PLACE_H
