//===- X86.cpp - x86 processors -------------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures of x86 processors, with their sources:
//  - capacities, associativities, core counts: the vendors' data sheets;
//  - ports, latencies, bytes per cycle between caches: the vendors' software
//    optimisation guides (AMD 57647 for family 19h, 58455 for family 1Ah; Intel
//    248966);
//  - sustained bandwidths and clocks: one- and two-core read and FMA loops on
//    the machines themselves (zen5, granite-rapids), else data sheets.
// Bandwidths are those of loads that mix with arithmetic, which is less than
// what a pure copy loop reaches.
//
//===----------------------------------------------------------------------===//

#include "X86.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <thread>

using namespace mlir;
using namespace chimera;

namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int64_t kGB = 1'000'000'000;

struct CacheFigures {
  const char *name;
  int64_t capacity, ways;
  /// Bytes per second into the cache, for one core and for the whole chip.
  int64_t coreBandwidth, chipBandwidth;
  int64_t sharers;
};

struct ProcessorFigures {
  const char *name;
  /// The name LLVM knows the processor by.
  const char *cpu;
  int64_t cores;
  int64_t bits, registers, fma, load, store, latency, clock;
  CacheFigures l3, l2, l1;
};

} // namespace

/// Ordered from general to particular within a vector width: the first entry of
/// a width is what an unknown processor with that width is taken for.
static constexpr ProcessorFigures kProcessors[] = {
    {"avx2",
     "haswell",
     4,
     256,
     16,
     2,
     2,
     1,
     5,
     3'000'000'000,
     {"L3", 8 * kMiB, 16, 15 * kGB, 25 * kGB, 4},
     {"L2", 256 * kKiB, 8, 40 * kGB, 160 * kGB, 1},
     {"L1", 32 * kKiB, 8, 90 * kGB, 360 * kGB, 1}},
    {"avx512",
     "x86-64-v4",
     4,
     512,
     32,
     2,
     2,
     1,
     4,
     3'000'000'000,
     {"L3", 32 * kMiB, 16, 15 * kGB, 40 * kGB, 4},
     {"L2", 1 * kMiB, 16, 30 * kGB, 120 * kGB, 1},
     {"L1", 32 * kKiB, 8, 120 * kGB, 480 * kGB, 1}},
    {"xeon-gold-6240",
     "cascadelake",
     18,
     512,
     32,
     2,
     2,
     1,
     4,
     2'600'000'000,
     {"L3", 24 * kMiB + 768 * kKiB, 11, 12 * kGB, 110 * kGB, 18},
     {"L2", 1 * kMiB, 16, 25 * kGB, 300 * kGB, 1},
     {"L1", 32 * kKiB, 8, 120 * kGB, 2160 * kGB, 1}},
    {"zen4",
     "znver4",
     8,
     512,
     32,
     1,
     1,
     1,
     4,
     4'700'000'000,
     {"L3", 32 * kMiB, 16, 40 * kGB, 60 * kGB, 8},
     {"L2", 1 * kMiB, 8, 60 * kGB, 480 * kGB, 1},
     {"L1", 32 * kKiB, 8, 120 * kGB, 960 * kGB, 1}},
    {"zen5",
     "znver5",
     2,
     512,
     32,
     2,
     2,
     1,
     4,
     4'200'000'000,
     {"L3", 32 * kMiB, 16, 50 * kGB, 90 * kGB, 2},
     {"L2", 1 * kMiB, 16, 60 * kGB, 120 * kGB, 1},
     {"L1", 48 * kKiB, 12, 130 * kGB, 260 * kGB, 1}},
    {"sapphire-rapids",
     "sapphirerapids",
     48,
     512,
     32,
     2,
     2,
     1,
     4,
     3'000'000'000,
     {"L3", 96 * kMiB, 15, 12 * kGB, 250 * kGB, 48},
     {"L2", 2 * kMiB, 16, 25 * kGB, 1200 * kGB, 1},
     {"L1", 48 * kKiB, 12, 100 * kGB, 4800 * kGB, 1}},
    {"granite-rapids",
     "graniterapids",
     2,
     512,
     32,
     2,
     2,
     1,
     4,
     3'300'000'000,
     {"L3", 480 * kMiB, 16, 20 * kGB, 55 * kGB, 2},
     {"L2", 2 * kMiB, 16, 25 * kGB, 50 * kGB, 1},
     {"L1", 48 * kKiB, 12, 100 * kGB, 200 * kGB, 1}},
};

static MemoryLevelAttr makeLevel(MLIRContext *context,
                                 const CacheFigures &cache) {
  // A fifth of each cache is left to what the plan does not place there.
  constexpr int64_t usablePercent = 80, lineBytes = 64;
  return MemoryLevelAttr::get(
      context, cache.name, cache.capacity, usablePercent, cache.coreBandwidth,
      cache.chipBandwidth, cache.sharers, lineBytes, cache.ways);
}

static TargetAttr makeTarget(MLIRContext *context, StringRef name,
                             const ProcessorFigures &figures, StringRef cpu,
                             StringRef features) {
  auto unit = VectorUnitAttr::get(context, figures.bits, figures.registers,
                                  figures.fma, figures.load, figures.store,
                                  figures.latency, figures.clock);
  SmallVector<MemoryLevelAttr> levels = {makeLevel(context, figures.l3),
                                         makeLevel(context, figures.l2),
                                         makeLevel(context, figures.l1)};
  return TargetAttr::get(
      context, name, figures.cores, unit, levels, StringAttr::get(context, cpu),
      features.empty() ? StringAttr() : StringAttr::get(context, features));
}

SmallVector<StringRef> chimera::getX86TargetNames() {
  SmallVector<StringRef> names;
  for (const ProcessorFigures &figures : kProcessors)
    names.push_back(figures.name);
  return names;
}

TargetAttr chimera::getX86Target(MLIRContext *context, StringRef name) {
  for (const ProcessorFigures &figures : kProcessors)
    if (name == figures.name)
      return makeTarget(context, name, figures, figures.cpu, "");
  return {};
}

/// The contents of a one-line file that the kernel keeps for a cache of the
/// first core; empty if there is none.
static std::string readCacheFile(unsigned index, StringRef file) {
  std::string path = "/sys/devices/system/cpu/cpu0/cache/index" +
                     std::to_string(index) + "/" + file.str();
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// Replaces the table's capacity and associativity by what the kernel reports
/// for the data or unified cache of that level, if it does.
static void refine(CacheFigures &cache, StringRef level) {
  for (unsigned index = 0;; ++index) {
    std::string type = readCacheFile(index, "type");
    if (type.empty())
      return;
    if (type == "Instruction" || readCacheFile(index, "level") != level)
      continue;
    std::string size = readCacheFile(index, "size");
    std::string ways = readCacheFile(index, "ways_of_associativity");
    int64_t number = 0;
    if (!StringRef(size).rtrim('K').getAsInteger(10, number) && number > 0)
      cache.capacity = number * kKiB;
    if (!StringRef(ways).getAsInteger(10, number) && number > 0)
      cache.ways = number;
  }
}

TargetAttr chimera::detectX86Host(MLIRContext *context) {
  StringRef cpu = llvm::sys::getHostCPUName();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  int64_t bits = features.lookup("avx512f") ? 512 : 256;

  const ProcessorFigures *nearest = nullptr;
  for (const ProcessorFigures &figures : kProcessors)
    if (figures.bits == bits && (!nearest || cpu == figures.cpu))
      nearest = &figures;

  ProcessorFigures host = *nearest;
  host.cores = std::max(1u, std::thread::hardware_concurrency());
  refine(host.l1, "1");
  refine(host.l2, "2");
  refine(host.l3, "3");
  host.l3.capacity = std::max(host.l3.capacity, host.l2.capacity);
  host.l3.sharers = host.cores;

  std::string enabled;
  for (const auto &feature : features)
    if (feature.second)
      enabled += (enabled.empty() ? "+" : ",+") + feature.first().str();
  return makeTarget(context, "host", host, cpu, enabled);
}
