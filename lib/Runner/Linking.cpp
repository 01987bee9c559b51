//===- Linking.cpp - From object files to one file ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linkers that the machine has do the work. What they say when they fail is
// the error.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Compiler.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <optional>

using namespace chimera;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Programs and files
//===----------------------------------------------------------------------===//

static std::string readText(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

/// The first of the programs that is in PATH.
static std::optional<std::string> findProgram(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return std::nullopt;
}

/// Runs a linker; the first line that it says is the error.
static Error runLinker(ArrayRef<StringRef> command) {
  TemporaryFile said;
  if (Error error = said.createInTemporaryFolder(".txt"))
    return error;
  const std::optional<StringRef> redirects[] = {StringRef(), said.getPath(),
                                                said.getPath()};
  std::string message;
  if (llvm::sys::ExecuteAndWait(command.front(), command, std::nullopt,
                                redirects, /*SecondsToWait=*/0,
                                /*MemoryLimit=*/0, &message) == 0)
    return Error::success();
  if (message.empty())
    message = StringRef(readText(said.getPath())).ltrim().split('\n').first;
  return createStringError(command.front() + " could not link" +
                           (message.empty() ? "" : ": " + message));
}

namespace {
/// Object files where linkers find them.
class ObjectsOnDisk {
public:
  Error write(const ObjectFiles &objects) {
    files = std::vector<TemporaryFile>(objects.size());
    for (auto [file, object] : llvm::zip_equal(files, objects))
      if (Error error = write(file, object->getBuffer()))
        return error;
    return Error::success();
  }

  auto getPaths() const {
    return llvm::map_range(
        files, [](const TemporaryFile &file) { return file.getPath(); });
  }

private:
  static Error write(TemporaryFile &file, StringRef code) {
    if (Error error = file.createInTemporaryFolder(".o"))
      return error;
    return writeFile(file.getPath(),
                     [&](llvm::raw_ostream &os) { os << code; });
  }

  std::vector<TemporaryFile> files;
};
} // namespace

//===----------------------------------------------------------------------===//
// Libraries and objects
//===----------------------------------------------------------------------===//

Error chimera::runner::linkSharedLibrary(const ObjectFiles &objects,
                                         StringRef libraryPath,
                                         StringRef hostRuntime) {
  SmallVector<StringRef> runtimes = {CHIMERA_RUNTIME_LIBRARIES};
  if (!hostRuntime.empty())
    runtimes = {hostRuntime};
  for (StringRef runtime : runtimes)
    if (!llvm::sys::fs::exists(runtime))
      return createStringError("the library " + runtime +
                               ", which programs call, is missing");
  std::optional<std::string> driver =
      findProgram({"clang-22", "clang", "cc", "gcc"});
  if (!driver)
    return createStringError(
        "no linker: shared libraries need clang or cc in PATH");
  ObjectsOnDisk files;
  if (Error error = files.write(objects))
    return error;
  return replaceFile(libraryPath, [&](StringRef name) {
    SmallVector<StringRef> command = {*driver, "-shared", "-o", name};
    llvm::append_range(command, files.getPaths());
    // The weak `chimera_fail` alone would not make a host runtime needed.
    command.push_back(hostRuntime.empty() ? "-Wl,--as-needed"
                                          : "-Wl,--no-as-needed");
    llvm::append_range(command, runtimes);
    if (hostRuntime.empty())
      command.push_back("-Wl,-rpath," CHIMERA_RUNTIME_DIR);
    command.push_back("-lm");
    return runLinker(command);
  });
}

/// Makes the symbols that only the parts of one program use local.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
localizeHidden(llvm::MemoryBufferRef object) {
  Expected<std::unique_ptr<llvm::object::Binary>> binary =
      llvm::object::createBinary(object);
  if (!binary)
    return binary.takeError();
  llvm::objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (Error error = llvm::objcopy::executeObjcopyOnBinary(config, **binary, os))
    return std::move(error);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), /*RequiresNullTerminator=*/false);
}

Expected<std::unique_ptr<llvm::MemoryBuffer>>
chimera::runner::mergeObjects(ObjectFiles objects) {
  if (objects.size() == 1)
    return std::move(objects.front());
  std::optional<std::string> linker =
      findProgram({"ld", "ld.lld-22", "ld.lld"});
  if (!linker)
    return createStringError("no linker: object files of programs with several "
                             "kernels need ld or ld.lld in PATH");
  ObjectsOnDisk files;
  if (Error error = files.write(objects))
    return std::move(error);
  TemporaryFile merged;
  if (Error error = merged.createInTemporaryFolder(".o"))
    return std::move(error);
  SmallVector<StringRef> command = {*linker, "-r", "-o", merged.getPath()};
  llvm::append_range(command, files.getPaths());
  if (Error error = runLinker(command))
    return std::move(error);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> read =
      llvm::MemoryBuffer::getFile(merged.getPath());
  if (!read)
    return llvm::errorCodeToError(read.getError());
  return localizeHidden(**read);
}
