//===- RandomBody.h - Bodies of random operations ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a body, operation by operation. What a seed gives is the same on
// every machine.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_CHAIN_RANDOMBODY_H
#define CHIMERA_UNITTESTS_CHAIN_RANDOMBODY_H

#include <random>
#include <string>
#include <vector>

namespace chimera {

class RandomBody {
public:
  /// A body with `dims` loops and the arguments `floats` of type `floatType`.
  RandomBody(unsigned seed, unsigned dims, std::vector<std::string> floats,
             std::string floatType);

  /// A sum of indices and numbers in one of the integer types, in which it may
  /// wrap.
  std::string addSum(const std::string &type);
  /// A comparison of two sums, signed or not.
  std::string addComparison();
  /// Comparisons that are combined.
  std::string addCondition();
  /// A value that is minus infinity where some conditions say so; `value`
  /// otherwise, or what positive factors and terms make of it.
  std::string addMask(const std::string &value);
  /// Something computed from earlier floats.
  std::string addFloat();

  const std::string &getText() const { return text; }
  unsigned pick(unsigned count) { return random() % count; }

private:
  template <typename T>
  const T &pickFrom(const std::vector<T> &choices) {
    return choices[pick(choices.size())];
  }
  /// Adds an operation and returns the name of its result.
  std::string add(const std::string &operation);
  std::string addNumber(const std::string &type);

  std::mt19937 random;
  unsigned dims;
  std::vector<std::string> floats;
  std::string floatType;
  std::string text;
  unsigned numValues = 0;
};

} // namespace chimera

#endif // CHIMERA_UNITTESTS_CHAIN_RANDOMBODY_H
