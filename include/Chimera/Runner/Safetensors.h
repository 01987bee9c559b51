//===- Safetensors.h - Weights beside a program -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads files of named tensors: eight bytes with the length of a header, the
// header in JSON, the elements. Files are mapped, not read.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_SAFETENSORS_H
#define CHIMERA_RUNNER_SAFETENSORS_H

#include "Chimera/Runner/StoredTensor.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace chimera::runner {

class SafetensorsFile {
public:
  struct Entry {
    std::string name;
    ValueType type;
    /// The first element, counted in bytes behind the header.
    size_t offset = 0;
  };

  /// Reads the header of the file `path`. Errors name the path.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  llvm::ArrayRef<Entry> getEntries() const { return entries; }

  /// Where the elements of `entry` are.
  StoredTensor find(const Entry &entry) const;

private:
  std::shared_ptr<InputFile> file;
  uint64_t elements = 0;
  std::vector<Entry> entries;
};

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_SAFETENSORS_H
