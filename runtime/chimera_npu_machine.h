//===- chimera_npu_machine.h - State of the modelled AI core ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the instructions of chimera_npu.h work on: the memories of a core, what
// is known about who used which bytes last, flags, and counters.
//
// The program runs in order. A core does not: each pipe works through its own
// instructions, and only flags and barriers order them: one pipe with another
// and, since a pipe starts an instruction before the one ahead of it is done, a
// pipe with itself. Every pipe therefore has a vector clock, the number of
// instructions of each pipe known to be complete, and two accesses to the same
// bytes of which neither is known to the other are an error even though they
// happened to run in an order that is right.
//
// Cores that work on one block together, one with a cube unit and two with
// vector units, have memories, pipes and flags of their own, and main memory in
// common. Flags between them carry clocks as those within a core do.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_NPU_MACHINE_H
#define CHIMERA_NPU_MACHINE_H

#include "chimera_npu_arch.h"
#include "chimera_npu_layouts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

enum class Reason : uint8_t {
  /// An address beyond the end of an on-chip memory.
  Capacity,
  Alignment,
  /// An address outside an argument in global memory.
  OutOfBounds,
  /// What an instruction cannot encode or does not define.
  Parameter,
  /// Accesses to the same bytes that nothing orders.
  Hazard,
  /// A flag set twice, waited for in vain, or left set.
  Flag,
  /// A result, or a sum, of bytes that nobody wrote.
  Uninitialized,
  /// An instruction outside a kernel, or a launch inside of one.
  Launch
};

inline const char *name(Reason reason) {
  static const char *const names[] = {
      "Capacity", "Alignment", "OutOfBounds",   "Parameter",
      "Hazard",   "Flag",      "Uninitialized", "Launch"};
  return names[static_cast<int>(reason)];
}

struct Error : std::runtime_error {
  Error(Reason reason, const std::string &message)
      : std::runtime_error(std::string(name(reason)) + ": " + message),
        reason(reason) {}
  Reason reason;
};

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

inline const char *name(Op op) { return describe(op).name; }

struct RouteCounters {
  /// Bytes at the source and at the destination: fewer or more where a copy
  /// casts or pads.
  int64_t read = 0, written = 0;
  int64_t instructions = 0;
};

struct Counters {
  std::array<std::array<RouteCounters, kNumMems>, kNumMems> routes = {};
  std::array<int64_t, kNumOps> instructions = {};
  int64_t mads = 0;
  /// Multiplications asked for; the cycles are those of whole fractals.
  int64_t macs = 0;
  int64_t vectorRepeats = 0;
  /// One past the highest byte used of each on-chip memory.
  std::array<int64_t, kNumMems> highWater = {};
  std::array<int64_t, kNumPipes> cycles = {};
  /// Of the busiest pipe: a bound that ignores waiting and latency. In a total,
  /// of the busiest core, which takes every so many-th block.
  int64_t criticalCycles = 0;
  /// When the last pipe is done, if each starts as soon as what it waits for
  /// is; in a total as above.
  int64_t elapsedCycles = 0;

  const RouteCounters &route(Mem from, Mem to) const {
    return routes[index(from)][index(to)];
  }
  int64_t executed(Op op) const { return instructions[static_cast<int>(op)]; }

  void add(const Counters &other) {
    for (int from = 0; from < kNumMems; ++from) {
      for (int to = 0; to < kNumMems; ++to) {
        routes[from][to].read += other.routes[from][to].read;
        routes[from][to].written += other.routes[from][to].written;
        routes[from][to].instructions += other.routes[from][to].instructions;
      }
      highWater[from] = std::max(highWater[from], other.highWater[from]);
    }
    for (int op = 0; op < kNumOps; ++op)
      instructions[op] += other.instructions[op];
    mads += other.mads;
    macs += other.macs;
    vectorRepeats += other.vectorRepeats;
    for (int pipe = 0; pipe < kNumPipes; ++pipe)
      cycles[pipe] += other.cycles[pipe];
  }

  std::string toJson() const {
    std::string text = "{\"routes\": {";
    auto field = [&text](const std::string &key, int64_t value) {
      if (text.back() != '{')
        text += ", ";
      text += '"' + key + "\": " + std::to_string(value);
    };
    for (int from = 0; from < kNumMems; ++from)
      for (int to = 0; to < kNumMems; ++to) {
        const RouteCounters &counters = routes[from][to];
        if (!counters.instructions)
          continue;
        text += text.back() == '{' ? "\"" : ", \"";
        text += std::string(name(Mem(from))) + "->" + name(Mem(to)) + "\": {";
        field("read", counters.read);
        field("written", counters.written);
        field("instructions", counters.instructions);
        text += '}';
      }
    text += "}, \"instructions\": {";
    for (int op = 0; op < kNumOps; ++op)
      if (instructions[op])
        field(name(Op(op)), instructions[op]);
    text += "}, \"high_water\": {";
    for (int mem = 1; mem < kNumMems; ++mem)
      field(name(Mem(mem)), highWater[mem]);
    text += "}, \"cycles\": {";
    for (int pipe = 0; pipe < kNumPipes; ++pipe)
      field(name(Pipe(pipe)), cycles[pipe]);
    text += '}';
    field("mads", mads);
    field("macs", macs);
    field("vector_repeats", vectorRepeats);
    field("critical_cycles", criticalCycles);
    field("elapsed_cycles", elapsedCycles);
    return text + '}';
  }
};

/// The cores that work on a block; the first one has the cube unit.
inline constexpr int kNumParts = 1 + numVectorCores(kArchitecture);

struct Report {
  /// By block index.
  std::vector<Counters> cores;
  Counters total;

  std::string toJson() const {
    std::string text = std::string("{\"arch\": \"") + kArch.name +
                       "\", \"cores\": " + std::to_string(cores.size()) +
                       ", \"capacity\": {";
    for (int mem = 1; mem < kNumMems; ++mem)
      text += std::string(mem == 1 ? "\"" : ", \"") + name(Mem(mem)) +
              "\": " + std::to_string(kArch.capacity[mem]);
    text += "}, \"total\": " + total.toJson() + ", \"per_core\": [";
    for (size_t core = 0; core < cores.size(); ++core)
      text += (core ? ", " : "") + cores[core].toJson();
    return text + "]}";
  }
};

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// Runs the blocks of one launch after one another.
class Machine {
public:
  explicit Machine(int64_t cores) : numCores(cores) {
    if (cores < 1 || cores >= kManyCores)
      throw Error(Reason::Launch, "a launch on " + std::to_string(cores) +
                                      " cores is not possible");
  }

  /// Arguments may overlap: what is known about their bytes is then known once.
  void addArgument(void *base, int64_t bytes, int64_t elementSize) {
    if (bytes == 0)
      return;
    Region added{static_cast<uint8_t *>(base), bytes, elementSize, {}};
    for (size_t i = 0; i < regions.size();) {
      Region &other = regions[i];
      if (other.base >= added.base + added.bytes ||
          added.base >= other.base + other.bytes) {
        ++i;
        continue;
      }
      uint8_t *end =
          std::max(added.base + added.bytes, other.base + other.bytes);
      added.granule = std::gcd(std::gcd(added.granule, other.granule),
                               static_cast<int64_t>(added.base - other.base));
      added.base = std::min(added.base, other.base);
      added.bytes = end - added.base;
      regions.erase(regions.begin() + static_cast<int64_t>(i));
      i = 0;
    }
    added.shadow.resize(layout::ceilDiv(added.bytes, added.granule));
    regions.push_back(std::move(added));
  }

  /// Starts block `core`, on a core that has all units or, if the kernel is
  /// mixed, on several that have some of them.
  void startCore(int64_t core, bool mixed = false) {
    currentCore = core;
    isMixed = mixed;
    crossFlags = {};
    for (part = 0; part < (isMixed ? kNumParts : 1); ++part) {
      state() = Core();
      for (int mem = 1; mem < kNumMems; ++mem)
        if (hasMemory(Mem(mem)))
          clear(state().memories[mem], kArch.capacity[mem]);
      for (std::vector<Op> &ops : state().history)
        ops.assign(1, Op::count);
    }
    part = 0;
  }

  void finishCore() {
    Counters whole;
    for (part = 0; part < (isMixed ? kNumParts : 1); ++part) {
      requireNoFlags();
      Counters &own = state().counters;
      std::array<int64_t, kNumPipes> cycles = whole.cycles;
      whole.add(own);
      for (int pipe = 0; pipe < kNumPipes; ++pipe)
        whole.cycles[pipe] = std::max(cycles[pipe], own.cycles[pipe]);
      for (const Clock &clock : state().clocks)
        whole.elapsedCycles = std::max(whole.elapsedCycles, clock.time);
    }
    part = 0;
    whole.criticalCycles =
        *std::max_element(whole.cycles.begin(), whole.cycles.end());
    report.cores.push_back(whole);
  }

  /// Lets core `number` of a block go on.
  void enterPart(int number) { part = number; }

  Report takeReport() {
    std::vector<int64_t> busy(kArch.cores), elapsed(kArch.cores);
    for (size_t block = 0; block < report.cores.size(); ++block) {
      report.total.add(report.cores[block]);
      busy[block % busy.size()] += report.cores[block].criticalCycles;
      elapsed[block % busy.size()] += report.cores[block].elapsedCycles;
    }
    report.total.criticalCycles = *std::max_element(busy.begin(), busy.end());
    report.total.elapsedCycles =
        *std::max_element(elapsed.begin(), elapsed.end());
    return std::move(report);
  }

  int64_t blockIdx() const { return currentCore; }
  int64_t blockNum() const { return numCores; }
  int64_t subBlockIdx() const {
    if (part == 0)
      throw Error(Reason::Parameter, "this is no vector core of a block");
    return part - 1;
  }

  //===--- Instructions ---------------------------------------------------===//

  /// Starts an instruction, to which the accesses that follow belong.
  void issue(Op op, Pipe pipe) {
    Core &core = state();
    core.op = op;
    core.pipe = pipe;
    ++core.issued[pipe];
    core.keepsOrder = false;
    core.history[pipe].push_back(op);
    ++core.counters.instructions[static_cast<int>(op)];
  }

  /// The instruction takes long enough for those before it in its pipe.
  void keepOrder() { state().keepsOrder = true; }

  [[noreturn]] void fail(Reason reason, const std::string &message) const {
    const Core &core = state();
    throw Error(reason, describe(core.op, core.pipe, core.issued[core.pipe]) +
                            ", " + coreName() + ": " + message);
  }

  void require(bool condition, const char *message) const {
    if (!condition)
      fail(Reason::Parameter, message);
  }

  void requireRange(const char *what, int64_t value, int64_t least,
                    int64_t most) const {
    if (value < least || value > most)
      fail(Reason::Parameter,
           std::string(what) + " is " + std::to_string(value) + ", not in [" +
               std::to_string(least) + ", " + std::to_string(most) + "]");
  }

  void requireAligned(Mem mem, int64_t offset, int64_t alignment) const {
    if (offset % alignment != 0)
      fail(Reason::Alignment,
           std::string(name(mem)) + " address " + std::to_string(offset) +
               " is not a multiple of " + std::to_string(alignment));
  }

  const uint8_t *read(Mem mem, int64_t offset, int64_t bytes) {
    Memory &memory = enter(mem, offset, bytes);
    for (int64_t at = offset / kBlock; at * kBlock < offset + bytes; ++at) {
      Block &block = memory.shadow[at];
      if (!isDone(unitOf(block.writer), block.writeTick))
        failHazard("reads what", unitOf(block.writer), block.writeTick, "wrote",
                   name(mem), at * kBlock, kBlock);
      block.readTick[state().pipe] = now();
    }
    return memory.bytes.data() + offset;
  }

  uint8_t *write(Mem mem, int64_t offset, int64_t bytes) {
    Memory &memory = enter(mem, offset, bytes);
    for (int64_t at = offset / kBlock; at * kBlock < offset + bytes; ++at) {
      Block &block = memory.shadow[at];
      if (!isDone(unitOf(block.writer), block.writeTick))
        failHazard("writes over what", unitOf(block.writer), block.writeTick,
                   "wrote", name(mem), at * kBlock, kBlock);
      for (int pipe = 0; pipe < kNumPipes; ++pipe)
        if (!isDone(unitOf(Pipe(pipe)), block.readTick[pipe]))
          failHazard("writes over what", unitOf(Pipe(pipe)),
                     block.readTick[pipe], "reads", name(mem), at * kBlock,
                     kBlock);
      block.writer = state().pipe;
      block.writeTick = now();
    }
    return memory.bytes.data() + offset;
  }

  /// A byte for every byte of a memory, zero where nothing was written. The
  /// address was checked by an access.
  uint8_t *written(Mem mem, int64_t offset) {
    return state().memories[index(mem)].written.data() + offset;
  }

  /// Fails if an earlier repeat of the current instruction has written the
  /// block at `offset`.
  void requireNotOwn(Mem mem, int64_t offset) const {
    const Block &block = state().memories[index(mem)].shadow[offset / kBlock];
    if (block.writer == state().pipe && block.writeTick == now())
      fail(Reason::Hazard, "a repeat reads what an earlier one wrote: " +
                               range(name(mem), offset, kBlock));
  }

  void readGm(const uint8_t *address, int64_t bytes) {
    Region &region = findRegion(address, bytes);
    auto core = static_cast<uint16_t>(currentCore + 1);
    int64_t offset = address - region.base;
    for (int64_t granule = offset / region.granule;
         granule * region.granule < offset + bytes; ++granule) {
      GmState &known = region.shadow[granule];
      if (known.writerCore) {
        if (known.writerCore != core)
          failRace("reads what", known.writerCore, "writes", region, granule);
        if (!isDone(known.writer, known.writeTick))
          failHazard("reads what", known.writer, known.writeTick, "wrote", "GM",
                     granule * region.granule, region.granule);
      }
      known.readTick = now();
      known.reader = unitOf(state().pipe);
      known.readerCore =
          known.readerCore == 0 || known.readerCore == core ? core : kManyCores;
    }
  }

  void writeGm(const uint8_t *address, int64_t bytes) {
    Region &region = findRegion(address, bytes);
    auto core = static_cast<uint16_t>(currentCore + 1);
    int64_t offset = address - region.base;
    for (int64_t granule = offset / region.granule;
         granule * region.granule < offset + bytes; ++granule) {
      GmState &known = region.shadow[granule];
      if (known.writerCore) {
        if (known.writerCore != core)
          failRace("writes what", known.writerCore, "writes", region, granule);
        if (!isDone(known.writer, known.writeTick))
          failHazard("writes over what", known.writer, known.writeTick, "wrote",
                     "GM", granule * region.granule, region.granule);
      }
      if (known.readerCore) {
        if (known.readerCore != core)
          failRace("writes what", known.readerCore, "reads", region, granule);
        if (!isDone(known.reader, known.readTick))
          failHazard("writes over what", known.reader, known.readTick, "reads",
                     "GM", granule * region.granule, region.granule);
      }
      known.writer = unitOf(state().pipe);
      known.writeTick = now();
      known.writerCore = core;
    }
  }

  /// Of each of `bursts` bursts. Those of main memory take whole pieces of it,
  /// and vector cores of one block share what their rate is.
  void countRoute(Mem from, Mem to, int64_t bursts, int64_t read,
                  int64_t written) {
    RouteCounters &route = state().counters.routes[index(from)][index(to)];
    route.read += bursts * read;
    route.written += bursts * written;
    ++route.instructions;
    int64_t bytes = std::max(read, written);
    if (from == Mem::GM || to == Mem::GM)
      bytes = layout::roundUp(bytes, kArch.piece);
    if (part > 0 && from != to)
      bytes *= kNumParts - 1;
    spend(state().pipe,
          layout::ceilDiv(bursts * bytes, kArch.rate[index(from)][index(to)]));
  }

  /// Of bytes that come from nowhere.
  void countFill(Mem to, int64_t bytes) {
    spend(state().pipe,
          layout::ceilDiv(bytes, kArch.rate[index(Mem::GM)][index(to)]));
  }

  void countVector(int64_t repeats, bool isHalf) {
    state().counters.vectorRepeats += repeats;
    spend(PIPE_V, repeatCycles(state().op, isHalf, repeats));
  }

  void countMad(int64_t m, int64_t k, int64_t n, int64_t depth) {
    Counters &counters = state().counters;
    ++counters.mads;
    counters.macs += m * k * n;
    spend(PIPE_M, kArch.productStart +
                      layout::tileSize(m, n) / 256 * layout::ceilDiv(k, depth));
  }

  //===--- Order ----------------------------------------------------------===//

  void setFlag(Pipe source, Pipe target, int event) {
    Flag &flag = enterFlag(Op::set_flag, source, target, event);
    if (flag.isSet)
      throw Error(Reason::Flag, flagName(source, target, event) +
                                    " is set twice, " + coreName());
    flag.isSet = true;
    flag.clock = getReached(source);
  }

  void waitFlag(Pipe source, Pipe target, int event) {
    Flag &flag = enterFlag(Op::wait_flag, source, target, event);
    if (!flag.isSet)
      throw Error(Reason::Flag, "waits for " + flagName(source, target, event) +
                                    ", which nothing has set, " + coreName());
    flag.isSet = false;
    join(state().clocks[target], flag.clock);
  }

  void barrier(Pipe pipe) {
    count(Op::pipe_barrier);
    if (pipe == PIPE_S)
      throw Error(Reason::Parameter, "PIPE_S has no barrier");
    if (pipe != PIPE_ALL) {
      state().clocks[pipe][unitOf(pipe)] = state().issued[pipe];
      return;
    }
    Clock all = {};
    for (int other = 0; other < kNumPipes; ++other)
      join(all, getReached(Pipe(other)));
    state().clocks.fill(all);
  }

  //===--- Order between cores --------------------------------------------===//

  /// The core with the cube unit sets a flag for each vector core, a vector
  /// core one of two that the other waits for.
  void setCrossFlag(Pipe pipe, int number) {
    count(Op::set_cross_flag);
    requireCrossFlag(number);
    if (pipe == PIPE_S || pipe >= PIPE_ALL)
      throw Error(Reason::Parameter,
                  std::string(name(pipe)) + " sets no flag between cores");
    ++numCrossFlagsSet;
    for (int vector = 1; vector < kNumParts; ++vector) {
      if (part > 0 && part != vector)
        continue;
      std::deque<Clock> &flag = crossFlags[vector][part == 0][number];
      flag.push_back(getReached(pipe));
      if (flag.size() > kMostCrossFlags)
        throw Error(Reason::Flag, crossFlagName(number) + " is set more than " +
                                      std::to_string(kMostCrossFlags) +
                                      " times, " + coreName());
    }
  }

  /// Takes what the other side has set, if it has: nothing of this core starts
  /// before.
  bool takeCrossFlag(int number) {
    requireCrossFlag(number);
    for (int vector = 1; vector < kNumParts; ++vector)
      if ((part == 0 || part == vector) &&
          crossFlags[vector][part != 0][number].empty())
        return false;
    count(Op::wait_cross_flag);
    for (int vector = 1; vector < kNumParts; ++vector) {
      if (part > 0 && part != vector)
        continue;
      std::deque<Clock> &flag = crossFlags[vector][part != 0][number];
      for (Clock &clock : state().clocks)
        join(clock, flag.front());
      flag.pop_front();
    }
    return true;
  }

  /// How often flags between cores were set.
  int64_t getNumCrossFlagsSet() const { return numCrossFlagsSet; }
  [[noreturn]] void failCrossFlag(int number) const {
    throw Error(Reason::Flag, "waits for " + crossFlagName(number) +
                                  ", which nothing has set, " + coreName());
  }

  //===--- Vector mask ----------------------------------------------------===//

  void setMask(uint64_t high, uint64_t low) {
    count(Op::set_vector_mask);
    if (high == 0 && low == 0)
      throw Error(Reason::Parameter, "the vector mask has no lane");
    state().mask = {low, high};
  }
  bool isActive(int64_t lane) const {
    return state().mask[lane / 64] >> (lane % 64) & 1;
  }
  /// `count` is less than 64 and divides it, and `first` is a multiple of it.
  bool anyActive(int64_t first, int64_t count) const {
    return activeOf(first, count) != 0;
  }
  bool allActive(int64_t first, int64_t count) const {
    return activeOf(first, count) == (uint64_t(1) << count) - 1;
  }

private:
  /// Pipes of all cores of a block, instructions of each, and the cycle.
  static constexpr int kNumUnits = kNumParts * kNumPipes;
  struct Clock {
    std::array<uint32_t, kNumUnits> ticks = {};
    int64_t time = 0;
    uint32_t &operator[](int unit) { return ticks[unit]; }
    uint32_t operator[](int unit) const { return ticks[unit]; }
  };

  static constexpr int64_t kBlock = 32;
  static constexpr uint16_t kManyCores = 0xffff;

  struct Block {
    uint32_t writeTick = 0;
    std::array<uint32_t, kNumPipes> readTick = {};
    Pipe writer = PIPE_S;
  };
  struct Memory {
    std::vector<uint8_t> bytes, written;
    std::vector<Block> shadow;
  };

  /// Cores are counted from one; the ticks are those of the core named last.
  struct GmState {
    uint32_t writeTick = 0, readTick = 0;
    uint16_t writerCore = 0, readerCore = 0;
    uint8_t writer = 0, reader = 0;
  };
  /// Rows need not be multiples of blocks, and neighbours belong to different
  /// cores: granules are elements.
  struct Region {
    uint8_t *base;
    int64_t bytes;
    int64_t granule;
    std::vector<GmState> shadow;
  };

  struct Flag {
    bool isSet = false;
    Clock clock = {};
  };

  /// What a core of a block is and knows.
  struct Core {
    Op op = Op::count;
    Pipe pipe = PIPE_S;
    Counters counters;
    std::array<Memory, kNumMems> memories;
    /// What each pipe knows to be complete, of itself as of the others.
    std::array<Clock, kNumPipes> clocks = {};
    std::array<uint32_t, kNumPipes> issued = {};
    bool keepsOrder = false;
    /// By pipe and tick, to say in an error what ran then.
    std::array<std::vector<Op>, kNumPipes> history;
    std::array<std::array<std::array<Flag, kNumEvents>, kNumPipes>, kNumPipes>
        flags = {};
    std::array<uint64_t, 2> mask = {~uint64_t(0), ~uint64_t(0)};
  };

  Core &state() { return parts[part]; }
  const Core &state() const { return parts[part]; }
  uint32_t now() const { return state().issued[state().pipe]; }
  int unitOf(Pipe pipe) const { return part * kNumPipes + pipe; }
  void spend(Pipe pipe, int64_t cycles) {
    state().counters.cycles[pipe] += cycles;
    state().clocks[pipe].time += cycles;
  }
  void count(Op op) { ++state().counters.instructions[static_cast<int>(op)]; }

  bool hasMemory(Mem mem) const {
    return !isMixed || (mem == Mem::UB) == (part > 0);
  }
  std::string coreName() const {
    std::string text = "core " + std::to_string(currentCore);
    return !isMixed    ? text
           : part == 0 ? text + " (cube)"
                       : text + " (vector " + std::to_string(part - 1) + ")";
  }

  static void clear(Memory &memory, int64_t bytes) {
    // A number that is none, in every type.
    memory.bytes.assign(bytes, uint8_t(0xff));
    memory.written.assign(bytes, uint8_t(0));
    memory.shadow.assign(layout::ceilDiv(bytes, kBlock), Block());
  }

  void requireNoFlags() const {
    auto requireTaken = [&](bool isSet, const std::string &flag) {
      if (isSet)
        throw Error(Reason::Flag,
                    flag + " is still set when the kernel ends, " + coreName());
    };
    for (int source = 0; source < kNumPipes; ++source)
      for (int target = 0; target < kNumPipes; ++target)
        for (int event = 0; event < kNumEvents; ++event)
          requireTaken(state().flags[source][target][event].isSet,
                       flagName(Pipe(source), Pipe(target), event));
    for (const auto &direction : crossFlags[part])
      for (int number = 0; number < kNumCrossFlags; ++number)
        requireTaken(!direction[number].empty(), crossFlagName(number));
  }

  void requireCrossFlag(int number) const {
    if (!isMixed)
      throw Error(Reason::Parameter,
                  "a kernel of one core sets no flags between cores");
    if (number < 0 || number >= kNumCrossFlags)
      throw Error(Reason::Parameter, crossFlagName(number) + " does not exist");
  }

  /// What is complete once all that `pipe` has begun is.
  Clock getReached(Pipe pipe) const {
    Clock clock = state().clocks[pipe];
    clock[unitOf(pipe)] = state().issued[pipe];
    return clock;
  }

  /// True if the current instruction comes after number `tick` of pipe `unit`,
  /// or is that one.
  bool isDone(int unit, uint32_t tick) const {
    const Core &core = state();
    if (unit == unitOf(core.pipe) && (core.keepsOrder || tick == now()))
      return true;
    return tick <= core.clocks[core.pipe][unit];
  }

  static void join(Clock &clock, const Clock &other) {
    for (int unit = 0; unit < kNumUnits; ++unit)
      clock[unit] = std::max(clock[unit], other[unit]);
    clock.time = std::max(clock.time, other.time);
  }

  static std::string describe(Op op, Pipe pipe, uint32_t tick) {
    return std::string(name(op)) + " (" + name(pipe) + " #" +
           std::to_string(tick) + ")";
  }

  static std::string flagName(Pipe source, Pipe target, int event) {
    return std::string("flag ") + name(source) + " to " + name(target) +
           " EVENT_ID" + std::to_string(event);
  }

  static std::string crossFlagName(int number) {
    return "flag " + std::to_string(number) + " between cores";
  }

  static std::string range(const char *memory, int64_t offset, int64_t bytes) {
    return std::string(memory) + " bytes [" + std::to_string(offset) + ", " +
           std::to_string(offset + bytes) + ")";
  }

  uint64_t activeOf(int64_t first, int64_t count) const {
    return state().mask[first / 64] >> (first % 64) &
           ((uint64_t(1) << count) - 1);
  }

  Flag &enterFlag(Op op, Pipe source, Pipe target, int event) {
    count(op);
    if (!hasFlags(source, target) || event < 0 || event >= kNumEvents)
      throw Error(Reason::Parameter,
                  flagName(source, target, event) + " does not exist");
    return state().flags[source][target][event];
  }

  Memory &enter(Mem mem, int64_t offset, int64_t bytes) {
    if (!hasMemory(mem))
      fail(Reason::Parameter,
           std::string(name(mem)) + " is a memory of another core");
    int64_t capacity = kArch.capacity[index(mem)];
    if (offset < 0 || offset + bytes > capacity)
      fail(Reason::Capacity,
           range(name(mem), offset, bytes) + " of " + std::to_string(capacity));
    int64_t &highWater = state().counters.highWater[index(mem)];
    highWater = std::max(highWater, offset + bytes);
    return state().memories[index(mem)];
  }

  Region &findRegion(const uint8_t *address, int64_t bytes) {
    for (Region &region : regions)
      if (address >= region.base &&
          address + bytes <= region.base + region.bytes)
        return region;
    fail(Reason::OutOfBounds, "an address in no argument of the kernel");
  }

  [[noreturn]] void failHazard(const char *does, int unit, uint32_t tick,
                               const char *did, const char *memory,
                               int64_t offset, int64_t bytes) const {
    Pipe pipe = Pipe(unit % kNumPipes);
    const Core &other = parts[unit / kNumPipes];
    fail(Reason::Hazard,
         std::string(does) + " " +
             describe(other.history[pipe][tick], pipe, tick) + " " + did +
             " with nothing to order them: " + range(memory, offset, bytes));
  }

  [[noreturn]] void failRace(const char *does, uint16_t other, const char *did,
                             const Region &region, int64_t granule) const {
    std::string who = other == kManyCores ? "more than one core"
                                          : "core " + std::to_string(other - 1);
    fail(Reason::Hazard,
         std::string(does) + " " + who + " " + did + ": " +
             range("GM", granule * region.granule, region.granule) +
             " of an argument");
  }

  int64_t numCores;
  int64_t currentCore = 0;
  /// Which of the cores of the block runs.
  int part = 0;
  bool isMixed = false;
  Report report;
  std::array<Core, kNumParts> parts;
  std::vector<Region> regions;
  /// By vector core, whether it is what waits, and number: what was complete
  /// when it was set, oldest first.
  std::array<std::array<std::array<std::deque<Clock>, kNumCrossFlags>, 2>,
             kNumParts>
      crossFlags;
  int64_t numCrossFlagsSet = 0;
};

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_MACHINE_H
