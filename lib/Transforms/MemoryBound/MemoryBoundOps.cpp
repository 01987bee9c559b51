//===- MemoryBoundOps.cpp - Operations outside chains ---------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryBound/MemoryBoundOps.h"

#include "Chimera/Chain/OpKinds.h"
#include "Chimera/Chain/OpenSizes.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace chimera;

/// True if `type` is a tensor whose elements can be counted, as many as are
/// planned for where sizes are open.
static bool isStaticTensor(Type type, const OpenSizes &open) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrIndexOrFloat())
    return false;
  double elements = 1;
  for (int64_t extent : tensor.getShape())
    elements *= open.getPlanned(extent);
  return elements >= 1 && elements < 0x1p+60;
}

std::optional<StringRef> chimera::findObstacle(linalg::LinalgOp op) {
  if (isContractionLike(op) || linalg::isaConvolutionOpInterface(op))
    return "";
  if (!op.hasPureTensorSemantics())
    return "it does not work on tensors";
  OpenSizes open(op);
  for (Type type : op->getOperandTypes())
    if (!type.isIntOrIndexOrFloat() && !isStaticTensor(type, open))
      return "a shape is not static or has no elements, or elements are no "
             "numbers";
  if (!hasScalarBody(op))
    return "its body is more than arithmetic on scalars";
  return std::nullopt;
}

SmallVector<Operation *> chimera::collectOutside(Operation *root) {
  SmallVector<Operation *> found;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == root)
      return WalkResult::advance();
    found.push_back(op);
    bool isClosed = isa<ChainOp, BlockOp, MicroKernelOp, linalg::LinalgOp,
                        scf::ForallOp, scf::ParallelOp>(op);
    return isClosed ? WalkResult::skip() : WalkResult::advance();
  });
  return found;
}

std::optional<unsigned> chimera::findVectorDim(ArrayRef<AffineMap> maps) {
  std::optional<unsigned> preferred, found;
  if (AffineMap output = maps.back(); output.getNumResults() > 0)
    preferred = output.getDimPosition(output.getNumResults() - 1);
  for (unsigned dim = 0; dim < maps.back().getNumDims(); ++dim) {
    bool works = llvm::all_of(maps, [&](AffineMap map) {
      return !map.isFunctionOfDim(dim) ||
             map.getDimPosition(map.getNumResults() - 1) == dim;
    });
    if (works && (!found || dim == preferred))
      found = dim;
  }
  return found;
}

bool chimera::isFunction(Operation &op) {
  if (isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FmaOp>(op))
    return false;
  return isa<math::MathDialect>(op.getDialect()) ||
         isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
             arith::RemSIOp, arith::RemUIOp>(op);
}

/// The loop over parts of a row, which kernels unroll: the body asks for its
/// place, and no input depends on it. Nothing if there is none.
static std::optional<unsigned> findPartLoop(linalg::LinalgOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (auto index : op.getBlock()->getOps<linalg::IndexOp>()) {
    unsigned loop = index.getDim();
    bool isRead = llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
      return op.getMatchingIndexingMap(input).isFunctionOfDim(loop);
    });
    if (!isRead && extents[loop] <= mostPartsOfRow)
      return loop;
  }
  return std::nullopt;
}

namespace {
/// What is computed for each part of a row, and what once for all.
class PartWork {
public:
  explicit PartWork(linalg::LinalgOp op)
      : body(op.getBlock()), loop(findPartLoop(op)) {
    if (loop)
      shareOfPart = 1.0 / op.getStaticLoopRanges()[*loop];
  }

  /// What each part has of `nested`, which comes behind its operands: nothing
  /// where the number of the part says what comes of it.
  double shareOf(Operation &nested) {
    if (!loop)
      return 1;
    auto index = dyn_cast<linalg::IndexOp>(nested);
    if (index ? index.getDim() == *loop
              : llvm::all_of(nested.getOperands(), [&](Value operand) {
                  return isNumber(operand);
                })) {
      numbers.insert_range(nested.getResults());
      return 0;
    }
    bool isOfPart = llvm::any_of(nested.getOperands(), [&](Value operand) {
      return numbers.contains(operand) || ofParts.contains(operand);
    });
    if (!isOfPart)
      return shareOfPart;
    ofParts.insert_range(nested.getResults());
    return isa<arith::SelectOp>(nested) && isNumber(nested.getOperand(0)) ? 0
                                                                          : 1;
  }

private:
  bool isNumber(Value value) {
    return numbers.contains(value) || value.getParentBlock() != body;
  }

  Block *body;
  std::optional<unsigned> loop;
  double shareOfPart = 1;
  llvm::DenseSet<Value> numbers, ofParts;
};
} // namespace

ElementWork chimera::countWork(linalg::LinalgOp op) {
  ElementWork work;
  PartWork parts(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool hasVectors = llvm::all_of(
      maps, [](AffineMap map) { return map.isProjectedPermutation(); });
  std::optional<unsigned> vectorDim;
  if (hasVectors)
    vectorDim = findVectorDim(maps);
  llvm::DenseSet<Value> uniform;
  for (OpOperand &operand : op->getOpOperands())
    if (vectorDim && op.isDpsInput(&operand) &&
        !op.getMatchingIndexingMap(&operand).isFunctionOfDim(*vectorDim))
      uniform.insert(op.getMatchingBlockArgument(&operand));
  auto isUniform = [&](Value value) {
    return uniform.contains(value) || value.getParentBlock() != op.getBlock();
  };
  for (Operation &nested : op.getBlock()->without_terminator()) {
    bool isIndex = isa<linalg::IndexOp>(nested);
    double share = parts.shareOf(nested);
    if (!isIndex && llvm::all_of(nested.getOperands(), isUniform))
      uniform.insert_range(nested.getResults());
    else
      (isFunction(nested) ? work.functions : work.instructions) += share;
  }
  return work;
}

bool chimera::isExpensive(Block &body) {
  return llvm::any_of(body, isFunction);
}
