//===- X86.cpp - x86 processors -------------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sources of the figures:
//  - capacities, associativities, cores: the vendors' data sheets;
//  - ports, latencies, rates of tiles: the vendors' optimisation guides (AMD
//    57647 for family 19h, 58455 for family 1Ah; Intel 248966);
//  - bandwidths and clocks: read and FMA loops with one core and with two on
//  the
//    machines themselves where a comment says "measured", else the bytes per
//    cycle of the guides and the memory channels of the data sheets, less what
//    such loops fall short of them.
// Bandwidths are those of loads that mix with arithmetic, which is less than
// what a pure copy loop reaches. A fifth of each cache is left to what a plan
// does not place there, unless a measurement says otherwise. Starting a kernel
// is a function call: no launch cost. A parallel loop takes about a
// microsecond. The system provides a page of 4 KiB in about half a microsecond
// (8 GB/s), in virtual machines in one (4 GB/s; measured on zen4: 2.3).
//
// bf16 on Intel's vector unit is left out: `vdpbf16ps` starts once in two
// cycles (measured on granite-rapids: half of what f32 reaches), and the matrix
// unit is there. Where vectors have no dot products of bytes (VNNI), bytes are
// widened for those of 16 bits: with the instructions for that, one starts in a
// cycle (zen3: 0.8 of the rate of FMAs measured).
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "HostTopology.h"

#include "Chimera/Target/Target.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace chimera;

namespace {
struct Processor {
  /// The name LLVM knows the processor by.
  StringLiteral cpu;
  int64_t vectorBits;
  StringLiteral name, text;
};
} // namespace

/// Ordered from general to particular within a vector width: of entries that an
/// unknown processor is as near to, the first is what it is taken for.
static constexpr Processor kProcessors[] = {
    {"haswell", 256, "avx2", R"(#chimera.target<"avx2",
  // A Core i7-4770, as the least machine with AVX2. Ports and latency: Intel
  // 248966, Haswell. Clock: what is left of 3.4 GHz with AVX2 on all cores.
  cores = 4,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 5, clock = 3000000000>,
  levels = [
    // Two channels of DDR3-1600.
    <"L3", capacity = 8388608, usable = 80, core_bandwidth = 15000000000,
     chip_bandwidth = 25000000000, sharers = 4, line = 64, ways = 16>,
    // 32 bytes per cycle at most, of which less than half is sustained.
    <"L2", capacity = 262144, usable = 80, core_bandwidth = 40000000000,
     chip_bandwidth = 160000000000, sharers = 1, line = 64, ways = 8>,
    // 64 bytes per cycle at most, of which half is sustained.
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 90000000000,
     chip_bandwidth = 360000000000, sharers = 1, line = 64, ways = 8>],
  // vpmaddwd (248966) and vpaddd.
  dots = [<type = i16, depth = 2, fma = 1, latency = 6>],
  overheads = <region = 1000, fresh = 8000000000>,
  cpu = "haswell">)"},

    {"znver3", 256, "zen3", R"(#chimera.target<"zen3",
  // A virtual machine with two cores of an EPYC 7003. Caches: as the system
  // reports them. Ports and latency: AMD 56665. Clock, exponentials, what is
  // ours of L3, bandwidths and overheads: measured by benchmarks/calibrate.
  cores = 2,
  unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3010000000, exponential = 17>,
  levels = [
    // 30 to 45 % are ours, 49 to 68 GB/s come from it, 10.4 to 13.2 from
    // memory: guests of the same host use both.
    <"L3", capacity = 33554432, usable = 35, core_bandwidth = 12000000000,
     chip_bandwidth = 19000000000, sharers = 2, line = 64, ways = 16>,
    <"L2", capacity = 524288, usable = 80, core_bandwidth = 60000000000,
     chip_bandwidth = 136000000000, sharers = 1, line = 64, ways = 8>,
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 98000000000,
     chip_bandwidth = 186000000000, sharers = 1, line = 64, ways = 8>],
  // vpmaddwd (56665) and vpaddd.
  dots = [<type = i16, depth = 2, fma = 1, latency = 4>],
  overheads = <transpose = 270, region = 750, fresh = 1400000000>,
  cpu = "znver3">)"},

    {"x86-64-v4", 512, "avx512", R"(#chimera.target<"avx512",
  // No machine in particular: a part of a server with caches as small as they
  // are with AVX-512, and bandwidths per core near those of xeon-gold-6240.
  cores = 4,
  unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3000000000>,
  levels = [
    <"L3", capacity = 33554432, usable = 80, core_bandwidth = 15000000000,
     chip_bandwidth = 40000000000, sharers = 4, line = 64, ways = 16>,
    <"L2", capacity = 1048576, usable = 80, core_bandwidth = 30000000000,
     chip_bandwidth = 120000000000, sharers = 1, line = 64, ways = 16>,
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 120000000000,
     chip_bandwidth = 480000000000, sharers = 1, line = 64, ways = 8>],
  // vpmaddwd (248966) and vpaddd.
  dots = [<type = i16, depth = 2, fma = 1, latency = 6>],
  overheads = <region = 1000, fresh = 8000000000>,
  cpu = "x86-64-v4">)"},

    {"cascadelake", 512, "xeon-gold-6240", R"(#chimera.target<"xeon-gold-6240",
  // The processor of the paper's evaluation. Cores and caches: Intel's data
  // sheet (18 cores, 24.75 MB). Ports and latency: Intel 248966, Skylake
  // server. Clock: the base clock, near which AVX-512 code runs on all cores.
  cores = 18,
  unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1,
          latency = 4, clock = 2600000000>,
  levels = [
    // Six channels of DDR4-2933 are 141 GB/s; the paper names 131.
    <"L3", capacity = 25952256, usable = 80, core_bandwidth = 12000000000,
     chip_bandwidth = 110000000000, sharers = 18, line = 64, ways = 11>,
    // About 10 bytes per cycle and core through the mesh.
    <"L2", capacity = 1048576, usable = 80, core_bandwidth = 25000000000,
     chip_bandwidth = 300000000000, sharers = 1, line = 64, ways = 16>,
    // 64 bytes per cycle at most (248966), of which 48 are sustained.
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 120000000000,
     chip_bandwidth = 2160000000000, sharers = 1, line = 64, ways = 8>],
  // vpdpbusd starts as often as an FMA (248966).
  dots = [<type = i8, depth = 4, fma = 2, latency = 5>],
  overheads = <region = 1000, fresh = 4000000000>,
  cpu = "cascadelake">)"},

    {"icelake-server", 512, "icelake-server",
     R"(#chimera.target<"icelake-server",
  // A virtual machine with two cores of a Xeon of the third generation. Caches:
  // as the system reports them. What starts in a cycle, clock, exponentials,
  // streams, what is ours of L3, bandwidths and overheads: measured by
  // benchmarks/calibrate. Registers of 512 bits are loaded 1.1 times a cycle,
  // of 256 bits twice.
  cores = 2,
  unit = <bits = 512, registers = 32, fma = 2, load = 1, store = 1,
          latency = 4, clock = 3000000000, exponential = 14,
          tuning = <streams = 4>>,
  levels = [
    // 10 to 50 % are ours, 26 to 34 GB/s come from it, 9.7 to 15 from memory:
    // guests of the same host use both. Clock: 2.7 to 3.3 GHz.
    <"L3", capacity = 50331648, usable = 50, core_bandwidth = 12500000000,
     chip_bandwidth = 25000000000, sharers = 2, line = 64, ways = 12>,
    <"L2", capacity = 1310720, usable = 80, core_bandwidth = 30000000000,
     chip_bandwidth = 60000000000, sharers = 1, line = 64, ways = 20>,
    <"L1", capacity = 49152, usable = 80, core_bandwidth = 131000000000,
     chip_bandwidth = 261000000000, sharers = 1, line = 64, ways = 12>],
  dots = [<type = i8, depth = 4, fma = 2, latency = 6>],
  overheads = <transpose = 280, reach = 43, collision = 4, region = 1000,
               handover = 2, fresh = 2400000000>,
  cpu = "icelake-server">)"},

    {"znver4", 512, "zen4", R"(#chimera.target<"zen4",
  // A virtual machine with two cores of an EPYC 9004. Caches: as the system
  // reports them. Pipes are 256 bits wide, so that 512-bit instructions start at
  // half their rate (AMD 57647). Clock, exponentials, streams, bandwidths, the
  // other overheads and the level that prefetches fill: measured by
  // benchmarks/calibrate. `ahead`, `run` and `run_cost`: measured by hand
  // (docs/model.md, docs/rationale.md).
  cores = 2,
  unit = <bits = 512, registers = 32, fma = 1, load = 1, store = 1,
          latency = 4, clock = 3690000000, exponential = 9,
          tuning = <ahead = 128, streams = 1, stream_ahead = 64,
                    fetch_level = 2>>,
  levels = [
    <"L3", capacity = 33554432, usable = 80, core_bandwidth = 24600000000,
     chip_bandwidth = 32900000000, sharers = 2, line = 64, ways = 16>,
    <"L2", capacity = 1048576, usable = 80, core_bandwidth = 100000000000,
     chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 8>,
    <"L1", capacity = 32768, usable = 80, core_bandwidth = 118000000000,
     chip_bandwidth = 236000000000, sharers = 1, line = 64, ways = 8>],
  // vdpbf16ps and vpdpbusd start as often as an FMA (57647); latencies as
  // measured on Zen 5.
  dots = [<type = bf16, depth = 2, fma = 1, latency = 6>,
          <type = i8, depth = 4, fma = 1, latency = 4>],
  overheads = <transpose = 165, run = 256, run_cost = 75, reach = 182,
               collision = 16, region = 435, fresh = 2300000000>,
  cpu = "znver4">)"},

    {"znver5", 512, "zen5", R"(#chimera.target<"zen5",
  // A virtual machine with two cores of an EPYC 9005. Caches: as the system
  // reports them. Ports and latency: AMD 58455. Clock: measured. Exponentials,
  // streams, the bandwidths of L1 and L2 and overheads: by benchmarks/calibrate.
  cores = 2,
  unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1,
          latency = 4, clock = 4200000000, exponential = 10,
          tuning = <streams = 1>>,
  levels = [
    // 46 to 57 GB/s with one core, 80 to 126 with two.
    <"L3", capacity = 33554432, usable = 80, core_bandwidth = 50000000000,
     chip_bandwidth = 90000000000, sharers = 2, line = 64, ways = 16>,
    <"L2", capacity = 1048576, usable = 80, core_bandwidth = 112000000000,
     chip_bandwidth = 224000000000, sharers = 1, line = 64, ways = 16>,
    <"L1", capacity = 49152, usable = 80, core_bandwidth = 257000000000,
     chip_bandwidth = 508000000000, sharers = 1, line = 64, ways = 12>],
  // Measured: 542 to 574 GFLOP/s per core, twice what f32 reaches; 6 cycles.
  // vpdpbusd starts as often as an FMA (58455).
  dots = [<type = bf16, depth = 2, fma = 2, latency = 6>,
          <type = i8, depth = 4, fma = 2, latency = 4>],
  overheads = <transpose = 229, reach = 213, region = 370, fresh = 3100000000>,
  cpu = "znver5">)"},

    {"sapphirerapids", 512, "sapphire-rapids",
     R"(#chimera.target<"sapphire-rapids",
  // A Xeon Platinum 8468V (data sheet: 48 cores, 97.5 MB, eight channels of
  // DDR5-4800). Ports and latency: Intel 248966, Golden Cove. Clock: sustained
  // with AVX-512 on all cores.
  cores = 48,
  unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3000000000>,
  levels = [
    // 307 GB/s at most.
    <"L3", capacity = 102236160, usable = 80, core_bandwidth = 12000000000,
     chip_bandwidth = 250000000000, sharers = 48, line = 64, ways = 15>,
    // As measured on granite-rapids, whose mesh is of the same kind.
    <"L2", capacity = 2097152, usable = 72, core_bandwidth = 25000000000,
     chip_bandwidth = 1200000000000, sharers = 1, line = 64, ways = 16>,
    <"L1", capacity = 49152, usable = 80, core_bandwidth = 100000000000,
     chip_bandwidth = 4800000000000, sharers = 1, line = 64, ways = 12>],
  // vpdpbusd starts as often as an FMA (248966), for what tiles do not take.
  dots = [<type = i8, depth = 4, fma = 2, latency = 5>],
  // Intel 248966, AMX: eight tiles of 16 rows of 64 bytes, used as 2 x 2
  // accumulators and two tiles for each operand; a product in 16 cycles with 52
  // of latency; a load in 8, a store in 16. Rows of the right operand hold pairs
  // of bf16 or four bytes of i8 along the reduction (Intel 319433). Clock: below
  // the vector unit's in the proportion measured on granite-rapids.
  matrix = [
    <type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64,
     clock = 2200000000, interleave = 2>,
    <type = i8, rows = 16, columns = 16, depth = 64, macs = 1024, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 128, store = 64,
     clock = 2200000000, interleave = 4>],
  overheads = <region = 1000, fresh = 8000000000>,
  cpu = "sapphirerapids">)"},

    {"graniterapids", 512, "granite-rapids",
     R"(#chimera.target<"granite-rapids",
  // A virtual machine with two cores of a Xeon 6. Caches: as the system reports
  // them. Ports and latency: Intel 248966, Golden Cove, whose successor it is.
  // Clock and bandwidths: measured.
  cores = 2,
  unit = <bits = 512, registers = 32, fma = 2, load = 2, store = 1,
          latency = 4, clock = 3300000000>,
  levels = [
    // 16 to 28 GB/s with one core, 53 to 57 with two.
    <"L3", capacity = 503316480, usable = 80, core_bandwidth = 20000000000,
     chip_bandwidth = 55000000000, sharers = 2, line = 64, ways = 16>,
    // Measured: a layer of BERT, perceptrons and long attention are faster if
    // plans fill less of it than four fifths.
    <"L2", capacity = 2097152, usable = 72, core_bandwidth = 25000000000,
     chip_bandwidth = 50000000000, sharers = 1, line = 64, ways = 16>,
    // Measured: chains and attention are faster if plans fill nine tenths of it
    // than if they fill eight or all.
    <"L1", capacity = 49152, usable = 90, core_bandwidth = 100000000000,
     chip_bandwidth = 200000000000, sharers = 1, line = 64, ways = 12>],
  // vpdpbusd starts as often as an FMA, as on sapphire-rapids.
  dots = [<type = i8, depth = 4, fma = 2, latency = 5>],
  // Shapes, rates and latency as for sapphire-rapids; tiles of f16 are in Intel
  // 319433 (AMX-FP16). Measured: a load of a tile from L1 in 8.7 cycles, a
  // store in 14; 2.5 TFLOP/s per core with random data and their loads, which
  // makes the clock (zeros, which take less power, reach 3).
  matrix = [
    <type = bf16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73,
     clock = 2440000000, interleave = 2>,
    <type = f16, rows = 16, columns = 16, depth = 32, macs = 512, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73,
     clock = 2440000000, interleave = 2>,
    <type = i8, rows = 16, columns = 16, depth = 64, macs = 1024, latency = 52,
     accumulators = 4096, lhs = 2048, rhs = 2048, load = 118, store = 73,
     clock = 2440000000, interleave = 4>],
  overheads = <region = 1000, fresh = 4000000000>,
  cpu = "graniterapids">)"},
};

SmallVector<StringRef> chimera::getX86TargetNames() {
  SmallVector<StringRef> names;
  for (const Processor &processor : kProcessors)
    names.push_back(processor.name);
  return names;
}

TargetAttr chimera::getX86Target(MLIRContext *context, StringRef name) {
  for (const Processor &processor : kProcessors)
    if (name == processor.name)
      return parseKnownTarget(context, processor.text);
  return {};
}

//===----------------------------------------------------------------------===//
// The machine we run on
//===----------------------------------------------------------------------===//

/// The cores and caches of this machine. They are read once: there may be
/// hundreds of cores, and every pass asks for its target.
static const HostTopology &getHostTopology() {
  static const HostTopology topology =
      readHostTopology("/sys/devices/system/cpu", getUsableThreads());
  return topology;
}

void chimera::refine(TargetFigures &figures, const HostTopology &topology) {
  if (topology.cores > 0)
    figures.setCores(topology.cores);
  for (TargetFigures::Level &level : figures.levels) {
    int64_t number;
    StringRef name = level.name;
    if (!name.consume_front("L") || name.getAsInteger(10, number))
      continue;
    const HostTopology::Cache *cache = topology.find(number);
    if (!cache)
      continue;
    level.capacity = cache->capacity;
    level.sharers = cache->sharers;
    if (cache->ways > 0)
      level.ways = cache->ways;
  }
  for (size_t level = figures.levels.size() - 1; level > 0; --level)
    figures.levels[level - 1].capacity = std::max(
        figures.levels[level - 1].capacity, figures.levels[level].capacity);
}

/// The feature without which there is no matrix unit for `type`.
static StringRef getTileFeature(Type type) {
  if (type.isBF16())
    return "amx-bf16";
  return type.isF16() ? "amx-fp16" : "amx-int8";
}

/// The feature without which there are no dot products of `type`.
static StringRef getDotFeature(Type type) {
  if (type.isBF16())
    return "avx512bf16";
  return type.isInteger(8) ? "avx512vnni" : "avx2";
}

/// How many of the features of `cpu`, as LLVM knows them, a machine has, and
/// how many of them it lacks.
static std::pair<int, int> compareFeatures(StringRef cpu,
                                           const llvm::StringMap<bool> &has) {
  SmallVector<StringRef> features;
  llvm::X86::getFeaturesForCPU(cpu, features);
  int present = llvm::count_if(
      features, [&](StringRef feature) { return has.lookup(feature); });
  return {present, static_cast<int>(features.size()) - present};
}

/// True for processors of AMD: all of them have these instructions, and no one
/// else's has.
static bool isMadeByAMD(const llvm::StringMap<bool> &features) {
  return features.lookup("sse4a");
}

static bool isMadeByAMD(const Processor &processor) {
  SmallVector<StringRef> features;
  llvm::X86::getFeaturesForCPU(processor.cpu, features);
  return llvm::is_contained(features, "sse4a");
}

/// The processor of that name, else the one of its maker whose features are
/// most alike: what starts in a cycle does not show in features, and differs
/// more from maker to maker. A virtual machine may report a model that is not
/// the processor's and hide features, but what it shows is there: of two that
/// are as much alike the one that has more of them is taken.
static const Processor &findProcessor(StringRef cpu,
                                      const llvm::StringMap<bool> &features) {
  int64_t bits = features.lookup("avx512f") ? 512 : 256;
  const Processor *nearest = nullptr;
  std::pair<int, int> best;
  for (const Processor &processor : kProcessors) {
    if (processor.vectorBits != bits)
      continue;
    if (cpu == processor.cpu)
      return processor;
    if (isMadeByAMD(processor) != isMadeByAMD(features))
      continue;
    auto [present, missing] = compareFeatures(processor.cpu, features);
    std::pair<int, int> score(present - missing, present);
    if (!nearest || score > best) {
      nearest = &processor;
      best = score;
    }
  }
  return *nearest;
}

StringRef chimera::findX86Target(StringRef cpu,
                                 const llvm::StringMap<bool> &features) {
  return findProcessor(cpu, features).name;
}

/// The features of this machine. A virtual machine takes long to answer, and
/// targets are looked up often.
static const llvm::StringMap<bool> &getHostFeatures() {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features;
}

TargetAttr chimera::detectX86Host(MLIRContext *context) {
  static const std::string cpu = llvm::sys::getHostCPUName().str();
  const llvm::StringMap<bool> &features = getHostFeatures();

  TargetFigures host(
      parseKnownTarget(context, findProcessor(cpu, features).text));
  host.name = "host";
  refine(host, getHostTopology());
  // A virtual machine may hide what the processor has.
  llvm::erase_if(host.dots, [&](DotProductAttr dot) {
    return !features.lookup(getDotFeature(dot.getType()));
  });
  llvm::erase_if(host.matrix, [&](MatrixUnitAttr unit) {
    return !features.lookup(getTileFeature(unit.getType()));
  });

  std::string enabled;
  for (const auto &feature : features)
    if (feature.second)
      enabled += (enabled.empty() ? "+" : ",+") + feature.first().str();
  host.cpu = StringAttr::get(context, cpu);
  host.features =
      enabled.empty() ? StringAttr() : StringAttr::get(context, enabled);
  return host.assemble(
      [&] { return emitError(UnknownLoc::get(context), "host: "); });
}
