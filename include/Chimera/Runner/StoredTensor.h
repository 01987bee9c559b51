//===- StoredTensor.h - Tensors in files ------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are larger than anything else, and a process that has a part of them
// reads no more than that. Elements are copied rather than mapped: programs
// read them many times, from memory in large pages and at aligned addresses.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_STOREDTENSOR_H
#define CHIMERA_RUNNER_STOREDTENSOR_H

#include "Chimera/Runner/Tensor.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace chimera::runner {

/// A file of which any bytes can be read.
class InputFile {
public:
  /// Errors name the path.
  static llvm::Expected<std::shared_ptr<InputFile>> open(llvm::StringRef path);
  ~InputFile();

  uint64_t getSize() const { return size; }
  /// Fills `bytes` from those of the file that begin at `offset`.
  llvm::Error read(uint64_t offset, llvm::MutableArrayRef<char> bytes);
  /// What has been read so far.
  int64_t getBytesRead() const { return bytesRead; }
  /// An error of this file.
  llvm::Error makeError(const llvm::Twine &reason) const;

private:
  explicit InputFile(llvm::StringRef path) : path(path.str()) {}

  std::string path;
  llvm::sys::fs::file_t handle = llvm::sys::fs::kInvalidFile;
  /// All of it, where it is a pipe.
  std::unique_ptr<llvm::MemoryBuffer> contents;
  uint64_t size = 0;
  int64_t bytesRead = 0;
};

/// A tensor in a file, dense and in row-major order.
class StoredTensor {
public:
  StoredTensor(ValueType type, std::shared_ptr<InputFile> file, uint64_t offset)
      : type(std::move(type)), file(std::move(file)), offset(offset) {}

  const ValueType &getType() const { return type; }
  const InputFile &getFile() const { return *file; }
  llvm::Expected<Tensor> read() const;
  /// The slice of extents `sizes` that begins at `offsets`.
  llvm::Expected<Tensor> read(llvm::ArrayRef<int64_t> offsets,
                              llvm::ArrayRef<int64_t> sizes) const;

private:
  ValueType type;
  std::shared_ptr<InputFile> file;
  /// Of the first element, in bytes.
  uint64_t offset;
};

/// The tensor in NumPy's file `path`, of which the header is read.
llvm::Expected<StoredTensor> openNpy(llvm::StringRef path);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_STOREDTENSOR_H
