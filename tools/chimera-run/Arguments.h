//===- Arguments.h - What a function is called with -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values come from a file with weights and from files with inputs; the rest is
// random. They are made when they are asked for, whole or in part: a process
// with a part of the weights never has all of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_ARGUMENTS_H
#define CHIMERA_TOOLS_CHIMERA_RUN_ARGUMENTS_H

#include "Check.h"
#include "Options.h"

#include "Chimera/Runner/StoredTensor.h"

namespace chimera::run {

/// The values of a function's arguments.
class ArgumentValues {
public:
  /// Finds out where they come from. Fails if `options` name files that do not
  /// fit `function`.
  static llvm::Expected<ArgumentValues> open(const runner::Function &function,
                                             const Options &options);

  llvm::Expected<TensorList> makeAll() const;
  /// The slice of argument `index` of extents `sizes` that begins at `offsets`.
  llvm::Expected<runner::Tensor> makeSlice(size_t index,
                                           llvm::ArrayRef<int64_t> offsets,
                                           llvm::ArrayRef<int64_t> sizes) const;

  /// What has been read of files so far, and what all tensors in them take.
  int64_t getBytesRead() const;
  int64_t getBytesStored() const;

private:
  llvm::Error openWeights(const runner::Function &function,
                          llvm::StringRef path);
  llvm::Error set(const runner::Function &function, size_t index,
                  runner::StoredTensor tensor, llvm::StringRef path);

  uint64_t seed = 0;
  llvm::SmallVector<runner::ValueType> types;
  /// Nothing for random ones.
  std::vector<std::optional<runner::StoredTensor>> stored;
};

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_ARGUMENTS_H
