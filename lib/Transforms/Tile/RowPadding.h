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

#include "Chimera/IR/ElementBytes.h"
#include "Chimera/Model/AlignedRow.h"

#include <algorithm>

namespace chimera {

/// Elements of a line; one if they are longer.
inline int64_t elementsOfLine(mlir::Type elementType, int64_t lineBytes) {
  return std::max<int64_t>(1, lineBytes / bytesOf(elementType));
}

/// model::alignedRow for elements of a type.
inline int64_t alignRow(int64_t elements, mlir::Type elementType,
                        int64_t lineBytes) {
  return model::alignedRow(elements, elementsOfLine(elementType, lineBytes));
}

/// The elements that a row takes in memory: a cache line more if it fills a
/// multiple of `linesApart` lines.
inline int64_t padRow(int64_t elements, mlir::Type elementType,
                      int64_t linesApart, int64_t lineBytes) {
  int64_t line = elementsOfLine(elementType, lineBytes);
  return elements % (linesApart * line) == 0 ? elements + line : elements;
}

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_TILE_ROWPADDING_H
