//===- Dimensions.h - Which dimensions are the same loop --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that share a tensor share loops, but reshapes between them may see
// one dimension as several: the 768 columns that a projection writes are 12
// heads of 64 to the attention after it. Dimensions are cut, all of them as far
// as any reshape asks, into parts that no reshape sees differently; those are
// the loops.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CHAIN_TRACE_DIMENSIONS_H
#define CHIMERA_LIB_CHAIN_TRACE_DIMENSIONS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <set>
#include <vector>

namespace chimera {

using DimId = unsigned;

/// A part of a dimension: the dimension's value is the sum of its parts' values
/// times their strides. Parts with the same id always have the same value.
struct DimPart {
  unsigned id = 0;
  int64_t extent = 1;
  int64_t stride = 1;
};

/// Collects what is known of dimensions, then cuts them into parts.
class Dimensions {
public:
  DimId add(int64_t extent);
  int64_t getExtent(DimId dim) const { return extents[dim]; }

  /// Both dimensions, which have the same extent, always have the same value.
  void unite(DimId first, DimId second);
  bool areSame(DimId first, DimId second) const {
    return classes.findLeader(first) == classes.findLeader(second);
  }
  /// Both dimensions, which have the same extent, are cut in the same places.
  void align(DimId first, DimId second) { aligned.push_back({first, second}); }
  /// `whole` is what collapsing `parts`, outermost first, gives.
  void split(DimId whole, llvm::ArrayRef<DimId> parts);

  /// Makes a dimension of one element a part of its own. Nothing may be split
  /// then.
  void keepUnits() { keepsUnits = true; }

  /// Cuts the dimensions. Fails if reshapes cut one at places that do not nest.
  llvm::LogicalResult solve();

  /// The parts of `dim`, outermost first, those of extent one left out unless
  /// `keepUnits` says otherwise. Call `solve` before.
  llvm::SmallVector<DimPart> getParts(DimId dim) const;

private:
  struct Split {
    DimId whole;
    llvm::SmallVector<DimId> parts;
  };
  bool exchangeCuts(const Split &split, bool &changed);
  llvm::LogicalResult makeParts();

  bool keepsUnits = false;
  std::vector<int64_t> extents;
  /// Of dimensions that have the same value.
  llvm::IntEqClasses classes;
  std::vector<Split> splits;
  std::vector<std::pair<DimId, DimId>> aligned;
  /// For each class, the strides above one at which it is cut.
  std::vector<std::set<int64_t>> cuts;
  std::vector<llvm::SmallVector<DimPart>> parts;
  /// Of the ids of parts that have the same value.
  llvm::IntEqClasses ids;
};

} // namespace chimera

#endif // CHIMERA_LIB_CHAIN_TRACE_DIMENSIONS_H
