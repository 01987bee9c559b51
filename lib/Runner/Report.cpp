//===- Report.cpp - Tables and JSON ---------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <cmath>

using namespace chimera;
using namespace chimera::runner;
using llvm::format;
using llvm::StringRef;
namespace json = llvm::json;

std::optional<double> Report::getFlops() const {
  if (!multiplyAdds || *multiplyAdds == 0 || !time || time->best <= 0)
    return std::nullopt;
  return 2 * *multiplyAdds / time->best;
}

std::optional<double> Report::getFractionOfPeak() const {
  std::optional<double> flops = getFlops();
  if (!flops || !peakFlops || *peakFlops <= 0)
    return std::nullopt;
  return *flops / *peakFlops;
}

std::optional<double> Report::getByteRate() const {
  if (!time || time->best <= 0)
    return std::nullopt;
  return static_cast<double>(argumentBytes + resultBytes) / time->best;
}

std::optional<double> Report::getFractionOfRead() const {
  std::optional<double> rate = getByteRate();
  if (!rate || !multiplyAdds || !peakFlops || !readRate)
    return std::nullopt;
  double bytes = static_cast<double>(argumentBytes + resultBytes);
  if (2 * *multiplyAdds / *peakFlops >= bytes / *readRate)
    return std::nullopt;
  return *rate / *readRate;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Goes up when a program that reads reports would have to change; see
/// docs/json.md.
static constexpr int64_t kReportSchema = 1;

json::Value chimera::runner::toJSONNumber(std::optional<double> number) {
  if (!number || !std::isfinite(*number))
    return nullptr;
  return *number;
}

static std::optional<double> scale(std::optional<double> number,
                                   double factor) {
  if (number)
    *number *= factor;
  return number;
}

static json::Object toJSON(const LevelReport &level) {
  return json::Object{{"name", level.name},
                      {"predicted_bytes", level.predictedBytes},
                      {"unfused_bytes", level.unfusedBytes},
                      {"bound_bytes", level.boundBytes},
                      {"capacity_bytes", level.capacityBytes},
                      {"used_bytes", level.usedBytes}};
}

static json::Object toJSON(const ChainReport &chain) {
  json::Array names(chain.operatorNames), order, tiles, levels;
  for (const LoopReport &loop : chain.order) {
    order.push_back(loop.loop);
    tiles.push_back(json::Object{
        {"level", loop.level}, {"loop", loop.loop}, {"tile", loop.tile}});
  }
  for (const LevelReport &level : chain.levels)
    levels.push_back(toJSON(level));
  return json::Object{
      {"operators", chain.operators},
      {"operator_names", std::move(names)},
      {"verdict", chain.verdict},
      {"reason", chain.reason},
      {"order", std::move(order)},
      {"tiles", std::move(tiles)},
      {"levels", std::move(levels)},
      {"predicted_ms", toJSONNumber(1e3 * chain.seconds)},
      {"predicted_unfused_ms", toJSONNumber(1e3 * chain.unfusedSeconds)}};
}

static json::Object toJSON(const OtherPlan &plan) {
  return json::Object{
      {"plan", plan.name},
      {"predicted_ms", toJSONNumber(1e3 * plan.predictedSeconds)},
      {"median_ms", toJSONNumber(1e3 * plan.time.median)}};
}

static json::Object toJSON(const OtherGroups &other) {
  return json::Object{
      {"groups", other.name},
      {"kernels", other.kernels},
      {"predicted_ms", toJSONNumber(1e3 * other.predictedSeconds)},
      {"median_ms", toJSONNumber(1e3 * other.time.median)}};
}

static json::Object toJSON(const GraphPlan &partition) {
  return json::Object{
      {"function", partition.function},
      {"operators", static_cast<int64_t>(partition.graph.operators.size())},
      {"groups", static_cast<int64_t>(partition.groups.size())},
      {"kernels", partition.countKernels()},
      {"bytes", static_cast<int64_t>(partition.bytes())},
      {"least_bytes", static_cast<int64_t>(partition.compulsoryBytes())},
      {"predicted_ms", toJSONNumber(1e3 * partition.seconds)},
      {"predicted_separate_ms", toJSONNumber(1e3 * partition.separateSeconds)},
      {"proof", partition.proof}};
}

static json::Object toJSON(const CaseReport &result) {
  json::Object object{{"sizes", result.sizes}, {"passed", result.passed}};
  if (result.deviation)
    object["max_rel_error"] = toJSONNumber(result.deviation->maxRel);
  if (result.time) {
    object["best_ms"] = toJSONNumber(1e3 * result.time->best);
    object["median_ms"] = toJSONNumber(1e3 * result.time->median);
  }
  if (result.timeAlone)
    object["alone_median_ms"] = toJSONNumber(1e3 * result.timeAlone->median);
  return object;
}

static json::Object toJSON(const Remark &remark) {
  return json::Object{{"kind", remark.kind},
                      {"name", remark.name},
                      {"place", remark.place},
                      {"text", remark.text}};
}

json::Object Report::toJSON() const {
  auto milliseconds = [](const std::optional<Samples> &samples,
                         double Samples::*field) {
    return toJSONNumber(samples ? std::optional<double>(1e3 * (*samples).*field)
                                : std::nullopt);
  };
  auto error = [&](double Deviation::*field) {
    return toJSONNumber(deviation ? std::optional<double>((*deviation).*field)
                                  : std::nullopt);
  };
  json::Array chains, notes, others, blocks, groups, sizeCases;
  for (const GraphPlan &partition : partitions)
    blocks.push_back(::toJSON(partition));
  for (const OtherGroups &other : otherGroups)
    groups.push_back(::toJSON(other));
  for (const CaseReport &result : cases)
    sizeCases.push_back(::toJSON(result));
  for (const ChainReport &chain : plan.chains)
    chains.push_back(::toJSON(chain));
  for (const Remark &remark : remarks)
    notes.push_back(::toJSON(remark));
  for (const OtherPlan &other : otherPlans)
    others.push_back(::toJSON(other));
  return json::Object{
      {"schema", kReportSchema},
      {"file", file},
      {"entry", entry},
      {"sizes", sizes},
      {"versions", versions},
      {"other_sizes", std::move(sizeCases)},
      {"target", target},
      {"threads", threads},
      {"seed", static_cast<int64_t>(seed)},
      {"compile_ms", toJSONNumber(1e3 * compileSeconds)},
      {"plan_ms", toJSONNumber(1e3 * plan.seconds)},
      {"object_ms", toJSONNumber(1e3 * objectSeconds)},
      {"best_ms", milliseconds(time, &Samples::best)},
      {"median_ms", milliseconds(time, &Samples::median)},
      {"spread_ms", milliseconds(time, &Samples::spread)},
      {"unfused_best_ms", milliseconds(unfusedTime, &Samples::best)},
      {"unfused_median_ms", milliseconds(unfusedTime, &Samples::median)},
      {"other_plans", std::move(others)},
      {"partitions", std::move(blocks)},
      {"other_groups", std::move(groups)},
      {"reference_ms", toJSONNumber(scale(referenceSeconds, 1e3))},
      {"gflops", toJSONNumber(scale(getFlops(), 1e-9))},
      {"peak_gflops", toJSONNumber(scale(peakFlops, 1e-9))},
      {"peak_type", getElementName(peakKind)},
      {"median_peak_gflops", toJSONNumber(scale(medianPeakFlops, 1e-9))},
      {"fraction_of_peak", toJSONNumber(getFractionOfPeak())},
      {"argument_bytes", argumentBytes},
      {"result_bytes", resultBytes},
      {"result_hash", resultHash},
      {"gbytes_per_s", toJSONNumber(scale(getByteRate(), 1e-9))},
      {"read_gbytes_per_s", toJSONNumber(scale(readRate, 1e-9))},
      {"fraction_of_read", toJSONNumber(getFractionOfRead())},
      {"max_abs_error", error(&Deviation::maxAbs)},
      {"max_rel_error", error(&Deviation::maxRel)},
      {"allowed_rel_error",
       toJSONNumber(deviation ? std::optional<double>(allowedError)
                              : std::nullopt)},
      {"nonfinite_elements", deviation ? deviation->nonFinite : 0},
      {"chains", std::move(chains)},
      {"contractions_outside_chains", plan.contractionsOutside},
      {"remarks", std::move(notes)}};
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Three digits and a unit.
static std::string formatBytes(int64_t bytes) {
  const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  std::string text;
  int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  llvm::raw_string_ostream(text)
      << format("%.*f %s", digits, value, units[unit]);
  return text;
}

static std::string formatTime(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds < 1e-6)
    os << format("%.2f ns", 1e9 * seconds);
  else if (seconds < 1e-3)
    os << format("%.2f us", 1e6 * seconds);
  else if (seconds < 1)
    os << format("%.3f ms", 1e3 * seconds);
  else
    os << format("%.3f s", seconds);
  return text;
}

static void printLevels(llvm::ArrayRef<LevelReport> levels,
                        llvm::raw_ostream &os) {
  os << "    bytes moved into each level\n"
     << format("      %-6s %12s %12s %12s %12s %12s\n", "level", "predicted",
               "unfused", "bound", "capacity", "used");
  for (const LevelReport &level : levels)
    os << format("      %-6s %12s %12s %12s %12s %12s\n", level.name.c_str(),
                 formatBytes(level.predictedBytes).c_str(),
                 formatBytes(level.unfusedBytes).c_str(),
                 formatBytes(level.boundBytes).c_str(),
                 formatBytes(level.capacityBytes).c_str(),
                 formatBytes(level.usedBytes).c_str());
}

static void printChain(const ChainReport &chain, size_t number,
                       llvm::raw_ostream &os) {
  os << "\nchain " << number << ": ";
  llvm::interleave(chain.operatorNames, os, " > ");
  os << "\n  " << chain.verdict << ": " << chain.reason << '\n';
  if (!chain.drawing.empty()) {
    os << "    schedule\n";
    for (StringRef line : llvm::split(StringRef(chain.drawing).rtrim(), '\n'))
      os << "      " << line << '\n';
  }
  if (!chain.levels.empty())
    printLevels(chain.levels, os);
  if (chain.seconds > 0)
    os << "    predicted " << formatTime(chain.seconds)
       << ", as separate operators " << formatTime(chain.unfusedSeconds)
       << '\n';
}

static void printSamples(StringRef label, const Samples &samples,
                         llvm::raw_ostream &os) {
  os << llvm::left_justify(label, 11) << "best " << formatTime(samples.best)
     << ", median " << formatTime(samples.median) << ", spread "
     << formatTime(samples.spread) << " (" << samples.count << " samples)\n";
}

/// What the model said of the chains, beside the time of the whole program.
static void printPrediction(const Report &report, llvm::raw_ostream &os) {
  double predicted = getPredictedSeconds(report.plan);
  if (!report.time || predicted == 0)
    return;
  os << "predicted  " << formatTime(predicted)
     << format(" for the chains, %.2f of the time\n",
               predicted / report.time->median);
}

static void printTimes(const Report &report, llvm::raw_ostream &os) {
  if (report.time)
    printSamples("time", *report.time, os);
  if (report.unfusedTime)
    printSamples("unfused", *report.unfusedTime, os);
  printPrediction(report, os);
  for (const OtherPlan &other : report.otherPlans)
    os << llvm::left_justify(other.name, 12) << "median "
       << formatTime(other.time.median) << ", predicted "
       << formatTime(other.predictedSeconds)
       << format(" for the chains, %.2f of the time\n",
                 other.predictedSeconds / other.time.median);
  for (const OtherGroups &other : report.otherGroups)
    os << llvm::left_justify(other.name, 12) << "median "
       << formatTime(other.time.median) << ", predicted "
       << formatTime(other.predictedSeconds)
       << format(" in %lld kernels, %.2f of the time\n",
                 static_cast<long long>(other.kernels),
                 other.predictedSeconds / other.time.median);
  if (report.time && report.unfusedTime)
    os << format("speed-up   %.2f over unfused code\n",
                 report.unfusedTime->best / report.time->best);
  if (report.referenceSeconds)
    os << "plain      " << formatTime(*report.referenceSeconds)
       << " by upstream passes, one thread, one run\n";
  if (std::optional<double> flops = report.getFlops()) {
    os << format("rate       %.1f GFLOP/s", 1e-9 * *flops);
    if (std::optional<double> fraction = report.getFractionOfPeak())
      os << format(", %.1f %% of the %.1f GFLOP/s measured in this run",
                   100 * *fraction, 1e-9 * *report.peakFlops);
    os << '\n';
  }
  if (std::optional<double> rate = report.getByteRate()) {
    os << "moved      "
       << formatBytes(report.argumentBytes + report.resultBytes)
       << format(" of arguments and results, %.1f GB/s", 1e-9 * *rate);
    if (std::optional<double> fraction = report.getFractionOfRead())
      os << format(", %.1f %% of the %.1f GB/s of a plain read in this run",
                   100 * *fraction, 1e-9 * *report.readRate);
    os << '\n';
  }
}

static void printDeviation(const Deviation &deviation, StringRef reference,
                           double allowed, llvm::raw_ostream &os) {
  os << format("error      max abs %.2e, max rel %.2e", deviation.maxAbs,
               deviation.maxRel)
     << " against " << reference << format("; allowed are %.1e\n", allowed);
  if (deviation.nonFinite > 0)
    os << "           " << deviation.nonFinite << " of " << deviation.elements
       << " elements are NaN or infinite in both; other inputs would check "
          "more\n";
}

static void printCase(const CaseReport &result, llvm::raw_ostream &os) {
  os << "at         " << result.sizes;
  if (result.deviation)
    os << (result.passed ? ": passed" : ": FAILED")
       << format(", max rel %.2e", result.deviation->maxRel);
  if (result.time)
    os << ", best " << formatTime(result.time->best) << ", median "
       << formatTime(result.time->median);
  if (result.timeAlone)
    os << format("; %.2f of the time of a program for these sizes alone",
                 result.time->median / result.timeAlone->median);
  os << '\n';
}

void Report::print(llvm::raw_ostream &os) const {
  os << "machine    " << machine << '\n'
     << "program    " << file << ", @" << entry << ", target " << target
     << ", seed " << seed;
  if (!sizes.empty())
    os << ", at " << sizes;
  os << '\n';
  if (!versions.empty())
    os << "sizes      " << versions << '\n';
  for (auto [index, chain] : llvm::enumerate(plan.chains))
    printChain(chain, index, os);
  if (plan.contractionsOutside > 0)
    os << "\n"
       << plan.contractionsOutside
       << " contractions or convolutions outside chains\n";
  if (!remarks.empty()) {
    os << '\n';
    printRemarks(remarks, os);
  }
  os << '\n';
  printTimes(*this, os);
  if (deviation)
    printDeviation(*deviation, reference, allowedError, os);
  for (const CaseReport &result : cases)
    printCase(result, os);
  os << "compiled   in " << formatTime(compileSeconds) << ", code generation "
     << formatTime(objectSeconds) << " of it\n";
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

static std::string getProcessorName() {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  if (file)
    for (StringRef line : llvm::split((*file)->getBuffer(), '\n')) {
      auto [key, value] = line.split(':');
      if (key.trim() == "model name")
        return value.trim().str() + " (" + llvm::sys::getHostCPUName().str() +
               ")";
    }
  return llvm::sys::getHostCPUName().str();
}

std::string chimera::runner::describeMachine(TargetAttrInterface target,
                                             int64_t threads) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getProcessorName() << ", " << threads
     << (threads == 1 ? " thread" : " threads");
  model::Machine machine = target.getCommonFigures();
  for (const model::MemoryLevel &level : llvm::reverse(machine.levels)) {
    os << ", " << level.name << ' ' << formatBytes(level.capacityBytes);
    if (level.sharers > 1)
      os << " shared by " << level.sharers;
  }
  return text;
}
