//===- KernelFrames.cpp - Images that windows take within a kernel --------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one convolution makes and the next one takes through windows lies in L1
// as an image from memory would: rows of pixels one behind the other, with a
// stride each in parts, of which every tap takes neighbours. Its border is
// there, too: zeros that are made before the pixels come. They are filled by
// the pipe that copies from memory, and pixels by one that comes after the cube
// unit. No flag leads from the first to the second, but the loads for the
// products in between wait for the zeros.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

int64_t ascend::startOfPart(const model::LineOfPixels &line, int64_t pixels,
                            int64_t part) {
  int64_t rows = 0;
  for (int64_t other = 0; other < part; ++other)
    rows += padToFractal(line.rowsOf(other, pixels));
  return rows;
}

std::optional<unsigned> ascend::findDim(const TileRef &tile, AffineMap map,
                                        std::optional<unsigned> loop) {
  for (unsigned index = 0; loop && index < map.getNumResults(); ++index)
    if (map.getDimPosition(index) == *loop)
      return tile.dims[index];
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Notes how the image that input `input` of `kernel` shows under windows has
/// to lie.
LogicalResult KernelLowering::noteFrame(MicroKernelOp kernel, unsigned input) {
  Value value = kernel.getInputs()[input];
  AffineMap map = kernel.getMaps()[input];
  Taps taps;
  if (failed(findReduction(kernel, value, map, taps)))
    return failure();
  FailureOr<Matrix> matrix = getMatrix(value, map, kernel, taps);
  if (failed(matrix) || !matrix->rowLoop)
    return fail("windows over an image that another operator makes are no "
                "matrix; plan the operators one by one (fuse=never)");
  const TileRef &tile = matrix->tile;
  ArrayRef<int64_t> shape = tile.getRootType().getShape();
  Frame frame;
  frame.line.taps = taps.columns;
  frame.line.stride = getStride(tile, matrix->rowDim) / shape.back();
  int64_t pixels = tile.shape[matrix->rowDim];
  // Along the last side of the image, or else these are no neighbours.
  if (shape.size() < 2 ||
      frame.line.stride * (pixels - 1) + frame.line.taps != shape.end()[-2])
    return fail("windows take columns of an image that another operator makes; "
                "plan the operators one by one (fuse=never)");
  SmallVector<int64_t> steps = kernel.getExtentsOf(*matrix->rowLoop);
  frame.pixels = frame.line.roomFor(pixels, *llvm::max_element(steps), fractal);
  frame.width = padToFractal(shape.back());
  frame.rows = 1;
  for (int64_t size : shape.drop_back(2))
    frame.rows *= size;
  std::optional<Frame> &known = buffers[tile.root].frame;
  if (known && (known->line.stride != frame.line.stride ||
                known->line.taps != frame.line.taps))
    return fail("an image that another operator makes is read through several "
                "windows; plan the operators one by one (fuse=never)");
  if (known)
    frame.pixels = std::max(frame.pixels, known->pixels);
  known = frame;
  return success();
}

/// The row of pixels that `tile` is, or starts with, in an image that is made
/// in the kernel. `rowDim` and `except` move along rows.
Value KernelLowering::getLine(const TileRef &tile, unsigned rowDim,
                              std::optional<unsigned> except) {
  ArrayRef<int64_t> shape = tile.getRootType().getShape();
  int64_t apart = shape.end()[-2] * shape.back();
  Value line = code.number(0);
  for (unsigned dim = 0; dim + 1 < tile.offsets.size(); ++dim)
    if (dim != rowDim && dim != except)
      line = code.add(line, code.mul(code.number(tile.offsets[dim]),
                                     getStride(tile, dim) / apart));
  return line;
}

/// The elements of a buffer of several matrices before `matrix`.
Value KernelLowering::getLineStart(const Matrix &matrix) {
  const TileRef &tile = matrix.tile;
  int64_t apart = matrix.pitch() * padToFractal(tile.shape[matrix.columnDim]);
  Value start = code.number(0);
  for (unsigned dim = tile.shape.size(); dim-- > 0;) {
    if (dim == matrix.rowDim || dim == matrix.columnDim)
      continue;
    start = code.add(start, code.mul(code.number(tile.offsets[dim]), apart));
    apart *= tile.shape[dim];
  }
  return start;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// What `factor` reads of the image in `buffer`, with what it has for the first
/// tap.
Factor KernelLowering::readFrame(const Buffer &buffer, Factor factor,
                                 const Taps &taps, AffineMap map) {
  const Frame &frame = *buffer.frame;
  const Matrix &matrix = factor.matrix;
  Value line = getLine(matrix.tile, matrix.rowDim,
                       findDim(matrix.tile, map, taps.columnLoop));
  factor.line = frame.line;
  factor.pixels = frame.pixels;
  factor.width = frame.width;
  factor.start = code.offset(getAddress(code, buffer.place, code.number(0)),
                             code.mul(line, frame.elements()));
  factor.firstPixel = code.number(matrix.tile.offsets[matrix.rowDim]);
  factor.firstColumn = code.number(matrix.tile.offsets[matrix.columnDim]);
  return getTap(factor, taps, code.number(0), /*column=*/0);
}

/// Calls `write` for each part of the row of pixels that `matrix` is of the
/// image in `buffer`: with the first of its own pixels in the part and how many
/// these are, where they go, and the rows from one column group to the next.
void KernelLowering::forEachPart(
    const Matrix &matrix, const Buffer &buffer,
    function_ref<void(Value, Value, Value, int64_t)> write) {
  const Frame &frame = *buffer.frame;
  int64_t stride = frame.line.stride;
  const TileRef &tile = matrix.tile;
  Value line =
      code.offset(getAddress(code, buffer.place, code.number(0)),
                  code.mul(getLine(tile, matrix.rowDim), frame.elements()));
  Value pixel = code.number(tile.offsets[matrix.rowDim]),
        rows = code.number(matrix.rows());
  for (int64_t part = 0; part < frame.line.numParts(); ++part) {
    int64_t start = frame.startOf(part),
            pitch = frame.startOf(part + 1) - start;
    // The first pixel from here on with that remainder.
    Value first = code.rem(
        code.add(code.mul(pixel, stride - 1), code.number(part)), stride);
    Value count = code.ceilDiv(code.max(code.sub(rows, first), 0), stride);
    Value to = code.offset(
        line,
        code.add(code.mul(code.div(code.add(pixel, first), stride), fractal),
                 code.number(start * frame.width)));
    if (stride == 1) {
      write(first, rows, to, pitch);
      continue;
    }
    Value holds = arith::CmpIOp::create(
        builder, code.loc, arith::CmpIPredicate::sgt, count, code.number(0));
    auto branch = scf::IfOp::create(builder, code.loc, holds,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenYield());
    write(first, count, to, pitch);
  }
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

/// True if `border` is a row of pixels of an image, and not a column.
static bool isLine(MicroKernelOp border) {
  auto image = border.getOutput().getDefiningOp<memref::SubViewOp>();
  ArrayRef<int64_t> whole = image.getSourceType().getShape(),
                    own = image.getType().getShape();
  return own.take_back(2) == whole.take_back(2) &&
         llvm::all_of(own.drop_back(2), [](int64_t size) { return size == 1; });
}

/// Zeros outside of an image: a row of pixels, or else a column, for which all
/// is cleared, since nothing is there yet.
LogicalResult KernelLowering::lowerBorder(MicroKernelOp kernel,
                                          const TileRef &tile,
                                          const Buffer &buffer) {
  Value number = kernel.getBody().front().getTerminator()->getOperand(0);
  if (!buffer.frame || !matchPattern(number, m_PosZeroFloat()))
    return fail("a tile that is multiplied is filled with something else than "
                "zeros around an image; plan the operators one by one "
                "(fuse=never)");
  const Frame &frame = *buffer.frame;
  Value start = getAddress(code, buffer.place, code.number(0));
  auto clearAll = [&] { clear(start, frame.rows * frame.elements()); };
  // One that is there in any case does for all; others may overlap.
  for (MicroKernelOp other : buffer.borders)
    if (!isLine(other) &&
        other->getBlock() == findCommonBlock(buffer.borders)) {
      if (other == kernel)
        clearAll();
      return success();
    }
  if (isLine(kernel))
    clear(code.offset(start, code.mul(getLine(tile, tile.shape.size() - 2),
                                      frame.elements())),
          frame.elements());
  else
    clearAll();
  return success();
}
