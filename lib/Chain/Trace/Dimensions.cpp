//===- Dimensions.cpp - Which dimensions are the same loop ----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cut is a stride: 768 cut at 64 is 12 x 64. Cuts travel through reshapes in
// both directions until nothing changes; then dimensions on both sides of a
// reshape have the same parts, one by one.
//
//===----------------------------------------------------------------------===//

#include "Trace/Dimensions.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace mlir;
using namespace chimera;

DimId Dimensions::add(int64_t extent) {
  extents.push_back(extent);
  classes.grow(extents.size());
  return extents.size() - 1;
}

void Dimensions::unite(DimId first, DimId second) {
  assert(extents[first] == extents[second] && "dimensions differ");
  classes.join(first, second);
}

void Dimensions::split(DimId whole, ArrayRef<DimId> parts) {
  splits.push_back({whole, SmallVector<DimId>(parts)});
}

/// Cuts the whole where its parts are cut, and the other way round. False if a
/// cut of the whole falls between the values of a part.
bool Dimensions::exchangeCuts(const Split &split, bool &changed) {
  std::set<int64_t> &whole = cuts[classes.findLeader(split.whole)];
  int64_t stride = 1;
  for (DimId dim : llvm::reverse(split.parts)) {
    std::set<int64_t> &part = cuts[classes.findLeader(dim)];
    int64_t end = stride * extents[dim];
    if (stride > 1 && stride < extents[split.whole])
      changed |= whole.insert(stride).second;
    for (int64_t cut : std::set<int64_t>(part))
      changed |= whole.insert(cut * stride).second;
    for (int64_t cut : std::set<int64_t>(whole)) {
      if (cut <= stride || cut >= end)
        continue;
      if (cut % stride != 0 || end % cut != 0)
        return false;
      changed |= part.insert(cut / stride).second;
    }
    stride = end;
  }
  return true;
}

LogicalResult Dimensions::solve() {
  cuts.assign(extents.size(), {});
  for (bool changed = true; changed;) {
    changed = false;
    for (const Split &split : splits)
      if (!exchangeCuts(split, changed))
        return failure();
    for (auto [first, second] : aligned)
      if (!exchangeCuts({first, {second}}, changed))
        return failure();
  }
  return makeParts();
}

LogicalResult Dimensions::makeParts() {
  parts.assign(extents.size(), {});
  unsigned numParts = 0;
  for (DimId dim = 0; dim < extents.size(); ++dim) {
    if (classes.findLeader(dim) != dim)
      continue;
    int64_t end = extents[dim];
    std::set<int64_t> strides = cuts[dim];
    strides.insert(1);
    for (int64_t stride : llvm::reverse(strides)) {
      if (end % stride != 0)
        return failure();
      if (end > stride || (keepsUnits && extents[dim] == 1)) {
        parts[dim].push_back({numParts++, end / stride, stride});
      }
      end = stride;
    }
  }
  ids.grow(numParts);
  for (const Split &split : splits) {
    SmallVector<DimPart> inner;
    for (DimId dim : split.parts)
      llvm::append_range(inner, parts[classes.findLeader(dim)]);
    for (auto [outer, part] :
         llvm::zip_equal(parts[classes.findLeader(split.whole)], inner))
      ids.join(outer.id, part.id);
  }
  return success();
}

SmallVector<DimPart> Dimensions::getParts(DimId dim) const {
  SmallVector<DimPart> result = parts[classes.findLeader(dim)];
  for (DimPart &part : result)
    part.id = ids.findLeader(part.id);
  return result;
}
