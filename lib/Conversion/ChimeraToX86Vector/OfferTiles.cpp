//===- OfferTiles.cpp - The offer of kernels on AMX -----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a chain runs on tiles is decided when it is planned: by then the
// offer is made for all that may. A plan for tiles broadcasts nothing, by which
// it is known when kernels are chosen; what is planned for vectors is declined.
//
//===----------------------------------------------------------------------===//

#include "OfferTiles.h"

#include "Features.h"
#include "TileProduct.h"

#include "Chimera/IR/MicroKernels.h"
#include "Chimera/IR/NumberTypes.h"

#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace chimera;

namespace {
struct TileProductModel
    : MicroKernelAttrInterface::ExternalModel<TileProductModel,
                                              TileProductAttr> {
  bool supports(Attribute attribute, MicroKernelKind kind,
                ArrayRef<Type> types) const {
    return kind == MicroKernelKind::Contraction && types.size() == 3 &&
           types[0] == types[1] && types[2] == getSumType(types[0]) &&
           llvm::is_contained(cast<TileProductAttr>(attribute).getFactors(),
                              types[0]);
  }

  bool isLegal(Attribute attribute, Operation *op) const {
    auto implementation = cast<TileProductAttr>(attribute);
    return readTileDims(cast<MicroKernelOp>(op), implementation.getFactors())
        .has_value();
  }

  /// Rows lie along the reduction, columns in words of it, and both are whole
  /// words, or whole tiles where no registers are left for a part.
  OperandLayout getLayout(Attribute attribute, Operation *op,
                          unsigned operand) const {
    auto implementation = cast<TileProductAttr>(attribute);
    auto kernel = cast<MicroKernelOp>(op);
    std::optional<TileDims> dims =
        readTileDims(kernel, implementation.getFactors());
    if (!dims || dims->inWord)
      return OperandLayout();
    Type factor = kernel.getBody().front().getArgument(0).getType();
    OperandLayout layout = OperandLayout::contiguousAlong(
        operand == op->getNumOperands() - 1 ? dims->columns : dims->along);
    if (operand == dims->rhs)
      layout = OperandLayout::cutAlong(dims->along,
                                       TileProductAttr::getInterleave(factor));
    if (operand == dims->lhs || operand == dims->rhs)
      layout.multiple = implementation.getMultiple(factor);
    return layout;
  }

  bool takesOpenExtents(Attribute, Operation *) const { return true; }

  LogicalResult emit(Attribute attribute, OpBuilder &builder, Operation *op,
                     ArrayRef<int64_t> extents,
                     const KernelContext &context) const {
    return emitTileProduct(builder, cast<MicroKernelOp>(op),
                           cast<TileProductAttr>(attribute), extents,
                           context.prefetches);
  }
};
} // namespace

/// The feature without which there are no tiles of `type`.
static StringRef getFeature(Type type) {
  if (type.isBF16())
    return "amx-bf16";
  return type.isF16() ? "amx-fp16" : "amx-int8";
}

/// The units of `target` that are tiles of AMX, as far as it has the
/// instructions.
static SmallVector<MatrixUnitAttr> getTileUnits(TargetAttrInterface target) {
  auto described = dyn_cast<TargetAttr>(target);
  bool isX86 =
      target.getTriple().empty() || llvm::Triple(target.getTriple()).isX86();
  if (!described || !isX86)
    return {};
  SmallVector<MatrixUnitAttr> units;
  for (MatrixUnitAttr unit : described.getMatrix()) {
    Type type = unit.getType();
    if ((type.isBF16() || type.isF16() || type.isInteger(8)) &&
        hasFeatures(target, {"amx-tile", getFeature(type)}))
      units.push_back(unit);
  }
  return units;
}

static MicroKernelAttrInterface offer(TargetAttrInterface target,
                                      RegisterTileAttr registers) {
  if (registers && (registers.getKernel() || registers.getBroadcasts() > 0))
    return {};
  SmallVector<MatrixUnitAttr> units = getTileUnits(target);
  if (units.empty())
    return {};
  MLIRContext *context = target.getContext();
  if (!registers)
    registers = RegisterTileAttr::get(context, /*rows=*/1, /*vectors=*/1,
                                      /*broadcasts=*/0, /*depth=*/1,
                                      /*kernel=*/StringAttr(), /*part=*/0,
                                      /*stages=*/0);
  // Units differ in their type alone.
  MatrixUnitAttr first = units.front();
  int64_t bytes =
      first.getDepth() * first.getType().getIntOrFloatBitWidth() / 8;
  SmallVector<Type> factors;
  for (MatrixUnitAttr unit : units)
    if (unit.getRows() == first.getRows() &&
        unit.getColumns() == first.getColumns() &&
        unit.getDepth() * unit.getType().getIntOrFloatBitWidth() / 8 == bytes)
      factors.push_back(unit.getType());
  return cast<MicroKernelAttrInterface>(TileProductAttr::get(
      context, first.getRows(), first.getColumns(), bytes, registers, factors));
}

void chimera::offerTileProducts(MLIRContext *context) {
  TileProductAttr::attachInterface<TileProductModel>(*context);
  MicroKernelRegistry::get(context).add(
      offer, MicroKernelRegistry::Precedence::BackEnd);
}
