//===- KernelCopies.cpp - To and from main memory -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles come from main memory by the instructions that a core has for it: whole
// matrices, or blocks of column groups or of rows. Sums leave where no vector
// unit has to see them.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

//===----------------------------------------------------------------------===//
// From memory
//===----------------------------------------------------------------------===//

/// Fails if copies cannot encode the rows of `matrix`, in memory.
LogicalResult KernelLowering::checkCopies(const Matrix &matrix) {
  constexpr int64_t maxRows = 4095, maxPitch = 65535;
  if (matrix.maxRows > maxRows)
    return fail("a tile has more than " + Twine(maxRows) + " rows");
  if (getStride(matrix.tile, matrix.rowDim) > maxPitch)
    return fail("the rows of a tensor are more than " + Twine(maxPitch) +
                " numbers apart");
  return success();
}

/// Fails if `matrix`, in memory, cannot be written in whole blocks: there is no
/// instruction for less.
LogicalResult KernelLowering::checkStore(MicroKernelOp kernel,
                                         const Matrix &matrix) {
  auto isWhole = [](int64_t extent) { return extent % fractal == 0; };
  if (has(stringifyCopyKind(CopyKind::UbufToGmPad), builder.getF32Type()))
    return checkCopies(matrix);
  if (isWhole(getStride(matrix.tile, matrix.rowDim)) &&
      llvm::all_of(kernel.getExtentsOf(matrix.columnLoop), isWhole))
    return checkCopies(matrix);
  return fail("the rows of a result are no multiple of " + Twine(fractal) +
              " numbers, and memory is written in whole blocks");
}

static int64_t getElementBytes(Value pointer) {
  return cast<PtrType>(pointer.getType())
             .getElementType()
             .getIntOrFloatBitWidth() /
         8;
}

/// One copy for each column group: the rows start whole blocks apart.
void KernelLowering::copyGroups(const Matrix &matrix, Value to, Value from,
                                int64_t pitch) {
  int64_t bytes = getElementBytes(to);
  int64_t groupBlocks = fractal * bytes / blockBytes;
  int64_t rowBlocks =
      getStride(matrix.tile, matrix.rowDim) * bytes / blockBytes;
  CopyKind kind = cast<PtrType>(to.getType()).getMemory() == Memory::L1
                      ? CopyKind::GmToCbuf
                      : CopyKind::GmToUbuf;
  Value rows = code.number(matrix.rows()),
        columns = code.number(matrix.columns());
  code.loop(code.number(0), columns, fractal, [&](Value column) {
    Value width = code.part(columns, column, fractal);
    Value blocks = code.ceilDiv(code.mul(width, bytes), blockBytes);
    // There may be one row alone, shorter than a group.
    Value gap = code.max(code.sub(code.number(rowBlocks), blocks), 0);
    code.copy(kind, code.offset(to, code.mul(column, pitch)),
              code.offset(from, column), rows, blocks, gap,
              code.sub(code.number(groupBlocks), blocks));
  });
}

/// One copy for each row, of a block to each column group: a row may start
/// anywhere. The last block takes in what follows the row.
void KernelLowering::copyRows(const Matrix &matrix, Value to, Value from,
                              int64_t pitch) {
  int64_t bytes = getElementBytes(to);
  int64_t stride = getStride(matrix.tile, matrix.rowDim);
  bool isL1 = cast<PtrType>(to.getType()).getMemory() == Memory::L1;
  CopyKind kind = isL1 ? CopyKind::GmToCbuf : CopyKind::GmToUbuf;
  Value zero = code.number(0), one = code.number(1);
  Value columns = code.number(matrix.columns());
  code.loop(zero, code.number(matrix.rows()), 1, [&](Value row) {
    Value target = code.offset(to, code.mul(row, fractal)),
          source = code.offset(from, code.mul(row, stride));
    if (fractal * bytes == blockBytes) {
      code.copy(kind, target, source, code.fractals(columns), one, zero,
                code.number(pitch - 1));
      return;
    }
    code.loop(zero, columns, fractal, [&](Value column) {
      Value width = code.part(columns, column, fractal);
      code.copy(kind, code.offset(target, code.mul(column, pitch)),
                code.offset(source, column), one,
                code.ceilDiv(code.mul(width, bytes), blockBytes), zero, zero);
    });
  });
}

/// One copy for each column group, of as many bytes as there are.
void KernelLowering::copyPadded(const Matrix &matrix, Value to, Value from,
                                int64_t pitch) {
  int64_t bytes = getElementBytes(to);
  int64_t stride = getStride(matrix.tile, matrix.rowDim);
  Value columns = code.number(matrix.columns());
  code.loop(code.number(0), columns, fractal, [&](Value column) {
    Value width = code.mul(code.part(columns, column, fractal), bytes);
    // One row alone may be shorter than a group.
    Value gap = code.max(code.sub(code.number(stride * bytes), width), 0);
    code.copy(CopyKind::GmToUbufPad, code.offset(to, code.mul(column, pitch)),
              code.offset(from, column), code.number(matrix.rows()), width, gap,
              code.sub(code.number(fractal * bytes / blockBytes),
                       code.ceilDiv(width, blockBytes)));
  });
}

/// Copies `matrix` to column groups of `pitch` rows.
void KernelLowering::copyFromMemory(const Matrix &matrix, Value to,
                                    int64_t pitch) {
  auto type = cast<PtrType>(to.getType());
  int64_t stride = getStride(matrix.tile, matrix.rowDim);
  Value start = getLinearOffset(code, matrix.tile);
  if (auto image = images.find(matrix.tile.root); image != images.end())
    for (auto [first, apart] :
         llvm::zip_equal(image->second.first, image->second.strides))
      start = code.sub(start, code.number(-first * apart));
  Value from = code.offset(
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, type.getElementType()),
          matrix.tile.root)
          .getResult(0),
      start);
  CopyKind wholeMatrix = getElementBytes(to) == 1 ? CopyKind::GmToCbufNd2NzB8
                                                  : CopyKind::GmToCbufNd2Nz;
  if (type.getMemory() == Memory::L1 &&
      has(stringifyCopyKind(wholeMatrix), type.getElementType()))
    code.copy(wholeMatrix, to, from, code.number(matrix.rows()),
              code.number(matrix.columns()), code.number(stride),
              code.number(pitch));
  else if (has(stringifyCopyKind(CopyKind::GmToUbufPad), type.getElementType()))
    copyPadded(matrix, to, from, pitch);
  else if (stride * getElementBytes(to) % blockBytes == 0)
    copyGroups(matrix, to, from, pitch);
  else
    copyRows(matrix, to, from, pitch);
}

//===----------------------------------------------------------------------===//
// From images with a border
//===----------------------------------------------------------------------===//

void KernelLowering::addImage(Value root, ImageOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  Image &image = images[root];
  image.steps = op.getSteps();
  image.first = op.getFirst();
  image.shape = llvm::to_vector(type.getShape());
  image.strides = type.getStridesAndOffset().first;
  SmallVector<int64_t> last = image.first;
  for (auto [size, step] :
       llvm::zip_equal(cast<MemRefType>(op.getType()).getShape(), image.steps))
    last[step.first] += (size - 1) * step.second;
  for (auto [first, end, size] :
       llvm::zip_equal(image.first, last, image.shape))
    image.isPadded.push_back(first < 0 || end >= size);
}

/// Leaves of the rows of `matrix` those that are in the image. Where the first
/// of them was is `first`, and how many there are the result.
Value KernelLowering::clipToImage(Matrix &matrix, Value &first) {
  const Image &image = images.find(matrix.tile.root)->second;
  TileRef &tile = matrix.tile;
  // From the first window on, which may lie before the image.
  SmallVector<Value> position(image.shape.size(), code.number(0));
  for (auto [offset, step] : llvm::zip_equal(tile.offsets, image.steps))
    position[step.first] = code.add(position[step.first],
                                    code.mul(code.number(offset), step.second));
  unsigned side = image.steps[matrix.rowDim].first;
  int64_t apart = image.steps[matrix.rowDim].second;
  Value rows = code.number(matrix.rows());
  auto rowsBefore = [&](int64_t end) {
    Value left = code.max(
        code.sub(code.number(end - image.first[side]), position[side]), 0);
    return code.min(rows, code.ceilDiv(left, apart));
  };
  first = rowsBefore(0);
  Value count = code.sub(rowsBefore(image.shape[side]), first);
  for (unsigned other = 0; other < position.size(); ++other) {
    if (other == side || !image.isPadded[other])
      continue;
    // One row before the image, or behind it, is as good as none.
    auto isBefore = [&](int64_t end) {
      return builder.createOrFold<arith::CmpIOp>(
          code.loc, arith::CmpIPredicate::slt, position[other],
          code.number(end - image.first[other]));
    };
    Value zero = code.number(0);
    count = builder.createOrFold<arith::SelectOp>(code.loc, isBefore(0), zero,
                                                  count);
    count = builder.createOrFold<arith::SelectOp>(
        code.loc, isBefore(image.shape[other]), count, zero);
  }
  tile.offsets[matrix.rowDim] = getAsOpFoldResult(
      code.add(code.number(tile.offsets[matrix.rowDim]), first));
  tile.sizes[matrix.rowDim] = getAsOpFoldResult(count);
  return count;
}

/// Makes zeros of `elements`, which are whole fractals.
void KernelLowering::clear(Value to, int64_t elements) {
  int64_t fractals = elements / (fractal * fractal);
  for (int64_t start = 0; start < fractals; start += maxRepeat)
    ClearOp::create(builder, code.loc,
                    code.offset(to, code.number(start * fractal * fractal)),
                    code.number(std::min(maxRepeat, fractals - start)));
}

/// Copies what there is of `matrix`, and has zeros where the border of an image
/// is.
void KernelLowering::copyInside(const Matrix &matrix, Value to, int64_t pitch) {
  if (!images.contains(matrix.tile.root))
    return copyFromMemory(matrix, to, pitch);
  Matrix inside = matrix;
  Value first, count = clipToImage(inside, first);
  auto when = [&](arith::CmpIPredicate predicate, Value other,
                  function_ref<void()> body) {
    Value holds =
        builder.createOrFold<arith::CmpIOp>(code.loc, predicate, count, other);
    auto branch = scf::IfOp::create(builder, code.loc, holds,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenYield());
    body();
  };
  when(arith::CmpIPredicate::slt, code.number(matrix.rows()), [&] {
    clear(to, pitch * matrix.maxColumns);
    PipeBarrierOp::create(builder, code.loc, Pipe::MTE2);
  });
  when(arith::CmpIPredicate::sgt, code.number(0), [&] {
    copyFromMemory(inside, code.offset(to, code.mul(first, fractal)), pitch);
  });
}

//===----------------------------------------------------------------------===//
// Sums that leave
//===----------------------------------------------------------------------===//

/// Sums on their way to an image under windows: a row of pixels at once, or
/// with a stride each pixel by itself, with all its channels.
void KernelLowering::drainToFrame(const Matrix &result, const Buffer &buffer,
                                  Value source, const Drain &how) {
  int64_t stride = buffer.frame->line.stride;
  Value rows = code.padded(code.number(result.rows())),
        columns = code.padded(code.number(result.columns())),
        column = code.number(result.tile.offsets[result.columnDim]);
  forEachPart(
      result, buffer, [&](Value first, Value count, Value to, int64_t pitch) {
        Value start = code.offset(to, code.mul(column, pitch));
        auto drain = [&](Value pixel, Value number) {
          Value from = code.add(first, code.mul(pixel, stride));
          code.copy(CopyKind::MatrixCcToCbuf,
                    code.offset(start, code.mul(pixel, fractal)),
                    code.offset(source, code.mul(from, fractal)), number,
                    columns, rows, code.number(pitch), how.hasRelu);
        };
        if (stride == 1)
          drain(code.number(0), count);
        else
          code.loop(code.number(0), count, 1,
                    [&](Value pixel) { drain(pixel, code.number(1)); });
      });
}

/// Sums on their way out of L0C, where the vector units are in other cores.
LogicalResult KernelLowering::lowerDrain(MicroKernelOp kernel) {
  builder.setInsertionPoint(kernel);
  std::optional<Drain> how = findDrain(kernel);
  Type type = getElementTypeOrSelf(kernel.getOutputs()[0]);
  if (!how ||
      (!type.isF16() && type != getElementTypeOrSelf(kernel.getInputs()[0])))
    return fail("sums leave as neither what they are nor f16");
  SmallVector<AffineMap> maps = kernel.getMaps();
  FailureOr<Matrix> sums = getMatrix(kernel.getInputs()[0], maps[0], kernel),
                    result = getMatrix(kernel.getOutputs()[0], maps[1], kernel);
  if (failed(sums) || failed(result) || sums->rowLoop != result->rowLoop ||
      sums->columnLoop != result->columnLoop)
    return fail("sums leave L0C as something else than the same matrix");
  auto from = buffers.find(sums->tile.root);
  if (from == buffers.end() || from->second.kind != BufferKind::Sums ||
      !isConstantIntValue(sums->tile.offsets[sums->rowDim], 0))
    return fail("what is narrowed are no sums, or some of their rows");
  Value source = getSums(*sums, code.number(0));
  Value rows = code.number(sums->rows()),
        columns = code.number(sums->columns());
  const TileRef &tile = result->tile;
  auto buffer = buffers.find(tile.root);
  if (buffer != buffers.end() && buffer->second.frame) {
    drainToFrame(*result, buffer->second, source, *how);
    return success();
  }
  if (buffer != buffers.end()) {
    int64_t pitch = result->pitch();
    Value start = code.add(
        getLineStart(*result),
        code.add(code.mul(code.number(tile.offsets[result->columnDim]), pitch),
                 code.mul(code.number(tile.offsets[result->rowDim]), fractal)));
    code.copy(
        CopyKind::MatrixCcToCbuf,
        code.offset(getAddress(code, buffer->second.place, code.number(0)),
                    start),
        source, code.padded(rows), code.padded(columns), code.padded(rows),
        code.number(pitch), how->hasRelu);
    return success();
  }
  if (failed(checkCopies(*result)))
    return failure();
  Value base =
      UnrealizedConversionCastOp::create(
          builder, code.loc,
          PtrType::get(builder.getContext(), Memory::GM, type), tile.root)
          .getResult(0);
  code.copy(CopyKind::MatrixCcToGm,
            code.offset(base, getLinearOffset(code, tile)), source, rows,
            columns, code.padded(rows),
            code.number(getStride(tile, result->rowDim)), how->hasRelu);
  return success();
}
