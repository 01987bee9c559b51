//===- Tensor.cpp - Tensors in memory -------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Tensor.h"

#include "Chimera/Support/TensorSlice.h"

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace chimera;
using namespace chimera::runner;
using llvm::ArrayRef;
using llvm::StringRef;
using mlir::ShapedType;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t chimera::runner::getElementBytes(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
  case ElementKind::I64:
    return 8;
  case ElementKind::F32:
  case ElementKind::I32:
    return 4;
  case ElementKind::F16:
  case ElementKind::BF16:
    return 2;
  case ElementKind::I1:
  case ElementKind::I4:
  case ElementKind::I8:
    return 1;
  }
  llvm_unreachable("unknown element kind");
}

StringRef chimera::runner::getElementName(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return "f32";
  case ElementKind::F64:
    return "f64";
  case ElementKind::F16:
    return "f16";
  case ElementKind::BF16:
    return "bf16";
  case ElementKind::I1:
    return "i1";
  case ElementKind::I4:
    return "i4";
  case ElementKind::I8:
    return "i8";
  case ElementKind::I32:
    return "i32";
  case ElementKind::I64:
    return "i64";
  }
  llvm_unreachable("unknown element kind");
}

bool chimera::runner::isFloatKind(ElementKind kind) {
  return kind == ElementKind::F32 || kind == ElementKind::F64 ||
         kind == ElementKind::F16 || kind == ElementKind::BF16;
}

/// The product, or the largest number if it does not fit.
static int64_t multiply(int64_t lhs, int64_t rhs) {
  int64_t product;
  return llvm::MulOverflow(lhs, rhs, product)
             ? std::numeric_limits<int64_t>::max()
             : product;
}

int64_t ValueType::getNumElements() const {
  // Without elements, whatever the other extents are.
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t extent : shape)
    count = multiply(count, extent);
  return count;
}

int64_t ValueType::getBytes() const {
  return multiply(getNumElements(), getElementBytes(element));
}

std::string ValueType::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t extent : shape) {
    if (ShapedType::isDynamic(extent))
      os << "?x";
    else
      os << extent << 'x';
  }
  os << getElementName(element);
  return text;
}

bool ValueType::hasStaticShape() const {
  return !ShapedType::isDynamicShape(shape);
}

bool ValueType::takes(const ValueType &other) const {
  return element == other.element && shape.size() == other.shape.size() &&
         llvm::all_of(llvm::zip(shape, other.shape), [](auto extents) {
           auto [own, given] = extents;
           return ShapedType::isDynamic(own) || own == given;
         });
}

bool ValueType::operator==(const ValueType &other) const {
  return element == other.element && shape == other.shape &&
         isScalar == other.isScalar;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> Tensor::allocate(ValueType type) {
  if (llvm::any_of(type.shape, [](int64_t extent) { return extent < 0; }))
    return llvm::createStringError("a tensor of type " + type.str() +
                                   " has no size");
  // Whole cache lines, and at least one: a tensor without elements has an
  // address too.
  constexpr size_t alignment = 64;
  constexpr int64_t most = std::numeric_limits<int64_t>::max() - alignment;
  if (type.getBytes() > most)
    return llvm::createStringError("a tensor of type " + type.str() +
                                   " is larger than any memory");
  size_t bytes =
      llvm::alignTo(std::max<int64_t>(type.getBytes(), 1), alignment);
  Tensor tensor;
  tensor.type = std::move(type);
  tensor.storage.reset(std::aligned_alloc(alignment, bytes));
  if (!tensor.storage)
    return llvm::createStringError("no memory for a tensor of %zu bytes",
                                   bytes);
  return tensor;
}

static float fromBF16(uint16_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even.
static uint16_t toBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static double fromF16(uint16_t bits) {
  return llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits))
      .convertToDouble();
}

static uint16_t toF16(double value) {
  llvm::APFloat half(value);
  bool losesInfo;
  half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  return static_cast<uint16_t>(half.bitcastToAPInt().getZExtValue());
}

template <typename T>
static T load(const void *base, int64_t index) {
  return static_cast<const T *>(base)[index];
}

template <typename T>
static void store(void *base, int64_t index, double value) {
  static_cast<T *>(base)[index] = static_cast<T>(value);
}

double Tensor::get(int64_t index) const {
  switch (type.element) {
  case ElementKind::F32:
    return load<float>(data(), index);
  case ElementKind::F64:
    return load<double>(data(), index);
  case ElementKind::F16:
    return fromF16(load<uint16_t>(data(), index));
  case ElementKind::BF16:
    return fromBF16(load<uint16_t>(data(), index));
  case ElementKind::I1:
    return load<uint8_t>(data(), index) & 1;
  case ElementKind::I4:
    return llvm::SignExtend32<4>(load<uint8_t>(data(), index));
  case ElementKind::I8:
    return load<int8_t>(data(), index);
  case ElementKind::I32:
    return load<int32_t>(data(), index);
  case ElementKind::I64:
    return static_cast<double>(load<int64_t>(data(), index));
  }
  llvm_unreachable("unknown element kind");
}

void Tensor::set(int64_t index, double value) {
  switch (type.element) {
  case ElementKind::F32:
    return store<float>(data(), index, value);
  case ElementKind::F64:
    return store<double>(data(), index, value);
  case ElementKind::F16:
    static_cast<uint16_t *>(data())[index] = toF16(value);
    return;
  case ElementKind::BF16:
    static_cast<uint16_t *>(data())[index] = toBF16(static_cast<float>(value));
    return;
  case ElementKind::I1:
    return store<uint8_t>(data(), index, value != 0);
  case ElementKind::I4:
    return store<uint8_t>(data(), index, static_cast<int>(value) & 15);
  case ElementKind::I8:
    return store<int8_t>(data(), index, value);
  case ElementKind::I32:
    return store<int32_t>(data(), index, value);
  case ElementKind::I64:
    return store<int64_t>(data(), index, value);
  }
  llvm_unreachable("unknown element kind");
}

static uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The random value for an element of type `kind` from 64 random bits.
static double toRandomValue(ElementKind kind, uint64_t bits) {
  switch (kind) {
  case ElementKind::F64:
    return std::ldexp(static_cast<double>(bits >> 11), -52) - 1;
  case ElementKind::F32:
  case ElementKind::F16:
  case ElementKind::BF16:
    return std::ldexp(static_cast<double>(bits >> 40), -23) - 1;
  case ElementKind::I1:
    return static_cast<double>(bits >> 63);
  case ElementKind::I4:
    return llvm::SignExtend32<4>(static_cast<uint32_t>(bits >> 60));
  case ElementKind::I8:
    return static_cast<int8_t>(bits >> 56);
  case ElementKind::I32:
  case ElementKind::I64:
    return static_cast<double>(bits >> 61);
  }
  llvm_unreachable("unknown element kind");
}

namespace {
/// The rows of a random mask: some are all false, all true, or true up to some
/// position, the others as each element says.
class MaskRows {
public:
  MaskRows(ArrayRef<int64_t> shape, uint64_t start)
      : extent(shape.empty() ? 1 : shape.back()), start(start) {
    for (int64_t size : shape)
      count *= size;
  }

  /// Element `index` of the mask, which by itself would be `value`.
  double get(int64_t index, double value) {
    if (int64_t of = index / extent; of != row)
      enter(of);
    return isRandom ? value : index % extent < numTrue;
  }

private:
  void enter(int64_t next) {
    row = next;
    uint64_t bits = splitmix64(start + count + row), kind = bits >> 60;
    isRandom = kind > 5;
    numTrue = static_cast<int64_t>(static_cast<uint32_t>(bits) %
                                   static_cast<uint64_t>(extent + 1));
    if (kind < 2)
      numTrue = kind == 0 ? 0 : extent;
  }

  int64_t extent, count = 1;
  uint64_t start;
  int64_t row = -1, numTrue = 0;
  bool isRandom = true;
};
} // namespace

void Tensor::fillRandom(uint64_t seed, uint64_t stream) {
  fillRandomSlice(seed, stream, type.shape,
                  llvm::SmallVector<int64_t>(type.shape.size()));
}

void Tensor::fillRandomSlice(uint64_t seed, uint64_t stream,
                             ArrayRef<int64_t> whole,
                             ArrayRef<int64_t> offsets) {
  uint64_t start = splitmix64((seed << 32) + stream);
  MaskRows rows(whole, start);
  bool isMask = type.element == ElementKind::I1;
  forEachRun(whole, offsets, type.shape, [&](const SliceRun &run) {
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t index = run.inWhole + i;
      double value = toRandomValue(type.element, splitmix64(start + index));
      set(run.inSlice + i, isMask ? rows.get(index, value) : value);
    }
  });
}

llvm::Expected<Tensor> Tensor::convertTo(ElementKind element) const {
  ValueType newType = type;
  newType.element = element;
  llvm::Expected<Tensor> result = allocate(newType);
  if (!result)
    return result;
  if (element == type.element) {
    std::memcpy(result->data(), data(), type.getBytes());
    return result;
  }
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
    result->set(i, get(i));
  return result;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

void Deviation::merge(const Deviation &other) {
  maxAbs = std::max(maxAbs, other.maxAbs);
  maxRel = std::max(maxRel, other.maxRel);
  elements += other.elements;
  nonFinite += other.nonFinite;
}

/// `value` as an element of type `kind` would hold it.
static double roundTo(ElementKind kind, double value) {
  if (kind == ElementKind::F32)
    return static_cast<float>(value);
  if (kind == ElementKind::F16)
    return fromF16(toF16(value));
  if (kind == ElementKind::BF16)
    return fromBF16(toBF16(static_cast<float>(value)));
  return value;
}

/// Of `size` elements from `begin` on.
static double rootMeanSquare(const Tensor &tensor, int64_t begin,
                             int64_t size) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = begin, e = begin + size; i < e; ++i) {
    double value = tensor.get(i);
    if (!std::isfinite(value))
      continue;
    sum += value * value;
    ++count;
  }
  return count ? std::sqrt(sum / count) : 0;
}

Deviation chimera::runner::compare(const Tensor &actual,
                                   const Tensor &reference) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Deviation deviation;
  deviation.elements = actual.getType().getNumElements();
  // Elements that are NaN or infinite in one of the two only.
  int64_t differences = 0;
  double whole = rootMeanSquare(reference, 0, deviation.elements),
         scale = whole;
  llvm::ArrayRef<int64_t> shape = reference.getType().shape;
  int64_t row = shape.empty() ? 1 : shape.back();
  ElementKind kind = actual.getType().element;
  for (int64_t i = 0; i < deviation.elements; ++i) {
    if (i % row == 0)
      scale = std::max(whole, rootMeanSquare(reference, i, row));
    double x = actual.get(i), r = reference.get(i);
    double rounded = roundTo(kind, r);
    if (!std::isfinite(x) || !std::isfinite(rounded)) {
      bool agree = x == rounded || (std::isnan(x) && std::isnan(rounded));
      ++(agree ? deviation.nonFinite : differences);
      continue;
    }
    double difference = std::abs(x - r);
    double magnitude = std::max(std::abs(r), scale);
    deviation.maxAbs = std::max(deviation.maxAbs, difference);
    if (difference > 0)
      deviation.maxRel = std::max(
          deviation.maxRel, magnitude > 0 ? difference / magnitude : infinity);
  }
  if (differences)
    deviation.maxAbs = deviation.maxRel = infinity;
  return deviation;
}
