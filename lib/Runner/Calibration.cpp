//===- Calibration.cpp - Measure the figures of a target ------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Calibration.h"

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Timing.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

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

//===----------------------------------------------------------------------===//
// The core
//===----------------------------------------------------------------------===//

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
  MLIRContext *context = target.getContext();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(exponentialProgram, context);
  (*module)->setAttr(kTargetAttrName, target);
  CompileOptions options;
  options.threads = 1;
  Expected<std::unique_ptr<Program>> program = compile(*module, options);
  if (!program)
    return program.takeError();
  ValueType type{ElementKind::F32, {exponentials}};
  Expected<Tensor> input = Tensor::allocate(type);
  if (!input)
    return input.takeError();
  Expected<Tensor> output = Tensor::allocate(type);
  if (!output)
    return output.takeError();
  input->fillRandom(/*seed=*/0, /*stream=*/0);
  Expected<Call> call = (*program)->bind("main", {&*input}, {&*output});
  if (!call)
    return call.takeError();
  constexpr int calls = 1000;
  double seconds = medianOf(9, [&] {
    return timeOnce([&] {
             for (int i = 0; i < calls; ++i)
               (*call)();
           }) /
           calls;
  });
  model::VectorUnit unit = target.getCommonFigures().unit;
  double cycles = seconds * unit.cyclesPerSecond * unit.lanes / exponentials;
  return cycles * unit.fmaPerCycle;
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
  void setClock();
  Error setBandwidths();
  Error setOverheads();
  Error setExponential();
  VectorUnitAttr withUnit(int64_t clock, int64_t exponential) const;
  Expected<TargetAttr> assemble() const;

  TargetFigures figures;
  int64_t threads;
  llvm::function_ref<void(const Twine &line)> report;
};
} // namespace

VectorUnitAttr Calibrator::withUnit(int64_t clock, int64_t exponential) const {
  VectorUnitAttr unit = figures.unit;
  return VectorUnitAttr::get(figures.context, unit.getBits(),
                             unit.getRegisters(), unit.getFma(), unit.getLoad(),
                             unit.getStore(), unit.getLatency(), clock,
                             exponential, unit.getTuning());
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

/// The clock at which FMAs start as often as the target says.
void Calibrator::setClock() {
  PeakMeter meter(/*threads=*/1);
  meter.measure(/*seconds=*/1);
  double flops = meter.getPeak().median;
  double perCycle = 2.0 * static_cast<double>(figures.unit.getBits() / 32 *
                                              figures.unit.getFma());
  figures.unit = withUnit(static_cast<int64_t>(flops / perCycle),
                          figures.unit.getExponential());
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

/// What comes into a level is what a plain read of something that half fills
/// the next outer one brings.
Error Calibrator::setBandwidths() {
  auto read = [&](int64_t workers, size_t level) -> Expected<double> {
    if (level == 0)
      return measureRead(workers, getBytesBeyond(figures.levels[0].capacity));
    const TargetFigures::Level &outer = figures.levels[level - 1];
    int64_t instances = std::max<int64_t>(1, workers / outer.sharers);
    return measureRead(workers, 0.5 * outer.capacity * instances);
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
  OverheadFigures overheads;
  if (figures.overheads)
    overheads = figures.overheads.getFigures();
  overheads.fresh = static_cast<int64_t>(*fresh);
  overheads.region = std::lround(1e9 * region);
  figures.overheads = OverheadsAttr::get(figures.context, overheads);
  report(formatv("new memory: {0:F2} GB/s; a parallel loop: {1:F2} us",
                 1e-9 * *fresh, 1e6 * region)
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
  figures.unit = withUnit(figures.unit.getClock(), rounded);
  report(formatv("exponentials of a register: as long as {0} FMAs", rounded)
             .str());
  return Error::success();
}

Expected<TargetAttr> Calibrator::run() {
  setClock();
  if (Error error = setBandwidths())
    return error;
  if (Error error = setOverheads())
    return error;
  if (Error error = setExponential())
    return error;
  return assemble();
}

Expected<TargetAttr>
chimera::runner::calibrate(TargetAttr target, int64_t threads,
                           llvm::function_ref<void(const Twine &line)> report) {
  return Calibrator(target, threads, report).run();
}
