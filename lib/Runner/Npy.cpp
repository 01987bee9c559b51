//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version 1 of the format: a magic string, the length of the header, a header
// that is a Python dictionary with the keys descr, fortran_order and shape, and
// the elements. Headers are read strictly; whatever is not understood is an
// error that says so.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/StoredTensor.h"
#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace chimera;
using namespace chimera::runner;
using llvm::StringRef;

static constexpr StringRef kMagic = StringRef("\x93NUMPY", 6);
/// The magic string, two bytes of version, two bytes of header length.
static constexpr size_t kPrefixBytes = 10;

/// NumPy's code for the element type. bf16 travels as uint16, i4 as int8.
static StringRef getDescriptor(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return "<f4";
  case ElementKind::F64:
    return "<f8";
  case ElementKind::F16:
    return "<f2";
  case ElementKind::BF16:
    return "<u2";
  case ElementKind::I1:
    return "|b1";
  case ElementKind::I4:
  case ElementKind::I8:
    return "|i1";
  case ElementKind::I32:
    return "<i4";
  case ElementKind::I64:
    return "<i8";
  }
  llvm_unreachable("unknown element kind");
}

static std::optional<ElementKind> parseDescriptor(StringRef descriptor) {
  for (ElementKind kind :
       {ElementKind::F32, ElementKind::F64, ElementKind::F16, ElementKind::BF16,
        ElementKind::I1, ElementKind::I8, ElementKind::I32, ElementKind::I64})
    if (descriptor == getDescriptor(kind))
      return kind;
  return std::nullopt;
}

/// The text after `'key':` in a header, without leading spaces; empty if the
/// key is missing.
static StringRef findValue(StringRef header, StringRef key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + key.str() + quote;
    size_t position = header.find(quoted);
    if (position == StringRef::npos)
      continue;
    StringRef rest = header.drop_front(position + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return "";
}

static bool parseShape(StringRef text, llvm::SmallVectorImpl<int64_t> &shape) {
  size_t end = text.find(')');
  if (!text.consume_front("(") || end == StringRef::npos)
    return false;
  llvm::SmallVector<StringRef> parts;
  text.take_front(end - 1).split(parts, ',');
  if (!parts.empty() && parts.back().trim().empty())
    parts.pop_back();
  for (StringRef part : parts) {
    int64_t extent;
    if (part.trim().getAsInteger(10, extent) || extent < 0)
      return false;
    shape.push_back(extent);
  }
  return true;
}

/// Parses the dictionary. Returns what is wrong with it, or nothing.
static std::string parseHeader(StringRef header, ValueType &type) {
  StringRef descriptor = findValue(header, "descr");
  if (descriptor.empty() || (descriptor[0] != '\'' && descriptor[0] != '"'))
    return "the header names no element type";
  descriptor = descriptor.drop_front().split(descriptor[0]).first;
  std::optional<ElementKind> element = parseDescriptor(descriptor);
  if (!element)
    return "unsupported element type '" + descriptor.str() + "'";
  type.element = *element;

  StringRef order = findValue(header, "fortran_order");
  if (order.starts_with("True"))
    return "the array is in Fortran order; save it with "
           "numpy.ascontiguousarray";
  if (!order.starts_with("False"))
    return "the header does not say in which order the elements are";
  if (!parseShape(findValue(header, "shape"), type.shape))
    return "the header has no valid shape";
  return "";
}

llvm::Expected<chimera::runner::StoredTensor>
chimera::runner::openNpy(StringRef path) {
  llvm::Expected<std::shared_ptr<InputFile>> opened = InputFile::open(path);
  if (!opened)
    return opened.takeError();
  InputFile &file = **opened;
  char prefix[kPrefixBytes] = {};
  if (file.getSize() >= kPrefixBytes)
    if (llvm::Error error = file.read(0, prefix))
      return std::move(error);
  if (!StringRef(prefix, kPrefixBytes).starts_with(kMagic))
    return file.makeError("not a .npy file");
  if (prefix[6] != 1)
    return file.makeError("version " +
                          llvm::Twine(static_cast<unsigned>(prefix[6])) +
                          " of the .npy format is not supported; version 1 is");
  uint64_t headerBytes = llvm::support::endian::read16le(prefix + 8);
  if (file.getSize() < kPrefixBytes + headerBytes)
    return file.makeError("the file ends in its header");
  std::string header(headerBytes, ' ');
  if (llvm::Error error =
          file.read(kPrefixBytes, {header.data(), header.size()}))
    return std::move(error);

  ValueType type;
  std::string problem = parseHeader(header, type);
  if (!problem.empty())
    return file.makeError(problem);
  uint64_t begin = kPrefixBytes + headerBytes, bytes = file.getSize() - begin;
  if (bytes != static_cast<uint64_t>(type.getBytes()))
    return file.makeError("the file holds " + llvm::Twine(bytes) +
                          " bytes of elements, which is not what " +
                          type.str() + " takes");
  return StoredTensor(std::move(type), std::move(*opened), begin);
}

llvm::Error chimera::runner::writeNpy(StringRef path, const Tensor &tensor) {
  const ValueType &type = tensor.getType();
  std::string header = "{'descr': '" + getDescriptor(type.element).str() +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : type.shape)
    header += std::to_string(extent) + ", ";
  header += "), }";
  // The elements start at a multiple of 64 bytes; the header ends in a newline.
  header.resize(llvm::alignTo(kPrefixBytes + header.size() + 1, 64) -
                    kPrefixBytes - 1,
                ' ');
  header += '\n';

  char length[2];
  llvm::support::endian::write16le(length,
                                   static_cast<uint16_t>(header.size()));
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << kMagic << '\x01' << '\x00' << StringRef(length, 2) << header;
    os.write(static_cast<const char *>(tensor.data()), type.getBytes());
  });
}
