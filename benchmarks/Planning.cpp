//===- Planning.cpp - How long a plan takes -------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times `judge`: the fused plan, the plans of all parts, and the bounds.
// Planning is single-threaded and does nothing but compute, so processor time
// is what counts. Each benchmark carries the milliseconds it is allowed.
//
//   chimera-planning-benchmark [Google Benchmark's options]
//
//===----------------------------------------------------------------------===//

#include "PlanCases.h"

#include "Chimera/Model/Algorithms.h"
#include "TestProblems.h"

#include "mlir/IR/MLIRContext.h"

#include <benchmark/benchmark.h>

using namespace llvm;
using namespace chimera::model;
using namespace chimera::plans;

namespace {

/// A problem and the milliseconds its verdict may take.
struct TimedCase {
  std::string name;
  ChainProblem problem;
  double budget;
};

constexpr double twoProducts = 10, longChain = 100, convolutions = 250;

} // namespace

static ChainProblem makeAttentionOf(int64_t heads, int64_t queries,
                                    int64_t rows, int64_t columns) {
  AttentionSizes sizes;
  sizes.heads = heads;
  sizes.queries = queries;
  sizes.m = sizes.l = rows;
  sizes.k = sizes.n = columns;
  return makeAttention(sizes);
}

static std::vector<TimedCase> makeCases() {
  std::vector<TimedCase> cases;
  for (const Case &entry : readGemmChains())
    if (entry.name == "G1" || entry.name == "G12")
      cases.push_back({entry.name, entry.problem, twoProducts});
  cases.push_back(
      {"MLP 512x512x512x2048", makeMlp(512, 512, 512, 2048), twoProducts});
  cases.push_back(
      {"MLP 128x768x768x3072", makeMlp(128, 768, 768, 3072), twoProducts});
  cases.push_back({"cube 2048", makeMlp(2048, 2048, 2048, 2048), twoProducts});
  cases.push_back({"attention 8 heads 2048x128",
                   makeAttentionOf(8, 1, 2048, 128), longChain});
  cases.push_back({"attention 8x4 heads 2048x128",
                   makeAttentionOf(8, 4, 2048, 128), longChain});
  cases.push_back({"three products 512x2048x512x512x2048",
                   makeTriple(512, 2048, 512, 512, 2048), longChain});
  cases.push_back({"three products 2048x64x64x64x64",
                   makeTriple(2048, 64, 64, 64, 64), longChain});
  for (const Case &entry : readConvChains())
    cases.push_back({entry.name, entry.problem, convolutions});
  return cases;
}

static void timeVerdict(benchmark::State &state, const TimedCase &entry,
                        const NamedMachine &target, int64_t threads) {
  ChainProblem problem = inTypeOf(target, entry.problem);
  SolveOptions options;
  options.threads = threads;
  for (auto _ : state)
    benchmark::DoNotOptimize(judge(problem, target.machine, options));
  state.counters["budget_ms"] = entry.budget;
}

int main(int argc, char **argv) {
  mlir::MLIRContext context;
  std::vector<TimedCase> cases = makeCases();
  std::vector<std::pair<NamedMachine, int64_t>> machines;
  for (int64_t threads : {1, 2})
    machines.push_back({getMachine(context, "zen5"), threads});
  for (const char *name : {"a100", "h200", "ascend910"}) {
    NamedMachine machine = getMachine(context, name);
    int64_t cores = machine.machine.cores;
    machines.push_back({std::move(machine), cores});
  }
  for (const auto &[machine, threads] : machines)
    for (const TimedCase &entry : cases) {
      std::string name =
          entry.name + "/" + machine.name + "/" + std::to_string(threads);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [&entry, &machine = machine,
           threads = threads](benchmark::State &state) {
            timeVerdict(state, entry, machine, threads);
          })
          ->Unit(benchmark::kMillisecond)
          ->MinTime(0.02)
          ->Repetitions(5)
          ->ReportAggregatesOnly();
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
