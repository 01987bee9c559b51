//===- GemmChains.cpp - The paper's Table IV ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times the chains of a shape table, one thread and all, caches warm and cold.
// A chain's result is compared with f64 before it is timed, and a wrong one
// makes the benchmark an error. Times stand beside the FMA peak, measured on
// the same threads right before every repetition.
//
//   chimera-gemm-chains [--shapes=FILE] [Google Benchmark's options]
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Runner/Timing.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <thread>

using namespace chimera;
using namespace chimera::runner;

namespace {

struct Shape {
  std::string name;
  int64_t batch, m, n, k, l;

  double flops() const { return 2.0 * batch * m * l * (k + n); }
};

/// A compiled chain with its operands.
struct Chain {
  std::unique_ptr<Program> program;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  Call call;
};

constexpr double kTolerance = 1e-5;
/// More than any cache of the machines at hand keeps.
constexpr size_t kFlushBytes = size_t(1) << 29;

template <typename T>
T check(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  std::cerr << "error: " << llvm::toString(value.takeError()) << "\n";
  exit(1);
}

} // namespace

//===----------------------------------------------------------------------===//
// Shapes and programs
//===----------------------------------------------------------------------===//

static std::vector<Shape> readShapes(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    std::cerr << "error: cannot read " << path << "\n";
    exit(1);
  }
  std::vector<Shape> shapes;
  llvm::SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> fields;
    line.split(fields, ',');
    if (line.starts_with("#") || fields[0] == "name")
      continue;
    Shape shape;
    shape.name = fields[0].str();
    int64_t *numbers[] = {&shape.batch, &shape.m, &shape.n, &shape.k, &shape.l};
    for (auto [index, number] : llvm::enumerate(numbers))
      if (fields.size() < 6 || fields[index + 1].getAsInteger(10, *number)) {
        std::cerr << "error: " << path << ": cannot read '" << line.str()
                  << "'\n";
        exit(1);
      }
    shapes.push_back(shape);
  }
  return shapes;
}

static std::string tensorType(int64_t batch, int64_t rows, int64_t columns) {
  return llvm::formatv("tensor<{0}x{1}x{2}xf32>", batch, rows, columns);
}

static std::string makeProgram(const Shape &s) {
  return llvm::formatv(
      R"(func.func @main(%a: {0}, %b: {1}, %d: {2}) -> {3} {{
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : {4}
  %1 = linalg.fill ins(%zero : f32) outs(%0 : {4}) -> {4}
  %2 = linalg.batch_matmul ins(%a, %b : {0}, {1}) outs(%1 : {4}) -> {4}
  %3 = tensor.empty() : {3}
  %4 = linalg.fill ins(%zero : f32) outs(%3 : {3}) -> {3}
  %5 = linalg.batch_matmul ins(%2, %d : {4}, {2}) outs(%4 : {3}) -> {3}
  return %5 : {3}
})",
      tensorType(s.batch, s.m, s.k), tensorType(s.batch, s.k, s.l),
      tensorType(s.batch, s.l, s.n), tensorType(s.batch, s.m, s.n),
      tensorType(s.batch, s.m, s.l));
}

static Chain compileChain(mlir::MLIRContext &context, const Shape &shape,
                          int64_t threads) {
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(makeProgram(shape), &context);
  CompileOptions options;
  options.threads = threads;
  Chain chain;
  chain.program = check(compile(*module, options));
  const Function &function = chain.program->getFunctions().front();
  for (auto [index, type] : llvm::enumerate(function.arguments)) {
    chain.inputs.push_back(check(Tensor::allocate(type)));
    chain.inputs.back().fillRandom(/*seed=*/0, index);
  }
  chain.outputs.push_back(check(Tensor::allocate(function.results.front())));
  llvm::SmallVector<Tensor *> arguments;
  for (Tensor &input : chain.inputs)
    arguments.push_back(&input);
  chain.call = check(
      chain.program->bind(function.name, arguments, {&chain.outputs.front()}));
  return chain;
}

/// out += lhs * rhs in f64, for matrices of `rows` x `depth` and `depth` x
/// `columns`.
static void multiply(const double *lhs, const double *rhs, double *out,
                     int64_t rows, int64_t depth, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t j = 0; j < columns; ++j)
        out[i * columns + j] += lhs[i * depth + p] * rhs[p * columns + j];
}

/// The largest error of the chain's result relative to f64 arithmetic.
static double measureError(const Shape &s, Chain &chain) {
  std::vector<Tensor> wide;
  for (Tensor &input : chain.inputs)
    wide.push_back(check(input.convertTo(ElementKind::F64)));
  auto data = [&](unsigned input) {
    return static_cast<const double *>(wide[input].data());
  };
  Tensor expected = check(chain.outputs.front().convertTo(ElementKind::F64));
  auto *out = static_cast<double *>(expected.data());
  std::fill(out, out + s.batch * s.m * s.n, 0.0);
  for (int64_t item = 0; item < s.batch; ++item) {
    std::vector<double> middle(s.m * s.l, 0.0);
    multiply(data(0) + item * s.m * s.k, data(1) + item * s.k * s.l,
             middle.data(), s.m, s.k, s.l);
    multiply(middle.data(), data(2) + item * s.l * s.n, out + item * s.m * s.n,
             s.m, s.l, s.n);
  }
  chain.call();
  return compare(chain.outputs.front(), expected).maxRel;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

static void flushCaches() {
  static std::vector<char> buffer(kFlushBytes, 1);
  for (size_t i = 0; i < buffer.size(); i += 64)
    buffer[i]++;
  benchmark::ClobberMemory();
}

static double timeCall(const Chain &chain) {
  auto begin = std::chrono::steady_clock::now();
  chain.call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

static void runChain(benchmark::State &state, const Shape &shape, Chain &chain,
                     int64_t threads, bool cold) {
  double error = measureError(shape, chain);
  if (!(error <= kTolerance)) {
    state.SkipWithError(
        llvm::formatv("relative error {0} against f64", error).str().c_str());
    return;
  }
  PeakMeter meter(threads);
  std::vector<double> times;
  for (auto _ : state) {
    if (cold)
      flushCaches();
    times.push_back(timeCall(chain));
    meter.measure(times.back() / 8);
    state.SetIterationTime(times.back());
  }
  double peak = meter.getPeak().best;
  // The mean of a repetition would be that of the machine's interruptions.
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  double median = times[times.size() / 2];
  double rate = shape.flops() / median;
  state.counters["median_us"] = median * 1e6;
  state.counters["GFLOP/s"] = rate / 1e9;
  state.counters["peak"] = peak / 1e9;
  state.counters["fraction"] = rate / peak;
  state.counters["error"] = error;
}

namespace {
/// Prints the usual table and, at the end, geometric mean and minimum of the
/// fraction of the peak for each way of running.
class SummaryReporter : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run> &runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run &run : runs) {
      if (run.error_occurred)
        failed = true;
      if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median")
        continue;
      auto [name, way] = llvm::StringRef(run.run_name.function_name).split('/');
      fractions[way.str()].push_back(
          {name.str(), run.counters.at("fraction").value});
    }
  }

  void Finalize() override {
    for (const auto &[way, cases] : fractions) {
      double logarithms = 0;
      auto worst = cases.front();
      for (const auto &entry : cases) {
        logarithms += std::log(entry.second);
        if (entry.second < worst.second)
          worst = entry;
      }
      GetOutputStream() << llvm::formatv(
                               "{0}: geometric mean {1:P1} of the peak, lowest "
                               "{2:P1} ({3}), {4} cases\n",
                               way, std::exp(logarithms / cases.size()),
                               worst.second, worst.first, cases.size())
                               .str();
    }
  }

  bool failed = false;

private:
  std::map<std::string, std::vector<std::pair<std::string, double>>> fractions;
};
} // namespace

int main(int argc, char **argv) {
  std::string shapesPath = CHIMERA_SHAPES;
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (!argument.consume_front("--shapes=")) {
      std::cerr << "error: unknown option '" << argument.str() << "'\n";
      return 2;
    }
    shapesPath = argument.str();
  }

  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();

  std::vector<Shape> shapes = readShapes(shapesPath);
  std::vector<int64_t> threadCounts = {1};
  if (int64_t cores = std::thread::hardware_concurrency(); cores > 1)
    threadCounts.push_back(cores);
  std::vector<std::unique_ptr<Chain>> chains;
  for (int64_t threads : threadCounts)
    for (const Shape &shape : shapes) {
      Chain &chain = *chains.emplace_back(
          std::make_unique<Chain>(compileChain(context, shape, threads)));
      for (bool cold : {false, true}) {
        std::string name =
            llvm::formatv("{0}/{1} thread{2}/{3}", shape.name, threads,
                          threads > 1 ? "s" : "", cold ? "cold" : "warm");
        auto *instance = benchmark::RegisterBenchmark(
            name.c_str(), [=, &shape, &chain](benchmark::State &state) {
              runChain(state, shape, chain, threads, cold);
            });
        instance->UseManualTime()
            ->Unit(benchmark::kMicrosecond)
            ->Repetitions(cold ? 3 : 7)
            ->ReportAggregatesOnly(true);
        if (cold)
          instance->Iterations(5);
        else
          instance->MinTime(0.05);
      }
    }
  SummaryReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed ? 1 : 0;
}
