//===- MicroKernelAttributes.cpp - What micro kernels say of themselves ---===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyFigures.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/NumberTypes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace chimera;

LogicalResult OuterProductAttr::verify(EmitError emitError, int64_t lanes,
                                       RegisterTileAttr, bool, VectorTuningAttr,
                                       ArrayAttr dots, ArrayAttr narrowed) {
  if (lanes < 1)
    return emitError() << "'lanes' must be positive, got " << lanes;
  for (Attribute dot : dots ? dots.getValue() : ArrayRef<Attribute>()) {
    auto given = dyn_cast<TypeAttr>(dot);
    Type type = given ? given.getValue() : Type();
    // vdpbf16ps and vpdpbusd are for registers of 512 bits.
    bool isLong = type && (type.isBF16() || type.isSignlessInteger(8));
    if (!isLong && !(type && type.isSignlessInteger(16)))
      return emitError()
             << "there are dot products of bf16, i8 and i16 alone, not of "
             << dot;
    if (lanes != 16 && (isLong || lanes != 8))
      return emitError() << "dot products of " << dot << " are for vectors of "
                         << (isLong ? "" : "8 or ") << "16 lanes, got "
                         << lanes;
  }
  // vcvtneps2bf16, of which the form for registers of 512 bits is emitted.
  for (Attribute type : narrowed ? narrowed.getValue() : ArrayRef<Attribute>())
    if (type != TypeAttr::get(BFloat16Type::get(type.getContext())) ||
        lanes != 16)
      return emitError() << "vectors of 16 lanes are narrowed to bf16, not "
                         << lanes << " lanes to " << type;
  return success();
}

static SmallVector<Type> getTypes(ArrayAttr types) {
  if (!types)
    return {};
  return llvm::to_vector(types.getAsValueRange<TypeAttr>());
}

SmallVector<Type> OuterProductAttr::getDotTypes() const {
  return getTypes(getDots());
}

SmallVector<Type> OuterProductAttr::getNarrowedTypes() const {
  return getTypes(getNarrowed());
}

LogicalResult TileProductAttr::verify(EmitError emitError, int64_t rows,
                                      int64_t columns, int64_t bytes,
                                      RegisterTileAttr,
                                      ArrayRef<Type> factors) {
  if (factors.empty())
    return emitError() << "'factors' must name a type";
  for (Type factor : factors)
    if (!factor.isBF16() && !factor.isF16() && !factor.isSignlessInteger(8))
      return emitError() << "there are tiles of bf16, f16 and i8 alone, not of "
                         << factor;
  // Of a tile register there are 16 rows of 64 bytes.
  if (rows > 16 || columns > 16 || bytes > 64 || bytes % 4 != 0)
    return emitError() << "tiles have up to 16 rows of up to 16 sums or 64 "
                          "bytes of factors, whole words of them, got "
                       << rows << " rows of " << columns << " sums and "
                       << bytes << " bytes";
  return verifyPositive(
      emitError, {{"rows", rows}, {"columns", columns}, {"bytes", bytes}});
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(EmitError emitError, LayoutKind kind,
                                 int64_t along, ArrayRef<int64_t> sizes) {
  StringRef name = stringifyLayoutKind(kind);
  bool hasDim =
      kind == LayoutKind::Contiguous || kind == LayoutKind::Interleaved;
  if (hasDim && along < 0)
    return emitError() << "layout '" << name
                       << "' needs a dimension, as in 'along 1'";
  if (!hasDim && along >= 0)
    return emitError() << "layout '" << name << "' is along no dimension";
  size_t expected = kind == LayoutKind::Interleaved ? 1
                    : kind == LayoutKind::Tiles || kind == LayoutKind::Fractals
                        ? 2
                        : 0;
  if (sizes.size() != expected)
    return emitError() << "layout '" << name << "' takes " << expected
                       << " sizes, got " << sizes.size();
  if (llvm::any_of(sizes, [](int64_t size) { return size < 1; }))
    return emitError() << "sizes of layout '" << name << "' must be positive";
  return success();
}

OperandLayout LayoutAttr::getLayout() const {
  unsigned along = getAlong() < 0 ? 0 : getAlong();
  return {getKind(), along, llvm::to_vector<2>(getSizes())};
}

//===----------------------------------------------------------------------===//
// Functions that are micro kernels
//===----------------------------------------------------------------------===//

ArrayRef<unsigned> KernelAttr::getDimsOf(unsigned operand) {
  static constexpr unsigned dims[3][2] = {{0, 2}, {2, 1}, {0, 1}};
  return dims[operand];
}

LogicalResult KernelAttr::verify(EmitError emitError, MicroKernelKind kind,
                                 ArrayRef<Type> types, ArrayRef<int64_t> shape,
                                 ArrayRef<LayoutAttr> layouts, FloatAttr cycles,
                                 FloatAttr setup) {
  if (kind != MicroKernelKind::Contraction)
    return emitError()
           << "functions can be kernels of kind 'contraction', got '"
           << stringifyMicroKernelKind(kind) << "'; register others from C++";
  if (types.size() != 3 || shape.size() != 3 || layouts.size() != 3)
    return emitError() << "a contraction has two factors and a sum, rows, "
                          "columns and a reduction: expected three types, "
                          "extents and layouts, got "
                       << types.size() << ", " << shape.size() << " and "
                       << layouts.size();
  if (!canBeFactor(types[0]) || !canBeFactor(types[1]) || !canBeSum(types[2]))
    return emitError() << "'types' must be factors of f32, f16 or bf16 and a "
                          "sum of f32, got "
                       << types[0] << ", " << types[1] << " and " << types[2];
  for (auto [dim, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size) ? dim < 2 : size < 1)
      return emitError() << "rows and columns of 'shape' are positive, and the "
                            "reduction positive or '?'";
  for (auto [operand, layout] : llvm::enumerate(layouts))
    if (layout.getAlong() >= 0 &&
        !llvm::is_contained(getDimsOf(operand), layout.getAlong()))
      return emitError() << "argument #" << operand << " has dimensions "
                         << getDimsOf(operand)[0] << " and "
                         << getDimsOf(operand)[1] << " but its layout is along "
                         << layout.getAlong();
  if (!(cycles.getValueAsDouble() > 0))
    return emitError() << "'cycles' must be positive, got " << cycles;
  if (setup && !(setup.getValueAsDouble() >= 0))
    return emitError() << "'setup' must not be negative, got " << setup;
  return success();
}

FunctionType KernelAttr::getExpectedType() const {
  SmallVector<Type> arguments;
  for (auto [operand, layout] : llvm::enumerate(getLayouts())) {
    SmallVector<int64_t> sizes, strides(2, ShapedType::kDynamic);
    for (auto [place, dim] : llvm::enumerate(getDimsOf(operand))) {
      sizes.push_back(getShape()[dim]);
      if (layout.getLayout().isContiguousAlong(dim))
        strides[place] = 1;
    }
    auto strided =
        StridedLayoutAttr::get(getContext(), ShapedType::kDynamic, strides);
    arguments.push_back(MemRefType::get(sizes, getTypes()[operand], strided));
  }
  return FunctionType::get(getContext(), arguments, {});
}

//===----------------------------------------------------------------------===//
// Kernels of whole programs
//===----------------------------------------------------------------------===//

LogicalResult MatrixProgramAttr::verify(EmitError emitError, int64_t rows,
                                        int64_t columns, int64_t depth,
                                        ArrayRef<Type> factors,
                                        FloatAttr cycles) {
  if (factors.empty())
    return emitError() << "'factors' must name a type";
  if (cycles && !(cycles.getValueAsDouble() > 0))
    return emitError() << "'cycles' must be positive, got " << cycles;
  return verifyPositive(
      emitError, {{"rows", rows}, {"columns", columns}, {"depth", depth}});
}

bool MatrixProgramAttr::supports(MicroKernelKind kind,
                                 ArrayRef<Type> types) const {
  // What stands between products is part of the program.
  if (kind != MicroKernelKind::Contraction)
    return true;
  return types.size() == 3 && types[0] == types[1] &&
         llvm::is_contained(getFactors(), types[0]) &&
         types[2] == getSumType(types[0]);
}

SmallVector<model::KernelShape> MatrixProgramAttr::getShapes() const {
  if (!getCycles())
    return {};
  model::KernelShape shape;
  shape.name =
      llvm::formatv("matrix_{0}x{1}x{2}", getRows(), getColumns(), getDepth());
  shape.rows = getRows();
  shape.columns = getColumns();
  shape.depth = getDepth();
  shape.cyclesPerStep = getCycles().getValueAsDouble() / getDepth();
  return {shape};
}

OperandLayout MatrixProgramAttr::getLayout(Operation *, unsigned) const {
  return OperandLayout();
}

KernelGranularity MatrixProgramAttr::getGranularity() const {
  return KernelGranularity::Program;
}
