//===- OutputFile.h - Files written whole or not at all ---------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A full disk or an error halfway must not leave half a file behind, nor
// destroy the file that was there before. All files that the tools write go
// through here: the contents are written to a new file beside the old one,
// which then takes its place.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_SUPPORT_OUTPUTFILE_H
#define CHIMERA_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <system_error>

namespace chimera {

/// A file that is removed at the end of the scope, or when the process is
/// interrupted.
class TemporaryFile {
public:
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Creates the file, with a random digit for each `%` of `model`.
  std::error_code create(const llvm::Twine &model);
  /// Creates it in the system's folder for such files, with a name that ends in
  /// `suffix`. The error names the folder.
  llvm::Error createInTemporaryFolder(llvm::StringRef suffix);
  llvm::StringRef getPath() const { return path; }
  /// Leaves the file where it is.
  void release();

private:
  llvm::SmallString<128> path;
};

/// Writes the file `path`, or standard output if that is "-". An error names
/// the path and the cause; the file is then as it was before.
///
/// A symbolic link stays, and what it points to is replaced. Devices and pipes
/// cannot be replaced: they are written in place.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::function_ref<void(llvm::raw_ostream &)> write);
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);
/// Indented, with a line's end behind it.
llvm::Error writeJSON(llvm::StringRef path, const llvm::json::Value &value);

/// The same for writers that open their file themselves, such as linkers:
/// `write` gets the name of the file that will take the place of `path`.
llvm::Error replaceFile(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> write);

} // namespace chimera

#endif // CHIMERA_SUPPORT_OUTPUTFILE_H
