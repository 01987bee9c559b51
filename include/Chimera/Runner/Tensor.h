//===- Tensor.h - Tensors in memory -----------------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments and results of compiled programs: dense, row-major, aligned to
// cache lines. Files are NumPy's .npy, version 1, C order, little endian; bf16
// is stored as raw uint16, since NumPy has no such type.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_TENSOR_H
#define CHIMERA_RUNNER_TENSOR_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace chimera::runner {

enum class ElementKind { F32, F64, F16, BF16, I1, I4, I8, I32, I64 };

/// Bytes of one element in memory; i1 and i4 take a whole byte, whose other
/// bits are zero.
int64_t getElementBytes(ElementKind kind);

/// MLIR's name of the type.
llvm::StringRef getElementName(ElementKind kind);

bool isFloatKind(ElementKind kind);

/// The type of an argument or result: a tensor or a scalar. Extents of
/// arguments and results may be dynamic, as MLIR says it; those of tensors in
/// memory are not.
struct ValueType {
  ElementKind element = ElementKind::F32;
  llvm::SmallVector<int64_t, 4> shape;
  bool isScalar = false;

  /// The largest number stands for all that is larger.
  int64_t getNumElements() const;
  int64_t getBytes() const;
  bool hasStaticShape() const;
  /// True if a tensor of type `other` can be passed: it has the same elements
  /// and extents, and any where they are dynamic.
  bool takes(const ValueType &other) const;
  /// As in `2x3xf32`, or `?x3xf32`.
  std::string str() const;
  bool operator==(const ValueType &other) const;
};

/// A value in memory. A scalar is a tensor of rank 0.
class Tensor {
public:
  /// Allocates without initialising. Fails if there is no memory, or if an
  /// extent is negative, as those are that MLIR calls dynamic.
  static llvm::Expected<Tensor> allocate(ValueType type);

  const ValueType &getType() const { return type; }
  void *data() { return storage.get(); }
  const void *data() const { return storage.get(); }

  /// Element `index` in row-major order as a double. Integers above 2^53 lose
  /// their last digits.
  double get(int64_t index) const;
  /// Rounds `value` to the element type.
  void set(int64_t index, double value);

  /// Fills the tensor with values that depend on `seed`, `stream` and the
  /// position of each element only, whatever the machine. Element i takes
  /// h = splitmix64(splitmix64(seed * 2^32 + stream) + i), where splitmix64 is
  /// the finaliser of that generator. Floats are uniform in [-1, 1), made of
  /// the top 24 bits of h (53 for f64); i1 takes the top bit, i4 and i8 the
  /// top 4 and 8 bits as a signed number, i32 and i64 the top 3 bits, so that
  /// they can serve as indices. Tensors of i1 are masks more often than not: of
  /// 16 rows (along the last dimension) about one is all false, one all true,
  /// and four are true up to some position, as the hash after those of the
  /// elements says.
  void fillRandom(uint64_t seed, uint64_t stream);

  /// Makes the tensor the slice that begins at `offsets` of a random one of
  /// extents `whole`.
  void fillRandomSlice(uint64_t seed, uint64_t stream,
                       llvm::ArrayRef<int64_t> whole,
                       llvm::ArrayRef<int64_t> offsets);

  /// A copy with f32 widened to f64, or any other change of element type.
  llvm::Expected<Tensor> convertTo(ElementKind element) const;

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };

  ValueType type;
  std::unique_ptr<void, Free> storage;
};

/// A value in memory of someone else: dense, row-major, aligned to its
/// elements.
struct TensorRef {
  ValueType type;
  void *data = nullptr;
};

llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

/// How far a result is from its reference.
struct Deviation {
  double maxAbs = 0;
  /// The largest |x - r| / max(|r|, s), where s is the root mean square of the
  /// reference tensor, or of the element's row if that is larger: an element of
  /// a long sum that comes out near zero has no meaningful relative error of
  /// its own. Infinite if a NaN or an infinity is in one tensor and not in the
  /// other.
  double maxRel = 0;
  /// Elements compared, and how many of them are NaN or infinite in both.
  int64_t elements = 0, nonFinite = 0;

  void merge(const Deviation &other);
};

/// Compares two tensors of the same shape. The reference is rounded to the
/// type of `actual` before overflow is judged.
Deviation compare(const Tensor &actual, const Tensor &reference);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_TENSOR_H
