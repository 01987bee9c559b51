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
#include "Compiling.h"
#include "EmitFile.h"
#include "ForeignModel.h"
#include "Options.h"
#include "ProcessSession.h"
#include "ProgressLine.h"
#include "Session.h"

#include "Chimera/Report/PlanCollector.h"
#include "Chimera/Runner/Launch.h"
#include "Chimera/Runner/Remarks.h"
#include "Chimera/Runner/Report.h"
#include "Chimera/Runner/Safetensors.h"
#include "Chimera/Runner/Sizes.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <new>
#include <optional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

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

/// The sizes that `entry` is run at: none, once, if it has no dynamic ones.
static Expected<std::vector<Sizes>> getCases(const Options &options,
                                             func::FuncOp entry) {
  std::vector<Sizes> cases = options.at;
  if (cases.empty())
    if (std::optional<Sizes> first = getFirstSizes(entry))
      cases.push_back(std::move(*first));
  if (cases.empty() && hasDynamicSizes(entry))
    return createStringError("'" + entry.getName() + "' has " +
                             describeDynamicSizes(entry) +
                             "; say with --sizes what to plan for, or with "
                             "--at what to run");
  for (const Sizes &sizes : cases)
    if (Error error = checkSizes(entry, sizes))
      return std::move(error);
  if (cases.empty())
    cases.emplace_back();
  return cases;
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

static Error makeCheckError(StringRef function, const Deviation &deviation,
                            double allowed) {
  return createStringError("'%s' differs from the reference: max_rel_error "
                           "%.2e, allowed are %.1e",
                           function.str().c_str(), deviation.maxRel, allowed);
}

static Error runEntry(const Options &options, ModuleOp module,
                      TargetAttrInterface target, double parseSeconds,
                      CompileListener &listener, PlanCollector &plans) {
  Expected<func::FuncOp> entry = findEntry(module, options.entry);
  if (!entry)
    return entry.takeError();
  if (Error error = setSizes(*entry, options.sizes))
    return error;
  Expected<std::vector<Sizes>> cases = getCases(options, *entry);
  if (!cases)
    return cases.takeError();
  Session session(options, module, entry->getName(), target, parseSeconds,
                  listener, plans);
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
  if (Error error = checkRunsHere(target, options.emulateTiles))
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

/// Adds the arguments with weights to the constants.
static Error addWeights(Options &options) {
  if (options.weights.empty())
    return Error::success();
  Expected<SafetensorsFile> file = SafetensorsFile::open(options.weights);
  if (!file)
    return file.takeError();
  for (const SafetensorsFile::Entry &entry : file->getEntries()) {
    unsigned index;
    if (StringRef(entry.name).getAsInteger(10, index))
      return createStringError(options.weights + ": '" + entry.name +
                               "' is not the number of an argument");
    if (!llvm::is_contained(options.constants, index))
      options.constants.push_back(index);
  }
  return Error::success();
}

/// The functions that several processes run: one, or every public one.
static Expected<SmallVector<func::FuncOp>> findSharedEntries(ModuleOp module,
                                                             StringRef name) {
  SmallVector<func::FuncOp> entries;
  if (name != "*") {
    Expected<func::FuncOp> entry = findEntry(module, name);
    if (!entry)
      return entry.takeError();
    entries.push_back(*entry);
  } else {
    llvm::copy_if(module.getOps<func::FuncOp>(), std::back_inserter(entries),
                  [](func::FuncOp function) { return function.isPublic(); });
  }
  if (entries.empty())
    return createStringError("the file has no public function");
  for (func::FuncOp entry : entries)
    if (hasDynamicSizes(entry))
      return createStringError("several processes take static sizes, and '" +
                               entry.getName() + "' has " +
                               describeDynamicSizes(entry));
  return entries;
}

/// Starts the processes of a program. A model of another format goes to all of
/// them as what it was imported to, which stays for as long as they run.
static Error launch(const Options &options, int64_t threads,
                    std::optional<ForeignModel> &foreign,
                    llvm::ArrayRef<const char *> arguments) {
  if (options.program == options.file)
    return startProcesses(options.processes, threads, arguments);
  std::vector<const char *> own(arguments);
  for (const char *&argument : own)
    if (argument == options.file)
      argument = options.program.c_str();
  std::string weights = "--weights=" + options.weights;
  own.push_back(weights.c_str());
  pid_t child = fork();
  if (child < 0)
    return createStringError("no process can be started");
  if (child == 0)
    return startProcesses(options.processes, threads, own);
  int status = 0;
  waitpid(child, &status, 0);
  foreign.reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return Error::success();
  // They have said why.
  std::exit(1);
}

static Error runTool(Options &options, llvm::ArrayRef<const char *> arguments,
                     MLIRContext &context, PlanCollector &plans) {
  if (options.help)
    return writeText("-", kUsage);
  std::optional<ForeignModel> foreign(std::in_place);
  if (Error error = foreign->import(options))
    return error;
  if (Error error = addWeights(options))
    return error;
  if (Error error = loadLibraries(options))
    return error;
  if (options.checkMicroKernels)
    return checkMicroKernels(options.microKernels, getCompileOptions(options),
                             options.seed, context);
  ProgressLine progress(options.verbose);
  std::optional<Expected<OwningOpRef<ModuleOp>>> module;
  double parseSeconds = timeOnce([&] {
    Stage stage(&progress, "parse");
    module.emplace(parseFile(options.program, &context));
  });
  if (!*module)
    return module->takeError();
  Expected<TargetAttrInterface> target = getTargetOf(***module, options.target);
  if (!target)
    return target.takeError();
  if (!options.constants.empty() || !options.panels.empty()) {
    Expected<func::FuncOp> entry = findEntry(***module, options.entry);
    if (!entry)
      return entry.takeError();
    if (Error error = markConstants(*entry, options.constants))
      return error;
    if (Error error = markPanels(*entry, options.panels))
      return error;
  }
  if (options.emit != Emit::Nothing) {
    if (!options.sizes.empty()) {
      Expected<func::FuncOp> entry = findEntry(***module, options.entry);
      if (!entry)
        return entry.takeError();
      if (Error error = setSizes(*entry, options.sizes))
        return error;
    }
    return emitFile(options, getCompileOptions(options), ***module, progress);
  }
  if (options.processes > 1) {
    Expected<SmallVector<func::FuncOp>> entries =
        findSharedEntries(***module, options.entry);
    if (!entries)
      return entries.takeError();
    if (!isStartedByMPI())
      return launch(options, getThreadsOfProcess(options, *target), foreign,
                    arguments);
    return runAsProcess(options, ***module, *entries, *target);
  }
  if (options.entry == "*")
    return checkAll(options, ***module, *target, parseSeconds, progress);
  return runEntry(options, ***module, *target, parseSeconds, progress, plans);
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

/// True if the process has as good as all the addresses that it may have.
static bool hasNoAddressesLeft() {
  constexpr rlim_t room = 1 << 20;
  rlimit most;
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
    return false;
  // The first number is the size in pages.
  char text[32] = {};
  int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0)
    return false;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  rlim_t pages = 0;
  for (const char *digit = text; digit < text + length && std::isdigit(*digit);
       ++digit)
    pages = 10 * pages + (*digit - '0');
  return pages * static_cast<rlim_t>(getpagesize()) + room > most.rlim_cur;
}

/// What handled crashes before.
static struct sigaction crashHandler;

/// MLIR does not look whether there is memory for an operation, and writes to
/// none. Other crashes are left to LLVM, when the instruction is tried again or
/// the signal, which somebody sent, comes again.
static void handleCrash(int, siginfo_t *info, void *) {
  constexpr uintptr_t firstPage = 4096;
  if (info->si_code > 0 &&
      reinterpret_cast<uintptr_t>(info->si_addr) < firstPage &&
      hasNoAddressesLeft())
    reportNoMemory();
  sigaction(SIGSEGV, &crashHandler, nullptr);
  if (info->si_code <= 0)
    raise(SIGSEGV);
}

static void reportCrashesWithoutMemory() {
  struct sigaction handler = {};
  handler.sa_sigaction = handleCrash;
  handler.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&handler.sa_mask);
  sigaction(SIGSEGV, &handler, &crashHandler);
}

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
  reportCrashesWithoutMemory();
  Expected<Options> options = parseOptions(
      llvm::ArrayRef<const char *>(argv, argc).drop_front(argc > 0));
  if (!options) {
    printErrors(options.takeError());
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  PlanCollector plans;
  if (options->report.empty())
    plans.listenToPartitions(registry);
  else
    plans.listen(registry);
  // Threads of the compiler would only be in the way of those that are timed.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Error error = runTool(*options, llvm::ArrayRef<const char *>(argv, argc),
                        context, plans);
  if (!error && !options->report.empty())
    error = plans.write(options->report);
  if (!error)
    return 0;
  // What one process finds, others may find too; the first to speak ends them.
  if (isStartedByMPI() && getStartedNumber() > 0)
    sleep(1);
  printErrors(std::move(error));
  return 1;
}
