//===- Safetensors.cpp - Weights beside a program -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Safetensors.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

#include <optional>

using namespace chimera::runner;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// The length of the header.
static constexpr size_t kPrefixBytes = 8;

static std::optional<ElementKind> parseElement(StringRef name) {
  return llvm::StringSwitch<std::optional<ElementKind>>(name)
      .Case("F64", ElementKind::F64)
      .Case("F32", ElementKind::F32)
      .Case("F16", ElementKind::F16)
      .Case("BF16", ElementKind::BF16)
      .Case("I64", ElementKind::I64)
      .Case("I32", ElementKind::I32)
      .Cases({"I8", "U8"}, ElementKind::I8)
      .Case("BOOL", ElementKind::I1)
      .Default(std::nullopt);
}

static bool parseNumbers(const llvm::json::Array *array,
                         llvm::SmallVectorImpl<int64_t> &numbers) {
  if (!array)
    return false;
  for (const llvm::json::Value &value : *array) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < 0)
      return false;
    numbers.push_back(*number);
  }
  return true;
}

/// Reads the description of one tensor, of which `size` bytes of elements may
/// be. Returns what is wrong with it, or nothing.
static std::string parseEntry(const llvm::json::Value &value, size_t size,
                              SafetensorsFile::Entry &entry) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return "has no description";
  StringRef name = object->getString("dtype").value_or("");
  std::optional<ElementKind> element = parseElement(name);
  if (!element)
    return "has elements of the unsupported type '" + name.str() + "'";
  entry.type.element = *element;
  llvm::SmallVector<int64_t> offsets;
  if (!parseNumbers(object->getArray("shape"), entry.type.shape) ||
      !parseNumbers(object->getArray("data_offsets"), offsets) ||
      offsets.size() != 2)
    return "has no valid shape or offsets";
  auto begin = static_cast<uint64_t>(offsets[0]);
  auto end = static_cast<uint64_t>(offsets[1]);
  if (begin > end || end > size ||
      end - begin != static_cast<uint64_t>(entry.type.getBytes()))
    return "does not fit its offsets";
  entry.offset = begin;
  return "";
}

Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  Expected<std::shared_ptr<InputFile>> opened = InputFile::open(path);
  if (!opened)
    return opened.takeError();
  SafetensorsFile result;
  result.file = std::move(*opened);
  InputFile &file = *result.file;
  char prefix[kPrefixBytes];
  if (file.getSize() < kPrefixBytes)
    return file.makeError("not a safetensors file");
  if (Error error = file.read(0, prefix))
    return std::move(error);
  uint64_t length = llvm::support::endian::read64le(prefix);
  if (length > file.getSize() - kPrefixBytes)
    return file.makeError("the file ends in its header");
  std::string text(length, ' ');
  if (Error error = file.read(kPrefixBytes, {text.data(), text.size()}))
    return std::move(error);
  result.elements = kPrefixBytes + length;
  Expected<llvm::json::Value> header = llvm::json::parse(text);
  if (!header) {
    llvm::consumeError(header.takeError());
    return file.makeError("the header is no JSON");
  }
  const llvm::json::Object *tensors = header->getAsObject();
  if (!tensors)
    return file.makeError("the header names no tensors");
  for (const auto &[key, value] : *tensors) {
    if (StringRef(key) == "__metadata__")
      continue;
    Entry &entry = result.entries.emplace_back();
    entry.name = StringRef(key).str();
    std::string problem =
        parseEntry(value, file.getSize() - result.elements, entry);
    if (!problem.empty())
      return file.makeError("'" + entry.name + "' " + problem);
  }
  return result;
}

chimera::runner::StoredTensor SafetensorsFile::find(const Entry &entry) const {
  return StoredTensor(entry.type, file, elements + entry.offset);
}
