//===- Launch.cpp - Several processes of one program ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Launch.h"

#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <unistd.h>
#include <vector>

using namespace chimera;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::sys::Process;

/// How the libraries of MPI tell a process its number.
static constexpr const char *kNumbers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                           "PMIX_RANK"};

static std::optional<std::string> getNumber() {
  for (const char *name : kNumbers)
    if (std::optional<std::string> number = Process::GetEnv(name))
      return number;
  return std::nullopt;
}

bool chimera::runner::isStartedByMPI() { return getNumber().has_value(); }

int64_t chimera::runner::getStartedNumber() {
  int64_t number = 0;
  if (std::optional<std::string> text = getNumber())
    (void)llvm::to_integer(*text, number);
  return number;
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// The variable's value, else the first of `names` that is in PATH.
static Expected<std::string> findTool(StringRef variable,
                                      ArrayRef<StringRef> names) {
  SmallVector<StringRef> wanted(names);
  std::optional<std::string> given = Process::GetEnv(variable);
  if (given)
    wanted = {*given};
  for (StringRef name : wanted)
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return createStringError("several processes take MPI, and '" +
                           llvm::Twine(wanted.back()) +
                           "' is not in PATH: install it (scripts/setup "
                           "--mpi), or set " +
                           variable);
}

/// Runs `command`; what it says is put in `said`.
static int runQuietly(ArrayRef<StringRef> command, std::string &said) {
  TemporaryFile file;
  if (Error error = file.createInTemporaryFolder(".txt")) {
    said = llvm::toString(std::move(error));
    return 1;
  }
  const std::optional<StringRef> redirects[] = {StringRef(), file.getPath(),
                                                file.getPath()};
  int status = llvm::sys::ExecuteAndWait(command.front(), command, std::nullopt,
                                         redirects);
  if (auto text = llvm::MemoryBuffer::getFile(file.getPath()))
    said = (*text)->getBuffer().str();
  return status;
}

Error chimera::runner::startProcesses(int64_t processes, int64_t threads,
                                      ArrayRef<const char *> arguments) {
  Expected<std::string> mpirun = findTool("CHIMERA_MPIRUN", {"mpirun"});
  if (!mpirun)
    return mpirun.takeError();
  std::string said;
  if (runQuietly({*mpirun, "--version"}, said) != 0)
    return createStringError(*mpirun + " --version failed");
  bool isOpenMPI = StringRef(said).contains_insensitive("open-mpi") ||
                   StringRef(said).contains("Open MPI") ||
                   StringRef(said).contains("OpenRTE");
  int64_t cores = llvm::hardware_concurrency().compute_thread_count();
  bool fits = processes * threads <= cores;
  SmallVector<std::string> command = {*mpirun, "-n", std::to_string(processes)};
  // Processes that wait spin, and would take cores from others.
  if (!fits && isOpenMPI)
    command.push_back("--oversubscribe");
  if (fits && threads > 1 && isOpenMPI)
    command.append({"--map-by", "slot:PE=" + std::to_string(threads)});
  command.append({isOpenMPI ? "--bind-to" : "-bind-to",
                  !fits ? "none"
                  : isOpenMPI || threads < 2
                      ? "core"
                      : "core:" + std::to_string(threads)});
  command.push_back(llvm::sys::fs::getMainExecutable(
      arguments.front(), reinterpret_cast<void *>(&runQuietly)));
  command.append(arguments.begin() + 1, arguments.end());
  SmallVector<char *> pointers;
  for (std::string &argument : command)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(mpirun->c_str(), pointers.data());
  return createStringError(*mpirun + " cannot be run: " + std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// The transport
//===----------------------------------------------------------------------===//

static void (*counted)(int32_t kind, int64_t *calls, int64_t *bytes);
static int (*askVersion)(char *text, int *length);

/// Where the sources of the transport are.
static SmallString<128> getSources() {
  SmallString<128> folder(llvm::sys::path::parent_path(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(
          nullptr, reinterpret_cast<void *>(&runQuietly)))));
  llvm::sys::path::append(folder, "share", "chimera");
  return folder;
}

Error chimera::runner::loadTransport() {
  StringRef suffix =
      Process::GetEnv(kNumbers[0]) ? "mpicc.openmpi" : "mpicc.mpich";
  Expected<std::string> mpicc = findTool("CHIMERA_MPICC", {suffix, "mpicc"});
  if (!mpicc)
    return mpicc.takeError();
  TemporaryFile library;
  if (Error error = library.createInTemporaryFolder(".so"))
    return error;
  std::string transport = (getSources() + "/chimera_mpi.c").str();
  std::string count = (getSources() + "/chimera_mpi_count.c").str();
  std::string said;
  if (runQuietly({*mpicc, "-O2", "-shared", "-fPIC", transport, count, "-o",
                  library.getPath()},
                 said) != 0)
    return createStringError(*mpicc + " cannot compile " + transport + ": " +
                             StringRef(said).ltrim().split('\n').first);
  void *loaded =
      dlopen(library.getPath().str().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!loaded)
    return createStringError(llvm::Twine("the transport cannot be loaded: ") +
                             dlerror());
  *reinterpret_cast<void **>(&counted) = dlsym(loaded, "chimera_mpi_counted");
  // Has the same binary interface in all of them.
  *reinterpret_cast<void **>(&askVersion) =
      dlsym(loaded, "MPI_Get_library_version");
  return Error::success();
}

/// The text begins as in "Open MPI v4.1.4, package: ..." and "MPICH
/// Version:\t4.0.2\n...".
std::string chimera::runner::getMPIVersion() {
  // Larger than MPI_MAX_LIBRARY_VERSION_STRING of any library.
  std::vector<char> text(1 << 16);
  int length = 0;
  askVersion(text.data(), &length);
  StringRef name = StringRef(text.data()).take_until([](char c) {
    return c == ',' || c == '\n';
  });
  auto [library, version] = name.split(" Version:");
  return (library + (version.empty() ? "" : " ") + version.trim()).str();
}

std::pair<int64_t, int64_t> chimera::runner::getCounted(int32_t kind) {
  std::pair<int64_t, int64_t> result;
  counted(kind, &result.first, &result.second);
  return result;
}
