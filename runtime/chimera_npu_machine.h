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

/// 910, or 9102 for the 910B.
#ifndef CHIMERA_NPU_ARCH
#define CHIMERA_NPU_ARCH 910
#endif

// Vendor documents and configurations give the capacities.
#if CHIMERA_NPU_ARCH == 910
#define CHIMERA_NPU_NAME "ascend910"
#define CHIMERA_NPU_DEFAULT_VARIANT ascend910
#ifndef CHIMERA_NPU_L0C_BYTES
#define CHIMERA_NPU_L0C_BYTES 262144
#endif
#ifndef CHIMERA_NPU_L1_BYTES
#define CHIMERA_NPU_L1_BYTES 1048576
#endif
#ifndef CHIMERA_NPU_UB_BYTES
#define CHIMERA_NPU_UB_BYTES 262144
#endif
#elif CHIMERA_NPU_ARCH == 9102
#define CHIMERA_NPU_NAME "ascend910b"
#define CHIMERA_NPU_DEFAULT_VARIANT ascend910b
#ifndef CHIMERA_NPU_L0C_BYTES
#define CHIMERA_NPU_L0C_BYTES 131072
#endif
#ifndef CHIMERA_NPU_L1_BYTES
#define CHIMERA_NPU_L1_BYTES 524288
#endif
#ifndef CHIMERA_NPU_UB_BYTES
#define CHIMERA_NPU_UB_BYTES 196608
#endif
#else
#error "CHIMERA_NPU_ARCH is 910 or 9102"
#endif
#ifndef CHIMERA_NPU_L0A_BYTES
#define CHIMERA_NPU_L0A_BYTES 65536
#endif
#ifndef CHIMERA_NPU_L0B_BYTES
#define CHIMERA_NPU_L0B_BYTES 65536
#endif

/// Files of one program that choose different capacities are different models
/// and have to name them differently.
#ifndef CHIMERA_NPU_VARIANT
#define CHIMERA_NPU_VARIANT CHIMERA_NPU_DEFAULT_VARIANT
#endif

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {

//===----------------------------------------------------------------------===//
// Architecture
//===----------------------------------------------------------------------===//

enum class Mem : uint8_t { GM, L1, L0A, L0B, L0C, UB };
inline constexpr int kNumMems = 6;

enum Pipe : uint8_t {
  PIPE_S,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_FIX,
  PIPE_ALL
};
inline constexpr int kNumPipes = PIPE_ALL;

enum Event : uint8_t {
  EVENT_ID0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7
};
inline constexpr int kNumEvents = 8;

constexpr int index(Mem mem) { return static_cast<int>(mem); }

inline const char *name(Mem mem) {
  static const char *const names[] = {"GM", "L1", "L0A", "L0B", "L0C", "UB"};
  return names[index(mem)];
}

inline const char *name(Pipe pipe) {
  static const char *const names[] = {"PIPE_S",    "PIPE_V",    "PIPE_M",
                                      "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3",
                                      "PIPE_FIX",  "PIPE_ALL"};
  return names[pipe];
}

/// A core; sizes are in bytes, rates in bytes per cycle.
struct Arch {
  const char *name = nullptr;
  int64_t cores = 0;
  int64_t capacity[kNumMems] = {};
  int64_t alignment[kNumMems] = {};
  /// What a copy from the first to the second moves in a cycle; zero where the
  /// core has no such route.
  int64_t rate[kNumMems][kNumMems] = {};

  constexpr bool hasRoute(Mem from, Mem to) const {
    return rate[index(from)][index(to)] != 0;
  }
};

constexpr Arch makeArch() {
  constexpr int gm = index(Mem::GM), l1 = index(Mem::L1), l0a = index(Mem::L0A),
                l0b = index(Mem::L0B), l0c = index(Mem::L0C),
                ub = index(Mem::UB);
  Arch arch;
  arch.name = CHIMERA_NPU_NAME;
  arch.capacity[l1] = CHIMERA_NPU_L1_BYTES;
  arch.capacity[l0a] = CHIMERA_NPU_L0A_BYTES;
  arch.capacity[l0b] = CHIMERA_NPU_L0B_BYTES;
  arch.capacity[l0c] = CHIMERA_NPU_L0C_BYTES;
  arch.capacity[ub] = CHIMERA_NPU_UB_BYTES;
  arch.alignment[gm] = 1;
  arch.alignment[l1] = arch.alignment[ub] = 32;
  arch.alignment[l0a] = arch.alignment[l0b] = 512;
  arch.alignment[l0c] = 1024;
  // CANN's platform configurations, as open source projects quote them for the
  // 310; nobody quotes them for the 910, which is taken to have the same.
  arch.rate[l1][l0a] = 512;
  arch.rate[l1][l0b] = 256;
  arch.rate[ub][gm] = 64;
#if CHIMERA_NPU_ARCH == 910
  // Liao et al., Hot Chips 31, 2019: 32 cores, 128 bytes per cycle and core
  // from the mesh, vectors of 256 bytes. The rest as above.
  arch.cores = 32;
  arch.rate[gm][l1] = arch.rate[gm][ub] = 128;
  arch.rate[ub][ub] = 256;
  arch.rate[l0c][ub] = 256;
  arch.rate[ub][l1] = 128;
#else
  // The same configurations for the 910B2: 110 bytes per cycle and core from
  // the L2, 128 out of L0C, vectors of 128 bytes in each of two vector cores.
  arch.cores = 24;
  arch.rate[gm][l1] = arch.rate[gm][ub] = 110;
  arch.rate[ub][ub] = 256;
  arch.rate[l0c][l1] = arch.rate[l0c][gm] = 128;
#endif
  return arch;
}

// Not `inline`, which would make libraries in one process share it.
static constexpr Arch kArch = makeArch();

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

// clang-format off
#define CHIMERA_NPU_OPS(X)                                                     \
  X(copy_gm_to_cbuf) X(copy_gm_to_ubuf) X(copy_gm_to_cbuf_pad)                 \
  X(copy_gm_to_ubuf_pad) X(copy_ubuf_to_cbuf) X(copy_ubuf_to_gm)               \
  X(copy_ubuf_to_gm_pad) X(copy_ubuf_to_ubuf)                                  \
  X(load_cbuf_to_ca) X(load_cbuf_to_cb) X(mad) X(copy_matrix_cc_to_ubuf)       \
  X(copy_matrix_cc_to_cbuf) X(copy_matrix_cc_to_gm)                            \
  X(vadd) X(vsub) X(vmul) X(vdiv) X(vmax) X(vmin)                              \
  X(vexp) X(vln) X(vrec) X(vsqrt) X(vrelu) X(vabs)                             \
  X(vadds) X(vmuls) X(vmaxs) X(vmins) X(vector_dup)                            \
  X(vconv_f322f16) X(vconv_f162f32)                                            \
  X(vcgmax) X(vcgadd) X(vcmax) X(vcadd) X(vbrcb)                               \
  X(vcmpv_lt) X(vcmpv_le) X(vcmpv_gt) X(vcmpv_ge) X(vcmpv_eq) X(vcmpv_ne)      \
  X(vsel) X(vnchwconv) X(set_vector_mask)                                      \
  X(set_flag) X(wait_flag) X(pipe_barrier)
// clang-format on

enum class Op : uint8_t {
#define CHIMERA_NPU_OP(NAME) NAME,
  CHIMERA_NPU_OPS(CHIMERA_NPU_OP)
#undef CHIMERA_NPU_OP
      count
};
inline constexpr int kNumOps = static_cast<int>(Op::count);

inline const char *name(Op op) {
#define CHIMERA_NPU_OP(NAME) #NAME,
  static const char *const names[] = {CHIMERA_NPU_OPS(CHIMERA_NPU_OP)};
#undef CHIMERA_NPU_OP
  return names[static_cast<int>(op)];
}

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

  void countRoute(Mem from, Mem to, int64_t read, int64_t written) {
    RouteCounters &route = counters.routes[index(from)][index(to)];
    route.read += read;
    route.written += written;
    ++route.instructions;
    counters.cycles[currentPipe] += layout::ceilDiv(
        std::max(read, written), kArch.rate[index(from)][index(to)]);
  }

  void countVector(int64_t repeats) {
    counters.vectorRepeats += repeats;
    counters.cycles[PIPE_V] += repeats;
  }

  void countMad(int64_t m, int64_t k, int64_t n) {
    ++counters.mads;
    counters.macs += m * k * n;
    counters.cycles[PIPE_M] +=
        layout::tileSize(m, n) / 256 * layout::ceilDiv(k, 16);
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
    if (pipe == PIPE_ALL)
      clocks.fill(issued);
    else
      clocks[pipe][pipe] = issued[pipe];
  }

  //===--- Vector mask ----------------------------------------------------===//

  void setMask(uint64_t high, uint64_t low) {
    ++counters.instructions[static_cast<int>(Op::set_vector_mask)];
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
    if (source >= PIPE_ALL || target >= PIPE_ALL || source == target ||
        event < 0 || event >= kNumEvents)
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
