//===- OutputFile.cpp - Files written whole or not at all -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

using chimera::TemporaryFile;
using llvm::Error;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

static Error makeError(StringRef path, std::error_code error) {
  return llvm::createStringError(error, path + ": " + error.message());
}

/// The error of `os`, if it has one. LLVM ends the process if a stream is
/// destroyed with an error that nobody took.
static Error takeError(llvm::raw_fd_ostream &os, StringRef path) {
  std::error_code error = os.error();
  os.clear_error();
  return error ? makeError(path, error) : Error::success();
}

/// True if `path` exists and a new file must not take its place: directories,
/// devices, pipes, and names of open files such as /dev/stdout.
static bool isWrittenInPlace(StringRef path) {
  fs::file_status status;
  if (fs::status(path, status))
    return false;
  return path.starts_with("/dev/") || !fs::is_regular_file(status);
}

std::error_code TemporaryFile::create(const llvm::Twine &model) {
  constexpr int mostTries = 128;
  std::error_code error;
  for (int i = 0; i < mostTries; ++i) {
    fs::createUniquePath(model, path, /*MakeAbsolute=*/false);
    // Known before it is there: a signal may come in between, in any thread.
    llvm::sys::RemoveFileOnSignal(path);
    int file;
    error = fs::openFileForWrite(path, file, fs::CD_CreateNew);
    if (!error)
      return llvm::sys::Process::SafelyCloseFileDescriptor(file);
    release();
    if (error != std::errc::file_exists)
      break;
  }
  return error;
}

Error TemporaryFile::createInTemporaryFolder(StringRef suffix) {
  llvm::SmallString<128> model;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  llvm::sys::path::append(model, "chimera-%%%%%%%%" + suffix);
  if (std::error_code error = create(model))
    return llvm::createStringError(
        error, "no temporary file in " + llvm::sys::path::parent_path(model) +
                   ": " + error.message());
  return Error::success();
}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  fs::remove(path);
  release();
}

void TemporaryFile::release() {
  llvm::sys::DontRemoveFileOnSignal(path);
  path.clear();
}

Error chimera::replaceFile(StringRef path,
                           llvm::function_ref<Error(StringRef)> write) {
  if (isWrittenInPlace(path))
    return write(path);
  llvm::SmallString<128> place(path);
  llvm::ErrorOr<fs::perms> permissions = fs::getPermissions(path);
  if (permissions)
    if (std::error_code error = fs::real_path(path, place))
      return makeError(path, error);
  TemporaryFile temporary;
  if (std::error_code error = temporary.create(place + ".%%%%%%%%"))
    return makeError(path, error);
  if (Error error = write(temporary.getPath()))
    return error;
  if (permissions)
    if (std::error_code error =
            fs::setPermissions(temporary.getPath(), *permissions))
      return makeError(path, error);
  if (std::error_code error = fs::rename(temporary.getPath(), place))
    return makeError(path, error);
  temporary.release();
  return Error::success();
}

Error chimera::writeFile(StringRef path,
                         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (path == "-") {
    write(llvm::outs());
    llvm::outs().flush();
    return takeError(llvm::outs(), "standard output");
  }
  return replaceFile(path, [&](StringRef name) -> Error {
    std::error_code error;
    llvm::raw_fd_ostream os(name, error, fs::OF_None);
    if (error)
      return makeError(path, error);
    write(os);
    os.close();
    return takeError(os, path);
  });
}

Error chimera::writeText(StringRef path, StringRef text) {
  return writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
}

Error chimera::writeJSON(StringRef path, const llvm::json::Value &value) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}", value) << '\n';
  });
}
