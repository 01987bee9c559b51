//===- Arguments.cpp - What a function is called with ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Chimera/Runner/Safetensors.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace chimera;
using namespace chimera::run;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

/// Four bits are stored as eight.
static bool isStoredAs(ElementKind element, ElementKind stored) {
  return stored == element ||
         (element == ElementKind::I4 && stored == ElementKind::I8);
}

/// Makes `tensor`, which is in the file `path`, an argument of `function`.
Error ArgumentValues::set(const Function &function, size_t index,
                          StoredTensor tensor, StringRef path) {
  const ValueType &type = types[index];
  if (!isStoredAs(type.element, tensor.getType().element) ||
      tensor.getType().shape != type.shape)
    return createStringError(path + " holds " + tensor.getType().str() +
                             ", but argument " + llvm::Twine(index) + " of '" +
                             function.name + "' is " + type.str());
  stored[index] = std::move(tensor);
  return Error::success();
}

Error ArgumentValues::openWeights(const Function &function, StringRef path) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  for (const SafetensorsFile::Entry &entry : file->getEntries()) {
    size_t index = 0;
    if (StringRef(entry.name).getAsInteger(10, index) || index >= types.size())
      return createStringError(path + ": '" + function.name +
                               "' has no argument '" + entry.name + "'");
    if (Error error = set(function, index, file->find(entry), path))
      return error;
  }
  return Error::success();
}

Expected<ArgumentValues> ArgumentValues::open(const Function &function,
                                              const Options &options) {
  if (options.outputs.size() > function.results.size())
    return createStringError("'%s' has %zu results, but %zu outputs are asked "
                             "for",
                             function.name.c_str(), function.results.size(),
                             options.outputs.size());
  ArgumentValues values;
  values.seed = options.seed;
  values.types = function.arguments;
  values.stored.resize(function.arguments.size());
  if (!options.weights.empty())
    if (Error error = values.openWeights(function, options.weights))
      return std::move(error);
  SmallVector<size_t> open;
  for (auto [index, tensor] : llvm::enumerate(values.stored))
    if (!tensor)
      open.push_back(index);
  if (options.inputs.size() > open.size())
    return createStringError("'%s' has %zu arguments, but %zu inputs are given",
                             function.name.c_str(), open.size(),
                             options.inputs.size());
  for (auto [path, index] : llvm::zip(options.inputs, open)) {
    Expected<StoredTensor> tensor = openNpy(path);
    if (!tensor)
      return tensor.takeError();
    if (Error error = values.set(function, index, std::move(*tensor), path))
      return std::move(error);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Expected<Tensor> ArgumentValues::makeSlice(size_t index,
                                           ArrayRef<int64_t> offsets,
                                           ArrayRef<int64_t> sizes) const {
  ValueType type = types[index];
  if (const std::optional<StoredTensor> &file = stored[index]) {
    Expected<Tensor> slice = file->read(offsets, sizes);
    if (slice && slice->getType().element != type.element)
      return slice->convertTo(type.element);
    return slice;
  }
  auto whole = llvm::to_vector_of<int64_t>(type.shape);
  type.shape.assign(sizes.begin(), sizes.end());
  Expected<Tensor> slice = Tensor::allocate(std::move(type));
  if (slice)
    slice->fillRandomSlice(seed, /*stream=*/index, whole, offsets);
  return slice;
}

Expected<TensorList> ArgumentValues::makeAll() const {
  TensorList list;
  for (auto [index, type] : llvm::enumerate(types)) {
    SmallVector<int64_t> zeros(type.shape.size());
    Expected<Tensor> tensor = makeSlice(index, zeros, type.shape);
    if (!tensor)
      return tensor.takeError();
    list.tensors.push_back(std::move(*tensor));
  }
  return list;
}

int64_t ArgumentValues::getBytesRead() const {
  llvm::SmallPtrSet<const InputFile *, 8> files;
  int64_t bytes = 0;
  for (const std::optional<StoredTensor> &tensor : stored)
    if (tensor && files.insert(&tensor->getFile()).second)
      bytes += tensor->getFile().getBytesRead();
  return bytes;
}

int64_t ArgumentValues::getBytesStored() const {
  int64_t bytes = 0;
  for (const std::optional<StoredTensor> &tensor : stored)
    if (tensor)
      bytes += tensor->getType().getBytes();
  return bytes;
}
