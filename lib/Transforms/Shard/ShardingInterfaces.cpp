//===- ShardingInterfaces.cpp - How moves and softmax are cut -------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exported programs reshape, slice and concatenate between products. Upstream
// cuts none of these. Each has dimensions that can be cut without anything
// having to move, and others that have to be whole: an annotation that asks for
// a cut of the latter is not followed, and what is around it is gathered.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

/// The type of this process's part of a tensor of type `type`.
static RankedTensorType getPartType(Operation *op, Type type,
                                    const shard::Sharding &sharding) {
  SymbolTableCollection symbols;
  return cast<RankedTensorType>(
      shardType(type, shard::getGridOrNull(op, sharding.getGridAttr(), symbols),
                sharding));
}

/// Into how many parts `axes` cut, or none if there is no such grid.
static std::optional<int64_t> countParts(Operation *op, FlatSymbolRefAttr name,
                                         ArrayRef<shard::GridAxis> axes) {
  SymbolTableCollection symbols;
  shard::GridOp grid = shard::getGridOrNull(op, name, symbols);
  if (!grid)
    return std::nullopt;
  return collectiveProcessGroupSize(axes, grid);
}

/// What all models here share: loops that are all parallel, some of which can
/// be cut. `ConcreteT` lists the extent of each loop, 0 for one that has to be
/// whole, and how operands and results are indexed.
template <typename ConcreteT, typename OpT>
struct WholeLoopsInterface
    : shard::ShardingInterface::ExternalModel<ConcreteT, OpT> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(
        ConcreteT::getExtents(cast<OpT>(op)).size(),
        utils::IteratorType::parallel);
  }

  /// As by default, but without cuts of loops that have to be whole.
  FailureOr<shard::ShardingOption>
  getShardingOption(Operation *op, ArrayRef<shard::Sharding> operands,
                    ArrayRef<shard::Sharding> results) const {
    FailureOr<shard::ShardingOption> option =
        shard::detail::defaultGetShardingOption(op, operands, results);
    if (failed(option) || option->empty)
      return option;
    SmallVector<int64_t> extents = ConcreteT::getExtents(cast<OpT>(op));
    for (auto [axes, extent] : llvm::zip(option->shardingArray, extents)) {
      std::optional<int64_t> count = countParts(op, option->grid, axes);
      if (extent == 0 || !count || extent % *count != 0)
        axes.clear();
    }
    return option;
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands,
                          ArrayRef<shard::Sharding> operandShardings,
                          ArrayRef<shard::Sharding> resultShardings,
                          IRMapping &values, SymbolTableCollection &symbols,
                          OpBuilder &builder) const {
    partitionTriviallyShardableOperation(*op, operands, operandShardings,
                                         resultShardings, values, symbols,
                                         builder);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Operations with the same dimensions on both sides
//===----------------------------------------------------------------------===//

/// Operands and results are indexed by one loop for each dimension.
template <typename ConcreteT, typename OpT>
struct SameDimsInterface : WholeLoopsInterface<ConcreteT, OpT> {
  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    return SmallVector<AffineMap>(
        op->getNumOperands() + op->getNumResults(),
        AffineMap::getMultiDimIdentityMap(type.getRank(), op->getContext()));
  }
};

struct SoftmaxInterface
    : SameDimsInterface<SoftmaxInterface, linalg::SoftmaxOp> {
  static SmallVector<int64_t> getExtents(linalg::SoftmaxOp op) {
    SmallVector<int64_t> extents(op.getInputOperandType().getShape());
    extents[op.getDimension()] = 0;
    return extents;
  }
};

struct ConcatInterface : SameDimsInterface<ConcatInterface, tensor::ConcatOp> {
  static SmallVector<int64_t> getExtents(tensor::ConcatOp op) {
    SmallVector<int64_t> extents(op.getResultType().getShape());
    extents[op.getDim()] = 0;
    return extents;
  }
};

/// Dimensions that are sliced have to be whole. A slice that drops dimensions
/// is whole.
struct ExtractSliceInterface
    : WholeLoopsInterface<ExtractSliceInterface, tensor::ExtractSliceOp> {
  static bool dropsDims(tensor::ExtractSliceOp op) {
    return op.getType().getRank() != op.getSourceType().getRank();
  }

  static SmallVector<int64_t> getExtents(tensor::ExtractSliceOp op) {
    ArrayRef<int64_t> source = op.getSourceType().getShape();
    SmallVector<int64_t> extents(source.size() +
                                 (dropsDims(op) ? op.getType().getRank() : 0));
    if (dropsDims(op))
      return extents;
    for (auto [dim, size] : llvm::enumerate(source))
      if (op.getStaticOffset(dim) == 0 && op.getStaticSize(dim) == size &&
          op.getStaticStride(dim) == 1)
        extents[dim] = size;
    return extents;
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    MLIRContext *context = op->getContext();
    unsigned rank = slice.getSourceType().getRank();
    if (!dropsDims(slice))
      return SmallVector<AffineMap>(
          2, AffineMap::getMultiDimIdentityMap(rank, context));
    // Loops of their own for the result: nothing is known of them.
    unsigned resultRank = slice.getType().getRank(), all = rank + resultRank;
    AffineMap identity = AffineMap::getMultiDimIdentityMap(all, context);
    return {identity.getSliceMap(0, rank),
            identity.getSliceMap(rank, resultRank)};
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands,
                          ArrayRef<shard::Sharding>,
                          ArrayRef<shard::Sharding> results, IRMapping &values,
                          SymbolTableCollection &, OpBuilder &builder) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    RankedTensorType type = getPartType(op, slice.getType(), results[0]);
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    if (!dropsDims(slice))
      sizes = getAsIndexOpFoldResult(op->getContext(), type.getShape());
    values.map(slice.getResult(),
               tensor::ExtractSliceOp::create(
                   builder, op->getLoc(), type, operands.front(),
                   slice.getMixedOffsets(), sizes, slice.getMixedStrides())
                   .getResult());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// One loop for each dimension of the side that has more. Of dimensions that
/// are one on the other side, the outermost can be cut: what is in a part lies
/// together on both sides.
template <typename OpT>
struct ReshapeInterface : WholeLoopsInterface<ReshapeInterface<OpT>, OpT> {
  static RankedTensorType getLarger(OpT op) {
    RankedTensorType source = op.getSrcType(), result = op.getResultType();
    return source.getRank() > result.getRank() ? source : result;
  }

  /// Of each group the dimension that can be cut: the first that has elements
  /// beside each other.
  static SmallVector<int64_t> getOuterDims(OpT op) {
    RankedTensorType larger = getLarger(op);
    SmallVector<int64_t> dims;
    for (const ReassociationIndices &group : op.getReassociationIndices()) {
      const auto *outer = llvm::find_if(
          group, [&](int64_t dim) { return larger.getDimSize(dim) != 1; });
      dims.push_back(outer == group.end() ? group.front() : *outer);
    }
    return dims;
  }

  static SmallVector<int64_t> getExtents(OpT op) {
    RankedTensorType larger = getLarger(op);
    SmallVector<int64_t> extents(larger.getRank());
    for (int64_t dim : getOuterDims(op))
      extents[dim] = larger.getDimSize(dim);
    return extents;
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const {
    auto reshape = cast<OpT>(op);
    MLIRContext *context = op->getContext();
    unsigned rank = getLarger(reshape).getRank();
    AffineMap whole = AffineMap::getMultiDimIdentityMap(rank, context);
    SmallVector<AffineExpr> outer;
    for (int64_t dim : getOuterDims(reshape))
      outer.push_back(getAffineDimExpr(dim, context));
    AffineMap grouped = AffineMap::get(rank, 0, outer, context);
    bool expands = isa<tensor::ExpandShapeOp>(op);
    return expands ? SmallVector<AffineMap>{grouped, whole}
                   : SmallVector<AffineMap>{whole, grouped};
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands,
                          ArrayRef<shard::Sharding>,
                          ArrayRef<shard::Sharding> results, IRMapping &values,
                          SymbolTableCollection &, OpBuilder &builder) const {
    auto reshape = cast<OpT>(op);
    RankedTensorType type =
        getPartType(op, reshape.getResultType(), results[0]);
    values.map(reshape.getResult(),
               OpT::create(builder, op->getLoc(), type, operands.front(),
                           reshape.getReassociationIndices())
                   .getResult());
    return success();
  }
};

void chimera::registerShardingInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *,
                            shard::ShardDialect *) {
    linalg::SoftmaxOp::attachInterface<SoftmaxInterface>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *,
                            shard::ShardDialect *) {
    tensor::ConcatOp::attachInterface<ConcatInterface>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceInterface>(*context);
    tensor::CollapseShapeOp::attachInterface<
        ReshapeInterface<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<
        ReshapeInterface<tensor::ExpandShapeOp>>(*context);
  });
}
