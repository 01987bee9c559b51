//===- Place.cpp - Where tiles lie on chip --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Place.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

/// Events between two pipes.
static constexpr int64_t numEvents = 8;

/// What addresses are multiples of.
static int64_t getAlignment(Memory memory) {
  switch (memory) {
  case Memory::L0A:
  case Memory::L0B:
    return 512;
  case Memory::L0C:
    return 1024;
  default:
    return blockBytes;
  }
}

Place Places::allocate(Memory memory, Type elementType, int64_t bytes,
                       int64_t count, Pipe producer, Pipe consumer) {
  Place place;
  place.memory = memory;
  place.elementType = elementType;
  place.bytes = llvm::alignTo(bytes, getAlignment(memory));
  place.count = count;
  place.producer = producer;
  place.consumer = consumer;
  int64_t &top = used[static_cast<unsigned>(memory)];
  place.address = top;
  top += place.bytes * count;
  if (top > capacities[static_cast<unsigned>(memory)] && failure.empty())
    failure = ("its tiles need " + Twine(top) + " bytes of " +
               stringifyMemory(memory) + ", there are " +
               Twine(capacities[static_cast<unsigned>(memory)]))
                  .str();
  if (place.needsFlags()) {
    // Both directions are used, one for full and one for free.
    auto [first, second] = std::minmax(producer, consumer);
    int64_t &event =
        events[static_cast<unsigned>(first)][static_cast<unsigned>(second)];
    place.event = event;
    event += count;
    if (event > numEvents && failure.empty())
      failure = ("it needs more than " + Twine(numEvents) + " events between " +
                 stringifyPipe(producer) + " and " + stringifyPipe(consumer))
                    .str();
  }
  all.push_back(place);
  return place;
}

Value ascend::getAddress(Code &code, const Place &place, Value slot) {
  return code.address(
      place.memory, place.elementType,
      code.add(code.number(place.address), code.mul(slot, place.bytes)));
}

static Value getEvent(Code &code, const Place &place, Value slot) {
  return code.add(code.number(place.event), slot);
}

void ascend::waitFree(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.waitFlag(place.consumer, place.producer, getEvent(code, place, slot));
}

void ascend::setFull(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.setFlag(place.producer, place.consumer, getEvent(code, place, slot));
}

void ascend::waitFull(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.waitFlag(place.producer, place.consumer, getEvent(code, place, slot));
}

void ascend::setFree(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.setFlag(place.consumer, place.producer, getEvent(code, place, slot));
}

void ascend::startFree(Code &code, const Place &place) {
  for (int64_t slot = 0; slot < place.count; ++slot)
    setFree(code, place, code.number(slot));
}

void ascend::endFree(Code &code, const Place &place) {
  for (int64_t slot = 0; slot < place.count; ++slot)
    waitFree(code, place, code.number(slot));
}
