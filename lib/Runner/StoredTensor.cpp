//===- StoredTensor.cpp - Tensors in files --------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/StoredTensor.h"

#include "Chimera/Support/TensorSlice.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace chimera;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::MutableArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Error InputFile::makeError(const llvm::Twine &reason) const {
  return createStringError(path + ": " + reason);
}

Expected<std::shared_ptr<InputFile>> InputFile::open(StringRef path) {
  std::shared_ptr<InputFile> file(new InputFile(path));
  Expected<fs::file_t> handle = fs::openNativeFileForRead(path);
  if (!handle)
    return file->makeError(llvm::toString(handle.takeError()));
  file->handle = *handle;
  fs::file_status status;
  if (std::error_code error = fs::status(file->handle, status))
    return file->makeError(error.message());
  file->size = status.getSize();
  if (status.type() == fs::file_type::regular_file)
    return file;
  auto contents = llvm::MemoryBuffer::getOpenFile(file->handle, path,
                                                  /*FileSize=*/-1);
  if (!contents)
    return file->makeError(contents.getError().message());
  file->contents = std::move(*contents);
  file->size = file->contents->getBufferSize();
  return file;
}

InputFile::~InputFile() {
  if (handle == fs::kInvalidFile)
    return;
  // Nothing is lost of what was only read.
  std::error_code ignored = fs::closeFile(handle);
  (void)ignored;
}

Error InputFile::read(uint64_t offset, MutableArrayRef<char> bytes) {
  if (offset > size || bytes.size() > size - offset)
    return makeError("the file ends too early");
  bytesRead += static_cast<int64_t>(bytes.size());
  if (contents) {
    llvm::copy(contents->getBuffer().substr(offset, bytes.size()),
               bytes.begin());
    return Error::success();
  }
  while (!bytes.empty()) {
    Expected<size_t> count = fs::readNativeFileSlice(handle, bytes, offset);
    if (!count)
      return makeError(llvm::toString(count.takeError()));
    if (*count == 0)
      return makeError("the file ends too early");
    bytes = bytes.drop_front(*count);
    offset += *count;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// Reads pieces of a file in ascending order. Those with less than a page
/// between them are read together: their pages come whole in any case.
class PieceReader {
public:
  explicit PieceReader(InputFile &file) : file(file) {}

  Error add(uint64_t offset, MutableArrayRef<char> bytes);
  Error finish();

private:
  struct Piece {
    uint64_t offset;
    MutableArrayRef<char> bytes;
    uint64_t getEnd() const { return offset + bytes.size(); }
  };
  static constexpr uint64_t kPage = 4096, kMost = uint64_t(1) << 20;

  InputFile &file;
  SmallVector<Piece> pieces;
  SmallVector<char, 0> buffer;
};
} // namespace

Error PieceReader::add(uint64_t offset, MutableArrayRef<char> bytes) {
  Piece piece{offset, bytes};
  bool isNear = !pieces.empty() && offset - pieces.back().getEnd() < kPage &&
                piece.getEnd() - pieces.front().offset <= kMost;
  if (!isNear)
    if (Error error = finish())
      return error;
  pieces.push_back(piece);
  return Error::success();
}

Error PieceReader::finish() {
  if (pieces.empty())
    return Error::success();
  uint64_t begin = pieces.front().offset;
  if (pieces.size() == 1) {
    if (Error error = file.read(begin, pieces.front().bytes))
      return error;
  } else {
    buffer.resize_for_overwrite(pieces.back().getEnd() - begin);
    if (Error error = file.read(begin, buffer))
      return error;
    for (const Piece &piece : pieces)
      std::memcpy(piece.bytes.data(), buffer.data() + (piece.offset - begin),
                  piece.bytes.size());
  }
  pieces.clear();
  return Error::success();
}

Expected<Tensor> chimera::runner::StoredTensor::read() const {
  SmallVector<int64_t> zeros(type.shape.size());
  return read(zeros, type.shape);
}

Expected<Tensor>
chimera::runner::StoredTensor::read(ArrayRef<int64_t> offsets,
                                    ArrayRef<int64_t> sizes) const {
  ValueType sliceType = type;
  sliceType.shape.assign(sizes.begin(), sizes.end());
  Expected<Tensor> slice = Tensor::allocate(std::move(sliceType));
  if (!slice)
    return slice;
  int64_t bytes = getElementBytes(type.element);
  char *to = static_cast<char *>(slice->data());
  PieceReader reader(*file);
  Error failed = Error::success();
  forEachRun(type.shape, offsets, sizes, [&](const SliceRun &run) {
    if (!failed)
      failed = reader.add(
          offset + run.inWhole * bytes,
          {to + run.inSlice * bytes, static_cast<size_t>(run.count * bytes)});
  });
  if (!failed)
    failed = reader.finish();
  if (failed)
    return std::move(failed);
  return slice;
}
