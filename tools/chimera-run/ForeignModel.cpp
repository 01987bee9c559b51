//===- ForeignModel.cpp - Models that are no MLIR yet ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The importers are Python: `python3 -m chimera import` writes linalg, and the
// weights beside it.
//
//===----------------------------------------------------------------------===//

#include "ForeignModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace chimera;
using namespace chimera::run;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;

static bool isForeign(StringRef path) {
  return llvm::any_of(
      llvm::ArrayRef<StringRef>{".onnx", ".pt2", ".stablehlo.mlir"},
      [&](StringRef suffix) { return path.ends_with(suffix); });
}

/// The Python with the package: CHIMERA_PYTHON, else python3.
static Expected<std::string> findPython() {
  std::string name =
      llvm::sys::Process::GetEnv("CHIMERA_PYTHON").value_or("python3");
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  if (path)
    return *path;
  return createStringError("importing models takes Python, and '" + name +
                           "' is not in PATH");
}

/// What Python said in the end.
static std::string readLastLine(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return "";
  StringRef text = (*file)->getBuffer().rtrim();
  return text.drop_front(text.rfind('\n') + 1).str();
}

static Error makeImportError(StringRef file, StringRef python, StringRef said) {
  if (said.contains("No module named chimera"))
    return createStringError(
        file + " is imported by the Python package, which " + python +
        " does not have: pip install it, or set CHIMERA_PYTHON");
  said.consume_front("chimera: error: ");
  return createStringError(file + " could not be imported: " +
                           (said.empty() ? "no reason was given" : said));
}

Error ForeignModel::import(Options &options) {
  if (!isForeign(options.file))
    return Error::success();
  Expected<std::string> python = findPython();
  if (!python)
    return python.takeError();
  if (Error error = program.createInTemporaryFolder(".mlir"))
    return error;
  TemporaryFile said;
  if (Error error = said.createInTemporaryFolder(".txt"))
    return error;
  SmallString<128> path(program.getPath());
  llvm::sys::path::replace_extension(path, "safetensors");
  weights = path.str().str();
  const StringRef command[] = {*python,      "-m", "chimera",        "import",
                               options.file, "-o", program.getPath()};
  const std::optional<StringRef> redirects[] = {StringRef(), said.getPath(),
                                                said.getPath()};
  if (llvm::sys::ExecuteAndWait(*python, command, std::nullopt, redirects) != 0)
    return makeImportError(options.file, *python, readLastLine(said.getPath()));
  options.program = program.getPath().str();
  options.weights = weights;
  return Error::success();
}

ForeignModel::~ForeignModel() {
  if (!weights.empty())
    llvm::sys::fs::remove(weights);
}
