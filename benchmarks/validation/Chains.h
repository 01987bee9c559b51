//===- Chains.h - The chains that are validated -----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two convolutions in a row, the first of which may be depthwise, or two matrix
// products, which are pointwise convolutions of an image of one row. Images lie
// in memory with the channels of a pixel side by side, weights with the output
// channels of a window position side by side; all channels are multiples of a
// cache line.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_BENCHMARKS_VALIDATION_CHAINS_H
#define CHIMERA_BENCHMARKS_VALIDATION_CHAINS_H

#include "Chimera/Model/Problem.h"

namespace chimera::validation {

constexpr int64_t lineBytes = 64, elementBytes = 4;
constexpr int64_t lineElements = lineBytes / elementBytes;

struct ChainSizes {
  int64_t rows = 1, columns = 1;
  /// Before, between and after the layers.
  int64_t channels[3] = {1, 1, 1};
  /// The windows' edges, and the rows of zeros around the input of a layer
  /// whose window has more than one element.
  int64_t edges[2] = {1, 1};
  int64_t padding = 0;
  /// True if each channel of the first layer's result has one of its input.
  bool isDepthwise = false;

  bool isMatrixProduct() const {
    return rows == 1 && edges[0] == 1 && edges[1] == 1;
  }
  /// As chimera-cache-walk takes them.
  std::string str() const;
};

/// The chain with `channelUnit` channels taken for one: 1, or lineElements for
/// a problem whose tiles are whole lines. Bytes are the same either way. Loops
/// are called as chimera-cache-walk knows them.
model::ChainProblem makeChain(const ChainSizes &sizes, int64_t channelUnit);

/// True if `loop` runs over channels.
bool isChannel(const model::Loop &loop);

} // namespace chimera::validation

#endif // CHIMERA_BENCHMARKS_VALIDATION_CHAINS_H
