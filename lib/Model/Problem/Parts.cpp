//===- Parts.cpp - How tiles cut a loop -----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem/Parts.h"

#include "Chimera/Model/Algorithms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace llvm;
using namespace chimera::model;

BalancedSplit chimera::model::splitEvenly(int64_t extent, int64_t part) {
  assert(extent > 0 && part > 0 && "nothing to split");
  int64_t parts = divideCeilSigned(extent, part);
  BalancedSplit split;
  split.size = divideCeilSigned(extent, parts);
  split.small = split.size * parts - extent;
  split.large = parts - split.small;
  return split;
}

PartList chimera::model::cutParts(ArrayRef<Parts> parts, int64_t tile) {
  PartList split;
  for (Parts part : parts) {
    int64_t size = std::min(tile, part.size);
    split.push_back({size, part.count * (part.size / size)});
    if (int64_t edge = part.size % size)
      split.push_back({edge, part.count});
  }
  return split;
}

PartList chimera::model::shareEvenly(ArrayRef<Parts> parts, int64_t most) {
  PartList shares;
  auto add = [&](int64_t size, int64_t count) {
    auto *same =
        find_if(shares, [&](Parts other) { return other.size == size; });
    if (same != shares.end())
      same->count += count;
    else if (count > 0)
      shares.push_back({size, count});
  };
  for (Parts part : parts) {
    BalancedSplit split = splitEvenly(part.size, most);
    add(split.size, part.count * split.large);
    add(split.size - 1, part.count * split.small);
  }
  return shares;
}

int64_t chimera::model::countOf(ArrayRef<Parts> parts) {
  int64_t count = 0;
  for (Parts part : parts)
    count += part.count;
  return count;
}

int64_t chimera::model::totalOf(ArrayRef<Parts> parts) {
  int64_t total = 0;
  for (Parts part : parts)
    total += part.size * part.count;
  return total;
}
