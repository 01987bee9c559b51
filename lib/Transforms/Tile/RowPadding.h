//===- RowPadding.h - Where the rows of a buffer start ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register tile reads one line from each of several neighbouring rows. If
// rows lie a power of two of lines apart, these lines share a few sets of the
// cache and drive each other out; a line more per row spreads them. If rows
// end within a line, every vector of the rows after the first lies in two.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_TILE_ROWPADDING_H
#define CHIMERA_LIB_TRANSFORMS_TILE_ROWPADDING_H

#include "mlir/IR/Types.h"
#include "llvm/Support/MathExtras.h"

namespace chimera {

constexpr int64_t cacheLineBytes = 64;

/// `elements` in whole lines, unless that adds more than a quarter of them. An
/// element has to divide a line.
inline int64_t alignRow(int64_t elements, mlir::Type elementType) {
  int64_t line = cacheLineBytes * 8 / elementType.getIntOrFloatBitWidth();
  int64_t aligned = llvm::alignTo(elements, line);
  return 4 * (aligned - elements) <= elements ? aligned : elements;
}

/// The elements that a row takes in memory: a cache line more if it fills a
/// multiple of `linesApart` lines. An element has to divide a line.
inline int64_t padRow(int64_t elements, mlir::Type elementType,
                      int64_t linesApart) {
  int64_t line = cacheLineBytes * 8 / elementType.getIntOrFloatBitWidth();
  return elements % (linesApart * line) == 0 ? elements + line : elements;
}

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_ROWPADDING_H
