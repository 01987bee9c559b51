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

static int64_t &of(OfPipes &numbers, Pipe first, Pipe second) {
  auto [lower, upper] =
      std::minmax(static_cast<unsigned>(first), static_cast<unsigned>(second));
  return numbers[lower][upper];
}

/// The first of `count` events that nobody else has between two pipes, in both
/// directions.
int64_t Places::takeEvents(Pipe first, Pipe second, int64_t count) {
  int64_t &next = of(events, first, second);
  int64_t event = next;
  next += count;
  if (next > numEvents) {
    of(excess, first, second) = next - numEvents;
    if (failure.empty())
      failure = ("it needs more than " + Twine(numEvents) + " events between " +
                 stringifyPipe(first) + " and " + stringifyPipe(second))
                    .str();
  }
  return event;
}

/// The events of `place`, one for full and one for free each.
void Places::giveEvents(Place &place, bool isFilledOnce,
                        std::optional<unsigned> turn) {
  Pipe producer = place.producer, partner = place.getPartner();
  int64_t &lacking = of(sharing.lacking, producer, partner);
  auto taken = turnEvents.find({producer, partner, turn.value_or(0)});
  if (lacking > 0 && turn && taken != turnEvents.end()) {
    lacking -= place.count;
    place.numEvents = 0;
    place.event = taken->second;
    return;
  }
  bool canJoin = isFilledOnce && !place.isRelayed() &&
                 (place.count == 1 || sharing.isTight);
  if (lacking > 0 && canJoin) {
    place.isJoint = true;
    int64_t &joint = of(jointEvents, producer, partner);
    lacking -= place.count;
    place.numEvents = joint == 0 ? 1 : 0;
    if (joint == 0) {
      joint = takeEvents(producer, partner, 1) + 1;
      ++lacking;
    }
    place.event = joint - 1;
    return;
  }
  if (lacking > 0 && place.count > 1) {
    lacking -= place.count - 1;
    place.numEvents = 1;
  }
  place.event = takeEvents(producer, partner, place.numEvents);
  if (turn && place.numEvents == 1)
    turnEvents[{producer, partner, *turn}] = place.event;
  if (place.isRelayed())
    place.relayEvent = takeEvents(partner, place.consumer, 1);
}

Place Places::allocate(Memory memory, Type elementType, int64_t bytes,
                       int64_t count, Pipe producer, Pipe consumer,
                       bool isFilledOnce, std::optional<unsigned> turn) {
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
  place.numEvents = count;
  if (place.needsFlags())
    giveEvents(place, isFilledOnce, turn);
  all.push_back(place);
  return place;
}

Value ascend::getAddress(Code &code, const Place &place, Value slot) {
  return code.address(
      place.memory, place.elementType,
      code.add(code.number(place.address), code.mul(slot, place.bytes)));
}

static Value getEvent(Code &code, const Place &place, Value slot) {
  return place.numEvents == place.count
             ? code.add(code.number(place.event), slot)
             : code.number(place.event);
}

void ascend::waitFree(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.waitFlag(place.getPartner(), place.producer,
                  getEvent(code, place, slot));
}

void ascend::setFull(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.setFlag(place.producer, place.getPartner(),
                 getEvent(code, place, slot));
}

void ascend::waitFull(Code &code, const Place &place, Value slot) {
  if (!place.needsFlags())
    return;
  code.waitFlag(place.producer, place.getPartner(),
                getEvent(code, place, slot));
  if (!place.isRelayed())
    return;
  Value event = code.number(place.relayEvent);
  code.setFlag(place.getPartner(), place.consumer, event);
  code.waitFlag(place.getPartner(), place.consumer, event);
}

void ascend::setFree(Code &code, const Place &place, Value slot) {
  if (place.needsFlags())
    code.setFlag(place.getPartner(), place.producer,
                 getEvent(code, place, slot));
}

void ascend::startFree(Code &code, const Place &place) {
  for (int64_t slot = 0; slot < place.numEvents; ++slot)
    setFree(code, place, code.number(slot));
}

void ascend::endFree(Code &code, const Place &place) {
  for (int64_t slot = 0; slot < place.numEvents; ++slot)
    waitFree(code, place, code.number(slot));
}

static CoreKind getOther(CoreKind core) {
  return core == CoreKind::Cube ? CoreKind::Vector : CoreKind::Cube;
}

/// `flag` of the place that is used now.
static Value getFlag(Code &code, int64_t flag, const Exchange &exchange) {
  return code.add(code.number(flag), exchange.slot);
}

void ascend::waitFree(Code &code, const Exchange &exchange) {
  WaitCrossFlagOp::create(code.builder, code.loc, exchange.producer,
                          getFlag(code, exchange.free, exchange));
}
void ascend::setFull(Code &code, const Exchange &exchange) {
  SetCrossFlagOp::create(code.builder, code.loc, exchange.producer,
                         exchange.producerPipe,
                         getFlag(code, exchange.full, exchange));
}
void ascend::waitFull(Code &code, const Exchange &exchange) {
  WaitCrossFlagOp::create(code.builder, code.loc, getOther(exchange.producer),
                          getFlag(code, exchange.full, exchange));
}
void ascend::setFree(Code &code, const Exchange &exchange) {
  SetCrossFlagOp::create(code.builder, code.loc, getOther(exchange.producer),
                         exchange.consumerPipe,
                         getFlag(code, exchange.free, exchange));
}
