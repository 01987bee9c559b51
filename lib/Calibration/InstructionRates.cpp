//===- InstructionRates.cpp - What one core starts in a cycle -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops of single instructions, written out so that no compiler changes them.
// The clock comes from additions of general registers that wait for each other,
// one in a cycle on every x86 core there is, beside vector instructions, since
// these may lower the clock. Immediate operands would not do: some cores add
// them up while they rename registers.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Calibration/Calibration.h"

#include "Chimera/Runner/Timing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <limits>
#include <optional>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Expected;

#if defined(__x86_64__)

namespace {
/// Runs so many steps of kPerStep instructions of a kind.
using Loop = void (*)(int64_t steps);

/// An instruction that adds to a register: one waiting for the other, and on as
/// many registers as hide how long that takes.
struct AddingLoops {
  Loop chain, chains;
};

/// Of one width of vectors.
struct WidthLoops {
  Loop clock, load, store;
  AddingLoops fma;
};
} // namespace

/// As many registers as hide the latency of any of the instructions: six cycles
/// at two a cycle.
static constexpr int kPerStep = 12;

#define CHIMERA_ADDING_LOOPS(NAME, TARGET, VECTOR, INSTRUCTION)                \
  TARGET static void NAME##Chain(int64_t steps) {                              \
    VECTOR factor = {}, sum = {};                                              \
    for (int64_t step = 0; step < steps; ++step)                               \
      for (int i = 0; i < kPerStep; ++i)                                       \
        asm volatile(INSTRUCTION " %1, %1, %0" : "+v"(sum) : "v"(factor));     \
  }                                                                            \
  TARGET static void NAME##Chains(int64_t steps) {                             \
    VECTOR factor = {}, sums[kPerStep] = {};                                   \
    for (int64_t step = 0; step < steps; ++step)                               \
      for (VECTOR &sum : sums)                                                 \
        asm volatile(INSTRUCTION " %1, %1, %0" : "+v"(sum) : "v"(factor));     \
  }

/// The clock, loads and stores of lines that the nearest cache holds, and FMAs.
#define CHIMERA_WIDTH_LOOPS(WIDTH, TARGET, VECTOR)                             \
  TARGET static void clock##WIDTH(int64_t steps) {                             \
    VECTOR factor = {}, sum = {};                                              \
    int64_t count = 0;                                                         \
    for (int64_t step = 0; step < steps; ++step) {                             \
      for (int i = 0; i < kPerStep; ++i)                                       \
        asm volatile("add %1, %0" : "+r"(count) : "r"(steps));                 \
      asm volatile("vfmadd231ps %1, %1, %0" : "+v"(sum) : "v"(factor));        \
    }                                                                          \
  }                                                                            \
  TARGET static void load##WIDTH(int64_t steps) {                              \
    alignas(64) VECTOR lines[kPerStep] = {};                                   \
    for (int64_t step = 0; step < steps; ++step)                               \
      for (VECTOR &line : lines) {                                             \
        VECTOR loaded;                                                         \
        asm volatile("vmovups %1, %0" : "=v"(loaded) : "m"(line));             \
      }                                                                        \
  }                                                                            \
  TARGET static void store##WIDTH(int64_t steps) {                             \
    alignas(64) VECTOR lines[kPerStep] = {};                                   \
    VECTOR stored = {};                                                        \
    for (int64_t step = 0; step < steps; ++step)                               \
      for (VECTOR &line : lines)                                               \
        asm volatile("vmovups %1, %0" : "=m"(line) : "v"(stored));             \
  }                                                                            \
  CHIMERA_ADDING_LOOPS(fma##WIDTH, TARGET, VECTOR, "vfmadd231ps")              \
  static constexpr WidthLoops loops##WIDTH = {                                 \
      clock##WIDTH,                                                            \
      load##WIDTH,                                                             \
      store##WIDTH,                                                            \
      {fma##WIDTH##Chain, fma##WIDTH##Chains}};

#define CHIMERA_AVX2 __attribute__((target("avx2,fma")))
#define CHIMERA_AVX512 __attribute__((target("avx512f")))
CHIMERA_WIDTH_LOOPS(256, CHIMERA_AVX2, __m256)
CHIMERA_WIDTH_LOOPS(512, CHIMERA_AVX512, __m512)
CHIMERA_ADDING_LOOPS(pairs512, __attribute__((target("avx512f,avx512bf16"))),
                     __m512, "vdpbf16ps")
CHIMERA_ADDING_LOOPS(bytes512, __attribute__((target("avx512f,avx512vnni"))),
                     __m512, "vpdpbusd")

static std::optional<WidthLoops> findLoops(int64_t bits) {
  if (bits == 512 && __builtin_cpu_supports("avx512f"))
    return loops512;
  if (bits == 256 && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma"))
    return loops256;
  return std::nullopt;
}

static std::optional<AddingLoops> findDotLoops(Type type, int64_t bits) {
  if (bits != 512)
    return std::nullopt;
  if (type.isBF16() && __builtin_cpu_supports("avx512bf16"))
    return AddingLoops{pairs512Chain, pairs512Chains};
  if (type.isInteger(8) && __builtin_cpu_supports("avx512vnni"))
    return AddingLoops{bytes512Chain, bytes512Chains};
  return std::nullopt;
}

namespace {
/// The best times of an instruction of some loops, which take turns: a core
/// that is shared with others can take twice as long.
class Stopwatch {
public:
  explicit Stopwatch(ArrayRef<Loop> loops)
      : loops(loops),
        best(loops.size(), std::numeric_limits<double>::infinity()) {
    constexpr int turns = 400;
    constexpr int64_t steps = 1 << 12;
    for (int turn = 0; turn < turns; ++turn)
      for (size_t i = 0; i < loops.size(); ++i)
        best[i] = std::min(best[i], timeOnce([&] { loops[i](steps); }) /
                                        (steps * kPerStep));
  }

  /// In seconds.
  double timeOf(Loop loop) const {
    return best[llvm::find(loops, loop) - loops.begin()];
  }

private:
  ArrayRef<Loop> loops;
  SmallVector<double> best;
};
} // namespace

Expected<CoreRates> chimera::runner::measureCoreRates(int64_t bits,
                                                      ArrayRef<Type> dots) {
  std::optional<WidthLoops> width = findLoops(bits);
  if (!width)
    return createStringError("this machine has no FMAs of %d bits",
                             static_cast<int>(bits));
  SmallVector<std::optional<AddingLoops>> dotLoops = llvm::map_to_vector(
      dots, [&](Type type) { return findDotLoops(type, bits); });
  SmallVector<Loop> loops = {width->clock, width->load, width->store,
                             width->fma.chain, width->fma.chains};
  for (const std::optional<AddingLoops> &dot : dotLoops)
    if (dot)
      llvm::append_values(loops, dot->chain, dot->chains);

  Stopwatch watch(loops);
  double cycle = watch.timeOf(width->clock);
  auto ratesOf = [&](const AddingLoops &adding) {
    return InstructionRates{cycle / watch.timeOf(adding.chains),
                            watch.timeOf(adding.chain) / cycle};
  };
  CoreRates rates;
  rates.clock = 1 / cycle;
  rates.fma = ratesOf(width->fma);
  rates.loadsPerCycle = cycle / watch.timeOf(width->load);
  rates.storesPerCycle = cycle / watch.timeOf(width->store);
  for (const std::optional<AddingLoops> &dot : dotLoops)
    rates.dots.push_back(dot ? std::optional(ratesOf(*dot)) : std::nullopt);
  return rates;
}

#else

Expected<CoreRates> chimera::runner::measureCoreRates(int64_t bits,
                                                      ArrayRef<Type> dots) {
  return createStringError("only cores of x86 are measured");
}

#endif
