//===- ProcessSession.cpp - One function run by processes -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessSession.h"

#include "Arguments.h"
#include "Check.h"
#include "Compiling.h"
#include "RunningProgram.h"
#include "Session.h"

#include "chimera_collectives.h"

#include "Chimera/IR/Collectives.h"
#include "Chimera/IR/Parts.h"
#include "Chimera/Runner/Launch.h"
#include "Chimera/Runner/Timing.h"
#include "Chimera/Support/OutputFile.h"
#include "Chimera/Support/TensorSlice.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include <sys/resource.h>

using namespace mlir;
using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::format;

namespace {
/// Calls and bytes of one kind of collective in one call of the program.
struct Moved {
  int64_t calls = 0, bytes = 0;
  bool operator!=(const Moved &other) const {
    return calls != other.calls || bytes != other.bytes;
  }
};

constexpr size_t kNumKinds = CHIMERA_BROADCAST + 1;
using MovedByKind = std::array<Moved, kNumKinds>;

/// One process's view of the run.
class ProcessSession {
public:
  ProcessSession(const Options &options, ModuleOp module, StringRef entry,
                 TargetAttrInterface target)
      : options(options), module(module), entry(entry), target(target) {}

  Error run();

private:
  Error cut();
  Error makeTensors();
  Error compileOwn();
  Error bind();
  Error runAndCount();
  Error gatherResults();
  Error gatherResult(unsigned index);
  Error check();
  Error time();
  Expected<Samples> timeTogether(llvm::function_ref<void()> run);
  Error timeAlone();
  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJSON() const;

  const Options &options;
  ModuleOp module;
  std::string entry;
  TargetAttrInterface target;
  int64_t process = 0, processes = 1, threads = 1;
  /// The program that was not cut, and the one of each process.
  OwningOpRef<ModuleOp> whole, own;
  func::FuncOp function;
  std::unique_ptr<Program> program;
  ArgumentValues values;
  /// What this process has. Whole arguments are for the check alone.
  TensorList arguments, results, wholeArguments, wholeResults;
  Call call;
  std::vector<Remark> remarks;
  MovedByKind predicted, counted;
  std::optional<CheckResult> verdict;
  std::string reference, hash;
  std::optional<Samples> samples, alone;
  /// Of files, for this process's own arguments; and the most memory that any
  /// process had before the check.
  int64_t bytesRead = 0, peakBytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// All processes together
//===----------------------------------------------------------------------===//

/// Collectives of ours are among all processes, in a line.
static void enterLine() {
  int64_t line[] = {chimera_num_processes()};
  chimera_check_grid(1, line);
}

static void meet() {
  int32_t none = 0;
  enterLine();
  chimera_all_reduce(&none, &none, 1, CHIMERA_I32, CHIMERA_SUM, 1);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Takes the annotations of several processes out of `module`.
static void removeAnnotations(ModuleOp module) {
  SmallVector<Operation *> removed;
  module.walk([&](Operation *op) {
    if (auto shard = dyn_cast<shard::ShardOp>(op))
      shard.getResult().replaceAllUsesWith(shard.getSrc());
    if (isa<shard::ShardOp, shard::ShardingOp, shard::GridOp>(op))
      removed.push_back(op);
  });
  for (Operation *op : llvm::reverse(removed))
    op->erase();
}

Error ProcessSession::cut() {
  whole = module.clone();
  if (Error error = runFrontEnd(*whole))
    return error;
  own = whole->clone();
  removeAnnotations(*whole);
  RemarkCollector collector(module.getContext());
  if (Error error = cutProgram(*own, options, threads, process))
    return error;
  remarks = selectRemarks(collector.take(), options);
  function = own->lookupSymbol<func::FuncOp>(entry);
  return Error::success();
}

Error ProcessSession::compileOwn() {
  CompileOptions compileOptions = getCompileOptions(options);
  compileOptions.threads = threads;
  compileOptions.onPlanned = [&](ModuleOp planned, double) {
    planned.walk([&](Operation *op) {
      if (std::optional<model::Collective> collective = getCollective(op)) {
        Moved &moved = predicted[static_cast<size_t>(collective->kind)];
        ++moved.calls;
        moved.bytes += collective->payloadBytes;
      }
    });
  };
  Expected<Compiled> compiled = compileTimed(*own, compileOptions);
  if (!compiled)
    return compiled.takeError();
  llvm::append_range(remarks,
                     selectRemarks(std::move(compiled->remarks), options));
  program = std::move(compiled->program);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static PartAttr getArgumentPart(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<PartAttr>(index,
                                             ChimeraDialect::getPartAttrName());
}

static PartAttr getResultPart(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<PartAttr>(
      index, ChimeraDialect::getPartAttrName());
}

Error ProcessSession::makeTensors() {
  Expected<runner::Function> all =
      getSignature(whole->lookupSymbol<func::FuncOp>(entry));
  if (!all)
    return all.takeError();
  Expected<runner::Function> mine = getSignature(function);
  if (!mine)
    return mine.takeError();
  if (Error error = ArgumentValues::open(*all, options).moveInto(values))
    return error;
  int64_t before = values.getBytesRead();
  for (auto [index, type] : llvm::enumerate(mine->arguments)) {
    PartAttr part = getArgumentPart(function, index);
    SmallVector<int64_t> offsets(type.shape.size());
    if (part)
      offsets = getPartOffsets(part, process);
    Expected<Tensor> tensor = values.makeSlice(index, offsets, type.shape);
    if (!tensor)
      return tensor.takeError();
    arguments.tensors.push_back(std::move(*tensor));
  }
  bytesRead = values.getBytesRead() - before;
  if (Error error = TensorList::allocate(all->results).moveInto(wholeResults))
    return error;
  return TensorList::allocate(mine->results).moveInto(results);
}

/// Copies `part`, a dense tensor of extents `sizes`, to its place in `whole`.
static void putPart(const char *part, ArrayRef<int64_t> sizes,
                    ArrayRef<int64_t> offsets, Tensor &whole) {
  const ValueType &type = whole.getType();
  int64_t bytes = getElementBytes(type.element);
  char *to = static_cast<char *>(whole.data());
  forEachRun(type.shape, offsets, sizes, [&](const SliceRun &run) {
    std::memcpy(to + run.inWhole * bytes, part + run.inSlice * bytes,
                run.count * bytes);
  });
}

/// Puts what all processes have of a result together.
Error ProcessSession::gatherResult(unsigned index) {
  const Tensor &mine = results.tensors[index];
  const ValueType &type = mine.getType();
  int64_t bytes = type.getBytes();
  std::vector<char> all(bytes * processes);
  chimera_all_gather(mine.data(), all.data(), bytes, CHIMERA_I8, 1);
  PartAttr part = getResultPart(function, index);
  std::map<std::vector<int64_t>, int64_t> owners;
  for (int64_t other = 0; other < processes; ++other) {
    SmallVector<int64_t> offsets(type.shape.size());
    if (part)
      offsets = getPartOffsets(part, other);
    const char *data = all.data() + other * bytes;
    auto [owner, isFirst] = owners.try_emplace(
        std::vector<int64_t>(offsets.begin(), offsets.end()), other);
    if (isFirst)
      putPart(data, type.shape, offsets, wholeResults.tensors[index]);
    else if (std::memcmp(all.data() + owner->second * bytes, data, bytes) != 0)
      return createStringError("processes %lld and %lld have different bits in "
                               "the same part of result %u",
                               (long long)owner->second, (long long)other,
                               index);
  }
  return Error::success();
}

Error ProcessSession::gatherResults() {
  enterLine();
  for (unsigned index = 0; index < results.tensors.size(); ++index)
    if (Error error = gatherResult(index))
      return error;
  hash = wholeResults.getHash();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static MovedByKind getAllCounted() {
  MovedByKind moved;
  for (auto [kind, one] : llvm::enumerate(moved))
    std::tie(one.calls, one.bytes) = getCounted(kind);
  return moved;
}

/// Prepares calls. The weights that were packed for them are not read again.
Error ProcessSession::bind() {
  RunningProgram running("preparing the program");
  if (Error error =
          program->bind(entry, arguments.getPointers(), results.getPointers())
              .moveInto(call))
    return error;
  Expected<const runner::Function &> signature = program->getFunction(entry);
  if (!signature)
    return signature.takeError();
  for (unsigned index : signature->constants)
    if (!llvm::is_contained(signature->constantsRead, index))
      arguments.tensors[index] = Tensor();
  return Error::success();
}

Error ProcessSession::runAndCount() {
  // The first call may meet the grid for the first time.
  MovedByKind before = getAllCounted();
  if (Error error = bind())
    return error;
  {
    RunningProgram running("running the program");
    call();
  }
  counted = getAllCounted();
  for (auto [kind, moved] : llvm::enumerate(counted)) {
    moved.calls -= before[kind].calls;
    moved.bytes -= before[kind].bytes;
    if (moved != predicted[kind])
      return createStringError(
          "process %lld moved %lld bytes in %lld calls of %s, predicted are "
          "%lld in %lld",
          (long long)process, (long long)moved.bytes, (long long)moved.calls,
          model::getName(static_cast<model::CollectiveKind>(kind)).data(),
          (long long)predicted[kind].bytes, (long long)predicted[kind].calls);
  }
  return Error::success();
}

Error ProcessSession::check() {
  if (Error error = values.makeAll().moveInto(wholeArguments))
    return error;
  Expected<Reference> plain =
      Reference::create(*whole, /*optimizationLevel=*/3);
  if (!plain)
    return plain.takeError();
  reference = plain->description;
  return plain->check(entry, wholeArguments, wholeResults).moveInto(verdict);
}

static Samples summarize(std::vector<double> times) {
  llvm::sort(times);
  size_t count = times.size();
  return {times.front(), times[count / 2],
          times[count * 3 / 4] - times[count / 4], static_cast<int64_t>(count)};
}

/// Repeats what takes `seconds` for about half a second.
static int64_t getRepetitions(double seconds) {
  return std::clamp<int64_t>(static_cast<int64_t>(0.5 / seconds), 5, 500);
}

/// A call takes as long as the slowest process needs after all have met.
Expected<Samples> ProcessSession::timeTogether(llvm::function_ref<void()> run) {
  meet();
  int64_t repetitions = getRepetitions(timeOnce(run));
  enterLine();
  chimera_broadcast(&repetitions, 1, CHIMERA_I64, /*root=*/0, 1);
  std::vector<double> times(repetitions);
  for (double &time : times) {
    meet();
    time = timeOnce(run);
  }
  enterLine();
  chimera_all_reduce(times.data(), times.data(), repetitions, CHIMERA_F64,
                     CHIMERA_MAXIMUM, 1);
  return summarize(std::move(times));
}

/// The program that was not cut, on the first process, with as many threads;
/// the others wait.
Error ProcessSession::timeAlone() {
  if (process == 0) {
    CompileOptions compileOptions = getCompileOptions(options);
    compileOptions.threads = threads;
    Expected<std::unique_ptr<Program>> one = compile(*whole, compileOptions);
    if (!one)
      return one.takeError();
    Expected<Call> call = (*one)->bind(entry, wholeArguments.getPointers(),
                                       wholeResults.getPointers());
    if (!call)
      return call.takeError();
    (*call)();
    std::vector<double> times(getRepetitions(timeOnce(*call)));
    for (double &time : times)
      time = timeOnce(*call);
    alone = summarize(std::move(times));
  }
  meet();
  return Error::success();
}

Error ProcessSession::time() {
  RunningProgram running("timing");
  if (Error error = timeTogether(call).moveInto(samples))
    return error;
  return options.check ? timeAlone() : Error::success();
}

/// The most memory that this process has had.
static int64_t getPeakBytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(1024) * usage.ru_maxrss;
}

//===----------------------------------------------------------------------===//
// What came of it
//===----------------------------------------------------------------------===//

static void printTime(StringRef label, const Samples &samples,
                      llvm::raw_ostream &os) {
  os << llvm::left_justify(label, 11)
     << format("best %.1f us, median %.1f us, spread %.1f us (%lld samples)\n",
               1e6 * samples.best, 1e6 * samples.median, 1e6 * samples.spread,
               (long long)samples.count);
}

void ProcessSession::print(llvm::raw_ostream &os) const {
  os << "machine    " << describeMachine(target, threads) << '\n'
     << "program    " << options.file << ", @" << entry << ", target "
     << options.target << ", seed " << options.seed << ", " << processes
     << " processes\n";
  if (!remarks.empty())
    printRemarks(remarks, os);
  for (auto [kind, moved] : llvm::enumerate(predicted))
    if (moved.calls > 0)
      os << "moved      " << moved.calls << " x "
         << model::getName(static_cast<model::CollectiveKind>(kind)) << ": "
         << moved.bytes << " bytes predicted from each process, "
         << counted[kind].bytes << " counted\n";
  if (values.getBytesStored() > 0)
    os << "read       " << bytesRead << " of " << values.getBytesStored()
       << " bytes in files by the first process\n";
  os << format("memory     %.1f MB at most in a process, before the check\n",
               1e-6 * peakBytes);
  if (samples)
    printTime("time", *samples, os);
  if (alone) {
    printTime("alone", *alone, os);
    os << format("speed-up   %.2f over one process\n",
                 alone->best / samples->best);
  }
  if (verdict)
    os << format("error      max abs %.2e, max rel %.2e",
                 verdict->deviation.maxAbs, verdict->deviation.maxRel)
       << " against " << reference
       << format("; allowed are %.1e\n", verdict->allowed);
}

static llvm::json::Value toJSON(const std::optional<Samples> &samples) {
  if (!samples)
    return nullptr;
  return llvm::json::Object{{"best", samples->best},
                            {"median", samples->median},
                            {"spread", samples->spread},
                            {"samples", samples->count}};
}

llvm::json::Object ProcessSession::toJSON() const {
  llvm::json::Array collectives;
  for (auto [kind, moved] : llvm::enumerate(predicted))
    if (moved.calls > 0)
      collectives.push_back(llvm::json::Object{
          {"name", model::getName(static_cast<model::CollectiveKind>(kind))},
          {"calls", moved.calls},
          {"predicted_bytes", moved.bytes},
          {"counted_bytes", counted[kind].bytes}});
  std::optional<double> error;
  if (verdict)
    error = verdict->deviation.maxRel;
  return llvm::json::Object{{"entry", entry},
                            {"processes", processes},
                            {"threads", threads},
                            {"collectives", std::move(collectives)},
                            {"bytes_read", bytesRead},
                            {"bytes_in_files", values.getBytesStored()},
                            {"peak_bytes", peakBytes},
                            {"seconds", ::toJSON(samples)},
                            {"seconds_alone", ::toJSON(alone)},
                            {"max_rel_error", toJSONNumber(error)},
                            {"result_hash", hash}};
}

Error ProcessSession::run() {
  process = chimera_process();
  processes = chimera_num_processes();
  if (processes != options.processes)
    return createStringError("MPI has started %lld processes, and "
                             "--processes=%lld",
                             (long long)processes,
                             (long long)options.processes);
  threads = getThreadsOfProcess(options, target);
  if (Error error = cut())
    return error;
  if (Error error = makeTensors())
    return error;
  if (Error error = compileOwn())
    return error;
  if (Error error = runAndCount())
    return error;
  peakBytes = getPeakBytes();
  if (Error error = gatherResults())
    return error;
  chimera_all_reduce(&peakBytes, &peakBytes, 1, CHIMERA_I64, CHIMERA_MAXIMUM,
                     1);
  if (options.check && process == 0)
    if (Error error = check())
      return error;
  if (verdict && !verdict->passed())
    return createStringError("'%s' differs from the reference: max_rel_error "
                             "%.2e, allowed are %.1e",
                             entry.c_str(), verdict->deviation.maxRel,
                             verdict->allowed);
  if (process == 0)
    for (auto [path, tensor] : llvm::zip(options.outputs, wholeResults.tensors))
      if (Error error = writeNpy(path, tensor))
        return error;
  if (options.time)
    if (Error error = time())
      return error;
  if (process > 0)
    return Error::success();
  if (options.json != "-")
    print(llvm::outs());
  if (options.json.empty())
    return Error::success();
  return writeJSON(options.json, toJSON());
}

int64_t chimera::run::getThreadsOfProcess(const Options &options,
                                          TargetAttrInterface target) {
  if (options.threads > 0)
    return options.threads;
  return std::max<int64_t>(1, resolveThreads(target, 0) / options.processes);
}

/// `module` without the other functions among `entries`.
static OwningOpRef<ModuleOp>
cloneOnly(func::FuncOp entry, ArrayRef<func::FuncOp> entries, ModuleOp module) {
  OwningOpRef<ModuleOp> own = module.clone();
  for (func::FuncOp other : entries)
    if (other != entry)
      own->lookupSymbol(other.getName())->erase();
  return own;
}

Error chimera::run::runAsProcess(const Options &options, ModuleOp module,
                                 ArrayRef<func::FuncOp> entries,
                                 TargetAttrInterface target) {
  if (Error error = loadTransport())
    return error;
  for (func::FuncOp entry : entries) {
    OwningOpRef<ModuleOp> own = cloneOnly(entry, entries, module);
    Error error = ProcessSession(options, *own, entry.getName(), target).run();
    if (error && entries.size() == 1)
      return error;
    if (error)
      return createStringError("@" + entry.getName() + ": " +
                               llvm::toString(std::move(error)));
  }
  return Error::success();
}
