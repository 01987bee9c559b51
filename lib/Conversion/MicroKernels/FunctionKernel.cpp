//===- FunctionKernel.cpp - Functions as micro kernels --------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function computes one tile of a product: rows of one factor, columns of the
// other, steps of one reduction. A micro kernel may have further dimensions,
// such as a batch; it is computed one iteration of these at a time. Factors may
// come in either order.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace chimera;

namespace {

/// Which parts the operands and dimensions of a micro kernel play in a product.
struct ProductParts {
  /// By argument of the function: the operand.
  unsigned operands[3];
  /// By dimension of the function: rows, columns and reduction.
  unsigned dims[3];
};

struct FunctionKernelModel
    : MicroKernelAttrInterface::ExternalModel<FunctionKernelModel,
                                              FunctionKernelAttr> {
  bool supports(Attribute attribute, MicroKernelKind kind,
                ArrayRef<Type> types) const;
  SmallVector<model::KernelShape> getShapes(Attribute attribute) const;
  bool isLegal(Attribute attribute, Operation *op) const;
  OperandLayout getLayout(Attribute attribute, Operation *op,
                          unsigned operand) const;
  SmallVector<int64_t> getTile(Attribute attribute, Operation *op) const;
  LogicalResult emit(Attribute attribute, OpBuilder &builder, Operation *op,
                     ArrayRef<int64_t> extents, const KernelContext &) const;
};

} // namespace

static KernelAttr getKernel(Attribute attribute) {
  return cast<FunctionKernelAttr>(attribute).getKernel();
}

/// Reads `op` as a product. Columns are along the output's last dimension; rows
/// are the last one that the other factor has, and the reduction the last one
/// that both have.
static std::optional<ProductParts> readProduct(MicroKernelOp op) {
  if (op.getKind() != MicroKernelKind::Contraction ||
      !multipliesAndAdds(op.getBody().front()))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getMaps();
  AffineMap output = maps[2];
  if (output.getNumResults() < 2)
    return std::nullopt;
  unsigned column = output.getDimPosition(output.getNumResults() - 1);
  unsigned lhs = maps[0].isFunctionOfDim(column) ? 1 : 0;
  const AffineMap &left = maps[lhs], &right = maps[1 - lhs];
  if (left.isFunctionOfDim(column) || !right.isFunctionOfDim(column))
    return std::nullopt;
  std::optional<unsigned> row, reduction;
  for (AffineExpr result : output.getResults()) {
    unsigned dim = cast<AffineDimExpr>(result).getPosition();
    if (left.isFunctionOfDim(dim) && !right.isFunctionOfDim(dim))
      row = dim;
  }
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (op.isReduction(dim) && left.isFunctionOfDim(dim) &&
        right.isFunctionOfDim(dim))
      reduction = dim;
  if (!row || !reduction)
    return std::nullopt;
  return ProductParts{{lhs, 1 - lhs, 2}, {*row, column, *reduction}};
}

bool FunctionKernelModel::supports(Attribute attribute, MicroKernelKind kind,
                                   ArrayRef<Type> types) const {
  ArrayRef<Type> own = getKernel(attribute).getTypes();
  return kind == MicroKernelKind::Contraction &&
         (types == own || types == ArrayRef<Type>{own[1], own[0], own[2]});
}

SmallVector<model::KernelShape>
FunctionKernelModel::getShapes(Attribute attribute) const {
  KernelAttr kernel = getKernel(attribute);
  ArrayRef<int64_t> shape = kernel.getShape();
  model::KernelShape offered;
  offered.name = cast<FunctionKernelAttr>(attribute)
                     .getFunction()
                     .getLeafReference()
                     .str();
  offered.rows = shape[0];
  offered.columns = shape[1];
  offered.depth = ShapedType::isDynamic(shape[2]) ? 0 : shape[2];
  offered.cyclesPerStep = kernel.getCycles().getValueAsDouble();
  if (FloatAttr setup = kernel.getSetup())
    offered.cyclesPerCall = setup.getValueAsDouble();
  return {offered};
}

bool FunctionKernelModel::isLegal(Attribute attribute, Operation *op) const {
  std::optional<ProductParts> parts = readProduct(cast<MicroKernelOp>(op));
  return parts &&
         llvm::all_of(llvm::seq<unsigned>(0, 3), [&](unsigned argument) {
           Value operand = op->getOperand(parts->operands[argument]);
           return getElementTypeOrSelf(operand) ==
                  getKernel(attribute).getTypes()[argument];
         });
}

OperandLayout FunctionKernelModel::getLayout(Attribute attribute, Operation *op,
                                             unsigned operand) const {
  std::optional<ProductParts> parts = readProduct(cast<MicroKernelOp>(op));
  if (!parts)
    return OperandLayout();
  unsigned argument = llvm::find(parts->operands, operand) - parts->operands;
  OperandLayout layout =
      getKernel(attribute).getLayouts()[argument].getLayout();
  layout.along = parts->dims[layout.along];
  return layout;
}

SmallVector<int64_t> FunctionKernelModel::getTile(Attribute attribute,
                                                  Operation *op) const {
  auto kernel = cast<MicroKernelOp>(op);
  SmallVector<int64_t> tile(kernel.getNumDims(), 1);
  if (std::optional<ProductParts> parts = readProduct(kernel))
    for (auto [dim, size] :
         llvm::zip_equal(parts->dims, getKernel(attribute).getShape()))
      tile[dim] = size;
  return tile;
}

/// `operand` of `op` as a matrix along `dims`, of the type that a function
/// takes it in. Null if it is not laid out that way.
static Value viewAsMatrix(OpBuilder &builder, MicroKernelOp op,
                          unsigned operand, ArrayRef<unsigned> dims,
                          ArrayRef<int64_t> extents, MemRefType wanted) {
  Location loc = op.getLoc();
  Value memref = op->getOperand(operand);
  SmallVector<int64_t> strides, wantedStrides;
  int64_t offset;
  if (failed(cast<MemRefType>(memref.getType())
                 .getStridesAndOffset(strides, offset)) ||
      failed(wanted.getStridesAndOffset(wantedStrides, offset)))
    return Value();
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  AffineMap map = op.getMaps()[operand];
  SmallVector<OpFoldResult> newSizes, newStrides;
  for (auto [dim, wantedStride] : llvm::zip_equal(dims, wantedStrides)) {
    unsigned place = *map.getResultPosition(builder.getAffineDimExpr(dim));
    if (!ShapedType::isDynamic(wantedStride) && wantedStride != strides[place])
      return Value();
    newSizes.push_back(builder.getIndexAttr(extents[dim]));
    newStrides.push_back(ShapedType::isDynamic(strides[place])
                             ? OpFoldResult(metadata.getStrides()[place])
                             : builder.getIndexAttr(strides[place]));
  }
  SmallVector<int64_t> sizes, staticStrides;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(newSizes, dynamic, sizes);
  dispatchIndexOpFoldResults(newStrides, dynamic, staticStrides);
  auto type = MemRefType::get(sizes, wanted.getElementType(),
                              StridedLayoutAttr::get(builder.getContext(),
                                                     ShapedType::kDynamic,
                                                     staticStrides));
  Value view = memref::ReinterpretCastOp::create(
      builder, loc, type, metadata.getBaseBuffer(),
      OpFoldResult(metadata.getOffset()), newSizes, newStrides);
  if (type == wanted)
    return view;
  return memref::CastOp::create(builder, loc, wanted, view);
}

LogicalResult FunctionKernelModel::emit(Attribute attribute, OpBuilder &builder,
                                        Operation *op,
                                        ArrayRef<int64_t> extents,
                                        const KernelContext &) const {
  auto kernel = cast<MicroKernelOp>(op);
  SymbolRefAttr name = cast<FunctionKernelAttr>(attribute).getFunction();
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  std::optional<ProductParts> parts = readProduct(kernel);
  if (!function || !parts ||
      function.getFunctionType() != getKernel(attribute).getExpectedType())
    return failure();
  SmallVector<Value> arguments;
  for (unsigned argument = 0; argument < 3; ++argument) {
    SmallVector<unsigned> dims;
    for (unsigned dim : KernelAttr::getDimsOf(argument))
      dims.push_back(parts->dims[dim]);
    Value view =
        viewAsMatrix(builder, kernel, parts->operands[argument], dims, extents,
                     cast<MemRefType>(function.getArgumentTypes()[argument]));
    if (!view)
      return failure();
    arguments.push_back(view);
  }
  Location loc = op->getLoc();
  if (kernel.getOverwrite()) {
    Value zero = arith::ConstantOp::create(
        builder, loc,
        builder.getZeroAttr(getElementTypeOrSelf(arguments.back())));
    linalg::FillOp::create(builder, loc, zero, arguments.back());
  }
  if (function.isExternal()) {
    func::CallOp::create(builder, loc, function, arguments);
    return success();
  }
  Block &body = function.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &nested : body.without_terminator())
    builder.clone(nested, mapping);
  return success();
}

void chimera::registerFunctionMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    FunctionKernelAttr::attachInterface<FunctionKernelModel>(*context);
  });
}
