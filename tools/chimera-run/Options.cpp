//===- Options.cpp - Command line of chimera-run --------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsed by hand: LLVM's command line would offer the options of every library
// that is linked in.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace chimera;
using namespace chimera::run;
using llvm::createStringError;
using llvm::Error;
using llvm::StringRef;

const char *const chimera::run::kUsage =
    R"(chimera-run: compile a program, run it, check it, time it, explain it

usage: chimera-run FILE.mlir [options]

FILE.mlir holds linalg or TOSA on tensors; "-" is standard input. FILE.onnx,
FILE.pt2 and FILE.stablehlo.mlir are imported by the Python package, where that is
installed (CHIMERA_PYTHON, else python3).

  --entry=NAME      function to run (default: main, or the only public one);
                    --entry='*' checks every public function, lightly
                    optimised and without timing
  --target=NAME     machine to compile for (default: host)
  --threads=N       threads to run on (default: the target's cores)
  --processes=P     run as P processes by MPI (docs/several-machines.md); starts
                    mpirun, unless it is started by it; with --emit, write the
                    program that each of them runs
  --split=MODE      of programs without annotations: auto, what the model says
                    (default), or always, the best cut even if it is slower
  --overlap=MODE    of all-reduces with computing: auto, what the model says
                    (default), never, or always, even if it is slower
  --input=X.npy     an argument; repeat in order; the rest is random
  --output=Y.npy    write a result, unless the check fails; repeat in order
  --constant=I,J    arguments, counted from 0, that are the same in every call
                    (weights): what is computed from them alone is computed
                    once, before the clock starts
  --panels=I:N,...  of constants, the columns of the panels in which another
                    program keeps them (the manifest of --json has these): plans
                    that can share them do, unless they take over 5% longer
  --only-panels=I:N,... the same of constants that are kept in nothing else:
                    plans that can share them do
  --weights=FILE    a safetensors file with the values of arguments by number
                    ("0", "3"), which are constants; --input gives the others
  --sizes=S,T       the dynamic sizes of arguments to plan for, besides a plan
                    for any: a number for each, with x between them (1x128)
  --at=S,T          the dynamic sizes to run at (default: the first of --sizes,
                    or of the program's own); the first is timed
  --seed=N          seed of random arguments, below 2^32 (default: 0)
  --fuse=MODE       auto: where it is predicted to gain (default),
                    never, always
  --tiles=MODE      exact: search orders and tiles (default); closed-form: take
                    them from formulas, in microseconds
  --compare-plans=N time the program in turns with other plans of it, and show
                    what is predicted for each: separate operators, all chains
                    as one kernel each, and the N next best plans of these; of
                    --at, with programs for these sizes alone
  --groups=MODE     how operators outside chains become groups: exact, the
                    cheapest partition (default); greedy, by rules; separate
  --compare-groups=N time the program in turns with other groups, and show what
                    is predicted for each: by rules, separate operators, and
                    the N next best partitions
  --chimera-micro-kernels=KERNELS.mlir
                    micro kernels to use besides Chimera's own where they are
                    predicted to be faster (docs/micro-kernels.md)
  --emulate-tiles   compute tiles of AMX on vectors, to check programs for it on
                    machines without
  --check-micro-kernels
                    run these on random matrices instead of a program, and
                    compare with what they say they compute
  --shared-libs=X.so
                    a library with C functions that kernels call; repeatable
  --json=PATH       write the report as JSON; "-" prints it instead of the table;
                    with --emit a manifest: what the file has, and the plans
  --report=PATH     write how each chain was planned, as a page (.html), data
                    (.json) or text (docs/report.md)
  --remarks         show every decision of the compiler with its reason; without
                    it, only what it did not take
  --jobs=N          threads that compile kernels (default: one per core); the
                    result is the same
  --verbose         say how long each stage of the compilation takes; on a
                    terminal, a line shows how far a long one is anyway
  --no-check        do not compare with plain loops in higher precision, nor
                    several processes with one: none then has whole weights
  --no-time         do not measure times
  --alone           time the program by itself, not in turns with separate
                    operators, whose weights would take the room of its own in
                    the caches
  --emit=KIND       do not run; write mlir (as planned), llvm, asm, obj or so
  --header=PATH     with --emit=obj or so: write declarations for C there
  -o PATH           where to (default: standard output for text, else FILE's
                    name with .o or .so)
  --runtime=LIBRARY the library that --emit=so links against, for programs inside
                    a host with threads of its own: libchimera_runtime.so
                    (default: LLVM's OpenMP)
  --help            this text

Exit status: 0 if all is well, 1 on errors and failed checks, 2 on wrong usage.
)";

template <typename T>
static Error parseNumber(StringRef name, StringRef value, T least, T most,
                         T &result) {
  if (value.getAsInteger(10, result) || result < least || result > most)
    return createStringError(name + " takes a number from " +
                             llvm::Twine(least) + " to " + llvm::Twine(most) +
                             ", got '" + value + "'");
  return Error::success();
}

static Error parseFuse(StringRef value, FuseMode &fuse) {
  std::optional<FuseMode> mode =
      llvm::StringSwitch<std::optional<FuseMode>>(value)
          .Case("auto", FuseMode::Auto)
          .Case("never", FuseMode::Never)
          .Case("always", FuseMode::Always)
          .Default(std::nullopt);
  if (!mode)
    return createStringError("--fuse takes auto, never or always, got '" +
                             value + "'");
  fuse = *mode;
  return Error::success();
}

static Error parseGroups(StringRef value, PartitionSearchKind &groups) {
  std::optional<PartitionSearchKind> mode =
      llvm::StringSwitch<std::optional<PartitionSearchKind>>(value)
          .Case("exact", PartitionSearchKind::Exact)
          .Case("greedy", PartitionSearchKind::Greedy)
          .Case("separate", PartitionSearchKind::Separate)
          .Default(std::nullopt);
  if (!mode)
    return createStringError("--groups takes exact, greedy or separate, got '" +
                             value + "'");
  groups = *mode;
  return Error::success();
}

static Error parseTiles(StringRef value, TileMode &tiles) {
  std::optional<TileMode> mode =
      llvm::StringSwitch<std::optional<TileMode>>(value)
          .Case("exact", TileMode::Exact)
          .Case("closed-form", TileMode::ClosedForm)
          .Default(std::nullopt);
  if (!mode)
    return createStringError("--tiles takes exact or closed-form, got '" +
                             value + "'");
  tiles = *mode;
  return Error::success();
}

static Error parseSplit(StringRef value, SplitMode &split) {
  if (value != "auto" && value != "always")
    return createStringError("--split takes auto or always, got '" + value +
                             "'");
  split = value == "auto" ? SplitMode::Auto : SplitMode::Always;
  return Error::success();
}

static Error parseOverlap(StringRef value, OverlapMode &overlap) {
  std::optional<OverlapMode> mode =
      llvm::StringSwitch<std::optional<OverlapMode>>(value)
          .Case("auto", OverlapMode::Auto)
          .Case("never", OverlapMode::Never)
          .Case("always", OverlapMode::Always)
          .Default(std::nullopt);
  if (!mode)
    return createStringError("--overlap takes auto, never or always, got '" +
                             value + "'");
  overlap = *mode;
  return Error::success();
}

static Error parseConstants(StringRef value, std::vector<unsigned> &constants) {
  llvm::SmallVector<StringRef> items;
  value.split(items, ',');
  for (StringRef item : items)
    if (item.getAsInteger(10, constants.emplace_back()))
      return createStringError("--constant takes positions of arguments with "
                               "commas between them, got '" +
                               value + "'");
  return Error::success();
}

static Error parsePanels(StringRef name, StringRef value, bool isOnly,
                         std::vector<runner::Panels> &panels) {
  llvm::SmallVector<StringRef> items;
  value.split(items, ',');
  for (StringRef item : items) {
    auto [argument, columns] = item.split(':');
    runner::Panels &last = panels.emplace_back();
    last.isOnly = isOnly;
    if (argument.getAsInteger(10, last.argument) ||
        columns.getAsInteger(10, last.columns) || last.columns <= 0)
      return createStringError(name +
                               " takes positions of arguments with "
                               "columns, as in 3:48,5:64, got '" +
                               value + "'");
  }
  return Error::success();
}

/// Cases with commas between them, each of numbers with an x between them.
static Error parseSizes(StringRef name, StringRef value,
                        std::vector<std::vector<int64_t>> &cases) {
  constexpr int64_t most = int64_t(1) << 40;
  llvm::SmallVector<StringRef> items;
  value.split(items, ',');
  for (StringRef item : items) {
    llvm::SmallVector<StringRef> numbers;
    item.split(numbers, 'x');
    std::vector<int64_t> &sizes = cases.emplace_back();
    for (StringRef number : numbers)
      if (number.getAsInteger(10, sizes.emplace_back()) || sizes.back() < 0 ||
          sizes.back() > most)
        return createStringError(
            name +
            " takes sizes such as 128,512 or, of several dimensions, "
            "1x128,1x512, got '" +
            value + "'");
  }
  return Error::success();
}

static Error parseEmit(StringRef value, Emit &emit) {
  emit = llvm::StringSwitch<Emit>(value)
             .Case("mlir", Emit::MLIR)
             .Case("llvm", Emit::LLVM)
             .Case("asm", Emit::Assembly)
             .Case("obj", Emit::Object)
             .Case("so", Emit::SharedLibrary)
             .Default(Emit::Nothing);
  if (emit == Emit::Nothing)
    return createStringError("--emit takes mlir, llvm, asm, obj or so, got '" +
                             value + "'");
  return Error::success();
}

/// An option without a value. Returns false if `name` is none.
static bool parseFlag(StringRef name, Options &options) {
  if (name == "--no-check")
    options.check = false;
  else if (name == "--no-time")
    options.time = false;
  else if (name == "--alone")
    options.alone = true;
  else if (name == "--remarks")
    options.remarks = true;
  else if (name == "--verbose")
    options.verbose = true;
  else if (name == "--emulate-tiles")
    options.emulateTiles = true;
  else if (name == "--check-micro-kernels")
    options.checkMicroKernels = true;
  else if (name == "--help" || name == "-h")
    options.help = true;
  else
    return false;
  return true;
}

static Error parseValue(StringRef name, StringRef value, Options &options) {
  constexpr unsigned maxThreads = 1024;
  constexpr unsigned maxPlans = 100;
  constexpr int64_t maxProcesses = 65536;
  if (name == "--processes")
    return parseNumber<int64_t>(name, value, 1, maxProcesses,
                                options.processes);
  if (name == "--split")
    return parseSplit(value, options.split);
  if (name == "--overlap")
    return parseOverlap(value, options.overlap);
  if (name == "--threads")
    return parseNumber<int64_t>(name, value, 1, maxThreads, options.threads);
  if (name == "--jobs")
    return parseNumber<unsigned>(name, value, 1, maxThreads, options.jobs);
  if (name == "--seed")
    return parseNumber<uint64_t>(
        name, value, 0, std::numeric_limits<uint32_t>::max(), options.seed);
  if (name == "--fuse")
    return parseFuse(value, options.fuse);
  if (name == "--tiles")
    return parseTiles(value, options.tiles);
  if (name == "--compare-plans")
    return parseNumber<unsigned>(name, value, 0, maxPlans,
                                 options.comparedPlans.emplace());
  if (name == "--groups")
    return parseGroups(value, options.groups);
  if (name == "--compare-groups")
    return parseNumber<unsigned>(name, value, 0, maxPlans,
                                 options.comparedGroups.emplace());
  if (name == "--emit")
    return parseEmit(value, options.emit);
  if (name == "--constant")
    return parseConstants(value, options.constants);
  if (name == "--panels" || name == "--only-panels")
    return parsePanels(name, value, name == "--only-panels", options.panels);
  if (name == "--sizes")
    return parseSizes(name, value, options.sizes);
  if (name == "--at")
    return parseSizes(name, value, options.at);

  std::string *text =
      llvm::StringSwitch<std::string *>(name)
          .Case("--entry", &options.entry)
          .Case("--target", &options.target)
          .Case("--json", &options.json)
          .Case("--chimera-micro-kernels", &options.microKernels)
          .Case("--header", &options.header)
          .Case("-o", &options.outputFile)
          .Case("--runtime", &options.hostRuntime)
          .Case("--report", &options.report)
          .Case("--weights", &options.weights)
          .Default(nullptr);
  if (name == "--input")
    text = &options.inputs.emplace_back();
  if (name == "--output")
    text = &options.outputs.emplace_back();
  if (name == "--shared-libs")
    text = &options.sharedLibraries.emplace_back();
  if (!text)
    return createStringError("unknown option '" + name + "'; see --help");
  if (value.empty())
    return createStringError(name + " needs a value");
  *text = value.str();
  return Error::success();
}

static Error checkCombination(const Options &options) {
  if (options.help)
    return Error::success();
  if (options.checkMicroKernels && options.microKernels.empty())
    return createStringError(
        "--check-micro-kernels needs --chimera-micro-kernels=FILE");
  if (options.processes > 1 &&
      (options.comparedPlans || !options.sizes.empty() || !options.at.empty() ||
       options.checkMicroKernels ||
       (options.file == "-" && options.emit == Emit::Nothing)))
    return createStringError("--processes runs functions of a file; it does "
                             "not go with --compare-plans, "
                             "--check-micro-kernels, --sizes and --at");
  if (options.processes > 1 && options.entry == "*" && !options.json.empty())
    return createStringError("--processes writes a report of one function; "
                             "--json does not go with --entry=*");
  if (options.checkMicroKernels && !options.file.empty())
    return createStringError("--check-micro-kernels runs no program, but '" +
                             options.file + "' is given");
  if (options.file.empty() && !options.checkMicroKernels)
    return createStringError("no input file; see --help");
  if (!options.outputFile.empty() && options.emit == Emit::Nothing)
    return createStringError("-o goes with --emit; results go to --output");
  if (!options.header.empty() && options.emit != Emit::Object &&
      options.emit != Emit::SharedLibrary)
    return createStringError("--header declares what --emit=obj and --emit=so "
                             "write");
  if (options.file == "-" && options.outputFile.empty() &&
      (options.emit == Emit::Object || options.emit == Emit::SharedLibrary))
    return createStringError("--emit=obj and --emit=so need -o if the program "
                             "comes from standard input");
  if (options.comparedPlans &&
      (!options.time || options.entry == "*" || options.emit != Emit::Nothing))
    return createStringError("--compare-plans times programs; it does not go "
                             "with --no-time, --emit or --entry=*");
  if (options.comparedGroups &&
      (!options.time || options.entry == "*" || options.emit != Emit::Nothing))
    return createStringError("--compare-groups times programs; it does not go "
                             "with --no-time, --emit or --entry=*");
  if (options.comparedGroups && options.comparedPlans)
    return createStringError("--compare-groups and --compare-plans compare "
                             "with different things; give one of them");
  if (options.alone && (options.comparedGroups || options.comparedPlans))
    return createStringError("--alone times one program; it does not go with "
                             "--compare-groups and --compare-plans");
  if (options.entry == "*" &&
      !(options.inputs.empty() && options.outputs.empty() &&
        options.constants.empty() && options.panels.empty() &&
        options.sizes.empty()))
    return createStringError("--entry=* takes no --input, no --output, no "
                             "--constant, no --panels and no --sizes");
  if (options.emit == Emit::MLIR && !options.json.empty())
    return createStringError("--emit=mlir has no manifest; --report has the "
                             "plans");
  if (!options.hostRuntime.empty() && options.emit != Emit::SharedLibrary)
    return createStringError("--runtime goes with --emit=so");
  if (options.emit != Emit::Nothing && !options.at.empty())
    return createStringError("--at says what to run, and --emit runs nothing");
  return Error::success();
}

llvm::Expected<Options>
chimera::run::parseOptions(llvm::ArrayRef<const char *> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "-" || !argument.starts_with("-")) {
      if (!options.file.empty())
        return createStringError("more than one input file: '" + options.file +
                                 "' and '" + argument + "'");
      options.file = options.program = argument.str();
      continue;
    }
    if (parseFlag(argument, options))
      continue;
    auto [name, value] = argument.split('=');
    if (argument == "-o" && i + 1 < arguments.size())
      value = arguments[++i];
    if (Error error = parseValue(name, value, options))
      return error;
  }
  if (Error error = checkCombination(options))
    return error;
  return options;
}
