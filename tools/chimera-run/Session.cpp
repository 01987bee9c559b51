//===- Session.cpp - One function compiled, run, checked, timed -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "Arguments.h"
#include "Compiling.h"
#include "RunningProgram.h"

#include "Chimera/Runner/Memory.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Runner/Work.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

Error Session::compileEntry() {
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.listener = &listener;
  compileOptions.onPlanned = [&](ModuleOp planned, double seconds) {
    if (func::FuncOp function = findVersion(planned, entry))
      report.plan = describePlan(function);
    report.versions = describeVersions(planned, report.entry);
    report.plan.seconds = seconds;
  };
  size_t numKnown = plans.getPartitions().size();
  Expected<Compiled> compiled = compileTimed(module, compileOptions);
  if (!compiled)
    return compiled.takeError();
  report.partitions = plans.getPartitions(numKnown);
  report.compileSeconds += compiled->seconds;
  report.objectSeconds = compiled->objectSeconds;
  report.remarks = selectRemarks(std::move(compiled->remarks), options);
  program = std::move(compiled->program);
  return Error::success();
}

/// Compares the results with those of plain loops in higher precision.
Expected<CheckResult> Session::checkResults() {
  Stage stage(&listener, "check");
  Expected<Reference> reference =
      Reference::create(*fixed, /*optimizationLevel=*/3);
  if (!reference)
    return reference.takeError();
  report.reference = reference->description;
  return reference->check(report.entry, arguments, results);
}

Error Session::check() {
  Expected<CheckResult> verdict = checkResults();
  if (!verdict)
    return verdict.takeError();
  report.deviation = verdict->deviation;
  report.allowedError = verdict->allowed;
  passed = verdict->passed();
  return Error::success();
}

Error Session::measureReference() {
  CompileOptions compileOptions;
  compileOptions.lowering = Lowering::Reference;
  Expected<std::unique_ptr<Program>> plain = compile(*fixed, compileOptions);
  if (!plain)
    return plain.takeError();
  RunningProgram running("timing plain code");
  Expected<Call> call = (*plain)->bind(report.entry, arguments.getPointers(),
                                       results.getPointers());
  if (!call)
    return call.takeError();
  report.referenceSeconds = timeOnce(*call);
  return Error::success();
}

/// The element type whose arithmetic the peak of `function` is about: the
/// widest of the floats that go in, or f64 if that comes out. Bytes are
/// multiplied as such where no matrix is of floats.
static ElementKind getPeakKind(const runner::Function &function) {
  auto has = [](const auto &types, ElementKind kind) {
    return llvm::any_of(
        types, [&](const ValueType &type) { return type.element == kind; });
  };
  if (has(function.results, ElementKind::F64))
    return ElementKind::F64;
  bool hasMatrixOfFloats =
      llvm::any_of(function.arguments, [](const ValueType &type) {
        return type.shape.size() > 1 &&
               llvm::is_contained({ElementKind::F64, ElementKind::F32,
                                   ElementKind::F16, ElementKind::BF16},
                                  type.element);
      });
  if (has(function.arguments, ElementKind::I8) && !hasMatrixOfFloats)
    return runner::getPeakKind(ElementKind::I8);
  for (ElementKind kind : {ElementKind::F64, ElementKind::F32, ElementKind::F16,
                           ElementKind::BF16})
    if (has(function.arguments, kind))
      return runner::getPeakKind(kind);
  return ElementKind::F32;
}

/// True if chains run alike in both.
static bool arePlannedAlike(const PlanReport &left, const PlanReport &right) {
  return std::equal(left.chains.begin(), left.chains.end(),
                    right.chains.begin(), right.chains.end(),
                    [](const ChainReport &one, const ChainReport &other) {
                      return one.drawing == other.drawing &&
                             one.operatorNames == other.operatorNames;
                    });
}

/// The program with other plans than those that are chosen.
Expected<PlannedProgram> Session::compilePlan(StringRef name, FuseMode fuse,
                                              unsigned rank) {
  PlannedProgram planned;
  planned.name = name.str();
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.fuse = fuse;
  compileOptions.rank = rank;
  compileOptions.onPlanned = [&](ModuleOp module, double) {
    if (func::FuncOp function = findVersion(module, entry))
      planned.plan = describePlan(function);
  };
  if (Error error = compile(module, compileOptions).moveInto(planned.program))
    return error;
  planned.isChosen = arePlannedAlike(report.plan, planned.plan);
  return planned;
}

/// True if the blocks of both programs have the same groups.
static bool haveSameGroups(ArrayRef<GraphPlan> left,
                           ArrayRef<GraphPlan> right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const GraphPlan &one, const GraphPlan &other) {
                      return chimera::arePartitionedAlike(one, other);
                    });
}

/// The program with other groups than those that are chosen.
Expected<PlannedProgram> Session::compileGroups(StringRef name,
                                                PartitionSearchKind groups,
                                                unsigned rank) {
  PlannedProgram planned;
  planned.name = name.str();
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.groups = groups;
  compileOptions.groupRank = rank;
  size_t numKnown = plans.getPartitions().size();
  if (Error error = compile(module, compileOptions).moveInto(planned.program))
    return error;
  planned.partitions = plans.getPartitions(numKnown);
  planned.isChosen = haveSameGroups(report.partitions, planned.partitions);
  return planned;
}

/// Groups by rules, separate operators, and the next best partitions, as far as
/// they differ.
Error Session::compileOtherGroups(std::vector<PlannedProgram> &others) {
  auto add = [&](StringRef name, PartitionSearchKind groups,
                 unsigned rank) -> Error {
    Expected<PlannedProgram> planned = compileGroups(name, groups, rank);
    if (!planned)
      return planned.takeError();
    bool isKnown =
        planned->isChosen ||
        llvm::any_of(others, [&](const PlannedProgram &other) {
          return haveSameGroups(other.partitions, planned->partitions);
        });
    if (!isKnown)
      others.push_back(std::move(*planned));
    return Error::success();
  };
  if (Error error = add("greedy", PartitionSearchKind::Greedy, 0))
    return error;
  if (Error error = add("separate", PartitionSearchKind::Separate, 0))
    return error;
  for (unsigned rank = 1; rank <= *options.comparedGroups; ++rank)
    if (Error error = add("next " + std::to_string(rank),
                          PartitionSearchKind::Exact, rank))
      return error;
  return Error::success();
}

/// All chains as one kernel each, and the next best plans of these, as far as
/// they differ.
Error Session::compileOtherPlans(std::vector<PlannedProgram> &others) {
  auto isKnown = [&](const PlannedProgram &planned) {
    return planned.isChosen ||
           llvm::any_of(others, [&](const PlannedProgram &other) {
             return arePlannedAlike(other.plan, planned.plan);
           });
  };
  for (unsigned rank = 0; rank <= *options.comparedPlans; ++rank) {
    std::string name =
        rank == 0 ? "whole" : "runner-up " + std::to_string(rank);
    Expected<PlannedProgram> planned =
        compilePlan(name, FuseMode::Always, rank);
    if (!planned)
      return planned.takeError();
    if (!isKnown(*planned))
      others.push_back(std::move(*planned));
    else if (rank > 0)
      break; // No chain has so many runners-up.
  }
  return Error::success();
}

/// Separate operators, unless these are what was asked for, and what else it is
/// to be compared with.
Expected<std::vector<PlannedProgram>> Session::compileOthers() {
  std::vector<PlannedProgram> others;
  if (options.alone)
    return others;
  if (options.comparedGroups) {
    if (Error error = compileOtherGroups(others))
      return error;
    return others;
  }
  // They are timed whether or not they are what was chosen.
  if (options.fuse != FuseMode::Never) {
    Expected<PlannedProgram> separate =
        compilePlan("separate", FuseMode::Never, /*rank=*/0);
    if (!separate)
      return separate.takeError();
    others.push_back(std::move(*separate));
  }
  if (options.comparedPlans)
    if (Error error = compileOtherPlans(others))
      return error;
  return others;
}

Error Session::measure() {
  Stage stage(&listener, "measure");
  Expected<std::vector<PlannedProgram>> others = compileOthers();
  if (!others)
    return others.takeError();
  if (Error error = measurePrograms(*others))
    return error;
  report.multiplyAdds = countWork(entry).multiplyAdds;
  return measurePlainRead();
}

/// Notes what `others` took.
void Session::reportOthers(ArrayRef<PlannedProgram> others,
                           ArrayRef<Samples> times) {
  if (options.comparedGroups) {
    for (auto [other, time] : llvm::zip_equal(others, times)) {
      int64_t kernels = 0;
      for (const GraphPlan &partition : other.partitions)
        if (!isPreparation(partition, other.partitions))
          kernels += partition.countKernels();
      report.otherGroups.push_back(
          {other.name, kernels, getPredictedSeconds(other.partitions), time});
    }
    return;
  }
  // Separate operators come first, unless they were asked for.
  if (options.fuse == FuseMode::Never)
    report.unfusedTime = report.time;
  else if (!times.empty())
    report.unfusedTime = times.front();
  if (options.comparedPlans)
    for (auto [other, time] : llvm::zip_equal(others, times))
      if (!other.isChosen)
        report.otherPlans.push_back(
            {other.name, getPredictedSeconds(other.plan), time});
}

/// Times the program and `others` beside it.
Error Session::measurePrograms(llvm::ArrayRef<PlannedProgram> others) {
  RunningProgram running("timing");
  SmallVector<Program *> programs = {program.get()};
  for (const PlannedProgram &other : others)
    programs.push_back(other.program.get());
  SmallVector<Call, 2> calls;
  SmallVector<llvm::function_ref<void()>> runs;
  for (Program *timed : programs) {
    Expected<Call> call = timed->bind(report.entry, arguments.getPointers(),
                                      results.getPointers());
    if (!call)
      return call.takeError();
    calls.push_back(std::move(*call));
  }
  llvm::append_range(runs, calls);
  PeakMeter meter(report.threads, report.peakKind);
  // Many plans are timed to be compared, which short times do.
  bool isCompared = options.comparedPlans || options.comparedGroups;
  SmallVector<Samples> samples =
      timeInTurns(runs, meter, isCompared ? 0.2 : 0.5);
  report.time = samples.front();
  reportOthers(others, ArrayRef(samples).drop_front());
  Peak peak = meter.getPeak();
  report.peakFlops = peak.best;
  report.medianPeakFlops = peak.median;
  return Error::success();
}

Error Session::measurePlainRead() {
  double bytes = report.argumentBytes + report.resultBytes;
  // The program's own memory may be all there is.
  if (bytes > getAvailableBytes())
    return Error::success();
  return measureRead(report.threads, bytes).moveInto(report.readRate);
}

Error Session::writeOutputs() {
  for (auto [path, tensor] : llvm::zip(options.outputs, results.tensors))
    if (Error error = writeNpy(path, tensor))
      return error;
  return Error::success();
}

/// Fixes the sizes, and makes arguments and room for results of these.
Error Session::prepare(const Sizes &sizes) {
  if (Error error = fixModule(module, sizes).moveInto(fixed))
    return error;
  entry = fixed->lookupSymbol<func::FuncOp>(report.entry);
  Expected<runner::Function> signature = getSignature(entry);
  if (!signature)
    return signature.takeError();
  if (Error error = checkRunsHere(target, options.emulateTiles))
    return error;
  if (Error error = checkMemory(entry, options))
    return error;
  Expected<ArgumentValues> values = ArgumentValues::open(*signature, options);
  if (!values)
    return values.takeError();
  if (Error error = values->makeAll().moveInto(arguments))
    return error;
  report.peakKind = getPeakKind(*signature);
  return TensorList::allocate(signature->results).moveInto(results);
}

Error Session::runFirst() {
  report.argumentBytes = arguments.getBytes();
  report.resultBytes = results.getBytes();
  if (Error error = compileEntry())
    return error;
  if (Error error = runOnce(*program, report.entry, arguments, results,
                            "running the program"))
    return error;
  report.resultHash = results.getHash();
  if (options.check)
    if (Error error = check())
      return error;
  if (passed)
    if (Error error = writeOutputs())
      return error;
  if (options.time)
    if (Error error = measure())
      return error;
  if (options.time && options.check)
    return measureReference();
  return Error::success();
}

/// Runs, checks and times the program at other sizes than it was compiled with.
Error Session::runAt(const Sizes &sizes) {
  if (Error error = prepare(sizes))
    return error;
  CaseReport &result = report.cases.emplace_back();
  result.sizes = toString(sizes);
  if (Error error = runOnce(*program, report.entry, arguments, results,
                            "running the program"))
    return error;
  if (options.check) {
    Expected<CheckResult> verdict = checkResults();
    if (!verdict)
      return verdict.takeError();
    result.deviation = verdict->deviation;
    result.passed = verdict->passed();
    passed &= result.passed;
  }
  return options.time ? timeAt(result) : Error::success();
}

/// Times the program at the sizes that are fixed; beside it, if plans are
/// compared, a program for these sizes alone.
Error Session::timeAt(CaseReport &result) {
  std::unique_ptr<Program> alone;
  SmallVector<Program *> programs = {program.get()};
  if (options.comparedPlans) {
    if (Error error =
            compile(*fixed, getCompileOptions(options)).moveInto(alone))
      return error;
    programs.push_back(alone.get());
  }
  RunningProgram running("timing");
  SmallVector<Call, 2> calls;
  for (Program *timed : programs) {
    Expected<Call> call = timed->bind(report.entry, arguments.getPointers(),
                                      results.getPointers());
    if (!call)
      return call.takeError();
    calls.push_back(std::move(*call));
  }
  SmallVector<llvm::function_ref<void()>> runs(calls.begin(), calls.end());
  PeakMeter meter(report.threads, report.peakKind);
  SmallVector<Samples> samples = timeInTurns(runs, meter, 0.2);
  result.time = samples.front();
  if (alone)
    result.timeAlone = samples.back();
  return Error::success();
}

Error Session::run(ArrayRef<Sizes> cases) {
  if (Error error = prepare(cases.front()))
    return error;
  report.sizes = toString(cases.front());
  if (Error error = runFirst())
    return error;
  // The first is compared with a program of its own sizes like the others.
  bool isFirstCompared =
      options.time && options.comparedPlans && !cases.front().empty();
  for (const Sizes &sizes : cases.drop_front(isFirstCompared ? 0 : 1))
    if (Error error = runAt(sizes))
      return error;
  return Error::success();
}
