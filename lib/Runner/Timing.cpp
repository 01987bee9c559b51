//===- Timing.cpp - Times and the machine's limits ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Timing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace chimera::runner;
using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double chimera::runner::timeOnce(llvm::function_ref<void()> run) {
  Clock::time_point start = Clock::now();
  run();
  return secondsSince(start);
}

static Samples summarize(std::vector<double> times) {
  llvm::sort(times);
  auto quantile = [&](double share) {
    return times[static_cast<size_t>(share * (times.size() - 1) + 0.5)];
  };
  return {times.front(), quantile(0.5), quantile(0.75) - quantile(0.25),
          static_cast<int64_t>(times.size())};
}

namespace {
/// How often one program is to run, from its warm-up.
struct Plan {
  /// Runs timed together, so that a sample is long against the clock's tick.
  int64_t batch = 1;
  int64_t samples = 0;
};
} // namespace

static Plan warmUp(llvm::function_ref<void()> run, double seconds) {
  constexpr int64_t minSamples = 5, maxSamples = 2000;
  constexpr double shortestSample = 20e-6;
  run();
  double once = timeOnce(run);
  for (int i = 0; i < 3 && once < 1e-3; ++i)
    once = std::min(once, timeOnce(run));
  once = std::max(once, 1e-8);
  Plan plan;
  plan.batch = static_cast<int64_t>(std::ceil(shortestSample / once));
  plan.samples = std::clamp(
      static_cast<int64_t>(seconds / (once * static_cast<double>(plan.batch))),
      minSamples, maxSamples);
  return plan;
}

llvm::SmallVector<Samples>
chimera::runner::timeInTurns(llvm::ArrayRef<llvm::function_ref<void()>> runs,
                             PeakMeter &meter, double seconds) {
  // Of a turn's time, for slices of the peak. The clock that a program brought
  // down under its load comes up again within some milliseconds.
  constexpr double meterShare = 0.125, meterLimit = 0.5e-3;
  // In a batch of so many the first call makes no difference.
  constexpr int64_t enoughCalls = 16;
  llvm::SmallVector<Plan> plans;
  int64_t rounds = 0;
  for (llvm::function_ref<void()> run : runs) {
    plans.push_back(warmUp(run, seconds));
    rounds = std::max(rounds, plans.back().samples);
  }
  std::vector<std::vector<double>> times(runs.size());
  for (int64_t round = 0; round < rounds; ++round)
    for (auto [run, plan, samples] : llvm::zip(runs, plans, times)) {
      // Who has fewer samples has them all the time long: what else the machine
      // does comes and goes.
      if ((round + 1) * plan.samples / rounds == round * plan.samples / rounds)
        continue;
      // The caches are to have what a call leaves for the next, and not what
      // other programs did.
      if (plan.batch < enoughCalls && runs.size() > 1)
        run();
      double batch = timeOnce([&, &run = run, &plan = plan] {
        for (int64_t i = 0; i < plan.batch; ++i)
          run();
      });
      samples.push_back(batch / static_cast<double>(plan.batch));
      meter.measure(std::min(meterShare * batch, meterLimit));
    }
  llvm::SmallVector<Samples> result;
  for (std::vector<double> &samples : times)
    result.push_back(summarize(std::move(samples)));
  return result;
}

//===----------------------------------------------------------------------===//
// All threads at once
//===----------------------------------------------------------------------===//

// OpenMP's runtime under its C names: its header comes with the compiler, not
// with the library.
extern "C" {
void GOMP_parallel(void (*run)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_num_threads();
int omp_get_thread_num();
}

namespace {
/// What the threads of a team share.
struct Together {
  llvm::function_ref<double(int64_t)> loop;
  int64_t loops;
  std::atomic<int64_t> arrived{0};
  std::atomic<double> slowest{0};
};
} // namespace

/// The part of one thread of the team. There may be fewer threads than loops.
static void runLoops(void *data) {
  auto &together = *static_cast<Together *>(data);
  int64_t team = omp_get_num_threads();
  // Threads start together; on fewer cores than threads they must yield.
  for (++together.arrived; together.arrived < team;)
    std::this_thread::yield();
  double sum = 0;
  double seconds = timeOnce([&] {
    for (int64_t i = omp_get_thread_num(); i < together.loops; i += team)
      sum += together.loop(i);
  });
  if (std::isnan(sum))
    std::abort();
  double seen = together.slowest;
  while (seconds > seen &&
         !together.slowest.compare_exchange_weak(seen, seconds))
    ;
}

/// Runs `loop` for each of `threads` threads, all at once, and returns the
/// seconds of the slowest. They are the threads that programs run on, which
/// would wait for work beside threads of our own. The loops return something
/// that depends on all they compute, lest they are optimised away; it must not
/// be NaN.
static double timeTogether(int64_t threads,
                           llvm::function_ref<double(int64_t)> loop) {
  Together together{loop, threads};
  GOMP_parallel(runLoops, &together, static_cast<unsigned>(threads), 0);
  return together.slowest;
}

//===----------------------------------------------------------------------===//
// Peak
//===----------------------------------------------------------------------===//

/// A loop of fused multiply-adds on registers: `steps` rounds of kChains
/// independent ones. Returns something that depends on all of them.
using FmaLoop = double (*)(int64_t steps);

/// Enough to cover the latency: five cycles at two per cycle, with room.
static constexpr int kChains = 14;

// x -> x * 0.5 + 0.5 stays at 1; the compiler does not know the values.
static volatile double fmaFactor = 0.5, fmaStart = 1;

#define CHIMERA_FMA_LOOP(NAME, TARGET, VECTOR, BROADCAST, FMA, FIRST, ELEMENT) \
  TARGET static double NAME(int64_t steps) {                                   \
    VECTOR factor = BROADCAST(static_cast<ELEMENT>(fmaFactor));                \
    VECTOR chains[kChains];                                                    \
    for (VECTOR &chain : chains)                                               \
      chain = BROADCAST(static_cast<ELEMENT>(fmaStart));                       \
    for (int64_t step = 0; step < steps; ++step)                               \
      for (VECTOR &chain : chains)                                             \
        chain = FMA(chain, factor, factor);                                    \
    double sum = 0;                                                            \
    for (VECTOR &chain : chains)                                               \
      sum += FIRST(chain);                                                     \
    return sum;                                                                \
  }

#define CHIMERA_SCALAR(x) (x)
CHIMERA_FMA_LOOP(fmaScalarF32, , float, CHIMERA_SCALAR, std::fma,
                 CHIMERA_SCALAR, float)
CHIMERA_FMA_LOOP(fmaScalarF64, , double, CHIMERA_SCALAR, std::fma,
                 CHIMERA_SCALAR, double)
#if defined(__x86_64__)
#define CHIMERA_AVX2 __attribute__((target("avx2,fma")))
#define CHIMERA_AVX512 __attribute__((target("avx512f")))
CHIMERA_FMA_LOOP(fmaAVX2F32, CHIMERA_AVX2, __m256, _mm256_set1_ps,
                 _mm256_fmadd_ps, _mm256_cvtss_f32, float)
CHIMERA_FMA_LOOP(fmaAVX2F64, CHIMERA_AVX2, __m256d, _mm256_set1_pd,
                 _mm256_fmadd_pd, _mm256_cvtsd_f64, double)
CHIMERA_FMA_LOOP(fmaAVX512F32, CHIMERA_AVX512, __m512, _mm512_set1_ps,
                 _mm512_fmadd_ps, _mm512_cvtss_f32, float)
CHIMERA_FMA_LOOP(fmaAVX512F64, CHIMERA_AVX512, __m512d, _mm512_set1_pd,
                 _mm512_fmadd_pd, _mm512_cvtsd_f64, double)

/// The same of dot products of bf16, which leave the chains as they are.
__attribute__((target("avx512f,avx512bf16"))) static double
dotsAVX512(int64_t steps) {
  __m512 start = _mm512_set1_ps(static_cast<float>(fmaStart));
  __m512bh factor = _mm512_cvtne2ps_pbh(start - start, start - start);
  __m512 chains[kChains];
  for (__m512 &chain : chains)
    chain = start;
  for (int64_t step = 0; step < steps; ++step)
    for (__m512 &chain : chains)
      chain = _mm512_dpbf16_ps(chain, factor, factor);
  double sum = 0;
  for (__m512 &chain : chains)
    sum += _mm512_cvtss_f32(chain);
  return sum;
}

/// The same of dot products of bytes.
__attribute__((target("avx512f,avx512vnni"))) static double
byteDotsAVX512(int64_t steps) {
  __m512i factor = _mm512_setzero_si512();
  __m512i chains[kChains];
  for (__m512i &chain : chains)
    chain = factor;
  for (int64_t step = 0; step < steps; ++step) {
    for (__m512i &chain : chains)
      chain = _mm512_dpbusd_epi32(chain, factor, factor);
    // Zeros are not to be known as such.
    asm volatile("" : "+v"(factor));
  }
  int sum = 0;
  for (__m512i &chain : chains)
    sum += _mm512_cvtsi512_si32(chain);
  return sum;
}

/// Tiles of zeros.
__attribute__((target("amx-tile"))) static void startTiles() {
  // Palette 1; of each tile, the bytes of a row and the rows.
  alignas(64) uint8_t configuration[64] = {1};
  for (int tile = 0; tile < 8; ++tile) {
    configuration[16 + 2 * tile] = 64;
    configuration[48 + tile] = 16;
  }
  // Registers are zero after this.
  _tile_loadconfig(configuration);
}

__attribute__((target("amx-tile"))) static double finishTiles() {
  alignas(64) float sums[256];
  _tile_stored(0, sums, 64);
  _tile_release();
  return sums[0];
}

/// The same of products of tiles, of zeros; sums in six of eight registers
/// cover their latency.
static constexpr int kTileSums = 6;
#define CHIMERA_TILE_LOOP(name, feature, multiply)                             \
  __attribute__((target("amx-tile," feature))) static double name(             \
      int64_t steps) {                                                         \
    startTiles();                                                              \
    for (int64_t step = 0; step < steps; ++step) {                             \
      multiply(0, 6, 7);                                                       \
      multiply(1, 6, 7);                                                       \
      multiply(2, 6, 7);                                                       \
      multiply(3, 6, 7);                                                       \
      multiply(4, 6, 7);                                                       \
      multiply(5, 6, 7);                                                       \
    }                                                                          \
    return finishTiles();                                                      \
  }
CHIMERA_TILE_LOOP(tilesAMX, "amx-bf16", _tile_dpbf16ps)
CHIMERA_TILE_LOOP(byteTilesAMX, "amx-int8", _tile_dpbusd)

/// True if this process may use tiles, which Linux has to allow.
static bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool isGranted =
      __builtin_cpu_supports("amx-tile") &&
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return isGranted;
}

static bool hasTiles() {
  return __builtin_cpu_supports("amx-bf16") && mayUseTiles();
}

static bool hasByteTiles() {
  return __builtin_cpu_supports("amx-int8") && mayUseTiles();
}
#endif

namespace {
struct FmaUnit {
  FmaLoop loop;
  /// Of a round.
  int64_t multiplyAdds;
  /// Rounds of a slice.
  int64_t steps = 1 << 16;
};
} // namespace

static FmaUnit selectFmaUnit(ElementKind kind) {
  bool f64 = kind == ElementKind::F64;
#if defined(__x86_64__)
  if (kind == ElementKind::BF16 && hasTiles())
    return {tilesAMX, kTileSums * 16 * 16 * 32, 1 << 12};
  if (kind == ElementKind::BF16)
    return {dotsAVX512, kChains * 32};
  if (kind == ElementKind::I8 && hasByteTiles())
    return {byteTilesAMX, kTileSums * 16 * 16 * 64, 1 << 12};
  if (kind == ElementKind::I8)
    return {byteDotsAVX512, kChains * 64};
  if (__builtin_cpu_supports("avx512f"))
    return {f64 ? fmaAVX512F64 : fmaAVX512F32, kChains * (f64 ? 8 : 16)};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {f64 ? fmaAVX2F64 : fmaAVX2F32, kChains * (f64 ? 4 : 8)};
#endif
  return {f64 ? fmaScalarF64 : fmaScalarF32, kChains};
}

ElementKind chimera::runner::getPeakKind(ElementKind factor) {
  if (factor == ElementKind::F64)
    return ElementKind::F64;
#if defined(__x86_64__)
  if (factor == ElementKind::BF16 &&
      (hasTiles() || __builtin_cpu_supports("avx512bf16")))
    return ElementKind::BF16;
  if (factor == ElementKind::I8 &&
      (hasByteTiles() || __builtin_cpu_supports("avx512vnni")))
    return ElementKind::I8;
#endif
  return ElementKind::F32;
}

PeakMeter::PeakMeter(int64_t threads, ElementKind kind)
    : threads(threads), kind(getPeakKind(kind)) {
  constexpr int warmUp = 200;
  for (int slice = 0; slice < warmUp; ++slice)
    measureSlice();
}

double PeakMeter::measureSlice(int64_t divisor) const {
  FmaUnit unit = selectFmaUnit(kind);
  int64_t steps = unit.steps / divisor;
  double seconds =
      timeTogether(threads, [&](int64_t) { return unit.loop(steps); });
  return static_cast<double>(threads * steps) / seconds * 2 *
         static_cast<double>(unit.multiplyAdds);
}

void PeakMeter::measure(double seconds) {
  // Vector units and threads take a moment to get up to speed.
  measureSlice(/*divisor=*/8);
  Clock::time_point start = Clock::now();
  do
    rates.push_back(measureSlice());
  while (secondsSince(start) < seconds);
}

Peak PeakMeter::getPeak() const {
  if (rates.empty())
    return {};
  return {*llvm::max_element(rates), summarize(rates).median};
}

//===----------------------------------------------------------------------===//
// Read
//===----------------------------------------------------------------------===//

/// The sum of `count` numbers, a multiple of kReadStep.
using SumLoop = double (*)(const float *data, int64_t count);

/// Enough accumulators to cover the latency: four cycles at two per cycle.
static constexpr int kSums = 8;
static constexpr int64_t kReadStep = kSums * 16;

#define CHIMERA_SUM_LOOP(NAME, TARGET, VECTOR)                                 \
  TARGET static double NAME(const float *data, int64_t count) {                \
    VECTOR sums[kSums] = {};                                                   \
    constexpr int64_t lanes = sizeof(VECTOR) / sizeof(float);                  \
    for (const float *end = data + count; data != end;)                        \
      for (VECTOR &sum : sums) {                                               \
        sum += *reinterpret_cast<const VECTOR *>(data);                        \
        data += lanes;                                                         \
      }                                                                        \
    for (VECTOR &sum : sums)                                                   \
      sums[0] += sum;                                                          \
    return *reinterpret_cast<const float *>(&sums[0]);                         \
  }

CHIMERA_SUM_LOOP(sumScalar, , float)
#if defined(__x86_64__)
CHIMERA_SUM_LOOP(sumAVX2, CHIMERA_AVX2, __m256)
CHIMERA_SUM_LOOP(sumAVX512, CHIMERA_AVX512, __m512)
#endif

static SumLoop selectSumLoop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return sumAVX512;
  if (__builtin_cpu_supports("avx2"))
    return sumAVX2;
#endif
  return sumScalar;
}

llvm::Expected<double> chimera::runner::measureRead(int64_t threads,
                                                    double bytes) {
  int64_t share = llvm::alignTo(
      static_cast<int64_t>(std::ceil(bytes / sizeof(float) / threads)),
      kReadStep);
  share = std::max(share, kReadStep);
  // Memory like that of programs' arguments.
  llvm::Expected<Tensor> buffer =
      Tensor::allocate({ElementKind::F32, {threads * share}});
  if (!buffer)
    return buffer.takeError();
  auto *data = static_cast<float *>(buffer->data());
  std::fill_n(data, threads * share, 1.0f);

  SumLoop loop = selectSumLoop();
  // Not known to be the same every time: every pass has to read.
  const float *volatile source = data;
  auto timePass = [&](int64_t passes) {
    return timeTogether(threads,
                        [&](int64_t thread) {
                          double sum = 0;
                          for (int64_t pass = 0; pass < passes; ++pass)
                            sum += loop(source + thread * share, share);
                          return sum;
                        }) /
           static_cast<double>(passes);
  };
  // Samples as long against the clock's tick as those of programs.
  constexpr double shortestSample = 1e-3, enough = 0.2;
  constexpr int leastSamples = 5;
  double best = std::max(timePass(1), 1e-8);
  auto passes = static_cast<int64_t>(std::ceil(shortestSample / best));
  Clock::time_point start = Clock::now();
  for (int sample = 0; sample < leastSamples || secondsSince(start) < enough;
       ++sample)
    best = std::min(best, timePass(passes));
  return static_cast<double>(threads * share * sizeof(float)) / best;
}
