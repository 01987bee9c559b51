//===- Calibration.cpp - Measure the figures of a target ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Calibration/Calibration.h"

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Timing.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::formatv;

/// The median of what `measure` returns in `count` turns.
static double medianOf(int count, llvm::function_ref<double()> measure) {
  std::vector<double> values;
  for (int turn = 0; turn < count; ++turn)
    values.push_back(measure());
  llvm::sort(values);
  return values[values.size() / 2];
}

//===----------------------------------------------------------------------===//
// The system
//===----------------------------------------------------------------------===//

Expected<double> chimera::runner::measureFresh() {
  constexpr size_t bytes = size_t(64) << 20;
  auto pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bool isOut = false;
  double seconds = medianOf(5, [&] {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      isOut = true;
      return 0.0;
    }
    auto *data = static_cast<volatile char *>(memory);
    double seconds = timeOnce([&] {
      for (size_t page = 0; page < bytes; page += pageBytes)
        data[page] = 1;
    });
    munmap(memory, bytes);
    return seconds;
  });
  if (isOut)
    return createStringError("no 64 MB of memory are left");
  return static_cast<double>(bytes) / seconds;
}

// OpenMP's runtime under its C name: its header comes with the compiler, not
// with the library.
extern "C" void GOMP_parallel(void (*run)(void *), void *data, unsigned threads,
                              unsigned flags);

double chimera::runner::measureRegion(int64_t threads) {
  constexpr int regions = 1000;
  return medianOf(9, [&] {
    return timeOnce([&] {
             for (int region = 0; region < regions; ++region)
               GOMP_parallel([](void *) {}, nullptr,
                             static_cast<unsigned>(threads), 0);
           }) /
           regions;
  });
}

namespace {
/// Lines that the first of two threads writes, and what that takes it.
struct HandedLines {
  static constexpr int64_t lineBytes = 64, count = 4096;
  char *data;
  double seconds = 0;
  int64_t sum = 0;
};
} // namespace

extern "C" int omp_get_thread_num(void);

static void readOnSecond(void *shared) {
  auto &lines = *static_cast<HandedLines *>(shared);
  if (omp_get_thread_num() != 1)
    return;
  for (int64_t line = 0; line < HandedLines::count; ++line)
    lines.sum += *static_cast<volatile char *>(lines.data +
                                               line * HandedLines::lineBytes);
}

static void writeOnFirst(void *shared) {
  auto &lines = *static_cast<HandedLines *>(shared);
  if (omp_get_thread_num() != 0)
    return;
  lines.seconds = timeOnce([&] {
    for (int64_t line = 0; line < HandedLines::count; ++line)
      std::memset(lines.data + line * HandedLines::lineBytes, 1,
                  HandedLines::lineBytes);
  });
}

Expected<double> chimera::runner::measureHandover() {
  constexpr int buffers = 8, turns = 21;
  double most = 0;
  // None is freed before the last is there: each lies elsewhere.
  std::vector<Tensor> tensors;
  for (int buffer = 0; buffer < buffers; ++buffer) {
    Expected<Tensor> tensor = Tensor::allocate(
        {ElementKind::F32, {HandedLines::count * HandedLines::lineBytes / 4}});
    if (!tensor)
      return tensor.takeError();
    HandedLines lines{static_cast<char *>(tensor->data())};
    auto timeWriting = [&](bool isRead) {
      return medianOf(turns, [&] {
        if (isRead)
          GOMP_parallel(readOnSecond, &lines, 2, 0);
        GOMP_parallel(writeOnFirst, &lines, 2, 0);
        return lines.seconds;
      });
    };
    most = std::max(most, timeWriting(true) - timeWriting(false));
    tensors.push_back(std::move(*tensor));
  }
  return most / HandedLines::count;
}

//===----------------------------------------------------------------------===//
// The core
//===----------------------------------------------------------------------===//

static Expected<std::vector<Tensor>> allocateAll(ArrayRef<ValueType> types) {
  std::vector<Tensor> tensors;
  for (const ValueType &type : types) {
    Expected<Tensor> tensor = Tensor::allocate(type);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// Seconds of a call of the program `text` on random arguments, compiled for
/// one thread of `target`: of the best turn, since a core that it shares with
/// others can take twice as long.
static Expected<double> timeProgram(TargetAttr target, StringRef text,
                                    int calls) {
  MLIRContext *context = target.getContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context);
  (*module)->setAttr(kTargetAttrName, target);
  auto entry = module->lookupSymbol<func::FuncOp>("main");
  Expected<runner::Function> signature = getSignature(entry);
  if (!signature)
    return signature.takeError();
  CompileOptions options;
  options.threads = 1;
  Expected<std::unique_ptr<Program>> program = compile(*module, options);
  if (!program)
    return program.takeError();
  Expected<std::vector<Tensor>> arguments = allocateAll(signature->arguments),
                                results = allocateAll(signature->results);
  if (!arguments || !results)
    return llvm::joinErrors(arguments.takeError(), results.takeError());
  for (auto [index, argument] : llvm::enumerate(*arguments))
    argument.fillRandom(/*seed=*/0, /*stream=*/index);
  auto addressOf = [](Tensor &tensor) { return &tensor; };
  Expected<Call> call =
      (*program)->bind("main", llvm::map_to_vector(*arguments, addressOf),
                       llvm::map_to_vector(*results, addressOf));
  if (!call)
    return call.takeError();
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 25; ++turn)
    best = std::min(best, timeOnce([&] {
                            for (int i = 0; i < calls; ++i)
                              (*call)();
                          }) / calls);
  return best;
}

/// Exponentials of as many numbers as the innermost level holds easily.
static constexpr int64_t exponentials = 2048;
static constexpr const char *exponentialProgram = R"mlir(
  #map = affine_map<(d) -> (d)>
  func.func @main(%x: tensor<2048xf32>) -> tensor<2048xf32> {
    %empty = tensor.empty() : tensor<2048xf32>
    %y = linalg.generic {indexing_maps = [#map, #map],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<2048xf32>) outs(%empty : tensor<2048xf32>) {
    ^bb0(%in: f32, %out: f32):
      %exp = math.exp %in : f32
      linalg.yield %exp : f32
    } -> tensor<2048xf32>
    return %y : tensor<2048xf32>
  })mlir";

Expected<double> chimera::runner::measureExponential(TargetAttr target) {
  Expected<double> seconds =
      timeProgram(target, exponentialProgram, /*calls=*/1000);
  if (!seconds)
    return seconds.takeError();
  model::VectorUnit unit = target.getCommonFigures().unit;
  double cycles = *seconds * unit.cyclesPerSecond * unit.lanes / exponentials;
  return cycles * unit.fmaPerCycle;
}

/// One vector against the {0} rows of a matrix.
static constexpr const char *readingProgram = R"mlir(
  #row = affine_map<(m, n, k) -> (m, k)>
  #matrix = affine_map<(m, n, k) -> (n, k)>
  #out = affine_map<(m, n, k) -> (m, n)>
  func.func @main(%x: tensor<1x128xf32>, %y: tensor<{0}x128xf32>)
      -> tensor<1x{0}xf32> {{
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<1x{0}xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x{0}xf32>)
        -> tensor<1x{0}xf32>
    %z = linalg.generic {{indexing_maps = [#row, #matrix, #out],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<1x128xf32>, tensor<{0}x128xf32>)
        outs(%init : tensor<1x{0}xf32>) {{
    ^bb0(%a: f32, %b: f32, %c: f32):
      %product = arith.mulf %a, %b : f32
      %sum = arith.addf %c, %product : f32
      linalg.yield %sum : f32
    } -> tensor<1x{0}xf32>
    return %z : tensor<1x{0}xf32>
  })mlir";

Expected<double> chimera::runner::measureReading(TargetAttr target,
                                                 int64_t bytes) {
  constexpr int64_t rowBytes = 128 * sizeof(float);
  int64_t rows = std::max<int64_t>(1, bytes / rowBytes);
  Expected<double> seconds =
      timeProgram(target, formatv(readingProgram, rows).str(), /*calls=*/1);
  if (!seconds)
    return seconds.takeError();
  return static_cast<double>(rows * rowBytes) / *seconds;
}

/// Four vectors times a matrix of {0} columns, of which a kernel reads pieces
/// of the rows.
static constexpr const char *piecesProgram = R"mlir(
  func.func @main(%x: tensor<4x1024xf32>, %y: tensor<1024x{0}xf32>)
      -> tensor<4x{0}xf32> {{
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<4x{0}xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x{0}xf32>)
        -> tensor<4x{0}xf32>
    %z = linalg.matmul ins(%x, %y : tensor<4x1024xf32>, tensor<1024x{0}xf32>)
        outs(%init : tensor<4x{0}xf32>) -> tensor<4x{0}xf32>
    return %z : tensor<4x{0}xf32>
  })mlir";

Expected<double> chimera::runner::measureReadingPieces(TargetAttr target,
                                                       int64_t bytes) {
  // Rows of whole pages, all of which start at the same place of one.
  constexpr int64_t columnBytes = 1024 * sizeof(float), unit = 1024;
  int64_t columns = llvm::alignTo(std::max(bytes / columnBytes, unit), unit);
  Expected<double> seconds =
      timeProgram(target, formatv(piecesProgram, columns).str(), /*calls=*/1);
  if (!seconds)
    return seconds.takeError();
  return static_cast<double>(columns * columnBytes) / *seconds;
}

/// Eight vectors times a matrix of 64 x 128, whose dimensions are {0}.
static constexpr const char *transposingProgram = R"mlir(
  #rows = affine_map<(m, n, k) -> (m, k)>
  #matrix = affine_map<(m, n, k) -> ({0})>
  #out = affine_map<(m, n, k) -> (m, n)>
  func.func @main(%x: tensor<8x64xf32>, %y: tensor<{1}xf32>)
      -> tensor<8x128xf32> {{
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<8x128xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x128xf32>)
        -> tensor<8x128xf32>
    %z = linalg.generic {{indexing_maps = [#rows, #matrix, #out],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<8x64xf32>, tensor<{1}xf32>)
        outs(%init : tensor<8x128xf32>) {{
    ^bb0(%a: f32, %b: f32, %c: f32):
      %product = arith.mulf %a, %b : f32
      %sum = arith.addf %c, %product : f32
      linalg.yield %sum : f32
    } -> tensor<8x128xf32>
    return %z : tensor<8x128xf32>
  })mlir";

Expected<double> chimera::runner::measureTransposing(TargetAttr target) {
  constexpr double elements = 64 * 128;
  constexpr int calls = 1000;
  auto time = [&](StringRef dimensions, StringRef shape) {
    return timeProgram(
        target, formatv(transposingProgram, dimensions, shape).str(), calls);
  };
  Expected<double> across = time("n, k", "128x64"),
                   along = time("k, n", "64x128");
  if (!across || !along)
    return llvm::joinErrors(across.takeError(), along.takeError());
  model::VectorUnit unit = target.getCommonFigures().unit;
  double copyCycles = elements / static_cast<double>(unit.lanes) *
                      (1 / unit.loadsPerCycle + 1 / unit.storesPerCycle);
  return std::max(0.0, *across - *along) * unit.cyclesPerSecond / copyCycles;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Reads `bytes` from `data` on, a word of each line: what waits is the line.
static int64_t touchLines(const char *data, int64_t bytes) {
  constexpr int64_t lineBytes = 64;
  int64_t sum = 0;
  for (int64_t at = 0; at < bytes; at += lineBytes)
    sum += *reinterpret_cast<const int64_t *>(data + at);
  return sum;
}

Expected<double> chimera::runner::measureRuns(int64_t bytes,
                                              double bytesPerSecond) {
  constexpr int64_t rowBytes = 4096, rows = 256, tileBytes = rows * rowBytes;
  int64_t tiles = std::max<int64_t>(1, bytes / tileBytes);
  Expected<Tensor> matrix =
      Tensor::allocate({ElementKind::F32, {tiles * tileBytes / 4}});
  if (!matrix)
    return matrix.takeError();
  matrix->fillRandom(/*seed=*/0, /*stream=*/0);
  // Not known to be the same every time: every pass has to read.
  const char *volatile source = static_cast<const char *>(matrix->data());
  volatile int64_t sink = 0;
  auto readInRuns = [&](int64_t run) {
    const char *data = source;
    int64_t sum = 0;
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t column = 0; column < rowBytes; column += run)
        for (int64_t row = 0; row < rows; ++row)
          sum += touchLines(data + tile * tileBytes + row * rowBytes + column,
                            run);
    sink = sum;
  };
  std::vector<double> perRun;
  for (int64_t run : {64, 128, 256, 512, 1024}) {
    double best = std::numeric_limits<double>::infinity();
    for (int turn = 0; turn < 15; ++turn)
      best = std::min(best, timeOnce([&] { readInRuns(run); }));
    double perByte = best / static_cast<double>(tiles * tileBytes);
    perRun.push_back(static_cast<double>(run) * (perByte - 1 / bytesPerSecond));
  }
  llvm::sort(perRun);
  return std::max(0.0, perRun[perRun.size() / 2]);
}

Expected<double> chimera::runner::measureCollision() {
  // The first level has fewer ways than there are rows, the second more lines.
  constexpr int64_t pageBytes = 4096, rows = 64, pieceBytes = 128, passes = 64;
  Expected<Tensor> matrix =
      Tensor::allocate({ElementKind::F32, {rows * pageBytes / 4}});
  if (!matrix)
    return matrix.takeError();
  matrix->fillRandom(/*seed=*/0, /*stream=*/0);
  const char *volatile source = static_cast<const char *>(matrix->data());
  volatile int64_t sink = 0;
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 50; ++turn)
    best = std::min(best, timeOnce([&] {
                      const char *data = source;
                      int64_t sum = 0;
                      for (int64_t row = 0; row < passes * rows; ++row)
                        sum += touchLines(data + row % rows * pageBytes,
                                          pieceBytes);
                      sink = sum;
                    }));
  return best / static_cast<double>(passes * rows);
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
/// Replaces figures of a target, one after the other.
class Calibrator {
public:
  Calibrator(TargetAttr target, int64_t threads,
             llvm::function_ref<void(const Twine &line)> report)
      : figures(target), threads(threads), report(report) {}

  Expected<TargetAttr> run();

private:
  Error setCore();
  void setClock();
  Error setUsable();
  Error setBandwidths();
  Error setOverheads();
  Error setHandover();
  Error setExponential();
  Error setTransposing();
  Error setRuns();
  Error setCollision();
  void setOverhead(int64_t OverheadFigures::*figure, int64_t value);
  Error setFetching();
  Error setStreams();
  VectorTuning getTuning() const;
  void useTuning(const VectorTuning &tuning);
  Expected<double> setFastest(ArrayRef<VectorTuning> candidates,
                              Expected<double> (*measure)(TargetAttr, int64_t));
  VectorUnitAttr withUnit(int64_t clock, int64_t exponential,
                          VectorTuningAttr tuning) const;
  Expected<TargetAttr> assemble() const;

  TargetFigures figures;
  int64_t threads;
  llvm::function_ref<void(const Twine &line)> report;
};
} // namespace

VectorUnitAttr Calibrator::withUnit(int64_t clock, int64_t exponential,
                                    VectorTuningAttr tuning) const {
  VectorUnitAttr unit = figures.unit;
  return VectorUnitAttr::get(figures.context, unit.getBits(),
                             unit.getRegisters(), unit.getFma(), unit.getLoad(),
                             unit.getStore(), unit.getLatency(), clock,
                             exponential, tuning);
}

Expected<TargetAttr> Calibrator::assemble() const {
  std::string message;
  ScopedDiagnosticHandler handler(figures.context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  TargetAttr target = figures.assemble(
      [&] { return emitError(UnknownLoc::get(figures.context)); });
  if (!target)
    return createStringError("the figures that were measured do not agree: " +
                             message);
  return target;
}

/// What starts in a cycle. A target has whole numbers: what takes two cycles is
/// said to start in each.
Error Calibrator::setCore() {
  SmallVector<Type> types = llvm::map_to_vector(
      figures.dots, [](DotProductAttr dot) { return dot.getType(); });
  VectorUnitAttr unit = figures.unit;
  Expected<CoreRates> rates = measureCoreRates(unit.getBits(), types);
  if (!rates)
    return rates.takeError();
  auto whole = [](double rate) {
    return std::max<int64_t>(1, std::lround(rate));
  };
  figures.unit = VectorUnitAttr::get(
      figures.context, unit.getBits(), unit.getRegisters(),
      whole(rates->fma.perCycle), whole(rates->loadsPerCycle),
      whole(rates->storesPerCycle), whole(rates->fma.latency), unit.getClock(),
      unit.getExponential(), unit.getTuning());
  report(formatv("at {0:F2} GHz: {1:F1} FMAs of {2} bits a cycle, {3:F1} "
                 "cycles each; {4:F1} loads, {5:F1} stores",
                 1e-9 * rates->clock, rates->fma.perCycle, unit.getBits(),
                 rates->fma.latency, rates->loadsPerCycle,
                 rates->storesPerCycle)
             .str());
  for (auto [dot, rate] : llvm::zip(figures.dots, rates->dots)) {
    if (!rate)
      continue;
    dot = DotProductAttr::get(figures.context, dot.getType(), dot.getDepth(),
                              whole(rate->perCycle), whole(rate->latency));
    report(formatv("dot products of {0}: {1:F1} a cycle, {2:F1} cycles each",
                   dot.getType(), rate->perCycle, rate->latency)
               .str());
  }
  return Error::success();
}

/// The clock at which FMAs start as often as the target says.
void Calibrator::setClock() {
  PeakMeter meter(/*threads=*/1);
  meter.measure(/*seconds=*/1);
  double flops = meter.getPeak().median;
  double perCycle = 2.0 * static_cast<double>(figures.unit.getBits() / 32 *
                                              figures.unit.getFma());
  figures.unit =
      withUnit(static_cast<int64_t>(flops / perCycle),
               figures.unit.getExponential(), figures.unit.getTuning());
  report(formatv("clock {0:F2} GHz, at which {1} FMA of {2} bits a cycle make "
                 "{3:F0} GFLOP/s",
                 1e-9 * flops / perCycle, figures.unit.getFma(),
                 figures.unit.getBits(), 1e-9 * flops)
             .str());
}

/// Bytes that no cache of `capacity` keeps much of: four times as many, though
/// no more than a gigabyte where twice as many will do.
static double getBytesBeyond(int64_t capacity) {
  constexpr double enough = 1 << 30;
  return std::max(2.0 * capacity, std::min(4.0 * capacity, enough));
}

/// How much of the outermost cache is ours: other programs, and guests of the
/// same host, use it, too. The most of which a plain read gets no more than a
/// tenth from memory, by the times of a small part and of far too much.
Error Calibrator::setUsable() {
  constexpr double missed = 0.1;
  constexpr int64_t step = 5, most = 80;
  TargetFigures::Level &outer = figures.levels.front();
  auto secondsPerByte = [&](double bytes) -> Expected<double> {
    Expected<double> rate = measureRead(/*threads=*/1, bytes);
    return rate ? Expected<double>(1 / *rate) : rate.takeError();
  };
  Expected<double> inside = secondsPerByte(0.01 * step * outer.capacity),
                   beyond = secondsPerByte(getBytesBeyond(outer.capacity));
  if (!inside || !beyond)
    return llvm::joinErrors(inside.takeError(), beyond.takeError());
  double limit = *inside + missed * std::max(0.0, *beyond - *inside);
  outer.usable = most;
  while (outer.usable > step) {
    Expected<double> seconds =
        secondsPerByte(0.01 * outer.usable * outer.capacity);
    if (!seconds)
      return seconds.takeError();
    if (*seconds <= limit)
      break;
    outer.usable -= step;
  }
  report(formatv("{0}: {1} % are ours", outer.name, outer.usable).str());
  return Error::success();
}

/// What measured data takes of what a cache has for them, so that they stay.
static constexpr double filled = 0.6;

/// What comes into a level is what a plain read of something that leaves room
/// in the next outer one brings.
Error Calibrator::setBandwidths() {
  auto read = [&](int64_t workers, size_t level) -> Expected<double> {
    if (level == 0)
      return measureRead(workers, getBytesBeyond(figures.levels[0].capacity));
    const TargetFigures::Level &outer = figures.levels[level - 1];
    int64_t instances = std::max<int64_t>(1, workers / outer.sharers);
    return measureRead(workers, filled * 0.01 * outer.usable * outer.capacity *
                                    instances);
  };
  for (auto [index, level] : llvm::enumerate(figures.levels)) {
    Expected<double> one = read(1, index), all = read(threads, index);
    if (!one || !all)
      return llvm::joinErrors(one.takeError(), all.takeError());
    level.coreBandwidth = static_cast<int64_t>(*one);
    level.chipBandwidth = static_cast<int64_t>(std::max(*one, *all));
    report(formatv("{0}: {1:F1} GB/s with one thread, {2:F1} with {3}",
                   level.name, 1e-9 * *one, 1e-9 * *all, threads)
               .str());
  }
  return Error::success();
}

Error Calibrator::setOverheads() {
  Expected<double> fresh = measureFresh();
  if (!fresh)
    return fresh.takeError();
  double region = threads > 1 ? measureRegion(threads) : 0;
  setOverhead(&OverheadFigures::fresh, static_cast<int64_t>(*fresh));
  setOverhead(&OverheadFigures::region, std::lround(1e9 * region));
  report(formatv("new memory: {0:F2} GB/s; a parallel loop: {1:F2} us",
                 1e-9 * *fresh, 1e6 * region)
             .str());
  return threads > 1 ? setHandover() : Error::success();
}

Error Calibrator::setHandover() {
  Expected<double> seconds = measureHandover();
  if (!seconds)
    return seconds.takeError();
  setOverhead(&OverheadFigures::handover, std::lround(1e9 * *seconds));
  report(formatv("a line that another core has read: {0:F1} ns to write it",
                 1e9 * *seconds)
             .str());
  return Error::success();
}

Error Calibrator::setExponential() {
  Expected<TargetAttr> target = assemble();
  if (!target)
    return target.takeError();
  Expected<double> instructions = measureExponential(*target);
  if (!instructions)
    return instructions.takeError();
  int64_t rounded = std::max<int64_t>(1, std::lround(*instructions));
  figures.unit =
      withUnit(figures.unit.getClock(), rounded, figures.unit.getTuning());
  report(formatv("exponentials of a register: as long as {0} FMAs", rounded)
             .str());
  return Error::success();
}

void Calibrator::setOverhead(int64_t OverheadFigures::*figure, int64_t value) {
  OverheadFigures overheads;
  if (figures.overheads)
    overheads = figures.overheads.getFigures();
  overheads.*figure = value;
  figures.overheads = OverheadsAttr::get(figures.context, overheads);
}

Error Calibrator::setTransposing() {
  Expected<TargetAttr> target = assemble();
  if (!target)
    return target.takeError();
  Expected<double> factor = measureTransposing(*target);
  if (!factor)
    return factor.takeError();
  setOverhead(&OverheadFigures::transpose,
              std::max<int64_t>(100, std::lround(100 * *factor)));
  report(formatv("columns to vectors: {0:F1} times as long as a copy", *factor)
             .str());
  return Error::success();
}

/// Of rows that the outermost cache holds.
Error Calibrator::setRuns() {
  const TargetFigures::Level &outer = figures.levels.front();
  auto bandwidth = static_cast<double>(figures.levels[1].coreBandwidth);
  double bytes = filled * 0.01 * outer.usable * outer.capacity;
  Expected<double> perRun = measureRuns(std::lround(bytes), bandwidth);
  if (!perRun)
    return perRun.takeError();
  double reach = *perRun * bandwidth;
  setOverhead(&OverheadFigures::reach, std::lround(reach));
  report(formatv("the next run in {0}: as long as {1:F0} bytes at {2:F1} GB/s",
                 outer.name, reach, 1e-9 * bandwidth)
             .str());
  return Error::success();
}

/// Of lines that evict each other from the innermost cache.
Error Calibrator::setCollision() {
  Expected<double> seconds = measureCollision();
  if (!seconds)
    return seconds.takeError();
  double cycles = *seconds * static_cast<double>(figures.unit.getClock());
  setOverhead(&OverheadFigures::collision, std::lround(cycles));
  report(formatv("a page of lines that evict each other: {0:F0} cycles", cycles)
             .str());
  return Error::success();
}

VectorTuning Calibrator::getTuning() const {
  VectorTuningAttr given = figures.unit.getTuning();
  return given ? given.getFigures() : VectorTuning();
}

void Calibrator::useTuning(const VectorTuning &tuning) {
  figures.unit =
      withUnit(figures.unit.getClock(), figures.unit.getExponential(),
               VectorTuningAttr::get(
                   figures.context, tuning.chains, tuning.accumulators,
                   tuning.rowVectors, tuning.ahead, tuning.streams,
                   tuning.streamAhead, tuning.fetchLevel, tuning.lineBytes,
                   tuning.interleaved, tuning.reducedRows));
}

/// Takes the first of `candidates` that reaches about the best rate at which
/// `measure` reads a matrix from memory, in bytes per second.
Expected<double> Calibrator::setFastest(ArrayRef<VectorTuning> candidates,
                                        Expected<double> (*measure)(TargetAttr,
                                                                    int64_t)) {
  constexpr double noise = 1.05;
  auto bytes = static_cast<int64_t>(getBytesBeyond(figures.levels[0].capacity));
  double best = 0;
  VectorTuning chosen = candidates.front();
  for (const VectorTuning &tuning : candidates) {
    useTuning(tuning);
    Expected<TargetAttr> target = assemble();
    if (!target)
      return target.takeError();
    Expected<double> rate = measure(*target, bytes);
    if (!rate)
      return rate.takeError();
    if (*rate <= noise * best)
      continue;
    best = *rate;
    chosen = tuning;
  }
  useTuning(chosen);
  return best;
}

/// How far ahead, and into which level, a matrix is asked for.
Error Calibrator::setFetching() {
  SmallVector<VectorTuning> candidates;
  for (int64_t level : {1, 2})
    for (int64_t ahead : {32, 128}) {
      VectorTuning &tuning = candidates.emplace_back(getTuning());
      tuning.fetchLevel = level;
      tuning.ahead = ahead;
    }
  Expected<double> rate = setFastest(candidates, measureReadingPieces);
  if (!rate)
    return rate.takeError();
  report(
      formatv("a matrix of which pieces are read for four vectors: asked for "
              "{0} vectors ahead, into L{1}, {2:F1} GB/s",
              getTuning().ahead, getTuning().fetchLevel, 1e-9 * *rate)
          .str());
  return Error::success();
}

/// How many parts of a matrix are read by turns, and how far ahead each is
/// asked for.
Error Calibrator::setStreams() {
  SmallVector<VectorTuning> candidates;
  for (int64_t ahead : {16, 64})
    for (int64_t streams : {1, 2, 4}) {
      VectorTuning &tuning = candidates.emplace_back(getTuning());
      tuning.streams = streams;
      tuning.streamAhead = ahead;
    }
  Expected<double> rate = setFastest(candidates, measureReading);
  if (!rate)
    return rate.takeError();
  report(formatv("a matrix that is read for one vector: in {0} parts by turns, "
                 "asked for {1} vectors ahead, {2:F1} GB/s",
                 getTuning().streams, getTuning().streamAhead, 1e-9 * *rate)
             .str());
  return Error::success();
}

Expected<TargetAttr> Calibrator::run() {
  if (Error error = setCore())
    return error;
  setClock();
  if (figures.levels.size() > 1)
    if (Error error = setUsable())
      return error;
  if (Error error = setBandwidths())
    return error;
  if (Error error = setOverheads())
    return error;
  if (Error error = setExponential())
    return error;
  if (Error error = setTransposing())
    return error;
  if (figures.levels.size() > 2)
    if (Error error = setRuns())
      return error;
  if (figures.levels.size() > 1)
    if (Error error = setCollision())
      return error;
  if (Error error = setFetching())
    return error;
  if (Error error = setStreams())
    return error;
  return assemble();
}

Expected<TargetAttr>
chimera::runner::calibrate(TargetAttr target, int64_t threads,
                           llvm::function_ref<void(const Twine &line)> report) {
  return Calibrator(target, threads, report).run();
}
