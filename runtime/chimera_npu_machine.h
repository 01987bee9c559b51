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
    return text + '}';
  }
};

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
    for (int mem = 1; mem < kNumMems; ++mem) {
      memories[mem].bytes.resize(kArch.capacity[mem]);
      memories[mem].written.resize(kArch.capacity[mem]);
      memories[mem].shadow.resize(layout::ceilDiv(kArch.capacity[mem], kBlock));
    }
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

  void startCore(int64_t core) {
    currentCore = core;
    counters = Counters();
    for (Memory &memory : memories) {
      // A number that is none, in every type.
      std::fill(memory.bytes.begin(), memory.bytes.end(), uint8_t(0xff));
      std::fill(memory.written.begin(), memory.written.end(), uint8_t(0));
      std::fill(memory.shadow.begin(), memory.shadow.end(), Block());
    }
    for (int pipe = 0; pipe < kNumPipes; ++pipe) {
      clocks[pipe] = Clock{};
      issued[pipe] = 0;
      history[pipe].assign(1, Op::count);
    }
    flags = {};
    mask = {~uint64_t(0), ~uint64_t(0)};
  }

  void finishCore() {
    for (int source = 0; source < kNumPipes; ++source)
      for (int target = 0; target < kNumPipes; ++target)
        for (int event = 0; event < kNumEvents; ++event)
          if (flags[source][target][event].isSet)
            throw Error(Reason::Flag,
                        flagName(Pipe(source), Pipe(target), event) +
                            " is still set when the kernel ends, core " +
                            std::to_string(currentCore));
    counters.criticalCycles =
        *std::max_element(counters.cycles.begin(), counters.cycles.end());
    report.cores.push_back(counters);
  }

  Report takeReport() {
    std::vector<int64_t> busy(kArch.cores);
    for (size_t block = 0; block < report.cores.size(); ++block) {
      report.total.add(report.cores[block]);
      busy[block % busy.size()] += report.cores[block].criticalCycles;
    }
    report.total.criticalCycles = *std::max_element(busy.begin(), busy.end());
    return std::move(report);
  }

  int64_t blockIdx() const { return currentCore; }
  int64_t blockNum() const { return numCores; }

  //===--- Instructions ---------------------------------------------------===//

  /// Starts an instruction, to which the accesses that follow belong.
  void issue(Op op, Pipe pipe) {
    currentOp = op;
    currentPipe = pipe;
    ++issued[pipe];
    keepsOrder = false;
    history[pipe].push_back(op);
    ++counters.instructions[static_cast<int>(op)];
  }

  /// The instruction takes long enough for those before it in its pipe.
  void keepOrder() { keepsOrder = true; }

  [[noreturn]] void fail(Reason reason, const std::string &message) const {
    throw Error(reason, describe(currentOp, currentPipe, issued[currentPipe]) +
                            ", core " + std::to_string(currentCore) + ": " +
                            message);
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
    for (int64_t block = offset / kBlock; block * kBlock < offset + bytes;
         ++block) {
      Block &state = memory.shadow[block];
      if (!isDone(state.writer, state.writeTick))
        failHazard("reads what", state.writer, state.writeTick, "wrote",
                   name(mem), block * kBlock, kBlock);
      state.readTick[currentPipe] = issued[currentPipe];
    }
    return memory.bytes.data() + offset;
  }

  uint8_t *write(Mem mem, int64_t offset, int64_t bytes) {
    Memory &memory = enter(mem, offset, bytes);
    for (int64_t block = offset / kBlock; block * kBlock < offset + bytes;
         ++block) {
      Block &state = memory.shadow[block];
      if (!isDone(state.writer, state.writeTick))
        failHazard("writes over what", state.writer, state.writeTick, "wrote",
                   name(mem), block * kBlock, kBlock);
      for (int pipe = 0; pipe < kNumPipes; ++pipe)
        if (!isDone(Pipe(pipe), state.readTick[pipe]))
          failHazard("writes over what", Pipe(pipe), state.readTick[pipe],
                     "reads", name(mem), block * kBlock, kBlock);
      state.writer = currentPipe;
      state.writeTick = issued[currentPipe];
    }
    return memory.bytes.data() + offset;
  }

  /// A byte for every byte of a memory, zero where nothing was written. The
  /// address was checked by an access.
  uint8_t *written(Mem mem, int64_t offset) {
    return memories[index(mem)].written.data() + offset;
  }

  /// Fails if an earlier repeat of the current instruction has written the
  /// block at `offset`.
  void requireNotOwn(Mem mem, int64_t offset) const {
    const Block &state = memories[index(mem)].shadow[offset / kBlock];
    if (state.writer == currentPipe && state.writeTick == issued[currentPipe])
      fail(Reason::Hazard, "a repeat reads what an earlier one wrote: " +
                               range(name(mem), offset, kBlock));
  }

  void readGm(const uint8_t *address, int64_t bytes) {
    Region &region = findRegion(address, bytes);
    auto core = static_cast<uint16_t>(currentCore + 1);
    int64_t offset = address - region.base;
    for (int64_t granule = offset / region.granule;
         granule * region.granule < offset + bytes; ++granule) {
      GmState &state = region.shadow[granule];
      if (state.writerCore) {
        if (state.writerCore != core)
          failRace("reads what", state.writerCore, "writes", region, granule);
        if (!isDone(state.writer, state.writeTick))
          failHazard("reads what", state.writer, state.writeTick, "wrote", "GM",
                     granule * region.granule, region.granule);
      }
      state.readTick = issued[currentPipe];
      state.reader = currentPipe;
      state.readerCore =
          state.readerCore == 0 || state.readerCore == core ? core : kManyCores;
    }
  }

  void writeGm(const uint8_t *address, int64_t bytes) {
    Region &region = findRegion(address, bytes);
    auto core = static_cast<uint16_t>(currentCore + 1);
    int64_t offset = address - region.base;
    for (int64_t granule = offset / region.granule;
         granule * region.granule < offset + bytes; ++granule) {
      GmState &state = region.shadow[granule];
      if (state.writerCore) {
        if (state.writerCore != core)
          failRace("writes what", state.writerCore, "writes", region, granule);
        if (!isDone(state.writer, state.writeTick))
          failHazard("writes over what", state.writer, state.writeTick, "wrote",
                     "GM", granule * region.granule, region.granule);
      }
      if (state.readerCore) {
        if (state.readerCore != core)
          failRace("writes what", state.readerCore, "reads", region, granule);
        if (!isDone(state.reader, state.readTick))
          failHazard("writes over what", state.reader, state.readTick, "reads",
                     "GM", granule * region.granule, region.granule);
      }
      state.writer = currentPipe;
      state.writeTick = issued[currentPipe];
      state.writerCore = core;
    }
  }

  /// Of each of `bursts` bursts. Those of main memory take whole pieces of it.
  void countRoute(Mem from, Mem to, int64_t bursts, int64_t read,
                  int64_t written) {
    RouteCounters &route = counters.routes[index(from)][index(to)];
    route.read += bursts * read;
    route.written += bursts * written;
    ++route.instructions;
    int64_t bytes = std::max(read, written);
    if (from == Mem::GM || to == Mem::GM)
      bytes = layout::roundUp(bytes, kArch.piece);
    counters.cycles[currentPipe] +=
        layout::ceilDiv(bursts * bytes, kArch.rate[index(from)][index(to)]);
  }

  /// Of bytes that come from nowhere.
  void countFill(Mem to, int64_t bytes) {
    counters.cycles[currentPipe] +=
        layout::ceilDiv(bytes, kArch.rate[index(Mem::GM)][index(to)]);
  }

  void countVector(int64_t repeats, bool isHalf) {
    counters.vectorRepeats += repeats;
    counters.cycles[PIPE_V] += repeatCycles(currentOp, isHalf, repeats);
  }

  void countMad(int64_t m, int64_t k, int64_t n) {
    ++counters.mads;
    counters.macs += m * k * n;
    counters.cycles[PIPE_M] += kArch.productStart + layout::tileSize(m, n) /
                                                        256 *
                                                        layout::ceilDiv(k, 16);
  }

  //===--- Order ----------------------------------------------------------===//

  void setFlag(Pipe source, Pipe target, int event) {
    Flag &flag = enterFlag(Op::set_flag, source, target, event);
    if (flag.isSet)
      throw Error(Reason::Flag, flagName(source, target, event) +
                                    " is set twice, core " +
                                    std::to_string(currentCore));
    flag.isSet = true;
    flag.clock = getReached(source);
  }

  void waitFlag(Pipe source, Pipe target, int event) {
    Flag &flag = enterFlag(Op::wait_flag, source, target, event);
    if (!flag.isSet)
      throw Error(Reason::Flag, "waits for " + flagName(source, target, event) +
                                    ", which nothing has set, core " +
                                    std::to_string(currentCore));
    flag.isSet = false;
    join(clocks[target], flag.clock);
  }

  void barrier(Pipe pipe) {
    ++counters.instructions[static_cast<int>(Op::pipe_barrier)];
    if (pipe == PIPE_S)
      throw Error(Reason::Parameter, "PIPE_S has no barrier");
    if (pipe == PIPE_ALL)
      clocks.fill(issued);
    else
      clocks[pipe][pipe] = issued[pipe];
  }

  //===--- Vector mask ----------------------------------------------------===//

  void setMask(uint64_t high, uint64_t low) {
    ++counters.instructions[static_cast<int>(Op::set_vector_mask)];
    if (high == 0 && low == 0)
      throw Error(Reason::Parameter, "the vector mask has no lane");
    mask = {low, high};
  }
  bool isActive(int64_t lane) const {
    return mask[lane / 64] >> (lane % 64) & 1;
  }
  /// `count` is less than 64 and divides it, and `first` is a multiple of it.
  bool anyActive(int64_t first, int64_t count) const {
    return activeOf(first, count) != 0;
  }
  bool allActive(int64_t first, int64_t count) const {
    return activeOf(first, count) == (uint64_t(1) << count) - 1;
  }

  /// Room for operands of the cube unit as single precision numbers.
  std::vector<float> lhsScratch, rhsScratch;

private:
  /// Instructions of each pipe.
  using Clock = std::array<uint32_t, kNumPipes>;

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
    Pipe writer = PIPE_S, reader = PIPE_S;
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

  /// What is complete once all that `pipe` has begun is.
  Clock getReached(Pipe pipe) const {
    Clock clock = clocks[pipe];
    clock[pipe] = issued[pipe];
    return clock;
  }

  /// True if the current instruction comes after number `tick` of `pipe`, or is
  /// that one.
  bool isDone(Pipe pipe, uint32_t tick) const {
    if (pipe == currentPipe && (keepsOrder || tick == issued[pipe]))
      return true;
    return tick <= clocks[currentPipe][pipe];
  }

  static void join(Clock &clock, const Clock &other) {
    for (int pipe = 0; pipe < kNumPipes; ++pipe)
      clock[pipe] = std::max(clock[pipe], other[pipe]);
  }

  static std::string describe(Op op, Pipe pipe, uint32_t tick) {
    return std::string(name(op)) + " (" + name(pipe) + " #" +
           std::to_string(tick) + ")";
  }

  static std::string flagName(Pipe source, Pipe target, int event) {
    return std::string("flag ") + name(source) + " to " + name(target) +
           " EVENT_ID" + std::to_string(event);
  }

  static std::string range(const char *memory, int64_t offset, int64_t bytes) {
    return std::string(memory) + " bytes [" + std::to_string(offset) + ", " +
           std::to_string(offset + bytes) + ")";
  }

  uint64_t activeOf(int64_t first, int64_t count) const {
    return mask[first / 64] >> (first % 64) & ((uint64_t(1) << count) - 1);
  }

  Flag &enterFlag(Op op, Pipe source, Pipe target, int event) {
    ++counters.instructions[static_cast<int>(op)];
    if (!hasFlags(source, target) || event < 0 || event >= kNumEvents)
      throw Error(Reason::Parameter,
                  flagName(source, target, event) + " does not exist");
    return flags[source][target][event];
  }

  Memory &enter(Mem mem, int64_t offset, int64_t bytes) {
    int64_t capacity = kArch.capacity[index(mem)];
    if (offset < 0 || offset + bytes > capacity)
      fail(Reason::Capacity,
           range(name(mem), offset, bytes) + " of " + std::to_string(capacity));
    int64_t &highWater = counters.highWater[index(mem)];
    highWater = std::max(highWater, offset + bytes);
    return memories[index(mem)];
  }

  Region &findRegion(const uint8_t *address, int64_t bytes) {
    for (Region &region : regions)
      if (address >= region.base &&
          address + bytes <= region.base + region.bytes)
        return region;
    fail(Reason::OutOfBounds, "an address in no argument of the kernel");
  }

  [[noreturn]] void failHazard(const char *does, Pipe pipe, uint32_t tick,
                               const char *did, const char *memory,
                               int64_t offset, int64_t bytes) const {
    fail(Reason::Hazard,
         std::string(does) + " " + describe(history[pipe][tick], pipe, tick) +
             " " + did +
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
  Op currentOp = Op::count;
  Pipe currentPipe = PIPE_S;
  Counters counters;
  Report report;
  std::array<Memory, kNumMems> memories;
  std::vector<Region> regions;
  /// What each pipe knows to be complete, of itself as of the others.
  std::array<Clock, kNumPipes> clocks = {};
  Clock issued = {};
  bool keepsOrder = false;
  /// By pipe and tick, to say in an error what ran then.
  std::array<std::vector<Op>, kNumPipes> history;
  std::array<std::array<std::array<Flag, kNumEvents>, kNumPipes>, kNumPipes>
      flags = {};
  std::array<uint64_t, 2> mask = {};
};

} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_NPU_MACHINE_H
