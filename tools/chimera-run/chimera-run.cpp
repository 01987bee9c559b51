//===- chimera-run.cpp - Compile, run, check, time, explain ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a program in process, runs it, compares its results with plain loops
// in higher precision, measures it against unfused code and the machine's peak,
// and prints what was decided and why.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "CheckMicroKernels.h"
#include "EmitFile.h"
#include "Options.h"
#include "ProgressLine.h"
#include "RunningProgram.h"
#include "Sizes.h"

#include "Chimera/Runner/Memory.h"
#include "Chimera/Runner/Remarks.h"
#include "Chimera/Runner/Report.h"
#include "Chimera/Runner/Work.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <new>
#include <unistd.h>

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

static CompileOptions getCompileOptions(const Options &options) {
  CompileOptions result;
  result.target = options.target;
  result.threads = options.threads;
  result.fuse = options.fuse;
  result.tiles = options.tiles;
  result.microKernels = options.microKernels;
  result.jobs = options.jobs
                    ? options.jobs
                    : llvm::hardware_concurrency().compute_thread_count();
  return result;
}

static Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  auto named = module.lookupSymbol<func::FuncOp>(name.empty() ? "main" : name);
  if (named && named.isPublic())
    return named;
  if (named && !name.empty())
    return createStringError(
        "'" + name + "' is private; only public functions can be called");
  if (!name.empty())
    return createStringError("no public function '" + name + "'");
  auto functions = llvm::make_filter_range(
      module.getOps<func::FuncOp>(),
      [](func::FuncOp function) { return function.isPublic(); });
  if (llvm::hasSingleElement(functions))
    return *functions.begin();
  return createStringError(functions.empty()
                               ? "the file has no public function"
                               : "the file has several public functions and "
                                 "none is named 'main'; choose with --entry");
}

/// Refuses programs that would not fit before anything is allocated.
static Error checkMemory(func::FuncOp function, const Options &options) {
  double needed = estimateBytes(function), available = getAvailableBytes();
  auto refuse = [&](double bytes, StringRef what, StringRef advice) {
    return createStringError(
        "'%s' needs %.1f GB for its arguments, results and largest "
        "intermediate%s; this machine has %.1f GB available%s",
        function.getName().str().c_str(), 1e-9 * bytes, what.str().c_str(),
        1e-9 * available, advice.str().c_str());
  };
  if (needed > available)
    return refuse(needed, "", "");
  // The reference takes twice as much in f64; unfused code has its own results.
  if (options.check && 3.5 * needed > available)
    return refuse(3.5 * needed, " and for the check", "; try --no-check");
  return Error::success();
}

/// Reads the inputs that are given and makes up the others.
static Expected<TensorList> makeArguments(const runner::Function &function,
                                          const Options &options) {
  if (options.inputs.size() > function.arguments.size())
    return createStringError("'%s' has %zu arguments, but %zu inputs are given",
                             function.name.c_str(), function.arguments.size(),
                             options.inputs.size());
  if (options.outputs.size() > function.results.size())
    return createStringError("'%s' has %zu results, but %zu outputs are asked "
                             "for",
                             function.name.c_str(), function.results.size(),
                             options.outputs.size());
  Expected<TensorList> arguments = TensorList::allocate(function.arguments);
  if (!arguments)
    return arguments;
  arguments->fillRandom(options.seed);
  for (auto [index, path] : llvm::enumerate(options.inputs)) {
    Expected<Tensor> tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    const ValueType &type = function.arguments[index];
    if (tensor->getType().element != type.element ||
        tensor->getType().shape != type.shape)
      return createStringError(path + " holds " + tensor->getType().str() +
                               ", but argument " + llvm::Twine(index) +
                               " of '" + function.name + "' is " + type.str());
    arguments->tensors[index] = std::move(*tensor);
  }
  return arguments;
}

namespace {
/// A compiled program with what is known from compiling it.
struct Compiled {
  std::unique_ptr<Program> program;
  double seconds = 0, objectSeconds = 0;
  /// What the compiler said about its decisions.
  std::vector<Remark> remarks;
};
} // namespace

/// What was not taken is always shown, the rest if it is asked for.
static std::vector<Remark> selectRemarks(std::vector<Remark> remarks,
                                         const Options &options) {
  if (!options.remarks)
    llvm::erase_if(remarks, [](const Remark &remark) {
      return remark.kind != "missed" && remark.kind != "failed";
    });
  return remarks;
}

/// Compiles, with the listener of `options` hearing of it.
static Expected<Compiled> compileTimed(ModuleOp module,
                                       const CompileOptions &options) {
  Compiled compiled;
  RemarkCollector remarks(module.getContext());
  std::optional<Expected<LoweredModule>> lowered;
  compiled.seconds = timeOnce([&] { lowered.emplace(lower(module, options)); });
  if (!*lowered)
    return lowered->takeError();
  compiled.remarks = remarks.take();
  std::optional<Expected<ObjectFiles>> objects;
  compiled.objectSeconds = timeOnce([&] {
    objects.emplace(
        emitCode(**lowered, llvm::CodeGenFileType::ObjectFile, options));
  });
  if (!*objects)
    return objects->takeError();
  compiled.seconds += compiled.objectSeconds;
  Expected<std::unique_ptr<Program>> program =
      Program::load(std::move(**objects), std::move((*lowered)->interface));
  if (!program)
    return program.takeError();
  compiled.program = std::move(*program);
  return compiled;
}

//===----------------------------------------------------------------------===//
// Running one function
//===----------------------------------------------------------------------===//

namespace {
/// A program with what was planned for its entry.
struct PlannedProgram {
  std::string name;
  PlanReport plan;
  /// True if this is what was chosen.
  bool isChosen = false;
  std::unique_ptr<Program> program;
};

/// One function compiled, run, checked and timed.
class Session {
public:
  Session(const Options &options, ModuleOp module, StringRef entry,
          TargetAttrInterface target, double parseSeconds,
          CompileListener &listener)
      : options(options), module(module), target(target), listener(listener) {
    report.file = options.file;
    report.entry = entry.str();
    report.target = options.target;
    report.seed = options.seed;
    report.threads = resolveThreads(target, options.threads);
    report.machine = describeMachine(target, report.threads);
    report.compileSeconds = parseSeconds;
  }

  /// Compiles, runs at the first of `cases`, and then at the others. Fails if
  /// something could not be done. A check that fails is a success here:
  /// `passed` tells.
  Error run(ArrayRef<Sizes> cases);

  Report report;
  bool passed = true;

private:
  Error prepare(const Sizes &sizes);
  Error runFirst();
  Error runAt(const Sizes &sizes);
  Error compileEntry();
  Error check();
  Error measure();
  Expected<PlannedProgram> compilePlan(StringRef name, FuseMode fuse,
                                       unsigned rank);
  Expected<std::vector<PlannedProgram>> compileOthers();
  Error measurePrograms(llvm::ArrayRef<PlannedProgram> others);
  Error measurePlainRead();
  Error measureReference();
  Error writeOutputs();

  const Options &options;
  ModuleOp module;
  /// The program with its dynamic sizes fixed, and the function that is run.
  OwningOpRef<ModuleOp> fixed;
  func::FuncOp entry;
  TargetAttrInterface target;
  CompileListener &listener;
  std::unique_ptr<Program> program;
  TensorList arguments, results;
};
} // namespace

Error Session::compileEntry() {
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.listener = &listener;
  compileOptions.onPlanned = [&](ModuleOp planned, double seconds) {
    if (func::FuncOp function = findVersion(planned, entry))
      report.plan = describePlan(function);
    report.plan.seconds = seconds;
  };
  Expected<Compiled> compiled = compileTimed(module, compileOptions);
  if (!compiled)
    return compiled.takeError();
  report.compileSeconds += compiled->seconds;
  report.objectSeconds = compiled->objectSeconds;
  report.remarks = selectRemarks(std::move(compiled->remarks), options);
  program = std::move(compiled->program);
  return Error::success();
}

Error Session::check() {
  Stage stage(&listener, "check");
  Expected<Reference> reference =
      Reference::create(*fixed, /*optimizationLevel=*/3);
  if (!reference)
    return reference.takeError();
  Expected<CheckResult> verdict =
      reference->check(report.entry, arguments, results);
  if (!verdict)
    return verdict.takeError();
  report.deviation = verdict->deviation;
  report.allowedError = verdict->allowed;
  report.reference = reference->description;
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

/// The element type whose arithmetic the peak of `function` is about.
static ElementKind getPeakKind(const runner::Function &function) {
  for (const ValueType &type : function.results)
    if (type.element == ElementKind::F64)
      return ElementKind::F64;
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

/// Separate operators, unless these are what was asked for, and what else it is
/// to be compared with.
Expected<std::vector<PlannedProgram>> Session::compileOthers() {
  std::vector<PlannedProgram> others;
  auto isKnown = [&](const PlannedProgram &planned) {
    return planned.isChosen ||
           llvm::any_of(others, [&](const PlannedProgram &other) {
             return arePlannedAlike(other.plan, planned.plan);
           });
  };
  // They are timed whether or not they are what was chosen.
  if (options.fuse != FuseMode::Never) {
    Expected<PlannedProgram> separate =
        compilePlan("separate", FuseMode::Never, /*rank=*/0);
    if (!separate)
      return separate.takeError();
    others.push_back(std::move(*separate));
  }
  if (!options.comparedPlans)
    return others;
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
  SmallVector<Samples> samples =
      timeInTurns(runs, meter, options.comparedPlans ? 0.2 : 0.5);
  report.time = samples.front();
  // Of the others, separate operators come first, unless they were asked for.
  report.unfusedTime = samples[options.fuse == FuseMode::Never ? 0 : 1];
  if (options.comparedPlans)
    for (auto [other, time] :
         llvm::zip_equal(others, llvm::drop_begin(samples)))
      if (!other.isChosen)
        report.otherPlans.push_back(
            {other.name, getPredictedSeconds(other.plan), time});
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
  if (Error error = checkRunsHere(target))
    return error;
  if (Error error = checkMemory(entry, options))
    return error;
  if (Error error = makeArguments(*signature, options).moveInto(arguments))
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
    Expected<Reference> reference =
        Reference::create(*fixed, /*optimizationLevel=*/3);
    if (!reference)
      return reference.takeError();
    Expected<CheckResult> verdict =
        reference->check(report.entry, arguments, results);
    if (!verdict)
      return verdict.takeError();
    result.deviation = verdict->deviation;
    result.passed = verdict->passed();
    passed &= result.passed;
  }
  if (!options.time)
    return Error::success();
  RunningProgram running("timing");
  Expected<Call> call = program->bind(report.entry, arguments.getPointers(),
                                      results.getPointers());
  if (!call)
    return call.takeError();
  PeakMeter meter(report.threads, report.peakKind);
  llvm::function_ref<void()> timed = *call;
  result.time = timeInTurns(timed, meter, 0.2).front();
  return Error::success();
}

Error Session::run(ArrayRef<Sizes> cases) {
  if (Error error = prepare(cases.front()))
    return error;
  report.sizes = toString(cases.front());
  if (Error error = runFirst())
    return error;
  for (const Sizes &sizes : cases.drop_front())
    if (Error error = runAt(sizes))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

static Error writeText(StringRef path, StringRef text) {
  return writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
}

static Error writeJSON(StringRef path, llvm::json::Object object) {
  llvm::json::Value value(std::move(object));
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}", value) << '\n';
  });
}

static Error makeCheckError(StringRef function, const Deviation &deviation,
                            double allowed) {
  return createStringError("'%s' differs from the reference: max_rel_error "
                           "%.2e, allowed are %.1e",
                           function.str().c_str(), deviation.maxRel, allowed);
}

static Error runEntry(const Options &options, ModuleOp module,
                      TargetAttrInterface target, double parseSeconds,
                      CompileListener &listener) {
  Expected<func::FuncOp> entry = findEntry(module, options.entry);
  if (!entry)
    return entry.takeError();
  if (Error error = setSizes(options, *entry))
    return error;
  Expected<std::vector<Sizes>> cases = getCases(options, *entry);
  if (!cases)
    return cases.takeError();
  Session session(options, module, entry->getName(), target, parseSeconds,
                  listener);
  if (Error error = session.run(*cases))
    return error;
  if (options.json != "-")
    if (Error error = writeFile(
            "-", [&](llvm::raw_ostream &os) { session.report.print(os); }))
      return error;
  if (!options.json.empty())
    if (Error error = writeJSON(options.json, session.report.toJSON()))
      return error;
  for (const CaseReport &other : session.report.cases)
    if (!other.passed)
      return createStringError("'" + session.report.entry +
                               "' differs from the reference at " +
                               other.sizes);
  if (session.passed)
    return Error::success();
  return makeCheckError(session.report.entry, *session.report.deviation,
                        session.report.allowedError);
}

/// Runs `function` of `program` on random arguments and compares.
/// `function` has static sizes; those of `program` may be dynamic.
static Expected<CheckResult> checkFunction(const runner::Function &function,
                                           Program &program,
                                           Reference &reference,
                                           uint64_t seed) {
  Expected<TensorList> arguments = TensorList::allocate(function.arguments);
  if (!arguments)
    return arguments.takeError();
  arguments->fillRandom(seed);
  Expected<TensorList> results = TensorList::allocate(function.results);
  if (!results)
    return results.takeError();
  if (Error error = runOnce(program, function.name, *arguments, *results,
                            "running a program"))
    return std::move(error);
  std::string hash = results->getHash();
  Expected<CheckResult> result =
      reference.check(function.name, *arguments, *results);
  if (result)
    result->hash = std::move(hash);
  return result;
}

/// Refuses a module with a public function that cannot be run here.
static Error checkPublicFunctions(const Options &options, ModuleOp module) {
  bool hasPublic = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic())
      continue;
    hasPublic = true;
    if (Error error = getSignature(function).takeError())
      return error;
    if (Error error = checkMemory(function, options))
      return error;
  }
  if (!hasPublic)
    return createStringError("the file has no public function");
  return Error::success();
}

static llvm::json::Object toJSON(StringRef function, const CheckResult &verdict,
                                 PlanReport plan) {
  Report report;
  report.deviation = verdict.deviation;
  report.plan = std::move(plan);
  llvm::json::Object all = report.toJSON();
  return llvm::json::Object{{"entry", function},
                            {"passed", verdict.passed()},
                            {"result_hash", verdict.hash},
                            {"max_abs_error", std::move(all["max_abs_error"])},
                            {"max_rel_error", std::move(all["max_rel_error"])},
                            {"nonfinite_elements", verdict.deviation.nonFinite},
                            {"chains", std::move(all["chains"])}};
}

namespace {
/// What came of the checks of all functions.
struct CheckTable {
  /// For people and for programs.
  std::string text;
  llvm::json::Array functions;
};
} // namespace

/// True if `function` has dynamic sizes.
static bool hasDynamicSizes(const runner::Function &function) {
  return !llvm::all_of(function.arguments, [](const ValueType &type) {
    return type.hasStaticShape();
  });
}

/// Checks the functions of `program` one by one and adds them to `table`: those
/// of `fixed`, in which dynamic sizes are fixed, and only those if `onlyFixed`.
static Error checkFunctions(Program &program, ModuleOp fixed,
                            Reference &reference, uint64_t seed, bool onlyFixed,
                            llvm::StringMap<PlanReport> &plans,
                            CheckTable &table) {
  llvm::raw_string_ostream os(table.text);
  Error failures = Error::success();
  for (const runner::Function &general : program.getFunctions()) {
    if (onlyFixed && !hasDynamicSizes(general))
      continue;
    Expected<runner::Function> function =
        getSignature(fixed.lookupSymbol<func::FuncOp>(general.name));
    if (!function)
      return llvm::joinErrors(std::move(failures), function.takeError());
    Expected<CheckResult> verdict =
        checkFunction(*function, program, reference, seed);
    if (!verdict)
      return llvm::joinErrors(std::move(failures), verdict.takeError());
    if (!verdict->passed())
      failures = llvm::joinErrors(
          std::move(failures),
          makeCheckError(general.name, verdict->deviation, verdict->allowed));
    os << (verdict->passed() ? "passed " : "FAILED ") << general.name
       << llvm::format("  max rel error %.2e\n", verdict->deviation.maxRel);
    table.functions.push_back(
        toJSON(general.name, *verdict, plans[general.name]));
  }
  return failures;
}

/// Checks every public function, for many small programs in one process.
static Error checkAll(const Options &options, ModuleOp module,
                      TargetAttrInterface target, double parseSeconds,
                      CompileListener &listener) {
  if (Error error = checkRunsHere(target))
    return error;
  if (Error error = checkPublicFunctions(options, module))
    return error;
  llvm::StringMap<PlanReport> plans;
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.listener = &listener;
  // Programs are small and many: LLVM's optimiser would take most of the time,
  // and it is not what is checked here.
  compileOptions.optimizationLevel = 1;
  compileOptions.onPlanned = [&](ModuleOp planned, double) {
    for (auto function : planned.getOps<func::FuncOp>())
      plans[function.getName()] = describePlan(function);
  };
  Expected<Compiled> compiled = compileTimed(module, compileOptions);
  if (!compiled)
    return compiled.takeError();

  Report report;
  report.file = options.file;
  report.entry = "*";
  report.target = options.target;
  report.seed = options.seed;
  report.threads = resolveThreads(target, options.threads);
  report.compileSeconds = parseSeconds + compiled->seconds;
  report.objectSeconds = compiled->objectSeconds;
  report.remarks = selectRemarks(std::move(compiled->remarks), options);
  CheckTable table;
  Error errors = Error::success();
  for (size_t index = 0; index < std::max<size_t>(1, options.at.size());
       ++index) {
    Sizes sizes = options.at.empty() ? Sizes() : options.at[index];
    Expected<OwningOpRef<ModuleOp>> fixed = fixModule(module, sizes);
    if (!fixed)
      return llvm::joinErrors(std::move(errors), fixed.takeError());
    Expected<Reference> reference =
        Reference::create(**fixed, /*optimizationLevel=*/1);
    if (!reference)
      return llvm::joinErrors(std::move(errors), reference.takeError());
    if (!sizes.empty())
      table.text += "at " + toString(sizes) + "\n";
    errors = llvm::joinErrors(
        std::move(errors),
        checkFunctions(*compiled->program, **fixed, *reference, options.seed,
                       /*onlyFixed=*/index > 0, plans, table));
  }
  if (options.remarks) {
    llvm::raw_string_ostream os(table.text);
    printRemarks(report.remarks, os);
  }
  if (options.json != "-")
    errors = llvm::joinErrors(std::move(errors), writeText("-", table.text));
  if (options.json.empty())
    return errors;
  llvm::json::Object object = report.toJSON();
  object["functions"] = std::move(table.functions);
  return llvm::joinErrors(std::move(errors),
                          writeJSON(options.json, std::move(object)));
}

/// Marks the arguments that `--constant` names.
static Error markConstants(const Options &options, ModuleOp module) {
  if (options.constants.empty())
    return Error::success();
  Expected<func::FuncOp> entry = findEntry(module, options.entry);
  if (!entry)
    return entry.takeError();
  for (unsigned index : options.constants) {
    if (index >= entry->getNumArguments())
      return createStringError("--constant names argument %u, but '%s' has %u",
                               index, entry->getName().str().c_str(),
                               entry->getNumArguments());
    entry->setArgAttr(index, ChimeraDialect::getConstantAttrName(),
                      UnitAttr::get(module.getContext()));
  }
  return Error::success();
}

/// Makes the symbols of the libraries known to programs.
static Error loadLibraries(const Options &options) {
  for (const std::string &path : options.sharedLibraries) {
    std::string message;
    if (llvm::sys::DynamicLibrary::LoadLibraryPermanently(path.c_str(),
                                                          &message))
      return createStringError("--shared-libs: " + message);
  }
  return Error::success();
}

static Error runTool(const Options &options, MLIRContext &context) {
  if (options.help)
    return writeText("-", kUsage);
  if (Error error = loadLibraries(options))
    return error;
  if (options.checkMicroKernels)
    return checkMicroKernels(options.microKernels, getCompileOptions(options),
                             options.seed, context);
  ProgressLine progress(options.verbose);
  std::optional<Expected<OwningOpRef<ModuleOp>>> module;
  double parseSeconds = timeOnce([&] {
    Stage stage(&progress, "parse");
    module.emplace(parseFile(options.file, &context));
  });
  if (!*module)
    return module->takeError();
  Expected<TargetAttrInterface> target = getTargetOf(***module, options.target);
  if (!target)
    return target.takeError();
  if (Error error = markConstants(options, ***module))
    return error;
  if (options.emit != Emit::Nothing) {
    if (!options.sizes.empty()) {
      Expected<func::FuncOp> entry = findEntry(***module, options.entry);
      if (!entry)
        return entry.takeError();
      if (Error error = setSizes(options, *entry))
        return error;
    }
    return emitFile(options, getCompileOptions(options), ***module, progress);
  }
  if (options.entry == "*")
    return checkAll(options, ***module, *target, parseSeconds, progress);
  return runEntry(options, ***module, *target, parseSeconds, progress);
}

/// Nothing can be allocated any more: whichever thread finds out says so.
static void reportNoMemory() {
  static std::atomic_flag isReported = ATOMIC_FLAG_INIT;
  while (isReported.test_and_set())
    pause();
  constexpr StringRef message = "chimera-run: error: out of memory\n";
  (void)!write(STDERR_FILENO, message.data(), message.size());
  _exit(1);
}

static void reportBadAlloc(void *, const char *, bool) { reportNoMemory(); }

/// Every error is one line.
static void printErrors(Error error) {
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase &info) {
    std::string message = info.message();
    llvm::errs() << "chimera-run: error: "
                 << StringRef(message).rtrim().split('\n').first << '\n';
  });
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg(
      "This is a defect of Chimera; please report it with the "
      "program and what follows.\n");
  llvm::InitLLVM initialized(argc, argv);
  // A file that grows too large is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::install_bad_alloc_error_handler(reportBadAlloc);
  std::set_new_handler(reportNoMemory);
  Expected<Options> options = parseOptions(
      llvm::ArrayRef<const char *>(argv, argc).drop_front(argc > 0));
  if (!options) {
    printErrors(options.takeError());
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  // Threads of the compiler would only be in the way of those that are timed.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (Error error = runTool(*options, context)) {
    printErrors(std::move(error));
    return 1;
  }
  return 0;
}
