//===- Parts.h - How tiles cut a loop ---------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that does not divide the extent of its loop leaves a smaller part at
// the end, and a tile inside it cuts both sizes. Counting parts of equal size
// together keeps sums over blocks short however many blocks there are.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_MODEL_PROBLEM_PARTS_H
#define CHIMERA_LIB_MODEL_PROBLEM_PARTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace chimera::model {

/// `count` parts of a loop that all have the same size.
struct Parts {
  int64_t size = 0, count = 0;
};
using PartList = llvm::SmallVector<Parts, 4>;

/// `parts`, each cut into tiles of at most `tile`. The largest part stays
/// first.
PartList cutParts(llvm::ArrayRef<Parts> parts, int64_t tile);

/// Splits `parts` further into equal shares of at most `most`, and counts
/// shares of the same size together.
PartList shareEvenly(llvm::ArrayRef<Parts> parts, int64_t most);
/// Number of all parts, and their sizes together.
int64_t countOf(llvm::ArrayRef<Parts> parts);
int64_t totalOf(llvm::ArrayRef<Parts> parts);

} // namespace chimera::model

#endif // CHIMERA_LIB_MODEL_PROBLEM_PARTS_H
