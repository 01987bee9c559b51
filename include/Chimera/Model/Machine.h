//===- Machine.h - The hardware figures the model uses ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain data, filled in from a target attribute for one element type. The model
// has no other source of knowledge about hardware.
//
// A core is what runs one block at a time: a core of a CPU, a streaming
// multiprocessor of a GPU, an AI core of an NPU. It has a vector unit and, for
// some types, a matrix unit.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_MACHINE_H
#define CHIMERA_MODEL_MACHINE_H

#include "Chimera/Model/Network.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chimera::model {

/// One on-chip memory level and the route that fills it from the next slower
/// one.
struct MemoryLevel {
  std::string name;
  int64_t capacityBytes = 0;
  /// Part of the capacity a plan may fill; the rest is left to the
  /// replacement policy, the stack and the other operand streams.
  double usableShare = 0.8;
  /// Bytes per second one core can bring in from the next slower level.
  double bytesPerSecondPerCore = 0;
  /// Bytes per second all cores together can bring in.
  double bytesPerSecond = 0;
  /// Cores that share one instance of this level.
  int64_t sharers = 1;
  int64_t lineBytes = 64;
  /// Associativity; 0 for an explicitly managed memory.
  int64_t ways = 0;
  /// Copies of each tile that streams through: 1 where the hardware replaces
  /// the old one line by line (caches), 2 or more in a managed memory that is
  /// filled while the previous tile is in use.
  int64_t buffers = 1;
  /// The most copies that a schedule may ask for instead; 0 for `buffers`.
  int64_t mostBuffers = 0;
  /// Cycles from when a core asks for a tile, and for nothing before, until it
  /// is there.
  double latencyCycles = 0;
  /// Units, in bytes, in which a plan is charged for what moves into the level.
  /// 1 charges the elements themselves.
  int64_t burstBytes = 1;
  /// False if what operators produce is held elsewhere, in registers, until it
  /// is finished: it takes no room here and comes and goes once.
  bool holdsResults = true;

  /// The most copies of a tile that streams through.
  int64_t mostCopies() const { return mostBuffers > 0 ? mostBuffers : buffers; }
  int64_t usableBytes() const {
    return static_cast<int64_t>(capacityBytes * usableShare);
  }
  /// Sets of a cache; 0 of an explicitly managed memory.
  int64_t sets() const {
    if (ways == 0)
      return 0;
    int64_t sets = capacityBytes / (lineBytes * ways);
    return sets > 0 ? sets : 1;
  }
};

/// The vector arithmetic of one core: everything element by element, and
/// contractions where there is no matrix unit.
struct VectorUnit {
  /// Accumulators of one vector register.
  int64_t lanes = 0;
  int64_t registers = 0;
  /// Multiply-adds that one FMA adds to each accumulator: 1, or more for dot
  /// products of neighbouring elements of a narrow type.
  int64_t depth = 1;
  /// Vector instructions of each kind that start per cycle.
  double fmaPerCycle = 2;
  double loadsPerCycle = 2;
  double storesPerCycle = 1;
  /// Cycles from the start of an FMA to its result.
  int64_t fmaLatency = 4;
  /// Vector instructions that the exponentials of one vector take: the length
  /// of a polynomial, or less where there is hardware for them.
  int64_t exponentialCost = 20;
  double cyclesPerSecond = 0;
  /// True if there are dot products of bytes as well, which multiply rows of
  /// digits.
  bool hasByteDots = false;

  double peakFlops() const {
    return 2 * lanes * depth * fmaPerCycle * cyclesPerSecond;
  }
};

/// The matrix arithmetic of one core for one element type.
struct MatrixUnit {
  /// The `rows` x `columns` x `depth` multiply-adds of one instruction.
  int64_t rows = 0, columns = 0, depth = 0;
  /// Multiply-adds per cycle of the core, all its units together.
  double multiplyAddsPerCycle = 0;
  /// Cycles from an instruction to the next on the same accumulators.
  int64_t latency = 1;
  /// Bytes near the unit for partial sums, for the left (rows x depth) and for
  /// the right (depth x columns) operand.
  int64_t accumulatorBytes = 0, lhsBytes = 0, rhsBytes = 0;
  /// Bytes per cycle from the innermost level to the operands, and from the
  /// accumulators back.
  double loadBytesPerCycle = 0, storeBytesPerCycle = 0;
  /// The clock while the unit works, which may be below the vector unit's.
  double cyclesPerSecond = 0;
  /// Neighbours along the reduction that the unit wants side by side in a row
  /// of the right operand. More than 1: it has to be packed.
  int64_t interleave = 1;

  double peakFlops() const {
    return 2 * multiplyAddsPerCycle * cyclesPerSecond;
  }
};

/// A micro kernel that computes tiles of one size, with its cost. It competes
/// with the kernels that take register tiles of all sizes.
struct KernelShape {
  std::string name;
  /// Rows and columns of results of one call, and how many steps of the
  /// reduction it takes: 0 for any number.
  int64_t rows = 0, columns = 0, depth = 0;
  /// Cycles of a call for each step of the reduction, and beside.
  double cyclesPerStep = 0, cyclesPerCall = 0;
};

/// A memory at a unit, beside the levels, of which a program is in charge.
struct Buffer {
  /// The operands and partial sums of the matrix unit, and what the vector unit
  /// works on.
  enum class Role { Lhs, Rhs, Sums, Vectors };

  std::string name;
  Role role = Role::Vectors;
  int64_t capacityBytes = 0;
  /// True if the vector unit neither combines the elements of a vector nor
  /// spreads them over one, so that rows are reduced lane by lane.
  bool keepsLanes = false;
};

/// A hardware path between two memories.
struct Route {
  std::string source, destination;
  /// Of one core.
  double bytesPerSecond = 0;
  /// True if what it moves can be narrowed on the way, and negative numbers
  /// replaced by zero.
  bool converts = false, hasRelu = false;
  /// True if it writes whole blocks only: rows of results that are multiples of
  /// the columns of the matrix unit.
  bool writesBlocks = false;
};

/// The threads of a core whose registers hold what the matrix unit works on.
struct ThreadGroups {
  /// Threads that issue an instruction together and hold its operands and sums.
  int64_t threads = 0;
  /// Groups of one block, which share its rows; and as many as keep the matrix
  /// unit busy.
  int64_t most = 1, units = 1;
  /// Share of the unit's peak that instructions of groups reach.
  double rate = 1;
  /// Registers of 32 bits: of a thread, of all threads of a core, and of a
  /// thread beside what it computes.
  int64_t registersPerThread = 0, registersPerCore = 0, reserved = 0;

  /// Registers that each thread can have if a block has so many groups: each
  /// unit has a part of them all, for its share of the groups.
  int64_t availableRegisters(int64_t groups) const {
    int64_t ofUnit = (groups + units - 1) / units;
    int64_t share = registersPerCore / units / (ofUnit * threads) /
                    registersAtOnce * registersAtOnce;
    return registersPerThread < share ? registersPerThread : share;
  }
  /// Groups of a core whose threads can have so many registers.
  int64_t groupsWith(int64_t registers) const {
    int64_t taken =
        (registers + registersAtOnce - 1) / registersAtOnce * registersAtOnce;
    return registersPerCore / units / (taken * threads) * units;
  }
  static constexpr int64_t registersAtOnce = 8;
};

/// What takes time beside arithmetic and transfers. The defaults are those of a
/// machine of which nothing is known; targets have figures of their own.
struct Overheads {
  /// Cycles to set up the pointers and loops of one block.
  double blockCycles = 20;
  /// How many times as long as a copy it takes to turn columns into vectors:
  /// each vector is shuffled several times. Where it was measured it is 1.6 to
  /// 2.7 times.
  double transposeFactor = 3;
  /// Memory hands out neighbouring bytes faster the more of them are read: what
  /// runs of up to so many bytes take beyond their share of the bandwidth.
  double shortRunBytes = 512;
  double shortRunCost = 1.2;
  /// Rows that a processor reads ahead in at the same time. If a tile has
  /// pieces of more, it has lost the first row when it comes to the next piece
  /// of it.
  int64_t followedRows = 16;
  /// What it takes to find the next run in a cache outside the level that is
  /// filled, in bytes that could come in meanwhile. One core of a Zen 5 reads
  /// its third level, in tiles of 256 rows, at 27, 49, 72, 100 and 115 GB/s in
  /// runs of 64 to 1024 bytes.
  double runBytes = 170;
  /// Cycles for every page that a tile has a piece of each time it is read
  /// again, if its lines evict each other from the innermost level. Cores of
  /// Zen 5 and Zen 4 read such tiles, of pieces of 256 bytes 8 KB apart, at 57
  /// and 60 GB/s; of pieces up to 1 KB apart Zen 4 reads them as fast as
  /// anything from the second level.
  double collisionCycles = 17;
  /// What rows that are read side by side, an element of each at a time, and
  /// results take beyond their share of the bandwidth into the level outside
  /// the innermost. Products of images bring 60 GB/s from the third level of a
  /// Zen 5 to the second, plain reads 112.
  double besideCost = 0.87;
  /// Seconds to start and end a parallel loop.
  double regionSeconds = 0;
  /// Seconds for each line that one core reads and another one writes, in
  /// turns: the writer takes it back before it writes. Cores of a Zen 4 write
  /// lines at 0.7 ns each, but at 6 if another core has read them since, or at
  /// 27 where the system has put the cores farther apart.
  double handoverSeconds = 12e-9;
  /// Bytes per second at which a core touches memory that the system has yet to
  /// provide; 0 if that takes no time.
  double freshBytesPerSecond = 0;
  /// The largest buffer that an allocator gives out again without returning it
  /// to the system in between.
  int64_t reusedBytes = 32 << 20;
};

struct Machine {
  /// The name, in routes, of what lies outside all levels.
  static constexpr const char *mainMemory = "memory";

  std::string name;
  /// Slowest (largest) level first, e.g. L3, L2, L1. Behind the first lies the
  /// main memory, which is not listed.
  llvm::SmallVector<MemoryLevel, 4> levels;
  VectorUnit unit;
  /// Does the contractions, if there is one for the element type.
  std::optional<MatrixUnit> matrix;
  /// Offered beside the register tiles that the vector unit has room for, or
  /// instead.
  std::vector<KernelShape> kernels;
  bool hasRegisterTiles = true;
  /// Of machines whose programs move all data by themselves; empty elsewhere.
  llvm::SmallVector<Buffer, 4> buffers;
  llvm::SmallVector<Route, 8> routes;
  /// Of machines whose matrix units work on registers of threads.
  std::optional<ThreadGroups> groups;
  int64_t cores = 1;
  Overheads overheads;
  /// To other processes.
  Network network;
  /// Seconds it costs to start one kernel, whatever it does.
  double launchSeconds = 0;
  /// Bytes of a thread's stack that buffers may take.
  int64_t stackBytes = 0;

  /// The clock of the unit that does the contractions.
  double contractionClock() const {
    return matrix ? matrix->cyclesPerSecond : unit.cyclesPerSecond;
  }
  /// Rows and columns of one instruction of that unit.
  int64_t rowsPerInstruction() const { return matrix ? matrix->rows : 1; }
  int64_t columnsPerInstruction() const {
    return matrix ? matrix->columns : unit.lanes;
  }
  /// True if that unit reads operands as they lie in the innermost level, so
  /// that copying them into another order may pay. A matrix unit does if tiles
  /// are loaded from rows in a cache; from other memories they arrive in the
  /// order that it wants.
  bool readsOperandsInPlace() const {
    return !matrix || levels.back().ways > 0;
  }
  /// True if kernels can end a tile where a mask does. Those of a matrix unit
  /// cannot if they work on whole tiles, in registers of threads or in memories
  /// at the unit.
  bool canClipTiles() const { return !matrix || (!groups && buffers.empty()); }
  /// True if tasks start in the order of the parallel loops, one wherever
  /// another ends, as the blocks of a grid do: those that run at the same time
  /// are neighbours. Where the matrix unit works on registers of threads there
  /// is no other program.
  bool startsTasksInOrder() const { return matrix && groups; }
  /// True if there is an instruction for exponentials, so that nobody has to
  /// take them apart.
  bool hasExponentials() const { return groups || unit.exponentialCost == 1; }
  /// True if what operators add up lies in the innermost level, where zeroing
  /// and storing it take time, and not in memories or registers of its own.
  bool keepsSumsInLevels() const {
    for (const Buffer &buffer : buffers)
      if (buffer.role == Buffer::Role::Sums)
        return false;
    return levels.back().holdsResults;
  }
};

} // namespace chimera::model

#endif // CHIMERA_MODEL_MACHINE_H
